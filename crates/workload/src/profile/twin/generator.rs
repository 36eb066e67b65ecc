//! Requests of a twin, one by one.

use super::deck::Deck;
use super::frontier::Frontiers;
use super::stack::{Found, Stack};
use super::{Phase, Place, Places, Twin};
use crate::profile::Table;
use crate::profile::streams::to_sectors;
use crate::random::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

/// Places drawn before one is made to fit that does not.
const DRAWS: u32 = 12;

const READ: usize = 0;
const WRITE: usize = 1;

/// The requests.
#[derive(Clone, Debug)]
pub(in crate::profile) struct Generator {
    twin: Twin,
    page_bytes: u64,
    space_bytes: u64,
    /// Requests that are asked for, and that the twin has: its counts are stretched by their ratio.
    wanted: u64,
    has: u64,
    phase: usize,
    deal: Deal,
    random: SplitMix64,
    stack: Stack,
    devices: Vec<Frontiers>,
    device_starts: Deck,
    starts_left: Vec<f64>,
    start_bytes: Deck,
    trims: Deck,
    zeroes: Deck,
    now_ns: u64,
    is_started: bool,
    last: Last,
}

/// The last transfers: kind and end of the last one, device and end of the last of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    op: usize,
    ends: [Option<(u32, u64)>; 2],
}

/// What a phase still has to give.
#[derive(Clone, Debug)]
struct Deal {
    moves: [[Places; 2]; 2],
    others: [u64; 3],
    left: u64,
    gaps: Deck,
    sizes: [[Deck; 3]; 2],
    distances: [[Deck; 2]; 2],
}

impl Deal {
    /// The phase's counts, stretched: `count` turns a sum of counts so far into what it is to be.
    fn new(phase: &Phase, mut stretch: impl FnMut(u64) -> u64, random: &mut SplitMix64) -> Self {
        let moves = phase.moves().map(|ops| ops.map(|places| places.map(&mut stretch)));
        let others = phase.others.map(&mut stretch);
        let left = moves.iter().flatten().flatten().chain(&others).sum();
        let count = |op: usize, fits: &dyn Fn(Place) -> bool| -> u64 {
            Place::ALL
                .into_iter()
                .filter(|place| fits(*place))
                .map(|place| moves[READ][op][place as usize] + moves[WRITE][op][place as usize])
                .sum()
        };
        let mut deck = |table: &Table, cards: u64| Deck::new(table.clone(), cards, random);
        let sizes = [&phase.read_bytes, &phase.write_bytes];
        let distances = [&phase.read_distances, &phase.write_distances];
        let is_of = |class: usize| move |place: Place| place.size_class() == class;
        let is_dirty = |dirty: bool| move |place: Place| place.state().is_some_and(|state| (state & super::DIRTY != 0) == dirty);
        Self {
            gaps: deck(&phase.gaps_ns, left),
            sizes: [READ, WRITE].map(|op| [0, 1, 2].map(|class| deck(&sizes[op][class], count(op, &is_of(class))))),
            distances: [READ, WRITE].map(|op| [0, 1].map(|dirty| deck(&distances[op][dirty], count(op, &is_dirty(dirty == 1))))),
            moves,
            others,
            left,
        }
    }
}

impl Generator {
    pub fn new(twin: &Twin, requests: Option<u64>, space_bytes: u64, page_bytes: u64, seed: u64) -> Self {
        let mut random = SplitMix64::named(seed, "twin");
        let starts: u64 = twin.phases.iter().flat_map(|phase| phase.moves()).flatten().map(|places| places[Place::Cold as usize]).sum();
        let count = twin.devices as usize;
        let mut device_starts = Deck::new(twin.device_starts.clone(), count as u64, &mut random);
        let weights: Vec<f64> = (0..count).map(|_| device_starts.next().max(1e-9)).collect();
        let total: f64 = weights.iter().sum();
        let (mut sum, mut first) = (0.0, 0);
        let pages = space_bytes / page_bytes;
        let slices = weights.iter().enumerate().map(|(index, weight)| {
            sum += weight;
            // At least a page for each device that follows.
            let last = pages - (count - 1 - index) as u64;
            let end = ((sum / total * pages as f64) as u64).clamp(first + 1, last.max(first + 1));
            let slice = Frontiers::new(first, end);
            first = end;
            slice
        });
        let has = twin.requests();
        let mut generator = Self {
            page_bytes,
            space_bytes,
            wanted: requests.unwrap_or(has),
            has,
            phase: 0,
            devices: slices.collect(),
            starts_left: weights.iter().map(|weight| weight / total * starts as f64).collect(),
            device_starts,
            start_bytes: Deck::new(twin.start_bytes.clone(), has, &mut random),
            trims: Deck::new(twin.trim_bytes.clone(), twin.phases.iter().map(|phase| phase.others[0]).sum(), &mut random),
            zeroes: Deck::new(twin.write_zeroes_bytes.clone(), twin.phases.iter().map(|phase| phase.others[1]).sum(), &mut random),
            deal: Deal::new(&Phase::default(), |count| count, &mut random),
            random,
            stack: Stack::new(),
            now_ns: 0,
            is_started: false,
            last: Last { op: WRITE, ends: [None; 2] },
            twin: twin.clone(),
        };
        generator.next_phase();
        generator
    }

