//! Settings: precedence, refusals (each names its key and what is allowed), capacities, presets, listings, and the document.

mod derived;
mod files;
mod listings;
mod values;

use crate::support::own_folder;
use flashraid_sim::Config;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file in the test's own folder.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = own_folder().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn on(device: &str, scheme: &str, pairs: &[(&str, &str)]) -> Result<Config, String> {
    Config::assemble(Some(device), Some(scheme), None, &overrides(pairs)).map_err(|error| error.to_string())
}

/// The refusal of these overrides on tiny under raid0; one line.
fn refusal(pairs: &[(&str, &str)]) -> String {
    one_line(on("tiny", "raid0", pairs).expect_err(&format!("{pairs:?} must be refused")))
}

fn file_refusal(name: &str, text: &str) -> String {
    let file = Scratch::new(name, text);
    let error = Config::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &[]).unwrap_err().to_string();
    one_line(error).replace(file.text(), "FILE")
}

fn one_line(text: String) -> String {
    assert!(!text.contains('\n'), "{text}");
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
