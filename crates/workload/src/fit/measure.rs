//! Measures the model of a twin.

use crate::info::TraceStatistics;
use crate::info::bursts::BURST_GAP_NS;
use crate::pages::PageNumbers;
use crate::profile::{DIRTY, DistanceClass, End, Ends, MID_PAGE, Moves, PLACES, Phase, STARTED, StartKind, TAIL_BYTES, Twin, ValueTable};
use crate::recency::Recency;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeMap;

/// Phases of equal weight in a long trace, and requests that each has at least.
const PHASES: usize = 16;
const PHASE_REQUESTS: usize = 2000;
/// Requests for each phase more, at the bounds of the busiest windows.
const CUT_REQUESTS: usize = 500;

/// Shares at which a table of gaps is exact.
const GAP_CUTS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Shares of bursts, from the smallest, at which a table of their requests is exact.
const BURST_CUTS: [f64; 4] = [0.5, 0.9, 0.95, 0.98];
/// Shares of pages, from the least used, at which a table of uses is exact.
const USE_CUTS: [f64; 3] = [0.8, 0.9, 0.99];

/// What a transfer is, in the words of the model.
struct Sample {
    op: usize,
    after: usize,
    place: StartKind,
    size_bytes: f64,
    /// LRU stack distance of its first page, if it has one and the place is chosen by it.
    distance: f64,
}

/// Where the trace stands.
struct Walker {
    page_bytes: u64,
    numbers: PageNumbers,
    recency: Recency,
    states: Vec<u8>,
    /// By page: uses, and the phase of the first one.
    uses: Vec<(u32, u32)>,
    ends: Ends,
    went_on: bool,
    /// How far before an end requests began.
    tails: Vec<f64>,
}

impl Walker {
    fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            numbers: PageNumbers::new(),
            recency: Recency::new(),
            states: Vec::new(),
            uses: Vec::new(),
            ends: Ends::new(),
            went_on: false,
            tails: Vec::new(),
        }
    }

    fn number(&mut self, page: u64) -> usize {
        let number = self.numbers.of(page);
        if number >= self.states.len() {
            self.states.resize(self.numbers.end(), 0);
            self.uses.resize(self.numbers.end(), (0, 0));
        }
        number
    }

    fn depth(&mut self, page: u64) -> Option<usize> {
        let number = self.number(page);
        self.recency.place(number).map(|place| self.recency.distinct() - self.recency.count_before(place) - 1)
    }

    fn step(&mut self, request: &HostRequest, phase: u32) -> Sample {
        let op = usize::from(request.op == HostOp::Write);
        let (start, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
        let (first, last) = (start / self.page_bytes, (end - 1) / self.page_bytes);
        let after = 2 * self.ends.last_op + usize::from(self.went_on);
        let (place, distance) = self.place(op, start, last);
        for page in first..=last {
            if self.recency.is_full() {
                self.recency.compact();
            }
            let number = self.number(page);
            if self.recency.touch(number).is_none() {
                self.uses[number].1 = phase;
            }
            self.uses[number].0 = self.uses[number].0.saturating_add(1);
            self.states[number] |= if op == 1 { DIRTY } else { 0 };
        }
        let number = self.number(first);
        self.states[number] |= STARTED;
        self.ends.push(op, start, End { device: 0, bytes: end });
        self.went_on = place.goes_on().is_some();
        Sample { op, after, place, size_bytes: request.size_bytes as f64, distance: distance.unwrap_or(0) as f64 }
    }

    fn place(&mut self, op: usize, start: u64, last: u64) -> (StartKind, Option<usize>) {
        let is_end = |end: Option<End>| end.is_some_and(|end| end.bytes == start);
        let is_next = is_end(self.ends.last());
        let is_own = is_end(self.ends.own(op));
        let is_stream = self.ends.streams(op).iter().any(|end| is_end(Some(*end)));
        let first = start / self.page_bytes;
        let following = self.depth(start.div_ceil(self.page_bytes));
        let mid_page = if start.is_multiple_of(self.page_bytes) { 0 } else { MID_PAGE as usize };
        let goes_on = |new, used| if following.is_none() { (new, Some(mid_page)) } else { (used, following) };
        if is_next {
            return goes_on(StartKind::NextNew, StartKind::NextUsed);
        }
        if is_own {
            return goes_on(StartKind::OwnNew, StartKind::OwnUsed);
        }
        if is_stream {
            return goes_on(StartKind::StreamNew, StartKind::StreamUsed);
        }
        let request_end = (last + 1) * self.page_bytes;
        let tail = |end: &&End| (start + 1..=start + TAIL_BYTES).contains(&end.bytes) && end.bytes < request_end;
        if let Some(end) = self.ends.all(op).iter().rev().find(tail).copied() {
            let page = end.bytes.div_ceil(self.page_bytes);
            let behind = self.depth(page);
            if page <= last && self.depth(first).is_some() {
                self.tails.push((end.bytes - start) as f64);
                let before = self.depth((end.bytes - 1) / self.page_bytes);
                return if behind.is_some() { (StartKind::Tail, behind) } else { (StartKind::TailNew, before) };
            }
        }
        let distance = self.depth(first);
        let is_edge = distance.is_some() && last > first && self.depth(first + 1).is_none();
        let number = self.number(first);
        let place = match distance {
            None => StartKind::New,
            Some(_) if is_edge => StartKind::Edge,
            Some(_) => StartKind::back(self.states[number]),
        };
        (place, distance)
    }
}

