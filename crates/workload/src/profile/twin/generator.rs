//! Requests of a twin, one by one.

use super::deck::Deck;
use super::frontier::Frontiers;
use super::gaps::Gaps;
use super::stack::{DIRTY, Focus, Found, STARTED, Stack};
use super::streams::{End, Ends};
use super::{MID_PAGE, Moves, PLACES, Phase, StartKind, Twin, log};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::VecDeque;

/// Moves drawn before one is made to fit that does not.
const DRAWS: u32 = 12;
/// Pages looked at for one where a request of the same size began.
const LOOKS: u32 = 8;
/// Distances of which the one nearest to what is there is taken, and how far it may be off, as a logarithm.
const HAND: usize = 8;
const MISFIT: f64 = 1.0;
/// Everything that can speak for a page.
const MERITS: u32 = 31;
/// Edges of what is used that are remembered.
const EDGES: usize = 32;
/// Sectors of a page are counted by these.
const SECTOR_BYTES: u64 = 512;

const WRITE: usize = 1;

/// The requests.
#[derive(Clone, Debug)]
pub(in crate::profile) struct TwinGenerator {
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
    /// New places that requests are still to begin at, by device.
    starts_left: Vec<f64>,
    start_bytes: [Deck; 2],
    tail_bytes: Deck,
    trims: Deck,
    zeroes: Deck,
    gaps: Gaps,
    now_ns: u64,
    is_started: bool,
    ends: Ends,
    /// Whether the last transfer began where one had ended.
    went_on: bool,
    /// Where new pages were used last.
    edges: VecDeque<End>,
}

/// What a phase still has to give.
#[derive(Clone, Debug)]
struct Deal {
    /// Requests by what the transfer before was (see `Moves::after`), kind and place.
    counts: [[[u64; PLACES]; 2]; 4],
    others: [u64; 3],
    left: u64,
    uses: Deck,
    /// By kind and place: distances, and sizes by row of distances.
    moves: [[Option<MoveDecks>; PLACES]; 2],
}

#[derive(Clone, Debug)]
struct MoveDecks {
    place: StartKind,
    mean_bytes: u64,
    distances: Deck,
    /// Cards dealt of which one is chosen: row and distance.
    hand: Vec<(usize, f64)>,
    sizes: Vec<Deck>,
}

impl Deal {
    /// The phase's counts, each stretched.
    fn new(phase: &Phase, mut stretch: impl FnMut(u64) -> u64, random: &mut SplitMix64) -> Self {
        let mut counts = [[[0; PLACES]; 2]; 4];
        let mut moves = [const { [const { None }; PLACES] }; 2];
        for (op, of) in phase.moves().into_iter().enumerate() {
            for (place, of) in of {
                let after = of.after.map(&mut stretch);
                counts.iter_mut().zip(after).for_each(|(counts, after)| counts[op][*place as usize] = after);
                moves[op][*place as usize] = Some(MoveDecks::new(*place, of, after.iter().sum(), random));
            }
        }
        let others = phase.others.map(&mut stretch);
        let left: u64 = counts.iter().flatten().flatten().chain(&others).sum();
        Self { counts, others, left, uses: Deck::new(phase.uses.clone(), left, random), moves }
    }
}

impl MoveDecks {
    fn new(place: StartKind, moves: &Moves, cards: u64, random: &mut SplitMix64) -> Self {
        let distances = moves.distances();
        let weight = distances.weight();
        let share = |row: usize| (moves.parts[row].bytes.weight() / weight * cards as f64).round() as u64;
        let sizes = (0..moves.parts.len()).map(|row| Deck::new(moves.parts[row].bytes.clone(), share(row), random)).collect();
        Self {
            place,
            mean_bytes: moves.mean_bytes() as u64,
            distances: Deck::new(distances, cards, random),
            hand: Vec::with_capacity(HAND),
            sizes,
        }
    }

    /// Distance and size of the next request, near `depth` if the place leaves no other choice.
    fn next(&mut self, depth: Option<f64>) -> (f64, u64) {
        let (row, distance) = match depth {
            None => self.hand.pop().unwrap_or_else(|| self.distances.next()),
            Some(depth) => {
                let (nearest, _) = self.nearest(depth);
                self.hand.swap_remove(nearest)
            }
        };
        (distance, self.sizes[row].next_size())
    }

