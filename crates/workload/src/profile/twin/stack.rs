//! Pages in the order of their last use, from which one is taken by depth, state and popularity.
//!
//! A place's weight grows with the uses that its page is still to have, so that of the pages near a depth those are taken that are
//! due most. Finding one costs O(log n).

use crate::pages::PageNumbers;
use crate::recency::{Fenwick, Recency};

/// Whether a page was written, and whether a request has begun there.
pub(crate) const DIRTY: u8 = 1;
pub(crate) const STARTED: u8 = 2;
const STATES: usize = 4;

/// Places whose weights are summed together.
const BLOCK: usize = 64;
/// Weight of a use that is still to come; a page without any keeps the weight 1.
const DUE: f64 = 64.0;
/// How far from the depth asked for a page may be near the top, in pages.
const SLACK_PAGES: f64 = 2.0;

/// How pages near a depth are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Focus {
    /// How far from the depth asked for a page may be, of that depth.
    pub slack: f64,
    /// Power of the uses still to come by which a page is weighted.
    pub power: f64,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct StackPage {
    address: u64,
    /// Uses still to come.
    due: u32,
    device: u32,
    state: u8,
    /// Sector within the page at which a request began last, and its size.
    sector: u8,
    size_bytes: u32,
}

/// The stack.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    numbers: PageNumbers,
    pages: Vec<StackPage>,
    recency: Recency,
    /// State and weight of the page at each place; weight 0 where there is none.
    weights: Vec<(u8, u32)>,
    sums: [Fenwick; STATES],
    focus: Focus,
}

/// A page found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub page: u64,
    pub device: u32,
    pub sector: u8,
    pub size_bytes: u64,
}

impl Stack {
    pub fn new(focus: Focus) -> Self {
        let mut stack = Self {
            numbers: PageNumbers::new(),
            pages: Vec::new(),
            recency: Recency::new(),
            weights: Vec::new(),
            sums: Default::default(),
            focus,
        };
        stack.weigh();
        stack
    }

    /// Whether a page was used.
    pub fn is_used(&self, page: u64) -> bool {
        self.numbers.find(page).is_some_and(|number| self.recency.place(number).is_some())
    }

    /// State of a page; None if it was not used.
    pub fn state(&self, page: u64) -> Option<u8> {
        let number = self.numbers.find(page)?;
        self.recency.place(number).map(|_| self.pages[number].state)
    }

    /// Pages used so far.
    pub fn distinct(&self) -> usize {
        self.recency.distinct()
    }

    /// Uses a page. Returns whether it is the first time.
    pub fn touch(&mut self, page: u64, device: u32, is_write: bool) -> bool {
        if self.recency.is_full() {
            self.recency.compact();
            self.weigh();
        }
        let number = self.numbers.of(page);
        if number >= self.pages.len() {
            self.pages.resize(self.numbers.end(), StackPage::default());
        }
        let known = &mut self.pages[number];
        let place = self.recency.place(number);
        match place {
            None => *known = StackPage { address: page, device, ..StackPage::default() },
            Some(place) => {
                known.due = known.due.saturating_sub(1);
                let (state, weight) = std::mem::take(&mut self.weights[place]);
                self.sums[state as usize].add(place / BLOCK, u64::from(weight).wrapping_neg());
            }
        }
        known.state |= if is_write { DIRTY } else { 0 };
        let (state, weight) = (known.state, self.focus.weight(known.due));
        let new = self.recency.next_place();
        self.recency.touch(number);
        self.weights[new] = (state, weight);
        self.sums[state as usize].add(new / BLOCK, u64::from(weight));
        place.is_none()
    }

    /// How often the page used last is still to be used.
    pub fn set_due(&mut self, page: u64, due: u32) {
        let number = self.numbers.of(page);
        self.pages[number].due = due;
        let place = self.recency.next_place() - 1;
        let (state, former) = self.weights[place];
        self.weights[place].1 = self.focus.weight(due);
        self.sums[state as usize].add(place / BLOCK, u64::from(self.focus.weight(due)).wrapping_sub(u64::from(former)));
    }

