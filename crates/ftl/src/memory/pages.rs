//! The flash pages that are being filled: how their pages are taken, and how they come to be programmed.

use super::state::{Held, Memory, MemorySettings};
use crate::space::blocks::WriteStream;
use crate::{Flash, Placement};
use flashraid_nand::{DATA, NEVER, NIL, packed, queue_page_program};
use flashraid_vocabulary::{Cause, Ppn, Priority};

pub(super) fn memory_of(ssd: &Flash) -> &Memory {
    ssd.memory.as_ref().expect("flash pages have several pages")
}

pub(super) fn memory_of_mut(ssd: &mut Flash) -> &mut Memory {
    ssd.memory.as_mut().expect("flash pages have several pages")
}

/// Whether a page is in the memory: then it is there, whatever has become of its place.
#[inline]
pub(crate) fn holds(ssd: &Flash, ppn: Ppn) -> bool {
    ssd.memory.as_ref().is_some_and(|memory| memory.holds(ppn))
}

/// The plane of the domain's open flash page, or in which the next one is opened.
fn plane_of_open_page(ssd: &mut Flash, domain: u32) -> u32 {
    let plane = memory_of(ssd).open[domain as usize];
    if plane != NIL {
        return plane;
    }
    match ssd.untimed.phases.is_some().then(|| ssd.advance_phase(domain)).flatten() {
        Some(plane) => plane,
        None if ssd.settings.placement == Placement::Static && ssd.nand.takers(domain).kind == DATA => {
            ssd.space.domains[domain as usize].plane
        }
        None => ssd.space.next_plane(&ssd.nand, domain),
    }
}

/// Takes the next page of the domain's write point. Returns its plane and its number.
pub(crate) fn take_page(ssd: &mut Flash, domain: u32, cause: Cause, priority: Priority) -> (u32, Ppn) {
    let plane = plane_of_open_page(ssd, domain);
    let ppn = ssd.space.take_host_page(&mut ssd.nand, plane);
    ssd.note_program(ppn);
    let memory = memory_of_mut(ssd);
    memory.open[domain as usize] = plane;
    let number = memory.opened;
    let place = fill(ssd, ppn, cause, priority, false);
    if place + 1 == memory_of(ssd).units {
        close_open_page(ssd, domain, ppn);
    } else if place == 0 && !ssd.untimed.is_on {
        note_deadline(ssd, domain, number);
    }
    (plane, ppn)
}

/// The flash page of this number is open in a domain from now on.
pub(super) fn note_deadline(ssd: &mut Flash, domain: u32, number: u64) {
    let now_ns = ssd.nand.now_ns();
    let memory = memory_of_mut(ssd);
    let MemorySettings { survives_power_loss, pad_after_ns, .. } = memory.settings;
    if !survives_power_loss && pad_after_ns > 0 {
        memory.deadlines.push_back((now_ns + pad_after_ns, domain, number));
        wait_to_pad(ssd);
    }
}

/// The number of the domain's open flash page.
pub(super) fn open_page(ssd: &Flash, domain: u32) -> Option<u64> {
    let memory = memory_of(ssd);
    let plane = Some(memory.open[domain as usize]).filter(|plane| *plane != NIL)?;
    memory.held.get(next_page(ssd, plane) / memory.units).map(|held| held.number)
}

/// The page that programs of plans take next of a plane's open block.
fn next_page(ssd: &Flash, plane: u32) -> u32 {
    let block = ssd.space.blocks.index(plane, ssd.space.blocks.planes[plane as usize].open[WriteStream::Host as usize]);
    ssd.shape.first_ppn(block).0 + ssd.space.blocks.next_offset(plane, WriteStream::Host)
}

/// The domain's flash page is open no more.
fn forget_open_page(ssd: &mut Flash, domain: u32) {
    memory_of_mut(ssd).open[domain as usize] = NIL;
    owes_padding(ssd, domain, 0);
}

/// The open flash page of programs in this plane is open no more, if there is one: its place is lost.
pub(super) fn forget_open_page_in(ssd: &mut Flash, plane: u32) {
    if let Some(domain) = memory_of(ssd).open.iter().position(|open| *open == plane) {
        forget_open_page(ssd, domain as u32);
    }
}

