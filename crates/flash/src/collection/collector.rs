//! The collector: one victim at a time in each plane, moved page by page inside the plane, then erased.
//!
//! It takes no lock. A move copies a page and switches the map only if the map still names the old page; a block with a
//! dispatched read is erased when the read has ended. A semivalid page is a question to the layer above, which answers with
//! `Flash::rule`. Static wear levelling is a collection whose victim is a cold block instead of the emptiest.

use crate::mapping::blocks::{NONE, State, Stream};
use crate::nand::records::{Record, Work};
use crate::{Blocking, Flash, MapNews};
use flashraid_vocabulary::{Cause, MemberPage, Observer, Ppn, Priority, Ruling, Version};
use std::cmp::Reverse;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Moving,
    /// A semivalid page: the layer above has been asked.
    Asking,
    /// The layer above commits the semivalid page's stripe.
    Committing,
    /// Dispatched reads of the victim have not ended.
    Reads,
    Erasing,
}

/// The collection of one plane.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    victim: u16,
    cursor: u16,
    stage: Stage,
    wear: bool,
    /// The page at the cursor is to be moved even if it is semivalid.
    move_semivalid: bool,
    moving: u32,
}

impl Collection {
    /// No collection runs.
    pub const IDLE: Collection =
        Collection { victim: NONE, cursor: 0, stage: Stage::Moving, wear: false, move_semivalid: false, moving: 0 };
}

impl Flash {
    /// Starts a collection if the plane has fewer free pages than the threshold (called after each program into it, so that a
    /// program starts at most one).
    #[inline]
    pub(crate) fn collect_if_low(&mut self, plane: u32) {
        let state = &self.blocks.planes[plane as usize];
        if state.free_pages < state.gc_pages {
            self.start_collection(plane);
        }
    }

    /// Starts a collection if host programs get no new block in this plane.
    #[inline]
    pub(crate) fn collect_if_starved(&mut self, plane: u32) {
        if self.blocks.planes[plane as usize].free_blocks < self.settings.gc_hard && !self.without_time {
            self.start_collection(plane);
        }
    }

    fn start_collection(&mut self, plane: u32) {
        if self.collections[plane as usize].victim == NONE
            && let Some(victim) = self.victims.best(plane)
        {
            self.collect_block(plane, victim, false);
        }
    }

    fn collect_block(&mut self, plane: u32, victim: u16, wear: bool) {
        self.claim(plane, victim);
        self.collections[plane as usize] = Collection { victim, wear, ..Collection::IDLE };
        let member = self.member_of_unit(self.unit_of_plane(plane));
        self.loads[member as usize].collections += 1;
        self.block_units(plane, true);
        self.continue_collection(plane);
    }

    /// Takes a block off the victim lists.
    fn claim(&mut self, plane: u32, victim: u16) {
        let blocks = self.blocks.of_plane(plane);
        self.victims.remove(plane, victim, blocks);
        blocks[usize::from(victim)].state = State::Victim;
    }

    /// Keeps host work off the units that a collection blocks, or lets it on again.
    fn block_units(&mut self, plane: u32, blocked: bool) {
        let unit = self.unit_of_plane(plane);
        let channel = self.channel_of_unit(unit);
        let first = channel * self.units_per_channel;
        let units = match self.settings.gc_blocks {
            Blocking::None => return,
            Blocking::Unit => 1 << (unit - first),
            Blocking::Chip => self.chip_units((unit - first) % self.settings.geometry.chips_per_channel),
            Blocking::Channel => u64::MAX >> (64 - self.units_per_channel),
        };
        for unit in (0..self.units_per_channel).filter(|unit| units >> unit & 1 == 1) {
            self.set_blocked(first + unit, blocked);
        }
        if !blocked {
            self.kick(channel);
        }
    }

    fn collection_work(&mut self, plane: u32, work: Work, ppn: u32) {
        let urgent = self.settings.gc_blocks != Blocking::None || self.blocks.planes[plane as usize].free_blocks < self.settings.gc_hard;
        let priority = if urgent { Priority::Urgent } else { Priority::Collection };
        let cause = self.collection_cause(plane);
        self.submit_collection(plane, work, ppn, cause, priority);
    }

