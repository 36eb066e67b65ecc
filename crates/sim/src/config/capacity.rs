//! What follows from a device's numbers: geometry, members, logical pages, and how many of them its FTL can hold.

use super::{Allocation, Array, Config, DestageUnit, Device, Ftl, GcStreams, Lun, Mapping, Member};
use crate::presets::PRESETS;
use flashraid_ftl::Placement;
use flashraid_redundancy::{Scheme, find};
use flashraid_vocabulary::Geometry;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The planes among which an FTL instance is free to place a page, and what is mapped onto them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceDomain {
    /// Number of planes.
    pub planes: u32,
    /// Logical pages mapped onto them.
    pub logical_pages: u64,
}

/// Bytes of a map entry.
const ENTRY_BYTES: u32 = 4;

/// Most logical pages with which a space domain makes progress: P (B - gc_reserve_blocks) G - 2 G for P planes of B blocks of G pages.
/// 0 if there is no such number.
///
/// Derivation. A host program opens a block only in a plane with at least `gc_reserve_blocks` erased ones, so `gc_reserve_blocks - 1` of them stay for
/// GC; its open block is one more, and that one cannot be a victim. All other blocks, P (B - gc_reserve_blocks), are open for the
/// host or full. When the host waits for a page and no operation is in flight, all of them are full and exactly the logical
/// pages are valid. If these are fewer than the slots, a full block has a page to reclaim, and moving the rest of it fits into the
/// GC's blocks: each GC gives at least one page back. Two blocks (2 G) are kept to spare (SPEC 0.5), as
/// operations in flight hold the superseded page beside the new one until they end.
pub fn most_logical_pages(planes: u32, blocks_per_plane: u32, pages_per_block: u32, gc_reserve_blocks: u32) -> u64 {
    let usable_blocks = u64::from(planes) * u64::from(blocks_per_plane.saturating_sub(gc_reserve_blocks));
    usable_blocks.saturating_sub(2) * u64::from(pages_per_block)
}

/// Numbers that follow from a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// Physical pages of the device.
    pub physical_pages: u64,
    /// Bytes of the device, every physical page counted.
    pub raw_bytes: u64,
    /// Bytes of the spare chips, which come on top.
    pub spare_bytes: u64,
    /// Members of the redundancy group.
    pub members: u16,
    /// LUNs (dies or chips) on each channel.
    pub luns_per_channel: u32,
    /// Planes of each member that hold data and parity.
    pub planes_per_member: u32,
    /// Logical pages that each member offers.
    pub pages_per_member: u32,
    /// Logical pages of all members, those for parity or copies included.
    pub logical_pages: u64,
    /// Bytes of the forward map in RAM: 4 for each logical page; under DFTL those of its two tables; under hybrid mapping 4 for each logical block and
    /// each page of a log block. Reverse map and stripe state are not counted.
    pub table_bytes: u64,
    /// Bytes of the data buffer in DRAM, whole pages; 0 for none.
    pub buffer_bytes: u64,
    /// Bytes of the write buffer in NVRAM, whole pages; 0 for none.
    pub nvram_buffer_bytes: u64,
    /// What DFTL makes of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationTables>,
}

/// Tables and pages of DFTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TranslationTables {
    /// Translation pages of the device, each of which is stored twice.
    pub translation_pages: u64,
    /// Map entries in each.
    pub entries_per_page: u32,
    /// Blocks of each data plane that are set apart for them.
    pub blocks_per_plane: u32,
    /// Bytes of the global translation directory: 4 for each copy of a translation page.
    pub gtd_bytes: u64,
    /// Bytes of the cached mapping table: for each entry its number (4) and what it says.
    pub cmt_bytes: u64,
}

