//! Figures that many parts of the result have: latencies, counts by cause, quotients, means.

use super::types::{ByCause, ChiSquare, FlashOps, LatencyFigures};
use crate::statistics::Latency;
use flashraid_flash::Counts;
use flashraid_vocabulary::Cause;
use libm::erfc;
use std::f64::consts::PI;

pub(super) fn latency(latency: &Latency) -> LatencyFigures {
    LatencyFigures {
        count: latency.count,
        total: latency.sum_ns().try_into().unwrap_or(u64::MAX),
        mean: latency.mean_ns(),
        stddev: latency.stddev_ns(),
        min: latency.min_ns(),
        max: latency.max_ns,
        p50: latency.quantile_ns(0.5),
        p90: latency.quantile_ns(0.9),
        p95: latency.quantile_ns(0.95),
        p99: latency.quantile_ns(0.99),
        p99_9: latency.quantile_ns(0.999),
        p99_99: latency.quantile_ns(0.9999),
    }
}

pub(super) fn by_cause(counts: &[u64; Cause::COUNT]) -> ByCause {
    let of = |cause: Cause| counts[cause as usize];
    ByCause {
        host: of(Cause::Host),
        update_read: of(Cause::UpdateRead),
        pre_read: of(Cause::PreRead),
        parity: of(Cause::Parity),
        mirror: of(Cause::Mirror),
        commit: of(Cause::Commit),
        reconstruct: of(Cause::Reconstruct),
        gc: of(Cause::Gc),
        wear: of(Cause::Wear),
        rebuild: of(Cause::Rebuild),
        migration: of(Cause::Migration),
        metadata: of(Cause::Metadata),
        retry: of(Cause::Retry),
        total: counts.iter().sum(),
    }
}

pub(super) fn flash_ops(counts: &Counts) -> FlashOps {
    FlashOps { reads: by_cause(&counts[0]), programs: by_cause(&counts[1]), erases: by_cause(&counts[2]) }
}

pub(super) fn since(now: &[u64; Cause::COUNT], before: &[u64; Cause::COUNT]) -> ByCause {
    by_cause(&std::array::from_fn(|cause| now[cause] - before[cause]))
}

/// `numerator / denominator`, or `None` where there is nothing to divide by.
pub(super) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator != 0.0).then(|| numerator / denominator)
}

/// Pearson's test of whether these sums over so many requests are draws from the same distribution.
pub(super) fn chi_square(sums: &[u64], requests: u64) -> Option<ChiSquare> {
    let (mean, degrees_of_freedom) = (moments(sums.iter().map(|sum| *sum as f64)).0, sums.len() as u64 - 1);
    (mean > 0.0 && degrees_of_freedom > 0).then(|| {
        let statistic = sums.iter().map(|sum| (*sum as f64 - mean).powi(2) / mean).sum();
        ChiSquare { requests, statistic, degrees_of_freedom, p_value: upper_tail(statistic, degrees_of_freedom) }
    })
}

/// Probability that the chi-square distribution exceeds a value: Q(a, x) with a = degrees / 2 and x = value / 2, from Q(1/2, x) = erfc(sqrt x) or Q(1, x) = e^-x
/// up by Q(a + 1, x) = Q(a, x) + x^a e^-x / gamma(a + 1). All terms are positive, so that small tails are as accurate as large ones.
fn upper_tail(value: f64, degrees: u64) -> f64 {
    let x = value / 2.0;
    let (mut a, mut tail, mut term) = match degrees % 2 {
        0 => (1.0, (-x).exp(), x * (-x).exp()),
        _ => (0.5, erfc(x.sqrt()), 2.0 * (x / PI).sqrt() * (-x).exp()),
    };
    while a < degrees as f64 / 2.0 {
        tail += term;
        a += 1.0;
        term *= x / a;
    }
    tail
}

/// Mean and population standard deviation.
pub(super) fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the distribution as tables print them.
    #[test]
    fn chi_square_by_hand() {
        assert_eq!((chi_square(&[5], 1), chi_square(&[0, 0, 0], 1)), (None, None));
        let even = chi_square(&[8, 8, 8], 7).expect("there is a mean");
        assert_eq!((even.requests, even.statistic, even.degrees_of_freedom, even.p_value), (7, 0.0, 2, 1.0));
        // ((20-30)^2 + 0 + (40-30)^2) / 30.
        let skewed = chi_square(&[20, 30, 40], 1).expect("there is a mean");
        assert!((skewed.statistic - 200.0 / 30.0).abs() < 1e-12 && (skewed.p_value - (-100.0f64 / 30.0).exp()).abs() < 1e-12, "{skewed:?}");
        // As tables print them, and far out in the tail: exp(-100), and of five degrees of freedom what a library with 50 digits gives.
        let known = [
            (1, 3.841_459, 0.05),
            (5, 11.070_498, 0.05),
            (5, 20.515_006, 0.001),
            (9, 27.877_165, 0.001),
            (2, 200.0, 3.720_075_976e-44),
            (5, 162.295, 3.2e-33),
        ];
        for (degrees, value, expected) in known {
            let found = upper_tail(value, degrees);
            let slack = if expected == 3.2e-33 { 0.02 } else { 1e-5 };
            assert!((found / expected - 1.0).abs() < slack, "{degrees} degrees, {value}: {found}, not {expected}");
        }
    }

    #[test]
    fn every_cause_has_the_key_of_its_name() {
        let object = serde_json::to_value(by_cause(&std::array::from_fn(|cause| 1 << cause))).expect("an object");
        let object = object.as_object().expect("an object");
        let expected = Cause::ALL.map(|cause| (cause.name(), 1 << cause as u64)).into_iter().chain([("total", (1 << Cause::COUNT) - 1)]);
        let found = object.iter().map(|(name, count)| (name.as_str(), count.as_u64().expect("a count")));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
