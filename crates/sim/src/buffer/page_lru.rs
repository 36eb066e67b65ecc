//! Pages in the order of their last use, each with the sectors that it holds (the buffer of SSDsim, SPEC 2.2): the least recently used page
//! is the next victim. Every step costs the same however large the buffer is.

use super::table::{HashTable, Links, Listed, LruList};
use super::victim::Victim;
use flashraid_vocabulary::slab::{NIL, Slab};
use flashraid_vocabulary::{Lpn, linked};

/// Evictions between the naming of an upcoming victim and its turn: time enough to fetch what it needs.
const AHEAD: usize = 12;

#[derive(Clone, Copy, Debug)]
struct LruEntry {
    /// By page.
    links: Links,
    sectors: u64,
    number: u64,
}

linked!(LruEntry: links.older);

impl Listed for LruEntry {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PageLru {
    entries: Slab<LruEntry>,
    order: LruList,
    /// The entry named last by `upcoming`, `NIL` for none.
    upcoming: u32,
    capacity: usize,
    count: usize,
    table: HashTable,
}

impl PageLru {
    /// Space for `capacity` pages, at least one.
    pub fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        let table = HashTable::new(capacity);
        Self { entries: Slab::with_room(capacity), order: LruList::EMPTY, upcoming: NIL, capacity, count: 0, table }
    }

