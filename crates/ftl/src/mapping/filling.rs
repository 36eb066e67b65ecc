//! The fill of an erased device, as fast as maps can be written.
//!
//! Nothing is superseded, so planes take their turns in the same order again and again, and each fills one block after the other. While that is so,
//! where the next page of a plane goes is a number that is counted up, and its block is brought up to date when it is full, or at the end. Whatever
//! else may happen ends this first: pages are then placed as always (`untimed`), and all is as if they had been from the beginning.

use super::maps::LARGE_SHARE;
use crate::memory;
use crate::space::blocks::{BlockState, NONE, WriteStream};
use crate::{Flash, Placement};
use flashraid_nand::DATA;
use flashraid_vocabulary::{MemberPage, Ppn, Version};

/// So many turns ahead the processor is asked for what the page's number will be written to.
const AHEAD: usize = 8;

/// The planes of a domain in the order of their turns, and the domain's `fill_turn` before each.
#[derive(Clone, Debug)]
struct Turns {
    planes: Vec<u32>,
    states: Vec<(u32, u32, u32)>,
    next: usize,
}

/// The pages that are left in a plane's open block.
#[derive(Clone, Copy, Debug)]
struct Left {
    next: u32,
    end: u32,
}

/// A fill under way.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    /// By domain.
    turns: Vec<Turns>,
    /// By plane.
    left: Vec<Left>,
}

impl Flash {
    /// Nothing has been written yet, and the fill begins: of about so many pages.
    pub fn begin_fill(&mut self, pages: u64) {
        if pages > self.settings.geometry.physical_pages() / LARGE_SHARE as u64 {
            self.maps.expect_fill();
        }
        let is_erased = self.space.blocks.planes.iter().all(|plane| plane.open[WriteStream::Host as usize] == NONE);
        if self.hybrid.is_none() && is_erased {
            let turns = (0..self.space.domains.len() as u32).map(|domain| self.turns_of(domain)).collect();
            self.untimed.filling = Some(Box::new(Filling { turns, left: vec![Left { next: 0, end: 0 }; self.space.blocks.planes.len()] }));
        }
    }

    /// A whole cycle of turns.
    fn turns_of(&mut self, domain: u32) -> Turns {
        let first = self.space.domains[domain as usize].fill_turn;
        let (mut planes, mut states) = (Vec::new(), Vec::new());
        let entry = &self.space.domains[domain as usize];
        if self.settings.placement == Placement::Static && self.nand.takers(domain).kind == DATA {
            return Turns { planes: vec![entry.plane], states: vec![first], next: 0 };
        }
        loop {
            states.push(self.space.domains[domain as usize].fill_turn);
            planes.push(self.space.next_plane(&self.nand, domain));
            if self.space.domains[domain as usize].fill_turn == first {
                return Turns { planes, states, next: 0 };
            }
        }
    }

    /// Programs and commits a page of the fill: its plane and its number. `None` if this must be done as always.
    #[inline]
    pub(crate) fn place_filling(&mut self, domain: u32, address: MemberPage, version: Version) -> Option<(u32, Ppn)> {
        let slot = self.slot(address);
        if version != Version::Current || self.maps.get(version, slot).is_some() {
            return None;
        }
        let Filling { turns, left } = &mut **self.untimed.filling.as_mut()?;
        let turns = &mut turns[domain as usize];
        let plane = turns.planes[turns.next];
        let cursor = &mut left[plane as usize];
        if cursor.next == cursor.end {
            // A plane without a page for the host is passed over, and turns are no longer the same.
            if self.space.blocks.host_pages(plane) == 0 {
                return None;
            }
            let block = self.space.blocks.open(plane, WriteStream::Host);
            let first = self.space.blocks.index(plane, block) as u32 * self.shape.pages_per_block;
            *cursor = Left { next: first, end: first + self.shape.pages_per_block };
        }
        let ppn = Ppn(cursor.next);
        cursor.next += 1;
        let is_full = cursor.next == cursor.end;
        if cursor.next.is_multiple_of(self.settings.units_per_page) {
            turns.next = if turns.next + 1 == turns.planes.len() { 0 } else { turns.next + 1 };
        }
        if let Some(plane) = turns.planes.get(turns.next + AHEAD) {
            self.maps.prefetch_label(Ppn(left[*plane as usize].next));
        }
        self.space.domains[domain as usize].free_pages -= 1;
        self.maps.label(ppn, version, slot);
        self.maps.set(version, slot, ppn);
        if is_full {
            self.take_filled(plane, ppn.0 + 1);
        }
        Some((plane, ppn))
    }

    /// Pages of a plane's open block, up to this one, are programmed and live.
    fn take_filled(&mut self, plane: u32, end: u32) {
        let block = self.shape.block_of(Ppn(end - 1));
        let count = end - self.shape.first_ppn(block).0;
        self.space.blocks.planes[plane as usize].free_pages -= count;
        let entry = &mut self.space.blocks.blocks[block];
        (entry.written, entry.live) = (count as u16, count as u16);
        if count < self.shape.pages_per_block {
            return;
        }
        entry.state = BlockState::Closed;
        self.space.blocks.planes[plane as usize].open[WriteStream::Host as usize] = NONE;
        if self.space.blocks.host_pages(plane) == 0 {
            self.nand.set_writable(plane, self.space.domain_of_plane(plane), false);
        }
        self.list_victim(block);
    }

    /// The fill is over, or something else is to happen.
    #[inline]
    pub fn end_filling(&mut self) {
        if let Some(filling) = self.untimed.filling.take() {
            self.take_all_filled(&filling);
        }
    }

    #[cold]
    fn take_all_filled(&mut self, filling: &Filling) {
        for (domain, turns) in self.space.domains.iter_mut().zip(&filling.turns) {
            domain.fill_turn = turns.states[turns.next];
        }
        for (plane, left) in (0..).zip(&filling.left) {
            if left.next < left.end {
                self.take_filled(plane, left.next);
            }
        }
        if self.memory.is_some() {
            for (domain, turns) in (0..).zip(&filling.turns) {
                memory::hold_filled(self, domain, turns.planes[turns.next]);
            }
        }
    }
}
