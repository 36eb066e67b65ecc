//! When flash pages are programmed that are not full: for a flush, before an erase of GC, after some time, and as the drive is switched off.

use super::pages::{close, close_open_page, fill, memory_of, memory_of_mut, open_page, owes_padding, take_padding, wait_to_pad};
use super::state::Barrier;
use crate::Flash;
use crate::gc::state::GcStage;
use crate::space::blocks::WriteStream;
use flashraid_nand::NIL;
use flashraid_vocabulary::Ppn;

/// Pages of padding so far.
pub fn padded(ssd: &Flash) -> u64 {
    ssd.memory.as_ref().map_or(0, |memory| memory.padded)
}

/// All open flash pages of programs are padded.
pub(super) fn pad_all(ssd: &mut Flash) {
    (0..memory_of(ssd).open.len() as u32).for_each(|domain| pad(ssd, domain));
}

/// What is left of the domain's open flash page becomes padding, as soon as that many pages are not reserved: nobody else reserves one before.
pub(super) fn pad(ssd: &mut Flash, domain: u32) {
    let plane = memory_of(ssd).open[domain as usize];
    if plane == NIL {
        return;
    }
    let units = memory_of(ssd).units;
    let left = units - ssd.space.blocks.next_offset(plane, WriteStream::Host) % units;
    let entry = &ssd.space.domains[domain as usize];
    if entry.free_pages - entry.reserved < i64::from(left) {
        return owes_padding(ssd, domain, left);
    }
    let last = (0..left).map(|_| take_padding(ssd, plane, WriteStream::Host)).last().expect("it is open");
    close_open_page(ssd, domain, last);
}

/// The oldest open flash page is due to be padded, if it is still open.
pub(crate) fn padding_due(ssd: &mut Flash) {
    let (_, domain, number) = memory_of_mut(ssd).deadlines.pop_front().expect("the event has one");
    if open_page(ssd, domain) == Some(number) {
        pad(ssd, domain);
    }
    wait_to_pad(ssd);
}

/// A flush has come: whether it waits until what is in the memory is programmed. Its owner is told.
pub fn flush(ssd: &mut Flash, owner: u32) -> bool {
    let Some(memory) = &ssd.memory else { return false };
    if memory.settings.survives_power_loss || memory.held_of_plans == 0 {
        return false;
    }
    pad_all(ssd);
    let memory = memory_of_mut(ssd);
    let left = memory.held_of_plans - memory.barriers.iter().map(|barrier| barrier.left).sum::<u32>();
    memory.barriers.push_back(Barrier { owner, before: memory.opened, left });
    true
}

/// Takes a flush that need wait no longer.
pub fn take_flushed(ssd: &mut Flash) -> Option<u32> {
    ssd.memory.as_mut()?.flushed.pop()
}

/// Whether `take_flushed` has something.
#[inline]
pub(crate) fn has_flushed(ssd: &Flash) -> bool {
    ssd.memory.as_ref().is_some_and(|memory| !memory.flushed.is_empty())
}

/// The drive is switched off: all open flash pages are padded, and programmed in no simulated time.
pub fn empty(ssd: &mut Flash) {
    if ssd.memory.is_none() {
        return;
    }
    debug_assert!(!ssd.is_at_work());
    ssd.untimed.is_on = true;
    pad_all(ssd);
    (0..ssd.space.planes()).for_each(|plane| _ = pad_gc(ssd, plane));
    ssd.untimed.is_on = false;
    memory_of_mut(ssd).deadlines.clear();
    wait_to_pad(ssd);
}

/// Takes the next page of the plane's GC stream, for what GC moves. Returns it, and whether its flash page is full, and waits to be programmed.
pub(crate) fn take_page_of_gc(ssd: &mut Flash, plane: u32) -> Option<(Ppn, bool)> {
    let ppn = ssd.take_move_page(plane)?;
    ssd.note_program(ppn);
    let (cause, priority) = (ssd.gc_cause(plane), ssd.gc_priority(plane));
    let is_full = fill(ssd, ppn, cause, priority, true) + 1 == memory_of(ssd).units;
    if is_full {
        close(ssd, ppn);
    }
    Some((ppn, is_full))
}

/// The GC run of the plane waits for the program of this flash page.
pub(crate) fn wait_for_moves(ssd: &mut Flash, plane: u32, page: Ppn) {
    let first = page.0 - page.0 % memory_of(ssd).units;
    (ssd.gc.runs[plane as usize].stage, ssd.gc.runs[plane as usize].moving) = (GcStage::Programming, first);
}

/// Before a victim is erased: if the memory does not survive a loss of power, what is left of the plane's open flash page of GC becomes padding. Returns
/// whether the run waits for its program.
pub(crate) fn secure_moved(ssd: &mut Flash, plane: u32) -> bool {
    if memory_of(ssd).settings.survives_power_loss {
        return false;
    }
    let Some(last) = pad_gc(ssd, plane) else { return false };
    wait_for_moves(ssd, plane, last);
    true
}

/// What is left of the plane's open flash page of GC becomes padding. Returns its last page, if there was one.
fn pad_gc(ssd: &mut Flash, plane: u32) -> Option<Ppn> {
    let units = memory_of(ssd).units;
    let taken = ssd.space.blocks.next_offset(plane, WriteStream::Gc) % units;
    if taken == 0 {
        return None;
    }
    let last = (taken..units).map(|_| take_padding(ssd, plane, WriteStream::Gc)).last();
    last.inspect(|last| close(ssd, *last))
}
