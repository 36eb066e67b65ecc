//! Questions of the collector about victims and semivalid pages, their answers, and what it tells of its moves.

use super::state::{Collection, Stage};
use crate::mapping::blocks::{NONE, State};
use crate::{Flash, MapNews, Question};
use flashraid_vocabulary::{MemberPage, Ppn, Ruling, Version};

impl Flash {
    // ---- semivalid pages of a victim ----

    /// Slots of the semivalid pages of a block.
    pub(super) fn bases_in(&self, plane: u32, number: u16) -> impl Iterator<Item = u32> {
        let block = self.blocks.index(plane, number);
        let (first, count) = (self.first_ppn(block).0, usize::from(self.blocks.blocks[block].bases));
        let live = (first..first + self.pages_per_block).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Base).map(|(_, slot)| slot).take(count)
    }

    /// The first phase: all semivalid pages of the victim are asked about.
    #[cold]
    pub(super) fn ask_about_bases(&mut self, plane: u32, victim: u16) {
        let before = self.questions.len();
        let mut questions = std::mem::take(&mut self.questions);
        questions.extend(self.bases_in(plane, victim).map(|slot| Question::Semivalid(plane, self.address(slot))));
        questions[before..].reverse(); // the last is taken first
        let state = &mut self.collections[plane as usize];
        (state.stage, state.uncommitted) = (Stage::Committing, (questions.len() - before) as u16);
        self.questions = questions;
    }

    /// A semivalid page of the first phase needs no waiting any more.
    fn base_settled(&mut self, plane: u32) {
        let state = &mut self.collections[plane as usize];
        state.uncommitted -= 1;
        if state.uncommitted > 0 {
            return;
        }
        let Collection { victim, wear, retires, .. } = *state;
        if self.hybrid.is_some() {
            return self.merge_settled(plane);
        }
        let block = self.blocks.index(plane, victim);
        if u32::from(self.blocks.blocks[block].live) < self.pages_per_block || wear || retires {
            self.start_moves(plane);
        } else {
            self.leave_victim(plane, victim);
        }
    }

    /// Nothing of a victim could be committed and nothing else is garbage: its collection would gain nothing, and another one may.
    #[cold]
    fn leave_victim(&mut self, plane: u32, victim: u16) {
        self.cut_collection(plane);
        let blocks = self.blocks.of_plane(plane);
        blocks[usize::from(victim)].state = State::Closed;
        self.victims.insert(plane, victim, blocks);
        if let Some(other) = self.victims.best(plane)
            && self.can_move(plane, other)
        {
            self.collect_block(plane, other, false);
        }
    }

    // ---- questions and answers ----

    /// Takes the next question of the collector. Questions about a page that was released before they were taken are not asked.
    pub fn take_question(&mut self) -> Option<Question> {
        while let Some(question) = self.questions.pop() {
            let Question::Semivalid(plane, address) = question else { return Some(question) };
            let Collection { victim, cursor, stage, .. } = self.collections[plane as usize];
            if victim == NONE {
                continue;
            }
            let base = self.lookup(address, Version::Base);
            match stage {
                Stage::Asking if base == Some(self.page_at(plane, victim, cursor)) => return Some(question),
                Stage::Committing if base.is_some_and(|base| self.is_to_be_erased(plane, victim, base)) => return Some(question),
                Stage::Committing => self.base_settled(plane),
                _ => {}
            }
        }
        None
    }

    /// Whether a page lies in what a collection is to erase. Of a merge that is several blocks; their semivalid pages stay where they are.
    fn is_to_be_erased(&self, plane: u32, victim: u16, ppn: Ppn) -> bool {
        if self.hybrid.is_some() { self.plane_of(ppn) == plane } else { self.block_of(ppn) == self.blocks.index(plane, victim) }
    }

    fn page_at(&self, plane: u32, victim: u16, cursor: u16) -> Ppn {
        Ppn(self.first_ppn(self.blocks.index(plane, victim)).0 + u32::from(cursor))
    }

    /// Answers the collector about a semivalid page. After `CommitFirst`, which only schemes give that move no bases, it waits for `committed`.
    pub fn rule(&mut self, plane: u32, address: MemberPage, ruling: Ruling) {
        debug_assert!(ruling != Ruling::CommitFirst || !self.settings.moves_bases);
        if self.collections[plane as usize].stage == Stage::Committing {
            if ruling == Ruling::Free {
                self.unmap(address, Version::Base);
            }
            if ruling == Ruling::Move && self.hybrid.is_some() {
                self.merge_refused(plane);
            }
            if ruling != Ruling::CommitFirst {
                self.base_settled(plane);
            }
        } else if ruling == Ruling::Free {
            self.unmap(address, Version::Base);
        } else {
            self.collections[plane as usize].move_semivalid = true;
            self.continue_collection(plane);
        }
    }

    /// A base was released; the collection that asks about it goes on.
    pub(crate) fn base_released(&mut self, ppn: Ppn) {
        let plane = self.plane_of(ppn);
        let Collection { victim, cursor, stage, .. } = self.collections[plane as usize];
        if victim != NONE && stage == Stage::Asking && ppn == self.page_at(plane, victim, cursor) {
            self.continue_collection(plane);
        } else if self.hybrid.is_some() {
            self.base_of_merge_released(plane);
        }
    }

    /// A commit that the plane's collection waits for (`Ruling::CommitFirst`) has ended.
    pub fn committed(&mut self, plane: u32) {
        let Collection { victim, stage, .. } = self.collections[plane as usize];
        // A failure may have ended the collection; another one, that began since, moves what it does not wait for.
        if victim != NONE && stage == Stage::Committing {
            self.base_settled(plane);
        }
    }

    // ---- news ----

    /// Whether a domain gained space, or the collector has a question or did something to the map.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.freed.is_empty() || !self.questions.is_empty() || self.has_map_news()
    }

    /// Whether somebody stores the map, and must hear of moves.
    pub(super) fn reports_moves(&self) -> bool {
        self.settings.translation_blocks > 0 && !self.without_time
    }

    /// Whether the collector did anything to the map that nobody has taken over.
    #[inline]
    pub fn has_map_news(&self) -> bool {
        !self.map_news.is_empty()
    }

    /// Takes over what the collector did to the map, in order, and leaves an empty list.
    pub fn swap_map_news(&mut self, news: &mut Vec<MapNews>) {
        debug_assert!(news.is_empty());
        std::mem::swap(&mut self.map_news, news);
    }
}
