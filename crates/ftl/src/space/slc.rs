//! The SLC cache (SPEC 8.14): blocks in SLC mode, which programs of the host fill first, and which are folded later.
//!
//! A block in SLC mode uses of each program unit as many pages as a read group has, and passes the others over. So an erased block that is opened in SLC mode has fewer
//! pages to program than it counted for, until it is erased again.

use flashraid_vocabulary::{persistent, persistent_words};
use std::collections::VecDeque;

/// How many blocks may be in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcSettings {
    /// Blocks of a plane that may be in SLC mode whatever is free.
    pub blocks: u32,
    /// Beyond them, as many as leave so many blocks of the plane free; `None` for no more.
    pub leave: Option<u32>,
    /// Programs wait for the cache when it is full; else they go beside it.
    pub stalls: bool,
}

/// What the SLC cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcCounts {
    /// Pages that programs put into blocks in SLC mode.
    pub written: u64,
    /// Of these, pages that GC moved out of them, as they were still needed.
    pub folded: u64,
    /// Erases of blocks in SLC mode: of each of a superblock.
    pub erases: u64,
}

/// Whether a block is in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// All bits of its cells.
    #[default]
    Full,
    /// One bit a cell.
    Slc,
    /// The same, of a block that takes no more programs, as one has failed.
    Spent,
}

persistent_words!(Mode { Full, Slc, Spent });

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct SlcCache {
    pub(super) settings: SlcSettings,
    /// Pages of a program unit, and those of them that are used in SLC mode.
    pub(super) units: u32,
    pub(super) used: u32,
    /// By block.
    pub(super) modes: Vec<Mode>,
    /// Blocks of each plane that are in SLC mode, without those that are spent.
    pub(super) in_use: Vec<u32>,
    /// Those of them that are full, in the order in which they became it.
    pub(super) full: Vec<VecDeque<u16>>,
    pub(crate) counts: SlcCounts,
}

persistent!(SlcCache { arrays [modes, in_use, full], anew [settings, units, used, counts], });

impl SlcCache {
    /// No block is in SLC mode. Of a program unit of so many pages (`units`) so many are used in it.
    pub(super) fn new(settings: SlcSettings, (units, used): (u32, u32), planes: usize, blocks: usize) -> Self {
        Self {
            settings,
            units,
            used,
            modes: vec![Mode::Full; blocks],
            in_use: vec![0; planes],
            full: vec![VecDeque::new(); planes],
            counts: SlcCounts::default(),
        }
    }

    /// Whether a block is in SLC mode, also if it takes no more programs.
    #[inline]
    pub(super) fn is_slc(&self, block: usize) -> bool {
        self.modes[block] != Mode::Full
    }

    /// Pages of a block in SLC mode, if all are so many.
    pub(super) fn pages_of(&self, pages: u32) -> u32 {
        pages / self.units * self.used
    }

    /// Pages of a block in SLC mode that can be programmed, of these that follow the ones that were, or were passed over.
    pub(super) fn left_of(&self, unwritten: u32, written: u32) -> u32 {
        let taken = written % self.units;
        let rest = if taken == 0 { unwritten } else { unwritten - (self.units - taken) };
        self.pages_of(rest) + if taken == 0 { 0 } else { self.used - taken }
    }

    /// The page behind one that is programmed in SLC mode: the next one, or the first of the next program unit.
    pub(super) fn next(&self, written: u32) -> u32 {
        if written % self.units == self.used { written - self.used + self.units } else { written }
    }
}
