//! The workload, and the outcome of its requests.

use flashraid_workload::Compacted;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The trace, its measured requests, and the load that they put on the device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "requests"))]
pub struct Workload {
    /// Name of the trace: its file name without directories, or `profile:NAME`; empty for a `Simulation`.
    pub name: String,
    /// SHA-256 of the trace file as stored, in hexadecimal; empty for a `Simulation`.
    pub sha256: String,
    /// Measured requests: those submitted after the warm-up.
    pub requests: u64,
    /// Measured reads.
    pub reads: u64,
    /// Measured writes.
    pub writes: u64,
    /// Measured discards and write-zeroes requests.
    pub trims: u64,
    /// Measured flushes.
    pub flushes: u64,
    /// Bytes requested by the measured reads.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_read: u64,
    /// Bytes requested by the measured writes.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_written: u64,
    /// Work caused by requests, over the time from the first to the last measured arrival: transfer time of the buses, or of each
    /// direction of the host links of an array, or array time of the LUNs (the mean time of each kind of operation, without transfers), averaged over all of a kind, or time in use of a part of `host_side`, whichever is greatest. It includes GC and work that a warm-up left in the queues, but not
    /// rebuilds, migrations and parities written in idle time. Above 1, queues grow without bound. Null if all requests arrived at the same
    /// time.
    #[schemars(extend("unit" = "ratio"))]
    pub offered_load: Option<f64>,
    /// The same ratio for the busiest bus, direction of a link, part of `host_side` or LUN.
    #[schemars(extend("unit" = "ratio"))]
    pub busiest_load: Option<f64>,
    /// By how many seconds the longest wait grows for each second of arrivals, if the device falls behind them, whatever its bottleneck is: buses, dies,
    /// locks, flushes or a data buffer. 0 if it keeps up; null in a closed loop, and if all requests arrived at the same time. The time of arrivals is
    /// divided into slices of a power of two of nanoseconds, the smallest of which there are at most 16, and these into quarters. The growth is that of the
    /// longest latency from the first quarter to the last one, over the time between the arrivals of these two requests. The device falls behind if,
    /// since the middle of that time, no request found all before it answered; if the longest latency of the last quarter is more than that
    /// of the third, at most three times as much, at least 1.1 times that of the first, and at most twice the time from the last arrival to the last
    /// completion; and if chance does not explain the growth. Chance explains four standard deviations. The variance is the sum of two, each over the square
    /// of its mean and the number of times: of the times between arrivals, and of those between completions that are not at the same time; or 1 over the
    /// number of requests if that is less. So of requests that come and are served like clockwork the smallest growth counts.
    #[schemars(extend("unit" = "s/s"))]
    pub backlog_growth: Option<f64>,
    /// Whether the device cannot keep up with the arrivals, so that latencies depend on the length of the trace: `backlog_growth` is above 0, or
    /// `busiest_load` is above 1, of at least 100 requests. Fewer need not wait for each other, however fast they come. False in a closed loop.
    pub overloaded: bool,
    /// Format of the trace; empty for a `Simulation`.
    pub format: String,
    /// Unit in which the times of the trace were read; empty for a `Simulation`.
    pub time_unit: String,
    /// Number of devices in the trace (disks, volumes, logical units, files). The address spaces of the devices that `device_filter`
    /// selects are placed one after the other.
    #[schemars(extend("unit" = "devices"))]
    pub devices: u64,
    /// Unreadable lines or records that were skipped (`on_error = skip`). This and the following counts of the trace include the warm-up.
    #[schemars(extend("unit" = "records"))]
    pub skipped: u64,
    /// Records other than requests, by type.
    #[schemars(extend("unit" = "records"))]
    pub ignored: BTreeMap<String, u64>,
    /// Requests, or parts of them, that are not replayed because no simulated device serves them, by type.
    pub unsupported: BTreeMap<String, u64>,
    /// Events that the recorder says it lost: the trace lacks them. At least 1 for each gap of unknown length.
    #[schemars(extend("unit" = "events"))]
    pub lost_events: u64,
    /// Requests that were issued again after the device had given them back (requeue), and that are replayed once.
    pub reissued: u64,
    /// 1 if the last line or record of the trace is cut off and was left out, else 0.
    #[schemars(extend("unit" = "records"))]
    pub truncated: u64,
    /// What of the recording is likely to mislead, in sentences, as `trace info` and warnings have them: what it lacks, what was left out, and
    /// what was taken for granted. In a closed loop, without what concerns times alone.
    pub warnings: Vec<String>,
    /// Tick of the trace's clock if requests were spread evenly over each tick; else null.
    #[schemars(extend("unit" = "ns"))]
    pub spread_tick_ns: Option<u64>,
    /// Requests with an earlier time than one recorded before them. The trace is sorted by time.
    pub out_of_order: u64,
    /// How often the clock goes back from one record to the next: once for each further log in a file of several.
    #[schemars(extend("unit" = "records"))]
    pub steps_back: u64,
    /// Requests whose arrival was moved to a later time because they came too late in the trace. Always 0: traces are sorted by time. Results of
    /// versions before 0.2 may have others.
    pub displaced: u64,
    /// Requests to other devices, excluded by `device_filter`.
    pub filtered: u64,
    /// Requests whose offset or size is not a multiple of the page size, including those of the warm-up.
    pub unaligned: u64,
    /// Requests beyond the logical space whose addresses were wrapped (`fit = wrap`).
    pub wrapped: u64,
    /// Address remapping of `fit = compact`; null without it.
    pub compacted: Option<Compacted>,
    /// Requests that were skipped because they do not fit into the logical space (`on_error = skip`).
    pub left_out: u64,
    /// Requests of the warm-up, excluded from the counts above.
    pub warmup_requests: u64,
    /// How many times the trace was begun: 1, or more with `until`; 0 for a `Simulation`. Counts of what the trace records (`skipped` to `filtered`)
    /// are of the first pass, all others of all passes.
    #[schemars(extend("unit" = "passes"))]
    pub passes: u64,
}