/// Requests of one kind and place: how many by what went before, and their distances and sizes.
type Requests = ([u64; 4], Vec<(f64, f64)>);

/// What becomes the tables of one phase.
struct SampleValues {
    first_gap_ns: u64,
    gaps: Vec<f64>,
    others: [u64; 3],
    /// By kind and place.
    moves: [[Requests; PLACES]; 2],
    places: [Option<StartKind>; PLACES],
    uses: Vec<f64>,
}

impl SampleValues {
    /// Of a phase whose first request comes this long after the one before.
    fn new(first_gap_ns: u64) -> Self {
        let none = || std::array::from_fn(|_| ([0; 4], Vec::new()));
        Self { first_gap_ns, gaps: Vec::new(), others: [0; 3], moves: [none(), none()], places: [None; PLACES], uses: Vec::new() }
    }

    fn add(&mut self, sample: &Sample) {
        let (after, pairs) = &mut self.moves[sample.op][sample.place as usize];
        after[sample.after] += 1;
        let distance = if sample.place == StartKind::New { 0.0 } else { sample.distance };
        pairs.push((distance, sample.size_bytes));
        self.places[sample.place as usize] = Some(sample.place);
    }

    fn phase(mut self) -> Phase {
        let places = self.places;
        let [reads, writes] = self.moves.map(|moves| {
            let known = moves.into_iter().zip(places).filter(|((_, pairs), _)| !pairs.is_empty());
            known.filter_map(|((after, pairs), place)| Some((place?, Moves { after, parts: parts(pairs) }))).collect()
        });
        let uses = ValueTable::fit(&mut self.uses, &USE_CUTS, 8);
        let bursts: Vec<&[f64]> = self.gaps.split(|gap_ns| !is_within_burst(gap_ns)).collect();
        let (gap_persistence, burst_left) = (persistence(&bursts), bursts[0].len() as u64);
        // Those cut by a bound of the phase are not among them.
        let whole = bursts.get(1..bursts.len() - 1).unwrap_or_default();
        let mut requests: Vec<f64> = whole.iter().map(|gaps| gaps.len() as f64 + 1.0).collect();
        let most = (requests.len() / 2).clamp(2, 12);
        let burst_requests = with_largest(&mut requests, &BURST_CUTS, most);
        let (first_gap_ns, others) = (self.first_gap_ns, self.others);
        Phase { first_gap_ns, gaps_ns: gaps(&mut self.gaps), gap_persistence, burst_left, burst_requests, others, uses, reads, writes }
    }
}

