//! GC where a program unit has several pages of the map (SPEC 8.1 (i)): it reads each flash page once, those of a read group together, and packs what is live of
//! them into others.

use super::state::{Collection, Gc, GcStage, Next};
use crate::memory::Memory;
use crate::space::Space;
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use crate::store::Store;
use flashraid_nand::{Nand, packed};
use flashraid_vocabulary::{Action, Observer, Ppn, Transfer, Version};
use std::ops::Range;

/// The memory, which devices have whose flash pages have several pages.
fn memory_of(store: &mut Store) -> &mut Memory {
    store.memory.as_mut().expect("flash pages have several pages")
}

impl Collection {
    /// The run goes on: it reads the next group as soon as the cursor has passed all of its pages, or erases the victim when nothing of it is live.
    pub(super) fn next_packed(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        let Gc { victim, mut cursor, mut move_semivalid, .. } = self.runs[plane as usize];
        let (block, units) = (store.space.blocks.index(plane, victim), store.space.settings.units_per_read());
        let first = store.space.shape.first_ppn(block).0;
        while store.space.blocks.blocks[block].live > 0 {
            let ppn = first + cursor;
            if cursor.is_multiple_of(units) && !move_semivalid && self.rests(plane, &store.space, nand) {
                self.runs[plane as usize].cursor = cursor;
                return Next::Waits;
            }
            match store.maps.live(Ppn(ppn)) {
                Some(_) if store.has_failures() && store.is_lost_page(Ppn(ppn)) => {
                    self.give_up(plane, Ppn(ppn), store);
                    continue;
                }
                Some((Version::Base, slot)) if store.space.settings.moves_bases && !move_semivalid => {
                    self.ask_about(plane, cursor, slot, store);
                    return Next::Waits;
                }
                _ => (cursor, move_semivalid) = (cursor + 1, false),
            }
            if (cursor).is_multiple_of(units) {
                let group = first + cursor - units;
                self.read(plane, group..group + units, store, nand);
                if self.runs[plane as usize].reading > 0 {
                    let state = &mut self.runs[plane as usize];
                    (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor, GcStage::Moving, group, false);
                    return Next::Waits;
                }
            }
        }
        self.moved_all(plane, store, nand)
    }

    /// Reads the flash pages of a group that have anything live.
    fn read(&mut self, plane: u32, group: Range<u32>, store: &Store, nand: &mut Nand) {
        let settings = &store.space.settings;
        let (cause, priority) = self.class(plane, &store.space);
        for first in group.step_by(settings.units_per_page as usize) {
            let page = first..first + settings.units_per_page;
            let live = page.filter(|ppn| store.maps.live(Ppn(*ppn)).is_some()).count() as u32;
            if live > 0 {
                self.note_moves(plane, live, &store.space);
                self.runs[plane as usize].reading += 1;
                (0..live).for_each(|_| packed::count_unit(nand, plane, Action::Read, cause));
                let whole = settings.given.transfer == Transfer::Page;
                let bytes = if whole { settings.units_per_page } else { live } * settings.geometry.page_bytes;
                packed::queue_read_of_gc(nand, plane, Ppn(first), bytes, cause, priority);
            }
        }
    }

    /// GC has read a flash page: what is live of it goes into the open program unit of the plane's GC stream. When all of its group are read, the run goes on,
    /// or waits for a program unit that has become full.
    pub(super) fn pack<O: Observer>(&mut self, plane: u32, page: Ppn, store: &mut Store, nand: &mut Nand, observer: &mut O) -> Next {
        self.runs[plane as usize].reading -= 1;
        for from in (page.0..page.0 + store.space.settings.units_per_page).map(Ppn) {
            if store.maps.live(from).is_none() {
                continue;
            }
            if store.has_failures() && store.is_lost_page(from) {
                self.give_up(plane, from, store);
                continue;
            }
            let Some((to, is_full)) = self.take_packed_page(plane, store, nand) else { return self.find_no_page(plane, page, store) };
            let cause = self.cause(plane);
            packed::count_unit(nand, plane, Action::Program, cause);
            let due = self.switch_moved(from, to, store, nand, observer);
            debug_assert_eq!(due, Due::Nothing, "its flash page is in the memory");
            if is_full {
                self.wait_for_moves(plane, to, store);
            }
        }
        if self.is_under_way(plane) { Next::Waits } else { self.next(plane, store, nand) }
    }

