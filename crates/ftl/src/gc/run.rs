//! The plain course of a GC run: its start, the choice of its victim, the moves, and the erase.
//!
//! Here all tables are brought up to date; what NAND does next is what each step returns (`Next`).

use super::state::{Collection, Gc, GcStage, Next};
use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use crate::space::changes::Due;
use crate::store::Store;
use crate::{FlashFault, GcQuery};
#[cfg(feature = "mutants")]
use flashraid_nand::accounting::{self, Slip};
use flashraid_nand::{MemberLoad, Nand, WorkKind, slc};
use flashraid_vocabulary::{GcPace, MemberId, MemberPage, Observer, Ppn, Version};

impl Collection {
    // ---- start ----

    /// Starts a GC run if the plane has fewer free pages than the threshold, after a program into it.
    #[inline(always)]
    pub(super) fn collect_if_low(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if !store.space.is_low(plane) {
            return self.fold_or_wait(plane, store, nand);
        }
        if store.memory.is_some() {
            return self.collect_packed(plane, store, nand);
        }
        if self.is_collecting(plane) {
            self.hurry(plane, store, nand);
            return self.owe(plane, &store.space, nand);
        }
        self.start(plane, store, nand)
    }

    /// The same where program units have several pages.
    #[inline(never)]
    fn collect_packed(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        let next = if self.is_collecting(plane) {
            self.hurry(plane, store, nand);
            self.go_on_if_needed(plane, &store.space, nand)
        } else {
            self.start(plane, store, nand)
        };
        // What has brought the plane below the threshold is owed as well: a run that has just begun, and rests, goes on.
        let owes = owes_when_filled(store) && self.owe(plane, &store.space, nand) == Next::GoesOn;
        if owes { Next::GoesOn } else { next }
    }

    /// A program unit is programmed in the plane, for anything but GC.
    pub(crate) fn owe_if_programmed(&mut self, plane: u32, store: &Store, nand: &mut Nand) -> Next {
        if owes_when_filled(store) { Next::Waits } else { self.owe(plane, &store.space, nand) }
    }

    /// Starts a GC run if the SLC cache needs one. If the plane is to be collected in idle time, the timer sees to that.
    #[inline(always)]
    fn fold_or_wait(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if store.space.has_cache()
            && let Some(next) = self.fold(plane, store, nand)
        {
            return next;
        }
        if store.space.is_low_when_idle(plane) {
            self.wait_for_idle(&store.space.settings, nand);
        }
        Next::Waits
    }

