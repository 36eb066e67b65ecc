//! Values of keys and parameters: limits, refusals, nearest names, units, faults, settings without effect.

use super::{Scratch, on, one_line, overrides, refusal, root};
use flashraid_redundancy::{SCHEMES, find};
use flashraid_sim::Config;
use flashraid_sim::config::{Asked, Injection, Kind, Precondition, TABLES, Target, Trigger, Warmup, same_value};
use flashraid_vocabulary::{DeviceFault, Fault, Part};
use std::collections::BTreeSet;

#[test]
fn faults_say_what_and_when() {
    let chip = Part::Chip { channel: 0, chip: 1 };
    let block = Part::Block { channel: 1, chip: 0, die: 0, plane: 1, block: 7 };
    let line = |and_next| Part::WordLine { channel: 1, chip: 0, die: 0, plane: 1, block: 7, line: 3, and_next };
    let cases = [
        ("wordline:1.0.0.1.7.3@1ms", Target::Fault(Fault::Loss(line(false)).into()), Trigger::Time(1_000_000)),
        ("wordline_pair:1.0.0.1.7.3@1ms", Target::Fault(Fault::Loss(line(true)).into()), Trigger::Time(1_000_000)),
        ("member:2@0s", Target::Fault(Fault::Loss(Part::Member(2)).into()), Trigger::Time(0)),
        ("channel:3@2.5s", Target::Fault(Fault::Loss(Part::Channel(3)).into()), Trigger::Time(2_500_000_000)),
        ("chip:0.1@100ms", Target::Fault(Fault::Loss(chip).into()), Trigger::Time(100_000_000)),
        ("die:0.1.0@7us", Target::Fault(Fault::Loss(Part::Die { channel: 0, chip: 1, die: 0 }).into()), Trigger::Time(7000)),
        ("plane:0.1.0.1@9ns", Target::Fault(Fault::Loss(Part::Plane { channel: 0, chip: 1, die: 0, plane: 1 }).into()), Trigger::Time(9)),
        ("block:1.0.0.1.7@request:12", Target::Fault(Fault::Loss(block).into()), Trigger::Request(12)),
        ("program:1.0.0.1.7@50%", Target::Fault(Fault::Program(block).into()), Trigger::Share(0.5)),
        ("erase:0.1@collection", Target::Fault(Fault::Erase(chip).into()), Trigger::Gc),
        ("program:3@commit", Target::Fault(Fault::Program(Part::Channel(3)).into()), Trigger::Commit),
        ("page:lpn=5@rebuild:10%", Target::PageOf(5), Trigger::Rebuild(0.1)),
    ];
    for (text, target, trigger) in cases {
        let (what, when) = text.split_once('@').unwrap();
        let expected = Injection { setting: "fail", what: what.into(), target, when: when.into(), trigger };
        assert_eq!(Injection::fault(text), Ok(expected), "{text}");
        if let Target::Fault(failure @ DeviceFault { fault: Fault::Loss(_), .. }) = target {
            assert_eq!(failure.to_string(), what);
        }
    }
    let two = on("tiny", "raid5", &[("fail", "chip:1.0@50%, die:0.0.0@1s")]).unwrap();
    assert_eq!(two.run.fail, ["chip:1.0@50%", "die:0.0.0@1s"]);
    let file = Scratch::new("faults.toml", "[run]\nfail = [\"chip:1.0@50%\", \"die:0.0.0@1s\"]\n");
    let in_toml = Config::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &[]).unwrap();
    assert_eq!(in_toml, two);
    let json = serde_json::json!({ "config": two }).to_string();
    let file = Scratch::new("faults.json", &json);
    assert_eq!(Config::assemble(None, None, Some(&file.0), &[]).unwrap(), two);
}

