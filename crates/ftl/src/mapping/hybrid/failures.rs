//! What failures do to hybrid mapping: reservations that they break, and programs that wait for a page.

use super::state::{EMPTY, Hybrid, Instance, Logical};
use crate::space::Space;
use crate::space::blocks::NONE;
use flashraid_nand::Nand;
use flashraid_vocabulary::NIL;

impl Hybrid {
    /// Nothing of the instance lives: what was reserved in it is owed.
    pub(crate) fn forget_instance(&mut self, domain: u32, plane: u32, space: &Space) {
        let Instance { member, position, sequential, .. } = self.instances[domain as usize];
        let first = domain * self.per_instance;
        let index = |block: u16| space.blocks.index(plane, block);
        let in_sequence = if sequential == NONE { NIL } else { self.owner[index(sequential)] };
        for logical in first..first + self.per_instance {
            let Logical { data, reserved_log, unbacked, .. } = self.logical[logical as usize];
            let reservations = |block: u16| if block == NONE { 0 } else { self.reservations_in(index(block)) as u16 };
            let reserved = reservations(data) + if logical == in_sequence { reservations(sequential) } else { 0 } + reserved_log;
            self.logical[logical as usize] = Logical { unbacked: unbacked + reserved, ..EMPTY };
        }
        for block in 0..space.blocks.planes[plane as usize].blocks as u16 {
            self.forget_block(index(block));
        }
        self.instances[domain as usize] = Instance::new(member, position);
        self.merges[domain as usize] = Default::default();
    }

    /// Whether a program that is about to be queued for this slot has no page, as a failure broke its reservation. Then it is to get another one, and nothing is owed
    /// to it any more.
    pub(crate) fn takes_back_reservation(&mut self, slot: u32, space: &Space) -> bool {
        let spot = self.spot(slot, space);
        if self.reserved_block(spot, space).is_some() {
            return false;
        }
        let unbacked = &mut self.logical[spot.logical as usize].unbacked;
        let is_broken = *unbacked > 0;
        *unbacked -= u16::from(is_broken);
        is_broken
    }

    /// A failed program is to have another page.
    pub(crate) fn owe_page(&mut self, slot: u32, space: &Space) {
        let logical = self.logical_of(slot, space);
        self.logical[logical as usize].unbacked += 1;
    }

    /// A program waits for a page.
    pub(crate) fn wait_for_page(&mut self, program: u32) {
        self.waiting.push(program);
    }

    /// Takes all programs that wait for a page.
    pub(crate) fn take_all_waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes the programs that wait without a page in a domain; each is owed one.
    pub(crate) fn take_waiting(&mut self, domain: u32, space: &Space, nand: &Nand) -> Vec<u32> {
        let (taken, left) = self.take_all_waiting().into_iter().partition(|id| nand.record(*id).domain == domain);
        self.waiting = left;
        for &id in &taken {
            self.owe_page(nand.record(id).slot, space);
        }
        taken
    }
}
