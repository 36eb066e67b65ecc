//! The spare and the lifetime that a result tells, against what they are defined to be.

use crate::results::{gentle, is_near, number, replayed, write};
use crate::support::pages;
use flashraid_vocabulary::HostOp;

#[test]
fn effective_over_provisioning_is_what_nothing_needed_is_on() {
    let physical = 4.0 * 2.0 * 64.0 * 64.0;
    for (scheme, fill, copies) in [("raid0", "0.5", 1.0), ("raid1", "0.5", 2.0), ("raid0", "0", 1.0)] {
        let requests = [(0, pages(HostOp::Read, 0, 1))];
        let (result, _) = replayed(&format!("spare-{scheme}-{fill}"), &requests, scheme, &[("fill", fill)]);
        let capacity = &result["capacity"];
        let live = number(&capacity["filled_bytes"]) / 4096.0 * copies;
        assert_eq!(number(&capacity["live_pages"]), live);
        is_near(&capacity["effective_over_provisioning"], 1.0 - live / physical);
        assert_eq!(result["collection"]["collections"], 0);
    }
}

/// Above what GC keeps free in each plane: 0.1 x 4,096 pages, rounded up, or two blocks of 64 pages; of a plane with log blocks nothing is said.
#[test]
fn usable_over_provisioning_is_what_may_be_garbage() {
    let usable = |pairs: &[(&str, &str)]| {
        let name = format!("usable-{}", pairs.iter().map(|pair| pair.1).collect::<Vec<_>>().join("-"));
        let (result, _) = replayed(&name, &[(0, pages(HostOp::Read, 0, 1))], "raid0", pairs);
        let capacity = result["capacity"].clone();
        (number(&capacity["effective_over_provisioning"]), capacity["usable_over_provisioning"].clone())
    };
    let (spare, kept) = (|fill: f64| 1.0 - (fill * 29_488.0).floor() / 32_768.0, 410.0 / 4096.0);
    for fill in ["0.5", "0.9", "0.95", "0.99"] {
        let (effective, share) = usable(&[("fill", fill)]);
        assert!((effective - spare(fill.parse().unwrap())).abs() < 1e-4, "{fill}: {effective}");
        is_near(&share, effective - kept);
    }
    assert_eq!(usable(&[("fill", "1")]).1, 0.0);
    let (effective, share) = usable(&[("fill", "1"), ("gc_threshold", "0.02")]);
    is_near(&share, effective - 128.0 / 4096.0);
    assert!(usable(&[("mapping", "bast"), ("log_blocks", "8"), ("over_provisioning", "0.3")]).1.is_null());
}

/// Without GC, `copies` pages are programmed for each page written.
#[test]
fn lifetime_follows_from_what_is_programmed() {
    let raw = 4.0 * 2.0 * 64.0 * 64.0 * 4096.0;
    for (scheme, copies) in [("raid0", 1.0), ("raid1", 2.0)] {
        let (result, _) = replayed("lifetime", &gentle(), scheme, &[("fill", "0.5")]);
        let (lifetime, user) = (&result["lifetime"], number(&result["capacity"]["user_bytes"]));
        let days = number(&result["bandwidth"]["span_ns"]) / 1e9 / 3600.0 / 24.0;
        let per_day = 200.0 * copies * 4096.0 / raw / days;
        assert_eq!(result["collection"]["erases"], 0);
        is_near(&lifetime["pe_cycles_per_day"], per_day);
        is_near(&lifetime["years_per_1000_cycles"], 1000.0 / per_day / 365.0);
        is_near(&lifetime["full_drive_writes_per_1000_cycles"], 1000.0 * raw / copies / user);
        // What the load writes a day, as often as it takes, is what can be written.
        let drive_writes_per_day = number(&result["bandwidth"]["write_bytes_per_second"]) * 86400.0 / user;
        let days_per_1000_cycles = number(&lifetime["full_drive_writes_per_1000_cycles"]) / drive_writes_per_day;
        is_near(&lifetime["years_per_1000_cycles"], days_per_1000_cycles / 365.0);
        for key in ["pe_cycles", "full_drive_writes", "years"] {
            assert!(lifetime[key].is_null(), "{key} of a device without a limit");
        }
    }
    let (result, _) = replayed("lifetime", &[(0, pages(HostOp::Read, 0, 1)), (9, pages(HostOp::Read, 0, 1))], "raid0", &[("fill", "0.5")]);
    assert_eq!(result["lifetime"]["pe_cycles_per_day"], 0.0);
    for key in ["years_per_1000_cycles", "full_drive_writes_per_1000_cycles", "programs_peak_to_mean"] {
        assert!(result["lifetime"][key].is_null(), "{key} where nothing is written");
    }
}

#[test]
fn lifetime_of_an_array_is_that_of_the_ssd_that_endures_least() {
    let own = [("fill", "0.5"), ("devices", "4"), ("pe_limit", "3000"), ("models", "2:pe_limit=1500")];
    let (result, _) = replayed("lifetime-array", &gentle(), "raid5", &own);
    let lifetime = &result["lifetime"];
    assert_eq!(lifetime["pe_cycles"], 1500);
    for (key, per_1000) in [("years", "years_per_1000_cycles"), ("full_drive_writes", "full_drive_writes_per_1000_cycles")] {
        is_near(&lifetime[key], number(&lifetime[per_1000]) * 1.5);
    }
    // A spare SSD is not written to.
    let own = [("fill", "0.5"), ("devices", "4"), ("spare_devices", "1"), ("pe_limit", "3000"), ("models", "4:pe_limit=1500")];
    let (result, _) = replayed("lifetime-spare", &gentle(), "hotswap", &own);
    assert_eq!(result["lifetime"]["pe_cycles"], 3000);
}

/// Each write of a page updates the one parity member: four programs for each of a data member.
#[test]
fn a_parity_member_wears_out_first() {
    let updates: Vec<_> = (0..90).map(|number| (number * 2_000, write(number, 1))).collect();
    let (result, _) = replayed("peak", &updates, "raid4", &[("fill", "0.5")]);
    let programs: Vec<f64> = result["members"].as_array().unwrap().iter().map(|member| number(&member["programs"])).collect();
    assert_eq!(programs.iter().sum::<f64>(), 180.0);
    assert_eq!(programs.iter().copied().fold(0.0, f64::max), 90.0);
    is_near(&result["lifetime"]["programs_peak_to_mean"], 90.0 / (180.0 / programs.len() as f64));
}
