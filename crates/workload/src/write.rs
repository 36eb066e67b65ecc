//! Writing requests as a trace.

use crate::error::TraceError;
use crate::formats::{Format, Writer};
use flashraid_vocabulary::HostRequest;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Text gathered before it is handed on.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes requests as text of a format to `output`, and returns how many. `path` names the output in messages.
pub fn write_requests(
    output: &mut dyn Write,
    path: &Path,
    format: &Format,
    requests: impl IntoIterator<Item = HostRequest>,
) -> Result<u64, TraceError> {
    let mut writer = writer_of(format)?;
    let io_error = |source| TraceError::Io { path: path.to_owned(), source };
    let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
    writer.begin(&mut text);
    let mut number = 0;
    for request in requests {
        number += 1;
        let written = writer.request(&request, &mut text);
        written.map_err(|reason| TraceError::Unwritable { number, format: format.name, what: reason.what, expected: reason.expected })?;
        if text.len() >= CHUNK_BYTES {
            output.write_all(&text).map_err(io_error)?;
            text.clear();
        }
    }
    output.write_all(&text).and_then(|()| output.flush()).map_err(io_error)?;
    Ok(number)
}

/// Writes requests as a trace file, and returns how many. The file appears complete or not at all: it is written under
/// another name in the same folder and renamed.
pub fn write_trace(path: &Path, format: &Format, requests: impl IntoIterator<Item = HostRequest>) -> Result<u64, TraceError> {
    writer_of(format)?;
    let io_error = |source| TraceError::Io { path: path.to_owned(), source };
    let temporary = temporary_beside(path).map_err(io_error)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(io_error)?;
    let written = write_requests(&mut file, path, format, requests).and_then(|count| {
        drop(file);
        fs::rename(&temporary, path).map_err(io_error)?;
        Ok(count)
    });
    if written.is_err() {
        // The first error is the one to report; if this fails too, a file that is clearly no trace is left.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn writer_of(format: &Format) -> Result<Box<dyn Writer>, TraceError> {
    format.writer.map(|writer| writer()).ok_or(TraceError::ReadOnlyFormat { name: format.name })
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"))?;
    Ok(path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id())))
}
