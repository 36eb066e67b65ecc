//! Operations get their places, in order: from the decision to the start.
//!
//! An operation starts when the operations that it requires have ended, its stripe is its own, it has what it claims (`places`), and each page that it
//! will program is reserved (`space`). It holds its place in its stripe's queue from the decision on, and waits for space only when it is at the head:
//! GC, which makes space, takes no stripe lock, so it never waits for an operation that waits (DESIGN idea 10).

use super::content::Content;
use super::slot::{NIL, NO_JOB, Slot, TRANSLATION, counts_in_chunk};
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Decisions, Lock, Operation, OperationKind};
use flashraid_vocabulary::SerialSubrequests;

impl<C: Content, M: Media> Engine<C, M> {
    /// Gives the operations of a decision their places, in order, and starts those that can start. They belong to a request or, as what leaves
    /// a buffer, to nobody.
    #[inline]
    pub(super) fn admit(&mut self, request: u32, decisions: &Decisions) {
        // The list is borrowed from where it is not in use now.
        let mut ids = std::mem::take(&mut self.operations.granted);
        debug_assert!(ids.is_empty());
        for operation in &decisions.operations {
            let is_host = matches!(operation.kind, OperationKind::Read | OperationKind::Write | OperationKind::Trim);
            let owner = if is_host { request } else { NIL };
            let id = self.new_slot(operation, owner, NO_JOB);
            ids.push(id);
            if owner != NIL {
                self.requests[request].unanswered += 1;
                self.requests[request].unfinished += 1;
                self.follow(request, id);
            }
            if let Some(required) = operation.requires {
                self.operations.start_after(id, ids[usize::from(required)]);
            }
            self.operations.queue_for_lock(id);
            if self.buffer.is_some() && self.departs(id) {
                self.operations.slots[id as usize].unmet += 1;
            }
        }
        for &id in &ids {
            if self.operations.slots[id as usize].unmet == 0 {
                self.operations.ready.push(id);
            }
        }
        ids.clear();
        self.operations.granted = ids;
        self.run_ready();
    }

    /// Admits an operation that no request asked for. It starts when operation `former` has ended, if there is one.
    pub(super) fn admit_after(&mut self, operation: Operation, job: u16, former: u32) -> u32 {
        let id = self.new_slot(&operation, NIL, job);
        if former != NIL {
            self.operations.start_after(id, former);
        }
        self.operations.queue_for_lock(id);
        if self.operations.slots[id as usize].unmet == 0 {
            self.operations.ready.push(id);
        }
        id
    }

    #[inline]
    pub(super) fn new_slot(&mut self, operation: &Operation, request: u32, job: u16) -> u32 {
        let slot = Slot {
            operation: *operation,
            request,
            job,
            alive: true,
            started: false,
            last: false,
            acknowledged: false,
            failed: false,
            departs: false,
            unmet: 0,
            outstanding: 0,
            overlapped_reads: 0,
            goes_on: false,
            waits: 0,
            unreserved: operation.space,
            reserved: 0,
            has_error: false,
            reads: 0,
            programs: NIL,
            next: NIL,
            waits_for_space: false,
            changes: NIL,
            rare: NIL,
        };
        let id = match self.operations.free_slots {
            NIL => {
                self.operations.slots.push(slot);
                self.operations.slots.len() as u32 - 1
            }
            free => {
                let old = &mut self.operations.slots[free as usize];
                self.operations.free_slots = old.next;
                *old = slot;
                free
            }
        };
        if counts_in_chunk(operation, job) {
            *self.writes_near(operation.first) += 1;
        }
        if C::TRACKED {
            // What leaves a buffer on behalf of nobody leaves because of the latest request.
            let sequence = match request {
                NIL => self.requests.number_of_version(self.requests.submitted).wrapping_sub(1),
                _ => self.requests.number_of_version(self.requests[request].sequence),
            };
            self.list_evicted(operation);
            let parity = if job == TRANSLATION { None } else { self.scheme.parity_of(operation.first) };
            self.content.begin(id, operation, parity, sequence, &self.leaving_with);
        }
        id
    }

    /// Makes the operation wait for the former one of its request as `serial_subrequests` says.
    fn follow(&mut self, request: u32, id: u32) {
        let former = std::mem::replace(&mut self.requests[request].last_operation, id);
        // A former one that ended at once (a trim of nothing) may have left its very slot to this one.
        if former == NIL || former == id || self.options.host.serial_subrequests == SerialSubrequests::Off {
            return;
        }
        let slot = &mut self.operations.slots[former as usize];
        let same = slot.alive && slot.request == request;
        if same && (!slot.started || self.options.host.serial_subrequests == SerialSubrequests::Strict) {
            self.operations.rare_mut(former).successor = id;
            self.operations.slots[id as usize].unmet += 1;
        }
    }

    /// An operation without a lock needs its stripe, shared: it starts when it has it.
    pub(super) fn take_lock(&mut self, id: u32) {
        let slot = &mut self.operations.slots[id as usize];
        debug_assert!(slot.operation.lock == Lock::None);
        (slot.operation.lock, slot.started) = (Lock::Shared, false);
        if self.operations.locks.request(slot.operation.stripe.0, false, id) {
            self.start(id);
        } else {
            self.operations.slots[id as usize].unmet += 1;
        }
    }

    /// Starts operations whose conditions are met, in the order in which they were met.
    #[inline(always)]
    pub(super) fn run_ready(&mut self) {
        if !self.operations.ready.is_empty() || self.media.has_news() || self.claims && self.operations.has_claims_to_serve() {
            self.run_all_ready();
        }
    }

    #[inline(never)]
    fn run_all_ready(&mut self) {
        let mut next = 0;
        loop {
            // Those that wait for a place go before those that come.
            if self.claims {
                self.serve_claimants();
            }
            while let Some(&id) = self.operations.ready.get(next) {
                next += 1;
                self.reserve_and_start(id);
                if self.claims {
                    self.serve_claimants();
                }
            }
            if !self.answer_gc_queries() && next == self.operations.ready.len() {
                break;
            }
        }
        self.operations.ready.clear();
    }
}
