//! GC in the SSD: what makes its runs start and go on, and what NAND does for them.
//!
//! The parts know what is due and what comes next; here it is done.

use super::merge::Merging;
use super::pace::finish_gc;
use super::queries::Taken;
use super::state::{Gc, GcStage, Next};
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use crate::{Flash, GcQuery};
#[cfg(feature = "mutants")]
use flashraid_nand::accounting::{self, Slip};
use flashraid_nand::{Record, WorkKind, kick_plane, queue_work};
use flashraid_vocabulary::{GcBlockingScope, Health, MemberPage, Observer, Ppn, SemivalidAction, Version};

impl Flash {
    // ---- what is due ----

    /// Sees to what is due after a change of blocks.
    // Always inlined, as callers mostly know what may be due, and mostly nothing is.
    #[inline(always)]
    pub(crate) fn attend(&mut self, due: Due) {
        let (store, nand) = (&mut self.store, &mut self.nand);
        let (plane, next) = match due {
            Due::Nothing => return,
            Due::Collection(plane) => (plane, self.gc.collect_if_starved(plane, store, nand)),
            Due::Program(plane) => (plane, self.gc.collect_if_low(plane, store, nand)),
            Due::Draining(plane) => (plane, self.gc.drain(plane, store, nand)),
        };
        if next != Next::Waits {
            self.carry_out(plane, next);
        }
    }

    /// From now on it may be programmed and collected, or not. A GC run under way ends all the same.
    pub fn set_health(&mut self, health: Health) {
        self.gc.health = health;
        if !self.gc.is_collectable() {
            finish_gc(self);
        }
        if self.gc.is_collectable() && !self.gc.is_untimed {
            for plane in 0..self.store.space.planes() {
                self.attend(Due::Program(plane));
                self.attend(Due::Collection(plane));
            }
        }
    }

    // ---- the course of runs ----

