//! The workload, and what became of its requests.

use flashraid_workload::Compacted;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The trace, what was measured of it, and the load that it put on the device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "requests"))]
pub struct Workload {
    /// Name of the trace: of its file without folders, or `profile:NAME`; empty for a `Simulation`.
    pub name: String,
    /// SHA-256 of the trace as it is stored, in hexadecimal digits; empty for a `Simulation`.
    pub sha256: String,
    /// Measured requests: those submitted after the warm-up.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards and writes of zeroes.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes that the measured reads asked for.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_read: u64,
    /// Bytes that the measured writes asked for.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes_written: u64,
    /// Time for which requests kept buses and array units busy (mean array times), over the time from the first to the last measured arrival:
    /// the mean over all buses or over all array units, whichever is greater. GC counts; rebuilds, migrations and parities written in idle
    /// time do not. Work that a warm-up left in the queues counts. Above 1, queues grow without bound. Null if all arrived at one instant.
    #[schemars(extend("unit" = "ratio"))]
    pub offered_load: Option<f64>,
    /// The same of the busiest bus or array unit.
    #[schemars(extend("unit" = "ratio"))]
    pub busiest_load: Option<f64>,
    /// Format of the trace; empty for a `Simulation`.
    pub format: String,
    /// What the times of the trace were taken to count; empty for a `Simulation`.
    pub time_unit: String,
    /// Devices that the trace names (disks, volumes, LUNs, files). The address spaces of those that `device_filter` keeps lie side by side.
    #[schemars(extend("unit" = "devices"))]
    pub devices: u64,
    /// Lines or records that could not be read (`on_error = skip`).
    #[schemars(extend("unit" = "records"))]
    pub skipped: u64,
    /// Records that are no requests, by what they are.
    #[schemars(extend("unit" = "records"))]
    pub ignored: BTreeMap<String, u64>,
    /// Requests that the trace records with a time before that of the record above them.
    pub out_of_order: u64,
    /// Of these, requests recorded so late that they were given a later time.
    pub displaced: u64,
    /// Requests of other devices, left out by `device_filter`.
    pub filtered: u64,
    /// Requests whose offset or size is no whole number of pages.
    pub unaligned: u64,
    /// Requests beyond the logical space, taken modulo it (`fit = wrap`).
    pub wrapped: u64,
    /// What became of addresses that were moved. Null without `fit = compact`.
    pub compacted: Option<Compacted>,
    /// Requests that do not fit into the logical space, left out (`on_error = skip`).
    pub left_out: u64,
    /// Requests of the warm-up, which no other count includes.
    pub warmup_requests: u64,
}

/// What became of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "requests"))]
pub struct Requests {
    /// Measured requests that completed.
    pub completed: u64,
    /// Measured requests that failed, by cause. They count in no latency and no throughput. Those that failed for lack of space make the exit
    /// status 3; those that failed because data are lost leave it at 0, as they are what a fault is meant to cause.
    pub failed: Failures,
    /// Requests that had not ended when the simulation did; those of the warm-up included.
    pub unfinished: u64,
    /// Pages that reads found never written, so that they cost no flash access.
    #[schemars(extend("unit" = "pages"))]
    pub unmapped_reads: u64,
    /// Pages placed on flash by their first touch (`unwritten = prefill`).
    #[schemars(extend("unit" = "pages"))]
    pub prefilled_pages: u64,
}

/// What failed, by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failures {
    /// For lack of space.
    pub no_space: u64,
    /// Because data that they needed are lost.
    pub lost: u64,
}

/// What failures took and nothing recovered by the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Losses {
    /// Host pages that failures took beyond what the scheme can recover, or that the host believes written and flash could not take (from a
    /// data buffer, or after an early acknowledgement). Each counts once.
    pub host_pages: u64,
    /// All pages whose content is still missing, those of redundancy included.
    pub pages_not_rebuilt: u64,
}

/// Latencies by kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latencies {
    /// Of all requests.
    pub all: LatencyFigures,
    /// Of reads.
    pub read: LatencyFigures,
    /// Of writes.
    pub write: LatencyFigures,
    /// Of discards and writes of zeroes.
    pub trim: LatencyFigures,
    /// Of flushes.
    pub flush: LatencyFigures,
}

/// Latencies of completed requests. All are 0 without requests. Quantiles come from a histogram with three significant digits; the other
/// figures are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "ns"))]
pub struct LatencyFigures {
    /// Requests.
    #[schemars(extend("unit" = "requests"))]
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the population.
    pub stddev: f64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Median: half of the requests took at most this long. As of all quantiles, the upper edge of the histogram's class, and never above
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

/// Throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bandwidth {
    /// Time from the first measured arrival to the last completion of a measured request; 0 if nothing completed.
    #[schemars(extend("unit" = "ns"))]
    pub span_ns: u64,
    /// Completed requests over `span_ns`. This and the other rates are null if nothing completed, or if their time is 0.
    #[schemars(extend("unit" = "requests/s"))]
    pub requests_per_second: Option<f64>,
    /// Bytes of completed reads over `span_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub read_bytes_per_second: Option<f64>,
    /// Bytes of completed writes over `span_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub write_bytes_per_second: Option<f64>,
    /// The part of `span_ns` in which a request or flash work was in progress.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: u64,
    /// Bytes of completed reads over `busy_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub busy_read_bytes_per_second: Option<f64>,
    /// Bytes of completed writes over `busy_ns`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub busy_write_bytes_per_second: Option<f64>,
}
