//! Failures as they happen: parts die, blocks are retired, and programs and erases fail.

use crate::Flash;
use crate::memory;
use crate::space::blocks::BlockState;
use flashraid_nand::{NIL, Record, WorkKind, kick};
use flashraid_vocabulary::{Fault, Part, Ppn};

impl Flash {
    /// Something goes wrong, now. The part must exist (`Settings::part_exists`). Page operations in flight on what dies take their time and fail;
    /// programs that nothing can take any more fail at once: their completions must be taken before the next event.
    pub fn fail(&mut self, fault: &Fault) {
        self.faults.any = true;
        match *fault {
            Fault::Program(_) | Fault::Erase(_) => return self.faults.armed.push(*fault),
            Fault::ParityCache => return, // no flash is concerned
            Fault::Loss(part) => match (self.block_of_part(&part), part) {
                (Some((plane, number)), Part::Page { page, .. }) => {
                    let block = self.space.blocks.index(plane, number);
                    if self.space.blocks.blocks[block].state != BlockState::Retired {
                        let units = self.settings.units_per_page;
                        let first = self.shape.first_ppn(block).0 + page * units;
                        self.faults.unreadable.extend(first..first + units);
                        memory::lose_place(self, Ppn(first));
                    }
                }
                (Some((plane, number)), _) => {
                    self.retire_block(plane, number);
                    if self.space.blocks.planes[plane as usize].in_use {
                        self.collect_if_starved(plane);
                    }
                }
                (None, _) => self.planes_of(&part).into_iter().for_each(|plane| self.fail_plane(plane)),
            },
        }
        for domain in 0..self.space.domains.len() as u32 {
            if !self.space.domain_is_alive(domain) {
                self.fail_waiting(domain);
            }
        }
        (0..self.nand.channels().len() as u32).for_each(|channel| kick(self, channel));
    }

    fn fail_plane(&mut self, plane: u32) {
        let state = &self.space.blocks.planes[plane as usize];
        if state.dead {
            return;
        }
        let (blocks, gone, domain) = (state.blocks, state.blocks - state.retired, self.space.domain_of_plane(plane));
        (0..blocks as u16).for_each(|number| self.space.unlist(plane, number));
        self.space.blocks.planes[plane as usize].dead = true;
        if domain != NIL {
            self.space.domains[domain as usize].living_planes -= u32::from(blocks > 0);
        }
        self.space
            .change_space(&mut self.nand, plane, |all| (0..blocks as u16).for_each(|number| all.close(plane, number, BlockState::Retired)));
        memory::lose_places(self, self.space.blocks.index(plane, 0)..self.space.blocks.index(plane, blocks as u16), true);
        self.cut_gc(plane);
        if self.hybrid.is_some() && domain != NIL {
            self.forget_instance(domain, plane);
        }
        self.note_gone(plane, gone);
        self.faults.doomed.retain(|(of, _)| *of != plane);
        if self.space.holds_copies(domain) {
            self.faults.no_copies[(domain - self.members) as usize] = true;
        }
    }

    /// The block is out of use for good, and what it holds is lost.
    pub(crate) fn retire_block(&mut self, plane: u32, number: u16) {
        let block = self.space.blocks.index(plane, number);
        let state = self.space.blocks.blocks[block].state;
        if state == BlockState::Retired {
            return;
        }
        self.space.unlist(plane, number);
        self.space.change_space(&mut self.nand, plane, |blocks| blocks.close(plane, number, BlockState::Retired));
        memory::lose_places(self, block..block + 1, true);
        self.note_gone(plane, 1);
        self.faults.doomed.retain(|doomed| *doomed != (plane, number));
        self.faults.readable_again(self.shape.first_ppn(block), self.shape.pages_per_block);
        self.space.set_threshold(plane);
        if state == BlockState::Victim {
            self.victim_lost(plane);
        }
    }

    /// A program in the block has failed: it takes no more, and is retired once its live pages are moved.
    pub(crate) fn doom(&mut self, block: usize) {
        let (plane, number) = self.space.blocks.place(block);
        if matches!(self.space.blocks.blocks[block].state, BlockState::Open | BlockState::Closed) {
            self.space.unlist(plane, number);
            self.space.change_space(&mut self.nand, plane, |blocks| blocks.close(plane, number, BlockState::Doomed));
            memory::lose_places(self, block..block + 1, false);
            self.faults.doomed.push((plane, number));
            // Its last pages for host programs may have gone with the block.
            self.collect_if_starved(plane);
        }
    }

    /// The block takes no more programs until it is erased.
    pub(crate) fn seal(&mut self, block: usize) {
        let (plane, number) = self.space.blocks.place(block);
        if self.space.blocks.blocks[block].state == BlockState::Open {
            self.space.change_space(&mut self.nand, plane, |blocks| blocks.close(plane, number, BlockState::Closed));
            memory::lose_places(self, block..block + 1, false);
            if self.space.blocks.blocks[block].pending == 0 {
                self.list_victim(block);
            }
            self.collect_if_starved(plane);
        }
    }

    pub(super) fn note_gone(&mut self, plane: u32, blocks: u32) {
        let domain = self.space.domain_of_plane(plane);
        if plane < self.shape.data_planes() && domain != NIL && !self.space.holds_copies(domain) {
            let member = self.nand.member_of_lun(self.nand.lun_of_plane(plane)).expect("planes in use are of a member");
            self.faults.pages_gone[member as usize] += blocks * self.shape.pages_per_block;
        }
    }

    /// Whether a program or erase of this page is to fail now; each fault happens once.
    pub(crate) fn fails_now(&mut self, work: WorkKind, ppn: Ppn) -> bool {
        let place = self.locate(ppn);
        let is_meant = |fault: &Fault| {
            let (Fault::Program(part) | Fault::Erase(part)) = fault else { return false };
            let is_kind = matches!(fault, Fault::Erase(_)) == (work == WorkKind::Erase);
            let is_there = match *part {
                Part::Block { block, .. } | Part::Page { block, .. } => place.block == block,
                _ => true,
            };
            is_kind && is_there && self.is_in_plane_of(part, &place)
        };
        let index = self.faults.armed.iter().position(is_meant);
        index.map(|index| self.faults.armed.remove(index)).is_some()
    }

    /// Whether a page operation of a plan that ends now has failed.
    #[cold]
    pub(crate) fn has_failed(&mut self, id: u32) -> bool {
        let Record { work, ppn, .. } = *self.nand.record(id);
        if self.is_lost_page(Ppn(ppn)) {
            return true;
        }
        let fails = work == WorkKind::Program && self.fails_now(work, Ppn(ppn));
        if fails {
            self.doom(self.shape.block_of(Ppn(ppn)));
        }
        fails
    }
}
