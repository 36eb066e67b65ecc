//! One SSD, without a clock of its own: it is told the time. Its state, how it is made, and how its time goes on.
//!
//! What it does stands beside the parts of the state that this concerns, as further methods: `mapping`, `nand`, `collection`, `faults`.

use crate::faults::Faults;
use crate::gc::state::Gc;
use crate::gc::victims::Victims;
use crate::mapping::blocks::{BlockState, Blocks, plane_stride};
use crate::mapping::filling::Filling;
use crate::mapping::hybrid::Hybrid;
use crate::mapping::maps::Maps;
use crate::mapping::phases::Phases;
use crate::mapping::space::{Domain, NIL, Pool};
use crate::nand::events::{EventQueue, NEVER};
use crate::nand::levels::Levels;
use crate::nand::records::Record;
use crate::nand::units::{Channel, Unit};
use crate::numbering::{Site, ppn_limit};
use crate::{ACTIONS, Completion, Counts, Done, FlashFault, GcCounts, GcQuery, Held, MapEvent, MemberLoad, Placement, Settings, Slice};
use flashraid_vocabulary::{Cause, Divisor, Geometry, Health, MemberId, Observer, Ppn, WearLeveling, memory};

/// Page operations in flight for which there is space without growing.
const ROOM: usize = 1 << 21;
/// Domains that gain space at one instant, each as often as it does, hardly ever more.
const MOST_FREED: usize = 64;

/// The flash of one device.
#[derive(Clone, Debug)]
pub struct Flash {
    pub(crate) settings: Settings,
    pub(crate) now_ns: u64,
    pub(crate) maps: Maps,
    pub(crate) blocks: Blocks,
    pub(crate) victims: Victims,
    pub(crate) domains: Vec<Domain>,
    /// Programs that wait in domains, as `pool_of` numbers them.
    pub(crate) pools: Vec<Pool>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) units: Vec<Unit>,
    pub(crate) events: EventQueue,
    pub(crate) records: Vec<Record>,
    pub(crate) free_records: u32,
    /// Programs that wait in pools.
    pub(crate) pooled: u32,
    /// Channels (bits) that may find a program in the pools of their domains; those that looked in vain are not in it.
    pub(crate) pooled_channels: u64,
    /// Programs that wait in pools for replacements.
    pub(crate) pooled_for_replacements: u32,
    pub(crate) gc_runs: Vec<Gc>,
    pub(crate) cold: Vec<std::collections::BinaryHeap<std::cmp::Reverse<(u32, u16)>>>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) started: Vec<(u32, Ppn, u32)>,
    pub(crate) lists_started: bool,
    pub(crate) freed: Vec<u32>,
    pub(crate) gc_queries: Vec<GcQuery>,
    pub(crate) map_events: Vec<MapEvent>,
    pub(crate) untimed: bool,
    pub(crate) programmed_now: u64,
    pub(crate) victims_now: u64,
    /// Of each unit, pages that GC moved to it, and erases of GC, before the device was switched on.
    pub(crate) gc_before: Vec<[u64; 2]>,
    /// What GC runs have done beside the page operations in `counts`.
    pub collected: GcCounts,
    pub(crate) loads: Vec<MemberLoad>,
    pub(crate) held: Vec<Held>,
    pub(crate) completed_requests: u64,
    /// Whether other SSDs have events at this very time.
    pub(crate) others_have_events: bool,
    /// Whether it may be programmed and collected.
    pub(crate) health: Health,
    /// With coordinated migration: page operations of migrations that are submitted and have not ended.
    pub(crate) migrations: u32,
    pub(crate) records_slices: bool,
    pub(crate) slices: Vec<Slice>,
    pub(crate) records_done: bool,
    pub(crate) done: Vec<Done>,
    /// Of units that were at work when recording began: since when.
    pub(crate) begun_before: Vec<Option<u64>>,
    /// What page operations were started, by action and cause.
    pub counts: Counts,
    /// Deliberate faults, only for tests of the checkers.
    #[cfg(feature = "mutants")]
    pub mutant: Option<FlashFault>,
    pub(crate) static_planes: Vec<u32>,
    pub(crate) members: u32,
    pub(crate) units_per_channel: u32,
    pub(crate) planes_per_unit: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) per_block: Divisor,
    pub(crate) per_plane: Divisor,
    pub(crate) sites: Vec<Site>,
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
    /// LDPC, if the device has it.
    pub(crate) levels: Option<Box<Levels>>,
}

