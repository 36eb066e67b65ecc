//! The memory in the SSD: programs that are accepted, program units that are padded, programmed or driven out, and what follows from that.

use super::{Memory, TakenPage};
use crate::gc::pace::press;
use crate::space::changes::Due;
use crate::store::Store;
use crate::{Flash, FlashFault};
use flashraid_nand::{Record, WorkKind, packed};
use flashraid_vocabulary::{Action, Cause, NIL, Observer, Ppn, Priority};

impl Flash {
    // ---- programs and reads ----

    /// A program comes in where a program unit has several pages: it is accepted, or waits. If nothing of its domain lives, it fails.
    pub(crate) fn accept_or_wait(&mut self, id: u32) {
        let Store { space, memory, .. } = &mut self.store;
        let domain = self.nand.record(id).domain;
        if space.domains[domain as usize].living_planes == 0 {
            return self.fail_unstarted(id);
        }
        let memory = memory.as_mut().expect("program units have several pages");
        let must_wait = self.gc.must_wait(domain, space, memory);
        if memory.take_in(id, must_wait, &self.nand, space) {
            self.accept(id);
        }
    }

    /// A program takes its page, and ends.
    fn accept(&mut self, id: u32) {
        let Record { domain, stream, slot, version, cause, priority, .. } = *self.nand.record(id);
        self.store.maps.prefetch(slot);
        let TakenPage { plane, ppn, closes } = self.store.take_unit(domain, stream, (cause, priority), self.gc.is_untimed, &mut self.nand);
        if closes {
            self.attend(Due::Program(plane));
        }
        self.store.space.domains[domain as usize].reserved -= 1;
        self.store.maps.label(ppn, version, slot);
        let lun = self.nand.places().lun_of_page(plane, ppn);
        let record = self.nand.record_mut(id);
        (record.ppn, record.plane, record.lun) = (ppn.0, plane, lun);
        if self.store.space.domains[domain as usize].owed > 0 {
            self.pad_what_must_be(domain);
        }
        memory_of(&mut self.store).accept(id, &mut self.nand);
    }

    /// Accepts what waits.
    pub(crate) fn accept_waiting(&mut self) {
        for class in 0..Priority::COUNT {
            loop {
                let Store { space, memory, .. } = &mut self.store;
                let Some(memory) = memory else { return };
                let must_wait = |domain, memory: &Memory| self.gc.must_wait(domain, space, memory);
                let Some(id) = memory.take_acceptable(class, must_wait, &self.nand, space) else { break };
                self.accept(id);
            }
        }
    }

    /// Programs were accepted, reads have ended, or places were lost.
    pub(crate) fn memory_served<O: Observer>(&mut self, observer: &mut O) {
        if memory_of(&mut self.store).has_to_move() {
            self.rescue_all(observer);
        }
        let now_ns = self.nand.now_ns();
        while let Some(id) = memory_of(&mut self.store).take_ended(now_ns) {
            let Record { work, ppn, cause, .. } = *self.nand.record(id);
            self.gc.dismiss(cause, &self.store.space);
            if work == WorkKind::Read {
                self.deliver(id);
            }
            // The page has been programmed meanwhile, or could not be moved, and its place is lost.
            let failed = self.store.is_lost_page(Ppn(ppn));
            packed::complete_in_memory(&mut self.nand, id, failed);
        }
        memory_of(&mut self.store).wait(&mut self.nand);
    }

    // ---- program units ----

    /// The program of a program unit has ended.
    pub(crate) fn program_unit_ended<O: Observer>(&mut self, first: Ppn, observer: &mut O) {
        let failed = self.store.has_failures() && {
            let (failed, due) = self.store.has_failed_program_unit(first, &mut self.nand);
            self.attend(due);
            failed
        };
        let plane = self.store.space.shape.plane_of(first);
        let (must_move, is_of_gc) = memory_of(&mut self.store).program_ended(first, failed, plane);
        if must_move {
            self.rescue_all(observer);
        } else {
            let due = self.store.leave_memory(first);
            self.attend(due);
        }
        if !is_of_gc && !memory_of(&mut self.store).is_busy() {
            self.gc.wait_for_idle(&self.store.space.settings, &mut self.nand);
        }
        let next = if is_of_gc {
            self.gc.moves_are_programmed(plane, &self.store)
        } else {
            self.gc.owe_if_programmed(plane, &self.store, &mut self.nand)
        };
        self.carry_out(plane, next);
        self.accept_waiting();
    }

    /// What is left of the domain's program units that are to be padded becomes padding, as soon as that is possible (`Memory::pad`).
    pub(crate) fn pad_what_must_be(&mut self, domain: u32) {
        loop {
            let Store { space, memory, .. } = &mut self.store;
            let memory = memory.as_mut().expect("program units have several pages");
            match memory.pad(domain, self.gc.is_untimed, space, &mut self.nand) {
                Some(plane) => self.attend(Due::Program(plane)),
                None if self.store.space.domains[domain as usize].owed > 0 => return press(self, domain),
                None => return,
            }
        }
    }

