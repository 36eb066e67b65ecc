//! The schemes, one file each, and the one list of them. Nothing outside a scheme's own file names it.

use crate::Entry;

/// Declares the module of each scheme, and lists its `ENTRY`.
macro_rules! schemes {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// Every scheme.
        pub const SCHEMES: &[Entry] = &[$($name::ENTRY),+];

        #[cfg(test)]
        const FILES: &[&str] = &[$(stringify!($name)),+];
    };
}

// rustfmt does not find files through a macro: the Makefile names them to it.
schemes! {
    raid0,
    raid1,
    raid4,
    raid5,
    raid6,
    raid10,
    bpu,
    adaptive,
    sirf1,
    cr5m,
    no_pc,
    fpc,
    ppc,
    ca_ppc,
    fra,
    diff_raid,
    hotswap,
    online_rebuild,
    offline_diff_raid,
}

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bases, Draws, Protects, Redundancy, Values};
    use std::fs;
    use std::path::Path;

    /// Each file of this folder is a scheme of the list, or lies in the folder of one.
    #[test]
    fn every_file_is_listed() {
        for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schemes")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(
                name == "mod" || FILES.contains(&name),
                "{} is not in the list: add the line `{name},` to `schemes!` in crates/redundancy/src/schemes/mod.rs",
                path.display()
            );
        }
    }

    /// What no entry and no parameter has in common with others.
    #[test]
    fn nothing_is_left_unsaid() {
        for entry in SCHEMES {
            assert!(![entry.name, entry.title, entry.about].contains(&""), "{} {}", entry.name, entry.title);
            assert_eq!(entry.protects == Protects::None, entry.redundancy == Redundancy::None, "{}", entry.name);
            for parameter in entry.parameters() {
                assert!(![parameter.name, parameter.about].contains(&""), "{} {}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn defaults_and_what_torture_draws_are_allowed() {
        for (entry, parameter) in SCHEMES.iter().flat_map(|entry| entry.parameters().map(move |parameter| (entry.name, parameter))) {
            let name = parameter.name;
            assert!(parameter.values.allows(&parameter.values.default_text()), "{entry} {name}");
            match (parameter.draws, parameter.values) {
                (Draws::Words, values) => assert!(matches!(values, Values::Words(_)), "{entry} {name}: which numbers does torture draw?"),
                (Draws::Pages(_), values) => {
                    assert!(matches!(values, Values::Whole { .. }), "{entry} {name}: pages are counted in whole bytes");
                }
                (Draws::OneOf(_), _) => {}
            }
            let drawn = parameter.drawn(512);
            assert!(!drawn.is_empty() && drawn.iter().all(|text| parameter.values.allows(text)), "{entry} {name}: {drawn:?}");
        }
    }

    /// What an entry refers to is a parameter of its own, with such a word.
    #[test]
    fn capabilities_name_parameters_of_the_scheme() {
        for entry in SCHEMES {
            let of_bases = if let Some(Bases::MovedWith(choice)) = entry.bases { Some(choice) } else { None };
            let choices = [of_bases, entry.completes_early, entry.claims, entry.keeps_shadows, entry.coordinates_gc].into_iter().flatten();
            let numbers = [entry.mirror_groups, entry.parity_cache].into_iter().flatten();
            for choice in choices {
                let own = entry.parameter(choice.parameter.name).expect(choice.parameter.name);
                assert!(own.values.allows(choice.word) && matches!(own.values, Values::Words(_)), "{} {}", entry.name, choice.word);
            }
            for number in numbers {
                let own = entry.parameter(number.name).expect(number.name);
                assert!(matches!(own.values, Values::Whole { .. }), "{} {}", entry.name, number.name);
            }
        }
    }
}