fn is_within_burst(gap_ns: &f64) -> bool {
    *gap_ns < BURST_GAP_NS as f64
}

/// Rank correlation of each gap with the next one of its burst, from 0 to 1, to three decimals.
fn persistence(bursts: &[&[f64]]) -> f64 {
    let mut sorted = bursts.concat();
    sorted.sort_unstable_by(f64::total_cmp);
    // Equal values share the middle of their ranks.
    let rank = |value: &f64| (sorted.partition_point(|other| other < value) + sorted.partition_point(|other| other <= value)) as f64 / 2.0;
    let mean = sorted.len() as f64 / 2.0;
    let (mut variance, mut covariance, mut pairs) = (0.0, 0.0, 0.0);
    for gaps in bursts {
        let off: Vec<f64> = gaps.iter().map(|gap_ns| rank(gap_ns) - mean).collect();
        variance += off.iter().map(|off| off * off).sum::<f64>() / sorted.len() as f64;
        covariance += off.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        pairs += off.len().saturating_sub(1) as f64;
    }
    if pairs > 0.0 && variance > 0.0 { (1000.0 * covariance / pairs / variance).round().clamp(0.0, 1000.0) / 1000.0 } else { 0.0 }
}

/// Sizes by distance: as many ranges, and as many rows in each, as there are requests to fill them.
fn parts(mut pairs: Vec<(f64, f64)>) -> Vec<DistanceClass> {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut distances: Vec<f64> = pairs.iter().map(|(distance, _)| *distance).collect();
    let cuts: &[f64] = if pairs.len() > 1000 { &[0.5, 0.9] } else { &[] };
    let ranges = ValueTable::fit(&mut distances, cuts, (pairs.len() / 40).clamp(1, 8));
    let mut rest = pairs.as_slice();
    let part = |row: &crate::profile::TableRow| {
        let (own, after) = rest.split_at(row.weight as usize);
        rest = after;
        let mut sizes: Vec<f64> = own.iter().map(|(_, size)| *size).collect();
        let most = (own.len() / 40).clamp(1, 6);
        DistanceClass { distance: row.range(), bytes: sizes_of(&mut sizes, most) }
    };
    ranges.0.iter().map(part).collect()
}

/// A table of sizes. Where most are whole pages or sectors, the row's ends are made so, which makes all that is drawn from it so.
fn sizes_of(sizes: &mut [f64], most: usize) -> ValueTable {
    let mut table = ValueTable::fit(sizes, &[], most);
    let mut last = 0.0_f64;
    for row in &mut table.0 {
        let own = || sizes.iter().filter(|size| (row.low..=row.high).contains(*size));
        let unit = [4096.0, 512.0].into_iter().find(|unit| 2 * own().filter(|size| **size % unit == 0.0).count() > own().count());
        if let Some(unit) = unit.filter(|_| row.low < row.high) {
            let whole = |size: f64| (size / unit).round().max(1.0) * unit;
            (row.low, row.high) = (whole(row.low), whole(row.high));
        }
        row.low = row.low.max(last);
        row.high = row.high.max(row.low);
        row.mean = row.mean.clamp(row.low, row.high);
        last = row.high;
    }
    table
}

/// A table of gaps in which those within bursts have rows of their own.
fn gaps(values: &mut [f64]) -> ValueTable {
    let within = values.iter().filter(|gap_ns| is_within_burst(gap_ns)).count() as f64;
    let mut cuts = GAP_CUTS.to_vec();
    cuts.push((within / (values.len() as f64 - 1.0).max(1.0)).min(1.0));
    cuts.sort_unstable_by(f64::total_cmp);
    with_largest(values, &cuts, 28)
}

/// A table in which the largest value has a row of its own.
fn with_largest(values: &mut [f64], cuts: &[f64], most: usize) -> ValueTable {
    values.sort_unstable_by(f64::total_cmp);
    let Some((largest, rest)) = values.split_last_mut() else { return ValueTable::default() };
    let mut table = ValueTable::fit(rest, cuts, most);
    table.0.extend(ValueTable::of(*largest).0);
    table
}