/// The open flash page of the domain, of which this is the last page, is programmed.
pub(super) fn close_open_page(ssd: &mut Flash, domain: u32, last: Ppn) {
    forget_open_page(ssd, domain);
    close(ssd, last);
    if !ssd.untimed.is_on {
        ssd.collect_if_low(ssd.shape.plane_of(last));
    }
}

/// A page was taken. Returns its place in its flash page.
pub(super) fn fill(ssd: &mut Flash, ppn: Ppn, cause: Cause, priority: Priority, is_of_gc: bool) -> u32 {
    let memory = ssd.memory.as_mut().expect("flash pages have several pages");
    let (page, place) = (ppn.0 / memory.units, ppn.0 % memory.units);
    if place == 0 {
        let held =
            Held { page, cause, priority, number: memory.opened, taken: 0, is_of_gc, is_queued: false, must_move: false, is_gone: false };
        memory.held.insert(held);
        memory.opened += 1;
        memory.held_of_plans += u32::from(!is_of_gc);
        ssd.space.blocks.blocks[ssd.shape.block_of(ppn)].pending += 1;
    }
    memory.take(page);
    place
}

/// What is filled of a plane's open block is known, but for its open flash page, which the memory holds: the fill has ended.
pub(crate) fn hold_filled(ssd: &mut Flash, domain: u32, plane: u32) {
    let taken = ssd.space.blocks.next_offset(plane, WriteStream::Host) % memory_of(ssd).units;
    if taken > 0 {
        let next = next_page(ssd, plane);
        (next - taken..next).for_each(|page| _ = fill(ssd, Ppn(page), Cause::Host, Priority::Host, false));
        memory_of_mut(ssd).open[domain as usize] = plane;
    }
}

/// The flash page of this page is full, or padded: it is programmed.
pub(super) fn close(ssd: &mut Flash, ppn: Ppn) {
    let memory = memory_of_mut(ssd);
    let page = ppn.0 / memory.units;
    let first = Ppn(page * memory.units);
    let held = memory.held.get_mut(page).expect("it is in the memory");
    held.is_queued = true;
    let Held { cause, priority, is_of_gc, .. } = *held;
    if ssd.untimed.is_on {
        leave_memory(ssd, first);
    } else {
        let plane = ssd.shape.plane_of(ppn);
        // A run may be more urgent than the one that opened the page, and keep all other work off the LUN.
        let priority = if is_of_gc { ssd.gc_priority(plane) } else { priority };
        queue_page_program(ssd, plane, first, cause, priority);
    }
}

/// The memory does not hold a flash page any more.
pub(super) fn leave_memory(ssd: &mut Flash, first: Ppn) {
    let memory = memory_of_mut(ssd);
    memory.release(first.0 / memory.units);
    ssd.settle(ssd.shape.block_of(first));
}

/// So many pages of the domain are to become padding before others are reserved.
pub(super) fn owes_padding(ssd: &mut Flash, domain: u32, pages: u32) {
    let owed = std::mem::replace(&mut ssd.space.domains[domain as usize].owed, pages.into());
    if owed > 0 && pages == 0 {
        ssd.space.freed.push(domain);
    }
}

/// Takes the next page of a plane's stream as padding, which is garbage from the start.
pub(super) fn take_padding(ssd: &mut Flash, plane: u32, stream: WriteStream) -> Ppn {
    let ppn = match stream {
        WriteStream::Host => ssd.space.take_host_page(&mut ssd.nand, plane),
        WriteStream::Gc => ssd.take_move_page(plane).expect("its flash page is open"),
    };
    let memory = memory_of_mut(ssd);
    memory.padded += 1;
    memory.take(ppn.0 / memory.units);
    ssd.settle(ssd.shape.block_of(ppn));
    ppn
}

/// Sets when something of the memory ends next.
pub(super) fn wait(ssd: &mut Flash) {
    let next_ns = memory_of(ssd).next_ns(ssd.nand.now_ns());
    packed::set_memory_ns(&mut ssd.nand, next_ns);
}

/// Sets when a flash page is padded next.
pub(super) fn wait_to_pad(ssd: &mut Flash) {
    let next_ns = memory_of(ssd).deadlines.front().map_or(NEVER, |(time_ns, ..)| *time_ns);
    packed::set_padding_ns(&mut ssd.nand, next_ns);
}
