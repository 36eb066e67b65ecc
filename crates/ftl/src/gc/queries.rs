//! Questions of GC about victims and semivalid pages, and their answers.

use super::state::{Collection, Gc, GcStage, Next};
use crate::GcQuery;
use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use crate::store::Store;
use flashraid_nand::Nand;
use flashraid_vocabulary::{Ppn, Version};

/// What is next of the questions of GC.
pub(super) enum Taken {
    /// This one is asked.
    Asked(GcQuery),
    /// One that a plane's run has asked is settled, as its page is no base any more.
    Settled(u32),
}

impl Collection {
    // ---- questions ----

    /// How the semivalid page at the cursor is handled.
    pub(super) fn ask_about(&mut self, plane: u32, cursor: u32, slot: u32, store: &mut Store) {
        let state = &mut self.runs[plane as usize];
        (state.cursor, state.stage) = (cursor, GcStage::Asking);
        store.space.news.ask(GcQuery::Semivalid(plane, store.maps.address(slot)));
    }

    /// The first phase: all semivalid pages of the victim are asked about.
    #[cold]
    pub(super) fn ask_about_bases(&mut self, plane: u32, victim: u16, store: &mut Store) {
        let state = &mut self.runs[plane as usize];
        (state.stage, state.uncommitted) = (GcStage::Committing, store.ask_about_bases(plane, victim));
    }

    /// Takes the next question. One about a page that was released before it was taken is not asked. `is_hybrid`: runs are merges.
    pub(super) fn take_query(&mut self, store: &mut Store, is_hybrid: bool) -> Option<Taken> {
        while let Some(query) = store.space.news.take_query() {
            let GcQuery::Semivalid(plane, address) = query else { return Some(Taken::Asked(query)) };
            let Gc { victim, cursor, stage, .. } = self.runs[plane as usize];
            if victim == NONE {
                continue;
            }
            let base = store.lookup(address, Version::Base);
            match stage {
                GcStage::Asking if base == Some(page_at(plane, victim, cursor, &store.space)) => return Some(Taken::Asked(query)),
                GcStage::Committing if base.is_some_and(|base| is_to_be_erased(plane, victim, base, is_hybrid, &store.space)) => {
                    return Some(Taken::Asked(query));
                }
                GcStage::Committing => return Some(Taken::Settled(plane)),
                _ => {}
            }
        }
        None
    }

    // ---- answers ----

    /// Whether the run asks about just this page.
    pub(crate) fn asks_about(&self, plane: u32, ppn: Ppn, space: &Space) -> bool {
        let Gc { victim, cursor, stage, .. } = self.runs[plane as usize];
        victim != NONE && stage == GcStage::Asking && ppn == page_at(plane, victim, cursor, space)
    }

    /// Whether the run is in its first phase.
    pub(super) fn is_committing(&self, plane: u32) -> bool {
        let Gc { victim, stage, .. } = self.runs[plane as usize];
        victim != NONE && stage == GcStage::Committing
    }

    /// A semivalid page of the first phase needs no waiting any more. Returns whether none does.
    pub(super) fn base_settled(&mut self, plane: u32) -> bool {
        let state = &mut self.runs[plane as usize];
        state.uncommitted -= 1;
        state.uncommitted == 0
    }

    /// The first phase is over.
    pub(super) fn bases_settled(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        let Gc { victim, wear, retires, .. } = self.runs[plane as usize];
        let block = store.space.blocks.index(plane, victim);
        if store.space.blocks.blocks[block].live < store.space.block_pages(plane) || wear || retires {
            self.start_moves(plane, store, nand)
        } else {
            self.leave_victim(plane, victim, store, nand)
        }
    }

    /// Nothing of a victim could be committed and nothing else is garbage: its GC run would gain nothing, and another one may.
    #[cold]
    fn leave_victim(&mut self, plane: u32, victim: u16, store: &mut Store, nand: &mut Nand) -> Next {
        self.cut(plane, &mut store.space, nand);
        let blocks = store.space.blocks.of_plane(plane);
        blocks[usize::from(victim)].state = BlockState::Closed;
        store.space.victims.close(plane, victim, blocks);
        if self.is_collectable() { self.collect_best(plane, false, store, nand) } else { Next::Waits }
    }
}

/// Whether a page lies in what a GC run is to erase. Of a merge that is several blocks; their semivalid pages stay where they are.
fn is_to_be_erased(plane: u32, victim: u16, ppn: Ppn, is_hybrid: bool, space: &Space) -> bool {
    if is_hybrid { space.shape.plane_of(ppn) == plane } else { space.shape.block_of(ppn) == space.blocks.index(plane, victim) }
}

fn page_at(plane: u32, victim: u16, cursor: u32, space: &Space) -> Ppn {
    Ppn(space.shape.first_ppn(space.blocks.index(plane, victim)).0 + cursor)
}
