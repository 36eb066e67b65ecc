//! Every setting says when it has effect (`config::Effect`). Here each is changed: where it says that it has none, the result is the same
//! byte for byte; where it says that it has, some run differs.

use crate::support::{array_of, own_folder, proving, some_of};
use flashraid_ftl::{GcPolicy, policies};
use flashraid_redundancy::{SCHEMES, Values};
use flashraid_sim::config::{Asked, Draw, Key, Kind, TABLES};
use flashraid_sim::{Outputs, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

type Pairs = Vec<(String, String)>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pairs(text: &str) -> Pairs {
    text.split_whitespace().filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.into(), value.into())).collect()
}

/// A small drive at work: GC runs, wear leveling, pages never written, trims and flushes.
const SMALL: &str = "blocks_per_plane=14 pages_per_block=8 chips_per_channel=2 over_provisioning=0.35 fit=wrap limit=160";

/// Configurations of which each key meets some in which it says that it has effect, and, if it says so of any, some in which it has none.
const BASES: &[(&str, &str, &str)] = &[
    ("trace.csv", "raid5", "fill=0.9"),
    ("trace.csv", "raid5", "fill=0.9 queue_depth=4 buffer_bytes=65536 drain=true"),
    ("trace.csv", "raid5", "fill=0.9 buffer_bytes=65536 destage=when_full"),
    ("trace.csv", "raid5", "fill=0.9 fail=chip:1.0@30% wear_leveling=static wear_leveling_threshold=2 dies_per_chip=2"),
    ("trace.csv", "raid5", "fail=chip:1.0@30% rebuild=none allocation=static buffer_bytes_per_gib=16777216"),
    ("trace.csv", "raid5", "fill=0.8 mapping=dftl blocks_per_plane=20 over_provisioning=0.5 lun=chip precondition=random:0.3"),
    ("trace.csv", "raid5", "fill=0.8 mapping=bast log_blocks=4 blocks_per_plane=20 over_provisioning=0.5"),
    ("trace.csv", "raid5", "mapping=fast log_blocks=8 blocks_per_plane=20 over_provisioning=0.5 nvram_buffer_bytes=40960"),
    ("trace.csv", "raid0", "limit=20 allocation=dynamic planes_per_die=1 verify=true"),
    ("trace.csv", "raid0", "space_bytes=1MiB fill=1 planes_per_die=1"),
    ("trace.csv", "raid5", "fill=0.9 fail=chip:1.0@30% chips_per_channel=2 spare_chips=1"),
    ("trace.csv", "raid1", "fill=0.9 fail=chip:1.0@30% verify=true"),
    ("trace.csv", "sirf1", "fill=0.9 fail=chip:1.0@30%"),
    ("trace.csv", "sirf1", "fill=0.9 groups=1"),
    ("trace.csv", "cr5m", "chips_per_channel=3 fill=0.9"),
    ("trace.csv", "cr5m", "chips_per_channel=3 fill=0.9 mw_limit=0"),
    ("trace.csv", "no-pc", "fill=0.9 nvram_buffer_bytes=40960"),
    ("trace.csv", "fpc", "fill=0.9 parity_cache_bytes=16384 update=rcw"),
    ("trace.csv", "fpc", "fill=0.9 parity_cache_bytes=16384 update=rmw"),
    ("trace.csv", "ppc", "fill=0.9 parity_cache_bytes=16384 drain=true"),
    ("trace.csv", "ca-ppc", "fill=0.9 parity_cache_bytes=32768"),
    ("trace.csv", "ppc", "fill=0.9 parity_cache_bytes=16384 evicts_locked=yes"),
    ("trace.csv", "ppc", "fill=0.8 mapping=bast log_blocks=4 blocks_per_plane=20 over_provisioning=0.5"),
    ("trace.csv", "fra", "fill=0.9"),
    ("trace.csv", "ppc", "parity_cache_bytes=16384"),
    ("trace.csv", "ppc", "limit=3"),
    ("trace.csv", "raid5", "chips_per_channel=1 planes_per_die=2"),
    ("trace.csv", "raid5", "fill=0.9 update=adaptive xor_ns=19us"),
    ("trace.csv", "bpu", "fill=0.9 speed=50 bpu_theta_load=0 bpu_d1=2 bpu_d2=4 bpu_theta_1=1 bpu_theta_2=6 channels=6"),
    ("trace.csv", "raid5", "fill=0.9 devices=4 spare_devices=1 fail=device:1@30%"),
    ("trace.csv", "raid5", "fill=0.9 devices=4 channels=2"),
    ("trace.csv", "raid5", "fill=0.9 devices=4 channels=1 pe_limit=3"),
    ("trace.csv", "raid5", "fill=0.9 gc_idle_threshold=0.3"),
    ("trace.csv", "raid5", "fill=0.9 jitter_ns=900000"),
    ("trace.csv", "raid5", "fill=0.5 precondition=steady"),
    ("trace.csv", "raid0", "fill=0.9 fail=chip:1.0@30%"),
    ("trace.csv", "hotswap", "fill=0.9 pe_limit=3 ages=0.8,0.5"),
    ("trace.csv", "hotswap", "fill=0.9 parity_shares=25,25,25,25 queue_depth=2 replace=device:0@1%"),
    ("trace.csv", "hotswap", "fill=0.9 redistribute=false replace=device:0@1%"),
    ("trace.csv", "hotswap", "fill=0.9 speed=0.05 gc_idle_threshold=0.5 replace=device:0@10%,device:1@50% semi_hybrid=true"),
    ("trace.csv", "online-rebuild", "fill=0.9 replace=device:0@10%"),
    ("trace.csv", "offline-diff-raid", "fill=0.9 replace=device:0@10%"),
    ("trace.csv", "raid5", "fill=0.9 ldpc=geometric ldpc_erases=4 erases_before=3"),
    ("trace.csv", "raid5", "fill=0.9 ldpc=fixed:1 ldpc_levels=3 ldpc_retention_ns=20ms"),
    ("trace.csv", "raid5", "fill=0.9 page_bytes=16384 mapping_unit_bytes=4096"),
    ("trace.csv", "raid5", "fill=0.9 page_bytes=16384 mapping_unit_bytes=4096 gc_blocking_scope=none"),
    (
        "trace.csv",
        "raid1",
        "fill=0.9 page_bytes=16384 mapping_unit_bytes=4096 gc_blocking_scope=none planes_per_die=1 chips_per_channel=1 dies_per_chip=1 over_provisioning=0.4",
    ),
    (
        "trace.csv",
        "raid0",
        "fill=0.9 page_bytes=16384 mapping_unit_bytes=2048 program_pages=2 speed=100000 planes_per_die=1 chips_per_channel=1 channels=1 over_provisioning=0.5",
    ),
    ("trace.csv", "raid5", "fill=0.9 suspend=both suspend_min_ns=0 speed=20 update=rmw channels=3 chips_per_channel=1 dies_per_chip=1"),
    ("trace.csv", "raid5", "fill=0.9 speed=20 device_queue_depth=1 queues=2 fetch=2"),
    ("trace.csv", "raid5", "fill=0.9 speed=20 gc_blocking_scope=none gc_threshold=0.2"),
    ("trace.csv", "raid5", "gc_blocking_scope=none"),
    (
        "streams.csv",
        "raid0",
        "fill=0.9 page_bytes=16384 mapping_unit_bytes=4096 gc_blocking_scope=none write_streams=3 chips_per_channel=1 planes_per_die=1 dies_per_chip=1 over_provisioning=0.5 gc_threshold=0.3 limit=600",
    ),
    (
        "trace.csv",
        "raid0",
        "fill=0.5 page_bytes=16384 mapping_unit_bytes=4096 gc_blocking_scope=none program_pages=2 slc_dynamic=true slc_leave=3 chips_per_channel=1 planes_per_die=1 dies_per_chip=1 channels=1 over_provisioning=0.5 speed=1000 limit=600",
    ),
    ("example.blktrace.txt", "raid0", ""),
    ("example.lcs", "raid0", "op=write object_bytes=512"),
    ("example.oracleGeneral.bin", "raid0", "op=write object_bytes=512"),
    ("example.columns.txt", "raid0", "columns=time:s,pid,comm,op,sector,sectors"),
    ("example.msr.csv", "raid0", ""),
    ("example.msr.csv", "raid0", "space_bytes=512KiB fill=1"),
    ("broken.csv", "raid0", "on_error=skip"),
    ("broken.csv", "raid0", "on_error=skip page_bytes=2KiB"),
];