    /// Whether the run waits for flash pages that are read or programmed.
    fn is_under_way(&self, plane: u32) -> bool {
        let Gc { reading, stage, .. } = self.runs[plane as usize];
        reading > 0 || stage == GcStage::Programming
    }

    /// There is no page for what was read: the run ends, or reads the group again when the rest of it has come.
    #[cold]
    fn find_no_page(&mut self, plane: u32, page: Ppn, store: &Store) -> Next {
        if !self.is_under_way(plane) {
            return Next::Leaves;
        }
        self.read_again(plane, page, store);
        Next::Waits
    }

    /// After failures: what the run does next if GC has read a flash page that is lost, or whose block is.
    #[cold]
    pub(super) fn read_in_vain(&mut self, plane: u32, page: Ppn, store: &Store) -> Option<Next> {
        let block_is_lost = store.space.blocks.blocks[store.space.shape.block_of(page)].state == BlockState::Retired;
        if !block_is_lost && !store.is_lost_page(page) {
            return None;
        }
        self.runs[plane as usize].reading -= 1;
        if !block_is_lost {
            self.read_again(plane, page, store);
        }
        Some(match (self.is_under_way(plane), block_is_lost) {
            (true, _) => Next::Waits,
            (false, true) => Next::Retires,
            (false, false) => Next::GoesOn,
        })
    }

    /// What is still live of the group of this page is read again.
    fn read_again(&mut self, plane: u32, page: Ppn, store: &Store) {
        let run = &mut self.runs[plane as usize];
        let offset = page.0 - store.space.shape.first_ppn(store.space.blocks.index(plane, run.victim)).0;
        run.cursor = offset - offset % store.space.settings.units_per_read();
    }

    /// The program unit is programmed that the run waits for.
    pub(crate) fn moves_are_programmed(&mut self, plane: u32, space: &Space) -> Next {
        let run = &mut self.runs[plane as usize];
        run.stage = GcStage::Moving;
        if run.reading > 0 {
            return Next::Waits;
        }
        let victim = space.blocks.index(plane, run.victim);
        if space.blocks.blocks[victim].state == BlockState::Retired { Next::Retires } else { Next::GoesOn }
    }

    /// Takes the next page of the plane's GC stream, for what GC moves. Returns it, and whether its flash page is full, and waits to be programmed.
    pub(crate) fn take_packed_page(&self, plane: u32, store: &mut Store, nand: &mut Nand) -> Option<(Ppn, bool)> {
        let retires = self.runs[plane as usize].retires;
        let Store { space, memory, faults, .. } = store;
        let ppn = space.take_move_page(nand, plane, faults.any, retires)?;
        space.note_program(nand, ppn);
        let (cause, priority) = self.class(plane, space);
        let memory = memory.as_mut().expect("flash pages have several pages");
        let is_full = memory.fill(ppn, (cause, priority), true, space) + 1 == memory.units();
        if is_full {
            memory.close(ppn, Some(priority), self.is_untimed, space, nand);
        }
        Some((ppn, is_full))
    }

    /// The GC run of the plane waits for the program of this flash page.
    pub(super) fn wait_for_moves(&mut self, plane: u32, page: Ppn, store: &Store) {
        let first = page.0 - page.0 % store.space.settings.units_per_program();
        (self.runs[plane as usize].stage, self.runs[plane as usize].moving) = (GcStage::Programming, first);
    }

    /// Whether it waits for the program of the flash page that begins here.
    pub(crate) fn waits_for_moves(&self, plane: u32, first: Ppn) -> bool {
        let Gc { stage, moving, .. } = self.runs[plane as usize];
        stage == GcStage::Programming && moving == first.0
    }

    /// Before a victim is erased: if the memory does not survive a loss of power, what is left of the plane's open flash page of GC becomes padding. Returns
    /// whether the run waits for its program.
    pub(super) fn secure_moved(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> bool {
        if memory_of(store).survives_power_loss() {
            return false;
        }
        let priority = self.priority(plane, &store.space);
        let Store { space, memory, .. } = &mut *store;
        let memory = memory.as_mut().expect("flash pages have several pages");
        let Some(last) = memory.pad_gc(plane, priority, self.is_untimed, space, nand) else { return false };
        self.wait_for_moves(plane, last, store);
        true
    }
}
