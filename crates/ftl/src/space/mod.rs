//! Free space: blocks, the domains whose planes share their free pages, and blocks that may be collected.
//!
//! Reading order: `blocks`, `victim` (GC policies), `domain`; then `placement` (where a program takes its page), `allocation` (pages taken for programs), `need` (when GC must run) and `usage` (how full and worn it is).

mod allocation;
pub mod blocks;
pub(crate) mod domain;
mod need;
mod placement;
mod usage;
pub mod victim;

use crate::Settings;
use blocks::Blocks;
use domain::Domain;
use flashraid_nand::Shape;
use flashraid_vocabulary::persistent;
use victim::{Sizes, Victims};

/// Domains that gain space at one instant, each as often as it does, hardly ever more.
const MOST_FREED: usize = 64;

/// Blocks and the domains that share them: what is free, and what may be collected.
#[derive(Clone, Debug)]
pub struct Space {
    pub(crate) settings: Settings,
    pub(crate) shape: Shape,
    pub(crate) members: u32,
    pub(crate) blocks: Blocks,
    pub(crate) victims: Victims,
    pub(crate) domains: Vec<Domain>,
    /// The domain of each plane; `NIL` for those of spare chips that replace none.
    pub(crate) domain_of_plane: Vec<u32>,
    /// Number of the first member's domain of translation pages.
    pub(crate) translation_domains: u32,
    /// The planes of a member in the order in which static placement cycles through them, as offsets from its first channel's first plane.
    pub(crate) static_planes: Vec<u32>,
    /// Domains that gained space, of which nobody has been told.
    pub(crate) freed: Vec<u32>,
}

persistent!(Space {
    keeps [blocks, victims],
    arrays [domains],
    // What is made of the configuration, and news, of which there are none.
    anew [settings, shape, members, domain_of_plane, translation_domains, static_planes, freed],
});

impl Space {
    /// All erased, and in no domain yet.
    pub(crate) fn new(settings: &Settings, shape: Shape, blocks: Blocks) -> Self {
        let planes = blocks.planes.len() as u32;
        let sizes = Sizes { planes, blocks_per_plane: settings.geometry.blocks_per_plane, pages_per_block: shape.pages_per_block };
        Self {
            members: settings.members(),
            victims: settings.gc_policy.make(sizes, settings.seed),
            blocks,
            domains: Vec::new(),
            domain_of_plane: Vec::new(),
            translation_domains: 0,
            static_planes: Vec::new(),
            freed: Vec::with_capacity(MOST_FREED),
            settings: settings.clone(),
            shape,
        }
    }
}
