//! RAID-4 and RAID-6 after failures: every request on every stripe of small devices after every loss, and under which any member dies.

use crate::degraded::{lost, only};
use crate::flash::PAGE;
use crate::host::{Host, scheme};
use flashraid_redundancy::Step;
use flashraid_vocabulary::{HostOp, MemberId};
use std::ops::RangeInclusive;

/// A request on one stripe after losses.
#[derive(Clone, Copy, Debug)]
struct Case {
    scheme: &'static str,
    /// How many losses it survives.
    survives: u32,
    members: u16,
    written: u64,
    lost: u64,
    has_spare: bool,
    op: HostOp,
    first: u64,
    pages: u64,
    bytes: (u32, u32),
}

impl Case {
    fn run(self, parameters: &[(&str, &str)], strike: Option<(usize, MemberId, bool)>) {
        let mut host = Host::new(scheme(self.scheme, self.members, 1, parameters));
        for strip in (0..u64::from(host.scheme.width())).filter(|strip| self.written >> strip & 1 == 1) {
            host.write(strip, 1);
        }
        for member in (0..self.members).filter(|member| self.lost >> member & 1 == 1).map(MemberId) {
            if self.has_spare { host.flash.replace(member) } else { host.flash.kill(member) }
        }
        let lost_before = host.check_degraded();
        host.flash.strike = strike;
        let course = only(host.submit(self.op, self.first, self.pages, self.bytes.0, self.bytes.1));
        let has_struck = host.flash.strike.take().is_none() && strike.is_some();
        let lost_after = host.check_degraded();
        let failures = self.lost.count_ones() + u32::from(has_struck);
        assert!(has_struck || lost_after <= lost_before, "a request makes pages lost: {self:?}");
        if failures > self.survives {
            return;
        }
        assert!(lost_after == 0 && !matches!(course.end, Step::Failed(_)), "so much is survived: {self:?}");
        let repairs = host.repair_all().len();
        assert_eq!(host.check_degraded(), 0, "a repair loses something: {self:?}");
        if has_struck && self.lost != 0 {
            // What takes no programs may be beside what does.
        } else if strike.filter(|_| has_struck).map_or(self.has_spare, |(.., has_spare)| has_spare) {
            assert!(repairs <= 1 && lost(&host).is_empty());
            host.check();
            host.check_each_member();
        } else if failures > 0 {
            assert_eq!(repairs, 0, "nothing takes programs");
        }
    }
}

/// Each request on a stripe of `width` strips: operation, first strip, strips, bytes of the first and last page.
fn requests(width: u64) -> Vec<(HostOp, u64, u64, (u32, u32))> {
    let mut requests = Vec::new();
    for (first, pages) in (0..width).flat_map(|first| (1..=width - first).map(move |pages| (first, pages))) {
        requests.extend([HostOp::Read, HostOp::Trim].map(|op| (op, first, pages, (PAGE, PAGE))));
        let parts = [(PAGE, PAGE), (512, 512), (512, PAGE), (PAGE, 1024)];
        requests.extend(parts.into_iter().take(if pages == 1 { 2 } else { 4 }).map(|bytes| (HostOp::Write, first, pages, bytes)));
    }
    requests
}

type Parameters = &'static [(&'static str, &'static str)];

/// A scheme, which has as many parities as it survives losses.
#[derive(Clone, Copy)]
struct Parities(&'static str, u32);

impl Parities {
    fn width(self, members: u16) -> u64 {
        u64::from(members) - u64::from(self.1)
    }

    /// Every set of written strips, every loss of up to one member more than is survived, every request; with each of these parameters, and with and without a spare.
    fn after_every_loss(self, members: RangeInclusive<u16>, ways: &[(Parameters, bool)]) {
        let Self(scheme, survives) = self;
        for members in members {
            let width = self.width(members);
            for (written, lost) in (0..1u64 << width).flat_map(|written| (0..1u64 << members).map(move |lost| (written, lost))) {
                if lost.count_ones() > survives + 1 {
                    continue;
                }
                for (op, first, pages, bytes) in requests(width) {
                    for &(parameters, has_spare) in ways {
                        Case { scheme, survives, members, written, lost, has_spare, op, first, pages, bytes }.run(parameters, None);
                    }
                }
            }
        }
    }

    /// The same when a member dies while a wave is under way, after losses that are survived; with the wave, parameters, and spares for what is lost and for what dies.
    fn under_which_a_member_dies(self, members: RangeInclusive<u16>, ways: &[(usize, Parameters, bool, bool)]) {
        let Self(scheme, survives) = self;
        for members in members {
            let width = self.width(members);
            for (written, struck) in (0..1u64 << width).flat_map(|written| (0..members).map(move |struck| (written, MemberId(struck)))) {
                for lost in (0..1u64 << members).filter(|lost| lost.count_ones() <= survives && lost >> struck.0 & 1 == 0) {
                    for (op, first, pages, bytes) in requests(width) {
                        for &(wave, parameters, has_spare, struck_has_spare) in ways {
                            let case = Case { scheme, survives, members, written, lost, has_spare, op, first, pages, bytes };
                            case.run(parameters, Some((wave, struck, struck_has_spare)));
                        }
                    }
                }
            }
        }
    }
}

const RAID4: Parities = Parities("raid4", 1);
const RAID6: Parities = Parities("raid6", 2);
const RMW: Parameters = &[("update", "rmw")];
const RCW: Parameters = &[("update", "rcw")];
const FEWEST: Parameters = &[("update", "fewest")];

/// Nothing is lost that the surviving pages determine; after one loss nothing at all, and when it is repaired, each other member may be lost.
#[test]
fn every_request_on_every_stripe_after_every_loss() {
    RAID4.after_every_loss(3..=5, &[(RMW, true), (RCW, true), (FEWEST, false)]);
}

/// As the first failure or the second.
#[test]
fn every_request_under_which_a_member_dies() {
    RAID4.under_which_a_member_dies(3..=4, &[(0, RMW, true, true), (0, RCW, true, false), (1, RCW, true, true), (1, RMW, true, false)]);
}

/// After two losses nothing at all, whichever members they are of.
#[test]
fn every_request_on_every_stripe_with_two_parities_after_every_loss() {
    RAID6.after_every_loss(4..=6, &[(&[], true), (&[], false)]);
}

/// As the first failure or the second or the third.
#[test]
fn every_request_with_two_parities_under_which_a_member_dies() {
    RAID6.under_which_a_member_dies(4..=5, &[(0, &[], true, true), (0, &[], false, false), (1, &[], false, true), (1, &[], true, false)]);
}
