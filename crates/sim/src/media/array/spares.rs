//! Which SSD is which member, and spares that take the place of dead SSDs.

use super::Array;
use super::numbers::NIL;
use flashraid_vocabulary::MemberId;

impl Array {
    /// Whether the SSD is its member, and no spare has taken its place.
    pub(super) fn is_current(&self, ssd: usize) -> bool {
        let member = self.member_of[ssd];
        member != NIL && self.ssd_of[member as usize] as usize == ssd
    }

    /// Whether the SSD has no task yet.
    pub(super) fn is_spare(&self, ssd: usize) -> bool {
        self.spares.contains(&(ssd as u32))
    }

    /// The record of a program for which its member's SSD has no page: if a spare has taken the place of the SSD since, one of the spare's.
    pub(super) fn renewed(&mut self, record: u32) -> u32 {
        let (ssd, local) = self.split(record);
        if self.is_current(ssd) {
            return record;
        }
        let operation = self.ssds[ssd].program_of(local);
        let owner = self.ssds[ssd].nand().about(local).owner;
        self.at(ssd, |flash| flash.abort(local));
        let spare = self.ssd(self.member(ssd));
        let anew = self.at(spare, |flash| flash.unallocated(&operation, owner));
        self.numbered(spare, anew)
    }

    /// Puts the next spare SSD in the place of one that is dead. Everything that the dead one held is lost on the spare.
    pub(super) fn replace_ssd(&mut self, dead: usize) -> bool {
        let Some(next) = self.spares.iter().rposition(|spare| self.ssds[*spare as usize].is_alive(MemberId(0))) else { return false };
        let spare = self.spares.remove(next) as usize;
        let member = self.member_of[dead];
        if self.spares_are_members {
            self.ssd_of[self.member_of[spare] as usize] = dead as u32;
        }
        (self.ssd_of[member as usize], self.member_of[spare]) = (spare as u32, member);
        let [old, new] = self.ssds.get_disjoint_mut([dead, spare]).expect("two SSDs");
        new.nand_mut().set_surroundings(self.now_ns, self.completed_requests, false);
        new.take_over(old);
        old.discard();
        [dead, spare].into_iter().for_each(|ssd| self.take_from(ssd));
        self.freed.extend(member * self.domains_each..(member + 1) * self.domains_each);
        true
    }
}
