//! Results and drives of older versions do what they did.
//!
//! `tests/golden/versions` has results of each version that was released, with the trace and the drive that they are of. They are run again by their own
//! configuration, which lacks every setting that is newer, and nothing that they say may be another thing then. They are written once, by the version
//! itself (`write_results_of_this_version`), and never again: what changes in them is a change for who repeats a run. A setting whose default is not what was done
//! without it says so in its table (`before`). What was a fault is mended all the same (`MENDED`).

use crate::support::committed::in_repository;
use crate::support::merged;
use flashraid_sim::{Config, Finished, Outputs, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

type Pairs = &'static [(&'static str, &'static str)];

/// What is kept of a version: settings over those of the goldens' drive. Each asks for what other defaults could change.
const CASES: [(&str, &str, Pairs); 16] = [
    ("plain", "raid5", &[("verify", "true")]),
    ("dram", "raid5", &[("buffer_bytes", "65536"), ("drain", "true")]),
    ("dram-mirrored", "sirf1", &[("buffer_bytes", "131072"), ("unwritten", "prefill"), ("write_completes", "data_in")]),
    ("dram-array", "raid4", &[("devices", "4"), ("buffer_bytes", "65536"), ("speed", "0.1")]),
    ("nvram", "no-pc", &[("nvram_buffer_bytes", "65536")]),
    ("nvram-largest", "ppc", &[("nvram_buffer_bytes", "131072"), ("nvram_victim", "largest_group"), ("queue_depth", "8")]),
    ("partial", "raid1", &[("buffer_bytes", "65536"), ("partial_writes", "read_if_needed"), ("precondition", "random:0.5")]),
    ("array", "raid5", &[("devices", "4"), ("spare_devices", "1"), ("fail", "device:1@request:180,device:0/chip:0.0@request:400")]),
    ("ageing", "diff-raid", &[("devices", "4"), ("spare_devices", "1"), ("pe_limit", "20"), ("ages", "0.5,0.97,0.2")]),
    ("replaced", "hotswap", &[("nvram_buffer_bytes", "65536"), ("replace", "device:0@request:150")]),
    ("levels", "fra", &[("ldpc", "geometric"), ("ldpc_reads", "40"), ("ldpc_retention_ns", "20000000"), ("stored_ns", "10000000")]),
    ("gc", "ppc", &[("gc_threshold", "0.3"), ("gc_idle_threshold", "0.4"), ("idle_ns", "100000"), ("gc_policy", "greedy")]),
    (
        "gc-reserve",
        "ca-ppc",
        &[
            ("gc_reserve_blocks", "3"),
            ("over_provisioning", "0.4"),
            ("gc_blocking_scope", "none"),
            ("copyback", "true"),
            ("jitter_ns", "2000000"),
        ],
    ),
    ("mirrored", "cr5m", &[("spare_chips", "1"), ("fail", "chip:1.0@request:180"), ("allocation", "dynamic")]),
    ("dftl", "fpc", &[("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")]),
    ("fast", "adaptive", &[("mapping", "fast"), ("log_blocks", "8"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")]),
];

/// Results that were wrong: what a later version has mended, as CHANGELOG.md says, they cannot repeat.
const MENDED: [(&str, &str); 2] = [("0.1.0", "ageing"), ("0.1.0", "replaced")];

/// The run that leaves the drive, and the one that begins with it.
const SAVES: &str = "dram";
const ON_DRIVE: &str = "on-drive";

fn folder(version: &str) -> PathBuf {
    in_repository("tests/golden/versions").join(version)
}

fn replay(version: &Path, config: Config, outputs: &Outputs) -> Finished {
    run(&version.join("trace.csv"), config, outputs, false, &mut |_| true).unwrap()
}

/// The settings that say where the drive of a result lies here.
fn found_here(version: &Path, result: &Value) -> Vec<(String, String)> {
    let drive = result["config"]["run"]["drive"].as_str().unwrap();
    let pair = (!drive.is_empty()).then(|| ("drive".into(), version.join(drive).display().to_string()));
    pair.into_iter().collect()
}

/// Whatever an old value says that a new one does not say too.
fn differences(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        _ if ["/version", "/config/run/drive"].contains(&at) => {}
        (Value::Object(old), Value::Object(_)) => {
            old.iter().for_each(|(key, value)| differences(value, &new[key], &format!("{at}/{key}"), found));
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter().zip(new).enumerate().for_each(|(index, (old, new))| differences(old, new, &format!("{at}/{index}"), found));
        }
        _ if old == new => {}
        _ => found.push(format!("{at}: {old} -> {new}")),
    }
}

#[test]
fn results_of_older_versions_repeat_exactly() {
    let mut results = 0;
    for version in fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().path()) {
        let files = fs::read_dir(&version).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let old: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let config = Config::assemble(None, None, Some(&file), &found_here(&version, &old)).unwrap();
            let new = replay(&version, config, &Outputs::default()).json();
            let mut found = Vec::new();
            differences(&old, &serde_json::from_str(&new).unwrap(), "", &mut found);
            let is_mended = MENDED.iter().any(|(of, name)| version.ends_with(of) && file.file_stem().is_some_and(|stem| stem == *name));
            assert_eq!(found.is_empty(), !is_mended, "{}: {}", file.display(), found.join("\n"));
            results += 1;
        }
    }
    assert!(results >= CASES.len());
}

/// A key that is there has the value that it has, and one that is not is what it was.
#[test]
fn the_configuration_of_an_old_result_is_complete() {
    let version = folder("0.1.0");
    for (name, ..) in CASES {
        let file = version.join(format!("{name}.json"));
        let text = fs::read_to_string(&file).unwrap();
        let config = Config::of_result("result", &text).unwrap();
        assert_eq!(config, Config::assemble(None, None, Some(&file), &[]).unwrap(), "{name}");
        let (old, mut found): (Value, _) = (serde_json::from_str(&text).unwrap(), Vec::new());
        differences(&old["config"], &serde_json::to_value(&config).unwrap(), "", &mut found);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

/// Not for changes: a version writes them when it is released.
#[test]
#[ignore = "writes the results that are kept of this version"]
fn write_results_of_this_version() {
    let version = folder(env!("CARGO_PKG_VERSION"));
    fs::create_dir(&version).expect("results of a version are written once");
    fs::copy(in_repository("tests/golden/trace.csv"), version.join("trace.csv")).unwrap();
    let drive = version.join("saved.drive");
    let write = |name: &str, finished: Finished| {
        let mut result: Value = serde_json::from_str(&finished.json()).unwrap();
        let name_of_drive = result["config"]["run"]["drive"].as_str().unwrap().rsplit('/').next().unwrap().to_string();
        result["config"]["run"]["drive"] = name_of_drive.into();
        fs::write(version.join(format!("{name}.json")), result.to_string() + "\n").unwrap();
    };
    for (name, scheme, pairs) in CASES {
        let pairs = merged(scheme, &[pairs, &[("scheme.name", scheme)]].concat());
        let config = Config::assemble(Some("tiny"), None, None, &pairs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let save_drive = (name == SAVES).then(|| drive.clone());
        write(name, replay(&version, config, &Outputs { save_drive, ..Outputs::default() }));
    }
    let on_drive = [("drive".to_string(), drive.display().to_string()), ("fit".into(), "wrap".into())];
    write(ON_DRIVE, replay(&version, Config::assemble(None, None, None, &on_drive).unwrap(), &Outputs::default()));
}
