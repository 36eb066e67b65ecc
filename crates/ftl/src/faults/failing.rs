//! Failures as they happen, and spare chips that take the place of dead ones.

use crate::Flash;
use crate::memory::leave_places;
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use flashraid_nand::kick;
use flashraid_vocabulary::{Fault, NIL, Part, RebuildTarget};

impl Flash {
    // ---- failures ----

    /// Something goes wrong, now. The part must exist (`Settings::part_exists`). Page operations in flight on what dies take their time and fail;
    /// programs that nothing can take any more fail at once: their completions must be taken before the next event.
    pub fn fail(&mut self, fault: &Fault) {
        self.store.faults.any = true;
        match *fault {
            Fault::Program(_) | Fault::Erase(_) => return self.store.faults.arm(*fault),
            Fault::ParityCache => return, // no flash is concerned
            Fault::Loss(part) => match (self.parts().block_of(&part), self.settings().flash_pages_of(&part)) {
                (Some((plane, number, lane)), Some(pages)) => {
                    let block = self.store.space.blocks.index(plane, number);
                    pages.for_each(|page| self.store.lose_flash_page(block, lane, page, &mut self.nand));
                }
                (Some((plane, number, lane)), _) if self.store.space.shape.lanes > 1 => lose_block_of(self, plane, number, lane),
                (Some((plane, number, _)), _) => {
                    self.gc.retire_block(plane, number, &mut self.store, &mut self.nand);
                    if self.store.space.blocks.planes[plane as usize].in_use {
                        self.attend(Due::Collection(plane));
                    }
                }
                (None, _) => {
                    for (plane, lane) in self.parts().lanes_of(&part) {
                        let domain = self.store.space.domain_of_plane(plane);
                        if self.gc.lose_lane(plane, lane, &mut self.store, &mut self.nand)
                            && domain != NIL
                            && let Some(hybrid) = &mut self.hybrid
                        {
                            hybrid.forget_instance(domain, plane, &self.store.space);
                        }
                        if self.store.space.shape.lanes > 1 && self.store.space.blocks.planes[plane as usize].in_use {
                            // There are fewer free pages, and more garbage.
                            self.attend(Due::Collection(plane));
                            self.attend(Due::Draining(plane));
                        }
                    }
                }
            },
        }
        if *fault == Fault::Loss(Part::Device) {
            // Its memory is lost with it.
            let held = self.store.memory.as_ref().map_or_else(Vec::new, |memory| memory.to_move());
            leave_places(self, &held);
        }
        for domain in 0..self.store.space.domains.len() as u32 {
            if !self.store.space.domain_is_alive(domain) {
                self.fail_waiting(domain);
            }
        }
        // Programs may have waited for a run of GC that is no more.
        self.accept_waiting();
        (0..self.nand.channels().len() as u32).for_each(|channel| kick(self, channel));
    }

    // ---- replacement ----

    /// Puts a spare chip of the channel in the place of a chip of which nothing lives: its domains, for data or for copies, and its member.
    /// False if there is no spare chip left, the chip is none of `Parts::dead_chips`, or the device is worn out.
    pub fn replace(&mut self, channel: u32, chip: u32) -> bool {
        let parts = self.parts();
        let Some(spare) = parts.spare_chip(channel) else { return false };
        // A new chip makes no new SSD of one that is worn out.
        if !parts.is_dead_chip(channel, chip) || self.store.space.is_worn_out() {
            return false;
        }
        let planes_of = |chip| parts.lanes_of(&Part::Chip { channel, chip }).into_iter().map(|(plane, _)| plane);
        let pairs: Vec<(u32, u32)> = planes_of(chip).zip(planes_of(spare)).collect();
        let (store, nand) = (&mut self.store, &mut self.nand);
        // Translation planes, which come last, first take their blocks from the data planes.
        let data_planes = store.space.shape.data_planes();
        for &(old, new) in pairs.iter().filter(|(_, new)| *new >= data_planes) {
            store.space.blocks.split(new - data_planes, new, store.space.blocks.planes[old as usize].blocks);
        }
        let is_target = store.space.settings.given.rebuild_target == RebuildTarget::Replacement;
        for (old, new) in pairs {
            store.space.set_threshold(new);
            nand.replace_lun(store.space.domain_of_plane(old), nand.places().lun_of_plane(old), nand.places().lun_of_plane(new), is_target);
            store.space.replace_plane(nand, old, new);
            store.faults.note_replaced(new, store.space.blocks.planes[old as usize].blocks, &store.space, nand);
        }
        kick(self, channel);
        true
    }

    /// The rebuild has ended: mirror chips take copies again, and chips that have replaced others are chips like them.
    pub fn rebuilt(&mut self) {
        self.store.faults.no_copies.fill(false);
        self.nand.end_replacements();
    }
}

/// A block of a superblock is lost: what the others hold is moved, and then the superblock is out of use.
fn lose_block_of(flash: &mut Flash, plane: u32, number: u16, lane: u32) {
    let block = flash.store.space.blocks.index(plane, number);
    match flash.store.lose_block_of(block, lane, &mut flash.nand) {
        BlockState::Free => flash.gc.retire_block(plane, number, &mut flash.store, &mut flash.nand),
        BlockState::Victim => {
            let next = flash.gc.retires_in_the_end(plane, &flash.store.space, &mut flash.nand);
            flash.carry_out(plane, next);
        }
        BlockState::Retired => return,
        _ => {
            let due = flash.store.doom(block, &mut flash.nand);
            flash.attend(due);
            flash.attend(Due::Draining(plane));
        }
    }
    flash.attend(Due::Collection(plane));
}