    /// What the SLC cache needs, if anything.
    #[inline(never)]
    fn fold(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Option<Next> {
        if !self.is_untimed && self.must_fold(plane, store, nand) {
            return Some(self.start(plane, store, nand));
        }
        (owes_when_filled(store) && self.is_collecting(plane)).then(|| self.owe(plane, &store.space, nand))
    }

    /// Whether the SLC cache is full, or may have what somebody waits for.
    #[cold]
    fn must_fold(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> bool {
        let (is_full, is_collecting) = (store.space.is_cache_full(plane), self.is_collecting(plane));
        if is_full && is_collecting {
            self.hurry(plane, store, nand);
        }
        store.space.is_short_by_slc(plane) || is_full && !is_collecting
    }

    /// Starts a GC run if host programs get no new block in this plane. If it is to be collected in idle time, the timer sees to that.
    #[inline(always)]
    pub(super) fn collect_if_starved(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if store.space.is_starved(plane) && !self.is_untimed {
            return self.start(plane, store, nand);
        }
        self.fold_or_wait(plane, store, nand)
    }

    /// Starts a GC run of the plane, if there is none and there is a victim.
    pub(crate) fn start(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if self.is_collecting(plane) {
            return self.go_on_if_needed(plane, &store.space, nand);
        }
        if !self.is_collectable() {
            return Next::Waits;
        }
        if let Some(victim) = store.space.blocks.oldest_slc(plane).filter(|victim| store.space.can_move(plane, *victim)) {
            return self.collect(plane, victim, false, store, nand);
        }
        if !store.space.victims.pinned(plane).is_empty() {
            return self.start_among_pinned(plane, store, nand);
        }
        let commits = !store.space.settings.moves_bases && store.maps.has_bases();
        self.collect_best(plane, commits, store, nand)
    }

    /// Collects the block that the policy chooses, if that frees enough (`Space::next_victim`).
    pub(super) fn collect_best(&mut self, plane: u32, commits: bool, store: &mut Store, nand: &mut Nand) -> Next {
        match store.space.next_victim(plane, commits) {
            Some(victim) => self.collect(plane, victim, false, store, nand),
            None => Next::Waits,
        }
    }

    #[cold]
    fn start_among_pinned(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if !store.space.settings.commit_aware {
            return self.collect_cheapest(plane, &|_| (0, 0), store, nand);
        }
        store.space.news.ask(GcQuery::Victim(plane));
        Next::Waits
    }

    /// Starts the GC run of the plane's cheapest block, if any has a page that need not be moved.
    pub(super) fn collect_cheapest(
        &mut self,
        plane: u32,
        commit_cost: &dyn Fn(MemberPage) -> (u32, u32),
        store: &mut Store,
        nand: &mut Nand,
    ) -> Next {
        if self.is_collecting(plane) || !self.is_collectable() {
            return Next::Waits;
        }
        match store.cheapest_victim(plane, commit_cost).filter(|victim| store.space.can_move(plane, *victim)) {
            Some(victim) => self.collect(plane, victim, false, store, nand),
            None => Next::Waits,
        }
    }

    /// With static wear leveling, moves the coldest block of the plane if it is due and no other run is.
    pub(super) fn level_wear(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if !self.is_collectable() || self.is_collecting(plane) {
            return Next::Waits;
        }
        match store.space.cold_victim(plane) {
            Some(victim) => self.collect(plane, victim, true, store, nand),
            None => Next::Waits,
        }
    }

    /// Moves what lives in a doomed block of the plane, to retire it, if there is space that nobody else needs.
    #[cold]
    pub(super) fn drain(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if self.is_collecting(plane) || self.is_untimed || !self.is_collectable() {
            return Next::Waits;
        }
        let Some(victim) = store.doomed_victim(plane) else { return Next::Waits };
        let block = store.space.blocks.index(plane, victim);
        store.space.blocks.blocks[block].state = BlockState::Victim;
        self.begin(plane, Gc { victim, retires: true, ..Gc::IDLE }, store, nand)
    }

    fn collect(&mut self, plane: u32, victim: u16, wear: bool, store: &mut Store, nand: &mut Nand) -> Next {
        store.space.claim(plane, victim);
        self.begin(plane, Gc { victim, wear, ..Gc::IDLE }, store, nand)
    }

    fn begin(&mut self, plane: u32, gc: Gc, store: &mut Store, nand: &mut Nand) -> Next {
        let (pagewise, urgent) = self.manner(plane, &store.space);
        let may_rest =
            store.space.settings.given.gc_pace == GcPace::Debt && !gc.wear && !gc.retires && !store.space.is_awaited_fold(plane, gc.victim);
        self.note_run(plane, Gc { pagewise, urgent: urgent && !gc.wear, may_rest, ..gc }, &store.space, nand);
        let block = store.space.blocks.index(plane, gc.victim);
        if store.space.blocks.blocks[block].bases == 0 {
            return self.start_moves(plane, store, nand);
        }
        self.ask_about_bases(plane, gc.victim, store);
        Next::Waits
    }

    /// The run of the plane is this one from now on.
    pub(super) fn note_run(&mut self, plane: u32, gc: Gc, space: &Space, nand: &mut Nand) {
        let victim = &space.blocks.blocks[space.blocks.index(plane, gc.victim)];
        let (to_move, unpaid) = (victim.to_move(), std::mem::take(&mut self.unpaid[plane as usize]));
        let owed = if gc.may_rest { i64::from(unpaid) * i64::from(to_move) } else { 0 };
        self.runs[plane as usize] = Gc { since_ns: nand.now_ns(), to_move, owed, ..gc };
        load_of_plane(plane, nand).gc_runs += 1;
    }

    /// Collects a block in no simulated time.
    pub(crate) fn note_untimed_run(&mut self, plane: u32, victim: u16, nand: &mut Nand) {
        self.runs[plane as usize] = Gc { victim, ..Gc::IDLE };
        load_of_plane(plane, nand).gc_runs += 1;
    }

    // ---- moves and erase ----

    /// Moves and erase, with the LUNs blocked.
    pub(super) fn start_moves(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        self.runs[plane as usize].stage = GcStage::Moving;
        self.mark_luns(plane, true, &store.space, nand);
        self.next(plane, store, nand)
    }

    /// The next live page of the victim is moved, or it is erased when there is none left.
    pub(super) fn next(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if store.memory.is_some() {
            return self.next_packed(plane, store, nand);
        }
        let Gc { victim, mut cursor, move_semivalid, .. } = self.runs[plane as usize];
        let block = store.space.blocks.index(plane, victim);
        let first = store.space.shape.first_ppn(block).0;
        while store.space.blocks.blocks[block].live > 0 {
            let ppn = first + cursor;
            match store.maps.live(Ppn(ppn)) {
                None => cursor += 1,
                Some(_) if store.has_failures() && store.is_lost_page(Ppn(ppn)) => self.give_up(plane, Ppn(ppn), store),
                Some((Version::Base, slot)) if store.space.settings.moves_bases && !move_semivalid => {
                    self.ask_about(plane, cursor, slot, store);
                    return Next::Waits;
                }
                Some(_) if self.rests(plane, &store.space, nand) => {
                    self.runs[plane as usize].cursor = cursor;
                    return Next::Waits;
                }
                Some(_) => {
                    self.note_moves(plane, 1, &store.space);
                    let state = &mut self.runs[plane as usize];
                    (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor + 1, GcStage::Moving, ppn, false);
                    let work = if store.space.settings.given.copyback { WorkKind::CopyBack } else { WorkKind::MoveRead };
                    return Next::Work(work, Ppn(ppn));
                }
            }
        }
        self.moved_all(plane, store, nand)
    }

    /// Nothing of the victim is live any more.
    pub(super) fn moved_all(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if store.memory.is_some() && self.secure_moved(plane, store, nand) {
            return Next::Waits;
        }
        let block = store.space.blocks.index(plane, self.runs[plane as usize].victim);
        if store.space.blocks.blocks[block].reads == 0 || nand.makes(FlashFault::EraseUnderRead) {
            return self.erase(plane, &store.space);
        }
        self.runs[plane as usize].stage = GcStage::Reads;
        // The reads that we wait for may be queued at a LUN that we block.
        self.mark_luns(plane, false, &store.space, nand);
        Next::Unblocks
    }

    /// The victim is erased, or retired.
    pub(super) fn erase(&mut self, plane: u32, space: &Space) -> Next {
        let run = &mut self.runs[plane as usize];
        run.stage = GcStage::Erasing;
        if run.retires {
            return Next::Retires;
        }
        run.erasing = space.living_lanes(plane).count() as u32;
        Next::Work(WorkKind::Erase, space.shape.first_ppn(space.blocks.index(plane, run.victim)))
    }

    /// The erase of a block of the victim has ended, or `failed`. If that was the last: whether the victim is retired.
    pub(super) fn lane_erased(&mut self, plane: u32, failed: bool) -> Option<bool> {
        let run = &mut self.runs[plane as usize];
        run.erasing -= 1;
        run.retires |= failed;
        (run.erasing == 0).then_some(run.retires)
    }

    /// The last read of a block that is to be erased has ended. If the run waited for it, its LUNs are blocked again, and the victim is erased.
    pub(crate) fn reads_ended(&mut self, plane: u32, space: &Space, nand: &mut Nand) -> Next {
        if self.runs[plane as usize].stage != GcStage::Reads {
            return Next::Waits;
        }
        self.mark_luns(plane, true, space, nand);
        self.erase(plane, space)
    }

    /// The content of `from` is at `to` now: the map follows if it still names the old page.
    pub(crate) fn switch_moved<O: Observer>(&mut self, from: Ppn, to: Ppn, store: &mut Store, nand: &Nand, observer: &mut O) -> Due {
        observer.moved(from, to);
        if nand.makes(FlashFault::StaleMove) {
            store.follow_stale_move(from, to);
        }
        if let Some(moved) = store.follow_move(from, to) {
            self.report_move(store.space.shape.plane_of(from), moved, store);
        }
        store.space.settle(store.space.shape.block_of(to))
    }

    /// A live page of a victim cannot be read: its version is lost for good.
    #[cold]
    pub(super) fn give_up(&mut self, plane: u32, ppn: Ppn, store: &mut Store) {
        let lost = store.give_up(ppn);
        self.report_move(plane, lost, store);
    }

    // ---- end ----

    /// The run of the plane is over.
    fn end_run(&mut self, plane: u32) -> Gc {
        std::mem::replace(&mut self.runs[plane as usize], Gc::IDLE)
    }

    /// The victim is erased: its block is free again.
    pub(crate) fn erased<O: Observer>(&mut self, plane: u32, store: &mut Store, nand: &mut Nand, observer: &mut O) {
        let Gc { victim, since_ns, owed, to_move, .. } = self.end_run(plane);
        self.unpaid[plane as usize] = (owed.max(0) / i64::from(to_move.max(1))) as u32;
        let Store { space, faults, .. } = store;
        let block = space.blocks.index(plane, victim);
        let first = space.shape.first_ppn(block);
        if !self.is_untimed {
            self.counts.gc_runs += 1;
            self.counts.time_ns += nand.now_ns() - since_ns;
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::GcWithoutErase) {
                self.counts.time_ns -= space.settings.cell.mean_ns(crate::CellOperation::Erase);
            }
        }
        if self.is_untimed && space.shape.lanes > 1 {
            space.living_lanes(plane).for_each(|lane| space.lane_erased(space.shape.page_of_lane(block, lane, 0)));
        }
        load_of_plane(plane, nand).gc_runs -= 1;
        observer.erased(first, space.shape.pages_per_block);
        if faults.any {
            faults.readable_again(first, space.shape.pages_per_block);
        }
        nand.note_erased(block);
        slc::set_mode(nand, block, false);
        if space.change_space(nand, plane, |blocks| blocks.erased(plane, victim)) {
            space.news.wear_out();
        }
    }

    /// Ends the GC run of a plane as it is, without the erase. LUNs that it blocked are not offered anything yet.
    pub(crate) fn cut(&mut self, plane: u32, space: &mut Space, nand: &mut Nand) -> Gc {
        let Gc { victim, stage, .. } = self.runs[plane as usize];
        if victim != NONE && stage.blocks_luns() {
            self.mark_luns(plane, false, space, nand);
        }
        let gc = self.end_run(plane);
        if victim != NONE {
            load_of_plane(plane, nand).gc_runs -= u32::from(stage != GcStage::Resting);
            space.forget_loan(nand, plane);
            self.report_end(plane, space);
            space.news.take_back(plane);
        }
        gc
    }

    /// The GC run of the plane ends, and its victim is out of use.
    pub(super) fn cut_and_retire(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) {
        let Gc { victim, .. } = self.cut(plane, &mut store.space, nand);
        self.retire_block(plane, victim, store, nand);
    }

    /// The GC run of the plane ends, and its victim stays. `None` if there was no run.
    #[cold]
    pub(super) fn cut_and_keep(&mut self, plane: u32, space: &mut Space, nand: &mut Nand) -> Option<Due> {
        let gc = self.cut(plane, space, nand);
        if gc.victim == NONE {
            return None;
        }
        let block = space.blocks.index(plane, gc.victim);
        let state = &mut space.blocks.blocks[block].state;
        match *state {
            BlockState::Victim if gc.retires => *state = BlockState::Doomed,
            BlockState::Victim => {
                *state = BlockState::Closed;
                return Some(space.list(block));
            }
            _ => {}
        }
        Some(Due::Nothing)
    }

    /// Nothing of the plane lives any more. Returns whether anything did.
    pub(crate) fn lose_plane(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> bool {
        let state = &store.space.blocks.planes[plane as usize];
        let (blocks, gone, lived) = (state.blocks, state.blocks - state.retired, !state.dead);
        if lived {
            store.space.close_plane(nand, plane);
            store.lose_places(store.space.blocks.index(plane, 0)..store.space.blocks.index(plane, blocks as u16), true, nand);
            self.cut(plane, &mut store.space, nand);
            store.faults.note_dead_plane(plane, gone, &store.space, nand);
        }
        lived
    }

    /// Nothing of a lane of the plane lives any more. Returns whether anything did.
    pub(crate) fn lose_lane(&mut self, plane: u32, lane: u32, store: &mut Store, nand: &mut Nand) -> bool {
        let lanes = store.space.shape.lanes;
        let others_live = (0..lanes).any(|other| other != lane && store.space.blocks.lives(plane, other));
        if !others_live || lanes == 1 {
            return self.lose_plane(plane, store, nand);
        }
        let lived = store.space.blocks.lives(plane, lane);
        if lived {
            store.lose_lane(plane, lane, nand);
        }
        lived
    }

    /// The victim of the plane's run is retired instead of erased.
    pub(crate) fn retires_in_the_end(&mut self, plane: u32, space: &Space, nand: &mut Nand) -> Next {
        let run = &mut self.runs[plane as usize];
        (run.retires, run.may_rest) = (true, false);
        self.go_on_if_needed(plane, space, nand)
    }

    /// The block is out of use. If it is the victim of a GC run, that ends when what it does has ended, or now if it waits.
    pub(crate) fn retire_block(&mut self, plane: u32, number: u16, store: &mut Store, nand: &mut Nand) {
        let waits = matches!(self.runs[plane as usize].stage, GcStage::Resting | GcStage::Asking | GcStage::Committing | GcStage::Reads);
        if store.retire_block(plane, number, nand) == BlockState::Victim && waits {
            self.cut(plane, &mut store.space, nand);
        }
    }
}

/// Whether a program makes a run owe when its page, or program unit, is filled: as pages count as taken from then on. In a domain of one plane the program units in the
/// memory, of which each waits for the one before it, count when they are programmed instead, so that GC has its turns between them.
fn owes_when_filled(store: &Store) -> bool {
    store.memory.is_none() || store.space.shape.lanes > 1
}

/// The load of the member that the plane is of.
pub(super) fn load_of_plane(plane: u32, nand: &mut Nand) -> &mut MemberLoad {
    let member = nand.member_of_lun(nand.places().lun_of_plane(plane)).expect("planes of idle spare chips are never collected");
    &mut nand.loads_mut()[MemberId(member as u16)]
}
