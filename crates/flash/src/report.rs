//! What reports, logs and torture look at, and the engine does not: how full and worn flash is, what buses and LUNs did, and what has failed.

use crate::faults::PageLocation;
use crate::mapping::blocks::NONE;
use crate::mapping::space::{DATA, NIL};
use crate::nand::records::WorkKind;
use crate::nand::units::{Channel, Unit};
use crate::{Flash, GcUnderWay, Space};
use flashraid_vocabulary::{Cause, MemberId, Part, Ppn};

impl Flash {
    // ---- space and wear ----

    /// How full the device is.
    pub fn space(&self) -> Space {
        self.blocks.space()
    }

    /// Erase count of each block.
    pub fn erase_counts(&self) -> impl Iterator<Item = u32> + Clone {
        self.blocks.erase_counts()
    }

    /// Erases of each block before time began.
    pub fn preset_erases(&self) -> u32 {
        self.preset_erases
    }

    /// Erases of all blocks since the device was new, those before time began included.
    #[inline]
    pub fn total_erases(&self) -> u64 {
        self.blocks.total_erases
    }

    /// Erases that all blocks together endure; `u64::MAX` without a limit.
    #[inline]
    pub fn endurance(&self) -> u64 {
        self.blocks.endurance
    }

    /// Whether all erases that the blocks endure are spent.
    pub fn is_worn_out(&self) -> bool {
        self.blocks.total_erases >= self.blocks.endurance
    }

    /// Share of the endurance that is spent; `None` without a limit.
    pub fn age(&self) -> Option<f64> {
        (self.endurance() < u64::MAX).then(|| self.total_erases() as f64 / self.endurance() as f64)
    }

    /// Erased blocks of a member, without those of its translation planes.
    pub fn free_blocks(&self, member: u32) -> u64 {
        (0..self.units.len() as u32)
            .filter(|unit| self.member_of_unit(*unit) == Some(member))
            .map(|unit| self.free_blocks_of_unit(unit))
            .sum()
    }

    /// Erased blocks of a LUN.
    pub fn free_blocks_of_unit(&self, unit: u32) -> u64 {
        self.free_blocks_of_planes(unit).map(u64::from).sum()
    }

    /// Erased blocks of each plane of a LUN.
    pub fn free_blocks_of_planes(&self, unit: u32) -> impl Iterator<Item = u32> {
        self.blocks.planes[self.first_plane(unit, DATA) as usize..][..self.planes_per_unit as usize].iter().map(|plane| plane.free_blocks)
    }

    // ---- buses and LUNs ----

    /// LUNs, in order of channel and unit.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Channels.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Time that a channel's bus was in use before `time_ns`, which no transfer after the one in progress began before, by the cause of the
    /// work.
    pub fn bus_busy_ns(&self, channel: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let channel = &self.channels[channel as usize];
        let mut busy_ns = channel.busy_ns;
        if channel.free_ns > time_ns {
            // The unit that last had its turn is in the midst of the transfer.
            let unit = &self.units[channel.first_unit as usize + channel.turn as usize];
            busy_ns[self.records[unit.current as usize].cause as usize] -= channel.free_ns - time_ns;
        }
        busy_ns
    }

    /// Time that a LUN was at work before `time_ns`, which no event is before that is still to come, by the cause of the work.
    pub fn unit_busy_ns(&self, unit: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let unit = &self.units[unit as usize];
        let mut busy_ns = unit.busy_ns;
        if !unit.is_idle() {
            busy_ns[self.cause_of_work(unit) as usize] += time_ns.saturating_sub(unit.since_ns);
        }
        busy_ns
    }

    /// The cause that work in progress will have been counted under when it ends: of several reads together, that of the last.
    fn cause_of_work(&self, unit: &Unit) -> Cause {
        let record = &self.records[unit.current as usize];
        if !matches!(record.work, WorkKind::Read | WorkKind::MoveRead) {
            return record.cause;
        }
        self.records[self.last_read(unit) as usize].cause
    }

    /// Whether a LUN that began its work before `time_ns` is still at it.
    pub fn is_at_work_since_before(&self, time_ns: u64) -> bool {
        self.units.iter().any(|unit| !unit.is_idle() && unit.since_ns < time_ns)
    }

    // ---- what is in flight ----

    /// GC runs, by what they are: looks at all planes.
    pub fn gc_runs_under_way(&self) -> GcUnderWay {
        let mut collecting = GcUnderWay::default();
        let data_planes = self.units.len() as u32 * self.planes_per_unit;
        for (plane, gc) in (0..).zip(&self.gc_runs).filter(|(_, gc)| gc.victim != NONE) {
            collecting.merges |= self.hybrid.is_some();
            collecting.of_data |= self.hybrid.is_none() && plane < data_planes;
            collecting.of_map |= plane >= data_planes;
            collecting.for_wear |= gc.wear;
        }
        collecting
    }

