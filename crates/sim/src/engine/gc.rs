//! Answers to GC: which victim it takes, how a semivalid page is handled, and the commits that it waits for.

use super::content::Content;
use super::slot::{NIL, NO_JOB, Slot};
use super::state::Engine;
use crate::media::{Answer, GcQuery, Media, News};
use flashraid_redundancy::{Lock, OperationKind};
use flashraid_vocabulary::{MemberPage, SemivalidAction};

impl<C: Content, M: Media> Engine<C, M> {
    /// Serves what the flash layer wants to know or has to tell. Returns whether there was anything.
    pub(super) fn answer_gc_queries(&mut self) -> bool {
        let mut any = false;
        while let Some(news) = self.media.take_news() {
            let (plane, address) = match news {
                News::Freed(domain) => {
                    if self.media.has_failures() {
                        self.gained_space(domain);
                    }
                    any |= self.wake_space_waiters(domain);
                    continue;
                }
                News::WornOut(device) => {
                    self.note_worn_out(device);
                    continue;
                }
                News::Asked(GcQuery::Victim(plane)) => {
                    any = true;
                    self.media.answer(Answer::Victim(plane, &|address| self.scheme.commit_cost(address)));
                    continue;
                }
                News::Asked(GcQuery::Semivalid(plane, address)) => (plane, address),
            };
            any = true;
            let action = match self.scheme.rule(address) {
                SemivalidAction::CommitFirst if !self.commit_for_gc(plane, address) => SemivalidAction::Move,
                action => action,
            };
            if action == SemivalidAction::Free
                && let Some(stripe) = self.scheme.base_erased(address)
            {
                self.note_exposed(stripe);
            }
            #[cfg(feature = "mutants")]
            let action = self.distort_action(action);
            self.media.answer(Answer::Semivalid(plane, address, action));
        }
        // An answer may have let a GC run move on, or end.
        any | (self.translation.is_some() && self.take_map_events())
    }

    /// Starts the commit that the GC run of a plane waits for, before whoever waits for its stripe. Returns whether the scheme has one.
    ///
    /// It waits for nobody who may wait for what the GC run is to make: its pages are reserved at once or it does without, and an
    /// operation that has the stripe but has not started, as it waits for space, starts after it; so does a commit that runs under such a one's lock.
    fn commit_for_gc(&mut self, plane: u32, address: MemberPage) -> bool {
        let Some(with_space) = self.scheme.commit_for_gc(address, true) else { return false };
        let stripe = with_space.stripe.0;
        if self.holder_awaits_pages(stripe) {
            return false;
        }
        let operation = match self.reserve_at_once(&with_space) {
            true => with_space,
            false => match self.scheme.commit_for_gc(address, false) {
                Some(without_space) => without_space,
                None => return false,
            },
        };
        let id = self.new_slot(&operation, NIL, NO_JOB);
        let slot = &mut self.slots[id as usize];
        (slot.reserved, slot.unreserved) = (operation.space, 0);
        self.rare_mut(id).plane = plane;
        match self.commit_under_lock(stripe) {
            Some(commit) => self.go_before(commit, id),
            None => self.take_first(stripe, id),
        }
        self.ready.extend((self.slots[id as usize].unmet == 0).then_some(id));
        true
    }

    /// The commit that runs for another stripe's update under the lock of whoever has the stripe, and has not started.
    fn commit_under_lock(&self, stripe: u32) -> Option<u32> {
        let id = self.rare(self.locks.exclusive_holder(stripe)?).nested;
        (id != NIL && self.rare(id).plane == NIL && !self.slots[id as usize].started).then_some(id)
    }

    /// A commit takes the stripe before whoever waits for it, and before who has it and has not started. One that may itself have to wait for pages, as it is
    /// not for GC, lets that one go first if it has pages that it keeps, waits for some, or is for GC, which is to make them.
    pub(super) fn take_first(&mut self, stripe: u32, id: u32) {
        let waits_for_pages = self.rare(id).plane == NIL;
        let goes_before = |holder: u32| {
            let Slot { operation, started, reserved, waits_for_space, .. } = &self.slots[holder as usize];
            let has_none = matches!(operation.kind, OperationKind::Write | OperationKind::Trim) && *reserved == 0 && !waits_for_space;
            !started && (has_none || !waits_for_pages)
        };
        match self.locks.exclusive_holder(stripe) {
            Some(holder) if goes_before(holder) => self.go_before(holder, id),
            _ if self.locks.is_locked(stripe) => {
                let rares = |waiter: u32| self.slots[waiter as usize].rare;
                let is_for_gc = |waiter: u32| rares(waiter) != NIL && self.rares[rares(waiter)].plane != NIL;
                self.locks.queue_first(stripe, id, |waiter| waits_for_pages && is_for_gc(waiter));
                self.slots[id as usize].unmet += 1;
            }
            _ => drop(self.locks.request(stripe, true, id)),
        }
    }

    /// The GC run of the plane goes on, for which a commit has ended.
    #[cold]
    pub(super) fn commit_for_gc_ended(&mut self, plane: u32) {
        self.media.answer(Answer::Committed(plane));
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
    fn go_before(&mut self, holder: u32, id: u32) {
        let former = std::mem::replace(&mut self.rare_mut(holder).nested, id);
        self.slots[holder as usize].unmet += 1;
        self.slots[id as usize].operation.lock = Lock::None;
        self.rare_mut(id).lock_holder = holder;
        if former != NIL {
            self.start_after(id, former);
            if self.rare(id).plane == NIL {
                self.rare_mut(id).nested = former; // what is to go before this one goes after the former one, too
            }
        }
    }
}
