//! Greedy: the block with the fewest pages to move, in constant time, from lists of closed blocks by their number of live pages.
//!
//! A block joins the tail of its new list when its number changes, so each list is ordered by who reached the number first,
//! which is the rule for ties (SPEC 0.5). Blocks with semivalid pages that GC runs commit are few, as NVRAM bounds them, and what
//! their GC costs changes with the state of their stripes: they are in a short list of their own, and looked at one by one.

use super::{GcPolicy, Policy, Sizes};
use crate::space::blocks::{Block, NONE};
use flashraid_vocabulary::persistent;

/// The default, and its two halves by name: they differ for schemes whose semivalid pages GC commits.
pub(super) const POLICIES: &[GcPolicy] = &[
    GcPolicy { form: "auto", about: "The same as `commit_aware`.", weighs_commits: true, ..GREEDY },
    GREEDY,
    GcPolicy {
        form: "commit_aware",
        about: "The block with the lowest cost, in time, of moves and of commits for its semivalid pages. The same as `greedy` if the scheme commits none.",
        weighs_commits: true,
        ..GREEDY
    },
];

const GREEDY: GcPolicy = GcPolicy {
    form: "greedy",
    most: None,
    about: "The block with the fewest pages to move, not counting semivalid pages that the scheme commits instead. With `mapping = bast`, the least recently \
            written log block; with `fast`, the oldest log block under either policy.",
    weighs_commits: false,
    suits_merges: true,
    make: |sizes, _, _| Greedy::new(sizes).into(),
};

/// Lists of one plane's closed blocks for each number of live pages.
#[derive(Clone, Debug)]
pub struct Greedy {
    /// (head, tail) for each plane and number of live pages.
    lists: Vec<(u16, u16)>,
    /// Which lists of a plane are not empty.
    filled: Vec<u64>,
    /// Closed blocks of each plane with semivalid pages, in the order in which they got them.
    pinned: Vec<Vec<u16>>,
    counts: usize,
    words: usize,
}

persistent!(Greedy {
    arrays [lists, filled, pinned],
    anew [counts, words],
});

impl Greedy {
    fn new(sizes: Sizes) -> Self {
        let (planes, counts) = (sizes.planes as usize, sizes.pages_per_block as usize + 1);
        let words = counts.div_ceil(64);
        Self {
            lists: vec![(NONE, NONE); planes * counts],
            filled: vec![0; planes * words],
            pinned: vec![Vec::new(); planes],
            counts,
            words,
        }
    }

    /// Appends a block to the list of its number of live pages, or to that of blocks with semivalid pages.
    #[inline]
    fn append(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let entry = &mut blocks[usize::from(block)];
        if entry.bases > 0 {
            return self.pinned[plane as usize].push(block);
        }
        let live = entry.live as usize;
        let list = &mut self.lists[plane as usize * self.counts + live];
        (entry.previous, entry.next) = (list.1, NONE);
        match list.1 {
            NONE => {
                list.0 = block;
                self.filled[plane as usize * self.words + live / 64] |= 1 << (live % 64);
            }
            tail => blocks[usize::from(tail)].next = block,
        }
        list.1 = block;
    }

    /// Takes a block out of the list that it is in by these counts.
    #[inline]
    fn remove(&mut self, plane: u32, block: u16, counted: Block, blocks: &mut [Block]) {
        if counted.bases > 0 {
            return self.pinned[plane as usize].retain(|other| *other != block);
        }
        let live = counted.live as usize;
        let list = &mut self.lists[plane as usize * self.counts + live];
        match counted.previous {
            NONE => list.0 = counted.next,
            block => blocks[usize::from(block)].next = counted.next,
        }
        match counted.next {
            NONE => list.1 = counted.previous,
            block => blocks[usize::from(block)].previous = counted.previous,
        }
        if list.0 == NONE {
            self.filled[plane as usize * self.words + live / 64] &= !(1 << (live % 64));
        }
    }
}

impl Policy for Greedy {
    #[inline]
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.append(plane, block, blocks);
    }

    #[inline]
    fn changed(&mut self, plane: u32, block: u16, before: Block, blocks: &mut [Block]) {
        self.remove(plane, block, before, blocks);
        self.append(plane, block, blocks);
    }

    #[inline]
    fn taken(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.remove(plane, block, blocks[usize::from(block)], blocks);
    }

    /// The first of the shortest list that is not empty, unless all pages of its blocks are live.
    #[inline]
    fn choose(&mut self, plane: u32, _: &mut [Block]) -> Option<u16> {
        let filled = &self.filled[plane as usize * self.words..][..self.words];
        let word = filled.iter().position(|word| *word != 0)?;
        let live = word * 64 + filled[word].trailing_zeros() as usize;
        (live + 1 < self.counts).then(|| self.lists[plane as usize * self.counts + live].0)
    }

    #[inline]
    fn pinned(&self, plane: u32) -> &[u16] {
        &self.pinned[plane as usize]
    }

    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        for (number, block) in (0..).zip(blocks) {
            if self.pinned(plane).contains(&number) != (block.listed && block.bases > 0) {
                return Err(format!("block {number} {block:?} of plane {plane} is wrongly among those with bases, or not"));
            }
        }
        Ok(())
    }
}
