//! Pages in the order of their last use, each with the sectors that it holds (the buffer of SSDsim, SPEC 2.2): the least recently used page
//! is the next victim. Every step costs the same however large the buffer is.

use flashraid_flash::memory::reserved;
use flashraid_vocabulary::Lpn;
use rustc_hash::FxHashMap;

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u32,
    /// Neighbours in the order of use; `older` links unused entries.
    newer: u32,
    older: u32,
    sectors: u64,
}

/// A page that has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its entry, which the next page may get.
    pub entry: u32,
    /// The page.
    pub lpn: Lpn,
    /// The sectors it holds.
    pub sectors: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PageLru {
    entries: Vec<Entry>,
    unused: u32,
    newest: u32,
    oldest: u32,
    capacity: usize,
    /// The entry of each page.
    pages: FxHashMap<u32, u32>,
}

impl PageLru {
    /// Room for `capacity` pages, at least one.
    pub fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        let pages = FxHashMap::with_capacity_and_hasher(capacity, Default::default());
        Self { entries: reserved(capacity), unused: NIL, newest: NIL, oldest: NIL, capacity, pages }
    }

    /// Pages held.
    pub fn count(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is no room for another page.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pages.len() == self.capacity
    }

    /// The entry of a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        self.pages.get(&(lpn.0 as u32)).copied()
    }

    /// Sectors that an entry holds.
    #[inline]
    pub fn sectors(&self, entry: u32) -> u64 {
        self.entries[entry as usize].sectors
    }

    /// Adds sectors to an entry.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        self.entries[entry as usize].sectors |= sectors;
    }

    /// The entry becomes the most recently used one.
    #[inline]
    pub fn touch(&mut self, entry: u32) {
        if self.newest != entry {
            self.unlink(entry);
            self.link(entry);
        }
    }

    /// Takes in a page that is not there, as the most recently used one; there must be room. Returns its entry.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, sectors: u64) -> u32 {
        debug_assert!(!self.is_full());
        let new = Entry { page: lpn.0 as u32, newer: NIL, older: NIL, sectors };
        let entry = match self.unused {
            NIL => {
                self.entries.push(new);
                self.entries.len() as u32 - 1
            }
            unused => {
                self.unused = self.entries[unused as usize].older;
                self.entries[unused as usize] = new;
                unused
            }
        };
        self.link(entry);
        let former = self.pages.insert(lpn.0 as u32, entry);
        debug_assert!(former.is_none());
        entry
    }

    /// Takes out the least recently used page.
    #[inline]
    pub fn take_oldest(&mut self) -> Option<Victim> {
        let entry = self.oldest;
        (entry != NIL).then(|| {
            let Entry { page, sectors, .. } = self.entries[entry as usize];
            self.remove(entry);
            Victim { entry, lpn: Lpn(u64::from(page)), sectors }
        })
    }

    /// Takes out every page from `first` on, before `end`, at a cost of the range or of what is held, whichever is less.
    pub fn remove_range(&mut self, first: u64, end: u64) {
        if end - first <= self.count() as u64 {
            for page in first..end {
                if let Some(entry) = self.find(Lpn(page)) {
                    self.remove(entry);
                }
            }
            return;
        }
        let mut next = self.newest;
        while next != NIL {
            let Entry { page, older, .. } = self.entries[next as usize];
            if (first..end).contains(&u64::from(page)) {
                self.remove(next);
            }
            next = older;
        }
    }

    fn remove(&mut self, entry: u32) {
        self.unlink(entry);
        self.pages.remove(&self.entries[entry as usize].page);
        self.entries[entry as usize].older = self.unused;
        self.unused = entry;
    }

    fn link(&mut self, entry: u32) {
        let former = std::mem::replace(&mut self.newest, entry);
        (self.entries[entry as usize].newer, self.entries[entry as usize].older) = (NIL, former);
        match former {
            NIL => self.oldest = entry,
            _ => self.entries[former as usize].newer = entry,
        }
    }

    fn unlink(&mut self, entry: u32) {
        let Entry { newer, older, .. } = self.entries[entry as usize];
        match newer {
            NIL => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Against a list in the order of use, scanned every time.
    #[derive(Default)]
    struct Naive(Vec<(u64, u64)>);

    impl Naive {
        fn position(&self, page: u64) -> Option<usize> {
            self.0.iter().position(|(of, _)| *of == page)
        }

        fn use_page(&mut self, page: u64, sectors: u64) {
            let before = self.position(page).map_or(0, |position| self.0.remove(position).1);
            self.0.push((page, before | sectors));
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(capacity in 1u32..12, steps in vec((0u8..8, 0u64..24, 1u64..256), 1..400)) {
            let (mut lru, mut naive) = (PageLru::new(capacity), Naive::default());
            for (step, page, sectors) in steps {
                match (step, lru.find(Lpn(page))) {
                    (0, _) => {
                        let (first, end) = (page, page + sectors / 16);
                        lru.remove_range(first, end);
                        naive.0.retain(|(page, _)| !(first..end).contains(page));
                    }
                    (1, _) => {
                        let victim = lru.take_oldest().map(|victim| (victim.lpn.0, victim.sectors));
                        prop_assert_eq!(victim, (!naive.0.is_empty()).then(|| naive.0.remove(0)));
                    }
                    (2, Some(entry)) => {
                        lru.touch(entry);
                        naive.use_page(page, 0);
                    }
                    (_, Some(entry)) => {
                        lru.merge(entry, sectors);
                        lru.touch(entry);
                        naive.use_page(page, sectors);
                    }
                    (_, None) => {
                        if lru.is_full() {
                            let victim = lru.take_oldest().unwrap();
                            prop_assert_eq!((victim.lpn.0, victim.sectors), naive.0.remove(0));
                        }
                        lru.insert(Lpn(page), sectors);
                        naive.use_page(page, sectors);
                    }
                }
                prop_assert_eq!(lru.count(), naive.0.len());
                prop_assert_eq!(lru.is_full(), naive.0.len() == capacity as usize);
                prop_assert!(lru.entries.len() <= capacity as usize);
                for page in 0..24 {
                    let held = lru.find(Lpn(page)).map(|entry| lru.sectors(entry));
                    prop_assert_eq!(held, naive.position(page).map(|position| naive.0[position].1));
                }
            }
        }
    }
}
