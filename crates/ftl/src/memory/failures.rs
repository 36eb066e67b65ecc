//! Program units in the memory that cannot be programmed where they are.

use super::held::Held;
use super::state::Memory;
use crate::space::Space;
use flashraid_nand::Nand;
use flashraid_vocabulary::{Cause, Ppn, Priority};
use std::ops::Range;

impl Memory {
    /// Program units of these blocks cannot be programmed there: the open ones if the blocks take no more programs, all of them if they are lost.
    pub(crate) fn lose_places(&mut self, blocks: Range<usize>, are_lost: bool, space: &mut Space, nand: &mut Nand) {
        let first_of = |held: &Held| Ppn(held.page * self.units);
        let is_concerned =
            |held: &&Held| blocks.contains(&space.shape.block_of(first_of(held))) && !held.is_gone && (are_lost || !held.is_queued);
        let concerned: Vec<Held> = self.held.iter().filter(is_concerned).copied().collect();
        for held in &concerned {
            self.held.get_mut(held.page).expect("it was just there").must_move = true;
            self.has_to_move = true;
            self.forget_if_open(held.page, space);
        }
        self.wait(nand);
    }

    /// A program unit is lost where it is to be programmed. One that is open is closed: what is left of it is padding.
    pub(crate) fn lose_place(&mut self, ppn: Ppn, space: &mut Space, nand: &mut Nand) {
        let Some(held) = self.held.get_mut(ppn.0 / self.units).filter(|held| !held.is_gone) else { return };
        held.must_move = true;
        self.has_to_move = true;
        let Held { is_of_gc, is_queued, .. } = *held;
        if !is_queued {
            let stream = space.blocks.stream_of(space.shape.block_of(ppn), is_of_gc);
            let plane = space.shape.plane_of(ppn);
            while !space.blocks.next_offset(plane, stream).is_multiple_of(self.units) {
                self.take_padding(plane, stream, space, nand);
            }
            self.forget_if_open(ppn.0 / self.units, space);
        }
        self.wait(nand);
    }

    /// The program of a program unit in this plane has ended, or `failed`. Returns whether what is needed of it must go elsewhere, and whether GC has filled it.
    pub(crate) fn program_ended(&mut self, first: Ppn, failed: bool, plane: u32) -> (bool, bool) {
        let held = self.held.get_mut(first.0 / self.units).expect("it is in the memory");
        self.programs_of_gc[plane as usize] -= u32::from(held.is_of_gc);
        self.programs_of_plans -= u32::from(!held.is_of_gc);
        self.slc_programs[plane as usize] -= u32::from(held.is_slc);
        held.is_queued = false;
        held.must_move |= failed && !held.is_gone;
        (held.must_move, held.is_of_gc)
    }

    /// The program of the program unit that begins with this page waits in another class.
    pub(crate) fn set_class(&mut self, first: Ppn, priority: Priority) {
        self.held.get_mut(first.0 / self.units).expect("it is in the memory").priority = priority;
    }

    /// There may be space now for what must move.
    pub(crate) fn try_to_move(&mut self) {
        self.has_to_move = true;
    }

    /// Whether some of what is held must move. It is looked at from now on.
    pub(crate) fn has_to_move(&self) -> bool {
        self.has_to_move
    }

    /// Program units held that must move, in order, as `to_move`: it has been seen to.
    pub(crate) fn take_to_move(&mut self) -> Vec<u32> {
        self.has_to_move = false;
        self.to_move()
    }

    /// Program units held that must move, in order.
    pub(crate) fn to_move(&self) -> Vec<u32> {
        let mut pages: Vec<u32> = self.held.iter().filter(|held| held.must_move && !held.is_gone).map(|held| held.page).collect();
        pages.sort_unstable();
        pages
    }

    /// Program units held that must move, in order: they are given up, and `forget_place` must follow for each.
    pub(crate) fn give_up_what_must_move(&mut self) -> Vec<u32> {
        let pages = self.to_move();
        self.given_up += pages.len() as u64;
        pages
    }

    /// The pages of a program unit that is held, and their cause and class.
    pub(crate) fn pages_of(&self, page: u32) -> (Range<u32>, (Cause, Priority)) {
        let Held { cause, priority, .. } = *self.held.get(page).expect("it is in the memory");
        (page * self.units..(page + 1) * self.units, (cause, priority))
    }

    /// Nothing is needed any more of a program unit that cannot be programmed, or it is given up. Returns whether it leaves the memory now, else when its program
    /// has ended.
    pub(crate) fn forget_place(&mut self, page: u32) -> bool {
        let held = self.held.get_mut(page).expect("it is in the memory");
        (held.is_gone, held.must_move) = (true, false);
        !held.is_queued
    }
}
