//! What is known of failures.

use super::Parts;
use crate::Settings;
use crate::space::Space;
use crate::space::blocks::BlockState;
use flashraid_nand::{Nand, WorkKind};
use flashraid_vocabulary::{Fault, MemberPage, NIL, Ppn, Version, persistent};
use std::collections::BTreeSet;

/// Everything about failures that planes and blocks do not say themselves.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) any: bool,
    /// Pages of blocks in use that cannot be read until these are erased.
    pub(crate) unreadable: BTreeSet<u32>,
    /// Versions found to be unreadable that nobody has been told of.
    pub(crate) untold: Vec<(MemberPage, Version)>,
    /// Doomed blocks: plane, and number in it.
    pub(crate) doomed: Vec<(u32, u16)>,
    /// Programs and erases that are to fail.
    armed: Vec<Fault>,
    /// Pages of each member's data chips that are gone.
    pub(crate) pages_gone: Vec<u32>,
    /// Members whose mirror chips take no copies until they are rebuilt.
    pub(crate) no_copies: Vec<bool>,
}

persistent!(Faults {
    keeps [any, unreadable, doomed],
    arrays [pages_gone],
    anew [untold, armed, no_copies], // dead chips and failures that are still to come are not saved
});

impl Faults {
    pub(crate) fn new(settings: &Settings) -> Self {
        let members = settings.members() as usize;
        Self {
            any: false,
            unreadable: BTreeSet::new(),
            untold: Vec::new(),
            doomed: Vec::new(),
            armed: Vec::new(),
            pages_gone: vec![0; members],
            no_copies: vec![false; members],
        }
    }

    /// Whether flash holds nothing there, whatever the memory has. For programmed pages.
    #[inline]
    pub(crate) fn is_lost_place(&self, ppn: Ppn, space: &Space) -> bool {
        self.any
            && (space.blocks.blocks[space.shape.block_of(ppn)].state == BlockState::Retired
                || space.is_in_dead_lane(ppn)
                || self.unreadable.contains(&ppn.0))
    }

    /// The block of these pages was erased.
    pub(crate) fn readable_again(&mut self, first: Ppn, pages: u32) {
        while let Some(&page) = self.unreadable.range(first.0..first.0 + pages).next() {
            self.unreadable.remove(&page);
        }
    }

    /// Doomed blocks of a plane, and some that were.
    pub(crate) fn doomed_of(&self, plane: u32) -> impl Iterator<Item = u16> {
        self.doomed.iter().filter(move |(of, _)| *of == plane).map(|(_, number)| *number)
    }

    /// So many blocks of the plane are out of use, and count for its member.
    pub(crate) fn note_gone(&mut self, plane: u32, blocks: u32, space: &Space, nand: &Nand) {
        space.living_lanes(plane).for_each(|lane| self.note_gone_in(plane, lane, blocks, space, nand));
    }

    /// The same of one lane.
    pub(crate) fn note_gone_in(&mut self, plane: u32, lane: u32, blocks: u32, space: &Space, nand: &Nand) {
        if let Some(member) = space.member_of_data(plane, lane, nand) {
            self.pages_gone[member as usize] += blocks * space.shape.pages_per_lane();
        }
    }

    /// A plane with so many blocks, of which some may be out of use, takes the place of one of which nothing lived.
    pub(super) fn note_replaced(&mut self, plane: u32, blocks: u32, space: &Space, nand: &Nand) {
        self.note_gone(plane, space.blocks.planes[plane as usize].retired, space, nand);
        if let Some(member) = space.member_of_data(plane, 0, nand) {
            self.pages_gone[member as usize] -= blocks * space.shape.pages_per_block;
        }
    }

    /// Nothing of the plane lives any more.
    pub(crate) fn note_dead_plane(&mut self, plane: u32, gone: u32, space: &Space, nand: &Nand) {
        self.note_gone(plane, gone, space, nand);
        self.doomed.retain(|(of, _)| *of != plane);
        let domain = space.domain_of_plane(plane);
        if domain != NIL && space.holds_copies(domain) {
            self.no_copies[(domain - space.members) as usize] = true;
        }
    }

    /// A program or an erase is to fail.
    pub(super) fn arm(&mut self, fault: Fault) {
        self.armed.push(fault);
    }

    /// Whether a program or erase is still to fail.
    pub(crate) fn is_armed(&self) -> bool {
        !self.armed.is_empty()
    }

    /// Whether a program or erase of this page is to fail now; each fault happens once.
    pub(crate) fn fails_now(&mut self, work: WorkKind, ppn: Ppn, parts: &Parts<'_>) -> bool {
        let place = parts.locate(ppn);
        let is_meant = |fault: &Fault| {
            let (Fault::Program(part) | Fault::Erase(part)) = fault else { return false };
            let is_kind = matches!(fault, Fault::Erase(_)) == (work == WorkKind::Erase);
            let is_there = part.block().is_none_or(|block| place.block == block);
            is_kind && is_there && parts.is_in_plane_of(part, &place)
        };
        let index = self.armed.iter().position(is_meant);
        index.map(|index| self.armed.remove(index)).is_some()
    }
}
