//! What the tests of this crate share.
#![allow(dead_code)] // each test file uses its part

use flashraid_vocabulary::HostRequest;
use flashraid_workload::{Trace, TraceError, TraceOptions, TraceSummary};
use std::fs;
use std::path::{Path, PathBuf};

/// A path below the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A file of this content, named so that tests do not meet.
pub fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path
}

pub fn options(format: &str) -> TraceOptions {
    TraceOptions { format: format.to_owned(), ..TraceOptions::default() }
}

/// A whole trace.
pub fn read(path: &Path, options: &TraceOptions) -> Result<(Vec<HostRequest>, TraceSummary), TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut requests = Vec::new();
    while trace.read_batch(&mut requests)? > 0 {}
    Ok((requests, trace.finish()?))
}