/// What a scheme costs beside time: flash and memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Overhead {
    /// Bytes of flash that neither the host nor over-provisioning gets: parity, copies, mirror chips.
    #[schemars(extend("unit" = "bytes"))]
    pub redundancy_bytes: u64,
    /// `redundancy_bytes` over `raw_bytes`.
    #[schemars(extend("unit" = "share"))]
    pub redundancy_share: f64,
    /// `raw_bytes` over `user_bytes`. It includes over-provisioning.
    #[schemars(extend("unit" = "bytes per byte"))]
    pub raw_per_user_byte: f64,
    /// Total size of the mapping tables in DRAM.
    #[schemars(extend("unit" = "bytes"))]
    pub table_bytes: u64,
    /// Size of each table, by name (`page_map`, `gtd`, `cmt` and so on).
    #[schemars(extend("unit" = "bytes"))]
    pub tables: BTreeMap<&'static str, u64>,
    /// Total size of NVRAM: the write buffer, and what the scheme keeps in it. Not included in `table_bytes`, which is DRAM.
    #[schemars(extend("unit" = "bytes"))]
    pub nvram_bytes: u64,
    /// Size of each part, by name: `write_buffer`, `parity_cache`. An entry of the parity cache also holds the stripe's number and one bit for
    /// each strip, which `parity_cache_bytes` does not count.
    #[schemars(extend("unit" = "bytes"))]
    pub nvram: BTreeMap<&'static str, u64>,
}

impl Overhead {
    /// What `scheme` costs on the device or array. Spares, idle until a failure, are in no number of it.
    pub fn of(config: &Config, scheme: &dyn Scheme) -> Self {
        let (device, derived, page_bytes) = (&config.device, config.derived(), u64::from(config.device.unit_bytes()));
        let data_pages = match config.array.is_single() {
            true => u64::from(derived.members) * u64::from(derived.planes_per_member) * device.geometry().pages_per_plane(),
            false => derived.physical_pages,
        };
        let over_provisioned = data_pages - derived.logical_pages;
        let redundancy_pages = derived.physical_pages - over_provisioned - scheme.user_pages();
        let tables = match derived.translation {
            None => scheme.tables(derived.logical_pages).into_iter().flat_map(|table| config.tables_of(table)).collect(),
            Some(TranslationTables { gtd_bytes, cmt_bytes, .. }) => BTreeMap::from([("gtd", gtd_bytes), ("cmt", cmt_bytes)]),
        };
        let write_buffer = (derived.nvram_buffer_bytes > 0).then_some(("write_buffer", derived.nvram_buffer_bytes));
        let nvram: BTreeMap<_, _> =
            write_buffer.into_iter().chain(scheme.deferring().into_iter().flat_map(|deferring| deferring.nvram())).collect();
        Self {
            redundancy_bytes: redundancy_pages * page_bytes,
            redundancy_share: redundancy_pages as f64 / derived.physical_pages as f64,
            raw_per_user_byte: derived.physical_pages as f64 / scheme.user_pages() as f64,
            table_bytes: tables.values().sum(),
            tables,
            nvram_bytes: nvram.values().sum(),
            nvram,
        }
    }
}

/// Share of `pages` left when `ppm` parts per million are taken off, rounded down.
fn left_of(pages: u64, ppm: u64) -> u64 {
    pages * (1_000_000 - ppm) / 1_000_000
}

