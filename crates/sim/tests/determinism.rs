//! Same input, same output, bit for bit: in two runs, in a clone, with contents and without, in debug and in release.
//!
//! `tests/golden` at the top of the repository holds a trace and its results. Here they are compared by a build with debug assertions;
//! the Python tests compare the same files by a release build. `FLASHRAID_BLESS=1` writes them anew.

mod support;

use flashraid_redundancy::{SCHEMES, find};
use flashraid_sim::{Config, Outputs, Simulation, Source, run, text};
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::SplitMix64;
use std::path::{Path, PathBuf};
use support::{SCENARIOS, scenario};

/// A small drive at work, verified.
fn verified(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    support::small(scheme, &[&[("verify", "true")], pairs].concat())
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn write_trace(path: &Path) {
    let mut lines = String::from("ts_us,op,offset,size,flags,latency_us\n");
    for request in requests(600) {
        let op = match request.op {
            HostOp::Read => 'R',
            HostOp::Write => 'W',
            HostOp::Trim => 'D',
            HostOp::WriteZeroes => 'Z',
            HostOp::Flush => 'F',
        };
        lines += &format!("{},{op},{},{},,\n", request.arrival_ns / 1000, request.offset_bytes, request.size_bytes);
    }
    std::fs::write(path, lines).unwrap();
}

fn replay(scheme: &str) -> String {
    let finished = run(&golden("trace.csv"), verified(scheme, &[]), &Outputs::default(), false, &mut |_| true).unwrap();
    assert_eq!(finished.status, 0);
    finished.json
}

/// Every scheme as it is, and schemes in what scenarios make of them.
fn goldens() -> Vec<(String, Config)> {
    let buffered = [("buffer_bytes", "131072"), ("unwritten", "prefill"), ("drain", "true")];
    let dftl = [("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")];
    let former = [("sirf1-buffer".into(), verified("sirf1", &buffered)), ("raid5-dftl".into(), verified("raid5", &dftl))];
    let others = SCENARIOS.iter().filter(|(name, ..)| !["plain", "dftl"].contains(name)); // they are there
    let in_scenarios = others.map(|(name, scheme, pairs)| {
        let config = scenario(scheme, pairs, &[("verify", "true")]).unwrap_or_else(|| panic!("{scheme} takes {name}"));
        (format!("{name}-{scheme}"), config)
    });
    let plain = SCHEMES.iter().map(|entry| (entry.name.into(), verified(entry.name, &[])));
    plain.chain(former).chain(in_scenarios).collect()
}

#[test]
fn results_are_those_of_every_build() {
    let is_blessing = std::env::var_os("FLASHRAID_BLESS").is_some();
    if is_blessing {
        write_trace(&golden("trace.csv"));
    }
    for (name, config) in goldens() {
        let has_window = find(&config.scheme.name).is_some_and(|entry| entry.has_window);
        let finished = run(&golden("trace.csv"), config, &Outputs::default(), false, &mut |_| true).unwrap();
        // Of a scheme that makes redundancy up later verification says what a failure would take; where blocks fail, there may be no space for a request.
        assert!(matches!(finished.status, 0 | 3) || (finished.status == 1 && has_window), "{name}: {}", finished.status);
        let (json, path) = (finished.json, golden(&format!("{name}.json")));
        if is_blessing {
            std::fs::write(&path, &json).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert!(json == expected, "{name}: the result differs from {}; FLASHRAID_BLESS=1 writes it anew", path.display());
    }
}

#[test]
fn equal_runs_give_equal_results() {
    assert_eq!(replay("raid5"), replay("raid5"));
    // What the machine needed comes last and is the only addition.
    let with_cost = run(&golden("trace.csv"), verified("raid5", &[]), &Outputs::default(), true, &mut |_| true).unwrap().json;
    let mut with_cost: serde_json::Value = serde_json::from_str(&with_cost).unwrap();
    assert!(with_cost.as_object_mut().unwrap().remove("engine").is_some());
    assert_eq!(text(&with_cost), replay("raid5"));
}

#[test]
fn a_result_can_be_run_again_from_its_own_configuration() {
    let path = golden("raid5.json");
    let config = Config::assemble(None, None, Some(&path), &[]).unwrap();
    let again = run(&golden("trace.csv"), config, &Outputs::default(), false, &mut |_| true).unwrap().json;
    assert_eq!(again, std::fs::read_to_string(&path).unwrap());
}

#[test]
fn a_clone_goes_on_as_the_original_does() {
    let cases = [
        ("raid0", "false", "buffer_bytes", "0"),
        ("raid1", "true", "buffer_bytes", "0"),
        ("sirf1", "true", "buffer_bytes", "65536"),
        ("raid5", "false", "buffer_bytes", "65536"),
        ("raid5", "true", "buffer_bytes", "0"),
        ("raid5", "true", "nvram_buffer_bytes", "65536"),
    ];
    for (scheme, verify, key, buffer) in cases {
        let pairs = [("verify", verify), (key, buffer)];
        let mut original = Simulation::new(verified(scheme, &pairs), |_| true).unwrap();
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
        assert!(end(&mut clone) == expected, "{scheme}, verify = {verify}, {key} = {buffer}");
    }
}

#[test]
fn contents_change_no_times() {
    for scheme in ["raid0", "raid1", "raid4", "raid5", "sirf1", "cr5m"] {
        let completed = |verify| {
            let mut simulation = Simulation::new(verified(scheme, &[("verify", verify)]), |_| true).unwrap();
            let space = simulation.space_bytes();
            for request in requests(600).iter().filter(|request| request.offset_bytes + request.size_bytes <= space) {
                simulation.submit(request).unwrap();
            }
            simulation.finish().unwrap();
            simulation.take_completed()
        };
        assert_eq!(completed("true"), completed("false"), "{scheme}");
    }
}
