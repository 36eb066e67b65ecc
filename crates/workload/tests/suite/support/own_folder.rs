//! A folder for each test alone: files of fixed names in a shared one would be those of another test, or of another suite that runs beside this one.

use std::path::PathBuf;
use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = TempDir::with_prefix("flashraid-").expect("a temporary folder");
}

/// The folder of the test that runs in this thread (each test has its own thread). It is removed when the test has passed or failed.
pub fn own_folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_path_buf())
}