#[test]
fn faults_that_cannot_be_are_refused() {
    let what = "member:M, channel:C, chip:C.W, die:C.W.D, plane:C.W.D.P, block:C.W.D.P.B, wordline:C.W.D.P.B.L, wordline_pair:C.W.D.P.B.L, page:C.W.D.P.B.N, page:lpn=L, parity-cache, and program: or erase: \
                followed by the numbers of a part; in an array device:N, and device:N/ followed by any of them";
    let when = "a time as in 2.5s, 100ms, 7us or 9ns up to 9223372036s (292 years), request:N, a share of the trace as in 50%, collection, \
                commit, rebuild:P%, replacement:P%";
    let unknown = format!("fail = chips:0.1@1s: unknown chips; the nearest is chip; there are {what}");
    let timeless = format!("fail = chip:0.1: has no time: allowed is WHAT@WHEN, where WHEN is {when}");
    let wordy = format!("fail = chip:0.1@colection: colection: allowed is {when}; the nearest is collection");
    let late = format!("fail = chip:0.1@9999999h: 9999999h: allowed is {when}");
    let cases = [
        ("chips:0.1@1s", unknown.as_str()),
        ("chip:0.1", &timeless),
        ("chip:0.1@colection", &wordy),
        ("chip:0.1@9999999h", &late),
        ("chip:0@1s", "fail = chip:0@1s: chip:0: allowed is chip:C.W, with whole numbers"),
        ("chip:0.x@1s", "fail = chip:0.x@1s: chip:0.x: allowed is chip:C.W, with whole numbers"),
        ("chip:@1s", "fail = chip:@1s: chip:: allowed is chip:C.W, with whole numbers"),
        ("page:lpn=x@1s", "fail = page:lpn=x@1s: page:lpn=x: allowed is page:lpn= and a whole number"),
        ("erase:1.2.3.4.5.6@1s", "fail = erase:1.2.3.4.5.6@1s: erase:1.2.3.4.5.6: allowed is erase: and 1 to 5 of the numbers C.W.D.P.B"),
        ("chip:0.1@0%", "fail = chip:0.1@0%: 0%: allowed is a share above 0 % and at most 100 %"),
        ("chip:0.1@101%", "fail = chip:0.1@101%: 101%: allowed is a share above 0 % and at most 100 %"),
        ("chip:0.1@request:0", "fail = chip:0.1@request:0: request:0: allowed is request:N, counted from 1"),
        ("chip:0.1@rebuild:110%", "fail = chip:0.1@rebuild:110%: rebuild:110%: allowed is rebuild:P%, from 0 % to 100 %"),
        ("channel:9@1s", "fail = channel:9@1s: channel 9: the device has channels 0 to 3"),
        ("chip:0.2@1s", "fail = chip:0.2@1s: chip 2: each channel has chip 0 only"),
        ("program:0.0.0.9@1s", "fail = program:0.0.0.9@1s: plane 9: each die has planes 0 to 1"),
        ("member:4@1s", "fail = member:4@1s: member 4: the device has members 0 to 3"),
    ];
    for (fail, expected) in cases {
        assert_eq!(refusal(&[("fail", fail)]), expected);
    }
    let pages = on("tiny", "raid0", &[]).unwrap();
    let scheme = pages.build_scheme().unwrap();
    let pages = pages.space_bytes(&*scheme) / u64::from(pages.device.page_bytes);
    let expected = format!("fail = page:lpn={pages}@1s: page {pages}: the logical space has pages 0 to {}", pages - 1);
    assert_eq!(refusal(&[("fail", &format!("page:lpn={pages}@1s"))]), expected);
    // fra delays parities too, but without NVRAM.
    for scheme in ["raid5", "fra"] {
        let refused = on("tiny", scheme, &[("fail", "parity-cache@1ms")]).unwrap_err();
        assert!(refused.contains(&format!("{scheme} keeps no parity in NVRAM")), "{refused}");
    }
}

#[test]
fn an_order_of_rebuild_suits_its_scheme() {
    let order =
        |scheme, asked| on("tiny", scheme, &[("rebuild", asked)]).map(|config| config.rebuild_order().unwrap().map(|order| order.name));
    assert_eq!(order("raid5", "auto"), Ok(Some("dor")));
    assert_eq!(order("raid5", "sor"), Ok(Some("sor")));
    assert_eq!(order("raid5", "none"), Ok(None));
    assert_eq!(order("raid1", "auto"), Ok(Some("copy")));
    assert_eq!(order("raid0", "auto"), Ok(None));
    assert_eq!(order("raid5", "drr"), Err("rebuild = drr: allowed is auto, none, sor, dor; the nearest is dor".into()));
    let unsuited = order("raid5", "mcr").unwrap_err();
    assert!(
        unsuited.starts_with("rebuild = mcr: raid5 has no mirror chips") && unsuited.ends_with(": allowed is auto, none, sor, dor"),
        "{unsuited}"
    );
}

