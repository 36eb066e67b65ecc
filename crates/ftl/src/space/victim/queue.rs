//! Closed blocks in the order in which they were closed.

use super::Sizes;
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
    pub fn new(sizes: Sizes) -> Self {
        let planes = sizes.planes as usize;
        Self { ends: vec![(NONE, NONE); planes], with_garbage: vec![0; planes], pages_per_block: sizes.pages_per_block }
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

    /// Whether any block of the queue has garbage.
    pub fn has_garbage(&self, plane: u32) -> bool {
        self.with_garbage[plane as usize] > 0
    }

    /// The block that was closed first.
    pub fn oldest(&self, plane: u32) -> Option<u16> {
        Some(self.ends[plane as usize].0).filter(|block| *block != NONE)
    }

    /// The block that was closed last.
    pub fn newest(&self, plane: u32) -> Option<u16> {
        Some(self.ends[plane as usize].1).filter(|block| *block != NONE)
    }

    /// The block that was closed next.
    pub fn after(block: u16, blocks: &[Block]) -> Option<u16> {
        Some(blocks[usize::from(block)].next).filter(|next| *next != NONE)
    }

    /// The block goes to the end of the queue, as if it had been copied. (If only blocks without garbage do, each does once while the queue turns over, in
    /// which time FIFO would have copied all of its pages: the cost for each page is constant.)
    pub fn postpone(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        self.unlink(plane, block, blocks);
        self.append(plane, block, blocks);
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
