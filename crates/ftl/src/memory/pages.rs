//! The program units that are being filled: how their pages are taken, and how they come to be programmed.

use super::held::Held;
use super::state::{Memory, MemorySettings};
use crate::space::Space;
use crate::space::blocks::{TakenOf, WriteStream};
use crate::space::changes::Due;
use flashraid_nand::{NEVER, NIL, Nand, packed};
use flashraid_vocabulary::{Cause, Ppn, Priority};

/// A page that was taken of a write point.
pub(crate) struct TakenPage {
    pub(crate) plane: u32,
    pub(crate) ppn: Ppn,
    /// It was the last one of its program unit, which is programmed.
    pub(crate) closes: bool,
}

impl Memory {
    // ---- write points ----

    /// Whether the domain has an open program unit.
    pub(crate) fn has_open_page(&self, domain: u32) -> bool {
        self.open[domain as usize] != NIL
    }

    /// Takes the next page of the domain's write point, for a program of this cause and class. If no program unit is open, one is in this plane (`open_in`), or in the
    /// one whose turn it is.
    pub(crate) fn take_page(
        &mut self,
        domain: u32,
        open_in: Option<u32>,
        class: (Cause, Priority),
        is_untimed: bool,
        space: &mut Space,
        nand: &mut Nand,
    ) -> TakenPage {
        let plane = match self.open[domain as usize] {
            NIL => open_in.unwrap_or_else(|| space.plane_in_turn(nand, domain)),
            plane => plane,
        };
        let ppn = space.take_host_page(nand, plane);
        space.note_program(nand, ppn);
        self.open[domain as usize] = plane;
        let number = self.opened;
        let place = self.fill(ppn, class, false, space);
        let closes = place + 1 == self.units;
        if closes {
            self.close_open_page(domain, ppn, is_untimed, space, nand);
        } else if place == 0 && !is_untimed {
            self.note_deadline(domain, number, nand);
        }
        TakenPage { plane, ppn, closes }
    }

    /// A page was taken, for a program of this cause and class. Returns its place in its program unit.
    pub(crate) fn fill(&mut self, ppn: Ppn, class: (Cause, Priority), is_of_gc: bool, space: &mut Space) -> u32 {
        let (page, place, (cause, priority)) = (ppn.0 / self.units, ppn.0 % self.units, class);
        if place == 0 {
            let (number, taken) = (self.opened, 0);
            self.held.insert(Held { page, cause, priority, number, taken, is_of_gc, is_queued: false, must_move: false, is_gone: false });
            self.opened += 1;
            self.held_of_plans += u32::from(!is_of_gc);
            space.blocks.blocks[space.shape.block_of(ppn)].pending += 1;
        }
        self.take(ppn, space);
        place
    }

    /// A page of a program unit is taken.
    fn take(&mut self, ppn: Ppn, space: &Space) {
        let held = self.held.get_mut(ppn.0 / self.units).expect("it is in the memory");
        held.taken += 1;
        self.room -= i64::from(!held.is_of_gc);
        self.staged[space.shape.plane_of(ppn) as usize] += u32::from(!held.is_of_gc);
    }

    /// What is filled of a plane's open block is known, but for its open program unit, which the memory holds: the fill has ended.
    pub(crate) fn hold_filled(&mut self, domain: u32, plane: u32, space: &mut Space) {
        let taken = space.blocks.next_offset(plane, WriteStream::Host) % self.units;
        if taken > 0 {
            let next = next_page(plane, space);
            (next - taken..next).for_each(|page| _ = self.fill(Ppn(page), (Cause::Host, Priority::Host), false, space));
            self.open[domain as usize] = plane;
        }
    }

    /// The open program unit of the domain, of which this is the last page, is programmed.
    fn close_open_page(&mut self, domain: u32, last: Ppn, is_untimed: bool, space: &mut Space, nand: &mut Nand) {
        self.forget_open_page(domain, space);
        self.forget_deadlines(space, nand);
        self.close(last, None, is_untimed, space, nand);
    }

