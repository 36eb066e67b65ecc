//! The program units of which pages are in the memory.

use flashraid_vocabulary::memory::zeroed;
use flashraid_vocabulary::{Cause, Priority};

/// A program unit of which pages are in the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Which one, on flash.
    pub(super) page: u32,
    /// Cause and service class: of its first page, and once it is queued of its program.
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
    /// It is queued to be programmed into the SLC cache.
    pub(super) is_slc: bool,
    /// It cannot be programmed where it is: what is needed of it goes elsewhere.
    pub(super) must_move: bool,
    /// That is done, and its program has not ended.
    pub(super) is_gone: bool,
}

/// The program units that are held, found by their numbers on flash.
#[derive(Clone, Debug)]
pub(super) struct HeldPages {
    /// By program unit, its place in the list, from 1 on; 0 if it is not held.
    places: Vec<u32>,
    list: Vec<Held>,
    /// Places of the list that are free, from 1 on.
    free: Vec<u32>,
}

impl HeldPages {
    /// None, of so many program units.
    pub(super) fn new(flash_pages: usize) -> Self {
        Self { places: zeroed(flash_pages), list: Vec::new(), free: Vec::new() }
    }

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
