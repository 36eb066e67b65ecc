//! Requests through the data buffer: what `buffer` decides, done by the engine (SPEC 2.4, 4.4).
//!
//! A written page is merged into its entry, or takes a new one, for which something has to leave if there is no space: the least recently used page, which
//! is one write operation of the scheme, or all that is buffered of a stripe, which the scheme may write as one. In DRAM that destages only when it is full
//! these operations belong to the request that caused them, which completes when the DRAM has answered and they have ended. Otherwise they
//! belong to no request, and each starts when all its pages are admitted; the request completes when its pages are admitted and the buffer has
//! answered. What leaves for a flush belongs to the flush. Reads take from the buffer what is there, pages on their way out included, and the rest from
//! flash, page by page.
//!
//! When it is time, a data buffer answers, and destages by itself (`buffer/destaging.rs`).

use super::content::{Content, Submitted};
use super::state::Engine;
use super::time::Halted;
use crate::buffer::{SECTOR_BYTES, Taken, Victim};
use crate::config::Unwritten;
use crate::media::{Ahead, Media};
use flashraid_redundancy::{Extent, Group};
use flashraid_vocabulary::{HostOp, HostRequest, Lpn, NIL, Version};

/// Pages in a row that have to be read from flash.
#[derive(Default)]
struct PageRun(Option<Extent>);

impl PageRun {
    /// So many bytes of another page have to be read. Returns the run that ends before it, if it cannot join that.
    fn add(&mut self, lpn: Lpn, bytes: u32, page_bytes: u32) -> Option<Extent> {
        if let Some(run) = &mut self.0
            && lpn.0 == run.first.0 + run.pages
            && (run.pages == 1 || run.last_bytes == page_bytes)
        {
            run.pages += 1;
            run.last_bytes = bytes;
            return None;
        }
        self.0.replace(Extent { op: HostOp::Read, first: lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered: false })
    }
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Serves a read or write of bytes, which are rounded outwards to sectors.
    #[inline(never)]
    pub(super) fn serve_buffered(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if offset_bytes >= end_bytes {
            return;
        }
        let sector = u64::from(SECTOR_BYTES);
        let (first, end) = (offset_bytes / sector, end_bytes.div_ceil(sector));
        let shift = self.front_end.buffered().sector_shift();
        let all = self.front_end.buffered().all_sectors();
        // The page that was taken in last among those that the buffer takes, or gives.
        let mut latest = (op == HostOp::Write).then_some(0);
        let mut run = PageRun::default();
        for page in first >> shift..=(end - 1) >> shift {
            let start = page << shift;
            let from = first.saturating_sub(start);
            let to = (end - start).min(1 << shift);
            let sectors = all >> ((1 << shift) - (to - from)) << from;
            let lpn = self.executor.space.wrapped(page);
            if op == HostOp::Write {
                latest = latest.max(Some(self.write_buffered(id, lpn, sectors)));
            } else {
                latest = latest.max(self.read_buffered(id, lpn, sectors, &mut run));
            }
        }
        self.read_run(id, run.0);
        if let Some(number) = latest {
            self.front_end.requests[id].unanswered += 1;
            self.front_end.requests[id].unfinished += 1;
            let now_ns = self.executor.clock.now_ns();
            self.front_end.buffered().complete_later(now_ns, id, number);
        }
    }

