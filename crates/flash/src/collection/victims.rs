//! Greedy victims in constant time: closed blocks in lists by their number of live pages.
//!
//! A block joins the tail of its new list when its number changes, so each list is ordered by who reached the number first,
//! which is the rule for ties (SPEC 0.5).

use crate::mapping::blocks::{Block, NONE};

/// Lists of one plane's closed blocks for each number of live pages.
#[derive(Clone, Debug)]
pub struct Victims {
    /// (head, tail) for each plane and number of live pages.
    lists: Vec<(u16, u16)>,
    /// Which lists of a plane are not empty.
    filled: Vec<u64>,
    counts: usize,
    words: usize,
}

impl Victims {
    /// No block is closed yet.
    pub fn new(planes: u32, pages_per_block: u32) -> Self {
        let counts = pages_per_block as usize + 1;
        let words = counts.div_ceil(64);
        Self { lists: vec![(NONE, NONE); planes as usize * counts], filled: vec![0; planes as usize * words], counts, words }
    }

    /// Appends a block to the list of its number of live pages. `blocks` are those of the plane.
    #[inline]
    pub fn insert(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let live = usize::from(blocks[usize::from(block)].live);
        let list = &mut self.lists[plane as usize * self.counts + live];
        let entry = &mut blocks[usize::from(block)];
        (entry.previous, entry.next, entry.listed) = (list.1, NONE, true);
        match list.1 {
            NONE => {
                list.0 = block;
                self.filled[plane as usize * self.words + live / 64] |= 1 << (live % 64);
            }
            tail => blocks[usize::from(tail)].next = block,
        }
        list.1 = block;
    }

    /// Takes a block out of the list of its number of live pages.
    #[inline]
    pub fn remove(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let entry = &mut blocks[usize::from(block)];
        let (previous, next, live) = (entry.previous, entry.next, usize::from(entry.live));
        entry.listed = false;
        let list = &mut self.lists[plane as usize * self.counts + live];
        match previous {
            NONE => list.0 = next,
            block => blocks[usize::from(block)].next = next,
        }
        match next {
            NONE => list.1 = previous,
            block => blocks[usize::from(block)].previous = previous,
        }
        if list.0 == NONE {
            self.filled[plane as usize * self.words + live / 64] &= !(1 << (live % 64));
        }
    }

    /// The closed block of the plane with the fewest live pages, unless all of its pages are live.
    #[inline]
    pub fn best(&self, plane: u32) -> Option<u16> {
        let filled = &self.filled[plane as usize * self.words..][..self.words];
        let word = filled.iter().position(|word| *word != 0)?;
        let live = word * 64 + filled[word].trailing_zeros() as usize;
        (live + 1 < self.counts).then(|| self.lists[plane as usize * self.counts + live].0)
    }
}
