//! What a device is, as its FTL needs it.

use crate::memory::MemorySettings;
use crate::space::slc::SlcSettings;
use crate::space::victim::ChosenPolicy;
use flashraid_nand::{CellTimes, NandSettings, Shape, SlcTimes, SuspendSettings};
use flashraid_vocabulary::{
    GcBlockingScope, GcPace, GcStreams, Geometry, LocalPage, Lun, Member, Part, RebuildTarget, Scheduling, Suspend, Transfer, WearLeveling,
    WriteCompletes,
};
use std::ops::Range;

/// How a program finds its plane, and so which planes share their free space (a *space domain*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Plane by arithmetic on the local page; each plane is a domain of its own.
    Static,
    /// Any plane of the member, idle LUNs first; each member is a domain, and its mirror chips, if it has any, are another.
    Member,
    /// As `Static`, by arithmetic on the logical block: hybrid mapping, and only that.
    Blocks,
    /// Any plane of a group of members; `n` groups of equal size.
    Groups(u32),
}

/// The settings of a device that NAND and FTL take as they are given. Each is declared once, here: it is a field of [`Given`] and a key of the
/// configuration. The columns are those of the tables of settings (`config/schema.rs` of flashraid-sim), which give them their meaning.
///
/// Calls the macro `$then` with the list in braces, between what else the table has.
#[macro_export]
macro_rules! given_settings {
    ($then:ident { $($head:tt)* } { $($before:tt)* } { $($after:tt)* }) => {
        $then! { $($head)* {
            $($before)*
            /// Chips on each channel, of `chips_per_channel`, that hold only mirror copies. A scheme that uses mirror chips sets its own default.
            mirror_chips: u32 = Some("0"), "", whole(0, 63), EVER;
            /// Additional chips on each channel that stay idle until a chip fails and then replace it. They are not part of any other capacity.
            spare_chips: u32 = Some("0"), "", whole(0, 63), EVER;
            /// Where a rebuild programs what it restores of a member that has several living chips. Programs of the host take any of them.
            rebuild_target: RebuildTarget = Some("replacement"), "", Kind::Word(RebuildTarget::WORDS), REBUILT_ON_SPARE_CHIPS;
            /// Bus time of one byte in either direction, in picoseconds (25,000 is 40 MB/s); with 0, transfers take no time.
            bus_ps_per_byte: u64 = None, "ps/byte", whole(0, 1_000_000_000), EVER, Draw::OneOf(&["25000", "25000", "1000", "0"]);
            /// Bus time of the command and address of a read.
            read_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), EVER, Draw::OneOf(&["0", "100", "5000"]);
            /// Bus time of the command and address of a program, before its data.
            program_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), EVER, Draw::OneOf(&["0", "100", "5000"]);
            /// Bus time of the command and address of an erase.
            erase_command_ns: u64 = None, "ns", whole(0, LONGEST_NS), ERASED, Draw::OneOf(&["0", "100", "5000"]);
            /// The unit of placement, failure and health: the disk of the redundancy group.
            member: Member = Some("channel"), "", Kind::Word(Member::WORDS), WITH_CHOICE_OF_LUN;
            /// The LUN: the unit that executes one array operation at a time.
            lun: Lun = Some("die"), "", Kind::Word(Lun::WORDS), WITH_DIES;
            /// The order of operations within a service class on one LUN.
            scheduling: Scheduling = Some("read_first"), "", Kind::Word(Scheduling::WORDS), EVER;
            /// When the host sees a program as completed.
            write_completes: WriteCompletes = Some("program_end"), "", Kind::Word(WriteCompletes::WORDS), EVER;
            /// Pages that one program operation programs together, all in one block: with several, `program_ns` is the time of all of them.
            program_pages: u32 = Some("1"), "pages", whole(1, 1024), EVER;
            /// Pages that one read operation of the array senses together, if they follow each other in a block: those at the same place of planes that work together.
            read_pages: u32 = Some("1"), "pages", whole(1, 64), EVER;
            /// How much of a page is transferred over the bus.
            transfer: Transfer = Some("touched"), "", Kind::Word(Transfer::WORDS), PARTS_TOUCHED;
            /// Whether one array operation may read or program a page in each of several planes of a LUN.
            multi_plane: bool = Some("false"), "", Kind::Flag, WITH_PLANES;
            /// Whether GC moves pages within a plane without transferring data over the bus.
            copyback: bool = Some("false"), "", Kind::Flag, COLLECTED;
            /// What a die suspends for a read in the class of the host: such a read does not wait for the end of a program or an erase. Copybacks are not suspended.
            suspend: Suspend = Some("none"), "", Kind::Word(Suspend::WORDS), EVER;
            /// How long a program or an erase runs before it is suspended, since its start or since it went on after it was suspended last.
            suspend_min_ns: u64 = Some("200000"), "ns", whole(0, LONGEST_NS), WITH_SUSPENSION;
            /// Time from the decision to suspend until the die can read.
            suspend_ns: u64 = Some("100000"), "ns", whole(0, LONGEST_NS), WITH_SUSPENSION;
            /// Time from the end of the last read until the program or the erase goes on.
            resume_ns: u64 = Some("50000"), "ns", whole(0, LONGEST_NS), WITH_SUSPENSION;
            /// How often the same program or erase is suspended at most.
            suspend_limit: u32 = Some("8"), "times", whole(1, 1_000_000), WITH_SUSPENSION;
            /// How many reads are served at most while a program or an erase is suspended.
            suspend_reads: u32 = Some("8"), "reads", whole(1, 1_000_000), WITH_SUSPENSION;
            /// Of how many equal parts of the drive one is simulated: a part of its channels, or of the dies of each. Links, the controller and power serve the other parts as well.
            slice: u32 = Some("1"), "", whole(1, 4096), EVER;
            /// How many dies program or erase at the same time, as the power allows; 0 for all.
            active_dies: u32 = Some("0"), "dies", whole(0, 4096), EVER;
            /// How GC and allocation even out erase counts.
            wear_leveling: WearLeveling = Some("dynamic"), "", Kind::Word(WearLeveling::WORDS), COLLECTED;
            /// With static wear leveling: the difference between erase counts in a plane above which cold blocks are moved.
            wear_leveling_threshold: u32 = Some("100"), "erases", whole(1, u32::MAX as u64), LEVELED;
            /// The unit that serves no host operations while a GC run moves pages.
            gc_blocking_scope: GcBlockingScope = Some("chip"), "", Kind::Word(GcBlockingScope::WORDS), COLLECTED;
            /// How fast a GC run goes once it has begun.
            gc_pace: GcPace = Some("block"), "", Kind::Word(GcPace::WORDS), PACED;
            /// Whether the blocks of one number in all planes that share their free space are one superblock: opened, filled die by die, collected and erased together.
            superblock: bool = Some("false"), "", Kind::Flag, WITH_SHARED_PLANES;
            /// How many write streams the host has, each of which fills blocks of its own: requests name them, as placement identifiers do. 1 for none.
            write_streams: u32 = Some("1"), "", whole(1, 8), STREAMED;
            /// Whether GC keeps pages of different write streams apart, or fills one block with all of them.
            gc_streams: GcStreams = Some("shared"), "", Kind::Word(GcStreams::WORDS), KEPT_IN_STREAMS;
            /// With fewer free blocks than this in a plane, host programs wait and GC runs until it has freed enough.
            gc_reserve_blocks: u32 = Some("2"), "blocks", whole(2, 65_534), EVER, Draw::OneOf(&["2", "2", "3"]);
            /// The SSD is idle when no page operation that the host waits for has arrived for this time; then come GC in idle time (`gc_idle_threshold`)
            /// and migrations.
            idle_ns: u64 = Some("1000000"), "ns", whole(1, LONGEST_NS), WITH_WORK_IN_IDLE_TIME;
            $($after)*
        } }
    };
}