    /// Distinct pages used since a page was; None if it was not.
    pub fn depth(&self, page: u64) -> Option<usize> {
        let place = self.recency.place(self.numbers.find(page)?)?;
        Some(self.recency.distinct() - self.recency.count_before(place) - 1)
    }

    /// A request of this size began at this sector of a page that was used.
    pub fn start(&mut self, page: u64, sector: u8, size_bytes: u64) {
        let number = self.numbers.of(page);
        let known = &mut self.pages[number];
        (known.sector, known.size_bytes) = (sector, size_bytes as u32);
        let former = known.state;
        known.state |= STARTED;
        if let (Some(place), true) = (self.recency.place(number), former != known.state) {
            let weight = u64::from(self.weights[place].1);
            self.weights[place].0 = known.state;
            self.sums[former as usize].add(place / BLOCK, weight.wrapping_neg());
            self.sums[known.state as usize].add(place / BLOCK, weight);
        }
    }

    /// A page in this state near this depth (0 is the page used last); `share`, below 1, chooses among them. None: there is none.
    pub fn find(&self, state: u8, depth: f64, share: f64) -> Option<Found> {
        let state = state as usize;
        let count = self.recency.distinct();
        if count == 0 {
            return None;
        }
        let mut slack = self.focus.slack;
        loop {
            // Near the top every page counts.
            let pages = (depth / 4.0).min(SLACK_PAGES) * (slack / self.focus.slack) + 4.0 * (slack - self.focus.slack);
            let nearest = ((depth / (1.0 + slack) - pages).max(0.0).round() as usize).min(count - 1);
            let farthest = ((depth * (1.0 + slack) + pages).round() as usize).clamp(nearest, count - 1);
            let from = self.recency.place_of_rank(count - 1 - farthest);
            let to = self.recency.place_of_rank(count - 1 - nearest) + 1;
            let (before, upto) = (self.weight_before(state, from), self.weight_before(state, to));
            if upto > before {
                let place = self.place_of_weight(state, before + ((upto - before) as f64 * share) as u64);
                let known = &self.pages[self.recency.page(place)];
                return Some(Found {
                    page: known.address,
                    device: known.device,
                    sector: known.sector,
                    size_bytes: u64::from(known.size_bytes),
                });
            }
            if farthest == count - 1 && nearest == 0 {
                return None;
            }
            slack = slack * 3.0 + 0.1;
        }
    }

    fn weight_before(&self, state: usize, place: usize) -> u64 {
        let block = place / BLOCK;
        let rest = &self.weights[block * BLOCK..place];
        self.sums[state].before(block)
            + rest.iter().filter(|(of, _)| *of as usize == state).map(|(_, weight)| u64::from(*weight)).sum::<u64>()
    }

    fn place_of_weight(&self, state: usize, weight: u64) -> usize {
        let (block, mut rest) = self.sums[state].find(weight);
        let mut place = block * BLOCK;
        loop {
            let (of, weight) = self.weights[place];
            if of as usize == state {
                if rest < u64::from(weight) {
                    return place;
                }
                rest -= u64::from(weight);
            }
            place += 1;
        }
    }

    /// Weighs all places anew, after they have moved.
    fn weigh(&mut self) {
        let count = self.recency.distinct();
        self.weights = vec![(0, 0); self.recency.places()];
        for place in 0..count {
            let known = &self.pages[self.recency.page(place)];
            self.weights[place] = (known.state, self.focus.weight(known.due));
        }
        for (state, sums) in self.sums.iter_mut().enumerate() {
            let sum =
                |block: &[(u8, u32)]| block.iter().filter(|(of, _)| *of as usize == state).map(|(_, weight)| u64::from(*weight)).sum();
            *sums = Fenwick::of(self.weights.chunks(BLOCK).map(sum));
        }
    }
}

impl Focus {
    fn weight(self, due: u32) -> u32 {
        (1.0 + DUE * libm::pow(f64::from(due), self.power)).min(1e9) as u32
    }
}
