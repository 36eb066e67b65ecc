//! The collector: one victim at a time in each plane, moved page by page inside the plane, then erased.
//!
//! It takes no lock. A move copies a page and switches the map only if the map still names the old page; a block with a
//! dispatched read is erased when the read has ended. A semivalid page is a question to the layer above, which answers with
//! `Flash::rule`. Static wear levelling is a collection whose victim is a cold block instead of the emptiest.
//!
//! Of a scheme that commits semivalid pages, a collection has two phases (SPEC 4.4). First all semivalid pages of the victim are
//! asked about and those to be committed waited for, with nothing blocked, as the commits may need any unit. Then moves and erase follow
//! in one go, and a page that is still semivalid, or again, is moved.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::mapping::blocks::{NONE, State, Stream};
use crate::mapping::space::{Domain, NIL};
use crate::mutants::FlashFault;
use crate::nand::records::{Record, Work};
use crate::nand::units::each;
use crate::{Blocking, Flash, MapNews, MemberLoad, Question};
use flashraid_vocabulary::{Cause, MemberPage, Observer, Ppn, Priority, Ruling, Version};
use std::cmp::Reverse;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Moving,
    /// A semivalid page at the cursor: the layer above has been asked.
    Asking,
    /// First phase: the layer above has been asked about all semivalid pages, and commits some.
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

/// Which collections run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collecting {
    /// Of data pages, moved page by page.
    pub of_data: bool,
    /// Merges of log blocks.
    pub merges: bool,
    /// Of translation pages.
    pub of_map: bool,
    /// Of a cold block, for static wear levelling.
    pub for_wear: bool,
}

/// The collection of one plane.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    pub(super) victim: u16,
    cursor: u16,
    pub(super) stage: Stage,
    wear: bool,
    /// The page at the cursor is to be moved even if it is semivalid.
    move_semivalid: bool,
    /// The victim is retired instead of erased, so nothing is gained.
    retires: bool,
    pub(super) moving: u32,
    /// First phase: semivalid pages without an answer, and commits that have not ended.
    pub(super) uncommitted: u16,
    /// When the victim was chosen.
    pub(super) since_ns: u64,
}

impl Collection {
    /// No collection runs.
    pub const IDLE: Collection = Collection {
        victim: NONE,
        cursor: 0,
        stage: Stage::Moving,
        wear: false,
        move_semivalid: false,
        retires: false,
        moving: 0,
        uncommitted: 0,
        since_ns: 0,
    };

    /// One that begins.
    pub(super) fn of(victim: u16, since_ns: u64) -> Self {
        Self { victim, since_ns, ..Self::IDLE }
    }
}

impl Flash {
    /// Starts a collection if the plane has fewer free pages than the threshold (called after each program into it, so that a
    /// program starts at most one).
    #[inline]
    pub(crate) fn collect_if_low(&mut self, plane: u32) {
        if self.is_low(plane) {
            self.start_collection(plane);
        }
    }

    /// Whether a program into the plane makes it collect: it is below the threshold, or has no page left for host programs. (All its garbage
    /// may be older than its last block, and then nothing else tells that it is starved.)
    #[inline]
    fn is_low(&self, plane: u32) -> bool {
        let state = &self.blocks.planes[plane as usize];
        state.free_pages < state.gc_pages || self.blocks.host_pages(plane) == 0
    }

    /// Starts a collection if host programs get no new block in this plane.
    #[inline]
    pub(crate) fn collect_if_starved(&mut self, plane: u32) {
        if self.blocks.planes[plane as usize].free_blocks < self.settings.gc_hard && !self.without_time {
            self.start_collection(plane);
        }
    }

    fn start_collection(&mut self, plane: u32) {
        if self.collections[plane as usize].victim != NONE {
            return;
        }
        if !self.victims.pinned(plane).is_empty() {
            return self.start_among_pinned(plane);
        }
        if let Some(victim) = self.victims.best(plane)
            && self.can_move(plane, victim)
        {
            self.collect_block(plane, victim, false);
        }
    }

    #[cold]
    fn start_among_pinned(&mut self, plane: u32) {
        let question = Question::Victim(plane);
        if !self.settings.commit_aware {
            self.choose_victim(plane, &|_| (0, 0));
        } else if !self.questions.contains(&question) {
            self.questions.push(question);
        }
    }

