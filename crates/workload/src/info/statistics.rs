//! Gathering the figures, request by request. What is kept grows with the pages touched (some 25 bytes each), never with the requests.

use super::arrivals::ArrivalTimes;
use super::figures::{Burstiness, DeviceFigures, Figures, Quantiles, Sequentiality, SizeFigures, SizeShare, quantile, ratio};
use super::uses::PageUses;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeMap;
use std::num::NonZeroU64;

const SIZE_PERCENTS: [u32; 7] = [1, 10, 25, 50, 75, 90, 99];
/// Most frequent sizes that are listed.
const TOP_SIZES: usize = 8;

/// Statistics being gathered.
#[derive(Clone)]
pub struct TraceStatistics {
    page_bytes: u64,
    /// Requests and bytes, by `HostOp`.
    counts: [u64; 5],
    bytes: [u64; 5],
    /// Requests of each size, of reads and of writes.
    sizes: [BTreeMap<u64, u64>; 2],
    max_address_bytes: u64,
    /// Transfers, and of them reads and writes, that begin where the one before of the same device ended.
    sequential: u64,
    sequential_by_op: [u64; 2],
    unaligned: u64,
    /// Writes that touch pages written before.
    updates: u64,
    devices: BTreeMap<u32, DeviceStatistics>,
    arrivals: ArrivalTimes,
    pages: PageUses,
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
            max_address_bytes: 0,
            sequential: 0,
            sequential_by_op: [0; 2],
            unaligned: 0,
            updates: 0,
            devices: BTreeMap::new(),
            arrivals: ArrivalTimes::new(),
            pages: PageUses::new(),
        }
    }

    /// Takes in the next request, in the order of arrivals. Address spaces of several devices must not overlap.
    pub fn add(&mut self, request: &HostRequest) {
        self.counts[request.op as usize] += 1;
        let bytes = &mut self.bytes[request.op as usize];
        *bytes = bytes.saturating_add(request.size_bytes);
        self.max_address_bytes = self.max_address_bytes.max(request.offset_bytes + request.size_bytes);
        let since_first_ns = self.arrivals.arrive(request.arrival_ns);
        self.pages.arrive(since_first_ns);
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

    fn transfer(&mut self, request: &HostRequest) {
        let HostRequest { offset_bytes, size_bytes, op, .. } = *request;
        let is_write = op == HostOp::Write;
        *self.sizes[usize::from(is_write)].entry(size_bytes).or_default() += 1;
        let end = offset_bytes + size_bytes;
        self.unaligned += u64::from(!offset_bytes.is_multiple_of(self.page_bytes) || !size_bytes.is_multiple_of(self.page_bytes));
        let updated = self.pages.transfer(offset_bytes / self.page_bytes..=(end - 1) / self.page_bytes, is_write);
        self.updates += u64::from(is_write && updated > 0);
    }

    /// Reuse distances at these shares of all reuses; empty if there are none.
    pub(crate) fn reuse_distances(&self, shares: &[f64]) -> Vec<f64> {
        self.pages.reuse_distances(shares)
    }

    /// How often each page was used, in no useful order; 0 for pages that were not.
    pub(crate) fn uses(&self) -> &[u32] {
        self.pages.of_each()
    }

    /// Beginning and end of the window of each length that touches most pages, from the first arrival.
    pub(crate) fn busiest_windows(&self) -> impl Iterator<Item = [u64; 2]> {
        self.pages.windows().map(|window| [window.busiest * window.length_ns, (window.busiest + 1) * window.length_ns])
    }

    /// Writes that touch pages written before, and how many such pages they touch.
    pub(crate) fn updates(&self) -> [f64; 2] {
        [self.updates as f64, self.pages.updates() as f64]
    }

    /// Pages that transfers touch, each time counted.
    pub(crate) fn page_uses(&self) -> u64 {
        self.pages.all()
    }

    /// The figures.
    pub fn figures(mut self) -> Figures {
        let skew = self.pages.skew();
        let count = |op: HostOp| self.counts[op as usize];
        let bytes = |op: HostOp| self.bytes[op as usize];
        let (reads, writes) = (count(HostOp::Read), count(HostOp::Write));
        let transfers = reads + writes;
        let touched = self.pages.distinct();
        let [pages_read, pages_written] = self.pages.read_and_written();
        let duration_ns = self.arrivals.duration_ns();
        let requests = self.counts.iter().sum();
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
            pages_read,
            pages_written,
            update_share: self.pages.update_share(),
            update_request_share: ratio(self.updates, writes),
            working_set: self.pages.working_sets(self.page_bytes),
            cold_share: ratio(touched, self.pages.all()),
            reuse_distance_pages: self.pages.reuse_quantiles(),
            skew,
            max_address_bytes: self.max_address_bytes,
            sequential_share: ratio(self.sequential, transfers),
            sequential_reads: sequentiality(self.sequential_by_op[0], reads),
            sequential_writes: sequentiality(self.sequential_by_op[1], writes),
            unaligned_share: ratio(self.unaligned, transfers),
            interarrival_mean_ns: self.arrivals.mean_gap_ns(),
            interarrival_p50_ns: self.arrivals.gap_ns(0.5),
            interarrival_p99_ns: self.arrivals.gap_ns(0.99),
            interarrival_ns: self.arrivals.gaps_ns(),
            burstiness: Burstiness {
                interarrival_cv: self.arrivals.gap_variation(),
                peak_to_mean_1s: self.pages.peak_to_mean_1s(),
                bursts: self.arrivals.bursts(),
            },
            by_device: self.devices.iter().map(|(device, of)| of.figures(*device)).collect(),
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
