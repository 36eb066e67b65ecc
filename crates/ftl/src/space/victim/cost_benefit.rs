//! Cost-benefit: the block with the largest (1 - v) / v x age, of which v is the share of pages to move: what its GC frees for each page that it moves, times how
//! long that is likely to stay free.
//!
//! M. Rosenblum, J. K. Ousterhout, "The design and implementation of a log-structured file system", ACM Transactions on Computer Systems 10(1), 1992,
//! section 3.6; A. Kawaguchi, S. Nishioka, H. Motoda, "A flash-memory based file system", USENIX 1995, section 2.3, for flash.
//!
//! Of blocks with as many pages to move the oldest is the best. So there is a heap for each number, by age, and a choice compares their tops: one
//! comparison for each page of a block, which is less than the run then moves and frees. Blocks stay in heaps that they have left until they come to the top, or
//! are more than half of it.

use super::{GcPolicy, Policy, Sizes};
use crate::space::blocks::Block;
use flashraid_vocabulary::{memory, persistent};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) const POLICIES: &[GcPolicy] = &[GcPolicy {
    form: "cost_benefit",
    most: None,
    about: "The block with the largest (1 - v) / v x age: v is the share of its pages that must be moved, and its age the number of pages programmed in the SSD \
            since it was closed, but for those of GC. Of several, the one that was closed first.",
    weighs_commits: false,
    suits_merges: false,
    make: |sizes, _, _| CostBenefit::new(sizes).into(),
}];

/// Closed blocks with garbage by pages to move and age.
#[derive(Clone, Debug)]
pub struct CostBenefit {
    /// Pages programmed in the SSD but for those of GC.
    programmed: u64,
    /// By plane and block: how many these were when it was closed.
    closed_at: Vec<u64>,
    /// The same: how many blocks had been closed before it.
    orders: Vec<u64>,
    closed: u64,
    /// By plane and number of pages to move: such blocks and others that have been some, in the order in which they were closed.
    heaps: Vec<BinaryHeap<Reverse<(u64, u16)>>>,
    /// How many such blocks there are.
    counts: Vec<u16>,
    sizes: Sizes,
}

persistent!(CostBenefit {
    keeps [programmed, closed],
    arrays [closed_at, orders, heaps, counts],
    anew [sizes],
});

/// Entries that a heap may have beyond twice its blocks: it is not worth the effort to tidy it.
const FEW: usize = 16;

impl CostBenefit {
    fn new(sizes: Sizes) -> Self {
        let heaps = (sizes.planes * sizes.pages_per_block) as usize; // of 0 to all but one to move
        Self {
            programmed: 0,
            closed_at: memory::zeroed((sizes.planes * sizes.blocks_per_plane) as usize),
            orders: memory::zeroed((sizes.planes * sizes.blocks_per_plane) as usize),
            closed: 0,
            heaps: vec![BinaryHeap::new(); heaps],
            counts: vec![0; heaps],
            sizes,
        }
    }

    fn index(&self, plane: u32, block: u16) -> usize {
        (plane * self.sizes.blocks_per_plane) as usize + usize::from(block)
    }

    fn heap_of(&self, plane: u32, to_move: u32) -> usize {
        (plane * self.sizes.pages_per_block) as usize + to_move as usize
    }

    /// Whether an entry of the heap for so many pages to move still says what is.
    fn holds(&self, plane: u32, to_move: u32, (order, block): (u64, u16), blocks: &[Block]) -> bool {
        let entry = blocks[usize::from(block)];
        let is_there = entry.listed && entry.has_garbage(self.sizes.pages_per_block) && entry.to_move() == to_move;
        is_there && self.orders[self.index(plane, block)] == order
    }

    fn join(&mut self, plane: u32, block: u16, blocks: &[Block]) {
        let entry = blocks[usize::from(block)];
        if !entry.has_garbage(self.sizes.pages_per_block) {
            return;
        }
        let (heap, order) = (self.heap_of(plane, entry.to_move()), self.orders[self.index(plane, block)]);
        self.counts[heap] += 1;
        self.heaps[heap].push(Reverse((order, block)));
        if self.heaps[heap].len() > 2 * usize::from(self.counts[heap]) + FEW {
            let mut entries = std::mem::take(&mut self.heaps[heap]).into_vec();
            entries.retain(|Reverse(each)| self.holds(plane, entry.to_move(), *each, blocks));
            entries.sort_unstable();
            entries.dedup();
            self.heaps[heap] = entries.into();
        }
    }

    fn leave(&mut self, plane: u32, counted: Block) {
        if counted.has_garbage(self.sizes.pages_per_block) {
            let heap = self.heap_of(plane, counted.to_move());
            self.counts[heap] -= 1;
        }
    }

    /// The oldest block with so many pages to move, and its place in the order.
    fn oldest(&mut self, plane: u32, to_move: u32, blocks: &[Block]) -> Option<(u64, u16)> {
        let heap = self.heap_of(plane, to_move);
        if self.counts[heap] == 0 {
            self.heaps[heap].clear();
        }
        while let Some(&Reverse(entry)) = self.heaps[heap].peek() {
            if self.holds(plane, to_move, entry, blocks) {
                return Some(entry);
            }
            self.heaps[heap].pop();
        }
        None
    }
}

impl Policy for CostBenefit {
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let index = self.index(plane, block);
        (self.closed_at[index], self.orders[index]) = (self.programmed, self.closed);
        self.closed += 1;
        self.join(plane, block, blocks);
    }

    fn changed(&mut self, plane: u32, block: u16, before: Block, blocks: &mut [Block]) {
        self.leave(plane, before);
        self.join(plane, block, blocks);
    }

    fn taken(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.leave(plane, blocks[usize::from(block)]);
    }

    fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16> {
        let pages = self.sizes.pages_per_block;
        // Freed pages times age, pages to move, place in the order, number.
        let mut best: Option<(u128, u128, u64, u16)> = None;
        for to_move in 0..pages {
            let Some((order, block)) = self.oldest(plane, to_move, blocks) else { continue };
            let gain = u128::from(pages - to_move) * u128::from(self.programmed - self.closed_at[self.index(plane, block)]);
            let cost = u128::from(to_move);
            let is_better = |(least_gain, least_cost, first, _): (u128, u128, u64, u16)| {
                (gain * least_cost).cmp(&(least_gain * cost)).then(first.cmp(&order)).is_gt()
            };
            if best.is_none_or(is_better) {
                best = Some((gain, cost, order, block));
            }
            if to_move == 0 {
                break; // free of cost
            }
        }
        best.map(|(.., block)| block)
    }

    #[inline]
    fn programmed(&mut self) {
        self.programmed += 1;
    }

    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        for to_move in 0..self.sizes.pages_per_block {
            let heap = self.heap_of(plane, to_move);
            let entries: Vec<_> =
                self.heaps[heap].iter().filter(|entry| self.holds(plane, to_move, entry.0, blocks)).map(|entry| entry.0.1).collect();
            let is_such = |block: &Block| block.listed && block.has_garbage(self.sizes.pages_per_block) && block.to_move() == to_move;
            let such: Vec<_> = (0..).zip(blocks).filter(|(_, block)| is_such(block)).map(|(number, _)| number).collect();
            if such.len() != usize::from(self.counts[heap]) || such.iter().any(|number: &u16| !entries.contains(number)) {
                return Err(format!(
                    "plane {plane} has {such:?} with {to_move} pages to move, counts {}, and has {entries:?}",
                    self.counts[heap]
                ));
            }
        }
        Ok(())
    }
}