/// Values to try of a key: where nothing special is wanted, its words, or what torture draws of it.
fn values(key: &Key) -> Vec<String> {
    let texts: &[&str] = match key.name {
        "name" => &["other"],
        "channels" => &["4", "6"],
        "mirror_chips" | "spare_chips" => &["0", "1"],
        "chips_per_channel" => &["2", "3"],
        "dies_per_chip" | "planes_per_die" => &["1", "2"],
        "blocks_per_plane" => &["20", "24"],
        "pages_per_block" => &["8", "16"],
        "page_bytes" => &["2KiB", "4KiB"],
        "read_ns" | "program_ns" | "erase_ns" | "read_command_ns" | "program_command_ns" | "erase_command_ns" => &["150us"],
        "bus_ps_per_byte" => &["10000"],
        "upper_read_ns" => &["70us", "40us,90us"],
        "upper_program_ns" => &["600us"],
        "ldpc" => &["none", "geometric", "fixed:1"],
        "ldpc_levels" => &["2", "6"],
        "ldpc_erases" => &["0", "2", "1000"],
        "ldpc_retention_ns" => &["0", "5ms"],
        "ldpc_reads" => &["0", "10"],
        "erases_before" => &["0", "7"],
        "stored_ns" => &["0", "30ms"],
        "static_order" => &["PDW", "DPW"],
        "cmt_entries" => &["16"],
        "log_blocks" => &["4", "8"],
        "over_provisioning" => &["0.4", "0.55"],
        "gc_threshold" => &["0.02", "0.4"],
        "gc_idle_threshold" => &["0", "0.5"],
        "gc_idle_gain" => &["0", "0.9"],
        "idle_ns" => &["1", "10ms"],
        "gc_reserve_blocks" => &["2", "3"],
        "wear_leveling_threshold" => &["1", "7"],
        "buffer_bytes_per_gib" => &["0", "32MiB"],
        "buffer_bytes" => &["0", "32KiB"],
        "nvram_buffer_bytes" => &["0", "32KiB"],
        "buffer_ns" => &["7777"],
        "destage_high_water" => &["0.3", "1"],
        "destage_low_water" => &["0", "0.4"],
        "destage_bytes_per_second" => &["400kB", "1GB"],
        "rebuild" => &["none", "sor", "dor", "copy"],
        "rebuild_window" => &["1", "9"],
        "format" => &["flashraid", "ssdsim"],
        "time_unit" => &["ms"],
        "device_filter" => &["2", "all", "0"],
        "on_error" => &["skip", "stop"],
        "op" => &["none", "read", "mix:0.5"],
        "action" => &["Q", "C"],
        "object_bytes" => &["512", "1024"],
        "mapping_unit_bytes" => &["512", "1024"],
        "staging_bytes" => &["64MiB"],
        "write_streams" => &["1", "3"],
        "slc_static" => &["0", "2"],
        "slc_leave" => &["1", "9"],
        "slc_read_ns" => &["0", "15us"],
        "slc_program_ns" => &["0", "40us"],
        "pad_after_ns" => &["0", "100000"],
        "suspend_min_ns" => &["0", "150000"],
        "suspend_ns" | "resume_ns" => &["0", "80000"],
        "suspend_limit" | "suspend_reads" => &["1", "8"],
        "slice" => &["2"],
        "active_dies" => &["1", "3"],
        "program_pages" => &["1", "2", "4"],
        "read_pages" => &["1", "2"],
        "sector_bytes" => &["4096", "520"],
        "columns" => &["none", "-,time:s,comm,op,sector,sectors"],
        "separator" => &["tab", "blank"],
        "limit" => &["100", "100000"],
        "speed" => &["3"],
        "jitter_ns" => &["500000"],
        "queue_depth" => &["0", "2"],
        "device_queue_depth" => &["1", "5"],
        "host_write_ps_per_byte" | "host_read_ps_per_byte" => &["0", "5000"],
        "command_ns" | "unit_ns" | "read_latency_ns" | "write_latency_ns" => &["0", "7000"],
        "queues" | "fetch" => &["1", "2", "3"],
        "space_bytes" => &["1MiB"],
        "fill" => &["0", "50%", "0.0000001"],
        "fill_bytes" => &["512KiB", "1"],
        "precondition" => &["none", "random:0.2"],
        "warmup" => &["50"],
        "verify_every" => &["40", "5000"],
        "pe_limit" => &["0", "2", "3", "500"],
        "ages" => &["0.4", "0,0.7"],
        "until" => &["end", "worn:1"],
        "chunk_units" => &["1", "3"],
        "devices" => &["4", "5"],
        "spare_devices" => &["0", "1"],
        "models" => &["", "1:read_ns=50us program_ns=1ms"],
        "link_ps_per_byte" => &["0", "1667"],
        "link_command_ns" => &["0", "500"],
        "fail" => &["die:0.0.0@50%"],
        "replace" => &["device:0@30%"],
        "seed" => &["9"],
        // `drives` tries it.
        "drive" => &[],
        "gc_policy" => {
            let value = |policy: &GcPolicy| if policy.most.is_some() { format!("{}:2", policy.name()) } else { policy.form.into() };
            return policies().map(value).collect();
        }
        _ => match (key.kind, key.draw) {
            (Kind::Word(words), _) => return words.iter().map(|(word, _)| word.to_string()).collect(),
            (Kind::Flag, _) => &["true", "false"],
            (_, Draw::OneOf(texts)) => texts,
            _ => panic!("{}: no values to try", key.name),
        },
    };
    texts.iter().map(|text| text.to_string()).collect()
}