/// The model of these requests, whose statistics are given.
pub(super) fn measure(requests: &[HostRequest], page_bytes: u64, statistics: &TraceStatistics) -> Twin {
    let cuts = cuts(requests, page_bytes, statistics);
    let mut walker = Walker::new(page_bytes);
    let mut phases = Vec::new();
    let (mut trims, mut zeroes, mut starts) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    let mut device_starts = BTreeMap::<u32, f64>::new();
    let mut last_ns = requests.first().map_or(0, |request| request.arrival_ns);
    for (index, request) in requests.iter().enumerate() {
        let gap_ns = request.arrival_ns - std::mem::replace(&mut last_ns, request.arrival_ns);
        let begins = index == 0 || cuts.binary_search(&index).is_ok();
        if begins {
            phases.push(SampleValues::new(gap_ns));
        }
        let phase = phases.len() - 1;
        let values = &mut phases[phase];
        values.gaps.extend((!begins).then_some(gap_ns as f64));
        let begun = device_starts.entry(request.source).or_default();
        match request.op {
            HostOp::Trim => {
                values.others[0] += 1;
                trims.push(request.size_bytes as f64);
            }
            HostOp::WriteZeroes => {
                values.others[1] += 1;
                zeroes.push(request.size_bytes as f64);
            }
            HostOp::Flush => values.others[2] += 1,
            HostOp::Read | HostOp::Write => {
                let sample = walker.step(request, phase as u32);
                values.add(&sample);
                *begun += f64::from(u8::from(sample.place == StartKind::New));
                if sample.place.goes_on().is_none() {
                    let is_whole = request.size_bytes.is_multiple_of(page_bytes);
                    starts[usize::from(!is_whole)].push((request.offset_bytes % page_bytes) as f64);
                }
            }
        }
    }
    for (uses, phase) in walker.uses.iter().filter(|(uses, _)| *uses > 0) {
        phases[*phase as usize].uses.push(f64::from(*uses));
    }
    let mut device_starts: Vec<f64> = device_starts.into_values().collect();
    let or_zero = |table: ValueTable| if table.is_empty() { ValueTable::of(0.0) } else { table };
    Twin {
        slack: 0.12,
        power: 1.0,
        devices: device_starts.len() as u32,
        device_starts: ValueTable::fit(&mut device_starts, &[], 12),
        start_bytes: starts.map(|mut starts| or_zero(ValueTable::fit(&mut starts, &[], 10))),
        tail_bytes: sizes_of(&mut walker.tails, 8),
        trim_bytes: ValueTable::fit(&mut trims, &[], 8),
        write_zeroes_bytes: ValueTable::fit(&mut zeroes, &[], 8),
        phases: phases.into_iter().map(SampleValues::phase).collect(),
    }
}

