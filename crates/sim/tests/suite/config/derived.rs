//! What follows from settings: capacities, survival, costs, blocks set apart, space domains, replacements, warnings.

use super::{Scratch, json, on, one_line, refusal};
use flashraid_redundancy::{Protects, SCHEMES};
use flashraid_sim::config::{GcPhases, Injection, Survival, Target, Trigger, most_logical_pages};
use flashraid_sim::{Config, listing};

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

/// What may die, in one unit for all schemes.
#[test]
fn survival_is_said_in_chips_and_channels() {
    let survives = |device: &str, scheme: &str, pairs: &[(&str, &str)]| {
        let config = on(device, scheme, pairs).unwrap();
        let survival = Survival::of(&config, &*config.build_scheme().unwrap());
        assert!(survival.chip || !survival.channel, "a channel is its chips");
        survival.text
    };
    let chips = ("member", "chip");
    assert_eq!(survives("ssd1", "raid0", &[]), "nothing");
    for entry in SCHEMES.iter().filter(|entry| matches!(entry.protects, Protects::Channel | Protects::Member) && !entry.has_window) {
        let expected = if entry.survives_failures() == 2 { "any two channels" } else { "any one channel" };
        assert_eq!(survives("ssd1", entry.name, &[]), expected, "{}", entry.name);
    }
    let channels = ("channels", "8");
    assert_eq!(survives("ssd1", "raid6", &[channels, chips, ("chips_per_channel", "2")]), "any one channel, or any two chips");
    assert_eq!(survives("ssd1", "raid6", &[channels, chips, ("chips_per_channel", "4")]), "any two chips");
    assert_eq!(survives("array-5x", "raid6", &[]), "any two devices");
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
/// its neighbor's, which are to fill three quarters of 154 blocks; two more blocks, spread over 16 planes, and gc_reserve_blocks = 2 of each make 12.
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
    assert!(text.ends_with(":3:10: groups = \"2\": allowed is a whole number from 1 to 64"), "{text}");
}

/// GC is to have at least half of what the fill leaves above what it keeps free.
#[test]
fn too_little_spare_for_gc_is_warned_of() {
    let warnings = |pairs: &[(&str, &str)]| on("ssd1", "raid5", pairs).unwrap().warnings().unwrap();
    // 30 % against half of 1 - 0.44 x 0.9 = 60.4 % and of 1 - 0.45 x 0.9 = 59.5 %.
    assert!(warnings(&[]).is_empty() && warnings(&[("fill", "0.44")]).is_empty());
    let half = warnings(&[("fill", "0.45")]);
    assert_eq!(
        half,
        [
            "gc_threshold = 0.3: GC starts below 30.0 % free pages, and the fill leaves 59.5 %: the spare that GC can use is 29.5 %, so write \
          amplification is that of a drive with 29.5 % spare; gc_threshold = 0.297 or a smaller fill leaves it half"
        ]
    );
    let full = warnings(&[("fill", "0.9")]);
    assert!(full.len() == 1 && full[0].starts_with("gc_threshold = 0.3: ") && full[0].contains("30.0 %") && full[0].contains("19.0 %"));
    assert!(full[0].contains("GC can use is 0.0 %, so nearly every program will trigger GC"), "{full:?}");
    // Mirror chips hold none of it: 1 - 0.7 x 0.9 = 37 % of the others.
    let mirrored = on("ssd1", "cr5m", &[("fill", "0.7"), ("gc_threshold", "0.4")]).unwrap().warnings().unwrap();
    assert!(mirrored.len() == 1 && mirrored[0].contains("40.0 %") && mirrored[0].contains("37.0 %"), "{mirrored:?}");
    let user_bytes = on("ssd1", "raid5", &[]).unwrap().build_scheme().unwrap().user_pages() * 4096;
    assert_eq!(warnings(&[("fill_bytes", &(user_bytes / 10 * 9).to_string())]), full);
    assert!(warnings(&[("fill", "0.9"), ("space_bytes", &(user_bytes / 3).to_string())]).is_empty(), "a share of the space");

    // A drive of an array that differs is named; log blocks have no threshold.
    let array: &[(&str, &str)] = &[("fill", "0.9"), ("models", "2:gc_threshold=0.2")];
    let [of_model] = &on("array-5x", "raid5", array).unwrap().warnings().unwrap()[..] else { panic!("one warning") };
    assert!(of_model.starts_with("SSD 2: gc_threshold = 0.2: GC starts below 20.0 % free pages, and the fill leaves 23.5 %"), "{of_model}");
    assert!(warnings(&[("fill", "1"), ("mapping", "bast"), ("gc_threshold", "0.3")]).is_empty());
}

