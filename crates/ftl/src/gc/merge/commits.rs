//! A merge from its start to its end, and its first phase: commits of the semivalid pages of what it is to erase.

use super::Merging;
use crate::FlashFault;
use crate::gc::run::load_of_plane;
use crate::gc::state::{Gc, GcStage, Merge, Next};
use crate::space::blocks::NONE;
use flashraid_vocabulary::NIL;

impl Merging<'_> {
    pub(super) fn begin(&mut self, plane: u32, log: u16) -> Next {
        let index = self.index(plane, log);
        let domain = self.domain_of(plane);
        let mut logicals = std::mem::take(&mut self.merge_mut(plane).logicals);
        logicals.clear();
        match self.hybrid.owner[index] {
            NIL => {
                for logical in self.logicals_in(index) {
                    let takes_more = logicals.is_empty() || !self.nand.makes(FlashFault::MergeFirstLogical);
                    if takes_more && !logicals.contains(&logical) {
                        logicals.push(logical);
                    }
                }
            }
            owner => logicals.push(owner),
        }
        for &logical in &logicals {
            self.hybrid.logical[logical as usize].merging = true;
        }
        let erase = std::mem::take(&mut self.merge_mut(plane).erase);
        self.hybrid.merges[domain] = Merge { logicals, erase, target: NONE, keeps_log: true, ..Merge::default() };
        self.gc.note_run(plane, Gc { victim: log, ..Gc::IDLE }, &self.store.space, self.nand);
        if self.gc.is_untimed { Next::Waits } else { self.commit_or_go_on(plane) }
    }

    /// Blocks that the merge is to erase.
    fn doomed_blocks(&self, plane: u32) -> Vec<u16> {
        let Merge { logicals, erase, begun, .. } = self.merge(plane);
        if *begun {
            return erase.iter().map(|(block, _)| *block).collect();
        }
        let sequential = self.hybrid.instances[self.domain_of(plane)].sequential;
        let mut blocks = vec![self.log(plane)];
        if self.nand.makes(FlashFault::CommitLogOnly) {
            return blocks;
        }
        blocks.extend(logicals.iter().map(|logical| self.hybrid.logical[*logical as usize].data).filter(|data| *data != NONE));
        if sequential != NONE && sequential != blocks[0] && logicals.contains(&self.hybrid.owner[self.index(plane, sequential)]) {
            blocks.push(sequential);
        }
        blocks
    }

    /// Asks about the semivalid pages of the blocks to be erased, or goes on if there are none.
    pub(crate) fn commit_or_go_on(&mut self, plane: u32) -> Next {
        let blocks = self.doomed_blocks(plane);
        let bases: u32 = blocks.iter().map(|block| self.store.space.blocks.blocks[self.index(plane, *block)].bases).sum();
        let Merge { begun, refused, released, asked, .. } = *self.merge(plane);
        if bases == 0 {
            self.gc.runs[plane as usize].stage = GcStage::Moving;
            self.gc.mark_luns(plane, true, &self.store.space, self.nand);
            return if begun { self.erase_next(plane) } else { self.start_copies(plane) };
        }
        let now_ns = self.nand.now_ns();
        // Asking again at once would not help, unless other pages are in the way now.
        if refused || asked == Some((released, now_ns)) {
            if !begun {
                self.leave(plane);
                return Next::Waits;
            }
            let state = &mut self.gc.runs[plane as usize];
            (state.stage, state.uncommitted) = (GcStage::Committing, 0);
            return Next::Waits;
        }
        let merge = self.merge_mut(plane);
        (merge.refused, merge.asked) = (false, Some((released, now_ns)));
        let state = &mut self.gc.runs[plane as usize];
        (state.stage, state.uncommitted) = (GcStage::Committing, bases);
        for block in blocks.into_iter().rev() {
            self.store.ask_about_bases(plane, block);
        }
        Next::Waits
    }

    /// A base was released; a merge that could not get it committed goes on, and one that was put off may begin.
    pub(crate) fn base_released(&mut self, plane: u32) -> Next {
        let Gc { victim, stage, uncommitted, .. } = self.gc.runs[plane as usize];
        if victim == NONE {
            let domain = self.store.space.domain_of_plane(plane);
            let is_awaited = domain != NIL && self.hybrid.instances[domain as usize].starved;
            return if is_awaited { Next::Wakes } else { Next::Waits };
        }
        self.merge_mut(plane).released += 1;
        if stage == GcStage::Committing && uncommitted == 0 && self.merge(plane).begun {
            self.merge_mut(plane).refused = false;
            return self.commit_or_go_on(plane);
        }
        Next::Waits
    }

    /// A semivalid page of a merge cannot be committed.
    pub(crate) fn refuse(&mut self, plane: u32) {
        self.merge_mut(plane).refused = true;
    }

    /// The merge is deferred: another one, or an operation that ends, may change what is in its way.
    #[cold]
    fn leave(&mut self, plane: u32) {
        self.end(plane);
        let domain = self.store.space.domain_of_plane(plane);
        self.hybrid.left.push(domain);
        self.hybrid.instances[domain as usize].starved = true;
    }

    /// Nothing is merged in the plane any more.
    pub(crate) fn end(&mut self, plane: u32) {
        load_of_plane(plane, self.nand).gc_runs -= 1;
        self.gc.runs[plane as usize] = Gc::IDLE;
        let stays = self.nand.makes(FlashFault::KeepMerging);
        let domain = self.domain_of(plane);
        for &logical in &self.hybrid.merges[domain].logicals {
            self.hybrid.logical[logical as usize].merging = stays;
        }
    }
}
