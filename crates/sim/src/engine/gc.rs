//! Answers to GC: which victim it takes, how a semivalid page is handled, and the commits that it waits for.

use super::content::Content;
use super::slot::{NIL, NO_JOB};
use super::state::Engine;
use crate::media::{Answer, GcQuery, Media, News};
use flashraid_vocabulary::{MemberPage, SemivalidAction};

impl<C: Content, M: Media> Engine<C, M> {
    /// Serves what the flash layer wants to know or has to tell. Returns whether there was anything.
    pub(super) fn answer_gc_queries(&mut self) -> bool {
        let mut any = false;
        while let Some(news) = self.media.take_news() {
            let (plane, address) = match news {
                News::Freed(domain) => {
                    if self.media.has_failures() {
                        self.failures.gained_space(domain);
                    }
                    any |= self.wake_space_waiters(domain);
                    continue;
                }
                News::Flushed(flush) => {
                    self.completed(flush);
                    self.ended_part(flush);
                    continue;
                }
                News::WornOut(device) => {
                    self.note_worn_out(device);
                    continue;
                }
                News::Asked(GcQuery::Victim(plane)) => {
                    any = true;
                    let deferring = self.scheme.deferring();
                    let commit_cost = |address| deferring.map_or((0, 0), |deferring| deferring.commit_cost(address));
                    self.media.answer(Answer::Victim(plane, &commit_cost));
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
                && let Some(deferring) = self.scheme.deferring_mut()
                && let Some(stripe) = deferring.base_erased(address)
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
        let Some(deferring) = self.scheme.deferring_mut() else { return false };
        let Some(with_space) = deferring.commit_for_gc(address, true) else { return false };
        let stripe = with_space.stripe.0;
        if self.operations.holder_awaits_pages(stripe) {
            return false;
        }
        let operation = match self.reserve_at_once(&with_space) {
            true => with_space,
            false => match self.scheme.deferring_mut().and_then(|deferring| deferring.commit_for_gc(address, false)) {
                Some(without_space) => without_space,
                None => return false,
            },
        };
        let id = self.new_slot(&operation, NIL, NO_JOB);
        let slot = &mut self.operations.slots[id as usize];
        (slot.reserved, slot.unreserved) = (operation.space, 0);
        self.operations.rare_mut(id).plane = plane;
        match self.operations.commit_under_lock(stripe) {
            Some(commit) => self.operations.go_before(commit, id),
            None => self.operations.take_first(stripe, id),
        }
        self.operations.ready.extend((self.operations.slots[id as usize].unmet == 0).then_some(id));
        true
    }

    /// The GC run of the plane goes on, for which a commit has ended.
    #[cold]
    pub(super) fn commit_for_gc_ended(&mut self, plane: u32) {
        self.media.answer(Answer::Committed(plane));
    }
}