#[test]
fn every_value_has_its_limits() {
    let whole: &[(&str, &[&str])] = &[
        ("channels", &["0", "65", "-1", "4.0", "four", "", "1_0"]),
        ("chips_per_channel", &["0", "65"]),
        ("mirror_chips", &["64", "-1"]),
        ("spare_chips", &["64"]),
        ("dies_per_chip", &["0", "65"]),
        ("planes_per_die", &["0", "65"]),
        ("blocks_per_plane", &["7", "65535"]),
        ("pages_per_block", &["0", "32768"]),
        ("page_bytes", &["256", "4097", "131072", "0"]),
        ("read_ns", &["0", "-5", "99999999999999", "1h", "1.5ns"]),
        ("program_ns", &["0"]),
        ("erase_ns", &["0"]),
        ("upper_read_ns", &["0", "1.5", "70us,x", "-1", "nan", "2000s"]),
        ("upper_program_ns", &["0,1", "1e20"]),
        ("ldpc", &["", "fixed", "fixed:", "fixed:16", "fixed:-1", "fixed:+1", "Geometric", "3"]),
        ("bus_ps_per_byte", &["-1"]),
        ("read_command_ns", &["-1"]),
        ("program_command_ns", &["x"]),
        ("erase_command_ns", &["1.5"]),
        ("member", &["die", "Channel", ""]),
        ("ftl", &["chip"]),
        ("allocation", &["semi-dynamic"]),
        ("static_order", &["WDD", "WD", "wdp", "WDPC"]),
        ("lun", &["plane"]),
        ("scheduling", &["lifo"]),
        ("write_completes", &["never"]),
        ("transfer", &["sector"]),
        ("multi_plane", &["yes", "1"]),
        ("copyback", &["on"]),
        ("over_provisioning", &["-0.1", "1", "nan", "inf", "100%", "10 percent"]),
        ("gc_threshold", &["1", "-0.1", "NaN"]),
        ("gc_reserve_blocks", &["1", "0"]),
        ("gc_blocking_scope", &["plane"]),
        ("wear_leveling", &["hybrid"]),
        ("wear_leveling_threshold", &["0"]),
        ("buffer_bytes_per_gib", &["-1", "1073741825", "0.5"]),
        ("buffer_bytes", &["-1", "1Gb", "0.1KiB"]),
        ("nvram_buffer_bytes", &["-1", "1099511627777"]),
        ("nvram_victim", &["newest"]),
        ("buffer_ns", &["-1"]),
        ("destage", &["always", ""]),
        ("destage_unit", &["block"]),
        ("destage_high_water", &["0", "1.1", "nan"]),
        ("destage_low_water", &["1", "-0.1"]),
        ("destage_bytes_per_second", &["-1", "0.5", "1099511627777"]),
        ("mapping", &["hybrid"]),
        ("log_blocks", &["0", "65535"]),
        ("cmt_entries", &["0", "1073741825"]),
        ("serial_subrequests", &["on"]),
        ("parity_in_response", &["no"]),
        ("unwritten", &["one"]),
        ("device_filter", &["", "1,,2"]),
        ("time_unit", &["", "minutes"]),
        ("on_error", &["", "ignore"]),
        ("op", &["", "mix:2", "trim"]),
        ("action", &["", "I"]),
        ("object_bytes", &["0", "4k", ""]),
        ("sector_bytes", &["0", "4k", "", "1048577"]),
        ("columns", &["", "time:s", "time:s,op,offset,size,x"]),
        ("separator", &["", "dot"]),
        ("limit", &["-1", "9223372036854775808"]),
        ("speed", &["0", "-1", "inf", "nan"]),
        ("jitter_ns", &["-1", "1.5ns"]),
        ("queue_depth", &["-1"]),
        ("device_queue_depth", &["-1"]),
        ("fit", &["clip"]),
        ("space_bytes", &["1G"]),
        ("fill", &["1.01", "-0.1", "nan", "101%", "-1%"]),
        ("fill_bytes", &["-1"]),
        ("precondition", &["random", "random:", "random:0", "random:-1", "random:x", "random:inf", "random:1e3", "yes", "random:0.0"]),
        ("warmup", &["-1", "2.5", "s", "1 s", "-1s", "infs", "1e3s", "2.5 seconds"]),
        ("verify", &["2"]),
        ("verify_every", &["-1"]),
        ("drain", &["always"]),
        ("pe_limit", &["-1", "4294967296"]),
        ("ages", &["1", "0.5,1", "-0.1", "nan", "0.5,x", "100%"]),
        ("until", &["", "worn", "worn:", "worn:0", "worn:-1", "worn:x", "3", "never"]),
        ("seed", &["-1", "x"]),
        ("rebuild_window", &["-1", "65", "x"]),
        ("piggyback", &["yes"]),
    ];
    for (key, values) in whole {
        for value in *values {
            let text = refusal(&[(key, value)]);
            assert!(text.starts_with(&format!("{key} = {value}: allowed is ")), "{text}");
        }
    }
    for key in TABLES.iter().flat_map(|table| table.keys) {
        let beyond = match key.kind {
            Kind::Whole { min, max } => vec![(i128::from(min) - 1).to_string(), (i128::from(max) + 1).to_string(), "x".into()],
            Kind::PowerOfTwo { min, max } => vec![(min / 2).to_string(), (min + 1).to_string(), (2 * max).to_string()],
            Kind::Real { .. } => vec!["nan".into(), "x".into()],
            Kind::Flag => vec!["yes".into()],
            Kind::Word(_) => vec!["".into(), "no such word".into()],
            Kind::GcPolicy => ["", "no such word", "fifo:1", "d", "d:0", "d:1001"].map(String::from).into(),
            // What these refuse stands in the list above and in tests of their own.
            Kind::Numbers { .. } | Kind::Text { .. } | Kind::List { .. } => {
                let has_test = ["name", "format", "fail", "replace", "rebuild", "models", "drive"].contains(&key.name);
                assert!(has_test || whole.iter().any(|(listed, _)| *listed == key.name), "{} has no refused value", key.name);
                continue;
            }
        };
        for value in beyond {
            let text = refusal(&[(key.name, &value)]);
            assert!(text.starts_with(&format!("{} = {value}: allowed is ", key.name)), "{text}");
        }
    }
    assert_eq!(refusal(&[("device.name", "")]), "name = : allowed is a name without control characters");
    assert_eq!(refusal(&[("space_bytes", "1")]), "space_bytes = 1: allowed is at least one page (4096 bytes)");
    assert_eq!(refusal(&[("verify_every", "10")]), "verify_every = 10: allowed with verify = true only");
    assert_eq!(refusal(&[("format", "")]), "format = : allowed is auto or the name of a trace format");
    assert_eq!(refusal(&[("pages_per_block", "32768")]), "pages_per_block = 32768: allowed is a whole number from 1 to 32767");
    assert_eq!(
        refusal(&[("page_bytes", "4097")]),
        "page_bytes = 4097: allowed is a power of two from 512 to 65536, also with a unit as in 16KiB or 16GiB"
    );
    assert_eq!(refusal(&[("gc_idle_threshold", "0.1")]), "gc_idle_threshold = 0.1: allowed is 0 or above gc_threshold = 0.1");
    assert_eq!(refusal(&[("gc_blocking_scope", "plane")]), "gc_blocking_scope = plane: allowed is none, lun, chip, channel");
    assert_eq!(refusal(&[("seed", "-1")]), "seed = -1: allowed is a whole number from 0");
    let text = on("tiny", "raid5", &[("update", "least")]).unwrap_err();
    assert_eq!(text, "update = least: allowed is fewest, rmw, rcw, bpu, adaptive");
}

