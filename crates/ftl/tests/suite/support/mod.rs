//! What the tests of a whole SSD share.

use flashraid_ftl::{CellTimes, ChosenPolicy, Flash, GcQuery, Given, MemorySettings, Placement, Progress, Settings};
use flashraid_vocabulary::{
    Action, Cause, Fault, GcBlockingScope, GcPace, GcStreams, Geometry, Lun, Member, MemberPage, NoObserver, PageOperation, Priority,
    RebuildTarget, Scheduling, SemivalidAction, Sources, Suspend, Transfer, Version, WearLeveling, WriteCompletes,
};
use std::collections::BTreeMap;

/// What the commit of the stripe of a page costs.
pub fn commit_cost(address: MemberPage) -> (u32, u32) {
    (address.page.0 % 3, 1)
}

/// Marsaglia's xorshift: tests only need some numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

pub const GEOMETRY: Geometry = Geometry {
    channels: 2,
    chips_per_channel: 3,
    dies_per_chip: 2,
    planes_per_die: 2,
    blocks_per_plane: 8,
    pages_per_block: 4,
    page_bytes: 4096,
};

/// One plane of 8 blocks of 4 pages.
pub const ONE_PLANE: Geometry = Geometry { channels: 1, chips_per_channel: 1, dies_per_chip: 1, planes_per_die: 1, ..GEOMETRY };

pub const GIVEN: Given = Given {
    mirror_chips: 0,
    spare_chips: 0,
    rebuild_target: RebuildTarget::Replacement,
    bus_ps_per_byte: 1000,
    read_command_ns: 1,
    program_command_ns: 1,
    erase_command_ns: 1,
    member: Member::Channel,
    lun: Lun::Die,
    scheduling: Scheduling::ReadFirst,
    write_completes: WriteCompletes::ProgramEnd,
    transfer: Transfer::Touched,
    multi_plane: false,
    program_pages: 1,
    read_pages: 1,
    copyback: false,
    suspend: Suspend::None,
    suspend_min_ns: 0,
    suspend_ns: 0,
    resume_ns: 0,
    suspend_limit: 1,
    suspend_reads: 1,
    slice: 1,
    active_dies: 0,
    wear_leveling: WearLeveling::Dynamic,
    wear_leveling_threshold: 1,
    gc_blocking_scope: GcBlockingScope::None,
    gc_pace: GcPace::Block,
    write_streams: 1,
    gc_streams: GcStreams::Shared,
    superblock: false,
    gc_reserve_blocks: 2,
    idle_ns: 1_000_000,
};

/// 2 channels of 3 chips of 2 dies of 2 planes of 8 blocks of 4 pages.
pub fn settings(placement: Placement) -> Settings {
    Settings {
        units_per_page: 1,
        memory: MemorySettings { pages: 0, read_ns: 0, survives_power_loss: false, pad_after_ns: 0 },
        geometry: GEOMETRY,
        slc: None,
        given: GIVEN,
        slices_per_bus: 1,
        pages_per_member: 150,
        translation_blocks: 0,
        translation_pages: 0,
        log_blocks: 0,
        shared_logs: false,
        cell: CellTimes::new(10, 100, 1000),
        static_order: *b"WDP",
        placement,
        gc_threshold: 0.1,
        gc_idle_threshold: 0.0,
        gc_idle_gain: 0.0,
        coordinates_migration: false,
        migration_free_blocks: 0.1,
        moves_bases: true,
        gc_policy: ChosenPolicy::of("greedy").unwrap(),
        commit_aware: false,
        seed: 0,
    }
}

pub fn operation(action: Action, address: MemberPage, version: Version, keep_base: bool) -> PageOperation {
    PageOperation {
        action,
        version,
        cause: Cause::Host,
        priority: Priority::Host,
        host_waits: true,
        keep_base,
        address,
        bytes: 4096,
        sources: Sources::default(),
        strip: PageOperation::NO_STRIP,
        stream: 0,
    }
}

/// A layer above the flash that programs and reads, and does with what fails what the engine does.
pub struct Host {
    pub flash: Flash,
    /// Programs under way: how many of each page, as only one at a time may be.
    pub writing: BTreeMap<(u32, u8), bool>,
    pub completed: [u32; 2],
    pub failed: [u32; 2],
    pub unplaced: u32,
    pub repeated: u32,
    /// Whether lost pages are expected at all.
    pub checks: bool,
    /// Semivalid pages whose commits are under way, and the planes that wait for them.
    pub commits: Vec<(u32, MemberPage)>,
    /// Questions about semivalid pages, and about victims.
    pub asked: [u32; 2],
}

impl Host {
    pub fn new(settings: Settings) -> Self {
        let flash = Flash::new(settings);
        Self {
            flash,
            writing: BTreeMap::new(),
            completed: [0; 2],
            failed: [0; 2],
            unplaced: 0,
            repeated: 0,
            checks: true,
            commits: Vec::new(),
            asked: [0; 2],
        }
    }

    /// Programs a page, if there is one and the page is not being programmed.
    pub fn write(&mut self, address: MemberPage, version: Version, keep_base: bool) -> bool {
        self.program(&operation(Action::Program, address, version, keep_base))
    }

