//! Where parts are: the planes and blocks that a part is or lies in, and the place of a physical page.

use crate::Flash;
use flashraid_vocabulary::{Part, Ppn};

/// Where a physical page is, level by level as `Part` counts them.
pub(crate) struct PageLocation {
    lun: u32,
    pub(crate) channel: u32,
    pub(crate) chip: u32,
    pub(crate) die: u32,
    pub(crate) plane: u32,
    pub(crate) block: u32,
    pub(crate) page: u32,
}

impl Flash {
    pub(crate) fn locate(&self, ppn: Ppn) -> PageLocation {
        let shape = self.shape;
        let site = shape.plane_of(ppn);
        let (plane, lun) = (site % shape.data_planes(), shape.lun_of_plane(site));
        let in_lun = plane % shape.planes_per_lun;
        let die = if shape.lun_is_chip { in_lun / shape.planes_per_die } else { lun % shape.luns_per_channel / shape.chips_per_channel };
        let block = ppn.0 / shape.pages_per_block - self.space.blocks.index(site, 0) as u32;
        // Translation planes are the last blocks.
        let before = if site == plane { 0 } else { self.space.blocks.planes[plane as usize].blocks };
        PageLocation {
            lun,
            channel: shape.channel_of_lun(lun),
            chip: shape.chip_of_lun(lun),
            die,
            plane: in_lun % shape.planes_per_die,
            block: before + block,
            page: ppn.0 % shape.pages_per_block / self.settings.units_per_page,
        }
    }

    /// Whether the place is in the plane, or larger part, that the part is or lies in.
    pub(super) fn is_in_plane_of(&self, part: &Part, place: &PageLocation) -> bool {
        match *part {
            Part::Device => true,
            Part::Member(_) if self.settings.member_is_device() => true,
            Part::Member(member) if self.settings.member_is_chip() => self.nand.luns()[place.lun as usize].member == Some(member),
            Part::Member(channel) | Part::Channel(channel) => place.channel == channel,
            Part::Chip { channel, chip } => (place.channel, place.chip) == (channel, chip),
            Part::Die { channel, chip, die } => (place.channel, place.chip, place.die) == (channel, chip, die),
            Part::Plane { channel, chip, die, plane }
            | Part::Block { channel, chip, die, plane, .. }
            | Part::Page { channel, chip, die, plane, .. } => {
                (place.channel, place.chip, place.die, place.plane) == (channel, chip, die, plane)
            }
        }
    }

    /// Plane, and number in it, of the block that the part is or lies in. `None` for larger parts.
    pub(crate) fn block_of_part(&self, part: &Part) -> Option<(u32, u16)> {
        let (Part::Block { block, .. } | Part::Page { block, .. }) = *part else { return None };
        let plane = self.planes_of(part)[0];
        let blocks = self.space.blocks.planes[plane as usize].blocks;
        Some(if block < blocks { (plane, block as u16) } else { (plane + self.shape.data_planes(), (block - blocks) as u16) })
    }

    /// Numbers of the planes that the part is, or lies in: also of the translation planes, which are other blocks of the same planes.
    pub fn planes_of(&self, part: &Part) -> Vec<u32> {
        let planes = 0..self.space.blocks.planes.len() as u32;
        let place = |plane: &u32| self.locate(self.shape.first_ppn(self.space.blocks.index(*plane, 0)));
        planes.filter(|plane| self.is_in_plane_of(part, &place(plane))).collect()
    }
}