    /// Which card in the hand is nearest to a depth, and how far it is off, as a logarithm.
    fn nearest(&mut self, depth: f64) -> (usize, f64) {
        while self.hand.len() < HAND {
            self.hand.push(self.distances.next());
        }
        let off = self.hand.iter().map(|(_, distance)| (log(*distance) - log(depth)).abs());
        off.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }
}

impl TwinGenerator {
    pub fn new(twin: &Twin, requests: Option<u64>, space_bytes: u64, page_bytes: u64, seed: u64) -> Self {
        let mut random = SplitMix64::named(seed, "twin");
        let has = twin.requests();
        let count = |kind: usize| twin.phases.iter().map(|phase| phase.others[kind]).sum();
        let starts = weights(twin, &mut random);
        let mut generator = Self {
            page_bytes,
            space_bytes,
            wanted: requests.unwrap_or(has),
            has,
            phase: 0,
            devices: slices(&starts, space_bytes / page_bytes),
            starts_left: starts,
            start_bytes: twin.start_bytes.clone().map(|table| Deck::new(table, has, &mut random)),
            tail_bytes: Deck::new(twin.tail_bytes.clone(), has, &mut random),
            trims: Deck::new(twin.trim_bytes.clone(), count(0), &mut random),
            zeroes: Deck::new(twin.write_zeroes_bytes.clone(), count(1), &mut random),
            deal: Deal::new(&Phase::default(), |count| count, &mut random),
            gaps: Gaps::new(seed),
            random,
            stack: Stack::new(Focus { slack: twin.slack, power: twin.power }),
            now_ns: 0,
            is_started: false,
            ends: Ends::new(),
            went_on: false,
            edges: VecDeque::with_capacity(EDGES + 1),
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
            let phase = &self.twin.phases[self.phase];
            self.deal = Deal::new(phase, stretch, &mut self.random);
            self.gaps.begin(phase, self.deal.left);
            self.phase += 1;
        }
    }