    /// A flush has come. Returns whether it waits until what is in the memory is programmed: its owner is told (`Untold::take_flushed`).
    pub fn flush(&mut self, owner: u32) -> bool {
        let must_program = self.store.memory.as_ref().is_some_and(|memory| memory.must_program());
        if !must_program || self.nand.makes(FlashFault::FlushWithoutMemory) {
            return false;
        }
        pad_all(self);
        memory_of(&mut self.store).wait_for_held(owner);
        true
    }

    // ---- space ----

    /// Space was gained: pads what was to be padded before, and accepts what waits.
    pub(crate) fn space_gained(&mut self) {
        if self.store.memory.is_none() {
            return;
        }
        for domain in 0..self.store.space.domains.len() as u32 {
            if self.store.space.domains[domain as usize].owed > 0 {
                self.pad_what_must_be(domain);
            }
            if self.store.space.domains[domain as usize].to_rescue > 0 {
                memory_of(&mut self.store).try_to_move();
            }
        }
        memory_of(&mut self.store).wait(&mut self.nand);
        self.accept_waiting();
    }

    /// What is needed of program units that cannot be programmed where they are is accepted anew, elsewhere in its domain. What finds no page stays in the memory
    /// until there is one, before others reserve it. If nothing of its domain lives, it is lost with its place.
    #[cold]
    fn rescue_all<O: Observer>(&mut self, observer: &mut O) {
        let pages = memory_of(&mut self.store).take_to_move();
        let waited = self.store.space.forget_rescues();
        let moved: Vec<u32> = pages.iter().copied().filter(|page| self.rescue(*page, observer)).collect();
        if memory_of(&mut self.store).has_flushes() {
            pad_all(self);
            memory_of(&mut self.store).renew_flushes();
        }
        // Flushes wait for what has taken their pages before they leave.
        leave_places(self, &moved);
        for page in pages {
            let plane = self.store.space.shape.plane_of(Ppn(page * self.settings().units_per_program()));
            if !self.gc.is_collecting(plane) {
                self.gc.report_end(plane, &mut self.store.space);
            }
        }
        waited.into_iter().for_each(|domain| self.store.space.news.free(domain));
        self.accept_waiting();
    }

    /// The same of one program unit. Returns whether nothing of it is needed where it is.
    fn rescue<O: Observer>(&mut self, page: u32, observer: &mut O) -> bool {
        let (pages, class) = memory_of(&mut self.store).pages_of(page);
        let mut waits = false;
        for from in pages.map(Ppn) {
            let Some((version, slot)) = self.store.maps.live(from) else { continue };
            let space = &mut self.store.space;
            let domain_id = space.domain_of(self.store.maps.address(slot), version);
            if !space.domain_is_alive(domain_id) {
                continue;
            }
            let domain = &mut space.domains[domain_id as usize];
            if domain.free_pages <= domain.reserved + domain.owed {
                domain.to_rescue += 1;
                waits = true;
                press(self, domain_id);
                continue;
            }
            let stream = space.blocks.stream_of(space.shape.block_of(from), false).number();
            let TakenPage { plane, ppn: to, closes } = self.store.take_unit(domain_id, stream, class, self.gc.is_untimed, &mut self.nand);
            if closes {
                self.attend(Due::Program(plane));
            }
            let lun = self.nand.places().lun_of_page(plane, to);
            packed::count_unit(&mut self.nand, lun, Action::Program, Cause::Retry);
            let due = self.gc.switch_moved(from, to, &mut self.store, &self.nand, observer);
            self.attend(due);
        }
        !waits
    }

    /// What the memory holds for domains of which nothing lives, now that spare chips have taken the places of dead ones, is lost with its place at once: what
    /// must go elsewhere is seen to at the next event, and a rebuild may have found nothing lost, and ended, by then.
    pub fn lose_what_cannot_move(&mut self) {
        let Some(memory) = &self.store.memory else { return };
        let (space, units) = (&self.store.space, self.settings().units_per_program());
        let is_lost = |page: &u32| {
            let domain = space.domain_of_plane(space.shape.plane_of(Ppn(page * units)));
            domain != NIL && !space.domain_is_alive(domain)
        };
        let lost: Vec<u32> = memory.to_move().into_iter().filter(is_lost).collect();
        leave_places(self, &lost);
    }
}

/// What is left of all open program units becomes padding, as soon as that is possible.
fn pad_all(flash: &mut Flash) {
    for domain in 0..flash.store.space.domains.len() as u32 {
        memory_of(&mut flash.store).must_pad(domain);
        flash.pad_what_must_be(domain);
    }
}

/// Nothing is needed any more of these program units, or they are given up.
pub(crate) fn leave_places(flash: &mut Flash, pages: &[u32]) {
    for page in pages {
        let due = flash.store.leave_place(*page);
        flash.attend(due);
    }
}

fn memory_of(store: &mut Store) -> &mut Memory {
    store.memory.as_mut().expect("program units have several pages")
}