    /// What a step of a merge works with.
    pub(crate) fn merging(&mut self) -> Merging<'_> {
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        Merging { hybrid, gc: &mut self.gc, store: &mut self.store, nand: &mut self.nand }
    }

    /// Does what comes next in the GC run of a plane.
    pub(crate) fn carry_out(&mut self, plane: u32, next: Next) {
        let unblocks = matches!(next, Next::Unblocks | Next::AsksAgain | Next::Merged);
        if unblocks && self.gc.blocking_scope(plane, &self.store.space) != GcBlockingScope::None {
            kick_plane(self, plane);
        }
        match next {
            Next::Waits | Next::Unblocks => {}
            Next::Work(WorkKind::Erase, first) if self.store.space.shape.lanes > 1 => {
                let (cause, priority) = self.gc.class(plane, &self.store.space);
                let (shape, block) = (self.store.space.shape, self.store.space.shape.block_of(first));
                for lane in self.store.space.living_lanes(plane) {
                    queue_work(self, plane, WorkKind::Erase, shape.page_of_lane(block, lane, 0), cause, priority);
                }
            }
            Next::Work(work, ppn) => {
                let (cause, priority) = self.gc.class(plane, &self.store.space);
                queue_work(self, plane, work, ppn, cause, priority);
            }
            Next::GoesOn => {
                let is_hybrid = self.hybrid.is_some();
                let next = if is_hybrid { self.merging().next(plane) } else { self.gc.next(plane, &mut self.store, &mut self.nand) };
                self.carry_out(plane, next);
            }
            Next::Retires => {
                self.gc.cut_and_retire(plane, &mut self.store, &mut self.nand);
                // Whatever it kept waiting goes on.
                self.attend(Due::Collection(plane));
                self.attend(Due::Draining(plane));
                self.accept_waiting();
                kick_plane(self, plane);
            }
            Next::Leaves => {
                if let Some(due) = self.gc.cut_and_keep(plane, &mut self.store.space, &mut self.nand) {
                    self.attend(due);
                    // While it ran, others may have become due.
                    self.attend(Due::Collection(plane));
                    self.accept_waiting();
                }
            }
            Next::AsksAgain => {
                let next = self.merging().commit_or_go_on(plane);
                self.carry_out(plane, next);
            }
            Next::Merged => {
                self.wake(Some(self.store.space.domain_of_plane(plane)));
                while let Some(left) = self.merging().hybrid.left.pop() {
                    self.wake(Some(left));
                }
            }
            Next::Wakes => self.wake(Some(self.store.space.domain_of_plane(plane))),
        }
    }

    /// One step of a GC run has ended.
    pub(crate) fn gc_work_ended<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, owner: plane, ppn, .. } = *self.nand.record(id);
        self.nand.remove_record(id);
        if work == WorkKind::Erase && self.store.space.shape.lanes > 1 {
            return lane_erased(self, plane, Ppn(ppn), observer);
        }
        if self.store.has_failures() && self.is_cut_short(plane, work, Ppn(ppn)) {
            return self.nand.note_failed();
        }
        match work {
            WorkKind::MoveRead if self.store.memory.is_some() => {
                let next = self.gc.pack(plane, Ppn(ppn), &mut self.store, &mut self.nand, observer);
                self.carry_out(plane, next);
            }
            WorkKind::MoveRead => self.carry_out(plane, Next::Work(WorkKind::MoveProgram, Ppn(ppn))),
            WorkKind::MoveProgram | WorkKind::CopyBack => {
                let from = Ppn(self.gc.runs[plane as usize].moving);
                let due = self.gc.switch_moved(from, Ppn(ppn), &mut self.store, &self.nand, observer);
                self.attend(due);
                self.carry_out(plane, Next::GoesOn);
            }
            WorkKind::Erase if self.hybrid.is_some() => {
                let mut merging = self.merging();
                merging.erased(plane, observer);
                let next = merging.erase_next(plane);
                self.carry_out(plane, next);
            }
            WorkKind::Erase => victim_erased(self, plane, observer),
            WorkKind::Read | WorkKind::Program | WorkKind::PageProgram => unreachable!("work of a plan"),
        }
    }

    // ---- failures ----

    /// Whether a failure undid what work of GC was to do, and if so does what is left to do. `ppn` is the page of the work.
    #[cold]
    fn is_cut_short(&mut self, plane: u32, work: WorkKind, ppn: Ppn) -> bool {
        let Gc { victim, moving, .. } = self.gc.runs[plane as usize];
        let programs = matches!(work, WorkKind::MoveProgram | WorkKind::CopyBack);
        let target = self.store.space.shape.block_of(ppn);
        if self.store.space.blocks.planes[plane as usize].dead {
            if programs {
                let due = self.store.space.settle(target);
                self.attend(due);
            }
            return true;
        }
        if work == WorkKind::MoveRead && self.store.memory.is_some() {
            let next = self.gc.read_in_vain(plane, ppn, &self.store);
            next.into_iter().for_each(|next| self.carry_out(plane, next));
            return next.is_some();
        }
        let source_lost = work != WorkKind::Erase && self.store.is_lost_page(Ppn(moving));
        if self.hybrid.is_some() {
            if !source_lost {
                return false;
            }
            if work != WorkKind::MoveRead {
                let due = self.store.space.settle(target);
                self.attend(due);
            }
            let next = self.merging().copy_again(plane);
            self.carry_out(plane, next);
            return true;
        }
        let block = self.store.space.blocks.index(plane, victim);
        let victim_lost = self.store.space.blocks.blocks[block].state == BlockState::Retired;
        let target_lost = programs && self.store.is_lost_page(ppn);
        let fails = (programs || work == WorkKind::Erase) && self.store.fails_now(work, ppn, &self.nand)
            || work == WorkKind::Erase && self.store.is_too_worn(ppn, &self.nand);
        if !(victim_lost || source_lost || target_lost || fails) {
            return false;
        }
        if programs {
            if fails {
                let due = self.store.doom(target, &mut self.nand);
                self.attend(due);
            }
            let due = self.store.space.settle(target);
            self.attend(due);
        }
        #[cfg(feature = "mutants")]
        if fails && work == WorkKind::Erase && accounting::makes(Slip::FailedEraseTwice) {
            self.nand.count_erase_again(plane, self.gc.cause(plane));
        }
        if victim_lost || work == WorkKind::Erase {
            self.carry_out(plane, Next::Retires);
        } else {
            // The page is moved again, if it is still there.
            self.gc.runs[plane as usize].cursor = moving - self.store.space.shape.first_ppn(block).0;
            self.carry_out(plane, Next::GoesOn);
        }
        true
    }

    // ---- questions and answers ----

    /// Takes the next question of GC. Questions about a page that was released before they were taken are not asked.
    pub fn take_gc_query(&mut self) -> Option<GcQuery> {
        loop {
            match self.gc.take_query(&mut self.store, self.hybrid.is_some())? {
                Taken::Asked(query) => return Some(query),
                Taken::Settled(plane) => self.committed(plane),
            }
        }
    }

    /// Starts the GC run of the plane's cheapest block, if any has a page that need not be moved. `commit_cost` says how many pages the commit
    /// of a semivalid page's stripe reads and programs; a block has no two pages of one stripe.
    pub fn choose_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
        let next = if self.hybrid.is_none() {
            self.gc.collect_cheapest(plane, commit_cost, &mut self.store, &mut self.nand)
        } else if self.gc.is_collecting(plane) || !self.gc.is_collectable() {
            Next::Waits
        } else {
            self.merging().merge_cheapest(plane, commit_cost)
        };
        self.carry_out(plane, next);
    }

    /// Answers GC about a semivalid page. After `CommitFirst`, which only schemes give that move no bases, it waits for `committed`.
    pub fn rule(&mut self, plane: u32, address: MemberPage, action: SemivalidAction) {
        debug_assert!(action != SemivalidAction::CommitFirst || !self.settings().moves_bases);
        if self.gc.runs[plane as usize].stage == GcStage::Committing {
            if action == SemivalidAction::Free {
                self.unmap(address, Version::Base);
            }
            if action == SemivalidAction::Move && self.hybrid.is_some() {
                self.merging().refuse(plane);
            }
            if action != SemivalidAction::CommitFirst {
                self.committed(plane);
            }
        } else if action == SemivalidAction::Free {
            self.unmap(address, Version::Base);
        } else {
            self.gc.runs[plane as usize].move_semivalid = true;
            self.carry_out(plane, Next::GoesOn);
        }
    }

    /// A commit that the plane's GC waits for (`SemivalidAction::CommitFirst`) has ended, or is not needed.
    pub fn committed(&mut self, plane: u32) {
        // A failure may have ended the GC run; another one, that began since, moves what it does not wait for.
        if self.gc.is_committing(plane) && self.gc.base_settled(plane) {
            let is_hybrid = self.hybrid.is_some();
            let next = if is_hybrid {
                self.merging().commit_or_go_on(plane)
            } else {
                self.gc.bases_settled(plane, &mut self.store, &mut self.nand)
            };
            self.carry_out(plane, next);
        }
    }
}

