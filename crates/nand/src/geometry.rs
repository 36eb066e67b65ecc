//! Numbers of channels, LUNs, planes, blocks and pages: how far they go, and how one is made of another.
//!
//! LUNs are numbered channel by channel, in a channel die by die, so that going round them visits all chips first; planes LUN by LUN. The planes of
//! translation pages, if the device has any, come behind all others, in the same order: they are other blocks of the same planes. Blocks are numbered
//! plane by plane with a gap behind each plane, and pages block by block.
//!
//! With superblocks (SPEC 8.12) the planes that share their free space are one plane here, and each of them is a *lane* of it. A block of such a plane is
//! a superblock: the blocks of the same number in all lanes. Its pages are numbered as they are programmed: a program unit of the first lane, then one of the
//! next, round and round.

use flashraid_vocabulary::{Divisor, Geometry, Ppn};
use std::ops::Range;

/// Numbers left unused behind each plane's blocks. Many planes are a power of two long, so without a gap the open blocks of all planes
/// would lie at the same place in the processor's caches and push each other out.
const GAP: u32 = 5;

/// How far apart the numbers of two planes' blocks are.
pub fn plane_stride(blocks_per_plane: u32) -> u32 {
    blocks_per_plane + GAP
}

/// One past the largest physical page number. There are gaps between planes, so it exceeds the number of pages. `geometry` is without spare chips.
pub fn ppn_limit(geometry: &Geometry, spare_chips: u32, has_translation_planes: bool) -> u64 {
    let all = Geometry { chips_per_channel: geometry.chips_per_channel + spare_chips, ..*geometry };
    let planes = u64::from(all.channels) * all.planes_per_channel() * if has_translation_planes { 2 } else { 1 };
    planes * u64::from(plane_stride(geometry.blocks_per_plane)) * u64::from(geometry.pages_per_block)
}

/// The shape of a device, spare chips included, as what numbers are computed with.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Channels of the device.
    pub(crate) channels: u32,
    /// Chips of a channel: data, mirror, spare.
    pub chips_per_channel: u32,
    /// LUNs of a channel.
    pub luns_per_channel: u32,
    /// Planes of a LUN.
    pub planes_per_lun: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// A LUN is a chip; else it is a die.
    pub lun_is_chip: bool,
    /// Pages of a block, or superblock.
    pub pages_per_block: u32,
    /// Lanes of a plane: 1 without superblocks.
    pub lanes: u32,
    /// Pages of a lane that follow each other in a superblock: those of a program unit.
    pages_per_turn: u32,
    per_block: Divisor,
    per_plane: Divisor,
}

impl Shape {
    /// Of a device with so many spare chips on each channel beside those of `geometry`.
    pub fn new(geometry: &Geometry, spare_chips: u32, lun_is_chip: bool) -> Self {
        let chips_per_channel = geometry.chips_per_channel + spare_chips;
        let (luns_per_chip, dies_per_lun) = if lun_is_chip { (1, geometry.dies_per_chip) } else { (geometry.dies_per_chip, 1) };
        Self {
            channels: geometry.channels,
            chips_per_channel,
            luns_per_channel: chips_per_channel * luns_per_chip,
            planes_per_lun: geometry.planes_per_die * dies_per_lun,
            planes_per_die: geometry.planes_per_die,
            lun_is_chip,
            pages_per_block: geometry.pages_per_block,
            lanes: 1,
            pages_per_turn: geometry.pages_per_block,
            per_block: Divisor::new(geometry.pages_per_block),
            per_plane: Divisor::new(plane_stride(geometry.blocks_per_plane) * geometry.pages_per_block),
        }
    }

    /// The same with superblocks: so many planes are one, and program units have so many pages.
    pub fn with_superblocks(self, geometry: &Geometry, lanes: u32, pages_per_program: u32) -> Self {
        let pages_per_block = geometry.pages_per_block * lanes;
        Self {
            pages_per_block,
            lanes,
            pages_per_turn: pages_per_program,
            per_block: Divisor::new(pages_per_block),
            per_plane: Divisor::new(plane_stride(geometry.blocks_per_plane) * pages_per_block),
            ..self
        }
    }

    // ---- LUNs ----

    /// LUNs of the device.
    #[inline]
    pub fn luns(&self) -> u32 {
        self.channels * self.luns_per_channel
    }

    /// The chip, in its channel, that a LUN belongs to.
    pub fn chip_of_lun(&self, lun: u32) -> u32 {
        lun % self.luns_per_channel % self.chips_per_channel
    }

    /// Bit mask of a chip's LUNs in its channel.
    pub fn chip_luns(&self, chip: u32) -> u64 {
        (0..self.luns_per_channel).filter(|lun| lun % self.chips_per_channel == chip).fold(0, |mask, lun| mask | 1 << lun)
    }

    /// The channel of a LUN.
    pub fn channel_of_lun(&self, lun: u32) -> u32 {
        lun / self.luns_per_channel
    }

