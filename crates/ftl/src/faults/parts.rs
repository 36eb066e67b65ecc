//! The parts of an SSD: where they are, and which of them live.

use crate::space::Space;
use flashraid_nand::Nand;
use flashraid_vocabulary::{MemberId, NIL, Part, Ppn};

/// Where a physical page is, level by level as `Part` counts them.
pub(crate) struct PageLocation {
    lun: u32,
    channel: u32,
    chip: u32,
    die: u32,
    plane: u32,
    pub(super) block: u32,
    page: u32,
}

/// The parts of an SSD, as channels, LUNs, planes and blocks say together.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub(crate) space: &'a Space,
    pub(crate) nand: &'a Nand,
}

impl<'a> Parts<'a> {
    // ---- where they are ----

    pub(crate) fn locate(&self, ppn: Ppn) -> PageLocation {
        let shape = self.space.shape;
        let plane = shape.plane_of(ppn);
        let place = self.nand.places().place_of_lane(plane, shape.lane_of(ppn));
        let (lun, in_lun) = (place / shape.planes_per_lun, place % shape.planes_per_lun);
        let die = if shape.lun_is_chip { in_lun / shape.planes_per_die } else { lun % shape.luns_per_channel / shape.chips_per_channel };
        let block = ppn.0 / shape.pages_per_block - self.space.blocks.index(plane, 0) as u32;
        // Translation planes are the last blocks.
        let before = if plane < shape.data_planes() { 0 } else { self.space.blocks.planes[place as usize].blocks };
        PageLocation {
            lun,
            channel: shape.channel_of_lun(lun),
            chip: shape.chip_of_lun(lun),
            die,
            plane: in_lun % shape.planes_per_die,
            block: before + block,
            page: shape.page_in_lane(ppn) / self.space.settings.units_per_page,
        }
    }

    /// Where a physical page is, by the numbers of its levels.
    pub fn part_of(&self, ppn: Ppn) -> Part {
        let PageLocation { channel, chip, die, plane, block, page, .. } = self.locate(ppn);
        Part::Page { channel, chip, die, plane, block, page }
    }

    /// Whether the place is in the plane, or larger part, that the part is or lies in.
    pub(super) fn is_in_plane_of(&self, part: &Part, place: &PageLocation) -> bool {
        let settings = &self.space.settings;
        match *part {
            Part::Device => true,
            Part::Member(_) if settings.member_is_device() => true,
            Part::Member(member) if settings.member_is_chip() => self.nand.luns()[place.lun as usize].member == Some(member),
            Part::Member(channel) | Part::Channel(channel) => place.channel == channel,
            Part::Chip { channel, chip } => (place.channel, place.chip) == (channel, chip),
            Part::Die { channel, chip, die } => (place.channel, place.chip, place.die) == (channel, chip, die),
            Part::Plane { channel, chip, die, plane }
            | Part::Block { channel, chip, die, plane, .. }
            | Part::WordLine { channel, chip, die, plane, .. }
            | Part::Page { channel, chip, die, plane, .. } => {
                (place.channel, place.chip, place.die, place.plane) == (channel, chip, die, plane)
            }
        }
    }

    /// Plane, number in it, and lane of the block that the part is or lies in. `None` for larger parts.
    pub(crate) fn block_of(&self, part: &Part) -> Option<(u32, u16, u32)> {
        let block = part.block()?;
        let (plane, lane) = self.lanes_of(part)[0];
        let blocks = self.space.blocks.planes[plane as usize].blocks;
        let data_planes = self.space.shape.data_planes();
        Some(if block < blocks { (plane, block as u16, lane) } else { (plane + data_planes, (block - blocks) as u16, lane) })
    }

    /// The planes of flash that the part is, has, or lies in, as plane and lane: also the translation planes, which are other blocks of the same planes.
    pub fn lanes_of(&self, part: &Part) -> Vec<(u32, u32)> {
        let shape = &self.space.shape;
        let place = |(plane, lane): (u32, u32)| self.locate(shape.page_of_lane(self.space.blocks.index(plane, 0), lane, 0));
        self.lanes().filter(|lane| self.is_in_plane_of(part, &place(*lane))).collect()
    }

    /// All of them.
    fn lanes(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let lanes = self.space.shape.lanes;
        (0..self.space.planes()).flat_map(move |plane| (0..lanes).map(move |lane| (plane, lane)))
    }