macro_rules! fields {
    ({ $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $unit:literal, $kind:expr, $effect:expr $(, $draw:expr)? $(; before $version:literal: $before:literal)*;)+ }) => {
        /// Settings of the device, as users give them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Given { $($(#[doc = $doc])+ pub $key: $type,)+ }
    };
}

given_settings! { fields {} {} {} }

/// Everything that an SSD is told about the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Shape.
    pub geometry: Geometry,
    /// Pages of the map in a flash page (SPEC 8.1), a power of two. `geometry` counts pages of the map.
    pub units_per_page: u32,
    /// The memory in which they wait for their flash page, if it has several.
    pub memory: MemorySettings,
    /// The SLC cache, if there is one, and the times of its blocks.
    pub slc: Option<(SlcSettings, SlcTimes)>,
    /// What is taken as it is given.
    pub given: Given,
    /// Of the slices of a drive (SPEC 8.11), how many share each bus.
    pub slices_per_bus: u32,
    /// Logical pages that each member offers to the scheme.
    pub pages_per_member: u32,
    /// The last blocks of each plane that hold translation pages and nothing else: a *translation plane* of its own, with its own free
    /// space and its own GC. 0 for none; mirror chips have none.
    pub translation_blocks: u32,
    /// Local pages of each member that are translation pages; their numbers follow `pages_per_member`.
    pub translation_pages: u32,
    /// Log blocks of each plane, with `Placement::Blocks`; then `gc_threshold` must be 0.
    pub log_blocks: u32,
    /// Log blocks serve all logical blocks (FAST); else each one serves one (BAST).
    pub shared_logs: bool,
    /// Cell array times.
    pub cell: CellTimes,
    /// Order of the member's chips (W), dies (D) and planes (P) under static placement, fastest first.
    pub static_order: [u8; 3],
    /// How programs find their plane.
    pub placement: Placement,
    /// Free pages of a plane, as a share of its pages, below which a program starts a GC run.
    pub gc_threshold: f64,
    /// Free pages of a plane, as a share of its pages, below which an idle device (`Given::idle_ns`) collects it (SPEC 5.7); 0 for never, else above
    /// `gc_threshold`.
    pub gc_idle_threshold: f64,
    /// Pages of a victim, as a share of a block, that a GC run in idle time frees at least (SPEC 5.7 has no such rule: 0).
    pub gc_idle_gain: f64,
    /// GC goes page by page and shares the device with migration by need (SPEC 5.7, Algorithm 3).
    pub coordinates_migration: bool,
    /// With that: the share of the device's blocks that must be erased for migration to go before GC.
    pub migration_free_blocks: f64,
    /// GC runs move semivalid pages like valid ones; else the layer above commits them first, so that they need no move (SPEC 4.4).
    pub moves_bases: bool,
    /// How GC chooses its victims; under hybrid mapping, merges theirs.
    pub gc_policy: ChosenPolicy,
    /// Blocks with semivalid pages compete by what moves and commits cost; else by moves alone.
    pub commit_aware: bool,
    /// What draws of the GC policy begin with.
    pub seed: u64,
}

