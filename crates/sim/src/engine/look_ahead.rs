//! Look-ahead: the processor is asked for memory before it is needed.

use super::content::Content;
use super::slot::{NIL, Slot};
use super::state::{Engine, STARTED};
use crate::media::{Ahead, Media};
use flashraid_vocabulary::memory::prefetch;
use flashraid_vocabulary::{HostRequest, Lpn};

/// Requests ahead of the current one for which the maps, and then the blocks, are fetched into the cache.
const AHEAD_MAP: usize = 24;
const AHEAD_BLOCKS: usize = 12;

impl<C: Content, M: Media> Engine<C, M> {
    /// Asks the processor for what the requests after the one at `index` will touch.
    #[inline]
    pub fn prefetch(&self, requests: &[HostRequest], index: usize) {
        if let Some(request) = requests.get(index + AHEAD_MAP) {
            self.prefetch_map(request.offset_bytes);
        }
        if let Some(request) = requests.get(index + AHEAD_BLOCKS) {
            self.prefetch_blocks(request.offset_bytes, request.size_bytes);
        }
    }

    /// The map entries that a request to this address will need.
    #[inline]
    fn prefetch_map(&self, offset_bytes: u64) {
        let page = offset_bytes >> self.page_shift;
        if page < self.options.space_pages {
            self.media.prefetch(Ahead::Request(self.scheme.locate(Lpn(page))));
            self.scheme.prefetch(Lpn(page));
            self.content.fetch_expected(Lpn(page));
            if let Some(buffer) = &self.buffer {
                buffer.prefetch(Lpn(page));
            }
        }
    }

    /// The lock and the blocks of the first pages; their map entries should be there already.
    #[inline]
    fn prefetch_blocks(&self, offset_bytes: u64, size_bytes: u64) {
        let page = offset_bytes >> self.page_shift;
        let end = self.pages_up(offset_bytes + size_bytes).min(page + 4).min(self.options.space_pages);
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

    /// Looks ahead while there are many requests.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self) {
        // What few requests touch stays in the caches from their arrival to their end. (Contents do not: they lie by physical page.)
        const FEW: u64 = 256;
        let wanted = C::TRACKED || self.requests.outstanding >= FEW;
        if wanted != self.looks_ahead {
            self.looks_ahead = wanted;
            self.media.list_started(wanted);
        }
    }

    /// Asks the processor for what the ends of the page operations just started will touch, which under overload was last used
    /// long ago. Each step needs what a former one fetched, so they are some starts apart: the operation; its request, its lock
    /// and a program of it that has ended; what that program's commit needs; the blocks that commits will supersede.
    #[inline(never)]
    pub(super) fn fetch_started(&mut self) {
        const STEP: usize = STARTED / 4;
        while let Some((id, ppn, page_slot)) = self.media.started().pop() {
            self.content.fetch_page(ppn);
            prefetch(&self.operations.slots, id as usize);
            let now = self.next_started;
            self.started[now] = (id, page_slot);
            self.next_started = (now + 1) % STARTED;
            let earlier = |steps: usize| self.started[(now + STARTED - steps * STEP) % STARTED];
            if let Some(slot) = self.operations.slots.get(earlier(1).0 as usize) {
                self.requests.prefetch(slot.request());
                self.operations.locks.prefetch(slot.stripe());
                self.media.prefetch(Ahead::Record(slot.programs()));
            }
            if let Some(program) = self.operations.slots.get(earlier(2).0 as usize).map(Slot::programs).filter(|program| *program != NIL) {
                self.media.prefetch(Ahead::Commit(program));
            }
            let (id, page_slot) = earlier(3);
            if let Some(slot) = self.operations.slots.get(id as usize) {
                self.media.prefetch(Ahead::Superseded(page_slot));
                if slot.programs() != NIL {
                    self.media.prefetch(Ahead::Successor(slot.programs()));
                }
            }
        }
    }
}
