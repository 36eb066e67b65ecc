//! Look-ahead: the processor is asked for memory before it is needed.

use super::content::Content;
use super::logical_space::LogicalSpace;
use super::operations::Operations;
use super::pending::Requests;
use super::slot::Slot;
use crate::buffer::Buffer;
use crate::media::{Ahead, Media, Shape};
use flashraid_redundancy::Scheme;
use flashraid_vocabulary::{HostRequest, Lpn, NIL};

/// Requests ahead of the current one for which the maps, and then the blocks, are fetched into the cache.
const AHEAD_MAP: usize = 24;
const AHEAD_BLOCKS: usize = 12;

/// Page operations started last that are remembered: about as many as a device has LUNs.
const STARTED: usize = 8;

/// Which page operations were started last.
#[derive(Clone)]
pub(super) struct LookAhead {
    /// Whether those that are started are listed.
    is_on: bool,
    started: [(u32, u32); STARTED],
    next: usize,
}

impl Default for LookAhead {
    fn default() -> Self {
        Self { is_on: false, started: [(NIL, 0); STARTED], next: 0 }
    }
}

impl LookAhead {
    /// Looks ahead while so many requests are outstanding that it pays.
    #[inline(always)]
    pub(super) fn set<C: Content>(&mut self, outstanding: u64, media: &mut impl Media) {
        // What few requests touch stays in the caches from their arrival to their end. (Contents do not: they lie by physical page.)
        const FEW: u64 = 256;
        let wanted = C::TRACKED || outstanding >= FEW;
        if wanted != self.is_on {
            self.is_on = wanted;
            media.list_started(wanted);
        }
    }

    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Asks the processor for what the ends of the page operations just started will touch, which under overload was last used
    /// long ago. Each step needs what a former one fetched, so they are some starts apart: the operation; its request, its lock
    /// and a program of it that has ended; what that program's commit needs; the blocks that commits will supersede.
    #[inline(never)]
    pub(super) fn fetch_started(&mut self, media: &mut impl Media, content: &impl Content, operations: &Operations, requests: &Requests) {
        const STEP: usize = STARTED / 4;
        while let Some((id, ppn, page_slot)) = media.started().pop() {
            content.fetch_page(ppn);
            operations.slots.prefetch(id);
            let now = self.next;
            self.started[now] = (id, page_slot);
            self.next = (now + 1) % STARTED;
            let earlier = |steps: usize| self.started[(now + STARTED - steps * STEP) % STARTED];
            if let Some(slot) = operations.slots.get(earlier(1).0) {
                requests.prefetch(slot.request());
                operations.locks.prefetch(slot.stripe());
                media.prefetch(Ahead::Record(slot.programs()));
            }
            if let Some(program) = operations.slots.get(earlier(2).0).map(Slot::programs).filter(|program| *program != NIL) {
                media.prefetch(Ahead::Commit(program));
            }
            let (id, page_slot) = earlier(3);
            if let Some(slot) = operations.slots.get(id) {
                media.prefetch(Ahead::Superseded(page_slot));
                if slot.programs() != NIL {
                    media.prefetch(Ahead::Successor(slot.programs()));
                }
            }
        }
    }
}

/// Where what a request will touch lies.
pub(super) struct Footprint<'a, C, M> {
    pub(super) space: LogicalSpace,
    pub(super) shape: &'a Shape,
    pub(super) scheme: &'a dyn Scheme,
    pub(super) media: &'a M,
    pub(super) content: &'a C,
    pub(super) buffer: Option<&'a Buffer>,
    pub(super) operations: &'a Operations,
}

impl<C: Content, M: Media> Footprint<'_, C, M> {
    /// Asks the processor for what the requests after the one at `index` will touch. (With chunks it is what others will: no more than a hint is lost.)
    #[inline(always)]
    pub(super) fn prefetch(&self, requests: &[HostRequest], index: usize) {
        if let Some(request) = requests.get(index + AHEAD_MAP) {
            self.prefetch_map(request.offset_bytes);
        }
        if let Some(request) = requests.get(index + AHEAD_BLOCKS) {
            self.prefetch_blocks(request.offset_bytes, request.size_bytes);
        }
    }

    /// The map entries that a request to this address will need.
    #[inline(always)]
    fn prefetch_map(&self, offset_bytes: u64) {
        let page = self.space.page_of(offset_bytes);
        if page < self.space.pages {
            let lpn = Lpn(page);
            self.media.prefetch(Ahead::Request(self.scheme.locate(lpn)));
            self.scheme.prefetch(lpn);
            self.content.fetch_expected(lpn);
            if let Some(buffer) = self.buffer {
                buffer.prefetch(lpn);
            }
        }
    }

    /// The lock and the blocks of the first pages; their map entries should be there already.
    #[inline(always)]
    fn prefetch_blocks(&self, offset_bytes: u64, size_bytes: u64) {
        let page = self.space.page_of(offset_bytes);
        let end = self.space.pages_up(offset_bytes + size_bytes).min(page + 4).min(self.space.pages);
        if page < end {
            self.operations.locks.prefetch(self.scheme.stripe_of(Lpn(page)).0);
        }
        for page in page..end {
            self.media.prefetch(Ahead::Superseded(self.shape.entry(self.scheme.locate(Lpn(page)))));
        }
        if page < end
            && let Some(parity) = self.scheme.parity_of(Lpn(page))
        {
            self.media.prefetch(Ahead::Superseded(self.shape.entry(parity)));
        }
    }
}
