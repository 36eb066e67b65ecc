//! Checks that concern several settings of the device.

use super::error::refuse;
use super::{Allocation, ConfigError, Destage, Device, Ftl, GcBlockingScope, GcPace, Mapping, Member, Scheduling, Suspend, WearLeveling};
use crate::buffer::MOST_PAGE_BYTES;
use flashraid_ftl::Placement;

/// Pages are numbered with 30 bits.
const MOST_PHYSICAL_PAGES: u128 = (1 << 30) - 1;
/// Members, LUNs and planes of a unit are kept as bits of a word.
const MOST_BITS: u32 = 64;
impl Device {
    /// What can be said without a scheme: of placements, the one that asks least of the device.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_units()?;
        self.check_suspension()?;
        self.check_counts()?;
        self.check_superblocks()?;
        self.check_slc()?;
        self.check_cells()?;
        self.check_mirror_chips()?;
        self.check_mapping()?;
        self.check_gc()?;
        self.check_capacity(match self.allocation {
            _ if self.mapping.is_hybrid() => Placement::Blocks,
            Allocation::Static => Placement::Static,
            Allocation::DynamicMember | Allocation::Dynamic => Placement::Groups(1),
        })?;
        self.check_buffer()
    }

    /// Mapping units smaller than a flash page.
    pub(super) fn check_units(&self) -> Result<(), ConfigError> {
        let (unit, page) = (self.mapping_unit_bytes, self.page_bytes);
        if unit != 0 && !(unit.is_power_of_two() && (512..=page).contains(&unit)) {
            return refuse(format!(
                "mapping_unit_bytes = {unit}: allowed is 0 (a flash page), or a power of two from 512 to page_bytes, which is {page}"
            ));
        }
        let together = self.program_pages;
        if !self.pages_per_block.is_multiple_of(together) {
            return refuse(format!(
                "program_pages = {together}: allowed are numbers that pages_per_block = {} is a multiple of",
                self.pages_per_block
            ));
        }
        if !together.is_multiple_of(self.read_pages) {
            return refuse(format!(
                "read_pages = {}: allowed are numbers that program_pages = {together} is a multiple of",
                self.read_pages
            ));
        }
        if together > 1 && !self.upper_program_ns.is_empty() {
            return refuse(format!(
                "upper_program_ns: allowed with program_pages = {together} is none, as program_ns is the time of all of them"
            ));
        }
        if !self.packs() {
            return Ok(());
        }
        let (key, given, allowed) = match self.units_per_page() {
            1 => ("program_pages", together, "1".into()),
            _ => ("mapping_unit_bytes", unit, format!("0 or {page}")),
        };
        let what = |other: &str, value: &str| format!("{key} = {given}: allowed with {other} = {value} is {allowed}");
        if self.mapping.is_hybrid() {
            return refuse(what("mapping", self.mapping.name()));
        }
        if self.copyback {
            return refuse(what("copyback", "true"));
        }
        let (units, most) = (u64::from(self.pages_per_block) * u64::from(self.units_per_page()), u16::MAX / 2);
        if units > most.into() {
            return refuse(format!("mapping_unit_bytes = {unit}: gives {units} units in a block, allowed are at most {most}"));
        }
        let least = self.least_staging_bytes();
        if self.staging_bytes != 0 && self.staging_bytes < least {
            return refuse(format!(
                "staging_bytes = {}: allowed is 0, or at least {least}, what can be open and two programs of each die",
                self.staging_bytes
            ));
        }
        Ok(())
    }

    /// A cache of blocks in SLC mode.
    pub(super) fn check_slc(&self) -> Result<(), ConfigError> {
        let key = if self.slc_static > 0 { format!("slc_static = {}", self.slc_static) } else { "slc_dynamic = true".into() };
        let none = if self.slc_static > 0 { "0" } else { "false" };
        if !self.has_slc() {
            return Ok(());
        }
        if self.program_pages <= self.read_pages {
            return refuse(format!(
                "{key}: allowed with program_pages = {} and read_pages = {} is {none}, as a word line has one bit a cell",
                self.program_pages, self.read_pages
            ));
        }
        for (key, count, is_used) in [("slc_static", self.slc_static, true), ("slc_leave", self.slc_leave, self.slc_dynamic)] {
            if is_used && count >= self.blocks_per_plane {
                return refuse(format!("{key} = {count}: allowed is less than blocks_per_plane, which is {}", self.blocks_per_plane));
            }
        }
        if self.mapping != Mapping::Page {
            return refuse(format!("{key}: allowed with mapping = {} is {none}", self.mapping.name()));
        }
        if self.has_ldpc() {
            return refuse(format!("{key}: allowed with ldpc = {} is {none}, as levels are those of blocks of all bits", self.ldpc));
        }
        let (read_ns, program_ns) = self.slc_times_ns();
        for (key, time_ns, most_ns, of) in
            [("slc_read_ns", read_ns, self.read_ns, "read_ns"), ("slc_program_ns", program_ns, self.program_ns, "program_ns")]
        {
            if time_ns > most_ns {
                return refuse(format!("{key} = {time_ns}: allowed is at most {of}, which is {most_ns}"));
            }
        }
        Ok(())
    }

    /// Blocks of several dies are collected together: nothing else may choose where pages lie, or keep the host from a die meanwhile.
    pub(super) fn check_superblocks(&self) -> Result<(), ConfigError> {
        if !self.superblock {
            return Ok(());
        }
        if !self.packs() {
            return refuse(
                "superblock = true: allowed is false unless programs fill several mapping units: set mapping_unit_bytes below page_bytes, or program_pages \
                 above 1"
                    .into(),
            );
        }
        for (key, value, is_refused, allowed) in [
            ("mapping", self.mapping.name().to_string(), self.mapping != Mapping::Page, "page"),
            ("allocation", self.allocation.name().into(), self.allocation == Allocation::Static, "dynamic_member, dynamic"),
            ("gc_blocking_scope", self.gc_blocking_scope.name().into(), self.gc_blocking_scope != GcBlockingScope::None, "none"),
            ("multi_plane", "true".into(), self.multi_plane, "false"),
            ("spare_chips", self.spare_chips.to_string(), self.spare_chips > 0, "0"),
        ] {
            if is_refused {
                return refuse(format!("{key} = {value}: allowed with superblock = true is {allowed}"));
            }
        }
        Ok(())
    }

    /// A superblock has at most as many blocks as bits of a word.
    pub(super) fn check_lanes(&self, placement: Placement) -> Result<(), ConfigError> {
        let planes = self.space_domain(placement).planes;
        if self.superblock && planes > MOST_BITS {
            return refuse(format!(
                "superblock = true: allowed is false, as {planes} planes share their free space, and superblocks have at most {MOST_BITS} blocks (slice \
                 simulates a part of a drive)"
            ));
        }
        Ok(())
    }

    /// Where all wait in the order of their arrival, no read goes before what came earlier.
    pub(super) fn check_suspension(&self) -> Result<(), ConfigError> {
        if self.suspend == Suspend::None || self.scheduling != Scheduling::Fifo {
            return Ok(());
        }
        refuse(format!("suspend = {}: allowed with scheduling = fifo is none", self.suspend.name()))
    }

    pub(super) fn check_buffer(&self) -> Result<(), ConfigError> {
        let (page_bytes, bytes) = (self.unit_bytes(), self.buffer_bytes_given());
        let (key, value) = match (self.nvram_buffer_bytes, self.buffer_bytes, self.buffer_bytes_per_gib) {
            (0, 0, 0) => return Ok(()),
            (0, 0, per_gib) => ("buffer_bytes_per_gib", per_gib),
            (0, dram, _) => ("buffer_bytes", dram),
            (nvram, 0, 0) => ("nvram_buffer_bytes", nvram),
            (nvram, ..) => {
                return refuse(format!(
                    "nvram_buffer_bytes = {nvram}: allowed beside a buffer in DRAM (buffer_bytes, buffer_bytes_per_gib) is 0"
                ));
            }
        };
        if page_bytes > MOST_PAGE_BYTES {
            return refuse(format!(
                "{key} = {value}: allowed is 0 with page_bytes = {page_bytes}; a buffer supports pages of at most {MOST_PAGE_BYTES} bytes"
            ));
        }
        if bytes < u64::from(page_bytes) {
            return refuse(format!("{key} = {value}: gives a buffer of {bytes} bytes, allowed is at least one page ({page_bytes} bytes)"));
        }
        let (low, high) = (self.destage_low_water, self.destage_high_water);
        if self.destage == Destage::LowWater && low >= high {
            return refuse(format!("destage_low_water = {low}: allowed is less than destage_high_water, which is {high}"));
        }
        Ok(())
    }

    pub(super) fn check_counts(&self) -> Result<(), ConfigError> {
        let limits = [
            ("chips_per_channel", self.chips_per_channel.to_string(), self.luns_per_channel(), "LUNs on each channel"),
            ("spare_chips", self.spare_chips.to_string(), self.luns_with_spares_per_channel(), "LUNs on each channel"),
            ("planes_per_die", self.planes_per_die.to_string(), self.planes_per_lun(), "planes in each LUN"),
            ("member", self.member.name().into(), u32::from(self.members()), "members"),
        ];
        for (key, value, count, what) in limits {
            if count > MOST_BITS {
                return refuse(format!("{key} = {value}: gives {count} {what}, allowed are at most {MOST_BITS}"));
            }
        }
        let chips = self.channels * (self.chips_per_channel + self.spare_chips);
        let planes = u128::from(chips) * u128::from(self.dies_per_chip) * u128::from(self.planes_per_die);
        let pages = planes * u128::from(self.blocks_per_plane) * u128::from(self.pages_per_block);
        if pages > MOST_PHYSICAL_PAGES {
            return refuse(format!(
                "blocks_per_plane = {}: {planes} planes with {} pages per block give {pages} physical pages, \
                 allowed are at most {MOST_PHYSICAL_PAGES}",
                self.blocks_per_plane, self.pages_per_block
            ));
        }
        Ok(())
    }

    /// Mirror chips belong to a channel, and so do the strips that they copy.
    pub(super) fn check_mirror_chips(&self) -> Result<(), ConfigError> {
        let mirrors = self.mirror_chips;
        if mirrors == 0 {
            return Ok(());
        }
        let why = if mirrors >= self.chips_per_channel {
            let (most, enough) = (self.chips_per_channel - 1, mirrors + 1);
            let fewer = if most > 0 { format!("mirror_chips to {most}, or ") } else { String::new() };
            format!("at least one chip of each channel must hold data: allowed are {fewer}chips_per_channel from {enough}")
        } else if self.member != Member::Channel {
            "allowed with member = channel only".into()
        } else if self.superblock {
            "allowed with superblock = true is 0".into()
        } else if self.copies_held() == 0 {
            format!(
                "with gc_reserve_blocks = {}, mirror chips have no space for a copy that GC could always reclaim",
                self.gc_reserve_blocks
            )
        } else {
            return Ok(());
        };
        refuse(format!("mirror_chips = {mirrors}: {why}"))
    }

    /// In idle time no less is collected than at any other; and GC that does what it owes among host operations keeps nobody from a LUN.
    pub(super) fn check_gc(&self) -> Result<(), ConfigError> {
        let (idle, threshold) = (self.gc_idle_threshold, self.gc_threshold);
        if idle != 0.0 && idle <= threshold {
            return refuse(format!("gc_idle_threshold = {idle}: allowed is 0 or above gc_threshold = {threshold}"));
        }
        if self.gc_pace == GcPace::Debt && self.gc_blocking_scope != GcBlockingScope::None {
            let scope = self.gc_blocking_scope.name();
            return refuse(format!(
                "gc_pace = debt: allowed with gc_blocking_scope = {scope} is block; debt needs gc_blocking_scope = none"
            ));
        }
        Ok(())
    }

    /// Translation pages are stored on two members, in blocks of their own. Hybrid mapping has log blocks in each plane, and no pages of free choice.
    pub(super) fn check_mapping(&self) -> Result<(), ConfigError> {
        match self.mapping {
            Mapping::Page => return Ok(()),
            Mapping::Bast | Mapping::Fast => return self.check_log_blocks(),
            Mapping::Dftl => {}
        }
        if self.members() < 2 {
            return refuse("mapping = dftl: allowed with at least 2 members, as each translation page is stored on two".into());
        }
        let (blocks, least) = (self.translation_blocks(), self.gc_reserve_blocks + 1);
        if blocks + least > self.blocks_per_plane {
            return refuse(format!(
                "mapping = dftl: {} translation pages in each member need {blocks} blocks of each plane, and data at least {least}: allowed is \
                 page, or blocks_per_plane from {}",
                self.translation_pages(),
                blocks + least
            ));
        }
        Ok(())
    }

    fn check_log_blocks(&self) -> Result<(), ConfigError> {
        let (mapping, planes) = (self.mapping.name(), self.dies_per_chip * self.planes_per_die);
        let least = if self.mapping == Mapping::Fast { 2 } else { 1 };
        if self.log_blocks_per_plane() < least {
            return refuse(format!(
                "log_blocks = {}: mapping = {mapping} needs {least} in each of the {planes} planes of a chip, allowed is from {}",
                self.log_blocks,
                least * planes
            ));
        }
        for (key, value, is_refused, allowed) in [
            ("multi_plane", "true", self.multi_plane, "false"),
            ("gc_policy", &self.gc_policy, !self.gc_policy().policy.suits_merges, "auto, greedy, commit_aware"),
            ("wear_leveling", "static", self.wear_leveling == WearLeveling::Static, "none, dynamic"),
            ("ftl", self.ftl.name(), matches!(self.ftl, Ftl::Group | Ftl::Device), "auto, member"),
        ] {
            if is_refused {
                return refuse(format!(
                    "{key} = {value}: allowed is {allowed} with mapping = {mapping}, where pages lie at fixed offsets in blocks"
                ));
            }
        }
        Ok(())
    }

    /// Refuses what could run out of space for good. Looks at `gc_reserve_blocks`, never at `gc_threshold`.
    pub(super) fn check_capacity(&self, placement: Placement) -> Result<(), ConfigError> {
        let (domain, most) = (self.space_domain(placement), self.most_logical_pages(placement));
        if (1..=most).contains(&domain.logical_pages) {
            return Ok(());
        }
        if placement == Placement::Blocks {
            let blocks = domain.logical_pages / u64::from(self.pages_per_block);
            let advice = match self.over_provisioning_bounds_ppm(placement) {
                Some((_, most)) if blocks == 0 => format!("over_provisioning up to {}", most as f64 / 1e6),
                Some((least, _)) => format!("over_provisioning from {}", least as f64 / 1e6),
                None => "a larger blocks_per_plane".into(),
            };
            if blocks == 0 {
                return refuse(format!(
                    "over_provisioning = {}: none of the {} blocks of a plane is left for data: allowed is {advice}",
                    self.over_provisioning, self.blocks_per_plane
                ));
            }
            return refuse(format!(
                "over_provisioning = {}: {blocks} logical blocks, {} log blocks and one for merges add up to {}, but a plane has {}: allowed is \
                 {advice}, or fewer log_blocks",
                self.over_provisioning,
                self.log_blocks_per_plane(),
                blocks + u64::from(self.log_blocks_per_plane()) + 1,
                self.blocks_per_plane
            ));
        }
        let advice = match self.over_provisioning_bounds_ppm(placement) {
            Some((_, most)) if domain.logical_pages == 0 => format!("allowed is over_provisioning up to {}", most as f64 / 1e6),
            Some((least, _)) => format!("allowed is over_provisioning from {}", least as f64 / 1e6),
            None => "no over_provisioning helps: allowed is a smaller gc_reserve_blocks or a larger blocks_per_plane".into(),
        };
        refuse(format!(
            "over_provisioning = {}: {} x {} blocks of {} pages would hold {} logical pages; GC can always make progress with 1 to {most} \
             (gc_reserve_blocks = {} {} and {} are kept free); {advice}",
            self.over_provisioning,
            domain.planes,
            self.blocks_per_plane - self.translation_blocks(),
            self.pages_per_block,
            domain.logical_pages,
            self.gc_reserve_blocks,
            if self.superblock { "superblocks" } else { "blocks of each plane" },
            match self.gc_stream_count() {
                1 => "two more".into(),
                streams => format!("{} for GC's streams, and two more", streams - 1),
            }
        ))
    }
}