#[test]
fn limits_themselves_are_allowed() {
    let large = [("pages_per_block", "32767"), ("blocks_per_plane", "65534")];
    let smallest = [("channels", "1"), ("planes_per_die", "1"), ("blocks_per_plane", "8"), ("over_provisioning", "0.5")];
    assert!(on("tiny", "raid0", &smallest).is_ok());
    assert!(on("tiny", "raid0", &[("channels", "64"), ("over_provisioning", "0"), ("gc_threshold", "0")]).is_err(), "nothing to spare");
    assert!(on("tiny", "raid0", &[("channels", "64"), ("gc_threshold", "0.999"), ("fill", "1")]).is_ok());
    assert!(on("tiny", "raid0", &[("page_bytes", "512")]).is_ok() && on("tiny", "raid0", &[("page_bytes", "65536")]).is_ok());
    assert!(on("tiny", "raid0", &large).unwrap_err().contains("physical pages"));
    assert!(on("tiny", "raid0", &[("static_order", "PDW"), ("speed", "0.001"), ("precondition", "random:0.5")]).is_ok());
}

#[test]
fn counts_that_do_not_fit_together_are_refused() {
    assert_eq!(
        refusal(&[("chips_per_channel", "33"), ("dies_per_chip", "2")]),
        "chips_per_channel = 33: gives 66 LUNs on each channel, allowed are at most 64"
    );
    assert_eq!(
        refusal(&[("chips_per_channel", "32"), ("dies_per_chip", "2"), ("spare_chips", "1")]),
        "spare_chips = 1: gives 66 LUNs on each channel, allowed are at most 64"
    );
    assert!(on("tiny", "raid0", &[("chips_per_channel", "33"), ("dies_per_chip", "2"), ("lun", "chip")]).is_ok());
    assert_eq!(
        refusal(&[("lun", "chip"), ("dies_per_chip", "5"), ("planes_per_die", "13")]),
        "planes_per_die = 13: gives 65 planes in each LUN, allowed are at most 64"
    );
    assert_eq!(refusal(&[("member", "chip"), ("chips_per_channel", "17")]), "member = chip: gives 68 members, allowed are at most 64");
    assert_eq!(
        refusal(&[("channels", "64"), ("chips_per_channel", "3"), ("blocks_per_plane", "65534")]),
        "blocks_per_plane = 65534: 384 planes with 64 pages per block give 1610563584 physical pages, allowed are at most 1073741823"
    );
}

