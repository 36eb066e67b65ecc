//! What the tests of this crate share.

mod own_folder;

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{TraceError, TraceOptions, TraceSummary, in_order};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use own_folder::own_folder;

/// A path below the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A file of this content in the test's own folder.
pub fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = own_folder().join(name);
    // A file that is cut to nothing and written anew goes to disk at once on some file systems, which takes milliseconds.
    let _ = fs::remove_file(&path);
    fs::write(&path, content).unwrap();
    path
}

pub fn options(format: &str) -> TraceOptions {
    TraceOptions { format: format.to_owned(), ..TraceOptions::default() }
}

/// A whole trace.
pub fn read(path: &Path, options: &TraceOptions) -> Result<(Vec<HostRequest>, TraceSummary), TraceError> {
    in_order(path, options, TraceError::is_late, |mut trace| {
        let mut requests = Vec::new();
        while trace.read_batch(&mut requests)? > 0 {}
        Ok((requests, trace.finish()?))
    })
}

/// A request of stream 0.
pub fn request(arrival_ns: u64, op: HostOp, offset_bytes: u64, size_bytes: u64, source: u32) -> HostRequest {
    HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }
}

/// The requests of a sample, recognized by its name or header.
pub fn sample(name: &str) -> (Vec<HostRequest>, TraceSummary) {
    sample_with(name, &TraceOptions::default())
}

/// How the sample of this path is read: without its columns nobody knows what one is.
pub fn options_of_sample(path: &Path) -> TraceOptions {
    let mut options = TraceOptions::default();
    if path.ends_with("example.columns.txt") {
        options.set("columns", "time:s,pid,comm,op,sector,sectors").unwrap();
    }
    options
}

/// The same with options.
pub fn sample_with(name: &str, options: &TraceOptions) -> (Vec<HostRequest>, TraceSummary) {
    read(&in_repository("samples/formats").join(name), options).unwrap()
}

/// The one line that says what is wrong with this text, with FILE for the file's path.
pub fn message(format: &str, text: &[u8]) -> String {
    message_with(&options(format), text)
}

/// The same with options.
pub fn message_with(options: &TraceOptions, text: &[u8]) -> String {
    let path = file(&format!("malformed-{}", hex(&Sha256::digest(text))), text);
    let error = match read(&path, options) {
        Err(error) => error.to_string(),
        Ok((requests, _)) => panic!("{:?} was read as {requests:?}", text.escape_ascii().to_string()),
    };
    assert!(!error.contains('\n'), "more than a line: {error}");
    error.replace(&path.display().to_string(), "FILE")
}

/// Packed.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// In hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
