//! Every figure of a result is recomputed from the logs of its run by a script that knows nothing of the engine, for every scheme and in every
//! scenario; and deliberate faults of accounting are convicted by it.

use crate::support::{SCENARIOS, own_folder, proving, scenario};
use flashraid_ftl::accounting::{SLIPS, Slip, make};
use flashraid_redundancy::SCHEMES;
use flashraid_sim::{Config, Outputs, run};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two thirds of the trace.
const SHORTER: [(&str, &str); 1] = [("limit", "400")];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Replays the trace of the golden results, and leaves result and logs in a folder of their own. Returns the result, or what is wrong with it.
fn replay(config: Config, folder: &Path, has_timeline: bool) -> Result<String, String> {
    fs::create_dir_all(folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let mut pairs = vec![("latency_log", path("requests.csv")), ("operation_log", path("operations.csv"))];
    if has_timeline {
        pairs.extend([("timeline", path("timeline.json")), ("timeline_window", "..".into())]);
    }
    let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let outputs = Outputs::from_pairs(&pairs).unwrap();
    let finished = run(&repository().join("tests/golden/trace.csv"), config, &outputs, false, &mut |_| true);
    let json = finished.map_err(|error| error.to_string())?.json();
    fs::write(folder.join("result.json"), &json).unwrap();
    Ok(json)
}

/// What the script says about runs, by folder.
fn complaints(folders: &[PathBuf]) -> BTreeMap<PathBuf, Vec<String>> {
    let script = repository().join("tests/reference/recompute.py");
    assert!(!folders.is_empty());
    let done = Command::new("python3").arg(script).arg("--folders").args(folders).output().expect("python3");
    let (text, errors) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8_lossy(&done.stderr).into_owned());
    assert!(matches!(done.status.code(), Some(0 | 1)) && errors.is_empty(), "{errors}");
    let mut found: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let (folder, complaint) = line.split_once(": ").expect("a folder and a complaint");
        found.entry(folder.into()).or_default().push(complaint.into());
    }
    assert_eq!(found.is_empty(), done.status.success());
    found
}

/// Every scheme in every scenario that it takes is too much for every day: there it is the plain one, that of each
/// golden result, and every fiftieth of the others, in turn.
#[test]
fn every_figure_is_what_the_logs_say() {
    let (all, proves) = (own_folder(), proving(true, false));
    let (mut folders, mut met) = (Vec::new(), BTreeSet::new());
    for (row, scheme) in SCHEMES.iter().enumerate() {
        for (column, (name, golden, pairs)) in SCENARIOS.iter().enumerate() {
            if !proves && (column > 0 || !row.is_multiple_of(3)) && scheme.name != *golden && !(row + column).is_multiple_of(100) {
                continue;
            }
            let Some(config) = scenario(scheme.name, pairs, &SHORTER) else { continue };
            // Operations alone must do, but for what was under way when a warm-up ended, and for attempts of reads.
            let has_timeline = config.run.warmup != "0" || config.device.ldpc != "none" || (row + column).is_multiple_of(3);
            let folder = all.join(format!("{}-{name}", scheme.name));
            replay(config, &folder, has_timeline).unwrap_or_else(|error| panic!("{} {name}: {error}", scheme.name));
            folders.push(folder);
            met.insert(*name);
        }
    }
    let found = complaints(&folders);
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(met.len(), SCENARIOS.len(), "{met:?}");
    fs::remove_dir_all(all).unwrap();
}

/// Where a deliberate fault of accounting has something to distort: the scheme and the scenario.
fn place_of(slip: Slip) -> (&'static str, &'static str) {
    match slip {
        Slip::FailedProgramIdle | Slip::RepeatedRequestAnew | Slip::FailedEraseTwice => ("raid5", "repeated"),
        Slip::RebuildAsParity | Slip::RepairsTwice => ("raid5", "dor"),
        Slip::RebuildWithoutEnd => ("raid5", "gaps"),
        Slip::WarmupMeasured => ("raid1", "warmup"),
        Slip::DrainWithRun => ("raid4", "dram"),
        Slip::FailedBytes => ("raid0", "lost"),
        Slip::IdleHalved | Slip::BandwidthToEnd => ("raid5", "gaps"),
        Slip::WindowFromLastFailure => ("raid1", "second"),
        Slip::CommitWithoutReads => ("ppc", "data-in"),
        Slip::WearOfErasedOnly => ("cr5m", "plain"),
        Slip::WearAsGc => ("cr5m", "wear"),
        _ => ("raid5", "plain"),
    }
}

#[test]
fn deliberate_faults_of_accounting_are_convicted() {
    let all = own_folder();
    let mut honest: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let (mut folders, mut missed) = (Vec::new(), Vec::new());
    for slip in SLIPS {
        let (scheme, name) = place_of(slip);
        let pairs = SCENARIOS.iter().find(|scenario| scenario.0 == name).expect("a scenario").2;
        let config = scenario(scheme, pairs, &SHORTER).expect("a scenario of this scheme");
        let without = honest.entry((scheme, name)).or_insert_with(|| replay(config.clone(), &all.join("honest"), false).unwrap());
        let folder = all.join(format!("{slip:?}"));
        make(Some(slip));
        let with = replay(config, &folder, true);
        make(None);
        match with {
            Ok(with) => {
                if with == *without {
                    missed.push(format!("{slip:?} changes nothing in {scheme} {name}"));
                } else {
                    folders.push((slip, folder));
                }
            }
            Err(error) => println!("{slip:?}: the engine says {error}"),
        }
    }
    let paths: Vec<PathBuf> = folders.iter().map(|(_, folder)| folder.clone()).collect();
    let found = complaints(&paths);
    for (slip, folder) in folders {
        match found.get(&folder) {
            Some(complaints) => println!("{slip:?}: {}", complaints[0]),
            None => missed.push(format!("{slip:?} is not convicted")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    fs::remove_dir_all(all).unwrap();
}

/// A key that nobody recomputes, and that is not in the table of those that cannot be, is a complaint.
#[test]
fn a_key_that_is_new_is_noticed() {
    let folder = own_folder();
    let json = replay(scenario("raid5", &[], &[]).unwrap(), &folder, false).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&json).unwrap();
    result["capacity"]["surprise"] = 1.into();
    result["latency_ns"]["write"]["p99"] = serde_json::Value::Null;
    result["wear"].as_object_mut().unwrap().remove("erase_max");
    fs::write(folder.join("result.json"), result.to_string()).unwrap();
    let found = complaints(std::slice::from_ref(&folder));
    let text = found[&folder].join("; ");
    assert_eq!(found[&folder].len(), 3, "{text}");
    for expected in ["capacity/surprise is neither recomputed", "latency_ns/write/p99 is None", "the result does not have it"] {
        assert!(text.contains(expected), "{text}");
    }
    fs::remove_dir_all(folder).unwrap();
}
