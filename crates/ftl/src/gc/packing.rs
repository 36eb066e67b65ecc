//! GC where a flash page has several pages of the map (SPEC 8.1 (i)): it reads each flash page once, and packs what is live of it into others.

use super::state::{Collection, Gc, GcStage, Next};
use crate::memory::Memory;
use crate::space::Space;
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use crate::store::Store;
use flashraid_nand::{Nand, packed};
use flashraid_vocabulary::{Action, Observer, Ppn, Transfer, Version};

/// The memory, which devices have whose flash pages have several pages.
fn memory_of(store: &mut Store) -> &mut Memory {
    store.memory.as_mut().expect("flash pages have several pages")
}

impl Collection {
    /// The run goes on: it reads the next flash page as soon as the cursor has passed all of its pages, or erases the victim when nothing of it is live.
    pub(super) fn next_packed(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        let Gc { victim, mut cursor, mut move_semivalid, .. } = self.runs[plane as usize];
        let (block, units) = (store.space.blocks.index(plane, victim), store.space.settings.units_per_page);
        let first = store.space.shape.first_ppn(block).0;
        while store.space.blocks.blocks[block].live > 0 {
            let ppn = first + u32::from(cursor);
            if u32::from(cursor).is_multiple_of(units) && !move_semivalid && self.rests(plane, &store.space, nand) {
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
            if (u32::from(cursor)).is_multiple_of(units) {
                let page = first + u32::from(cursor) - units;
                let live = (page..page + units).filter(|ppn| store.maps.live(Ppn(*ppn)).is_some()).count() as u32;
                if live > 0 {
                    self.note_moves(plane, live, &store.space);
                    let state = &mut self.runs[plane as usize];
                    (state.cursor, state.stage, state.moving, state.move_semivalid) = (cursor, GcStage::Moving, page, false);
                    let cause = self.cause(plane);
                    (0..live).for_each(|_| packed::count_unit(nand, plane, Action::Read, cause));
                    let settings = &store.space.settings;
                    let whole = settings.given.transfer == Transfer::Page;
                    return Next::Read(Ppn(page), if whole { units } else { live } * settings.geometry.page_bytes);
                }
            }
        }
        self.moved_all(plane, store, nand)
    }

    /// GC has read a flash page: what is live of it goes into the open flash page of the plane's GC stream.
    pub(super) fn pack<O: Observer>(&mut self, plane: u32, page: Ppn, store: &mut Store, nand: &mut Nand, observer: &mut O) -> Next {
        let mut full = None;
        for from in (page.0..page.0 + store.space.settings.units_per_page).map(Ppn) {
            if store.maps.live(from).is_none() {
                continue;
            }
            if store.has_failures() && store.is_lost_page(from) {
                self.give_up(plane, from, store);
                continue;
            }
            let Some((to, is_full)) = self.take_packed_page(plane, store, nand) else { return Next::Leaves };
            let cause = self.cause(plane);
            packed::count_unit(nand, plane, Action::Program, cause);
            let due = self.switch_moved(from, to, store, nand, observer);
            debug_assert_eq!(due, Due::Nothing, "its flash page is in the memory");
            full = if is_full { Some(to) } else { full };
        }
        let Some(page) = full else { return self.next(plane, store, nand) };
        self.wait_for_moves(plane, page, store);
        Next::Waits
    }

    /// The flash page is programmed that the run waits for.
    pub(crate) fn moves_are_programmed(&mut self, plane: u32, space: &Space) -> Next {
        let run = &mut self.runs[plane as usize];
        run.stage = GcStage::Moving;
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
