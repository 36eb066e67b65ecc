//! Requests: taken, served and answered; and flushes, which wait for what was written before them.

use super::content::Content;
use super::request::{CompletedRequest, Flush, Request, Service};
use super::slot::NIL;
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::{Cause, HostOp, HostRequest};

impl<C: Content, M: Media> Engine<C, M> {
    /// Submits a request at the current time. Its bytes must lie in the logical space, or wrap round at its end. Returns
    /// its number. `measured` says whether its latency counts.
    pub fn submit(&mut self, request: &HostRequest, measured: bool) -> u64 {
        let sequence = self.requests.submitted;
        let waits_in_host = !self.requests.in_host.is_empty() || !self.has_room();
        self.requests.submitted += 1;
        self.requests.outstanding += 1;
        self.look_ahead();
        let write_index = if self.numbers_when_served() { u64::MAX } else { self.number_write(request.op) };
        if measured {
            self.statistics.waits.arrived(self.now_ns());
        }
        let id = self.requests.add(Request {
            sequence,
            arrival_ns: self.now_ns(),
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            failed: None,
            measured,
            programs: [0; Cause::COUNT],
            unanswered: 1,
            unfinished: 1,
            write_index,
            last_operation: NIL,
            next: NIL,
        });
        if waits_in_host {
            self.requests.has_queued_in_host = true;
            self.requests.in_host.push_back(id);
        } else {
            self.take(id, request.op, request.offset_bytes, request.size_bytes);
        }
        if self.recorder.is_some() {
            self.note_submitted_request(measured);
        }
        sequence
    }

    /// Whether requests have their positions among writes from when they are served. Where pages leave on behalf of nobody and a flush waits for that, they
    /// must: while all is held for a replacement, something may leave before a flush that came earlier. And a flush must not wait for writes behind it in
    /// the host, which wait for it.
    #[inline]
    fn numbers_when_served(&self) -> bool {
        self.options.host.device_queue_depth > 0
            || self.buffer.as_ref().is_some_and(|buffer| buffer.admits_pages() && !buffer.survives_power_loss())
    }

    /// The next position among writes, for a request that writes; `u64::MAX` for others.
    #[inline]
    fn number_write(&mut self, op: HostOp) -> u64 {
        // A flush of a buffer in DRAM writes.
        if !matches!(op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes) && (op != HostOp::Flush || !self.flushes_to_flash()) {
            return u64::MAX;
        }
        self.requests.unflushed += 1;
        self.requests.writes += 1;
        self.requests.writes - 1
    }

    /// The drive takes a request.
    #[inline(always)]
    fn take(&mut self, id: u32, op: HostOp, offset_bytes: u64, size_bytes: u64) {
        match &mut self.replacements.held {
            Some(held) => held.push_back(id),
            None => self.serve_request(id, op, offset_bytes, size_bytes),
        }
    }

    /// Whether the drive has fewer requests than it takes at a time.
    #[inline]
    fn has_room(&self) -> bool {
        let depth = u64::from(self.options.host.device_queue_depth);
        depth == 0 || self.requests.outstanding - (self.requests.in_host.len() as u64) < depth
    }

    /// The drive takes requests that wait in the host, in order, as many as it has room for.
    #[cold]
    pub(super) fn take_from_host(&mut self) {
        while self.has_room()
            && let Some(id) = self.requests.in_host.pop_front()
        {
            let Request { op, offset_bytes, size_bytes, .. } = self.requests[id];
            self.take(id, op, offset_bytes, size_bytes);
        }
    }

    /// Serves a request that was taken.
    #[inline(always)]
    pub(super) fn serve_request(&mut self, id: u32, op: HostOp, offset_bytes: u64, size_bytes: u64) {
        if self.service != Service::All && self.refuses(op) {
            return self.refuse(id);
        }
        let end = offset_bytes + size_bytes;
        if self.buffer.is_some() {
            self.destage_before_request();
        }
        if self.numbers_when_served() {
            self.requests[id].write_index = self.number_write(op);
        }
        match op {
            HostOp::Flush => {
                if self.flushes_to_flash() {
                    self.evict_all(id);
                }
                let target = self.requests[id].write_index.min(self.requests.writes);
                #[cfg(feature = "mutants")]
                let target = if self.has_fault(crate::mutants::EngineFault::FlushAtOnce) { 0 } else { target };
                if target > 0 && self.requests.waits(id, target) {
                    return;
                }
                self.requests.keep_word(target, id);
                self.requests.wait_for_ssds(id, self.media.flush(id));
            }
            HostOp::Read | HostOp::Write => self.serve(id, op, offset_bytes, end),
            HostOp::Trim => self.cut_trim(id, offset_bytes, end),
            HostOp::WriteZeroes => self.write_zeroes(id, offset_bytes, end),
        }
        self.completed(id);
        self.ended_part(id);
        self.run_ready();
        if self.media.has_failures() {
            self.resume_rebuild();
        }
    }