/// Outcome of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "requests"))]
pub struct Requests {
    /// Measured requests that completed.
    pub completed: u64,
    /// Measured requests that failed, by cause. Latencies and throughput exclude them. If requests failed for lack of space, the exit
    /// status is 3. Failures due to lost data, and requests refused, do not change the exit status, because they are the intended effect of a fault or of wear.
    pub failed: FailedRequests,
    /// Requests still unfinished at the end of the simulation, including those of the warm-up.
    pub unfinished: u64,
    /// Page reads of pages that were never written, which need no flash access.
    #[schemars(extend("unit" = "pages"))]
    pub unmapped_reads: u64,
    /// Pages placed on flash in no simulated time at their first touch (`unwritten = prefill`).
    #[schemars(extend("unit" = "pages"))]
    pub prefilled_pages: u64,
}

/// Failures by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failures {
    /// Failures for lack of space.
    pub no_space: u64,
    /// Failures because required data was lost.
    pub lost: u64,
}

/// Failed requests by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedRequests {
    /// Failures for lack of space.
    pub no_space: u64,
    /// Failures because required data was lost.
    pub lost: u64,
    /// Requests refused because the device is read-only or has stopped: after a loss of data (`after_loss`), or as a single SSD is worn out (`pe_limit`).
    pub refused: u64,
}

/// Data lost in failures and not recovered by the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Losses {
    /// Host pages that the scheme cannot recover, and host pages whose acknowledged write could not be stored on flash (from a data buffer,
    /// or after an early acknowledgement). Each page counts once.
    pub host_pages: u64,
    /// All pages that are still lost, including redundancy.
    pub pages_not_rebuilt: u64,
}

/// Latencies by kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latencies {
    /// All requests.
    pub all: LatencyFigures,
    /// Reads.
    pub read: LatencyFigures,
    /// Writes.
    pub write: LatencyFigures,
    /// Discards and write-zeroes requests.
    pub trim: LatencyFigures,
    /// Flushes.
    pub flush: LatencyFigures,
}

