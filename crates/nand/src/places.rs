//! In which LUNs planes, their lanes, and pages are.

use crate::Shape;
use flashraid_vocabulary::Ppn;

/// A plane's LUN, and its bit among the LUN's planes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) lun: u32,
    pub(crate) bit: u64,
}

impl Site {
    fn of(plane: u32, shape: Shape) -> Self {
        let place = plane % (shape.luns() * shape.planes_per_lun);
        Self { lun: place / shape.planes_per_lun, bit: 1 << (plane % shape.planes_per_lun) }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Places {
    shape: Shape,
    /// By plane: of its first lane.
    sites: Vec<Site>,
    /// With superblocks, the planes of flash that are their lanes, plane by plane.
    lanes: Vec<u32>,
}

impl Places {
    /// Of so many planes, those of translation pages included.
    pub(crate) fn new(planes: u32, shape: Shape) -> Self {
        Self { sites: (0..planes).map(|plane| Site::of(plane, shape)).collect(), lanes: Vec::new(), shape }
    }

    /// Superblocks have these lanes, plane by plane.
    pub fn set_lanes(&mut self, lanes: Vec<u32>) {
        self.sites = lanes.chunks(self.shape.lanes as usize).map(|lanes| Site::of(lanes[0], self.shape)).collect();
        self.lanes = lanes;
    }

    #[inline(always)]
    pub(crate) fn of(&self, plane: u32) -> Site {
        self.sites[plane as usize]
    }

    // ---- LUNs ----

    /// The LUN of a plane; with superblocks, of its first lane.
    #[inline(always)]
    pub fn lun_of_plane(&self, plane: u32) -> u32 {
        self.sites[plane as usize].lun
    }

    /// The LUN of a physical page.
    #[inline]
    pub fn lun_of(&self, ppn: Ppn) -> u32 {
        self.lun_of_page(self.shape.plane_of(ppn), ppn)
    }

    /// The LUN of a physical page of this plane.
    #[inline(always)]
    pub fn lun_of_page(&self, plane: u32, ppn: Ppn) -> u32 {
        if self.shape.lanes == 1 { self.lun_of_plane(plane) } else { self.lun_of_lane(plane, self.shape.lane_of(ppn)) }
    }

    /// The LUN of a lane.
    pub fn lun_of_lane(&self, plane: u32, lane: u32) -> u32 {
        self.place_of_lane(plane, lane) / self.shape.planes_per_lun
    }

    // ---- planes of flash ----

    /// The plane of flash that a lane is, numbered LUN by LUN.
    pub fn place_of_lane(&self, plane: u32, lane: u32) -> u32 {
        if self.shape.lanes == 1 { plane % self.shape.data_planes() } else { self.lanes[(plane * self.shape.lanes + lane) as usize] }
    }

    /// Plane and lane of a plane of flash that holds data.
    pub fn lane_of_place(&self, place: u32) -> (u32, u32) {
        if self.shape.lanes == 1 {
            return (place, 0);
        }
        let lane = self.lanes.iter().position(|of| *of == place).expect("each plane is a lane") as u32;
        (lane / self.shape.lanes, lane % self.shape.lanes)
    }
}
