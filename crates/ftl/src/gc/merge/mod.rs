//! Merges of hybrid mapping (SPEC 6.3): a log block becomes a data block (*switch*), after the pages behind its own are copied to it (*partial*), or the
//! newest versions of all pages are copied to an erased block (*full*); what is left over is erased.
//!
//! A merge is the GC run of its plane, in the same two phases: first every stripe with a semivalid page in a block to be erased is committed, until
//! there is none; then copies and erases, with the LUNs blocked. From the choice of the log block on, no page of its logical blocks is given out.
//!
//! Reading order: `choice`, `commits`, `copies`.

mod choice;
mod commits;
mod copies;

use super::state::{Collection, Merge};
use crate::mapping::hybrid::Hybrid;
use crate::store::Store;
use flashraid_nand::Nand;

/// What any step of a merge works with: where pages may go, the run of GC that the merge is, and what both of them change. As a step of any run, it starts nothing.
pub(crate) struct Merging<'a> {
    pub(crate) hybrid: &'a mut Hybrid,
    pub(crate) gc: &'a mut Collection,
    pub(crate) store: &'a mut Store,
    pub(crate) nand: &'a mut Nand,
}

impl Merging<'_> {
    fn domain_of(&self, plane: u32) -> usize {
        self.store.space.domain_of_plane(plane) as usize
    }

    /// The merge of a plane.
    pub(crate) fn merge(&self, plane: u32) -> &Merge {
        &self.hybrid.merges[self.domain_of(plane)]
    }

    fn merge_mut(&mut self, plane: u32) -> &mut Merge {
        let domain = self.domain_of(plane);
        &mut self.hybrid.merges[domain]
    }

    /// The number of a plane's block in the device.
    fn index(&self, plane: u32, block: u16) -> usize {
        self.store.space.blocks.index(plane, block)
    }

    /// The log block that is merged.
    fn log(&self, plane: u32) -> u16 {
        self.gc.runs[plane as usize].victim
    }
}
