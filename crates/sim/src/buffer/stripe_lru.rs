//! Pages grouped by stripe (SPEC 4.2, 4.4): all buffered pages of a stripe leave together, so that the scheme can write them as one. The next
//! victim is the group with the oldest last use, or the one with most pages (SPEC 4.9 item 4). What a read uses says who asks (`touch`). Every step costs the same
//! however large the buffer is; only where a discard takes some pages of a group, `largest_group` looks for the group's place among
//! those of its new size.

use super::options::VictimRule;
use super::table::{HashTable, Links, Listed, LruList};
use super::victim::Victim;
use flashraid_redundancy::Grouping;
use flashraid_redundancy::parts::bits::{Bits, lowest};
use flashraid_vocabulary::memory::reserved;
use flashraid_vocabulary::slab::{NIL, Slab};
use flashraid_vocabulary::{Lpn, linked};

#[derive(Clone, Copy, Debug)]
struct StripeGroup {
    /// By the first host page of the stripe.
    links: Links,
    /// Pages held: bit k is the k-th of the stripe. 0 if the group is unused.
    pages: u64,
    /// Position of the last use among all.
    used: u64,
}

linked!(StripeGroup: links.older);

impl Listed for StripeGroup {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct BufferedPage {
    sectors: u64,
    number: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct StripeLru {
    groups: Slab<StripeGroup>,
    /// For each group, `width` pages, of which a narrow stripe uses the first. An entry is a position in this list.
    pages: Vec<BufferedPage>,
    /// Groups in the order of their last use; under `LargestGroup` those of each size, from one page on.
    orders: Vec<LruList>,
    /// Which of `orders` have groups, as bits.
    in_use: u64,
    rule: VictimRule,
    grouping: Grouping,
    /// Pages of the widest stripe.
    width: u32,
    capacity: usize,
    count: usize,
    uses: u64,
    table: HashTable,
}

impl StripeLru {
    /// Space for `capacity` pages, at least one, of stripes of at most `width` pages, which `grouping` knows.
    pub fn new(capacity: u32, grouping: Grouping, width: u32, rule: VictimRule) -> Self {
        let capacity = capacity as usize;
        let orders = if rule == VictimRule::LargestGroup { width as usize } else { 1 };
        Self {
            groups: Slab::with_room(capacity),
            pages: reserved(capacity * width as usize),
            orders: vec![LruList::EMPTY; orders],
            in_use: 0,
            rule,
            grouping,
            width,
            capacity,
            count: 0,
            uses: 0,
            table: HashTable::new(capacity),
        }
    }

    /// Asks the processor for what finding the page needs.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.table.prefetch(self.place_of(lpn).0);
    }

    /// The first page of the stripe of a page, and how far behind it that is.
    #[inline]
    fn place_of(&self, lpn: Lpn) -> (u32, u32) {
        let first = self.grouping.pages(lpn).start;
        (first as u32, (lpn.0 - first) as u32)
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
        let (stripe, page) = self.place_of(lpn);
        let group = self.table.find(self.groups.as_slice(), stripe)?;
        (self.groups[group].pages >> page & 1 == 1).then_some(group * self.width + page)
    }

    /// Sectors that an entry holds.
    #[inline]
    pub fn sectors(&self, entry: u32) -> u64 {
        self.pages[entry as usize].sectors
    }

    /// The number with which an entry's page was taken in.
    #[inline]
    pub fn number(&self, entry: u32) -> u64 {
        self.pages[entry as usize].number
    }

    /// Adds sectors to an entry, whose group is the one used last.
    #[inline]
    pub fn merge(&mut self, entry: u32, sectors: u64) {
        self.pages[entry as usize].sectors |= sectors;
        self.touch(entry);
    }

    /// The group of an entry is the one used last.
    #[inline]
    pub fn touch(&mut self, entry: u32) {
        let group = entry / self.width;
        self.unlink(group);
        self.put_first(group);
    }

    /// Takes in a page that is not there, whose group is the one used last; there must be space. Returns its entry.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, sectors: u64, number: u64) -> u32 {
        debug_assert!(!self.is_full() && self.find(lpn).is_none());
        let (stripe, page) = self.place_of(lpn);
        let group = match self.table.find(self.groups.as_slice(), stripe) {
            Some(group) => {
                self.unlink(group);
                group
            }
            None => {
                let group = self.groups.put(StripeGroup { links: Links::of(stripe), pages: 0, used: 0 });
                self.table.add(self.groups.as_mut_slice(), group);
                let pages = (group as usize + 1) * self.width as usize;
                if self.pages.len() < pages {
                    self.pages.resize(pages, BufferedPage::default());
                }
                group
            }
        };
        self.groups[group].pages |= 1 << page;
        self.put_first(group);
        self.count += 1;
        let entry = group * self.width + page;
        self.pages[entry as usize] = BufferedPage { sectors, number };
        entry
    }

