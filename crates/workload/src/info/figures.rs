//! The figures themselves. Shares and means are None where there is nothing to divide by.

use serde::Serialize;
use std::collections::BTreeMap;

/// What the requests of one workload are like. "Transfers" are reads and writes; discards, writes of zeroes and flushes count as requests
/// and as arrivals, and touch no page. Distances and footprints are in pages of `page_bytes`; a page touched in part counts whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Requests of every kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub trims: u64,
    /// Writes of zeroes.
    pub write_zeroes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes / transfers.
    pub write_share: Option<f64>,
    /// Mean size of transfers.
    pub mean_bytes: Option<f64>,
    /// Mean size of reads.
    pub mean_read_bytes: Option<f64>,
    /// Mean size of writes.
    pub mean_write_bytes: Option<f64>,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Sizes of reads.
    pub read_sizes: Option<SizeFigures>,
    /// Sizes of writes.
    pub write_sizes: Option<SizeFigures>,
    /// From the first arrival to the last.
    pub duration_ns: u64,
    /// Requests / duration.
    pub requests_per_second: Option<f64>,
    /// Unit of the page counts below.
    pub page_bytes: u64,
    /// Distinct pages that transfers touch.
    pub pages_touched: u64,
    /// The same in bytes.
    pub footprint_bytes: u64,
    /// Distinct pages read.
    pub pages_read: u64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// Of the pages that writes touch, each time counted, the share that the trace had written before.
    pub update_share: Option<f64>,
    /// Of the writes, the share that touches a page that the trace had written before.
    pub update_request_share: Option<f64>,
    /// Distinct pages touched within windows of 1, 10, 60 and 600 s, in bytes; windows that fit into the duration.
    pub working_set: Vec<WorkingSet>,
    /// Of the pages that transfers touch, each time counted, the share never touched before.
    pub cold_share: Option<f64>,
    /// Distinct other pages touched between two uses of a page (its LRU stack distance), exact; first uses left out.
    pub reuse_distance_pages: Option<Quantiles>,
    /// How unevenly uses fall on the touched pages.
    pub skew: Option<Skew>,
    /// Highest end of a request of any kind.
    pub max_address_bytes: u64,
    /// Of the transfers, the share that begins where the one before of the same device ended.
    pub sequential_share: Option<f64>,
    /// Of the reads, each against the read of the same device before it.
    pub sequential_reads: Option<Sequentiality>,
    /// Of the writes, each against the write of the same device before it.
    pub sequential_writes: Option<Sequentiality>,
    /// Of the transfers, the share whose offset or size is not a whole number of pages.
    pub unaligned_share: Option<f64>,
    /// Mean time from one arrival to the next.
    pub interarrival_mean_ns: Option<f64>,
    /// Its median, to three significant digits.
    pub interarrival_p50_ns: Option<u64>,
    /// Its 99th percentile, to three significant digits.
    pub interarrival_p99_ns: Option<u64>,
    /// More of its quantiles, to three significant digits; p100 is exact.
    pub interarrival_ns: Option<Quantiles>,
    /// How unevenly requests arrive.
    pub burstiness: Burstiness,
    /// Each device (disk, volume, ASU, LUN), by number; with their names they are in `TraceInfo::device_list`.
    #[serde(skip)]
    pub by_device: Vec<DeviceFigures>,
}

/// Values by quantile, as `p50`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Quantiles(pub BTreeMap<Percent, u64>);

impl Quantiles {
    /// The values at these percentages, by what finds each.
    pub fn at(percents: &[u32], value: impl Fn(f64) -> u64) -> Self {
        Self(percents.iter().map(|percent| (Percent(*percent), value(f64::from(*percent) / 100.0))).collect())
    }

    /// The value at a percentage that was asked for.
    pub fn get(&self, percent: u32) -> Option<u64> {
        self.0.get(&Percent(percent)).copied()
    }
}

/// A whole percentage, written `p50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("p{}", self.0))
    }
}

/// Sizes of one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeFigures {
    /// Exact quantiles, in bytes.
    pub quantiles_bytes: Quantiles,
    /// The most frequent sizes, at most eight, most frequent first.
    pub top: Vec<SizeShare>,
}

/// How frequent a size is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeShare {
    /// The size.
    pub bytes: u64,
    /// Its share of the requests of this kind.
    pub share: f64,
}

/// Bytes touched within windows of one length that follow on each other from the first arrival; the last one, cut short, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkingSet {
    /// Length of a window.
    pub window_ns: u64,
    /// Mean over the windows, empty ones too.
    pub mean_bytes: f64,
    /// Largest.
    pub max_bytes: u64,
}

/// Shares of all page uses that fall on the pages used most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Skew {
    /// On the hundredth of the touched pages that is used most (rounded up to whole pages).
    pub top_1_percent: f64,
    /// On the tenth.
    pub top_10_percent: f64,
    /// On the fifth.
    pub top_20_percent: f64,
    /// Gini coefficient of uses by page: 0 if all are used alike, towards 1 if few are used.
    pub gini: f64,
}

/// Runs of requests of one kind, each of which begins where the one before ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sequentiality {
    /// Share that begins where the one before ended.
    pub share: f64,
    /// Mean number of requests of a run; 1 if nothing is sequential.
    pub mean_run_requests: f64,
}

/// How unevenly requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Burstiness {
    /// Standard deviation / mean of the times between arrivals: 0 if regular, 1 if Poisson.
    pub interarrival_cv: Option<f64>,
    /// Requests of the busiest window of a second / mean over such windows.
    pub peak_to_mean_1s: Option<f64>,
    /// Requests that follow closely on each other.
    pub bursts: BurstFigures,
}

/// Bursts: as many requests as arrive each less than `gap_ns` after the one before. Every request is in one burst; a request that nothing
/// arrives near is a burst of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstFigures {
    /// Shortest time between two arrivals that separates two bursts.
    pub gap_ns: u64,
    /// Bursts.
    pub count: u64,
    /// Requests / bursts.
    pub mean_requests: Option<f64>,
    /// Exact quantiles of the requests per burst.
    pub quantiles_requests: Option<Quantiles>,
    /// Requests of the largest burst.
    pub max_requests: Option<u64>,
    /// Mean time between arrivals within bursts.
    pub mean_gap_ns: Option<f64>,
    /// Mean time from the last arrival of a burst to the first of the next.
    pub mean_pause_ns: Option<f64>,
}

/// One device of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceFigures {
    /// Its number in the trace.
    pub device: u32,
    /// Requests of every kind.
    pub requests: u64,
    /// Writes / transfers.
    pub write_share: Option<f64>,
    /// Mean size of transfers.
    pub mean_bytes: Option<f64>,
}

/// `part / whole`; None of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The smallest key up to which, itself included, at least this share of `total` lies. Keys come in order.
pub(super) fn quantile<K: Copy + Default>(counts: impl Iterator<Item = (K, u64)>, total: u64, share: f64) -> K {
    let wanted = ((share * total as f64).ceil() as u64).clamp(1, total);
    let mut sum = 0;
    let mut found = counts.skip_while(|(_, count)| {
        sum += count;
        sum < wanted
    });
    found.next().map_or(K::default(), |(key, _)| key)
}