    fn other(&mut self, kind: usize) -> HostRequest {
        let arrival_ns = self.now_ns;
        let op = [HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush][kind];
        if op == HostOp::Flush {
            return HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op, stream: 0, source: 0 };
        }
        let sizes = if op == HostOp::Trim { &mut self.trims } else { &mut self.zeroes };
        let size_bytes = sizes.next_size().min(self.space_bytes);
        // Anywhere among the used pages, written ones first.
        let (depth, share) = (self.random.next_unit() * self.stack.distinct() as f64, self.random.next_unit());
        let found = [DIRTY | STARTED, DIRTY, STARTED, 0].into_iter().find_map(|state| self.stack.find(state, depth, share));
        let start = found.map_or(0, |found| found.page * self.page_bytes).min(self.space_bytes - size_bytes);
        HostRequest { arrival_ns, offset_bytes: start, size_bytes, op, stream: 0, source: found.map_or(0, |found| found.device) }
    }

    /// A move of those left, which fits the state of the space if one of some draws does: the best of them else.
    fn draw(&mut self) -> (usize, StartKind) {
        let wanted = 2 * self.ends.last_op + usize::from(self.went_on);
        let is_left = |row: &usize| self.deal.counts[*row].iter().flatten().any(|count| *count > 0);
        let row = [wanted, wanted ^ 1, wanted ^ 2, wanted ^ 3].into_iter().find(is_left).expect("a request is left");
        let total: u64 = self.deal.counts[row].iter().flatten().sum();
        let (mut best, mut least) = (0, f64::INFINITY);
        for _ in 0..DRAWS {
            let mut ticket = self.random.next_below(total);
            let found = self.deal.counts[row].iter().flatten().position(|count| {
                let is_here = ticket < *count;
                ticket = ticket.wrapping_sub(*count);
                is_here
            });
            let index = found.expect("the ticket is below the sum");
            let misfit = self.misfit(index / PLACES, self.place((index / PLACES, index % PLACES)));
            if misfit < least {
                (best, least) = (index, misfit);
            }
            if misfit <= MISFIT {
                break;
            }
        }
        self.deal.counts[row][best / PLACES][best % PLACES] -= 1;
        (best / PLACES, self.place((best / PLACES, best % PLACES)))
    }

    /// How far a move is from what the space allows: 0 fits, infinity cannot be done.
    fn misfit(&mut self, op: usize, place: StartKind) -> f64 {
        let possible = |is_possible| if is_possible { 0.0 } else { f64::MAX };
        match place {
            StartKind::Edge => possible(self.edges().next().is_some()),
            StartKind::NextUsed | StartKind::OwnUsed | StartKind::NextNew | StartKind::OwnNew => match self.depth(op, place) {
                Some(depth) => self.deal.moves[op][place as usize].as_mut().map_or(0.0, |moves| moves.nearest(depth).1),
                None => f64::MAX,
            },
            StartKind::Tail | StartKind::TailNew => possible(self.ends(op, place).next().is_some()),
            _ => possible(place.goes_on().is_none() || self.ends(op, place).next().is_some()),
        }
    }

    /// Depth of the page that a move must begin at, if there is one.
    fn depth(&self, op: usize, place: StartKind) -> Option<f64> {
        let end = self.ends(op, place).next()?;
        if place.goes_on() == Some(true) {
            return Some(self.mid_page(end));
        }
        self.stack.depth(end.bytes.div_ceil(self.page_bytes)).map(|depth| depth as f64)
    }

    /// What stands for the distance of a request that goes on from here into new pages.
    fn mid_page(&self, end: End) -> f64 {
        if end.bytes.is_multiple_of(self.page_bytes) { 0.0 } else { MID_PAGE }
    }

    fn place(&self, (op, index): (usize, usize)) -> StartKind {
        self.deal.moves[op][index].as_ref().map_or(StartKind::New, |moves| moves.place)
    }

    /// Ends from which a move may go on, as far as pages there are as it asks.
    fn ends(&self, op: usize, place: StartKind) -> impl Iterator<Item = End> {
        let of = match place {
            StartKind::NextNew | StartKind::NextUsed => [self.ends.last(), None],
            StartKind::OwnNew | StartKind::OwnUsed => [self.ends.own(op).filter(|_| op != self.ends.last_op), None],
            _ => [None, None],
        };
        let streams = if matches!(place, StartKind::StreamNew | StartKind::StreamUsed) { self.ends.streams(op) } else { &[] };
        let streams = if matches!(place, StartKind::Tail | StartKind::TailNew) { self.ends.all(op) } else { streams };
        let is_new = place.goes_on() == Some(true) || place == StartKind::TailNew;
        // The whole of a request of mean size is to lie in used pages.
        let mean_bytes = self.deal.moves[op][place as usize].as_ref().map_or(0, |moves| moves.mean_bytes);
        let fits = move |end: &End| {
            let page = end.bytes.div_ceil(self.page_bytes);
            let last = (end.bytes + mean_bytes).saturating_sub(1) / self.page_bytes;
            let is_within = (page.max(last) + 1) * self.page_bytes <= self.space_bytes;
            is_within && self.stack.is_used(page) != is_new && (is_new || last <= page || self.stack.is_used(last))
        };
        streams.iter().rev().copied().chain(of.into_iter().flatten()).filter(fits)
    }

    /// Edges behind which there are new pages.
    fn edges(&self) -> impl Iterator<Item = End> {
        let is_free = |end: &&End| {
            let page = end.bytes.div_ceil(self.page_bytes);
            (page + 1) * self.page_bytes <= self.space_bytes && !self.stack.is_used(page)
        };
        self.edges.iter().rev().filter(is_free).copied()
    }

    fn transfer(&mut self) -> HostRequest {
        let (op, place) = self.draw();
        let depth = if matches!(place, StartKind::NextUsed | StartKind::OwnUsed | StartKind::NextNew | StartKind::OwnNew) {
            self.depth(op, place)
        } else {
            None
        };
        let moves = self.deal.moves[op][place as usize].as_mut().expect("a move that was drawn");
        let (distance, size_bytes) = moves.next(depth);
        let size_bytes = size_bytes.min(self.space_bytes);
        let End { device, bytes: start } = self.start(op, place, distance, size_bytes);
        let start = start.min(self.space_bytes - size_bytes);
        self.touch(op, device, start, size_bytes);
        self.went_on = place.goes_on().is_some();
        self.ends.push(op, start, End { device, bytes: start + size_bytes });
        let op = [HostOp::Read, HostOp::Write][op];
        HostRequest { arrival_ns: self.now_ns, offset_bytes: start, size_bytes, op, stream: 0, source: device }
    }

    /// Where a request begins. What cannot go on begins elsewhere, at pages of the same state.
    fn start(&mut self, op: usize, place: StartKind, distance: f64, size_bytes: u64) -> End {
        let found = match place {
            StartKind::New => None,
            StartKind::Edge => self.nearest(self.edges(), distance).map(|end| self.before(end)),
            StartKind::Tail | StartKind::TailNew => {
                let overlap = self.tail_bytes.next_size();
                let end = self.nearest(self.ends(op, place), distance);
                end.map(|end| End { bytes: end.bytes - overlap.min(end.bytes), ..end })
            }
            StartKind::StreamNew => {
                let alike = self.ends(op, place).find(|end| self.mid_page(*end) == distance);
                alike.or_else(|| self.ends(op, place).next())
            }
            StartKind::StreamUsed => self.nearest(self.ends(op, place), distance),
            _ => self.ends(op, place).next(),
        };
        match (found, place.state(), place.goes_on()) {
            (Some(end), _, _) => end,
            (None, Some(state), _) => self.back(op, state, distance, size_bytes),
            (None, None, Some(false)) => self.back(op, DIRTY, distance, size_bytes),
            (None, None, None) if place == StartKind::Tail => self.back(op, DIRTY, distance, size_bytes),
            (None, None, _) => self.begin(size_bytes),
        }
    }

    /// The end behind which the page has a distance nearest to this one.
    fn nearest(&self, ends: impl Iterator<Item = End>, distance: f64) -> Option<End> {
        let off = |end: &End| {
            let depth =
                self.stack.depth(end.bytes.div_ceil(self.page_bytes)).or_else(|| self.stack.depth((end.bytes - 1) / self.page_bytes));
            (log(depth.unwrap_or(0) as f64) - log(distance)).abs()
        };
        ends.map(|end| (off(&end), end)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, end)| end)
    }

    /// In the last used page before an edge.
    fn before(&self, end: End) -> End {
        let within = end.bytes % self.page_bytes;
        End { bytes: if within == 0 { end.bytes - SECTOR_BYTES } else { end.bytes }, ..end }
    }

    /// Begins at new pages.
    fn begin(&mut self, size_bytes: u64) -> End {
        let device = if self.devices.len() == 1 { 0 } else { self.choose_device() };
        let within = self.start_within(size_bytes);
        let pages = (within + size_bytes).div_ceil(self.page_bytes);
        match self.devices[device].begin(pages) {
            Some(page) => End { device: device as u32, bytes: page * self.page_bytes + within },
            None => self.back(WRITE, DIRTY, f64::INFINITY, size_bytes),
        }
    }

    /// A device by lot, weighted by the starts that it still is to have.
    fn choose_device(&mut self) -> usize {
        let weight = |left: &f64| left.max(1e-6);
        let mut ticket = self.random.next_unit() * self.starts_left.iter().map(weight).sum::<f64>();
        let chosen = self.starts_left.iter().position(|left| {
            ticket -= weight(left);
            ticket < 0.0
        });
        let chosen = chosen.unwrap_or(self.starts_left.len() - 1);
        self.starts_left[chosen] -= 1.0;
        chosen
    }

    fn start_within(&mut self, size_bytes: u64) -> u64 {
        let kind = usize::from(!size_bytes.is_multiple_of(self.page_bytes));
        (self.start_bytes[kind].next().1 / SECTOR_BYTES as f64).round() as u64 * SECTOR_BYTES % self.page_bytes
    }

    /// How much speaks for going back to a page: it does not look sequential by chance, the last page is in the state asked for too, a
    /// request of this size began there, and what lies behind was used, so that another request may go on.
    fn merit(&self, found: &Found, op: usize, state: u8, size_bytes: u64) -> u32 {
        let first = found.page * self.page_bytes + u64::from(found.sector) * SECTOR_BYTES;
        let is_next = [self.ends.last(), self.ends.own(op)].into_iter().flatten().any(|end| end.bytes == first);
        let is_whole = |bytes: u64| bytes.is_multiple_of(self.page_bytes);
        let is_same = found.size_bytes == size_bytes;
        let is_alike = is_whole(found.size_bytes) == is_whole(size_bytes);
        let goes_on = self.stack.is_used((first + size_bytes) / self.page_bytes);
        let last = self.stack.state((first + size_bytes - 1) / self.page_bytes);
        let is_whole_used = last.is_some_and(|last| (last ^ state) & DIRTY == 0);
        let merits = [(16, !is_next), (8, is_whole_used), (4, is_same), (2, is_alike), (1, goes_on)];
        merits.into_iter().filter(|(_, speaks)| *speaks).map(|(merit, _)| merit).sum()
    }

    /// Goes back to a used page in this state, else to one in a state like it.
    fn back(&mut self, op: usize, state: u8, distance: f64, size_bytes: u64) -> End {
        let mut best = None;
        for _ in 0..LOOKS {
            let share = self.random.next_unit();
            let found =
                [0, STARTED, DIRTY, DIRTY | STARTED].into_iter().find_map(|change| self.stack.find(state ^ change, distance, share));
            let Some(found) = found else { break };
            let merit = self.merit(&found, op, state, size_bytes);
            if best.as_ref().is_none_or(|(least, _)| merit > *least) {
                best = Some((merit, found));
            }
            if merit == MERITS {
                break;
            }
        }
        let Some((merit, Found { page, device, sector, .. })) = best else {
            return End { device: 0, bytes: self.random.next_below(self.space_bytes / self.page_bytes) * self.page_bytes };
        };
        let within = if state & STARTED != 0 && merit & 6 != 0 { u64::from(sector) * SECTOR_BYTES } else { self.start_within(size_bytes) };
        let pages = (within + size_bytes).div_ceil(self.page_bytes);
        // Used pages alone: what would reach beyond them begins so much earlier.
        let beyond = (page..page + pages).rev().take_while(|page| !self.stack.is_used(*page)).count() as u64;
        let page = if self.stack.is_used(page.saturating_sub(beyond)) { page.saturating_sub(beyond) } else { page };
        End { device, bytes: page * self.page_bytes + within }
    }

    fn touch(&mut self, op: usize, device: u32, start: u64, size_bytes: u64) {
        let (first, last) = (start / self.page_bytes, (start + size_bytes - 1) / self.page_bytes);
        let mut due = None;
        for page in first..=last {
            if self.stack.touch(page, device, op == WRITE) {
                let due = *due.get_or_insert_with(|| (self.deal.uses.next().1.round() as u32).saturating_sub(1));
                self.stack.set_due(page, due);
            }
        }
        if due.is_some() {
            self.devices[device as usize].advance(first, last + 1);
            if self.edges.len() == EDGES {
                self.edges.pop_front();
            }
            self.edges.push_back(End { device, bytes: start + size_bytes });
        }
        self.stack.start(first, (start % self.page_bytes / SECTOR_BYTES) as u8, size_bytes);
    }
}