    /// Takes out the pages of the next victim, in ascending order. There is none if nothing is held.
    #[inline]
    pub fn take_group(&mut self, victims: &mut Vec<Victim>) {
        if self.in_use == 0 {
            return;
        }
        let group = self.orders[63 - self.in_use.leading_zeros() as usize].oldest;
        let StripeGroup { links, pages, .. } = self.groups[group];
        for page in Bits(pages) {
            let entry = group * self.width + page;
            let BufferedPage { sectors, number } = self.pages[entry as usize];
            let lpn = Lpn(u64::from(links.key) + u64::from(page));
            victims.push(Victim { entry, lpn, sectors, number });
        }
        self.remove(group, pages);
    }

    /// Takes out every page from `first` on, before `end`, at a cost of the range or of the space, whichever is less. Their numbers are appended
    /// to `numbers`.
    pub fn remove_range(&mut self, first: u64, end: u64, numbers: &mut Vec<u64>) {
        if (end - first) / u64::from(self.width) <= self.groups.as_slice().len() as u64 {
            let mut page = first;
            while page < end {
                let stripe = self.grouping.pages(Lpn(page));
                if let Some(group) = self.table.find(self.groups.as_slice(), stripe.start as u32) {
                    self.remove_part(group, first, end, numbers);
                }
                page = stripe.end;
            }
        } else {
            (0..self.groups.as_slice().len() as u32).for_each(|group| self.remove_part(group, first, end, numbers));
        }
    }

    fn remove_part(&mut self, group: u32, first: u64, end: u64, numbers: &mut Vec<u64>) {
        let StripeGroup { links, pages, .. } = self.groups[group];
        let start = u64::from(links.key);
        let below = |page: u64| lowest(page.saturating_sub(start).min(u64::from(self.width)) as u32);
        let removed = pages & below(end) & !below(first);
        if removed != 0 {
            numbers.extend(Bits(removed).map(|page| self.pages[(group * self.width + page) as usize].number));
            self.remove(group, removed);
        }
    }

    /// Takes some pages out of a group. It stays as old as it is.
    fn remove(&mut self, group: u32, pages: u64) {
        let StripeGroup { pages: held, used, .. } = self.groups[group];
        let left = held & !pages;
        self.count -= pages.count_ones() as usize;
        if left != 0 && self.order_of(left) == self.order_of(held) {
            self.groups[group].pages = left;
            return;
        }
        self.unlink(group);
        self.groups[group].pages = left;
        if left == 0 {
            self.table.remove(self.groups.as_mut_slice(), group);
            self.groups.remove(group);
            return;
        }
        let order = self.order_of(left);
        let (mut newer, mut next) = (NIL, self.orders[order].newest);
        while next != NIL && self.groups[next].used > used {
            newer = next;
            next = self.groups[next].links.older;
        }
        self.orders[order].put_below(self.groups.as_mut_slice(), group, newer);
        self.in_use |= 1 << order;
    }

    /// Where a group of these pages stands.
    #[inline]
    fn order_of(&self, pages: u64) -> usize {
        match self.rule {
            VictimRule::OldestUse => 0,
            VictimRule::LargestGroup => pages.count_ones() as usize - 1,
        }
    }

    #[inline]
    fn unlink(&mut self, group: u32) {
        let order = self.order_of(self.groups[group].pages);
        self.orders[order].remove(self.groups.as_mut_slice(), group);
        self.in_use &= !(u64::from(self.orders[order].newest == NIL) << order);
    }

