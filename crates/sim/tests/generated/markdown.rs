//! docs/result.md.

use crate::forms::{Form, Forms, Kind, Member, Place, path};
use std::fmt::Write;

const HEAD: &str = "\
# Result

Generated from the types of the result by `FLASHRAID_BLESS=1 cargo test -p flashraid-sim --test generated`; do not edit below this introduction's source,
`crates/sim/tests/generated/markdown.rs`.

";

/// The whole document.
pub fn document(forms: &Forms) -> String {
    let mut text = format!("{HEAD}{}", include_str!("introduction.md"));
    for form in forms.all().filter(|form| !forms.is_configuration(form.name)) {
        section(&mut text, forms, form);
    }
    text
}

/// The heading of a form: its place if it has one, else what it is.
fn title(forms: &Forms, form: &Form) -> String {
    match forms.places(form).as_slice() {
        [place] if place.path.is_empty() => "Keys".into(),
        [place] => format!("`{}`", place.path),
        _ => words(form.name),
    }
}

/// `LatencyFigures` as "Latency figures".
fn words(name: &str) -> String {
    let spaced: String =
        name.chars().flat_map(|letter| letter.is_uppercase().then_some(' ').into_iter().chain(letter.to_lowercase())).collect();
    let trimmed = spaced.trim();
    trimmed[..1].to_uppercase() + &trimmed[1..]
}

/// The anchor that hosting sites give a heading.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase().chars().filter(|letter| letter.is_alphanumeric() || "_- ".contains(*letter)).collect::<String>();
    kept.replace(' ', "-")
}

fn section(text: &mut String, forms: &Forms, form: &Form) {
    let places = forms.places(form);
    let _ = write!(text, "\n## {}\n\n{}\n", title(forms, form), form.about);
    if places.len() > 1 {
        let paths: Vec<_> = places.iter().map(|place| format!("`{}`", place.path)).collect();
        let example = path(&places[0], form.members.last().expect("a member"));
        let _ = write!(text, "\nThe keys below stand at {}, as in `{example}`.\n", paths.join(", "));
    }
    text.push_str("\n| key | type | unit | meaning |\n| --- | --- | --- | --- |\n");
    for member in &form.members {
        let key = if let [place] = places.as_slice() { path(place, member) } else { member.key.into() };
        let (kind, unit) = (kind(&member.kind, member.is_nullable), unit(forms, &places, member));
        let _ = writeln!(text, "| `{key}` | {kind} | {unit} | {}{} |", member.about, more(forms, &member.kind));
    }
}

fn kind(kind: &Kind, is_nullable: bool) -> String {
    let text = match kind {
        Kind::Integer | Kind::Whole(_) => "integer".into(),
        Kind::Number => "number".into(),
        Kind::Text => "text".into(),
        Kind::Truth => "true or false".into(),
        Kind::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Kind::Object(_) => "object".into(),
        Kind::Map(of) => format!("object of {}s by name", self::kind(of, false)),
        Kind::List(of) => format!("list of {}s", self::kind(of, false)),
    };
    if is_nullable { text + " or null" } else { text }
}

/// The unit of a number; if it depends on the place, all that there are.
fn unit(forms: &Forms, places: &[Place], member: &Member) -> String {
    let mut units = Vec::new();
    for unit in places.iter().filter_map(|place| forms.unit(place, member)) {
        if member.kind.has_number() && !units.contains(&unit) {
            units.push(unit);
        }
    }
    units.join(", ")
}

/// Where the members of an object are explained.
fn more(forms: &Forms, kind: &Kind) -> String {
    match kind {
        Kind::Object(name) if name == "Config" => " See [configuration](configuration.md).".into(),
        Kind::Object(name) => {
            let title = title(forms, forms.all().find(|form| form.name == name).expect("a form"));
            format!(" See [{title}](#{}).", anchor(&title))
        }
        Kind::List(of) => more(forms, of),
        _ => String::new(),
    }
}
