//! Where settings come from: precedence, errors in files, devices as files, results that are run again.

use super::{Scratch, file_refusal, on, one_line, overrides};
use flashraid_sim::config::{Device, Host, Sheet};
use flashraid_sim::presets::PRESETS;
use flashraid_sim::{Config, SCHEMA};
use std::path::Path;

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
fn errors_in_files_name_line_and_column() {
    let cases = [
        ("[device]\nchannels = = 4\n", "FILE:2:12: "),
        ("[device]\nchannels = 4\nchannels = 5\n", "FILE:3:1: duplicate key"),
        ("[run]\nseed = 1\n  fill = 2\n", "FILE:3:10: fill = 2: allowed is 0 to 1"),
        ("[run]\nfill = \"0.5\"\n", "FILE:2:8: fill = \"0.5\": allowed is 0 to 1"),
        ("[run]\nverify = \"true\"\n", "FILE:2:10: verify = \"true\": allowed is true or false"),
        ("[run]\nseed = 1.0\n", "FILE:2:8: seed = 1.0: allowed is a whole number from 0"),
        ("[run]\nseed = [true]\n", "FILE:2:8: seed: allowed is a text, a number, true or false, or a list of texts or numbers"),
        ("# comment\n[run]\nsed = 1\n", "FILE:3:1: unknown key sed; the nearest is seed in table run"),
        ("[run]\ngc_reserve_blocks = 3\n", "FILE:2:1: run.gc_reserve_blocks: gc_reserve_blocks belongs to table device"),
        ("[rnu]\nseed = 1\n", "FILE:1:2: unknown table rnu; the nearest is run; there are device, array, scheme, host, run"),
        ("seed = 1\n", "FILE:1:1: seed is outside any table; put it under [run]"),
        ("sede = 1\n", "FILE:1:1: sede is outside any table; the tables are device, array, scheme, host, run"),
        ("[[sheet]]\nsource = \"x\"\n", "FILE:1:3: sheet: allowed is one table, [sheet]"),
        ("run = 1\n", "FILE:1:1: run: allowed is one table, [run]"),
        ("[scheme]\nupdate = \"least\"\n", "FILE:2:10: update = \"least\": allowed is fewest, rmw, rcw"),
        ("{ \"config\": { \"run\": { \"seed\": } } }", "FILE:1:32: expected value"),
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
    let file = Scratch::new("scheme.toml", "[scheme]\nname = \"raid50\"\n");
    let error = Config::assemble(Some("tiny"), None, Some(&file.0), &[]).unwrap_err().to_string();
    let error = error.replace(file.text(), "FILE");
    assert!(error.starts_with("FILE:2:8: unknown scheme raid50; the nearest is raid5"), "{error}");
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
    assert!(error.ends_with("the tables device, array and sheet, and host.device_queue_depth, not run"), "{error}");
    let queued = |key: &str| Scratch::new("queued.toml", &format!("{text}[host]\n{key}\n"));
    assert_eq!(on(queued("device_queue_depth = 8").text(), "raid5", &[]).unwrap().host.device_queue_depth, 8);
    assert_eq!(Host::load(queued("device_queue_depth = 8").text()).unwrap().device_queue_depth, 8);
    let error = on(queued("chunk_units = 2").text(), "raid5", &[]).unwrap_err();
    assert!(error.ends_with("and host.device_queue_depth, not host.chunk_units"), "{error}");
    assert!(on("no/such.toml", "raid5", &[]).unwrap_err().starts_with("no/such.toml: cannot be read: "));
    let stated =
        Scratch::new("stated.toml", &format!("{text}[sheet]\nsource = \"x\"\nmixed_qd256_steady_iops = 0x10\nwrite_amplification = 4\n"));
    assert_eq!(on(stated.text(), "raid5", &[]), on("tiny", "raid5", &[]), "no run depends on the sheet");
    let sheet = Sheet::load(stated.text()).unwrap().unwrap();
    assert_eq!((sheet.figures["mixed_qd256_steady_iops"], sheet.figures["write_amplification"]), (16.0, 4.0));
    assert_eq!(Sheet::load("tiny"), Ok(None));
}
