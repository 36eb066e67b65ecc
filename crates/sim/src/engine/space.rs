//! Space: a page is reserved for each program before its operation starts, and operations wait for pages in the queues of their domains.

use super::content::Content;
use super::slot::{NIL, Slot, TRANSLATION};
use super::state::Engine;
use super::translation::is_lock;
use crate::media::Media;
use flashraid_redundancy::{Failure, Operation};
use flashraid_vocabulary::{Action, MemberId, MemberPage, PageOperation, StripeId, Version, Wave};

impl<C: Content, M: Media> Engine<C, M> {
    /// The page of a stripe, or of a translation page, on a member that has one.
    #[inline]
    fn page_on(&self, stripe: StripeId, member: u32) -> MemberPage {
        let member = MemberId(member as u16);
        match &self.translation {
            Some(translation) if is_lock(stripe) => translation.copy_on(stripe, member),
            _ => self.scheme.page_on(stripe, member),
        }
    }

    /// Reserves a page for each program, member by member, then starts. Where none is left the operation waits, and keeps the pages
    /// reserved so far. That cannot block GC, which has its own reserve; and as all operations ask in the order
    /// of members, which is that of their space domains, and only the first that waits for a domain gets pages of it, two of
    /// them never wait for each other's pages.
    #[inline(always)]
    pub(super) fn reserve_and_start(&mut self, id: u32) {
        if self.moves_strips {
            self.place_operation(id);
        }
        if self.claims && !self.has_claimed(id) {
            return;
        }
        while self.operations.slots[id as usize].unreserved != 0 {
            let member = self.operations.slots[id as usize].unreserved.trailing_zeros();
            let address = self.page_on(self.operations.slots[id as usize].operation.stripe, member);
            let domain = self.media.domain_of(address, Version::Current);
            let (head, tail) = self.operations.space_waiters[domain as usize];
            let is_next = head == NIL || head == id;
            let is_reserved = is_next && self.media.reserve(address, Version::Current);
            if !is_reserved && !self.is_exhausted(domain) {
                if head != id {
                    match head {
                        NIL => self.operations.space_waiters[domain as usize] = (id, id),
                        _ => {
                            self.operations.slots[tail as usize].next = id;
                            self.operations.space_waiters[domain as usize].1 = id;
                        }
                    }
                    let slot = &mut self.operations.slots[id as usize];
                    (slot.next, slot.waits_for_space) = (NIL, true);
                    self.operations.waiting_for_space += 1;
                }
                return;
            }
            let slot = &mut self.operations.slots[id as usize];
            slot.unreserved &= !(1 << member);
            slot.reserved |= u64::from(is_reserved) << member;
            if head == id && !self.wants_more_of(id, domain) {
                self.operations.leave_space_queue(domain, NIL);
            }
        }
        // A commit may run before it, under its lock.
        if self.operations.slots[id as usize].unmet == 0 {
            self.start(id);
        }
    }

    /// Whether the next page that the operation needs is of this domain, too: members may share one.
    fn wants_more_of(&self, id: u32, domain: u32) -> bool {
        let Slot { unreserved, operation, .. } = &self.operations.slots[id as usize];
        let next = |member| self.media.domain_of(self.page_on(operation.stripe, member), Version::Current);
        *unreserved != 0 && next(unreserved.trailing_zeros()) == domain
    }

    /// Lets operations that wait for this domain try again, in order, until one has to go on waiting.
    pub(super) fn wake_space_waiters(&mut self, domain: u32) -> bool {
        let mut any = false;
        loop {
            let (head, _) = self.operations.space_waiters[domain as usize];
            if head == NIL {
                return any;
            }
            self.reserve_and_start(head);
            if self.operations.space_waiters[domain as usize].0 == head {
                return any;
            }
            any = true;
        }
    }

    /// Nothing is in flight that could free space: the longest waiting operation of the first domain fails. One under whose lock a commit is
    /// to run stays until that has run or failed. Returns whether there was one.
    pub(super) fn fail_for_space(&mut self) -> bool {
        let Some((domain, former, id)) = self.operations.first_to_fail() else { return false };
        // Planes of translation pages hold far less than they have space for, and what failed there has been taken out of the way before.
        assert!(
            self.operations.slots[id as usize].job != TRANSLATION,
            "translation pages always get space: {:?}",
            self.operations.slots[id as usize].operation
        );
        self.operations.leave_space_queue(domain, former);
        self.give_up(id, Failure::NoSpace);
        // The next in line may be content with what this one was reserved.
        self.wake_space_waiters(domain);
        self.run_ready();
        if self.has_watchers {
            // It may have been in the way of what is done in idle time, and no event may come.
            self.tell_watchers();
        }
        true
    }

    /// Promises all pages of the operation or none.
    pub(super) fn reserve_at_once(&mut self, operation: &Operation) -> bool {
        let mut reserved = 0u64;
        let mut wanted = operation.space;
        while wanted != 0 {
            let member = wanted.trailing_zeros();
            wanted &= wanted - 1;
            let address = self.page_on(operation.stripe, member);
            let domain = self.media.domain_of(address, Version::Current);
            if self.operations.space_waiters[domain as usize].0 != NIL || !self.media.reserve(address, Version::Current) {
                self.give_back(operation, reserved);
                return false;
            }
            reserved |= 1 << member;
        }
        true
    }

    /// Reserves a page for each copy that the wave makes: at once, as the plan has just seen that there is one, and the wave may have to
    /// wait for its translation.
    pub(super) fn reserve_copies(&mut self, id: u32, wave: &Wave) {
        let is_copy = |done: &&PageOperation| done.action == Action::Program && done.version == Version::Copy;
        for copy in wave.operations.iter().filter(is_copy) {
            let is_reserved = self.media.reserve(copy.address, Version::Copy);
            assert!(is_reserved || self.media.has_failures(), "schemes make copies where there is a page: {copy:?}");
            self.operations.rare_mut(id).reserved_copies |= u64::from(is_reserved) << copy.address.member.0;
        }
    }

    /// Gives back reserved pages that were not used.
    #[inline(always)]
    pub(super) fn give_back(&mut self, operation: &Operation, mut reserved: u64) {
        while reserved != 0 {
            let member = reserved.trailing_zeros();
            reserved &= reserved - 1;
            self.media.release(self.page_on(operation.stripe, member), Version::Current);
        }
    }
}
