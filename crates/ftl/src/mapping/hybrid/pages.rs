//! Pages and blocks that programs and merges take: reserved pages, and the list of log blocks.

use super::state::{Hybrid, Spot};
use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use flashraid_vocabulary::{NIL, Ppn};

impl Hybrid {
    /// Takes the reserved page of a slot, for a program that starts. It stays pending.
    #[cold]
    pub(crate) fn take_reserved(&mut self, slot: u32, space: &mut Space) -> Ppn {
        let spot = self.spot(slot, space);
        let Spot { domain, logical, offset } = spot;
        let plane = space.domains[domain as usize].plane;
        let (block, page) = match self.reserved_block(spot, space) {
            Some(block) => {
                let (word, bit) = self.bit(space.blocks.index(plane, block), offset);
                self.reserved[word] &= !bit;
                (block, offset)
            }
            None => {
                let log = self.log_page(domain, logical, space);
                let index = space.blocks.index(plane, log);
                let page = space.blocks.blocks[index].written;
                self.in_order[index] &= page == offset;
                (log, page)
            }
        };
        let index = space.blocks.index(plane, block);
        let entry = &mut space.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(space.shape.first_ppn(index).0 + page)
    }

    /// The log block that takes a page now.
    fn log_page(&mut self, domain: u32, logical: u32, space: &mut Space) -> u16 {
        self.logical[logical as usize].reserved_log -= 1;
        if !self.shared {
            let log = self.logical[logical as usize].log;
            self.remove_log(domain, log, space);
            self.append_log(domain, log, space); // the most recently used
            return log;
        }
        let instance = &mut self.instances[domain as usize];
        instance.reserved_random -= 1;
        let (plane, newest) = (space.domains[domain as usize].plane, instance.newest);
        if newest != NONE && space.blocks.blocks[space.blocks.index(plane, newest)].written < space.shape.pages_per_block {
            return newest;
        }
        self.open_log(domain, NIL, space)
    }

    pub(super) fn open_log(&mut self, domain: u32, owner: u32, space: &mut Space) -> u16 {
        let log = self.open_block(space.domains[domain as usize].plane, BlockState::Log, owner, space);
        self.append_log(domain, log, space);
        self.instances[domain as usize].logs += 1;
        log
    }

    /// Takes an erased block.
    pub(crate) fn open_block(&mut self, plane: u32, state: BlockState, owner: u32, space: &mut Space) -> u16 {
        let block = space.blocks.take_free(plane, state);
        let index = space.blocks.index(plane, block);
        (self.owner[index], self.in_order[index]) = (owner, true);
        block
    }

    fn append_log(&mut self, domain: u32, log: u16, space: &mut Space) {
        let blocks = space.blocks.of_plane(space.domains[domain as usize].plane);
        let instance = &mut self.instances[domain as usize];
        let last = std::mem::replace(&mut instance.newest, log);
        match last {
            NONE => instance.oldest = log,
            last => blocks[usize::from(last)].next = log,
        }
        let entry = &mut blocks[usize::from(log)];
        (entry.previous, entry.next) = (last, NONE);
    }

    pub(crate) fn remove_log(&mut self, domain: u32, log: u16, space: &mut Space) {
        let blocks = space.blocks.of_plane(space.domains[domain as usize].plane);
        let (previous, next) = (blocks[usize::from(log)].previous, blocks[usize::from(log)].next);
        let instance = &mut self.instances[domain as usize];
        match previous {
            NONE => instance.oldest = next,
            block => blocks[usize::from(block)].next = next,
        }
        match next {
            NONE => instance.newest = previous,
            block => blocks[usize::from(block)].previous = previous,
        }
    }

    /// The operation of a programmed page has ended, or its page counts for nothing. Returns its domain if somebody is to be woken there.
    #[cold]
    pub(crate) fn page_settled(&mut self, slot: u32, ppn: Ppn, space: &Space) -> Option<u32> {
        // What a failure took was forgotten with its plane.
        let is_known = space.blocks.blocks[space.shape.block_of(ppn)].state != BlockState::Retired;
        if is_known { self.less_active(self.spot(slot, space)) } else { None }
    }
}
