//! Counts that the papers state and no timing changes (SPEC 1.11, lines of CR5: limit 0).

use crate::host::Host;
use flashraid_vocabulary::{Action, Cause};

fn pre_reads_and_parities(host: &Host) -> (u64, u64) {
    (host.flash.count(Action::Read, Cause::PreRead), host.flash.count(Action::Program, Cause::Parity))
}

#[test]
fn r1_and_r2_of_cr5m_with_limit_0() {
    // R1 writes D3 and D4, R2 then D5, all of stripe 1 on 3+1: 5 programs, 3 pre-reads, 2 parities, 5 pages invalid.
    let mut host = Host::raid5(4, 8).filled();
    host.write(3, 2);
    host.write(5, 1);
    assert_eq!(host.flash.programs(), 5);
    assert_eq!(pre_reads_and_parities(&host), (3, 2));
    assert_eq!(host.flash.garbage, 5);
    host.check();
}

#[test]
fn single_strip_writes_over_a_stripe() {
    for width in 2..=9u64 {
        let mut host = Host::raid5(width as u16 + 1, 4).filled();
        for strip in 0..width {
            host.write(width + strip, 1);
        }
        assert_eq!(pre_reads_and_parities(&host), (width * 2.min(width - 1), width), "{width}+1");
        assert_eq!(host.flash.programs(), 2 * width);
        host.check();
    }
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
