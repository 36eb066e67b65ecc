//! The bytes of a request are cut into extents, which the scheme decides piece by piece.

use super::content::{Content, Submitted};
use super::state::Engine;
use crate::buffer::SECTOR_BYTES;
use crate::media::Media;
use flashraid_redundancy::{Decisions, Extent, Scheme};
use flashraid_vocabulary::{HostOp, Lpn, View};

impl<C: Content, M: Media> Engine<C, M> {
    /// Cuts bytes, rounded outwards to sectors, into operations, in the order of the logical space; past its end it goes on at its start.
    pub(super) fn cut(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if offset_bytes >= end_bytes {
            return;
        }
        let sector = u64::from(SECTOR_BYTES);
        let (offset_bytes, end_bytes) = (offset_bytes & !(sector - 1), end_bytes.next_multiple_of(sector));
        let page = u64::from(self.shape.page_bytes);
        let first = offset_bytes >> self.page_shift;
        let mut extent = Extent {
            op,
            first: self.wrapped(first),
            pages: self.pages_up(end_bytes) - first,
            first_bytes: (end_bytes.min((first << self.page_shift) + page) - offset_bytes) as u32,
            last_bytes: (((end_bytes - 1) & (page - 1)) + 1) as u32,
            covered: false,
        };
        let mut start = (offset_bytes & (page - 1)) as u32;
        if extent.pages > self.options.space_pages - extent.first.0 {
            self.cut_laps(id, &mut extent, std::mem::take(&mut start));
        }
        self.cut_lap(id, &mut extent, start);
    }

