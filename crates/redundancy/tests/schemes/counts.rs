//! Counts that the papers state and no timing changes (SPEC 1.11). "CR5M with limit 0" is CR5, which is raid5: both are counted.

use crate::host::{Host, build, scheme};
use flashraid_redundancy::{Build, find};
use flashraid_vocabulary::{Action, Cause, Version};

fn pre_reads_and_parities(host: &Host) -> (u64, u64) {
    (host.flash.count(Action::Read, Cause::PreRead), host.flash.count(Action::Program, Cause::Parity))
}

/// 3+1 or another width, all stripes written and plain, mirror chips idle.
fn cr5m(width: u64, mw_limit: &str) -> Host {
    Host::new(scheme("cr5m", width as u16 + 1, 8, &[("mw_limit", mw_limit)])).filled()
}

/// Programs, pre-reads, parity programs, pinned pages, pages invalidated.
fn counts(host: &Host) -> [u64; 5] {
    let (pre_reads, parities) = pre_reads_and_parities(host);
    [host.flash.programs(), pre_reads, parities, host.flash.held(Version::Base), host.flash.garbage]
}

#[test]
fn r1_r2_and_d4_again() {
    // Stripe 1 of 3+1 holds D3, D4 and D5.
    let mut host = cr5m(3, "1000");
    host.write(3, 2);
    assert_eq!(counts(&host), [4, 0, 0, 2, 0], "R1");
    host.write(5, 1);
    assert_eq!(counts(&host), [6, 2, 1, 0, 6], "R1, R2");
    let mut host = cr5m(3, "1000");
    host.write(3, 2);
    host.write(4, 1);
    assert_eq!(counts(&host), [6, 0, 0, 2, 2], "R1, D4 again");
    for mut host in [cr5m(3, "0"), Host::raid5(4, 8).filled()] {
        host.write(3, 2);
        host.write(5, 1);
        assert_eq!(counts(&host), [5, 3, 2, 0, 5], "R1, R2 with limit 0");
        host.check();
    }
}

#[test]
fn single_strip_writes_over_a_stripe() {
    for width in 2..=9 {
        let written = |mut host: Host| {
            for strip in 0..width {
                host.write(width + strip, 1);
            }
            host.check();
            (counts(&host), host.flash.held(Version::Copy))
        };
        let ([programs, pre_reads, parities, bases, _], copies) = written(cr5m(width, "1000"));
        assert_eq!([programs, pre_reads, parities, bases, copies], [2 * width, width - 1, 1, 0, 0], "{width}+1");
        for host in [cr5m(width, "0"), Host::raid5(width as u16 + 1, 8).filled()] {
            let ([programs, pre_reads, parities, ..], copies) = written(host);
            assert_eq!([programs, pre_reads, parities, copies], [2 * width, width * 2.min(width - 1), width, 0], "{width}+1, limit 0");
        }
    }
}

#[test]
fn updates_of_one_strip_share_the_limit() {
    for data_chips in 1..=7 {
        for updates in [1, 2, 3, 4, 10, 11, 12, 100, 331] {
            let build = Build { data_chips, ..build(4, 8, &[]) };
            let mut host = Host::new(find("cr5m").unwrap().build(&build).unwrap()).filled();
            for _ in 0..updates {
                host.write(0, 1);
            }
            let mirrored = host.scheme.parity_updates().mirrored;
            // Never more than all of them: with one data chip the limit of 1.1 leaves every update mirrored.
            assert_eq!(mirrored, (11 * (updates - 1) / (10 * u64::from(data_chips)) + 1).min(updates), "K = {updates}, d = {data_chips}");
        }
    }
    // The example of SPEC 1.11: d = 3, K = 100.
    assert_eq!(11 * 99 / 30 + 1, 37);
}

#[test]
fn each_parity_update_is_counted_once_by_its_method() {
    let mut host = Host::raid5(8, 8).filled();
    let filled = host.scheme.parity_updates();
    host.write(0, 7); // full
    host.write(0, 2); // RMW: 3 against 5
    host.write(0, 3); // RCW: 4 against 4
    host.write_part(6, 512); // RMW
    host.trim(0, 1); // RMW
    host.trim(1, 4); // RCW: 5 against 3
    host.trim(0, 7); // empties the stripe: no update
    host.read(0, 7);
    let counted = host.scheme.parity_updates();
    assert_eq!((counted.full_stripe - filled.full_stripe, counted.rmw, counted.rcw), (1, 3, 2));
    assert_eq!(host.flash.count(Action::Program, Cause::Parity), 6);
    assert_eq!((counted.mirrored, counted.deferred, counted.committed, counted.adjusted), (0, 0, 0, 0));
}
