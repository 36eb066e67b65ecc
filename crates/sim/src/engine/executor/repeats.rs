//! What becomes of page operations that fail, and of their operations.

use super::state::Executor;
use crate::engine::content::Content;
use crate::engine::front_end::FrontEnd;
use crate::media::{About, Media, Program, Repeated};
use flashraid_redundancy::{Method, Operation, OperationKind, Outcomes};
use flashraid_vocabulary::{Action, Cause, Delivery, MemberPage, NIL, PageOperation, Version, Wave, Weights};

impl<C: Content, M: Media> Executor<C, M> {
    /// A page operation that cannot even be submitted: a read of what is lost, or of a base that is gone since it was planned;
    /// a program without a page, or whose domain has died since its page was reserved. Returns whether it is one.
    pub(super) fn fails_at_once(&mut self, id: u32, page_operation: &PageOperation) -> bool {
        let PageOperation { address, version, action, .. } = *page_operation;
        let bit = 1u64 << address.member.0;
        match action {
            Action::Read => {
                let is_released = version == Version::Base && self.media.lookup(address, version).is_none();
                let is_gone = is_released || self.media.is_lost(address, version);
                if is_gone {
                    self.operations.read_failed(id);
                }
                is_gone
            }
            Action::Program => {
                if *self.operations.reserved_mut(id, version) & bit != 0 {
                    let domain = self.media.domain_of(address, version);
                    if self.media.domain_is_alive(domain) {
                        return false;
                    }
                    *self.operations.reserved_mut(id, version) &= !bit;
                    self.media.release(address, version);
                }
                let record = self.media.unallocated(page_operation, id);
                self.is_unallocated(id, record);
                true
            }
        }
    }

    /// A page operation has failed.
    #[cold]
    pub(super) fn page_operation_failed(&mut self, front: &mut FrontEnd, record: u32, about: &About) {
        let id = about.owner;
        // A program that has begun under a device that reports it has told of its data.
        let has_begun = about.ppn.0 != NIL;
        let slot = &mut self.operations.slots[id];
        slot.outstanding -= 1;
        if !(about.action == Action::Program && self.shape.reports_data_in && has_begun) {
            slot.waits -= u8::from(about.host_waits);
        }
        match about.action {
            #[cfg(feature = "mutants")]
            Action::Read if self.mutant.has(crate::mutants::EngineFault::ReadWhatIsDead) => {
                self.content.delivered(id, &slot.operation, record, about.ppn);
                self.media.forget(record);
                self.failures.fetched(id, about.member);
            }
            #[cfg(feature = "mutants")]
            Action::Read if self.mutant.has(crate::mutants::EngineFault::UseFailedRead) => {
                self.media.forget(record);
                self.failures.fetched(id, about.member);
            }
            Action::Read => {
                self.operations.read_failed(id);
                self.media.forget(record);
                self.failures.fetched(id, about.member);
            }
            Action::Program if has_begun => {
                #[cfg(feature = "mutants")]
                front.arrives_anew(slot.request, self.clock.now_ns());
                self.program_again(id, record);
            }
            Action::Program => {
                // Nobody will ever make a page for it.
                self.statistics.never_started(about.cause);
                // A repetition is charged to no request.
                match front.requests.get_mut(slot.request()).filter(|_| about.cause != Cause::Retry) {
                    Some(request) if request.measured => request.programs[about.cause as usize] -= 1,
                    Some(_) => self.statistics.warmup_programs[about.cause as usize] -= 1,
                    None => {}
                }
                self.is_unallocated(id, record);
            }
        }
    }

    /// Repeats a program whose page is gone.
    fn program_again(&mut self, id: u32, record: u32) {
        #[cfg(feature = "mutants")]
        if self.mutant.has(crate::mutants::EngineFault::ForgetRetry) {
            let former = std::mem::replace(&mut self.operations.slots[id].programs, record);
            *self.media.next_in_list(record) = former;
            return;
        }
        let about = self.media.about(record);
        let Repeated { record: anew, is_queued } = self.media.repeat(record);
        self.content.repeated(record, anew);
        if is_queued {
            self.statistics.planned(Action::Program, Cause::Retry);
            let slot = &mut self.operations.slots[id];
            slot.outstanding += 1;
            slot.waits += u8::from(about.host_waits);
        } else {
            self.is_unallocated(id, anew);
        }
    }