#[test]
fn names_that_do_not_exist_come_with_the_nearest() {
    assert_eq!(refusal(&[("gc_treshold", "0.1")]), "unknown key gc_treshold; the nearest is gc_threshold in table device");
    assert_eq!(refusal(&[("trace", "x")]), "unknown key trace: docs/configuration.md lists all");
    assert!(refusal(&[("seed", "18446744073709551616")]).ends_with("allowed is a whole number from 0 to 9223372036854775807 (2^63 - 1)"));
    assert!(refusal(&[("seed", "x")]).ends_with("allowed is a whole number from 0"));
    for size in ["16EiB", "8EiB", "99999999 TiB", "9223372036854775808"] {
        let limit = "allowed is a whole number from 0 to 9223372036854775807 (2^63 - 1), also with a unit as in 16KiB or 16GiB";
        assert_eq!(refusal(&[("space_bytes", size)]), format!("space_bytes = {size}: {limit}"));
        assert_eq!(refusal(&[("fill_bytes", size)]), format!("fill_bytes = {size}: {limit}"));
    }
    for time in ["2562048h", "1000000y", "9223372037s", "99999999999999999999ns", "9223372036854775808"] {
        for key in ["jitter_ns", "stored_ns"] {
            let limit = "allowed is a whole number from 0 to 9223372036854775807 (292 years), also with a unit as in 20us";
            assert_eq!(refusal(&[(key, time)]), format!("{key} = {time}: {limit}"));
        }
        let refused = refusal(&[("read_ns", time)]);
        assert!(refused.ends_with("allowed is a whole number from 1 to 1000000000000, also with a unit as in 20us"), "{refused}");
    }
    for time in ["2562048h", "1000000y", "9223372037s", "99999999999999999999ns"] {
        let limit = "allowed is a number of requests, or a time as in 2.5s or 100ms up to 9223372036s (292 years)";
        assert_eq!(refusal(&[("warmup", time)]), format!("warmup = {time}: {limit}"));
        let refused = refusal(&[("replace", &format!("device:0@{time}"))]);
        assert!(refused.contains(": allowed is a time as in 2.5s, 100ms, 7us or 9ns up to 9223372036s (292 years), "), "{refused}");
    }
    assert!(refusal(&[("space_bytes", "1EiB")]).starts_with("space_bytes = 1152921504606846976: allowed is at most "));
    for (given, meant) in
        [("RAID5", "raid5"), ("raid-5", "raid5"), ("raidz2", "raid6"), ("raid01", "raid1"), ("jbod", "raid0"), ("mirror", "raid1")]
    {
        let error = on("tiny", given, &[]).unwrap_err();
        assert!(error.starts_with(&format!("unknown scheme {given}; the nearest is {meant}; there are ")), "{error}");
    }
    for (given, meant) in [("drive:3", "device"), ("ssd:3", "device"), ("Disk:0", "device"), ("Chip:0.1", "chip"), ("package:0.1", "chip")]
    {
        let error = refusal(&[("fail", &format!("{given}@50%"))]);
        assert!(error.contains(&format!("; the nearest is {meant}; there are ")), "{error}");
    }
    assert_eq!(refusal(&[("qd", "4")]), "unknown key qd; the nearest is queue_depth in table run");
    assert_eq!(refusal(&[("run.sped", "2")]), "unknown key sped; the nearest is speed in table run");
    assert_eq!(refusal(&[("host.seed", "2")]), "host.seed: seed belongs to table run");
    assert_eq!(on("tiny", "raid5", &[("device.update", "rmw")]).unwrap_err(), "device.update: update belongs to table scheme");
    assert_eq!(
        refusal(&[("runs.seed", "2")]),
        "runs.seed: unknown table runs; the nearest is run; there are device, array, scheme, host, run"
    );
    assert_eq!(refusal(&[("name", "x")]), "name is ambiguous: allowed are device.name and scheme.name");
    assert_eq!(
        refusal(&[("update", "rmw")]),
        "update is a parameter of raid4, raid5, cr5m, no-pc, fpc, ppc, ca-ppc, diff-raid, hotswap, online-rebuild, offline-diff-raid, not of raid0, whose parameters are: none"
    );
    assert_eq!(on("tiny", "raid5", &[("updat", "rmw")]).unwrap_err(), "unknown key updat; the nearest is update in table scheme");
    let text = on("tyni", "raid0", &[]).unwrap_err();
    assert!(
        text.starts_with("unknown device tyni; the nearest is tiny; presets are ssd1, ssd2, ") && text.ends_with("(or give a TOML file)")
    );
    let schemes = SCHEMES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    assert_eq!(on("tiny", "raid", &[]).unwrap_err(), format!("unknown scheme raid; the nearest is raid0; there are {schemes}"));
    assert_eq!(on("tiny", "raid0", &[("scheme.name", "riad5")]).unwrap_err().split(';').nth(1), Some(" the nearest is raid5"));
    let error = Config::assemble(Some("tiny"), None, None, &[]).unwrap_err().to_string();
    assert_eq!(error, format!("no scheme: give one of {schemes}"));
    let error = Config::assemble(None, Some("raid0"), None, &[]).unwrap_err().to_string();
    assert!(error.starts_with("no device: give a preset (ssd1, ") && error.ends_with(") or a TOML file"), "{error}");
}

