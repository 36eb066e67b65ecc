//! GC that keeps pace with the host (SPEC 8.4): `gc_pace = debt`.
//!
//! Of a victim with v pages to move and f = B - v that it frees, each program of a page into its plane, while that is collected for the host, makes the run owe
//! v / f moves: when all are made, as many pages were programmed as the erase gives back. What is owed is kept in parts of 1 / f, in whole numbers. A run that owes nothing rests, unless somebody
//! needs the block that it frees; it goes on when it owes a whole program unit.

use super::run::load_of_plane;
use super::state::{Collection, Gc, GcStage, Next};
use crate::Flash;
use crate::memory::Memory;
use crate::space::Space;
use crate::space::blocks::NONE;
use crate::space::changes::Due;
use flashraid_nand::Nand;
use flashraid_vocabulary::{GcPace, NIL};

/// Program units of a lane that programs may be ahead of GC.
const UNITS_AHEAD: u32 = 2;

impl Collection {
    /// A page, or a program unit with all its pages, is programmed in the plane, which is being collected, or filled (`owes_when_filled`).
    #[inline]
    pub(super) fn owe(&mut self, plane: u32, space: &Space, nand: &mut Nand) -> Next {
        let run = &mut self.runs[plane as usize];
        if !run.may_rest || !space.is_collected_for_host(plane) {
            return Next::Waits;
        }
        run.owed += i64::from(space.settings.units_per_program()) * i64::from(run.to_move);
        self.go_on_if_needed(plane, space, nand)
    }

    /// The run moves so many pages now.
    #[inline]
    pub(super) fn note_moves(&mut self, plane: u32, moves: u32, space: &Space) {
        let run = &mut self.runs[plane as usize];
        run.owed -= i64::from(moves) * freed(plane, run, space);
    }

    /// Whether the run rests, before it moves anything else. Then its SSD has one less that keeps it from being idle.
    #[inline]
    pub(super) fn rests(&mut self, plane: u32, space: &Space, nand: &mut Nand) -> bool {
        let rests = self.runs[plane as usize].owed <= 0 && self.may_rest(plane, space);
        if rests {
            self.runs[plane as usize].stage = GcStage::Resting;
            load_of_plane(plane, nand).gc_runs -= 1;
            if space.has_cache() {
                self.wait_for_idle(&space.settings, nand);
            }
        }
        rests
    }

    /// Lets the run go on if it rests and owes a program unit, or may rest no longer.
    pub(super) fn go_on_if_needed(&mut self, plane: u32, space: &Space, nand: &mut Nand) -> Next {
        let run = &self.runs[plane as usize];
        if run.stage != GcStage::Resting {
            return Next::Waits;
        }
        let owes_a_program = run.owed >= i64::from(space.settings.units_per_program()) * freed(plane, run, space);
        if !owes_a_program && self.may_rest(plane, space) {
            return Next::Waits;
        }
        self.go_on(plane, nand)
    }

    /// Whether programs into the domain wait, though the memory has room: for GC that is behind, or for room in the SLC cache.
    #[inline]
    pub(crate) fn must_wait(&self, domain: u32, space: &Space, memory: &Memory) -> bool {
        let goes_on = |plane| memory.has_slc_programs(plane) || self.is_folding(plane, space);
        self.is_behind(domain, space) || space.waits_for_slc(domain, goes_on)
    }

    /// Whether programs into the domain wait until GC has moved more: two program units of each lane of its superblock are filled for which nothing was moved yet
    /// (SPEC 8.12). In stages that may need other operations nobody waits.
    fn is_behind(&self, domain: u32, space: &Space) -> bool {
        if space.shape.lanes == 1 || space.settings.given.gc_pace != GcPace::Debt {
            return false;
        }
        let plane = space.domains[domain as usize].plane;
        if plane == NIL {
            return false;
        }
        let run = &self.runs[plane as usize];
        let ahead = i64::from(UNITS_AHEAD * space.shape.lanes * space.settings.units_per_program());
        let waits_for_nand = matches!(run.stage, GcStage::Moving | GcStage::Programming | GcStage::Erasing);
        run.victim != NONE && waits_for_nand && run.owed > ahead * i64::from(run.to_move)
    }

    /// A run that rests goes on.
    pub(super) fn go_on(&mut self, plane: u32, nand: &mut Nand) -> Next {
        self.runs[plane as usize].stage = GcStage::Moving;
        load_of_plane(plane, nand).gc_runs += 1;
        Next::GoesOn
    }

    /// Whether the run may rest: host programs set its pace, and find pages meanwhile. (Where lanes have died, a victim can have more pages to move than its block has
    /// now: then nothing is a pace.)
    fn may_rest(&self, plane: u32, space: &Space) -> bool {
        let run = &self.runs[plane as usize];
        let is_for_host = run.may_rest && space.is_collected_for_host(plane) && freed(plane, run, space) > 0;
        is_for_host && !space.is_starved(plane) && space.blocks.has_host_pages(plane) && !space.is_short(plane)
    }

    /// The planes whose runs rest: looks at all planes.
    fn resting(&self) -> Vec<u32> {
        (0..).zip(&self.runs).filter(|(_, run)| run.stage == GcStage::Resting).map(|(plane, _)| plane).collect()
    }
}

/// Pages that the erase of its victim frees.
fn freed(plane: u32, run: &Gc, space: &Space) -> i64 {
    i64::from(space.block_pages(plane)) - i64::from(run.to_move)
}

/// Somebody finds no page to reserve in the domain.
#[cold]
pub(crate) fn find_short(flash: &mut Flash, domain: u32) {
    let is_short = &mut flash.store.space.domains[domain as usize].is_short;
    if !std::mem::replace(is_short, true) {
        press(flash, domain);
    }
}

/// Padding in no simulated time may have been all that is garbage in planes where host programs get no new block, and nobody has begun to collect them.
fn collect_padded(flash: &mut Flash, domain: u32) {
    if flash.store.memory.is_some() {
        for plane in 0..flash.store.space.planes() {
            if flash.store.space.domain_of_plane(plane) == domain {
                flash.attend(Due::Collection(plane));
            }
        }
    }
}

/// No programs will come that would make runs go on which rest: all go on to their ends.
pub fn finish_gc(flash: &mut Flash) {
    flash.gc.runs.iter_mut().for_each(|run| run.may_rest = false);
    let_go_on(flash, |_| true);
}

/// An operation, padding or what a failure drove out waits for pages of the domain: lets runs go on that rest there, and begins those that nobody has begun.
#[cold]
pub(crate) fn press(flash: &mut Flash, domain: u32) {
    let_go_on(flash, |of| of == domain);
    collect_padded(flash, domain);
}

/// Lets runs go on that rest in planes of such domains, if they may rest no longer.
fn let_go_on(flash: &mut Flash, is_meant: impl Fn(u32) -> bool) {
    for plane in flash.gc.resting() {
        if is_meant(flash.store.space.domain_of_plane(plane)) {
            let next = flash.gc.go_on_if_needed(plane, &flash.store.space, &mut flash.nand);
            flash.carry_out(plane, next);
        }
    }
}
