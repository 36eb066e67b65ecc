//! The plain course of a GC run: its start, the choice of its victim, the moves, and the erase.

use super::packing;
use super::state::{Gc, GcStage};
use crate::memory;
use crate::space::blocks::{BlockState, NONE, WriteStream};
use crate::{Flash, FlashFault, GcQuery, MapEvent, MemberLoad};
#[cfg(feature = "mutants")]
use flashraid_nand::accounting::{self, Slip};
use flashraid_nand::{Record, WorkKind, each, kick_plane, queue_work};
use flashraid_vocabulary::{Cause, GcBlockingScope, MemberId, MemberPage, Observer, Ppn, Version};

impl Flash {
    // ---- start ----

    /// Starts a GC run if the plane has fewer free pages than the threshold (called after each program into it, so that a
    /// program starts at most one).
    #[inline]
    pub(crate) fn collect_if_low(&mut self, plane: u32) {
        if self.space.is_low(plane) {
            if self.is_collecting(plane) {
                let (_, urgent) = self.manner_of_gc(plane);
                self.gc.runs[plane as usize].urgent |= urgent;
            }
            self.start_gc(plane);
        } else if self.space.blocks.planes[plane as usize].free_pages < self.space.blocks.planes[plane as usize].idle_pages {
            self.collect_when_idle();
        }
    }

    /// Starts a GC run if host programs get no new block in this plane. If it is to be collected in idle time, the timer sees to that.
    #[inline]
    pub(crate) fn collect_if_starved(&mut self, plane: u32) {
        let state = &self.space.blocks.planes[plane as usize];
        if state.free_blocks < self.settings.given.gc_reserve_blocks && !self.untimed.is_on {
            self.start_gc(plane);
        } else if state.free_pages < state.idle_pages {
            self.collect_when_idle();
        }
    }

    pub(super) fn start_gc(&mut self, plane: u32) {
        if self.is_collecting(plane) || !self.is_collectable() {
            return;
        }
        if !self.space.victims.pinned(plane).is_empty() {
            return self.start_among_pinned(plane);
        }
        self.collect_best(plane, !self.settings.moves_bases && self.held.iter().any(|held| held.bases > 0));
    }

    /// Collects the block that the policy chooses, if that frees enough. If no block has garbage, and GC runs commit semivalid pages (`commits`), the one with
    /// the fewest pages to move of those that have any: a plane full of them would never be collected else.
    pub(super) fn collect_best(&mut self, plane: u32, commits: bool) {
        let chosen = self.space.victim(plane);
        let with_bases = || self.space.fewest_with_bases(plane).filter(|victim| commits && self.space.is_worth(plane, *victim));
        let victim = match chosen {
            Some(victim) if self.settings.padding_of_gc() > 0 => self.space.worth(plane, victim).or_else(with_bases),
            Some(victim) => Some(victim).filter(|victim| self.space.is_worth(plane, *victim)),
            None => with_bases(),
        };
        if let Some(victim) = victim
            && let Some(victim) = self.space.movable(plane, victim)
        {
            self.collect_block(plane, victim, false);
        }
    }

    #[cold]
    fn start_among_pinned(&mut self, plane: u32) {
        let query = GcQuery::Victim(plane);
        if !self.settings.commit_aware {
            self.choose_victim(plane, &|_| (0, 0));
        } else if !self.gc.queries.contains(&query) {
            self.gc.queries.push(query);
        }
    }

