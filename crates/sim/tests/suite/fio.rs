//! The form of fio's JSON has its keys, and the numbers of the result.

use crate::outputs::{golden_trace, replay, whole};
use crate::support::{config, own_trace, small};
use flashraid_sim::Status;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn fio_has_its_keys_and_the_numbers_of_the_result() {
    let run = whole("fio", "raid5", &[]);
    let mut keys = BTreeSet::new();
    paths(&run.fio, "", &mut keys);
    let expected: BTreeSet<String> = include_str!("fio-keys.txt").lines().map(str::to_owned).collect();
    let missing: Vec<_> = expected.difference(&keys).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let job = &run.fio["jobs"][0];
    assert_eq!(job["jobname"], "raid5");
    for kind in ["read", "write", "trim"] {
        let (of, expected) = (&job[kind], &run.result["latency_ns"][kind]);
        assert_eq!(of["total_ios"], expected["count"]);
        for (percentile, key) in [("50.000000", "p50"), ("99.000000", "p99"), ("99.900000", "p99_9"), ("99.990000", "p99_99")] {
            assert_eq!(of["clat_ns"]["percentile"][percentile], expected[key]);
        }
        for (key, in_result) in [("min", "min"), ("max", "max"), ("mean", "mean"), ("stddev", "stddev"), ("N", "count")] {
            assert_eq!(of["lat_ns"][key], expected[in_result]);
        }
    }
    assert_eq!(job["read"]["io_bytes"], run.result["workload"]["bytes_read"]);
    assert_eq!(job["write"]["io_bytes"], run.result["workload"]["bytes_written"]);
    assert_eq!(job["sync"]["total_ios"], run.result["latency_ns"]["flush"]["count"]);
    let share = |table: &str| job[table].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum::<f64>();
    assert!((share("latency_ns") + share("latency_us") + share("latency_ms") - 100.0).abs() < 1e-9);
    assert!((share("iodepth_level") - 100.0).abs() < 1e-9);
}

/// Every path of keys; of percentiles too.
fn paths(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.insert(format!("{prefix}/{key}"));
            paths(value, &format!("{prefix}/{key}"), found);
        }),
        Value::Array(list) => list.iter().for_each(|value| paths(value, prefix, found)),
        _ => {}
    }
}

#[test]
fn fio_calls_jobs_as_fio_would() {
    let flushes = "0,F,0,0,,\n9,F,0,0,,\n";
    for (rows, mode, size) in [
        (flushes, "randwrite", "4096"),
        ("0,D,0,16384,,\n", "randtrim", "16384"),
        ("0,D,0,16384,,\n5,W,0,4096,,\n", "randwrite", "4096"),
        ("0,R,0,8192,,\n5,W,0,4096,,\n", "randrw", "6144"),
        ("0,R,0,8192,,\n", "randread", "8192"),
    ] {
        let run = replay("fio-words", &own_trace("fio", rows), config("tiny", "raid0", &[]), &[], |_| true);
        let options = &run.fio["jobs"][0]["job options"];
        assert_eq!((options["rw"].as_str(), options["bs"].as_str()), (Some(mode), Some(size)), "{rows}");
        assert_eq!(run.fio["jobs"][0]["error"], 0);
    }
}

#[test]
fn fio_says_that_a_run_was_interrupted() {
    let config = small("raid5", &[("precondition", "random:4")]);
    let run = replay("fio-partial", &golden_trace(), config, &[], |_| false);
    assert_eq!(run.status, Status::Interrupted);
    assert_eq!(run.fio["jobs"][0]["error"], 4);
}
