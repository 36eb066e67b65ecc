//! Cutting a host request into operations: what is the same for every scheme.

use crate::parts::bits;
use crate::{CommitCause, Extent, Group, Lock, Method, Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, StripeId};

/// The first `pages` pages of `extent` as an operation on strips `strip`, `strip` + 1, ... of one stripe.
///
/// Reads hold no lock; writes and trims exclude everybody. The caller adds `space`.
#[inline(always)]
pub fn operation(extent: &Extent, pages: u64, page_bytes: u32, stripe: StripeId, strip: u32) -> Operation {
    debug_assert!(pages >= 1 && pages <= extent.pages);
    let (kind, lock) = match extent.op {
        HostOp::Read => (OperationKind::Read, Lock::None),
        HostOp::Write => (OperationKind::Write, Lock::Exclusive),
        HostOp::Trim => (OperationKind::Trim, Lock::Exclusive),
        HostOp::WriteZeroes | HostOp::Flush => unreachable!("the engine keeps these to itself"),
    };
    let last_bytes = match pages {
        1 => extent.first_bytes,
        _ if pages == extent.pages => extent.last_bytes,
        _ => page_bytes,
    };
    let strips = bits::lowest(pages as u32) << strip;
    let lowest = if extent.first_bytes < page_bytes { 1 << strip } else { 0 };
    let highest = if last_bytes < page_bytes { 1 << (strip + pages as u32 - 1) } else { 0 };
    Operation {
        kind,
        lock,
        method: Method::None,
        is_adjusted: false,
        deferred_by: Method::None,
        step: 0,
        reads: 0,
        update_reads: 0,
        stripe,
        strips,
        first: extent.first,
        first_bytes: extent.first_bytes,
        last_bytes,
        merge_strips: if extent.covered { 0 } else { lowest | highest },
        space: 0,
        posted_programs: 0,
        copied: 0,
        restored: 0,
        requires: None,
        commit: CommitCause::Replacement,
        is_placed: false,
        first_moved: 0,
    }
}

/// The pages of `group`, which are strips `strip` and on of one stripe, as an operation. The caller adds `space`.
pub fn group(group: &Group, page_bytes: u32, stripe: StripeId, strip: u32) -> Operation {
    let operation = operation(&whole_write(group.first, 1, page_bytes), 1, page_bytes, stripe, strip);
    Operation { strips: group.pages << strip, merge_strips: group.merge_pages << strip, ..operation }
}

/// A write of `pages` whole pages from `first` on, as `Addressing::fill` wants it cut.
pub fn whole_write(first: Lpn, pages: u32, page_bytes: u32) -> Extent {
    Extent { op: HostOp::Write, first, pages: u64::from(pages), first_bytes: page_bytes, last_bytes: page_bytes, covered: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(extent: &Extent, pages: u64) -> Operation {
        operation(extent, pages, 4096, StripeId(7), 2)
    }

    #[test]
    fn the_ends_keep_their_bytes() {
        let extent = Extent { op: HostOp::Write, first: Lpn(30), pages: 5, first_bytes: 512, last_bytes: 1024, covered: false };
        let bytes = |operation: Operation| (operation.strips, operation.first_bytes, operation.last_bytes);
        assert_eq!(bytes(cut(&extent, 5)), (0b111_1100, 512, 1024));
        assert_eq!(bytes(cut(&extent, 3)), (0b1_1100, 512, 4096));
        assert_eq!(bytes(cut(&extent, 1)), (0b100, 512, 512));
    }

    #[test]
    fn only_reads_go_without_a_lock() {
        let lock = |op| cut(&Extent { op, first: Lpn(0), pages: 1, first_bytes: 4096, last_bytes: 4096, covered: false }, 1).lock;
        assert_eq!(lock(HostOp::Read), Lock::None);
        assert_eq!(lock(HostOp::Write), Lock::Exclusive);
        assert_eq!(lock(HostOp::Trim), Lock::Exclusive);
    }
}