impl Settings {
    /// Pages of the map that are programmed together: those of a program unit (SPEC 8.2).
    #[inline]
    pub fn units_per_program(&self) -> u32 {
        self.units_per_page * self.given.program_pages
    }

    /// Whether several pages of the map are programmed together, and wait for each other in the memory.
    #[inline]
    pub fn packs(&self) -> bool {
        self.units_per_program() > 1
    }

    /// Pages of the map that one read of the array can sense: those of a *read group* (SPEC 8.2 (c)).
    #[inline]
    pub fn units_per_read(&self) -> u32 {
        self.units_per_page * self.given.read_pages
    }

    /// Pages that a GC run takes which moves so many: it pads its last program unit before it erases its victim, unless that is safe in the memory.
    #[inline]
    pub fn taken_by_gc(&self, moves: u32) -> u32 {
        if self.memory.survives_power_loss { moves } else { moves.next_multiple_of(self.units_per_program()) }
    }

    /// How many of them may be padding.
    #[inline]
    pub fn padding_of_gc(&self) -> u32 {
        if self.memory.survives_power_loss { 0 } else { self.units_per_program() - 1 }
    }

    /// Whether members are chips.
    pub fn member_is_chip(&self) -> bool {
        self.given.member == Member::Chip
    }

    /// Whether there is one member, which is the device.
    pub fn member_is_device(&self) -> bool {
        self.given.member == Member::Device
    }

