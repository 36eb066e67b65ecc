//! What a device is, as NAND needs it.

use crate::{CellTimes, SlcTimes, SuspendSettings};

/// Everything that NAND is told about the device beside its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct NandSettings {
    /// Bytes of a flash page.
    pub page_bytes: u32,
    /// Whether a read transfers all of its flash page, however much of it is wanted.
    pub transfers_pages: bool,
    /// Pages of the map in a flash page, a power of two.
    pub units_per_page: u32,
    /// Flash pages that are programmed together.
    pub pages_per_program: u32,
    /// Flash pages that one read senses, if they follow each other from a multiple of so many on.
    pub pages_per_read: u32,
    /// Bus time of one byte in either direction, in picoseconds.
    pub bus_ps_per_byte: u64,
    /// Bus time of the command and address of a read.
    pub read_command_ns: u64,
    /// Bus time of the command and address of a program, before its data.
    pub program_command_ns: u64,
    /// Bus time of the command and address of an erase.
    pub erase_command_ns: u64,
    /// All wait in the order of their arrival, whatever their kind; else reads go first.
    pub fifo: bool,
    /// One array operation may read or program a page in each of several planes of a LUN.
    pub multi_plane: bool,
    /// The end of data-in of programs is reported.
    pub reports_data_in: bool,
    /// The layer above has a timer.
    pub has_timer: bool,
    /// Of how many equal slices of a drive this is one (SPEC 8.11).
    pub slices: u32,
    /// How many of them share each of its buses.
    pub slices_per_bus: u32,
    /// How many LUNs of all slices program or erase at the same time; 0 for any number.
    pub active_dies: u32,
    /// What reads may suspend, if anything: not under FIFO.
    pub suspend: Option<SuspendSettings>,
    /// Times of the cell array.
    pub cell: CellTimes,
    /// Those of blocks in SLC mode, if there may be any: not with LDPC.
    pub slc: Option<SlcTimes>,
}

impl NandSettings {
    /// Whether several pages of the map are programmed together: then the layer above fills program units, and has each programmed as one
    /// (`queue_page_program`).
    #[inline(always)]
    pub fn packs(&self) -> bool {
        self.units_per_page * self.pages_per_program > 1
    }

    /// Whether no read is served together with others, or suspends anything, and one attempt is enough for each.
    pub(crate) fn reads_alone(&self) -> bool {
        !self.multi_plane && !self.packs() && !self.transfers_pages && self.suspend.is_none() && self.cell.ldpc().is_none()
    }

    /// Pages of the map that one read can sense: those of a read group.
    #[inline]
    pub(crate) fn units_per_read(&self) -> u32 {
        self.units_per_page * self.pages_per_read
    }

    /// The bit of a flash page among those of its read group.
    #[inline]
    pub(crate) fn bit_in_group(&self, ppn: u32) -> u64 {
        1 << (ppn / self.units_per_page % self.pages_per_read)
    }

    /// Bus time of `bytes` of data, rounded up to a nanosecond.
    #[inline]
    pub fn transfer_ns(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.bus_ps_per_byte).div_ceil(1000)
    }

    /// Bus time of a page.
    #[inline]
    pub fn page_transfer_ns(&self) -> u64 {
        self.transfer_ns(self.page_bytes)
    }
}
