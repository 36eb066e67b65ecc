//! Numbers for the pages of an address space that are used, wherever they lie: small and dense, so that what is known of a page can
//! stand in flat arrays.

use rustc_hash::FxHashMap;

/// Pages that are numbered together. Neighbors are mostly used together, and 16 numbers of 32 bits fill a cache line.
const CHUNK: u64 = 16;

/// The numbers given so far.
#[derive(Clone, Debug)]
pub(crate) struct PageNumbers {
    /// First number of each chunk in use. Only looked up, never walked: the order of a hash map does not show.
    chunks: FxHashMap<u64, u32>,
    /// The chunk asked for last, and its first number.
    last: (u64, u32),
}

impl PageNumbers {
    /// None given yet.
    pub fn new() -> Self {
        Self { chunks: FxHashMap::default(), last: (u64::MAX, 0) }
    }

    /// The number of `page`, which stays the same.
    #[inline]
    pub fn of(&mut self, page: u64) -> usize {
        let chunk = page / CHUNK;
        if chunk != self.last.0 {
            let new = (self.chunks.len() as u64 * CHUNK) as u32;
            self.last = (chunk, *self.chunks.entry(chunk).or_insert(new));
        }
        self.last.1 as usize + (page % CHUNK) as usize
    }

    /// The number of `page`, if its chunk has numbers.
    pub fn find(&self, page: u64) -> Option<usize> {
        self.chunks.get(&(page / CHUNK)).map(|first| *first as usize + (page % CHUNK) as usize)
    }

    /// Above every number given.
    pub fn end(&self) -> usize {
        self.chunks.len() * CHUNK as usize
    }
}