/// First requests of all phases but the first: equal shares of requests and of pages, half of either, so that the busy parts of a trace
/// have more phases; and the bounds of the busiest windows.
fn cuts(requests: &[HostRequest], page_bytes: u64, statistics: &TraceStatistics) -> Vec<usize> {
    let count = (requests.len() / PHASE_REQUESTS).clamp(1, PHASES);
    let all_pages = statistics.page_uses().max(1) as f64;
    let (mut cuts, mut spent) = (Vec::new(), 0.0);
    for (index, request) in requests.iter().enumerate() {
        if spent * count as f64 >= 2.0 * (cuts.len() + 1) as f64 {
            cuts.push(index);
        }
        spent += 1.0 / requests.len() as f64 + pages(request, page_bytes) / all_pages;
    }
    let first_ns = requests.first().map_or(0, |request| request.arrival_ns);
    let bounds = statistics.busiest_windows().flatten().take(requests.len() / CUT_REQUESTS);
    cuts.extend(bounds.map(|time_ns| requests.partition_point(|request| request.arrival_ns - first_ns < time_ns)));
    cuts.retain(|cut| (1..requests.len()).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

fn pages(request: &HostRequest, page_bytes: u64) -> f64 {
    match request.op {
        HostOp::Read | HostOp::Write => {
            ((request.offset_bytes + request.size_bytes - 1) / page_bytes - request.offset_bytes / page_bytes + 1) as f64
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = 4096;

    #[test]
    fn persistence_of_gaps() {
        let of = |bursts: &[&[f64]]| persistence(bursts);
        assert_eq!(of(&[&[1.0, 1.0, 9.0, 9.0]]), 0.333, "of three pairs one is unlike");
        assert_eq!(of(&[&[1.0, 1.0], &[9.0, 9.0]]), 1.0, "no pair lies in two bursts");
        assert_eq!(of(&[&[1.0, 9.0, 1.0, 9.0]]), 0.0, "not below");
        assert_eq!([of(&[&[5.0, 5.0]]), of(&[&[1.0], &[], &[9.0]])], [0.0; 2], "no difference, and no pair");
    }

    /// Where each transfer lies, how many pages were used since its page was (or `MID_PAGE`), and what went before, by hand.
    #[test]
    fn transfers_are_told_in_the_words_of_the_model() {
        let (read, write) = (HostOp::Read, HostOp::Write);
        let steps = [
            (write, 0, 2 * P, StartKind::New, 0.0, 2),
            (write, 2 * P, 3 * P, StartKind::NextNew, 0.0, 2),
            (read, 0, P, StartKind::DirtyAgain, 2.0, 3),
            (read, P, 2 * P, StartKind::NextUsed, 2.0, 0),
            (write, 3 * P, 4 * P, StartKind::OwnNew, 0.0, 1),
            (read, 2 * P, 3 * P, StartKind::OwnUsed, 3.0, 3),
            (write, 10 * P, 11 * P, StartKind::New, 0.0, 1),
            (write, 4 * P, 5 * P, StartKind::StreamNew, 0.0, 2),
            (read, 20 * P, 21 * P, StartKind::New, 0.0, 3),
            (read, 3 * P, 4 * P, StartKind::StreamUsed, 4.0, 0),
            (read, 30 * P, 32 * P, StartKind::New, 0.0, 1),
            (read, 31 * P, 32 * P, StartKind::Clean, 0.0, 0),
            (read, 20 * P, 21 * P, StartKind::CleanAgain, 3.0, 0),
            (write, 40 * P, 42 * P, StartKind::New, 0.0, 0),
            (read, 41 * P, 42 * P, StartKind::Dirty, 0.0, 2),
            (write, 20 * P, 22 * P, StartKind::Edge, 2.0, 0),
            (write, 4 * P + 2048, 6 * P, StartKind::TailNew, 7.0, 2),
            (read, 22 * P, 23 * P, StartKind::New, 0.0, 2),
            (write, 21 * P + 1024, 23 * P, StartKind::Tail, 0.0, 0),
            (write, 23 * P, 23 * P + 512, StartKind::NextNew, 0.0, 2),
            (write, 23 * P + 512, 24 * P, StartKind::NextNew, MID_PAGE, 3),
        ];
        let mut walker = Walker::new(P);
        for (index, (op, start, end, place, distance, after)) in steps.into_iter().enumerate() {
            let request = HostRequest { arrival_ns: 0, offset_bytes: start, size_bytes: end - start, op, stream: 0, source: 0 };
            let sample = walker.step(&request, index as u32);
            assert_eq!((sample.place, sample.distance, sample.after), (place, distance, after), "request {index}");
            assert_eq!((sample.op, sample.size_bytes), (usize::from(op == write), (end - start) as f64));
        }
        assert_eq!(walker.tails, [2048.0, 3072.0]);
        let used: Vec<_> = [0, 20, 22, 40].map(|page| walker.numbers.of(page)).map(|number| walker.uses[number]).to_vec();
        assert_eq!(used, [(2, 0), (3, 8), (2, 17), (1, 13)]);
    }
}
