//! What documents hold of the code, between `<!-- NAME -->` and `<!-- end of NAME -->`: README's table of schemes, and the worked example of
//! docs/writing-a-scheme.md as it is compiled and tested. `FLASHRAID_BLESS=1` writes it.

use flashraid_sim::listing;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares what a document holds under a name with what it must hold, or writes it.
fn check(document: &str, name: &str, fresh: &str) {
    let old = read(document);
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = old.split_once(&begin).unwrap_or_else(|| panic!("{document} lacks {begin}"));
    let (held, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{document} lacks {end}"));
    if std::env::var_os("FLASHRAID_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        std::fs::write(path, format!("{before}{begin}{fresh}{end}{after}")).unwrap();
    } else {
        assert!(
            held == fresh,
            "{document} is stale: FLASHRAID_BLESS=1 cargo test -p flashraid-sim --all-features --test suite documents::"
        );
    }
}

fn fenced(file: &str) -> String {
    format!("```rust\n{}```\n", read(file))
}

#[test]
fn the_readme_lists_every_scheme() {
    check("README.md", "schemes", &listing::schemes_markdown());
}

#[test]
fn the_worked_example_is_what_is_tested() {
    check("docs/writing-a-scheme.md", "scheme", &fenced("crates/redundancy/src/testing/chained.rs"));
    check("docs/writing-a-scheme.md", "tests", &fenced("crates/redundancy/tests/schemes/chained.rs"));
}
