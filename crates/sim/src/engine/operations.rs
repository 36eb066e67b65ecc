//! The operations in flight, and where they wait: for the lock of their stripe, for each other, for a page, for a place in NVRAM.

use super::locks::Locks;
use super::slot::{Place, ROOM, Rare, Slot};
use flashraid_redundancy::{Failure, Lock, Operation, OperationKind, Outcomes};
use flashraid_vocabulary::memory::reserved;
use flashraid_vocabulary::slab::{NIL, Slab};
use flashraid_vocabulary::{Change, SerialSubrequests, Version};
use std::collections::VecDeque;

/// Operations that hardly ever become ready at one instant.
const MOST_AT_ONCE: usize = 1 << 12;

/// Operations in flight that have changes, and changes of one, hardly ever more.
const LISTS: u32 = 128;
const CHANGES: usize = 32;

/// See the module.
#[derive(Clone)]
pub(crate) struct Operations {
    pub(super) slots: Slab<Slot>,
    /// What few of the slots have.
    pub(super) rares: Slab<Rare>,
    pub(super) locks: Locks,
    /// Those that may go on, in order.
    pub(super) ready: Vec<u32>,
    /// Lent for locks to list those that get one.
    pub(super) granted: Vec<u32>,
    /// Lent for the buffer to list those whose pages are admitted.
    pub(super) startable: Vec<u32>,
    /// For each space domain, operations that wait for a page: (head, tail).
    pub(super) space_waiters: Vec<(u32, u32)>,
    pub(super) waiting_for_space: u64,
    /// Those that wait for something that they claim of the scheme, and those whose last wave has ended and whose commit has ended since.
    pub(super) claimants: VecDeque<u32>,
    pub(super) released: VecDeque<u32>,
    /// Changes to apply at the end of those that have some.
    pub(super) changes: Vec<Vec<Change>>,
    pub(super) free_changes: Vec<u32>,
}

impl Operations {
    /// None, on media with so many space domains. Whether they claim something of the scheme.
    pub(super) fn new(domains: u32, claims: bool) -> Self {
        Self {
            slots: Slab::with_room(ROOM),
            rares: Slab::with_room(ROOM),
            locks: Locks::default(),
            ready: reserved(MOST_AT_ONCE),
            granted: reserved(MOST_AT_ONCE),
            startable: reserved(MOST_AT_ONCE),
            space_waiters: vec![(NIL, NIL); domains as usize],
            waiting_for_space: 0,
            claimants: reserved(if claims { ROOM } else { 0 }).into(),
            released: reserved(if claims { MOST_AT_ONCE } else { 0 }).into(),
            changes: (0..LISTS).map(|_| Vec::with_capacity(CHANGES)).collect(),
            free_changes: (0..LISTS).rev().collect(),
        }
    }
}

impl Operations {
    /// An operation begins, for a request or a job. Returns its slot.
    #[inline(always)]
    pub(super) fn add(&mut self, operation: &Operation, request: u32, job: u16) -> u32 {
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
        self.slots.put(slot)
    }