/// The first number of parts per million of which something is so that is so of all later ones, and of the whole.
fn first_ppm(is_so: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, 1_000_000);
    while low < high {
        let middle = (low + high) / 2;
        if is_so(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

impl Array {
    /// Number of members: of the SSD, or the SSDs of an array.
    pub(super) fn members(&self, device: &Device) -> u16 {
        device.members() * self.devices as u16 // at most 64, as an SSD of an array has one
    }

    /// What follows from the numbers of the SSD: of all members together, but for what is said of each member or channel.
    pub fn derived(&self, device: &Device) -> Derived {
        let ssds = self.each(device);
        let (members, spares) = ssds.split_at(self.devices as usize);
        let sum = |of: fn(&Derived) -> u64| members.iter().map(|ssd| of(&ssd.derived())).sum::<u64>();
        let pages_per_member = self.least(device, Device::pages_per_member);
        Derived {
            physical_pages: sum(|of| of.physical_pages),
            raw_bytes: sum(|of| of.raw_bytes),
            spare_bytes: sum(|of| of.spare_bytes) + spares.iter().map(|ssd| ssd.geometry().raw_bytes()).sum::<u64>(),
            members: self.members(device),
            pages_per_member,
            logical_pages: u64::from(self.members(device)) * u64::from(pages_per_member),
            table_bytes: sum(|of| of.table_bytes),
            ..device.derived()
        }
    }
}

/// Memory of a run in bytes: of an entry of a map, of a block, of a stripe whose scheme remembers something of each, of a physical page if what pages hold
/// is tracked, of a page of a data buffer, of each strip of its stripe where these leave together, and of all that does not grow with the device.
const MAP_ENTRY: u64 = 4;
const BLOCK: u64 = 48;
const STRIPE: u64 = 48;
const CONTENTS_OF_A_PAGE: u64 = 20;
const BUFFERED_PAGE: u64 = 64;
const BUFFERED_STRIP: u64 = 16;
const PROGRAM: u64 = 48 << 20;

impl Config {
    /// What follows from the numbers of the device or array.
    pub fn derived(&self) -> Derived {
        self.array.derived(&self.device)
    }

    /// About the most memory in bytes that a run of it under `scheme` takes, once all of the device has been written. Requests that wait under overload
    /// come on top.
    pub fn memory_bytes(&self, scheme: &dyn Scheme) -> u64 {
        let entry = find(&self.scheme.name).expect("the scheme was built");
        let derived = self.derived();
        let page_bytes = u64::from(self.device.unit_bytes());
        let pages = derived.physical_pages + derived.spare_bytes / page_bytes;
        // One in each direction, one for each other version that a page may have, and two for where its entry is if the map is on flash.
        let has_copies = entry.mirror_chips > 0;
        let on_flash = if self.device.mapping == Mapping::Dftl { 2 } else { 0 };
        let entries = 2 + u64::from(entry.bases.is_some()) + u64::from(has_copies) + on_flash;
        let of_page = MAP_ENTRY * entries + if self.run.verify { CONTENTS_OF_A_PAGE } else { 0 };
        let is_remembered =
            entry.bases.is_some() || has_copies || entry.has_window || entry.parity_cache.is_some() || entry.replaces_devices;
        let of_stripe = if is_remembered { STRIPE } else { 0 };
        let buffered = (derived.buffer_bytes + derived.nvram_buffer_bytes) / page_bytes;
        let gathers = derived.nvram_buffer_bytes > 0 || self.device.destage_unit == DestageUnit::Stripe;
        let of_buffered = BUFFERED_PAGE + if gathers { BUFFERED_STRIP * u64::from(scheme.width()) } else { 0 };
        let blocks = pages / u64::from(self.device.units_per_block());
        PROGRAM + pages * of_page + blocks * BLOCK + u64::from(scheme.stripes()) * of_stripe + buffered * of_buffered
    }

    /// Tables of the controllers with their bytes: those of an FTL are in each SSD, and those of a scheme in the controller of the array.
    fn tables_of(&self, table: (&'static str, u64)) -> Vec<(&'static str, u64)> {
        let ssds = self.array.each(&self.device);
        let of_ssds = |name: &str| -> u64 {
            let members = ssds[..self.array.devices as usize].iter().flat_map(|ssd| ssd.tables_of(table));
            members.filter(|of| of.0 == name).map(|of| of.1).sum()
        };
        let tables = self.device.tables_of(table).into_iter();
        tables.map(|of| if of.0 == table.0 { of } else { (of.0, of_ssds(of.0)) }).collect()
    }
}

impl Device {
    /// The counts of each level.
    pub fn geometry(&self) -> Geometry {
        Geometry {
            channels: self.channels,
            chips_per_channel: self.chips_per_channel,
            dies_per_chip: self.dies_per_chip,
            planes_per_die: self.planes_per_die,
            blocks_per_plane: self.blocks_per_plane,
            pages_per_block: self.units_per_block(),
            page_bytes: self.unit_bytes(),
        }
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u32 {
        if self.mapping_unit_bytes == 0 { self.page_bytes } else { self.mapping_unit_bytes }
    }

    /// Mapping units of a flash page.
    pub fn units_per_page(&self) -> u32 {
        self.page_bytes / self.unit_bytes()
    }

    /// Mapping units that are programmed together.
    pub fn units_per_program(&self) -> u32 {
        self.units_per_page() * self.program_pages
    }

    /// Whether several mapping units are programmed together, and wait for each other in the memory of the controller.
    pub fn packs(&self) -> bool {
        self.units_per_program() > 1
    }

    /// Mapping units of a block.
    pub fn units_per_block(&self) -> u32 {
        self.pages_per_block * self.units_per_page()
    }

    /// Mapping units of a block, or superblock, for which GC makes no room: what it may have to pad before an erase.
    fn padding_of_gc(&self) -> u32 {
        if self.power_loss_protection { 0 } else { self.units_per_program() - 1 }
    }

    /// The least memory for units that are accepted and not programmed, in bytes: what GC has of it; and what is programmed together for each plane and two for each
    /// die, or what all write streams may have open and one for each die.
    pub(super) fn least_staging_bytes(&self) -> u64 {
        let (dies, streams) = (self.dies_with_spares(), u64::from(self.write_streams));
        let of_programs = dies * u64::from(self.planes_per_die + 2);
        self.staging_bytes_of_gc() + of_programs.max(streams * self.most_domains() + dies) * self.program_bytes()
    }

    /// What GC has of that memory: what is programmed together for each plane, and for each further stream.
    fn staging_bytes_of_gc(&self) -> u64 {
        let planes = self.dies_with_spares() * u64::from(self.planes_per_die);
        let of_streams = u64::from(self.gc_stream_count() - 1) * if self.superblock { self.most_domains() } else { planes };
        (planes + of_streams) * self.program_bytes()
    }

    /// Streams of GC in each plane.
    pub(super) fn gc_stream_count(&self) -> u32 {
        if self.gc_streams == GcStreams::Own { self.write_streams } else { 1 }
    }

    /// Space domains, at most.
    fn most_domains(&self) -> u64 {
        match (self.allocation, self.ftl) {
            (Allocation::Static, _) => self.dies_with_spares() * u64::from(self.planes_per_die),
            (Allocation::Dynamic, Ftl::Device) => 1,
            _ => self.members().into(),
        }
    }

    /// Whether blocks may be in SLC mode.
    pub(crate) fn has_slc(&self) -> bool {
        self.slc_static > 0 || self.slc_dynamic
    }

    /// Array times of reads and programs in SLC mode.
    pub(crate) fn slc_times_ns(&self) -> (u64, u64) {
        let bits = u64::from(self.program_pages / self.read_pages);
        let given = |time_ns: u64, otherwise| if time_ns > 0 { time_ns } else { otherwise };
        (given(self.slc_read_ns, self.read_ns), given(self.slc_program_ns, self.program_ns.div_ceil(bits * bits)))
    }

    /// Bytes that are programmed together.
    fn program_bytes(&self) -> u64 {
        u64::from(self.page_bytes) * u64::from(self.program_pages)
    }

    /// Dies, those of spare chips included.
    fn dies_with_spares(&self) -> u64 {
        u64::from(self.channels * (self.chips_per_channel + self.spare_chips) * self.dies_per_chip)
    }

    /// Mapping units that programs may have in the controller's memory until they are programmed: GC has what is programmed together for each plane.
    pub fn staging_units(&self) -> u32 {
        let bytes = self.staging_bytes.max(self.least_staging_bytes()) - self.staging_bytes_of_gc();
        u32::try_from(bytes / u64::from(self.unit_bytes())).unwrap_or(u32::MAX)
    }

    /// Blocks, without those of spare chips.
    pub fn blocks(&self) -> u64 {
        self.geometry().physical_pages() / u64::from(self.units_per_block())
    }

    /// Number of members.
    pub fn members(&self) -> u16 {
        let members = match self.member {
            Member::Channel => self.channels,
            Member::Chip => self.channels * self.chips_per_channel,
            Member::Device => 1,
        };
        members as u16 // at most 64 x 64
    }

    /// Chips of each member that hold data and parity: all but mirror chips.
    pub fn data_chips_per_member(&self) -> u32 {
        match self.member {
            Member::Channel => self.chips_per_channel - self.mirror_chips,
            Member::Chip => 1,
            Member::Device => self.channels * self.chips_per_channel,
        }
    }

    /// Planes of each member that hold data and parity.
    pub fn planes_per_member(&self) -> u32 {
        self.data_chips_per_member() * self.dies_per_chip * self.planes_per_die
    }

    /// Log blocks of each plane under hybrid mapping.
    pub fn log_blocks_per_plane(&self) -> u32 {
        self.log_blocks / (self.dies_per_chip * self.planes_per_die)
    }

    /// Tables of the controller with their bytes: in the place of a page map, hybrid mapping has a map of blocks and one of the pages of log blocks.
    fn tables_of(&self, table: (&'static str, u64)) -> Vec<(&'static str, u64)> {
        if !self.mapping.is_hybrid() || table.0 != "page_map" {
            return vec![table];
        }
        let (logs, blocks) = self.hybrid_blocks();
        let entry = u64::from(ENTRY_BYTES);
        vec![("block_map", entry * blocks), ("log_map", entry * logs * u64::from(self.pages_per_block))]
    }

    /// Log blocks, and logical blocks, of the device under hybrid mapping.
    fn hybrid_blocks(&self) -> (u64, u64) {
        let planes = u64::from(self.members()) * u64::from(self.planes_per_member());
        let logical_pages = u64::from(self.members()) * u64::from(self.pages_per_member());
        (planes * u64::from(self.log_blocks_per_plane()), logical_pages / u64::from(self.pages_per_block))
    }

    /// Page versions that a member's data chips can hold and still be collected. (Under hybrid mapping semivalid
    /// pages take no space from others, and merges commit as many as there are.)
    pub(super) fn pages_held(&self) -> u32 {
        if self.mapping.is_hybrid() {
            return u32::MAX;
        }
        let blocks = self.data_blocks_for(self.pages_per_member());
        self.most_logical_pages_of(self.planes_per_member(), blocks) as u32 // physical pages are below 2^30
    }

    /// Copies that a member's mirror chips can hold and still be collected.
    pub fn copies_held(&self) -> u32 {
        let planes = self.mirror_chips * self.dies_per_chip * self.planes_per_die;
        self.most_logical_pages_of(planes, self.blocks_per_plane) as u32 // physical pages are below 2^30
    }

    /// Pages of a member's mirror chips.
    pub fn mirror_pages_per_member(&self) -> u32 {
        self.mirror_chips * self.dies_per_chip * self.planes_per_die * self.blocks_per_plane * self.units_per_block() // below 2^30
    }

    /// Bytes of a map entry: one physical page number; with mirror chips two numbers, in both sets of tables (SPEC 1.2, 6.2).
    fn entry_bytes(&self) -> u32 {
        if self.mirror_chips > 0 { 2 * ENTRY_BYTES } else { ENTRY_BYTES }
    }

    /// Map entries in a translation page.
    pub fn entries_per_translation_page(&self) -> u32 {
        self.unit_bytes() / self.entry_bytes()
    }

    /// Translation pages stored in each member: its own, and those of the member before it. 0 under page mapping.
    pub fn translation_pages(&self) -> u32 {
        self.translation_pages_for(self.pages_per_member())
    }

    fn translation_pages_for(&self, pages_per_member: u32) -> u32 {
        match self.mapping {
            Mapping::Page | Mapping::Bast | Mapping::Fast => 0,
            Mapping::Dftl => {
                let entries = self.entries_per_translation_page();
                2 * (pages_per_member.div_ceil(entries) + self.mirror_pages_per_member().div_ceil(entries))
            }
        }
    }

    /// Blocks of each plane set apart for translation pages: the fewest with which these fill three quarters of what can always be
    /// collected ([`most_logical_pages`]). 0 under page mapping.
    pub fn translation_blocks(&self) -> u32 {
        self.translation_blocks_for(self.pages_per_member())
    }

    fn translation_blocks_for(&self, pages_per_member: u32) -> u32 {
        match self.translation_pages_for(pages_per_member) {
            0 => 0,
            pages => {
                let blocks = (pages.div_ceil(3) * 4).div_ceil(self.units_per_block()) + 2;
                self.gc_reserve_blocks + blocks.div_ceil(self.planes_per_member())
            }
        }
    }

    /// Blocks of each plane that hold data and parity.
    pub(super) fn data_blocks_for(&self, pages_per_member: u32) -> u32 {
        self.blocks_per_plane.saturating_sub(self.translation_blocks_for(pages_per_member))
    }

    /// LUNs on each channel.
    pub fn luns_per_channel(&self) -> u32 {
        match self.lun {
            Lun::Die => self.chips_per_channel * self.dies_per_chip,
            Lun::Chip => self.chips_per_channel,
        }
    }

    /// As `units_per_channel`, those of spare chips included.
    pub(super) fn luns_with_spares_per_channel(&self) -> u32 {
        self.luns_per_channel() / self.chips_per_channel * (self.chips_per_channel + self.spare_chips)
    }

    /// Planes of each LUN.
    pub fn planes_per_lun(&self) -> u32 {
        match self.lun {
            Lun::Die => self.planes_per_die,
            Lun::Chip => self.dies_per_chip * self.planes_per_die,
        }
    }

    /// Logical pages that each member offers: its physical pages less the over-provisioning, taken in parts per million and
    /// rounded down; with static allocation further down to the same number for each plane, under hybrid mapping of whole blocks.
    pub fn pages_per_member(&self) -> u32 {
        self.pages_per_member_at((self.over_provisioning * 1e6).round() as u64)
    }

    fn pages_per_member_at(&self, over_provisioning_ppm: u64) -> u32 {
        let planes = u64::from(self.planes_per_member());
        let pages = left_of(planes * self.geometry().pages_per_plane(), over_provisioning_ppm);
        let pages = match self.allocation {
            _ if self.mapping.is_hybrid() => pages - pages % (planes * u64::from(self.pages_per_block)),
            Allocation::Static => pages - pages % planes,
            Allocation::DynamicMember | Allocation::Dynamic => pages,
        };
        pages as u32 // physical pages are below 2^30
    }

    /// The planes among which a page of one member may be placed. All domains of a device are alike.
    pub fn space_domain(&self, placement: Placement) -> SpaceDomain {
        self.space_domain_of(placement, self.pages_per_member())
    }

    fn space_domain_of(&self, placement: Placement, pages_per_member: u32) -> SpaceDomain {
        let (planes, pages) = (self.planes_per_member(), u64::from(pages_per_member));
        match placement {
            Placement::Static | Placement::Blocks => SpaceDomain { planes: 1, logical_pages: pages / u64::from(planes) },
            Placement::Member => SpaceDomain { planes, logical_pages: pages },
            Placement::Groups(groups) => {
                let members = u32::from(self.members()) / groups;
                SpaceDomain { planes: planes * members, logical_pages: pages * u64::from(members) }
            }
        }
    }

    /// One past the largest physical page number.
    pub fn ppn_limit(&self) -> u64 {
        flashraid_ftl::ppn_limit(&self.geometry(), self.spare_chips, self.mapping == Mapping::Dftl)
    }

    /// Most logical pages that a space domain can hold ([`most_logical_pages`]).
    pub fn most_logical_pages(&self, placement: Placement) -> u64 {
        self.most_logical_pages_beside(placement, self.pages_per_member())
    }

    /// The same with translation pages for so many pages of each member.
    fn most_logical_pages_beside(&self, placement: Placement, pages_per_member: u32) -> u64 {
        if placement == Placement::Blocks {
            let logical_blocks = self.blocks_per_plane.saturating_sub(self.log_blocks_per_plane() + 1);
            return u64::from(logical_blocks) * u64::from(self.pages_per_block);
        }
        self.most_logical_pages_of(self.space_domain(placement).planes, self.data_blocks_for(pages_per_member))
    }

    /// The same of planes that share their free space, with so many blocks for data each. With superblocks they are one. What the host's write streams have open can be
    /// programmed by any of them, so that all of it is full when the host waits for a page; of GC's streams each has a block open that may not be (SPEC 8.13).
    fn most_logical_pages_of(&self, planes: u32, blocks: u32) -> u64 {
        let blocks = blocks.saturating_sub(self.gc_stream_count() - 1);
        let (planes, lanes) = if self.superblock && planes > 0 { (1, planes) } else { (planes, 1) };
        most_logical_pages(planes, blocks, lanes * self.units_per_block() - self.padding_of_gc(), self.gc_reserve_blocks)
    }

    /// The smallest over-provisioning, in parts per million, with which the logical pages fit, and the greatest with which there is at
    /// least one a domain. `None` if the first leaves none.
    pub(crate) fn over_provisioning_bounds_ppm(&self, placement: Placement) -> Option<(u64, u64)> {
        let logical = |ppm: u64| self.space_domain_of(placement, self.pages_per_member_at(ppm)).logical_pages;
        let most = |ppm: u64| self.most_logical_pages_beside(placement, self.pages_per_member_at(ppm));
        // Both hold of all over-provisioning, which maps nothing.
        let (least, too_much) = (first_ppm(|ppm| logical(ppm) <= most(ppm)), first_ppm(|ppm| logical(ppm) == 0));
        (least < too_much).then(|| (least, too_much - 1))
    }

    /// The smallest and the greatest over-provisioning, in parts per million, with which a device as small as this one works: the logical pages fit, each
    /// member can hold so many further versions (`held`), and at least a page of each plane is offered, of hybrid mapping a block. `None` if there is none.
    pub fn over_provisioning_range_ppm(&self, placement: Placement, held: u32) -> Option<(u64, u64)> {
        let pages = |ppm: u64| self.pages_per_member_at(ppm);
        let fits = |ppm: u64| {
            let (pages, blocks) = (pages(ppm), self.data_blocks_for(pages(ppm)));
            let most = self.most_logical_pages_of(self.planes_per_member(), blocks);
            let fits_held = self.mapping.is_hybrid() || u64::from(pages) + u64::from(held) <= most;
            fits_held && self.space_domain_of(placement, pages).logical_pages <= self.most_logical_pages_beside(placement, pages)
        };
        let least_pages = self.planes_per_member() * if self.mapping.is_hybrid() { self.pages_per_block } else { 1 };
        let (least, too_much) = (first_ppm(fits), first_ppm(|ppm| pages(ppm) < least_pages));
        (least < too_much).then(|| (least, too_much - 1))
    }

    /// Its flash as a share of that of the preset whose name it has, if it was made smaller. Both are whole drives.
    pub(super) fn share_of_preset(&self) -> Option<f64> {
        let preset = PRESETS.iter().find(|preset| preset.name == self.name)?;
        let whole = Self::load(preset.name).ok()?.geometry().raw_bytes();
        let own = self.geometry().raw_bytes();
        (own < whole).then(|| own as f64 / whole as f64)
    }

    /// What follows from the numbers.
    pub fn derived(&self) -> Derived {
        let logical_pages = u64::from(self.members()) * u64::from(self.pages_per_member());
        let buffer_bytes = self.buffer_pages() * u64::from(self.unit_bytes());
        let translation = (self.mapping == Mapping::Dftl).then(|| {
            let copies = u64::from(self.members()) * u64::from(self.translation_pages());
            TranslationTables {
                translation_pages: copies / 2,
                entries_per_page: self.entries_per_translation_page(),
                blocks_per_plane: self.translation_blocks(),
                gtd_bytes: 4 * copies,
                cmt_bytes: u64::from(self.cmt_entries) * u64::from(4 + self.entry_bytes()),
            }
        });
        Derived {
            physical_pages: self.geometry().physical_pages(),
            raw_bytes: self.geometry().raw_bytes(),
            spare_bytes: self.geometry().raw_bytes() / u64::from(self.chips_per_channel) * u64::from(self.spare_chips),
            members: self.members(),
            luns_per_channel: self.luns_per_channel(),
            planes_per_member: self.planes_per_member(),
            pages_per_member: self.pages_per_member(),
            logical_pages,
            table_bytes: match translation {
                Some(tables) => tables.gtd_bytes + tables.cmt_bytes,
                None => self.tables_of(("page_map", u64::from(ENTRY_BYTES) * logical_pages)).iter().map(|(_, bytes)| bytes).sum(),
            },
            buffer_bytes: if self.nvram_buffer_bytes > 0 { 0 } else { buffer_bytes },
            nvram_buffer_bytes: if self.nvram_buffer_bytes > 0 { buffer_bytes } else { 0 },
            translation,
        }
    }
}
