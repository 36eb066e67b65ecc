//! Requests through the data buffer: what `buffer` decides, done by the engine (SPEC 2.4, 4.4).
//!
//! A written page is merged into its entry, or takes a new one, for which something has to leave if there is no space: the least recently used page, which
//! is one write operation of the scheme, or all that is buffered of a stripe, which the scheme may write as one. In DRAM that destages only when it is full
//! these operations belong to the request that caused them, which completes when the DRAM has answered and they have ended. Otherwise they
//! belong to no request, and each starts when all its pages are admitted; the request completes when its pages are admitted and the buffer has
//! answered. What leaves for a flush belongs to the flush. Reads take from the buffer what is there, pages on their way out included, and the rest from
//! flash, page by page.
//!
//! Where a page cannot be written that left, what the buffer had taken of it is lost, and flash has an older content at most: the page is gone
//! until all of it is written or discarded. That is so whoever was told: an entry may hold what several requests wrote, most of them long acknowledged.

use super::content::{Content, InBuffer, InEntry, Shares, Submitted};
use super::gone;
use super::slot::NIL;
use super::state::Engine;
use super::time::Halted;
use crate::buffer::{Buffer, Departure, SECTOR_BYTES, Taken, Victim};
use crate::config::Unwritten;
use crate::media::{Ahead, Media};
use flashraid_redundancy::parts::bits;
use flashraid_redundancy::{Extent, Failure, Group, Operation, OperationKind};
use flashraid_vocabulary::{HostOp, HostRequest, Lpn, Version};

/// Pages in a row that have to be read from flash.
type PageRun = Option<Extent>;

/// A page out of those that leave.
pub(super) fn victim_of(victims: &[Victim], lpn: Lpn) -> &Victim {
    &victims[victims.binary_search_by_key(&lpn.0, |victim| victim.lpn.0).expect("a page that leaves")]
}

