//! NAND below a layer that fills program units of several pages of the map, and has each programmed as one.

use crate::counts::action_index;
use crate::{Completion, Counts, Nand, Progress, Record, WorkKind, slc};
use flashraid_vocabulary::{Action, Cause, MemberId, Ppn, Priority};

// ---- work ----

/// Queues the program of a program unit that is filled from this page on: as work of GC, or behind what waits in its class.
pub fn queue_page_program(nand: &mut Nand, plane: u32, first: Ppn, cause: Cause, priority: Priority, is_of_gc: bool) {
    let program = Record::of_no_plan(nand, plane, WorkKind::PageProgram, first, cause, priority);
    let id = nand.records.put(Record { bytes: slc::pages_per_program(nand, first.0) * program.bytes, ..program });
    let idle = if is_of_gc { enqueue_of_gc(nand, id) } else { nand.enqueue::<false>(id) };
    serve_idle(nand, idle);
}

/// Queues GC's read of a flash page, of which it transfers so many bytes.
pub fn queue_read_of_gc(nand: &mut Nand, plane: u32, first: Ppn, bytes: u32, cause: Cause, priority: Priority) {
    let id = nand.records.put(Record { bytes, ..Record::of_no_plan(nand, plane, WorkKind::MoveRead, first, cause, priority) });
    let idle = nand.enqueue::<false>(id);
    serve_idle(nand, idle);
}

/// Queues work of GC. What it programs and erases in the class of the host, as it owes that (SPEC 8.4), goes before programs that wait.
pub(crate) fn enqueue_of_gc(nand: &mut Nand, id: u32) -> Option<u32> {
    let Record { work, priority, .. } = nand.records[id];
    let goes_first = priority == Priority::Host && !work.reads() && !nand.settings.fifo;
    if goes_first { nand.enqueue::<true>(id) } else { nand.enqueue::<false>(id) }
}

/// Something was queued at an idle LUN of this channel. Its bus is served later in this instant, as what else comes may be of the same flash page.
fn serve_idle(nand: &mut Nand, channel: Option<u32>) {
    debug_assert!(nand.settings.packs());
    if let Some(channel) = channel {
        nand.wait_for_bus(channel);
    }
}

/// A page operation of a plan has ended that no LUN has served.
#[inline]
pub fn complete_in_memory(nand: &mut Nand, id: u32, failed: bool) {
    nand.loads[MemberId(nand.records[id].member.into())].in_service -= 1;
    nand.completions.push(Completion { record: id, progress: if failed { Progress::Failed } else { Progress::Ended } });
}

// ---- counts ----

/// A page of the map is programmed, or read by GC, in a flash page with others.
pub fn count_unit(nand: &mut Nand, lun: u32, action: Action, cause: Cause) {
    nand.count(lun, action_index(action), cause);
}

/// A LUN starts this action on so many flash pages, or erases a block: beside `Nand::count`.
#[inline]
pub(crate) fn count_flash_pages(nand: &mut Nand, lun: u32, action: usize, cause: Cause, pages: u32) {
    if nand.settings.packs() {
        nand.luns[lun as usize].flash_operations[action][cause as usize] += u64::from(pages);
        nand.flash_counts[action][cause as usize] += u64::from(pages);
    }
}

/// What was done with flash pages, by action and cause.
pub fn flash_counts(nand: &Nand) -> &Counts {
    if nand.settings.packs() { &nand.flash_counts } else { &nand.counts }
}

/// What a LUN has done with flash pages, by action and cause.
pub fn flash_operations(nand: &Nand, lun: u32) -> &Counts {
    let lun = &nand.luns[lun as usize];
    if nand.settings.packs() { &lun.flash_operations } else { &lun.operations }
}

// ---- time ----

/// Position among the events of the memory of the layer above: behind the timer.
fn memory(nand: &Nand) -> usize {
    nand.timer() + usize::from(nand.settings.has_timer)
}

/// Position of the decoder among the events: the last.
pub(crate) fn decoder(nand: &Nand) -> usize {
    memory(nand) + 2 * usize::from(nand.settings.packs())
}

/// The memory of the layer above has something to do then; `u64::MAX` for nothing.
pub fn set_memory_ns(nand: &mut Nand, time_ns: u64) {
    let place = memory(nand);
    nand.events.set(place, time_ns);
}

/// A flash page is to be padded then; `u64::MAX` for none. As the timer, that is no work in flight.
pub fn set_padding_ns(nand: &mut Nand, time_ns: u64) {
    let place = memory(nand) + 1;
    nand.events.set(place, time_ns);
}

/// When a flash page is to be padded; `u64::MAX` for none.
pub(crate) fn padding_ns(nand: &Nand) -> u64 {
    if nand.settings.packs() { nand.events.of(memory(nand) + 1) } else { u64::MAX }
}

/// Whether this event is one of the memory: that of its work, or that of padding.
pub(crate) fn is_of_memory(nand: &Nand, resource: usize) -> Option<bool> {
    let place = resource.checked_sub(memory(nand)).filter(|place| nand.settings.packs() && *place < 2)?;
    Some(place == 0)
}
