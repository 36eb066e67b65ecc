//! What the policies of a buffer share: entries of a vector that are found by a key and stand in an order, each step at a cost that does not
//! grow with their number.

use flashraid_vocabulary::NIL;
use flashraid_vocabulary::memory::{filled, prefetch};

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// What it is found by.
    pub key: u32,
    /// Neighbors in its order.
    pub newer: u32,
    /// See `newer`.
    pub older: u32,
    /// The next entry whose key has the same bucket.
    chain: u32,
}

impl Links {
    /// An entry that stands nowhere yet.
    pub fn of(key: u32) -> Self {
        Self { key, newer: NIL, older: NIL, chain: NIL }
    }
}

/// An entry.
pub trait Listed {
    /// Its links.
    fn links(&self) -> &Links;
    /// The same, to change them.
    fn links_mut(&mut self) -> &mut Links;
}

/// Entries from the newest to the oldest.
#[derive(Clone, Copy, Debug)]
pub struct LruList {
    /// The newest entry, `NIL` if there is none.
    pub newest: u32,
    /// The oldest one.
    pub oldest: u32,
}

impl LruList {
    /// Without entries.
    pub const EMPTY: Self = Self { newest: NIL, oldest: NIL };

    /// Puts an entry in as the newest.
    #[inline]
    pub fn push(&mut self, entries: &mut [impl Listed], entry: u32) {
        self.put_below(entries, entry, NIL);
    }

    /// Puts an entry in as the next older one of `newer`; as the newest one if that is `NIL`.
    #[inline]
    pub fn put_below(&mut self, entries: &mut [impl Listed], entry: u32, newer: u32) {
        let older = match newer {
            NIL => std::mem::replace(&mut self.newest, entry),
            _ => std::mem::replace(&mut entries[newer as usize].links_mut().older, entry),
        };
        let links = entries[entry as usize].links_mut();
        (links.newer, links.older) = (newer, older);
        match older {
            NIL => self.oldest = entry,
            _ => entries[older as usize].links_mut().newer = entry,
        }
    }

    /// Takes an entry out.
    #[inline]
    pub fn remove(&mut self, entries: &mut [impl Listed], entry: u32) {
        let Links { newer, older, .. } = *entries[entry as usize].links();
        match newer {
            NIL => self.newest = older,
            _ => entries[newer as usize].links_mut().older = older,
        }
        match older {
            NIL => self.oldest = newer,
            _ => entries[older as usize].links_mut().newer = newer,
        }
    }
}

/// A hash table, about twice as many buckets as there can be entries: the first entry of each chain. It is one of our own because a bucket
/// can be fetched ahead.
#[derive(Clone, Debug)]
pub struct HashTable {
    buckets: Vec<u32>,
}

impl HashTable {
    /// For at most so many entries.
    pub fn new(most: usize) -> Self {
        Self { buckets: filled(NIL, (2 * most).next_power_of_two()) }
    }

    /// The bucket of a key: the top bits of a multiplicative hash (Knuth's constant, 2^32 divided by the golden ratio).
    #[inline]
    fn bucket(&self, key: u32) -> usize {
        (u64::from(key.wrapping_mul(0x9E37_79B9)) << self.buckets.len().trailing_zeros() >> 32) as usize
    }

    /// Asks the processor for what finding the key needs.
    #[inline]
    pub fn prefetch(&self, key: u32) {
        prefetch(&self.buckets, self.bucket(key));
    }

    /// The entry with a key.
    #[inline]
    pub fn find(&self, entries: &[impl Listed], key: u32) -> Option<u32> {
        let mut entry = self.buckets[self.bucket(key)];
        while entry != NIL && entries[entry as usize].links().key != key {
            entry = entries[entry as usize].links().chain;
        }
        (entry != NIL).then_some(entry)
    }

    /// Puts in an entry whose key is not there.
    #[inline]
    pub fn add(&mut self, entries: &mut [impl Listed], entry: u32) {
        let links = entries[entry as usize].links_mut();
        let bucket = self.bucket(links.key);
        links.chain = std::mem::replace(&mut self.buckets[bucket], entry);
    }

    /// Takes out an entry.
    #[inline]
    pub fn remove(&mut self, entries: &mut [impl Listed], entry: u32) {
        let Links { key, chain, .. } = *entries[entry as usize].links();
        let bucket = self.bucket(key);
        let mut before = self.buckets[bucket];
        if before == entry {
            self.buckets[bucket] = chain;
            return;
        }
        while entries[before as usize].links().chain != entry {
            before = entries[before as usize].links().chain;
        }
        entries[before as usize].links_mut().chain = chain;
    }
}
