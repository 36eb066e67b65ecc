//! Closed blocks in the order in which they were closed.

use crate::space::blocks::{Block, NONE};
use flashraid_vocabulary::persistent;

/// The closed blocks of each plane, the oldest first, linked by `Block::previous` and `Block::next`.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// (oldest, newest) of each plane.
    ends: Vec<(u16, u16)>,
    /// Blocks of each plane's queue that have garbage.
    with_garbage: Vec<u16>,
    pages_per_block: u32,
}

persistent!(Queue {
    arrays [ends, with_garbage],
    anew [pages_per_block],
});

impl Queue {
    pub fn new(planes: u32, pages_per_block: u32) -> Self {
        Self { ends: vec![(NONE, NONE); planes as usize], with_garbage: vec![0; planes as usize], pages_per_block }
    }

    /// The block joins the queue as the newest.
    pub fn join(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.with_garbage[plane as usize] += u16::from(blocks[usize::from(block)].has_garbage(self.pages_per_block));
        self.append(plane, block, blocks);
    }

    /// A page of the block may have become garbage.
    pub fn note(&mut self, plane: u32, block: u16, before: Block, blocks: &[Block]) {
        let [had, has] = [before, blocks[usize::from(block)]].map(|block| block.has_garbage(self.pages_per_block));
        self.with_garbage[plane as usize] += u16::from(has && !had);
    }

    /// The block leaves the queue.
    pub fn leave(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.with_garbage[plane as usize] -= u16::from(blocks[usize::from(block)].has_garbage(self.pages_per_block));
        self.unlink(plane, block, blocks);
    }

    /// Of the `window` oldest blocks the one with the fewest pages to move, the oldest of several. Those without garbage go to the end, as if they had been
    /// copied, of which nothing would be gained; where all of them do, the next ones are looked at. (Each goes to the end once while the queue
    /// turns over, in which time FIFO would have copied all of its pages: the cost for each page is constant.)
    pub fn choose(&mut self, plane: u32, window: u32, blocks: &mut [Block]) -> Option<u16> {
        if self.with_garbage[plane as usize] == 0 {
            return None;
        }
        loop {
            let mut best: Option<(u16, u16)> = None;
            let (mut at, last) = self.ends[plane as usize];
            for _ in 0..window {
                let block = blocks[usize::from(at)];
                if !block.has_garbage(self.pages_per_block) {
                    self.unlink(plane, at, blocks);
                    self.append(plane, at, blocks);
                } else if best.is_none_or(|(fewest, _)| block.to_move() < fewest) {
                    best = Some((block.to_move(), at));
                }
                if at == last {
                    break;
                }
                at = block.next;
            }
            if let Some((_, block)) = best {
                return Some(block);
            }
        }
    }

    fn append(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let (oldest, newest) = &mut self.ends[plane as usize];
        let entry = &mut blocks[usize::from(block)];
        (entry.previous, entry.next) = (*newest, NONE);
        match *newest {
            NONE => *oldest = block,
            newest => blocks[usize::from(newest)].next = block,
        }
        *newest = block;
    }

    fn unlink(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let (oldest, newest) = &mut self.ends[plane as usize];
        let Block { previous, next, .. } = blocks[usize::from(block)];
        match previous {
            NONE => *oldest = next,
            previous => blocks[usize::from(previous)].next = next,
        }
        match next {
            NONE => *newest = previous,
            next => blocks[usize::from(next)].previous = previous,
        }
    }

    /// Checks that the listed blocks are in the queue, each once, and those with garbage are counted.
    pub fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        let mut queued = vec![false; blocks.len()];
        let (mut at, mut previous) = (self.ends[plane as usize].0, NONE);
        while at != NONE {
            let block = blocks[usize::from(at)];
            if std::mem::replace(&mut queued[usize::from(at)], true) || block.previous != previous {
                return Err(format!("the queue of plane {plane} is broken at block {at} {block:?}"));
            }
            (previous, at) = (at, block.next);
        }
        let is_wrong = blocks.iter().zip(&queued).any(|(block, queued)| block.listed != *queued);
        let with_garbage = blocks.iter().filter(|block| block.listed && block.has_garbage(self.pages_per_block)).count();
        if is_wrong || previous != self.ends[plane as usize].1 || with_garbage != usize::from(self.with_garbage[plane as usize]) {
            return Err(format!("the queue of plane {plane} lacks a closed block, or has another, or counts garbage wrongly: {self:?}"));
        }
        Ok(())
    }
}