    /// Deals out the phase that follows. Counts are stretched by what their sum over all phases is to be, so that rounding never adds up.
    fn next_phase(&mut self) {
        let (wanted, has) = (u128::from(self.wanted), u128::from(self.has));
        while self.deal.left == 0 && self.phase < self.twin.phases.len() {
            let before: u64 = self.twin.phases[..self.phase].iter().map(Phase::requests).sum();
            let mut sum = u128::from(before);
            let stretch = |count: u64| {
                let from = sum * wanted / has;
                sum += u128::from(count);
                (sum * wanted / has - from) as u64
            };
            self.deal = Deal::new(&self.twin.phases[self.phase], stretch, &mut self.random);
            self.phase += 1;
        }
    }

    fn other(&mut self, kind: usize) -> HostRequest {
        let arrival_ns = self.now_ns;
        let op = [HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush][kind];
        if op == HostOp::Flush {
            return HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op, stream: 0, source: 0 };
        }
        let bytes = if op == HostOp::Trim { self.trims.next() } else { self.zeroes.next() };
        let size_bytes = to_sectors(bytes).min(self.space_bytes);
        let share = self.random.next_unit();
        let found = (0..4).find_map(|state| self.stack.find(state ^ 3, f64::INFINITY, share));
        let start = found.map_or(0, |found| found.page * self.page_bytes).min(self.space_bytes - size_bytes);
        HostRequest { arrival_ns, offset_bytes: start, size_bytes, op, stream: 0, source: found.map_or(0, |found| found.device) }
    }

    /// A move of those left, and whether it fits the state of the space.
    fn draw(&mut self) -> (usize, Place) {
        let is_left = |places: &[Places; 2]| places.iter().flatten().any(|count| *count > 0);
        let row = if is_left(&self.deal.moves[self.last.op]) { self.last.op } else { 1 - self.last.op };
        let total: u64 = self.deal.moves[row].iter().flatten().sum();
        let mut drawn = (row, READ, Place::Cold);
        for _ in 0..DRAWS {
            let mut ticket = self.random.next_below(total);
            let moves = (READ..=WRITE).flat_map(|op| Place::ALL.map(|place| (op, place)));
            let mut found = moves.skip_while(|(op, place)| {
                let count = self.deal.moves[row][*op][*place as usize];
                let is_before = ticket >= count;
                ticket = ticket.wrapping_sub(count);
                is_before
            });
            let (op, place) = found.next().expect("the ticket is below the sum");
            drawn = (row, op, place);
            if self.fits(op, place) {
                break;
            }
        }
        let (row, op, place) = drawn;
        self.deal.moves[row][op][place as usize] -= 1;
        (op, place)
    }

    /// End of the transfer that a move goes on from.
    fn end(&self, op: usize, place: Place) -> Option<(u32, u64)> {
        match place {
            Place::NextCold | Place::NextWarm => self.last.ends[self.last.op],
            Place::OwnCold | Place::OwnWarm => self.last.ends[op].filter(|_| op != self.last.op),
            _ => None,
        }
    }

    fn fits(&self, op: usize, place: Place) -> bool {
        if place.size_class() != 0 {
            return true;
        }
        let is_cold = matches!(place, Place::NextCold | Place::OwnCold);
        self.end(op, place).is_some_and(|(_, end)| {
            let page = end.div_ceil(self.page_bytes);
            (page + 1) * self.page_bytes <= self.space_bytes && self.stack.is_warm(page) != is_cold
        })
    }

    fn transfer(&mut self) -> HostRequest {
        let (op, place) = self.draw();
        let size_bytes = to_sectors(self.deal.sizes[op][place.size_class()].next()).min(self.space_bytes);
        let (device, start) = if self.fits(op, place) { self.place(op, place, size_bytes) } else { self.elsewhere(op, place, size_bytes) };
        let start = start.min(self.space_bytes - size_bytes);
        self.touch(op, device, start, size_bytes);
        self.last.op = op;
        self.last.ends[op] = Some((device, start + size_bytes));
        let op = [HostOp::Read, HostOp::Write][op];
        HostRequest { arrival_ns: self.now_ns, offset_bytes: start, size_bytes, op, stream: 0, source: device }
    }

    fn place(&mut self, op: usize, place: Place, size_bytes: u64) -> (u32, u64) {
        match place.state() {
            None if place == Place::Cold => self.begin(size_bytes),
            None => self.end(op, place).unwrap_or((0, 0)),
            Some(state) => self.back(op, state, size_bytes),
        }
    }

    /// What cannot go on goes to pages of the same state.
    fn elsewhere(&mut self, op: usize, place: Place, size_bytes: u64) -> (u32, u64) {
        if matches!(place, Place::NextCold | Place::OwnCold) { self.begin(size_bytes) } else { self.back(op, super::DIRTY, size_bytes) }
    }

    /// Begins at new pages.
    fn begin(&mut self, size_bytes: u64) -> (u32, u64) {
        let device = if self.devices.len() == 1 { 0 } else { self.choose_device() };
        let within = self.start_within();
        let pages = (within + size_bytes).div_ceil(self.page_bytes);
        match self.devices[device].begin(pages) {
            Some(page) => (device as u32, page * self.page_bytes + within),
            None => self.back(WRITE, super::DIRTY, size_bytes),
        }
    }

    /// The device with the largest share of starts still to come, by lot.
    fn choose_device(&mut self) -> usize {
        let total: f64 = self.starts_left.iter().map(|left| left.max(1e-6)).sum();
        let mut ticket = self.random.next_unit() * total;
        let chosen = self.starts_left.iter().position(|left| {
            ticket -= left.max(1e-6);
            ticket < 0.0
        });
        let chosen = chosen.unwrap_or(self.starts_left.len() - 1);
        self.starts_left[chosen] -= 1.0;
        chosen
    }

    fn start_within(&mut self) -> u64 {
        (self.start_bytes.next() / 512.0).round() as u64 * 512 % self.page_bytes
    }

    /// Goes back to a used page in this state, else to one in a state like it.
    fn back(&mut self, op: usize, state: u8, size_bytes: u64) -> (u32, u64) {
        let depth = self.deal.distances[op][usize::from(state & super::DIRTY != 0)].next();
        let share = self.random.next_unit();
        let found = [0, super::STARTED, super::DIRTY, 3].into_iter().find_map(|change| self.stack.find(state ^ change, depth, share));
        let Some(Found { page, device, sector }) = found else {
            return (0, self.random.next_below(self.space_bytes / self.page_bytes) * self.page_bytes);
        };
        let within = if state & super::STARTED != 0 { u64::from(sector) * 512 } else { self.start_within() };
        let start = page * self.page_bytes + within;
        (device, start.min(self.space_bytes.saturating_sub(size_bytes)))
    }

    fn touch(&mut self, op: usize, device: u32, start: u64, size_bytes: u64) {
        let (first, last) = (start / self.page_bytes, (start + size_bytes - 1) / self.page_bytes);
        let due = (self.twin.uses.at(self.random.next_unit()).round() as u32).saturating_sub(1);
        let mut is_new = false;
        for page in first..=last {
            is_new |= self.stack.touch(page, device, op == WRITE, due);
        }
        if is_new {
            self.devices[device as usize].advance(first, last + 1);
        }
        self.stack.start(first, (start % self.page_bytes / 512) as u8);
    }
}

impl Iterator for Generator {
    type Item = HostRequest;

    fn next(&mut self) -> Option<HostRequest> {
        if self.deal.left == 0 {
            self.next_phase();
        }
        self.deal.left = self.deal.left.checked_sub(1)?;
        let gap_ns = self.deal.gaps.next().round() as u64;
        self.now_ns += if self.is_started { gap_ns } else { 0 };
        self.is_started = true;
        let others: u64 = self.deal.others.iter().sum();
        if others > 0 {
            let mut ticket = self.random.next_below(self.deal.left + 1);
            for kind in 0..3 {
                if ticket < self.deal.others[kind] {
                    self.deal.others[kind] -= 1;
                    return Some(self.other(kind));
                }
                ticket -= self.deal.others[kind];
            }
        }
        Some(self.transfer())
    }
}
