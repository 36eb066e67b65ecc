//! Numbers of pages and planes: how far they go, how they are taken apart, and where a plane is.

use crate::mapping::blocks::plane_stride;
use flashraid_vocabulary::Geometry;

/// One past the largest physical page number. There are gaps between planes (see `mapping::blocks`), so it exceeds the number of
/// pages. Translation planes, if the device has any, are numbered behind all others, as if each had all blocks of its plane.
/// `geometry` is without spare chips.
pub fn ppn_limit(geometry: &Geometry, spare_chips: u32, has_translation_planes: bool) -> u64 {
    let all = Geometry { chips_per_channel: geometry.chips_per_channel + spare_chips, ..*geometry };
    let planes = u64::from(all.channels) * all.planes_per_channel() * if has_translation_planes { 2 } else { 1 };
    planes * u64::from(plane_stride(geometry.blocks_per_plane)) * u64::from(geometry.pages_per_block)
}

/// Where a plane is: its LUN, its bit among the unit's planes, and its space domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) unit: u32,
    pub(crate) domain: u32,
    pub(crate) bit: u64,
}
