//! Files of the repository that hold what the code says. `FLASHRAID_BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

/// A file of the repository.
pub fn in_repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Whether files are written, not compared.
pub fn is_blessing() -> bool {
    std::env::var_os("FLASHRAID_BLESS").is_some()
}

/// Writes a file at once, so that another test which reads it finds the old one or the new one.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, path)
}

/// Compares a file with what it must hold, or writes it. `tests` names the tests that write it.
pub fn check_file(tests: &str, name: &str, fresh: &str) {
    let path = in_repository(name);
    if is_blessing() {
        write(&path, fresh).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    check(tests, name, &std::fs::read_to_string(&path).unwrap_or_default(), fresh);
}

/// The same of a part of a document.
pub fn check_part(tests: &str, document: &str, part: &str, fresh: &str) {
    if is_blessing() {
        let (before, _, after) = split(document, part);
        write(&in_repository(document), &(before + fresh + &after)).unwrap_or_else(|error| panic!("{document}: {error}"));
    }
    check(tests, document, &held_part(document, part), fresh);
}

/// What a document holds between `<!-- PART -->` and `<!-- end of PART -->`.
pub fn held_part(document: &str, part: &str) -> String {
    split(document, part).1
}

/// A document in three: what is before the part, marker included, the part, and what follows.
fn split(document: &str, part: &str) -> (String, String, String) {
    let text = std::fs::read_to_string(in_repository(document)).unwrap_or_else(|error| panic!("{document}: {error}"));
    let place = |marker: &str| text.find(marker).unwrap_or_else(|| panic!("{document} lacks {marker}"));
    let (begin, end) = (format!("<!-- {part} -->\n"), place(&format!("<!-- end of {part} -->")));
    let start = place(&begin) + begin.len();
    (text[..start].into(), text[start..end].into(), text[end..].into())
}

fn check(tests: &str, name: &str, held: &str, fresh: &str) {
    if held == fresh {
        return;
    }
    let lines = |text: &str| text.split('\n').chain(["(end)"]).map(String::from).collect::<Vec<_>>();
    let (held, fresh) = (lines(held), lines(fresh));
    let (held, fresh) = held.iter().zip(&fresh).find(|(held, fresh)| held != fresh).expect("a difference");
    panic!(
        "{name} is missing or stale: make bless WHAT={tests} writes it\n\
         it has: {held}\nshould: {fresh}"
    );
}
