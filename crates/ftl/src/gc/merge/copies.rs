//! The second phase of a merge: copies and erases.

use crate::gc::state::{GcStage, Merge};
use crate::space::blocks::{BlockState, NONE};
use crate::{Flash, FlashFault, MergeKind};
use flashraid_nand::WorkKind;
use flashraid_vocabulary::{Observer, Ppn, Version};

impl Flash {
    pub(super) fn start_copies(&mut self, plane: u32) {
        self.merge_mut(plane).begun = true;
        if self.merge(plane).logicals.is_empty() { self.after_erase(plane) } else { self.resume_merge(plane) }
    }

    /// Begins the merge of the current logical block.
    pub(crate) fn prepare_logical(&mut self, plane: u32) {
        let log = self.gc.runs[plane as usize].victim;
        let index = self.space.blocks.index(plane, log);
        let Merge { logicals, current, .. } = self.merge(plane);
        let is_own = self.hybrid().owner[index] == logicals[*current];
        let written = self.space.blocks.blocks[index].written;
        let kind = match is_own && self.is_in_order(plane, log) {
            true if u32::from(written) == self.shape.pages_per_block => MergeKind::Switch,
            true => MergeKind::Partial,
            false => MergeKind::Full,
        };
        if kind != MergeKind::Full {
            (0..written).for_each(|offset| self.hybrid_mut().take(index, offset));
        }
        let merge = self.merge_mut(plane);
        (merge.kind, merge.target, merge.offset) = (kind, if kind == MergeKind::Full { NONE } else { log }, 0);
    }

    /// The next page of the current logical block that is elsewhere than in the target.
    pub(crate) fn next_copy(&mut self, plane: u32) -> Option<Ppn> {
        loop {
            let Merge { logicals, current, target, offset, .. } = self.merge(plane);
            let (logical, target, offset) = (logicals[*current], *target, *offset);
            if offset + u32::from(self.nand.makes(FlashFault::MergeShort)) == self.shape.pages_per_block {
                return None;
            }
            self.merge_mut(plane).offset += 1;
            let Some(ppn) = self.slot_in(logical, offset).and_then(|slot| self.maps.get(Version::Current, slot)) else { continue };
            let is_logged = || self.shape.block_of(ppn) == self.space.blocks.index(plane, self.gc.runs[plane as usize].victim);
            if self.nand.makes(FlashFault::MergeDataOnly) && is_logged() {
                continue;
            }
            if ppn == self.faults.lost || (target != NONE && self.shape.block_of(ppn) == self.space.blocks.index(plane, target)) {
                continue;
            }
            if self.has_failures() && self.is_lost_page(ppn) {
                self.give_up(ppn);
                continue;
            }
            return Some(ppn);
        }
    }

    /// The page of the target at the offset of the page that is copied. It stays pending until the map has followed.
    pub(crate) fn merge_page(&mut self, plane: u32) -> Ppn {
        if self.merge(plane).target == NONE {
            let Merge { logicals, current, .. } = self.merge(plane);
            let target = self.open_block(plane, BlockState::Data, logicals[*current]);
            self.merge_mut(plane).target = target;
        }
        let Merge { target, offset, .. } = *self.merge(plane);
        let index = self.space.blocks.index(plane, target);
        self.hybrid_mut().take(index, offset as u16 - 1);
        let entry = &mut self.space.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(self.shape.first_ppn(index).0 + offset - 1)
    }

    /// Begins the next logical block, and copies its first page.
    fn resume_merge(&mut self, plane: u32) {
        self.prepare_logical(plane);
        self.continue_merge(plane);
    }

    /// Copies the next page, or erases what is left over.
    pub(in crate::gc) fn continue_merge(&mut self, plane: u32) {
        match self.next_copy(plane) {
            Some(from) => {
                let state = &mut self.gc.runs[plane as usize];
                (state.stage, state.moving) = (GcStage::Moving, from.0);
                let work = if self.settings.given.copyback { WorkKind::CopyBack } else { WorkKind::MoveRead };
                self.gc_work(plane, work, from.0);
            }
            None => {
                self.logical_merged(plane);
                self.erase_next(plane);
            }
        }
    }