    fn collection_cause(&self, plane: u32) -> Cause {
        if self.collections[plane as usize].wear { Cause::Wear } else { Cause::Gc }
    }

    /// Moves the next live page of the victim, or erases it when there is none left.
    fn continue_collection(&mut self, plane: u32) {
        let Collection { victim, mut cursor, move_semivalid, .. } = self.collections[plane as usize];
        let block = self.blocks.index(plane, victim);
        let first = self.first_ppn(block).0;
        while self.blocks.blocks[block].live > 0 {
            let ppn = first + u32::from(cursor);
            match self.maps.live(Ppn(ppn)) {
                None => cursor += 1,
                Some((Version::Base, slot)) if !move_semivalid => {
                    let state = &mut self.collections[plane as usize];
                    (state.cursor, state.stage) = (cursor, Stage::Asking);
                    self.questions.push((plane, self.address(slot)));
                    return;
                }
                Some(_) => {
                    let state = &mut self.collections[plane as usize];
                    (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor + 1, Stage::Moving, ppn, false);
                    let work = if self.settings.copyback { Work::CopyBack } else { Work::MoveRead };
                    self.collection_work(plane, work, ppn);
                    return;
                }
            }
        }
        if self.blocks.blocks[block].reads > 0 && !self.erases_under_read() {
            self.collections[plane as usize].stage = Stage::Reads;
            // The reads that we wait for may be queued at a unit that we block.
            self.block_units(plane, false);
        } else {
            self.erase_victim(plane, first);
        }
    }

    fn erase_victim(&mut self, plane: u32, first: u32) {
        self.collections[plane as usize].stage = Stage::Erasing;
        self.collection_work(plane, Work::Erase, first);
    }

    #[cfg(feature = "mutants")]
    fn erases_under_read(&self) -> bool {
        self.mutants.erase_under_read
    }

    #[cfg(not(feature = "mutants"))]
    fn erases_under_read(&self) -> bool {
        false
    }

    /// A read of a plan has ended.
    #[inline]
    pub(crate) fn read_ended(&mut self, ppn: Ppn) {
        let block = self.block_of(ppn);
        let entry = &mut self.blocks.blocks[block];
        entry.reads -= 1;
        if entry.reads == 0 && entry.state == State::Victim {
            let plane = self.plane_of(ppn);
            if self.collections[plane as usize].stage == Stage::Reads {
                self.block_units(plane, true);
                self.erase_victim(plane, self.first_ppn(block).0);
            }
        }
    }

