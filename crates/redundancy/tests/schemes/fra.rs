//! FRA: what it programs, when it makes parities, and what is lost until then.
//!
//! On 5 members stripe 0 has strip i on member i and its parity on member 4.

use crate::content::{STRIPES, request, submit};
use crate::flash::Course;
use crate::host::{Host, scheme};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::{CommitCause, Commits, Damage, Failure, IdleWork, Step};
use flashraid_vocabulary::{Lpn, MemberId, MemberPage, SemivalidAction, StripeId, Version};
use proptest::prelude::*;

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

fn filled() -> Host {
    Host::new(scheme("fra", 5, 8, &[])).filled()
}

fn idle(host: &mut Host) -> Vec<Course> {
    let mut done = Vec::new();
    while let IdleWork::Start(commit) = host.scheme.when_idle().unwrap().idle(&host.flash) {
        done.push(host.run(commit));
    }
    done
}

/// SPEC 4.6: data alone, then the parity of the whole stripe in idle time, the oldest stripe first.
#[test]
fn parities_are_made_in_idle_time() {
    let mut host = filled();
    assert!(idle(&mut host).is_empty() && host.scheme.when_idle().is_some());
    let course = only(host.write(5, 1));
    assert_eq!(waves(&course), [["program host 1/1 4096 keeps base = host 1"]]);
    host.write(5, 1);
    assert_eq!(
        waves(&only(host.flush(0, 0b11, 0))),
        [["program host 0/0 4096 keeps base = host 0", "program host 1/0 4096 keeps base = host 1"]]
    );
    host.write_part(1, 512);
    host.trim(2, 1);
    assert_eq!((host.flash.held(Version::Base), host.deferring().guard().unwrap().entries), (4, 2));
    // A member of the oldest stripe is busy.
    host.flash.queued.insert(MemberId(0), (1, 0));
    assert!(idle(&mut host).is_empty());
    host.flash.queued.clear();
    let courses = idle(&mut host);
    assert_eq!(courses.iter().map(|course| course.operation.stripe.0).collect::<Vec<_>>(), [1, 0]);
    let reads = vec!["read commit 0/0 4096", "read commit 1/0 4096", "read commit 3/0 4096"];
    assert_eq!(background_waves(&courses[1]), [reads, vec!["program commit 4/0 4096 = reads 012"]]);
    let counts = host.deferring().guard().unwrap();
    assert_eq!((counts.commits[CommitCause::Idle as usize], counts.hits, counts.misses), (Commits { commits: 2, reads: 7 }, 3, 2));
    assert_eq!((counts.entries, counts.old_pages, counts.most_old_pages, host.flash.held(Version::Base)), (0, 0, 4, 0));
    host.check_each_member();
    // A stripe that is trimmed as a whole has nothing to catch up on.
    host.write(0, 1);
    host.trim(0, 4);
    assert!(idle(&mut host).is_empty() && host.drain().is_empty());
    host.check_each_member();
}

/// SPEC 4.6: a changed strip is lost with its chip while its stripe is queued; others only once a noted page is erased.
#[test]
fn what_is_lost_while_a_stripe_is_queued() {
    let lost = |member: u16| move |page: MemberPage, _: Version| page.member.0 == member;
    let mut host = filled();
    host.write(1, 1);
    assert_eq!(host.recover(Lpn(1), &lost(1)), None);
    assert_eq!(host.recover(Lpn(0), &lost(0)), host.expected(0));
    let page = MemberPage::new(1, 0);
    assert_eq!(host.scheme.rule(page), SemivalidAction::Free);
    host.deferring_mut().base_erased(page);
    host.flash.erase_base(page);
    assert_eq!((host.recover(Lpn(0), &lost(0)), host.recover(Lpn(4), &lost(0))), (None, host.expected(4)));
    idle(&mut host);
    host.check_each_member();
}

#[test]
fn failures_while_a_stripe_is_queued() {
    for (gone, erased, pages_lost) in [(1, false, 1), (0, false, 0), (0, true, 1), (4, false, 0)] {
        let mut host = filled();
        host.write(1, 1);
        if erased {
            host.deferring_mut().base_erased(MemberPage::new(1, 0));
            host.flash.erase_base(MemberPage::new(1, 0));
        }
        host.flash.replace(MemberId(gone));
        assert_eq!(host.check_degraded(), pages_lost, "{gone} {erased}");
        let damage = if pages_lost == 0 { Damage::Compute } else { Damage::None };
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), damage);
        host.repair_all();
        assert_eq!(host.flash.unreadable().len(), pages_lost);
        if pages_lost > 0 {
            let lpn = u64::from(gone);
            assert_eq!(only(host.read(lpn, 1)).end, Step::Failed(Failure::Lost));
            assert_eq!(only(host.write_part(lpn, 512)).end, Step::Failed(Failure::Lost));
            assert!(idle(&mut host).is_empty());
            assert_eq!(only(host.write(lpn, 1)).end, Step::Last);
        }
        idle(&mut host);
        assert_eq!(host.check_degraded(), 0);
        host.check_each_member();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every page reads as written; when the queue is empty every page survives each member, and before what the pages determine is found.
    #[test]
    fn idle_time_protects_every_page(members in 3..=8u16, filled: bool, requests in prop::collection::vec(request(), 1..60)) {
        let mut host = Host::new(scheme("fra", members, STRIPES, &[]));
        if filled {
            host = host.filled();
        }
        for request in &requests {
            let aside = request.aside.index(1 << 16) as u64;
            submit(&mut host, request);
            host.check_reads();
            let page = host.scheme.locate(Lpn(aside % host.scheme.user_pages()));
            if aside.is_multiple_of(3) && host.flash.base(page).is_some() {
                host.deferring_mut().base_erased(page);
                host.flash.erase_base(page);
            }
            if aside.is_multiple_of(7) {
                idle(&mut host);
                host.check_each_member();
            }
            let counts = host.deferring().guard().unwrap();
            prop_assert_eq!(counts.old_pages, host.flash.held(Version::Base));
            if aside.is_multiple_of(11) {
                let mut broken = host.fork();
                broken.flash.replace(MemberId(aside as u16 % members));
                let lost = broken.check_degraded();
                broken.repair_all();
                prop_assert_eq!(broken.check_degraded(), lost);
            }
        }
    }
}
