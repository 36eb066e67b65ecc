//! Superblocks that lose a lane, or a block of it (SPEC 8.12).

use crate::space::blocks::BlockState;
use crate::store::Store;
use flashraid_nand::Nand;
use flashraid_vocabulary::Ppn;

impl Store {
    /// Nothing of a lane of the plane lives any more, but something of another one does: what it held is lost, and programs pass it over from now on.
    pub(crate) fn lose_lane(&mut self, plane: u32, lane: u32, nand: &mut Nand) {
        let blocks = self.space.blocks.planes[plane as usize].blocks;
        let left = blocks - self.space.blocks.planes[plane as usize].retired;
        self.faults.note_gone_in(plane, lane, left, &self.space, nand);
        for number in 0..blocks as u16 {
            self.lose_pages_of(self.space.blocks.index(plane, number), lane, nand);
        }
        let full = self.space.change_space(nand, plane, |blocks| blocks.lose_lane(plane, lane));
        for number in full {
            let block = self.space.blocks.index(plane, number);
            if self.space.blocks.blocks[block].pending == 0 {
                // Whoever loses a part looks at all domains.
                let _ = self.space.list(block);
            }
        }
        self.space.set_threshold(plane);
    }

    /// What a block of a superblock holds is lost. Returns what the superblock is.
    pub(crate) fn lose_block_of(&mut self, block: usize, lane: u32, nand: &mut Nand) -> BlockState {
        let (state, shape) = (self.space.blocks.blocks[block].state, self.space.shape);
        if self.lose_pages_of(block, lane, nand) {
            self.faults.unreadable.extend((0..shape.pages_per_lane()).map(|page| shape.page_of_lane(block, lane, page).0));
        }
        state
    }

    /// What the pages of a lane of the block hold is lost, but for what the memory has. Returns whether they may hold anything.
    fn lose_pages_of(&mut self, block: usize, lane: u32, nand: &mut Nand) -> bool {
        if matches!(self.space.blocks.blocks[block].state, BlockState::Free | BlockState::Retired) {
            return false;
        }
        let (shape, turn) = (self.space.shape, self.space.shape.pages_per_turn());
        for first in (0..shape.pages_per_lane()).step_by(turn as usize) {
            let first = shape.page_of_lane(block, lane, first);
            let memory = self.memory.as_mut().expect("superblocks have program units of several pages");
            memory.lose_place(first, &mut self.space, nand);
            if !memory.holds(first) {
                for page in (first.0..first.0 + turn).map(Ppn) {
                    if self.maps.live(page).is_some() {
                        self.give_up(page);
                    }
                }
            }
        }
        true
    }
}
