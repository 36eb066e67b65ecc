//! Programs that fail: they are repeated, given up, or end without a page.

use crate::Flash;
use crate::memory::leave_places;
use crate::submission::give_back;
use flashraid_nand::{NEVER, Record};
use flashraid_vocabulary::{Cause, MemberId, NIL, PageOperation, Ppn};

impl Flash {
    /// Fails every program that waits in the domain.
    pub(super) fn fail_waiting(&mut self, domain: u32) {
        while let Some(id) = self.nand.take_waiting(domain) {
            self.fail_unstarted(id);
        }
        if let Some(hybrid) = &mut self.hybrid {
            let waiting = hybrid.take_waiting(domain, &self.store.space, &self.nand);
            waiting.into_iter().for_each(|id| self.fail_unstarted(id));
        }
        if let Some(memory) = &mut self.store.memory {
            let waiting = memory.take_waiting(domain, &self.nand);
            waiting.into_iter().for_each(|id| self.fail_unstarted(id));
        }
    }

    /// A program that never started fails.
    pub(crate) fn fail_unstarted(&mut self, id: u32) {
        let Record { domain, slot, cause, .. } = *self.nand.record(id);
        self.gc.dismiss(cause, &self.store.space);
        if let Some(hybrid) = &mut self.hybrid {
            let waits = hybrid.cancel(slot, &self.store.space);
            self.wake(waits);
        }
        give_back(self, domain);
        self.nand.complete_unstarted(id);
    }

    /// If nothing is in flight and programs wait for pages that nobody will make, these fail, and cannot be repeated. What failures have driven out of its place,
    /// and finds no other, stays in the memory; only if a flush waits for it, is it lost. Returns whether anything was given up.
    pub fn fail_stuck(&mut self) -> bool {
        if self.nand.next_event_ns() != NEVER {
            return false;
        }
        let before = self.nand.completions().len();
        (0..self.store.space.domains.len() as u32).for_each(|domain| self.fail_waiting(domain));
        let failed: Vec<u32> = self.nand.completions()[before..].iter().map(|completion| completion.record).collect();
        failed.iter().for_each(|record| self.nand.record_mut(*record).domain = NIL);
        if !failed.is_empty() {
            return true;
        }
        let is_awaited = self.store.memory.as_ref().is_some_and(|memory| memory.has_flushes());
        let to_give_up = if is_awaited { self.store.take_rescues() } else { Vec::new() };
        leave_places(self, &to_give_up);
        !to_give_up.is_empty()
    }

    /// Queues a program again that failed, or whose page was lost after it had ended: its page is garbage, and another is reserved, even if there
    /// is none yet. Counted as a retry. False if the domain has nothing that lives, or the program failed as it was stuck; then `abort` must follow.
    pub fn repeat(&mut self, record: u32) -> bool {
        self.forget_page(record);
        let Record { domain, slot, member, .. } = *self.nand.record(record);
        if domain == NIL || !self.store.space.domain_is_alive(domain) {
            return false;
        }
        let now_ns = self.nand.now_ns();
        let program = self.nand.record_mut(record);
        (program.next, program.cause, program.submitted_ns) = (NIL, Cause::Retry, now_ns);
        if let Some(hybrid) = &mut self.hybrid {
            hybrid.owe_page(slot, &self.store.space);
        }
        self.store.space.domains[domain as usize].reserved += 1;
        self.store.space.pool_if_short(&mut self.nand, domain);
        self.nand.loads_mut().queue_changes(MemberId(member.into()), 0, 1);
        self.queue_program(record);
        true
    }

    /// A program that has ended or failed counts for nothing: its page is garbage, and its record free.
    pub fn abort(&mut self, record: u32) {
        self.forget_page(record);
        self.nand.remove_record(record);
    }

    /// A program that gets no page, and was not submitted: its record, as if it had failed.
    pub fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        let domain = self.store.space.domain_of(operation.address, operation.version);
        let program = self.store.program_record(operation, owner, self.nand.now_ns());
        self.nand.add_record(Record { domain, ..program })
    }

    /// A program that has failed for good may end all the same: its version will be lost.
    pub fn leave_unplaced(&mut self, record: u32) {
        self.forget_page(record);
        self.nand.record_mut(record).ppn = self.store.space.lost.0;
    }

    fn forget_page(&mut self, record: u32) {
        let Record { ppn, slot, .. } = *self.nand.record(record);
        self.nand.record_mut(record).ppn = NIL;
        if ppn != NIL && ppn != self.store.space.lost.0 {
            waste(self, slot, Ppn(ppn));
        }
    }
}

/// The page, which was taken for a version of this slot, is garbage.
pub(crate) fn waste(flash: &mut Flash, slot: u32, ppn: Ppn) {
    let due = flash.store.space.settle(flash.store.space.shape.block_of(ppn));
    flash.attend(due);
    if let Some(hybrid) = &mut flash.hybrid {
        let waits = hybrid.page_settled(slot, ppn, &flash.store.space);
        flash.wake(waits);
    }
}
