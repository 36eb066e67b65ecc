//! Replays what fuzzing the configuration has found (fuzz/corpus/configuration).

#[path = "../../../../fuzz/checks/configuration.rs"]
mod configuration;

use std::fs;
use std::path::Path;

#[test]
fn configurations_hold_on_every_input() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/configuration");
    let inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| configuration::check(input));
}