    /// The LUNs of a LUN's channel.
    pub fn neighbors(&self, lun: u32) -> Range<u32> {
        let first = lun / self.luns_per_channel * self.luns_per_channel;
        first..first + self.luns_per_channel
    }

    // ---- planes ----

    /// Planes of a channel.
    pub fn planes_per_channel(&self) -> u32 {
        self.luns_per_channel * self.planes_per_lun
    }

    /// Planes that are none of translation pages.
    #[inline]
    pub fn data_planes(&self) -> u32 {
        self.luns() * self.planes_per_lun / self.lanes
    }

    /// Number of a plane inside its channel.
    pub fn plane_offset(&self, chip: u32, die: u32, plane: u32) -> u32 {
        if self.lun_is_chip {
            chip * self.planes_per_lun + die * self.planes_per_die + plane
        } else {
            (die * self.chips_per_channel + chip) * self.planes_per_lun + plane
        }
    }

    /// The first of a LUN's planes: those of data, which are kind 0, or of translation pages, which are kind 1. Without superblocks.
    #[inline]
    pub fn first_plane(&self, lun: u32, kind: usize) -> u32 {
        debug_assert_eq!(self.lanes, 1);
        (lun + kind as u32 * self.luns()) * self.planes_per_lun
    }

    /// The plane of a physical page.
    #[inline]
    pub fn plane_of(&self, ppn: Ppn) -> u32 {
        self.per_plane.divide(ppn.0.into()) as u32
    }

    // ---- blocks ----

    /// The block of a physical page, numbered through the device.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> usize {
        self.per_block.divide(ppn.0.into()) as usize
    }

    /// The first page of a block.
    #[inline]
    pub fn first_ppn(&self, block: usize) -> Ppn {
        Ppn(block as u32 * self.pages_per_block)
    }

    // ---- lanes ----

    /// Pages of a lane in a block.
    #[inline]
    pub fn pages_per_lane(&self) -> u32 {
        self.pages_per_block / self.lanes
    }

    /// Pages of a lane that follow each other in a superblock.
    #[inline]
    pub fn pages_per_turn(&self) -> u32 {
        self.pages_per_turn
    }

    /// The lane of a physical page.
    #[inline]
    pub fn lane_of(&self, ppn: Ppn) -> u32 {
        if self.lanes == 1 { 0 } else { ppn.0 % self.pages_per_block / self.pages_per_turn % self.lanes }
    }

    /// The number of a page among those of its lane in its block.
    #[inline(always)]
    pub fn page_in_lane(&self, ppn: Ppn) -> u32 {
        let page = ppn.0 % self.pages_per_block;
        if self.lanes == 1 { page } else { page / (self.pages_per_turn * self.lanes) * self.pages_per_turn + page % self.pages_per_turn }
    }

    /// The inverse: the page of this number in a lane of a block.
    pub fn page_of_lane(&self, block: usize, lane: u32, page: u32) -> Ppn {
        let turn = self.pages_per_turn;
        Ppn(self.first_ppn(block).0 + page / turn * turn * self.lanes + lane * turn + page % turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        channels: 3,
        chips_per_channel: 2,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: 10,
        pages_per_block: 6,
        page_bytes: 4096,
    };

    #[test]
    fn planes_of_chips_and_dies_are_numbered_once() {
        for lun_is_chip in [false, true] {
            let shape = Shape::new(&GEOMETRY, 1, lun_is_chip);
            assert_eq!((shape.luns(), shape.data_planes()), (if lun_is_chip { 9 } else { 18 }, 36));
            let mut offsets = Vec::new();
            for (chip, die, plane) in (0..12).map(|all| (all / 4, all / 2 % 2, all % 2)) {
                let offset = shape.plane_offset(chip, die, plane);
                assert_eq!(shape.chip_of_lun(offset / shape.planes_per_lun), chip);
                assert!(shape.chip_luns(chip) >> (offset / shape.planes_per_lun) & 1 == 1);
                offsets.push(offset);
            }
            offsets.sort_unstable();
            assert_eq!(offsets, (0..shape.planes_per_channel()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pages_belong_to_their_blocks_and_planes() {
        let shape = Shape::new(&GEOMETRY, 0, false);
        let stride = plane_stride(GEOMETRY.blocks_per_plane);
        for (plane, block, page) in [(0, 0, 0), (0, 9, 5), (1, 0, 0), (23, 9, 5)] {
            let number = (plane * stride + block) as usize;
            let ppn = Ppn(shape.first_ppn(number).0 + page);
            assert_eq!((shape.plane_of(ppn), shape.block_of(ppn)), (plane, number));
            assert!(u64::from(ppn.0) < ppn_limit(&GEOMETRY, 0, false));
        }
    }

    #[test]
    fn neighbors_share_a_channel() {
        let shape = Shape::new(&GEOMETRY, 0, false);
        assert_eq!(shape.neighbors(0), 0..4);
        assert_eq!(shape.neighbors(7), 4..8);
        assert_eq!(shape.first_plane(2, 0), 4);
        assert_eq!(shape.first_plane(2, 1), 24 + 4);
    }
}