    /// Whether a chip executes one array operation at a time; else each die does.
    pub fn chip_serial(&self) -> bool {
        self.given.lun == Lun::Chip
    }

    /// Whether the end of data-in is reported of programs that the host waits for.
    pub fn reports_data_in(&self) -> bool {
        self.given.write_completes == WriteCompletes::DataIn
    }

    /// Whether planes below a threshold are collected in idle time.
    pub(crate) fn collects_when_idle(&self) -> bool {
        self.gc_idle_threshold > 0.0
    }

    /// Whether GC starts in idle time, of such planes or of the SLC cache.
    pub fn works_when_idle(&self) -> bool {
        self.collects_when_idle() || self.slc.is_some()
    }

    /// Members of the device.
    pub fn members(&self) -> u32 {
        match self.given.member {
            Member::Channel => self.geometry.channels,
            Member::Chip => self.geometry.channels * self.geometry.chips_per_channel,
            Member::Device => 1,
        }
    }

    /// Whether programs of this local page go to translation planes.
    #[inline]
    pub(crate) fn is_translation(&self, page: LocalPage) -> bool {
        page.0 >= self.pages_per_member
    }

    /// Whether chip `chip` of a channel was made to hold copies.
    pub fn is_mirror_chip(&self, chip: u32) -> bool {
        let chips = self.geometry.chips_per_channel;
        (chips - self.given.mirror_chips..chips).contains(&chip)
    }

    /// Chips of a channel: data, mirror, spare.
    pub fn chips_per_channel(&self) -> u32 {
        self.geometry.chips_per_channel + self.given.spare_chips
    }

    /// What NAND is told of them.
    pub fn nand(&self) -> NandSettings {
        let given = &self.given;
        NandSettings {
            page_bytes: self.geometry.page_bytes * self.units_per_page,
            transfers_pages: given.transfer == Transfer::Page && self.units_per_page > 1,
            units_per_page: self.units_per_page,
            pages_per_program: given.program_pages,
            pages_per_read: given.read_pages,
            bus_ps_per_byte: given.bus_ps_per_byte,
            read_command_ns: given.read_command_ns,
            program_command_ns: given.program_command_ns,
            erase_command_ns: given.erase_command_ns,
            fifo: given.scheduling == Scheduling::Fifo,
            multi_plane: given.multi_plane,
            reports_data_in: self.reports_data_in(),
            has_timer: self.works_when_idle(),
            slc: self.slc.map(|(_, times)| times),
            slices: given.slice,
            slices_per_bus: self.slices_per_bus,
            active_dies: given.active_dies,
            suspend: (given.suspend != Suspend::None).then_some(SuspendSettings {
                programs: matches!(given.suspend, Suspend::Program | Suspend::Both),
                erases: matches!(given.suspend, Suspend::Erase | Suspend::Both),
                min_ns: given.suspend_min_ns,
                suspend_ns: given.suspend_ns,
                resume_ns: given.resume_ns,
                most_times: given.suspend_limit,
                most_reads: given.suspend_reads,
            }),
            cell: self.cell,
        }
    }