    /// Starts the collection of the plane's cheapest block, if any has a page that need not be moved. `commit_cost` says how many pages the commit
    /// of a semivalid page's stripe reads and programs; a block has no two pages of one stripe. Of equally cheap ones, blocks without semivalid pages
    /// come first, then those that have had some for longest.
    pub fn choose_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
        if self.collections[plane as usize].victim != NONE {
            return;
        }
        if self.hybrid.is_some() {
            return self.choose_log(plane, commit_cost);
        }
        let cell = self.settings.cell;
        let cost_ns = |reads: u32, programs: u32| u64::from(reads) * cell.read_ns + u64::from(programs) * cell.program_ns;
        let block_of = |number: u16| self.blocks.blocks[self.blocks.index(plane, number)];
        let mut best = self.victims.best(plane).map(|number| {
            let live = u32::from(block_of(number).live);
            (cost_ns(live, live), number)
        });
        for &number in self.victims.pinned(plane) {
            let moves = u32::from(block_of(number).live - block_of(number).bases);
            if moves == self.pages_per_block {
                continue;
            }
            let mut cost = cost_ns(moves, moves);
            for slot in self.bases_in(plane, number) {
                if best.is_some_and(|(least, _)| cost >= least) {
                    break;
                }
                let (reads, programs) = commit_cost(self.address(slot));
                cost += cost_ns(reads, programs);
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, number));
            }
        }
        if let Some((_, victim)) = best
            && self.can_move(plane, victim)
        {
            self.collect_block(plane, victim, false);
        }
    }

    /// Slots of the semivalid pages of a block.
    pub(super) fn bases_in(&self, plane: u32, number: u16) -> impl Iterator<Item = u32> {
        let block = self.blocks.index(plane, number);
        let (first, count) = (self.first_ppn(block).0, usize::from(self.blocks.blocks[block].bases));
        let live = (first..first + self.pages_per_block).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Base).map(|(_, slot)| slot).take(count)
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
        self.collections[plane as usize] = Collection { since_ns: self.now_ns, ..collection };
        self.load_of_plane(plane).collections += 1;
        let block = self.blocks.index(plane, collection.victim);
        if self.blocks.blocks[block].bases > 0 { self.ask_about_bases(plane, collection.victim) } else { self.start_moves(plane) }
    }

    /// The first phase: all semivalid pages of the victim are asked about.
    #[cold]
    fn ask_about_bases(&mut self, plane: u32, victim: u16) {
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

    /// Moves and erase, with the units blocked.
    fn start_moves(&mut self, plane: u32) {
        self.collections[plane as usize].stage = Stage::Moving;
        self.block_units(plane, true);
        self.continue_collection(plane);
    }

    pub(super) fn load_of_plane(&mut self, plane: u32) -> &mut MemberLoad {
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
    pub(super) fn block_units(&mut self, plane: u32, blocked: bool) {
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

    pub(super) fn collection_work(&mut self, plane: u32, work: Work, ppn: u32) {
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
                Some((Version::Base, slot)) if self.settings.moves_bases && !move_semivalid => {
                    let state = &mut self.collections[plane as usize];
                    (state.cursor, state.stage) = (cursor, Stage::Asking);
                    self.questions.push(Question::Semivalid(plane, self.address(slot)));
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
        if self.blocks.blocks[block].reads > 0 && !self.makes(FlashFault::EraseUnderRead) {
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
                if self.hybrid.is_some() { self.erase_next(plane) } else { self.erase_victim(plane, self.first_ppn(block).0) }
            }
        }
    }

    /// Whether a domain gained space, or the collector has a question or did something to the map.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.freed.is_empty() || !self.questions.is_empty() || self.has_map_news()
    }

    /// Whether somebody stores the map, and must hear of moves.
    fn reports_moves(&self) -> bool {
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

    /// Takes the next page of the plane's collection stream. There always is one, unless failures took from what is kept for that.
    pub(crate) fn take_move_page(&mut self, plane: u32) -> Option<Ppn> {
        if self.hybrid.is_some() {
            return self.is_collecting(plane).then(|| self.merge_page(plane));
        }
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
            return self.note_failed();
        }
        match work {
            Work::MoveRead => self.collection_work(plane, Work::MoveProgram, ppn),
            Work::MoveProgram | Work::CopyBack => {
                let from = Ppn(self.collections[plane as usize].moving);
                self.switch_moved(from, Ppn(ppn), observer);
                if self.hybrid.is_some() { self.continue_merge(plane) } else { self.continue_collection(plane) }
            }
            Work::Erase if self.hybrid.is_some() => self.merge_erased(plane, observer),
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
    pub(super) fn switch_moved<O: Observer>(&mut self, from: Ppn, to: Ppn, observer: &mut O) {
        observer.moved(from, to);
        let block = self.block_of(to);
        let old_block = self.block_of(from);
        if self.makes(FlashFault::StaleMove) && self.maps.live(from).is_none() {
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
            let base = u16::from(version == Version::Base && !self.settings.moves_bases);
            self.blocks.blocks[old_block].live -= 1;
            self.blocks.blocks[old_block].bases -= base;
            self.blocks.blocks[block].live += 1;
            self.blocks.blocks[block].bases += base;
            if self.reports_moves() && !self.settings.is_translation(self.address(slot).page) {
                self.map_news.push(MapNews::Moved { plane: self.plane_of(from), version, slot });
            }
        }
        self.settle(block);
    }

    /// The victim is erased: its block is free again, and space may have been gained.
    fn erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let Collection { victim, since_ns, .. } = std::mem::replace(&mut self.collections[plane as usize], Collection::IDLE);
        if !self.without_time {
            self.collected.collections += 1;
            self.collected.time_ns += self.now_ns - since_ns;
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::CollectionWithoutErase) {
                self.collected.time_ns -= self.settings.cell.erase_ns;
            }
        }
        self.load_of_plane(plane).collections -= 1;
        let first = self.first_ppn(self.blocks.index(plane, victim));
        observer.erased(first, self.pages_per_block);
        if self.has_failures() {
            self.faults.readable_again(first, self.pages_per_block);
        }
        self.change_space(plane, |blocks| blocks.erased(plane, victim));
        if self.reports_moves() {
            self.map_news.push(MapNews::Ended { plane });
        }
    }

    // ---- failures ----

    pub(crate) fn is_collecting(&self, plane: u32) -> bool {
        self.collections[plane as usize].victim != NONE
    }

    /// Collections, by what they are: looks at all planes.
    pub fn collections_under_way(&self) -> Collecting {
        let mut collecting = Collecting::default();
        let data_planes = self.units.len() as u32 * self.planes_per_unit;
        for (plane, collection) in (0..).zip(&self.collections).filter(|(_, collection)| collection.victim != NONE) {
            collecting.merges |= self.hybrid.is_some();
            collecting.of_data |= self.hybrid.is_none() && plane < data_planes;
            collecting.of_map |= plane >= data_planes;
            collecting.for_wear |= collection.wear;
        }
        collecting
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
            if self.reports_moves() {
                self.map_news.push(MapNews::Ended { plane });
            }
            self.questions.retain(|question| !matches!(question, Question::Semivalid(of, _) if *of == plane));
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
    pub(super) fn give_up(&mut self, ppn: Ppn) {
        let (version, slot) = self.maps.live(ppn).expect("a live page");
        self.maps.set(version, slot, self.faults.lost);
        let block = self.block_of(ppn);
        self.blocks.blocks[block].live -= 1;
        self.blocks.blocks[block].bases -= u16::from(version == Version::Base && !self.settings.moves_bases);
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
        if self.hybrid.is_some() {
            return self.is_merge_disturbed(plane, work, Ppn(ppn.0));
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
        #[cfg(feature = "mutants")]
        if fails && work == Work::Erase && accounting::makes(Slip::FailedEraseTwice) {
            let (cause, unit) = (self.collection_cause(plane), self.unit_of_plane(plane) as usize);
            self.count(2, cause);
            self.units[unit].operations[2][cause as usize] += 1;
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
        // While it ran, others may have become due.
        self.collect_if_starved(plane);
    }

    /// Checks that no plane is starved which a collection would help, and none runs.
    pub(crate) fn check_starved(&self) -> Result<(), String> {
        let is_forgotten = |plane: &u32| {
            let state = &self.blocks.planes[*plane as usize];
            let is_due = state.in_use && !state.dead && self.blocks.host_pages(*plane) == 0 && !self.is_collecting(*plane);
            is_due
                && self.victims.pinned(*plane).is_empty()
                && self.victims.best(*plane).is_some_and(|victim| self.can_move(*plane, victim))
        };
        match (0..self.planes()).find(|plane| self.hybrid.is_none() && is_forgotten(plane)) {
            Some(plane) => Err(format!(
                "plane {plane} is short of erased blocks, has garbage, and does not collect it: {:?}",
                self.blocks.planes[plane as usize]
            )),
            None => Ok(()),
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
    /// moved, whatever the scheme. Returns whether there was a victim.
    fn collect_now<O: Observer>(&mut self, plane: u32, observer: &mut O) -> bool {
        let live = |number: u16| u32::from(self.blocks.blocks[self.blocks.index(plane, number)].live);
        let blocks = self.victims.best(plane).into_iter().chain(self.victims.pinned(plane).iter().copied());
        let Some(victim) = blocks.filter(|number| live(*number) < self.pages_per_block).min_by_key(|number| live(*number)) else {
            return false;
        };
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
        if self.hybrid.is_some() {
            return self.place_merging(domain, address, version, keep_base, observer);
        }
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
