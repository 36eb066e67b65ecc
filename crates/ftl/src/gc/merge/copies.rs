//! The second phase of a merge: copies and erases.

use super::Merging;
use crate::gc::state::{GcStage, Merge, Next};
use crate::space::blocks::{BlockState, NONE};
use crate::{FlashFault, MergeKind};
use flashraid_nand::WorkKind;
use flashraid_vocabulary::{Observer, Ppn, Version};

impl Merging<'_> {
    pub(super) fn start_copies(&mut self, plane: u32) -> Next {
        self.merge_mut(plane).begun = true;
        if self.merge(plane).logicals.is_empty() { self.after_erase(plane) } else { self.resume(plane) }
    }

    /// Begins the merge of the current logical block.
    fn prepare_logical(&mut self, plane: u32) {
        let log = self.log(plane);
        let index = self.index(plane, log);
        let Merge { logicals, current, .. } = self.merge(plane);
        let is_own = self.hybrid.owner[index] == logicals[*current];
        let written = self.store.space.blocks.blocks[index].written;
        let kind = match is_own && self.is_in_order(plane, log) {
            true if written == self.store.space.shape.pages_per_block => MergeKind::Switch,
            true => MergeKind::Partial,
            false => MergeKind::Full,
        };
        if kind != MergeKind::Full {
            (0..written).for_each(|offset| self.hybrid.take(index, offset));
        }
        let merge = self.merge_mut(plane);
        (merge.kind, merge.target, merge.offset) = (kind, if kind == MergeKind::Full { NONE } else { log }, 0);
    }

    /// The next page of the current logical block that is elsewhere than in the target.
    fn next_copy(&mut self, plane: u32) -> Option<Ppn> {
        loop {
            let shape = self.store.space.shape;
            let Merge { logicals, current, target, offset, .. } = self.merge(plane);
            let (logical, target, offset) = (logicals[*current], *target, *offset);
            if offset + u32::from(self.nand.makes(FlashFault::MergeShort)) == shape.pages_per_block {
                return None;
            }
            self.merge_mut(plane).offset += 1;
            let slot = self.hybrid.slot_in(logical, offset, &self.store.space);
            let Some(ppn) = slot.and_then(|slot| self.store.maps.get(Version::Current, slot)) else { continue };
            let is_logged = || shape.block_of(ppn) == self.index(plane, self.log(plane));
            if self.nand.makes(FlashFault::MergeDataOnly) && is_logged() {
                continue;
            }
            if ppn == self.store.space.lost || (target != NONE && shape.block_of(ppn) == self.index(plane, target)) {
                continue;
            }
            if self.store.has_failures() && self.store.is_lost_page(ppn) {
                self.gc.give_up(plane, ppn, self.store);
                continue;
            }
            return Some(ppn);
        }
    }

    /// The page of the target at the offset of the page that is copied. It stays pending until the map has followed.
    pub(crate) fn page(&mut self, plane: u32) -> Ppn {
        if self.merge(plane).target == NONE {
            let Merge { logicals, current, .. } = self.merge(plane);
            let logical = logicals[*current];
            self.merge_mut(plane).target = self.hybrid.open_block(plane, BlockState::Data, logical, &mut self.store.space);
        }
        let Merge { target, offset, .. } = *self.merge(plane);
        let index = self.index(plane, target);
        self.hybrid.take(index, offset - 1);
        let entry = &mut self.store.space.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(self.store.space.shape.first_ppn(index).0 + offset - 1)
    }

    /// Begins the next logical block, and copies its first page.
    fn resume(&mut self, plane: u32) -> Next {
        self.prepare_logical(plane);
        self.next(plane)
    }

    /// Copies the next page, or erases what is left over.
    pub(crate) fn next(&mut self, plane: u32) -> Next {
        let Some(from) = self.next_copy(plane) else {
            self.logical_merged(plane);
            return self.erase_next(plane);
        };
        let state = &mut self.gc.runs[plane as usize];
        (state.stage, state.moving) = (GcStage::Moving, from.0);
        let copies_back = self.store.space.settings.given.copyback;
        Next::Work(if copies_back { WorkKind::CopyBack } else { WorkKind::MoveRead }, from)
    }

    /// The page that is copied is lost: the copy counts for nothing, and the merge gives the page up when it comes to it again.
    pub(crate) fn copy_again(&mut self, plane: u32) -> Next {
        self.merge_mut(plane).offset -= 1;
        self.next(plane)
    }

    /// All pages of the current logical block are in its new data block.
    fn logical_merged(&mut self, plane: u32) {
        let (domain, log) = (self.domain_of(plane), self.log(plane));
        let Merge { logicals, current, kind, target, .. } = self.merge(plane);
        let (logical, kind, target) = (logicals[*current], *kind, *target);
        let sequential = self.hybrid.instances[domain].sequential;
        let is_own = |block: u16| self.hybrid.owner[self.index(plane, block)] == logical;
        // Pages in sequence of the same logical block are garbage now.
        let also = sequential != NONE && sequential != log && (is_own(sequential) || self.nand.makes(FlashFault::EraseForeignLog));
        if is_own(log) {
            if log == sequential {
                self.hybrid.instances[domain].sequential = NONE;
            } else {
                self.hybrid.remove_log(domain as u32, log, &mut self.store.space);
            }
            self.merge_mut(plane).keeps_log = false;
            if kind == MergeKind::Full {
                self.merge_mut(plane).erase.push((log, true));
            } else {
                let index = self.index(plane, log);
                self.store.space.blocks.blocks[index].state = BlockState::Data;
                self.hybrid.instances[domain].logs -= 1;
            }
        }
        if also {
            self.hybrid.instances[domain].sequential = NONE;
            self.merge_mut(plane).erase.push((sequential, true));
        }
        let state = &mut self.hybrid.logical[logical as usize];
        let old = std::mem::replace(&mut state.data, target);
        state.log = NONE;
        if old != NONE {
            self.merge_mut(plane).erase.push((old, false));
        }
        self.merge_mut(plane).current += 1;
        if !self.gc.is_untimed {
            self.gc.counts.merges[kind as usize] += 1;
        }
    }

    /// Erases the next block that is left over.
    pub(crate) fn erase_next(&mut self, plane: u32) -> Next {
        let Some(&(block, _)) = self.merge(plane).erase.last() else { return self.after_erase(plane) };
        let index = self.index(plane, block);
        let entry = &mut self.store.space.blocks.blocks[index];
        if entry.bases > 0 && !self.nand.makes(FlashFault::CommitLogOnly) {
            // A discard has left a page that recovery needs: it is committed as the others were.
            self.gc.mark_luns(plane, false, &self.store.space, self.nand);
            return Next::AsksAgain;
        }
        entry.state = BlockState::Victim;
        if entry.reads > 0 && !self.nand.makes(FlashFault::EraseUnderRead) {
            self.gc.runs[plane as usize].stage = GcStage::Reads;
            self.gc.mark_luns(plane, false, &self.store.space, self.nand);
            return Next::Unblocks;
        }
        self.gc.runs[plane as usize].stage = GcStage::Erasing;
        Next::Work(WorkKind::Erase, self.store.space.shape.first_ppn(index))
    }

    /// A block that was left over is erased.
    pub(crate) fn erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let (block, is_log) = self.merge_mut(plane).erase.pop().expect("it was erased");
        let domain = self.domain_of(plane);
        self.hybrid.instances[domain].logs -= u32::from(is_log);
        let index = self.index(plane, block);
        let (first, pages) = (self.store.space.shape.first_ppn(index), self.store.space.shape.pages_per_block);
        observer.erased(first, pages);
        if self.store.faults.any {
            self.store.faults.readable_again(first, pages);
        }
        if !self.nand.makes(FlashFault::KeepTaken) {
            self.hybrid.forget_block(index);
        }
        self.nand.note_erased(index);
        if self.store.space.blocks.erased(plane, block) {
            self.store.space.news.wear_out();
        }
    }

    /// Nothing is left to be erased: the next logical block, or the log block that they shared, or the end.
    fn after_erase(&mut self, plane: u32) -> Next {
        let Merge { logicals, current, keeps_log, .. } = self.merge(plane);
        if *current < logicals.len() {
            return self.resume(plane);
        }
        if *keeps_log {
            self.give_log(plane);
            return self.erase_next(plane);
        }
        self.gc.counts.gc_runs += 1;
        self.gc.counts.time_ns += self.nand.now_ns() - self.gc.runs[plane as usize].since_ns;
        self.end(plane);
        self.gc.mark_luns(plane, false, &self.store.space, self.nand);
        Next::Merged
    }

    /// No page of the shared log block is valid any more.
    fn give_log(&mut self, plane: u32) {
        let (log, domain) = (self.log(plane), self.store.space.domain_of_plane(plane));
        self.hybrid.remove_log(domain, log, &mut self.store.space);
        let merge = self.merge_mut(plane);
        merge.keeps_log = false;
        merge.erase.push((log, true));
    }

    // ---- in no simulated time ----

    /// Does the merge that was begun at once. There must be no semivalid page in its way. Returns how many pages it has copied.
    pub(crate) fn do_now<O: Observer>(&mut self, plane: u32, observer: &mut O) -> u64 {
        let mut copied = 0;
        self.merge_mut(plane).begun = true;
        loop {
            while self.merge(plane).current < self.merge(plane).logicals.len() {
                self.prepare_logical(plane);
                while let Some(from) = self.next_copy(plane) {
                    let to = self.page(plane);
                    // Nothing starts meanwhile.
                    let _ = self.gc.switch_moved(from, to, self.store, self.nand, observer);
                    copied += 1;
                }
                self.logical_merged(plane);
                self.erase_all(plane, observer);
            }
            if !self.merge(plane).keeps_log {
                break;
            }
            self.give_log(plane);
            self.erase_all(plane, observer);
        }
        self.end(plane);
        copied
    }

    fn erase_all<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        while !self.merge(plane).erase.is_empty() {
            self.erased(plane, observer);
        }
    }
}
