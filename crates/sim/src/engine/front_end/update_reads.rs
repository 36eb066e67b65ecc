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

use super::buffering::victim_of;
use super::state::FrontEnd;
use crate::buffer::SECTOR_BYTES;
use crate::config::PartialWrites;
use crate::engine::content::{Content, Submitted};
use crate::engine::logical_space::LogicalSpace;
use crate::engine::valid_sectors::Sectors;
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Decisions, Extent, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn};

/// The sectors of a page from a byte on, of which so many bytes are touched.
fn sectors_of(start: u32, bytes: u32) -> Sectors {
    Sectors::MAX >> (Sectors::BITS - bytes.div_ceil(SECTOR_BYTES)) << (start / SECTOR_BYTES)
}

impl FrontEnd {
    /// Before the writes of a decision take their places: which of them need old pages. None does under a deliberate fault, `needs_nothing`.
    #[cold]
    pub(in crate::engine) fn decide_update_reads(
        &mut self,
        id: u32,
        decisions: &mut Decisions,
        space: LogicalSpace,
        content: &mut impl Content,
        needs_nothing: bool,
    ) {
        for operation in decisions.operations.iter_mut().filter(|operation| operation.kind == OperationKind::Write) {
            for strip in Bits(operation.strips) {
                let lpn = operation.host_page(strip);
                let bytes = operation.touched_bytes(strip, space.page_bytes);
                let valid = self.valid_sectors.as_mut().expect("whoever asks for it");
                let start = std::mem::take(&mut valid.start);
                let sectors = match self.evicting.is_empty() {
                    true => sectors_of(start, bytes),
                    false => victim_of(&self.evicting, lpn).sectors.into(),
                };
                let needs = valid.write(lpn, sectors) && !needs_nothing;
                operation.merge_strips = operation.merge_strips & !(1 << strip) | u64::from(needs) << strip;
                if !needs && sectors.count_ones() * SECTOR_BYTES < space.page_bytes {
                    self.leave_out_the_rest(id, lpn, sectors, || space.lanes(start, bytes), content);
                }
            }
        }
    }

    /// A write that is decided leaves nothing of the page but what it writes.
    fn leave_out_the_rest<C: Content>(&mut self, id: u32, lpn: Lpn, sectors: Sectors, lanes: impl Fn() -> u64, content: &mut C) {
        let is_evicted = !self.evicting.is_empty();
        if let Some(buffer) = self.buffer.as_mut().filter(|_| is_evicted) {
            buffer.is_left_with(lpn, sectors as u64);
        }
        if C::TRACKED {
            let (lanes, sequence) = match &self.buffer {
                Some(buffer) if is_evicted => (buffer.lanes_of(sectors as u64), None),
                _ => (lanes(), Some(self.requests.number_of_version(&self.requests[id]))),
            };
            content.left_with(lpn, lanes, sequence, self.host.partial_writes);
        }
    }

    /// A request is about to be decided, piece by piece. `start` is the first byte touched in the first page.
    #[cold]
    pub(in crate::engine) fn note_cut(&mut self, extent: &Extent, mut start: u32, page_bytes: u32) {
        let valid = self.valid_sectors.as_mut().expect("whoever asks for it");
        if extent.op == HostOp::Write {
            valid.start = start;
            return;
        }
        for page in 0..extent.pages {
            valid.read(Lpn(extent.first.0 + page), sectors_of(std::mem::take(&mut start), bytes_in(extent, page, page_bytes)));
        }
    }

    // ---- contents ----

    /// Tells the contents what a read of bytes uses.
    #[cold]
    pub(in crate::engine) fn tell_used(&self, offset_bytes: u64, end_bytes: u64, space: LogicalSpace, content: &mut impl Content) {
        if self.host.partial_writes == PartialWrites::ReadIfUsed {
            let end_bytes = end_bytes.next_multiple_of(SECTOR_BYTES.into());
            for (lpn, start, bytes) in space.parts(offset_bytes & !(u64::from(SECTOR_BYTES) - 1), end_bytes) {
                let lanes = if bytes == space.page_bytes { u64::MAX } else { space.lanes(start, bytes) };
                content.used(lpn, lanes);
            }
        }
    }

    /// Tells the contents what the host changes. `start` is the first byte touched in the first page.
    pub(in crate::engine) fn tell_submitted(&self, id: u32, extent: &Extent, start: u32, space: LogicalSpace, content: &mut impl Content) {
        let sequence = self.requests.number_of_version(&self.requests[id]);
        for page in 0..extent.pages {
            let bytes = bytes_in(extent, page, space.page_bytes);
            let change = match extent.op {
                HostOp::Trim => Submitted::Zero,
                _ if bytes < space.page_bytes => Submitted::Part(space.lanes(if page == 0 { start } else { 0 }, bytes)),
                _ => Submitted::Whole,
            };
            content.submitted(sequence, space.wrapped(extent.first.0 + page), change);
        }
    }
}

/// Tells the contents what a discard of bytes covers of pages that it does not cover wholly.
#[cold]
pub(in crate::engine) fn tell_discarded(offset_bytes: u64, end_bytes: u64, space: LogicalSpace, content: &mut impl Content) {
    let (sector, page_bytes) = (u64::from(SECTOR_BYTES), space.page_bytes);
    let (offset_bytes, end_bytes) = (offset_bytes.next_multiple_of(sector), end_bytes / sector * sector);
    for (lpn, start, bytes) in space.parts(offset_bytes, end_bytes) {
        if bytes < page_bytes {
            let part = |byte: u32| byte / (page_bytes / 128);
            content.discarded(lpn, u128::MAX >> (128 - part(bytes)) << part(start));
        }
    }
}

/// Bytes touched in a page of the extent.
fn bytes_in(extent: &Extent, page: u64, page_bytes: u32) -> u32 {
    match page {
        0 => extent.first_bytes,
        last if last + 1 == extent.pages => extent.last_bytes,
        _ => page_bytes,
    }
}
