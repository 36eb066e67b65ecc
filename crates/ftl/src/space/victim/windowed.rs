//! Windowed greedy: the block with the fewest pages to move among the K oldest, so that blocks which have just been written are left to become garbage.
//!
//! X.-Y. Hu, E. Eleftheriou, R. Haas, I. Iliadis, R. Pletka, "Write amplification analysis in flash-based solid state drives", SYSTOR 2009.

use super::queue::Queue;
use super::{GcPolicy, Policy, Sizes};
use crate::space::blocks::Block;
use flashraid_vocabulary::persistent;

pub(super) const POLICIES: &[GcPolicy] = &[GcPolicy {
    form: "windowed:K",
    most: Some(65_534),
    about: "The block with the fewest pages to move among the K that were closed first; the oldest of several. One without garbage goes to the end of the \
            queue, as if it had been copied.",
    weighs_commits: false,
    suits_merges: false,
    make: |sizes, window, _| Windowed::new(sizes, window).into(),
}];

/// Closed blocks by age, of which the oldest are looked at.
#[derive(Clone, Debug)]
pub struct Windowed {
    queue: Queue,
    window: u32,
    pages_per_block: u32,
}

persistent!(Windowed {
    keeps [queue],
    anew [window, pages_per_block],
});

impl Windowed {
    fn new(sizes: Sizes, window: u32) -> Self {
        Self { queue: Queue::new(sizes), window, pages_per_block: sizes.pages_per_block }
    }
}

impl Policy for Windowed {
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.queue.join(plane, block, blocks);
    }

    fn changed(&mut self, plane: u32, block: u16, before: Block, blocks: &mut [Block]) {
        self.queue.note(plane, block, before, blocks);
    }

    fn taken(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.queue.leave(plane, block, blocks);
    }

    /// Where no block of the window has garbage, all of them go to the end, and the next ones are looked at.
    fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16> {
        if !self.queue.has_garbage(plane) {
            return None;
        }
        loop {
            // The emptiest of the window so far, the oldest of several.
            let mut best: Option<(u32, u16)> = None;
            let (mut next, newest) = (self.queue.oldest(plane), self.queue.newest(plane));
            for _ in 0..self.window {
                let Some(number) = next else { break };
                let block = blocks[usize::from(number)];
                // Those that have gone to the end are not looked at again.
                next = Queue::after(number, blocks).filter(|_| newest != Some(number));
                if !block.has_garbage(self.pages_per_block) {
                    self.queue.postpone(plane, number, blocks);
                } else if best.is_none_or(|(fewest, _)| block.to_move() < fewest) {
                    best = Some((block.to_move(), number));
                }
            }
            if let Some((_, number)) = best {
                return Some(number);
            }
        }
    }

    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        self.queue.check(plane, blocks)
    }
}
