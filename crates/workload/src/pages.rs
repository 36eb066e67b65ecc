//! Which pages were read and written: bitmaps for the parts of an address space that are used, wherever they lie.

use std::collections::HashMap;

/// Words of one bitmap: 4096 pages.
const WORDS: usize = 64;
const PAGES_OF_CHUNK: u64 = WORDS as u64 * 64;

#[derive(Clone)]
struct Chunk {
    read: [u64; WORDS],
    written: [u64; WORDS],
}

/// Pages read and written so far.
#[derive(Clone, Default)]
pub struct PageSet {
    /// Only looked up, never walked: the order of a hash map does not show.
    chunks: HashMap<u64, Box<Chunk>>,
    /// Distinct pages read.
    pub read: u64,
    /// Distinct pages written.
    pub written: u64,
    /// Distinct pages read or written.
    pub touched: u64,
}

impl PageSet {
    /// Marks pages `first..=last` as read or written. Returns how many of them had been written before.
    pub fn mark(&mut self, first: u64, last: u64, is_write: bool) -> u64 {
        let mut written_before = 0;
        let mut page = first;
        while page <= last {
            let end = last.min(page | 63);
            written_before += self.mark_in_word(page, end, is_write);
            page = end + 1;
        }
        written_before
    }

    /// The same for pages of one word of the bitmap.
    fn mark_in_word(&mut self, first: u64, last: u64, is_write: bool) -> u64 {
        let empty = || Box::new(Chunk { read: [0; WORDS], written: [0; WORDS] });
        let chunk = self.chunks.entry(first / PAGES_OF_CHUNK).or_insert_with(empty);
        let index = (first % PAGES_OF_CHUNK / 64) as usize;
        let mask = (u64::MAX >> (63 - (last - first))) << (first % 64);
        let (read, written) = (&mut chunk.read[index], &mut chunk.written[index]);
        let count = |bits: u64| u64::from(bits.count_ones());
        let written_before = count(mask & *written);
        self.touched += count(mask & !(*read | *written));
        if is_write {
            self.written += count(mask & !*written);
            *written |= mask;
        } else {
            self.read += count(mask & !*read);
            *read |= mask;
        }
        written_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_plain_sets() {
        let mut random = SplitMix64::new(3);
        let mut pages = PageSet::default();
        let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..2000 {
            let first = random.next_u64() % 20_000 + (random.next_u64() % 2) * (1 << 50);
            let last = first + random.next_u64() % 200;
            let is_write = random.next_u64() & 1 == 0;
            let before = (first..=last).filter(|page| written.contains(page)).count() as u64;
            assert_eq!(pages.mark(first, last, is_write), before);
            if is_write { &mut written } else { &mut read }.extend(first..=last);
        }
        assert_eq!(pages.read, read.len() as u64);
        assert_eq!(pages.written, written.len() as u64);
        assert_eq!(pages.touched, read.union(&written).count() as u64);
    }
}
