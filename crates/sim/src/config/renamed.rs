//! Names that settings once had. A file or a command that still uses one is refused with the name of today.

/// Keys: the old name, and the name of today.
const KEYS: &[(&str, &str)] = &[
    ("array_unit", "lun"),
    ("gc_blocks", "gc_blocking_scope"),
    ("gc_hard", "gc_reserve_blocks"),
    ("wear_spread", "wear_leveling_threshold"),
];

/// Words: the key, the old word, and the word of today.
const WORDS: &[(&str, &str, &str)] = &[("allocation", "semi_dynamic", "dynamic_member"), ("gc_blocking_scope", "unit", "lun")];

/// The name of today of a key.
pub(super) fn renamed_key(old: &str) -> Option<&'static str> {
    KEYS.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
}

/// `; it is now called NEW`, of a word that a key took under another name; else nothing.
pub(super) fn renamed_word(key: &str, old: &str) -> String {
    let word = WORDS.iter().find(|(of, word, _)| *of == key && *word == old);
    word.map_or_else(String::new, |(.., new)| format!("; {old} is now called {new}"))
}