    /// Starts the GC run of the plane's cheapest block, if any has a page that need not be moved. `commit_cost` says how many pages the commit
    /// of a semivalid page's stripe reads and programs; a block has no two pages of one stripe. Of equally cheap ones, blocks without semivalid pages
    /// come first, then those that have had some for longest.
    pub fn choose_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
        if self.is_collecting(plane) || !self.is_collectable() {
            return;
        }
        if self.hybrid.is_some() {
            return self.choose_log(plane, commit_cost);
        }
        let best = self.space.victim(plane);
        let cost_ns = |reads: u32, programs: u32| self.settings.cell.mean_cost_ns(reads.into(), programs.into());
        let block_of = |number: u16| self.space.blocks.blocks[self.space.blocks.index(plane, number)];
        let unpinned = best.map(|number| (u32::from(block_of(number).live), number));
        let unpinned = unpinned.filter(|(live, _)| self.space.frees_enough(plane, *live));
        let mut best = unpinned.map(|(live, number)| (cost_ns(live, live), number));
        for &number in self.space.victims.pinned(plane) {
            let moves = u32::from(block_of(number).to_move());
            if !self.space.frees_enough(plane, moves) {
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
            && self.space.can_move(plane, victim)
        {
            self.collect_block(plane, victim, false);
        }
    }

    pub(crate) fn is_collecting(&self, plane: u32) -> bool {
        self.gc.runs[plane as usize].victim != NONE
    }

    pub(super) fn collect_block(&mut self, plane: u32, victim: u16, wear: bool) {
        self.space.claim(plane, victim);
        self.begin_gc(plane, Gc { victim, wear, ..Gc::IDLE });
    }

    pub(super) fn begin_gc(&mut self, plane: u32, gc: Gc) {
        let (pagewise, urgent) = self.manner_of_gc(plane);
        self.note_run(plane, Gc { pagewise, urgent: urgent && !gc.wear, ..gc });
        let block = self.space.blocks.index(plane, gc.victim);
        if self.space.blocks.blocks[block].bases > 0 { self.ask_about_bases(plane, gc.victim) } else { self.start_moves(plane) }
    }

    /// The run of the plane is this one from now on.
    pub(super) fn note_run(&mut self, plane: u32, gc: Gc) {
        let victim = &self.space.blocks.blocks[self.space.blocks.index(plane, gc.victim)];
        self.gc.runs[plane as usize] = Gc { since_ns: self.nand.now_ns(), to_move: victim.to_move(), ..gc };
        self.load_of_plane(plane).gc_runs += 1;
    }

    /// Moves and erase, with the LUNs blocked.
    pub(super) fn start_moves(&mut self, plane: u32) {
        self.gc.runs[plane as usize].stage = GcStage::Moving;
        self.block_luns(plane, true);
        self.continue_gc(plane);
    }

    pub(crate) fn load_of_plane(&mut self, plane: u32) -> &mut MemberLoad {
        let member = self.nand.member_of_lun(self.nand.lun_of_plane(plane)).expect("planes of idle spare chips are never collected");
        &mut self.nand.loads_mut()[MemberId(member as u16)]
    }

    // ---- what is blocked meanwhile ----

    /// Keeps host work off the LUNs that a GC run blocks, or lets it on again.
    pub(super) fn block_luns(&mut self, plane: u32, blocked: bool) {
        self.mark_luns(plane, blocked);
        if !blocked && self.blocking_scope(plane) != GcBlockingScope::None {
            kick_plane(self, plane);
        }
    }

    /// As `block_luns`, but lets nobody start yet.
    pub(super) fn mark_luns(&mut self, plane: u32, blocked: bool) {
        self.luns_blocked_by(plane).for_each(|lun| self.nand.set_blocked(lun, blocked));
    }

    pub(super) fn blocking_scope(&self, plane: u32) -> GcBlockingScope {
        if self.gc.runs[plane as usize].pagewise { GcBlockingScope::None } else { self.settings.given.gc_blocking_scope }
    }

    /// The run of the plane is over.
    pub(super) fn end_run(&mut self, plane: u32) -> Gc {
        let run = &mut self.gc.runs[plane as usize];
        let idle = Gc { pagewise: run.pagewise, ..Gc::IDLE };
        std::mem::replace(run, idle)
    }

    /// The LUNs that a GC run of the plane blocks.
    pub(crate) fn luns_blocked_by(&self, plane: u32) -> impl Iterator<Item = u32> + use<> {
        let lun = self.nand.lun_of_plane(plane);
        let first = self.shape.neighbors(lun).start;
        let luns = match self.blocking_scope(plane) {
            GcBlockingScope::None => 0,
            GcBlockingScope::Lun => 1 << (lun - first),
            GcBlockingScope::Chip => self.shape.chip_luns(self.shape.chip_of_lun(lun)),
            GcBlockingScope::Channel => u64::MAX >> (64 - self.shape.luns_per_channel),
        };
        each(luns).map(move |number| first + number)
    }

    // ---- moves and erase ----

    pub(super) fn gc_work(&mut self, plane: u32, work: WorkKind, ppn: u32) {
        let (cause, priority) = (self.gc_cause(plane), self.gc_priority(plane));
        queue_work(self, plane, work, ppn, cause, priority);
    }

    pub(crate) fn gc_cause(&self, plane: u32) -> Cause {
        if self.gc.runs[plane as usize].wear { Cause::Wear } else { Cause::Gc }
    }

    /// Moves the next live page of the victim, or erases it when there is none left.
    pub(crate) fn continue_gc(&mut self, plane: u32) {
        if self.memory.is_some() {
            return packing::go_on(self, plane);
        }
        let Gc { victim, mut cursor, move_semivalid, .. } = self.gc.runs[plane as usize];
        let block = self.space.blocks.index(plane, victim);
        let first = self.shape.first_ppn(block).0;
        while self.space.blocks.blocks[block].live > 0 {
            let ppn = first + u32::from(cursor);
            match self.maps.live(Ppn(ppn)) {
                None => cursor += 1,
                Some(_) if self.has_failures() && self.is_lost_page(Ppn(ppn)) => self.give_up(Ppn(ppn)),
                Some((Version::Base, slot)) if self.settings.moves_bases && !move_semivalid => {
                    let state = &mut self.gc.runs[plane as usize];
                    (state.cursor, state.stage) = (cursor, GcStage::Asking);
                    self.gc.queries.push(GcQuery::Semivalid(plane, self.address(slot)));
                    return;
                }
                Some(_) => {
                    let state = &mut self.gc.runs[plane as usize];
                    (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor + 1, GcStage::Moving, ppn, false);
                    let work = if self.settings.given.copyback { WorkKind::CopyBack } else { WorkKind::MoveRead };
                    self.gc_work(plane, work, ppn);
                    return;
                }
            }
        }
        packing::moved_all(self, plane, block);
    }

    pub(super) fn erase_victim(&mut self, plane: u32, first: u32) {
        self.gc.runs[plane as usize].stage = GcStage::Erasing;
        if self.gc.runs[plane as usize].retires {
            return self.retire_victim(plane);
        }
        self.gc_work(plane, WorkKind::Erase, first);
    }

    /// A read of a plan has ended.
    #[inline]
    pub(crate) fn read_ended(&mut self, ppn: Ppn) {
        let block = self.shape.block_of(ppn);
        let entry = &mut self.space.blocks.blocks[block];
        entry.reads -= 1;
        if entry.reads == 0 && entry.state == BlockState::Victim {
            let plane = self.shape.plane_of(ppn);
            if self.gc.runs[plane as usize].stage == GcStage::Reads {
                self.block_luns(plane, true);
                if self.hybrid.is_some() { self.erase_next(plane) } else { self.erase_victim(plane, self.shape.first_ppn(block).0) }
            }
        }
    }

    /// Takes the next page of the plane's GC stream. There always is one, unless failures took from what is kept for that.
    pub(crate) fn take_move_page(&mut self, plane: u32) -> Option<Ppn> {
        if self.hybrid.is_some() {
            return self.is_collecting(plane).then(|| self.merge_page(plane));
        }
        let (block, offset) = match self.has_failures() {
            false => self.space.blocks.take(plane, WriteStream::Gc),
            true => self.take_scarce_move_page(plane)?,
        };
        Some(Ppn(block as u32 * self.shape.pages_per_block + offset))
    }

    /// One step of a GC run has ended.
    pub(crate) fn gc_work_ended<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, owner: plane, ppn, .. } = *self.nand.record(id);
        self.nand.remove_record(id);
        if self.has_failures() && self.is_cut_short(plane, work, Ppn(ppn)) {
            return self.nand.note_failed();
        }
        match work {
            WorkKind::MoveRead if self.memory.is_some() => packing::pack(self, plane, Ppn(ppn), observer),
            WorkKind::MoveRead => self.gc_work(plane, WorkKind::MoveProgram, ppn),
            WorkKind::MoveProgram | WorkKind::CopyBack => {
                let from = Ppn(self.gc.runs[plane as usize].moving);
                self.switch_moved(from, Ppn(ppn), observer);
                if self.hybrid.is_some() { self.continue_merge(plane) } else { self.continue_gc(plane) }
            }
            WorkKind::Erase if self.hybrid.is_some() => self.merge_erased(plane, observer),
            WorkKind::Erase => {
                self.erased(plane, observer);
                self.block_luns(plane, false);
                self.collect_if_starved(plane);
                if self.has_failures() {
                    self.drain_doomed(plane);
                }
                self.level_wear(plane);
            }
            WorkKind::Read | WorkKind::Program | WorkKind::PageProgram => unreachable!("work of a plan"),
        }
    }

    /// The content of `from` is at `to` now: the map follows if it still names the old page.
    pub(crate) fn switch_moved<O: Observer>(&mut self, from: Ppn, to: Ppn, observer: &mut O) {
        observer.moved(from, to);
        let block = self.shape.block_of(to);
        let old_block = self.shape.block_of(from);
        if self.nand.makes(FlashFault::StaleMove) && self.maps.live(from).is_none() {
            let (version, slot) = self.maps.labeled(from);
            if let Some(newer) = self.maps.get(version, slot) {
                self.invalidate(newer);
                self.maps.set(version, slot, to);
                self.maps.label(to, version, slot);
                self.space.blocks.blocks[block].live += 1;
            }
        }
        if let Some((version, slot)) = self.maps.live(from) {
            self.maps.set(version, slot, to);
            self.maps.label(to, version, slot);
            let base = u16::from(version == Version::Base && !self.settings.moves_bases);
            self.space.blocks.blocks[old_block].live -= 1;
            self.space.blocks.blocks[old_block].bases -= base;
            self.space.blocks.blocks[block].live += 1;
            self.space.blocks.blocks[block].bases += base;
            if self.reports_moves() && !self.settings.is_translation(self.address(slot).page) {
                self.gc.map_events.push(MapEvent::Moved { plane: self.shape.plane_of(from), version, slot });
            }
        }
        self.settle(block);
    }

    /// The victim is erased: its block is free again, and space may have been gained.
    pub(crate) fn erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let Gc { victim, since_ns, .. } = self.end_run(plane);
        let first = self.shape.first_ppn(self.space.blocks.index(plane, victim));
        if !self.untimed.is_on {
            self.gc.counts.gc_runs += 1;
            self.gc.counts.time_ns += self.nand.now_ns() - since_ns;
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::GcWithoutErase) {
                self.gc.counts.time_ns -= self.settings.cell.mean_ns(crate::CellOperation::Erase);
            }
        }
        self.load_of_plane(plane).gc_runs -= 1;
        observer.erased(first, self.shape.pages_per_block);
        if self.has_failures() {
            self.faults.readable_again(first, self.shape.pages_per_block);
        }
        self.nand.note_erased(self.shape.block_of(first));
        self.space.change_space(&mut self.nand, plane, |blocks| blocks.erased(plane, victim));
        if self.memory.is_some() {
            memory::space_gained(self);
        }
        if self.reports_moves() {
            self.gc.map_events.push(MapEvent::Ended { plane });
        }
    }
}
