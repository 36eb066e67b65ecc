//! RAID-4 and RAID-6 after failures: every request on every stripe of small devices after every loss, and under which any member dies.

use crate::degraded::{lost, only};
use crate::flash::PAGE;
use crate::host::{Host, scheme};
use flashraid_redundancy::Step;
use flashraid_vocabulary::{HostOp, MemberId};

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

/// Every set of written strips, every loss of up to two members, with and without a spare, every request: nothing is lost that the
/// surviving pages determine; after one loss nothing at all, and when it is repaired, each other member may be lost.
#[test]
fn every_request_on_every_stripe_after_every_loss() {
    for members in 3..=5u16 {
        let width = u64::from(members) - 1;
        for (written, lost) in (0..1u64 << width).flat_map(|written| (0..1u64 << members).map(move |lost| (written, lost))) {
            if lost.count_ones() > 2 {
                continue;
            }
            for (op, first, pages, bytes) in requests(width) {
                for (update, has_spare) in [("rmw", true), ("rcw", true), ("fewest", false)] {
                    let case = Case { scheme: "raid4", survives: 1, members, written, lost, has_spare, op, first, pages, bytes };
                    case.run(&[("update", update)], None);
                }
            }
        }
    }
}

/// The same when a member dies while any wave is under way, as the first failure or the second.
#[test]
fn every_request_under_which_a_member_dies() {
    for members in 3..=4u16 {
        let width = u64::from(members) - 1;
        for (written, struck) in (0..1u64 << width).flat_map(|written| (0..members).map(move |struck| (written, MemberId(struck)))) {
            for lost in (0..members).map(|member| 1 << member).chain([0]).filter(|lost| lost >> struck.0 & 1 == 0) {
                for (op, first, pages, bytes) in requests(width) {
                    for (wave, has_spare, update) in [(0, true, "rmw"), (0, false, "rcw"), (1, true, "rcw"), (1, false, "rmw")] {
                        let case = Case { scheme: "raid4", survives: 1, members, written, lost, has_spare: true, op, first, pages, bytes };
                        case.run(&[("update", update)], Some((wave, struck, has_spare)));
                    }
                }
            }
        }
    }
}

/// The same of RAID-6, which survives two losses, whichever members they are of.
#[test]
fn every_request_on_every_stripe_with_two_parities_after_every_loss() {
    for members in 4..=6u16 {
        let width = u64::from(members) - 2;
        for (written, lost) in (0..1u64 << width).flat_map(|written| (0..1u64 << members).map(move |lost| (written, lost))) {
            if lost.count_ones() > 3 {
                continue;
            }
            for (op, first, pages, bytes) in requests(width) {
                for has_spare in [true, false] {
                    Case { scheme: "raid6", survives: 2, members, written, lost, has_spare, op, first, pages, bytes }.run(&[], None);
                }
            }
        }
    }
}

/// The same when a member dies while any wave is under way, as the first failure or the second or the third.
#[test]
fn every_request_with_two_parities_under_which_a_member_dies() {
    for members in 4..=5u16 {
        let width = u64::from(members) - 2;
        for (written, struck) in (0..1u64 << width).flat_map(|written| (0..members).map(move |struck| (written, MemberId(struck)))) {
            for lost in (0..1u64 << members).filter(|lost| lost.count_ones() <= 2 && lost >> struck.0 & 1 == 0) {
                for (op, first, pages, bytes) in requests(width) {
                    for (wave, lost_has_spare, has_spare) in [(0, true, true), (0, false, false), (1, false, true), (1, true, false)] {
                        let case = Case {
                            scheme: "raid6",
                            survives: 2,
                            members,
                            written,
                            lost,
                            has_spare: lost_has_spare,
                            op,
                            first,
                            pages,
                            bytes,
                        };
                        case.run(&[], Some((wave, struck, has_spare)));
                    }
                }
            }
        }
    }
}