    /// Cuts what of `extent` goes as far as the end of the space, as often as that is, and leaves the rest. `start` as below.
    #[cold]
    fn cut_laps(&mut self, id: u32, extent: &mut Extent, mut start: u32) {
        while extent.pages > self.options.space_pages - extent.first.0 {
            let pages = self.options.space_pages - extent.first.0;
            let mut lap = Extent { pages, last_bytes: self.shape.page_bytes, ..*extent };
            self.cut_lap(id, &mut lap, std::mem::take(&mut start));
            extent.pages -= pages;
            extent.first = Lpn(0);
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.shape.page_bytes };
        }
    }

    /// Cuts what does not go over the end of the space. `start` is the first byte touched in the first page.
    #[inline(always)]
    fn cut_lap(&mut self, id: u32, extent: &mut Extent, start: u32) {
        if C::TRACKED && extent.op == HostOp::Write {
            self.note_submitted(id, extent, start);
        }
        if self.valid_sectors.is_some() {
            self.note_cut(extent, start);
        }
        self.decide_all(id, extent);
    }

    /// Cuts the whole pages of a discard of bytes into trims, passing over rows in which nothing is written or being written.
    pub(super) fn cut_trim(&mut self, id: u32, offset_bytes: u64, end_bytes: u64) {
        if let Some(valid) = &mut self.valid_sectors {
            valid.discard(offset_bytes, end_bytes);
            if C::TRACKED {
                self.tell_discarded(offset_bytes, end_bytes);
            }
        }
        let (mut first, end) = (self.pages_up(offset_bytes), end_bytes >> self.page_shift);
        if first >= end {
            return;
        }
        let start = first;
        if C::TRACKED {
            let bytes = self.shape.page_bytes;
            let extent = Extent {
                op: HostOp::Trim,
                first: self.wrapped(first),
                pages: end - first,
                first_bytes: bytes,
                last_bytes: bytes,
                covered: false,
            };
            self.note_submitted(id, &extent, 0);
        }
        if self.buffer.is_some() {
            self.discard_buffered(first, end);
        }
        while first < end {
            let lap = first / self.options.space_pages * self.options.space_pages;
            let lap_end = end.min(lap + self.options.space_pages);
            let last_row = (lap_end - lap).div_ceil(self.pages_per_row) as u32;
            let row = self.next_row((first - lap) / self.pages_per_row, last_row);
            first = first.max(lap + u64::from(row) * self.pages_per_row);
            if first >= lap_end {
                first = lap_end;
                continue;
            }
            let extent = Extent {
                op: HostOp::Trim,
                first: Lpn(first - lap),
                pages: lap_end.min(lap + (u64::from(row) + 1) * self.pages_per_row) - first,
                first_bytes: self.shape.page_bytes,
                last_bytes: self.shape.page_bytes,
                covered: false,
            };
            first += self.decide(id, &extent);
        }
        if !self.gone.is_empty() {
            self.discard_gone(start, end);
        }
    }

    /// Write operations in flight in the 1024 rows around a host page.
    pub(super) fn writes_near(&mut self, lpn: Lpn) -> &mut u32 {
        &mut self.writes_in_chunk[self.per_row.divide(lpn.0) as usize >> 10]
    }

    /// The first row from `row` on, before `end`, in which a page is mapped or a write may be in flight.
    fn next_row(&self, row: u64, end: u32) -> u32 {
        let members = self.shape.members;
        let mut row = row as u32;
        if !self.has_rows {
            return row;
        }
        while row < end {
            if self.writes_in_chunk[(row >> 10) as usize] > 0 {
                return row;
            }
            let chunk_end = (((row >> 10) + 1) << 10).min(end);
            match self.media.next_mapped(row * members, chunk_end * members) {
                Some(slot) => return slot / members,
                None => row = chunk_end,
            }
        }
        end
    }

    /// Lets the scheme decide all of `extent`, piece by piece.
    #[inline(always)]
    pub(super) fn decide_all(&mut self, id: u32, extent: &mut Extent) {
        loop {
            let taken = self.decide(id, extent);
            extent.pages -= taken;
            if extent.pages == 0 {
                return;
            }
            extent.first.0 += taken;
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.shape.page_bytes };
        }
    }

    /// Lets the scheme decide the front of `extent` and admits its operations.
    #[inline]
    pub(super) fn decide(&mut self, id: u32, extent: &Extent) -> u64 {
        let taken = self.decide_by(id, |scheme, view, decisions| scheme.decide(extent, view, decisions));
        debug_assert!(taken >= 1 && taken <= extent.pages);
        taken
    }

    /// Lets the scheme decide something and admits its operations, on behalf of a request or of nobody.
    #[inline(always)]
    pub(super) fn decide_by<T>(&mut self, id: u32, decide: impl FnOnce(&mut dyn Scheme, &dyn View, &mut Decisions) -> T) -> T {
        let mut decisions = std::mem::take(&mut self.decisions);
        decisions.operations.clear();
        let decided = decide(&mut *self.scheme, &self.media, &mut decisions);
        if self.valid_sectors.is_some() {
            self.decide_update_reads(id, &mut decisions);
        }
        #[cfg(feature = "mutants")]
        if self.buffer.as_ref().is_some_and(|buffer| buffer.mutant == Some(crate::mutants::BufferFault::Overtake)) {
            decisions.operations.iter_mut().for_each(|operation| operation.lock = flashraid_redundancy::Lock::None);
        }
        self.admit(id, &decisions);
        self.decisions = decisions;
        decided
    }

    /// Pages that so many bytes reach into.
    #[inline]
    pub(super) fn pages_up(&self, bytes: u64) -> u64 {
        (bytes + u64::from(self.shape.page_bytes) - 1) >> self.page_shift
    }

    /// The page of the logical space, which is as if it repeated without end.
    #[inline]
    pub(super) fn wrapped(&self, page: u64) -> Lpn {
        Lpn(if page < self.options.space_pages { page } else { page % self.options.space_pages })
    }

    /// Tells the contents what the host changes. `start` is the first byte touched in the first page.
    fn note_submitted(&mut self, id: u32, extent: &Extent, start: u32) {
        let sequence = self.requests.number_of_version(self.requests[id].sequence);
        for page in 0..extent.pages {
            let bytes = match page {
                0 => extent.first_bytes,
                last if last + 1 == extent.pages => extent.last_bytes,
                _ => self.shape.page_bytes,
            };
            let change = match extent.op {
                HostOp::Trim => Submitted::Zero,
                _ if bytes < self.shape.page_bytes => Submitted::Part(self.lanes(if page == 0 { start } else { 0 }, bytes)),
                _ => Submitted::Whole,
            };
            self.content.submitted(sequence, self.wrapped(extent.first.0 + page), change);
        }
    }

    /// The lanes that a part of a page reaches into; never all of them, as a part is no whole page.
    pub(super) fn lanes(&self, start: u32, bytes: u32) -> u64 {
        let lane = |byte: u32| (u64::from(byte) * 64 / u64::from(self.shape.page_bytes)) as u32;
        let (first, last) = (lane(start), lane(start + bytes - 1));
        let lanes = u64::MAX >> (63 - (last - first)) << first;
        if lanes == u64::MAX { lanes >> 1 } else { lanes }
    }
}
