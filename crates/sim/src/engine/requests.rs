//! Requests: taken and served. Their bytes are cut into extents, which the scheme decides piece by piece.
//!
//! A device that has lost data, or is worn out, serves all requests, those that change nothing, or none.

use super::content::Content;
use super::executor::Executor;
use super::front_end::tell_discarded;
use super::host_side::Stage;
use super::request::{Request, Service};
use super::slot::NO_JOB;
use super::state::Engine;
use crate::buffer::SECTOR_BYTES;
use crate::media::Media;
use flashraid_redundancy::{Decisions, Extent, Failure, OperationKind, Scheme};
use flashraid_vocabulary::{Cause, HostOp, HostRequest, Lpn, NIL, Version, View};

impl<C: Content, M: Media> Engine<C, M> {
    /// Submits a request at the current time. Its bytes must lie in the logical space, or wrap round at its end. Returns
    /// its number. `measured` says whether its latency counts.
    pub fn submit(&mut self, request: &HostRequest, measured: bool) -> u64 {
        let sequence = self.front_end.requests.submitted;
        let waits_in_host = !self.front_end.requests.in_host.is_empty() || !self.front_end.has_room();
        self.front_end.requests.submitted += 1;
        self.front_end.requests.outstanding += 1;
        self.look_ahead.set::<C>(self.front_end.requests.outstanding, &mut self.executor.media);
        let write_index = if self.front_end.numbers_when_served() { u64::MAX } else { self.front_end.number_write(request.op) };
        if measured {
            self.executor.statistics.waits.arrived(self.executor.clock.now_ns());
        }
        let stream = self.front_end.requests.stream_of(request);
        let id = self.front_end.requests.add(Request {
            sequence,
            decided_as: u64::MAX,
            arrival_ns: self.executor.clock.now_ns(),
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            failed: None,
            measured,
            stream,
            is_in_ssds: false,
            programs: [0; Cause::COUNT],
            unanswered: 1,
            unfinished: 1,
            write_index,
            last_operation: NIL,
            next: NIL,
        });
        if waits_in_host {
            self.front_end.requests.has_queued_in_host = true;
            self.front_end.requests.in_host.push(id, sequence, request.stream);
        } else {
            self.front_end.requests.in_host.pass(sequence, request.stream);
            self.take(id, request.op, request.offset_bytes, request.size_bytes);
        }
        if let Some(side) = &mut self.front_end.host_side {
            side.note_moves(|| self.executor.media.counts(), self.executor.clock.now_ns());
        }
        if let Some(recorder) = &mut self.front_end.recorder {
            if measured {
                recorder.note_depth(self.front_end.requests.outstanding);
            }
            recorder.note_queues(self.executor.clock.now_ns(), &self.executor.media);
        }
        sequence
    }

    /// The drive takes a request.
    #[inline(always)]
    fn take(&mut self, id: u32, op: HostOp, offset_bytes: u64, size_bytes: u64) {
        if self.front_end.host_side.is_some() && self.executor.enter_stages(&mut self.front_end, Stage::INWARDS, id) {
            return;
        }
        self.accept(id, op, offset_bytes, size_bytes);
    }

    /// The engine has a request.
    #[inline(always)]
    pub(super) fn accept(&mut self, id: u32, op: HostOp, offset_bytes: u64, size_bytes: u64) {
        match &mut self.front_end.replacements.held {
            Some(held) => held.push_back(id),
            None => self.serve_request(id, op, offset_bytes, size_bytes),
        }
    }

    /// The drive takes requests that wait in the host, in turn, as many as it has room for.
    #[cold]
    pub(super) fn take_from_host(&mut self) {
        while self.front_end.has_room()
            && let Some(id) = self.front_end.requests.in_host.pop()
        {
            let Request { op, offset_bytes, size_bytes, .. } = self.front_end.requests[id];
            self.take(id, op, offset_bytes, size_bytes);
        }
    }

