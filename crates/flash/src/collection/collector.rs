//! The collector: one victim at a time in each plane, moved page by page inside the plane, then erased.
//!
//! It takes no lock. A move copies a page and switches the map only if the map still names the old page; a block with a
//! dispatched read is erased when the read has ended. A semivalid page is a question to the layer above, which answers with
//! `Flash::rule`. Static wear levelling is a collection whose victim is a cold block instead of the emptiest.

use crate::mapping::blocks::{NONE, State, Stream};
use crate::mapping::space::{Domain, NIL};
use crate::nand::records::{Record, Work};
use crate::nand::units::each;
use crate::{Blocking, Flash, MapNews, MemberLoad};
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

impl Stage {
    /// Whether the units that a collection blocks are blocked: not while it waits for work that may need them.
    fn blocks_units(self) -> bool {
        !matches!(self, Stage::Committing | Stage::Reads)
    }
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
    /// The victim is retired instead of erased, so nothing is gained.
    retires: bool,
    moving: u32,
}

impl Collection {
    /// No collection runs.
    pub const IDLE: Collection =
        Collection { victim: NONE, cursor: 0, stage: Stage::Moving, wear: false, move_semivalid: false, retires: false, moving: 0 };
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
            && self.can_move(plane, victim)
        {
            self.collect_block(plane, victim, false);
        }
    }

    /// Whether there are pages for the live ones of a victim: always, unless failures took from what is kept for that.
    fn can_move(&self, plane: u32, victim: u16) -> bool {
        let live = u32::from(self.blocks.blocks[self.blocks.index(plane, victim)].live);
        let free_blocks = self.blocks.planes[plane as usize].free_blocks;
        live <= self.blocks.left(plane, Stream::Collection) + free_blocks * self.pages_per_block
    }

    fn collect_block(&mut self, plane: u32, victim: u16, wear: bool) {
        self.claim(plane, victim);
        self.begin_collection(plane, Collection { victim, wear, ..Collection::IDLE });
    }

    fn begin_collection(&mut self, plane: u32, collection: Collection) {
        self.collections[plane as usize] = collection;
        self.load_of_plane(plane).collections += 1;
        self.block_units(plane, true);
        self.continue_collection(plane);
    }

    fn load_of_plane(&mut self, plane: u32) -> &mut MemberLoad {
        let member = self.member_of_unit(self.unit_of_plane(plane)).expect("planes of idle spare chips are never collected");
        &mut self.loads[member as usize]
    }

    /// Takes a block off the victim lists.
    fn claim(&mut self, plane: u32, victim: u16) {
        let blocks = self.blocks.of_plane(plane);
        self.victims.remove(plane, victim, blocks);
        blocks[usize::from(victim)].state = State::Victim;
    }

    /// Keeps host work off the units that a collection blocks, or lets it on again.
    fn block_units(&mut self, plane: u32, blocked: bool) {
        self.mark_units(plane, blocked);
        if !blocked && self.settings.gc_blocks != Blocking::None {
            self.kick(self.channel_of_unit(self.unit_of_plane(plane)));
        }
    }

    /// As `block_units`, but lets nobody start yet.
    fn mark_units(&mut self, plane: u32, blocked: bool) {
        self.units_blocked_by(plane).for_each(|unit| self.set_blocked(unit, blocked));
    }

    /// The units that a collection of the plane blocks.
    fn units_blocked_by(&self, plane: u32) -> impl Iterator<Item = u32> + use<> {
        let unit = self.unit_of_plane(plane);
        let first = self.channel_of_unit(unit) * self.units_per_channel;
        let units = match self.settings.gc_blocks {
            Blocking::None => 0,
            Blocking::Unit => 1 << (unit - first),
            Blocking::Chip => self.chip_units(self.chip_of_unit(unit)),
            Blocking::Channel => u64::MAX >> (64 - self.units_per_channel),
        };
        each(units).map(move |number| first + number)
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
                Some(_) if self.has_failures() && self.is_lost_page(Ppn(ppn)) => self.give_up(Ppn(ppn)),
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
        if self.collections[plane as usize].retires {
            return self.retire_victim(plane);
        }
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

    /// Answers the collector about the semivalid page in front of it. After `CommitFirst` it waits for `committed`.
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

    /// A base was released; the collection that asks about it goes on.
    pub(crate) fn base_released(&mut self, ppn: Ppn) {
        let plane = self.plane_of(ppn);
        let Collection { victim, cursor, stage, .. } = self.collections[plane as usize];
        if victim != NONE && stage == Stage::Asking && ppn == self.page_at(plane, victim, cursor) {
            self.continue_collection(plane);
        }
    }

    /// A commit that the plane's collection waits for (`Ruling::CommitFirst`) has ended. If the page is semivalid all the same, it is moved.
    pub fn committed(&mut self, plane: u32) {
        let state = &mut self.collections[plane as usize];
        // A failure may have ended the collection, and another one may have begun.
        if state.victim != NONE && state.stage == Stage::Committing {
            state.move_semivalid = true;
            self.block_units(plane, true);
            self.continue_collection(plane);
        }
    }

    /// Takes the next page of the plane's collection stream. There always is one, unless failures took from what is kept for that.
    pub(crate) fn take_move_page(&mut self, plane: u32) -> Option<Ppn> {
        let (block, offset) = match self.has_failures() {
            false => self.blocks.take(plane, Stream::Collection),
            true => self.take_scarce_move_page(plane)?,
        };
        Some(Ppn(block as u32 * self.pages_per_block + offset))
    }

    /// A block that is retired in the end gives nothing back: what is taken for its pages is no loan, and leaves the reserve alone.
    #[cold]
    fn take_scarce_move_page(&mut self, plane: u32) -> Option<(usize, u32)> {
        let retires = self.collections[plane as usize].retires;
        let needed = if retires { self.settings.gc_hard } else { 1 };
        if self.blocks.left(plane, Stream::Collection) == 0 && self.blocks.planes[plane as usize].free_blocks < needed {
            return None;
        }
        Some(self.change_space(plane, |blocks| {
            let debt = blocks.planes[plane as usize].debt;
            let taken = blocks.take(plane, Stream::Collection);
            if retires {
                blocks.planes[plane as usize].debt = debt;
            }
            taken
        }))
    }

    /// One step of a collection has ended.
    pub(crate) fn collection_work_ended<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, owner: plane, ppn, .. } = self.records[id as usize];
        self.free_record(id);
        if self.has_failures() && self.is_cut_short(plane, work, Ppn(ppn)) {
            return;
        }
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
                if self.has_failures() {
                    self.drain_doomed(plane);
                }
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
        self.load_of_plane(plane).collections -= 1;
        let first = self.first_ppn(self.blocks.index(plane, victim));
        observer.erased(first, self.pages_per_block);
        if self.has_failures() {
            self.faults.readable_again(first, self.pages_per_block);
        }
        self.change_space(plane, |blocks| blocks.erased(plane, victim));
        if self.reports_moves() {
            self.map_news.push(MapNews::Erased { plane });
        }
    }

    // ---- failures ----

    pub(crate) fn is_collecting(&self, plane: u32) -> bool {
        self.collections[plane as usize].victim != NONE
    }

    /// Checks that units are blocked by the collections that do, and no others.
    pub(crate) fn check_blocked(&self) -> Result<(), String> {
        let mut blocked = vec![0; self.units.len()];
        for (plane, collection) in self.collections.iter().enumerate() {
            if collection.victim != NONE && collection.stage.blocks_units() {
                self.units_blocked_by(plane as u32).for_each(|unit| blocked[unit as usize] += 1);
            }
        }
        match self.units.iter().zip(blocked).position(|(unit, blocked)| unit.blocked != blocked) {
            Some(unit) => Err(format!("unit {unit} is wrongly blocked, or not")),
            None => Ok(()),
        }
    }

    /// Ends the collection of a plane as it is, without the erase. Units that it blocked are not offered anything yet.
    pub(crate) fn cut_collection(&mut self, plane: u32) {
        let Collection { victim, stage, .. } = std::mem::replace(&mut self.collections[plane as usize], Collection::IDLE);
        if victim != NONE {
            self.load_of_plane(plane).collections -= 1;
            if stage.blocks_units() {
                self.mark_units(plane, false);
            }
            self.change_space(plane, |blocks| blocks.planes[plane as usize].debt = false);
        }
    }

    /// The victim is lost: the collection ends when what it does has ended, or now if it waits.
    pub(crate) fn victim_lost(&mut self, plane: u32) {
        if matches!(self.collections[plane as usize].stage, Stage::Asking | Stage::Committing | Stage::Reads) {
            self.cut_collection(plane);
        }
    }

    /// The collection has ended early: whatever it kept waiting goes on.
    fn collection_cut(&mut self, plane: u32) {
        self.collect_if_starved(plane);
        self.drain_doomed(plane);
        self.kick(self.channel_of_unit(self.unit_of_plane(plane)));
    }

    /// The victim of a collection that gives nothing back is empty.
    #[cold]
    fn retire_victim(&mut self, plane: u32) {
        let victim = self.collections[plane as usize].victim;
        self.cut_collection(plane);
        self.retire_block(plane, victim);
        self.collection_cut(plane);
    }

    /// A live page of a victim cannot be read: its version is lost for good.
    #[cold]
    fn give_up(&mut self, ppn: Ppn) {
        let (version, slot) = self.maps.live(ppn).expect("a live page");
        self.maps.set(version, slot, self.faults.lost);
        let block = self.block_of(ppn);
        self.blocks.blocks[block].live -= 1;
        if self.reports_moves() && !self.settings.is_translation(self.address(slot).page) {
            self.map_news.push(MapNews::Moved { plane: self.plane_of(ppn), version, slot });
        }
    }

    /// Whether a failure undid what work of the collector was to do, and if so does what is left to do. `ppn` is the page of the work.
    #[cold]
    fn is_cut_short(&mut self, plane: u32, work: Work, ppn: Ppn) -> bool {
        let Collection { victim, moving, .. } = self.collections[plane as usize];
        let programs = matches!(work, Work::MoveProgram | Work::CopyBack);
        if self.blocks.planes[plane as usize].dead {
            if programs {
                self.settle(self.block_of(ppn));
            }
            return true;
        }
        let block = self.blocks.index(plane, victim);
        let victim_lost = self.blocks.blocks[block].state == State::Retired;
        let source_lost = work != Work::Erase && self.is_lost_page(Ppn(moving));
        let target_lost = programs && self.is_lost_page(ppn);
        let fails = (programs || work == Work::Erase) && self.fails_now(work, ppn);
        if !(victim_lost || source_lost || target_lost || fails) {
            return false;
        }
        if programs {
            let target = self.block_of(ppn);
            if fails {
                self.doom(target);
            }
            self.settle(target);
        }
        if victim_lost || work == Work::Erase {
            self.cut_collection(plane);
            self.retire_block(plane, victim);
            self.collection_cut(plane);
        } else {
            // The page is moved again, if it is still there.
            self.collections[plane as usize].cursor = (moving - self.first_ppn(block).0) as u16;
            self.continue_collection(plane);
        }
        true
    }

    /// A move has no page to go to: the collection ends, and its victim stays.
    #[cold]
    pub(crate) fn move_finds_no_page(&mut self, unit: u32, id: u32) {
        let plane = self.records[id as usize].plane;
        self.free_record(id);
        self.refresh_want(unit);
        let Collection { victim, retires, .. } = self.collections[plane as usize];
        self.cut_collection(plane);
        if victim == NONE {
            return;
        }
        let block = self.blocks.index(plane, victim);
        match self.blocks.blocks[block].state {
            State::Victim if retires => self.blocks.blocks[block].state = State::Doomed,
            State::Victim => {
                self.blocks.blocks[block].state = State::Closed;
                self.list_victim(block);
            }
            _ => {}
        }
    }

    /// Moves what lives in a doomed block of the plane, to retire it, if there is space that nobody else needs.
    #[cold]
    pub(crate) fn drain_doomed(&mut self, plane: u32) {
        if self.collections[plane as usize].victim != NONE || self.without_time {
            return;
        }
        let state = &self.blocks.planes[plane as usize];
        let mut most = self.blocks.left(plane, Stream::Collection);
        let domain = self.domain_of_plane(plane);
        if domain != NIL && state.free_blocks >= self.settings.gc_hard {
            let Domain { free_pages, reserved, .. } = self.domains[domain as usize];
            most += if free_pages - reserved >= i64::from(self.pages_per_block) { self.pages_per_block } else { 0 };
        }
        let fits = |number: &u16| {
            let block = &self.blocks.blocks[self.blocks.index(plane, *number)];
            block.pending == 0 && u32::from(block.live) <= most
        };
        let doomed = self.faults.doomed_of(plane).find(fits);
        if let Some(victim) = doomed {
            let block = self.blocks.index(plane, victim);
            self.blocks.blocks[block].state = State::Victim;
            self.begin_collection(plane, Collection { victim, retires: true, ..Collection::IDLE });
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
                if self.blocks.most_erases(plane) - erases > spread && self.can_move(plane, block) {
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
        self.load_of_plane(plane).collections += 1;
        self.collections[plane as usize] = Collection { victim, ..Collection::IDLE };
        let block = self.blocks.index(plane, victim);
        let mut ppn = self.first_ppn(block);
        while self.blocks.blocks[block].live > 0 {
            if self.maps.live(ppn).is_some() {
                let to = self.take_move_page(plane).expect("nothing has failed yet");
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
