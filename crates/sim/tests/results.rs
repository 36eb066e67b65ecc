//! The figures of a result that are derived from several counts, each against what it is defined to be.

mod support;

use flashraid_sim::{Outputs, run};
use flashraid_vocabulary::{HostOp, HostRequest};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{config, pages};

const WRITE_NS: u64 = 302_575;

fn write(first: u64, count: u64) -> HostRequest {
    pages(HostOp::Write, first, count)
}

/// Writes a trace of requests at whole microseconds.
fn trace(name: &str, requests: &[(u64, HostRequest)]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("result-{name}.csv"));
    let line = |(at_us, request): &(u64, HostRequest)| {
        let op = if request.op == HostOp::Read { 'R' } else { 'W' };
        format!("{at_us},{op},{},{},,\n", request.offset_bytes, request.size_bytes)
    };
    let lines: String = requests.iter().map(line).collect();
    std::fs::write(&path, "ts_us,op,offset,size,flags,latency_us\n".to_owned() + &lines).unwrap();
    path
}

/// The result on the device `tiny`, and what the user is told.
fn replayed(name: &str, requests: &[(u64, HostRequest)], scheme: &str, pairs: &[(&str, &str)]) -> (Value, Vec<String>) {
    let finished = run(&trace(name, requests), config("tiny", scheme, pairs), &Outputs::default(), false, &mut |_| true).unwrap();
    (serde_json::from_str(&finished.json).unwrap(), finished.warnings)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn is_near(found: &Value, expected: f64) {
    assert!((number(found) - expected).abs() <= 1e-9 * expected.abs(), "{found}, expected {expected}");
}

/// 100 writes of two pages, 2 ms apart: light load, with time between them.
fn gentle() -> Vec<(u64, HostRequest)> {
    (0..100).map(|number| (2_000 * number, write(number * 7 % 240, 2))).collect()
}

#[test]
fn throughput_is_of_what_completed_until_the_host_had_its_last_answer() {
    let end_us = 99 * 2_000;
    for (scheme, fail) in [("raid5", ""), ("fra", ""), ("raid5", "chip:1.0@100%"), ("raid1", "chip:1.0@50%")] {
        let pairs = [("fill", "0.5"), ("verify", "true"), ("fail", fail), ("spare_chips", "1")];
        let (result, _) = replayed("throughput", &gentle(), scheme, &pairs);
        let bandwidth = &result["bandwidth"];
        let span_ns = number(&bandwidth["span_ns"]);
        // The last write waits for nobody: its latency is known but for the method.
        assert!((end_us * 1000 + WRITE_NS..=end_us * 1000 + 4 * WRITE_NS).contains(&(span_ns as u64)), "{scheme} {fail}: {span_ns}");
        is_near(&bandwidth["requests_per_second"], 100.0 * 1e9 / span_ns);
        is_near(&bandwidth["write_bytes_per_second"], 200.0 * 4096.0 * 1e9 / span_ns);
        if !fail.is_empty() {
            assert!(number(&result["simulated_ns"]) > span_ns, "{scheme} {fail}: the rebuild goes on");
        }
    }
}

#[test]
fn throughput_leaves_out_what_failed_and_what_was_not_measured() {
    let options = [("fill", "0.5"), ("fail", "channel:1@0ns"), ("warmup", "0.1s")];
    let (result, _) = replayed("failed", &gentle(), "raid0", &options);
    let of = &result["requests"];
    let (completed, failed) = (number(&of["completed"]), number(&of["failed"]["lost"]) + number(&of["failed"]["no_space"]));
    assert_eq!(completed + failed, 50.0);
    assert!(completed > 0.0 && failed > 0.0);
    let (bandwidth, span_ns) = (&result["bandwidth"], number(&result["bandwidth"]["span_ns"]));
    assert!(span_ns <= 49.0 * 2e6 + WRITE_NS as f64, "from the first measured arrival: {span_ns}");
    is_near(&bandwidth["requests_per_second"], completed * 1e9 / span_ns);
    is_near(&bandwidth["write_bytes_per_second"], completed * 8192.0 * 1e9 / span_ns);
}

/// What a rebuild does after the last request is no load, and no amplification of what the host wrote: everything is as without it.
#[test]
fn a_rebuild_after_the_last_request_changes_neither_load_nor_write_amplification() {
    for scheme in ["raid1", "raid5", "sirf1", "ppc"] {
        let rebuilt = |rebuild| {
            let pairs = [("fill", "0.5"), ("fail", "chip:1.0@100%"), ("spare_chips", "1"), ("rebuild", rebuild)];
            replayed(&format!("rebuild-{scheme}"), &gentle(), scheme, &pairs)
        };
        let ((without, _), (with, told)) = (rebuilt("none"), rebuilt("auto"));
        assert!(number(&with["flash_ops"]["programs"]["rebuild"]) > 1000.0, "{scheme}");
        is_near(&with["write_amplification_by"]["rebuild"], number(&with["flash_ops"]["programs"]["rebuild"]) / 200.0);
        for key in ["write_amplification", "pages_per_host_page"] {
            assert_eq!(with[key], without[key], "{scheme} {key}");
        }
        for key in ["offered_load", "busiest_load"] {
            assert_eq!(with["workload"][key], without["workload"][key], "{scheme} {key}");
        }
        assert!(!told.iter().any(|text| text.contains("offered load")), "{scheme}: {told:?}");
    }
}

/// What fra makes up in idle time is no load either, as it leaves whenever a request comes; but it is amplification.
#[test]
fn parities_in_idle_time_are_redundancy_and_no_load() {
    let (fra, _) = replayed("idle", &gentle(), "fra", &[("fill", "0.5")]);
    let (raid0, _) = replayed("idle", &gentle(), "raid0", &[("fill", "0.5")]);
    assert!(number(&fra["workload"]["offered_load"]) <= 1.01 * number(&raid0["workload"]["offered_load"]), "{}", fra["workload"]);
    let parts = &fra["write_amplification_by"];
    is_near(&parts["host"], 1.0);
    is_near(&parts["redundancy"], number(&fra["flash_ops"]["programs"]["commit"]) / 200.0);
    is_near(&fra["write_amplification"], number(&parts["host"]) + number(&parts["redundancy"]));
}

/// What a drain writes stands apart too.
#[test]
fn a_drain_is_no_amplification_of_what_came_before() {
    let requests: Vec<_> = (0..8).map(|number| (1_000 * number, write(3 * number, 1))).collect();
    let [kept, drained] = ["false", "true"].map(|drain| {
        let pairs = [("fill", "0.5"), ("nvram_buffer_bytes", "1048576"), ("drain", drain)];
        replayed(&format!("drain-{drain}"), &requests, "raid5", &pairs).0
    });
    assert_eq!(kept["write_amplification"], 0.0);
    assert_eq!(drained["write_amplification"], 0.0);
    is_near(&drained["write_amplification_by"]["drain"], number(&drained["drain"]["flash_ops"]["programs"]["total"]) / 8.0);
    assert!(number(&drained["write_amplification_by"]["drain"]) >= 2.0);
}

/// Forty writes at once are the warm-up; the one that is measured finds them waiting.
#[test]
fn programs_of_the_warm_up_are_no_amplification_of_what_is_measured() {
    let mut requests: Vec<_> = (0..40).map(|number| (0, write(4 * number, 8))).collect();
    requests.push((1, write(400, 1)));
    for (scheme, host, redundancy) in [("raid0", 1.0, 0.0), ("raid1", 1.0, 1.0), ("raid5", 1.0, 1.0)] {
        let (result, _) = replayed("warmup", &requests, scheme, &[("fill", "0.5"), ("warmup", "40")]);
        let parts = &result["write_amplification_by"];
        assert_eq!((number(&parts["host"]), number(&parts["redundancy"])), (host, redundancy), "{scheme}: {parts}");
        assert_eq!(number(&result["write_amplification"]), host + redundancy, "{scheme}");
        let total = number(&result["flash_ops"]["programs"]["total"]);
        is_near(&parts["warmup"], total - host - redundancy);
        assert!(total > 200.0, "{scheme}: most of the warm-up runs while measuring: {total}");
    }
}
