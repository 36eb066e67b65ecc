//! How full and worn flash is: for reports, logs and torture.

use super::Space;
use super::blocks::Usage;
use super::slc::SlcCounts;
use flashraid_nand::Places;
use flashraid_vocabulary::{NIL, Ppn};

impl Space {
    /// How full the device is.
    pub fn usage(&self) -> Usage {
        self.blocks.usage()
    }

    /// What the SLC cache has done, if there is one.
    pub fn slc_counts(&self) -> Option<SlcCounts> {
        self.blocks.slc_counts()
    }

    /// Erase count of each block.
    pub fn erase_counts(&self) -> impl Iterator<Item = u32> + Clone {
        self.blocks.erase_counts()
    }

    /// Erases of each block before time began.
    pub fn preset_erases(&self) -> u32 {
        self.blocks.preset
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

    /// Erased blocks of a LUN.
    pub fn free_blocks_of_lun(&self, lun: u32, places: &Places) -> u64 {
        self.free_blocks_of_planes(lun, places).map(u64::from).sum()
    }

    /// Erased blocks of each plane of a LUN.
    pub fn free_blocks_of_planes(&self, lun: u32, places: &Places) -> impl Iterator<Item = u32> {
        self.lanes_of_lun(lun, places)
            .map(|(plane, lane)| if self.blocks.lives(plane, lane) { self.blocks.planes[plane as usize].free_blocks } else { 0 })
    }

    /// The data planes of a LUN: plane and lane.
    fn lanes_of_lun(&self, lun: u32, places: &Places) -> impl Iterator<Item = (u32, u32)> {
        (lun * self.shape.planes_per_lun..(lun + 1) * self.shape.planes_per_lun).map(|place| places.lane_of_place(place))
    }

    /// Whether the LUN is in use: a spare chip that replaces none is not, nor is a chip that was replaced.
    pub fn is_in_use(&self, lun: u32, places: &Places) -> bool {
        self.lanes_of_lun(lun, places).any(|(plane, _)| self.blocks.planes[plane as usize].in_use)
    }

    /// Whether a block is out of use in a part that lives. Looks at all planes.
    pub fn has_retired_blocks(&self) -> bool {
        self.blocks.planes.iter().any(|plane| plane.in_use && !plane.dead && plane.retired > 0)
    }

    /// The number above those of all physical pages.
    pub fn ppn_limit(&self) -> u32 {
        self.lost.0 + 1
    }

    /// The lanes of a plane of which something lives, if anything of the plane does.
    pub(crate) fn living_lanes(&self, plane: u32) -> impl Iterator<Item = u32> + use<> {
        let dead_lanes = self.blocks.planes[plane as usize].dead_lanes;
        (0..self.shape.lanes).filter(move |lane| dead_lanes >> lane & 1 == 0)
    }

    /// Whether nothing of the page's lane lives, though something of its plane may.
    #[inline]
    pub(crate) fn is_in_dead_lane(&self, ppn: Ppn) -> bool {
        let dead_lanes = self.blocks.planes[self.shape.plane_of(ppn) as usize].dead_lanes;
        dead_lanes != 0 && dead_lanes >> self.shape.lane_of(ppn) & 1 == 1
    }

    /// Whether a physical page lies on a mirror chip.
    pub fn is_of_mirror(&self, ppn: Ppn) -> bool {
        let domain = self.domain_of_plane(self.shape.plane_of(ppn));
        domain != NIL && self.holds_copies(domain)
    }
}
