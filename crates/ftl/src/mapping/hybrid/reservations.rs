//! Where pages of logical blocks may go, and reservations of such pages.

use super::{Hybrid, Instance, Logical, Spot};
use crate::Flash;
use crate::space::blocks::{BlockState, NONE};
use flashraid_vocabulary::{LocalPage, MemberId, MemberPage};

/// Where a page may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// To its offset in its data block, or in the sequential log block.
    Offset(u16),
    /// To its offset in a new data block.
    NewData,
    /// To its offset, the first, in a new sequential log block.
    NewSequential,
    /// To the next page of its log block, or of the shared ones.
    Log,
    /// To the first page of a new log block of its own.
    NewLog,
}

impl Flash {
    // ---- where pages belong ----

    /// Names the planes of each member's instances.
    pub(crate) fn form_instances(&mut self) {
        let planes = self.space.static_planes.len() as u32;
        for (member, position) in (0..self.members).flat_map(|member| (0..planes).map(move |position| (member, position))) {
            let domain = self.space.static_plane(MemberPage { member: MemberId(member as u16), page: LocalPage(position) });
            self.hybrid_mut().instances[domain as usize] = Instance::new(member, position);
        }
    }

    pub(crate) fn hybrid(&self) -> &Hybrid {
        self.hybrid.as_ref().expect("a device with log blocks")
    }

    pub(crate) fn hybrid_mut(&mut self) -> &mut Hybrid {
        self.hybrid.as_mut().expect("a device with log blocks")
    }

    pub(super) fn spot(&self, slot: u32) -> Spot {
        let address = self.address(slot);
        let (block, offset) = (address.page.0 / self.shape.pages_per_block, (address.page.0 % self.shape.pages_per_block) as u16);
        let domain = self.space.domain_of_block(address);
        Spot { domain, logical: domain * self.hybrid().per_instance + block / self.space.static_planes.len() as u32, offset }
    }

    pub(crate) fn logical_of(&self, slot: u32) -> u32 {
        self.spot(slot).logical
    }

    /// The slot of a page of a logical block, if there is one.
    pub(crate) fn slot_in(&self, logical: u32, offset: u32) -> Option<u32> {
        let per_instance = self.hybrid().per_instance;
        let Instance { member, position, .. } = self.hybrid().instances[(logical / per_instance) as usize];
        let page = (logical % per_instance * self.space.static_planes.len() as u32 + position) * self.shape.pages_per_block + offset;
        (page < self.settings.pages_per_member).then(|| MemberPage::new(member as u16, page).entry(self.members))
    }

    // ---- reservations ----

    /// Where a page may go now.
    fn place_for(&self, Spot { domain, logical, offset }: Spot) -> Option<Destination> {
        let hybrid = self.hybrid();
        let Logical { data, log, reserved_log, merging, .. } = hybrid.logical[logical as usize];
        let instance = &hybrid.instances[domain as usize];
        let plane = self.space.domains[domain as usize].plane;
        let index = |block: u16| self.space.blocks.index(plane, block);
        let left = |block: u16| self.shape.pages_per_block - u32::from(self.space.blocks.blocks[index(block)].written);
        if merging {
            return None;
        }
        if data == NONE {
            return Some(Destination::NewData);
        }
        if !hybrid.is_taken(index(data), offset) {
            return Some(Destination::Offset(data));
        }
        if !hybrid.shared {
            return match log {
                NONE if instance.logs < hybrid.most_logs => Some(Destination::NewLog),
                NONE => None,
                log => (u32::from(reserved_log) < left(log)).then_some(Destination::Log),
            };
        }
        let sequential = instance.sequential;
        if offset == 0 {
            // The former one may still have to be erased.
            return (sequential == NONE && !self.is_collecting(plane)).then_some(Destination::NewSequential);
        }
        if sequential != NONE && hybrid.owner[index(sequential)] == logical && instance.sequential_next == offset {
            return Some(Destination::Offset(sequential));
        }
        let open = if instance.newest == NONE { 0 } else { left(instance.newest) };
        let erased = hybrid.most_logs.saturating_sub(instance.logs + u32::from(sequential == NONE));
        let room = open + erased * self.shape.pages_per_block;
        (room > instance.reserved_random).then_some(Destination::Log)
    }

