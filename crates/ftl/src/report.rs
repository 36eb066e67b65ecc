//! What reports, logs and torture look at, and the engine does not: what is in flight, what has failed, and where parts are.

use crate::faults::PageLocation;
use crate::space::blocks::NONE;
use crate::{Flash, GcUnderWay};
use flashraid_nand::NIL;
use flashraid_vocabulary::{MemberId, Part, Ppn};

impl Flash {
    // ---- space ----

    /// Erased blocks of a member, without those of its translation planes.
    pub fn free_blocks(&self, member: u32) -> u64 {
        (0..self.shape.luns())
            .filter(|lun| self.nand.member_of_lun(*lun) == Some(member))
            .map(|lun| self.space.free_blocks_of_lun(lun))
            .sum()
    }

    // ---- what is in flight ----

    /// GC runs, by what they are: looks at all planes.
    pub fn gc_runs_under_way(&self) -> GcUnderWay {
        let mut collecting = GcUnderWay::default();
        let data_planes = self.shape.data_planes();
        for (plane, gc) in (0..).zip(&self.gc.runs).filter(|(_, gc)| gc.victim != NONE) {
            collecting.merges |= self.hybrid.is_some();
            collecting.of_data |= self.hybrid.is_none() && plane < data_planes;
            collecting.of_map |= plane >= data_planes;
            collecting.for_wear |= gc.wear;
        }
        collecting
    }

    // ---- failures ----

    /// Whether anything of the member lives.
    pub fn is_alive(&self, member: MemberId) -> bool {
        (0..self.space.planes()).any(|plane| {
            let is_its = self.nand.member_of_lun(self.nand.lun_of_plane(plane)) == Some(member.0.into());
            let state = &self.space.blocks.planes[plane as usize];
            is_its && state.in_use && !state.dead && state.blocks > 0
        })
    }

    /// Channels (bits) of which a chip that holds data is dead, and those of which a mirror chip is; without those that others replace.
    pub fn channels_with_dead_chips(&self) -> (u64, u64) {
        let (mut data, mut mirrors) = (0, 0);
        for (channel, chip) in if self.has_failures() { self.dead_chips() } else { Vec::new() } {
            let mut domains = self.planes_of(&Part::Chip { channel, chip }).into_iter().map(|plane| self.space.domain_of_plane(plane));
            let is_mirror = domains.any(|domain| domain != NIL && self.space.holds_copies(domain));
            *(if is_mirror { &mut mirrors } else { &mut data }) |= 1 << channel;
        }
        (data, mirrors)
    }

    /// Whether a spare chip is in use.
    pub fn uses_spares(&self) -> bool {
        let spares = self.settings.geometry.chips_per_channel..self.settings.chips_per_channel();
        let mut planes =
            (0..self.shape.data_planes()).filter(|plane| spares.contains(&self.shape.chip_of_lun(self.nand.lun_of_plane(*plane))));
        self.has_failures() && planes.any(|plane| self.space.blocks.planes[plane as usize].in_use)
    }

    /// Whether the page stands for versions that could not be allocated.
    pub fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        ppn == self.faults.lost
    }

    // ---- parts ----

    /// Where a physical page is, by the numbers of its levels.
    pub fn part_of(&self, ppn: Ppn) -> Part {
        let PageLocation { channel, chip, die, plane, block, page, .. } = self.locate(ppn);
        Part::Page { channel, chip, die, plane, block, page }
    }

    /// Every physical page of the part.
    pub fn pages_of(&self, part: &Part) -> impl Iterator<Item = Ppn> {
        let (in_part, units) = (self.block_of_part(part), self.settings.units_per_page);
        let blocks = self
            .planes_of(part)
            .into_iter()
            .flat_map(move |plane| (0..self.space.blocks.planes[plane as usize].blocks as u16).map(move |number| (plane, number)));
        let blocks = blocks.filter(move |block| in_part.is_none_or(|one| one == *block));
        let only = if let Part::Page { page, .. } = *part { Some(page) } else { None };
        let pages = blocks.flat_map(move |(plane, number)| {
            let first = self.shape.first_ppn(self.space.blocks.index(plane, number));
            (0..self.shape.pages_per_block).map(move |page| (page / units, Ppn(first.0 + page)))
        });
        pages.filter(move |(page, _)| only.is_none_or(|only| only == *page)).map(|(_, ppn)| ppn)
    }
}
