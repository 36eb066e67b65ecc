//! What becomes of flash pages in the memory that cannot be programmed where they are.

use super::padding::pad_all;
use super::pages::{forget_open_page_in, leave_memory, memory_of, memory_of_mut, take_padding, take_page, wait};
use super::programs::accept_waiting;
use super::state::Held;
use crate::faults::loss::is_lost_place;
use crate::space::blocks::WriteStream;
use crate::{Flash, MapEvent};
use flashraid_nand::{WorkKind, packed};
use flashraid_vocabulary::{Action, Observer, Ppn};
use std::ops::Range;

/// Flash pages of these blocks cannot be programmed there: the open ones if the blocks take no more programs, all of them if they are lost.
pub(crate) fn lose_places(ssd: &mut Flash, blocks: Range<usize>, are_lost: bool) {
    let Some(memory) = &mut ssd.memory else { return };
    let first_of = |held: &Held| Ppn(held.page * memory.units);
    let is_concerned =
        |held: &&Held| blocks.contains(&ssd.shape.block_of(first_of(held))) && !held.is_gone && (are_lost || !held.is_queued);
    let concerned: Vec<Held> = memory.held.iter().filter(is_concerned).copied().collect();
    let open = concerned.iter().find(|held| !held.is_queued && !held.is_of_gc); // a domain has one, and a plane one domain
    let closed = open.map(|held| ssd.shape.plane_of(first_of(held)));
    for held in &concerned {
        memory.held.get_mut(held.page).expect("it was just there").must_move = true;
        memory.has_to_move = true;
    }
    if let Some(plane) = closed {
        forget_open_page_in(ssd, plane);
    }
    wait(ssd);
}

/// A flash page is lost where it is to be programmed. One that is open is closed: what is left of it is padding.
pub(crate) fn lose_place(ssd: &mut Flash, ppn: Ppn) {
    let Some(memory) = &mut ssd.memory else { return };
    let Some(held) = memory.held.get_mut(ppn.0 / memory.units).filter(|held| !held.is_gone) else { return };
    held.must_move = true;
    memory.has_to_move = true;
    let Held { is_of_gc, is_queued, .. } = *held;
    if !is_queued {
        let stream = if is_of_gc { WriteStream::Gc } else { WriteStream::Host };
        let plane = ssd.shape.plane_of(ppn);
        let units = memory_of(ssd).units;
        while !ssd.space.blocks.next_offset(plane, stream).is_multiple_of(units) {
            take_padding(ssd, plane, stream);
        }
        if !is_of_gc {
            forget_open_page_in(ssd, plane);
        }
    }
    wait(ssd);
}

/// Whether the program of a flash page that ends now has failed.
#[cold]
pub(super) fn has_failed_program(ssd: &mut Flash, first: Ppn) -> bool {
    let fails = ssd.fails_now(WorkKind::PageProgram, first);
    if fails {
        ssd.doom(ssd.shape.block_of(first));
    }
    let has_failed = fails || is_lost_place(ssd, first);
    if has_failed {
        ssd.nand.note_failed();
    }
    has_failed
}

/// What is needed of flash pages that cannot be programmed where they are is accepted anew, elsewhere in its domain. What finds no page stays in the memory
/// until there is one, before others reserve it. If nothing of its domain lives, it is lost with its place.
#[cold]
pub(super) fn rescue_all<O: Observer>(ssd: &mut Flash, observer: &mut O) {
    memory_of_mut(ssd).has_to_move = false;
    let waited: Vec<u32> = (0..ssd.space.domains.len() as u32).filter(|domain| ssd.space.domains[*domain as usize].to_rescue > 0).collect();
    ssd.space.domains.iter_mut().for_each(|domain| domain.to_rescue = 0);
    for page in memory_of(ssd).to_move() {
        rescue(ssd, page, observer);
        let plane = ssd.shape.plane_of(Ppn(page * memory_of(ssd).units));
        if ssd.reports_moves() && !ssd.is_collecting(plane) {
            ssd.gc.map_events.push(MapEvent::Ended { plane });
        }
    }
    ssd.space.freed.extend(waited);
    if !memory_of(ssd).barriers.is_empty() {
        pad_all(ssd);
        memory_of_mut(ssd).renew_barriers();
    }
    accept_waiting(ssd);
}

/// The same of one flash page.
fn rescue<O: Observer>(ssd: &mut Flash, page: u32, observer: &mut O) {
    let units = memory_of(ssd).units;
    let Held { cause, priority, .. } = *memory_of(ssd).held.get(page).expect("it is in the memory");
    let mut waits = false;
    for from in (page * units..(page + 1) * units).map(Ppn) {
        let Some((version, slot)) = ssd.maps.live(from) else { continue };
        let domain_id = ssd.space.domain_of(ssd.address(slot), version);
        if !ssd.space.domain_is_alive(domain_id) {
            continue;
        }
        let domain = &mut ssd.space.domains[domain_id as usize];
        if domain.free_pages <= domain.reserved + domain.owed {
            domain.to_rescue += 1;
            waits = true;
            continue;
        }
        let (plane, to) = take_page(ssd, domain_id, cause, priority);
        packed::count_unit(&mut ssd.nand, plane, Action::Program, cause);
        ssd.switch_moved(from, to, observer);
    }
    if !waits {
        leave_place(ssd, page);
    }
}

/// Nothing is needed any more of a flash page that cannot be programmed, or it is given up.
fn leave_place(ssd: &mut Flash, page: u32) {
    let units = memory_of(ssd).units;
    // Programs that have ended and not been committed must find that theirs is not there.
    ssd.faults.unreadable.extend(page * units..(page + 1) * units);
    let held = memory_of_mut(ssd).held.get_mut(page).expect("it is in the memory");
    (held.is_gone, held.must_move) = (true, false);
    if !held.is_queued {
        leave_memory(ssd, Ppn(page * units));
    }
}

/// Nothing is in flight, and no space will be gained: what waits for some is lost with its place. Returns whether there was anything.
#[cold]
pub(crate) fn give_up(ssd: &mut Flash) -> bool {
    if !has_to_rescue(ssd) {
        return false;
    }
    ssd.space.domains.iter_mut().for_each(|domain| domain.to_rescue = 0);
    memory_of(ssd).to_move().into_iter().for_each(|page| leave_place(ssd, page));
    true
}

/// Whether a flash page in it waits for space elsewhere.
pub(crate) fn has_to_rescue(ssd: &Flash) -> bool {
    ssd.space.domains.iter().any(|domain| domain.to_rescue > 0)
}
