//! Operation codes of SCSI commands (T10, SCSI Block Commands 4), for traces that record them.

use flashraid_vocabulary::HostOp;

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