    /// Every physical page of the part.
    pub fn pages_of(self, part: &Part) -> impl Iterator<Item = Ppn> + use<'a> {
        let (space, in_part) = (self.space, self.block_of(part));
        let (units, shape) = (space.settings.units_per_page, space.shape);
        let blocks = self
            .lanes_of(part)
            .into_iter()
            .flat_map(move |(plane, lane)| (0..space.blocks.planes[plane as usize].blocks as u16).map(move |number| (plane, number, lane)));
        let blocks = blocks.filter(move |block| in_part.is_none_or(|one| one == *block));
        let only = space.settings.flash_pages_of(part);
        let pages = blocks.flat_map(move |(plane, number, lane)| {
            let block = space.blocks.index(plane, number);
            (0..shape.pages_per_lane()).map(move |page| (page / units, shape.page_of_lane(block, lane, page)))
        });
        pages.filter(move |(page, _)| only.as_ref().is_none_or(|only| only.contains(page))).map(|(_, ppn)| ppn)
    }

    // ---- which of them live ----

    /// Whether anything of the member lives.
    pub fn is_alive(&self, member: MemberId) -> bool {
        self.lanes().any(|(plane, lane)| {
            let is_its = self.nand.member_of_lun(self.nand.places().lun_of_lane(plane, lane)) == Some(member.0.into());
            let state = &self.space.blocks.planes[plane as usize];
            is_its && state.in_use && state.blocks > 0 && self.space.blocks.lives(plane, lane)
        })
    }

    /// Erased blocks of a member, without those of its translation planes.
    pub fn free_blocks(&self, member: u32) -> u64 {
        let luns = (0..self.space.shape.luns()).filter(|lun| self.nand.member_of_lun(*lun) == Some(member));
        luns.map(|lun| self.space.free_blocks_of_lun(lun, self.nand.places())).sum()
    }

    /// Chips of which nothing lives and that no spare chip replaces, as (channel, chip): those that `Flash::replace` takes.
    pub fn dead_chips(&self) -> Vec<(u32, u32)> {
        let settings = &self.space.settings;
        let chips = (0..settings.geometry.channels).flat_map(|channel| (0..settings.chips_per_channel()).map(move |c| (channel, c)));
        chips.filter(|(channel, chip)| self.is_dead_chip(*channel, *chip)).collect()
    }

    /// Those of them that this part is, has or is in.
    pub fn dead_chips_of(&self, part: &Part) -> Vec<(u32, u32)> {
        let planes = self.lanes_of(part);
        let mut chips = self.dead_chips();
        chips.retain(|&(channel, chip)| self.lanes_of(&Part::Chip { channel, chip }).iter().any(|plane| planes.contains(plane)));
        chips
    }

    pub(super) fn is_dead_chip(&self, channel: u32, chip: u32) -> bool {
        let planes = self.lanes_of(&Part::Chip { channel, chip });
        planes.iter().all(|(plane, lane)| !self.space.blocks.lives(*plane, *lane))
            && planes.iter().any(|(plane, _)| self.space.blocks.planes[*plane as usize].in_use)
    }

    /// The first spare chip of a channel that neither is in use nor has failed.
    pub(super) fn spare_chip(&self, channel: u32) -> Option<u32> {
        let settings = &self.space.settings;
        let is_spare = |chip: &u32| {
            let planes = self.lanes_of(&Part::Chip { channel, chip: *chip });
            let mut states = planes.iter().map(|(plane, _)| &self.space.blocks.planes[*plane as usize]);
            states.all(|plane| !plane.in_use && !plane.dead)
        };
        (settings.geometry.chips_per_channel..settings.chips_per_channel()).find(is_spare)
    }

    /// Channels (bits) of which a chip that holds data is dead, and those of which a mirror chip is; without those that others replace.
    pub fn channels_with_dead_chips(&self) -> (u64, u64) {
        let (mut data, mut mirrors) = (0, 0);
        for (channel, chip) in self.dead_chips() {
            let mut domains = self.lanes_of(&Part::Chip { channel, chip }).into_iter().map(|(plane, _)| self.space.domain_of_plane(plane));
            let is_mirror = domains.any(|domain| domain != NIL && self.space.holds_copies(domain));
            *(if is_mirror { &mut mirrors } else { &mut data }) |= 1 << channel;
        }
        (data, mirrors)
    }

    /// Whether a spare chip is in use.
    pub fn uses_spares(&self) -> bool {
        let (settings, shape) = (&self.space.settings, &self.space.shape);
        let spares = settings.geometry.chips_per_channel..settings.chips_per_channel();
        let mut planes =
            (0..shape.data_planes()).filter(|plane| spares.contains(&shape.chip_of_lun(self.nand.places().lun_of_plane(*plane))));
        planes.any(|plane| self.space.blocks.planes[plane as usize].in_use)
    }
}
