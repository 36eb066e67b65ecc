//! Greedy victims in constant time: closed blocks in lists by their number of live pages.
//!
//! A block joins the tail of its new list when its number changes, so each list is ordered by who reached the number first,
//! which is the rule for ties (SPEC 0.5). Blocks with semivalid pages that GC runs commit are few, as NVRAM bounds them, and what
//! their GC costs changes with the state of their stripes: they are in a short list of their own, and looked at one by one.

use super::blocks::{Block, NONE};
use flashraid_vocabulary::persistent;

/// Lists of one plane's closed blocks for each number of live pages.
#[derive(Clone, Debug)]
pub struct Victims {
    /// (head, tail) for each plane and number of live pages.
    lists: Vec<(u16, u16)>,
    /// Which lists of a plane are not empty.
    filled: Vec<u64>,
    /// Closed blocks of each plane with semivalid pages, in the order in which they got them.
    pinned: Vec<Vec<u16>>,
    counts: usize,
    words: usize,
}

persistent!(Victims {
    arrays [lists, filled, pinned],
    anew [counts, words],
});

impl Victims {
    /// No block is closed yet.
    pub fn new(planes: u32, pages_per_block: u32) -> Self {
        let counts = pages_per_block as usize + 1;
        let words = counts.div_ceil(64);
        Self {
            lists: vec![(NONE, NONE); planes as usize * counts],
            filled: vec![0; planes as usize * words],
            pinned: vec![Vec::new(); planes as usize],
            counts,
            words,
        }
    }

    /// Appends a block to the list of its number of live pages, or to that of blocks with semivalid pages. `blocks` are those of the plane.
    #[inline]
    pub fn insert(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let entry = &mut blocks[usize::from(block)];
        if entry.bases > 0 {
            entry.listed = true;
            return self.pinned[plane as usize].push(block);
        }
        let live = usize::from(entry.live);
        let list = &mut self.lists[plane as usize * self.counts + live];
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

    /// Takes a block out of its list.
    #[inline]
    pub fn remove(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let entry = &mut blocks[usize::from(block)];
        let (previous, next, live) = (entry.previous, entry.next, usize::from(entry.live));
        entry.listed = false;
        if entry.bases > 0 {
            return self.pinned[plane as usize].retain(|other| *other != block);
        }
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

    /// Closed blocks of the plane with semivalid pages that GC runs commit.
    #[inline]
    pub(crate) fn pinned(&self, plane: u32) -> &[u16] {
        &self.pinned[plane as usize]
    }

    /// The closed block of the plane without such pages that has the fewest live ones, unless all of its pages are live.
    #[inline]
    pub fn best(&self, plane: u32) -> Option<u16> {
        let filled = &self.filled[plane as usize * self.words..][..self.words];
        let word = filled.iter().position(|word| *word != 0)?;
        let live = word * 64 + filled[word].trailing_zeros() as usize;
        (live + 1 < self.counts).then(|| self.lists[plane as usize * self.counts + live].0)
    }
}