    /// The pages that programs are being written to. Looks at all LUNs.
    pub fn programs_in_service(&self) -> impl Iterator<Item = Ppn> {
        let first = self.units.iter().map(|unit| unit.current).filter(|id| *id != NIL);
        first.map(|id| self.records[id as usize]).filter(|record| record.work == WorkKind::Program).map(|record| Ppn(record.ppn))
    }

    // ---- requests ----

    /// Completed host requests counted.
    pub fn requests_completed(&self) -> u64 {
        self.completed_requests
    }

    /// Sum over `completed` requests, which are all that have completed, of the member's queue length at their completion.
    pub fn blocked_sum(&self, member: u32, completed: u64) -> u64 {
        let load = &self.loads[member as usize];
        load.blocked_sum + u64::from(load.reads + load.programs) * (completed - load.blocked_epoch)
    }

    // ---- failures ----

    /// Whether anything of the member lives.
    pub fn is_alive(&self, member: MemberId) -> bool {
        (0..self.planes()).any(|plane| {
            let is_its = self.member_of_unit(self.unit_of_plane(plane)) == Some(member.0.into());
            let state = &self.blocks.planes[plane as usize];
            is_its && state.in_use && !state.dead && state.blocks > 0
        })
    }

    /// Whether the LUN is in use: a spare chip that replaces none is not, nor is a chip that was replaced.
    pub fn is_in_use(&self, unit: u32) -> bool {
        let planes = &self.blocks.planes[self.first_plane(unit, DATA) as usize..][..self.planes_per_unit as usize];
        planes.iter().any(|plane| plane.in_use)
    }

    /// Whether a block is out of use in a part that lives. Looks at all planes.
    pub fn has_retired_blocks(&self) -> bool {
        self.has_failures() && self.blocks.planes.iter().any(|plane| plane.in_use && !plane.dead && plane.retired > 0)
    }

    /// Channels (bits) of which a chip that holds data is dead, and those of which a mirror chip is; without those that others replace.
    pub fn channels_with_dead_chips(&self) -> (u64, u64) {
        let (mut data, mut mirrors) = (0, 0);
        for (channel, chip) in if self.has_failures() { self.dead_chips() } else { Vec::new() } {
            let mut domains = self.planes_of(&Part::Chip { channel, chip }).into_iter().map(|plane| self.domain_of_plane(plane));
            let is_mirror = domains.any(|domain| domain != NIL && self.holds_copies(domain));
            *(if is_mirror { &mut mirrors } else { &mut data }) |= 1 << channel;
        }
        (data, mirrors)
    }

    /// Whether a spare chip is in use.
    pub fn uses_spares(&self) -> bool {
        let spares = self.settings.geometry.chips_per_channel..self.settings.chips_per_channel();
        let mut planes = (0..self.data_planes()).filter(|plane| spares.contains(&self.chip_of_unit(self.unit_of_plane(*plane))));
        self.has_failures() && planes.any(|plane| self.blocks.planes[plane as usize].in_use)
    }

    /// Whether the page stands for versions that could not be allocated.
    pub fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        ppn == self.faults.lost
    }

    /// Whether a physical page lies on a mirror chip.
    pub fn is_of_mirror(&self, ppn: Ppn) -> bool {
        let domain = self.domain_of_plane(self.plane_of(ppn));
        domain != NIL && self.holds_copies(domain)
    }

    // ---- parts ----

    /// Where a physical page is, by the numbers of its levels.
    pub fn part_of(&self, ppn: Ppn) -> Part {
        let PageLocation { channel, chip, die, plane, block, page, .. } = self.locate(ppn);
        Part::Page { channel, chip, die, plane, block, page }
    }

    /// Every physical page of the part.
    pub fn pages_of(&self, part: &Part) -> impl Iterator<Item = Ppn> {
        let in_part = self.block_of_part(part);
        let blocks = self
            .planes_of(part)
            .into_iter()
            .flat_map(move |plane| (0..self.blocks.planes[plane as usize].blocks as u16).map(move |number| (plane, number)));
        let blocks = blocks.filter(move |block| in_part.is_none_or(|one| one == *block));
        let only = if let Part::Page { page, .. } = *part { Some(page) } else { None };
        let pages = blocks.flat_map(|(plane, number)| {
            let first = self.first_ppn(self.blocks.index(plane, number));
            (0..self.pages_per_block).map(move |page| (page, Ppn(first.0 + page)))
        });
        pages.filter(move |(page, _)| only.is_none_or(|only| only == *page)).map(|(_, ppn)| ppn)
    }
}
