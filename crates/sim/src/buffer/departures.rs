//! Pages and trims on their way to flash, and what the buffer knows of a page because of them.

use flashraid_vocabulary::slab::Slab;
use rustc_hash::FxHashMap;

/// A page or a trim on its way to flash.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The slot of its operation.
    pub operation: u32,
    /// Which of the operation's strips it is.
    pub strip: u8,
    /// Sectors that it writes; `None` for a trim.
    pub sectors: Option<u64>,
    /// Whether nothing beneath counts any more: of a trim, and of a page of which nothing else is needed.
    pub replaces: bool,
    /// With which number the page was taken in.
    pub number: u64,
}

/// Of a large buffer more hardly ever leave at one time.
const MOST_AT_ONCE: usize = 1 << 12;

/// Pages that leave, by page in the order in which they were decided, which is the order in which they end: they queue at one lock.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    /// Each with the next later one of the same page.
    pub(super) list: Slab<(Departure, u32)>,
    /// First and last departure of each page that has one.
    pub(super) pages: FxHashMap<u32, (u32, u32)>,
}

impl Departures {
    /// None, of a buffer of so many pages.
    pub(super) fn of_buffer(pages: usize) -> Self {
        let room = pages.min(MOST_AT_ONCE);
        Self { list: Slab::with_room(room), pages: FxHashMap::with_capacity_and_hasher(room, Default::default()) }
    }
}

/// What the buffer knows of a page: sectors that it holds, and whether all others are zero, as something in flight leaves nothing else of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldSectors {
    /// Sectors in the buffer.
    pub sectors: u64,
    /// Whether flash has nothing that counts.
    pub is_all: bool,
    /// The greatest number with which they were taken in.
    pub number: u64,
}

/// What a read takes of a page from where, as things are: sectors of its entry, beneath it those on their way out, beneath these what flash holds.
/// All others are zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Its entry, if it is buffered.
    pub entry: Option<u32>,
    /// Sectors of the entry.
    pub buffered: u64,
    /// What pages that leave hold of it.
    pub leaving: HeldSectors,
    /// Sectors that flash holds, if they count.
    pub on_flash: u64,
}

impl Taken {
    /// Sectors that come from the buffer.
    #[inline]
    pub fn from_buffer(&self) -> u64 {
        self.buffered | self.leaving.sectors
    }

    /// Sectors that come from flash.
    #[inline]
    pub fn from_flash(&self) -> u64 {
        self.on_flash & !self.from_buffer()
    }
}
