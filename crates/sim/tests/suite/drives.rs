//! Drives in files: what a run leaves is what the next one begins with, whatever the drive is.

use crate::support::committed::{in_repository, is_blessing};
use crate::support::{Golden, accepted, goldens, merged, own_folder, own_trace, some_of};
use flashraid_redundancy::SCHEMES;
use flashraid_sim::{Asked, Config, Finished, Outputs, Prepared, Simulation, Source, Status, run, run_on, text};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of this test alone, which is not there yet.
fn file(name: &str) -> PathBuf {
    let path = own_folder().join(name);
    let _ = fs::remove_file(&path);
    path
}

fn trace() -> PathBuf {
    in_repository("tests/golden/trace.csv")
}

fn replay(config: Config) -> Finished {
    run(&trace(), config, &Outputs::default(), false, &mut |_| true).unwrap()
}

/// A run that saves its drive.
fn replay_and_save(config: Config, drive: &Path) -> Finished {
    let outputs = Outputs { save_drive: Some(drive.into()), ..Outputs::default() };
    let finished = run(&trace(), config, &outputs, false, &mut |_| true).unwrap();
    assert!(drive.exists(), "{:?}", finished.warnings);
    finished
}

/// The configuration of a run that begins with a drive, and has what settings it may have of its own.
fn on(drive: &Path, pairs: &[(&str, &str)]) -> Config {
    asked_on(drive, pairs).unwrap().config
}

fn asked_on(drive: &Path, pairs: &[(&str, &str)]) -> Result<Asked, flashraid_sim::ConfigError> {
    let drive = drive.to_str().unwrap();
    let pairs: Vec<_> = [("drive", drive)].iter().chain(pairs).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Asked::gather(None, None, None, &pairs)
}

/// Settings of a golden case that concern its requests alone.
fn of_requests(case: &Golden) -> Vec<(&str, &str)> {
    let is_free = |key: &str| {
        matches!(key, "fail" | "replace" | "seed") || flashraid_sim::config::find_key(key).is_some_and(|key| key.effect.of_replays)
    };
    case.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).filter(|(key, _)| is_free(key)).collect()
}

/// A result without what says where the drive came from.
fn without_drive(json: &str) -> String {
    let mut result: Map<String, Value> = serde_json::from_str(json).unwrap();
    result["drive"] = Value::Null;
    result["config"]["run"]["drive"] = "".into();
    text(&result)
}

/// The first line in which two results differ.
fn difference(one: &str, other: &str) -> Option<(String, String)> {
    let lines = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    let lengths = (one != other).then(|| ("a part".into(), "more".into()));
    lines.map(|(one, other)| (one.into(), other.into())).or(lengths)
}

fn error_of(drive: &Path, pairs: &[(&str, &str)]) -> String {
    let config = match asked_on(drive, pairs) {
        Err(error) => return error.to_string(),
        Ok(asked) => asked.config,
    };
    Prepared::new(config, &mut |_| true).err().expect("it is refused").to_string()
}

/// Golden cases in whose course nothing fails.
fn healthy() -> impl Iterator<Item = Config> {
    let is_healthy = |case: &Golden| {
        let config = case.config();
        let wears = case.name.ends_with("-worn") || case.name.ends_with("-ldpc-ageing");
        config.run.fail.is_empty() && config.run.replace.is_empty() && !wears
    };
    goldens().into_iter().filter(is_healthy).map(|case| case.config())
}

// ---- all that a drive is is in its file ----

