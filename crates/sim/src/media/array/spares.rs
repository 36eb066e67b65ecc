//! Spares that take the place of dead SSDs.

use super::SsdArray;

impl SsdArray {
    /// The record of a program for which its member's SSD has no page: if a spare has taken the place of the SSD since, one of the spare's.
    pub(super) fn renewed(&mut self, record: u32) -> u32 {
        let (ssd, local) = self.members.split(record);
        if self.members.is_current(ssd) {
            return record;
        }
        let operation = self.members[ssd].store().program_of(self.members[ssd].nand().record(local));
        let owner = self.members[ssd].nand().about(local).owner;
        self.at(ssd, |flash| flash.abort(local));
        let spare = self.members.ssd(self.members.member(ssd));
        let anew = self.at(spare, |flash| flash.unallocated(&operation, owner));
        self.members.numbered(spare, anew)
    }

    /// Puts the next spare SSD in the place of one that is dead. Everything that the dead one held is lost on the spare.
    pub(super) fn replace_ssd(&mut self, dead: usize) -> bool {
        let Some((spare, [old, new])) = self.members.seat_spare(dead) else { return false };
        new.nand_mut().set_surroundings(self.now_ns, self.completed_requests, false);
        new.store_mut().take_over(old.store_mut());
        old.discard();
        [dead, spare].into_iter().for_each(|ssd| self.take_from(ssd));
        self.tidings.freed.extend(self.members.domains(spare));
        true
    }
}
