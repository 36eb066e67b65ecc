//! Presets, listings, the keys of a configuration, and the document.

use super::{json, on, root};
use flashraid_redundancy::SCHEMES;
use flashraid_sim::config::{Device, TABLES, reference_markdown};
use flashraid_sim::listing;
use flashraid_sim::presets::PRESETS;

#[test]
fn every_preset_is_what_its_name_says_and_serves_raid0() {
    for preset in PRESETS {
        let config = on(preset.name, "raid0", &[]).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(config.device.name, preset.name);
        let user = config.build_scheme().unwrap().user_pages();
        assert_eq!(user, u64::from(config.members()) * u64::from(config.device.pages_per_member()), "{}", preset.name);
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
    let update = serde_json::json!(["fewest", "rmw", "rcw", "bpu", "adaptive"]);
    assert_eq!((&raid4["protects"], &raid4["parameters"][0]["choices"]), (&"member".into(), &update));
    assert_eq!(raid4["parameters"][0]["default"], "fewest");
    assert!(["name", "title", "about", "members"].iter().all(|key| raid4[key].is_string()));
    assert!(listing::schemes(Some("raid9")).is_err());

    let settings = json(listing::settings());
    let keys = TABLES.iter().map(|table| table.keys.len()).sum::<usize>();
    assert_eq!(settings.as_array().unwrap().len(), keys);
}

#[test]
fn keys_are_those_of_a_serialized_configuration() {
    let config = serde_json::to_value(on("tiny", "raid0", &[("devices", "2")]).unwrap()).unwrap();
    let tables: Vec<_> = config.as_object().unwrap().iter().collect();
    assert_eq!(tables.len(), TABLES.len());
    let mut seen = Vec::new();
    for ((name, values), table) in tables.into_iter().zip(&TABLES) {
        assert_eq!(name, table.name);
        let keys: Vec<_> = values.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, table.keys.iter().map(|key| key.name).collect::<Vec<_>>());
        seen.extend(keys);
    }
    let parameters = SCHEMES.iter().flat_map(|entry| entry.parameters()).map(|parameter| parameter.name);
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