impl<C: Content, M: Media> Engine<C, M> {
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
        // The page that was taken in last among those that the buffer takes, or gives.
        let mut latest = (op == HostOp::Write).then_some(0);
        let mut run = None;
        for page in first >> shift..=(end - 1) >> shift {
            let start = page << shift;
            let from = first.saturating_sub(start);
            let to = (end - start).min(1 << shift);
            let sectors = all >> ((1 << shift) - (to - from)) << from;
            let lpn = self.wrapped(page);
            if op == HostOp::Write {
                latest = latest.max(Some(self.write_buffered(id, lpn, sectors)));
            } else {
                latest = latest.max(self.read_buffered(id, lpn, sectors, &mut run));
            }
        }
        self.read_run(id, run);
        if let Some(number) = latest {
            self.requests[id].unanswered += 1;
            self.requests[id].unfinished += 1;
            let now_ns = self.clock.now_ns();
            self.buffered().complete_later(now_ns, id, number);
        }
    }

    /// Returns the number with which the page was taken in.
    fn write_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64) -> u64 {
        let sequence = self.requests.number_of_version(self.requests[id].sequence);
        let lanes = if C::TRACKED { self.buffered().lanes_of(sectors) } else { 0 };
        if C::TRACKED {
            self.content.submitted(sequence, lpn, if lanes == u64::MAX { Submitted::Whole } else { Submitted::Part(lanes) });
        }
        if self.is_gone(lpn) && sectors != self.buffered().all_sectors() {
            self.requests.fail_over_what_is_gone(id);
            return 0;
        }
        let found = self.buffered().find(lpn);
        let entry = match found {
            Some(entry) => {
                self.buffered().counts.write_hits += 1;
                self.buffered().merge(entry, sectors);
                entry
            }
            None => {
                self.buffered().counts.write_misses += 1;
                while self.buffered().is_full() {
                    let owner = if self.buffered().admits_pages() { NIL } else { id };
                    self.evict(owner);
                }
                let now_ns = self.clock.now_ns();
                self.buffered().insert(lpn, sectors, now_ns)
            }
        };
        if C::TRACKED {
            self.content.buffered(entry, sequence, lpn, lanes, found.is_none());
        }
        self.buffered().number(entry)
    }

    /// Writes to flash what leaves next, on behalf of a request or of nobody. Returns whether there was anything.
    fn evict(&mut self, owner: u32) -> bool {
        let mut victims = std::mem::take(&mut self.evicting);
        self.buffered().evict(&mut victims);
        self.write_out(victims, owner)
    }

    /// Writes to flash what has been taken out of the buffer, and gives the list back. Returns whether there was anything.
    pub(super) fn write_out(&mut self, victims: Vec<Victim>, owner: u32) -> bool {
        let Some(&victim) = victims.first() else {
            self.evicting = victims;
            return false;
        };
        let buffer = self.buffered();
        if buffer.gathers_stripes() {
            let mut group = Group { first: victim.lpn, pages: 0, merge_pages: 0 };
            for victim in &victims {
                let page = 1 << (victim.lpn.0 - group.first.0);
                group.pages |= page;
                group.merge_pages |= if buffer.covers(victim) { 0 } else { page };
            }
            self.evicting = victims;
            let page_bytes = self.shape.page_bytes;
            self.decide_by(owner, |scheme, view, decisions| scheme.decide_group(&group, page_bytes, view, decisions));
        } else {
            let covered = buffer.covers(&victim);
            if let Some(lpn) = buffer.upcoming() {
                self.media.prefetch(Ahead::Request(self.scheme.locate(lpn)));
            }
            self.evicting = victims;
            let bytes = victim.sectors.count_ones() * SECTOR_BYTES;
            let extent = Extent { op: HostOp::Write, first: victim.lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered };
            self.decide(owner, &extent);
        }
        self.evicting.clear();
        true
    }

    /// Writes everything that is buffered to flash, on behalf of a request or of nobody.
    #[inline(never)]
    pub(super) fn evict_all(&mut self, owner: u32) {
        while self.evict(owner) {}
    }

    /// Writes everything that is buffered to flash and lets everything end that is in flight.
    pub(crate) fn drain_buffer(&mut self) -> Result<(), Halted> {
        if self.flushes_to_flash() {
            let arrival_ns = self.now_ns();
            self.submit(&HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op: HostOp::Flush, stream: 0, source: 0 }, false);
            self.finish()?;
            self.completed.pop();
            // It is none of the host's requests.
            self.requests.submitted -= 1;
        } else if self.buffer.is_some() {
            self.evict_all(NIL);
            self.finish()?;
        }
        Ok(())
    }

    /// Whether a flush has to write what is buffered to flash.
    pub(super) fn flushes_to_flash(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| !buffer.survives_power_loss())
    }

    /// Reads sectors of a page. What flash has to deliver goes into `run`, which is read when it cannot grow. If the
    /// buffer delivers any of it, returns the number with which that was taken in.
    fn read_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64, run: &mut PageRun) -> Option<u64> {
        if self.is_gone(lpn) {
            self.buffered().counts.read_misses += 1;
            self.requests.fail_over_what_is_gone(id);
            return None;
        }
        let buffer = self.buffered();
        let mut taken = buffer.take(lpn);
        let missing = sectors & !taken.buffered;
        *(if missing == 0 { &mut buffer.counts.read_hits } else { &mut buffer.counts.read_misses }) += 1;
        let mut number = 0;
        // As SSDsim, which moves a page to the head of its list when a read finds any sector of it.
        if let Some(entry) = taken.entry.filter(|_| sectors & taken.buffered != 0) {
            buffer.read(entry);
            number = buffer.number(entry);
        }
        if missing & taken.leaving.sectors != 0 {
            number = number.max(taken.leaving.number);
        }
        if self.options.host.unwritten == Unwritten::Prefill && self.prefill(lpn, missing, &taken) {
            taken = self.buffered().take(lpn);
        }
        if let Some(valid) = &mut self.valid_sectors
            && self.buffer.as_ref().is_some_and(|buffer| buffer.on_flash(lpn) != 0)
        {
            valid.read(lpn, missing.into());
        }
        let held = taken.from_buffer();
        let from_flash = sectors & taken.from_flash();
        if from_flash != 0 {
            self.add_to_run(id, lpn, from_flash.count_ones() * SECTOR_BYTES, run);
        } else {
            if C::TRACKED {
                let asked = self.buffered().lanes_of(sectors);
                self.with_shares(lpn, &taken, |content, shares| content.check_in_buffer(lpn, asked, shares));
            }
            if held & sectors == 0 && self.requests[id].measured {
                self.statistics.unmapped_reads += 1;
            }
        }
        (held & sectors != 0).then_some(number)
    }

    /// A read asks for sectors that were never written: they were there from the start, as zeroes (SPEC 0.3 step 5). Returns whether flash holds
    /// more since.
    fn prefill(&mut self, lpn: Lpn, missing: u64, taken: &Taken) -> bool {
        let on_flash = self.buffered().on_flash(lpn);
        if missing & !on_flash == 0 || taken.leaving.is_all {
            return false;
        }
        if on_flash == 0 {
            self.place_page(lpn);
        }
        // There is no page if there was no space for one.
        let is_there = on_flash != 0 || self.media.lookup(self.scheme.locate(lpn), Version::Current).is_some();
        if is_there {
            self.buffered().is_on_flash(lpn);
        }
        is_there
    }

    fn add_to_run(&mut self, id: u32, lpn: Lpn, bytes: u32, run: &mut PageRun) {
        if let Some(run) = run
            && lpn.0 == run.first.0 + run.pages
            && (run.pages == 1 || run.last_bytes == self.shape.page_bytes)
        {
            run.pages += 1;
            run.last_bytes = bytes;
            return;
        }
        let page = Extent { op: HostOp::Read, first: lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered: false };
        let former = run.replace(page);
        self.read_run(id, former);
    }

    fn read_run(&mut self, id: u32, run: PageRun) {
        if let Some(extent) = run {
            self.read_pages(id, extent);
        }
    }

    // Apart: most reads find all in the buffer, or nothing before the end.
    #[inline(never)]
    fn read_pages(&mut self, id: u32, mut extent: Extent) {
        self.decide_all(id, &mut extent);
    }

    /// Whole pages are discarded: what is buffered of them goes at once.
    pub(super) fn discard_buffered(&mut self, mut first: u64, end: u64) {
        let (space, now_ns) = (self.options.space_pages, self.clock.now_ns());
        let buffer = self.buffer.as_deref_mut().expect("only with a buffer");
        while first < end {
            let lap_end = end.min((first / space + 1) * space);
            buffer.discard(first % space, first % space + lap_end - first, now_ns, &mut self.operations.startable);
            first = lap_end;
        }
        self.operations.start_admitted();
    }

    // ---- what leaves ----

    /// An operation has its place in the queue of its lock. Returns whether it has to wait until its pages are admitted.
    #[cold]
    pub(super) fn departs(&mut self, id: u32) -> bool {
        let operation = *self.operations.operation(id);
        let is_trim = operation.kind == OperationKind::Trim;
        if !(is_trim || operation.kind == OperationKind::Write && !self.evicting.is_empty()) {
            return false;
        }
        self.operations.leaves(id);
        let victims = std::mem::take(&mut self.evicting);
        let is_by_sectors = self.valid_sectors.is_some();
        let buffer = self.buffered();
        let mut latest = 0;
        for (strip, lpn) in bits::Bits(operation.strips).zip(operation.host_pages()) {
            let (sectors, number) = if is_trim {
                buffer.is_off_flash(lpn);
                (None, 0)
            } else {
                let victim = victim_of(&victims, lpn);
                (Some(victim.sectors), victim.number)
            };
            let replaces = is_trim || is_by_sectors && operation.merge_strips >> strip & 1 == 0;
            buffer.depart(lpn, Departure { operation: id, strip: strip as u8, sectors, replaces, number });
            latest = latest.max(number);
        }
        let waits = buffer.waits_for_admission(latest, id);
        self.evicting = victims;
        if self.operations.slots[id as usize].request == NIL && self.flushes_to_flash() {
            self.operations.rare_mut(id).write_index = self.requests.leaves_for_nobody();
        }
        waits
    }

    /// An operation that has departed has ended: flash has what left with it, or it has failed.
    #[cold]
    pub(super) fn arrives(&mut self, id: u32, operation: &Operation, failed: bool) {
        let now_ns = self.clock.now_ns();
        let buffer = self.buffer.as_deref_mut().expect("only with a buffer");
        let covered = gone::covered(operation);
        for (strip, lpn) in bits::Bits(operation.strips).zip(operation.host_pages()) {
            let sectors = buffer.arrive(lpn, id);
            match (failed, sectors) {
                // Of a discard that fails the host is told; whatever was there still is.
                (true, None) => buffer.is_on_flash(lpn),
                (true, Some(_)) => {
                    buffer.counts.pages_failed += 1;
                    self.gone.insert(lpn.0);
                }
                (false, _) if !self.gone.is_empty() && covered >> strip & 1 == 1 => drop(self.gone.remove(&lpn.0)),
                (false, _) => {}
            }
            if operation.kind == OperationKind::Write {
                buffer.release(lpn, now_ns, &mut self.operations.startable);
            }
        }
        let request = self.operations.slots[id as usize].request;
        let fails_flush = request != NIL && self.requests[request].op == HostOp::Flush;
        if failed && operation.kind == OperationKind::Write && !fails_flush {
            // It may hold what the very first write gave it.
            self.requests.owes_word_of(0);
        }
        self.operations.start_admitted();
    }

    /// Nobody waits for what has failed: its request was acknowledged when the buffer took it.
    pub(super) fn eviction_failed(&mut self, failure: Failure) {
        let counts = &mut self.buffered().counts;
        match failure {
            Failure::NoSpace => counts.failed_no_space += 1,
            Failure::Lost => counts.failed_lost += 1,
            Failure::Refused => unreachable!("what was accepted is not refused"),
        }
    }

    // ---- contents ----

    /// Where the buffer has the page of which a read takes this, older first.
    fn sources(&self, lpn: Lpn, taken: &Taken) -> impl Iterator<Item = InBuffer> + use<'_, C, M> {
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let leaving = buffer.departures(lpn).flat_map(|&Departure { operation, strip, sectors, replaces, .. }| {
            let written = sectors.map(|_| InBuffer::Leaving { operation, strip });
            replaces.then_some(InBuffer::Zeroes).into_iter().chain(written)
        });
        let lanes_of = |entry| buffer.lanes_of(buffer.sectors(entry));
        leaving.chain(taken.entry.map(move |entry| InBuffer::Entry(InEntry { entry, lanes: lanes_of(entry) })))
    }

    /// Tells the contents what a read takes of a page.
    fn with_shares(&mut self, lpn: Lpn, taken: &Taken, tell: impl FnOnce(&mut C, &Shares)) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        sources.extend(self.sources(lpn, taken));
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let [from_buffer, from_flash] = [taken.from_buffer(), taken.from_flash()].map(|sectors| buffer.lanes_of(sectors));
        tell(&mut self.content, &Shares { sources: &sources, from_buffer, from_flash });
        self.sources = sources;
    }

    /// What a read would get now of a page that the buffer has and of which flash delivers `content`.
    pub(crate) fn read_now(&self, lpn: Lpn, content: u64, with: impl FnOnce(&C, u64, &Shares) -> u64) -> u64 {
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let taken = buffer.take(lpn);
        let sources: Vec<InBuffer> = self.sources(lpn, &taken).collect();
        let [from_buffer, from_flash] = [taken.from_buffer(), taken.from_flash()].map(|sectors| buffer.lanes_of(sectors));
        with(&self.content, content, &Shares { sources: &sources, from_buffer, from_flash })
    }

    /// Lists what each of the pages that are being evicted by this operation leaves with.
    pub(super) fn list_evicted(&mut self, operation: &Operation) {
        self.leaving_with.clear();
        if self.evicting.is_empty() || operation.kind != OperationKind::Write {
            return;
        }
        let buffer = self.buffer.as_deref().expect("something leaves it");
        for lpn in operation.host_pages() {
            let victim = victim_of(&self.evicting, lpn);
            self.leaving_with.push(InEntry { entry: victim.entry, lanes: buffer.lanes_of(victim.sectors) });
        }
    }

    /// A read goes to flash for the rest of some pages: tells the contents what it takes from the buffer at this moment.
    #[cold]
    pub(super) fn overlay_buffer(&mut self, id: u32) {
        let operation = *self.operations.operation(id);
        for (strip, lpn) in bits::Bits(operation.strips).zip(operation.host_pages()) {
            let taken = self.buffered().take(lpn);
            self.with_shares(lpn, &taken, |content, shares| content.overlay_buffer(id, lpn, strip as u8, shares));
        }
    }
}
