//! What failures do to hybrid mapping: reservations that they break, and programs may wait for a page.

use super::state::EMPTY;
use super::{Instance, Logical};
use crate::Flash;
use crate::space::blocks::NONE;
use flashraid_nand::{NIL, Record};

impl Flash {
    /// Nothing of the instance lives: what was reserved in it is owed.
    pub(crate) fn forget_instance(&mut self, domain: u32, plane: u32) {
        let Instance { member, position, sequential, .. } = self.hybrid().instances[domain as usize];
        let first = domain * self.hybrid().per_instance;
        let in_sequence = if sequential == NONE { NIL } else { self.hybrid().owner[self.space.blocks.index(plane, sequential)] };
        for logical in first..first + self.hybrid().per_instance {
            let Logical { data, reserved_log, unbacked, .. } = self.hybrid().logical[logical as usize];
            let reservations =
                |block: u16| if block == NONE { 0 } else { self.hybrid().reservations_in(self.space.blocks.index(plane, block)) as u16 };
            let reserved = reservations(data) + if logical == in_sequence { reservations(sequential) } else { 0 } + reserved_log;
            self.hybrid_mut().logical[logical as usize] = Logical { unbacked: unbacked + reserved, ..EMPTY };
        }
        for block in 0..self.space.blocks.planes[plane as usize].blocks as u16 {
            let index = self.space.blocks.index(plane, block);
            self.hybrid_mut().forget_block(index);
        }
        let hybrid = self.hybrid_mut();
        hybrid.instances[domain as usize] = Instance::new(member, position);
        hybrid.merges[domain as usize] = Default::default();
    }

    /// Whether a program that is about to be queued has its page. One whose promise a failure broke gets another, or waits for it.
    pub(crate) fn keeps_reservation(&mut self, id: u32) -> bool {
        let spot = self.spot(self.nand.record(id).slot);
        if self.reserved_block(spot).is_some() {
            return true;
        }
        let unbacked = &mut self.hybrid_mut().logical[spot.logical as usize].unbacked;
        if *unbacked == 0 {
            return true;
        }
        *unbacked -= 1;
        let is_reserved = self.reserve_page(self.nand.record(id).slot);
        if !is_reserved {
            self.hybrid_mut().waiting.push(id);
        }
        is_reserved
    }

    /// A failed program is to have another page.
    pub(crate) fn owe_page(&mut self, slot: u32) {
        let logical = self.logical_of(slot);
        self.hybrid_mut().logical[logical as usize].unbacked += 1;
    }

    #[cold]
    pub(super) fn place_waiting(&mut self, domain: u32) {
        let waiting = std::mem::take(&mut self.hybrid_mut().waiting);
        for id in waiting {
            let Record { slot, domain: of, .. } = *self.nand.record(id);
            if of == domain && self.reserve_page(slot) {
                self.bind_program(id);
            } else {
                self.hybrid_mut().waiting.push(id);
            }
        }
    }

    /// Takes the programs that wait without a page in a domain; each is owed one.
    pub(crate) fn take_waiting(&mut self, domain: u32) -> Vec<u32> {
        let waiting = std::mem::take(&mut self.hybrid_mut().waiting);
        let (taken, left) = waiting.into_iter().partition(|id| self.nand.record(*id).domain == domain);
        self.hybrid_mut().waiting = left;
        for &id in &taken {
            self.owe_page(self.nand.record(id).slot);
        }
        taken
    }
}