    /// The domain's program unit is open no more.
    fn forget_open_page(&mut self, domain: u32, space: &mut Space) {
        self.open[domain as usize] = NIL;
        space.owe_padding(domain, 0);
    }

    /// The open program unit of programs in this plane is open no more, if there is one: its place is lost.
    pub(super) fn forget_open_page_in(&mut self, plane: u32, space: &mut Space) {
        if let Some(domain) = self.open.iter().position(|open| *open == plane) {
            self.forget_open_page(domain as u32, space);
        }
    }

    /// The program unit of this page is full, or padded: it is programmed. One of GC is programmed in the class of the run (`of_run`), which may be more urgent than
    /// the one that opened the page, and keep all other work off the LUN.
    pub(crate) fn close(&mut self, ppn: Ppn, of_run: Option<Priority>, is_untimed: bool, space: &mut Space, nand: &mut Nand) {
        let page = ppn.0 / self.units;
        let first = Ppn(page * self.units);
        let before = self.queued_before(page, space);
        let held = self.held.get_mut(page).expect("it is in the memory");
        let asked = of_run.unwrap_or(held.priority);
        // Pages of a block are programmed in order: it goes behind the one before it, and so in no class that is served earlier.
        held.priority = before.filter(|before| *before as u8 > asked as u8).unwrap_or(asked);
        held.is_queued = true;
        let Held { cause, priority, is_of_gc, .. } = *held;
        if is_untimed {
            // Nothing starts meanwhile.
            let _ = self.leave(first, space);
        } else {
            let plane = space.shape.plane_of(ppn);
            self.programs_of_gc[plane as usize] += u32::from(is_of_gc);
            packed::queue_page_program(nand, plane, first, cause, priority, is_of_gc && before.is_none());
        }
    }

    /// The class of the program unit before this one in its block and lane, if it has not been programmed yet.
    fn queued_before(&self, page: u32, space: &Space) -> Option<Priority> {
        let before = page.checked_sub(space.shape.lanes)?;
        let block_of = |page: u32| space.shape.block_of(Ppn(page * self.units));
        let held = self.held.get(before).filter(|held| held.is_queued)?;
        (block_of(before) == block_of(page)).then_some(held.priority)
    }

    /// The memory does not hold a program unit any more.
    pub(crate) fn leave(&mut self, first: Ppn, space: &mut Space) -> Due {
        let held = self.held.remove(first.0 / self.units).expect("it is in the memory");
        if !held.is_of_gc {
            self.room += i64::from(held.taken);
            self.staged[space.shape.plane_of(first) as usize] -= held.taken;
            self.held_of_plans -= 1;
            self.pass_flushes(held.number, &mut space.news);
        }
        space.settle(space.shape.block_of(first))
    }

    // ---- padding ----

    /// What is left of the domain's open program unit becomes padding, as soon as that many pages are not reserved: nobody else reserves one before. Returns
    /// the plane of the program unit if it is programmed now.
    pub(crate) fn pad(&mut self, domain: u32, is_untimed: bool, space: &mut Space, nand: &mut Nand) -> Option<u32> {
        let plane = Some(self.open[domain as usize]).filter(|plane| *plane != NIL)?;
        let left = self.units - space.blocks.next_offset(plane, WriteStream::Host) % self.units;
        let entry = &space.domains[domain as usize];
        if entry.free_pages - entry.reserved < i64::from(left) {
            space.owe_padding(domain, left);
            return None;
        }
        let last = (0..left).map(|_| self.take_padding(plane, WriteStream::Host, space, nand)).last().expect("it is open");
        self.close_open_page(domain, last, is_untimed, space, nand);
        Some(plane)
    }