/// Every name that a setting once had, with the name of today.
#[test]
fn old_names_are_refused_with_the_new_ones() {
    for (old, new) in [
        ("array_unit", "lun"),
        ("gc_blocks", "gc_blocking_scope"),
        ("gc_hard", "gc_reserve_blocks"),
        ("wear_spread", "wear_leveling_threshold"),
    ] {
        let expected = format!("unknown key {old}: it is now called {new}");
        assert_eq!(refusal(&[(old, "3")]), expected);
        assert_eq!(refusal(&[(&format!("device.{old}"), "3")]), expected);
    }
    let words = "allocation = semi_dynamic: allowed is static, dynamic_member, dynamic; semi_dynamic is now called dynamic_member";
    assert_eq!(refusal(&[("allocation", "semi_dynamic")]), words);
    let words = "gc_blocking_scope = unit: allowed is none, lun, chip, channel; unit is now called lun";
    assert_eq!(refusal(&[("gc_blocking_scope", "unit")]), words);
}

/// Keys by quantity: each takes the units of its own, and no other key takes any.
#[test]
fn quantities_have_units_and_nothing_else_has() {
    let keys = TABLES.iter().flat_map(|table| table.keys).map(|key| (key.name, key.unit));
    let all: BTreeSet<_> = keys.collect();
    let of = |unit: &str| all.iter().filter(|(_, of)| *of == unit).map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(
        of("bytes"),
        [
            "buffer_bytes",
            "fill_bytes",
            "mapping_unit_bytes",
            "nvram_buffer_bytes",
            "object_bytes",
            "page_bytes",
            "sector_bytes",
            "space_bytes",
            "staging_bytes"
        ]
    );
    assert_eq!(of("bytes/GiB"), ["buffer_bytes_per_gib"]);
    assert_eq!(of("bytes/s"), ["destage_bytes_per_second"]);
    let shares = [
        "ages",
        "destage_high_water",
        "destage_low_water",
        "fill",
        "gc_idle_gain",
        "gc_idle_threshold",
        "gc_threshold",
        "over_provisioning",
    ];
    assert_eq!(of("share"), shares);
    let times = [
        "buffer_ns",
        "command_ns",
        "erase_command_ns",
        "erase_ns",
        "idle_ns",
        "jitter_ns",
        "ldpc_decode_ns",
        "ldpc_retention_ns",
        "ldpc_step_ns",
        "link_command_ns",
        "pad_after_ns",
        "program_command_ns",
        "program_ns",
        "read_command_ns",
        "read_latency_ns",
        "read_ns",
        "resume_ns",
        "slc_program_ns",
        "slc_read_ns",
        "stored_ns",
        "suspend_min_ns",
        "suspend_ns",
        "unit_ns",
        "upper_program_ns",
        "upper_read_ns",
        "write_latency_ns",
        "xor_ns",
    ];
    assert_eq!(of("ns"), times);
    for scheme in ["fpc", "ppc", "ca-ppc"] {
        assert_eq!(find(scheme).unwrap().parity_cache.unwrap().unit, "bytes", "{scheme}");
    }
}

#[test]
fn a_name_is_offered_only_if_it_is_near() {
    assert_eq!(refusal(&[("banana", "1")]), "unknown key banana: docs/configuration.md lists all");
    let figure = "it is called write_amplification, and is no setting (flashraid explain write_amplification)";
    assert_eq!(refusal(&[("WAF", "0.1")]), format!("unknown key WAF: {figure}"));
    assert_eq!(refusal(&[("zz.seed", "1")]), "zz.seed: unknown table zz; there are device, array, scheme, host, run");
    assert_eq!(refusal(&[("threshold", "1")]), "unknown key threshold; the nearest is gc_threshold in table device");
    assert!(on("qqq", "raid0", &[]).unwrap_err().starts_with("unknown device qqq; presets are ssd1, "));
    assert!(on("tiny", "", &[]).unwrap_err().starts_with("unknown scheme without a name; there are raid0, "));
    assert!(on("tiny", "erasure", &[]).unwrap_err().starts_with("unknown scheme erasure; there are raid0, "));
    assert_eq!(on("tiny", "raid5", &[("rebuild", "quickly")]).unwrap_err(), "rebuild = quickly: allowed is auto, none, sor, dor");
    assert!(refusal(&[("fail", "fire@1s")]).starts_with("fail = fire@1s: unknown fire; there are member:M, "));
}

