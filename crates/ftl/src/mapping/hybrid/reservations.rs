//! Where pages of logical blocks may go, and reservations of such pages.

use super::state::{Hybrid, Instance, Logical, Spot};
use crate::space::Space;
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

/// What came of an attempt to reserve a page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reserved {
    /// It is reserved.
    Granted,
    /// Nothing of its instance lives.
    Dead,
    /// There is none: a merge may free space for it.
    Full(Spot),
}

impl Hybrid {
    // ---- where pages belong ----

    /// Names the planes of each member's instances.
    pub(crate) fn form_instances(&mut self, space: &Space) {
        let planes = space.static_planes.len() as u32;
        for (member, position) in (0..space.members).flat_map(|member| (0..planes).map(move |position| (member, position))) {
            let domain = space.static_plane(MemberPage { member: MemberId(member as u16), page: LocalPage(position) });
            self.instances[domain as usize] = Instance::new(member, position);
        }
    }

    pub(super) fn spot(&self, slot: u32, space: &Space) -> Spot {
        let address = MemberPage::of_entry(slot, space.members);
        let pages = space.shape.pages_per_block;
        let (block, offset) = (address.page.0 / pages, address.page.0 % pages);
        let domain = space.domain_of_block(address);
        Spot { domain, logical: domain * self.per_instance + block / space.static_planes.len() as u32, offset }
    }

    pub(crate) fn logical_of(&self, slot: u32, space: &Space) -> u32 {
        self.spot(slot, space).logical
    }

    /// The slot of a page of a logical block, if there is one.
    pub(crate) fn slot_in(&self, logical: u32, offset: u32, space: &Space) -> Option<u32> {
        let Instance { member, position, .. } = self.instances[(logical / self.per_instance) as usize];
        let block = logical % self.per_instance * space.static_planes.len() as u32 + position;
        let page = block * space.shape.pages_per_block + offset;
        (page < space.settings.pages_per_member).then(|| MemberPage::new(member as u16, page).entry(space.members))
    }

    // ---- reservations ----

    /// Where a page may go now.
    fn place_for(&self, Spot { domain, logical, offset }: Spot, is_merging: bool, space: &Space) -> Option<Destination> {
        let Logical { data, log, reserved_log, merging, .. } = self.logical[logical as usize];
        let instance = &self.instances[domain as usize];
        let plane = space.domains[domain as usize].plane;
        let index = |block: u16| space.blocks.index(plane, block);
        let left = |block: u16| space.shape.pages_per_block - space.blocks.blocks[index(block)].written;
        if merging {
            return None;
        }
        if data == NONE {
            return Some(Destination::NewData);
        }
        if !self.is_taken(index(data), offset) {
            return Some(Destination::Offset(data));
        }
        if !self.shared {
            return match log {
                NONE if instance.logs < self.most_logs => Some(Destination::NewLog),
                NONE => None,
                log => (u32::from(reserved_log) < left(log)).then_some(Destination::Log),
            };
        }
        let sequential = instance.sequential;
        if offset == 0 {
            // The former one may still have to be erased.
            return (sequential == NONE && !is_merging).then_some(Destination::NewSequential);
        }
        if sequential != NONE && self.owner[index(sequential)] == logical && u32::from(instance.sequential_next) == offset {
            return Some(Destination::Offset(sequential));
        }
        let open = if instance.newest == NONE { 0 } else { left(instance.newest) };
        let erased = self.most_logs.saturating_sub(instance.logs + u32::from(sequential == NONE));
        let room = open + erased * space.shape.pages_per_block;
        (room > instance.reserved_random).then_some(Destination::Log)
    }

