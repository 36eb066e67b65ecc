//! The HdrHistogram log has the latencies of the result.

use crate::outputs::{KINDS, golden_trace, number, replay, whole};
use crate::support::small;
use flashraid_redundancy::SCHEMES;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;

#[test]
fn the_histogram_log_reads_back_as_the_result() {
    for scheme in SCHEMES.iter().map(|entry| entry.name) {
        let run = whole(&format!("hdr-{scheme}"), scheme, &[]);
        let text = run.text("latency.hlog");
        let mut of_kind: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
        let mut former = std::time::Duration::ZERO;
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            let LogEntry::Interval(interval) = entry.unwrap() else { continue };
            assert!(former <= interval.start_timestamp());
            former = interval.start_timestamp();
            let bytes = decoded(interval.encoded_histogram());
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert!(!histogram.is_empty());
            let all = of_kind.entry(interval.tag().unwrap().as_str().to_owned()).or_insert_with(|| Histogram::new(3).unwrap());
            all.add(&histogram).unwrap();
        }
        assert_eq!(of_kind.len(), KINDS.len());
        for (kind, histogram) in &of_kind {
            let expected = &run.result["latency_ns"][kind];
            assert_eq!(histogram.len(), expected["count"].as_u64().unwrap());
            let max = expected["max"].as_u64().unwrap();
            for (quantile, key) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99_9")] {
                assert_eq!(histogram.value_at_quantile(quantile).min(max), expected[key].as_u64().unwrap(), "{kind} {key}");
            }
        }
    }
}

/// The last interval ends with the run, in the series and in the histogram log, which has whole milliseconds.
#[test]
fn the_last_interval_ends_with_the_run() {
    let run = replay("last-interval", &golden_trace(), small("raid5", &[]), &[("series_interval", "400ms")], |_| true);
    let end_ns = run.result["simulated_ns"].as_u64().unwrap();
    let ends: Vec<u64> = run.table("series.csv").iter().map(|row| number(&row["start_ns"]) + number(&row["length_ns"])).collect();
    assert_eq!(ends, [400_000_000, end_ns]);
    let text = run.text("latency.hlog");
    let intervals = IntervalLogIterator::new(text.as_bytes()).filter_map(|entry| match entry.unwrap() {
        LogEntry::Interval(interval) => Some((interval.start_timestamp() + interval.duration()).as_nanos() as u64),
        _ => None,
    });
    let last_ns = intervals.max().unwrap();
    assert!((400_000_000..800_000_000).contains(&end_ns) && last_ns.abs_diff(end_ns) <= 1_000_000, "{last_ns}, expected {end_ns}");
}

/// Base64, as the log has it.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |digit: u8| DIGITS.iter().position(|each| *each == digit).unwrap() as u32;
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').collect();
    let group = |digits: &[u8]| {
        let word = digits.iter().fold(0, |word, digit| word << 6 | value(*digit)) << (6 * (4 - digits.len()));
        word.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