/// The key as settings take it: the device and the scheme both have a name.
fn named(key: &Key) -> &'static str {
    if key.name == "name" { "device.name" } else { key.name }
}

/// The key without its table.
fn bare(key: &str) -> &str {
    key.rsplit('.').next().unwrap()
}

/// A run's result without what repeats settings, and the keys of which its warnings say that they had no effect.
fn outcome(trace: &Path, asked: Asked) -> (Value, BTreeSet<String>) {
    match run(trace, asked, &Outputs::default(), false, &mut |_| true) {
        Err(error) => (error.to_string().into(), BTreeSet::new()),
        Ok(finished) => {
            let mut result: Value = serde_json::from_str(&finished.json()).unwrap();
            ["config", "seed"].iter().for_each(|key| drop(result.as_object_mut().unwrap().shift_remove(*key)));
            let idle = finished.warnings.iter().filter(|text| text.contains("no effect"));
            (result, idle.map(|text| text.split(" = ").next().unwrap().to_string()).collect())
        }
    }
}

/// The result without the account of a drain, which is there whatever was drained.
fn without_drain(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(object) = result.as_object_mut() {
        object.shift_remove("drain");
        object["write_amplification_by"].as_object_mut().unwrap().shift_remove("drain");
    }
    result
}

fn asked(scheme: &str, settings: &[Pairs]) -> Result<Asked, String> {
    let array = array_of(scheme).iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let settings: Pairs = array.chain(settings.concat()).collect();
    Asked::gather(Some("tiny"), Some(scheme), None, &settings).map_err(|error| error.to_string())
}