    /// Serves a request that was taken.
    #[inline(always)]
    pub(super) fn serve_request(&mut self, id: u32, op: HostOp, offset_bytes: u64, size_bytes: u64) {
        self.front_end.requests.is_decided(id);
        if self.front_end.service != Service::All && self.front_end.refuses(op) {
            // It fails at once.
            self.front_end.requests[id].failed = Some(Failure::Refused);
            self.executor.completed(&mut self.front_end, id);
            return self.executor.ended_part(&mut self.front_end, id);
        }
        let end = offset_bytes + size_bytes;
        if self.front_end.buffer.is_some() {
            // What is due leaves before a request that comes now, whatever has brought the clock here.
            while self.front_end.next_destage_ns(self.executor.clock.now_ns()) == self.executor.clock.now_ns() {
                self.destage();
            }
        }
        if self.front_end.numbers_when_served() {
            self.front_end.requests[id].write_index = self.front_end.number_write(op);
        }
        match op {
            HostOp::Flush => {
                if self.front_end.flushes_to_flash() {
                    while self.evict(id) {}
                }
                let target = self.front_end.requests[id].write_index.min(self.front_end.requests.writes);
                #[cfg(feature = "mutants")]
                let target = if self.executor.mutant.has(crate::mutants::EngineFault::FlushAtOnce) { 0 } else { target };
                if target > 0 && self.front_end.requests.waits(id, target) {
                    return;
                }
                self.front_end.requests.keep_word(target, id);
            }
            _ if self.executor.space.has_chunks() => serve_chunks(self, id, op, offset_bytes, end),
            HostOp::Read | HostOp::Write => self.serve(id, op, offset_bytes, end),
            HostOp::Trim => self.cut_trim(id, offset_bytes, end),
            HostOp::WriteZeroes => self.write_zeroes(id, offset_bytes, end),
        }
        self.executor.completed(&mut self.front_end, id);
        self.executor.ended_part(&mut self.front_end, id);
        self.executor.run_ready(&mut self.front_end);
        if self.executor.media.has_failures() {
            self.executor.resume_rebuild(&mut self.front_end);
        }
    }

    /// Serves a read or write of bytes: through the data buffer, if there is one.
    #[inline]
    fn serve(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if C::TRACKED && op == HostOp::Read && self.front_end.valid_sectors.is_some() {
            self.front_end.tell_used(offset_bytes, end_bytes, self.executor.space, &mut self.executor.content);
        }
        if self.front_end.buffer.is_some() {
            self.serve_buffered(id, op, offset_bytes, end_bytes);
        } else {
            self.cut(id, op, offset_bytes, end_bytes);
        }
    }

    /// Whole pages become unwritten; parts of pages are written.
    #[cold]
    fn write_zeroes(&mut self, id: u32, offset_bytes: u64, end_bytes: u64) {
        let (first, last) = (self.executor.space.pages_up(offset_bytes), self.executor.space.page_of(end_bytes));
        let (head, tail) = ((self.executor.space.start_of(first)).min(end_bytes), self.executor.space.start_of(last));
        self.serve(id, HostOp::Write, offset_bytes, head);
        self.cut_trim(id, self.executor.space.start_of(first), self.executor.space.start_of(last));
        self.serve(id, HostOp::Write, tail.max(head), end_bytes);
    }

    // ---- cut and decided ----

