//! What is in the memory, and what waits for it.

use flashraid_nand::{NEVER, NIL};
use flashraid_vocabulary::memory::zeroed;
use flashraid_vocabulary::{Cause, Ppn, Priority};
use std::collections::VecDeque;

/// A flash page of which pages are in the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Which one, on flash.
    pub(super) page: u32,
    /// Cause and service class of its first page.
    pub(super) cause: Cause,
    pub(super) priority: Priority,
    /// How many were opened before it.
    pub(super) number: u64,
    /// Pages of it that are taken, padding included.
    pub(super) taken: u32,
    /// Whether GC fills it: then it takes none of the room.
    pub(super) is_of_gc: bool,
    /// Its program was queued.
    pub(super) is_queued: bool,
    /// It cannot be programmed where it is: what is needed of it goes elsewhere.
    pub(super) must_move: bool,
    /// That is done, and its program has not ended.
    pub(super) is_gone: bool,
}

/// The flash pages that are held, found by their numbers on flash.
#[derive(Clone, Debug)]
pub(super) struct HeldPages {
    /// By flash page, its place in the list, from 1 on; 0 if it is not held.
    pub(super) places: Vec<u32>,
    pub(super) list: Vec<Held>,
    /// Places of the list that are free, from 1 on.
    pub(super) free: Vec<u32>,
}

impl HeldPages {
    #[inline(always)]
    pub(super) fn get(&self, page: u32) -> Option<&Held> {
        self.list.get((self.places[page as usize] as usize).wrapping_sub(1))
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, page: u32) -> Option<&mut Held> {
        self.list.get_mut((self.places[page as usize] as usize).wrapping_sub(1))
    }

    pub(super) fn insert(&mut self, held: Held) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.list.push(held);
            self.list.len() as u32
        });
        self.list[place as usize - 1] = held;
        self.places[held.page as usize] = place;
    }

    pub(super) fn remove(&mut self, page: u32) -> Option<Held> {
        let place = std::mem::take(&mut self.places[page as usize]);
        let held = *self.list.get((place as usize).wrapping_sub(1))?;
        self.free.push(place);
        Some(held)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.list.iter().filter(|held| self.get(held.page).is_some_and(|there| std::ptr::eq(there, *held)))
    }
}

/// A flush that waits for what was in the memory when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    pub(super) owner: u32,
    /// The flash pages that were opened before this many.
    pub(super) before: u64,
    /// How many of them are not programmed, without those that the flush before it waits for.
    pub(super) left: u32,
}

/// What the memory is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Pages of the map for which it has room. Work in no simulated time, and what failures have driven out of their places, may take more.
    pub pages: u32,
    /// How long a read from it takes.
    pub read_ns: u64,
    /// Whether it survives a loss of power.
    pub survives_power_loss: bool,
    /// If not: how long after its first page a flash page is padded; 0 for never.
    pub pad_after_ns: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(super) settings: MemorySettings,
    /// Pages of a flash page.
    pub(super) units: u32,
    /// Pages for which there is room now.
    pub(super) room: i64,
    /// The plane of each domain's open flash page; `NIL` for none.
    pub(super) open: Vec<u32>,
    pub(super) held: HeldPages,
    /// Flash pages opened so far, and those of them that are held for programs of plans.
    pub(super) opened: u64,
    pub(super) held_of_plans: u32,
    /// Programs that wait for room or for a page, by service class.
    pub(super) waiting: [VecDeque<u32>; Priority::COUNT],
    /// Programs that were accepted, and reads: when they end, and their record.
    pub(super) accepted: VecDeque<(u64, u32)>,
    pub(super) reads: VecDeque<(u64, u32)>,
    /// When open flash pages are padded, in order: the domain, and the number of the page.
    pub(super) deadlines: VecDeque<(u64, u32, u64)>,
    /// Some of what is held must move.
    pub(super) has_to_move: bool,
    pub(super) barriers: VecDeque<Barrier>,
    /// Owners of flushes that need wait no longer.
    pub(super) flushed: Vec<u32>,
    /// Pages of padding so far.
    pub(super) padded: u64,
}

impl Memory {
    /// Empty, where a flash page has so many pages.
    pub(crate) fn new(settings: MemorySettings, units: u32, flash_pages: usize, domains: usize) -> Self {
        Self {
            settings,
            units,
            room: settings.pages.into(),
            open: vec![NIL; domains],
            held: HeldPages { places: zeroed(flash_pages), list: Vec::new(), free: Vec::new() },
            opened: 0,
            held_of_plans: 0,
            waiting: Default::default(),
            accepted: VecDeque::new(),
            reads: VecDeque::new(),
            deadlines: VecDeque::new(),
            has_to_move: false,
            barriers: VecDeque::new(),
            flushed: Vec::new(),
            padded: 0,
        }
    }

    /// Whether a page is in it.
    #[inline]
    pub(crate) fn holds(&self, ppn: Ppn) -> bool {
        self.held.get(ppn.0 / self.units).is_some_and(|held| !held.is_gone)
    }

    /// When something ends next; `NEVER` for nothing.
    pub(super) fn next_ns(&self, now_ns: u64) -> u64 {
        let first = |list: &VecDeque<(u64, u32)>| list.front().map_or(NEVER, |(time_ns, _)| *time_ns);
        if self.has_to_move { now_ns } else { first(&self.accepted).min(first(&self.reads)) }
    }

    /// The next program or read that has ended by now.
    pub(super) fn take_ended(&mut self, now_ns: u64) -> Option<u32> {
        let is_due = |list: &VecDeque<(u64, u32)>| list.front().is_some_and(|(time_ns, _)| *time_ns <= now_ns);
        let list = if is_due(&self.accepted) { &mut self.accepted } else { &mut self.reads };
        if is_due(list) { list.pop_front().map(|(_, record)| record) } else { None }
    }

    /// A page of a flash page is taken.
    pub(super) fn take(&mut self, page: u32) {
        let held = self.held.get_mut(page).expect("it is in the memory");
        held.taken += 1;
        self.room -= i64::from(!held.is_of_gc);
    }

    /// A flash page is held no more.
    pub(super) fn release(&mut self, page: u32) {
        let held = self.held.remove(page).expect("it is in the memory");
        if !held.is_of_gc {
            self.room += i64::from(held.taken);
            self.held_of_plans -= 1;
            if let Some(barrier) = self.barriers.iter_mut().find(|barrier| barrier.before > held.number) {
                barrier.left -= 1;
            }
            while let Some(Barrier { owner, left: 0, .. }) = self.barriers.front() {
                self.flushed.push(*owner);
                self.barriers.pop_front();
            }
        }
    }

    /// Flash pages held that must move, in order.
    pub(super) fn to_move(&self) -> Vec<u32> {
        let mut pages: Vec<u32> = self.held.iter().filter(|held| held.must_move && !held.is_gone).map(|held| held.page).collect();
        pages.sort_unstable();
        pages
    }

    /// What is held is in flash pages that were opened later than flushes know: they wait for all of it.
    pub(super) fn renew_barriers(&mut self) {
        let mut left = self.held_of_plans;
        for barrier in &mut self.barriers {
            (barrier.before, barrier.left) = (self.opened, std::mem::take(&mut left));
        }
    }
}
