//! GC that keeps pace with the host (SPEC 8.4): `gc_pace = debt`.
//!
//! Of a victim with v pages to move and f = B - v that it frees, each program of a page into its plane makes the run owe v / f moves: when all are made, as many
//! pages were programmed as the erase gives back. What is owed is kept in parts of 1 / f, in whole numbers. A run that owes nothing rests, unless somebody
//! needs the block that it frees; it goes on when it owes a whole flash page.

use super::state::{Collection, Gc, GcStage, Next};
use crate::Flash;
use crate::space::Space;
use flashraid_vocabulary::GcPace;

impl Collection {
    /// A page, or a flash page with all its pages, is programmed in the plane, which is being collected.
    #[inline]
    pub(super) fn owe(&mut self, plane: u32, space: &Space) -> Next {
        if space.settings.given.gc_pace == GcPace::Block {
            return Next::Waits;
        }
        let run = &mut self.runs[plane as usize];
        run.owed += i64::from(space.settings.units_per_page) * i64::from(run.to_move);
        self.go_on_if_needed(plane, space)
    }

    /// The run moves so many pages now.
    #[inline]
    pub(super) fn note_moves(&mut self, plane: u32, moves: u32, space: &Space) {
        let run = &mut self.runs[plane as usize];
        run.owed -= i64::from(moves) * freed(run, space);
    }

    /// Whether the run rests, before it moves anything else.
    #[inline]
    pub(super) fn rests(&mut self, plane: u32, space: &Space) -> bool {
        let rests = space.settings.given.gc_pace == GcPace::Debt && self.runs[plane as usize].owed <= 0 && self.may_rest(plane, space);
        if rests {
            self.runs[plane as usize].stage = GcStage::Resting;
        }
        rests
    }

    /// Lets the run go on if it rests and owes a flash page, or may rest no longer.
    pub(super) fn go_on_if_needed(&mut self, plane: u32, space: &Space) -> Next {
        let run = &self.runs[plane as usize];
        if run.stage != GcStage::Resting {
            return Next::Waits;
        }
        let owes_a_page = run.owed >= i64::from(space.settings.units_per_page) * freed(run, space);
        if !owes_a_page && self.may_rest(plane, space) {
            return Next::Waits;
        }
        self.runs[plane as usize].stage = GcStage::Moving;
        Next::GoesOn
    }

    /// Whether the run may rest: host programs set its pace, and find pages meanwhile.
    fn may_rest(&self, plane: u32, space: &Space) -> bool {
        let Gc { wear, retires, .. } = self.runs[plane as usize];
        let is_for_host = !wear && !retires && space.is_low(plane);
        is_for_host && self.is_collectable() && !space.is_starved(plane) && space.blocks.host_pages(plane) > 0 && !space.is_short(plane)
    }

    /// The planes whose runs rest: looks at all planes.
    pub(crate) fn resting(&self) -> Vec<u32> {
        (0..).zip(&self.runs).filter(|(_, run)| run.stage == GcStage::Resting).map(|(plane, _)| plane).collect()
    }
}

/// Pages that the erase of its victim frees.
fn freed(run: &Gc, space: &Space) -> i64 {
    i64::from(space.shape.pages_per_block) - i64::from(run.to_move)
}

/// Somebody finds no page to reserve in the domain.
#[cold]
pub(crate) fn find_short(flash: &mut Flash, domain: u32) {
    let is_short = &mut flash.store.space.domains[domain as usize].is_short;
    if !std::mem::replace(is_short, true) {
        press(flash, domain);
    }
}

/// Lets runs go on in planes of the domain, in which somebody waits for pages.
#[cold]
pub(crate) fn press(flash: &mut Flash, domain: u32) {
    for plane in flash.gc.resting() {
        if flash.store.space.domain_of_plane(plane) == domain {
            let next = flash.gc.go_on_if_needed(plane, &flash.store.space);
            flash.carry_out(plane, next);
        }
    }
}
