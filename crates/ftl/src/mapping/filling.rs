//! The fill of an erased device, as fast as maps can be written.
//!
//! Nothing is superseded, so planes take their turns in the same order again and again, and each fills one block after the other. While that is so,
//! where the next page of a plane goes is a number that is counted up, and its block is brought up to date when it is full, or at the end. Whatever
//! else may happen ends this first: pages are then placed as always (`untimed`), and all is as if they had been from the beginning.

use super::maps::Maps;
use super::overwritten::{Overwrites, Overwritten};
use crate::Placement;
use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use crate::space::domain::Domain;
use crate::space::streams::WriteStream;
use crate::store::Store;
use flashraid_nand::Nand;
use flashraid_vocabulary::{Cause, NIL, Ppn, Version};

/// So many turns ahead the processor is asked for what the page's number will be written to.
const AHEAD: usize = 8;

/// The planes of a domain in the order of their turns, and the domain's `fill_turn` before each.
#[derive(Clone, Debug)]
struct Turns {
    planes: Vec<u32>,
    states: Vec<(u32, u32, u32)>,
    next: usize,
}

impl Turns {
    #[inline(always)]
    fn advance(&mut self) {
        self.next = if self.next + 1 == self.planes.len() { 0 } else { self.next + 1 };
    }
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
    /// Where pages go if not one after the other.
    overwritten: Option<Overwritten>,
}

impl Filling {
    /// Nothing has been written yet, and the fill begins. `None` if pages must be placed as always.
    pub(crate) fn begin(space: &mut Space, nand: &Nand) -> Option<Self> {
        let is_erased = space.blocks.planes.iter().all(|plane| plane.open[0] == NONE);
        if space.settings.placement == Placement::Blocks || !is_erased {
            return None;
        }
        let turns = (0..space.domains.len() as u32).map(|domain| turns_of(domain, space, nand)).collect();
        Some(Self { turns, left: vec![Left { next: 0, end: 0 }; space.blocks.planes.len()], overwritten: None })
    }

    /// The same, with pages where uniform random writes would have left them (`Overwritten::begin`).
    pub(crate) fn begin_overwritten(overwrites: &mut Overwrites<'_>, space: &mut Space, nand: &Nand) -> Option<(Self, f64)> {
        let filling = Self::begin(space, nand)?;
        let (overwritten, programs) = Overwritten::begin(overwrites, space)?;
        Some((Self { overwritten: Some(overwritten), ..filling }, programs))
    }

    /// Programs and commits a page of the fill: its plane and its number. `None` if this must be done as always.
    #[inline]
    pub(crate) fn place(
        &mut self,
        (domain, slot): (u32, u32),
        version: Version,
        cause: Cause,
        store: &mut Store,
        nand: &mut Nand,
    ) -> Option<(u32, Ppn)> {
        let Store { maps, space, .. } = store;
        if version != Version::Current || maps.get(version, slot).is_some() {
            return None;
        }
        if let Some(overwritten) = &mut self.overwritten {
            let (plane, ppn) = overwritten.take(domain, cause == Cause::Parity, space)?;
            name(version, slot, ppn, maps);
            return Some((plane, ppn));
        }
        let turns = &mut self.turns[domain as usize];
        let plane = turns.planes[turns.next];
        let cursor = &mut self.left[plane as usize];
        if cursor.next == cursor.end {
            // A plane without a page for the host is passed over, and turns are no longer the same.
            if space.blocks.host_pages(plane) == 0 {
                return None;
            }
            let block = space.blocks.open(plane, WriteStream::HOST);
            let first = space.blocks.index(plane, block) as u32 * space.shape.pages_per_block;
            *cursor = Left { next: first, end: first + space.shape.pages_per_block };
        }
        let ppn = Ppn(cursor.next);
        cursor.next += 1;
        let is_full = cursor.next == cursor.end;
        if cursor.next.is_multiple_of(space.settings.units_per_program()) {
            turns.advance();
        }
        if let Some(plane) = turns.planes.get(turns.next + AHEAD) {
            maps.prefetch_label(Ppn(self.left[*plane as usize].next));
        }
        space.domains[domain as usize].free_pages -= 1;
        name(version, slot, ppn, maps);
        if is_full {
            take_filled(plane, ppn.0 + 1, space, nand);
        }
        Some((plane, ppn))
    }

    /// The fill is over, or something else is to happen.
    #[cold]
    pub(crate) fn end(&self, store: &mut Store, nand: &mut Nand) {
        let Store { space, memory, .. } = store;
        for (domain, turns) in space.domains.iter_mut().zip(&self.turns) {
            domain.fill_turn = turns.states[turns.next];
        }
        for (plane, left) in (0..).zip(&self.left) {
            if left.next < left.end {
                take_filled(plane, left.next, space, nand);
            }
        }
        if let Some(overwritten) = &self.overwritten {
            return overwritten.end(space);
        }
        if let Some(memory) = memory {
            for (domain, turns) in (0..).zip(&self.turns) {
                memory.hold_filled(domain, turns.planes[turns.next], space);
            }
        }
    }
}

/// A whole cycle of turns.
fn turns_of(domain: u32, space: &mut Space, nand: &Nand) -> Turns {
    let Domain { fill_turn: first, plane, .. } = space.domains[domain as usize];
    let (mut planes, mut states) = (Vec::new(), Vec::new());
    if plane != NIL {
        return Turns { planes: vec![plane], states: vec![first], next: 0 };
    }
    loop {
        states.push(space.domains[domain as usize].fill_turn);
        planes.push(space.next_plane(nand, domain));
        if space.domains[domain as usize].fill_turn == first {
            return Turns { planes, states, next: 0 };
        }
    }
}

#[inline(always)]
fn name(version: Version, slot: u32, ppn: Ppn, maps: &mut Maps) {
    maps.label(ppn, version, slot);
    maps.set(version, slot, ppn);
}

/// Pages of a plane's open block, up to this one, are programmed and live.
fn take_filled(plane: u32, end: u32, space: &mut Space, nand: &mut Nand) {
    let block = space.shape.block_of(Ppn(end - 1));
    let count = end - space.shape.first_ppn(block).0;
    space.blocks.planes[plane as usize].free_pages -= count;
    let entry = &mut space.blocks.blocks[block];
    (entry.written, entry.live) = (count, count);
    if count < space.shape.pages_per_block {
        return;
    }
    entry.state = BlockState::Closed;
    space.blocks.set_open(plane, WriteStream::HOST, NONE);
    if space.blocks.host_pages(plane) == 0 {
        nand.set_writable(plane, space.domain_of_plane(plane), false);
    }
    // Nothing starts meanwhile.
    let _ = space.list(block);
}
