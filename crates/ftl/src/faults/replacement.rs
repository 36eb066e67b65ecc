//! Spare chips that take the place of dead ones.

use crate::Flash;
use flashraid_nand::{NIL, kick};
use flashraid_vocabulary::{MemberPage, Part, RebuildTarget, Version};

impl Flash {
    /// Chips of which nothing lives and that no spare chip replaces, as (channel, chip): those that `replace` takes.
    pub fn dead_chips(&self) -> Vec<(u32, u32)> {
        let chips =
            (0..self.settings.geometry.channels).flat_map(|channel| (0..self.settings.chips_per_channel()).map(move |c| (channel, c)));
        chips.filter(|(channel, chip)| self.is_dead_chip(*channel, *chip)).collect()
    }

    /// Those of them that this part is, has or is in.
    pub fn dead_chips_of(&self, part: &Part) -> Vec<(u32, u32)> {
        let planes = self.planes_of(part);
        let mut chips = self.dead_chips();
        chips.retain(|&(channel, chip)| self.planes_of(&Part::Chip { channel, chip }).iter().any(|plane| planes.contains(plane)));
        chips
    }

    fn is_dead_chip(&self, channel: u32, chip: u32) -> bool {
        let planes = self.planes_of(&Part::Chip { channel, chip });
        planes.iter().all(|plane| self.space.blocks.planes[*plane as usize].dead)
            && planes.iter().any(|plane| self.space.blocks.planes[*plane as usize].in_use)
    }

    /// Puts a spare chip of the channel in the place of a chip of which nothing lives: its domains, for data or for copies, and its member.
    /// False if there is no spare chip left, the chip is none of `dead_chips`, or the device is worn out.
    pub fn replace(&mut self, channel: u32, chip: u32) -> bool {
        let planes_of = |chip| self.planes_of(&Part::Chip { channel, chip });
        let is_spare = |chip: &u32| {
            let planes = planes_of(*chip);
            planes.iter().all(|plane| !self.space.blocks.planes[*plane as usize].in_use && !self.space.blocks.planes[*plane as usize].dead)
        };
        let Some(spare) = (self.settings.geometry.chips_per_channel..self.settings.chips_per_channel()).find(is_spare) else {
            return false;
        };
        // A new chip makes no new SSD of one that is worn out.
        if !self.is_dead_chip(channel, chip) || self.space.is_worn_out() {
            return false;
        }
        let pairs: Vec<(u32, u32)> = planes_of(chip).into_iter().zip(planes_of(spare)).collect();
        // Translation planes, which come last, first take their blocks from the data planes.
        let data_planes = self.shape.data_planes();
        for &(old, new) in pairs.iter().filter(|(_, new)| *new >= data_planes) {
            self.space.blocks.split(new - data_planes, new, self.space.blocks.planes[old as usize].blocks);
        }
        for (old, new) in pairs {
            self.space.set_threshold(new);
            self.replace_plane(old, new);
        }
        kick(self, channel);
        true
    }

    fn replace_plane(&mut self, old: u32, new: u32) {
        let domain_id = self.space.domain_of_plane(old);
        let is_target = self.settings.given.rebuild_target == RebuildTarget::Replacement;
        let (old_lun, new_lun) = (self.nand.lun_of_plane(old), self.nand.lun_of_plane(new));
        self.nand.replace_lun(domain_id, old_lun, new_lun, is_target);
        self.space.domain_of_plane[new as usize] = domain_id;
        let (blocks, retired) = (self.space.blocks.planes[old as usize].blocks, self.space.blocks.planes[new as usize].retired);
        self.note_gone(new, retired);
        if new < self.shape.data_planes() && !self.space.holds_copies(domain_id) {
            let member = self.nand.member_of_lun(new_lun).expect("a chip in use has a member");
            self.faults.pages_gone[member as usize] -= blocks * self.shape.pages_per_block;
        }
        let domain = &mut self.space.domains[domain_id as usize];
        if domain.plane == old {
            domain.plane = new;
        }
        self.space.blocks.total_erases =
            self.space.blocks.total_erases - self.space.blocks.erases_of_plane(old) + self.space.blocks.erases_of_plane(new);
        self.space.domain_of_plane[old as usize] = NIL;
        self.space.blocks.set_in_use(old, false);
        self.space.join_domain(&mut self.nand, new);
        self.space.freed.push(domain_id);
    }

    /// An erased SSD takes the place of one that is dead: of every version that the dead one held, nothing is left, and pages reserved there are
    /// reserved here. Looks at all pages.
    pub fn take_over(&mut self, dead: &mut Flash) {
        debug_assert!(self.space.domains.len() == dead.space.domains.len() && self.hybrid.is_none());
        self.faults.any = true;
        let pages = self.settings.pages_per_member.min(dead.settings.pages_per_member);
        for slot in 0..pages * self.members {
            for version in [Version::Current, Version::Base].into_iter().filter(|version| dead.maps.get(*version, slot).is_some()) {
                self.maps.set(version, slot, self.faults.lost);
                self.held[(slot % self.members) as usize].bases += u32::from(version == Version::Base);
            }
        }
        for (new, old) in self.space.domains.iter_mut().zip(&mut dead.space.domains) {
            new.reserved += std::mem::take(&mut old.reserved);
        }
    }

    /// Nobody needs anything that the SSD holds. Looks at all pages.
    pub fn discard(&mut self) {
        let shape = (self.settings.pages_per_member, self.members);
        for (page, member) in (0..shape.0).flat_map(|page| (0..shape.1).map(move |member| (page, member))) {
            for version in [Version::Current, Version::Base] {
                self.unmap(MemberPage::new(member as u16, page), version);
            }
        }
    }

    /// The rebuild has ended: mirror chips take copies again, and chips that have replaced others are chips like them.
    pub fn rebuilt(&mut self) {
        self.faults.no_copies.fill(false);
        self.nand.end_replacements();
    }
}
