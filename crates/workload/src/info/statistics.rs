//! Gathering the figures, request by request. What is kept grows with the pages touched (some 25 bytes each), never with the requests.

use super::bursts::Bursts;
use super::figures::{
    Burstiness, DeviceFigures, Figures, Quantiles, Sequentiality, SizeFigures, SizeShare, Skew, WorkingSet, quantile, ratio,
};
use super::window::Window;
use crate::pages::PageNumbers;
use crate::recency::Recency;
use flashraid_vocabulary::{HostOp, HostRequest};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

const SECOND_NS: u64 = 1_000_000_000;
/// Lengths of the windows of the working set.
const WINDOWS_S: [u64; 4] = [1, 10, 60, 600];
/// Percentages at which times between arrivals are given: the usual ones, and those of published tables.
pub(crate) const GAP_PERCENTS: [u32; 13] = [1, 10, 20, 25, 40, 50, 60, 75, 80, 90, 95, 99, 100];
/// Percentages at which reuse distances are given.
pub(crate) const REUSE_PERCENTS: [u32; 6] = [10, 25, 50, 75, 90, 99];
const SIZE_PERCENTS: [u32; 7] = [1, 10, 25, 50, 75, 90, 99];
/// Most frequent sizes that are listed.
const TOP_SIZES: usize = 8;

/// What a page has seen, as bits.
const READ: u8 = 1;
const WRITTEN: u8 = 2;

/// Statistics being gathered.
#[derive(Clone)]
pub struct TraceStatistics {
    page_bytes: u64,
    /// Requests and bytes, by `HostOp`.
    counts: [u64; 5],
    bytes: [u64; 5],
    /// Requests of each size, of reads and of writes.
    sizes: [BTreeMap<u64, u64>; 2],
    numbers: PageNumbers,
    recency: Recency,
    /// By the page's number: what it has seen, and how often it was used.
    seen: Vec<u8>,
    uses: Vec<u32>,
    pages_read: u64,
    pages_written: u64,
    /// Uses at each distance.
    distances: Vec<u64>,
    page_uses: u64,
    /// Pages that writes touch, each time counted, and those written before; writes that touch one of those.
    page_writes: u64,
    page_updates: u64,
    updates: u64,
    max_address_bytes: u64,
    /// Transfers, and of them reads and writes, that begin where the one before of the same device ended.
    sequential: u64,
    sequential_by_op: [u64; 2],
    unaligned: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    gaps: Histogram<u64>,
    largest_gap_ns: u64,
    /// Sum of the squares of gaps in seconds.
    squares: f64,
    bursts: Bursts,
    windows: [Window; WINDOWS_S.len()],
    devices: BTreeMap<u32, DeviceStatistics>,
}

#[derive(Clone, Copy, Default)]
struct DeviceStatistics {
    requests: u64,
    writes: u64,
    transfers: u64,
    bytes: u64,
    /// End of the last transfer, of the last read and of the last write. Address spaces may lie directly behind each other, and requests
    /// of several devices alternate: only what is of the same device goes on.
    last_end: Option<u64>,
    last_ends: [Option<u64>; 2],
}

impl TraceStatistics {
    /// Nothing seen yet.
    pub fn new(page_bytes: NonZeroU64) -> Self {
        Self {
            page_bytes: page_bytes.get(),
            counts: [0; 5],
            bytes: [0; 5],
            sizes: Default::default(),
            numbers: PageNumbers::new(),
            recency: Recency::new(),
            seen: Vec::new(),
            uses: Vec::new(),
            pages_read: 0,
            pages_written: 0,
            distances: Vec::new(),
            page_uses: 0,
            page_writes: 0,
            page_updates: 0,
            updates: 0,
            max_address_bytes: 0,
            sequential: 0,
            sequential_by_op: [0; 2],
            unaligned: 0,
            first_ns: None,
            last_ns: 0,
            gaps: Histogram::new_with_max(i64::MAX as u64, 3).expect("bounds that the histogram allows"),
            largest_gap_ns: 0,
            squares: 0.0,
            bursts: Bursts::default(),
            windows: WINDOWS_S.map(|seconds| Window::new(seconds * SECOND_NS)),
            devices: BTreeMap::new(),
        }
    }