    /// What is left of the plane's open program unit of GC becomes padding.
    pub(crate) fn pad_gc(&mut self, plane: u32, of_run: Priority, is_untimed: bool, space: &mut Space, nand: &mut Nand) {
        let taken = space.blocks.next_offset(plane, WriteStream::Gc) % self.units;
        let padding = if taken == 0 { 0 } else { self.units - taken };
        if let Some(last) = (0..padding).map(|_| self.take_padding(plane, WriteStream::Gc, space, nand)).last() {
            self.close(last, Some(of_run), is_untimed, space, nand);
        }
    }

    /// Takes the next page of a plane's stream as padding, which is garbage from the start. Its program unit is open.
    pub(super) fn take_padding(&mut self, plane: u32, stream: WriteStream, space: &mut Space, nand: &mut Nand) -> Ppn {
        let ppn = match stream {
            WriteStream::Host => space.take_host_page(nand, plane),
            WriteStream::Gc => {
                let TakenOf { block, offset, .. } = space.blocks.take(plane, stream);
                Ppn(block as u32 * space.shape.pages_per_block + offset)
            }
        };
        self.padded += 1;
        self.take(ppn, space);
        space.settle_padding(ppn);
        ppn
    }

    /// The drive is switched off, with nothing in flight: all open program units are padded, and programmed in no simulated time.
    pub(crate) fn empty(&mut self, space: &mut Space, nand: &mut Nand) {
        for domain in 0..self.open.len() as u32 {
            self.pad(domain, true, space, nand);
        }
        for plane in 0..space.planes() {
            self.pad_gc(plane, Priority::Gc, true, space, nand);
        }
        self.deadlines.clear();
        self.wait_to_pad(nand);
    }

    // ---- when padding is due ----

    /// The program unit of this number is open in a domain from now on.
    fn note_deadline(&mut self, domain: u32, number: u64, nand: &mut Nand) {
        let MemorySettings { survives_power_loss, pad_after_ns, .. } = self.settings;
        if !survives_power_loss && pad_after_ns > 0 {
            self.deadlines.push_back((nand.now_ns() + pad_after_ns, domain, number));
            self.wait_to_pad(nand);
        }
    }

    /// Program units that are open no more are not due to be padded: time does not go on for them. Those behind one that is open are forgotten with it.
    fn forget_deadlines(&mut self, space: &Space, nand: &mut Nand) {
        let before = self.deadlines.len();
        while self.deadlines.front().is_some_and(|(_, domain, number)| self.open_page(*domain, space) != Some(*number)) {
            self.deadlines.pop_front();
        }
        if self.deadlines.len() < before {
            self.wait_to_pad(nand);
        }
    }

    /// The oldest open program unit is due to be padded. Returns its domain, if it is still open; `wait_to_pad` must follow.
    pub(crate) fn take_deadline(&mut self, space: &Space) -> Option<u32> {
        let (_, domain, number) = self.deadlines.pop_front().expect("the event has one");
        (self.open_page(domain, space) == Some(number)).then_some(domain)
    }

    /// Sets when a program unit is padded next.
    pub(crate) fn wait_to_pad(&self, nand: &mut Nand) {
        let next_ns = self.deadlines.front().map_or(NEVER, |(time_ns, ..)| *time_ns);
        packed::set_padding_ns(nand, next_ns);
    }

    /// The number of the domain's open program unit.
    fn open_page(&self, domain: u32, space: &Space) -> Option<u64> {
        let plane = Some(self.open[domain as usize]).filter(|plane| *plane != NIL)?;
        self.held.get(next_page(plane, space) / self.units).map(|held| held.number)
    }
}

/// The page that programs of plans take next of a plane's open block.
fn next_page(plane: u32, space: &Space) -> u32 {
    let block = space.blocks.index(plane, space.blocks.planes[plane as usize].open[WriteStream::Host as usize]);
    space.shape.first_ppn(block).0 + space.blocks.next_offset(plane, WriteStream::Host)
}
