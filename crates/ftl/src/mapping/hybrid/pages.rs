//! Pages and blocks that programs and merges take: reserved pages, and the list of log blocks.

use super::Spot;
use crate::Flash;
use crate::space::blocks::{BlockState, NONE};
use flashraid_nand::NIL;
use flashraid_vocabulary::Ppn;

impl Flash {
    /// Takes the reserved page of a slot, for a program that starts. It stays pending.
    #[cold]
    pub(crate) fn take_reserved(&mut self, slot: u32) -> Ppn {
        let spot = self.spot(slot);
        let Spot { domain, logical, offset } = spot;
        let plane = self.space.domains[domain as usize].plane;
        let (block, page) = match self.reserved_block(spot) {
            Some(block) => {
                let index = self.space.blocks.index(plane, block);
                let (word, bit) = self.hybrid().bit(index, offset);
                self.hybrid_mut().reserved[word] &= !bit;
                (block, offset)
            }
            None => {
                let log = self.log_page(domain, logical);
                let index = self.space.blocks.index(plane, log);
                let page = self.space.blocks.blocks[index].written;
                self.hybrid_mut().in_order[index] &= page == offset;
                (log, page)
            }
        };
        let index = self.space.blocks.index(plane, block);
        let entry = &mut self.space.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(self.shape.first_ppn(index).0 + u32::from(page))
    }

    /// The log block that takes a page now.
    fn log_page(&mut self, domain: u32, logical: u32) -> u16 {
        let hybrid = self.hybrid_mut();
        hybrid.logical[logical as usize].reserved_log -= 1;
        if !hybrid.shared {
            let log = hybrid.logical[logical as usize].log;
            self.remove_log(domain, log);
            self.append_log(domain, log); // the most recently used
            return log;
        }
        hybrid.instances[domain as usize].reserved_random -= 1;
        let (plane, newest) = (self.space.domains[domain as usize].plane, self.hybrid().instances[domain as usize].newest);
        if newest != NONE
            && u32::from(self.space.blocks.blocks[self.space.blocks.index(plane, newest)].written) < self.shape.pages_per_block
        {
            return newest;
        }
        self.open_log(domain, NIL)
    }

    pub(super) fn open_log(&mut self, domain: u32, owner: u32) -> u16 {
        let log = self.open_block(self.space.domains[domain as usize].plane, BlockState::Log, owner);
        self.append_log(domain, log);
        self.hybrid_mut().instances[domain as usize].logs += 1;
        log
    }

    /// Takes an erased block.
    pub(crate) fn open_block(&mut self, plane: u32, state: BlockState, owner: u32) -> u16 {
        let block = self.space.blocks.take_free(plane, state);
        let index = self.space.blocks.index(plane, block);
        let hybrid = self.hybrid_mut();
        (hybrid.owner[index], hybrid.in_order[index]) = (owner, true);
        block
    }

    fn append_log(&mut self, domain: u32, log: u16) {
        let plane = self.space.domains[domain as usize].plane;
        let instance = &mut self.hybrid.as_mut().expect("a device with log blocks").instances[domain as usize];
        let last = std::mem::replace(&mut instance.newest, log);
        match last {
            NONE => instance.oldest = log,
            last => self.space.blocks.of_plane(plane)[usize::from(last)].next = log,
        }
        let entry = &mut self.space.blocks.of_plane(plane)[usize::from(log)];
        (entry.previous, entry.next) = (last, NONE);
    }

    pub(crate) fn remove_log(&mut self, domain: u32, log: u16) {
        let plane = self.space.domains[domain as usize].plane;
        let blocks = self.space.blocks.of_plane(plane);
        let (previous, next) = (blocks[usize::from(log)].previous, blocks[usize::from(log)].next);
        let instance = &mut self.hybrid.as_mut().expect("a device with log blocks").instances[domain as usize];
        match previous {
            NONE => instance.oldest = next,
            block => blocks[usize::from(block)].next = next,
        }
        match next {
            NONE => instance.newest = previous,
            block => blocks[usize::from(block)].previous = previous,
        }
    }

    /// The operation of a programmed page has ended, or its page counts for nothing.
    #[cold]
    pub(crate) fn page_settled(&mut self, slot: u32, ppn: Ppn) {
        // What a failure took was forgotten with its plane.
        if self.space.blocks.blocks[self.shape.block_of(ppn)].state != BlockState::Retired {
            self.less_active(self.spot(slot));
        }
    }
}
