//! Flash: page maps, free space, collection and wear; below them buses, array units, queues and cell times.
//!
//! The layer above submits page operations by (member, page, version) and gets completions; it never learns a physical page
//! but to label contents. Reading order: `settings`, `mapping`, `nand`, `collection`.

#![warn(missing_docs)]

#[cfg(feature = "mutants")]
pub mod accounting;
pub mod collection;
mod faults;
pub mod mapping;
mod mutants;
pub mod nand;
mod settings;
mod topology;
mod view;

pub use collection::Collected;
pub use collection::collector::Collecting;
use collection::collector::Collection;
pub use collection::merge::MergeKind;
use collection::victims::Victims;
use faults::Faults;
use flashraid_vocabulary::{Action, Cause, Geometry, MemberId, MemberPage, Observer, Ppn, Version, memory};
pub use mapping::blocks::Space;
use mapping::blocks::{Blocks, State, Stream, plane_stride};
use mapping::hybrid::Hybrid;
use mapping::maps::Maps;
use mapping::space::{DATA, Domain, NIL};
pub use mutants::FlashFault;
use nand::events::EventQueue;
pub use nand::records::About;
use nand::records::Record;
pub use nand::slices::{Activity, Done, Slice, Track};
use nand::units::{Channel, Unit};
pub use settings::{Blocking, CellOperation, CellTimes, Placement, Settings};
pub use topology::ppn_limit;
use topology::{Divisor, Site};

/// Page operations in flight for which there is room without growing.
const ROOM: usize = 1 << 21;

/// What a completion reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The data of a program are in the die's register (only if the device reports it).
    DataIn,
    /// The page operation has ended.
    Ended,
    /// The page operation has failed: a read of a page that is lost now, or a program. The record of a program lives until `repeat` succeeds or
    /// `abort`.
    Failed,
}

/// A page operation made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its handle. A read's is free again once the completion is taken; a program's after `commit` or `abort`.
    pub record: u32,
    /// What happened.
    pub progress: Progress,
}

/// What the collector did to the map, for whom stores it: reported while there are translation planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapNews {
    /// A version of a page of a scheme is elsewhere now.
    Moved {
        /// The plane in which it was moved.
        plane: u32,
        /// Which version.
        version: Version,
        /// Of which page.
        slot: u32,
    },
    /// The collection of the plane has ended: its victim, from which pages were moved, is erased, or it was cut short.
    Ended {
        /// The plane.
        plane: u32,
    },
}

/// What the collector wants to know of the layer above, which answers in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which block of the plane is collected, as some have semivalid pages to commit: answered by `choose_victim`.
    Victim(u32),
    /// What becomes of a semivalid page in the victim of a plane: answered by `rule`.
    Semivalid(u32, MemberPage),
}

/// Load and traffic of one member.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberLoad {
    /// Reads queued and not started.
    pub reads: u32,
    /// Programs queued and not started.
    pub programs: u32,
    /// Page operations of plans in service.
    pub in_service: u32,
    /// Collections that run in the member.
    pub collections: u32,
    /// Sum over completed host requests of the queue length found at their completion (SPEC 3.6).
    blocked_sum: u64,
    blocked_epoch: u64,
}

/// How many pages of a member have versions beside the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Pages with a base.
    pub bases: u32,
    /// Pages with a copy.
    pub copies: u32,
}

/// Number of actions counted: reads, programs, erases.
pub const ACTIONS: usize = 3;

/// What the NAND did, by action and cause.
pub type Counts = [[u64; Cause::COUNT]; ACTIONS];

