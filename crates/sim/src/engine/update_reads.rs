//! Which writes of parts of pages need the old page first (`partial_writes`, SPEC 0.3 step 4): those that leave valid sectors beside them. This is the one
//! place where that is asked; a scheme finds the answer in `Operation::merge_strips`, and reads the page if it is on flash.
//!
//! The state is the decided one, as that of a data buffer: it moves when a request is decided, which is when its operations take their places at their
//! stripes' locks. So of two writes of one page the later one sees the earlier one as done, as it will be when the later one holds the stripe, and no answer
//! depends on timing. A write that fails changes nothing on flash: then more sectors count as valid than are, which costs a read at most. Of a trim that
//! fails everything counts as valid again. A write decided between that trim and its failure may leave out what the trim was to discard: the host was told.
//!
//! A sector becomes valid when it is written: by a request, with a data buffer by the eviction; or by the fill, all those of the page. With
//! `unwritten = prefill` a sector that is read was there from the start, and is valid too. A discard makes the sectors invalid that it covers, and leaves parts
//! of pages as they are on flash: a later write that has no need of them leaves them out, and then they are zeroes. Write-zeroes discards whole
//! pages, and writes parts of pages, which are valid. Under `read_if_used` a sector counts only if a request has also read or written it.

use super::buffered::victim_of;
use super::content::Content;
use super::state::Engine;
use super::valid_sectors::Sectors;
use crate::buffer::SECTOR_BYTES;
use crate::config::PartialWrites;
use crate::media::Media;
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Decisions, Extent, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn};

/// The sectors of a page from a byte on, of which so many bytes are touched.
fn sectors_of(start: u32, bytes: u32) -> Sectors {
    Sectors::MAX >> (Sectors::BITS - bytes.div_ceil(SECTOR_BYTES)) << (start / SECTOR_BYTES)
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Before the writes of a decision take their places: which of them need old pages.
    #[cold]
    pub(super) fn decide_update_reads(&mut self, id: u32, decisions: &mut Decisions) {
        for operation in decisions.operations.iter_mut().filter(|operation| operation.kind == OperationKind::Write) {
            for strip in Bits(operation.strips) {
                let lpn = operation.host_page(strip);
                let bytes = operation.touched_bytes(strip, self.shape.page_bytes);
                let valid = self.valid_sectors.as_mut().expect("whoever asks for it");
                let start = std::mem::take(&mut valid.start);
                let sectors = match self.evicting.is_empty() {
                    true => sectors_of(start, bytes),
                    false => victim_of(&self.evicting, lpn).sectors.into(),
                };
                let needs = valid.write(lpn, sectors);
                #[cfg(feature = "mutants")]
                let needs = needs && !self.has_fault(crate::mutants::EngineFault::NeedNothing);
                operation.merge_strips = operation.merge_strips & !(1 << strip) | u64::from(needs) << strip;
                if !needs && sectors.count_ones() * SECTOR_BYTES < self.shape.page_bytes {
                    self.leave_out_the_rest(id, lpn, sectors, start, bytes);
                }
            }
        }
    }

    /// A write that is decided leaves nothing of the page but what it writes.
    fn leave_out_the_rest(&mut self, id: u32, lpn: Lpn, sectors: Sectors, start: u32, bytes: u32) {
        let is_evicted = !self.evicting.is_empty();
        if let Some(buffer) = self.buffer.as_mut().filter(|_| is_evicted) {
            buffer.is_left_with(lpn, sectors as u64);
        }
        if C::TRACKED {
            let (lanes, sequence) = match &self.buffer {
                Some(buffer) if is_evicted => (buffer.lanes_of(sectors as u64), None),
                _ => (self.lanes(start, bytes), Some(self.requests.number_of_version(self.requests[id].sequence))),
            };
            self.content.left_with(lpn, lanes, sequence, self.options.host.partial_writes);
        }
    }

    /// Tells the contents what a read of bytes uses.
    #[cold]
    pub(super) fn tell_used(&mut self, offset_bytes: u64, end_bytes: u64) {
        if self.options.host.partial_writes == PartialWrites::ReadIfUsed {
            let end_bytes = end_bytes.next_multiple_of(SECTOR_BYTES.into());
            self.each_part(offset_bytes & !(u64::from(SECTOR_BYTES) - 1), end_bytes, |engine, lpn, start, bytes| {
                let lanes = if bytes == engine.shape.page_bytes { u64::MAX } else { engine.lanes(start, bytes) };
                engine.content.used(lpn, lanes);
            });
        }
    }

    /// Tells the contents what a discard of bytes covers of pages that it does not cover wholly.
    #[cold]
    pub(super) fn tell_discarded(&mut self, offset_bytes: u64, end_bytes: u64) {
        let (sector, page_bytes) = (u64::from(SECTOR_BYTES), self.shape.page_bytes);
        let (offset_bytes, end_bytes) = (offset_bytes.next_multiple_of(sector), end_bytes / sector * sector);
        self.each_part(offset_bytes, end_bytes, |engine, lpn, start, bytes| {
            if bytes < page_bytes {
                let part = |byte: u32| byte / (page_bytes / 128);
                engine.content.discarded(lpn, u128::MAX >> (128 - part(bytes)) << part(start));
            }
        });
    }

    /// Visits each page of a range of bytes, with the first of them in the page and their number.
    fn each_part(&mut self, offset_bytes: u64, end_bytes: u64, mut visit: impl FnMut(&mut Self, Lpn, u32, u32)) {
        let page_bytes = u64::from(self.shape.page_bytes);
        let mut offset_bytes = offset_bytes;
        while offset_bytes < end_bytes {
            let start = offset_bytes & (page_bytes - 1);
            let bytes = (end_bytes - offset_bytes).min(page_bytes - start);
            visit(self, self.wrapped(offset_bytes >> self.page_shift), start as u32, bytes as u32);
            offset_bytes += bytes;
        }
    }

    /// A request is about to be decided, piece by piece. `start` is the first byte touched in the first page.
    #[cold]
    pub(super) fn note_cut(&mut self, extent: &Extent, mut start: u32) {
        #[cfg(feature = "mutants")]
        if extent.op == HostOp::Read && self.has_fault(crate::mutants::EngineFault::ForgetUse) {
            return;
        }
        let valid = self.valid_sectors.as_mut().expect("whoever asks for it");
        if extent.op == HostOp::Write {
            valid.start = start;
            return;
        }
        for page in 0..extent.pages {
            let bytes = match page {
                0 => extent.first_bytes,
                last if last + 1 == extent.pages => extent.last_bytes,
                _ => self.shape.page_bytes,
            };
            valid.read(Lpn(extent.first.0 + page), sectors_of(std::mem::take(&mut start), bytes));
        }
    }
}