    /// The program `record` gets no page.
    fn is_unallocated(&mut self, id: u32, record: u32) {
        let Program { page, version, .. } = self.media.program(record);
        self.operations.slots[id].has_error = true;
        let outcomes = &mut self.operations.rare_mut(id).outcomes;
        if version == Version::Copy {
            outcomes.unallocated_copies |= 1 << page.member.0;
            self.media.abort(record);
        } else {
            outcomes.unallocated |= 1 << page.member.0;
            self.media.leave_unplaced(record);
            let slot = &mut self.operations.slots[id];
            *self.media.next_in_list(record) = slot.programs;
            slot.programs = record;
        }
    }

    /// A wave has ended. Returns whether its operation can go on: every program that ended still has its page, and no read failed.
    #[cold]
    pub(super) fn settle_wave(&mut self, front: &mut FrontEnd, id: u32) -> bool {
        if self.operations.rare(id).outcomes.read_failed {
            self.start_over(front, id);
            return false;
        }
        let mut record = std::mem::replace(&mut self.operations.slots[id].programs, NIL);
        while record != NIL {
            let next = *self.media.next_in_list(record);
            if self.media.program(record).has_lost_its_page {
                #[cfg(feature = "mutants")]
                front.arrives_anew(self.operations.slots[id].request, self.clock.now_ns());
                self.program_again(id, record);
            } else {
                let slot = &mut self.operations.slots[id];
                *self.media.next_in_list(record) = slot.programs;
                slot.programs = record;
            }
            record = next;
        }
        if self.operations.slots[id].outstanding > 0 {
            return false;
        }
        for (delivery, weights) in self.failures.deliveries.remove(&id).unwrap_or_default() {
            let operation = self.operations.slots[id].operation;
            self.content.assembled(id, &operation, &delivery, weights.as_ref());
        }
        true
    }

    /// A read has failed: the operation starts anew, from what is there now.
    pub(super) fn start_over(&mut self, front: &mut FrontEnd, id: u32) {
        self.drop_work(id);
        self.operations.rare_mut(id).outcomes = Outcomes { read_failed: true, ..Outcomes::default() };
        let slot = &mut self.operations.slots[id];
        slot.unreserved = slot.operation.space & !slot.reserved;
        (slot.reads, slot.last, slot.started) = (0, false, false);
        let Operation { step, reads, update_reads, copied, method, is_adjusted, .. } = &mut slot.operation;
        (*step, *reads, *update_reads, *copied, *method, *is_adjusted) = (0, 0, 0, 0, Method::None, false);
        if C::TRACKED {
            let operation = slot.operation;
            self.content.restarted(id, &operation);
        }
        self.reserve_and_start(front, id);
    }

    /// Forgets what the operation has programmed and would change.
    pub(super) fn drop_work(&mut self, id: u32) {
        let slot = &mut self.operations.slots[id];
        let (mut record, changes) = (std::mem::replace(&mut slot.programs, NIL), slot.changes);
        if changes != NIL {
            self.operations.changes[changes as usize].clear();
        }
        while record != NIL {
            let next = *self.media.next_in_list(record);
            self.media.abort(record);
            record = next;
        }
        self.failures.deliveries.remove(&id);
    }

    /// An operation ends although a program found no page for this one: it is to be made when there is space.
    pub(super) fn ended_unplaced(&mut self, address: MemberPage) {
        #[cfg(feature = "mutants")]
        if self.mutant.has(crate::mutants::EngineFault::ForgetUnplaced) {
            return;
        }
        if self.rebuild().is_none() {
            return;
        }
        self.has_watchers = true;
        match &mut self.translation {
            Some(translation) if self.shape.is_translation(address) => translation.unallocated(address),
            _ => self.failures.rebuild.as_mut().expect("there is one").unallocated(address, &self.media),
        }
    }

    /// Notes which strips a wave's reads will make up. Returns them.
    #[inline]
    pub(super) fn note_deliveries(&mut self, id: u32, wave: &Wave) -> u64 {
        if wave.deliveries.is_empty() {
            return 0;
        }
        if C::TRACKED {
            let operation = self.operations.slots[id].operation;
            // The programs of this very wave may be made of what NVRAM alone delivers.
            let is_known = |delivery: &&Delivery| delivery.reads == 0 && operation.kind != OperationKind::Read;
            let (at_once, later): (Vec<_>, Vec<_>) = wave.deliveries.iter().partition(is_known);
            let weights = |delivery: &Delivery| Weights::named(&wave.weights, delivery.weights);
            at_once.into_iter().for_each(|delivery: Delivery| self.content.assembled(id, &operation, &delivery, weights(&delivery)));
            self.failures.deliveries.insert(id, later.into_iter().map(|delivery| (delivery, weights(&delivery).cloned())).collect());
        }
        wave.deliveries.iter().fold(0, |strips, delivery| strips | 1 << delivery.strip)
    }
}
