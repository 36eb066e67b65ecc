//! Figures that many parts of the result have: latencies, counts by cause, quotients, means.

use super::types::{ByCause, ChiSquare, EraseRange, FlashOps, LatencyFigures, LatencyQuantile, LatencySummary};
use crate::statistics::Latency;
use flashraid_ftl::Counts;
use flashraid_vocabulary::Cause;
use libm::erfc;
use std::f64::consts::PI;

/// 10^(-k/8) for k from 1 to 8, times `WHOLE`. Whole numbers make the same quantiles on every machine, which powers of floating-point numbers do not.
const TAILS: [u64; 8] = [7499, 5623, 4217, 3162, 2371, 1778, 1334, 1000];
const WHOLE: u64 = 10_000;
/// Most decades of a tail.
const DECADES: u32 = 8;
/// Most ranges of a histogram of erases.
const RANGES: u64 = 32;

/// Latencies with their distribution.
pub(super) fn distributed(latency: &Latency) -> LatencyFigures {
    LatencyFigures { summary: self::latency(latency), distribution: distribution(latency) }
}

fn distribution(latency: &Latency) -> Vec<LatencyQuantile> {
    if latency.count == 0 {
        return Vec::new();
    }
    let point = |quantile, latency_ns| LatencyQuantile { quantile, latency_ns };
    let tails = (0..DECADES).flat_map(|decade| TAILS.map(|tail| (tail, WHOLE * 10u64.pow(decade))));
    let is_told = |(tail, whole): &(u64, u64)| u128::from(*tail) * u128::from(latency.count) >= u128::from(*whole);
    let quantiles = tails.take_while(is_told).map(|(tail, whole)| (whole - tail) as f64 / whole as f64);
    let inner = quantiles.clone().zip(latency.each_quantile_ns(quantiles)).map(|(quantile, latency_ns)| point(quantile, latency_ns));
    [point(0.0, latency.min_ns())].into_iter().chain(inner).chain([point(1.0, latency.max_ns)]).collect()
}

/// Blocks by their erases.
pub(super) fn erase_histogram(erases: impl Iterator<Item = u32> + Clone) -> Vec<EraseRange> {
    let Some(least) = erases.clone().min().map(u64::from) else { return Vec::new() };
    let counts = erases.clone().max().map_or(0, u64::from) - least + 1;
    let width = counts.div_ceil(RANGES);
    let range = |erases_from| EraseRange { erases_from, erases_to: erases_from + width - 1, blocks: 0 };
    let mut ranges: Vec<EraseRange> = (0..counts.div_ceil(width)).map(|number| range(least + number * width)).collect();
    erases.for_each(|erases| ranges[((u64::from(erases) - least) / width) as usize].blocks += 1);
    ranges
}

pub(super) fn latency(latency: &Latency) -> LatencySummary {
    let [p50, p90, p95, p99, p99_9, p99_99] = latency.quantiles_ns([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999]);
    LatencySummary {
        count: latency.count,
        total: latency.sum_ns().try_into().unwrap_or(u64::MAX),
        mean: latency.mean_ns(),
        stddev: latency.stddev_ns(),
        min: latency.min_ns(),
        max: latency.max_ns,
        p50,
        p90,
        p95,
        p99,
        p99_9,
        p99_99,
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

    fn distribution_of(latencies_ns: impl Iterator<Item = u64>) -> (LatencySummary, Vec<(f64, u64)>) {
        let mut latency = Latency::default();
        latencies_ns.for_each(|latency_ns| latency.record(latency_ns));
        let LatencyFigures { summary, distribution } = distributed(&latency);
        (summary, distribution.into_iter().map(|point| (point.quantile, point.latency_ns)).collect())
    }

    /// Of 1 to 1000 us, the latency at a quantile is so many thousandths of a millisecond.
    #[test]
    fn a_distribution_goes_as_far_as_requests_tell() {
        assert_eq!(distribution_of([].into_iter()).1, []);
        assert_eq!(distribution_of([7].into_iter()).1, [(0.0, 7), (1.0, 7)]);
        // A tenth of 10 requests is one, and no quantile beyond that says more.
        assert_eq!(distribution_of(1..=10).1.iter().map(|(quantile, _)| *quantile).rev().take(2).collect::<Vec<_>>(), [1.0, 0.9]);
        assert_eq!(distribution_of(1..=9).1.len(), 1 + 7 + 1);
        let (summary, points) = distribution_of((1..=1000).map(|us| us * 1000));
        assert_eq!((points.len(), points[0], points[25]), (26, (0.0, 1000), (1.0, 1_000_000)));
        for (k, (quantile, latency_ns)) in points[..25].iter().enumerate() {
            assert!((1.0 - quantile - 10f64.powf(-(k as f64) / 8.0)).abs() < 1e-4, "{k}: {quantile}");
            assert!((*latency_ns as f64 / 1e6 - quantile).abs() < 0.002, "{k}: {latency_ns} ns at {quantile}");
        }
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{points:?}");
        assert_eq!([8, 16, 24].map(|k| points[k]), [(0.9, summary.p90), (0.99, summary.p99), (0.999, summary.p99_9)]);
    }

    #[test]
    fn a_distribution_has_eight_decades_and_short_numbers() {
        let mut many = Latency::default();
        many.record(5);
        (0..30).for_each(|_| many.merge(&many.clone()));
        let points = distribution(&many);
        let last: Vec<String> = points.iter().rev().take(3).map(|point| point.quantile.to_string()).collect();
        assert_eq!((points.len(), last), (66, ["1", "0.99999999", "0.99999998666"].map(String::from).to_vec()));
        let decades = points[8..].iter().step_by(8).take(4).map(|point| point.quantile);
        assert_eq!(decades.collect::<Vec<_>>(), [0.9, 0.99, 0.999, 0.9999]);
    }

    #[test]
    fn every_block_is_in_one_range_of_erases() {
        let ranges = |erases: &[u32]| -> Vec<(u64, u64, u64)> {
            erase_histogram(erases.iter().copied()).iter().map(|range| (range.erases_from, range.erases_to, range.blocks)).collect()
        };
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&[4, 4, 4]), [(4, 4, 3)]);
        assert_eq!(ranges(&[7, 3, 6, 3]), [(3, 3, 2), (4, 4, 0), (5, 5, 0), (6, 6, 1), (7, 7, 1)]);
        // 32 counts have a range each, of 33 counts each range has two.
        assert_eq!((ranges(&[1, 32]).len(), ranges(&[1, 33]).len()), (32, 17));
        assert_eq!([ranges(&[1, 33])[0], ranges(&[1, 33])[16]], [(1, 2, 1), (33, 34, 1)]);
        let widest = ranges(&[0, u32::MAX]);
        assert_eq!((widest.len(), widest[31].1, widest.iter().map(|range| range.2).sum::<u64>()), (32, u32::MAX.into(), 2));
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
