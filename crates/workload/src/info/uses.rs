//! Which pages transfers touch: how often each, how long after its last use, and how many within windows of time.

use super::figures::{Quantiles, Skew, WorkingSet, quantile, ratio};
use super::window::Window;
use crate::pages::PageNumbers;
use crate::recency::Recency;
use std::ops::RangeInclusive;

const SECOND_NS: u64 = 1_000_000_000;
/// Lengths of the windows of the working set.
const WINDOWS_S: [u64; 4] = [1, 10, 60, 600];
/// Percentages at which reuse distances are given.
pub(crate) const REUSE_PERCENTS: [u32; 6] = [10, 25, 50, 75, 90, 99];

/// What a page has seen, as bits.
const READ: u8 = 1;
const WRITTEN: u8 = 2;

/// Uses of pages being counted.
#[derive(Clone)]
pub(super) struct PageUses {
    numbers: PageNumbers,
    recency: Recency,
    windows: [Window; WINDOWS_S.len()],
    /// By the page's number: what it has seen, and how often it was used.
    seen: Vec<u8>,
    uses: Vec<u32>,
    read: u64,
    written: u64,
    /// Uses at each distance.
    distances: Vec<u64>,
    /// Uses of all pages; of them those by writes, and of these those of pages written before.
    all: u64,
    writes: u64,
    updates: u64,
}

impl PageUses {
    pub fn new() -> Self {
        Self {
            numbers: PageNumbers::new(),
            recency: Recency::new(),
            windows: WINDOWS_S.map(|seconds| Window::new(seconds * SECOND_NS)),
            seen: Vec::new(),
            uses: Vec::new(),
            read: 0,
            written: 0,
            distances: Vec::new(),
            all: 0,
            writes: 0,
            updates: 0,
        }
    }

    /// A request arrives this long after the first one.
    pub fn arrive(&mut self, since_first_ns: u64) {
        let next_place = self.recency.next_place();
        self.windows.iter_mut().for_each(|window| window.arrive(since_first_ns, next_place));
    }

    /// A transfer uses these pages. Returns how many of them had been written before.
    pub fn transfer(&mut self, pages: RangeInclusive<u64>, is_write: bool) -> u64 {
        let count = pages.end() - pages.start() + 1;
        let updates = pages.filter(|page| self.touch(*page, is_write)).count() as u64;
        self.all += count;
        if is_write {
            self.writes += count;
            self.updates += updates;
        }
        updates
    }

    /// Uses a page. Returns whether it had been written before.
    #[inline]
    fn touch(&mut self, page: u64, is_write: bool) -> bool {
        if self.recency.is_full() {
            // A window remembers a place: what counts is how many pages were last used before it.
            self.windows.iter_mut().for_each(|window| window.first_place = self.recency.count_before(window.first_place));
            self.recency.compact();
        }
        let number = self.numbers.of(page);
        if number >= self.seen.len() {
            let end = self.numbers.end();
            self.seen.resize(end, 0);
            self.uses.resize(end, 0);
        }
        let place = self.recency.place(number);
        self.windows.iter_mut().for_each(|window| window.touch(place));
        if let Some(distance) = self.recency.touch(number) {
            if distance >= self.distances.len() {
                self.distances.resize((distance + 1).next_power_of_two(), 0);
            }
            self.distances[distance] += 1;
        }
        self.uses[number] = self.uses[number].saturating_add(1);
        let seen = self.seen[number];
        self.seen[number] = seen | if is_write { WRITTEN } else { READ };
        self.read += u64::from(!is_write && seen & READ == 0);
        self.written += u64::from(is_write && seen & WRITTEN == 0);
        seen & WRITTEN != 0
    }

    /// Uses of all pages.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Uses of pages by writes that had been written before.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// How often each page was used, in no useful order; 0 for pages that were not.
    pub fn of_each(&self) -> &[u32] {
        &self.uses
    }

    /// How many pages were used.
    pub fn distinct(&self) -> u64 {
        self.recency.distinct() as u64
    }

    /// How many pages were read, and how many written.
    pub fn read_and_written(&self) -> [u64; 2] {
        [self.read, self.written]
    }

    pub fn update_share(&self) -> Option<f64> {
        ratio(self.updates, self.writes)
    }

    /// Windows of the lengths of which one at least has ended.
    pub fn windows(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(|window| window.ended > 0)
    }

    pub fn working_sets(&self, page_bytes: u64) -> Vec<WorkingSet> {
        let set = |window: &Window| WorkingSet {
            window_ns: window.length_ns,
            mean_bytes: (window.pages_sum * page_bytes) as f64 / window.ended as f64,
            max_bytes: window.pages_max * page_bytes,
        };
        self.windows().map(set).collect()
    }

    /// Requests in the second with the most, as a multiple of their mean.
    pub fn peak_to_mean_1s(&self) -> Option<f64> {
        let second = &self.windows[0];
        ratio(second.requests_max * second.ended, second.requests_sum)
    }

    fn distance_at(&self, reuses: u64, share: f64) -> usize {
        quantile(self.distances.iter().copied().enumerate(), reuses, share)
    }

    /// Reuse distances at these shares of all reuses; empty if there are none.
    pub fn reuse_distances(&self, shares: &[f64]) -> Vec<f64> {
        let reuses = self.distances.iter().sum();
        if reuses == 0 { Vec::new() } else { shares.iter().map(|share| self.distance_at(reuses, *share) as f64).collect() }
    }

    /// Reuse distances at `REUSE_PERCENTS` of all reuses, if there are any.
    pub fn reuse_quantiles(&self) -> Option<Quantiles> {
        let reuses = self.all - self.distinct();
        (reuses > 0).then(|| Quantiles::at(&REUSE_PERCENTS, |share| self.distance_at(reuses, share) as u64))
    }

    /// How unequally often pages are used. Sorts the uses of each page.
    pub fn skew(&mut self) -> Option<Skew> {
        skew(&mut self.uses, self.all)
    }
}

/// Sorts the uses of each page; 0 stands for a page never used.
fn skew(uses: &mut [u32], page_uses: u64) -> Option<Skew> {
    uses.sort_unstable_by(|a, b| b.cmp(a));
    let used = &uses[..uses.partition_point(|uses| *uses > 0)];
    let pages = used.len() as u64;
    let top = |percent: u64| {
        let top = &used[..(pages * percent).div_ceil(100) as usize];
        top.iter().map(|uses| u64::from(*uses)).sum::<u64>() as f64 / page_uses as f64
    };
    // Gini = 1 - (sum over pages of (2 rank - 1) uses) / (pages * all uses), ranks from the most used, 1, on.
    let ranked: f64 = used.iter().zip(0_u64..).map(|(uses, above)| (2 * above + 1) as f64 * f64::from(*uses)).sum();
    (pages > 0).then(|| Skew {
        top_1_percent: top(1),
        top_10_percent: top(10),
        top_20_percent: top(20),
        gini: 1.0 - ranked / (pages as f64 * page_uses as f64),
    })
}
