//! What few operations in flight have: kept apart from their slots, so that these are small.

use super::content::Content;
use super::slot::{NIL, Rare};
use super::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::Version;

impl<C: Content, M: Media> Engine<C, M> {
    /// What few operations have, of this one.
    #[inline]
    pub(super) fn rare(&self, id: u32) -> &Rare {
        match self.slots[id as usize].rare {
            NIL => &Rare::NONE,
            rare => &self.rares[rare],
        }
    }

    /// The same, to be changed.
    pub(super) fn rare_mut(&mut self, id: u32) -> &mut Rare {
        let slot = &mut self.slots[id as usize];
        if slot.rare == NIL {
            slot.rare = self.rares.put(Rare::NONE);
        }
        &mut self.rares[slot.rare]
    }

    /// Members (bits) for which a page is reserved and not used, for programs of this version.
    #[inline(always)]
    pub(super) fn reserved_mut(&mut self, id: u32, version: Version) -> &mut u64 {
        match version {
            Version::Copy => &mut self.rare_mut(id).reserved_copies,
            _ => &mut self.slots[id as usize].reserved,
        }
    }

    /// It has nothing of that any more.
    #[inline]
    pub(super) fn free_rare(&mut self, id: u32) {
        self.rares.give_back(std::mem::replace(&mut self.slots[id as usize].rare, NIL));
    }
}
