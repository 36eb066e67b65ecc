//! How an operation ends: its answer, and its state change in one instant; or it fails, and changes nothing. And what follows for its request, and for flushes,
//! which wait for what was written before them.

use super::state::Executor;
use crate::engine::content::Content;
use crate::engine::front_end::FrontEnd;
use crate::engine::host_side::{Load, Stage};
use crate::engine::request::{CompletedRequest, Flush, Request};
use crate::engine::slot::{REBUILD, Rare, Slot, TRANSLATION, counts_in_chunk};
use crate::media::{Answer, Media};
use flashraid_redundancy::{Failure, Lock, Operation, OperationKind};
use flashraid_vocabulary::{Change, HostOp, NIL};

impl<C: Content, M: Media> Executor<C, M> {
    /// The host gets its acknowledgement while page operations that it does not wait for go on; that of a flush promises that they have ended.
    pub(super) fn answer(&mut self, front: &mut FrontEnd, id: u32) {
        let request = self.operations.slots[id].request;
        let is_flush = request != NIL && front.requests[request].op == HostOp::Flush;
        #[cfg(feature = "mutants")]
        let is_flush = is_flush && !self.mutant.has(crate::mutants::EngineFault::FlushToRegisters);
        if is_flush {
            return;
        }
        let slot = &mut self.operations.slots[id];
        slot.acknowledged = true;
        let (request, operation) = (slot.request, slot.operation);
        if request == NIL {
            return;
        }
        // The data buffer knows what leaves it.
        if operation.kind != OperationKind::Read && front.buffer.is_none() {
            front.acknowledges_early |= operation.posted_programs > 0;
            for lpn in operation.host_pages() {
                front.in_controller.insert(lpn.0, id);
            }
            if self.exposure.as_mut().is_some_and(|exposure| exposure.acknowledged(&operation)) {
                self.note_exposed(operation.stripe);
            }
        }
        self.completed(front, request);
    }

    /// The state change, in one instant.
    pub(super) fn end(&mut self, front: &mut FrontEnd, id: u32) {
        let slot = &mut self.operations.slots[id];
        let operation = slot.operation;
        let Slot { request, acknowledged, failed, reserved, job, departs, rare, .. } = *slot;
        let mut record = std::mem::replace(&mut slot.programs, NIL);
        let changes = std::mem::replace(&mut slot.changes, NIL);
        let unflushed_as = if departs && request == NIL { self.operations.unflushed_as(id) } else { u64::MAX };
        let (mut programs, has_failures) = (0, self.media.has_failures());
        while record != NIL {
            let next = *self.media.next_in_list(record);
            #[cfg(feature = "mutants")]
            if self.mutant.forgets(&operation, self.media.program(record).is_unallocated) {
                self.media.abort(std::mem::replace(&mut record, next));
                continue;
            }
            if has_failures && self.media.program(record).is_unallocated {
                self.ended_unplaced(self.media.program(record).page);
            } else {
                programs += 1;
            }
            self.media.commit(record);
            record = next;
        }
        if changes != NIL {
            for index in 0..self.operations.changes[changes as usize].len() {
                self.apply(id, &operation, self.operations.changes[changes as usize][index]);
            }
            self.operations.changes[changes as usize].clear();
            self.operations.free_changes.push(changes);
        }
        self.give_back(&operation, reserved);
        if self.translation.is_some() {
            self.settle_translation(id, &operation, job, failed);
        }
        if C::TRACKED {
            self.content.ended(id, &operation, failed);
        }
        if departs {
            front.arrives(id, &operation, failed, self.clock.now_ns(), &mut self.operations);
        } else if failed {
            front.check_word(&operation, request);
        } else if !front.gone.is_empty() {
            front.covers_what_was_gone(&operation);
        }
        if operation.kind != OperationKind::Job && job != TRANSLATION {
            #[cfg(feature = "mutants")]
            let failed = failed || self.mutant.keeps_row(&operation);
            match failed {
                false => self.scheme.ended(&operation),
                true => self.scheme.failed(&operation),
            }
            if let Some(exposure) = &mut self.exposure {
                exposure.ended(&operation);
                self.note_exposed(operation.stripe);
            }
        }
        if operation.kind == OperationKind::Repair {
            self.failures.repair_ended(&operation, programs, job == REBUILD);
        } else if operation.lock == Lock::Shared && self.options.host.piggyback {
            self.failures.reconstructed(operation.stripe);
        }
        if counts_in_chunk(&operation, job) {
            *self.writes_near(operation.first) -= 1;
        }
        if operation.lock != Lock::None {
            self.operations.locks.release(operation.stripe.0, &mut self.operations.granted);
            for index in 0..self.operations.granted.len() {
                self.operations.condition_met(self.operations.granted[index]);
            }
            self.operations.granted.clear();
        }
        if rare != NIL {
            self.start_what_waited(id);
        }
        if acknowledged && operation.kind != OperationKind::Read && request != NIL {
            for lpn in operation.host_pages() {
                if front.in_controller.get(&lpn.0) == Some(&id) {
                    front.in_controller.remove(&lpn.0);
                }
            }
        }
        self.operations.remove(id);
        if request != NIL {
            if !acknowledged {
                self.completed(front, request);
            }
            self.ended_part(front, request);
        } else if unflushed_as != u64::MAX {
            self.finished_write(front, unflushed_as);
        }
    }