    /// Reserves a page for a program of this slot, if there is one. `is_merging` says of a plane whether a merge runs there.
    #[cold]
    pub(crate) fn reserve(&mut self, slot: u32, is_merging: impl Fn(u32) -> bool, space: &mut Space) -> Reserved {
        let spot = self.spot(slot, space);
        let Spot { domain, logical, offset } = spot;
        if !space.domain_is_alive(domain) {
            return Reserved::Dead;
        }
        let plane = space.domains[domain as usize].plane;
        let Some(place) = self.place_for(spot, is_merging(plane), space) else {
            self.instances[domain as usize].starved = true;
            return Reserved::Full(spot);
        };
        let block = match place {
            Destination::Offset(block) => block,
            Destination::NewData => {
                let data = self.open_block(plane, BlockState::Data, logical, space);
                self.logical[logical as usize].data = data;
                data
            }
            Destination::NewSequential => {
                let block = self.open_block(plane, BlockState::Log, logical, space);
                let instance = &mut self.instances[domain as usize];
                (instance.sequential, instance.sequential_next, instance.logs) = (block, 0, instance.logs + 1);
                block
            }
            Destination::NewLog => {
                let log = self.open_log(domain, logical, space);
                self.logical[logical as usize].log = log;
                NONE
            }
            Destination::Log => NONE,
        };
        let (instance, state) = (&mut self.instances[domain as usize], &mut self.logical[logical as usize]);
        state.active += 1;
        if block == NONE {
            state.reserved_log += 1;
            instance.reserved_random += u32::from(self.shared);
        } else {
            instance.sequential_next += u16::from(block == instance.sequential);
            let (word, bit) = self.bit(space.blocks.index(plane, block), offset);
            self.taken[word] |= bit;
            self.reserved[word] |= bit;
        }
        Reserved::Granted
    }

    /// Whether a page would be reserved for this slot at once, or when a merge has made room: one runs, or may begin, as none of the domain was put off.
    pub(crate) fn may_have_place(&self, slot: u32, is_merging: impl Fn(u32) -> bool, space: &Space) -> bool {
        let spot = self.spot(slot, space);
        let merges = is_merging(space.domains[spot.domain as usize].plane);
        merges || !self.instances[spot.domain as usize].starved || self.place_for(spot, merges, space).is_some()
    }

    /// The block at an offset of which a page is reserved.
    pub(super) fn reserved_block(&self, Spot { domain, logical, offset }: Spot, space: &Space) -> Option<u16> {
        let plane = space.domains[domain as usize].plane;
        let blocks = [self.logical[logical as usize].data, self.instances[domain as usize].sequential];
        blocks.into_iter().find(|block| {
            let index = space.blocks.index(plane, *block);
            *block != NONE && self.owner[index] == logical && self.is_reserved(index, offset)
        })
    }

    /// A reservation will not be used. Returns its domain if somebody is to be woken there.
    pub(crate) fn cancel(&mut self, slot: u32, space: &Space) -> Option<u32> {
        let spot = self.spot(slot, space);
        let (plane, block) = (space.domains[spot.domain as usize].plane, self.reserved_block(spot, space));
        let state = &mut self.logical[spot.logical as usize];
        match block {
            Some(block) => {
                let index = space.blocks.index(plane, block);
                let (word, bit) = self.bit(index, spot.offset);
                self.taken[word] &= !bit;
                self.reserved[word] &= !bit;
                self.in_order[index] = false; // of a sequential log block
            }
            None if state.unbacked > 0 => {
                state.unbacked -= 1;
                return None;
            }
            None => {
                state.reserved_log -= 1;
                self.instances[spot.domain as usize].reserved_random -= u32::from(self.shared);
            }
        }
        self.less_active(spot)
    }

    /// An operation holds one page less of a logical block. Returns its domain if somebody is to be woken there (`wake`).
    pub(super) fn less_active(&mut self, Spot { domain, logical, .. }: Spot) -> Option<u32> {
        let active = &mut self.logical[logical as usize].active;
        *active -= 1;
        (*active == 0 && self.instances[domain as usize].starved).then_some(domain)
    }

    /// Whoever waits for a page of the domain may try again. Returns whether programs wait, too: only after failures.
    pub(crate) fn wake(&mut self, domain: u32, space: &mut Space) -> bool {
        self.instances[domain as usize].starved = false;
        space.news.free(domain);
        !self.waiting.is_empty()
    }
}
