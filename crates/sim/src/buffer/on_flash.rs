//! Which sectors of each page flash holds.

use flashraid_vocabulary::Lpn;
use flashraid_vocabulary::memory::{prefetch, zeroed};

/// Which sectors of each page flash holds once everything decided is done: a bit for each sector.
#[derive(Clone, Debug)]
pub(super) struct SectorsOnFlash {
    words: Vec<u64>,
    /// Sectors of a page, as a power of two.
    pub(super) shift: u32,
}

impl SectorsOnFlash {
    /// Nothing, of so many pages.
    pub(super) fn new(space_pages: u64, shift: u32) -> Self {
        Self { words: zeroed(((space_pages << shift) >> 6) as usize + 1), shift }
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> u64 {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] >> (bit & 63) & u64::MAX >> (64 - (1 << self.shift))
    }

    #[inline]
    pub(super) fn add(&mut self, lpn: Lpn, sectors: u64) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] |= sectors << (bit & 63);
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.words, (lpn.0 << self.shift >> 6) as usize);
    }

    pub(super) fn clear(&mut self, lpn: Lpn) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] &= !(u64::MAX >> (64 - (1 << self.shift)) << (bit & 63));
    }
}
