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
use flashraid_redundancy::{Claim, Operation, OperationKind};

impl<C: Content, M: Media> Engine<C, M> {
    /// Whether an operation that is about to start has what it claims. If not, it comes back.
    pub(super) fn has_claimed(&mut self, id: u32) -> bool {
        let slot = &mut self.operations.slots[id as usize];
        if slot.waits_for_space || !matches!(slot.operation.kind, OperationKind::Write | OperationKind::Trim) {
            return true;
        }
        if slot.unmet != 0 {
            return false; // a commit runs under its lock
        }
        match self.scheme.claim(&mut slot.operation, self.operations.claimants.is_empty(), &self.media) {
            Claim::Granted => true,
            Claim::After(commit) => {
                self.commit_before(id, &commit);
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
    pub(super) fn serve_claimants(&mut self) {
        while let Some(id) = self.operations.released.pop_front() {
            match self.operations.rare(id).place {
                Place::Refused(failure) => self.give_up(id, failure),
                _ => self.go_on(id),
            }
        }
        while let Some(&id) = self.operations.claimants.front() {
            match self.scheme.claim(&mut self.operations.slots[id as usize].operation, true, &self.media) {
                Claim::Granted => {}
                Claim::After(commit) => self.commit_before(id, &commit),
                Claim::Wait => return,
            }
            self.operations.claimants.pop_front();
            self.operations.condition_met(id);
        }
    }

    /// Operation `id` starts with the commit, which goes before whoever has its stripe and has not started, and ends after it.
    fn commit_before(&mut self, id: u32, commit: &Operation) {
        let commit_id = self.new_slot(commit, NIL, NO_JOB);
        self.operations.rare_mut(commit_id).frees_place_of = id;
        (self.operations.rare_mut(id).place, self.operations.rare_mut(id).freed_by) = (Place::Claimed, commit_id);
        self.operations.slots[id as usize].unmet += 1;
        self.operations.take_first(commit.stripe.0, commit_id);
        self.operations.ready.extend((self.operations.slots[commit_id as usize].unmet == 0).then_some(commit_id));
    }

    /// An operation is about to start, perhaps once more. Returns whether it does: not if the commit has failed whose place it was to get.
    pub(super) fn starts_with_place(&mut self, id: u32) -> bool {
        let Rare { frees_place_of, place, .. } = *self.operations.rare(id);
        if frees_place_of != NIL && self.operations.rare(frees_place_of).place == Place::Claimed {
            self.operations.rare_mut(frees_place_of).place = Place::Taken;
            self.operations.condition_met(frees_place_of);
        }
        match place {
            Place::Refused(failure) => self.give_up(id, failure),
            Place::Awaited => self.operations.rare_mut(id).place = Place::Taken,
            _ => {}
        }
        !matches!(place, Place::Fails(_) | Place::Refused(_))
    }

    /// All of an operation is done. Returns whether it ends: not before the commit, nor if that has failed.
    pub(super) fn ends_with_place(&mut self, id: u32) -> bool {
        match self.operations.rare(id).place {
            Place::Own => return true,
            Place::Taken => self.operations.rare_mut(id).place = Place::Awaited,
            Place::Refused(failure) => self.give_up(id, failure),
            Place::Claimed | Place::Awaited | Place::Fails(_) => {}
        }
        false
    }
}
