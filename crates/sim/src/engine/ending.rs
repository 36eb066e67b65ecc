//! How an operation ends: its answer, and its state change in one instant; or it fails, and changes nothing.

use super::content::Content;
use super::slot::{NIL, REBUILD, Rare, Slot, TRANSLATION, counts_in_chunk};
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Failure, Lock, Operation, OperationKind};
use flashraid_vocabulary::{Change, HostOp};

impl<C: Content, M: Media> Engine<C, M> {
    /// The host gets its acknowledgement while page operations that it does not wait for go on; that of a flush promises that they have ended.
    pub(super) fn answer(&mut self, id: u32) {
        let request = self.operations.slots[id as usize].request;
        let is_flush = request != NIL && self.requests[request].op == HostOp::Flush;
        #[cfg(feature = "mutants")]
        let is_flush = is_flush && !self.has_fault(crate::mutants::EngineFault::FlushToRegisters);
        if is_flush {
            return;
        }
        let slot = &mut self.operations.slots[id as usize];
        slot.acknowledged = true;
        let (request, operation) = (slot.request, slot.operation);
        if request == NIL {
            return;
        }
        // The data buffer knows what leaves it.
        if operation.kind != OperationKind::Read && self.buffer.is_none() {
            self.acknowledges_early |= operation.posted_programs > 0;
            for lpn in operation.host_pages() {
                self.in_controller.insert(lpn.0, id);
            }
            self.note_acknowledged(&operation);
        }
        self.completed(request);
    }

    /// The state change, in one instant.
    pub(super) fn end(&mut self, id: u32) {
        let slot = &mut self.operations.slots[id as usize];
        let operation = slot.operation;
        let Slot { request, acknowledged, failed, reserved, job, departs, rare, .. } = *slot;
        let mut record = std::mem::replace(&mut slot.programs, NIL);
        let changes = std::mem::replace(&mut slot.changes, NIL);
        let unflushed_as = if departs && request == NIL { self.operations.unflushed_as(id) } else { u64::MAX };
        let (mut programs, has_failures) = (0, self.media.has_failures());
        while record != NIL {
            let next = *self.media.next_in_list(record);
            #[cfg(feature = "mutants")]
            if self.forgets(&operation, record) {
                self.media.abort(std::mem::replace(&mut record, next));
                continue;
            }
            if has_failures && self.media.program(record).is_unallocated {
                self.ended_unplaced(record);
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
            self.settle_translation(id, &operation, job == TRANSLATION, failed);
        }
        if C::TRACKED {
            self.content.ended(id, &operation, failed);
        }
        if departs {
            self.arrives(id, &operation, failed);
        } else if failed {
            self.check_word(&operation, request);
        } else if !self.gone.is_empty() {
            self.covers_what_was_gone(&operation);
        }
        if operation.kind != OperationKind::Job && job != TRANSLATION {
            #[cfg(feature = "mutants")]
            let failed = failed || self.keeps_row(&operation);
            match failed {
                false => self.scheme.ended(&operation),
                true => self.scheme.failed(&operation),
            }
            self.note_ended(&operation);
        }
        if operation.kind == OperationKind::Repair {
            self.failures.repair_ended(&operation, programs, job == REBUILD);
        } else if operation.lock == Lock::Shared {
            self.reconstructed(operation.stripe);
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
                if self.in_controller.get(&lpn.0) == Some(&id) {
                    self.in_controller.remove(&lpn.0);
                }
            }
        }
        let slot = &mut self.operations.slots[id as usize];
        (slot.alive, slot.next) = (false, self.operations.free_slots);
        self.operations.free_slots = id;
        if request != NIL {
            if !acknowledged {
                self.completed(request);
            }
            self.ended_part(request);
        } else if unflushed_as != u64::MAX {
            self.finished_write(unflushed_as);
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
            self.commit_for_gc_ended(plane);
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
    pub(super) fn give_up(&mut self, id: u32, failure: Failure) {
        self.drop_work(id);
        if self.claims && !self.operations.fails_with_place(id, failure) {
            return;
        }
        let slot = &mut self.operations.slots[id as usize];
        slot.failed = true;
        let (request, departs, operation) = (slot.request, slot.departs, slot.operation);
        if let Some(valid) = self.valid_sectors.as_mut().filter(|_| operation.kind == OperationKind::Trim) {
            operation.host_pages().for_each(|lpn| valid.fill(lpn));
        }
        if request != NIL {
            self.believed_without_space += u64::from(failure == Failure::NoSpace && self.requests.is_believed(request));
            let request = &mut self.requests[request];
            // What the host was told stands.
            if request.unanswered > 0 {
                request.failed = request.failed.max(Some(failure));
            }
        } else if departs {
            self.eviction_failed(failure);
        }
        self.operations.start_successor(id);
        self.end(id);
    }
}