    /// It has ended, and its slot is free.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: u32) {
        self.slots[id].alive = false;
        self.slots.remove(id);
    }

    /// The operation in a slot.
    pub(crate) fn operation(&self, id: u32) -> &Operation {
        &self.slots[id].operation
    }

    /// The first locks and operations, for the report of a stall.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (stripe, holders, exclusive, waiter) in self.locks.describe().into_iter().take(16) {
            let kind = if exclusive { "exclusive" } else { "shared" };
            let waits = waiter.map_or(String::new(), |id| format!(", first waiter operation {id}"));
            text += &format!(" stripe {stripe}: {holders} {kind} holder(s){waits};");
        }
        for (id, slot) in self.slots.as_slice().iter().enumerate().filter(|(_, slot)| slot.is_alive()).take(16) {
            text += &format!(" operation {id}: {slot};");
        }
        text
    }

    // ---- what few of them have ----

    /// What few operations have, of this one.
    #[inline]
    pub(super) fn rare(&self, id: u32) -> &Rare {
        match self.slots[id].rare {
            NIL => &Rare::NONE,
            rare => &self.rares[rare],
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn rare_mut(&mut self, id: u32) -> &mut Rare {
        match self.slots[id].rare {
            NIL => self.new_rare(id),
            rare => &mut self.rares[rare],
        }
    }

    #[inline(never)]
    fn new_rare(&mut self, id: u32) -> &mut Rare {
        let rare = self.rares.put(Rare::NONE);
        self.slots[id].rare = rare;
        &mut self.rares[rare]
    }

    /// Members (bits) for which a page is reserved and not used, for programs of this version.
    #[inline(always)]
    pub(super) fn reserved_mut(&mut self, id: u32, version: Version) -> &mut u64 {
        match version {
            Version::Copy => &mut self.rare_mut(id).reserved_copies,
            _ => &mut self.slots[id].reserved,
        }
    }

    /// It has nothing of that any more.
    #[inline]
    pub(super) fn free_rare(&mut self, id: u32) {
        self.rares.remove(std::mem::replace(&mut self.slots[id].rare, NIL));
    }

    // ---- what they wait for ----

    /// One condition less for the start of an operation.
    pub(super) fn condition_met(&mut self, id: u32) {
        let slot = &mut self.slots[id];
        slot.unmet -= 1;
        if slot.unmet == 0 && !slot.waits_for_space {
            self.ready.push(id);
        }
    }

    /// The operation takes something out of the data buffer, or trims.
    pub(super) fn leaves(&mut self, id: u32) {
        self.slots[id].departs = true;
    }

    /// The operation joins the queue for the lock of its stripe, if it takes that.
    pub(super) fn queue_for_lock(&mut self, id: u32) {
        let operation = &self.slots[id].operation;
        let granted = match operation.lock {
            Lock::None => true,
            lock => self.locks.request(operation.stripe.0, lock == Lock::Exclusive, id),
        };
        self.slots[id].unmet += u16::from(!granted);
    }

    /// An operation that no request asked for starts when operation `former` has ended, if there is one, and it has its stripe.
    pub(super) fn start_in_turn(&mut self, id: u32, former: u32) {
        if former != NIL {
            self.start_after(id, former);
        }
        self.queue_for_lock(id);
        self.start_if_ready(id);
    }

    /// It starts, unless there is something that it waits for.
    #[inline(always)]
    pub(super) fn start_if_ready(&mut self, id: u32) {
        if self.slots[id].unmet == 0 {
            self.ready.push(id);
        }
    }

    /// Operation `id` starts when operation `former` has ended.
    pub(super) fn start_after(&mut self, id: u32, former: u32) {
        let next = std::mem::replace(&mut self.rare_mut(former).dependents, id);
        if next != NIL {
            self.rare_mut(id).next_dependent = next;
        }
        self.slots[id].unmet += 1;
    }

    /// Operation `id` waits for the former one of its request as the rule says.
    pub(super) fn follow(&mut self, id: u32, former: u32, request: u32, rule: SerialSubrequests) {
        // A former one that ended at once (a trim of nothing) may have left its very slot to this one.
        if former == NIL || former == id || rule == SerialSubrequests::Off {
            return;
        }
        let slot = &self.slots[former];
        let same = slot.alive && slot.request == request;
        if same && (!slot.started || rule == SerialSubrequests::Strict) {
            self.rare_mut(former).successor = id;
            self.slots[id].unmet += 1;
        }
    }

    /// The next sub-request of its request may start.
    pub(super) fn start_successor(&mut self, id: u32) {
        let successor = self.rare(id).successor;
        if successor != NIL {
            self.rare_mut(id).successor = NIL;
            self.condition_met(successor);
        }
    }

    /// The position among writes under which flushes wait for an operation of nobody; `u64::MAX` if they do not.
    #[inline]
    pub(super) fn unflushed_as(&self, id: u32) -> u64 {
        self.rare(id).write_index
    }

    /// The pages are admitted that the operations `startable` write.
    pub(super) fn start_admitted(&mut self) {
        for index in 0..self.startable.len() {
            self.condition_met(self.startable[index]);
        }
        self.startable.clear();
    }

    /// A read of the wave has failed.
    pub(super) fn read_failed(&mut self, id: u32) {
        self.rare_mut(id).outcomes.read_failed = true;
        self.slots[id].has_error = true;
    }

    // ---- under the lock of another one ----

    /// The commit that runs for another stripe's update under the lock of whoever has the stripe, and has not started.
    pub(super) fn commit_under_lock(&self, stripe: u32) -> Option<u32> {
        let id = self.rare(self.locks.exclusive_holder(stripe)?).nested;
        (id != NIL && self.rare(id).plane == NIL && !self.slots[id].started).then_some(id)
    }

    /// The operation goes on under whose lock another one ran.
    #[cold]
    pub(super) fn gets_lock_back(&mut self, lock_holder: u32, id: u32) {
        let last = self.rare(lock_holder).nested;
        // Another one may go before that.
        for holder in [lock_holder, last].into_iter().filter(|holder| *holder != NIL) {
            if self.rare(holder).nested == id {
                self.rare_mut(holder).nested = NIL;
            }
        }
        self.condition_met(lock_holder);
    }

    /// Operation `id` runs under the lock of operation `holder`, which has not started and does not until then.
    pub(super) fn go_before(&mut self, holder: u32, id: u32) {
        let former = std::mem::replace(&mut self.rare_mut(holder).nested, id);
        self.slots[holder].unmet += 1;
        self.slots[id].operation.lock = Lock::None;
        self.rare_mut(id).lock_holder = holder;
        if former != NIL {
            self.start_after(id, former);
            if self.rare(id).plane == NIL {
                self.rare_mut(id).nested = former; // what is to go before this one goes after the former one, too
            }
        }
    }

    /// A commit takes the stripe before whoever waits for it, and before who has it and has not started. One that may itself have to wait for pages, as it is
    /// not for GC, lets that one go first if it has pages that it keeps, waits for some, or is for GC, which is to make them.
    pub(super) fn take_first(&mut self, stripe: u32, id: u32) {
        let waits_for_pages = self.rare(id).plane == NIL;
        let goes_before = |holder: u32| {
            let Slot { operation, started, reserved, waits_for_space, .. } = &self.slots[holder];
            let has_none = matches!(operation.kind, OperationKind::Write | OperationKind::Trim) && *reserved == 0 && !waits_for_space;
            !started && (has_none || !waits_for_pages)
        };
        match self.locks.exclusive_holder(stripe) {
            Some(holder) if goes_before(holder) => self.go_before(holder, id),
            _ if self.locks.is_locked(stripe) => {
                let rares = |waiter: u32| self.slots[waiter].rare;
                let is_for_gc = |waiter: u32| rares(waiter) != NIL && self.rares[rares(waiter)].plane != NIL;
                self.locks.queue_first(stripe, id, |waiter| waits_for_pages && is_for_gc(waiter));
                self.slots[id].unmet += 1;
            }
            _ => drop(self.locks.request(stripe, true, id)),
        }
    }

    // ---- places in NVRAM ----

    /// An operation is to fail. Returns whether it does so now: not before the commit has ended, as its place is not free.
    pub(super) fn fails_with_place(&mut self, id: u32, failure: Failure) -> bool {
        let waits = matches!(self.rare(id).place, Place::Claimed | Place::Behind | Place::Taken | Place::Awaited | Place::Fails(_));
        if waits {
            self.rare_mut(id).place = Place::Fails(failure);
        }
        !waits
    }

    /// Whether `serve_claimants` has something to do.
    pub(super) fn has_claims_to_serve(&self) -> bool {
        !self.claimants.is_empty() || !self.released.is_empty()
    }

    /// Whether the operation that has the stripe has started, and ends after a commit that waits for pages: it has started over, as something has failed.
    pub(super) fn holder_awaits_pages(&self, stripe: u32) -> bool {
        let holder = self.locks.exclusive_holder(stripe).filter(|holder| self.slots[*holder].started);
        let commit = holder.map_or(NIL, |holder| self.rare(holder).freed_by);
        commit != NIL && !self.slots[commit].started
    }

    /// Whether it fails once the commit has ended: nothing is done for it any more.
    pub(super) fn is_failing(&self, id: u32) -> bool {
        matches!(self.rare(id).place, Place::Fails(_))
    }

    /// The commit has ended, or failed, for which operation `id` waits.
    #[cold]
    pub(super) fn place_is_free(&mut self, commit_id: u32, id: u32) {
        let refused = self.slots[commit_id].failed.then_some(Place::Refused(Failure::NoSpace));
        let rare = self.rare_mut(id);
        let before = rare.place;
        rare.freed_by = NIL;
        rare.place = match before {
            Place::Fails(failure) => Place::Refused(failure),
            _ => refused.unwrap_or(Place::Own),
        };
        match before {
            Place::Claimed | Place::Behind => self.condition_met(id),
            Place::Awaited | Place::Fails(_) => self.released.push_back(id),
            _ => {}
        }
    }

    // ---- pages ----

    /// Who waits for space and lends no lock: the domain, who waits there before it (or `NIL`), and the operation.
    pub(super) fn first_to_fail(&self) -> Option<(u32, u32, u32)> {
        (0..).zip(&self.space_waiters).find_map(|(domain, (head, _))| {
            let (mut former, mut id) = (NIL, *head);
            while id != NIL && self.rare(id).nested != NIL {
                (former, id) = (id, self.slots[id].next);
            }
            (id != NIL).then_some((domain, former, id))
        })
    }

    /// The operation behind `former`, or the first one if that is `NIL`, waits no longer.
    pub(super) fn leave_space_queue(&mut self, domain: u32, former: u32) {
        let (head, tail) = self.space_waiters[domain as usize];
        let id = if former == NIL { head } else { self.slots[former].next };
        let slot = &mut self.slots[id];
        slot.waits_for_space = false;
        let next = slot.next;
        match former {
            NIL => self.space_waiters[domain as usize].0 = next,
            former => self.slots[former].next = next,
        }
        if tail == id {
            self.space_waiters[domain as usize].1 = former;
        }
        self.waiting_for_space -= 1;
    }

    // ---- waves ----

    /// These changes are applied when the operation ends.
    pub(super) fn keep_changes(&mut self, id: u32, changes: &[Change]) {
        let slot = &mut self.slots[id];
        if slot.changes == NIL {
            slot.changes = self.free_changes.pop().unwrap_or_else(|| {
                self.changes.push(Vec::new());
                self.changes.len() as u32 - 1
            });
        }
        self.changes[slot.changes as usize].extend_from_slice(changes);
    }

    /// What went wrong with the former wave.
    #[inline(always)]
    pub(super) fn take_outcomes(&mut self, id: u32) -> Outcomes {
        if self.slots[id].rare == NIL {
            return Outcomes::default();
        }
        let kept = &mut self.rare_mut(id).outcomes;
        // What found no page will find none.
        let unallocated = kept.unallocated;
        std::mem::replace(kept, Outcomes { unallocated, ..Outcomes::default() })
    }
}