    /// Returns the number with which the page was taken in.
    fn write_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64) -> u64 {
        let sequence = self.front_end.requests.number_of_version(&self.front_end.requests[id]);
        let lanes = if C::TRACKED { self.front_end.buffered().lanes_of(sectors) } else { 0 };
        if C::TRACKED {
            self.executor.content.submitted(sequence, lpn, if lanes == u64::MAX { Submitted::Whole } else { Submitted::Part(lanes) });
        }
        if self.front_end.is_gone(lpn, &self.executor.operations) && sectors != self.front_end.buffered().all_sectors() {
            self.front_end.requests.fail_over_what_is_gone(id);
            return 0;
        }
        let found = self.front_end.buffered().find(lpn);
        let entry = match found {
            Some(entry) => {
                self.front_end.buffered().counts.write_hits += 1;
                self.front_end.buffered().merge(entry, sectors);
                entry
            }
            None => {
                self.front_end.buffered().counts.write_misses += 1;
                while self.front_end.buffered().is_full() {
                    let owner = if self.front_end.buffered().admits_pages() { NIL } else { id };
                    self.evict(owner);
                }
                let now_ns = self.executor.clock.now_ns();
                self.front_end.buffered().insert(lpn, sectors, now_ns)
            }
        };
        if C::TRACKED {
            self.executor.content.buffered(entry, sequence, lpn, lanes, found.is_none());
        }
        self.front_end.buffered().number(entry)
    }

    /// Writes to flash what leaves next, on behalf of a request or of nobody. Returns whether there was anything.
    #[inline(never)]
    pub(super) fn evict(&mut self, owner: u32) -> bool {
        let mut victims = std::mem::take(&mut self.front_end.evicting);
        self.front_end.buffered().evict(&mut victims);
        self.write_out(victims, owner)
    }

    /// Writes to flash what has been taken out of the buffer, and gives the list back. Returns whether there was anything.
    pub(super) fn write_out(&mut self, victims: Vec<Victim>, owner: u32) -> bool {
        let Some(&victim) = victims.first() else {
            self.front_end.evicting = victims;
            return false;
        };
        let buffer = self.front_end.buffered();
        if buffer.gathers_stripes() {
            let mut group = Group { first: victim.lpn, pages: 0, merge_pages: 0 };
            for victim in &victims {
                let page = 1 << (victim.lpn.0 - group.first.0);
                group.pages |= page;
                group.merge_pages |= if buffer.covers(victim) { 0 } else { page };
            }
            self.front_end.evicting = victims;
            let page_bytes = self.executor.shape.page_bytes;
            self.decide_by(owner, |scheme, view, decisions| scheme.decide_group(&group, page_bytes, view, decisions));
        } else {
            let covered = buffer.covers(&victim);
            if let Some(lpn) = buffer.upcoming() {
                self.executor.media.prefetch(Ahead::Request(self.executor.scheme.locate(lpn)));
            }
            self.front_end.evicting = victims;
            let bytes = victim.sectors.count_ones() * SECTOR_BYTES;
            let extent = Extent { op: HostOp::Write, first: victim.lpn, pages: 1, first_bytes: bytes, last_bytes: bytes, covered };
            self.decide(owner, &extent);
        }
        self.front_end.evicting.clear();
        true
    }

    /// Writes everything that is buffered to flash and lets everything end that is in flight.
    pub fn drain_buffer(&mut self) -> Result<(), Halted> {
        if self.front_end.flushes_to_flash() {
            let arrival_ns = self.executor.clock.now_ns();
            self.submit(&HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op: HostOp::Flush, stream: 0, source: 0 }, false);
            self.finish()?;
            self.front_end.completed.pop();
            // It is none of the host's requests.
            self.front_end.requests.submitted -= 1;
            self.front_end.requests.decided -= 1;
        } else if self.front_end.buffer.is_some() {
            while self.evict(NIL) {}
            self.finish()?;
        }
        Ok(())
    }

    /// Reads sectors of a page. What flash has to deliver goes into `run`, which is read when it cannot grow. If the
    /// buffer delivers any of it, returns the number with which that was taken in.
    fn read_buffered(&mut self, id: u32, lpn: Lpn, sectors: u64, run: &mut PageRun) -> Option<u64> {
        if self.front_end.is_gone(lpn, &self.executor.operations) {
            self.front_end.buffered().counts.read_misses += 1;
            self.front_end.requests.fail_over_what_is_gone(id);
            return None;
        }
        let buffer = self.front_end.buffered();
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
        if self.executor.options.host.unwritten == Unwritten::Prefill && self.prefill(lpn, missing, &taken) {
            taken = self.front_end.buffered().take(lpn);
        }
        if let Some(valid) = &mut self.front_end.valid_sectors
            && self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.on_flash(lpn) != 0)
        {
            valid.read(lpn, missing.into());
        }
        let held = taken.from_buffer();
        let from_flash = sectors & taken.from_flash();
        if from_flash != 0 {
            let former = run.add(lpn, from_flash.count_ones() * SECTOR_BYTES, self.executor.shape.page_bytes);
            self.read_run(id, former);
        } else {
            if C::TRACKED {
                let asked = self.front_end.buffered().lanes_of(sectors);
                let content = &mut self.executor.content;
                self.front_end.with_shares(lpn, &taken, |shares| content.check_in_buffer(lpn, asked, shares));
            }
            if held & sectors == 0 && self.front_end.requests[id].measured {
                self.executor.statistics.unmapped_reads += 1;
            }
        }
        (held & sectors != 0).then_some(number)
    }

    /// A read asks for sectors that were never written: they were there from the start, as zeroes (SPEC 0.3 step 5). Returns whether flash holds
    /// more since.
    fn prefill(&mut self, lpn: Lpn, missing: u64, taken: &Taken) -> bool {
        let on_flash = self.front_end.buffered().on_flash(lpn);
        if missing & !on_flash == 0 || taken.leaving.is_all {
            return false;
        }
        if on_flash == 0 {
            self.executor.place_page(lpn);
        }
        // There is no page if there was no space for one.
        let is_there = on_flash != 0 || self.executor.media.lookup(self.executor.scheme.locate(lpn), Version::Current).is_some();
        if is_there {
            self.front_end.buffered().is_on_flash(lpn);
        }
        is_there
    }

    // Apart: most reads find all in the buffer, or nothing before the end.
    #[inline(never)]
    fn read_run(&mut self, id: u32, run: Option<Extent>) {
        if let Some(mut extent) = run {
            self.decide_all(id, &mut extent);
        }
    }

    /// Processes everything up to the last thing that the buffer does until `time_ns`. Where pages wait for space, or requests in the host, that is every
    /// event, as each may free some, or make room; and where requests are on their way, as each may bring one.
    #[inline(never)]
    pub(super) fn advance_to_buffer(&mut self, time_ns: u64) -> Result<(), Halted> {
        let somebody_waits = self.executor.options.host.device_queue_depth > 0
            || self.front_end.host_side.is_some()
            || self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.admits_pages());
        loop {
            let (timer_ns, buffer_ns) =
                (self.executor.clock.next_timer_ns(), self.front_end.next_in_buffer_ns(self.executor.clock.now_ns()));
            if somebody_waits && self.executor.media.next_event_ns() <= timer_ns.min(buffer_ns).min(time_ns) {
                self.process_event(!self.executor.has_watchers);
            } else if buffer_ns <= time_ns || somebody_waits && timer_ns <= time_ns {
                self.advance()?;
            } else {
                return Ok(());
            }
        }
    }

    /// The buffer does what it does next: after everything that the flash does until then.
    #[cold]
    pub(super) fn buffer_is_due(&mut self) {
        let destage_ns = self.front_end.next_destage_ns(self.executor.clock.now_ns());
        if destage_ns > self.front_end.next_completion_ns() {
            if let Some((time_ns, id)) = self.front_end.buffered().take_completion() {
                self.executor.set_now(time_ns);
                self.executor.completed(&mut self.front_end, id);
                self.executor.ended_part(&mut self.front_end, id);
            }
            return;
        }
        if destage_ns > self.executor.clock.now_ns() {
            if self.executor.media.is_at_rest() {
                self.executor.note_idle(&self.front_end, destage_ns);
            }
            self.executor.set_now(destage_ns);
        }
        self.destage();
        if self.executor.has_watchers {
            self.tell_watchers();
        }
    }

    /// What is due in the buffer leaves it.
    #[cold]
    pub(super) fn destage(&mut self) {
        let mut victims = std::mem::take(&mut self.front_end.evicting);
        self.front_end.buffer.as_deref_mut().expect("something is due in it").destage(&mut victims);
        self.write_out(victims, NIL);
    }
}
