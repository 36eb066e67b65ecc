//! Lanes of superblocks of which nothing lives any more (SPEC 8.12): programs pass them over.

use super::blocks::{BlockState, Blocks};

impl Blocks {
    #[cold]
    pub(super) fn unwritten_in_living(&self, dead_lanes: u64, written: u32) -> u32 {
        let living = |turns: std::ops::Range<u32>| turns.filter(|turn| dead_lanes >> (turn % self.lanes) & 1 == 0).count() as u32;
        let (turn, rows) = (written / self.pages_per_turn, self.pages_per_block / (self.pages_per_turn * self.lanes));
        let (row, in_turn) = (turn / self.lanes, written % self.pages_per_turn);
        if row == rows {
            return 0;
        }
        let turns = living(turn..(row + 1) * self.lanes) + (rows - row - 1) * living(0..self.lanes);
        turns * self.pages_per_turn - in_turn
    }

    /// How many pages of a block are programmed or passed over, if so many were, now that dead lanes are.
    #[cold]
    pub(super) fn passed_over(&self, plane: u32, mut written: u32) -> u32 {
        let dead_lanes = self.planes[plane as usize].dead_lanes;
        let is_dead = |written: u32| dead_lanes >> (written / self.pages_per_turn % self.lanes) & 1 == 1;
        while written.is_multiple_of(self.pages_per_turn) && written < self.pages_per_block && is_dead(written) {
            written += self.pages_per_turn;
        }
        written
    }

    /// Programs of an open block pass dead lanes over. Returns whether it is full by that, and so closed.
    #[cold]
    pub(super) fn pass_over(&mut self, plane: u32, number: u16) -> bool {
        let index = self.index(plane, number);
        self.blocks[index].written = self.passed_over(plane, self.blocks[index].written);
        let is_full = self.blocks[index].written == self.pages_per_block;
        if is_full {
            self.blocks[index].state = BlockState::Closed;
            self.forget_open(plane, number);
        }
        is_full
    }

    /// The offset of the page of a block that is programmed first.
    pub(crate) fn first_offset(&self, plane: u32) -> u32 {
        if self.planes[plane as usize].dead_lanes == 0 { 0 } else { self.passed_over(plane, 0) }
    }

    /// Nothing of a lane of the plane lives any more, but something of another one does. Its pages are passed over from now on. What is open must not be in the midst of
    /// its turn. Returns blocks that are full by that.
    pub(crate) fn lose_lane(&mut self, plane: u32, lane: u32) -> Vec<u16> {
        let pages_per_lane = self.pages_per_block / self.lanes;
        let state = &mut self.planes[plane as usize];
        state.dead_lanes |= 1 << lane;
        state.block_pages -= pages_per_lane;
        let open: Vec<u16> = self.all_open(plane).collect();
        let full: Vec<u16> = open.into_iter().filter(|number| self.pass_over(plane, *number)).collect();
        let left: u32 = self.all_open(plane).map(|number| self.unwritten(plane, self.index(plane, number))).sum();
        let state = &mut self.planes[plane as usize];
        state.free_pages = state.free_blocks * state.block_pages + left;
        full
    }

    /// Whether something of a lane lives.
    pub(crate) fn lives(&self, plane: u32, lane: u32) -> bool {
        let state = &self.planes[plane as usize];
        !state.dead && state.dead_lanes >> lane & 1 == 0
    }
}
