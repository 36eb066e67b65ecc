//! GC after failures: what it cannot move or erase, and blocks that are emptied to be retired.

use super::state::{Gc, GcStage};
use crate::space::blocks::{BlockState, NONE, WriteStream};
use crate::space::domain::Domain;
use crate::{Flash, GcQuery, MapEvent};
#[cfg(feature = "mutants")]
use flashraid_nand::accounting::{self, Slip};
use flashraid_nand::{NIL, Record, WorkKind, kick_plane};
use flashraid_vocabulary::{Ppn, Version};

impl Flash {
    /// Ends the GC run of a plane as it is, without the erase. LUNs that it blocked are not offered anything yet.
    pub(crate) fn cut_gc(&mut self, plane: u32) {
        let Gc { victim, stage, .. } = self.end_run(plane);
        if victim != NONE {
            self.load_of_plane(plane).gc_runs -= 1;
            if stage.blocks_luns() {
                self.mark_luns(plane, false);
            }
            self.space.change_space(&mut self.nand, plane, |blocks| blocks.planes[plane as usize].debt = false);
            if self.reports_moves() {
                self.gc.map_events.push(MapEvent::Ended { plane });
            }
            self.gc.queries.retain(|query| !matches!(query, GcQuery::Semivalid(of, _) if *of == plane));
        }
    }

    /// The GC run has ended early: whatever it kept waiting goes on.
    pub(super) fn gc_cut(&mut self, plane: u32) {
        self.collect_if_starved(plane);
        self.drain_doomed(plane);
        kick_plane(self, plane);
    }

    /// The victim is lost: the GC run ends when what it does has ended, or now if it waits.
    pub(crate) fn victim_lost(&mut self, plane: u32) {
        if matches!(self.gc.runs[plane as usize].stage, GcStage::Asking | GcStage::Committing | GcStage::Reads) {
            self.cut_gc(plane);
        }
    }

    /// A live page of a victim cannot be read: its version is lost for good.
    #[cold]
    pub(super) fn give_up(&mut self, ppn: Ppn) {
        let (version, slot) = self.maps.live(ppn).expect("a live page");
        self.maps.set(version, slot, self.faults.lost);
        let block = self.shape.block_of(ppn);
        self.space.blocks.blocks[block].live -= 1;
        self.space.blocks.blocks[block].bases -= u16::from(version == Version::Base && !self.settings.moves_bases);
        if self.reports_moves() && !self.settings.is_translation(self.address(slot).page) {
            self.gc.map_events.push(MapEvent::Moved { plane: self.shape.plane_of(ppn), version, slot });
        }
    }

    /// Whether a failure undid what work of GC was to do, and if so does what is left to do. `ppn` is the page of the work.
    #[cold]
    pub(super) fn is_cut_short(&mut self, plane: u32, work: WorkKind, ppn: Ppn) -> bool {
        let Gc { victim, moving, .. } = self.gc.runs[plane as usize];
        let programs = matches!(work, WorkKind::MoveProgram | WorkKind::CopyBack);
        if self.space.blocks.planes[plane as usize].dead {
            if programs {
                self.settle(self.shape.block_of(ppn));
            }
            return true;
        }
        if self.hybrid.is_some() {
            return self.is_merge_disturbed(plane, work, Ppn(ppn.0));
        }
        let block = self.space.blocks.index(plane, victim);
        let victim_lost = self.space.blocks.blocks[block].state == BlockState::Retired;
        let source_lost = work != WorkKind::Erase && self.is_lost_page(Ppn(moving));
        let target_lost = programs && self.is_lost_page(ppn);
        let fails = (programs || work == WorkKind::Erase) && self.fails_now(work, ppn) || work == WorkKind::Erase && self.is_too_worn(ppn);
        if !(victim_lost || source_lost || target_lost || fails) {
            return false;
        }
        if programs {
            let target = self.shape.block_of(ppn);
            if fails {
                self.doom(target);
            }
            self.settle(target);
        }
        #[cfg(feature = "mutants")]
        if fails && work == WorkKind::Erase && accounting::makes(Slip::FailedEraseTwice) {
            self.nand.count_erase_again(plane, self.gc_cause(plane));
        }
        if victim_lost || work == WorkKind::Erase {
            self.cut_gc(plane);
            self.retire_block(plane, victim);
            self.gc_cut(plane);
        } else {
            // The page is moved again, if it is still there.
            self.gc.runs[plane as usize].cursor = (moving - self.shape.first_ppn(block).0) as u16;
            self.continue_gc(plane);
        }
        true
    }

