//! Random requests to CR5M and to the test-only schemes: every page reads as written, and is recovered from every loss that the scheme declares to
//! survive. `matrix` does that with every scheme.

use crate::flash::{Course, PAGE};
use crate::host::{Host, build, on, scheme};
use flashraid_redundancy::testing::CommitsAnotherFirst;
use flashraid_redundancy::{Build, Scheme, find};
use flashraid_vocabulary::{HostOp, Lpn, MemberId, MemberPage, StripeId, View};
use proptest::prelude::*;

pub const STRIPES: u32 = 5;

#[derive(Clone, Debug)]
pub struct Request {
    pub op: HostOp,
    pub at: prop::sample::Index,
    pub pages: u64,
    pub first_bytes: u32,
    pub last_bytes: u32,
    /// Something else that happens before the request: which page is busy, or is collected.
    pub aside: prop::sample::Index,
}

pub fn request() -> impl Strategy<Value = Request> {
    let op = prop_oneof![6 => Just(HostOp::Write), 2 => Just(HostOp::Trim), 1 => Just(HostOp::Read)];
    let bytes = || prop_oneof![2 => Just(PAGE), 1 => Just(512u32)];
    (op, any::<prop::sample::Index>(), 1..25u64, bytes(), bytes(), any::<prop::sample::Index>()).prop_map(
        |(op, at, pages, first_bytes, last_bytes, aside)| {
            // Parts of pages never reach a scheme in a trim.
            let (first_bytes, last_bytes) = if op == HostOp::Trim { (PAGE, PAGE) } else { (first_bytes, last_bytes) };
            Request { op, at, pages, first_bytes, last_bytes, aside }
        },
    )
}

/// Submits what of the request fits the logical space; most requests are shorter than a stripe.
pub fn submit<S: Scheme + ?Sized>(host: &mut Host<S>, request: &Request) -> Vec<Course> {
    let user_pages = host.scheme.user_pages();
    let first = request.at.index(user_pages as usize) as u64;
    let pages = if request.pages <= 18 { 1 + request.pages % 4 } else { request.pages }.min(user_pages - first);
    host.submit(request.op, first, pages, request.first_bytes, request.last_bytes)
}

/// CR5M with some options and little credit.
#[derive(Clone, Debug)]
pub struct Mirrors {
    pub members: u16,
    pub mw_limit: &'static str,
    pub consolidate: &'static str,
    pub update: &'static str,
    pub bases: u32,
    pub copies: u32,
    filled: bool,
}

pub fn mirrors() -> impl Strategy<Value = Mirrors> {
    let limit = prop::sample::select(vec!["0", "1.1", "3", "1000", "1000"]);
    let consolidate = prop::sample::select(vec!["last_strip", "never"]);
    let update = prop::sample::select(vec!["fewest", "rmw", "rcw"]);
    (3..=9u16, limit, consolidate, update, 0..=6u32, 1..=6u32, any::<bool>()).prop_map(
        |(members, mw_limit, consolidate, update, bases, copies, filled)| Mirrors {
            members,
            mw_limit,
            consolidate,
            update,
            bases,
            copies,
            filled,
        },
    )
}

impl Mirrors {
    pub fn host(&self) -> Host {
        let parameters = [("mw_limit", self.mw_limit), ("consolidate", self.consolidate), ("update", self.update)];
        let build = Build { pages_held: STRIPES + self.bases, copies_held: self.copies, ..build(self.members, STRIPES, &parameters) };
        let host = Host::new(find("cr5m").unwrap().build(&build).unwrap());
        if self.filled { host.filled() } else { host }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Mirror chips and reads are busy at random, consolidations under pressure come early or late.
    #[test]
    fn cr5m_keeps_every_page(mirrors in mirrors(), requests in prop::collection::vec(request(), 1..60)) {
        let mut host = mirrors.host();
        for request in &requests {
            let aside = request.aside.index(1 << 16) as u64;
            host.flash.busy_mirrors = (0..mirrors.members).filter(|member| (aside >> (2 * member)) & 3 == 3).map(MemberId).collect();
            host.flash.busy_after_first_wave = aside.is_multiple_of(5);
            let page = host.scheme.locate(Lpn(aside % host.scheme.user_pages()));
            host.flash.loads.insert(page, (aside % 3) as u32);
            host.flash.copy_loads.insert(page, (aside % 2) as u32);
            submit(&mut host, request);
            host.check();
            for member in (0..mirrors.members).map(MemberId) {
                prop_assert!(host.flash.bases(member) <= mirrors.bases && host.flash.copies(member) <= mirrors.copies);
            }
            if aside.is_multiple_of(3) && !host.background.is_empty() {
                let commit = host.background.remove(0);
                host.run(commit);
                host.check();
            }
        }
    }

    /// With mw_limit 0 it is raid5, plan by plan.
    #[test]
    fn cr5m_without_mirrored_writes_is_raid5(members in 3..=9u16, filled: bool, update in 0..3usize, requests in prop::collection::vec(request(), 1..40)) {
        let update = ("update", ["fewest", "rmw", "rcw"][update]);
        let mut hosts = [scheme("cr5m", members, STRIPES, &[("mw_limit", "0"), update]), scheme("raid5", members, STRIPES, &[update])]
            .map(|scheme| if filled { Host::new(scheme).filled() } else { Host::new(scheme) });
        for request in &requests {
            for host in &mut hosts {
                submit(host, request);
            }
        }
        let [cr5m, raid5] = hosts;
        prop_assert_eq!(cr5m.flash.log, raid5.flash.log);
        prop_assert_eq!(cr5m.scheme.parity_updates(), raid5.scheme.parity_updates());
    }

    #[test]
    fn clean_stripes_keep_every_page(members in 3..=8u16, requests in prop::collection::vec(request(), 1..60)) {
        let mut host = Host::new(Box::new(CommitsAnotherFirst::new(members, STRIPES, PAGE)));
        let width = u64::from(members) - 1;
        for request in &requests {
            if request.pages.is_multiple_of(5) {
                let page = request.aside.index(STRIPES as usize) as u32;
                let commit = host.deferring_mut().commit_for_gc(MemberPage::new(0, page), true).unwrap();
                host.run(commit);
                prop_assert_eq!(host.scheme.dirty(StripeId(page)), 0);
            }
            submit(&mut host, request);
            host.check();
            let dirty = (0..STRIPES).filter(|&stripe| host.scheme.dirty(StripeId(stripe)) != 0).count();
            prop_assert!(dirty <= 1, "{} stripes are dirty", dirty);
            for lpn in 0..u64::from(STRIPES) * width {
                let clean = host.scheme.dirty(StripeId((lpn / width) as u32)) == 0;
                for member in 0..members {
                    if clean {
                        host.check_loss(Lpn(lpn), &on(1 << member));
                    } else {
                        prop_assert_eq!(host.recover(Lpn(lpn), &on(1 << member)), None);
                    }
                }
            }
        }
    }
}
