//! Same input, same output, bit for bit: in two runs, in a clone, with contents and without, in debug and in release.
//!
//! `tests/golden` at the top of the repository holds a trace and `results.csv`, a line for each run over it: figures for people, and the digest of the
//! whole result but for what only repeats settings. The archive beside it has all results with their settings, to show what has changed. Here they are
//! compared by a build with debug assertions, in `tests/python/test_golden.py` by a release build. `FLASHRAID_BLESS=1` writes them anew.

use crate::support::archive::{self, Archive};
use crate::support::committed::{check_file, in_repository, is_blessing};
use crate::support::{Golden, accepted, goldens, own_folder, some_of};
use flashraid_redundancy::{SCHEMES, find};
use flashraid_sim::{Config, Outputs, Prepared, Simulation, Source, Status, preparation, run, run_on, text};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A small drive at work, verified.
fn verified(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    crate::support::small(scheme, &[&[("verify", "true")], pairs].concat())
}

/// Requests of every kind on 2 MiB, in bursts, at whole microseconds.
fn requests(count: u64) -> Vec<HostRequest> {
    let mut random = SplitMix64::new(2);
    let mut below = |end: u64| random.next_u64() % end;
    let mut arrival_ns = 0;
    (0..count)
        .map(|_| {
            arrival_ns += if below(3) == 0 { below(2_000) * 1000 } else { 0 };
            let op = match below(16) {
                0 => HostOp::Flush,
                1 => HostOp::Trim,
                2 => HostOp::WriteZeroes,
                3..=7 => HostOp::Read,
                _ => HostOp::Write,
            };
            let (offset_bytes, size_bytes) = if op == HostOp::Flush { (0, 0) } else { (below(4000) * 512, 512 * (1 + below(40))) };
            HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }
        })
        .collect()
}

fn golden(name: &str) -> PathBuf {
    in_repository("tests/golden").join(name)
}

/// The trace as a file.
fn trace() -> String {
    let line = |request: HostRequest| {
        let op = match request.op {
            HostOp::Read => 'R',
            HostOp::Write => 'W',
            HostOp::Trim => 'D',
            HostOp::WriteZeroes => 'Z',
            HostOp::Flush => 'F',
        };
        format!("{},{op},{},{},,\n", request.arrival_ns / 1000, request.offset_bytes, request.size_bytes)
    };
    String::from("ts_us,op,offset,size,flags,latency_us\n") + &requests(600).into_iter().map(line).collect::<String>()
}

/// A run over the trace of the goldens.
fn replay(config: Config, with_cost: bool) -> flashraid_sim::Finished {
    run(&golden("trace.csv"), config, &Outputs::default(), with_cost, &mut |_| true).unwrap()
}

fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap()
}

/// A result without what a release or a new setting changes.
fn without_settings(json: &str) -> Map<String, Value> {
    let mut result = object(json);
    ["version", "config"].iter().for_each(|key| assert!(result.shift_remove(*key).is_some()));
    result
}

/// The line of a result in `results.csv`: figures, and the digest of all of it.
fn line(name: &str, result: &Map<String, Value>) -> String {
    let result = Value::from(result.clone());
    let figure = |path: &str| result.pointer(path).map(Value::to_string).unwrap_or_default();
    let figures = FIGURES.map(|(_, path)| figure(path));
    let digest: String = Sha256::digest(result.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name},{},{digest}\n", figures.join(","))
}

/// Columns of `results.csv`, and where the figures stand in a result.
const FIGURES: [(&str, &str); 10] = [
    ("completed", "/requests/completed"),
    ("failed_lost", "/requests/failed/lost"),
    ("failed_no_space", "/requests/failed/no_space"),
    ("read_mean_ns", "/latency_ns/read/mean"),
    ("write_p99_ns", "/latency_ns/write/p99"),
    ("reads", "/flash_ops/reads/total"),
    ("programs", "/flash_ops/programs/total"),
    ("erases", "/flash_ops/erases/total"),
    ("rebuilds", "/flash_ops/programs/rebuild"),
    ("lost_pages", "/losses/host_pages"),
];