    /// Starts what waited for the operation, which has ended.
    fn start_what_waited(&mut self, id: u32) {
        let Rare { plane, lock_holder, successor, dependents, nested, frees_place_of, .. } = *self.operations.rare(id);
        self.operations.free_rare(id);
        debug_assert!(nested == NIL, "an operation ends under whose lock another one is to run: {:?}", self.operations.operation(id));
        if lock_holder != NIL {
            self.operations.gets_lock_back(lock_holder, id);
        }
        if plane != NIL {
            self.media.answer(Answer::Committed(plane));
        }
        if frees_place_of != NIL {
            self.operations.place_is_free(id, frees_place_of);
        }
        if successor != NIL {
            self.operations.condition_met(successor);
        }
        let mut dependent = dependents;
        while dependent != NIL {
            let next = self.operations.rare(dependent).next_dependent;
            self.operations.condition_met(dependent);
            dependent = next;
        }
    }

    /// Applies a state change of an operation's plan.
    #[inline(always)]
    pub(crate) fn apply(&mut self, id: u32, operation: &Operation, change: Change) {
        match change {
            Change::Defer(_, sources) => self.content.deferred(id, operation, sources),
            Change::ReleaseDeferred(address) => self.content.deferred_no_more(address),
            on_flash => self.media.apply(&on_flash),
        }
    }

    /// The operation fails, and its request with it. Nothing changes.
    pub(super) fn give_up(&mut self, front: &mut FrontEnd, id: u32, failure: Failure) {
        self.drop_work(id);
        if self.claims && !self.operations.fails_with_place(id, failure) {
            return;
        }
        let slot = &mut self.operations.slots[id];
        slot.failed = true;
        let (request, departs, operation) = (slot.request, slot.departs, slot.operation);
        if let Some(valid) = front.valid_sectors.as_mut().filter(|_| operation.kind == OperationKind::Trim) {
            operation.host_pages().for_each(|lpn| valid.fill(lpn));
        }
        if request != NIL {
            front.believed_without_space += u64::from(failure == Failure::NoSpace && front.requests.is_believed(request));
            let request = &mut front.requests[request];
            // What the host was told stands.
            if request.unanswered > 0 {
                request.failed = request.failed.max(Some(failure));
            }
        } else if departs {
            front.eviction_failed(failure);
        }
        self.operations.start_successor(id);
        self.end(front, id);
    }

    /// One thing that the host waits for is there.
    #[inline(always)]
    pub(in crate::engine) fn completed(&mut self, front: &mut FrontEnd, id: u32) {
        let request = &mut front.requests[id];
        request.unanswered -= 1;
        if request.unanswered == 0 {
            self.answer_request(front, id);
        }
    }

    /// All that the host waits for is there, but what SSDs still hold in their memories. Every request comes here, however it ends: once, or a flush for which
    /// SSDs have to program something twice.
    fn answer_request(&mut self, front: &mut FrontEnd, id: u32) {
        let waits = match front.requests[id].op {
            HostOp::Flush => waits_for_ssds(&mut self.media, &mut front.requests[id], id),
            HostOp::Read if front.host_side.is_some() => {
                let enters = self.enter_stages(front, Stage::OUTWARDS, id);
                front.requests[id].unfinished += u32::from(enters);
                enters
            }
            _ => false,
        };
        if !waits {
            self.tell_host(front, id);
        }
    }

    /// A request comes to the first of these stages that takes time. Returns false if there is none.
    pub(in crate::engine) fn enter_stages(&mut self, front: &mut FrontEnd, stages: &[Stage], id: u32) -> bool {
        let Some(side) = &mut front.host_side else { return false };
        let Request { op, offset_bytes, size_bytes, failed, .. } = front.requests[id];
        let load = Load {
            op,
            bytes: if failed.is_none() { size_bytes } else { 0 },
            units: self.space.pages_up(offset_bytes + size_bytes) - self.space.page_of(offset_bytes),
        };
        let enters = side.enter(stages, id, load, self.clock.now_ns());
        self.clock.leave_stage(side.next_ns());
        enters
    }

