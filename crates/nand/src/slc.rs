//! Blocks in SLC mode (SPEC 8.14): one bit a cell, so that a program unit has one read group alone, and reads and programs take less time.

use crate::Nand;

/// What NAND is told of the SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcTimes {
    /// How long the array takes to sense a read group.
    pub read_ns: u64,
    /// How long it takes to program a program unit, which is a read group.
    pub program_ns: u64,
}

/// The blocks that are in SLC mode.
#[derive(Clone, Debug)]
pub(crate) struct Slc {
    times: SlcTimes,
    /// By block.
    modes: Vec<bool>,
}

impl Slc {
    pub(crate) fn new(times: SlcTimes, blocks: usize) -> Self {
        Self { times, modes: vec![false; blocks] }
    }
}

/// An erased block is programmed in SLC mode from now on, or not.
pub fn set_mode(nand: &mut Nand, block: usize, is_slc: bool) {
    if let Some(slc) = &mut nand.slc {
        slc.modes[block] = is_slc;
    }
}

/// The times of a page, if its block is in SLC mode.
#[inline]
pub(crate) fn times_of(nand: &Nand, ppn: u32) -> Option<SlcTimes> {
    let slc = nand.slc.as_ref()?;
    slc.modes[(ppn / nand.shape.pages_per_block) as usize].then_some(slc.times)
}

/// Flash pages of the program unit that this is a page of.
#[inline]
pub(crate) fn pages_per_program(nand: &Nand, ppn: u32) -> u32 {
    if times_of(nand, ppn).is_some() { nand.settings.pages_per_read } else { nand.settings.pages_per_program }
}
