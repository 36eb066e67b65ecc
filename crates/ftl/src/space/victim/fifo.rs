//! FIFO: the block that was closed first, as if the plane were one ring of pages.
//!
//! P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014, section 4 (there LRU).

use super::queue::Queue;
use super::{GcPolicy, Policy, Sizes};
use crate::space::blocks::Block;
use flashraid_vocabulary::persistent;

pub(super) const POLICIES: &[GcPolicy] = &[GcPolicy {
    form: "fifo",
    most: None,
    about: "The block that was closed first. One without garbage goes to the end of the queue, as if it had been copied.",
    weighs_commits: false,
    suits_merges: false,
    make: |sizes, _, _| Fifo::new(sizes).into(),
}];

/// Closed blocks by age.
#[derive(Clone, Debug)]
pub struct Fifo {
    queue: Queue,
    pages_per_block: u32,
}

persistent!(Fifo {
    keeps [queue],
    anew [pages_per_block],
});

impl Fifo {
    fn new(sizes: Sizes) -> Self {
        Self { queue: Queue::new(sizes), pages_per_block: sizes.pages_per_block }
    }
}

impl Policy for Fifo {
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.queue.join(plane, block, blocks);
    }

    fn changed(&mut self, plane: u32, block: u16, before: Block, blocks: &mut [Block]) {
        self.queue.note(plane, block, before, blocks);
    }

    fn taken(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.queue.leave(plane, block, blocks);
    }

    fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16> {
        if !self.queue.has_garbage(plane) {
            return None;
        }
        loop {
            let oldest = self.queue.oldest(plane)?;
            if blocks[usize::from(oldest)].has_garbage(self.pages_per_block) {
                return Some(oldest);
            }
            self.queue.postpone(plane, oldest, blocks);
        }
    }

    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        self.queue.check(plane, blocks)
    }
}