/// Latencies of completed requests. All are 0 without requests. Quantiles come from a histogram with three significant digits; the other
/// figures are exact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "ns"))]
pub struct LatencyFigures {
    /// Count, sum, mean, extremes and quantiles.
    #[serde(flatten)]
    pub summary: LatencySummary,
    /// The whole distribution, for a plot with a logarithmic tail: quantile 0 (`min`), the quantiles 1 - 10^(-k/8) for k = 1, 2, 3 and so on
    /// while 10^(-k/8) is at least 1/`count` (k <= 64), and quantile 1 (`max`). 10^(-k/8) is rounded to four digits, so k = 8 is
    /// `p90`, k = 16 is `p99`, and so on. Empty without requests.
    pub distribution: Vec<LatencyQuantile>,
}

/// A point of a distribution of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyQuantile {
    /// Share of the requests that took at most `latency_ns`.
    #[schemars(extend("unit" = "share"))]
    pub quantile: f64,
    /// Their latency, rounded as the quantiles beside the distribution; exact for quantiles 0 and 1.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: u64,
}

/// Latencies of completed requests, without their distribution. All are 0 without requests. Quantiles come from a histogram with three
/// significant digits; the other figures are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "ns"))]
pub struct LatencySummary {
    /// Number of requests.
    #[schemars(extend("unit" = "requests"))]
    pub count: u64,
    /// Sum: of all requests together, the total I/O time.
    pub total: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation.
    pub stddev: f64,
    /// Minimum.
    pub min: u64,
    /// Maximum.
    pub max: u64,
    /// Median: half of the requests took at most this long. Each quantile is the upper bound of its histogram bucket, but never above
    /// `max`.
    pub p50: u64,
    /// 90 % took at most this long.
    pub p90: u64,
    /// 95 % took at most this long.
    pub p95: u64,
    /// 99 % took at most this long.
    pub p99: u64,
    /// 99.9 % took at most this long.
    pub p99_9: u64,
    /// 99.99 % took at most this long.
    pub p99_99: u64,
}

/// Latencies of completed requests by when they arrived, from the first rebuild or replacement on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "ns"))]
pub struct LatenciesAround {
    /// Requests that arrived before the first failure that was rebuilt, or the first replacement, began.
    pub before: LatencySummaries,
    /// Requests that arrived while something was being rebuilt or replaced: from the failure, until nothing was left that could be restored.
    pub during: LatencySummaries,
    /// Requests that arrived later, while nothing was being rebuilt or replaced.
    pub after: LatencySummaries,
}

/// Latencies by kind of request, without their distributions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "ns"))]
pub struct LatencySummaries {
    /// All requests.
    pub all: LatencySummary,
    /// Reads.
    pub read: LatencySummary,
    /// Writes.
    pub write: LatencySummary,
    /// Discards and write-zeroes requests.
    pub trim: LatencySummary,
    /// Flushes.
    pub flush: LatencySummary,
}

/// Throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bandwidth {
    /// Time from the first measured arrival to the last completion of a measured request; 0 if nothing completed.
    #[schemars(extend("unit" = "ns"))]
    pub span_ns: u64,
    /// Completed requests over `span_ns`. This and the other rates are null if nothing completed or their time is 0.
    #[schemars(extend("unit" = "requests/s"))]
    pub requests_per_second: Option<f64>,
    /// Bytes of completed reads over `span_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub read_bytes_per_second: Option<f64>,
    /// Bytes of completed writes over `span_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub write_bytes_per_second: Option<f64>,
    /// The part of `span_ns` during which a request or flash work was in progress.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: u64,
    /// Bytes of completed reads over `busy_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub busy_read_bytes_per_second: Option<f64>,
    /// Bytes of completed writes over `busy_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub busy_write_bytes_per_second: Option<f64>,
}
