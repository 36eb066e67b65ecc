//! Operations get their places, in order: from the decision to the start.
//!
//! An operation starts when the operations that it requires have ended, its stripe is its own, it has what it claims (below), and each page that it
//! will program is reserved. It holds its place in its stripe's queue from the decision on, and waits for space only when it is at the head:
//! GC, which makes space, takes no stripe lock, so it never waits for an operation that waits.
//!
//! A page is reserved for each program before its operation starts, and operations wait for pages in the queues of their domains.
//!
//! What operations claim before they start is places in NVRAM, of which there are few (`Scheme::claim`). An operation claims when it has its stripe and
//! nothing else. For one that gets the place of another stripe, that one's commit runs: under its lock if somebody has that and has not started. The two
//! run side by side from when the commit has its pages and starts, and the operation ends when both have: then the place is free. So the commit waits for
//! nobody, and no operation that has pages waits for one that has none. The others wait for a place, in order, until something ends. Whoever has a place
//! gets on, and a commit claims nothing.

use super::state::Executor;
use crate::engine::content::Content;
use crate::engine::front_end::FrontEnd;
use crate::engine::slot::{NO_JOB, Place, Rare, Slot, TRANSLATION, counts_in_chunk};
use crate::engine::translation::is_lock;
use crate::media::Media;
use flashraid_redundancy::{Claim, Failure, Lock, Operation, OperationKind};
use flashraid_vocabulary::{Action, MemberId, MemberPage, NIL, PageOperation, StripeId, Version, Wave};

impl<C: Content, M: Media> Executor<C, M> {
    #[inline]
    pub(in crate::engine) fn new_slot(&mut self, front: &mut FrontEnd, operation: &Operation, request: u32, job: u16) -> u32 {
        let id = self.operations.add(operation, request, job);
        if counts_in_chunk(operation, job) {
            *self.writes_near(operation.first) += 1;
        }
        if C::TRACKED {
            // What leaves a buffer on behalf of nobody leaves because of the latest request.
            let sequence = match request {
                NIL => front.requests.latest_version(),
                _ => front.requests.number_of_version(&front.requests[request]),
            };
            front.list_evicted(operation);
            let parity = if job == TRANSLATION { None } else { self.scheme.parity_of(operation.first) };
            self.content.begin(id, operation, parity, sequence, &front.leaving_with);
        }
        id
    }

    /// Admits an operation that no request asked for. It starts when operation `former` has ended, if there is one.
    pub(in crate::engine) fn admit_after(&mut self, front: &mut FrontEnd, operation: Operation, job: u16, former: u32) -> u32 {
        let id = self.new_slot(front, &operation, NIL, job);
        self.operations.start_in_turn(id, former);
        id
    }

    /// An operation without a lock needs its stripe, shared: it starts when it has it.
    pub(super) fn take_lock(&mut self, front: &mut FrontEnd, id: u32) {
        let slot = &mut self.operations.slots[id];
        debug_assert!(slot.operation.lock == Lock::None);
        (slot.operation.lock, slot.started) = (Lock::Shared, false);
        if self.operations.locks.request(slot.operation.stripe.0, false, id) {
            self.start(front, id);
        } else {
            self.operations.slots[id].unmet += 1;
        }
    }

    /// Starts operations whose conditions are met, in the order in which they were met.
    #[inline(always)]
    pub(in crate::engine) fn run_ready(&mut self, front: &mut FrontEnd) {
        if !self.operations.ready.is_empty() || self.media.has_news() || self.claims && self.operations.has_claims_to_serve() {
            self.run_all_ready(front);
        }
    }