/// New places that requests begin at on each device.
fn weights(twin: &Twin, random: &mut SplitMix64) -> Vec<f64> {
    let mut deck = Deck::new(twin.device_starts.clone(), u64::from(twin.devices), random);
    (0..twin.devices).map(|_| deck.next().1.max(1e-6)).collect()
}

/// The space cut into parts by these weights, each at least a page.
fn slices(weights: &[f64], pages: u64) -> Vec<Frontiers> {
    let total: f64 = weights.iter().sum();
    let (mut sum, mut first) = (0.0, 0);
    let slice = |(index, weight): (usize, &f64)| {
        sum += weight;
        let last = pages - (weights.len() - 1 - index) as u64;
        let end = ((sum / total * pages as f64) as u64).clamp(first + 1, last.max(first + 1));
        Frontiers::new(std::mem::replace(&mut first, end), end)
    };
    weights.iter().enumerate().map(slice).collect()
}

impl Iterator for TwinGenerator {
    type Item = HostRequest;

    fn next(&mut self) -> Option<HostRequest> {
        if self.deal.left == 0 {
            self.next_phase();
        }
        let mut ticket = if self.deal.left > 0 { self.random.next_below(self.deal.left) } else { 0 };
        self.deal.left = self.deal.left.checked_sub(1)?;
        let gap_ns = self.gaps.next_ns();
        // The first request of all arrives at 0.
        if std::mem::replace(&mut self.is_started, true) {
            self.now_ns = self.now_ns.saturating_add(gap_ns);
        }
        for kind in 0..3 {
            if ticket < self.deal.others[kind] {
                self.deal.others[kind] -= 1;
                return Some(self.other(kind));
            }
            ticket -= self.deal.others[kind];
        }
        Some(self.transfer())
    }
}
