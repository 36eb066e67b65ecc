//! Where in a file something is that a message is about.

use crate::error::RecordError;

/// Where in the file something is, for messages. Methods take a copy, so that nothing keeps a reference to a line's cursor and it
/// can live in registers.
pub(crate) trait Position: Copy {
    /// A fault of the device number.
    fn device_fault(self, what: String, expected: &str) -> Box<RecordError>;
    /// A fault of address or length.
    fn size_fault(self, what: String, expected: &str) -> Box<RecordError>;
    /// A fault of the record as a whole.
    fn line_fault(self, what: String, expected: &str) -> Box<RecordError>;
}

/// A fault of a record.
#[cold]
pub(crate) fn record_fault(what: String, expected: &str) -> Box<RecordError> {
    RecordPlace.line_fault(what, expected)
}

/// Where faults of a record are: the record's number says it all.
#[derive(Clone, Copy)]
pub(crate) struct RecordPlace;

impl Position for RecordPlace {
    fn device_fault(self, what: String, expected: &str) -> Box<RecordError> {
        RecordError::malformed(1, what, expected)
    }

    fn size_fault(self, what: String, expected: &str) -> Box<RecordError> {
        RecordError::malformed(1, what, expected)
    }

    fn line_fault(self, what: String, expected: &str) -> Box<RecordError> {
        RecordError::malformed(1, what, expected)
    }
}
