//! The program units that are being filled: how their pages are taken, and how they come to be programmed.

use super::held::Held;
use super::state::{Memory, MemorySettings, WritePoint};
use crate::space::Space;
use crate::space::blocks::TakenOf;
use crate::space::changes::Due;
use crate::space::streams::WriteStream;
use flashraid_nand::{NEVER, Nand, packed};
use flashraid_vocabulary::{Cause, NIL, Ppn, Priority};
use std::ops::Range;

/// A page that was taken of a write point.
pub(crate) struct TakenPage {
    pub(crate) plane: u32,
    pub(crate) ppn: Ppn,
    /// It was the last one of its program unit, which is programmed.
    pub(crate) closes: bool,
}

impl Memory {
    // ---- write points ----

    /// The write points of a domain: one for each stream of the host.
    pub(super) fn points_of(&self, domain: u32) -> Range<usize> {
        let first = domain as usize * self.streams;
        first..first + self.streams
    }

    /// Whether the write point of the domain's first stream has an open program unit.
    pub(crate) fn has_open_page(&self, domain: u32) -> bool {
        self.points[self.points_of(domain).start].page != NIL
    }

    /// Takes the next page of the write point of a domain and stream, for a program of this cause and class. If no program unit is open there, one is opened in this
    /// plane (`open_in`), or in the one whose turn it is; if the stream has no block there and may open none, what another stream has open is taken.
    pub(crate) fn take_page(
        &mut self,
        (domain, stream): (u32, u8),
        open_in: Option<u32>,
        class: (Cause, Priority),
        is_untimed: bool,
        space: &mut Space,
        nand: &mut Nand,
    ) -> TakenPage {
        let mut point = self.points_of(domain).start + usize::from(stream);
        let mut plane = NIL;
        if self.points[point].page == NIL {
            plane = open_in.unwrap_or_else(|| space.plane_in_turn(nand, domain));
            if self.streams > 1 {
                self.find_point(&mut point, plane, space);
            }
        }
        let stream = match self.points[point].page {
            NIL => {
                let goes_beside = is_untimed || !class.0.is_cached();
                space.choose_stream(nand, plane, (point % self.streams) as u8, goes_beside)
            }
            page => {
                plane = self.plane_of(page, space);
                self.stream_of(page, space)
            }
        };
        let ppn = space.take_host_page(nand, plane, stream);
        space.note_program(nand, ppn);
        self.points[point].page = ppn.0 / self.units;
        let number = self.opened;
        let place = self.fill(ppn, class, false, space);
        let closes = place + 1 == space.blocks.units_used(space.shape.block_of(ppn), self.units);
        if closes {
            self.close_open_page(point, ppn, is_untimed, space, nand);
        } else if place == 0 && !is_untimed {
            self.note_deadline(point, number, nand);
        }
        TakenPage { plane, ppn, closes }
    }

    /// The write point is that of another stream if its own has no page in this plane.
    fn find_point(&self, point: &mut usize, plane: u32, space: &Space) {
        let (first, own) = (*point / self.streams * self.streams, (*point % self.streams) as u8);
        let found = space.blocks.stream_with_page(plane, WriteStream::of_host(own)).expect("a plane has pages whose turn it is");
        *point = first + usize::from(found.number());
    }

    /// The stream of a program unit that programs fill.
    fn stream_of(&self, page: u32, space: &Space) -> WriteStream {
        space.blocks.stream_of(space.shape.block_of(Ppn(page * self.units)), false)
    }

    fn plane_of(&self, page: u32, space: &Space) -> u32 {
        space.shape.plane_of(Ppn(page * self.units))
    }

    /// A page was taken, for a program of this cause and class. Returns its place in its program unit.
    pub(crate) fn fill(&mut self, ppn: Ppn, class: (Cause, Priority), is_of_gc: bool, space: &mut Space) -> u32 {
        let (page, place, (cause, priority)) = (ppn.0 / self.units, ppn.0 % self.units, class);
        if place == 0 {
            let (number, taken) = (self.opened, 0);
            self.held.insert(Held {
                page,
                cause,
                priority,
                number,
                taken,
                is_of_gc,
                is_queued: false,
                must_move: false,
                is_gone: false,
                is_slc: false,
            });
            self.opened += 1;
            self.held_of_plans += u32::from(!is_of_gc);
            space.blocks.blocks[space.shape.block_of(ppn)].pending += 1;
        }
        self.take(ppn);
        place
    }

