//! The formats of traces, one file each. A new one is its file, its `mod` line and its place in `FORMATS`; the command's
//! help, recognition and error messages read that list.

mod flashraid;
mod msr;
mod spc;
mod ssdsim;

use crate::trace::Parser;
use flashraid_vocabulary::HostRequest;
use std::path::Path;

/// One format.
pub struct Format {
    /// The name used everywhere.
    pub name: &'static str,
    /// One sentence: columns and units.
    pub about: &'static str,
    /// Whether a file is of this format, by its name (lower case, without compression suffix) or its first line.
    pub(crate) recognise: fn(name: &str, first_line: &[u8]) -> bool,
    /// A parser that stands at the start of a file.
    pub(crate) parser: fn() -> Box<dyn Parser>,
    /// How to write it, if it can be written.
    pub(crate) writer: Option<Writer>,
}

/// How a format is written.
pub(crate) struct Writer {
    /// First line, with its newline; empty for none.
    pub header: &'static str,
    /// Appends the line of a request.
    pub line: fn(&HostRequest, &mut Vec<u8>) -> Result<(), NotExpressible>,
}

/// A request that a format has no words for.
pub(crate) struct NotExpressible {
    /// What stands in the way.
    pub what: String,
    /// What the format can hold.
    pub expected: &'static str,
}

/// Every format. The one with a header line comes first: a header is better evidence than a file's name.
pub const FORMATS: &[Format] = &[flashraid::FORMAT, ssdsim::FORMAT, spc::FORMAT, msr::FORMAT];

/// The format called `name`.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format of a file, by its first line or its name.
pub(crate) fn recognise(path: &Path, first_line: &[u8]) -> Option<&'static Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst", ".xz"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
    FORMATS.iter().find(|format| (format.recognise)(name, first_line))
}

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The names of the formats that can be written, for messages.
pub(crate) fn writable_names() -> String {
    FORMATS.iter().filter(|format| format.writer.is_some()).map(|format| format.name).collect::<Vec<_>>().join(" or ")
}