    #[cold]
    pub(crate) fn reserve_page(&mut self, slot: u32) -> bool {
        let spot = self.spot(slot);
        let Spot { domain, logical, offset } = spot;
        if !self.space.domain_is_alive(domain) {
            return false;
        }
        let Some(place) = self.place_for(spot) else {
            self.hybrid_mut().instances[domain as usize].starved = true;
            self.start_merge_for(spot);
            return false;
        };
        let plane = self.space.domains[domain as usize].plane;
        let block = match place {
            Destination::Offset(block) => block,
            Destination::NewData => {
                let data = self.open_block(plane, BlockState::Data, logical);
                self.hybrid_mut().logical[logical as usize].data = data;
                data
            }
            Destination::NewSequential => {
                let block = self.open_block(plane, BlockState::Log, logical);
                let instance = &mut self.hybrid_mut().instances[domain as usize];
                (instance.sequential, instance.sequential_next, instance.logs) = (block, 0, instance.logs + 1);
                block
            }
            Destination::NewLog => {
                let log = self.open_log(domain, logical);
                self.hybrid_mut().logical[logical as usize].log = log;
                NONE
            }
            Destination::Log => NONE,
        };
        let index = self.space.blocks.index(plane, block);
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        let (instance, state) = (&mut hybrid.instances[domain as usize], &mut hybrid.logical[logical as usize]);
        state.active += 1;
        if block == NONE {
            state.reserved_log += 1;
            instance.reserved_random += u32::from(hybrid.shared);
        } else {
            instance.sequential_next += u16::from(block == instance.sequential);
            let (word, bit) = hybrid.bit(index, offset);
            hybrid.taken[word] |= bit;
            hybrid.reserved[word] |= bit;
        }
        true
    }

    /// The block at an offset of which a page is reserved.
    pub(super) fn reserved_block(&self, Spot { domain, logical, offset }: Spot) -> Option<u16> {
        let hybrid = self.hybrid();
        let plane = self.space.domains[domain as usize].plane;
        let blocks = [hybrid.logical[logical as usize].data, hybrid.instances[domain as usize].sequential];
        blocks.into_iter().find(|block| {
            let index = self.space.blocks.index(plane, *block);
            *block != NONE && hybrid.owner[index] == logical && hybrid.is_reserved(index, offset)
        })
    }

    /// A reservation will not be used.
    pub(crate) fn cancel_reservation(&mut self, slot: u32) {
        let spot = self.spot(slot);
        let (plane, block) = (self.space.domains[spot.domain as usize].plane, self.reserved_block(spot));
        let index = block.map(|block| self.space.blocks.index(plane, block));
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        let state = &mut hybrid.logical[spot.logical as usize];
        match index {
            Some(index) => {
                let (word, bit) = hybrid.bit(index, spot.offset);
                hybrid.taken[word] &= !bit;
                hybrid.reserved[word] &= !bit;
                hybrid.in_order[index] = false; // of a sequential log block
            }
            None if state.unbacked > 0 => {
                state.unbacked -= 1;
                return;
            }
            None => {
                state.reserved_log -= 1;
                hybrid.instances[spot.domain as usize].reserved_random -= u32::from(hybrid.shared);
            }
        }
        self.less_active(spot);
    }

    /// An operation holds one page less of a logical block.
    pub(super) fn less_active(&mut self, Spot { domain, logical, .. }: Spot) {
        let hybrid = self.hybrid_mut();
        let active = &mut hybrid.logical[logical as usize].active;
        *active -= 1;
        if *active == 0 && hybrid.instances[domain as usize].starved {
            self.wake(domain);
        }
    }

    /// Whoever waits for a page of the domain may try again.
    pub(crate) fn wake(&mut self, domain: u32) {
        self.hybrid_mut().instances[domain as usize].starved = false;
        self.space.freed.push(domain);
        if !self.hybrid().waiting.is_empty() {
            self.place_waiting(domain);
        }
    }
}