#[test]
fn numbers_may_have_units() {
    let units = [("page_bytes", "8KiB"), ("read_ns", "0.03ms"), ("over_provisioning", "12.5%"), ("buffer_bytes", "1 MiB"), ("fill", "50%")];
    let plain =
        [("page_bytes", "8192"), ("read_ns", "30000"), ("over_provisioning", "0.125"), ("buffer_bytes", "1048576"), ("fill", "0.5")];
    assert_eq!(on("tiny", "raid5", &units), on("tiny", "raid5", &plain));
    let cache = |text| on("tiny", "ppc", &[("parity_cache_bytes", text)]);
    assert_eq!(cache("64KiB"), cache("65536"));
    assert_eq!(
        cache("1Kib").unwrap_err(),
        "parity_cache_bytes = 1Kib: allowed is a whole number from 512 to 4294967295, also with a unit as in 16KiB or 16GiB"
    );
    let file = Scratch::new(
        "units.toml",
        "[device]\npage_bytes = \"8KiB\"\n[scheme]\nname = \"ppc\"\nparity_cache_bytes = \"64KiB\"\n[run]\nfill = \"50%\"\n",
    );
    let config = Config::assemble(Some("tiny"), None, Some(&file.0), &[]).unwrap();
    assert_eq!((config.device.page_bytes, config.run.fill), (8192, 0.5));
    assert_eq!(config.scheme.parameters["parity_cache_bytes"], 65_536);
}

/// What is asked for and means nothing is refused; what nobody asked for, or what says the same as would count anyway, is not.
#[test]
fn settings_without_effect_are_refused() {
    let asked = |device: &str, scheme: &str, pairs: &[(&str, &str)]| Asked::assemble(Some(device), Some(scheme), None, &overrides(pairs));
    let refusal = |scheme: &str, pairs: &[(&str, &str)]| one_line(asked("tiny", scheme, pairs).unwrap_err().to_string());
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: &[Case] = &[
        (
            "raid5",
            &[("queue_depth", "8"), ("speed", "2")],
            "speed = 2: has no effect here: allowed with queue_depth = 0 (a closed loop ignores arrival times)",
        ),
        (
            "raid5",
            &[("queue_depth", "4"), ("device_queue_depth", "5")],
            "device_queue_depth = 5: has no effect here: allowed with queue_depth = 0, or above it (so many are never outstanding in a closed loop)",
        ),
        ("raid5", &[("cmt_entries", "10")], "cmt_entries = 10: has no effect here: allowed with mapping = dftl"),
        ("raid5", &[("log_blocks", "10")], "log_blocks = 10: has no effect here: allowed with mapping = bast or fast"),
        (
            "raid5",
            &[("nvram_victim", "largest_group")],
            "nvram_victim = largest_group: has no effect here: allowed with a write buffer in NVRAM (nvram_buffer_bytes)",
        ),
        (
            "raid0",
            &[("rebuild_window", "2")],
            "rebuild_window = 2: has no effect here: allowed with a scheme that can rebuild, and rebuild other than none",
        ),
        (
            "raid0",
            &[("parity_in_response", "false")],
            "parity_in_response = false: has no effect here: allowed with a scheme that programs parity with a write",
        ),
        (
            "raid1",
            &[("channels", "2"), ("chunk_units", "4")],
            "chunk_units = 4: has no effect here: allowed with rows of several members, and a row of chunks in the logical space",
        ),
        (
            "raid5",
            &[("channels", "4"), ("space_bytes", "409600"), ("chunk_units", "34")],
            "chunk_units = 34: has no effect here: allowed with rows of several members, and a row of chunks in the logical space",
        ),
        ("sirf1", &[("groups", "1"), ("read", "least_busy")], "read = least_busy: has no effect here: allowed with groups from 2"),
        (
            "fpc",
            &[("update", "rcw"), ("fpc_cached_parity_free", "yes")],
            "fpc_cached_parity_free = yes: has no effect here: allowed with update other than rcw",
        ),
    ];
    for (scheme, pairs, expected) in cases {
        assert_eq!(refusal(scheme, pairs), *expected);
        assert!(Config::assemble(Some("tiny"), Some(scheme), None, &overrides(pairs)).is_ok(), "{expected}");
    }
    for (scheme, pairs) in [
        ("raid5", &[("queue_depth", "8"), ("speed", "1")][..]),
        ("raid5", &[("cmt_entries", "65536")]),
        ("raid5", &[("cmt_entries", "10"), ("mapping", "dftl")]),
        ("raid5", &[("rebuild_window", "2")]),
    ] {
        asked("ssd1", scheme, pairs).unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
    }
    // A preset's own keys, and those of a result.
    assert!(asked("ppc-4p1", "raid0", &[("nvram_buffer_bytes", "0")]).is_ok());
    let config = on("tiny", "raid5", &[("cmt_entries", "10"), ("queue_depth", "8"), ("speed", "2")]).unwrap();
    let file = Scratch::new("idle.json", &serde_json::json!({ "config": config }).to_string());
    assert_eq!(Asked::assemble(None, None, Some(&file.0), &[]).unwrap().config, config);
    // A file may serve several runs: a warning, which names the place.
    let file = Scratch::new("idle.toml", "[device]\ncmt_entries = 10\n");
    let asked = Asked::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &[]).unwrap();
    let trace = root().join("tests/golden/trace.csv");
    let done = flashraid_sim::run(&trace, asked, &flashraid_sim::Outputs::default(), false, &mut |_| true).unwrap();
    let notes: Vec<_> = done.warnings.iter().map(|text| text.replace(file.text(), "FILE")).collect();
    assert!(notes.contains(&"FILE:2:15: cmt_entries = 10: has no effect here: allowed with mapping = dftl".into()), "{notes:?}");
}

