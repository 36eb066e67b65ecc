//! Which times, addresses and lengths there are.

use crate::error::RecordError;
use crate::position::Position;
use flashraid_vocabulary::{HostOp, HostRequest};

/// A read or write longer than this cannot come from a host: the kernel counts the bytes of one in 32 bits.
const LARGEST_TRANSFER_BYTES: u64 = u32::MAX as u64;

/// Times and addresses end here: they are signed 64-bit numbers in every system that records traces, and sums of two of
/// ours never overflow.
pub(crate) const LARGEST: u64 = i64::MAX as u64;

/// Lengths and addresses that no host can have.
#[inline(always)]
pub(crate) fn check_range(request: &HostRequest, place: impl Position) -> Result<(), Box<RecordError>> {
    let is_flush = request.op == HostOp::Flush;
    if (request.size_bytes == 0) != is_flush || (is_flush && request.offset_bytes != 0) {
        return Err(if is_flush {
            place.size_fault("a flush with offset or size".to_owned(), "0 for both")
        } else {
            place.size_fault("a size of 0 bytes".to_owned(), "at least 1")
        });
    }
    let is_transfer = matches!(request.op, HostOp::Read | HostOp::Write);
    if is_transfer && request.size_bytes > LARGEST_TRANSFER_BYTES {
        return Err(place.size_fault(format!("a transfer of {} bytes", request.size_bytes), "at most 4294967295"));
    }
    if request.offset_bytes.checked_add(request.size_bytes).is_none_or(|end| end > LARGEST) {
        let what = format!("an address beyond 2^63 bytes ({} + {})", request.offset_bytes, request.size_bytes);
        return Err(place.size_fault(what, "an address that a device can have"));
    }
    Ok(())
}
