//! The result in the form of fio's JSON (as fio 3.33 writes with `--output-format=json`), for scripts that read that. What a simulator
//! has not (processor time, submission latency, faults) is 0; times of day are the epoch's.

use crate::engine::recorder::{DEPTHS, RequestRecord};
use crate::statistics::{Latency, Statistics};
use flashraid_vocabulary::HostOp;
use serde_json::{Map, Value, json};

/// fio takes a sample of bandwidth and of requests a second in this time.
const SAMPLE_NS: u64 = 500_000_000;

/// The size of requests of a job that does not say it.
const DEFAULT_BYTES: u64 = 4096;

/// Errors of a job: the numbers of EINTR and ENOSPC.
const INTERRUPTED: u32 = 4;
const NO_SPACE: u32 = 28;

const PERCENTILES: [f64; 17] = [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Upper bounds of the classes of latencies, in the unit that each table is named after.
const NS_CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const MS_CLASSES: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Smallest, largest, mean and deviation of samples.
#[derive(Clone, Copy, Debug)]
struct Samples {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    least: u64,
    most: u64,
}

impl Samples {
    const NONE: Self = Self { count: 0, sum: 0, sum_of_squares: 0, least: u64::MAX, most: 0 };

    fn add(&mut self, value: u64, times: u64) {
        if times > 0 {
            self.count += times;
            self.sum += u128::from(value) * u128::from(times);
            self.sum_of_squares += u128::from(value) * u128::from(value) * u128::from(times);
            (self.least, self.most) = (self.least.min(value), self.most.max(value));
        }
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    fn deviation(&self) -> f64 {
        let spread = u128::from(self.count) * self.sum_of_squares - self.sum * self.sum;
        if self.count == 0 { 0.0 } else { (spread as f64).sqrt() / self.count as f64 }
    }
}

/// What fio measures of one direction beside latencies.
#[derive(Clone, Copy, Debug)]
struct Direction {
    bytes: u64,
    requests: u64,
    sampled_bytes: u64,
    sampled_requests: u64,
    bytes_a_second: Samples,
    requests_a_second: Samples,
}

/// What fio measures beside latencies: reads, writes and trims.
pub(super) struct Rates {
    /// End of the sample in progress.
    sample_end_ns: u64,
    directions: [Direction; 3],
    failed: u64,
}

impl Rates {
    pub(super) fn new(start_ns: u64) -> Self {
        let none = Direction {
            bytes: 0,
            requests: 0,
            sampled_bytes: 0,
            sampled_requests: 0,
            bytes_a_second: Samples::NONE,
            requests_a_second: Samples::NONE,
        };
        Self { sample_end_ns: start_ns + SAMPLE_NS, directions: [none; 3], failed: 0 }
    }

    pub(super) fn add(&mut self, request: &RequestRecord) {
        self.advance(request.end_ns);
        let direction = match request.op {
            HostOp::Read => 0,
            HostOp::Write => 1,
            HostOp::Trim | HostOp::WriteZeroes => 2,
            HostOp::Flush => return,
        };
        if request.failed.is_some() {
            self.failed += 1;
            return;
        }
        let direction = &mut self.directions[direction];
        direction.bytes += request.size_bytes;
        direction.requests += 1;
        direction.sampled_bytes += request.size_bytes;
        direction.sampled_requests += 1;
    }

    /// Ends the samples that end by now.
    fn advance(&mut self, now_ns: u64) {
        if now_ns < self.sample_end_ns {
            return;
        }
        let ended = 1 + (now_ns - self.sample_end_ns) / SAMPLE_NS;
        self.sample_end_ns += ended * SAMPLE_NS;
        for direction in &mut self.directions {
            let a_second = |amount: u64| amount * (1_000_000_000 / SAMPLE_NS);
            direction.bytes_a_second.add(a_second(std::mem::take(&mut direction.sampled_bytes)), 1);
            direction.requests_a_second.add(a_second(std::mem::take(&mut direction.sampled_requests)), 1);
            direction.bytes_a_second.add(0, ended - 1);
            direction.requests_a_second.add(0, ended - 1);
        }
    }
}

/// What the job is called and how it was run.
pub(super) struct FioJob<'a> {
    pub(super) scheme: &'a str,
    pub(super) device: &'a str,
    pub(super) trace: &'a str,
    /// 0 for the arrival times of the trace.
    pub(super) queue_depth: u64,
    /// From the first measured arrival to the last completion.
    pub(super) span_ns: u64,
    /// Whether the run was stopped before its end.
    pub(super) is_partial: bool,
    pub(super) busy_share: f64,
    pub(super) depths: [u64; DEPTHS.len() + 1],
}

/// The whole document.
pub(super) fn document(job: &FioJob<'_>, rates: &mut Rates, statistics: &Statistics, now_ns: u64) -> Value {
    rates.advance(now_ns);
    let runtime_ms = job.span_ns.div_ceil(1_000_000);
    let [reads, writes, trims] = &rates.directions;
    let mixed = match (reads.requests, writes.requests, trims.requests) {
        (1.., 0, 0) => "randread",
        (0, 0, 1..) => "randtrim",
        (0, ..) => "randwrite", // nothing but flushes too: fio has them with writes only
        _ => "randrw",
    };
    // Discards are often far larger than transfers, and of no interest beside them.
    let transfers = (reads.bytes + writes.bytes).checked_div(reads.requests + writes.requests);
    let bytes_of_request = transfers.or_else(|| trims.bytes.checked_div(trims.requests)).unwrap_or(DEFAULT_BYTES);
    let error = match (job.is_partial, rates.failed) {
        (true, _) => INTERRUPTED,
        (false, 1..) => NO_SPACE,
        (false, 0) => 0,
    };
    let depth = job.queue_depth.max(1);
    let [read, write, trim, flush] = &statistics.latency;
    let mut all = read.clone();
    all.merge(write);
    all.merge(trim);
    json!({
        "fio version": concat!("fio-3.33 (flashraid ", env!("CARGO_PKG_VERSION"), ")"),
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "jobs": [{
            "jobname": job.scheme,
            "groupid": 0,
            "error": error,
            "eta": 0,
            "elapsed": job.span_ns.div_ceil(1_000_000_000),
            "job options": {
                "name": job.scheme,
                "filename": job.trace,
                "ioengine": "flashraid",
                "rw": mixed,
                "bs": bytes_of_request.to_string(),
                "iodepth": depth.to_string(),
                "numjobs": "1",
            },
            "read": direction(reads, read, job),
            "write": direction(writes, write, job),
            "trim": direction(trims, trim, job),
            "sync": { "total_ios": flush.count, "lat_ns": with_percentiles(flush) },
            "job_runtime": runtime_ms,
            "usr_cpu": 0.0,
            "sys_cpu": 0.0,
            "ctx": 0,
            "majf": 0,
            "minf": 0,
            "iodepth_level": depth_levels(&job.depths),
            "iodepth_submit": one_at_a_time(all.count),
            "iodepth_complete": one_at_a_time(all.count),
            "latency_ns": classes(&all, &NS_CLASSES, 1, 0),
            "latency_us": classes(&all, &NS_CLASSES, 1000, 1000),
            "latency_ms": milliseconds(&all),
            "latency_depth": depth,
            "latency_target": 0,
            "latency_percentile": 100.0,
            "latency_window": 0,
        }],
        "disk_util": [{
            "name": job.device,
            "read_ios": reads.requests,
            "write_ios": writes.requests,
            "read_merges": 0,
            "write_merges": 0,
            "read_ticks": ticks_ms(read),
            "write_ticks": ticks_ms(write),
            "in_queue": ticks_ms(read) + ticks_ms(write),
            "util": 100.0 * job.busy_share,
        }],
    })
}

/// Milliseconds that requests took altogether.
fn ticks_ms(latency: &Latency) -> u64 {
    (latency.mean_ns() * latency.count as f64 / 1e6) as u64
}

fn direction(of: &Direction, latency: &Latency, job: &FioJob<'_>) -> Value {
    let seconds = job.span_ns as f64 / 1e9;
    let a_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    let bandwidth = a_second(of.bytes);
    // fio's samples are in KiB/s, and their part of the whole group's bandwidth in percent, which is this job's.
    let (bytes, requests) = (&of.bytes_a_second, &of.requests_a_second);
    let part = if bandwidth > 0.0 { (100.0 * bytes.mean() / bandwidth).min(100.0) } else { 0.0 };
    let least = |samples: &Samples| if samples.count == 0 { 0 } else { samples.least };
    json!({
        "io_bytes": of.bytes,
        "io_kbytes": of.bytes / 1024,
        "bw_bytes": bandwidth as u64,
        "bw": (bandwidth / 1024.0) as u64,
        "iops": a_second(of.requests),
        "runtime": if of.requests > 0 { job.span_ns.div_ceil(1_000_000) } else { 0 },
        "total_ios": of.requests,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": moments(&Latency::default()),
        "clat_ns": with_percentiles(latency),
        "lat_ns": moments(latency),
        "bw_min": least(bytes) / 1024,
        "bw_max": bytes.most / 1024,
        "bw_agg": part,
        "bw_mean": bytes.mean() / 1024.0,
        "bw_dev": bytes.deviation() / 1024.0,
        "bw_samples": bytes.count,
        "iops_min": least(requests),
        "iops_max": requests.most,
        "iops_mean": requests.mean(),
        "iops_stddev": requests.deviation(),
        "iops_samples": requests.count,
    })
}

fn moments(latency: &Latency) -> Value {
    json!({
        "min": latency.min_ns(),
        "max": latency.max_ns,
        "mean": latency.mean_ns(),
        "stddev": latency.stddev_ns(),
        "N": latency.count,
    })
}

/// As fio does, without percentiles where nothing was measured.
fn with_percentiles(latency: &Latency) -> Value {
    let mut object = moments(latency);
    if latency.count > 0 {
        let found = latency.quantiles_ns(PERCENTILES.map(|percentile| percentile / 100.0));
        let values = PERCENTILES.iter().zip(found).map(|(percentile, latency_ns)| (format!("{percentile:.6}"), latency_ns.into()));
        object["percentile"] = Value::Object(values.collect());
    }
    object
}

fn percent(count: u64, all: u64) -> Value {
    (if all == 0 { 0.0 } else { 100.0 * count as f64 / all as f64 }).into()
}

/// Percent of latencies by class, each up to its bound in nanoseconds times `unit_ns`; the first begins above `above_ns`.
fn classes(latency: &Latency, bounds: &[u64], unit_ns: u64, above_ns: u64) -> Map<String, Value> {
    let up_to = |time_ns: u64| if time_ns == 0 { 0 } else { latency.histogram().count_between(0, time_ns) };
    let mut former = up_to(above_ns);
    let share = |bound: &u64| {
        let now = up_to(bound * unit_ns);
        (bound.to_string(), percent(now - std::mem::replace(&mut former, now), latency.count))
    };
    bounds.iter().map(share).collect()
}

fn milliseconds(latency: &Latency) -> Map<String, Value> {
    let mut object = classes(latency, &MS_CLASSES, 1_000_000, 1_000_000);
    let longer = latency.count - latency.histogram().count_between(0, 2_000_000_000);
    object.insert(">=2000".into(), percent(longer, latency.count));
    object
}

fn depth_levels(depths: &[u64; DEPTHS.len() + 1]) -> Map<String, Value> {
    let all = depths.iter().sum();
    let names = ["1", "2", "4", "8", "16", "32", ">=64"];
    names.into_iter().zip(depths).map(|(name, count)| (name.into(), percent(*count, all))).collect()
}

/// Each request is submitted and completed by itself, which fio counts as "up to 4".
fn one_at_a_time(requests: u64) -> Map<String, Value> {
    let share = |name: &str| if name == "4" { percent(requests, requests) } else { 0.0.into() };
    ["0", "4", "8", "16", "32", "64", ">=64"].into_iter().map(|name| (name.into(), share(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::{HostOp, Rates, RequestRecord, SAMPLE_NS};
    use crate::engine::recorder::Methods;

    /// A discard of a whole drive is far more than could be transferred, and years may pass without a request.
    #[test]
    fn samples_hold_whole_drives_and_years() {
        let drive_bytes = 64 << 40;
        let end_ns = i64::MAX as u64;
        let methods = Methods::default();
        let arrival_ns = end_ns - 1000;
        let (sequence, start_ns, offset_bytes, size_bytes, op) = (0, end_ns, 0, drive_bytes, HostOp::Trim);
        let mut rates = Rates::new(0);
        rates.add(&RequestRecord {
            sequence,
            arrival_ns,
            start_ns,
            end_ns,
            offset_bytes,
            size_bytes,
            op,
            stripe: None,
            methods,
            failed: None,
        });
        rates.advance(end_ns + SAMPLE_NS);
        let trims = &rates.directions[2];
        assert_eq!((trims.bytes_a_second.least, trims.bytes_a_second.most), (0, 2 * drive_bytes));
        assert_eq!(trims.requests_a_second.count, end_ns / SAMPLE_NS + 1);
    }
}