    /// Numbers of LUNs, planes, blocks and pages.
    pub fn shape(&self) -> Shape {
        let shape = Shape::new(&self.geometry, self.given.spare_chips, self.chip_serial());
        match self.lanes(&shape) {
            1 => shape,
            lanes => shape.with_superblocks(&self.geometry, lanes, self.units_per_program()),
        }
    }

    /// Planes of a space domain, which superblocks join; 1 without them.
    fn lanes(&self, shape: &Shape) -> u32 {
        let domains = match self.placement {
            _ if !self.given.superblock => shape.data_planes(),
            Placement::Static | Placement::Blocks => shape.data_planes(),
            Placement::Member => self.members(),
            Placement::Groups(groups) => groups,
        };
        shape.data_planes() / domains
    }

    /// Flash pages of a word line (SPEC 8.2 (f)): those that are programmed together, or one of each type.
    pub fn pages_per_word_line(&self) -> u32 {
        if self.given.program_pages > 1 { self.given.program_pages } else { self.cell.page_types() }
    }

    /// Word lines of a block. The last one may be incomplete.
    pub fn word_lines_per_block(&self) -> u32 {
        (self.geometry.pages_per_block / self.units_per_page).div_ceil(self.pages_per_word_line())
    }

    /// Numbers in their block of the flash pages of a part that is less than a block. `None` for larger parts.
    pub(crate) fn flash_pages_of(&self, part: &Part) -> Option<Range<u32>> {
        match *part {
            Part::Page { page, .. } => Some(page..page + 1),
            Part::WordLine { line, and_next, .. } => {
                let pages = self.pages_per_word_line();
                Some(line * pages..((line + 1 + u32::from(and_next)) * pages).min(self.geometry.pages_per_block / self.units_per_page))
            }
            _ => None,
        }
    }

    /// Whether the device has such a part; if not, what is wrong and what is allowed.
    pub fn part_exists(&self, part: &Part) -> Result<(), String> {
        let geometry = &self.geometry;
        let (channels, chips) = (geometry.channels, self.chips_per_channel());
        let within = |level: &str, number: u32, of: &str, levels: &str, count: u32| match number < count {
            true => Ok(()),
            false if count == 1 => Err(format!("{level} {number}: {of} has {level} 0 only")),
            false => Err(format!("{level} {number}: {of} has {levels} 0 to {}", count - 1)),
        };
        let channel = |number| within("channel", number, "the device", "channels", channels);
        let chip = |number| within("chip", number, "each channel", "chips", chips);
        let die = |number| within("die", number, "each chip", "dies", geometry.dies_per_chip);
        let plane = |number| within("plane", number, "each die", "planes", geometry.planes_per_die);
        let block = |number| within("block", number, "each plane", "blocks", geometry.blocks_per_plane);
        let page = |number| within("page", number, "each block", "pages", geometry.pages_per_block / self.units_per_page);
        match *part {
            Part::Device => Ok(()),
            Part::Member(m) => within("member", m, "the device", "members", self.members()),
            Part::Channel(c) => channel(c),
            Part::Chip { channel: c, chip: w } => channel(c).and(chip(w)),
            Part::Die { channel: c, chip: w, die: d } => channel(c).and(chip(w)).and(die(d)),
            Part::Plane { channel: c, chip: w, die: d, plane: p } => channel(c).and(chip(w)).and(die(d)).and(plane(p)),
            Part::Block { channel: c, chip: w, die: d, plane: p, block: b } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b))
            }
            Part::WordLine { channel: c, chip: w, die: d, plane: p, block: b, line, and_next } => {
                let last =
                    within("word line", line.saturating_add(and_next.into()), "each block", "word lines", self.word_lines_per_block());
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b)).and(last)
            }
            Part::Page { channel: c, chip: w, die: d, plane: p, block: b, page: g } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b)).and(page(g))
            }
        }
    }
}
