//! Operation codes of SCSI commands (T10, SCSI Block Commands 4), for traces that record them.

use crate::parser::TraceRecord;
use flashraid_vocabulary::{HostOp, HostRequest};

/// A command that is no request of ours (`op`): what changes data is missed where it is not replayed.
#[cold]
pub(crate) fn other(code: u64) -> TraceRecord {
    match code {
        0x42 => TraceRecord::Unsupported("discards of SCSI (UNMAP)"),
        // In forms of 10 and 16 bytes.
        0x41 | 0x93 => TraceRecord::Unsupported("writes of one block to many of SCSI (WRITE SAME)"),
        // COMPARE AND WRITE, ORWRITE, WRITE ATOMIC, WRITE SCATTERED; WRITE LONG; FORMAT UNIT, SANITIZE.
        0x89 | 0x8B | 0x9C | 0x9F | 0x3F | 0x04 | 0x48 => TraceRecord::Unsupported("other SCSI commands that change data"),
        _ => TraceRecord::Ignored("SCSI commands other than reads, writes and flushes"),
    }
}

/// What a command asks of the device, in its forms of 6, 10, 12 and 16 bytes; None for commands that are no request of ours.
pub(crate) fn op(code: u64) -> Option<HostOp> {
    match code {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(HostOp::Read),
        // WRITE, then WRITE AND VERIFY.
        0x0A | 0x2A | 0xAA | 0x8A | 0x2E | 0xAE | 0x8E => Some(HostOp::Write),
        // SYNCHRONIZE CACHE.
        0x35 | 0x91 => Some(HostOp::Flush),
        _ => None,
    }
}

/// A command with this address and length, and what it asks for (`op`).
#[inline]
pub(crate) fn record(request: HostRequest) -> TraceRecord {
    match request.op {
        // One of a range of addresses flushes these at least; ours flushes all.
        HostOp::Flush => TraceRecord::Request(HostRequest { offset_bytes: 0, size_bytes: 0, ..request }),
        _ if request.size_bytes == 0 => TraceRecord::Ignored("SCSI reads and writes of no length"),
        _ => TraceRecord::Request(request),
    }
}
