//! A table whose entries are given back and used again.

use flashraid_vocabulary::memory::reserved;
use std::ops::{Index, IndexMut};

#[derive(Clone, Debug)]
pub(super) struct Entries<T> {
    list: Vec<T>,
    /// Positions that are not in use.
    free: Vec<u32>,
}

impl<T> Entries<T> {
    /// An empty one that holds so many without growing.
    pub(super) fn with_room(entries: usize) -> Self {
        Self { list: reserved(entries), free: reserved(entries) }
    }

    /// Takes something in; returns its position.
    pub(super) fn put(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(free) => {
                self.list[free as usize] = entry;
                free
            }
            None => {
                self.list.push(entry);
                self.list.len() as u32 - 1
            }
        }
    }

    /// The position is free for something else.
    pub(super) fn give_back(&mut self, position: u32) {
        self.free.push(position);
    }
}

impl<T> Index<u32> for Entries<T> {
    type Output = T;

    fn index(&self, position: u32) -> &T {
        &self.list[position as usize]
    }
}

impl<T> IndexMut<u32> for Entries<T> {
    fn index_mut(&mut self, position: u32) -> &mut T {
        &mut self.list[position as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_was_given_back_holds_what_is_put_there_next() {
        let mut entries = Entries::with_room(1);
        let (first, second) = (entries.put("a"), entries.put("b"));
        entries.give_back(first);
        assert_eq!(entries.put("c"), first);
        assert_eq!((entries[first], entries[second]), ("c", "b"));
        assert_eq!(entries.put("d"), 2);
    }
}