#[test]
fn a_drive_saved_before_its_first_run_is_the_one_that_was_prepared() {
    for (number, case) in some_of(goldens().into_iter().enumerate(), 0, 6) {
        let mut config = case.config();
        if number / 2 % 2 == 1 {
            config.run.precondition = "random:0.3".into();
        }
        let (drive, again) = (file("prepared"), file("prepared-again"));
        let device = Prepared::new(config.clone(), &mut |_| true).unwrap();
        device.save(&drive).unwrap();
        let loaded = on(&drive, &of_requests(&case));
        let found = replay(loaded.clone());
        assert!(found.result.drive.as_ref().is_some_and(|drive| drive.runs == 0), "{}", case.name);
        // Parities that the precondition has deferred are written when the drive is switched off: it is another one then.
        let has_deferred = found.result.guard.is_some() && config.run.precondition != "none";
        let differs = difference(&without_drive(&found.json()), &replay(config).json());
        assert!(has_deferred || differs.is_none(), "{}: {differs:?}", case.name);
        // A run with the result's own configuration, and with its file, is the same one.
        let result = file("prepared.json");
        fs::write(&result, found.json()).unwrap();
        assert!(replay(Config::assemble(None, None, Some(&result), &[]).unwrap()).json() == found.json(), "{}", case.name);
        let device = Prepared::new(loaded.clone(), &mut |_| true).unwrap();
        let on_it = run_on(&device, &trace(), loaded, &Outputs::default(), false, &mut |_| true).unwrap();
        assert!(on_it.json() == found.json(), "{}", case.name);
        device.save(&again).unwrap();
        assert!(fs::read(&drive).unwrap() == fs::read(&again).unwrap(), "{}", case.name);
    }
}

#[test]
fn a_drive_that_is_loaded_and_saved_is_the_same_file() {
    for config in some_of(healthy(), 0, 3) {
        let (first, second, third) = (file("same-1"), file("same-2"), file("same-3"));
        replay_and_save(config, &first);
        let simulation = Simulation::new(on(&first, &[]), |_| true).unwrap();
        simulation.save_drive(&second).unwrap();
        let what = &simulation.config().scheme.name;
        assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap(), "{what}");
        // It serves, and is another one then.
        let finished = replay_and_save(on(&first, &[("fit", "wrap")]), &third);
        let drive = finished.result.drive.unwrap();
        assert_eq!((drive.runs, drive.requests), (1, 600), "{what}");
        assert!(fs::read(&first).unwrap() != fs::read(&third).unwrap(), "{what}");
        let twice = replay(on(&third, &[("fit", "wrap")])).result.drive.unwrap();
        assert_eq!((twice.runs, twice.requests), (2, 1200), "{what}");
        assert!(twice.programmed_bytes > drive.programmed_bytes && twice.simulated_ns > drive.simulated_ns, "{what}");
    }
}

/// Requests of every kind, as many as come in about three times the erases of a small drive.
fn requests(count: u64, seed: u64, start_ns: u64, space: u64) -> Vec<HostRequest> {
    let mut random = SplitMix64::new(seed);
    let mut below = |end: u64| random.next_u64() % end;
    let mut arrival_ns = start_ns;
    (0..count)
        .map(|_| {
            arrival_ns += if below(3) == 0 { below(3_000_000) } else { 0 };
            let op = match below(24) {
                0 => HostOp::Flush,
                1 => HostOp::Trim,
                2 => HostOp::WriteZeroes,
                3..=9 => HostOp::Read,
                _ => HostOp::Write,
            };
            let size_bytes = 512 * (1 + below(40));
            let offset_bytes = below((space - size_bytes) / 512) * 512;
            let (offset_bytes, size_bytes) = if op == HostOp::Flush { (0, 0) } else { (offset_bytes, size_bytes) };
            HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }
        })
        .collect()
}

/// What becomes of requests that are submitted from now on: how long each takes, and what is reported of flash in the end.
fn course(simulation: &mut Simulation, seed: u64) -> (Vec<(u64, bool)>, Value) {
    let start_ns = simulation.now_ns();
    // Whatever waits for idle time has waited long enough.
    let first_ns = start_ns + 3_600_000_000_000;
    for (number, request) in (0..).zip(requests(400, seed, first_ns, simulation.space_bytes())) {
        simulation.submit(&HostRequest { stream: number % 4, ..request }).unwrap();
    }
    simulation.finish().unwrap();
    let completed = simulation.take_completed();
    let course = completed.iter().map(|request| (request.completed_ns - start_ns, request.ok)).collect();
    let result = simulation.result(&Source::default(), false, None).unwrap();
    let result: Value = serde_json::from_str(&text(&result)).unwrap();
    // What counts since the drive was new, as far as a result tells it.
    (course, Value::from_iter([("wear", result["wear"].clone()), ("capacity", result["capacity"].clone())]))
}

