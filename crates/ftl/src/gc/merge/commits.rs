//! A merge from its start to its end, and its first phase: commits of the semivalid pages of what it is to erase.

use crate::gc::state::{Gc, GcStage, Merge};
use crate::space::blocks::NONE;
use crate::{Flash, FlashFault, GcQuery};
use flashraid_nand::NIL;

impl Flash {
    pub(super) fn domain_of_merge(&self, plane: u32) -> usize {
        self.space.domain_of_plane(plane) as usize
    }

    pub(crate) fn merge(&self, plane: u32) -> &Merge {
        &self.hybrid().merges[self.domain_of_merge(plane)]
    }

    pub(crate) fn merge_mut(&mut self, plane: u32) -> &mut Merge {
        let domain = self.domain_of_merge(plane);
        &mut self.hybrid_mut().merges[domain]
    }

    pub(super) fn begin_merge(&mut self, plane: u32, log: u16) {
        let index = self.space.blocks.index(plane, log);
        let domain = self.domain_of_merge(plane);
        let mut logicals = std::mem::take(&mut self.merge_mut(plane).logicals);
        logicals.clear();
        match self.hybrid().owner[index] {
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
            self.hybrid_mut().logical[logical as usize].merging = true;
        }
        let erase = std::mem::take(&mut self.merge_mut(plane).erase);
        self.hybrid_mut().merges[domain] = Merge { logicals, erase, target: NONE, keeps_log: true, ..Merge::default() };
        self.note_run(plane, Gc { victim: log, ..Gc::IDLE });
        if !self.untimed.is_on {
            self.commit_or_go_on(plane);
        }
    }

    /// Blocks that the merge is to erase.
    fn doomed_blocks(&self, plane: u32) -> Vec<u16> {
        let Merge { logicals, erase, begun, .. } = self.merge(plane);
        if *begun {
            return erase.iter().map(|(block, _)| *block).collect();
        }
        let sequential = self.hybrid().instances[self.domain_of_merge(plane)].sequential;
        let mut blocks = vec![self.gc.runs[plane as usize].victim];
        if self.nand.makes(FlashFault::CommitLogOnly) {
            return blocks;
        }
        blocks.extend(logicals.iter().map(|logical| self.hybrid().logical[*logical as usize].data).filter(|data| *data != NONE));
        if sequential != NONE
            && sequential != blocks[0]
            && logicals.contains(&self.hybrid().owner[self.space.blocks.index(plane, sequential)])
        {
            blocks.push(sequential);
        }
        blocks
    }

    /// Asks about the semivalid pages of the blocks to be erased, or goes on if there are none.
    pub(super) fn commit_or_go_on(&mut self, plane: u32) {
        let blocks = self.doomed_blocks(plane);
        let bases: u16 = blocks.iter().map(|block| self.space.blocks.blocks[self.space.blocks.index(plane, *block)].bases).sum();
        let Merge { begun, refused, released, asked, .. } = *self.merge(plane);
        if bases == 0 {
            self.gc.runs[plane as usize].stage = GcStage::Moving;
            self.block_luns(plane, true);
            return if begun { self.erase_next(plane) } else { self.start_copies(plane) };
        }
        // Asking again at once would not help, unless other pages are in the way now.
        if refused || asked == Some((released, self.nand.now_ns())) {
            if !begun {
                return self.leave_merge(plane);
            }
            let state = &mut self.gc.runs[plane as usize];
            (state.stage, state.uncommitted) = (GcStage::Committing, 0);
            return;
        }
        let now_ns = self.nand.now_ns();
        let merge = self.merge_mut(plane);
        (merge.refused, merge.asked) = (false, Some((released, now_ns)));
        let state = &mut self.gc.runs[plane as usize];
        (state.stage, state.uncommitted) = (GcStage::Committing, bases);
        for block in blocks.into_iter().rev() {
            let asked: Vec<_> = self.bases_in(plane, block).map(|slot| GcQuery::Semivalid(plane, self.address(slot))).collect();
            self.gc.queries.extend(asked.into_iter().rev());
        }
    }

    /// All questions about semivalid pages are answered, and the commits have ended.
    pub(in crate::gc) fn merge_settled(&mut self, plane: u32) {
        self.commit_or_go_on(plane);
    }

    /// A base was released; a merge that could not get it committed goes on, and one that was put off may begin.
    pub(in crate::gc) fn base_of_merge_released(&mut self, plane: u32) {
        let Gc { victim, stage, uncommitted, .. } = self.gc.runs[plane as usize];
        if victim == NONE {
            let domain = self.space.domain_of_plane(plane);
            if domain != NIL && self.hybrid().instances[domain as usize].starved {
                self.wake(domain);
            }
            return;
        }
        self.merge_mut(plane).released += 1;
        if stage == GcStage::Committing && uncommitted == 0 && self.merge(plane).begun {
            self.merge_mut(plane).refused = false;
            self.commit_or_go_on(plane);
        }
    }

    /// A semivalid page of a merge cannot be committed.
    pub(in crate::gc) fn merge_refused(&mut self, plane: u32) {
        self.merge_mut(plane).refused = true;
    }

    /// The merge is deferred: another one, or an operation that ends, may change what is in its way.
    #[cold]
    fn leave_merge(&mut self, plane: u32) {
        self.end_merge(plane);
        let domain = self.space.domain_of_plane(plane);
        self.hybrid_mut().left.push(domain);
        self.hybrid_mut().instances[domain as usize].starved = true;
    }

    /// Nothing is merged in the plane any more.
    pub(crate) fn end_merge(&mut self, plane: u32) {
        self.load_of_plane(plane).gc_runs -= 1;
        self.gc.runs[plane as usize] = Gc::IDLE;
        let logicals = std::mem::take(&mut self.merge_mut(plane).logicals);
        for &logical in &logicals {
            self.hybrid_mut().logical[logical as usize].merging = self.nand.makes(FlashFault::KeepMerging);
        }
        self.merge_mut(plane).logicals = logicals;
    }
}
