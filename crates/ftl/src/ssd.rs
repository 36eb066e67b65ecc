//! One SSD, without a clock of its own: it is told the time. Its parts, how it is made, and how its time goes on.
//!
//! Each part owns its state, and changes it without starting anything. The SSD joins them: what a change makes due, and what NAND has to do next, is done here and
//! beside the parts that this concerns: `submission` (what comes in), `mapping::versions`, `gc::course`, `memory::write_points` and `faults`.

use crate::check::Checked;
use crate::faults::programs::waste;
use crate::faults::{Faults, Parts};
use crate::gc::state::Collection;
use crate::mapping::hybrid::Hybrid;
use crate::mapping::maps::Maps;
use crate::memory::{Memory, TakenPage};
use crate::space::Space;
use crate::space::blocks::Blocks;
use crate::space::changes::Due;
use crate::store::Store;
use crate::untimed::{Preparation, Untimed};
use crate::{Placement, Settings};
use flashraid_nand::{Nand, advance, ppn_limit, serve_due_bus};
use flashraid_vocabulary::{GcStreams, MemberPage, Observer, Ppn, Version, WearLeveling};

/// One SSD.
#[derive(Clone, Debug)]
pub struct Flash {
    /// What pages hold.
    pub(crate) store: Store,
    pub(crate) nand: Nand,
    pub(crate) gc: Collection,
    /// Hybrid mapping, if the device has it.
    pub(crate) hybrid: Option<Box<Hybrid>>,
    pub(crate) untimed: Untimed,
}

impl Flash {
    /// An erased device. The settings must have passed the configuration's checks.
    pub fn new(settings: Settings) -> Self {
        let (geometry, shape, members) = (settings.geometry, settings.shape(), settings.members());
        let has_translation = settings.translation_blocks > 0;
        // Of devices without superblocks, which have no mirror chips, spare chips or translation pages.
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
            shape.pages_per_block,
            settings.given.gc_reserve_blocks,
            settings.given.wear_leveling != WearLeveling::None,
        );
        let planes = blocks.planes.len() as u32;
        blocks.set_lanes(shape.lanes, shape.pages_per_turn());
        if let Some((slc, _)) = settings.slc {
            blocks.set_slc(slc, (settings.units_per_program(), settings.units_per_read()));
        }
        if settings.packs() {
            blocks.set_streams(settings.given.write_streams, settings.given.gc_streams == GcStreams::Own);
        }
        blocks.is_hybrid = settings.placement == Placement::Blocks;
        let slots = (settings.pages_per_member + settings.translation_pages) as usize * members as usize;
        let page_limit = ppn_limit(&geometry, settings.given.spare_chips, has_translation) as usize;
        let mut nand = Nand::new(settings.nand(), shape, members, planes, blocks.blocks.len());
        let mut hybrid = blocks.is_hybrid.then(|| Box::new(Hybrid::new(&settings, planes as usize, blocks.blocks.len())));
        let mut space = Space::new(&settings, shape, blocks, Ppn(page_limit as u32 - 1));
        space.assign_luns(&mut nand);
        space.form_domains(&mut nand);
        hybrid.iter_mut().for_each(|hybrid| hybrid.form_instances(&space));
        let units = settings.units_per_program();
        let points = (space.domains.len(), usize::from(space.blocks.stream_count()));
        let memory =
            (units > 1).then(|| Box::new(Memory::new(settings.memory, units, page_limit / units as usize, points, planes as usize)));
        Self {
            store: Store { maps: Maps::new(slots, page_limit, members), faults: Faults::new(&settings), space, memory },
            gc: Collection::new(planes, shape.luns()),
            nand,
            hybrid,
            untimed: Untimed::default(),
        }
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

    /// Whether there is anything to be taken (`Untold`).
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.store.space.news.is_any()
    }

    // ---- its parts ----

    /// The device's settings.
    pub fn settings(&self) -> &Settings {
        &self.store.space.settings
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

    /// Which physical page each version is, and what is lost.
    #[inline]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What it has to tell of pages.
    #[inline]
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// What GC runs have done beside the page operations that NAND counts.
    #[inline]
    pub fn gc(&self) -> &Collection {
        &self.gc
    }

    /// Channels, chips, planes and blocks: where they are, and which of them live.
    pub fn parts(&self) -> Parts<'_> {
        Parts { space: &self.store.space, nand: &self.nand }
    }

    // ---- work in no simulated time ----

    /// Work in no simulated time.
    #[inline]
    pub fn preparation(&mut self) -> Preparation<'_> {
        let Self { store, nand, gc, hybrid, untimed } = self;
        Preparation { untimed, store, gc, hybrid: hybrid.as_deref_mut(), nand }
    }

    /// How far that is.
    #[inline]
    pub fn prepared(&self) -> &Untimed {
        &self.untimed
    }

    /// Programs and commits a page at once, where an idle device would have put it, while time goes on. Takes a reserved page of its domain (`reserve`).
    /// A program that fails is repeated, as elsewhere, if there is another page; if not, the version is lost.
    pub fn place(&mut self, address: MemberPage, version: Version) -> Ppn {
        let (domain, slot) = (self.store.space.domain_of(address, version), self.store.maps.slot(address));
        loop {
            self.store.space.domains[domain as usize].reserved -= 1;
            let TakenPage { plane, ppn, closes } = self.preparation().take_page(domain, slot);
            if closes {
                self.attend(Due::Program(plane));
            }
            let fails = self.store.is_lost_page(ppn) && self.reserve(address, version);
            if fails {
                waste(self, slot, ppn);
            } else {
                self.store.maps.label(ppn, version, slot);
                self.name(version, slot, ppn, false);
            }
            if !self.store.space.blocks.has_host_pages(plane) {
                self.attend(Due::Collection(plane));
            }
            if !fails {
                return ppn;
            }
        }
    }

    // ---- checks ----

    /// What checks look at.
    pub fn checked(&self) -> Checked<'_> {
        let Self { store, nand, gc, hybrid, untimed } = self;
        Checked { store, gc, hybrid: hybrid.as_deref(), nand, untimed }
    }
}
