//! What holds for a configuration file, whatever it holds. Used by the fuzz target, and by the test that replays its corpus.

use flashraid_sim::{Config, listing};
use std::fs;

/// Takes `data` as a configuration file.
///
/// # Panics
///
/// If an accepted configuration does not come back the same from its own text, or a message is not one of a few lines.
pub fn check(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("input.toml");
    fs::write(&path, data).expect("the temporary folder takes a file");
    match Config::assemble(Some("tiny"), Some("raid5"), Some(&path), &[]) {
        Ok(config) => {
            let text = serde_json::json!({ "config": config }).to_string();
            let again = path.with_extension("json");
            fs::write(&again, &text).expect("the temporary folder takes a file");
            let same = Config::assemble(None, None, Some(&again), &[]).expect("an accepted configuration is accepted again");
            assert_eq!(serde_json::json!({ "config": same }).to_string(), text);
            if let Err(error) = listing::config(config) {
                assert!(error.to_string().len() < 2000, "{error}");
            }
        }
        Err(error) => assert!(error.to_string().len() < 2000, "{error}"),
    }
}
