//! What happens to the memory: flash pages are programmed, time passes, space is gained.

use super::failures::{has_failed_program, rescue_all};
use super::padding::pad;
use super::pages::{leave_memory, memory_of, memory_of_mut, wait};
use super::programs::accept_waiting;
use super::state::Held;
use crate::Flash;
use crate::gc::packing::moves_are_programmed;
use crate::gc::state::{Gc, GcStage};
use crate::space::blocks::{Block, BlockState};
use flashraid_nand::{Record, WorkKind, packed};
use flashraid_vocabulary::{Observer, Ppn};

/// The program of a flash page has ended.
pub(crate) fn programmed<O: Observer>(ssd: &mut Flash, first: Ppn, observer: &mut O) {
    let page = first.0 / memory_of(ssd).units;
    let failed = ssd.has_failures() && has_failed_program(ssd, first);
    let held = memory_of_mut(ssd).held.get_mut(page).expect("it is in the memory");
    held.is_queued = false;
    held.must_move |= failed && !held.is_gone;
    let Held { is_of_gc, must_move, .. } = *held;
    if must_move {
        rescue_all(ssd, observer);
    } else {
        leave_memory(ssd, first);
    }
    let plane = ssd.shape.plane_of(first);
    let Gc { stage, moving, .. } = ssd.gc.runs[plane as usize];
    if is_of_gc && stage == GcStage::Programming && moving == first.0 {
        moves_are_programmed(ssd, plane);
    }
    accept_waiting(ssd);
}

/// Space was gained: pads what was to be padded before, and accepts what waits.
pub(crate) fn space_gained(ssd: &mut Flash) {
    for domain in 0..ssd.space.domains.len() as u32 {
        if ssd.space.domains[domain as usize].owed > 0 {
            pad(ssd, domain);
        }
        let waits = ssd.space.domains[domain as usize].to_rescue > 0;
        memory_of_mut(ssd).has_to_move |= waits;
    }
    wait(ssd);
    accept_waiting(ssd);
}

/// Programs were accepted, reads have ended, or places were lost.
pub(crate) fn served<O: Observer>(ssd: &mut Flash, observer: &mut O) {
    if memory_of(ssd).has_to_move {
        rescue_all(ssd, observer);
    }
    let now_ns = ssd.nand.now_ns();
    while let Some(id) = memory_of_mut(ssd).take_ended(now_ns) {
        let Record { work, ppn, cause, .. } = *ssd.nand.record(id);
        ssd.dismiss(cause);
        if work == WorkKind::Read {
            ssd.read_ended(Ppn(ppn));
        }
        // The page has been programmed meanwhile, or could not be moved, and its place is lost.
        let failed = ssd.is_lost_page(Ppn(ppn));
        packed::complete_in_memory(&mut ssd.nand, id, failed);
    }
    wait(ssd);
}

/// What must hold of the memory.
pub(crate) fn check(ssd: &Flash) -> Result<(), String> {
    let Some(memory) = &ssd.memory else { return Ok(()) };
    let of_plans = memory.held.iter().filter(|held| !held.is_of_gc).count() as u32;
    for held in memory.held.iter() {
        let first = held.page * memory.units;
        let block = ssd.shape.block_of(Ppn(first));
        let Block { written, pending, state, .. } = ssd.space.blocks.blocks[block];
        let taken = (u32::from(written) + ssd.shape.first_ppn(block).0).saturating_sub(first).min(memory.units);
        if state != BlockState::Retired && (taken != held.taken || pending == 0) {
            return Err(format!("a flash page is held, of which {taken} pages are taken, {pending} pending in its block: {held:?}"));
        }
    }
    let taken: u32 = memory.held.iter().filter(|held| !held.is_of_gc).map(|held| held.taken).sum();
    let room = memory.room + i64::from(taken);
    if of_plans != memory.held_of_plans || room != i64::from(memory.settings.pages) {
        return Err(format!("{of_plans} flash pages with {taken} pages are held, counted {}: {memory:?}", memory.held_of_plans));
    }
    Ok(())
}