    /// A page of a program unit is taken.
    fn take(&mut self, ppn: Ppn) {
        let held = self.held.get_mut(ppn.0 / self.units).expect("it is in the memory");
        held.taken += 1;
        self.room -= i64::from(!held.is_of_gc);
    }

    /// What is filled of a plane's open block is known, but for its open program unit, which the memory holds: the fill has ended.
    pub(crate) fn hold_filled(&mut self, domain: u32, plane: u32, space: &mut Space) {
        let taken = space.blocks.next_offset(plane, WriteStream::HOST) % self.units;
        if taken > 0 {
            let block = space.blocks.index(plane, space.blocks.open_block(plane, WriteStream::HOST));
            let next = space.shape.first_ppn(block).0 + space.blocks.next_offset(plane, WriteStream::HOST);
            (next - taken..next).for_each(|page| _ = self.fill(Ppn(page), (Cause::Host, Priority::Host), false, space));
            let point = self.points_of(domain).start;
            self.points[point].page = next / self.units;
        }
    }

    /// The open program unit of a write point, of which this is the last page, is programmed.
    fn close_open_page(&mut self, point: usize, last: Ppn, is_untimed: bool, space: &mut Space, nand: &mut Nand) {
        self.forget_open_page(point, space);
        self.forget_deadlines(nand);
        self.close(last, None, is_untimed, space, nand);
    }

    /// The write point's program unit is open no more.
    fn forget_open_page(&mut self, point: usize, space: &mut Space) {
        self.points[point] = WritePoint::NONE;
        self.owe_padding((point / self.streams) as u32, space);
    }

