//! Programs that fail: they are repeated, given up, or end without a page.

use crate::Flash;
use crate::memory;
use flashraid_nand::{NEVER, NIL, Record};
use flashraid_vocabulary::{Action, Cause, MemberId, MemberPage, PageOperation, Ppn, Sources, Version};

impl Flash {
    /// Fails every program that waits in the domain.
    pub(super) fn fail_waiting(&mut self, domain: u32) {
        while let Some(id) = self.nand.take_waiting(domain) {
            self.fail_unstarted(id);
        }
        if self.hybrid.is_some() {
            self.take_waiting(domain).into_iter().for_each(|id| self.fail_unstarted(id));
        }
        memory::take_waiting(self, domain).into_iter().for_each(|id| self.fail_unstarted(id));
    }

    /// A program that never started fails.
    pub(crate) fn fail_unstarted(&mut self, id: u32) {
        let Record { domain, slot, cause, .. } = *self.nand.record(id);
        self.dismiss(cause);
        if self.hybrid.is_some() {
            self.cancel_reservation(slot);
        }
        self.space.domains[domain as usize].reserved -= 1;
        self.nand.complete_unstarted(id);
    }

    /// If nothing is in flight and programs wait for pages that nobody will make, these fail, and cannot be repeated. Returns whether there were any.
    pub fn fail_stuck(&mut self) -> bool {
        if self.nand.next_event_ns() != NEVER {
            return false;
        }
        if memory::give_up(self) {
            return true;
        }
        let before = self.nand.completions().len();
        (0..self.space.domains.len() as u32).for_each(|domain| self.fail_waiting(domain));
        let failed: Vec<u32> = self.nand.completions()[before..].iter().map(|completion| completion.record).collect();
        failed.iter().for_each(|record| self.nand.record_mut(*record).domain = NIL);
        !failed.is_empty()
    }

    /// Queues a program again that failed, or whose page was lost after it had ended: its page is garbage, and another is reserved, even if there
    /// is none yet. Counted as a retry. False if the domain has nothing that lives, or the program failed as it was stuck; then `abort` must follow.
    pub fn repeat(&mut self, record: u32) -> bool {
        self.forget_page(record);
        let domain = self.nand.record(record).domain;
        if domain == NIL || !self.space.domain_is_alive(domain) {
            return false;
        }
        let now_ns = self.nand.now_ns();
        let program = self.nand.record_mut(record);
        (program.next, program.cause, program.submitted_ns) = (NIL, Cause::Retry, now_ns);
        if self.hybrid.is_some() {
            self.owe_page(self.nand.record(record).slot);
        }
        self.space.domains[domain as usize].reserved += 1;
        self.space.pool_if_short(&mut self.nand, domain);
        let member = MemberId(self.nand.record(record).member);
        self.nand.loads_mut().queue_changes(member, 0, 1);
        self.queue_program(record);
        true
    }

    /// A program that has ended or failed counts for nothing: its page is garbage, and its record free.
    pub fn abort(&mut self, record: u32) {
        self.forget_page(record);
        self.nand.remove_record(record);
    }

    /// The program of a record, as far as is kept of it.
    pub fn program_of(&self, record: u32) -> PageOperation {
        let Record { slot, version, cause, priority, host_waits, keep_base, bytes, .. } = *self.nand.record(record);
        let (address, sources, strip) = (self.address(slot), Sources::default(), PageOperation::NO_STRIP);
        PageOperation { action: Action::Program, version, cause, priority, host_waits, keep_base, address, bytes, sources, strip }
    }

    /// A program that gets no page, and was not submitted: its record, as if it had failed.
    pub fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32 {
        let domain = self.space.domain_of(operation.address, operation.version);
        self.nand.add_record(Record { domain, ..self.program_record(operation, owner) })
    }

    /// A program that has failed for good may end all the same: its version will be lost.
    pub fn leave_unplaced(&mut self, record: u32) {
        self.forget_page(record);
        self.nand.record_mut(record).ppn = self.faults.lost.0;
    }

    /// Whether the version that a program makes will be lost (`leave_unplaced`).
    pub fn is_unallocated(&self, record: u32) -> bool {
        self.nand.record(record).ppn == self.faults.lost.0
    }

    /// Whether a program has ended, and its page is lost since then.
    pub fn has_lost_its_page(&self, record: u32) -> bool {
        let ppn = self.nand.record(record).ppn;
        ppn != NIL && !self.is_unallocated(record) && self.is_lost_page(Ppn(ppn))
    }

    /// Which version of which page a program makes.
    pub fn programmed(&self, record: u32) -> (MemberPage, Version) {
        let Record { slot, version, .. } = *self.nand.record(record);
        (self.address(slot), version)
    }

    fn forget_page(&mut self, record: u32) {
        let ppn = std::mem::replace(&mut self.nand.record_mut(record).ppn, NIL);
        if ppn != NIL && ppn != self.faults.lost.0 {
            self.settle(self.shape.block_of(Ppn(ppn)));
            if self.hybrid.is_some() {
                self.page_settled(self.nand.record(record).slot, Ppn(ppn));
            }
        }
    }
}
