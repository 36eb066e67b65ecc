//! One SSD, without a clock of its own: it is told the time. Its state, how it is made, and how its time goes on.
//!
//! What it does stands beside the parts that this concerns, as further methods: `mapping`, `submission`, `pages`, `gc`, `faults`.

use crate::faults::Faults;
use crate::gc::state::Collection;
use crate::mapping::hybrid::Hybrid;
use crate::mapping::maps::Maps;
use crate::memory::Memory;
use crate::space::Space;
use crate::space::blocks::{BlockState, Blocks};
use crate::untimed::Untimed;
use crate::{GcCounts, Held, Placement, Settings};
use flashraid_nand::{FlashFault, Nand, Shape, advance, ppn_limit, serve_due_bus};
use flashraid_vocabulary::{Geometry, Health, MemberId, MemberPage, Observer, Ppn, WearLeveling};

/// One SSD.
#[derive(Clone, Debug)]
pub struct Flash {
    pub(crate) settings: Settings,
    /// Numbers of LUNs, planes, blocks and pages.
    pub(crate) shape: Shape,
    pub(crate) members: u32,
    pub(crate) nand: Nand,
    pub(crate) maps: Maps,
    /// By member.
    pub(crate) held: Vec<Held>,
    pub(crate) space: Space,
    pub(crate) gc: Collection,
    pub(crate) untimed: Untimed,
    /// Whether it may be programmed and collected.
    pub(crate) health: Health,
    pub(crate) faults: Faults,
    /// Hybrid mapping, if the device has it.
    pub(crate) hybrid: Option<Box<Hybrid>>,
    /// The memory of pages that wait for their flash page, if that has several.
    pub(crate) memory: Option<Box<Memory>>,
}

impl Flash {
    /// An erased device. The settings must have passed the configuration's checks.
    pub fn new(settings: Settings) -> Self {
        let (geometry, shape, members) = (settings.geometry, settings.shape(), settings.members());
        let has_translation = settings.translation_blocks > 0;
        let chip = |plane: u32| shape.chip_of_lun(plane / shape.planes_per_lun);
        // A spare chip gets them when it replaces a chip that has them.
        let data_chips = geometry.chips_per_channel - settings.given.mirror_chips;
        let translation = |plane: u32| if chip(plane) < data_chips { settings.translation_blocks } else { 0 };
        let data_planes = (0..shape.data_planes())
            .map(|plane| (geometry.blocks_per_plane - translation(plane), [settings.gc_threshold, settings.gc_idle_threshold]));
        // Translation planes are small, and collected when they are short of blocks alone.
        let translation_planes = (0..shape.data_planes()).filter(|_| has_translation).map(|plane| (translation(plane), [0.0; 2]));
        let mut blocks = Blocks::new(
            data_planes.chain(translation_planes),
            geometry.blocks_per_plane,
            geometry.pages_per_block,
            settings.given.gc_reserve_blocks,
            settings.given.wear_leveling != WearLeveling::None,
        );
        let planes = blocks.planes.len() as u32;
        let is_hybrid = settings.placement == Placement::Blocks;
        blocks.is_hybrid = is_hybrid;
        let slots = (settings.pages_per_member + settings.translation_pages) as usize * members as usize;
        let page_limit = ppn_limit(&geometry, settings.given.spare_chips, has_translation) as usize;
        let mut flash = Self {
            nand: Nand::new(settings.nand(), shape, members, planes, blocks.blocks.len()),
            maps: Maps::new(slots, page_limit),
            held: vec![Held::default(); members as usize],
            hybrid: is_hybrid.then(|| Box::new(Hybrid::new(&settings, planes as usize, blocks.blocks.len()))),
            space: Space::new(&settings, shape, blocks),
            gc: Collection::new(planes, shape.luns()),
            untimed: Untimed::default(),
            health: Health::ReadWrite,
            faults: Faults::new(&settings, Ppn(page_limit as u32 - 1)),
            memory: None,
            settings,
            shape,
            members,
        };
        // The sentinel of lost pages lies in the gap behind the last plane.
        let gap = shape.block_of(flash.faults.lost);
        flash.space.blocks.blocks[gap].state = BlockState::Retired;
        flash.space.assign_luns(&mut flash.nand);
        flash.space.form_domains(&mut flash.nand);
        if flash.settings.units_per_page > 1 {
            let Settings { units_per_page, memory, .. } = flash.settings;
            flash.memory =
                Some(Box::new(Memory::new(memory, units_per_page, page_limit / units_per_page as usize, flash.space.domains.len())));
        }
        if is_hybrid {
            flash.form_instances();
        }
        flash
    }

    // ---- time ----

    /// Processes the earliest event. Completions, freed domains and questions must be taken before the next call.
    pub fn advance<O: Observer>(&mut self, observer: &mut O) {
        advance(self, observer);
    }

    /// Processes the events of buses that are due now, as long as nothing has happened that must be taken, and no LUN has an event.
    #[inline]
    pub fn serve_due_buses(&mut self) {
        while !self.has_news() && serve_due_bus(self) {}
    }

    // ---- what it is, and where it stands ----

    /// The device's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Shape of the device.
    pub fn geometry(&self) -> Geometry {
        self.settings.geometry
    }

    /// The number above those of all physical pages.
    pub fn ppn_limit(&self) -> u32 {
        self.faults.lost.0 + 1
    }

    /// Versions of a member's pages beside the current ones.
    #[inline]
    pub fn held(&self, member: MemberId) -> Held {
        self.held[usize::from(member.0)]
    }

    /// Free space, and how full and worn it is.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Free space.
    #[inline]
    pub fn space_mut(&mut self) -> &mut Space {
        &mut self.space
    }

    /// What GC runs have done beside the page operations that NAND counts.
    pub fn collected(&self) -> GcCounts {
        self.gc.counts
    }

    /// The number of a member's page in the device's maps.
    #[inline]
    pub fn slot(&self, address: MemberPage) -> u32 {
        address.entry(self.members)
    }

    /// The inverse of `slot`.
    #[inline]
    pub fn address(&self, slot: u32) -> MemberPage {
        MemberPage::of_entry(slot, self.members)
    }

    /// Its NAND: buses, LUNs, and what they do.
    #[inline]
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Its NAND.
    #[inline]
    pub fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    /// Whether it makes this fault: never in a product build.
    #[inline(always)]
    pub fn makes(&self, fault: FlashFault) -> bool {
        self.nand.makes(fault)
    }
}
