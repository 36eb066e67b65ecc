//! GC where a program unit has several pages of the map (SPEC 8.1 (i)): it reads each flash page once, those of a read group together, and packs what is live of
//! them into others.
//!
//! In one die a run reads a group, and waits for each program unit that it fills. In a superblock it reads ahead what a program unit of each lane has room for, and
//! has as many programmed at once (SPEC 8.12).

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
        if has_most_programs(plane, store) {
            self.runs[plane as usize].stage = GcStage::Programming;
            return Next::Waits;
        }
        let Gc { victim, mut cursor, mut move_semivalid, .. } = self.runs[plane as usize];
        let (block, units) = (store.space.blocks.index(plane, victim), store.space.settings.units_per_read());
        let first = store.space.shape.first_ppn(block).0;
        while store.space.blocks.blocks[block].live > 0 {
            let reading = self.runs[plane as usize].reading;
            if reading > 0 && (reading >= most_reads(&store.space) || cursor == store.space.shape.pages_per_block) {
                self.runs[plane as usize].cursor = cursor;
                return Next::Waits;
            }
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
            if cursor.is_multiple_of(units) {
                let group = first + cursor - units;
                self.read(plane, group..group + units, store, nand);
                let state = &mut self.runs[plane as usize];
                (state.stage, state.move_semivalid) = (GcStage::Moving, false);
            }
        }
        if self.runs[plane as usize].reading > 0 { Next::Waits } else { self.moved_all(plane, store, nand) }
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
                let lun = nand.places().lun_of_page(plane, Ppn(first));
                (0..live).for_each(|_| packed::count_unit(nand, lun, Action::Read, cause));
                let whole = settings.given.transfer == Transfer::Page;
                let bytes = if whole { settings.units_per_page } else { live } * settings.geometry.page_bytes;
                packed::queue_read_of_gc(nand, plane, Ppn(first), bytes, cause, priority);
            }
        }
    }

    /// GC has read a flash page: what is live of it goes into the open program unit of the plane's GC stream. Then the run goes on, or waits for others that it reads,
    /// or for program units that have become full.
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
            let victim = self.runs[plane as usize].victim;
            let Some(to) = self.take_packed_page(plane, victim, store, nand) else { return self.find_no_page(plane, page, store) };
            let (cause, lun) = (self.cause(plane), nand.places().lun_of_page(plane, to));
            packed::count_unit(nand, lun, Action::Program, cause);
            store.space.blocks.note_folded(store.space.shape.block_of(from));
            let due = self.switch_moved(from, to, store, nand, observer);
            debug_assert_eq!(due, Due::Nothing, "its flash page is in the memory");
        }
        let Gc { victim, stage, reading, .. } = self.runs[plane as usize];
        match stage {
            GcStage::Asking => Next::Waits,
            // What it had begun to read was all that it owed, and all that was live.
            GcStage::Resting if reading == 0 && store.space.blocks.blocks[store.space.blocks.index(plane, victim)].live == 0 => {
                self.go_on(plane, nand)
            }
            GcStage::Resting => Next::Waits,
            _ => self.next(plane, store, nand),
        }
    }

    /// Whether the run waits for flash pages that are read or programmed, or until it is told to go on.
    fn waits(&mut self, plane: u32, store: &Store) -> bool {
        let run = &mut self.runs[plane as usize];
        if run.reading > 0 || matches!(run.stage, GcStage::Resting | GcStage::Asking) {
            return true;
        }
        let waits = has_most_programs(plane, store);
        if waits {
            run.stage = GcStage::Programming;
        }
        waits
    }

    /// There is no page for what was read: the run ends, or reads the group again when the rest of it has come.
    #[cold]
    fn find_no_page(&mut self, plane: u32, page: Ppn, store: &Store) -> Next {
        if !self.waits(plane, store) {
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
        Some(match (self.waits(plane, store), block_is_lost) {
            (true, _) => Next::Waits,
            (false, true) => Next::Retires,
            (false, false) => Next::GoesOn,
        })
    }

    /// What is still live of the group of this page is read again.
    fn read_again(&mut self, plane: u32, page: Ppn, store: &Store) {
        let run = &mut self.runs[plane as usize];
        let offset = page.0 - store.space.shape.first_ppn(store.space.blocks.index(plane, run.victim)).0;
        run.cursor = run.cursor.min(offset - offset % store.space.settings.units_per_read());
    }

    /// A program unit of the plane's GC stream is programmed: the run goes on if it waits for that.
    pub(crate) fn moves_are_programmed(&mut self, plane: u32, store: &Store) -> Next {
        let run = &mut self.runs[plane as usize];
        if run.stage != GcStage::Programming || has_most_programs(plane, store) {
            return Next::Waits;
        }
        run.stage = GcStage::Moving;
        let victim = &store.space.blocks.blocks[store.space.blocks.index(plane, run.victim)];
        match victim.state {
            BlockState::Retired if run.reading > 0 => Next::Waits,
            BlockState::Retired => Next::Retires,
            _ => Next::GoesOn,
        }
    }

    /// Takes the next page of the GC stream of a victim, for what GC moves of it. If its program unit is full then, it is programmed.
    pub(crate) fn take_packed_page(&self, plane: u32, victim: u16, store: &mut Store, nand: &mut Nand) -> Option<Ppn> {
        let retires = self.runs[plane as usize].retires;
        let Store { space, memory, faults, .. } = store;
        let stream = space.blocks.gc_stream_of(space.blocks.index(plane, victim));
        let ppn = space.take_move_page(nand, plane, stream, faults.any, retires)?;
        space.note_program(nand, ppn);
        let (cause, priority) = self.class(plane, space);
        let memory = memory.as_mut().expect("flash pages have several pages");
        if memory.fill(ppn, (cause, priority), true, space) + 1 == memory.units() {
            memory.close(ppn, Some(priority), self.is_untimed, space, nand);
        }
        Some(ppn)
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
        let stream = space.blocks.gc_stream_of(space.blocks.index(plane, self.runs[plane as usize].victim));
        memory.pad_gc((plane, stream), priority, self.is_untimed, space, nand);
        let waits = memory.programs_of_gc(plane) > 0;
        if waits {
            self.runs[plane as usize].stage = GcStage::Programming;
        }
        waits
    }
}

/// Flash pages that a run reads ahead at most; in one die it reads one group at a time.
fn most_reads(space: &Space) -> u32 {
    if space.shape.lanes == 1 { 1 } else { space.shape.lanes * space.settings.given.program_pages }
}

/// Whether as many program units of the plane's GC stream are being programmed as may be at once: one for each lane.
fn has_most_programs(plane: u32, store: &Store) -> bool {
    store.memory.as_ref().is_some_and(|memory| memory.programs_of_gc(plane) >= store.space.shape.lanes)
}