impl Flash {
    /// An erased device. The settings must have passed the configuration's checks.
    pub fn new(settings: Settings) -> Self {
        let geometry = settings.geometry;
        let members = settings.members();
        let units_per_channel = settings.units_per_channel();
        let planes_per_unit = settings.planes_per_unit();
        let planes = geometry.channels * units_per_channel * planes_per_unit;
        let has_translation = settings.translation_blocks > 0;
        let chip = |plane: u32| plane / planes_per_unit % units_per_channel % settings.chips_per_channel();
        // A spare chip gets them when it replaces a chip that has them.
        let data_chips = geometry.chips_per_channel - settings.given.mirror_chips;
        let translation = |plane: u32| if chip(plane) < data_chips { settings.translation_blocks } else { 0 };
        let data_planes =
            (0..planes).map(|plane| (geometry.blocks_per_plane - translation(plane), [settings.gc_threshold, settings.gc_idle_threshold]));
        // Translation planes are small, and collected when they are short of blocks alone.
        let translation_planes = (0..planes).filter(|_| has_translation).map(|plane| (translation(plane), [0.0; 2]));
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
        let units = (geometry.channels * units_per_channel) as usize;
        let page_limit = ppn_limit(&geometry, settings.given.spare_chips, has_translation) as usize;
        let has_decoder = settings.cell.ldpc().is_some_and(|ldpc| ldpc.decode_ns > 0);
        let others = usize::from(settings.gc_idle_threshold > 0.0) + usize::from(has_decoder);
        let mut flash = Self {
            now_ns: 0,
            maps: Maps::new(slots, page_limit),
            faults: Faults::new(&settings, Ppn(page_limit as u32 - 1)),
            preset_erases: 0,
            victims: Victims::new(planes, geometry.pages_per_block),
            domains: Vec::new(),
            pools: Vec::new(),
            channels: (0..geometry.channels).map(|channel| Channel::new(channel, units_per_channel)).collect(),
            units: (0..units as u32).map(|unit| Unit::new(unit / units_per_channel, unit % units_per_channel)).collect(),
            events: EventQueue::with_buses(geometry.channels as usize + units + others, units as u32),
            records: memory::reserved(ROOM),
            free_records: NIL,
            pooled: 0,
            pooled_channels: 0,
            pooled_for_replacements: 0,
            gc_runs: vec![Gc::IDLE; planes as usize],
            cold: vec![Default::default(); planes as usize],
            completions: Vec::new(),
            started: Vec::new(),
            lists_started: false,
            freed: Vec::with_capacity(MOST_FREED),
            gc_queries: Vec::new(),
            map_events: Vec::new(),
            untimed: false,
            programmed_now: 0,
            victims_now: 0,
            gc_before: vec![[0; 2]; units],
            collected: GcCounts::default(),
            loads: vec![MemberLoad::default(); members as usize],
            held: vec![Held::default(); members as usize],
            completed_requests: 0,
            others_have_events: false,
            health: Health::ReadWrite,
            migrations: 0,
            records_slices: false,
            slices: Vec::new(),
            records_done: false,
            done: Vec::new(),
            begun_before: Vec::new(),
            counts: [[0; Cause::COUNT]; ACTIONS],
            #[cfg(feature = "mutants")]
            mutant: None,
            static_planes: Vec::new(),
            members,
            units_per_channel,
            planes_per_unit,
            pages_per_block: geometry.pages_per_block,
            per_block: Divisor::new(geometry.pages_per_block),
            per_plane: Divisor::new(plane_stride(geometry.blocks_per_plane) * geometry.pages_per_block),
            sites: Vec::new(),
            translation_domains: 0,
            filling: None,
            phases: None,
            levels: settings.cell.ldpc().map(|ldpc| Box::new(Levels::new(ldpc, blocks.blocks.len()))),
            hybrid: is_hybrid.then(|| Box::new(Hybrid::new(&settings, planes as usize, blocks.blocks.len()))),
            blocks,
            settings,
        };
        // The sentinel of lost pages lies in the gap behind the last plane.
        let gap = flash.block_of(flash.faults.lost);
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

    /// Simulated time of the last event processed.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time of the earliest event, `u64::MAX` if nothing is in flight.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.events.first_ns()
    }

    /// The earliest event: its time, `u64::MAX` if nothing is in flight, and whether it is one of a bus (or of the timer or the decoder, which come last).
    #[inline]
    pub fn next_event(&self) -> (u64, bool) {
        let (time_ns, resource) = self.events.first();
        (time_ns, resource >= self.units.len() as u32)
    }

    /// Moves the clock to a time before the next event (an arrival).
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns && now_ns <= self.next_event_ns());
        self.now_ns = now_ns;
    }

    /// Tells one SSD of several what it needs to know before it does something: the time, how many requests have completed, and whether other
    /// SSDs have events at this very time.
    #[inline]
    pub fn set_surroundings(&mut self, now_ns: u64, completed_requests: u64, others_have_events: bool) {
        self.set_now(now_ns);
        (self.completed_requests, self.others_have_events) = (completed_requests, others_have_events);
    }

    /// Processes the earliest event. Completions, freed domains and questions must be taken before the next call.
    pub fn advance<O: Observer>(&mut self, observer: &mut O) {
        let time_ns = self.events.first_ns();
        debug_assert!(time_ns >= self.now_ns && time_ns != NEVER);
        self.now_ns = time_ns;
        if let Some(bus) = self.events.bus_alone() {
            return self.bus_event(bus);
        }
        let (_, resource) = self.events.first();
        let units = self.units.len() as u32;
        match resource.checked_sub(units) {
            None => self.unit_event(resource, observer),
            Some(channel) if (channel as usize) < self.channels.len() => self.bus_event(channel),
            Some(other) if other as usize == self.channels.len() && self.collects_when_idle() => self.idle_timer_event(),
            Some(_) => self.decoded(observer),
        }
    }

    /// Processes the events of buses that are due now, as long as nothing has happened that must be taken, and no LUN has an event.
    #[inline]
    pub fn serve_due_buses(&mut self) {
        while self.completions.is_empty()
            && !self.has_news()
            && let Some(bus) = self.events.bus_alone()
        {
            self.bus_event(bus);
        }
    }

    /// Completions of the last event, in order. Who takes them empties the list.
    #[inline]
    pub fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
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

    /// Load of a member.
    pub fn load(&self, member: MemberId) -> &MemberLoad {
        &self.loads[usize::from(member.0)]
    }

    /// Versions of a member's pages beside the current ones.
    #[inline]
    pub fn held(&self, member: MemberId) -> Held {
        self.held[usize::from(member.0)]
    }

    /// Whether the flash makes this fault: never in a product build.
    #[inline(always)]
    pub fn makes(&self, fault: FlashFault) -> bool {
        #[cfg(feature = "mutants")]
        return self.mutant == Some(fault);
        #[cfg(not(feature = "mutants"))]
        {
            let _ = fault;
            false
        }
    }
}
