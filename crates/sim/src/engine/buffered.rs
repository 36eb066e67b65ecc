//! Requests through the data buffer: what `buffer` decides, done by the engine (SPEC 2.4).
//!
//! A written page is merged into its entry, or takes a new one, for which the least recently used page is evicted if there is no room: one
//! write operation of the scheme, which belongs to the request that caused it. The request completes when the DRAM has answered and these
//! operations have ended. Reads take from DRAM what is there, pages on their way out included, and the rest from flash, page by page.

use super::content::{Content, InDram, InEntry, Submitted};
use super::{Engine, Stalled};
use crate::buffer::{Buffer, Known, SECTOR_BYTES, Victim};
use flashraid_redundancy::parts::bits;
use flashraid_redundancy::{Extent, Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, Version};

/// Pages in a row that have to be read from flash.
type Run = Option<Extent>;

impl<C: Content> Engine<C> {
    fn buffered(&mut self) -> &mut Buffer {
        self.buffer.as_deref_mut().expect("only with a buffer")
    }

    /// Serves a read or write of bytes, which are rounded outwards to sectors.
    #[inline(never)]
    pub(super) fn serve_buffered(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if offset_bytes >= end_bytes {
            return;
        }
        let sector = u64::from(SECTOR_BYTES);
        let (first, end) = (offset_bytes / sector, end_bytes.div_ceil(sector));
        let shift = self.buffered().sector_shift();
        let all = self.buffered().all_sectors();
        let mut uses_dram = op == HostOp::Write;
        let mut run = None;
        for page in first >> shift..=(end - 1) >> shift {
            let start = page << shift;
            let from = first.saturating_sub(start);
            let to = (end - start).min(1 << shift);
            let sectors = all >> ((1 << shift) - (to - from)) << from;
            let lpn = self.wrapped(page);
            if op == HostOp::Write {
                self.write_buffered(id, lpn, sectors);
            } else {
                uses_dram |= self.read_buffered(id, lpn, sectors, &mut run);
            }
        }
        self.read_run(id, run);
        if uses_dram {
            self.requests[id as usize].unanswered += 1;
            self.requests[id as usize].unfinished += 1;
            let now_ns = self.flash.now_ns();
            self.buffered().answer_later(now_ns, id);
        }
    }

