//! Pages on their way through the data buffer: those that leave it with operations, and those that reads take from it.
//!
//! Where a page cannot be written that left, what the buffer had taken of it is lost, and flash has an older content at most: the page is gone
//! until all of it is written or discarded. That is so whoever was told: an entry may hold what several requests wrote, most of them long acknowledged.

use super::gone::covered;
use super::state::FrontEnd;
use crate::buffer::{Buffer, Departure, Taken, Victim};
use crate::clock::NEVER;
use crate::engine::content::{Content, InBuffer, InEntry, Shares};
use crate::engine::operations::Operations;
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Failure, Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, NIL};

/// A page out of those that leave.
pub(super) fn victim_of(victims: &[Victim], lpn: Lpn) -> &Victim {
    &victims[victims.binary_search_by_key(&lpn.0, |victim| victim.lpn.0).expect("a page that leaves")]
}

impl FrontEnd {
    /// The data buffer, which there is.
    pub(in crate::engine) fn buffered(&mut self) -> &mut Buffer {
        self.buffer.as_deref_mut().expect("only with a buffer")
    }

    /// Whether a flush has to write what is buffered to flash.
    pub(in crate::engine) fn flushes_to_flash(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| !buffer.survives_power_loss())
    }

    // ---- time ----

    /// When the buffer answers next, if there is one; `NEVER` if it waits for nothing.
    #[inline]
    pub(in crate::engine) fn next_completion_ns(&self) -> u64 {
        self.buffer.as_ref().map_or(NEVER, |buffer| buffer.next_completion_ns())
    }

    /// When something leaves it next that need not: now, if it had to wait. Nothing does while requests wait for the end of a replacement.
    #[inline]
    pub(in crate::engine) fn next_destage_ns(&self, now_ns: u64) -> u64 {
        match &self.buffer {
            Some(buffer) if self.destages && self.replacements.held.is_none() => buffer.next_destage_ns().max(now_ns),
            _ => NEVER,
        }
    }

    /// When it does any of that next.
    #[inline]
    pub(in crate::engine) fn next_in_buffer_ns(&self, now_ns: u64) -> u64 {
        self.next_completion_ns().min(self.next_destage_ns(now_ns))
    }

    /// Whether a buffer destages by itself from now on: not while everything comes to its end after the last request, as how much left then would depend on
    /// flash.
    pub fn set_destaging(&mut self, is_on: bool) {
        self.destages = is_on;
    }

    // ---- what leaves ----

    /// Whole pages are discarded, of a space of so many: what is buffered of them goes at once.
    pub(in crate::engine) fn discard_buffered(
        &mut self,
        mut first: u64,
        end: u64,
        space_pages: u64,
        now_ns: u64,
        operations: &mut Operations,
    ) {
        let buffer = self.buffered();
        while first < end {
            let lap_end = end.min((first / space_pages + 1) * space_pages);
            buffer.discard(first % space_pages, first % space_pages + lap_end - first, now_ns, &mut operations.startable);
            first = lap_end;
        }
        operations.start_admitted();
    }

    /// An operation has its place in the queue of its lock. Returns whether it has to wait until its pages are admitted.
    #[cold]
    pub(in crate::engine) fn departs(&mut self, id: u32, operations: &mut Operations) -> bool {
        let operation = *operations.operation(id);
        let is_trim = operation.kind == OperationKind::Trim;
        if !(is_trim || operation.kind == OperationKind::Write && !self.evicting.is_empty()) {
            return false;
        }
        operations.leaves(id);
        let victims = std::mem::take(&mut self.evicting);
        let is_by_sectors = self.valid_sectors.is_some();
        let buffer = self.buffered();
        let mut latest = 0;
        for (strip, lpn) in Bits(operation.strips).zip(operation.host_pages()) {
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
        if operations.slots[id].request == NIL && self.flushes_to_flash() {
            operations.rare_mut(id).write_index = self.requests.leaves_for_nobody();
        }
        waits
    }

    /// An operation that has departed has ended: flash has what left with it, or it has failed.
    #[cold]
    pub(in crate::engine) fn arrives(&mut self, id: u32, operation: &Operation, failed: bool, now_ns: u64, operations: &mut Operations) {
        let buffer = self.buffer.as_deref_mut().expect("only with a buffer");
        let covered = covered(operation);
        for (strip, lpn) in Bits(operation.strips).zip(operation.host_pages()) {
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
                buffer.release(lpn, now_ns, &mut operations.startable);
            }
        }
        let request = operations.slots[id].request;
        let fails_flush = request != NIL && self.requests[request].op == HostOp::Flush;
        if failed && operation.kind == OperationKind::Write && !fails_flush {
            // It may hold what the very first write gave it.
            self.requests.owes_word_of(0);
        }
        operations.start_admitted();
    }

    /// Nobody waits for what has failed: its request was acknowledged when the buffer took it.
    pub(in crate::engine) fn eviction_failed(&mut self, failure: Failure) {
        let counts = &mut self.buffered().counts;
        match failure {
            Failure::NoSpace => counts.failed_no_space += 1,
            Failure::Lost => counts.failed_lost += 1,
            Failure::Refused => unreachable!("what was accepted is not refused"),
        }
    }

    // ---- contents ----

    /// Where the buffer has the page of which a read takes this, older first.
    fn sources(&self, lpn: Lpn, taken: &Taken) -> impl Iterator<Item = InBuffer> + use<'_> {
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let leaving = buffer.departures(lpn).flat_map(|&Departure { operation, strip, sectors, replaces, .. }| {
            let written = sectors.map(|_| InBuffer::Leaving { operation, strip });
            replaces.then_some(InBuffer::Zeroes).into_iter().chain(written)
        });
        let lanes_of = |entry| buffer.lanes_of(buffer.sectors(entry));
        leaving.chain(taken.entry.map(move |entry| InBuffer::Entry(InEntry { entry, lanes: lanes_of(entry) })))
    }

    /// Says what a read takes of a page.
    pub(in crate::engine) fn with_shares(&mut self, lpn: Lpn, taken: &Taken, tell: impl FnOnce(&Shares)) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        sources.extend(self.sources(lpn, taken));
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let [from_buffer, from_flash] = [taken.from_buffer(), taken.from_flash()].map(|sectors| buffer.lanes_of(sectors));
        tell(&Shares { sources: &sources, from_buffer, from_flash });
        self.sources = sources;
    }

    /// What a read would take now of a page that the buffer has.
    pub fn shares_now<T>(&self, lpn: Lpn, with: impl FnOnce(&Shares) -> T) -> T {
        let buffer = self.buffer.as_deref().expect("only with a buffer");
        let taken = buffer.take(lpn);
        let sources: Vec<InBuffer> = self.sources(lpn, &taken).collect();
        let [from_buffer, from_flash] = [taken.from_buffer(), taken.from_flash()].map(|sectors| buffer.lanes_of(sectors));
        with(&Shares { sources: &sources, from_buffer, from_flash })
    }

    /// Lists what each of the pages that are being evicted by this operation leaves with.
    pub(in crate::engine) fn list_evicted(&mut self, operation: &Operation) {
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
    pub(in crate::engine) fn overlay_buffer(&mut self, id: u32, operation: &Operation, content: &mut impl Content) {
        for (strip, lpn) in Bits(operation.strips).zip(operation.host_pages()) {
            let taken = self.buffered().take(lpn);
            self.with_shares(lpn, &taken, |shares| content.overlay_buffer(id, lpn, strip as u8, shares));
        }
    }
}
