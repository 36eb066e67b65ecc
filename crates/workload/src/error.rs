//! What can be wrong with a trace. Every message is one line that says where, what, and what was expected.

use crate::formats::Format;
use std::io;
use std::path::{Path, PathBuf};

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened, read or written.
    #[error("{}: {}", path.display(), system_text(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A compressed file that is cut short or damaged.
    #[error("{}: truncated or damaged {compression} data ({}); expected a complete archive", path.display(), system_text(source))]
    Archive {
        /// The file.
        path: PathBuf,
        /// `gzip`, `zstd` or `xz`.
        compression: &'static str,
        /// What the decoder said.
        source: io::Error,
    },
    /// A row that is not a request.
    #[error("{}:{line}:{column}: {what}; expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: u64,
        /// What is wrong.
        what: String,
        /// What would be right.
        expected: String,
    },
    /// A record of a binary file that is not a request.
    #[error("{}: record {record}: {what}; expected {expected}", path.display())]
    MalformedRecord {
        /// The file.
        path: PathBuf,
        /// Number of the record, from 1.
        record: u64,
        /// What is wrong.
        what: String,
        /// What would be right.
        expected: String,
    },
    /// A trace that is readable and still cannot be used.
    #[error("{}: {what}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why not, and what can be done.
        what: String,
    },
    /// An option of the reader with a value that it cannot have.
    #[error("{key} = {value}: allowed is {allowed}")]
    Option {
        /// The option.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// A profile that makes no workload, or a name that is none.
    #[error("{0}")]
    Profile(String),
    /// No option of this name.
    #[error("{key}: no such option of a reader; allowed is format, time_unit, device_filter, on_error, op, action, object_bytes, limit")]
    UnknownOption {
        /// The name given.
        key: String,
    },
    /// No format of this name.
    #[error("unknown trace format '{name}'{}; expected auto, {}", nearest(name, |_| true), crate::formats::names())]
    UnknownFormat {
        /// The name given.
        name: String,
    },
    /// Neither the first line nor the file's name tells the format.
    #[error("{}: neither its first line nor its name tells the trace format; expected --format {}",
        path.display(), crate::formats::names())]
    Unrecognised {
        /// The file.
        path: PathBuf,
    },
    /// The first line names columns, but not those of a format.
    #[error("{}:1:1: the header '{header}' is that of no trace format; {}", path.display(), lacks)]
    Header {
        /// The file.
        path: PathBuf,
        /// The first line.
        header: String,
        /// What our own format would need.
        lacks: String,
    },
    /// The file's name fits several formats.
    #[error("{}: its name fits several trace formats, and no header tells which (flashraid's own is ts_us,op,offset,size); expected --format {}",
        path.display(), candidates.join(" or "))]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The formats.
        candidates: Vec<&'static str>,
    },
    /// No request in the file, or none of the device asked for.
    #[error("{}: {what}; expected at least one request", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// The name of a file to be written does not tell the format.
    #[error("{}: its name tells no format to write; expected --to {}", path.display(), crate::formats::writable_names())]
    UnknownOutput {
        /// The file.
        path: PathBuf,
    },
    /// The caller asked to stop; nothing is left of what was being written.
    #[error("interrupted")]
    Interrupted,
    /// A format that this crate reads only, or none at all.
    #[error("traces cannot be written as '{name}'{}; expected {}", nearest(name, Format::is_writable), crate::formats::writable_names())]
    ReadOnlyFormat {
        /// The name given.
        name: String,
    },
    /// A request that the output format has no words for.
    #[error("request {number} cannot be written as '{format}': {what}; expected {expected}")]
    Unwritable {
        /// The request's number, from 1.
        number: u64,
        /// The output format.
        format: &'static str,
        /// What stands in the way.
        what: String,
        /// What the format can hold.
        expected: &'static str,
    },
}

/// `(nearest: 'x')` when a known format is close enough to be what was meant.
fn nearest(name: &str, is_allowed: fn(&Format) -> bool) -> String {
    crate::formats::FORMATS
        .iter()
        .filter(|format| is_allowed(format))
        .map(|format| (strsim::damerau_levenshtein(name, format.name), format.name))
        .filter(|(distance, known)| *distance <= known.len() / 2)
        .min()
        .map(|(_, known)| format!(" (nearest: '{known}')"))
        .unwrap_or_default()
}

/// What the system said went wrong, without the number that the library puts behind it.
pub fn system_text(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(number) = text.rfind(" (os error ") {
        text.truncate(number);
    }
    text
}

/// Something wrong inside a record, before the place in the file is known. Passed in a box: results stay small enough for
/// registers on the path where nothing is wrong.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The record.
    Malformed {
        /// Column in bytes, from 1.
        column: u64,
        /// What is wrong.
        what: String,
        /// What would be right.
        expected: String,
    },
    /// Not the record: something that was found out on the way.
    Error(TraceError),
}

impl Fault {
    /// Of a record.
    pub fn malformed(column: u64, what: String, expected: &str) -> Box<Self> {
        Box::new(Self::Malformed { column, what, expected: expected.to_owned() })
    }

    /// In a line of a file.
    #[cold]
    pub fn at_line(self, path: &Path, line: u64) -> TraceError {
        match self {
            Self::Malformed { column, what, expected } => TraceError::Malformed { path: path.to_owned(), line, column, what, expected },
            Self::Error(error) => error,
        }
    }

    /// In a record of a file.
    #[cold]
    pub fn at_record(self, path: &Path, record: u64) -> TraceError {
        match self {
            Self::Malformed { what, expected, .. } => TraceError::MalformedRecord { path: path.to_owned(), record, what, expected },
            Self::Error(error) => error,
        }
    }
}
