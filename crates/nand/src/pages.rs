//! The way up: what NAND asks of the layer above, and tells it.

use crate::Nand;
use flashraid_vocabulary::{Observer, Ppn};

/// What NAND must know of blocks, and of the space domains that share them.
pub trait BlockFacts {
    /// Whether a program that waits for any LUN of a space domain would find a page there.
    fn has_page(&self, domain: u32) -> bool;

    /// The page offset at which the plane would be programmed next for a plan.
    fn next_offset(&self, plane: u32) -> u32;

    /// P/E cycles of a block.
    fn erases(&self, block: usize) -> u32;
}

/// The SSD around the NAND. What happens on a bus may start more there, so the functions of this crate that serve a bus are given the SSD, and find the
/// NAND in it.
pub trait Pages {
    /// What knows its blocks.
    type Blocks: BlockFacts;

    /// Its NAND.
    fn nand(&self) -> &Nand;

    /// Its NAND.
    fn nand_mut(&mut self) -> &mut Nand;

    /// Its blocks.
    fn blocks(&self) -> &Self::Blocks;

    /// The page of a plan's program, which starts now in this plane. NAND notes page and plane in the record afterwards.
    fn page_for(&mut self, record: u32, plane: u32) -> Ppn;

    /// The page of GC's program or copyback, which starts now. If there is none, whoever implements this removes the record (`Nand::remove_record`), and lets
    /// the LUN want something else (`Nand::refresh_want`).
    fn page_for_move(&mut self, record: u32) -> Option<Ppn>;

    /// A plan's program into the plane has started.
    fn program_started(&mut self, plane: u32);

    /// What a record stands for has ended. Of a plan's, whoever implements this reports it (`Nand::complete`); GC's it removes.
    fn ended<O: Observer>(&mut self, record: u32, observer: &mut O);

    /// A read has had its last attempt, and the page cannot be corrected.
    fn uncorrectable(&mut self, ppn: Ppn);

    /// A time has come that this layer has set.
    fn timer_due<O: Observer>(&mut self, timer: Timer, observer: &mut O);
}

/// What a layer above may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Idle time (`Nand::set_timer`).
    Idle,
    /// Its memory has something to do (`packed::set_memory_ns`).
    Memory,
    /// A flash page is to be padded (`packed::set_padding_ns`).
    Padding,
}
