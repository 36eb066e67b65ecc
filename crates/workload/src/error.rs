//! Errors of traces. Every message is one line: where, what is wrong, and what was expected.

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
    #[error("{}: truncated or damaged {compression} data ({}); expected a complete archive, or --on-error skip to read what there is of it", path.display(), system_text(source))]
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
    /// A trace that is readable but cannot be used.
    #[error("{}: {what}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do about it.
        what: String,
    },
    /// An option of the reader with a value that is not allowed.
    #[error("{key} = {value}: allowed is {allowed}")]
    Option {
        /// The option.
        key: String,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// Columns that nobody can read by.
    #[error("columns = {columns}: allowed is none, or names as in time:s,op,sector,sectors,-: {what}")]
    Columns {
        /// What was given.
        columns: String,
        /// What is wrong with it.
        what: String,
    },
    /// An invalid profile, or an unknown profile name.
    #[error("{0}")]
    Profile(String),
    /// An unknown option.
    #[error(
        "unknown reader option {key}: allowed is format, time_unit, device_filter, on_error, op, action, object_bytes, sector_bytes, columns, separator, limit"
    )]
    UnknownOption {
        /// The name given.
        key: String,
    },
    /// An unknown format.
    #[error("unknown trace format '{name}'{nearest}; expected auto, {known}")]
    UnknownFormat {
        /// The name given.
        name: String,
        /// ` (nearest: 'NAME')`, if one is near.
        nearest: String,
        /// The names of all formats.
        known: String,
    },
    /// Neither the first line nor the file name identifies the format.
    #[error("{}: neither the first line nor the file name identifies the trace format; expected --format {known} (of text, --columns says what its columns are)",
        path.display())]
    Unrecognized {
        /// The file.
        path: PathBuf,
        /// The names of all formats.
        known: String,
    },
    /// The first line names columns, but not those of a format.
    #[error("{}:1:1: the header '{header}' matches no trace format; {} (--columns reads other columns)", path.display(), lacks)]
    Header {
        /// The file.
        path: PathBuf,
        /// The first line.
        header: String,
        /// What our own format would need.
        lacks: String,
    },
    /// The first line names the columns of a format in another way than it does.
    #[error("{}:1:1: the header is that of {format}, but {faults}; expected its columns alone, without quotes and with commas between{options}", path.display())]
    Spelling {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What is different.
        faults: String,
        /// The options that read it, behind a comma.
        options: String,
    },
    /// The file name matches several formats.
    #[error("{}: the file name matches several trace formats and there is no header (flashraid's is ts_us,op,offset,size); expected --format {}",
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
    /// The name of an output file does not identify the format.
    #[error("{}: the file name implies no format to write; expected --to {writable}", path.display())]
    UnknownOutput {
        /// The file.
        path: PathBuf,
        /// The names of the formats that can be written.
        writable: String,
    },
    /// A record belongs before requests that have been delivered. `in_order` begins again; whoever does not use it sorts the trace.
    #[error("{}: a record comes so late that the trace must be sorted by time before it is read", path.display())]
    Late {
        /// The file.
        path: PathBuf,
    },
    /// The caller asked to stop; partial output has been removed.
    #[error("interrupted")]
    Interrupted,
    /// A format that can only be read, or an unknown one.
    #[error("traces cannot be written as '{name}'{nearest}; expected {writable}")]
    ReadOnlyFormat {
        /// The name given.
        name: String,
        /// ` (nearest: 'NAME')`, if one that can be written is near.
        nearest: String,
        /// The names of the formats that can be written.
        writable: String,
    },
    /// A request that the output format cannot express.
    #[error("request {number} cannot be written as '{format}': {what}; expected {expected}")]
    Unwritable {
        /// The request's number, from 1.
        number: u64,
        /// The output format.
        format: &'static str,
        /// Why not.
        what: String,
        /// What the format can hold.
        expected: &'static str,
    },
}

impl TraceError {
    /// Whether the trace has to be sorted before it can be read.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::Late { .. })
    }
}

/// The system's error message without the error number that the library appends.
pub fn system_text(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(number) = text.rfind(" (os error ") {
        text.truncate(number);
    }
    text
}

/// An error inside a record, before its position in the file is known. It is boxed so that results without errors fit in
/// registers.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// The record.
    Malformed {
        /// Column in bytes, from 1.
        column: u64,
        /// What is wrong.
        what: String,
        /// What would be right.
        expected: String,
    },
    /// An error that does not concern the record itself.
    Error(TraceError),
}

impl RecordError {
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

/// The first `most` characters of `bytes` for a message, in which bytes that are not printable ASCII are escaped.
pub(crate) fn excerpt(bytes: &[u8], most: usize) -> String {
    let mut text = bytes.escape_ascii().take(most + 1).map(char::from).collect::<String>();
    if text.len() > most {
        // Escaped text is ASCII: a character is a byte.
        text.replace_range(most.., "...");
    }
    text
}