    /// A program unit of programs is open no more, if it was: its place is lost.
    pub(super) fn forget_if_open(&mut self, page: u32, space: &mut Space) {
        if let Some(point) = self.points.iter().position(|point| point.page == page) {
            self.forget_open_page(point, space);
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
        held.is_slc = space.blocks.is_slc(space.shape.block_of(ppn));
        let Held { cause, priority, is_of_gc, is_slc, .. } = *held;
        if is_untimed {
            // Nothing starts meanwhile.
            let _ = self.leave(first, space);
        } else {
            let plane = space.shape.plane_of(ppn);
            self.programs_of_gc[plane as usize] += u32::from(is_of_gc);
            self.programs_of_plans += u32::from(!is_of_gc);
            self.slc_programs[plane as usize] += u32::from(is_slc);
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
            self.held_of_plans -= 1;
            self.pass_flushes(held.number, &mut space.news);
        }
        space.settle(space.shape.block_of(first))
    }

    // ---- padding ----

    /// What is left of the domain's open program units is to become padding.
    pub(crate) fn must_pad(&mut self, domain: u32) {
        let points = self.points_of(domain);
        self.points[points].iter_mut().filter(|point| point.page != NIL).for_each(|point| point.must_be_padded = true);
    }

    /// What is left of a program unit of the domain that is to be padded becomes padding, as soon as that many pages are not reserved: nobody else reserves one before.
    /// Returns the plane of the program unit if one is programmed now; then there may be others.
    pub(crate) fn pad(&mut self, domain: u32, is_untimed: bool, space: &mut Space, nand: &mut Nand) -> Option<u32> {
        for point in self.points_of(domain) {
            if !self.points[point].must_be_padded {
                continue;
            }
            let (plane, left) = (self.plane_of(self.points[point].page, space), self.left_of(point, space));
            let entry = &space.domains[domain as usize];
            if entry.free_pages - entry.reserved >= i64::from(left) {
                let stream = self.stream_of(self.points[point].page, space);
                let last = (0..left).map(|_| self.take_padding(plane, stream, space, nand)).last().expect("it is open");
                self.close_open_page(point, last, is_untimed, space, nand);
                return Some(plane);
            }
        }
        self.owe_padding(domain, space);
        None
    }

    /// Pages left of the open program unit of a write point.
    fn left_of(&self, point: usize, space: &Space) -> u32 {
        let page = self.points[point].page;
        let used = space.blocks.units_used(space.shape.block_of(Ppn(page * self.units)), self.units);
        used - self.held.get(page).map_or(0, |held| held.taken)
    }

    /// Program units of the domain that are to be padded and cannot be yet want so many pages.
    fn owe_padding(&self, domain: u32, space: &mut Space) {
        let owed = self.points_of(domain).filter(|point| self.points[*point].must_be_padded).map(|point| self.left_of(point, space)).sum();
        space.owe_padding(domain, owed);
    }

    /// What is left of the open program unit of one of the plane's GC streams becomes padding.
    pub(crate) fn pad_gc(
        &mut self,
        (plane, stream): (u32, WriteStream),
        of_run: Priority,
        is_untimed: bool,
        space: &mut Space,
        nand: &mut Nand,
    ) {
        let taken = space.blocks.next_offset(plane, stream) % self.units;
        let padding = if taken == 0 { 0 } else { self.units - taken };
        if let Some(last) = (0..padding).map(|_| self.take_padding(plane, stream, space, nand)).last() {
            self.close(last, Some(of_run), is_untimed, space, nand);
        }
    }

    /// Takes the next page of a plane's stream as padding, which is garbage from the start. Its program unit is open.
    pub(super) fn take_padding(&mut self, plane: u32, stream: WriteStream, space: &mut Space, nand: &mut Nand) -> Ppn {
        let ppn = if stream.is_of_gc() {
            let TakenOf { block, offset, .. } = space.blocks.take(plane, stream);
            Ppn(block as u32 * space.shape.pages_per_block + offset)
        } else {
            space.take_host_page(nand, plane, stream)
        };
        self.padded += 1;
        self.take(ppn);
        space.settle_padding(ppn);
        ppn
    }

    /// The drive is switched off, with nothing in flight: all open program units are padded, and programmed in no simulated time.
    pub(crate) fn empty(&mut self, space: &mut Space, nand: &mut Nand) {
        for domain in 0..space.domains.len() as u32 {
            self.must_pad(domain);
            while self.pad(domain, true, space, nand).is_some() {}
        }
        for plane in 0..space.planes() {
            for number in 0..self.streams as u8 {
                self.pad_gc((plane, WriteStream::of_gc(number)), Priority::Gc, true, space, nand);
            }
        }
        self.deadlines.clear();
        self.wait_to_pad(nand);
    }

    // ---- when padding is due ----

    /// The program unit of this number is open at a write point from now on.
    fn note_deadline(&mut self, point: usize, number: u64, nand: &mut Nand) {
        let MemorySettings { survives_power_loss, pad_after_ns, .. } = self.settings;
        if !survives_power_loss && pad_after_ns > 0 {
            self.deadlines.push_back((nand.now_ns() + pad_after_ns, point as u32, number));
            self.wait_to_pad(nand);
        }
    }

    /// Program units that are open no more are not due to be padded: time does not go on for them. Those behind one that is open are forgotten with it.
    fn forget_deadlines(&mut self, nand: &mut Nand) {
        let before = self.deadlines.len();
        while self.deadlines.front().is_some_and(|(_, point, number)| self.open_number(*point) != Some(*number)) {
            self.deadlines.pop_front();
        }
        if self.deadlines.len() < before {
            self.wait_to_pad(nand);
        }
    }

    /// The oldest open program unit is due to be padded. Returns its domain, if it is still open: it is to be padded. `wait_to_pad` must follow.
    pub(crate) fn take_deadline(&mut self) -> Option<u32> {
        let (_, point, number) = self.deadlines.pop_front().expect("the event has one");
        let is_open = self.open_number(point) == Some(number);
        self.points[point as usize].must_be_padded |= is_open;
        is_open.then_some(point / self.streams as u32)
    }

    /// Sets when a program unit is padded next.
    pub(crate) fn wait_to_pad(&self, nand: &mut Nand) {
        let next_ns = self.deadlines.front().map_or(NEVER, |(time_ns, ..)| *time_ns);
        packed::set_padding_ns(nand, next_ns);
    }

    /// The number of the open program unit of a write point.
    fn open_number(&self, point: u32) -> Option<u64> {
        let page = Some(self.points[point as usize].page).filter(|page| *page != NIL)?;
        self.held.get(page).map(|held| held.number)
    }
}