    /// Takes in the next request, in the order of arrivals. Address spaces of several devices must not overlap.
    pub fn add(&mut self, request: &HostRequest) {
        self.counts[request.op as usize] += 1;
        let bytes = &mut self.bytes[request.op as usize];
        *bytes = bytes.saturating_add(request.size_bytes);
        self.max_address_bytes = self.max_address_bytes.max(request.offset_bytes + request.size_bytes);
        self.arrive(request.arrival_ns);
        let device = self.devices.entry(request.source).or_default();
        device.requests += 1;
        if matches!(request.op, HostOp::Read | HostOp::Write) {
            let kind = usize::from(request.op == HostOp::Write);
            device.transfers += 1;
            device.writes += kind as u64;
            device.bytes = device.bytes.saturating_add(request.size_bytes);
            let (start, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
            self.sequential += u64::from(device.last_end.replace(end) == Some(start));
            self.sequential_by_op[kind] += u64::from(device.last_ends[kind].replace(end) == Some(start));
            self.transfer(request);
        }
    }

    fn arrive(&mut self, arrival_ns: u64) {
        let gap_ns = self.first_ns.map(|_| arrival_ns - self.last_ns);
        let first_ns = *self.first_ns.get_or_insert(arrival_ns);
        self.bursts.arrive(gap_ns);
        if let Some(gap_ns) = gap_ns {
            self.gaps.saturating_record(gap_ns);
            self.largest_gap_ns = self.largest_gap_ns.max(gap_ns);
            self.squares += (gap_ns as f64 / 1e9) * (gap_ns as f64 / 1e9);
        }
        self.last_ns = arrival_ns;
        let next_place = self.recency.next_place();
        self.windows.iter_mut().for_each(|window| window.arrive(arrival_ns - first_ns, next_place));
    }

    fn transfer(&mut self, request: &HostRequest) {
        let HostRequest { offset_bytes, size_bytes, op, .. } = *request;
        let is_write = op == HostOp::Write;
        let kind = usize::from(is_write);
        *self.sizes[kind].entry(size_bytes).or_default() += 1;
        let end = offset_bytes + size_bytes;
        self.unaligned += u64::from(!offset_bytes.is_multiple_of(self.page_bytes) || !size_bytes.is_multiple_of(self.page_bytes));
        let (first, last) = (offset_bytes / self.page_bytes, (end - 1) / self.page_bytes);
        self.page_uses += last - first + 1;
        let updates = (first..=last).filter(|page| self.touch(*page, is_write)).count() as u64;
        if is_write {
            self.page_writes += last - first + 1;
            self.page_updates += updates;
            self.updates += u64::from(updates > 0);
        }
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
        self.pages_read += u64::from(!is_write && seen & READ == 0);
        self.pages_written += u64::from(is_write && seen & WRITTEN == 0);
        seen & WRITTEN != 0
    }

    /// Reuse distances at these shares of all reuses; empty if there are none.
    pub(crate) fn reuse_distances(&self, shares: &[f64]) -> Vec<f64> {
        let reuses = self.distances.iter().sum();
        let at = |share: &f64| quantile(self.distances.iter().copied().enumerate(), reuses, *share) as f64;
        if reuses == 0 { Vec::new() } else { shares.iter().map(at).collect() }
    }

    /// How often each page was used, in no useful order; 0 for pages that were not.
    pub(crate) fn uses(&self) -> &[u32] {
        &self.uses
    }

    /// Beginning and end of the window of each length that touches most pages, from the first arrival.
    pub(crate) fn busiest_windows(&self) -> impl Iterator<Item = [u64; 2]> {
        let ended = self.windows.iter().filter(|window| window.ended > 0);
        ended.map(|window| [window.busiest * window.length_ns, (window.busiest + 1) * window.length_ns])
    }

    /// Writes that touch pages written before, and how many such pages they touch.
    pub(crate) fn updates(&self) -> [f64; 2] {
        [self.updates as f64, self.page_updates as f64]
    }

    /// Pages that transfers touch, each time counted.
    pub(crate) fn page_uses(&self) -> u64 {
        self.page_uses
    }

    /// The figures.
    pub fn figures(mut self) -> Figures {
        let count = |op: HostOp| self.counts[op as usize];
        let bytes = |op: HostOp| self.bytes[op as usize];
        let (reads, writes) = (count(HostOp::Read), count(HostOp::Write));
        let transfers = reads + writes;
        let touched = self.recency.distinct() as u64;
        let duration_ns = self.last_ns - self.first_ns.unwrap_or(0);
        let requests = self.counts.iter().sum();
        let skew = skew(&mut self.uses, self.page_uses);
        let has_gaps = !self.gaps.is_empty();
        let gap = |share: f64| if share == 1.0 { self.largest_gap_ns } else { self.gaps.value_at_quantile(share).min(self.largest_gap_ns) };
        let reuses = self.page_uses - touched;
        Figures {
            requests,
            reads,
            writes,
            trims: count(HostOp::Trim),
            write_zeroes: count(HostOp::WriteZeroes),
            flushes: count(HostOp::Flush),
            write_share: ratio(writes, transfers),
            mean_bytes: ratio(bytes(HostOp::Read) + bytes(HostOp::Write), transfers),
            mean_read_bytes: ratio(bytes(HostOp::Read), reads),
            mean_write_bytes: ratio(bytes(HostOp::Write), writes),
            bytes_read: bytes(HostOp::Read),
            bytes_written: bytes(HostOp::Write),
            read_sizes: sizes(&self.sizes[0], reads),
            write_sizes: sizes(&self.sizes[1], writes),
            duration_ns,
            requests_per_second: ratio(requests, duration_ns).map(|per_ns| per_ns * 1e9),
            page_bytes: self.page_bytes,
            pages_touched: touched,
            footprint_bytes: touched * self.page_bytes,
            pages_read: self.pages_read,
            pages_written: self.pages_written,
            update_share: ratio(self.page_updates, self.page_writes),
            update_request_share: ratio(self.updates, writes),
            working_set: self.working_sets(),
            cold_share: ratio(touched, self.page_uses),
            reuse_distance_pages: (reuses > 0).then(|| {
                Quantiles::at(&REUSE_PERCENTS, |share| quantile(self.distances.iter().copied().enumerate(), reuses, share) as u64)
            }),
            skew,
            max_address_bytes: self.max_address_bytes,
            sequential_share: ratio(self.sequential, transfers),
            sequential_reads: sequentiality(self.sequential_by_op[0], reads),
            sequential_writes: sequentiality(self.sequential_by_op[1], writes),
            unaligned_share: ratio(self.unaligned, transfers),
            interarrival_mean_ns: ratio(duration_ns, self.gaps.len()),
            interarrival_p50_ns: has_gaps.then(|| gap(0.5)),
            interarrival_p99_ns: has_gaps.then(|| gap(0.99)),
            interarrival_ns: has_gaps.then(|| Quantiles::at(&GAP_PERCENTS, gap)),
            burstiness: self.burstiness(duration_ns),
            by_device: self.devices.iter().map(|(device, of)| of.figures(*device)).collect(),
        }
    }

    fn working_sets(&self) -> Vec<WorkingSet> {
        let ended = self.windows.iter().filter(|window| window.ended > 0);
        let set = |window: &Window| WorkingSet {
            window_ns: window.length_ns,
            mean_bytes: (window.pages_sum * self.page_bytes) as f64 / window.ended as f64,
            max_bytes: window.pages_max * self.page_bytes,
        };
        ended.map(set).collect()
    }

    fn burstiness(&self, duration_ns: u64) -> Burstiness {
        let mean = ratio(duration_ns, self.gaps.len()).map(|mean| mean / 1e9);
        let variance = mean.map(|mean| (self.squares / self.gaps.len() as f64 - mean * mean).max(0.0));
        let second = &self.windows[0];
        Burstiness {
            interarrival_cv: mean.zip(variance).filter(|(mean, _)| *mean > 0.0).map(|(mean, variance)| variance.sqrt() / mean),
            peak_to_mean_1s: ratio(second.requests_max * second.ended, second.requests_sum),
            bursts: self.bursts.figures(duration_ns),
        }
    }
}

impl DeviceStatistics {
    fn figures(&self, device: u32) -> DeviceFigures {
        DeviceFigures {
            device,
            requests: self.requests,
            write_share: ratio(self.writes, self.transfers),
            mean_bytes: ratio(self.bytes, self.transfers),
        }
    }
}

fn sizes(counts: &BTreeMap<u64, u64>, total: u64) -> Option<SizeFigures> {
    let mut top: Vec<(u64, u64)> = counts.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    top.sort_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
    let share = |(bytes, count): &(u64, u64)| SizeShare { bytes: *bytes, share: *count as f64 / total as f64 };
    (total > 0).then(|| SizeFigures {
        quantiles_bytes: Quantiles::at(&SIZE_PERCENTS, |share| {
            quantile(counts.iter().map(|(bytes, count)| (*bytes, *count)), total, share)
        }),
        top: top.iter().take(TOP_SIZES).map(share).collect(),
    })
}

fn sequentiality(sequential: u64, total: u64) -> Option<Sequentiality> {
    (total > 0)
        .then(|| Sequentiality { share: sequential as f64 / total as f64, mean_run_requests: total as f64 / (total - sequential) as f64 })
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
