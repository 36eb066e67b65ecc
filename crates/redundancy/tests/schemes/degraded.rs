//! RAID-0, 1, 4, 5 and SIRF-1 after failures: each rule of SPEC 0.6 (last paragraph) and 2.4, then all cases of small devices.
//!
//! On 4 members of raid5 stripe 0 has its data on members 0 to 2 and its parity on member 3.

use crate::flash::{Course, PAGE};
use crate::host::{Host, scheme};
use flashraid_redundancy::Step;
use flashraid_vocabulary::{HostOp, MemberId, MemberPage, Version, View};

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// A request, and what is unplaced, struck or partial of it.
#[derive(Clone, Copy, Debug)]
struct Case {
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
    fn run(self, name: &str, update: &str) {
        let mut host = Host::new(scheme(name, self.members, 1, &[("update", update)]));
        for strip in (0..u64::from(self.members) - 1).filter(|strip| self.written >> strip & 1 == 1) {
            host.write(strip, 1);
        }
        for member in (0..self.members).filter(|member| self.lost >> member & 1 == 1).map(MemberId) {
            if self.has_spare { host.flash.replace(member) } else { host.flash.kill(member) }
        }
        let lost_before = host.check_degraded();
        let course = only(host.submit(self.op, self.first, self.pages, self.bytes.0, self.bytes.1));
        let lost = host.check_degraded();
        assert!(lost <= lost_before, "a request makes pages lost: {self:?}");
        if self.lost.count_ones() <= 1 {
            assert!(lost == 0 && !matches!(course.end, Step::Failed(_)), "one loss is survived: {self:?}");
            let repairs = host.repair_all();
            if self.has_spare {
                assert!(repairs.len() <= 1);
                assert!((0..self.members).all(|member| !host.flash.is_lost(MemberPage::new(member, 0), Version::Current)));
                host.check();
                host.check_each_member();
            } else {
                assert!(repairs.is_empty(), "nothing takes programs");
            }
        }
    }
}

/// Every set of written strips, every loss of up to two members, with and without a spare, and every request.
#[test]
fn every_request_on_every_stripe_after_every_loss() {
    let parts = [(PAGE, PAGE), (512, PAGE), (PAGE, 512), (512, 512)];
    for members in 3..=5u16 {
        let width = u64::from(members) - 1;
        for (written, lost) in (0..1u64 << width).flat_map(|written| (0..1u64 << members).map(move |lost| (written, lost))) {
            if lost.count_ones() > 2 {
                continue;
            }
            for (first, pages) in (0..width).flat_map(|first| (1..=width - first).map(move |pages| (first, pages))) {
                for (op, has_spare, bytes) in [HostOp::Read, HostOp::Write, HostOp::Trim]
                    .into_iter()
                    .flat_map(|op| [false, true].map(|has_spare| (op, has_spare)))
                    .flat_map(|(op, has_spare)| parts.map(|bytes| (op, has_spare, bytes)))
                {
                    let is_whole = bytes == (PAGE, PAGE);
                    if op == HostOp::Trim && !is_whole || pages == 1 && bytes.0 != bytes.1 {
                        continue;
                    }
                    let case = Case { members, written, lost, has_spare, op, first, pages, bytes };
                    ["fewest", "rmw", "rcw"].into_iter().for_each(|update| case.run("raid4", update));
                }
            }
        }
    }
}