    /// A request leaves a stage, and goes on. Returns it if it has come to the engine.
    #[cold]
    pub(in crate::engine) fn leave_stage(&mut self, front: &mut FrontEnd) -> Option<u32> {
        let due = front.host_side.as_mut().and_then(|side| side.take_due(self.clock.now_ns()));
        let (stage, id) = due.expect("a request leaves a stage");
        if self.enter_stages(front, stage.rest(), id) {
            return None;
        }
        if Stage::INWARDS.contains(&stage) {
            return Some(id);
        }
        self.tell_host(front, id);
        self.ended_part(front, id);
        None
    }

    /// The host gets its answer, which makes room for a request that waits there.
    pub(in crate::engine) fn tell_host(&mut self, front: &mut FrontEnd, id: u32) {
        let request = front.requests[id];
        let now_ns = self.clock.now_ns();
        front.requests.outstanding -= 1;
        if !front.requests.in_host.is_empty() {
            self.clock.take_from_host();
        }
        self.media.request_completed();
        if request.measured {
            if request.failed.is_none() {
                front.last_completion = (now_ns, self.idle_ns);
            }
            self.statistics.completed(request.op, request.arrival_ns, now_ns - request.arrival_ns, request.size_bytes, request.failed);
            if let Some(recorder) = &mut front.recorder {
                let first = || self.scheme.stripe_of(self.space.page_at(self.space.page_of(request.offset_bytes))).0;
                recorder.note_request(id, &request, now_ns, (request.op != HostOp::Flush).then(first));
            }
            if self.media.has_failures() && request.failed.is_none() {
                self.failures.note_under_rebuild(request.arrival_ns, now_ns - request.arrival_ns);
            }
            if !front.replacements.records.is_empty() && request.failed.is_none() {
                front.replacements.note(request.op, request.arrival_ns, now_ns - request.arrival_ns);
            }
            if front.around.is_some() && request.failed.is_none() {
                front.note_around(request.op, request.arrival_ns, now_ns - request.arrival_ns, &self.failures);
            }
        }
        if C::TRACKED {
            let (space, end_bytes) = (self.space, request.offset_bytes + request.size_bytes);
            let pages = space.page_of(request.offset_bytes)..space.pages_up(end_bytes);
            front.acknowledge(&request, pages.map(|page| space.page_at(page)), &mut self.content);
        }
        front.completed.push(CompletedRequest {
            sequence: request.sequence,
            op: request.op,
            arrival_ns: request.arrival_ns,
            completed_ns: now_ns,
            ok: request.failed.is_none(),
        });
    }

    /// One part of the request has ended.
    #[inline(always)]
    pub(in crate::engine) fn ended_part(&mut self, front: &mut FrontEnd, id: u32) {
        let request = &mut front.requests[id];
        request.unfinished -= 1;
        if request.unfinished == 0 {
            self.end_request(front, id);
        }
    }

    /// All of its parts have ended: it is durable, and its record is free.
    fn end_request(&mut self, front: &mut FrontEnd, id: u32) {
        let request = &mut front.requests[id];
        let write_index = request.write_index;
        if request.failed.is_some() && request.measured && request.op == HostOp::Write {
            self.statistics.write_failed(&request.programs);
        }
        front.requests.remove(id);
        if write_index != u64::MAX {
            self.finished_write(front, write_index);
        }
    }

    /// The write at this position among all has finished.
    fn finished_write(&mut self, front: &mut FrontEnd, write_index: u64) {
        if front.requests.flushes.back().is_none_or(|flush| flush.target <= write_index) {
            front.requests.unflushed -= 1;
        } else {
            self.tell_flushes(front, write_index);
        }
    }

    /// A write has finished that a flush waits for.
    #[cold]
    fn tell_flushes(&mut self, front: &mut FrontEnd, write_index: u64) {
        let first = front.requests.flushes.partition_point(|flush| flush.target <= write_index);
        front.requests.flushes[first].unfinished -= 1;
        while let Some(&Flush { request, target, unfinished: 0 }) = front.requests.flushes.front() {
            front.requests.flushes.pop_front();
            front.requests.keep_word(target, request);
            self.completed(front, request);
            self.ended_part(front, request);
        }
    }
}

/// What was written before a flush, and what it has written out of a buffer itself, is in the SSDs now: whether it waits for some that have to program it first.
#[cold]
fn waits_for_ssds(media: &mut impl Media, request: &mut Request, flush: u32) -> bool {
    if std::mem::replace(&mut request.is_in_ssds, true) || request.failed == Some(Failure::Refused) {
        return false;
    }
    let ssds = media.flush(flush);
    request.unanswered += ssds;
    request.unfinished += ssds;
    ssds > 0
}
