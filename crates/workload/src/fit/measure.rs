//! Measures the model of a twin.

use crate::info::TraceStatistics;
use crate::pages::PageNumbers;
use crate::profile::{DIRTY, Phase, Place, Places, STARTED, Table, Twin};
use crate::recency::Recency;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeMap;

/// Phases of a long trace, and requests that a phase has at least.
const PHASES: usize = 16;
const PHASE_REQUESTS: usize = 2000;

/// Shares at which a table of gaps is exact.
const GAP_CUTS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Shares of pages, from the least used, at which the table of uses is exact: the figures on skew ask for these.
const USE_CUTS: [f64; 6] = [0.5, 0.8, 0.9, 0.99, 0.999, 0.9999];

/// What a transfer is, in the words of the model.
struct Sample {
    op: usize,
    after: usize,
    place: Place,
    size_bytes: u64,
    /// LRU stack distance of its first page, if that was used.
    distance: Option<usize>,
}

/// Where the trace stands.
struct Walker {
    page_bytes: u64,
    numbers: PageNumbers,
    recency: Recency,
    states: Vec<u8>,
    last_op: usize,
    ends: [Option<u64>; 2],
}

impl Walker {
    fn number(&mut self, page: u64) -> usize {
        let number = self.numbers.of(page);
        if number >= self.states.len() {
            self.states.resize(self.numbers.end(), 0);
        }
        number
    }

    fn step(&mut self, request: &HostRequest) -> Sample {
        let op = usize::from(request.op == HostOp::Write);
        let (start, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
        let (first, last) = (start / self.page_bytes, (end - 1) / self.page_bytes);
        let (after, size_bytes) = (self.last_op, request.size_bytes);
        let following = self.number(start.div_ceil(self.page_bytes));
        let is_warm = self.recency.place(following).is_some();
        let number = self.number(first);
        let distance = self.recency.place(number).map(|place| self.recency.distinct() - self.recency.count_before(place) - 1);
        let place = if self.ends[after] == Some(start) {
            if is_warm { Place::NextWarm } else { Place::NextCold }
        } else if self.ends[op] == Some(start) {
            if is_warm { Place::OwnWarm } else { Place::OwnCold }
        } else if distance.is_none() {
            Place::Cold
        } else {
            Place::warm(self.states[number])
        };
        for page in first..=last {
            if self.recency.is_full() {
                self.recency.compact();
            }
            let number = self.number(page);
            self.recency.touch(number);
            self.states[number] |= if op == 1 { DIRTY } else { 0 };
        }
        self.states[number] |= STARTED;
        (self.last_op, self.ends[op]) = (op, Some(end));
        Sample { op, after, place, size_bytes, distance }
    }
}

/// Values for the tables of one phase.
#[derive(Default)]
struct Values {
    gaps: Vec<f64>,
    moves: [[Places; 2]; 2],
    others: [u64; 3],
    sizes: [[Vec<f64>; 3]; 2],
    distances: [[Vec<f64>; 2]; 2],
}

impl Values {
    fn phase(mut self) -> Phase {
        let [[read_after_read, write_after_read], [read_after_write, write_after_write]] = self.moves;
        let [read_bytes, write_bytes] = self.sizes.map(|sizes| sizes.map(|mut sizes| Table::fit(&mut sizes, &[], 10)));
        let [read_distances, write_distances] = self.distances.map(|of| of.map(|mut of| Table::fit(&mut of, &[0.5, 0.9], 10)));
        let gaps_ns = gaps(&mut self.gaps);
        Phase {
            gaps_ns,
            read_after_read,
            write_after_read,
            read_after_write,
            write_after_write,
            others: self.others,
            read_bytes,
            write_bytes,
            read_distances,
            write_distances,
        }
    }
}

/// The largest one has a row of its own.
fn gaps(values: &mut [f64]) -> Table {
    values.sort_unstable_by(f64::total_cmp);
    let Some((_, rest)) = values.split_last_mut() else { return Table::default() };
    let mut table = Table::fit(rest, &GAP_CUTS, 16);
    table.0.extend(Table::of(values[values.len() - 1]).0);
    table
}

/// The model of these requests, whose statistics are given.
pub(super) fn measure(requests: &[HostRequest], page_bytes: u64, statistics: &TraceStatistics) -> Twin {
    let mut walker =
        Walker { page_bytes, numbers: PageNumbers::new(), recency: Recency::new(), states: Vec::new(), last_op: 1, ends: [None; 2] };
    let count = (requests.len() / PHASE_REQUESTS).clamp(1, PHASES);
    // Phases have equal shares of requests and of pages, half of either, so that the busy parts of a trace have more of them.
    let cost = |request: &HostRequest| 1.0 / requests.len() as f64 + pages(request, page_bytes) / statistics.page_uses().max(1) as f64;
    let (mut phases, mut values, mut spent) = (Vec::new(), Values::default(), 0.0);
    let (mut trims, mut zeroes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let mut device_starts = BTreeMap::<u32, f64>::new();
    let mut last_ns = requests.first().map_or(0, |request| request.arrival_ns);
    for request in requests {
        values.gaps.push((request.arrival_ns - last_ns) as f64);
        last_ns = request.arrival_ns;
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
                let sample = walker.step(request);
                values.moves[sample.after][sample.op][sample.place as usize] += 1;
                values.sizes[sample.op][sample.place.size_class()].push(sample.size_bytes as f64);
                if sample.place.size_class() != 0 {
                    starts.push((request.offset_bytes % page_bytes) as f64);
                }
                if sample.place == Place::Cold {
                    *begun += 1.0;
                }
                if let (Some(state), Some(distance)) = (sample.place.state(), sample.distance) {
                    values.distances[sample.op][usize::from(state & DIRTY != 0)].push(distance as f64);
                }
            }
        }
        spent += cost(request);
        if spent * count as f64 > 2.0 * (phases.len() + 1) as f64 && phases.len() + 1 < count {
            phases.push(std::mem::take(&mut values).phase());
        }
    }
    phases.push(values.phase());
    let mut uses: Vec<f64> = statistics.uses().iter().filter(|uses| **uses > 0).map(|uses| f64::from(*uses)).collect();
    let mut device_starts: Vec<f64> = device_starts.into_values().collect();
    let or_zero = |table: Table| if table.is_empty() { Table::of(0.0) } else { table };
    Twin {
        devices: device_starts.len() as u32,
        device_starts: Table::fit(&mut device_starts, &[], 12),
        uses: or_zero(Table::fit(&mut uses, &USE_CUTS, 24)),
        start_bytes: or_zero(Table::fit(&mut starts, &[], 12)),
        trim_bytes: Table::fit(&mut trims, &[], 8),
        write_zeroes_bytes: Table::fit(&mut zeroes, &[], 8),
        phases,
    }
}

fn pages(request: &HostRequest, page_bytes: u64) -> f64 {
    match request.op {
        HostOp::Read | HostOp::Write => {
            ((request.offset_bytes + request.size_bytes - 1) / page_bytes - request.offset_bytes / page_bytes + 1) as f64
        }
        _ => 0.0,
    }
}
