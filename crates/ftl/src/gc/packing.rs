//! GC where a flash page has several pages of the map (SPEC 8.1 (i)): it reads each flash page once, and packs what is live of it into others.

use super::failures::keep_victim;
use super::state::{Gc, GcStage};
use crate::memory::{secure_moved, take_page_of_gc, wait_for_moves};
use crate::space::blocks::BlockState;
use crate::{Flash, FlashFault, GcQuery};
use flashraid_nand::{packed, queue_read_of_gc};
use flashraid_vocabulary::{Action, Observer, Ppn, Transfer, Version};

/// The run goes on: it reads the next flash page as soon as the cursor has passed all of its pages, or erases the victim when nothing of it is live.
pub(super) fn go_on(ssd: &mut Flash, plane: u32) {
    let Gc { victim, mut cursor, mut move_semivalid, .. } = ssd.gc.runs[plane as usize];
    let (block, units) = (ssd.space.blocks.index(plane, victim), ssd.settings.units_per_page);
    let first = ssd.shape.first_ppn(block).0;
    while ssd.space.blocks.blocks[block].live > 0 {
        let ppn = first + u32::from(cursor);
        match ssd.maps.live(Ppn(ppn)) {
            Some(_) if ssd.has_failures() && ssd.is_lost_page(Ppn(ppn)) => {
                ssd.give_up(Ppn(ppn));
                continue;
            }
            Some((Version::Base, slot)) if ssd.settings.moves_bases && !move_semivalid => {
                let state = &mut ssd.gc.runs[plane as usize];
                (state.cursor, state.stage) = (cursor, GcStage::Asking);
                ssd.gc.queries.push(GcQuery::Semivalid(plane, ssd.address(slot)));
                return;
            }
            _ => (cursor, move_semivalid) = (cursor + 1, false),
        }
        if (u32::from(cursor)).is_multiple_of(units) {
            let page = first + u32::from(cursor) - units;
            let live = (page..page + units).filter(|ppn| ssd.maps.live(Ppn(*ppn)).is_some()).count() as u32;
            if live > 0 {
                let state = &mut ssd.gc.runs[plane as usize];
                (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor, GcStage::Moving, page, false);
                let (cause, priority) = (ssd.gc_cause(plane), ssd.gc_priority(plane));
                let whole = ssd.settings.given.transfer == Transfer::Page;
                let bytes = if whole { units } else { live } * ssd.settings.geometry.page_bytes;
                (0..live).for_each(|_| packed::count_unit(&mut ssd.nand, plane, Action::Read, cause));
                queue_read_of_gc(ssd, plane, Ppn(page), bytes, cause, priority);
                return;
            }
        }
    }
    moved_all(ssd, plane, block);
}

/// GC has read a flash page: what is live of it goes into the open flash page of the plane's GC stream.
pub(super) fn pack<O: Observer>(ssd: &mut Flash, plane: u32, page: Ppn, observer: &mut O) {
    let mut full = None;
    for from in (page.0..page.0 + ssd.settings.units_per_page).map(Ppn) {
        if ssd.maps.live(from).is_none() {
            continue;
        }
        if ssd.has_failures() && ssd.is_lost_page(from) {
            ssd.give_up(from);
            continue;
        }
        let Some((to, is_full)) = take_page_of_gc(ssd, plane) else { return keep_victim(ssd, plane) };
        let cause = ssd.gc_cause(plane);
        packed::count_unit(&mut ssd.nand, plane, Action::Program, cause);
        ssd.switch_moved(from, to, observer);
        full = if is_full { Some(to) } else { full };
    }
    match full {
        Some(page) => wait_for_moves(ssd, plane, page),
        None => ssd.continue_gc(plane),
    }
}

/// The flash page is programmed for which the GC run of a plane has waited.
pub(crate) fn moves_are_programmed(ssd: &mut Flash, plane: u32) {
    let victim = ssd.space.blocks.index(plane, ssd.gc.runs[plane as usize].victim);
    ssd.gc.runs[plane as usize].stage = GcStage::Moving;
    if ssd.space.blocks.blocks[victim].state == BlockState::Retired {
        ssd.cut_gc(plane);
        return ssd.gc_cut(plane);
    }
    ssd.continue_gc(plane);
}

/// Nothing of the victim is live any more.
pub(super) fn moved_all(ssd: &mut Flash, plane: u32, block: usize) {
    let first = ssd.shape.first_ppn(block).0;
    if ssd.memory.is_some() && secure_moved(ssd, plane) {
        return;
    }
    if ssd.space.blocks.blocks[block].reads > 0 && !ssd.nand.makes(FlashFault::EraseUnderRead) {
        ssd.gc.runs[plane as usize].stage = GcStage::Reads;
        // The reads that we wait for may be queued at a LUN that we block.
        ssd.block_luns(plane, false);
    } else {
        ssd.erase_victim(plane, first);
    }
}