    /// Serves a read or write of bytes: through the data buffer, if there is one.
    #[inline]
    fn serve(&mut self, id: u32, op: HostOp, offset_bytes: u64, end_bytes: u64) {
        if C::TRACKED && op == HostOp::Read && self.valid_sectors.is_some() {
            self.tell_used(offset_bytes, end_bytes);
        }
        if self.buffer.is_some() {
            self.serve_buffered(id, op, offset_bytes, end_bytes);
        } else {
            self.cut(id, op, offset_bytes, end_bytes);
        }
    }

    /// Whole pages become unwritten; parts of pages are written.
    #[cold]
    fn write_zeroes(&mut self, id: u32, offset_bytes: u64, end_bytes: u64) {
        let (first, last) = (self.pages_up(offset_bytes), end_bytes >> self.page_shift);
        let (head, tail) = ((first << self.page_shift).min(end_bytes), last << self.page_shift);
        self.serve(id, HostOp::Write, offset_bytes, head);
        self.cut_trim(id, first << self.page_shift, last << self.page_shift);
        self.serve(id, HostOp::Write, tail.max(head), end_bytes);
    }

    /// One thing that the host waits for is there.
    #[inline(always)]
    pub(super) fn completed(&mut self, id: u32) {
        let request = &mut self.requests[id];
        request.unanswered -= 1;
        if request.unanswered == 0 {
            self.answer_request(id);
        }
    }

    /// All that the host waits for is there. Every request comes here once, however it ends, and makes room for one that waits in the host.
    fn answer_request(&mut self, id: u32) {
        let request = self.requests[id];
        let now_ns = self.clock.now_ns();
        self.requests.outstanding -= 1;
        if !self.requests.in_host.is_empty() {
            self.clock.take_from_host();
        }
        self.media.request_completed();
        if request.measured {
            if request.failed.is_none() {
                self.last_completion = (now_ns, self.idle_ns);
            }
            self.statistics.completed(request.op, request.arrival_ns, now_ns - request.arrival_ns, request.size_bytes, request.failed);
            if self.recorder.is_some() {
                self.record_request(id);
            }
            if self.media.has_failures() && request.failed.is_none() {
                self.failures.note_under_rebuild(request.arrival_ns, now_ns - request.arrival_ns);
            }
            if !self.replacements.records.is_empty() && request.failed.is_none() {
                self.replacements.note(request.op, request.arrival_ns, now_ns - request.arrival_ns);
            }
            if self.around.is_some() && request.failed.is_none() {
                self.note_around(request.op, request.arrival_ns, now_ns - request.arrival_ns);
            }
        }
        if C::TRACKED {
            self.acknowledge(&request);
        }
        self.completed.push(CompletedRequest {
            sequence: request.sequence,
            op: request.op,
            arrival_ns: request.arrival_ns,
            completed_ns: now_ns,
            ok: request.failed.is_none(),
        });
    }

    /// Tells the contents; they know which of the pages the request changed.
    fn acknowledge(&mut self, request: &Request) {
        if matches!(request.op, HostOp::Read | HostOp::Flush) {
            return;
        }
        for page in request.offset_bytes >> self.page_shift..self.pages_up(request.offset_bytes + request.size_bytes) {
            let lpn = self.wrapped(page);
            self.content.acknowledged(self.requests.number_of_version(request.sequence), lpn, request.failed.is_some());
        }
    }

    /// One part of the request has ended.
    #[inline(always)]
    pub(super) fn ended_part(&mut self, id: u32) {
        let request = &mut self.requests[id];
        request.unfinished -= 1;
        if request.unfinished == 0 {
            self.end_request(id);
        }
    }

    /// All of its parts have ended: it is durable, and its record is free.
    fn end_request(&mut self, id: u32) {
        let request = &mut self.requests[id];
        let write_index = request.write_index;
        if request.failed.is_some() && request.measured && request.op == HostOp::Write {
            self.statistics.write_failed(&request.programs);
        }
        self.requests.remove(id);
        if write_index != u64::MAX {
            self.finished_write(write_index);
        }
    }

    /// The write at this position among all has finished.
    pub(super) fn finished_write(&mut self, write_index: u64) {
        if self.requests.flushes.back().is_none_or(|flush| flush.target <= write_index) {
            self.requests.unflushed -= 1;
        } else {
            self.tell_flushes(write_index);
        }
    }

    /// A write has finished that a flush waits for.
    #[cold]
    fn tell_flushes(&mut self, write_index: u64) {
        let first = self.requests.flushes.partition_point(|flush| flush.target <= write_index);
        self.requests.flushes[first].unfinished -= 1;
        while let Some(&Flush { request, target, unfinished: 0 }) = self.requests.flushes.front() {
            self.requests.flushes.pop_front();
            self.requests.keep_word(target, request);
            self.requests.wait_for_ssds(request, self.media.flush(request));
            self.completed(request);
            self.ended_part(request);
        }
    }
}