/// The victim of a plane's run is erased, in all lanes.
fn victim_erased<O: Observer>(flash: &mut Flash, plane: u32, observer: &mut O) {
    // What this run has blocked: where space is gained, another of the plane may begin, which blocks other LUNs, or none.
    let mut blocked = flash.gc.luns_blocked_by(plane, &flash.store.space, &flash.nand).peekable();
    flash.gc.erased(plane, &mut flash.store, &mut flash.nand, observer);
    flash.space_gained();
    flash.gc.report_end(plane, &mut flash.store.space);
    if blocked.peek().is_some() {
        blocked.for_each(|lun| flash.nand.set_blocked(lun, false));
        kick_plane(flash, plane);
    }
    flash.attend(Due::Collection(plane));
    if flash.store.has_failures() {
        flash.attend(Due::Draining(plane));
    }
    let next = flash.gc.level_wear(plane, &mut flash.store, &mut flash.nand);
    flash.carry_out(plane, next);
}

/// The erase of a block of a superblock has ended. The run ends with the last of them: if one has failed, the superblock is out of use; a lane that has died
/// meanwhile is passed over.
#[cold]
fn lane_erased<O: Observer>(flash: &mut Flash, plane: u32, ppn: Ppn, observer: &mut O) {
    if flash.store.space.blocks.planes[plane as usize].dead {
        return flash.nand.note_failed();
    }
    let is_dead = flash.store.space.is_in_dead_lane(ppn);
    let fails = !is_dead && (flash.store.fails_now(WorkKind::Erase, ppn, &flash.nand) || flash.store.is_too_worn(ppn, &flash.nand));
    if is_dead || fails {
        flash.nand.note_failed();
    } else {
        flash.store.space.lane_erased(ppn);
    }
    match flash.gc.lane_erased(plane, fails) {
        None => {}
        Some(true) => flash.carry_out(plane, Next::Retires),
        Some(false) => victim_erased(flash, plane, observer),
    }
}