    /// All pages of the current logical block are in its new data block.
    pub(crate) fn logical_merged(&mut self, plane: u32) {
        let domain = self.domain_of_merge(plane);
        let log = self.gc.runs[plane as usize].victim;
        let Merge { logicals, current, kind, target, .. } = self.merge(plane);
        let (logical, kind, target) = (logicals[*current], *kind, *target);
        let sequential = self.hybrid().instances[domain].sequential;
        let is_own = |block: u16| self.hybrid().owner[self.space.blocks.index(plane, block)] == logical;
        // Pages in sequence of the same logical block are garbage now.
        let also = sequential != NONE && sequential != log && (is_own(sequential) || self.nand.makes(FlashFault::EraseForeignLog));
        if is_own(log) {
            if log == sequential {
                self.hybrid_mut().instances[domain].sequential = NONE;
            } else {
                self.remove_log(domain as u32, log);
            }
            self.merge_mut(plane).keeps_log = false;
            if kind == MergeKind::Full {
                self.merge_mut(plane).erase.push((log, true));
            } else {
                let index = self.space.blocks.index(plane, log);
                self.space.blocks.blocks[index].state = BlockState::Data;
                self.hybrid_mut().instances[domain].logs -= 1;
            }
        }
        if also {
            self.hybrid_mut().instances[domain].sequential = NONE;
            self.merge_mut(plane).erase.push((sequential, true));
        }
        let state = &mut self.hybrid_mut().logical[logical as usize];
        let old = std::mem::replace(&mut state.data, target);
        state.log = NONE;
        if old != NONE {
            self.merge_mut(plane).erase.push((old, false));
        }
        self.merge_mut(plane).current += 1;
        if !self.untimed.is_on {
            self.gc.counts.merges[kind as usize] += 1;
        }
    }

    /// Erases the next block that is left over.
    pub(in crate::gc) fn erase_next(&mut self, plane: u32) {
        let Some(&(block, _)) = self.merge(plane).erase.last() else { return self.after_erase(plane) };
        let index = self.space.blocks.index(plane, block);
        if self.space.blocks.blocks[index].bases > 0 && !self.nand.makes(FlashFault::CommitLogOnly) {
            // A discard has left a page that recovery needs: it is committed as the others were.
            self.block_luns(plane, false);
            return self.commit_or_go_on(plane);
        }
        self.space.blocks.blocks[index].state = BlockState::Victim;
        if self.space.blocks.blocks[index].reads > 0 && !self.nand.makes(FlashFault::EraseUnderRead) {
            self.gc.runs[plane as usize].stage = GcStage::Reads;
            self.block_luns(plane, false);
            return;
        }
        self.gc.runs[plane as usize].stage = GcStage::Erasing;
        self.gc_work(plane, WorkKind::Erase, self.shape.first_ppn(index).0);
    }

    /// A block that was left over is erased.
    pub(in crate::gc) fn merge_erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        self.erased_block(plane, observer);
        self.erase_next(plane);
    }

    pub(crate) fn erased_block<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let (block, is_log) = self.merge_mut(plane).erase.pop().expect("it was erased");
        let domain = self.domain_of_merge(plane);
        self.hybrid_mut().instances[domain].logs -= u32::from(is_log);
        let index = self.space.blocks.index(plane, block);
        let first = self.shape.first_ppn(index);
        observer.erased(first, self.shape.pages_per_block);
        if self.has_failures() {
            self.faults.readable_again(first, self.shape.pages_per_block);
        }
        if !self.nand.makes(FlashFault::KeepTaken) {
            self.hybrid_mut().forget_block(index);
        }
        self.nand.note_erased(index);
        self.space.blocks.erased(plane, block);
    }

    /// Nothing is left to be erased: the next logical block, or the log block that they shared, or the end.
    fn after_erase(&mut self, plane: u32) {
        let Merge { logicals, current, keeps_log, .. } = self.merge(plane);
        if *current < logicals.len() {
            return self.resume_merge(plane);
        }
        if *keeps_log {
            self.give_log(plane);
            return self.erase_next(plane);
        }
        self.gc.counts.gc_runs += 1;
        self.gc.counts.time_ns += self.nand.now_ns() - self.gc.runs[plane as usize].since_ns;
        self.end_merge(plane);
        self.block_luns(plane, false);
        self.wake(self.space.domain_of_plane(plane));
        while let Some(left) = self.hybrid_mut().left.pop() {
            self.wake(left);
        }
    }

    /// No page of the shared log block is valid any more.
    pub(crate) fn give_log(&mut self, plane: u32) {
        let log = self.gc.runs[plane as usize].victim;
        self.remove_log(self.space.domain_of_plane(plane), log);
        let merge = self.merge_mut(plane);
        merge.keeps_log = false;
        merge.erase.push((log, true));
    }
}