    /// Whether a failure undid what work of a merge was to do: if the page that it copies is lost now, the copy counts for nothing, and the merge gives
    /// the page up.
    #[cold]
    fn is_merge_disturbed(&mut self, plane: u32, work: WorkKind, ppn: Ppn) -> bool {
        if work == WorkKind::Erase || !self.is_lost_page(Ppn(self.gc.runs[plane as usize].moving)) {
            return false;
        }
        if work != WorkKind::MoveRead {
            self.settle(self.shape.block_of(ppn));
        }
        self.merge_mut(plane).offset -= 1;
        self.continue_merge(plane);
        true
    }

    /// The victim of a GC run that gives nothing back is empty.
    #[cold]
    pub(super) fn retire_victim(&mut self, plane: u32) {
        let victim = self.gc.runs[plane as usize].victim;
        self.cut_gc(plane);
        self.retire_block(plane, victim);
        self.gc_cut(plane);
    }

    /// A block that is retired in the end gives nothing back: what is taken for its pages is no loan, and leaves the reserve alone.
    #[cold]
    pub(super) fn take_scarce_move_page(&mut self, plane: u32) -> Option<(usize, u32)> {
        let retires = self.gc.runs[plane as usize].retires;
        let needed = if retires { self.settings.given.gc_reserve_blocks } else { 1 };
        if self.space.blocks.left(plane, WriteStream::Gc) == 0 && self.space.blocks.planes[plane as usize].free_blocks < needed {
            return None;
        }
        Some(self.space.change_space(&mut self.nand, plane, |blocks| {
            let debt = blocks.planes[plane as usize].debt;
            let taken = blocks.take(plane, WriteStream::Gc);
            if retires {
                blocks.planes[plane as usize].debt = debt;
            }
            taken
        }))
    }

    /// A move has no page to go to: the GC run ends, and its victim stays.
    #[cold]
    pub(crate) fn move_finds_no_page(&mut self, id: u32) {
        let Record { plane, lun, .. } = *self.nand.record(id);
        self.nand.remove_record(id);
        self.nand.refresh_want(lun);
        keep_victim(self, plane);
    }

    /// Moves what lives in a doomed block of the plane, to retire it, if there is space that nobody else needs.
    #[cold]
    pub(crate) fn drain_doomed(&mut self, plane: u32) {
        if self.is_collecting(plane) || self.untimed.is_on || !self.is_collectable() {
            return;
        }
        let state = &self.space.blocks.planes[plane as usize];
        let mut most = self.space.blocks.left(plane, WriteStream::Gc);
        let domain = self.space.domain_of_plane(plane);
        if domain != NIL && state.free_blocks >= self.settings.given.gc_reserve_blocks {
            let Domain { free_pages, reserved, .. } = self.space.domains[domain as usize];
            most += if free_pages - reserved >= i64::from(self.shape.pages_per_block) { self.shape.pages_per_block } else { 0 };
        }
        let fits = |number: &u16| {
            let block = &self.space.blocks.blocks[self.space.blocks.index(plane, *number)];
            block.pending == 0 && u32::from(block.live) <= most
        };
        let doomed = self.faults.doomed_of(plane).find(fits);
        if let Some(victim) = doomed {
            let block = self.space.blocks.index(plane, victim);
            self.space.blocks.blocks[block].state = BlockState::Victim;
            self.begin_gc(plane, Gc { victim, retires: true, ..Gc::IDLE });
        }
    }
}

/// The GC run of the plane ends, and its victim stays.
#[cold]
pub(crate) fn keep_victim(ssd: &mut Flash, plane: u32) {
    let Gc { victim, retires, .. } = ssd.gc.runs[plane as usize];
    ssd.cut_gc(plane);
    if victim == NONE {
        return;
    }
    let block = ssd.space.blocks.index(plane, victim);
    match ssd.space.blocks.blocks[block].state {
        BlockState::Victim if retires => ssd.space.blocks.blocks[block].state = BlockState::Doomed,
        BlockState::Victim => {
            ssd.space.blocks.blocks[block].state = BlockState::Closed;
            ssd.list_victim(block);
        }
        _ => {}
    }
    // While it ran, others may have become due.
    ssd.collect_if_starved(plane);
}