#[test]
fn equal_values_may_look_different() {
    for (key, one, other) in [
        ("fill", "50%", "0.5"),
        ("run.fill", "0.50", "0.5"),
        ("page_bytes", "8KiB", "8192"),
        ("alpha", "1", "1"),
        ("scheme.name", "raid5", "raid5"),
    ] {
        assert!(same_value(key, one, other), "{key}");
    }
    for (key, one, other) in
        [("queue_depth", "8", "4"), ("scheme.name", "raid5", "raid0"), ("parity_cache_bytes", "64KiB", "64kB"), ("fill", "x", "y")]
    {
        assert!(!same_value(key, one, other), "{key}");
    }
}

#[test]
fn texts_with_an_inner_form_are_read() {
    assert_eq!("none".parse(), Ok(Precondition::None));
    assert_eq!("random:2.5".parse(), Ok(Precondition::Random { most_spaces: 2.5, is_steady: false }));
    assert_eq!("1000".parse(), Ok(Warmup::Requests(1000)));
    assert_eq!("2.5s".parse(), Ok(Warmup::Ns(2_500_000_000)));
    assert_eq!("9007199.254740993s".parse(), Ok(Warmup::Ns((1 << 53) + 1)), "to the nanosecond");
    assert_eq!("100ms".parse(), Ok(Warmup::Ns(100_000_000)));
    assert!("10000000000s".parse::<Warmup>().is_err(), "292 years are enough");
}

/// Settings of the cells that do not go together, of the device and of an SSD of an array.
#[test]
fn cells_are_checked() {
    let most =
        "erases_before = 7: leaves no block whose pages LDPC can correct: allowed is at most 6 with ldpc_erases = 1 and ldpc_levels = 6";
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("upper_read_ns", "1,2,3,4,5")], "upper_read_ns = 1,2,3,4,5: allowed are at most 4 times"),
        (
            &[("upper_read_ns", "10us,20us"), ("upper_program_ns", "1ms")],
            "upper_program_ns = 1000000: allowed is none, or 2 times, as upper_read_ns has",
        ),
        (&[("ldpc", "fixed:7")], "ldpc = fixed:7: allowed is at most fixed:6, as ldpc_levels = 6"),
        (
            &[("ldpc", "uniform"), ("copyback", "true")],
            "copyback = true: allowed is false with LDPC (ldpc), as what stays in the plane is not corrected",
        ),
        (
            &[("ldpc", "uniform"), ("ldpc_erases", "3"), ("mapping", "bast"), ("log_blocks", "8"), ("over_provisioning", "0.3")],
            "ldpc_erases = 3: allowed is 0 with mapping = bast, which has no blocks to retire",
        ),
        (&[("ldpc", "geometric"), ("ldpc_erases", "1"), ("erases_before", "7")], most),
        (
            &[("devices", "4"), ("ldpc", "fixed:2"), ("models", "2:ldpc_levels=1")],
            "models: SSD 2: ldpc = fixed:2: allowed is at most fixed:1, as ldpc_levels = 1",
        ),
    ];
    for (pairs, expected) in cases {
        assert_eq!(refusal(pairs), expected);
    }
    assert!(on("tiny", "raid5", &[("ldpc", "geometric"), ("ldpc_erases", "1"), ("erases_before", "6")]).is_ok());
    assert!(on("tiny", "raid5", &[("ldpc", "fixed:6"), ("upper_read_ns", "1,2"), ("upper_program_ns", "3,4")]).is_ok());
}
