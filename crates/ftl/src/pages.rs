//! What NAND asks of an SSD, and tells it.

use crate::Flash;
use crate::memory;
use crate::space::blocks::{BlockState, WriteStream};
use flashraid_nand::{Nand, Pages, Record, Timer, WorkKind};
use flashraid_vocabulary::{Observer, Ppn};

impl Pages for Flash {
    #[inline(always)]
    fn nand(&self) -> &Nand {
        &self.nand
    }

    #[inline(always)]
    fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    #[inline(always)]
    fn has_page(&self, domain: u32) -> bool {
        self.space.domains[domain as usize].free_pages > 0
    }

    fn next_offset(&self, plane: u32) -> u32 {
        self.space.blocks.next_offset(plane, WriteStream::Host)
    }

    #[inline(always)]
    fn page_for(&mut self, record: u32, plane: u32) -> Ppn {
        let Record { domain, slot, version, .. } = *self.nand.record(record);
        self.maps.prefetch(slot); // for the end of the program
        let ppn = if self.hybrid.is_some() { self.take_reserved(slot) } else { self.space.take_host_page(&mut self.nand, plane) };
        self.note_program(ppn);
        self.space.domains[domain as usize].reserved -= 1;
        self.maps.label(ppn, version, slot);
        ppn
    }

    fn page_for_move(&mut self, record: u32) -> Option<Ppn> {
        let Record { plane, work, .. } = *self.nand.record(record);
        let page = self.take_move_page(plane);
        match page {
            Some(ppn) if work == WorkKind::MoveProgram => self.note_program(ppn),
            Some(_) => {}
            None => self.move_finds_no_page(record),
        }
        page
    }

    #[inline]
    fn program_started(&mut self, plane: u32) {
        self.collect_if_low(plane);
    }

    #[inline(always)]
    fn ended<O: Observer>(&mut self, record: u32, observer: &mut O) {
        let Record { work, ppn, cause, .. } = *self.nand.record(record);
        match work {
            WorkKind::Read | WorkKind::Program => {
                self.dismiss(cause);
                if work == WorkKind::Read {
                    self.read_ended(Ppn(ppn));
                }
                let failed = self.has_failures() && self.has_failed(record);
                self.nand.complete(record, failed);
            }
            WorkKind::PageProgram => {
                self.nand.remove_record(record);
                memory::programmed(self, Ppn(ppn), observer);
            }
            _ => self.gc_work_ended(record, observer),
        }
    }

    /// The page is lost. Its block takes no more programs before it is erased; if it is so worn that the level of its pages would be too high as soon as
    /// they are programmed, it is retired as after a failed program.
    fn uncorrectable(&mut self, ppn: Ppn) {
        let block = self.shape.block_of(ppn);
        if self.space.blocks.blocks[block].state == BlockState::Retired {
            return;
        }
        self.faults.any = true;
        // Whoever reads it at the same time finds the same.
        let units = self.settings.units_per_page;
        let first = ppn.0 - ppn.0 % units;
        for ppn in (first..first + units).map(Ppn) {
            if self.faults.unreadable.insert(ppn.0)
                && let Some((version, slot)) = self.maps.live(ppn)
            {
                let page = self.address(slot);
                self.faults.untold.push((page, version));
            }
        }
        if self.is_too_worn_to_read(block) {
            self.doom(block);
            self.drain_doomed(self.shape.plane_of(ppn));
        } else {
            self.seal(block);
        }
    }

    fn erases(&self, block: usize) -> u32 {
        self.space.blocks.erases[block]
    }

    fn timer_due<O: Observer>(&mut self, timer: Timer, observer: &mut O) {
        match timer {
            Timer::Idle => self.idle_timer_event(),
            Timer::Memory => memory::served(self, observer),
            Timer::Padding => memory::padding_due(self),
        }
    }
}

impl Flash {
    /// A program of the page starts.
    #[inline]
    pub(crate) fn note_program(&mut self, ppn: Ppn) {
        let now_ns = self.nand.now_ns();
        if let Some(levels) = self.nand.levels_mut() {
            let block = self.shape.block_of(ppn);
            if self.space.blocks.blocks[block].written == 1 {
                levels.note_first_program(block, now_ns);
            }
        }
    }

    /// Whether pages of the block cannot be corrected as soon as they are programmed.
    fn is_too_worn_to_read(&self, block: usize) -> bool {
        self.nand.levels().is_some_and(|levels| levels.is_worn_out(block, self.space.blocks.erases[block]))
    }

    /// Whether the erase of a block retires it: a page of it was lost, as all pages of it would be.
    pub(crate) fn is_too_worn(&self, first: Ppn) -> bool {
        self.is_too_worn_to_read(self.shape.block_of(first))
            && self.faults.unreadable.range(first.0..first.0 + self.shape.pages_per_block).next().is_some()
    }
}
