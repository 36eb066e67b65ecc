//! The shape of a device.

/// Counts of each level of the flash hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the device (buses).
    pub channels: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Dies in each chip.
    pub dies_per_chip: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
}

impl Geometry {
    /// Pages of one plane.
    pub fn pages_per_plane(&self) -> u64 {
        u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block)
    }

    /// Planes of one channel.
    pub fn planes_per_channel(&self) -> u64 {
        u64::from(self.chips_per_channel) * u64::from(self.dies_per_chip) * u64::from(self.planes_per_die)
    }

    /// Pages of one channel.
    pub fn pages_per_channel(&self) -> u64 {
        self.planes_per_channel() * self.pages_per_plane()
    }

    /// Pages of the device.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.channels) * self.pages_per_channel()
    }

    /// Bytes of the device, every physical page counted.
    pub fn raw_bytes(&self) -> u64 {
        self.physical_pages() * u64::from(self.page_bytes)
    }
}
