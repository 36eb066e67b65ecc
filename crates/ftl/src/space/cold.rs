//! Closed blocks by their wear, for static wear leveling: a cold block is one that was closed long ago, in a plane where others are erased.

use super::blocks::Blocks;
use flashraid_vocabulary::persistent;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Closed blocks of each plane, the least worn first. Those that were erased since count no more.
#[derive(Clone, Debug)]
pub(crate) struct Cold {
    by_plane: Vec<BinaryHeap<Reverse<(u32, u16)>>>,
}

persistent!(Cold { arrays [by_plane], });

impl Cold {
    /// Nothing is closed.
    pub(super) fn new(planes: u32) -> Self {
        Self { by_plane: vec![BinaryHeap::new(); planes as usize] }
    }

    /// A block was closed: it may grow cold.
    pub(super) fn note(&mut self, plane: u32, block: u16, blocks: &Blocks) {
        let heap = &mut self.by_plane[plane as usize];
        if heap.len() >= 2 * blocks.in_plane(plane).len() {
            let mut entries = std::mem::take(heap).into_vec();
            entries.retain(|Reverse((erases, block))| is_cold(plane, *block, *erases, blocks));
            *heap = entries.into();
        }
        heap.push(Reverse((blocks.erases[blocks.index(plane, block)], block)));
    }

    /// The coldest block of a plane, and its erases.
    pub(super) fn coldest(&mut self, plane: u32, blocks: &Blocks) -> Option<(u32, u16)> {
        let heap = &mut self.by_plane[plane as usize];
        while let Some(Reverse((erases, block))) = heap.peek().copied() {
            if is_cold(plane, block, erases, blocks) {
                return Some((erases, block));
            }
            heap.pop();
        }
        None
    }
}

/// Whether a block is still closed as it was when it was noted.
fn is_cold(plane: u32, block: u16, erases: u32, blocks: &Blocks) -> bool {
    let index = blocks.index(plane, block);
    blocks.blocks[index].listed && blocks.erases[index] == erases
}