    #[inline(never)]
    fn run_all_ready(&mut self, front: &mut FrontEnd) {
        let mut next = 0;
        loop {
            // Those that wait for a place go before those that come.
            if self.claims {
                self.serve_claimants(front);
            }
            while let Some(&id) = self.operations.ready.get(next) {
                next += 1;
                self.reserve_and_start(front, id);
                if self.claims {
                    self.serve_claimants(front);
                }
            }
            if !self.answer_gc_queries(front) && next == self.operations.ready.len() {
                break;
            }
        }
        self.operations.ready.clear();
    }

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
    pub(super) fn reserve_and_start(&mut self, front: &mut FrontEnd, id: u32) {
        if self.moves_strips {
            // Where the strips go of an operation that holds its stripe is decided now.
            let slot = &mut self.operations.slots[id];
            if slot.operation.lock == Lock::Exclusive && !slot.operation.is_placed {
                self.scheme.place(&mut slot.operation, &self.media);
                slot.unreserved = slot.operation.space;
            }
        }
        if self.claims && !self.has_claimed(front, id) {
            return;
        }
        while self.operations.slots[id].unreserved != 0 {
            let member = self.operations.slots[id].unreserved.trailing_zeros();
            let address = self.page_on(self.operations.slots[id].operation.stripe, member);
            let domain = self.media.domain_of(address, Version::Current);
            let (head, tail) = self.operations.space_waiters[domain as usize];
            let is_next = head == NIL || head == id;
            let is_reserved = is_next && self.media.reserve(address, Version::Current);
            if !is_reserved && !self.failures.is_without_space(domain, &self.media) {
                if head != id {
                    match head {
                        NIL => self.operations.space_waiters[domain as usize] = (id, id),
                        _ => {
                            self.operations.slots[tail].next = id;
                            self.operations.space_waiters[domain as usize].1 = id;
                        }
                    }
                    let slot = &mut self.operations.slots[id];
                    (slot.next, slot.waits_for_space) = (NIL, true);
                    self.operations.waiting_for_space += 1;
                }
                return;
            }
            let slot = &mut self.operations.slots[id];
            slot.unreserved &= !(1 << member);
            slot.reserved |= u64::from(is_reserved) << member;
            if head == id && !self.wants_more_of(id, domain) {
                self.operations.leave_space_queue(domain, NIL);
            }
        }
        // A commit may run before it, under its lock.
        if self.operations.slots[id].unmet == 0 {
            self.start(front, id);
        }
    }

    /// Whether the next page that the operation needs is of this domain, too: members may share one.
    fn wants_more_of(&self, id: u32, domain: u32) -> bool {
        let Slot { unreserved, operation, .. } = &self.operations.slots[id];
        let next = |member| self.media.domain_of(self.page_on(operation.stripe, member), Version::Current);
        *unreserved != 0 && next(unreserved.trailing_zeros()) == domain
    }

    /// Lets operations that wait for this domain try again, in order, until one has to go on waiting.
    pub(in crate::engine) fn wake_space_waiters(&mut self, front: &mut FrontEnd, domain: u32) -> bool {
        let mut any = false;
        loop {
            let (head, _) = self.operations.space_waiters[domain as usize];
            if head == NIL {
                return any;
            }
            self.reserve_and_start(front, head);
            if self.operations.space_waiters[domain as usize].0 == head {
                return any;
            }
            any = true;
        }
    }