    fn write_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64) {
        let sequence = self.requests[id as usize].sequence;
        let lanes = if C::TRACKED { self.buffered().lanes_of(sectors) } else { 0 };
        if C::TRACKED {
            self.content.submitted(sequence, lpn, if lanes == u64::MAX { Submitted::Whole } else { Submitted::Part(lanes) });
        }
        let found = self.buffered().pages.find(lpn);
        let entry = match found {
            Some(entry) => {
                self.buffered().counts.write_hits += 1;
                self.buffered().merge(entry, sectors);
                entry
            }
            None => {
                self.buffered().counts.write_misses += 1;
                while self.buffered().pages.is_full() {
                    self.evict(id);
                }
                self.buffered().pages.insert(lpn, sectors)
            }
        };
        if C::TRACKED {
            self.content.buffered(entry, sequence, lpn, lanes, found.is_none());
        }
    }

    /// Writes the least recently used page to flash on behalf of a request. Returns whether there was one.
    fn evict(&mut self, id: u32) -> bool {
        let Some((victim, covered)) = self.buffered().evict() else { return false };
        if let Some(lpn) = self.buffered().upcoming() {
            self.flash.prefetch_map(self.scheme.locate(lpn));
        }
        let bytes = victim.sectors.count_ones() * SECTOR_BYTES;
        self.evicting = Some(victim);
        let extent = Extent { op: HostOp::Write, first: victim.lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered };
        self.decide(id, &extent);
        self.evicting = None;
        true
    }

    /// Writes everything that is buffered to flash on behalf of a request.
    #[inline(never)]
    pub(super) fn evict_all(&mut self, id: u32) {
        while self.evict(id) {}
    }

    /// Reads sectors of a page. What flash has to deliver goes into `run`, which is read when it cannot grow. Returns whether DRAM delivers
    /// any of it.
    fn read_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64, run: &mut Run) -> bool {
        let found = self.buffered().pages.find(lpn);
        let mut held = found.map_or(0, |entry| self.buffered().pages.sectors(entry));
        let missing = sectors & !held;
        let buffer = self.buffered();
        *(if missing == 0 { &mut buffer.counts.read_hits } else { &mut buffer.counts.read_misses }) += 1;
        // As SSDsim, which moves a page to the head of its list when a read finds any sector of it.
        if let Some(entry) = found.filter(|_| sectors & held != 0) {
            buffer.pages.touch(entry);
        }
        let leaving = buffer.leaving(lpn);
        if self.options.prefill {
            self.prefill(lpn, missing, leaving);
        }
        held |= leaving.sectors;
        let on_flash = if leaving.is_all { 0 } else { self.buffered().on_flash(lpn) };
        let from_flash = missing & !held & on_flash;
        if from_flash != 0 {
            self.add_to_run(id, lpn, from_flash.count_ones() * SECTOR_BYTES, run);
        } else {
            if C::TRACKED {
                let asked = self.buffered().lanes_of(sectors);
                self.list_sources(lpn);
                self.content.check_in_dram(lpn, asked, &self.sources);
            }
            if held & sectors == 0 && self.requests[id as usize].measured {
                self.statistics.unmapped_reads += 1;
            }
        }
        held & sectors != 0
    }

    /// A read asks for sectors that were never written: they were there from the start, as zeroes (SPEC 0.3 step 5).
    fn prefill(&mut self, lpn: Lpn, missing: u64, leaving: Known) {
        let on_flash = self.buffered().on_flash(lpn);
        if missing & !on_flash == 0 || leaving.is_all {
            return;
        }
        if on_flash == 0 {
            self.place_page(lpn);
        }
        // There is no page if there was no space for one.
        if on_flash != 0 || self.flash.lookup(self.scheme.locate(lpn), Version::Current).is_some() {
            self.buffered().is_on_flash(lpn);
        }
    }

    fn add_to_run(&mut self, id: u32, lpn: Lpn, bytes: u32, run: &mut Run) {
        if let Some(run) = run
            && lpn.0 == run.first.0 + run.pages
            && (run.pages == 1 || run.last_bytes == self.page_bytes)
        {
            run.pages += 1;
            run.last_bytes = bytes;
            return;
        }
        let page = Extent { op: HostOp::Read, first: lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered: false };
        let former = run.replace(page);
        self.read_run(id, former);
    }

    fn read_run(&mut self, id: u32, run: Run) {
        if let Some(mut extent) = run {
            self.decide_all(id, &mut extent);
        }
    }

    /// Whole pages are discarded: what is buffered of them goes at once.
    pub(super) fn discard_buffered(&mut self, mut first: u64, end: u64) {
        let space = self.options.space_pages;
        while first < end {
            let lap_end = end.min((first / space + 1) * space);
            self.buffered().discard(first % space, first % space + lap_end - first);
            first = lap_end;
        }
    }

    // ---- what leaves ----

    /// An operation has its place in the queue of its lock.
    #[cold]
    pub(super) fn departs(&mut self, id: u32) {
        let operation = *self.operation(id);
        let sectors = match (operation.kind, self.evicting) {
            (OperationKind::Write, Some(Victim { sectors, .. })) => Some(sectors),
            (OperationKind::Trim, _) => None,
            _ => return,
        };
        for lpn in operation.host_pages() {
            if sectors.is_none() {
                self.buffered().is_off_flash(lpn);
            }
            self.buffered().depart(lpn, id, sectors);
        }
    }

    /// The operation has ended: flash has what left with it, or it has failed.
    #[cold]
    pub(super) fn arrives(&mut self, id: u32, operation: &Operation) {
        if matches!(operation.kind, OperationKind::Write | OperationKind::Trim) {
            for lpn in operation.host_pages() {
                self.buffered().arrive(lpn, id);
            }
        }
    }

    // ---- contents ----

    /// Lists where DRAM has the page, older first.
    fn list_sources(&mut self, lpn: Lpn) {
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        self.sources.clear();
        self.sources.extend(buffer.departures(lpn).map(|(operation, sectors)| match sectors {
            Some(_) => InDram::Leaving(operation),
            None => InDram::Zeroes,
        }));
        let lanes_of = |entry| buffer.lanes_of(buffer.pages.sectors(entry));
        self.sources.extend(buffer.pages.find(lpn).map(|entry| InDram::Entry(InEntry { entry, lanes: lanes_of(entry) })));
    }

    /// What the page that is being evicted leaves with.
    pub(super) fn evicted_lanes(&self) -> Option<InEntry> {
        let Victim { entry, sectors, .. } = self.evicting?;
        self.buffer.as_ref().map(|buffer| InEntry { entry, lanes: buffer.lanes_of(sectors) })
    }

    /// A read goes to flash for the rest of some pages: tells the contents what DRAM has of them at this moment.
    #[cold]
    pub(super) fn overlay_dram(&mut self, id: u32) {
        let operation = *self.operation(id);
        for (strip, lpn) in bits::Bits(operation.strips).zip(operation.host_pages()) {
            self.list_sources(lpn);
            self.content.overlay_dram(id, lpn, strip as u8, &self.sources);
        }
    }

    // ---- answers ----

    /// Processes everything up to the last answer that is due until `time_ns`.
    #[inline(never)]
    pub(super) fn advance_to_answers(&mut self, time_ns: u64) -> Result<(), Stalled> {
        while self.next_answer_ns() <= time_ns {
            self.advance()?;
        }
        Ok(())
    }

    /// When the DRAM answers next, if there is a buffer; `u64::MAX` for never.
    #[inline]
    pub(super) fn next_answer_ns(&self) -> u64 {
        self.buffer.as_ref().map_or(u64::MAX, |buffer| buffer.next_answer_ns())
    }

    /// The DRAM answers: after everything that the flash does until then.
    #[cold]
    pub(super) fn answer_from_dram(&mut self) {
        if let Some((time_ns, id)) = self.buffered().take_answer() {
            self.flash.set_now(time_ns);
            self.answered(id);
            self.ended_part(id);
        }
    }
}
