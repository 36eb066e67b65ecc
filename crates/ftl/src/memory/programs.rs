//! Programs of plans that wait, programs that were accepted, and pages read from the memory.

use super::state::Memory;
use crate::space::Space;
use flashraid_nand::{NEVER, Nand, Record, packed};
use flashraid_vocabulary::{Action, MemberId};
use std::collections::VecDeque;

impl Memory {
    // ---- what waits ----

    /// A program comes in. Returns whether it is accepted now; else it waits, as it does while GC is behind.
    pub(crate) fn take_in(&mut self, id: u32, must_wait: bool, nand: &Nand, space: &Space) -> bool {
        let Record { priority, domain, .. } = *nand.record(id);
        let waiting = &mut self.waiting[priority as usize];
        let is_accepted = waiting.is_empty() && self.room > 0 && space.domains[domain as usize].free_pages > 0 && !must_wait;
        if !is_accepted {
            waiting.push_back(id);
        }
        is_accepted
    }

    /// Takes the next program that waits and can be accepted, the most urgent class first, each in order.
    pub(crate) fn take_acceptable(
        &mut self,
        class: usize,
        must_wait: impl Fn(u32, &Self) -> bool,
        nand: &Nand,
        space: &Space,
    ) -> Option<u32> {
        let domain = nand.record(*self.waiting[class].front()?).domain;
        let is_accepted = self.room > 0 && space.domains[domain as usize].free_pages > 0 && !must_wait(domain, self);
        if is_accepted { self.waiting[class].pop_front() } else { None }
    }

    /// Takes the programs of the domain that wait.
    pub(crate) fn take_waiting(&mut self, domain: u32, nand: &Nand) -> Vec<u32> {
        let mut taken = Vec::new();
        for waiting in &mut self.waiting {
            waiting.retain(|id| {
                let is_of_domain = nand.record(*id).domain == domain;
                if is_of_domain {
                    taken.push(*id);
                }
                !is_of_domain
            });
        }
        taken
    }

    /// Programs that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().flatten().copied()
    }

    // ---- what it serves ----

    /// A program has its page, and ends.
    pub(crate) fn accept(&mut self, id: u32, nand: &mut Nand) {
        let Record { member, lun, cause, .. } = *nand.record(id);
        packed::count_unit(nand, lun, Action::Program, cause);
        let loads = nand.loads_mut();
        loads.queue_changes(MemberId(member.into()), 0, -1);
        loads[MemberId(member.into())].in_service += 1;
        self.accepted.push_back((nand.now_ns(), id));
        self.wait(nand);
    }

    /// A read of a page that is in the memory.
    pub(crate) fn read(&mut self, id: u32, nand: &mut Nand) {
        let Record { member, lun, cause, .. } = *nand.record(id);
        let loads = nand.loads_mut();
        loads.queue_changes(MemberId(member.into()), -1, 0);
        loads[MemberId(member.into())].in_service += 1;
        packed::count_unit(nand, lun, Action::Read, cause);
        self.reads.push_back((nand.now_ns() + self.settings.read_ns, id));
        self.wait(nand);
    }

    /// The next program or read that has ended by now.
    pub(crate) fn take_ended(&mut self, now_ns: u64) -> Option<u32> {
        let is_due = |list: &VecDeque<(u64, u32)>| list.front().is_some_and(|(time_ns, _)| *time_ns <= now_ns);
        let list = if is_due(&self.accepted) { &mut self.accepted } else { &mut self.reads };
        if is_due(list) { list.pop_front().map(|(_, record)| record) } else { None }
    }

    /// Sets when something of the memory ends next.
    pub(crate) fn wait(&self, nand: &mut Nand) {
        let first = |list: &VecDeque<(u64, u32)>| list.front().map_or(NEVER, |(time_ns, _)| *time_ns);
        let next_ns = if self.has_to_move { nand.now_ns() } else { first(&self.accepted).min(first(&self.reads)) };
        packed::set_memory_ns(nand, next_ns);
    }
}
