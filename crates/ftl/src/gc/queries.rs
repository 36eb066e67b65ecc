//! Questions of GC about victims and semivalid pages, their answers, and what it tells of its moves.

use super::state::{Gc, GcStage};
use crate::memory;
use crate::space::blocks::{BlockState, NONE};
use crate::{Flash, GcQuery, MapEvent};
use flashraid_vocabulary::{MemberPage, Ppn, SemivalidAction, Version};

impl Flash {
    // ---- semivalid pages of a victim ----

    /// Slots of the semivalid pages of a block.
    pub(super) fn bases_in(&self, plane: u32, number: u16) -> impl Iterator<Item = u32> {
        let block = self.space.blocks.index(plane, number);
        let (first, count) = (self.shape.first_ppn(block).0, usize::from(self.space.blocks.blocks[block].bases));
        let live = (first..first + self.shape.pages_per_block).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Base).map(|(_, slot)| slot).take(count)
    }

    /// The first phase: all semivalid pages of the victim are asked about.
    #[cold]
    pub(super) fn ask_about_bases(&mut self, plane: u32, victim: u16) {
        let before = self.gc.queries.len();
        let mut gc_queries = std::mem::take(&mut self.gc.queries);
        gc_queries.extend(self.bases_in(plane, victim).map(|slot| GcQuery::Semivalid(plane, self.address(slot))));
        gc_queries[before..].reverse(); // the last is taken first
        let state = &mut self.gc.runs[plane as usize];
        (state.stage, state.uncommitted) = (GcStage::Committing, (gc_queries.len() - before) as u16);
        self.gc.queries = gc_queries;
    }

    /// A semivalid page of the first phase needs no waiting any more.
    fn base_settled(&mut self, plane: u32) {
        let state = &mut self.gc.runs[plane as usize];
        state.uncommitted -= 1;
        if state.uncommitted > 0 {
            return;
        }
        let Gc { victim, wear, retires, .. } = *state;
        if self.hybrid.is_some() {
            return self.merge_settled(plane);
        }
        let block = self.space.blocks.index(plane, victim);
        if u32::from(self.space.blocks.blocks[block].live) < self.shape.pages_per_block || wear || retires {
            self.start_moves(plane);
        } else {
            self.leave_victim(plane, victim);
        }
    }

    /// Nothing of a victim could be committed and nothing else is garbage: its GC run would gain nothing, and another one may.
    #[cold]
    fn leave_victim(&mut self, plane: u32, victim: u16) {
        self.cut_gc(plane);
        let blocks = self.space.blocks.of_plane(plane);
        blocks[usize::from(victim)].state = BlockState::Closed;
        self.space.victims.close(plane, victim, blocks);
        if self.is_collectable() {
            self.collect_best(plane, false);
        }
    }

    // ---- questions and answers ----

    /// Questions of GC that are not taken.
    pub fn gc_queries_waiting(&self) -> usize {
        self.gc.queries.len()
    }

    /// Takes the next question of GC. Questions about a page that was released before they were taken are not asked.
    pub fn take_gc_query(&mut self) -> Option<GcQuery> {
        while let Some(query) = self.gc.queries.pop() {
            let GcQuery::Semivalid(plane, address) = query else { return Some(query) };
            let Gc { victim, cursor, stage, .. } = self.gc.runs[plane as usize];
            if victim == NONE {
                continue;
            }
            let base = self.lookup(address, Version::Base);
            match stage {
                GcStage::Asking if base == Some(self.page_at(plane, victim, cursor)) => return Some(query),
                GcStage::Committing if base.is_some_and(|base| self.is_to_be_erased(plane, victim, base)) => return Some(query),
                GcStage::Committing => self.base_settled(plane),
                _ => {}
            }
        }
        None
    }

    /// Whether a page lies in what a GC run is to erase. Of a merge that is several blocks; their semivalid pages stay where they are.
    fn is_to_be_erased(&self, plane: u32, victim: u16, ppn: Ppn) -> bool {
        if self.hybrid.is_some() {
            self.shape.plane_of(ppn) == plane
        } else {
            self.shape.block_of(ppn) == self.space.blocks.index(plane, victim)
        }
    }

    fn page_at(&self, plane: u32, victim: u16, cursor: u16) -> Ppn {
        Ppn(self.shape.first_ppn(self.space.blocks.index(plane, victim)).0 + u32::from(cursor))
    }

    /// Answers GC about a semivalid page. After `CommitFirst`, which only schemes give that move no bases, it waits for `committed`.
    pub fn rule(&mut self, plane: u32, address: MemberPage, action: SemivalidAction) {
        debug_assert!(action != SemivalidAction::CommitFirst || !self.settings.moves_bases);
        if self.gc.runs[plane as usize].stage == GcStage::Committing {
            if action == SemivalidAction::Free {
                self.unmap(address, Version::Base);
            }
            if action == SemivalidAction::Move && self.hybrid.is_some() {
                self.merge_refused(plane);
            }
            if action != SemivalidAction::CommitFirst {
                self.base_settled(plane);
            }
        } else if action == SemivalidAction::Free {
            self.unmap(address, Version::Base);
        } else {
            self.gc.runs[plane as usize].move_semivalid = true;
            self.continue_gc(plane);
        }
    }

    /// A base was released; the GC run that asks about it goes on.
    pub(crate) fn base_released(&mut self, ppn: Ppn) {
        let plane = self.shape.plane_of(ppn);
        let Gc { victim, cursor, stage, .. } = self.gc.runs[plane as usize];
        if victim != NONE && stage == GcStage::Asking && ppn == self.page_at(plane, victim, cursor) {
            self.continue_gc(plane);
        } else if self.hybrid.is_some() {
            self.base_of_merge_released(plane);
        }
    }

    /// A commit that the plane's GC waits for (`SemivalidAction::CommitFirst`) has ended.
    pub fn committed(&mut self, plane: u32) {
        let Gc { victim, stage, .. } = self.gc.runs[plane as usize];
        // A failure may have ended the GC run; another one, that began since, moves what it does not wait for.
        if victim != NONE && stage == GcStage::Committing {
            self.base_settled(plane);
        }
    }

    // ---- news ----

    /// Whether a domain gained space, or GC has a question or did something to the map.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.space.freed.is_empty() || !self.gc.queries.is_empty() || self.has_map_events() || memory::has_flushed(self)
    }

    /// Whether somebody stores the map, and must hear of moves.
    pub(crate) fn reports_moves(&self) -> bool {
        self.settings.translation_blocks > 0 && !self.untimed.is_on
    }

    /// Whether GC did anything to the map that nobody has taken over.
    #[inline]
    pub fn has_map_events(&self) -> bool {
        !self.gc.map_events.is_empty()
    }

    /// Takes over what GC did to the map, in order, and leaves an empty list.
    pub fn swap_map_events(&mut self, news: &mut Vec<MapEvent>) {
        debug_assert!(news.is_empty());
        std::mem::swap(&mut self.gc.map_events, news);
    }
}
