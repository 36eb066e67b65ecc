//! What documents hold of the code: README's table of schemes, and the worked examples of
//! docs/writing-a-scheme.md and docs/writing-a-gc-policy.md as they are compiled and tested. `FLASHRAID_BLESS=1` writes it.

use crate::support::committed::{check_part, in_repository};
use flashraid_sim::listing;

fn check(document: &str, part: &str, fresh: &str) {
    check_part("documents::", document, part, fresh);
}

fn fenced(file: &str) -> String {
    let code = std::fs::read_to_string(in_repository(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    format!("```rust\n{code}```\n")
}

#[test]
fn the_readme_lists_every_scheme() {
    check("README.md", "schemes", &listing::schemes_markdown());
}

#[test]
fn the_worked_examples_are_what_is_tested() {
    check("docs/writing-a-scheme.md", "scheme", &fenced("crates/redundancy/src/testing/chained.rs"));
    check("docs/writing-a-gc-policy.md", "policy", &fenced("crates/ftl/src/space/victim/fifo.rs"));
    check("docs/writing-a-scheme.md", "tests", &fenced("crates/redundancy/tests/schemes/chained.rs"));
}
