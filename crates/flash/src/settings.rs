//! What a device is, as the flash layer needs it.

use crate::CellTimes;
use flashraid_vocabulary::{GcBlockingScope, Geometry, LocalPage, Part};

/// How a program finds its plane, and so which planes share their free space (a *space domain*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Plane by arithmetic on the local page; each plane is a domain of its own.
    Static,
    /// Any plane of the member, idle units first; each member is a domain, and its mirror chips, if it has any, are another.
    Member,
    /// As `Static`, by arithmetic on the logical block: hybrid mapping, and only that.
    Blocks,
    /// Any plane of a group of members; `n` groups of equal size.
    Groups(u32),
}

/// Everything that the flash layer is told about the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Shape.
    pub geometry: Geometry,
    /// Members are chips; else channels.
    pub member_is_chip: bool,
    /// Logical pages that each member offers to the scheme.
    pub pages_per_member: u32,
    /// The last chips of each channel that hold copies (`Version::Copy`) and nothing else. Above 0 only with channels as members and
    /// `Placement::Member`; at least one chip of a channel is left for data.
    pub mirror_chips: u32,
    /// Chips on each channel beside those of `geometry`, numbered behind them: in use only once they replace a failed chip.
    pub spare_chips: u32,
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
    /// Bus time of a byte, in picoseconds.
    pub bus_ps_per_byte: u64,
    /// Bus time of a read command.
    pub read_command_ns: u64,
    /// Bus time of a program command, without its data.
    pub program_command_ns: u64,
    /// Bus time of an erase command.
    pub erase_command_ns: u64,
    /// One array operation at a time for each chip; else for each die.
    pub chip_serial: bool,
    /// Order of the member's chips (W), dies (D) and planes (P) under static placement, fastest first.
    pub static_order: [u8; 3],
    /// How programs find their plane.
    pub placement: Placement,
    /// Oldest first whatever the kind; else reads before programs.
    pub fifo: bool,
    /// Report the end of data-in of programs that the host waits for.
    pub report_data_in: bool,
    /// Transfer whole pages; else the touched bytes.
    pub whole_page_transfers: bool,
    /// Operations of one kind on several planes of a die, at the same page offset, run as one.
    pub multi_plane: bool,
    /// GC moves pages inside the plane without crossing the bus.
    pub copyback: bool,
    /// Free pages of a plane, as a share of its pages, below which a program starts a GC run.
    pub gc_threshold: f64,
    /// Free blocks of a plane below which host programs get no new block there and GC goes on by itself; at least 2.
    pub gc_reserve_blocks: u32,
    /// The unit that a GC run blocks.
    pub gc_blocking_scope: GcBlockingScope,
    /// GC runs move semivalid pages like valid ones; else the layer above commits them first, so that they need no move (SPEC 4.4).
    pub moves_bases: bool,
    /// Victims are chosen by what moves and commits cost; else by moves alone.
    pub commit_aware: bool,
    /// Take the free block with the fewest erases; else in the order in which they were freed.
    pub wear_dynamic: bool,
    /// Move cold blocks when the spread of erase counts in a plane exceeds this.
    pub wear_static: Option<u32>,
}

impl Settings {
    /// Members of the device.
    pub fn members(&self) -> u32 {
        if self.member_is_chip { self.geometry.channels * self.geometry.chips_per_channel } else { self.geometry.channels }
    }

    /// Whether programs of this local page go to translation planes.
    #[inline]
    pub(crate) fn is_translation(&self, page: LocalPage) -> bool {
        page.0 >= self.pages_per_member
    }

    /// Whether chip `chip` of a channel was made to hold copies.
    pub fn is_mirror_chip(&self, chip: u32) -> bool {
        let chips = self.geometry.chips_per_channel;
        (chips - self.mirror_chips..chips).contains(&chip)
    }

    /// Chips of a channel: data, mirror, spare.
    pub fn chips_per_channel(&self) -> u32 {
        self.geometry.chips_per_channel + self.spare_chips
    }

    /// LUNs of a channel.
    pub fn units_per_channel(&self) -> u32 {
        self.chips_per_channel() * if self.chip_serial { 1 } else { self.geometry.dies_per_chip }
    }

    /// Planes of a LUN.
    pub fn planes_per_unit(&self) -> u32 {
        self.geometry.planes_per_die * if self.chip_serial { self.geometry.dies_per_chip } else { 1 }
    }

    /// Bus time of `bytes` of data, rounded up to a nanosecond.
    #[inline]
    pub fn transfer_ns(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.bus_ps_per_byte).div_ceil(1000)
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
        let page = |number| within("page", number, "each block", "pages", geometry.pages_per_block);
        match *part {
            Part::Member(m) => within("member", m, "the device", "members", self.members()),
            Part::Channel(c) => channel(c),
            Part::Chip { channel: c, chip: w } => channel(c).and(chip(w)),
            Part::Die { channel: c, chip: w, die: d } => channel(c).and(chip(w)).and(die(d)),
            Part::Plane { channel: c, chip: w, die: d, plane: p } => channel(c).and(chip(w)).and(die(d)).and(plane(p)),
            Part::Block { channel: c, chip: w, die: d, plane: p, block: b } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b))
            }
            Part::Page { channel: c, chip: w, die: d, plane: p, block: b, page: g } => {
                channel(c).and(chip(w)).and(die(d)).and(plane(p)).and(block(b)).and(page(g))
            }
        }
    }
}