    /// Cuts bytes, rounded outwards to sectors, into operations, in the order of the logical space; past its end it goes on at its start.
    pub(super) fn cut(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if offset_bytes >= end_bytes {
            return;
        }
        let sector = u64::from(SECTOR_BYTES);
        let (offset_bytes, end_bytes) = (offset_bytes & !(sector - 1), end_bytes.next_multiple_of(sector));
        let page = u64::from(self.executor.shape.page_bytes);
        let first = self.executor.space.page_of(offset_bytes);
        let mut extent = Extent {
            op,
            first: self.executor.space.wrapped(first),
            pages: self.executor.space.pages_up(end_bytes) - first,
            first_bytes: (end_bytes.min((self.executor.space.start_of(first)) + page) - offset_bytes) as u32,
            last_bytes: (((end_bytes - 1) & (page - 1)) + 1) as u32,
            covered: false,
        };
        let mut start = (offset_bytes & (page - 1)) as u32;
        if extent.pages > self.executor.space.pages - extent.first.0 {
            self.cut_laps(id, &mut extent, std::mem::take(&mut start));
        }
        self.cut_lap(id, &mut extent, start);
    }

    /// Cuts what of `extent` goes as far as the end of the space, as often as that is, and leaves the rest. `start` as below.
    #[cold]
    fn cut_laps(&mut self, id: u32, extent: &mut Extent, mut start: u32) {
        while extent.pages > self.executor.space.pages - extent.first.0 {
            let pages = self.executor.space.pages - extent.first.0;
            let mut lap = Extent { pages, last_bytes: self.executor.shape.page_bytes, ..*extent };
            self.cut_lap(id, &mut lap, std::mem::take(&mut start));
            extent.pages -= pages;
            extent.first = Lpn(0);
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.executor.shape.page_bytes };
        }
    }

    /// Cuts what does not go over the end of the space. `start` is the first byte touched in the first page.
    #[inline(always)]
    fn cut_lap(&mut self, id: u32, extent: &mut Extent, start: u32) {
        if C::TRACKED && extent.op == HostOp::Write {
            let Executor { space, content, .. } = &mut self.executor;
            self.front_end.tell_submitted(id, extent, start, *space, content);
        }
        #[cfg(feature = "mutants")]
        let forgets_use = extent.op == HostOp::Read && self.executor.mutant.has(crate::mutants::EngineFault::ForgetUse);
        #[cfg(not(feature = "mutants"))]
        let forgets_use = false;
        if self.front_end.valid_sectors.is_some() && !forgets_use {
            self.front_end.note_cut(extent, start, self.executor.shape.page_bytes);
        }
        self.decide_all(id, extent);
    }

    /// Cuts the whole pages of a discard of bytes into trims, passing over rows in which nothing is written or being written.
    pub(super) fn cut_trim(&mut self, id: u32, offset_bytes: u64, end_bytes: u64) {
        if let Some(valid) = &mut self.front_end.valid_sectors {
            valid.discard(offset_bytes, end_bytes);
            if C::TRACKED {
                tell_discarded(offset_bytes, end_bytes, self.executor.space, &mut self.executor.content);
            }
        }
        let (mut first, end) = (self.executor.space.pages_up(offset_bytes), self.executor.space.page_of(end_bytes));
        if first >= end {
            return;
        }
        let start = first;
        if C::TRACKED {
            let bytes = self.executor.shape.page_bytes;
            let extent = Extent {
                op: HostOp::Trim,
                first: self.executor.space.wrapped(first),
                pages: end - first,
                first_bytes: bytes,
                last_bytes: bytes,
                covered: false,
            };
            let Executor { space, content, .. } = &mut self.executor;
            self.front_end.tell_submitted(id, &extent, 0, *space, content);
        }
        if self.front_end.buffer.is_some() {
            let now_ns = self.executor.clock.now_ns();
            self.front_end.discard_buffered(first, end, self.executor.space.pages, now_ns, &mut self.executor.operations);
        }
        while first < end {
            let lap = first / self.executor.space.pages * self.executor.space.pages;
            let lap_end = end.min(lap + self.executor.space.pages);
            let last_row = (lap_end - lap).div_ceil(self.executor.space.row_pages) as u32;
            let row = self.executor.next_row((first - lap) / self.executor.space.row_pages, last_row);
            first = first.max(lap + u64::from(row) * self.executor.space.row_pages);
            if first >= lap_end {
                first = lap_end;
                continue;
            }
            let extent = Extent {
                op: HostOp::Trim,
                first: Lpn(first - lap),
                pages: lap_end.min(lap + (u64::from(row) + 1) * self.executor.space.row_pages) - first,
                first_bytes: self.executor.shape.page_bytes,
                last_bytes: self.executor.shape.page_bytes,
                covered: false,
            };
            first += self.decide(id, &extent);
        }
        if !self.front_end.gone.is_empty() {
            let Executor { scheme, media, space, .. } = &self.executor;
            let is_on_flash = |lpn| media.lookup(scheme.locate(lpn), Version::Current).is_some();
            self.front_end.discard_gone(start, end, space.pages, is_on_flash);
        }
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
            extent.first_bytes = if extent.pages == 1 { extent.last_bytes } else { self.executor.shape.page_bytes };
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
        let decided = decide(&mut *self.executor.scheme, &self.executor.media, &mut decisions);
        if self.front_end.valid_sectors.is_some() {
            #[cfg(feature = "mutants")]
            let needs_nothing = self.executor.mutant.has(crate::mutants::EngineFault::NeedNothing);
            #[cfg(not(feature = "mutants"))]
            let needs_nothing = false;
            let Executor { space, content, .. } = &mut self.executor;
            self.front_end.decide_update_reads(id, &mut decisions, *space, content, needs_nothing);
        }
        #[cfg(feature = "mutants")]
        if self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.mutant == Some(crate::mutants::BufferFault::Overtake)) {
            decisions.operations.iter_mut().for_each(|operation| operation.lock = flashraid_redundancy::Lock::None);
        }
        self.admit(id, &decisions);
        self.decisions = decisions;
        decided
    }

    /// Gives the operations of a decision their places, in order, and starts those that can start. They belong to a request or, as what leaves
    /// a buffer, to nobody.
    #[inline]
    pub(super) fn admit(&mut self, request: u32, decisions: &Decisions) {
        // The list is borrowed from where it is not in use now.
        let mut ids = std::mem::take(&mut self.executor.operations.granted);
        debug_assert!(ids.is_empty());
        for operation in &decisions.operations {
            let is_host = matches!(operation.kind, OperationKind::Read | OperationKind::Write | OperationKind::Trim);
            let owner = if is_host { request } else { NIL };
            let id = self.executor.new_slot(&mut self.front_end, operation, owner, NO_JOB);
            ids.push(id);
            if owner != NIL {
                self.front_end.requests[request].unanswered += 1;
                self.front_end.requests[request].unfinished += 1;
                let former = std::mem::replace(&mut self.front_end.requests[request].last_operation, id);
                self.executor.operations.follow(id, former, request, self.executor.options.host.serial_subrequests);
            }
            if let Some(required) = operation.requires {
                self.executor.operations.start_after(id, ids[usize::from(required)]);
            }
            self.executor.operations.queue_for_lock(id);
            if self.front_end.buffer.is_some() && self.front_end.departs(id, &mut self.executor.operations) {
                self.executor.operations.slots[id].unmet += 1;
            }
        }
        for &id in &ids {
            self.executor.operations.start_if_ready(id);
        }
        ids.clear();
        self.executor.operations.granted = ids;
        self.executor.run_ready(&mut self.front_end);
    }
}

/// Serves a request whose pages lie in chunks, range by range of the logical space.
#[cold]
fn serve_chunks<C: Content, M: Media>(engine: &mut Engine<C, M>, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
    for (offset_bytes, end_bytes) in engine.executor.space.ranges(offset_bytes, end_bytes) {
        match op {
            HostOp::Trim => engine.cut_trim(id, offset_bytes, end_bytes),
            HostOp::WriteZeroes => engine.write_zeroes(id, offset_bytes, end_bytes),
            _ => engine.serve(id, op, offset_bytes, end_bytes),
        }
    }
}
