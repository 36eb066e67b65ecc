//! The limit of erases, and static wear leveling: the coldest block of a plane is moved when another is worn that much more.

use crate::space::blocks::NONE;
use crate::{Flash, Given};
use flashraid_vocabulary::WearLeveling;
use std::cmp::Reverse;

impl Flash {
    /// A block was closed: it may grow cold.
    pub(crate) fn note_cold(&mut self, plane: u32, block: u16) {
        let per_plane = self.settings.geometry.blocks_per_plane as usize;
        let erases = self.space.blocks.erases[self.space.blocks.index(plane, block)];
        if self.gc.cold[plane as usize].len() >= 2 * per_plane {
            let mut entries = std::mem::take(&mut self.gc.cold[plane as usize]).into_vec();
            entries.retain(|Reverse((erases, block))| self.is_cold(plane, *block, *erases));
            self.gc.cold[plane as usize] = entries.into();
        }
        self.gc.cold[plane as usize].push(Reverse((erases, block)));
    }

    fn is_cold(&self, plane: u32, block: u16, erases: u32) -> bool {
        let index = self.space.blocks.index(plane, block);
        self.space.blocks.blocks[index].listed && self.space.blocks.erases[index] == erases
    }

    /// Moves the coldest block of the plane if the block just erased is worn that much more, and space is not short.
    pub(super) fn level_wear(&mut self, plane: u32) {
        let Given { wear_leveling, wear_leveling_threshold: spread, .. } = self.settings.given;
        if wear_leveling != WearLeveling::Static || !self.is_collectable() {
            return;
        }
        if self.gc.runs[plane as usize].victim != NONE
            || self.space.blocks.planes[plane as usize].free_blocks < self.settings.given.gc_reserve_blocks
        {
            return;
        }
        while let Some(Reverse((erases, block))) = self.gc.cold[plane as usize].peek().copied() {
            if !self.is_cold(plane, block, erases) {
                self.gc.cold[plane as usize].pop();
            } else {
                if self.space.blocks.most_erases(plane) - erases > spread && self.space.can_move(plane, block) {
                    self.collect_block(plane, block, true);
                }
                return;
            }
        }
    }
}
