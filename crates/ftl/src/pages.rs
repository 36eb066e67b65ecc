//! What NAND asks of an SSD, and tells it.

use crate::Flash;
use crate::gc::state::Next;
use crate::space::Space;
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use crate::space::streams::WriteStream;
use flashraid_nand::{BlockFacts, Nand, Pages, Record, Timer, WorkKind};
use flashraid_vocabulary::{Observer, Ppn};

impl BlockFacts for Space {
    #[inline(always)]
    fn has_page(&self, domain: u32) -> bool {
        self.domains[domain as usize].free_pages > 0
    }

    fn next_offset(&self, plane: u32) -> u32 {
        self.blocks.next_offset(plane, WriteStream::HOST)
    }

    fn erases(&self, block: usize) -> u32 {
        self.blocks.erases[block]
    }
}

impl Pages for Flash {
    type Blocks = Space;

    #[inline(always)]
    fn nand(&self) -> &Nand {
        &self.nand
    }

    #[inline(always)]
    fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    #[inline(always)]
    fn blocks(&self) -> &Space {
        &self.store.space
    }

    #[inline(always)]
    fn page_for(&mut self, record: u32, plane: u32) -> Ppn {
        let Record { domain, slot, version, .. } = *self.nand.record(record);
        let space = &mut self.store.space;
        self.store.maps.prefetch(slot); // for the end of the program
        let ppn = match &mut self.hybrid {
            Some(hybrid) => hybrid.take_reserved(slot, space),
            None => space.take_host_page(&mut self.nand, plane, WriteStream::HOST),
        };
        space.note_program(&mut self.nand, ppn);
        space.domains[domain as usize].reserved -= 1;
        self.store.maps.label(ppn, version, slot);
        ppn
    }

    fn page_for_move(&mut self, record: u32) -> Option<Ppn> {
        let Record { plane, work, lun, .. } = *self.nand.record(record);
        let page = if self.hybrid.is_some() {
            self.gc.is_collecting(plane).then(|| self.merging().page(plane))
        } else {
            let retires = self.gc.runs[plane as usize].retires;
            self.store.space.take_move_page(&mut self.nand, plane, WriteStream::GC, self.store.faults.any, retires)
        };
        match page {
            Some(ppn) if work == WorkKind::MoveProgram => self.store.space.note_program(&mut self.nand, ppn),
            Some(_) => {}
            None => {
                self.nand.remove_record(record);
                self.nand.refresh_want(lun);
                self.carry_out(plane, Next::Leaves);
            }
        }
        page
    }

    #[inline(always)]
    fn program_started(&mut self, plane: u32) {
        self.attend(Due::Program(plane));
    }

    #[inline(always)]
    fn ended<O: Observer>(&mut self, record: u32, observer: &mut O) {
        let Record { work, ppn, cause, .. } = *self.nand.record(record);
        match work {
            WorkKind::Read | WorkKind::Program => {
                self.gc.dismiss(cause, &self.store.space);
                if work == WorkKind::Read {
                    self.deliver(record);
                }
                let mut failed = false;
                if self.store.has_failures() {
                    let due;
                    (failed, due) = self.store.has_failed(*self.nand.record(record), &mut self.nand);
                    self.attend(due);
                }
                self.nand.complete(record, failed);
            }
            WorkKind::PageProgram => {
                self.nand.remove_record(record);
                self.program_unit_ended(Ppn(ppn), observer);
            }
            _ => self.gc_work_ended(record, observer),
        }
    }

    /// The page is lost. Its block takes no more programs before it is erased; if it is so worn that the level of its pages would be too high as soon as
    /// they are programmed, it is retired as after a failed program.
    fn uncorrectable(&mut self, ppn: Ppn) {
        let (block, plane) = (self.store.space.shape.block_of(ppn), self.store.space.shape.plane_of(ppn));
        if self.store.space.blocks.blocks[block].state == BlockState::Retired {
            return;
        }
        self.store.lose_readability(ppn);
        if self.store.is_too_worn_to_read(block, &self.nand) {
            let due = self.store.doom(block, &mut self.nand);
            self.attend(due);
            self.attend(Due::Draining(plane));
        } else if self.store.seal(block, &mut self.nand) {
            if self.store.space.blocks.blocks[block].pending == 0 {
                let due = self.store.space.list(block);
                self.attend(due);
            }
            self.attend(Due::Collection(plane));
        }
    }

    fn timer_due<O: Observer>(&mut self, timer: Timer, observer: &mut O) {
        match timer {
            Timer::Idle => {
                if self.gc.idle_time_begins(self.store.memory.as_deref(), &self.store.space.settings, &mut self.nand) {
                    for plane in 0..self.store.space.planes() {
                        let next = self.gc.collect_when_idle(plane, &mut self.store, &mut self.nand);
                        self.carry_out(plane, next);
                    }
                }
            }
            Timer::Memory => self.memory_served(observer),
            Timer::Padding => {
                if let Some(domain) = self.store.take_deadline() {
                    self.pad_what_must_be(domain);
                }
                self.store.wait_to_pad(&mut self.nand);
            }
        }
    }
}