    /// Whether a domain gained space or the collector has a question.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.freed.is_empty() || !self.questions.is_empty()
    }

    /// Whether somebody stores the map, and must hear of moves.
    fn reports_moves(&self) -> bool {
        self.settings.translation_blocks > 0 && !self.without_time
    }

    /// Takes over what the collector did to the map, in order, and leaves an empty list.
    pub fn swap_map_news(&mut self, news: &mut Vec<MapNews>) {
        debug_assert!(news.is_empty());
        std::mem::swap(&mut self.map_news, news);
    }

    /// Takes the next question of the collector: the plane that waits, and the page that is semivalid. Questions whose page was
    /// released before they were taken are not asked.
    pub fn take_question(&mut self) -> Option<(u32, MemberPage)> {
        while let Some((plane, address)) = self.questions.pop() {
            let Collection { victim, cursor, stage, .. } = self.collections[plane as usize];
            let is_open = victim != NONE
                && stage == Stage::Asking
                && self.lookup(address, Version::Base) == Some(self.page_at(plane, victim, cursor));
            if is_open {
                return Some((plane, address));
            }
        }
        None
    }

    fn page_at(&self, plane: u32, victim: u16, cursor: u16) -> Ppn {
        Ppn(self.first_ppn(self.blocks.index(plane, victim)).0 + u32::from(cursor))
    }

    /// Answers the collector about the semivalid page in front of it. After `CommitFirst` it waits until the page is released;
    /// the caller must have started the commit.
    pub fn rule(&mut self, plane: u32, address: MemberPage, ruling: Ruling) {
        debug_assert_eq!(self.collections[plane as usize].stage, Stage::Asking);
        match ruling {
            Ruling::Move => {
                self.collections[plane as usize].move_semivalid = true;
                self.continue_collection(plane);
            }
            Ruling::Free => self.unmap(address, Version::Base),
            Ruling::CommitFirst => {
                self.collections[plane as usize].stage = Stage::Committing;
                // The commit may need the units that we block.
                self.block_units(plane, false);
            }
        }
    }

    /// A base was released; the collection that waits for it goes on.
    pub(crate) fn base_released(&mut self, ppn: Ppn) {
        let plane = self.plane_of(ppn);
        let Collection { victim, cursor, stage, .. } = self.collections[plane as usize];
        if victim != NONE && matches!(stage, Stage::Asking | Stage::Committing) && ppn == self.page_at(plane, victim, cursor) {
            if stage == Stage::Committing {
                self.block_units(plane, true);
            }
            self.continue_collection(plane);
        }
    }

    /// Takes the next page of the plane's collection stream.
    pub(crate) fn take_move_page(&mut self, plane: u32) -> Ppn {
        let (block, offset) = self.blocks.take(plane, Stream::Collection);
        Ppn(block as u32 * self.pages_per_block + offset)
    }

    /// One step of a collection has ended.
    pub(crate) fn collection_work_ended<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, owner: plane, ppn, .. } = self.records[id as usize];
        self.free_record(id);
        match work {
            Work::MoveRead => self.collection_work(plane, Work::MoveProgram, ppn),
            Work::MoveProgram | Work::CopyBack => {
                let from = Ppn(self.collections[plane as usize].moving);
                self.switch_moved(from, Ppn(ppn), observer);
                self.continue_collection(plane);
            }
            Work::Erase => {
                self.erased(plane, observer);
                self.block_units(plane, false);
                self.collect_if_starved(plane);
                self.level_wear(plane);
            }
            Work::Read | Work::Program => unreachable!("work of a plan"),
        }
    }

    /// The content of `from` is at `to` now: the map follows if it still names the old page.
    fn switch_moved<O: Observer>(&mut self, from: Ppn, to: Ppn, observer: &mut O) {
        observer.moved(from, to);
        let block = self.block_of(to);
        let old_block = self.block_of(from);
        #[cfg(feature = "mutants")]
        if self.mutants.stale_move && self.maps.live(from).is_none() {
            let (version, slot) = self.maps.labelled(from);
            if let Some(newer) = self.maps.get(version, slot) {
                self.invalidate(newer);
                self.maps.set(version, slot, to);
                self.maps.label(to, version, slot);
                self.blocks.blocks[block].live += 1;
            }
        }
        if let Some((version, slot)) = self.maps.live(from) {
            self.maps.set(version, slot, to);
            self.maps.label(to, version, slot);
            self.blocks.blocks[old_block].live -= 1;
            self.blocks.blocks[block].live += 1;
            if self.reports_moves() && !self.settings.is_translation(self.address(slot).page) {
                self.map_news.push(MapNews::Moved { plane: self.plane_of(from), version, slot });
            }
        }
        self.settle(block);
    }

    /// The victim is erased: its block is free again, and space may have been gained.
    fn erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let victim = std::mem::replace(&mut self.collections[plane as usize].victim, NONE);
        let member = self.member_of_unit(self.unit_of_plane(plane));
        self.loads[member as usize].collections -= 1;
        observer.erased(self.first_ppn(self.blocks.index(plane, victim)), self.pages_per_block);
        let before = self.blocks.host_pages(plane);
        self.blocks.erased(plane, victim);
        let after = self.blocks.host_pages(plane);
        if self.reports_moves() {
            self.map_news.push(MapNews::Erased { plane });
        }
        if after > before {
            let domain = self.domain_of_plane(plane);
            self.domains[domain as usize].free_pages += i64::from(after - before);
            self.set_writable(plane, true);
            self.freed.push(domain);
        }
    }

    // ---- static wear levelling ----

    /// A block was closed: it may grow cold.
    pub(crate) fn note_cold(&mut self, plane: u32, block: u16) {
        let per_plane = self.settings.geometry.blocks_per_plane as usize;
        let erases = self.blocks.erases[self.blocks.index(plane, block)];
        if self.cold[plane as usize].len() >= 2 * per_plane {
            let mut entries = std::mem::take(&mut self.cold[plane as usize]).into_vec();
            entries.retain(|Reverse((erases, block))| self.is_cold(plane, *block, *erases));
            self.cold[plane as usize] = entries.into();
        }
        self.cold[plane as usize].push(Reverse((erases, block)));
    }

    fn is_cold(&self, plane: u32, block: u16, erases: u32) -> bool {
        let index = self.blocks.index(plane, block);
        self.blocks.blocks[index].listed && self.blocks.erases[index] == erases
    }

    /// Moves the coldest block of the plane if the block just erased is worn that much more, and space is not short.
    fn level_wear(&mut self, plane: u32) {
        let Some(spread) = self.settings.wear_static else { return };
        if self.collections[plane as usize].victim != NONE || self.blocks.planes[plane as usize].free_blocks < self.settings.gc_hard {
            return;
        }
        while let Some(Reverse((erases, block))) = self.cold[plane as usize].peek().copied() {
            if !self.is_cold(plane, block, erases) {
                self.cold[plane as usize].pop();
            } else {
                if self.blocks.most_erases(plane) - erases > spread {
                    self.collect_block(plane, block, true);
                }
                return;
            }
        }
    }

    // ---- without time ----

    /// Collects one victim of the plane at once, as a device would while nobody looks at the clock. Semivalid pages are
    /// moved. Returns whether there was a victim.
    fn collect_now<O: Observer>(&mut self, plane: u32, observer: &mut O) -> bool {
        let Some(victim) = self.victims.best(plane) else { return false };
        self.victims_now += 1;
        self.claim(plane, victim);
        let member = self.member_of_unit(self.unit_of_plane(plane));
        self.loads[member as usize].collections += 1;
        self.collections[plane as usize] = Collection { victim, ..Collection::IDLE };
        let block = self.blocks.index(plane, victim);
        let mut ppn = self.first_ppn(block);
        while self.blocks.blocks[block].live > 0 {
            if self.maps.live(ppn).is_some() {
                let to = self.take_move_page(plane);
                self.switch_moved(ppn, to, observer);
                self.programmed_now += 1;
            }
            ppn.0 += 1;
        }
        self.erased(plane, observer);
        true
    }

    /// Programs and commits a page at once, as `place` but without a promise: collects in its domain until there is a page.
    /// Panics if there is none to be had, which the configuration's capacity rule excludes. Returns its plane and its number;
    /// `collect_low_now` of the plane must follow when the content is noted.
    #[inline]
    pub fn place_now<O: Observer>(&mut self, address: MemberPage, version: Version, keep_base: bool, observer: &mut O) -> (u32, Ppn) {
        let domain = self.domain_of(address, version);
        while self.domains[domain as usize].free_pages <= self.domains[domain as usize].reserved {
            self.make_room_now(domain, observer);
        }
        self.programmed_now += 1;
        self.place_in(domain, address, version, keep_base)
    }

    /// Collects one victim of the plane if it is below the threshold, as after a program into it.
    #[inline]
    pub fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let state = &self.blocks.planes[plane as usize];
        if state.free_pages < state.gc_pages || state.free_blocks < self.settings.gc_hard {
            self.collect_now(plane, observer);
        }
    }

    #[cold]
    fn make_room_now<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        let planes = 0..self.collections.len() as u32;
        let mut collected = false;
        for plane in planes {
            collected |= self.domain_of_plane(plane) == domain && self.collect_now(plane, observer);
        }
        assert!(collected, "domain {domain} has no space and nothing to collect");
    }

    /// Work without time is over: collects in planes in which host programs would get no new block, as nothing else would start that
    /// before something there becomes garbage.
    pub fn relieve_now<O: Observer>(&mut self, observer: &mut O) {
        for plane in 0..self.collections.len() as u32 {
            while self.blocks.planes[plane as usize].free_blocks < self.settings.gc_hard && self.collect_now(plane, observer) {}
        }
    }

    /// Victims collected without time so far.
    pub fn victims_collected_now(&self) -> u64 {
        self.victims_now
    }

    /// Pages programmed without time so far, moves included.
    pub fn pages_programmed_now(&self) -> u64 {
        self.programmed_now
    }

    /// While set, nothing starts collections by itself: work without time calls `collect_now`.
    pub fn set_without_time(&mut self, without_time: bool) {
        self.without_time = without_time;
    }
}
