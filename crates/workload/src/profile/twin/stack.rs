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
const DUE: u64 = 64;
/// How far from the depth asked for a page may be, first.
const SLACK: f64 = 0.04;

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    address: u64,
    /// Uses still to come.
    due: u32,
    device: u32,
    state: u8,
    /// Sector within the page at which a request began last.
    sector: u8,
}

/// The stack.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    numbers: PageNumbers,
    pages: Vec<Page>,
    recency: Recency,
    /// State and weight of the page at each place; weight 0 where there is none.
    weights: Vec<(u8, u32)>,
    sums: [Fenwick; STATES],
}

/// A page found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub page: u64,
    pub device: u32,
    pub sector: u8,
}

impl Stack {
    pub fn new() -> Self {
        let mut stack =
            Self { numbers: PageNumbers::new(), pages: Vec::new(), recency: Recency::new(), weights: Vec::new(), sums: Default::default() };
        stack.weigh();
        stack
    }

    /// Whether a page was used.
    pub fn is_warm(&self, page: u64) -> bool {
        self.numbers.find(page).is_some_and(|number| self.recency.place(number).is_some())
    }

    /// Uses a page; `due` more uses are to come if it is the first one. Returns whether it is.
    pub fn touch(&mut self, page: u64, device: u32, is_write: bool, due: u32) -> bool {
        if self.recency.is_full() {
            self.recency.compact();
            self.weigh();
        }
        let number = self.numbers.of(page);
        if number >= self.pages.len() {
            self.pages.resize(self.numbers.end(), Page::default());
        }
        let known = &mut self.pages[number];
        let place = self.recency.place(number);
        match place {
            None => *known = Page { address: page, due, device, ..Page::default() },
            Some(place) => {
                known.due = known.due.saturating_sub(1);
                let (state, weight) = std::mem::take(&mut self.weights[place]);
                self.sums[state as usize].add(place / BLOCK, u64::from(weight).wrapping_neg());
            }
        }
        known.state |= if is_write { DIRTY } else { 0 };
        let (state, weight) = (known.state, weight(known.due));
        let new = self.recency.next_place();
        self.recency.touch(number);
        self.weights[new] = (state, weight);
        self.sums[state as usize].add(new / BLOCK, u64::from(weight));
        place.is_none()
    }

    /// A request began in a page that was used.
    pub fn start(&mut self, page: u64, sector: u8) {
        let number = self.numbers.of(page);
        let known = &mut self.pages[number];
        known.sector = sector;
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
        let mut slack = SLACK;
        loop {
            let nearest = ((depth / (1.0 + slack)).round() as usize).min(count - 1);
            let farthest = ((depth * (1.0 + slack) + 8.0 * (slack - SLACK)).round() as usize).clamp(nearest, count - 1);
            let from = self.recency.place_of_rank(count - 1 - farthest);
            let to = self.recency.place_of_rank(count - 1 - nearest) + 1;
            let (before, upto) = (self.weight_before(state, from), self.weight_before(state, to));
            if upto > before {
                let place = self.place_of_weight(state, before + ((upto - before) as f64 * share) as u64);
                let known = &self.pages[self.recency.page(place)];
                return Some(Found { page: known.address, device: known.device, sector: known.sector });
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
            self.weights[place] = (known.state, weight(known.due));
        }
        for (state, sums) in self.sums.iter_mut().enumerate() {
            let sum =
                |block: &[(u8, u32)]| block.iter().filter(|(of, _)| *of as usize == state).map(|(_, weight)| u64::from(*weight)).sum();
            *sums = Fenwick::of(self.weights.chunks(BLOCK).map(sum));
        }
    }
}

fn weight(due: u32) -> u32 {
    (1 + DUE * u64::from(due)).min(u64::from(u32::MAX)) as u32
}