    /// The same for any reason.
    pub fn program(&mut self, operation: &PageOperation) -> bool {
        let PageOperation { address, version, .. } = *operation;
        let key = (self.flash.store().maps().slot(address), version as u8);
        if self.writing.contains_key(&key) {
            return false;
        }
        if !self.flash.reserve(address, version) {
            self.settle(); // room may be made
            return false;
        }
        self.writing.insert(key, true);
        self.flash.submit(operation, key.0 << 2 | u32::from(key.1)).unwrap();
        self.settle();
        true
    }

    pub fn read(&mut self, address: MemberPage, version: Version) -> bool {
        let is_written = self.flash.store().lookup(address, version).is_some();
        if is_written {
            self.flash.submit(&operation(Action::Read, address, version, false), 3).unwrap();
            self.settle();
        }
        is_written
    }

    pub fn fail(&mut self, fault: Fault) {
        self.flash.fail(&fault);
        self.settle();
    }

    /// Takes what the flash has to say.
    pub fn settle(&mut self) {
        loop {
            let mut next = 0;
            while let Some(&completion) = self.flash.nand_mut().completions().get(next) {
                next += 1;
                self.completed(completion.record, completion.progress);
            }
            self.flash.nand_mut().completions().clear();
            while self.flash.store_mut().space_mut().news_mut().take_freed().is_some() {}
            self.flash.nand_mut().recording_mut().started().clear();
            let mut any = false;
            while let Some(query) = self.flash.take_gc_query() {
                any = true;
                match query {
                    GcQuery::Victim(plane) => {
                        self.asked[1] += 1;
                        self.flash.choose_victim(plane, &commit_cost);
                    }
                    GcQuery::Semivalid(plane, address) => {
                        self.asked[0] += 1;
                        self.rule(plane, address);
                    }
                }
            }
            if !any && self.flash.nand_mut().completions().is_empty() {
                break;
            }
        }
        if self.checks {
            self.flash.checked().check().unwrap();
        }
    }

    /// Pages are moved, freed and, if the device commits, committed in turn.
    fn rule(&mut self, plane: u32, address: MemberPage) {
        let action = match address.page.0 % 4 {
            1 | 3 if !self.flash.settings().moves_bases => SemivalidAction::CommitFirst,
            1 => SemivalidAction::Free,
            _ => SemivalidAction::Move,
        };
        if action == SemivalidAction::CommitFirst {
            self.commits.push((plane, address));
        }
        self.flash.rule(plane, address, action);
    }

    /// The oldest commit that a GC run waits for ends; one of a third leaves the page semivalid.
    pub fn end_commit(&mut self) -> bool {
        if self.commits.is_empty() {
            return false;
        }
        let (plane, address) = self.commits.remove(0);
        if address.page.0 % 3 > 0 {
            self.flash.unmap(address, Version::Base);
        }
        self.flash.committed(plane);
        self.settle();
        true
    }

    pub fn completed(&mut self, record: u32, progress: Progress) {
        let about = self.flash.nand().about(record);
        let kind = usize::from(about.action == Action::Program);
        let failed = progress == Progress::Failed;
        match progress {
            Progress::DataIn => return,
            Progress::Ended => self.completed[kind] += 1,
            Progress::Failed => self.failed[kind] += 1,
        }
        if about.action == Action::Read {
            assert_eq!(failed, self.flash.store().is_lost_page(about.ppn), "a read fails if its page is lost");
            return self.flash.nand_mut().remove_record(record);
        }
        let (slot, version) = (about.owner >> 2, [Version::Current, Version::Base, Version::Copy][(about.owner & 3) as usize]);
        if !failed {
            assert!(!self.flash.store().is_lost_page(about.ppn));
            self.flash.commit(record);
        } else if self.flash.repeat(record) {
            self.repeated += 1;
            return;
        } else {
            self.unplaced += 1;
            self.flash.abort(record);
            if version == Version::Current {
                self.flash.lose(self.flash.store().maps().address(slot));
            }
        }
        self.writing.remove(&(slot, version as u8));
    }

    pub fn advance(&mut self) -> bool {
        let goes_on = self.flash.nand().next_event_ns() != u64::MAX;
        if goes_on {
            self.flash.advance(&mut NoObserver);
            self.settle();
        }
        goes_on
    }

    pub fn finish(&mut self) {
        while self.end_commit() || self.advance() || self.flash.fail_stuck() {
            self.settle();
        }
        assert!(self.writing.is_empty(), "every program ends somehow: {:?}", self.writing);
    }

    /// How many pages of a member are lost, and how many are written.
    pub fn lost(&self, member: u16) -> (u32, u32) {
        let pages = (0..self.flash.settings().pages_per_member).map(|page| MemberPage::new(member, page));
        pages.fold((0, 0), |(lost, written), page| {
            let is_written = self.flash.store().lookup(page, Version::Current).is_some();
            (lost + u32::from(self.flash.store().is_lost(page, Version::Current)), written + u32::from(is_written))
        })
    }
}