    /// A group that stands nowhere is used.
    #[inline]
    fn put_first(&mut self, group: u32) {
        self.uses += 1;
        self.groups[group].used = self.uses;
        let order = self.order_of(self.groups[group].pages);
        self.orders[order].push(self.groups.as_mut_slice(), group);
        self.in_use |= 1 << order;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Groups in the order of their last write, scanned every time: stripe, and its pages with their sectors and numbers.
    type Naive = Vec<(u64, Vec<(u64, u64, u64)>)>;

    fn taken(groups: &mut Naive, rule: VictimRule) -> Vec<(u64, u64, u64)> {
        if groups.is_empty() {
            return Vec::new();
        }
        let most = groups.iter().map(|(_, pages)| pages.len()).max();
        let is_next = |(_, pages): &(u64, Vec<_>)| rule == VictimRule::OldestUse || Some(pages.len()) == most;
        let mut pages = groups.remove(groups.iter().position(is_next).unwrap()).1;
        pages.sort_unstable();
        pages
    }

    fn victims(lru: &mut StripeLru) -> Vec<(u64, u64, u64)> {
        let mut victims = Vec::new();
        lru.take_group(&mut victims);
        victims.iter().map(|victim| (victim.lpn.0, victim.sectors, victim.number)).collect()
    }

    #[test]
    fn the_rules_choose_different_groups() {
        for (rule, first, second) in [(VictimRule::OldestUse, vec![1], vec![4, 5]), (VictimRule::LargestGroup, vec![4, 5], vec![10, 9])] {
            let mut lru = StripeLru::new(8, Grouping::Even(4), 4, rule);
            for (number, page) in [1, 4, 5, 10, 9].into_iter().enumerate() {
                lru.insert(Lpn(page), 1, number as u64);
            }
            let pages = |lru: &mut StripeLru| victims(lru).iter().map(|victim| victim.0).collect::<Vec<_>>();
            assert_eq!(pages(&mut lru), first, "{rule:?}");
            let mut next = pages(&mut lru);
            next.sort_by_key(|page| second.iter().position(|of| of == page));
            assert_eq!(next, second, "{rule:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(
            capacity in 1u32..12, widths in vec(1u32..9, 1..5), largest: bool, steps in vec((0u8..8, 0u64..40, 1u64..256), 1..400),
        ) {
            let rule = if largest { VictimRule::LargestGroup } else { VictimRule::OldestUse };
            let mut firsts = vec![0];
            (widths.iter().cycle().take(80)).for_each(|width| firsts.push(firsts[firsts.len() - 1] + u64::from(*width)));
            let stripe_of = move |page: u64| firsts.partition_point(|first| *first <= page) - 1;
            let grouping = match widths[..] {
                [width] => Grouping::Even(width),
                _ => {
                    let stripe_of = stripe_of.clone();
                    let pages = move |lpn: Lpn| {
                        let stripe = stripe_of(lpn.0);
                        let first = (0..=lpn.0).find(|page| stripe_of(*page) == stripe).unwrap();
                        first..(lpn.0..).find(|page| stripe_of(*page) != stripe).unwrap()
                    };
                    Grouping::Uneven(Arc::new(pages))
                }
            };
            let width = widths.iter().copied().max().unwrap();
            let (mut lru, mut naive) = (StripeLru::new(capacity, grouping, width, rule), Naive::new());
            for (number, (step, page, sectors)) in steps.into_iter().enumerate() {
                let (number, stripe) = (number as u64, stripe_of(page) as u64);
                match step {
                    0 => {
                        let (first, end) = (page, page + sectors / 16);
                        let mut removed = Vec::new();
                        lru.remove_range(first, end, &mut removed);
                        let mut expected = Vec::new();
                        for (_, pages) in &mut naive {
                            pages.retain(|(page, _, number)| {
                                let stays = !(first..end).contains(page);
                                if !stays { expected.push(*number) }
                                stays
                            });
                        }
                        naive.retain(|(_, pages)| !pages.is_empty());
                        removed.sort_unstable();
                        expected.sort_unstable();
                        prop_assert_eq!(removed, expected);
                    }
                    1 => prop_assert_eq!(victims(&mut lru), taken(&mut naive, rule)),
                    2 if lru.find(Lpn(page)).is_some() => {
                        lru.touch(lru.find(Lpn(page)).unwrap());
                        let group = naive.remove(naive.iter().position(|(of, _)| *of == stripe).unwrap());
                        naive.push(group);
                    }
                    _ => {
                        let found = lru.find(Lpn(page));
                        if found.is_none() && lru.is_full() {
                            prop_assert_eq!(victims(&mut lru), taken(&mut naive, rule));
                        }
                        let mut group = match naive.iter().position(|(of, _)| *of == stripe) {
                            Some(position) => naive.remove(position),
                            None => (stripe, Vec::new()),
                        };
                        match (found, group.1.iter_mut().find(|(of, ..)| *of == page)) {
                            (Some(entry), Some(held)) => {
                                held.1 |= sectors;
                                lru.merge(entry, sectors);
                            }
                            (None, None) => {
                                group.1.push((page, sectors, number));
                                lru.insert(Lpn(page), sectors, number);
                            }
                            (found, held) => panic!("{found:?} {held:?}"),
                        }
                        naive.push(group);
                    }
                }
                let count: usize = naive.iter().map(|(_, pages)| pages.len()).sum();
                prop_assert_eq!((lru.count(), lru.is_full()), (count, count == capacity as usize));
                prop_assert!(lru.groups.as_slice().len() <= capacity as usize);
                for page in 0..56 {
                    let held = lru.find(Lpn(page)).map(|entry| (page, lru.sectors(entry), lru.number(entry)));
                    let expected = naive.iter().flat_map(|(_, pages)| pages).find(|(of, ..)| *of == page).copied();
                    prop_assert_eq!(held, expected);
                }
            }
        }
    }
}