#[test]
fn results_are_those_of_every_build() {
    check_file("determinism::", "tests/golden/trace.csv", &trace());
    let (mut table, mut fresh) = (format!("case,{},sha256\n", FIGURES.map(|(column, _)| column).join(",")), Archive::new());
    for case in goldens() {
        let has_window = find(&case.config().scheme.name).is_some_and(|entry| entry.has_window);
        let finished = replay(case.config(), false);
        // Of a scheme that makes redundancy up later verification says what a failure would take; where blocks fail, there may be no space for a request.
        let is_expected = match finished.status {
            Status::Done | Status::Unserved => true,
            Status::Violation => has_window,
            Status::Interrupted => false,
        };
        assert!(is_expected, "{}: {:?}", case.name, finished.status);
        let result = without_settings(&finished.json());
        table += &line(&case.name, &result);
        let settings: Map<_, _> = case.pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect();
        let is_new = fresh.insert(case.name.clone(), (settings, result)).is_none();
        assert!(is_new, "{}: each has a name of its own", case.name);
    }
    if is_blessing() {
        archive::write(&golden(ARCHIVE), &fresh);
    }
    let kept = archive::read(&golden(ARCHIVE));
    let changed = archive::differences(&kept, &fresh);
    assert!(changed.is_empty(), "results differ from those kept (make bless WHAT=determinism:: writes them):\n{changed}");
    check_file("determinism::", "tests/golden/results.csv", &table);
}

const ARCHIVE: &str = "results.jsonl.gz";

/// The goldens are a net only if much happens in them.
#[test]
fn every_scheme_fails_and_is_rebuilt_in_goldens() {
    let (goldens, mut mappings) = (goldens(), BTreeSet::new());
    for entry in SCHEMES {
        let is_failing = |case: &&Golden| case.name.starts_with(&format!("{}-", entry.name)) && case.name.ends_with("failing");
        let failing: Vec<_> = goldens.iter().filter(is_failing).collect();
        // Spare SSDs need page mapping.
        let mappings_tried = if entry.replaces_devices { 1 } else { 2 };
        assert_eq!(failing.len(), mappings_tried, "{}: on page mapping, and on another", entry.name);
        for case in failing {
            let result = object(&replay(case.config(), false).json());
            let done = |cause: &str| result["flash_ops"]["programs"][cause].as_u64().unwrap();
            assert!(done("gc") > 0, "{}: no page was moved", case.name);
            assert_eq!(done("rebuild") > 0, entry.redundancy != flashraid_redundancy::Redundancy::None, "{}: the rebuild", case.name);
            mappings.insert(result["config"]["device"]["mapping"].to_string());
        }
    }
    assert_eq!(mappings.len(), 4, "{mappings:?}");
}

#[test]
fn equal_runs_give_equal_results() {
    let first = replay(verified("raid5", &[]), false).json();
    assert_eq!(first, replay(verified("raid5", &[]), false).json());
    // What the machine needed comes last and is the only addition.
    let mut with_cost = object(&replay(verified("raid5", &[]), true).json());
    assert!(with_cost.remove("engine").is_some());
    assert_eq!(text(&with_cost), first);
}

#[test]
fn a_result_can_be_run_again_from_its_own_configuration() {
    let path = own_folder().join("again.json");
    for case in some_of(goldens(), 2, 4) {
        let first = replay(case.config(), false).json();
        std::fs::write(&path, &first).unwrap();
        let again = replay(Config::assemble(None, None, Some(&path), &[]).unwrap(), false).json();
        assert_eq!(again, first, "{}", case.name);
    }
}

/// Prepared for other faults, another speed and another seed, which change nothing before the first request.
#[test]
fn runs_on_a_prepared_device_are_those_that_prepare_one() {
    for (number, case) in some_of(goldens().into_iter().enumerate(), 1, 5) {
        let mut config = case.config();
        let is_random = number % 2 == 1;
        if is_random {
            config.run.precondition = "random:0.3".into();
        }
        let mut other = config.clone();
        (other.run.fail, other.run.replace, other.run.speed, other.run.limit) = (Vec::new(), Vec::new(), 3.0, 7);
        if !is_random {
            other.run.seed += 1;
        }
        assert_eq!(preparation(&other), preparation(&config), "{}", case.name);
        let device = Prepared::new(other, &mut |_| true).unwrap();
        let expected = replay(config.clone(), false).json();
        for _ in 0..2 {
            let found = run_on(&device, &golden("trace.csv"), config.clone(), &Outputs::default(), false, &mut |_| true).unwrap();
            assert!(found.json() == expected, "{}", case.name);
        }
    }
}