    /// Nothing is in flight that could free space: the longest waiting operation of the first domain fails. One under whose lock a commit is
    /// to run stays until that has run or failed. Returns whether there was one.
    pub(in crate::engine) fn fail_for_space(&mut self, front: &mut FrontEnd) -> bool {
        let Some((domain, former, id)) = self.operations.first_to_fail() else { return false };
        // Planes of translation pages hold far less than they have space for, and what failed there has been taken out of the way before.
        assert!(
            self.operations.slots[id].job != TRANSLATION,
            "translation pages always get space: {:?}",
            self.operations.slots[id].operation
        );
        self.operations.leave_space_queue(domain, former);
        self.give_up(front, id, Failure::NoSpace);
        // The next in line may be content with what this one was reserved.
        self.wake_space_waiters(front, domain);
        self.run_ready(front);
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

    /// Whether an operation that is about to start has what it claims. If not, it comes back.
    fn has_claimed(&mut self, front: &mut FrontEnd, id: u32) -> bool {
        let slot = &mut self.operations.slots[id];
        if slot.waits_for_space || !matches!(slot.operation.kind, OperationKind::Write | OperationKind::Trim) {
            return true;
        }
        if slot.unmet != 0 {
            return false; // a commit runs under its lock
        }
        match self.scheme.claim(&mut slot.operation, self.operations.claimants.is_empty(), &self.media) {
            Claim::Granted => true,
            Claim::After(commit) => {
                self.commit_before(front, id, &commit, Place::Claimed);
                false
            }
            Claim::Behind(commit) => {
                self.commit_before(front, id, &commit, Place::Behind);
                false
            }
            Claim::Wait => {
                slot.unmet += 1;
                self.operations.claimants.push_back(id);
                false
            }
        }
    }

    /// Ends operations whose commits have ended, and lets those that wait for a place ask again, in order, until one has to go on waiting.
    fn serve_claimants(&mut self, front: &mut FrontEnd) {
        while let Some(id) = self.operations.released.pop_front() {
            match self.operations.rare(id).place {
                Place::Refused(failure) => self.give_up(front, id, failure),
                _ => self.go_on(front, id),
            }
        }
        while let Some(&id) = self.operations.claimants.front() {
            match self.scheme.claim(&mut self.operations.slots[id].operation, true, &self.media) {
                Claim::Granted => {}
                Claim::After(commit) => self.commit_before(front, id, &commit, Place::Claimed),
                Claim::Behind(commit) => self.commit_before(front, id, &commit, Place::Behind),
                Claim::Wait => return,
            }
            self.operations.claimants.pop_front();
            self.operations.condition_met(id);
        }
    }

    /// Operation `id` starts with the commit, which goes before whoever has its stripe and has not started, and ends after it (`Place::Claimed`); or it
    /// starts when the commit has ended (`Place::Behind`).
    fn commit_before(&mut self, front: &mut FrontEnd, id: u32, commit: &Operation, place: Place) {
        let commit_id = self.new_slot(front, commit, NIL, NO_JOB);
        self.operations.rare_mut(commit_id).frees_place_of = id;
        let rare = self.operations.rare_mut(id);
        (rare.place, rare.freed_by) = (place, commit_id);
        self.operations.slots[id].unmet += 1;
        self.operations.take_first(commit.stripe.0, commit_id);
        self.operations.start_if_ready(commit_id);
    }

    /// An operation is about to start, perhaps once more. Returns whether it does: not if the commit has failed whose place it was to get.
    pub(super) fn starts_with_place(&mut self, front: &mut FrontEnd, id: u32) -> bool {
        let Rare { frees_place_of, place, .. } = *self.operations.rare(id);
        if frees_place_of != NIL && self.operations.rare(frees_place_of).place == Place::Claimed {
            self.operations.rare_mut(frees_place_of).place = Place::Taken;
            self.operations.condition_met(frees_place_of);
        }
        match place {
            Place::Refused(failure) => self.give_up(front, id, failure),
            Place::Awaited => self.operations.rare_mut(id).place = Place::Taken,
            _ => {}
        }
        !matches!(place, Place::Fails(_) | Place::Refused(_))
    }

    /// All of an operation is done. Returns whether it ends: not before the commit, nor if that has failed.
    pub(super) fn ends_with_place(&mut self, front: &mut FrontEnd, id: u32) -> bool {
        match self.operations.rare(id).place {
            Place::Own => return true,
            Place::Taken => self.operations.rare_mut(id).place = Place::Awaited,
            Place::Refused(failure) => self.give_up(front, id, failure),
            Place::Claimed | Place::Behind | Place::Awaited | Place::Fails(_) => {}
        }
        false
    }
}
