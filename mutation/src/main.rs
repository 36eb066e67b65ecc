//! Prints the mutants of the given Rust files as JSON, in the order of the text.

mod find;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

fn main() {
    let files: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let mut found = Vec::new();
    let mut left_out = BTreeSet::new();
    for file in &files {
        let source = read(file);
        let (mutants, only_tests) = find::mutants(&file.display().to_string(), &source).unwrap_or_else(|error| fail(file, &error));
        left_out.extend(only_tests.iter().map(|name| module(file, name)));
        found.push((file, mutants));
    }
    found.retain(|(file, _)| !left_out.contains(*file));
    let mutants: Vec<_> = found.into_iter().flat_map(|(_, mutants)| mutants).collect();
    println!("{}", serde_json::to_string_pretty(&mutants).expect("plain data"));
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| fail(file, &error))
}

fn fail(file: &Path, error: &dyn std::fmt::Display) -> ! {
    eprintln!("{}: {error}", file.display());
    process::exit(2)
}

/// The file of the module `name` that `file` declares.
fn module(file: &Path, name: &str) -> PathBuf {
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib") => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    folder.join(name).with_extension("rs")
}

#[cfg(test)]
mod tests;