/// What GC keeps free is the threshold or the reserve, whichever is more, and the advice works.
#[test]
fn the_setting_that_gives_gc_its_spare_is_named() {
    let warnings = |pairs: &[(&str, &str)]| on("tiny", "raid0", pairs).unwrap().warnings().unwrap();
    let advice = |pairs: &[(&str, &str)]| {
        let [text] = &warnings(pairs)[..] else { panic!("{pairs:?}: one warning") };
        text.clone()
    };
    for (fill, left, usable) in [("0.9", "19.0", "9.0"), ("0.95", "14.5", "4.5"), ("0.99", "10.9", "0.9"), ("1", "10.0", "0.0")] {
        let text = advice(&[("fill", fill)]);
        assert!(text.contains(&format!("the fill leaves {left} %: the spare that GC can use is {usable} %")), "{text}");
        let cure = text.split("; gc_threshold = ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(warnings(&[("fill", fill), ("gc_threshold", cure)]).is_empty(), "{cure} of {text}");
    }
    assert!(warnings(&[("fill", "0.88")]).is_empty(), "20.8 % are left");
    // What is overwritten before the run has been written: without a fill all of the space, else what the fill writes.
    assert_eq!(warnings(&[("precondition", "random:1")]), warnings(&[("fill", "1")]));
    assert_eq!(warnings(&[("precondition", "random:1"), ("fill", "0.88")]), Vec::<String>::new());
    // Two of 16 blocks are more than half of what is left.
    let small = |gc_threshold| {
        let pairs = [("fill", "1"), ("over_provisioning", "0.2"), ("blocks_per_plane", "16"), ("gc_threshold", gc_threshold)];
        warnings(&pairs)[0].clone()
    };
    let text = small("0.15");
    assert!(text.contains(
        "and the fill leaves 20.0 %: the spare that GC can use is 5.0 %, so write amplification is that of a drive with 5.0 % spare; "
    ));
    assert!(text.ends_with("; a smaller fill or more over_provisioning leaves it more"), "{text}");
    let text = small("0.05");
    assert!(
        text.starts_with(
            "gc_reserve_blocks = 2: of 16 blocks in a plane, so GC starts below 12.5 % free pages, and the fill leaves 20.0 %"
        ),
        "{text}"
    );
    assert!(
        text.contains("GC can use is 7.5 %") && text.ends_with("more blocks_per_plane or more over_provisioning leaves it more"),
        "{text}"
    );
}

/// What bears the name of a preset and has less flash is a smaller drive; what has more, or another name, is another one.
#[test]
fn a_drive_that_was_made_smaller_is_known() {
    let share = |pairs: &[(&str, &str)]| {
        let pairs = [pairs, &[("over_provisioning", "0.4")]].concat();
        let simulation = flashraid_sim::Simulation::new(on("tiny", "raid0", &pairs).unwrap(), |_| true).unwrap();
        simulation.result(&Default::default(), false, None).unwrap().capacity.share_of_preset
    };
    assert_eq!(share(&[]), None);
    assert_eq!(share(&[("blocks_per_plane", "16")]), Some(0.25));
    assert_eq!(share(&[("channels", "2"), ("pages_per_block", "32")]), Some(0.25));
    assert_eq!(share(&[("pages_per_block", "128")]), None);
    assert_eq!(share(&[("blocks_per_plane", "16"), ("device.name", "mine")]), None);
    // Of an array, its SSDs count and not their number.
    assert_eq!(share(&[("devices", "3"), ("blocks_per_plane", "32")]), Some(0.5));
}

/// A threshold of no more than the reserve is never reached in time.
#[test]
fn gc_that_only_starts_when_writes_must_wait_is_warned_of() {
    let warnings = |pairs: &[(&str, &str)]| on("tiny", "raid0", pairs).unwrap().warnings().unwrap();
    assert_eq!(
        warnings(&[("gc_threshold", "0.02")]),
        [
            "gc_threshold = 0.02: 1.28 of 64 blocks, no more than gc_reserve_blocks = 2: GC starts when a plane has no page left for host programs, so \
          these wait for it, and each of its steps goes before the host; from gc_threshold = 0.047 on GC starts earlier"
        ]
    );
    assert!(warnings(&[("gc_threshold", "0.03125")])[0].contains("2.00 of 64 blocks"));
    assert!(warnings(&[("gc_threshold", "0.0313")]).is_empty() && warnings(&[("gc_threshold", "0.047")]).is_empty());
    assert_eq!(warnings(&[("gc_reserve_blocks", "7"), ("over_provisioning", "0.2")]).len(), 1, "6.4 blocks");
    assert!(warnings(&[("gc_threshold", "0.02"), ("gc_idle_threshold", "0.2")]).is_empty(), "idle time comes first");
    assert!(warnings(&[("gc_threshold", "0.02"), ("mapping", "bast"), ("log_blocks", "8"), ("over_provisioning", "0.3")]).is_empty());
}

/// Results of 0.1 know neither phases of GC nor a gain of idle GC, and are repeated without both.
#[test]
fn what_0_1_did_without_is_not_what_is_done_by_default() {
    let config = on("tiny", "raid0", &[("precondition", "steady"), ("fill", "0.5"), ("gc_idle_threshold", "0.4")]).unwrap();
    assert_eq!((config.run.gc_phases, config.device.gc_idle_gain), (GcPhases::Random, 0.25));
    let mut json = serde_json::json!({ "version": "0.1.0", "config": serde_json::to_value(&config).unwrap() });
    json["config"]["run"].as_object_mut().unwrap().remove("gc_phases");
    json["config"]["device"].as_object_mut().unwrap().remove("gc_idle_gain");
    let file = Scratch::new("of-0-1.json", &json.to_string());
    let config = Config::assemble(None, None, Some(&file.0), &[]).unwrap();
    assert_eq!((config.run.gc_phases, config.device.gc_idle_gain), (GcPhases::Aligned, 0.0));
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
    // Unless it is told, it destages at a quarter of the speed of the device: of its buses (175 + 102,400 ns a page), or its LUNs, which program for
    // 200,000 ns what has come over the bus.
    let rate = |pairs: &[(&str, &str)]| {
        let Config { array, device, .. } = on("tiny", "raid0", &[&[("buffer_bytes", "65536")], pairs].concat()).unwrap();
        array.destage_bytes_per_second(&device)
    };
    let bus = 4 * 4096 * 1_000_000_000 / (175 + 102_400);
    assert_eq!(rate(&[("chips_per_channel", "4")]), Some(bus / 4));
    assert_eq!(rate(&[("chips_per_channel", "1")]), Some(4 * 4096 * 1_000_000_000 / (175 + 102_400 + 200_000) / 4));
    assert_eq!(
        rate(&[("chips_per_channel", "4"), ("bus_ps_per_byte", "0")]),
        Some(4 * 4096 * 1_000_000_000 / ((175 + 200_000_u64).div_ceil(4)) / 4)
    );
    assert_eq!(rate(&[("devices", "3"), ("chips_per_channel", "4")]), Some(3 * bus / 4));
    assert_eq!(rate(&[("destage_bytes_per_second", "3MB")]), Some(3_000_000));
    assert_eq!(rate(&[("destage", "when_full")]), None);
    assert_eq!(
        refusal(&[("buffer_bytes", "65536"), ("destage_high_water", "0.3"), ("destage_low_water", "0.3")]),
        "destage_low_water = 0.3: allowed is less than destage_high_water, which is 0.3"
    );
    let both = "nvram_buffer_bytes = 8192: allowed beside a buffer in DRAM (buffer_bytes, buffer_bytes_per_gib) is 0";
    assert_eq!(refusal(&[("nvram_buffer_bytes", "8192"), ("buffer_bytes", "8192")]), both);
    assert_eq!(refusal(&[("nvram_buffer_bytes", "8192"), ("buffer_bytes_per_gib", "8")]), both);
}

#[test]
fn what_is_constructed_in_steady_state_programs_parities_with_data() {
    let direct = ("precondition", "direct");
    let buffer = ("nvram_buffer_bytes", "65536");
    for (scheme, more) in [("raid1", vec![]), ("raid4", vec![]), ("raid5", vec![]), ("adaptive", vec![]), ("no-pc", vec![buffer])] {
        assert!(on("tiny", scheme, &[&[direct], &more[..]].concat()).is_ok(), "{scheme}");
    }
    let refused = |scheme, more: &[(&str, &str)]| on("tiny", scheme, &[&[direct], more].concat()).unwrap_err();
    for scheme in ["fra", "fpc", "ppc"] {
        let expected = format!("precondition = direct: allowed with {scheme}, which programs parities later than data, is steady");
        assert_eq!(refused(scheme, &[("over_provisioning", "0.5")]), expected);
    }
    assert_eq!(
        refused("raid0", &[("mapping", "bast"), ("log_blocks", "4"), ("over_provisioning", "0.5")]),
        "precondition = direct: allowed with mapping = bast is steady"
    );
}

#[test]
fn replacements_are_read_and_checked() {
    let on_array = |pairs: &[(&str, &str)]| on("tiny", "hotswap", &[&[("devices", "4"), ("spare_devices", "1")], pairs].concat());
    let two = on_array(&[("replace", "device:1@50%,device:4@replacement:25%")]).unwrap();
    let expected = [("1", 1, "50%", Trigger::Share(0.5)), ("4", 4, "replacement:25%", Trigger::Replacement(0.25))];
    let expected = expected.map(|(number, device, when, trigger)| {
        let (what, target) = (format!("device:{number}"), Target::Replace(device));
        Injection { setting: "replace", what, target, when: when.into(), trigger }
    });
    assert_eq!(two.faults().unwrap(), expected);
    let refusal = |pairs: &[(&str, &str)]| on_array(pairs).unwrap_err();
    for (replace, expected) in [
        ("device:5@1s", "replace = device:5@1s: device 5: the array has devices 0 to 4"),
        ("member:1@1s", "replace = member:1@1s: member:1: allowed is device:N, with a whole number"),
        ("device:1@replacement:x", "replace = device:1@replacement:x: replacement:x: allowed is replacement:P%, from 0 % to 100 %"),
    ] {
        assert_eq!(refusal(&[("replace", replace)]), expected);
    }
    assert!(
        refusal(&[("replace", "device:1")]).starts_with("replace = device:1: has no time: allowed is device:N@WHEN, where WHEN is a time")
    );
    let on_raid5 = on("tiny", "raid5", &[("devices", "4"), ("fail", "device:1@replacement:25%")]).unwrap_err();
    assert_eq!(on_raid5, "fail = device:1@replacement:25%: raid5 replaces no SSDs: allowed is another moment");
    let single = on("tiny", "hotswap", &[]).unwrap_err();
    assert_eq!(single, "hotswap replaces SSDs of an array: allowed is devices above 1, as in the preset array-5x");
}
