//! Replays what fuzzing has found (fuzz/corpus, a folder a target): every input that reached new code, and everything that ever failed.

#[path = "../../../../fuzz/checks/profile.rs"]
mod profile;
#[path = "../../../../fuzz/checks/reader.rs"]
mod reader;
use crate::support::in_repository;
use flashraid_workload::formats;
use std::fs;
use std::path::PathBuf;

/// The inputs kept for a target; there must be some.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = in_repository("fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty(), "{}: no inputs", folder.display());
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn readers_hold_on_every_input() {
    for format in formats::FORMATS.iter().filter(|format| format.name != "profile") {
        inputs(format.name).iter().for_each(|input| reader::check(format.name, input));
    }
}

#[test]
fn profiles_hold_on_every_input() {
    inputs("profile").iter().for_each(|input| profile::check(input));
}
