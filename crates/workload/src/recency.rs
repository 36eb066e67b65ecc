//! Pages in the order of their last use: how many distinct pages were used since a page was (its LRU stack distance), and which page
//! stands at a given depth.
//!
//! Each use takes the next *place*. A bitmap says which places are some page's latest, and a Fenwick tree over its words counts them:
//! both answers cost O(log n), in memory that stays in the caches. When the places run out, those in use move together
//! (Bennett and Kruskal, "LRU stack processing", IBM J. Res. Dev. 1975).

/// Prefix sums over an array that changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fenwick(Vec<u64>);

impl Fenwick {
    /// The tree of these values.
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut sums: Vec<u64> = std::iter::once(0).chain(values).collect();
        for index in 1..sums.len() {
            let parent = index + (index & index.wrapping_neg());
            if parent < sums.len() {
                sums[parent] = sums[parent].wrapping_add(sums[index]);
            }
        }
        Self(sums)
    }

    /// Adds to one value; a negative number is given as its two's complement.
    #[inline]
    pub fn add(&mut self, index: usize, amount: u64) {
        let mut at = index + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].wrapping_add(amount);
            at += at & at.wrapping_neg();
        }
    }

    /// Sum of the values before `index`.
    #[inline]
    pub fn before(&self, index: usize) -> u64 {
        let (mut at, mut sum) = (index, 0_u64);
        while at > 0 {
            sum = sum.wrapping_add(self.0[at]);
            at &= at - 1;
        }
        sum
    }

    /// The first index up to which, itself included, more than `sum` comes together, and what is left of `sum` there.
    pub fn find(&self, mut sum: u64) -> (usize, u64) {
        let mut at = 0;
        let mut step = self.0.len().next_power_of_two() / 2;
        while step > 0 {
            if at + step < self.0.len() && self.0[at + step] <= sum {
                at += step;
                sum -= self.0[at];
            }
            step /= 2;
        }
        (at, sum)
    }
}

const NOWHERE: u32 = u32::MAX;

/// The order of last use.
#[derive(Clone, Debug)]
pub(crate) struct Recency {
    /// Place of each page by its number.
    places: Vec<u32>,
    /// Page at each place taken; meaningless where the bitmap has a 0.
    pages: Vec<u32>,
    /// Places that are some page's latest.
    live: Vec<u64>,
    counts: Fenwick,
    /// Pages used so far.
    distinct: usize,
}

impl Recency {
    /// No page used yet.
    pub fn new() -> Self {
        let mut recency = Self { places: Vec::new(), pages: Vec::new(), live: Vec::new(), counts: Fenwick::default(), distinct: 0 };
        recency.make_room();
        recency
    }

    /// Distinct pages used so far.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// The place that the next use takes.
    pub fn next_place(&self) -> usize {
        self.pages.len()
    }

    /// The place of a page; None if it was not used yet.
    #[inline]
    pub fn place(&self, page: usize) -> Option<usize> {
        self.places.get(page).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    /// How many places there are, taken or not, until the next `compact`.
    pub fn places(&self) -> usize {
        self.live.len() * 64
    }

    /// Whether all places are taken: `compact` must come before the next `touch`.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pages.len() == self.live.len() * 64
    }

    /// Moves the pages together. `place` turned into `count_before(place)`.
    #[cold]
    pub fn compact(&mut self) {
        let live = std::mem::take(&mut self.live);
        let mut kept = 0;
        for place in 0..self.pages.len() {
            if live[place / 64] >> (place % 64) & 1 == 1 {
                let page = self.pages[place];
                self.places[page as usize] = kept as u32;
                self.pages[kept] = page;
                kept += 1;
            }
        }
        self.pages.truncate(kept);
        self.make_room();
    }

    /// Twice as many places as are used, all used ones first.
    fn make_room(&mut self) {
        let used = self.pages.len();
        let words = (2 * used).max(4096).div_ceil(64);
        self.live = (0..words).map(|word| word_of_ones(used.saturating_sub(64 * word))).collect();
        self.counts = Fenwick::of(self.live.iter().map(|word| u64::from(word.count_ones())));
        self.pages.reserve_exact(words * 64 - used);
    }

    /// Pages last used at a place before this one.
    #[inline]
    pub fn count_before(&self, place: usize) -> usize {
        if place == self.live.len() * 64 {
            return self.distinct;
        }
        let within = self.live[place / 64] & word_of_ones(place % 64);
        self.counts.before(place / 64) as usize + within.count_ones() as usize
    }

    /// Uses a page. Returns how many distinct pages were used since its last use; None the first time.
    #[inline]
    pub fn touch(&mut self, page: usize) -> Option<usize> {
        let new = self.pages.len();
        if page >= self.places.len() {
            self.places.resize((page + 1).next_power_of_two(), NOWHERE);
        }
        let old = std::mem::replace(&mut self.places[page], new as u32);
        self.pages.push(page as u32);
        self.live[new / 64] |= 1 << (new % 64);
        let Some(old) = (old != NOWHERE).then_some(old as usize) else {
            self.counts.add(new / 64, 1);
            self.distinct += 1;
            return None;
        };
        let depth = self.distinct - self.count_before(old) - 1;
        self.live[old / 64] &= !(1 << (old % 64));
        if old / 64 != new / 64 {
            self.counts.add(old / 64, u64::MAX);
            self.counts.add(new / 64, 1);
        }
        Some(depth)
    }

    /// The page before which this many pages were last used: 0 is the one unused for longest.
    pub fn place_of_rank(&self, rank: usize) -> usize {
        let (word, mut rest) = self.counts.find(rank as u64);
        let mut bits = self.live[word];
        while rest > 0 {
            bits &= bits - 1;
            rest -= 1;
        }
        word * 64 + bits.trailing_zeros() as usize
    }

    /// The page at a place in use.
    pub fn page(&self, place: usize) -> usize {
        self.pages[place] as usize
    }
}

/// The lowest `count` bits, at most all.
fn word_of_ones(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashraid_vocabulary::SplitMix64;

    #[test]
    fn distances_and_ranks_of_a_plain_stack() {
        let mut random = SplitMix64::new(3);
        let (mut recency, mut stack) = (Recency::new(), Vec::<usize>::new());
        for round in 0..30_000 {
            if recency.is_full() {
                recency.compact();
            }
            let page = (random.next_u64() % (1 + random.next_u64() % 3000)) as usize;
            let depth = stack.iter().rev().position(|other| *other == page);
            assert_eq!(recency.touch(page), depth, "use {round}");
            stack.retain(|other| *other != page);
            stack.push(page);
            let rank = (random.next_u64() % stack.len() as u64) as usize;
            let place = recency.place_of_rank(rank);
            assert_eq!((recency.page(place), recency.count_before(place)), (stack[rank], rank));
        }
        assert_eq!(recency.distinct(), stack.len());
    }

    #[test]
    fn fenwick_sums_and_finds() {
        let values = [3_u64, 0, 5, 1, 0, 0, 2];
        let mut tree = Fenwick::of(values.into_iter());
        assert_eq!((0..=7).map(|index| tree.before(index)).collect::<Vec<_>>(), [0, 3, 3, 8, 9, 9, 9, 11]);
        assert_eq!((tree.find(0), tree.find(2), tree.find(3), tree.find(8), tree.find(10)), ((0, 0), (0, 2), (2, 0), (3, 0), (6, 1)));
        tree.add(0, 1);
        tree.add(2, 5_u64.wrapping_neg());
        assert_eq!((tree.before(3), tree.before(7), tree.find(4)), (4, 7, (3, 0)));
    }
}