    /// Asks the processor for what finding the page needs.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.table.prefetch(lpn.0 as u32);
    }

    /// Pages held.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there is no space for another page.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count == self.capacity
    }

    /// The entry of a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        self.table.find(self.entries.as_slice(), lpn.0 as u32)
    }

    /// Sectors that an entry holds.
    #[inline]
    pub fn sectors(&self, entry: u32) -> u64 {
        self.entries[entry].sectors
    }

    /// The number with which an entry's page was taken in.
    #[inline]
    pub fn number(&self, entry: u32) -> u64 {
        self.entries[entry].number
    }

    /// Adds sectors to an entry, which becomes the most recently used one.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        self.entries[entry].sectors |= sectors;
        self.touch(entry);
    }

    /// The entry becomes the most recently used one.
    #[inline]
    pub fn touch(&mut self, entry: u32) {
        if self.order.newest != entry {
            self.order.remove(self.entries.as_mut_slice(), entry);
            self.order.push(self.entries.as_mut_slice(), entry);
        }
    }

    /// Takes in a page that is not there, as the most recently used one; there must be space. Returns its entry.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, sectors: u64, number: u64) -> u32 {
        debug_assert!(!self.is_full() && self.find(lpn).is_none());
        let new = LruEntry { links: Links::of(lpn.0 as u32), sectors, number };
        let entry = self.entries.put(new);
        self.order.push(self.entries.as_mut_slice(), entry);
        self.table.add(self.entries.as_mut_slice(), entry);
        self.count += 1;
        entry
    }

    /// Takes out the least recently used page.
    #[inline]
    pub fn take_oldest(&mut self) -> Option<Victim> {
        let entry = self.order.oldest;
        (entry != NIL).then(|| {
            let LruEntry { links, sectors, number } = self.entries[entry];
            self.remove(entry);
            Victim { entry, lpn: Lpn(u64::from(links.key)), sectors, number }
        })
    }

    /// A page that will probably be the victim `AHEAD` evictions from now. Asked once an eviction it names one after the other. A hint: an
    /// entry that is used or taken out meanwhile becomes the newest, and the search begins anew at the oldest.
    #[inline]
    pub fn upcoming(&mut self) -> Option<Lpn> {
        let newer = |entry: u32| self.entries.get(entry).map_or(NIL, |entry| entry.links.newer);
        self.upcoming = match newer(self.upcoming) {
            NIL => (0..AHEAD).fold(self.order.oldest, |entry, _| newer(entry)),
            next => next,
        };
        self.entries.get(self.upcoming).map(|entry| Lpn(u64::from(entry.links.key)))
    }

    /// Takes out every page from `first` on, before `end`, at a cost of the range or of what is held, whichever is less. Their numbers are
    /// appended to `numbers`.
    pub fn remove_range(&mut self, first: u64, end: u64, numbers: &mut Vec<u64>) {
        if end - first <= self.count() as u64 {
            for page in first..end {
                if let Some(entry) = self.find(Lpn(page)) {
                    numbers.push(self.number(entry));
                    self.remove(entry);
                }
            }
            return;
        }
        let mut next = self.order.newest;
        while next != NIL {
            let Links { key, older, .. } = self.entries[next].links;
            if (first..end).contains(&u64::from(key)) {
                numbers.push(self.number(next));
                self.remove(next);
            }
            next = older;
        }
    }

    fn remove(&mut self, entry: u32) {
        self.order.remove(self.entries.as_mut_slice(), entry);
        self.table.remove(self.entries.as_mut_slice(), entry);
        self.entries.remove(entry);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Against a list in the order of use, scanned every time.
    #[derive(Default)]
    struct Naive(Vec<(u64, u64, u64)>);

    impl Naive {
        fn position(&self, page: u64) -> Option<usize> {
            self.0.iter().position(|(of, ..)| *of == page)
        }

        fn use_page(&mut self, page: u64, sectors: u64, number: u64) {
            let (_, before, number) = self.position(page).map_or((page, 0, number), |position| self.0.remove(position));
            self.0.push((page, before | sectors, number));
        }
    }

    #[test]
    fn upcoming_victims_are_named_in_turn() {
        let mut lru = PageLru::new(40);
        assert_eq!(lru.upcoming(), None);
        for page in 0..40 {
            lru.insert(Lpn(page), 1, page);
        }
        for page in 40..200 {
            if page % 16 == 0 {
                lru.touch(lru.find(Lpn(page - 20)).unwrap());
            }
            lru.take_oldest();
            lru.insert(Lpn(page), 1, page);
            let mut entry = lru.order.oldest;
            (0..AHEAD).for_each(|_| entry = lru.entries[entry].links.newer);
            assert_eq!(lru.upcoming(), Some(Lpn(u64::from(lru.entries[entry].links.key))), "at page {page}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(capacity in 1u32..12, steps in vec((0u8..8, 0u64..24, 1u64..256), 1..400)) {
            let (mut lru, mut naive) = (PageLru::new(capacity), Naive::default());
            for (number, (step, page, sectors)) in steps.into_iter().enumerate() {
                let number = number as u64;
                match (step, lru.find(Lpn(page))) {
                    (0, _) => {
                        let (first, end) = (page, page + sectors / 16);
                        let (mut removed, mut expected) = (Vec::new(), Vec::new());
                        lru.remove_range(first, end, &mut removed);
                        naive.0.retain(|(page, _, number)| {
                            let stays = !(first..end).contains(page);
                            if !stays { expected.push(*number) }
                            stays
                        });
                        removed.sort_unstable();
                        expected.sort_unstable();
                        prop_assert_eq!(removed, expected);
                    }
                    (1, _) => {
                        let victim = lru.take_oldest().map(|victim| (victim.lpn.0, victim.sectors, victim.number));
                        prop_assert_eq!(victim, (!naive.0.is_empty()).then(|| naive.0.remove(0)));
                    }
                    (2, Some(entry)) => {
                        lru.touch(entry);
                        naive.use_page(page, 0, 0);
                    }
                    (_, Some(entry)) => {
                        lru.merge(entry, sectors);
                        naive.use_page(page, sectors, 0);
                    }
                    (_, None) => {
                        if lru.is_full() {
                            let victim = lru.take_oldest().unwrap();
                            prop_assert_eq!((victim.lpn.0, victim.sectors, victim.number), naive.0.remove(0));
                        }
                        lru.insert(Lpn(page), sectors, number);
                        naive.use_page(page, sectors, number);
                    }
                }
                if let Some(page) = lru.upcoming() {
                    prop_assert!(page.0 < 24);
                }
                prop_assert_eq!(lru.count(), naive.0.len());
                prop_assert_eq!(lru.is_full(), naive.0.len() == capacity as usize);
                prop_assert!(lru.entries.as_slice().len() <= capacity as usize);
                for page in 0..24 {
                    let held = lru.find(Lpn(page)).map(|entry| lru.sectors(entry));
                    prop_assert_eq!(held, naive.position(page).map(|position| naive.0[position].1));
                }
            }
        }
    }
}
