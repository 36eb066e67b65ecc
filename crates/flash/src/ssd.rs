//! One SSD, without a clock of its own: it is told the time. Its state, how it is made, and how its time goes on.
//!
//! What it does stands beside the parts of the state that this concerns, as further methods: `mapping`, `nand`, `collection`, `faults`.

use crate::faults::Faults;
use crate::gc::state::Gc;
use crate::gc::victims::Victims;
use crate::mapping::blocks::{BlockState, Blocks};
use crate::mapping::filling::Filling;
use crate::mapping::hybrid::Hybrid;
use crate::mapping::maps::Maps;
use crate::mapping::phases::Phases;
use crate::mapping::space::Domain;
use crate::{GcCounts, GcQuery, Held, MapEvent, Placement, Settings};
use flashraid_nand::{FlashFault, Nand, Shape, advance, ppn_limit, serve_due_bus};
use flashraid_vocabulary::{Geometry, Health, MemberId, Observer, Ppn, WearLeveling};

/// Domains that gain space at one instant, each as often as it does, hardly ever more.
const MOST_FREED: usize = 64;

/// One SSD.
#[derive(Clone, Debug)]
pub struct Flash {
    pub(crate) settings: Settings,
    /// Numbers of LUNs, planes, blocks and pages.
    pub(crate) shape: Shape,
    pub(crate) members: u32,
    pub(crate) nand: Nand,
    pub(crate) maps: Maps,
    pub(crate) blocks: Blocks,
    pub(crate) victims: Victims,
    pub(crate) domains: Vec<Domain>,
    /// The domain of each plane; `NIL` for those of spare chips that replace none.
    pub(crate) domain_of_plane: Vec<u32>,
    pub(crate) gc_runs: Vec<Gc>,
    pub(crate) cold: Vec<std::collections::BinaryHeap<std::cmp::Reverse<(u32, u16)>>>,
    pub(crate) freed: Vec<u32>,
    pub(crate) gc_queries: Vec<GcQuery>,
    pub(crate) map_events: Vec<MapEvent>,
    pub(crate) untimed: bool,
    pub(crate) programmed_now: u64,
    pub(crate) victims_now: u64,
    /// Of each unit, pages that GC moved to it, and erases of GC, before the device was switched on.
    pub(crate) gc_before: Vec<[u64; 2]>,
    /// What GC runs have done beside the page operations that NAND counts.
    pub collected: GcCounts,
    pub(crate) held: Vec<Held>,
    /// Whether it may be programmed and collected.
    pub(crate) health: Health,
    /// With coordinated migration: page operations of migrations that are submitted and have not ended.
    pub(crate) migrations: u32,
    pub(crate) static_planes: Vec<u32>,
    /// Number of the first member's domain of translation pages.
    pub(crate) translation_domains: u32,
    pub(crate) faults: Faults,
    /// Erases of each block before time began.
    pub(crate) preset_erases: u32,
    /// The fill, while it is under way.
    pub(crate) filling: Option<Box<Filling>>,
    /// Pages that planes take before time begins.
    pub(crate) phases: Option<Box<Phases>>,
    /// Hybrid mapping, if the device has it.
    pub(crate) hybrid: Option<Box<Hybrid>>,
}

impl Flash {
    /// An erased device. The settings must have passed the configuration's checks.
    pub fn new(settings: Settings) -> Self {
        let (geometry, shape, members) = (settings.geometry, settings.shape(), settings.members());
        let has_translation = settings.translation_blocks > 0;
        let chip = |plane: u32| shape.chip_of_unit(plane / shape.planes_per_unit);
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
            faults: Faults::new(&settings, Ppn(page_limit as u32 - 1)),
            preset_erases: 0,
            victims: Victims::new(planes, geometry.pages_per_block),
            domains: Vec::new(),
            domain_of_plane: Vec::new(),
            gc_runs: vec![Gc::IDLE; planes as usize],
            cold: vec![Default::default(); planes as usize],
            freed: Vec::with_capacity(MOST_FREED),
            gc_queries: Vec::new(),
            map_events: Vec::new(),
            untimed: false,
            programmed_now: 0,
            victims_now: 0,
            gc_before: vec![[0; 2]; shape.units() as usize],
            collected: GcCounts::default(),
            held: vec![Held::default(); members as usize],
            health: Health::ReadWrite,
            migrations: 0,
            static_planes: Vec::new(),
            translation_domains: 0,
            filling: None,
            phases: None,
            hybrid: is_hybrid.then(|| Box::new(Hybrid::new(&settings, planes as usize, blocks.blocks.len()))),
            blocks,
            settings,
            shape,
            members,
        };
        // The sentinel of lost pages lies in the gap behind the last plane.
        let gap = shape.block_of(flash.faults.lost);
        flash.blocks.blocks[gap].state = BlockState::Retired;
        flash.assign_units();
        flash.static_planes = flash.order_static_planes();
        flash.form_domains();
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

    /// Number of planes, translation planes included.
    pub fn planes(&self) -> u32 {
        self.blocks.planes.len() as u32
    }

    /// The number above those of all physical pages.
    pub fn ppn_limit(&self) -> u32 {
        self.faults.lost.0 + 1
    }

    /// Number of space domains.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// Versions of a member's pages beside the current ones.
    #[inline]
    pub fn held(&self, member: MemberId) -> Held {
        self.held[usize::from(member.0)]
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
