//! Figures that many parts of the result have: latencies, counts by cause, quotients, means.

use crate::statistics::Latency;
use flashraid_flash::Counts;
use flashraid_vocabulary::Cause;
use serde_json::{Map, Value, json};

pub(super) fn latency(latency: &Latency) -> Value {
    json!({
        "count": latency.count,
        "mean": latency.mean_ns(),
        "stddev": latency.stddev_ns(),
        "min": latency.min_ns(),
        "max": latency.max_ns,
        "p50": latency.quantile_ns(0.5),
        "p90": latency.quantile_ns(0.9),
        "p95": latency.quantile_ns(0.95),
        "p99": latency.quantile_ns(0.99),
        "p99_9": latency.quantile_ns(0.999),
        "p99_99": latency.quantile_ns(0.9999),
    })
}

pub(super) fn by_cause(counts: &[u64; Cause::COUNT]) -> Value {
    let mut object: Map<String, Value> = Cause::ALL.iter().map(|cause| (cause.name().into(), counts[*cause as usize].into())).collect();
    object.insert("total".into(), counts.iter().sum::<u64>().into());
    Value::Object(object)
}

pub(super) fn flash_ops(counts: &Counts) -> Value {
    json!({ "reads": by_cause(&counts[0]), "programs": by_cause(&counts[1]), "erases": by_cause(&counts[2]) })
}

pub(super) fn since(now: &[u64; Cause::COUNT], before: &[u64; Cause::COUNT]) -> Value {
    by_cause(&std::array::from_fn(|cause| now[cause] - before[cause]))
}

/// `numerator / denominator`, or null where there is nothing to divide by.
pub(super) fn ratio(numerator: f64, denominator: f64) -> Value {
    if denominator == 0.0 { Value::Null } else { (numerator / denominator).into() }
}

/// Mean and population standard deviation.
pub(super) fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt())
}