/// The flash of one device.
#[derive(Clone, Debug)]
pub struct Flash {
    pub(crate) settings: Settings,
    pub(crate) now_ns: u64,
    pub(crate) maps: Maps,
    pub(crate) blocks: Blocks,
    pub(crate) victims: Victims,
    pub(crate) domains: Vec<Domain>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) units: Vec<Unit>,
    pub(crate) events: EventQueue,
    pub(crate) records: Vec<Record>,
    pub(crate) free_records: u32,
    /// Programs that wait in a domain for any of its units.
    pub(crate) pooled: u32,
    pub(crate) collections: Vec<Collection>,
    pub(crate) cold: Vec<std::collections::BinaryHeap<std::cmp::Reverse<(u32, u16)>>>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) started: Vec<(u32, Ppn, u32)>,
    pub(crate) freed: Vec<u32>,
    pub(crate) questions: Vec<Question>,
    pub(crate) map_news: Vec<MapNews>,
    pub(crate) without_time: bool,
    pub(crate) programmed_now: u64,
    pub(crate) victims_now: u64,
    /// What collections have done beside the page operations in `counts`.
    pub collected: Collected,
    pub(crate) loads: Vec<MemberLoad>,
    held: Vec<Held>,
    pub(crate) completed_requests: u64,
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
    /// Hybrid mapping, if the device has it.
    pub(crate) hybrid: Option<Box<Hybrid>>,
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
        let data_chips = geometry.chips_per_channel - settings.mirror_chips;
        let translation = |plane: u32| if chip(plane) < data_chips { settings.translation_blocks } else { 0 };
        let data_planes = (0..planes).map(|plane| (geometry.blocks_per_plane - translation(plane), settings.gc_threshold));
        // Translation planes are small, and collected when they are short of blocks alone.
        let translation_planes = (0..planes).filter(|_| has_translation).map(|plane| (translation(plane), 0.0));
        let mut blocks = Blocks::new(
            data_planes.chain(translation_planes),
            geometry.blocks_per_plane,
            geometry.pages_per_block,
            settings.gc_hard,
            settings.wear_dynamic,
        );
        let planes = blocks.planes.len() as u32;
        let is_hybrid = settings.placement == Placement::Blocks;
        blocks.is_hybrid = is_hybrid;
        let slots = (settings.pages_per_member + settings.translation_pages) as usize * members as usize;
        let units = (geometry.channels * units_per_channel) as usize;
        let page_limit = ppn_limit(&geometry, settings.spare_chips, has_translation) as usize;
        let mut flash = Self {
            now_ns: 0,
            maps: Maps::new(slots, page_limit),
            faults: Faults::new(&settings, Ppn(page_limit as u32 - 1)),
            victims: Victims::new(planes, geometry.pages_per_block),
            domains: Vec::new(),
            channels: (0..geometry.channels).map(|channel| Channel::new(channel, units_per_channel)).collect(),
            units: (0..units as u32).map(|unit| Unit::new(unit / units_per_channel, unit % units_per_channel)).collect(),
            events: EventQueue::new(geometry.channels as usize + units),
            records: memory::reserved(ROOM),
            free_records: NIL,
            pooled: 0,
            collections: vec![Collection::IDLE; planes as usize],
            cold: vec![Default::default(); planes as usize],
            completions: Vec::new(),
            started: Vec::new(),
            freed: Vec::new(),
            questions: Vec::new(),
            map_news: Vec::new(),
            without_time: false,
            programmed_now: 0,
            victims_now: 0,
            collected: Collected::default(),
            loads: vec![MemberLoad::default(); members as usize],
            held: vec![Held::default(); members as usize],
            completed_requests: 0,
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
            hybrid: is_hybrid.then(|| Box::new(Hybrid::new(&settings, planes as usize, blocks.blocks.len()))),
            blocks,
            settings,
        };
        // The sentinel of lost pages lies in the gap behind the last plane.
        let gap = flash.block_of(flash.faults.lost);
        flash.blocks.blocks[gap].state = State::Retired;
        flash.assign_units();
        flash.static_planes = flash.order_static_planes();
        flash.form_domains();
        if is_hybrid {
            flash.form_instances();
        }
        flash
    }

    // ---- free space ----

    /// Promises a page to a program of this version, if there is one; else starts what makes room.
    #[inline]
    pub fn reserve(&mut self, address: MemberPage, version: Version) -> bool {
        let domain = self.domain_of(address, version);
        if self.hybrid.is_some() && !self.promise(self.slot(address)) {
            return false;
        }
        self.domains[domain as usize].reserve()
    }

    /// Gives back what `reserve` has promised.
    pub fn release(&mut self, address: MemberPage, version: Version) {
        if self.hybrid.is_some() {
            self.break_promise(self.slot(address));
        }
        let domain = self.domain_of(address, version);
        self.domains[domain as usize].reserved -= 1;
        self.freed.push(domain);
    }

    /// Takes a domain that gained space since the last call; operations may wait for it.
    #[inline]
    pub fn take_freed(&mut self) -> Option<u32> {
        self.freed.pop()
    }

    /// Takes the next page of a plane for a host program. The page stays pending.
    #[inline]
    pub(crate) fn take_host_page(&mut self, plane: u32) -> Ppn {
        let (block, offset) = self.blocks.take(plane, Stream::Host);
        let domain = self.domain_of_plane(plane);
        self.domains[domain as usize].free_pages -= 1;
        if offset + 1 == self.pages_per_block && self.blocks.host_pages(plane) == 0 {
            self.set_writable(plane, false);
        }
        Ppn(block as u32 * self.pages_per_block + offset)
    }

    pub(crate) fn set_writable(&mut self, plane: u32, writable: bool) {
        let Site { unit, bit, domain } = self.sites[plane as usize];
        let kind = self.domains[domain as usize].kind;
        let unit = &mut self.units[unit as usize];
        let planes = &mut unit.writable[kind];
        *planes = if writable { *planes | bit } else { *planes & !bit };
        let units = &mut self.channels[unit.channel as usize].writable[kind];
        *units = if *planes != 0 { *units | unit.bit } else { *units & !unit.bit };
    }

    /// Changes what programs of plans may take in a plane, and lets its domain know.
    pub(crate) fn change_space<R>(&mut self, plane: u32, change: impl FnOnce(&mut Blocks) -> R) -> R {
        let before = i64::from(self.blocks.host_pages(plane));
        let result = change(&mut self.blocks);
        let after = i64::from(self.blocks.host_pages(plane));
        let domain = self.domain_of_plane(plane);
        if after != before && domain != NIL {
            self.domains[domain as usize].free_pages += after - before;
            self.set_writable(plane, after > 0);
            if after > before {
                self.freed.push(domain);
            } else {
                self.pool_if_short(domain);
            }
        }
        result
    }

    /// Number of planes, translation planes included.
    pub fn planes(&self) -> u32 {
        self.blocks.planes.len() as u32
    }

    /// Number of space domains.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    // ---- versions ----

    /// The physical page of a version: only to label contents and to check them.
    #[inline]
    pub fn lookup(&self, address: MemberPage, version: Version) -> Option<Ppn> {
        self.maps.get(version, self.slot(address))
    }

    /// The first slot at or after `slot` and before `end` that has a current version.
    pub fn next_mapped(&self, slot: u32, end: u32) -> Option<u32> {
        self.maps.next_mapped(slot, end)
    }

    /// Ends a program: its page becomes the version it was programmed for; what that version named before becomes garbage, or
    /// the base if the plan says so and there is none yet.
    #[inline]
    pub fn commit(&mut self, record: u32) {
        let Record { slot, ppn, version, keep_base, .. } = self.records[record as usize];
        if self.has_failures() && self.is_unplaced(record) {
            self.lose_version(version, slot, keep_base);
        } else {
            self.name(version, slot, Ppn(ppn), keep_base);
        }
        self.free_record(record);
    }

    #[inline]
    fn name(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let block = self.block_of(ppn);
        self.blocks.blocks[block].live += 1;
        self.supersede(version, slot, ppn, keep_base);
        self.settle(block);
        if self.hybrid.is_some() {
            self.page_settled(slot, ppn);
        }
    }

    /// The version is lost: it names the sentinel.
    #[cold]
    fn lose_version(&mut self, version: Version, slot: u32, keep_base: bool) {
        self.supersede(version, slot, self.faults.lost, keep_base);
    }

    /// The version is `ppn` now; what it named before becomes garbage, or the base.
    #[inline(always)]
    fn supersede(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let old = self.maps.set(version, slot, ppn);
        match old {
            Some(old) if keep_base && self.maps.get(Version::Base, slot).is_none() => {
                self.becomes_base(slot, old);
            }
            Some(old) => self.invalidate(old),
            None if version == Version::Copy => self.held[(slot % self.members) as usize].copies += 1,
            None => {}
        }
    }

    /// A programmed page of the block is pending no more; a full block without pending pages can become a victim.
    #[inline]
    pub(crate) fn settle(&mut self, block: usize) {
        let entry = &mut self.blocks.blocks[block];
        entry.pending -= 1;
        if entry.pending == 0 && matches!(entry.state, State::Closed | State::Doomed) {
            self.list_victim(block);
        }
    }

    pub(crate) fn list_victim(&mut self, block: usize) {
        let (plane, number) = self.blocks.place(block);
        if self.blocks.blocks[block].state == State::Doomed {
            return self.drain_doomed(plane);
        }
        self.victims.insert(plane, number, self.blocks.of_plane(plane));
        if self.settings.wear_static.is_some() {
            self.note_cold(plane, number);
        }
        self.collect_if_starved(plane);
    }

    /// A live page becomes garbage.
    #[inline]
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        let block = self.block_of(ppn);
        let entry = &mut self.blocks.blocks[block];
        if !entry.listed {
            if ppn != self.faults.lost {
                entry.live -= 1;
            }
            return;
        }
        let (plane, number) = self.blocks.place(block);
        let blocks = self.blocks.of_plane(plane);
        self.victims.remove(plane, number, blocks);
        blocks[usize::from(number)].live -= 1;
        self.victims.insert(plane, number, blocks);
        self.collect_if_starved(plane);
    }

    /// The page has no current version any more.
    pub fn unmap(&mut self, address: MemberPage, version: Version) {
        if let Some(old) = self.maps.clear(version, self.slot(address)) {
            if version == Version::Base {
                self.count_base(old, -1);
            }
            self.invalidate(old);
            let held = &mut self.held[usize::from(address.member.0)];
            match version {
                Version::Current => {}
                Version::Base => {
                    held.bases -= 1;
                    self.base_released(old);
                }
                Version::Copy => held.copies -= 1,
                Version::Delayed => unreachable!("never on flash"),
            }
        }
    }

    /// The page has no current version any more: it becomes the base, if there is none.
    pub fn retire(&mut self, address: MemberPage) {
        let slot = self.slot(address);
        if self.maps.get(Version::Base, slot).is_some() {
            return self.unmap(address, Version::Current);
        }
        if let Some(old) = self.maps.clear(Version::Current, slot) {
            self.becomes_base(slot, old);
        }
    }

    #[inline(always)]
    fn becomes_base(&mut self, slot: u32, old: Ppn) {
        self.maps.set(Version::Base, slot, old);
        self.maps.label(old, Version::Base, slot);
        self.held[(slot % self.members) as usize].bases += 1;
        self.count_base(old, 1);
    }

    /// A page of the block became a base, or is one no more. Only who commits bases needs to know.
    #[inline]
    fn count_base(&mut self, ppn: Ppn, change: i16) {
        if self.settings.moves_bases || ppn == self.faults.lost {
            return;
        }
        let block = self.block_of(ppn);
        let (plane, number) = self.blocks.place(block);
        let listed = self.blocks.blocks[block].listed;
        if listed {
            self.victims.remove(plane, number, self.blocks.of_plane(plane));
        }
        let entry = &mut self.blocks.blocks[block];
        entry.bases = entry.bases.wrapping_add_signed(change);
        if listed {
            self.victims.insert(plane, number, self.blocks.of_plane(plane));
        }
        // One page less to move. (Of a base that goes the page is still to be counted off.)
        if listed && change > 0 {
            self.collect_if_starved(plane);
        }
    }

    // ---- without time: fill, precondition, first touch ----

    /// Programs and commits a page at once, where an idle device would have put it. Takes a promised page of its domain (`reserve`).
    pub fn place(&mut self, address: MemberPage, version: Version) -> Ppn {
        let domain = self.domain_of(address, version);
        self.domains[domain as usize].reserved -= 1;
        let (plane, ppn) = self.place_in(domain, address, version, false);
        if self.blocks.host_pages(plane) == 0 {
            self.collect_if_starved(plane);
        }
        ppn
    }

    /// Programs and commits a page at once; the domain has one that is not promised. Returns its plane and its number.
    #[inline]
    pub(crate) fn place_in(&mut self, domain: u32, address: MemberPage, version: Version, keep_base: bool) -> (u32, Ppn) {
        let plane = match self.settings.placement {
            Placement::Static | Placement::Blocks if self.domains[domain as usize].kind == DATA => self.domains[domain as usize].plane,
            _ => self.next_plane(domain),
        };
        let slot = self.slot(address);
        let ppn = if self.hybrid.is_some() { self.take_promised(slot) } else { self.take_host_page(plane) };
        self.maps.label(ppn, version, slot);
        self.name(version, slot, ppn, keep_base);
        (plane, ppn)
    }

    /// The plane whose turn it is: channels in turn, then units, then planes, as an idle device deals out what comes one page after
    /// the other; the nearest writable one if that is full. Programs in time have turns of their own, so that what is placed
    /// while they run does not follow them around.
    fn next_plane(&mut self, domain: u32) -> u32 {
        let entry = &mut self.domains[domain as usize];
        let (mut channel, unit, plane) = entry.fill_turn;
        let ((first, end), units, kind) = (entry.channels, entry.units, entry.kind);
        entry.fill_turn.0 = if channel + 1 == end { first } else { channel + 1 };
        if channel + 1 == end {
            let next = nand::units::after(units, u64::from(unit));
            entry.fill_turn.1 = next;
            if next <= unit {
                entry.fill_turn.2 = if plane + 1 == self.planes_per_unit { 0 } else { plane + 1 };
            }
        }
        while self.channels[channel as usize].writable[kind] & units == 0 {
            channel = if channel + 1 == end { first } else { channel + 1 };
        }
        let channel = &self.channels[channel as usize];
        let unit = channel.first_unit + nand::units::at_or_after(channel.writable[kind] & units, unit);
        self.first_plane(unit, kind) + nand::units::at_or_after(self.units[unit as usize].writable[kind], plane)
    }

    // ---- what others may look at ----

    /// Simulated time of the last event processed.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The device's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Shape of the device.
    pub fn geometry(&self) -> Geometry {
        self.settings.geometry
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

    /// Erased blocks of a member, without those of its translation planes.
    pub fn free_blocks(&self, member: u32) -> u64 {
        (0..self.units.len() as u32)
            .filter(|unit| self.member_of_unit(*unit) == Some(member))
            .map(|unit| self.free_blocks_of_unit(unit))
            .sum()
    }

    /// Erased blocks of an array unit.
    pub fn free_blocks_of_unit(&self, unit: u32) -> u64 {
        self.free_blocks_of_planes(unit).map(u64::from).sum()
    }

    /// Erased blocks of each plane of an array unit.
    pub fn free_blocks_of_planes(&self, unit: u32) -> impl Iterator<Item = u32> {
        self.blocks.planes[self.first_plane(unit, DATA) as usize..][..self.planes_per_unit as usize].iter().map(|plane| plane.free_blocks)
    }

    /// How full the device is.
    pub fn space(&self) -> Space {
        self.blocks.space()
    }

    /// Erase count of each block.
    pub fn erase_counts(&self) -> impl Iterator<Item = u32> + Clone {
        self.blocks.erase_counts()
    }

    /// Array units, in order of channel and unit.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Channels.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Asks the processor for what a request to this page will touch first.
    #[inline(always)]
    pub fn prefetch_map(&self, address: MemberPage) {
        let slot = self.slot(address);
        self.maps.prefetch(slot);
        if self.keeps_versions() {
            self.maps.prefetch_base(slot);
        }
        if self.settings.mirror_chips > 0 {
            self.maps.prefetch_copy(slot);
        }
    }

    /// Asks the processor for the block of a slot's current version; the map entry should be there already.
    #[inline(always)]
    pub fn prefetch_block(&self, slot: u32) {
        if let Some(ppn) = self.maps.get(Version::Current, slot) {
            memory::prefetch(&self.blocks.blocks, self.block_of(ppn));
            if self.keeps_versions() {
                self.maps.prefetch_label(ppn);
            }
        }
    }

    /// Whether superseded pages become bases, as a rule: of schemes with copies, and of those that commit bases before they are erased.
    #[inline(always)]
    fn keeps_versions(&self) -> bool {
        self.settings.mirror_chips > 0 || !self.settings.moves_bases
    }

    /// Counts a completed host request, for the members' mean of blocked requests.
    #[inline]
    pub fn request_completed(&mut self) {
        self.completed_requests += 1;
    }

    /// Completed host requests counted.
    pub fn requests_completed(&self) -> u64 {
        self.completed_requests
    }

    /// Sum over completed requests of the member's queue length at their completion.
    pub fn blocked_sum(&self, member: u32) -> u64 {
        let load = &self.loads[member as usize];
        load.blocked_sum + u64::from(load.reads + load.programs) * (self.completed_requests - load.blocked_epoch)
    }

    pub(crate) fn count(&mut self, action: usize, cause: Cause) {
        #[cfg(feature = "mutants")]
        let cause = match cause {
            Cause::Wear if accounting::makes(accounting::Slip::WearAsCollection) => Cause::Gc,
            Cause::Rebuild if action == 1 && accounting::makes(accounting::Slip::RebuildAsParity) => Cause::Parity,
            cause => cause,
        };
        self.counts[action][cause as usize] += 1;
    }

    /// Checks what must always hold, by scanning everything; for tests. Returns what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut live = vec![0u16; self.blocks.blocks.len()];
        let mut bases = vec![0u16; self.blocks.blocks.len()];
        let mut held = vec![Held::default(); self.members as usize];
        for version in [Version::Current, Version::Base, Version::Copy] {
            for slot in 0..(self.settings.pages_per_member + self.settings.translation_pages) * self.members {
                if let Some(ppn) = self.maps.get(version, slot) {
                    if ppn != self.faults.lost {
                        if self.maps.labelled(ppn) != (version, slot) {
                            return Err(format!("{version:?} of slot {slot} is at {ppn:?}, labelled {:?}", self.maps.labelled(ppn)));
                        }
                        live[self.block_of(ppn)] += 1;
                        bases[self.block_of(ppn)] += u16::from(version == Version::Base && !self.settings.moves_bases);
                    }
                    let held = &mut held[(slot % self.members) as usize];
                    held.bases += u32::from(version == Version::Base);
                    held.copies += u32::from(version == Version::Copy);
                }
            }
        }
        if held != self.held {
            return Err(format!("{held:?} bases and copies, counted {:?}", self.held));
        }
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            if (block.live, block.bases) != (live[index], bases[index]) {
                let (live, bases) = (live[index], bases[index]);
                return Err(format!(
                    "block {index} counts {} live pages and {} bases, the maps name {live} and {bases}",
                    block.live, block.bases
                ));
            }
            let (plane, number) = self.blocks.place(index);
            if self.victims.pinned(plane).contains(&number) != (block.listed && block.bases > 0) {
                return Err(format!("block {index} {block:?} is wrongly among those with bases, or not"));
            }
            if block.listed != (block.state == State::Closed && block.pending == 0) {
                return Err(format!("block {index} {block:?} is wrongly listed or unlisted"));
            }
        }
        for (id, domain) in self.domains.iter().enumerate() {
            let planes = (0..self.blocks.planes.len() as u32).filter(|plane| self.domain_of_plane(*plane) == id as u32);
            let pages: i64 = planes.map(|plane| i64::from(self.blocks.host_pages(plane))).sum();
            let overdrawn = domain.reserved > domain.free_pages && !self.has_failures();
            if pages != domain.free_pages || domain.reserved < 0 || overdrawn {
                return Err(format!("domain {id}: {pages} free pages, counted {}, reserved {}", domain.free_pages, domain.reserved));
            }
        }
        if self.hybrid.is_some() {
            self.check_hybrid()?;
        }
        self.check_starved()?;
        self.check_faults()
    }
}

/// Index of an action in `Counts`; erases come third.
pub fn action_index(action: Action) -> usize {
    action as usize
}

impl Flash {
    /// Processes the earliest event. Completions, freed domains and questions must be taken before the next call.
    pub fn advance<O: Observer>(&mut self, observer: &mut O) {
        let (time_ns, resource) = self.events.first();
        debug_assert!(time_ns >= self.now_ns && time_ns != nand::events::NEVER);
        self.now_ns = time_ns;
        let units = self.units.len() as u32;
        match resource.checked_sub(units) {
            None => self.unit_event(resource, observer),
            Some(channel) => self.bus_event(channel),
        }
    }

    /// Time of the earliest event, `u64::MAX` if nothing is under way.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.events.first_ns()
    }

    /// Moves the clock to a time before the next event (an arrival).
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns && now_ns <= self.next_event_ns());
        self.now_ns = now_ns;
    }

    /// Completions of the last event, in order; `forget_completions` empties the list.
    #[inline]
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// See `completions`.
    #[inline]
    pub fn forget_completions(&mut self) {
        self.completions.clear();
    }
}
