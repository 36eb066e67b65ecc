//! A bit for each sector of each page.

use flashraid_vocabulary::memory::{prefetch, zeroed};
use flashraid_vocabulary::{Lpn, persistent};

/// A set of sectors. Those of a page, at most 64, are bits of a word.
#[derive(Clone, Debug)]
pub(crate) struct SectorMap {
    words: Vec<u64>,
    /// Sectors of a page, as a power of two.
    pub(crate) shift: u32,
}

persistent!(SectorMap {
    arrays [words],
    anew [shift],
});

impl SectorMap {
    /// No sector of so many pages.
    pub(crate) fn new(space_pages: u64, shift: u32) -> Self {
        Self { words: zeroed(((space_pages << shift) >> 6) as usize + 1), shift }
    }

    /// Those of a page.
    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> u64 {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] >> (bit & 63) & u64::MAX >> (64 - (1 << self.shift))
    }

    /// Adds sectors of a page.
    #[inline]
    pub(crate) fn add(&mut self, lpn: Lpn, sectors: u64) {
        let bit = lpn.0 << self.shift;
        self.words[(bit >> 6) as usize] |= sectors << (bit & 63);
    }

    /// Makes these the only ones of a page.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, sectors: u64) {
        let bit = lpn.0 << self.shift;
        let word = &mut self.words[(bit >> 6) as usize];
        *word = *word & !(u64::MAX >> (64 - (1 << self.shift)) << (bit & 63)) | sectors << (bit & 63);
    }

    /// Takes out every sector from `first` on, before `end`, counted through all pages.
    pub(crate) fn remove_range(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let (first_word, last_word) = ((first >> 6) as usize, ((end - 1) >> 6) as usize);
        let (from, to) = (u64::MAX << (first & 63), u64::MAX >> (63 - ((end - 1) & 63)));
        if first_word == last_word {
            self.words[first_word] &= !(from & to);
        } else {
            self.words[first_word] &= !from;
            self.words[first_word + 1..last_word].fill(0);
            self.words[last_word] &= !to;
        }
    }

    /// Asks the processor for those of a page.
    #[inline]
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.words, (lpn.0 << self.shift >> 6) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(shift in 0u32..7, steps in vec((0u8..3, 0u64..40, any::<u64>(), 0u64..700), 1..100)) {
            let (mut map, mut naive) = (SectorMap::new(40, shift), BTreeSet::new());
            let width = 1u64 << shift;
            for (step, page, sectors, length) in steps {
                let sectors = sectors & u64::MAX >> (64 - width);
                let named = (0..width).filter(|sector| sectors >> sector & 1 == 1).map(|sector| page * width + sector);
                match step {
                    0 => {
                        map.add(Lpn(page), sectors);
                        naive.extend(named);
                    }
                    1 => {
                        map.set(Lpn(page), sectors);
                        naive.retain(|sector| sector / width != page);
                        naive.extend(named);
                    }
                    _ => {
                        let first = page * width + sectors % width;
                        let end = (first + length).min(40 * width);
                        map.remove_range(first, end);
                        naive.retain(|sector| !(first..end).contains(sector));
                    }
                }
                for page in 0..40 {
                    let held = (0..width).filter(|sector| naive.contains(&(page * width + sector))).fold(0, |all, sector| all | 1 << sector);
                    prop_assert_eq!(map.get(Lpn(page)), held, "page {}", page);
                }
            }
        }
    }
}
