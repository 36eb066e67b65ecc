//! Requests that a device gave back (requeue): the next issue of such a request is the same request again, and counts once.
//!
//! Which one is the next is a matter of time and not of the place in the file, as issue, requeue and issue may have been recorded by different
//! processors. So a requeue is put in order of time among requests, as a mark that is no request, and is matched where requests leave
//! that order. Only requeues whose request has not been issued again are remembered.

use flashraid_vocabulary::{HostOp, HostRequest};
use rustc_hash::FxHashMap;

/// The size of a mark, which no request has.
const MARK_BYTES: u64 = u64::MAX;

/// That a device gave a request back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requeue {
    /// The request, at the time at which it was given back.
    pub request: HostRequest,
    /// What of it is not replayed (`Found::drop_parts`).
    pub dropped: u16,
    /// What the record is called.
    pub name: &'static str,
}

impl Requeue {
    /// The mark. It has no stream, as the formats that record requeues have none, and so there is room for what is not replayed.
    pub(super) fn mark(&self, base_bytes: u64) -> HostRequest {
        let offset_bytes = self.request.offset_bytes.saturating_add(base_bytes);
        HostRequest { offset_bytes, size_bytes: MARK_BYTES, stream: self.dropped, ..self.request }
    }
}

/// Device, first byte and operation, by which a request is known again.
type Known = (u32, u64, HostOp);

/// A request that was issued again.
pub(super) struct Reissue {
    pub source: u32,
    /// What of it is not replayed.
    pub dropped: u16,
}

/// The requeues whose request has not been issued again, at a point in time.
#[derive(Default)]
pub(super) struct Requeued {
    open: FxHashMap<Known, Vec<u16>>,
    /// What was issued again and is still to be counted.
    reissued: Vec<Reissue>,
}

impl Requeued {
    /// Whether the next in order of time is a request that counts: neither a mark nor a request that is issued again.
    #[inline]
    pub fn passes(&mut self, next: &HostRequest) -> bool {
        let known = (next.source, next.offset_bytes, next.op);
        if next.size_bytes == MARK_BYTES {
            self.open.entry(known).or_default().push(next.stream);
            return false;
        }
        self.open.is_empty() || !self.is_reissue(known)
    }

    #[cold]
    fn is_reissue(&mut self, known: Known) -> bool {
        let Some(open) = self.open.get_mut(&known) else { return false };
        self.reissued.extend(open.pop().map(|dropped| Reissue { source: known.0, dropped }));
        if open.is_empty() {
            self.open.remove(&known);
        }
        true
    }

    /// What has been issued again since this was asked for.
    pub fn take_reissued(&mut self) -> Vec<Reissue> {
        std::mem::take(&mut self.reissued)
    }

    /// The address spaces of devices begin elsewhere: each so many bytes further on.
    pub fn move_by(&mut self, base_bytes: impl Fn(u32) -> u64) {
        let moved = std::mem::take(&mut self.open).into_iter().map(|((source, offset_bytes, op), open)| {
            let base_bytes = if op == HostOp::Flush { 0 } else { base_bytes(source) };
            ((source, offset_bytes.saturating_add(base_bytes), op), open)
        });
        self.open = moved.collect();
    }
}
