//! Settings: precedence, refusals (each names its key and what is allowed), capacities, presets, listings, and the document.

use flashraid_redundancy::{Protects, SCHEMES};
use flashraid_sim::config::{
    Asked, Device, Injection, Kind, Precondition, TABLES, Target, Trigger, Warmup, most_logical_pages, reference_markdown, same_value,
};
use flashraid_sim::listing;
use flashraid_sim::presets::PRESETS;
use flashraid_sim::{Config, SCHEMA};
use flashraid_vocabulary::{Fault, Lpn, Part};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file of this test's own, deleted at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashraid-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn on(device: &str, scheme: &str, pairs: &[(&str, &str)]) -> Result<Config, String> {
    Config::assemble(Some(device), Some(scheme), None, &overrides(pairs)).map_err(|error| error.to_string())
}

/// The refusal of these overrides on tiny under raid0; one line.
fn refusal(pairs: &[(&str, &str)]) -> String {
    one_line(on("tiny", "raid0", pairs).expect_err(&format!("{pairs:?} must be refused")))
}

fn file_refusal(name: &str, text: &str) -> String {
    let file = Scratch::new(name, text);
    let error = Config::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &[]).unwrap_err().to_string();
    one_line(error).replace(file.text(), "FILE")
}

fn one_line(text: String) -> String {
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn faults_say_what_and_when() {
    let chip = Part::Chip { channel: 0, chip: 1 };
    let block = Part::Block { channel: 1, chip: 0, die: 0, plane: 1, block: 7 };
    let cases = [
        ("member:2@0s", Target::Fault(Fault::Loss(Part::Member(2))), Trigger::Time(0)),
        ("channel:3@2.5s", Target::Fault(Fault::Loss(Part::Channel(3))), Trigger::Time(2_500_000_000)),
        ("chip:0.1@100ms", Target::Fault(Fault::Loss(chip)), Trigger::Time(100_000_000)),
        ("die:0.1.0@7us", Target::Fault(Fault::Loss(Part::Die { channel: 0, chip: 1, die: 0 })), Trigger::Time(7000)),
        ("plane:0.1.0.1@9ns", Target::Fault(Fault::Loss(Part::Plane { channel: 0, chip: 1, die: 0, plane: 1 })), Trigger::Time(9)),
        ("block:1.0.0.1.7@request:12", Target::Fault(Fault::Loss(block)), Trigger::Request(12)),
        ("program:1.0.0.1.7@50%", Target::Fault(Fault::Program(block)), Trigger::Share(0.5)),
        ("erase:0.1@collection", Target::Fault(Fault::Erase(chip)), Trigger::Gc),
        ("program:3@commit", Target::Fault(Fault::Program(Part::Channel(3))), Trigger::Commit),
        ("page:lpn=5@rebuild:10%", Target::PageOf(Lpn(5)), Trigger::Rebuild(0.1)),
    ];
    for (text, target, trigger) in cases {
        let (what, when) = text.split_once('@').unwrap();
        let expected = Injection { what: what.into(), target, when: when.into(), trigger };
        assert_eq!(text.parse(), Ok(expected), "{text}");
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
    let what = "member:M, channel:C, chip:C.W, die:C.W.D, plane:C.W.D.P, block:C.W.D.P.B, page:C.W.D.P.B.N, page:lpn=L, parity-cache, and program: or erase: \
                followed by the numbers of a part";
    let when = "a time as in 2.5s, 100ms, 7us or 9ns, request:N, a share of the trace as in 50%, collection, commit, rebuild:P%";
    let unknown = format!("fail = chips:0.1@1s: unknown chips; the nearest is chip; there are {what}");
    let timeless = format!("fail = chip:0.1: has no time: allowed is WHAT@WHEN, where WHEN is {when}");
    let wordy = format!("fail = chip:0.1@colection: colection: allowed is {when}; the nearest is collection");
    let unit = format!("fail = chip:0.1@5min: 5min: allowed is {when}");
    let cases = [
        ("chips:0.1@1s", unknown.as_str()),
        ("chip:0.1", &timeless),
        ("chip:0.1@colection", &wordy),
        ("chip:0.1@5min", &unit),
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
fn later_sources_count() {
    let file = Scratch::new(
        "precedence.toml",
        "[device]\nover_provisioning = 0.2\ngc_reserve_blocks = 3\n[scheme]\nname = \"raid4\"\nupdate = \"rmw\"\n[run]\nseed = 7\nwarmup = 5\n",
    );
    let config = Config::assemble(Some("tiny"), None, Some(&file.0), &[]).unwrap();
    assert_eq!((config.device.over_provisioning, config.device.gc_reserve_blocks, config.run.seed), (0.2, 3, 7));
    assert_eq!(config.device.gc_threshold, 0.1, "the preset's own number stays");
    assert_eq!((config.scheme.name.as_str(), config.scheme.parameters["update"].as_str()), ("raid4", Some("rmw")));
    assert_eq!(config.run.warmup, "5", "a text key takes a bare number");
    assert_eq!(config.run.speed, 1.0, "defaults are filled in");

    let with = overrides(&[("run.seed", "8"), ("gc_reserve_blocks", "4"), ("gc_reserve_blocks", "5")]);
    let config = Config::assemble(Some("tiny"), Some("raid4"), Some(&file.0), &with).unwrap();
    assert_eq!((config.device.over_provisioning, config.device.gc_reserve_blocks, config.run.seed), (0.2, 5, 8));
    assert_eq!(config.scheme.parameters["update"], "rmw", "the same scheme keeps the file's parameters");

    let config = Config::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &[]).unwrap();
    assert_eq!(config.scheme.parameters["update"], "fewest", "another scheme brings its own parameters");
    let config = Config::assemble(Some("tiny"), Some("raid5"), Some(&file.0), &overrides(&[("scheme.name", "raid0")])).unwrap();
    assert_eq!((config.scheme.name.as_str(), config.scheme.parameters.len()), ("raid0", 0));
}

#[test]
fn a_result_can_be_run_again_from_its_json() {
    let odd = [("fill", "0.12345678901234566"), ("speed", "3.3000000000000003"), ("seed", "9223372036854775807"), ("update", "rcw")];
    let config = on("adaptive-5p1", "raid5", &odd).unwrap();
    let mut result =
        serde_json::json!({ "schema": SCHEMA, "config": serde_json::to_value(&config).unwrap(), "requests": { "completed": 3 } });
    let file = Scratch::new("result.json", &serde_json::to_string_pretty(&result).unwrap());
    assert_eq!(Config::assemble(None, None, Some(&file.0), &[]).unwrap(), config);
    assert_eq!(Config::assemble(Some("adaptive-5p1"), Some("raid5"), Some(&file.0), &[]).unwrap(), config);
    let error = Config::assemble(Some("ssd1"), None, Some(&file.0), &[]).unwrap_err().to_string();
    assert!(error.ends_with("the whole device adaptive-5p1, but device ssd1 was also given: give only one of them"), "{error}");
    assert_eq!(serde_json::from_value::<Config>(result["config"].clone()).unwrap(), config);
    // One of another version too, if its keys are known.
    result["schema"] = 1.into();
    let file = Scratch::new("old.json", &serde_json::to_string_pretty(&result).unwrap());
    assert_eq!(Config::assemble(None, None, Some(&file.0), &[]).unwrap(), config);
    result["config"]["device"]["gc_hard"] = 2.into();
    let file = Scratch::new("older.json", &serde_json::to_string_pretty(&result).unwrap());
    let error = Config::assemble(None, None, Some(&file.0), &[]).unwrap_err().to_string();
    assert!(error.ends_with("unknown key gc_hard: it is now called gc_reserve_blocks"), "{error}");
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
        ("gc_policy", &["lru"]),
        ("wear_leveling", &["hybrid"]),
        ("wear_leveling_threshold", &["0"]),
        ("buffer_bytes_per_gib", &["-1", "1073741825", "0.5"]),
        ("buffer_bytes", &["-1", "1Gb", "0.1KiB"]),
        ("nvram_buffer_bytes", &["-1", "1099511627777"]),
        ("nvram_victim", &["newest"]),
        ("buffer_ns", &["-1"]),
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
        ("limit", &["-1", "9223372036854775808"]),
        ("speed", &["0", "-1", "inf", "nan"]),
        ("queue_depth", &["-1"]),
        ("fit", &["clip"]),
        ("space_bytes", &["1G"]),
        ("fill", &["1.01", "-0.1", "nan", "101%", "-1%"]),
        ("fill_bytes", &["-1"]),
        ("precondition", &["random", "random:", "random:0", "random:-1", "random:x", "random:inf", "random:1e3", "yes", "random:0.0"]),
        ("warmup", &["-1", "2.5", "s", "1 s", "-1s", "infs", "1e3s", "2.5 seconds"]),
        ("verify", &["2"]),
        ("verify_every", &["-1"]),
        ("drain", &["always"]),
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
            // What these refuse stands in the list above and in tests of their own.
            Kind::Text { .. } | Kind::List { .. } => {
                let has_test = ["name", "format", "fail", "rebuild"].contains(&key.name);
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
    assert_eq!(refusal(&[("gc_blocking_scope", "plane")]), "gc_blocking_scope = plane: allowed is none, lun, chip, channel");
    assert_eq!(refusal(&[("seed", "-1")]), "seed = -1: allowed is a whole number from 0");
    let text = on("tiny", "raid5", &[("update", "least")]).unwrap_err();
    assert_eq!(text, "update = least: allowed is fewest, rmw, rcw");
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
fn space_and_fill_are_checked_against_the_capacity() {
    let user = on("tiny", "raid5", &[]).unwrap();
    let user_bytes = user.build_scheme().unwrap().user_pages() * 4096;
    let (all, more) = (user_bytes.to_string(), (user_bytes + 1).to_string());
    assert!(on("tiny", "raid5", &[("space_bytes", &all), ("fill_bytes", &all)]).is_ok());
    assert_eq!(
        on("tiny", "raid5", &[("space_bytes", &more)]).unwrap_err(),
        format!("space_bytes = {more}: allowed is at most {all}, the user capacity of raid5 on tiny")
    );
    assert_eq!(
        on("tiny", "raid5", &[("fill_bytes", "8192"), ("space_bytes", "4096")]).unwrap_err(),
        "fill_bytes = 8192: allowed is at most 4096, the bytes of the logical space"
    );
    assert_eq!(refusal(&[("fill", "0.5"), ("fill_bytes", "4096")]), "fill = 0.5 and fill_bytes = 4096: allowed is only one of them");
}

#[test]
fn names_that_do_not_exist_come_with_the_nearest() {
    assert_eq!(refusal(&[("gc_treshold", "0.1")]), "unknown key gc_treshold; the nearest is gc_threshold in table device");
    assert_eq!(refusal(&[("gc_hard", "3")]), "unknown key gc_hard: it is now called gc_reserve_blocks");
    assert_eq!(refusal(&[("device.wear_spread", "3")]), "unknown key wear_spread: it is now called wear_leveling_threshold");
    let words = "allocation = semi_dynamic: allowed is static, dynamic_member, dynamic; semi_dynamic is now called dynamic_member";
    assert_eq!(refusal(&[("allocation", "semi_dynamic")]), words);
    assert_eq!(refusal(&[("trace", "x")]), "unknown key trace: docs/configuration.md lists all");
    assert!(refusal(&[("seed", "18446744073709551616")]).ends_with("allowed is a whole number from 0 to 9223372036854775807"));
    assert!(refusal(&[("seed", "x")]).ends_with("allowed is a whole number from 0"));
    assert_eq!(refusal(&[("run.sped", "2")]), "unknown key sped; the nearest is speed in table run");
    assert_eq!(refusal(&[("host.seed", "2")]), "host.seed: seed belongs to table run");
    assert_eq!(on("tiny", "raid5", &[("device.update", "rmw")]).unwrap_err(), "device.update: update belongs to table scheme");
    assert_eq!(refusal(&[("runs.seed", "2")]), "runs.seed: unknown table runs; the nearest is run; there are device, scheme, host, run");
    assert_eq!(refusal(&[("name", "x")]), "name is ambiguous: allowed are device.name and scheme.name");
    assert_eq!(
        refusal(&[("update", "rmw")]),
        "update is a parameter of raid4, raid5, cr5m, no-pc, fpc, not of raid0, whose parameters are: none"
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

#[test]
fn a_name_is_offered_only_if_it_is_near() {
    assert_eq!(refusal(&[("banana", "1")]), "unknown key banana: docs/configuration.md lists all");
    assert_eq!(refusal(&[("zz.seed", "1")]), "zz.seed: unknown table zz; there are device, scheme, host, run");
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
        ("sirf1", &[("groups", "1"), ("read", "least_busy")], "read = least_busy: has no effect here: allowed with groups from 2"),
        (
            "fpc",
            &[("update", "rcw"), ("fpc_cached_parity_free", "yes")],
            "fpc_cached_parity_free = yes: has no effect here: allowed with update = fewest or rmw",
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
    assert!(
        notes.contains(&"FILE, line 2, column 15: cmt_entries = 10: has no effect here: allowed with mapping = dftl".into()),
        "{notes:?}"
    );
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

/// What may die, in one unit for all schemes.
#[test]
fn survival_is_said_in_chips_and_channels() {
    let survives = |device: &str, scheme: &str, pairs: &[(&str, &str)]| {
        let config = on(device, scheme, pairs).unwrap();
        let survival = config.survival(&*config.build_scheme().unwrap());
        assert!(survival.chip || !survival.channel, "a channel is its chips");
        survival.text
    };
    let chips = ("member", "chip");
    assert_eq!(survives("ssd1", "raid0", &[]), "nothing");
    for entry in SCHEMES.iter().filter(|entry| matches!(entry.protects, Protects::Channel | Protects::Member) && !entry.has_window) {
        assert_eq!(survives("ssd1", entry.name, &[]), "any one channel", "{}", entry.name);
    }
    assert_eq!(survives("ssd1", "cr5m", &[]), "any one chip");
    assert_eq!(survives("ssd1", "raid5", &[chips]), "any one chip", "four chips of a stripe may be on one channel");
    assert_eq!(survives("ppc-4p1", "ppc", &[]), "any one channel", "a channel is a chip there");
    assert_eq!(survives("ssd1", "raid1", &[chips]), "any one channel", "twins are on the two halves of the channels");
    assert_eq!(
        survives("ssd1", "raid1", &[chips, ("mapping", "dftl")]),
        "any one chip",
        "both copies of a translation page may be on one channel"
    );
    assert_eq!(survives("ssd1", "raid1", &[("allocation", "dynamic")]), "any one channel");
    assert_eq!(survives("ssd1", "sirf1", &[chips]), "any one channel");
    assert_eq!(survives("ssd1", "sirf1", &[("groups", "1")]), "nothing");
    let early = survives("ssd1", "sirf1", &[("completes", "first_copy")]);
    assert_eq!(early, "any one channel, but for acknowledged writes of which one copy is not yet programmed");
    assert_eq!(survives("ssd1", "fra", &[]), "any one channel, but for pages whose parity is still to be made");
}

/// NVRAM is no DRAM, and has its overhead too.
#[test]
fn nvram_is_a_cost_of_its_own() {
    let offered = |device: &str, scheme: &str| json(listing::device(device, Some(scheme)).unwrap())["schemes"][scheme].clone();
    // 16 entries of a page, a bit for each of 4 strips, and the number of one of 235,929 stripes (18 bits).
    let ppc = offered("ppc-4p1", "ppc");
    let cache = (16 * (2048 * 8 + 4 + 18u64)).div_ceil(8);
    assert_eq!(ppc["nvram"], serde_json::json!({ "parity_cache": cache, "write_buffer": 32_768 }));
    assert_eq!(ppc["nvram_bytes"], 32_768 + cache);
    assert!(ppc["tables"].get("parity_cache").is_none() && ppc["tables"]["page_map"].is_u64());
    let raid5 = offered("ssd1", "raid5");
    assert_eq!((&raid5["nvram_bytes"], &raid5["nvram"]), (&0.into(), &serde_json::json!({})));
    assert_eq!(offered("ppc-4p1", "raid0")["nvram_bytes"], 32_768);

    let warnings = |scheme: &str, pairs: &[(&str, &str)]| on("tiny", scheme, pairs).unwrap().warnings().unwrap();
    let small = warnings("ppc", &[("page_bytes", "16KiB")]);
    assert!(
        small.len() == 1 && small[0].starts_with("parity_cache_bytes = 32768: the parity cache has only 2 entries of 16384 bytes, so "),
        "{small:?}"
    );
    assert!(warnings("ppc", &[]).is_empty() && warnings("raid5", &[("page_bytes", "16KiB")]).is_empty());
    assert!(warnings("no-pc", &[])[0].starts_with("no-pc without a write buffer in NVRAM (nvram_buffer_bytes = 0) is the same as raid5"));
    assert!(warnings("no-pc", &[("nvram_buffer_bytes", "32KiB")]).is_empty());
}

#[test]
fn errors_in_files_name_line_and_column() {
    let cases = [
        ("[device]\nchannels = = 4\n", "FILE, line 2, column 12: "),
        ("[device]\nchannels = 4\nchannels = 5\n", "FILE, line 3, column 1: duplicate key"),
        ("[run]\nseed = 1\n  fill = 2\n", "FILE, line 3, column 10: fill = 2: allowed is 0 to 1"),
        ("[run]\nfill = \"0.5\"\n", "FILE, line 2, column 8: fill = \"0.5\": allowed is 0 to 1"),
        ("[run]\nverify = \"true\"\n", "FILE, line 2, column 10: verify = \"true\": allowed is true or false"),
        ("[run]\nseed = 1.0\n", "FILE, line 2, column 8: seed = 1.0: allowed is a whole number from 0"),
        ("[run]\nseed = [1]\n", "FILE, line 2, column 8: seed: allowed is a text, a number, true or false, or a list of texts"),
        ("# comment\n[run]\nsed = 1\n", "FILE, line 3, column 1: unknown key sed; the nearest is seed in table run"),
        ("[run]\ngc_reserve_blocks = 3\n", "FILE, line 2, column 1: run.gc_reserve_blocks: gc_reserve_blocks belongs to table device"),
        ("[rnu]\nseed = 1\n", "FILE, line 1, column 2: unknown table rnu; the nearest is run; there are device, scheme, host, run"),
        ("seed = 1\n", "FILE, line 1, column 1: seed is outside any table; put it under [run]"),
        ("sede = 1\n", "FILE, line 1, column 1: sede is outside any table; the tables are device, scheme, host, run"),
        ("[scheme]\nupdate = \"least\"\n", "FILE, line 2, column 10: update = \"least\": allowed is fewest, rmw, rcw"),
        ("{ \"config\": { \"run\": { \"seed\": } } }", "FILE, line 1, column 32: expected value"),
        ("{ \"config\": { \"run\": { \"seed\": \"1\" } } }", "FILE: config: seed = \"1\": allowed is a whole number from 0"),
        ("{ \"config\": { \"run\": { \"sede\": 1 } } }", "FILE: config: unknown key sede; the nearest is seed in table run"),
        (
            "{ \"config\": { \"run\": { \"seed\": null } } }",
            "FILE: config: seed: allowed is a text, a number, true or false, or a list of texts",
        ),
        ("{ \"run\": 1 }", "FILE: a JSON file must be a result, with an object config"),
    ];
    for (number, (text, expected)) in cases.iter().enumerate() {
        let error = file_refusal(&format!("error-{number}"), text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let file = Scratch::new("scheme.toml", "[scheme]\nname = \"raid6\"\n");
    let error = Config::assemble(Some("tiny"), None, Some(&file.0), &[]).unwrap_err().to_string();
    let error = error.replace(file.text(), "FILE");
    assert!(error.starts_with("FILE, line 2, column 8: unknown scheme raid6; the nearest is raid0"), "{error}");
    let error = Config::assemble(None, None, Some(Path::new("no/such.toml")), &[]).unwrap_err().to_string();
    assert!(one_line(error).starts_with("no/such.toml: cannot be read: "));
}

#[test]
fn a_device_may_be_a_file() {
    let text = PRESETS.iter().find(|preset| preset.name == "tiny").unwrap().text;
    let file = Scratch::new("mine.toml", &text.replace("name = \"tiny\"", "name = \"mine\"").replace("channels = 4 ", "channels = 6 "));
    let config = on(file.text(), "raid5", &[]).unwrap();
    assert_eq!((config.device.name.as_str(), config.device.channels), ("mine", 6));

    let part = Scratch::new("part.toml", &text.replace("erase_ns =", "# erase_ns ="));
    let refusal = |device: &str, pairs: &[(&str, &str)]| one_line(on(device, "raid5", pairs).unwrap_err()).replace(device, "FILE");
    assert_eq!(refusal(part.text(), &[]), "FILE: device.erase_ns is missing; it has no default: Array time of a block erase.");
    assert_eq!(Device::load(part.text()).unwrap_err().to_string(), refusal(part.text(), &[]).replace("FILE", part.text()));
    assert!(on(part.text(), "raid5", &[("erase_ns", "2ms")]).is_ok(), "what is missing may be given elsewhere");
    let few =
        Scratch::new("few.toml", "[device]\nname = \"few\"\nchannels = 4\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 2\n");
    let lacks = "FILE: table device lacks blocks_per_plane, pages_per_block, page_bytes, read_ns, program_ns, erase_ns, bus_ps_per_byte, read_command_ns, \
                 program_command_ns, erase_command_ns, which have no defaults";
    assert_eq!(refusal(few.text(), &[]), lacks);
    for text in ["", "# nothing\n", "[device]\n"] {
        let empty = Scratch::new("empty.toml", text);
        for error in [refusal(empty.text(), &[]), Device::load(empty.text()).unwrap_err().to_string().replace(empty.text(), "FILE")] {
            assert!(error.starts_with("FILE: no device: table device lacks name, channels, "), "{error}");
        }
    }
    let wide = Scratch::new("wide.toml", &format!("{text}[run]\nseed = 1\n"));
    let error = on(wide.text(), "raid5", &[]).unwrap_err();
    assert!(error.ends_with("a device file contains only the table device, not run"), "{error}");
    assert!(on("no/such.toml", "raid5", &[]).unwrap_err().starts_with("no/such.toml: cannot be read: "));
}

/// The rule against the sentence it stands for, counted block by block.
#[test]
fn the_capacity_rule_counts_blocks() {
    for planes in 1..5 {
        for gc_reserve_blocks in 2..5 {
            let kept_for_the_gc = planes * (gc_reserve_blocks - 1);
            let open_gc_blocks = planes;
            let blocks = planes * 8 - kept_for_the_gc - open_gc_blocks;
            assert_eq!(most_logical_pages(planes, 8, 16, gc_reserve_blocks), u64::from((blocks - 2) * 16));
        }
    }
    assert_eq!(most_logical_pages(1, 8, 16, 8), 0);
}

#[test]
fn a_device_too_full_is_refused_with_the_cure() {
    let small = [("blocks_per_plane", "8"), ("pages_per_block", "16"), ("planes_per_die", "1")];
    let with = |pairs: &[(&str, &str)]| on("tiny", "raid0", &[&small, pairs].concat());
    // 8 blocks of 16 pages; 2 blocks for GC, 2 to spare: 64 of 128 pages.
    assert_eq!(
        with(&[]).unwrap_err(),
        "over_provisioning = 0.1: 1 x 8 blocks of 16 pages would hold 115 logical pages; GC can always make progress with 1 to 64 (gc_reserve_blocks = 2 blocks of each plane and two more are kept free); allowed is over_provisioning from 0.492188"
    );
    let config = with(&[("over_provisioning", "0.492188")]).unwrap();
    assert_eq!(config.device.pages_per_member(), 64);
    assert!(with(&[("over_provisioning", "0.492187")]).is_err(), "one page too many");
    // Too little is left below one of 128 pages: 1 / 128 is 0.0078125.
    let error = with(&[("over_provisioning", "0.9999999")]).unwrap_err();
    assert!(error.contains("would hold 0 logical pages") && error.ends_with("; allowed is over_provisioning up to 0.992187"), "{error}");
    assert_eq!(with(&[("over_provisioning", "0.992187")]).unwrap().device.pages_per_member(), 1);
    assert!(with(&[("over_provisioning", "0.992188")]).unwrap_err().ends_with("up to 0.992187"));
    let text = with(&[("gc_reserve_blocks", "6")]).unwrap_err();
    assert!(text.ends_with("no over_provisioning helps: allowed is a smaller gc_reserve_blocks or a larger blocks_per_plane"), "{text}");
    assert!(with(&[("over_provisioning", "0.5"), ("gc_threshold", "0.99")]).is_ok(), "gc_threshold is never looked at");
}

/// ssd1 has 3,774,873 logical pages in each of 4 members: 3,687 translation pages of 1,024 entries. Each member stores twice as many, its own and
/// its neighbour's, which are to fill three quarters of 154 blocks; two more blocks, spread over 16 planes, and gc_reserve_blocks = 2 of each make 12.
#[test]
fn dftl_sets_blocks_apart_and_keeps_two_tables() {
    let config = on("ssd1", "raid5", &[("mapping", "dftl")]).unwrap();
    let derived = config.device.derived();
    let tables = derived.translation.unwrap();
    assert_eq!((tables.translation_pages, tables.entries_per_page, tables.blocks_per_plane), (4 * 3687, 1024, 12));
    assert_eq!((tables.gtd_bytes, tables.cmt_bytes), (4 * 4 * 2 * 3687, 65_536 * 8));
    assert_eq!(derived.table_bytes, tables.gtd_bytes + tables.cmt_bytes);
    let page = on("ssd1", "raid5", &[]).unwrap();
    assert_eq!(page.device.derived().logical_pages, derived.logical_pages, "they come out of the over-provisioning");
    assert_eq!(
        refusal(&[("mapping", "dftl"), ("channels", "1")]),
        "mapping = dftl: allowed with at least 2 members, as each translation page is stored on two"
    );
    // Of CR5M's drive, entries of 8 bytes: 2,831,155 strips of each member and 2^20 pages of its mirror chip, 512 in a page.
    let cr5m = on("ssd1", "cr5m", &[("mapping", "dftl")]).unwrap().device.derived().translation.unwrap();
    assert_eq!((cr5m.translation_pages, cr5m.entries_per_page), (4 * (5530 + 2048), 512));
    assert_eq!((cr5m.gtd_bytes, cr5m.cmt_bytes), (4 * 4 * 2 * (5530 + 2048), 65_536 * 12));
    let small = refusal(&[("mapping", "dftl"), ("blocks_per_plane", "8"), ("gc_reserve_blocks", "4")]);
    assert_eq!(
        small,
        "mapping = dftl: 2 translation pages in each member need 6 blocks of each plane, and data at least 5: allowed is page, or blocks_per_plane from 11"
    );
}

/// A chip of 4,096 blocks of 64 pages, of which 160 are log blocks and one is for merges: at most 3,935 logical blocks; 10 % off leave 3,686 whole ones.
#[test]
fn hybrid_mapping_needs_log_blocks_and_one_for_merges() {
    let derived = |pairs: &[(&str, &str)]| on("ppc-4p1", "raid5", pairs).unwrap().device.derived();
    let bast = derived(&[("mapping", "bast")]);
    assert_eq!((bast.pages_per_member, bast.table_bytes), (3686 * 64, 4 * 5 * (3686 + 160 * 64)));
    assert_eq!(derived(&[]).table_bytes, 4 * derived(&[]).logical_pages);
    assert_eq!(derived(&[("mapping", "fast"), ("over_provisioning", "0.039306")]).pages_per_member, 3935 * 64, "the most");
    let refusal = |scheme: &str, pairs: &[(&str, &str)]| one_line(on("ppc-4p1", scheme, pairs).unwrap_err());
    assert_eq!(
        one_line(on("tiny", "raid5", &[("mapping", "bast")]).unwrap_err()),
        "over_provisioning = 0.1: 57 logical blocks, 80 log blocks and one for merges add up to 138, but a plane has 64: allowed is a larger \
         blocks_per_plane, or fewer log_blocks"
    );
    assert_eq!(
        refusal("raid5", &[("mapping", "bast"), ("over_provisioning", "0.0390")]),
        "over_provisioning = 0.039: 3936 logical blocks, 160 log blocks and one for merges add up to 4097, but a plane has 4096: allowed is \
         over_provisioning from 0.039063, or fewer log_blocks"
    );
    assert_eq!(
        refusal("raid5", &[("mapping", "fast"), ("log_blocks", "3"), ("planes_per_die", "2")]),
        "log_blocks = 3: mapping = fast needs 2 in each of the 2 planes of a chip, allowed is from 4"
    );
    assert_eq!(
        refusal("raid5", &[("mapping", "bast"), ("multi_plane", "true")]),
        "multi_plane = true: allowed is false with mapping = bast, where pages lie at fixed offsets in blocks"
    );
    assert_eq!(
        refusal("ppc", &[("mapping", "bast"), ("gc_semivalid", "move")]),
        "mapping = bast: ppc with gc_semivalid = move needs GC to move semivalid pages, whose offsets the current versions occupy: allowed is page, dftl"
    );
    assert_eq!(
        refusal("raid5", &[("mapping", "bast"), ("fail", "block:0.0.0.0.1@1s")]),
        "fail = block:0.0.0.0.1@1s: blocks are not retired with mapping = bast: allowed are larger parts and single pages, or mapping = page, dftl"
    );
    for scheme in SCHEMES.iter().filter(|entry| entry.mirror_chips > 0 || entry.mirror_groups.is_some()).map(|entry| entry.name) {
        let text = one_line(on("ssd1", scheme, &[("mapping", "bast"), ("log_blocks", "640")]).unwrap_err());
        assert!(text.starts_with(&format!("mapping = bast: {scheme} ")) && text.ends_with(": allowed is page, dftl"), "{text}");
    }
}

#[test]
fn mirror_chips_hold_no_data() {
    let offered = |pairs: &[(&str, &str)]| on("ssd1", "raid5", pairs).unwrap().device;
    let (all, fewer) = (offered(&[]), offered(&[("mirror_chips", "1")]));
    assert_eq!((all.planes_per_member(), fewer.planes_per_member()), (16, 12));
    assert_eq!(fewer.pages_per_member(), 3 * (1 << 20) * 9 / 10, "90 % of three chips of 2^20 pages");
    assert_eq!(fewer.derived().raw_bytes, all.derived().raw_bytes);
    assert_eq!(all.derived().spare_bytes, all.derived().raw_bytes / 4, "a spare chip for each four");
    let refusal = |pairs: &[(&str, &str)]| on("ssd1", "raid5", pairs).unwrap_err();
    assert_eq!(
        refusal(&[("mirror_chips", "4")]),
        "raid5 on ssd1: mirror_chips = 4: at least one chip of each channel must hold data: allowed are mirror_chips to \
         3, or chips_per_channel from 5"
    );
    assert_eq!(
        refusal(&[("mirror_chips", "1"), ("member", "chip")]),
        "raid5 on ssd1: mirror_chips = 1: allowed with member = channel only"
    );
    assert_eq!(
        refusal(&[("mirror_chips", "1"), ("allocation", "static")]),
        "mirror_chips = 1: a strip and its copy lie in one member: allowed with ftl = member and allocation = dynamic_member or dynamic"
    );
}

#[test]
fn space_domains_follow_ftl_and_allocation() {
    let shape = |pairs: &[(&str, &str)]| {
        let config = on("ssd1", "raid0", pairs).unwrap();
        let (device, placement) = (&config.device, config.placement(&*config.build_scheme().unwrap()));
        let domain = device.space_domain(placement);
        (domain.planes, domain.logical_pages, device.pages_per_member())
    };
    // ssd1: 16 planes of 262,144 pages a channel. 90 % is 3,774,873.6 pages, and 235,929.6 a plane.
    assert_eq!(shape(&[]), (16, 3_774_873, 3_774_873));
    assert_eq!(shape(&[("allocation", "static")]), (1, 235_929, 235_929 * 16));
    assert_eq!(shape(&[("ftl", "member"), ("allocation", "dynamic")]), (16, 3_774_873, 3_774_873));
    assert_eq!(shape(&[("ftl", "device")]), (16, 3_774_873, 3_774_873), "semi-dynamic: within the member");
    assert_eq!(shape(&[("ftl", "group"), ("allocation", "dynamic")]), (32, 2 * 3_774_873, 3_774_873));
    assert_eq!(shape(&[("ftl", "device"), ("allocation", "dynamic")]), (64, 4 * 3_774_873, 3_774_873));
    // A chip: 4 planes, 943,718.4 pages.
    assert_eq!(shape(&[("member", "chip")]), (4, 943_718, 943_718));
    // 2 of 4096 blocks of each plane, and 2 of the member's 65,536: 519 parts per million.
    assert!(on("ssd1", "raid0", &[("over_provisioning", "0")]).unwrap_err().ends_with("allowed is over_provisioning from 0.000519"));
    assert!(on("ssd1", "raid0", &[("over_provisioning", "0.000519")]).is_ok());
}

#[test]
fn strips_stay_on_their_members_where_the_scheme_needs_it() {
    let dynamic = ("allocation", "dynamic");
    for (scheme, allowed) in
        [("raid0", "auto, member, group, device"), ("raid1", "auto, member, group"), ("raid4", "auto, member"), ("raid5", "auto, member")]
    {
        for ftl in ["auto", "member", "group", "device"] {
            let outcome = on("ssd1", scheme, &[("ftl", ftl), dynamic]);
            if allowed.split(", ").any(|word| word == ftl) {
                assert!(outcome.is_ok(), "{outcome:?}");
            } else {
                let text = outcome.unwrap_err();
                let (start, end) = (format!("ftl = {ftl}: {scheme} needs each strip on its own member"), format!("allowed is {allowed}"));
                assert!(text.starts_with(&start) && text.ends_with(&end), "{text}");
            }
        }
    }
    assert_eq!(
        on("ssd1", "raid0", &[("channels", "3"), ("ftl", "group")]).unwrap_err(),
        "ftl = group: two halves need an even number of channels, and ssd1 has 3"
    );
    assert!(on("tiny", "raid5", &[("channels", "2")]).unwrap_err().starts_with("raid5 on tiny: "));
}

#[test]
fn an_ftl_instance_owns_what_the_scheme_allows() {
    let placed = |scheme: &str, pairs: &[(&str, &str)]| {
        let placed = listing::config(on("ssd1", scheme, pairs).unwrap()).unwrap().placement;
        format!("{} {} {}", placed.allocation, placed.ftl, placed.instances)
    };
    let dynamic = ("allocation", "dynamic");
    for scheme in ["raid0", "raid1", "raid5"] {
        assert_eq!(placed(scheme, &[]), "dynamic_member member 4");
        assert_eq!(placed(scheme, &[("allocation", "static")]), "static member 4");
        assert_eq!(placed(scheme, &[dynamic, ("ftl", "member")]), "dynamic_member member 4", "which is what it comes to");
    }
    assert_eq!(placed("raid0", &[dynamic]), "dynamic device 1");
    assert_eq!(placed("raid0", &[dynamic, ("channels", "3")]), "dynamic device 1");
    assert_eq!(placed("raid0", &[dynamic, ("ftl", "group")]), "dynamic group 2");
    assert_eq!(placed("raid1", &[dynamic]), "dynamic group 2");
    let chips = [dynamic, ("member", "chip"), ("channels", "3")];
    assert_eq!(placed("raid1", &chips), "dynamic_member member 12", "halves of three channels are none");
    assert_eq!(placed("raid4", &[dynamic]), "dynamic_member member 4");
    // SIRF-1's layout names the group, so that is where semi-dynamic placement is free too.
    assert_eq!(placed("sirf1", &[]), "dynamic group 2");
    assert_eq!(placed("sirf1", &[dynamic, ("groups", "4")]), "dynamic group 4");
    assert_eq!(placed("sirf1", &[("groups", "1")]), "dynamic device 1");
    assert_eq!(placed("sirf1", &[("ftl", "group"), ("member", "chip")]), "dynamic group 2");
    assert_eq!(placed("sirf1", &[("ftl", "member")]), "dynamic_member member 4");
    assert_eq!(placed("sirf1", &[("allocation", "static")]), "static member 4");
    assert!(on("ssd1", "sirf1", &[("ftl", "device")]).unwrap_err().ends_with("allowed is auto, member, group"));
}

/// SPEC 2.7 ruling 9.
#[test]
fn mirror_groups_are_of_whole_channels() {
    let refusal = |pairs: &[(&str, &str)]| on("tiny", "sirf1", pairs).unwrap_err();
    assert_eq!(
        refusal(&[("channels", "5")]),
        "sirf1 on tiny: groups = 2: the device has 5 members, which cannot be divided evenly into 2 groups"
    );
    assert_eq!(
        refusal(&[("groups", "3")]),
        "sirf1 on tiny: groups = 3: the device has 4 members, which cannot be divided evenly into 3 groups"
    );
    // Six chips, yet on three channels.
    let chips = [("member", "chip"), ("channels", "3"), ("chips_per_channel", "2")];
    assert_eq!(refusal(&chips), "sirf1 on tiny: 3 channels cannot be divided evenly into 2 mirror groups");
    assert_eq!(refusal(&[&chips[..], &[("allocation", "static")]].concat()), refusal(&chips));
    assert_eq!(refusal(&[("groups", "0")]), "groups = 0: allowed is a whole number from 1 to 64");
    assert_eq!(refusal(&[("groups", "two")]), "groups = two: allowed is a whole number from 1 to 64");
    assert_eq!(refusal(&[("read", "both")]), "read = both: allowed is round_robin, least_busy");
    assert!(on("tiny", "sirf1", &[("groups", "4"), ("member", "chip"), ("chips_per_channel", "2")]).is_ok());
    // Numbers are numbers in JSON and in TOML, as elsewhere.
    let config = on("tiny", "sirf1", &[("groups", "4")]).unwrap();
    let json = serde_json::json!({ "config": serde_json::to_value(&config).unwrap() });
    assert_eq!(json["config"]["scheme"]["groups"], 4);
    let file = Scratch::new("groups.json", &json.to_string());
    assert_eq!(Config::assemble(None, None, Some(&file.0), &[]).unwrap(), config);
    let file = Scratch::new("groups.toml", "[scheme]\nname = \"sirf1\"\ngroups = \"2\"\n");
    let text = Config::assemble(Some("tiny"), None, Some(&file.0), &[]).unwrap_err().to_string();
    assert!(text.ends_with("line 3, column 10: groups = \"2\": allowed is a whole number from 1 to 64"), "{text}");
}

#[test]
fn a_threshold_above_what_the_fill_leaves_is_warned_of() {
    let warnings = |pairs: &[(&str, &str)]| on("ssd1", "raid5", pairs).unwrap().warnings().unwrap();
    // 30 % against 1 - 0.5 x 0.9 = 55 %, and 1 - 0.9 x 0.9 = 19 %.
    assert!(warnings(&[("fill", "0.5")]).is_empty());
    let full = warnings(&[("fill", "0.9")]);
    assert!(full.len() == 1 && full[0].starts_with("gc_threshold = 0.3: ") && full[0].contains("30.0 %") && full[0].contains("19.0 %"));
    // Mirror chips hold none of it: 1 - 0.7 x 0.9 = 37 % of the others.
    let mirrored = on("ssd1", "cr5m", &[("fill", "0.7"), ("gc_threshold", "0.4")]).unwrap().warnings().unwrap();
    assert!(mirrored.len() == 1 && mirrored[0].contains("40.0 %") && mirrored[0].contains("37.0 %"), "{mirrored:?}");
    let user_bytes = on("ssd1", "raid5", &[]).unwrap().build_scheme().unwrap().user_pages() * 4096;
    assert_eq!(warnings(&[("fill_bytes", &(user_bytes / 10 * 9).to_string())]), full);
    assert!(warnings(&[("fill", "0.9"), ("space_bytes", &(user_bytes / 2).to_string())]).is_empty(), "a share of the space");
}

#[test]
fn texts_with_an_inner_form_are_read() {
    assert_eq!("none".parse(), Ok(Precondition::None));
    assert_eq!("random:2.5".parse(), Ok(Precondition::Random { most_spaces: 2.5 }));
    assert_eq!("1000".parse(), Ok(Warmup::Requests(1000)));
    assert_eq!("2.5s".parse(), Ok(Warmup::Ns(2_500_000_000)));
    assert_eq!("9007199.254740993s".parse(), Ok(Warmup::Ns((1 << 53) + 1)), "to the nanosecond");
    assert_eq!("100ms".parse(), Ok(Warmup::Ns(100_000_000)));
    assert!("10000000000s".parse::<Warmup>().is_err(), "292 years are enough");
}

#[test]
fn every_preset_is_what_its_name_says_and_serves_raid0() {
    for preset in PRESETS {
        let config = on(preset.name, "raid0", &[]).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(config.device.name, preset.name);
        let user = config.build_scheme().unwrap().user_pages();
        assert_eq!(user, u64::from(config.device.members()) * u64::from(config.device.pages_per_member()), "{}", preset.name);
        let gib = config.device.derived().raw_bytes >> 30;
        if let Some((channels, capacity)) = preset.name.strip_prefix("sirf-").and_then(|rest| rest.split_once('c')) {
            // Other page sizes leave all else as it is.
            let (capacity, page_kib) = capacity.split_once('-').unwrap_or((capacity, "4k"));
            let gib = gib * 4096 / u64::from(config.device.page_bytes);
            assert_eq!((config.device.channels.to_string(), gib.to_string()), (channels.into(), capacity.into()));
            assert_eq!(format!("{}k", config.device.page_bytes >> 10), page_kib);
            // Table V: 0.5 MB of DRAM for each GB of flash with pages of 4 KB.
            assert_eq!(config.device.derived().buffer_bytes, gib << 19, "{}", preset.name);
        } else {
            assert_eq!(config.device.derived().buffer_bytes, 0, "{}", preset.name);
        }
        // SPEC 4.3.
        let nvram_bytes = if preset.name.starts_with("ppc-") { 32 << 10 } else { 0 };
        assert_eq!(config.device.derived().nvram_buffer_bytes, nvram_bytes, "{}", preset.name);
        if let Some((data, _)) = preset.name.rsplit_once('-').and_then(|(_, width)| width.split_once("p1")) {
            assert_eq!(on(preset.name, "raid5", &[]).unwrap().build_scheme().unwrap().width().to_string(), data);
        }
        let name = format!("devices/{}.toml", preset.name);
        assert!(preset.about.len() < 120 && root().join(name).is_file());
    }
    let gib = |name: &str| Device::load(name).unwrap().derived().raw_bytes >> 30;
    assert_eq!(["ssd1", "ssd2", "ssd3", "adaptive-5p1", "adaptive-7p1"].map(gib), [64, 128, 128, 48, 64]);
    let files = std::fs::read_dir(root().join("devices")).unwrap().count();
    assert_eq!(files, PRESETS.len(), "a file under devices/ is not in the list");
}

#[test]
fn listings_carry_the_promised_keys() {
    let devices = json(listing::devices());
    assert_eq!(devices[0]["name"], "ssd1");
    assert!(devices[0]["about"].is_string());

    let ssd1 = json(listing::device("ssd1", None).unwrap());
    assert_eq!((&ssd1["page_bytes"], &ssd1["physical_pages"]), (&4096.into(), &16_777_216.into()));
    assert_eq!(ssd1["raw_bytes"], 1u64 << 36);
    assert_eq!(ssd1["table_bytes"], 4 * 4 * 3_774_873);
    let raid5 = &ssd1["schemes"]["raid5"];
    assert_eq!((&raid5["user_pages"], &raid5["user_bytes"]), (&(3 * 3_774_873).into(), &(3 * 3_774_873u64 * 4096).into()));
    assert_eq!(raid5["reserved_bytes"], (1u64 << 36) - 3 * 3_774_873 * 4096);
    assert_eq!(raid5["redundancy_bytes"], 3_774_873 * 4096u64, "the parity");
    let user_bytes = 3 * 3_774_873 * 4096u64;
    assert_eq!(raid5["redundancy_share"], 3_774_873.0 / 16_777_216.0);
    assert_eq!(raid5["raw_per_user_byte"], (1u64 << 36) as f64 / user_bytes as f64);
    assert_eq!((&raid5["table_bytes"], &raid5["tables"]["page_map"]), (&ssd1["table_bytes"], &ssd1["table_bytes"]));
    assert_eq!(ssd1["schemes"]["raid0"]["redundancy_bytes"], 0);
    // The paper's example of 64 GB: a mapping table of 96 MB and a mirror table of 32 MB. It trades a data chip a channel for the mirror.
    let cr5m = &ssd1["schemes"]["cr5m"];
    let tables = serde_json::json!({ "extended_mapping_table": 96u64 << 20, "mirror_table": 32u64 << 20 });
    assert_eq!((&cr5m["tables"], &cr5m["table_bytes"]), (&tables, &(128u64 << 20).into()));
    assert_eq!(cr5m["user_bytes"], 3 * 2_831_155 * 4096u64, "SPEC 1.10 ruling 16: three of four strips of 90 % of the data chips");
    assert_eq!(ssd1["schemes"]["sirf1"]["redundancy_bytes"], 2 * 3_774_873 * 4096u64);
    assert_eq!(ssd1["schemes"].as_object().unwrap().len(), SCHEMES.len());
    assert_eq!(ssd1["device"]["gc_threshold"], 0.3);

    let one = json(listing::device("ssd1", Some("raid1")).unwrap());
    assert_eq!(one["schemes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["raid1"]);
    let single = json(listing::device("sirf-1c64", None).unwrap());
    assert!(single["schemes"]["raid5"]["refused"].as_str().unwrap().starts_with("raid5 on sirf-1c64: "), "{single}");
    assert!(single["schemes"]["raid0"]["user_pages"].is_u64());
    assert!(listing::device("ssd1", Some("raid9")).is_err() && listing::device("ssd9", None).is_err());

    let schemes = json(listing::schemes(None).unwrap());
    assert_eq!(schemes.as_array().unwrap().len(), SCHEMES.len());
    let raid4 = &json(listing::schemes(Some("raid4")).unwrap())[0];
    let update = serde_json::json!(["fewest", "rmw", "rcw"]);
    assert_eq!((&raid4["protects"], &raid4["parameters"][0]["choices"]), (&"member".into(), &update));
    assert_eq!(raid4["parameters"][0]["default"], "fewest");
    assert!(["name", "title", "about", "members"].iter().all(|key| raid4[key].is_string()));
    assert!(listing::schemes(Some("raid9")).is_err());

    let settings = json(listing::settings());
    let keys = TABLES.iter().map(|table| table.keys.len()).sum::<usize>();
    assert_eq!(settings.as_array().unwrap().len(), keys);
}

#[test]
fn keys_are_those_of_a_serialised_configuration() {
    let config = serde_json::to_value(on("tiny", "raid0", &[]).unwrap()).unwrap();
    let tables: Vec<_> = config.as_object().unwrap().iter().collect();
    assert_eq!(tables.len(), TABLES.len());
    let mut seen = Vec::new();
    for ((name, values), table) in tables.into_iter().zip(&TABLES) {
        assert_eq!(name, table.name);
        let keys: Vec<_> = values.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, table.keys.iter().map(|key| key.name).collect::<Vec<_>>());
        seen.extend(keys);
    }
    let parameters = SCHEMES.iter().flat_map(|entry| entry.parameters).map(|parameter| parameter.name);
    assert!(parameters.into_iter().all(|parameter| !seen.contains(&parameter)), "a parameter has the name of a key");
    seen.retain(|key| *key != "name");
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all, "a bare key must be enough");
}

#[test]
fn the_document_is_up_to_date() {
    crate::support::committed::check_file("config::", "docs/configuration.md", &reference_markdown());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn a_buffer_has_whole_pages_that_it_can_hold() {
    let pages = |pairs: &[(&str, &str)]| on("tiny", "raid0", pairs).unwrap().device.buffer_pages();
    // 128 MiB of flash.
    assert_eq!(pages(&[("buffer_bytes_per_gib", "524288")]), 16);
    assert_eq!(pages(&[("buffer_bytes_per_gib", "524288"), ("buffer_bytes", "12287")]), 2, "the fixed size counts, whole pages of it");
    assert_eq!(pages(&[]), 0);
    assert_eq!(
        refusal(&[("buffer_bytes", "4095")]),
        "buffer_bytes = 4095: gives a buffer of 4095 bytes, allowed is at least one page (4096 bytes)"
    );
    assert_eq!(
        refusal(&[("buffer_bytes_per_gib", "8")]),
        "buffer_bytes_per_gib = 8: gives a buffer of 1 bytes, allowed is at least one page (4096 bytes)"
    );
    assert_eq!(
        refusal(&[("buffer_bytes", "1000000"), ("page_bytes", "65536")]),
        "buffer_bytes = 1000000: allowed is 0 with page_bytes = 65536; a buffer supports pages of at most 32768 bytes"
    );
    assert_eq!(pages(&[("buffer_bytes", "65536"), ("page_bytes", "32768")]), 2);
    assert_eq!(pages(&[("nvram_buffer_bytes", "12287")]), 2);
    assert_eq!(
        refusal(&[("nvram_buffer_bytes", "4095")]),
        "nvram_buffer_bytes = 4095: gives a buffer of 4095 bytes, allowed is at least one page (4096 bytes)"
    );
    let both = "nvram_buffer_bytes = 8192: allowed beside a buffer in DRAM (buffer_bytes, buffer_bytes_per_gib) is 0";
    assert_eq!(refusal(&[("nvram_buffer_bytes", "8192"), ("buffer_bytes", "8192")]), both);
    assert_eq!(refusal(&[("nvram_buffer_bytes", "8192"), ("buffer_bytes_per_gib", "8")]), both);
}
