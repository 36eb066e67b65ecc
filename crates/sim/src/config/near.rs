//! The name that a misspelt one may have been meant to be, for messages.

/// `; the nearest is NAME`, of the names that are near; empty if none is.
pub(crate) fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    near(given, names).map_or_else(String::new, |name| format!("; the nearest is {name}"))
}

/// The name that may have been meant: of those in which at most a third of the letters are wrong (half, if they are two at most and
/// the first is right), or that contain what was given or are contained in it, the nearest; the first of equals.
pub(super) fn near<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(given, name);
    let is_near = |name: &&str| {
        let is_part = given.len().min(name.len()) >= 4 && (name.contains(given) || given.contains(name));
        let (wrong, letters) = (distance(name), name.chars().count().max(given.chars().count()));
        let has_slip = name.chars().next() == given.chars().next() && wrong <= 2 && 2 * wrong <= letters;
        is_part || has_slip || 3 * wrong <= letters
    };
    names.into_iter().filter(is_near).min_by_key(|name| distance(name))
}