/// A fill is the same whatever a scheme does with requests; a precondition need not be.
#[test]
fn runtime_parameters_share_a_prepared_device() {
    for (row, entry) in SCHEMES.iter().enumerate() {
        let plain = verified(entry.name, &[]);
        let device = Prepared::new(plain.clone(), &mut |_| true).unwrap();
        let values = entry.parameters().filter(|parameter| parameter.runtime).map(|parameter| (parameter.name, parameter.drawn(4096)));
        let pairs: Vec<_> = values.flat_map(|(name, values)| values.into_iter().map(move |value| (name, value))).collect();
        for (name, value) in some_of(pairs, row, 5) {
            let config = verified(entry.name, &[(name, &value)]);
            assert_eq!(preparation(&config), preparation(&plain), "{name} = {value}");
            let found = run_on(&device, &golden("trace.csv"), config.clone(), &Outputs::default(), false, &mut |_| true).unwrap();
            assert!(found.json() == replay(config, false).json(), "{}: {name} = {value}", entry.name);
        }
    }
    let overwritten = |update| verified("raid5", &[("precondition", "random:0.5"), ("update", update)]);
    assert_ne!(preparation(&overwritten("rmw")), preparation(&overwritten("rcw")));
}

#[test]
fn a_device_prepared_in_another_way_is_refused() {
    let filled = verified("raid5", &[("fill", "0.5"), ("precondition", "random:0.5")]);
    let device = Prepared::new(filled.clone(), &mut |_| true).unwrap();
    let on_it = |config: &Config| run_on(&device, &golden("trace.csv"), config.clone(), &Outputs::default(), false, &mut |_| true);
    assert!(on_it(&filled).is_ok());
    let pairs = [("fill", "0.6"), ("seed", "2"), ("precondition", "none"), ("verify", "false"), ("read_ns", "1"), ("rebuild", "none")];
    for (key, value) in pairs {
        let all = [("fill", "0.5"), ("precondition", "random:0.5"), (key, value)];
        let other = verified("raid5", &all);
        assert_ne!(preparation(&other), preparation(&filled), "{key}");
        assert!(on_it(&other).unwrap_err().to_string().contains("prepared in another way"), "{key}");
    }
    assert_eq!(preparation(&verified("raid5", &[("fill", "0")])), None, "an erased device is none that was prepared");
}

#[test]
fn a_clone_goes_on_as_the_original_does() {
    let buffers = [("buffer_bytes", "0"), ("buffer_bytes", "65536"), ("nvram_buffer_bytes", "65536")];
    for (row, entry) in SCHEMES.iter().enumerate() {
        for (column, buffer) in buffers.into_iter().enumerate() {
            // Each buffer with contents and without, over the schemes.
            let verify = ["true", "false"][(row + column) % 2];
            let pairs = crate::support::merged(entry.name, &[("scheme.name", entry.name), ("verify", verify), buffer]);
            let Some(config) = accepted(&pairs) else { continue };
            let mut original = Simulation::new(config, |_| true).unwrap();
            let (space, requests) = (original.space_bytes(), requests(400));
            let fitting = |request: &&HostRequest| request.offset_bytes + request.size_bytes <= space;
            let (first, second) = requests.split_at(200);
            let submit = |simulation: &mut Simulation, requests: &[HostRequest]| {
                requests.iter().filter(fitting).for_each(|request| {
                    simulation.submit(request).unwrap();
                });
            };
            submit(&mut original, first);
            assert!(original.outstanding() > 0, "it is cloned with requests in flight");
            let mut clone = original.clone();
            let end = |simulation: &mut Simulation| {
                submit(simulation, second);
                simulation.finish().unwrap();
                simulation.verify();
                (simulation.take_completed(), text(&simulation.result(&Source::default(), false, None).unwrap()))
            };
            // One after the other: nothing is shared between them.
            let expected = end(&mut original);
            assert!(end(&mut clone) == expected, "{}, {pairs:?}", entry.name);
        }
    }
}

/// Also while parts fail and members are rebuilt: what a page holds decides what a test says of it, never what becomes of it.
#[test]
fn contents_change_no_times() {
    for case in goldens() {
        let completed = |verify| {
            let mut config = case.config();
            config.run.verify = verify;
            let mut simulation = Simulation::new(config, |_| true).unwrap();
            let space = simulation.space_bytes();
            for request in requests(600).iter().filter(|request| request.offset_bytes + request.size_bytes <= space) {
                simulation.submit(request).unwrap();
            }
            simulation.finish().unwrap();
            simulation.take_completed()
        };
        assert_eq!(completed(true), completed(false), "{}", case.name);
    }
}
