//! Entries that come and go, each named by its place in one vector. A place that was left is taken again, the last one first; so nothing is allocated once
//! as many entries have been in use at once as ever will be.

use crate::{Persistent, memory, persistent};
use std::ops::{Index, IndexMut};

/// "None", where a place may be named.
pub const NIL: u32 = u32::MAX;

/// What a [`Slab`] holds.
pub trait Linked {
    /// A word of the entry that links unused places. It is the entry's own while the entry is in use.
    fn link(&mut self) -> &mut u32;
}

/// Implements [`Linked`] for types by one of their fields.
#[macro_export]
macro_rules! linked {
    ($($type:ty: $($link:ident).+),+ $(,)?) => {$(
        impl $crate::slab::Linked for $type {
            #[inline(always)]
            fn link(&mut self) -> &mut u32 {
                &mut self.$($link).+
            }
        }
    )+};
}

/// For entries that have no word of their own to spare.
impl<T> Linked for (T, u32) {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.1
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    entries: Vec<T>,
    unused: u32,
}

persistent!(Slab<T> where [T: Persistent + Default] { keeps [entries, unused], });

impl<T: Linked> Slab<T> {
    /// An empty one that holds so many entries without growing.
    pub fn with_room(entries: usize) -> Self {
        Self { entries: memory::reserved(entries), unused: NIL }
    }

    /// Takes an entry in. Returns its place.
    #[inline(always)]
    pub fn put(&mut self, entry: T) -> u32 {
        match self.unused {
            NIL => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            place => {
                let old = &mut self.entries[place as usize];
                self.unused = *old.link();
                *old = entry;
                place
            }
        }
    }

    /// The entry leaves its place, which names it no longer.
    #[inline(always)]
    pub fn remove(&mut self, place: u32) {
        *self.entries[place as usize].link() = std::mem::replace(&mut self.unused, place);
    }
}

impl<T> Slab<T> {
    /// The entry at a place that may be `NIL`.
    #[inline(always)]
    pub fn get(&self, place: u32) -> Option<&T> {
        self.entries.get(place as usize)
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place as usize)
    }

    /// Asks the processor for an entry.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        memory::prefetch(&self.entries, place as usize);
    }

    /// All places, unused ones too.
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.entries
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: u32) -> &T {
        &self.entries[place as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.entries[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_left_last_is_taken_first() {
        let mut slab = Slab::with_room(1);
        let places = ["a", "b", "c"].map(|entry| slab.put((entry, 7)));
        assert_eq!(places, [0, 1, 2]);
        slab.remove(0);
        slab.remove(2);
        assert_eq!(["d", "e", "f"].map(|entry| slab.put((entry, 7))), [2, 0, 3]);
        assert_eq!(slab.as_slice(), [("e", 7), ("b", 7), ("d", 7), ("f", 7)]);
        assert_eq!((slab.get(NIL), slab.get(1)), (None, Some(&("b", 7))));
    }

    #[test]
    fn unused_places_are_kept_with_a_drive() {
        let mut slab = Slab::with_room(0);
        (0..4u64).for_each(|entry| _ = slab.put((entry, 0)));
        slab.remove(3);
        slab.remove(1);
        let (mut bytes, mut restored) = (Vec::new(), Slab::<(u64, u32)>::with_room(0));
        slab.save(&mut bytes).unwrap();
        restored.restore(&mut bytes.as_slice()).unwrap();
        assert_eq!([8, 9, 10].map(|entry| restored.put((entry, 0))), [1, 3, 4]);
        assert_eq!(restored[2].0, 2);
    }
}