/// Keys but for the scheme's name.
fn keys() -> impl Iterator<Item = &'static Key> {
    TABLES.iter().flat_map(|table| table.keys).filter(|key| (key.table, key.name) != ("scheme", "name"))
}

/// Each key, and each parameter of the scheme, with each value to try.
fn tries(scheme: &str) -> impl Iterator<Item = (&'static str, String)> {
    let entry = SCHEMES.iter().find(|entry| entry.name == scheme).unwrap();
    let parameters = entry.parameters().map(|parameter| {
        let drawn = || parameter.drawn(4096);
        let mut values = match parameter.values {
            Values::Words(words) => words.iter().map(|word| word.to_string()).collect(),
            Values::Whole { least, .. } => [vec![least.to_string()], drawn()].concat(),
            Values::Decimal { .. } | Values::Percentages { .. } => drawn(),
        };
        values.dedup();
        (parameter.name, values)
    });
    let of_keys = keys().map(|key| (named(key), values(key)));
    of_keys.chain(parameters).flat_map(|(key, values)| values.into_iter().map(move |value| (key, value)))
}

/// Of every scheme on every mapping that it allows, a drive full of work: what is said to have no effect there has none.
#[test]
fn what_has_no_effect_changes_nothing() {
    let trace = root().join("tests/golden/trace.csv");
    let (mut tried, mut wrong) = (0, Vec::new());
    for entry in some_of(SCHEMES, 0, 8) {
        let scheme = entry.name;
        for mapping in [
            "mapping=page fill=0.9",
            "mapping=dftl fill=0.8 cmt_entries=20 blocks_per_plane=20 over_provisioning=0.5",
            "mapping=bast fill=0.8 log_blocks=4 blocks_per_plane=20 over_provisioning=0.5",
            "mapping=fast fill=0.8 log_blocks=8 blocks_per_plane=20 over_provisioning=0.5",
        ] {
            let base = [pairs(SMALL), pairs(mapping)];
            let Ok(unchanged) = asked(scheme, &base) else { continue };
            let (expected, _) = outcome(&trace, unchanged);
            for (key, value) in tries(scheme) {
                let changed = [base[0].clone(), base[1].clone(), vec![(key.into(), value.clone())]];
                let Ok(asked) = asked(scheme, &changed) else { continue };
                if base.concat().iter().any(|(other, _)| other == key) || !asked.idle().any(|idle| bare(key) == idle.key) {
                    continue;
                }
                tried += 1;
                if without_drain(&outcome(&trace, asked).0) != without_drain(&expected) {
                    wrong.push(format!("{key} = {value} has an effect under {scheme}, {mapping}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > proving(400, 50), "{tried}");
}

/// What can affect any run, whatever the configuration and whatever happens: all else says when it has effect. (Of schemes that are not in
/// the list, `settings_have_effect_where_they_say` alone judges.)
#[test]
fn settings_that_always_have_effect() {
    let of_keys = keys().filter(|key| key.effect.needs.is_none() && key.effect.meets.is_none()).map(named);
    let of_schemes = SCHEMES.iter().flat_map(|entry| {
        let own = entry.parameters().filter(|parameter| parameter.needs.is_none() && !entry.is_of_bases(parameter));
        own.map(|parameter| (entry.name, parameter.name))
    });
    let geometry = [
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "blocks_per_plane",
        "pages_per_block",
        "page_bytes",
        "mapping_unit_bytes",
        "slc_static",
        "slc_dynamic",
    ];
    let timing = [
        "read_ns",
        "program_ns",
        "upper_read_ns",
        "upper_program_ns",
        "ldpc",
        "mirror_chips",
        "spare_chips",
        "bus_ps_per_byte",
        "read_command_ns",
        "program_command_ns",
    ];
    let flash = [
        "scheduling",
        "write_completes",
        "program_pages",
        "read_pages",
        "suspend",
        "slice",
        "active_dies",
        "gc_reserve_blocks",
        "over_provisioning",
        "pe_limit",
        "mapping",
        "buffer_bytes",
        "nvram_buffer_bytes",
    ];
    let host_side = ["host_write_ps_per_byte", "host_read_ps_per_byte", "command_ns", "unit_ns", "read_latency_ns", "write_latency_ns"];
    let run =
        ["format", "time_unit", "columns", "jitter_ns", "queue_depth", "drive", "space_bytes", "precondition", "warmup", "verify", "fail"];
    let expected = [&["device.name"][..], &geometry, &timing, &flash, &host_side, &["devices", "serial_subrequests"], &run].concat();
    assert_eq!(of_keys.collect::<Vec<_>>(), expected);
    let expected: [(&str, &[&str]); 9] = [
        ("raid4", &["update", "decide"]),
        ("raid5", &["layout", "update", "decide"]),
        ("sirf1", &["groups"]),
        ("cr5m", &["layout", "mw_limit", "update"]),
        ("no-pc", &["layout", "update", "decide"]),
        ("fpc", &["layout", "parity_cache_bytes", "evicts_locked", "update"]),
        ("ppc", &["layout", "parity_cache_bytes", "evicts_locked", "ppc_update", "early_release", "update"]),
        ("ca-ppc", &["layout", "parity_cache_bytes", "evicts_locked", "alpha", "spares_recent", "ppc_update", "early_release", "update"]),
        ("fra", &["layout"]),
    ];
    let of_listed = of_schemes.filter(|(scheme, _)| expected.iter().any(|(listed, _)| listed == scheme));
    let expected: Vec<_> = expected.iter().flat_map(|(scheme, own)| own.iter().map(move |name| (*scheme, *name))).collect();
    assert_eq!(of_listed.collect::<Vec<_>>(), expected);
}

#[test]
fn settings_have_effect_where_they_say() {
    let folder = own_folder();
    let broken = "ts_us,op,offset,size,flags,latency_us\n0,W,0,4096,,\n5,X,0,4096,,\n9,R,0,4096,,\n";
    std::fs::write(folder.join("broken.csv"), broken).unwrap();
    let trace = root().join("tests/golden/trace.csv");
    let with_stream = |(number, line): (usize, &str)| match number {
        0 => format!("{line},stream\n"),
        _ => format!("{line},{}\n", number % 3),
    };
    let streams: String = std::fs::read_to_string(&trace).unwrap().lines().enumerate().map(with_stream).collect();
    std::fs::write(folder.join("streams.csv"), streams).unwrap();
    let path = |name: &str| match name {
        "trace.csv" => trace.clone(),
        "broken.csv" | "streams.csv" => folder.join(name),
        _ => root().join("samples/formats").join(name),
    };
    let parameters = || SCHEMES.iter().flat_map(|entry| entry.parameters());
    let tried = keys().filter(|key| key.name != "drive");
    let all: BTreeSet<_> = tried.map(named).chain(parameters().map(|parameter| parameter.name)).collect();
    let conditional_keys = keys().filter(|key| key.effect.needs.is_some() || key.effect.meets.is_some()).map(named);
    let conditional_parameters =
        SCHEMES.iter().flat_map(|entry| entry.parameters().filter(|own| own.needs.is_some() || entry.is_of_bases(own)));
    let conditional_parameters = conditional_parameters.map(|parameter| parameter.name);
    let conditional: BTreeSet<_> = conditional_keys.chain(conditional_parameters).collect();
    let (mut differing, mut idle, mut wrong) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let of_others = SCHEMES.iter().filter(|entry| BASES.iter().all(|(_, scheme, _)| *scheme != entry.name));
    let of_others = of_others.map(|entry| ("trace.csv", entry.name, "fill=0.9"));
    for (row, (trace, scheme, more)) in BASES.iter().copied().chain(of_others).enumerate() {
        let base = [pairs(SMALL), pairs(more)];
        let (expected, _) = outcome(&path(trace), asked(scheme, &base).unwrap_or_else(|error| panic!("{scheme} {more}: {error}")));
        for (column, (key, value)) in tries(scheme).enumerate() {
            if differing.contains(key) && !conditional.contains(key) {
                continue; // there is nothing left to be shown
            }
            let changed = [base[0].clone(), base[1].clone(), vec![(key.into(), value.clone())]];
            let Ok(asked) = asked(scheme, &changed) else { continue };
            let name = bare(key);
            let lacks = asked.idle().any(|idle| idle.key == name);
            // What was seen without effect, and what was seen with and without, is tried everywhere else, or in every thousandth place.
            let is_known = idle.contains(key) && (lacks || differing.contains(key));
            if is_known && !proving(true, (row + column).is_multiple_of(1000)) {
                continue;
            }
            let (found, missed) = outcome(&path(trace), asked);
            if lacks || missed.contains(name) {
                // As if it had not been asked for.
                let without = base.clone().map(|pairs| pairs.into_iter().filter(|(other, _)| other != key).collect());
                let unasked =
                    if without == base { expected.clone() } else { outcome(&path(trace), self::asked(scheme, &without).unwrap()).0 };
                let is_so = without_drain(&found) == without_drain(&unasked);
                if !is_so {
                    wrong.push(format!("{key} = {value} has an effect under {scheme}, {more}"));
                }
                idle.insert(key);
            } else if found != expected {
                differing.insert(key);
            }
        }
    }
    for key in all {
        let is_conditional = conditional.contains(key);
        if !differing.contains(key) {
            wrong.push(format!("{key}: no run differs"));
        }
        if idle.contains(key) != is_conditional {
            wrong.push(format!("{key}: conditional: {is_conditional}, found without effect: {}", idle.contains(key)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
