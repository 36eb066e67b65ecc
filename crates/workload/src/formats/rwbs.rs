//! The letters with which Linux describes a block request, in traces of the kernel (`blk_fill_rwbs` in kernel/trace/blktrace.c)
//! and in the output of blkparse (`fill_rwbs` in its blkparse_fmt.c): `F` if a flush goes before, the operation, then `F` for
//! forced unit access, `A` read-ahead, `S` synchronous, `M` metadata, `U` atomic.
//!
//! The two differ in the operations. A flush is `FF` for the kernel and `FN` for blkparse; where it is queued, and in old kernels, it is
//! a write with a flush before it that has no sectors (`FWS`). Write zeroes are `N` for the kernel, `WZ` for the newest, and `W` for
//! blkparse, which does not tell them from writes.
//!
//! A write with a flush before it (`FWS` with sectors) is read as the write: the order that the flush asks for is not kept.

use crate::gate::{Requeue, parts};
use crate::parser::TraceRecord;
use flashraid_vocabulary::{HostOp, HostRequest};

/// What the letters ask for; None if it is nothing that a simulated device does (`unsupported` says what). `request_or_flush` says what
/// it is without sectors.
///
/// | letters | what it is | what is replayed |
/// |---|---|---|
/// | `R` | read | read |
/// | `W` | write (for blkparse also write zeroes, write same) | write |
/// | `FW`, `FWZ` with sectors | write, write zeroes behind a flush | these; the flush is counted (`dropped`) |
/// | `WF`, `FWF`, `WZF` | forced unit access | write, write zeroes; it is counted (`dropped`) |
/// | `F`, `FF`, `FN`; `FW` without sectors | flush | flush |
/// | `D`, `DE` | discard, secure erase | discard |
/// | `WZ`; `N` with sectors | write zeroes (`N` in kernels before 6.19) | write zeroes |
/// | `N`, `R`, `W`, `D` without sectors | a command to the device, the end of a flush | nothing: it transfers no data of the medium |
/// | `ZA` | zone append: the device chooses the address | nothing, counted |
/// | `ZR`, `ZRA`, `ZO`, `ZC`, `ZF` | zone reset, reset all, open, close, finish | nothing, counted |
/// | others, or others behind these | unknown | nothing, counted |
///
/// Letters that change nothing behind these: `A` read-ahead, `S` synchronous, `M` metadata, `U` atomic, `B` barrier (old kernels), `P` priority.
#[inline]
pub(crate) fn operation(letters: &[u8]) -> Option<HostOp> {
    let (op, behind) = parted(letters)?;
    behind.iter().all(|flag| is_flag(*flag)).then_some(op)
}

/// The operation, and what stands behind it.
#[inline(always)]
fn parted(letters: &[u8]) -> Option<(HostOp, &[u8])> {
    Some(match letters {
        [b'F'] => (HostOp::Flush, &[]),
        [b'F', b'F' | b'N', behind @ ..] => (HostOp::Flush, behind),
        [b'W', b'Z', behind @ ..] | [b'F', b'W', b'Z', behind @ ..] | [b'N', behind @ ..] => (HostOp::WriteZeroes, behind),
        [b'R', behind @ ..] | [b'F', b'R', behind @ ..] => (HostOp::Read, behind),
        [b'W', behind @ ..] | [b'F', b'W', behind @ ..] => (HostOp::Write, behind),
        [b'D', b'E', behind @ ..] | [b'F', b'D', b'E', behind @ ..] => (HostOp::Trim, behind),
        [b'D', behind @ ..] | [b'F', b'D', behind @ ..] => (HostOp::Trim, behind),
        _ => return None,
    })
}

/// Whether a letter may stand behind an operation.
#[inline(always)]
fn is_flag(letter: u8) -> bool {
    matches!(letter, b'F' | b'A' | b'S' | b'M' | b'U' | b'B' | b'P')
}

/// Whether a word may be such letters, also of a kernel to come: an operation, which may be one that is not known, among the flags that stand before
/// and behind one.
pub(crate) fn may_be(word: &[u8]) -> bool {
    let behind = match word.strip_prefix(b"F").unwrap_or(word) {
        [b'D', b'E', behind @ ..] | [b'W', b'Z', behind @ ..] | [b'Z', b'R', b'A', behind @ ..] => behind,
        [b'Z', b'A' | b'R' | b'O' | b'C' | b'F', behind @ ..] => behind,
        [operation, behind @ ..] if operation.is_ascii_uppercase() => behind,
        _ => return false,
    };
    behind.iter().all(|flag| is_flag(*flag))
}

/// What a command is that passes data which is not addressed by sectors.
pub(crate) const PASSED_THROUGH: &str = "commands passed through to the device";

/// What a request is with letters of a kernel to come.
pub(crate) const UNKNOWN: &str = "requests with unknown letters (rwbs)";

/// What a request is of which `operation` knows nothing.
#[cold]
pub(crate) fn unsupported(letters: &[u8]) -> &'static str {
    match letters {
        [b'Z', b'A', ..] | [b'F', b'Z', b'A', ..] => "zone appends (ZA)",
        [b'Z', ..] | [b'F', b'Z', ..] => "zone commands (ZR, ZRA, ZO, ZC, ZF)",
        _ => UNKNOWN,
    }
}

/// What of a request with sectors is not replayed, if it is a write (`gate::parts`).
#[inline(always)]
pub(crate) fn dropped(op: HostOp, letters: &[u8]) -> u16 {
    if !matches!(op, HostOp::Write | HostOp::WriteZeroes) {
        return 0;
    }
    parted(letters).map_or(0, |(_, behind)| parts(letters[0] == b'F', behind.contains(&b'F')))
}

/// That a request with these letters was given back; `name` is what such events are called.
#[cold]
pub(crate) fn requeued(request: HostRequest, letters: &[u8], name: &'static str) -> TraceRecord {
    match request_or_flush(request, letters) {
        Some(request) => TraceRecord::Requeued(Box::new(Requeue { request, dropped: dropped(request.op, letters), name })),
        None => TraceRecord::Ignored(name),
    }
}

/// The request itself if it has a size; without one it is a flush if the letters name one, and else nothing.
#[inline(always)]
pub(crate) fn request_or_flush(request: HostRequest, letters: &[u8]) -> Option<HostRequest> {
    if request.size_bytes > 0 {
        Some(request)
    } else if letters.first() == Some(&b'F') {
        Some(HostRequest { offset_bytes: 0, op: HostOp::Flush, ..request })
    } else {
        None
    }
}
