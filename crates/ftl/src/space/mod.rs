//! Free space: blocks, the domains whose planes share their free pages, and blocks that may be collected.
//!
//! Reading order: `streams`, `blocks`, `open_blocks`, `lanes`, `slc`, `victim` (GC policies), `cold` (static wear leveling), `domain`; then `caching` (which blocks are in SLC mode), `placement` (where a program takes its page), `allocation` (pages taken for
//! programs), `changes` (what becomes of blocks, and what is due then), `need` (when GC must run), `usage` (how full and worn it is) and `check`.

mod allocation;
pub mod blocks;
mod caching;
pub(crate) mod changes;
mod check;
mod cold;
pub(crate) mod domain;
mod lanes;
mod need;
mod open_blocks;
mod placement;
pub(crate) mod slc;
pub mod streams;
mod usage;
pub mod victim;

use crate::Settings;
use crate::news::Untold;
use blocks::{BlockState, Blocks};
use cold::Cold;
use domain::Domain;
use flashraid_nand::Shape;
use flashraid_vocabulary::{Ppn, persistent};
use victim::{Sizes, Victims};

/// Blocks and the domains that share them: what is free, and what may be collected.
#[derive(Clone, Debug)]
pub struct Space {
    pub(crate) settings: Settings,
    pub(crate) shape: Shape,
    pub(crate) members: u32,
    pub(crate) blocks: Blocks,
    pub(crate) victims: Victims,
    /// Saved behind what GC knows.
    pub(crate) cold: Cold,
    /// The physical page that versions name of which nothing is left; never programmed. Its block is out of use and lies where no plane is.
    pub(crate) lost: Ppn,
    pub(crate) domains: Vec<Domain>,
    /// The domain of each plane; `NIL` for those of spare chips that replace none.
    pub(crate) domain_of_plane: Vec<u32>,
    /// Number of the first member's domain of translation pages.
    pub(crate) translation_domains: u32,
    /// The planes of a member in the order in which static placement cycles through them, as offsets from its first channel's first plane.
    pub(crate) static_planes: Vec<u32>,
    /// What the SSD has to tell, of space and of all else.
    pub(crate) news: Untold,
}

persistent!(Space {
    keeps [blocks, victims],
    arrays [domains],
    // What is made of the configuration, and news, of which there are none.
    anew [settings, shape, members, cold, lost, domain_of_plane, translation_domains, static_planes, news],
});

impl Space {
    /// All erased, and in no domain yet. `lost` lies in the gap behind the last plane.
    pub(crate) fn new(settings: &Settings, shape: Shape, mut blocks: Blocks, lost: Ppn) -> Self {
        blocks.blocks[shape.block_of(lost)].state = BlockState::Retired;
        let planes = blocks.planes.len() as u32;
        let sizes = Sizes { planes, blocks_per_plane: settings.geometry.blocks_per_plane, pages_per_block: shape.pages_per_block };
        Self {
            members: settings.members(),
            victims: settings.gc_policy.make(sizes, settings.seed),
            cold: Cold::new(planes),
            lost,
            blocks,
            domains: Vec::new(),
            domain_of_plane: Vec::new(),
            translation_domains: 0,
            static_planes: Vec::new(),
            news: Untold::new(),
            settings: settings.clone(),
            shape,
        }
    }
}