/// The most that can be asked of a file: nobody can tell a drive that was saved and loaded from one that was never switched off, however long they go on. All
/// that decides anything must be in it for that.
#[test]
fn a_loaded_drive_goes_on_as_one_that_was_never_switched_off() {
    let configurations: &[&[(&str, &str)]] = &[
        &[],
        &[("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")],
        &[("mapping", "bast"), ("log_blocks", "4"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")],
        &[("mapping", "fast"), ("log_blocks", "8"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")],
        &[("nvram_buffer_bytes", "65536"), ("partial_writes", "read_if_used")],
        &[("partial_writes", "read_if_needed"), ("unwritten", "prefill"), ("fill", "0.3")],
        &[("wear_leveling", "none"), ("planes_per_die", "2"), ("multi_plane", "true"), ("allocation", "static")],
        &[("gc_idle_threshold", "0.5"), ("idle_ns", "1000000"), ("wear_leveling", "dynamic")],
        &[
            ("ldpc", "geometric"),
            ("ldpc_reads", "50"),
            ("ldpc_retention_ns", "4000000000000"),
            ("ldpc_erases", "50"),
            ("ldpc_levels", "15"),
        ],
        &[("devices", "4"), ("spare_devices", "1"), ("channels", "2"), ("link_ps_per_byte", "1667"), ("pe_limit", "10000")],
        &[("allocation", "dynamic"), ("dies_per_chip", "2"), ("chips_per_channel", "4"), ("precondition", "random:0.5")],
        &[
            ("page_bytes", "16384"),
            ("mapping_unit_bytes", "4096"),
            ("pages_per_block", "4"),
            ("chips_per_channel", "2"),
            ("over_provisioning", "0.6"),
            ("gc_blocking_scope", "none"),
            ("superblock", "true"),
            ("precondition", "random:0.5"),
        ],
        &[
            ("page_bytes", "16384"),
            ("mapping_unit_bytes", "4096"),
            ("pages_per_block", "4"),
            ("planes_per_die", "1"),
            ("over_provisioning", "0.5"),
            ("gc_blocking_scope", "none"),
            ("write_streams", "3"),
            ("gc_streams", "own"),
        ],
        &[
            ("program_pages", "2"),
            ("pages_per_block", "8"),
            ("planes_per_die", "1"),
            ("over_provisioning", "0.5"),
            ("gc_blocking_scope", "none"),
            ("slc_static", "1"),
            ("slc_dynamic", "true"),
            ("slc_leave", "4"),
        ],
    ];
    let mut tried = 0;
    for (row, entry) in SCHEMES.iter().enumerate() {
        for (column, pairs) in some_of(configurations.iter().enumerate(), row, 3) {
            let verify = if (row + column) % 2 == 0 { "true" } else { "false" };
            let all = merged(entry.name, &[pairs, [("scheme.name", entry.name), ("verify", verify)].as_slice()].concat());
            let Some(config) = accepted(&all) else { continue };
            tried += 1;
            let mut original = Simulation::new(config, |_| true).unwrap();
            course(&mut original, 1);
            if entry.replaces_devices {
                original.replace(1).unwrap();
                course(&mut original, 3);
            }
            let (drive, again) = (file("going-on"), file("going-on-again"));
            original.save_drive(&drive).unwrap();
            original.save_drive(&again).unwrap();
            assert!(fs::read(&drive).unwrap() == fs::read(&again).unwrap(), "saving changes nothing");
            let mut loaded = Simulation::new(on(&drive, &[]), |_| true).unwrap();
            original.switch_off().unwrap();
            let (expected, found) = (course(&mut original, 2), course(&mut loaded, 2));
            let what = format!("{}, {pairs:?}", entry.name);
            let differs = expected.0.iter().zip(&found.0).position(|(one, other)| one != other);
            assert_eq!((differs, &found.1), (None, &expected.1), "{what}");
            if verify == "true" {
                let checked = text(&loaded.verify());
                assert_eq!(checked, text(&original.verify()), "{what}");
            }
        }
    }
    assert!(tried > 50, "{tried} drives were tried");
}

// ---- what a drive is for ----

/// A trace that writes pages and reads all of them, and one that only reads.
fn reads_everything(space_bytes: u64) -> PathBuf {
    let lines = (0..space_bytes / 4096).map(|page| format!("{},R,{},4096,,\n", page * 500, page * 4096));
    own_trace("reads", &lines.collect::<String>())
}

#[test]
fn what_one_run_wrote_the_next_one_reads() {
    for config in some_of(healthy(), 1, 2) {
        let drive = file("written");
        let what = config.scheme.name.clone();
        let first = replay_and_save(config, &drive);
        let loaded = on(&drive, &[]);
        let trace = reads_everything(Simulation::new(loaded.clone(), |_| true).unwrap().space_bytes());
        let found = run(&trace, loaded, &Outputs::default(), false, &mut |_| true).unwrap();
        let verify = found.result.verify.unwrap();
        assert!(verify.found.is_clean() && verify.found.reads_checked > 200, "{what}: {verify:?}");
        let wear = |finished: &Finished| serde_json::to_value(&finished.result).unwrap()["wear"]["erase_mean"].as_f64().unwrap();
        assert!(wear(&found) >= wear(&first), "{what}: erases are those since it was new");
    }
}

#[test]
fn erases_go_on_where_they_were() {
    let (first, second) = (file("worn-1"), file("worn-2"));
    let config = crate::support::small("raid5", &[("precondition", "random:1")]);
    let erases = |finished: &Finished| serde_json::to_value(&finished.result).unwrap()["wear"]["erase_mean"].as_f64().unwrap();
    let before = erases(&replay_and_save(config, &first));
    let after = erases(&replay_and_save(on(&first, &[("fit", "wrap")]), &second));
    assert!(before > 1.0 && after > before + 0.5, "{before} and {after}");
}

// ---- settings ----

#[test]
fn settings_that_made_the_drive_may_be_repeated_and_not_changed() {
    let drive = file("settings");
    let made = [("gc_threshold", "0.1"), ("precondition", "random:0.2"), ("scheme.name", "fpc"), ("parity_cache_bytes", "16384")];
    Prepared::new(crate::support::small("fpc", &made), &mut |_| true).unwrap().save(&drive).unwrap();
    let name = drive.display().to_string();
    let free = [("speed", "2"), ("queue_depth", "4"), ("fit", "wrap"), ("drain", "true"), ("fail", "chip:0.0@request:3")];
    assert!(asked_on(&drive, &free).is_ok());
    assert!(asked_on(&drive, &made).is_ok(), "the same as in the file");
    for (key, value, own) in [
        ("gc_threshold", "0.2", "0.1"),
        ("fill", "0.5", "0.9"),
        ("fill_bytes", "4096", "0"),
        ("precondition", "none", "random:0.2"),
        ("seed", "2", "1"),
        ("verify", "true", "false"),
        ("parity_cache_bytes", "32768", "16384"),
        ("partial_writes", "read_if_used", "read"),
        ("space_bytes", "1048576", "0"),
    ] {
        let expected = format!("{key} = {value}: the drive {name} has {own}: allowed is that, or none");
        assert_eq!(error_of(&drive, &[(key, value)]), expected);
    }
    let gather = |device, scheme: Option<&str>| {
        let drive = [("drive".into(), name.clone())];
        Config::assemble(device, scheme, None, &drive).map(|config| config.run.drive).map_err(|error| error.to_string())
    };
    assert!(gather(None, Some("fpc")).is_ok());
    assert_eq!(gather(None, Some("ppc")).unwrap_err(), format!("scheme = ppc: the drive {name} has fpc: allowed is that, or none"));
    let error = gather(Some("ssd1"), None).unwrap_err();
    assert!(error.contains(&format!(": the drive {name} has ")), "{error}");
    let sha256 = gather(None, None).unwrap().split_once('@').unwrap().1.to_string();
    let with = |digest: &str| format!("{name}@{digest}");
    assert!(asked_on(Path::new(&with(&sha256)), &[]).is_ok());
    assert!(asked_on(Path::new(&with(&sha256.to_uppercase())), &[]).is_ok());
    let other = "0".repeat(64);
    let expected = format!("{name}: its SHA-256 is {sha256}: allowed is the drive with {other}");
    assert_eq!(error_of(Path::new(&with(&other)), &[]), expected);
}

/// The seed decides nothing of a drive that no random numbers have made.
#[test]
fn the_seed_is_free_unless_it_made_the_drive() {
    let drive = file("seed");
    Prepared::new(crate::support::small("raid5", &[]), &mut |_| true).unwrap().save(&drive).unwrap();
    assert_eq!(on(&drive, &[("seed", "7")]).run.seed, 7);
}

// ---- files that are none, and drives that cannot be saved ----

#[test]
fn files_that_are_no_drives_are_refused_in_a_line() {
    let (drive, broken) = (file("whole"), file("broken"));
    Prepared::new(crate::support::small("raid5", &[("verify", "true")]), &mut |_| true).unwrap().save(&drive).unwrap();
    let whole = fs::read(&drive).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let name = broken.display().to_string();
    let refused = |bytes: &[u8]| {
        fs::write(&broken, bytes).unwrap();
        let error = error_of(&broken, &[]);
        assert!(!error.contains('\n'), "{error}");
        error.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{error}")).to_string()
    };
    let foreign = "it is no drive: allowed is a file that --save-drive has written";
    for bytes in [&b""[..], b"\n", b"ts_us,op\n1,R\n", b"{\"config\":{}}\n", &[0; 4096]] {
        assert_eq!(refused(bytes), foreign);
    }
    let damaged = "it is damaged: it is cut off, or was changed since it was written";
    for end in [20, header - 1, header, header + 20, whole.len() / 2, whole.len() - 33, whole.len() - 1] {
        assert_eq!(refused(&whole[..end]), damaged, "cut off at {end} of {}", whole.len());
    }
    let longer = [&whole[..], b"\n"].concat();
    assert_eq!(refused(&longer), damaged);
    for at in (header..whole.len()).step_by(whole.len() / 40) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert_eq!(refused(&changed), damaged, "changed at {at}");
    }
    let text = String::from_utf8(whole[..header].to_vec()).unwrap();
    let rewritten = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        [text.replace(from, to).as_bytes(), &whole[header..]].concat()
    };
    let start = format!("{{\"flashraid_drive\":{}", flashraid_sim::drive_format_of("raid5"));
    let newer = refused(&rewritten(&start, "{\"flashraid_drive\":77"));
    assert!(newer.starts_with("a newer flashraid, ") && newer.contains("in format 77"), "{newer}");
    let older = refused(&rewritten(&start, "{\"flashraid_drive\":0"));
    assert!(older.starts_with("an older flashraid, ") && older.ends_with("reads format 1 of drives with raid5"), "{older}");
    // A header that was changed makes another configuration, or none; its digest does not fit in either case.
    assert_eq!(refused(&rewritten("\"fill\":0.9", "\"fill\":0.8")), damaged);
    assert_eq!(refused(&rewritten("\"runs\":", "\"rans\":")), damaged);
    fs::remove_file(&broken).unwrap();
    assert_eq!(error_of(&broken, &[]), format!("{name}: cannot be read: No such file or directory"));
    assert!(error_of(&own_folder(), &[]).contains(": cannot be read: "));
}

#[test]
fn a_drive_of_which_something_fails_is_not_saved() {
    let drive = file("failing");
    let outputs = Outputs { save_drive: Some(drive.clone()), ..Outputs::default() };
    let failing = crate::support::small("raid5", &[("fail", "chip:0.0@request:3")]);
    let error = run(&trace(), failing, &outputs, false, &mut |_| true).unwrap_err();
    assert_eq!(error.to_string(), "save_drive: a drive of which something has failed cannot be saved: allowed without fail");
    assert!(error.is_input() && !drive.exists());
    // SSDs wear out in the course of the run: its result stands.
    let worn = [("devices", "4"), ("spare_devices", "1"), ("channels", "2"), ("pe_limit", "20"), ("ages", "0.5,0.97,0.2")];
    let finished = run(&trace(), crate::support::small("raid5", &worn), &outputs, false, &mut |_| true).unwrap();
    assert_eq!(finished.status, Status::Unserved);
    let warning = "the drive was not saved: an SSD is worn out";
    assert!(finished.warnings.iter().any(|text| text == warning) && !drive.exists(), "{:?}", finished.warnings);

    let mut simulation = Simulation::new(crate::support::small("raid5", &[]), |_| true).unwrap();
    simulation.submit(&crate::support::pages(HostOp::Write, 0, 1)).unwrap();
    let refused = |simulation: &Simulation| simulation.save_drive(&drive).unwrap_err().to_string();
    assert_eq!(refused(&simulation), "save_drive: requests or operations are in flight: nothing was saved");
    simulation.finish().unwrap();
    simulation.save_drive(&drive).unwrap();
    simulation.fail("chip:0.0").unwrap();
    simulation.finish().unwrap();
    assert_eq!(refused(&simulation), "save_drive: a part of an SSD has failed: nothing was saved");
}

/// Blocks that are out of use, and nothing lost.
#[test]
fn a_drive_with_bad_blocks_keeps_them() {
    let drive = file("bad-blocks");
    let config = crate::support::small("raid5", &[("verify", "true"), ("spare_chips", "1")]);
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    course(&mut simulation, 1);
    ["block:0.0.0.0.3", "block:1.0.0.0.5", "page:lpn=7"].into_iter().for_each(|fault| simulation.fail(fault).unwrap());
    simulation.finish().unwrap();
    course(&mut simulation, 2);
    simulation.save_drive(&drive).unwrap();
    let mut loaded = Simulation::new(on(&drive, &[]), |_| true).unwrap();
    simulation.switch_off().unwrap();
    assert_eq!(course(&mut loaded, 3).0, course(&mut simulation, 3).0);
    assert!(loaded.verify().unwrap().is_clean());
}

#[test]
fn a_run_that_is_stopped_writes_no_drive() {
    let drive = file("stopped");
    fs::write(&drive, "before").unwrap();
    let outputs = Outputs { save_drive: Some(drive.clone()), ..Outputs::default() };
    let config = crate::support::small("raid5", &[("precondition", "random:2")]);
    let finished = run(&trace(), config, &outputs, false, &mut |_| false).unwrap();
    assert_eq!(finished.status, Status::Interrupted);
    assert_eq!(fs::read_to_string(&drive).unwrap(), "before");
}

#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let outputs = Outputs { save_drive: Some("/dev/full".into()), ..Outputs::default() };
    let error = run(&trace(), crate::support::small("raid5", &[]), &outputs, false, &mut |_| true).unwrap_err();
    assert_eq!(error.to_string(), "save_drive cannot be written: No space left on device");
    assert!(error.is_input());
}

// ---- the format ----

/// Drives that were written in this format: what is kept of these parts has not changed since without another number of the format.
#[test]
fn drives_of_this_format_are_read() {
    for (name, scheme, pairs) in [
        ("ppc", "ppc", &[("mapping", "fast"), ("log_blocks", "8"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")][..]),
        ("cr5m", "cr5m", &[("ldpc", "uniform"), ("partial_writes", "read_if_used"), ("verify", "true")]),
        ("raid1", "raid1", &[("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")]),
        ("hotswap", "hotswap", &[("nvram_buffer_bytes", "65536"), ("replace", "device:0@request:50")]),
    ] {
        let path = in_repository("tests/golden/drives").join(format!("{name}-{}.drive", flashraid_sim::drive_format_of(scheme)));
        if is_blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let config =
                Config::assemble(Some("tiny"), None, None, &merged(scheme, &[pairs, &[("scheme.name", scheme)]].concat())).unwrap();
            replay_and_save(config, &path);
        }
        let again = file("format");
        let simulation = Simulation::new(on(&path, &[]), |_| true).unwrap();
        simulation.save_drive(&again).unwrap();
        let state = |path: &Path| {
            let bytes = fs::read(path).unwrap();
            let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            zstd::decode_all(&bytes[header..bytes.len() - 32]).unwrap()
        };
        let what = "what a drive keeps has changed: raise FORMAT of sim/src/drive or the scheme's drive_format, and write the files with make bless WHAT=drives::";
        assert!(state(&path) == state(&again), "{name}: {what}");
    }
}

/// What a scheme has come to keep of drives makes those of before useless, and none of other schemes.
#[test]
fn drives_of_before_their_scheme_changed_are_refused() {
    let path = in_repository("tests/golden/drives/hotswap-1.drive");
    let error = error_of(&path, &[]);
    assert!(error.contains("an older flashraid, 0.2.0, has written it in format 1") && !error.contains('\n'), "{error}");
    assert!(error.ends_with("reads format 2 of drives with hotswap"), "{error}");
}
