//! What operations claim before they start: places in NVRAM of which there are few (`Scheme::claim`).
//!
//! An operation claims when it has its stripe and nothing else. For one that gets the place of another stripe, that one's commit runs: under its lock if
//! somebody has that and has not started. The two run side by side from when the commit has its pages and starts, and the operation ends when both have:
//! then the place is free. So the commit waits for nobody, and no operation that has pages waits for one that has none. The others wait for a place, in order,
//! until something ends. Whoever has a place gets on, and a commit claims nothing.

use super::content::Content;
use super::slot::{NIL, NO_JOB, Place, Rare};
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Claim, Failure, Operation, OperationKind};

impl<C: Content, M: Media> Engine<C, M> {
    /// Whether an operation that is about to start has what it claims. If not, it comes back.
    pub(super) fn has_claimed(&mut self, id: u32) -> bool {
        let slot = &mut self.slots[id as usize];
        if slot.waits_for_space || !matches!(slot.operation.kind, OperationKind::Write | OperationKind::Trim) {
            return true;
        }
        if slot.unmet != 0 {
            return false; // a commit runs under its lock
        }
        match self.scheme.claim(&mut slot.operation, self.claimants.is_empty(), &self.media) {
            Claim::Granted => true,
            Claim::After(commit) => {
                self.commit_before(id, &commit);
                false
            }
            Claim::Wait => {
                slot.unmet += 1;
                self.claimants.push_back(id);
                false
            }
        }
    }

    /// Whether `serve_claimants` has something to do.
    pub(super) fn has_claims_to_serve(&self) -> bool {
        !self.claimants.is_empty() || !self.released.is_empty()
    }

    /// Ends operations whose commits have ended, and lets those that wait for a place ask again, in order, until one has to go on waiting.
    pub(super) fn serve_claimants(&mut self) {
        while let Some(id) = self.released.pop_front() {
            match self.rare(id).place {
                Place::Refused(failure) => self.give_up(id, failure),
                _ => self.go_on(id),
            }
        }
        while let Some(&id) = self.claimants.front() {
            match self.scheme.claim(&mut self.slots[id as usize].operation, true, &self.media) {
                Claim::Granted => {}
                Claim::After(commit) => self.commit_before(id, &commit),
                Claim::Wait => return,
            }
            self.claimants.pop_front();
            self.condition_met(id);
        }
    }

    /// Operation `id` starts with the commit, which goes before whoever has its stripe and has not started, and ends after it.
    fn commit_before(&mut self, id: u32, commit: &Operation) {
        let commit_id = self.new_slot(commit, NIL, NO_JOB);
        self.rare_mut(commit_id).frees_place_of = id;
        (self.rare_mut(id).place, self.rare_mut(id).freed_by) = (Place::Claimed, commit_id);
        self.slots[id as usize].unmet += 1;
        self.take_first(commit.stripe.0, commit_id);
        self.ready.extend((self.slots[commit_id as usize].unmet == 0).then_some(commit_id));
    }

    /// An operation is about to start, perhaps once more. Returns whether it does: not if the commit has failed whose place it was to get.
    pub(super) fn starts_with_place(&mut self, id: u32) -> bool {
        let Rare { frees_place_of, place, .. } = *self.rare(id);
        if frees_place_of != NIL && self.rare(frees_place_of).place == Place::Claimed {
            self.rare_mut(frees_place_of).place = Place::Taken;
            self.condition_met(frees_place_of);
        }
        match place {
            Place::Refused(failure) => self.give_up(id, failure),
            Place::Awaited => self.rare_mut(id).place = Place::Taken,
            _ => {}
        }
        !matches!(place, Place::Fails(_) | Place::Refused(_))
    }

    /// All of an operation is done. Returns whether it ends: not before the commit, nor if that has failed.
    pub(super) fn ends_with_place(&mut self, id: u32) -> bool {
        match self.rare(id).place {
            Place::Own => return true,
            Place::Taken => self.rare_mut(id).place = Place::Awaited,
            Place::Refused(failure) => self.give_up(id, failure),
            Place::Claimed | Place::Awaited | Place::Fails(_) => {}
        }
        false
    }

    /// An operation is to fail. Returns whether it does so now: not before the commit has ended, as its place is not free.
    pub(super) fn fails_with_place(&mut self, id: u32, failure: Failure) -> bool {
        let waits = matches!(self.rare(id).place, Place::Claimed | Place::Taken | Place::Awaited | Place::Fails(_));
        if waits {
            self.rare_mut(id).place = Place::Fails(failure);
        }
        !waits
    }

    /// Whether it fails once the commit has ended: nothing is done for it any more.
    pub(super) fn is_failing(&self, id: u32) -> bool {
        matches!(self.rare(id).place, Place::Fails(_))
    }

    /// Whether the operation that has the stripe has started, and ends after a commit that waits for pages: it has started over, as something has failed.
    pub(super) fn holder_awaits_pages(&self, stripe: u32) -> bool {
        let holder = self.locks.exclusive_holder(stripe).filter(|holder| self.slots[*holder as usize].started);
        let commit = holder.map_or(NIL, |holder| self.rare(holder).freed_by);
        commit != NIL && !self.slots[commit as usize].started
    }

    /// The commit has ended, or failed, for which operation `id` waits.
    #[cold]
    pub(super) fn place_is_free(&mut self, commit_id: u32, id: u32) {
        let refused = self.slots[commit_id as usize].failed.then_some(Place::Refused(Failure::NoSpace));
        let before = self.rare(id).place;
        self.rare_mut(id).freed_by = NIL;
        self.rare_mut(id).place = match before {
            Place::Fails(failure) => Place::Refused(failure),
            _ => refused.unwrap_or(Place::Own),
        };
        match before {
            Place::Claimed => self.condition_met(id),
            Place::Awaited | Place::Fails(_) => self.released.push_back(id),
            _ => {}
        }
    }
}
