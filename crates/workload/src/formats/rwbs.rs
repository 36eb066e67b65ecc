//! The letters with which Linux describes a block request, in traces of the kernel (`blk_fill_rwbs` in kernel/trace/blktrace.c)
//! and in the output of blkparse (`fill_rwbs` in its blkparse_fmt.c): `F` if a flush goes before, the operation, then `F` for
//! forced unit access, `A` read-ahead, `S` synchronous, `M` metadata, `U` atomic.
//!
//! The two differ in the operations. A flush is `FF` for the kernel and `FN` for blkparse; where it is queued, and in old kernels, it is
//! a write with a flush before it that has no sectors (`FWS`). Write zeroes are `N` for the kernel, `WZ` for the newest, and `W` for
//! blkparse, which does not tell them from writes.
//!
//! A write with a flush before it (`FWS` with sectors) is read as the write: the order that the flush asks for is not kept.

use flashraid_vocabulary::{HostOp, HostRequest};

/// What the letters ask for; None if it is nothing that a simulated device does (zone commands). `request_or_flush` says what it
/// is without sectors.
#[inline]
pub(super) fn operation(letters: &[u8]) -> Option<HostOp> {
    match letters {
        [b'F', b'F' | b'N', ..] | [b'F'] => Some(HostOp::Flush),
        [b'W', b'Z', ..] | [b'N', ..] => Some(HostOp::WriteZeroes),
        [b'R', ..] | [b'F', b'R', ..] => Some(HostOp::Read),
        [b'W', ..] | [b'F', b'W', ..] => Some(HostOp::Write),
        [b'D', ..] | [b'F', b'D', ..] => Some(HostOp::Trim),
        _ => None,
    }
}

/// The request itself if it has a size; without one it is a flush if the letters name one, and else nothing.
#[inline(always)]
pub(super) fn request_or_flush(request: HostRequest, letters: &[u8]) -> Option<HostRequest> {
    if request.size_bytes > 0 {
        Some(request)
    } else if letters.first() == Some(&b'F') {
        Some(HostRequest { offset_bytes: 0, op: HostOp::Flush, ..request })
    } else {
        None
    }
}
