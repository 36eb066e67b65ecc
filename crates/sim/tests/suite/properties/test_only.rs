//! The test-only schemes and the test-only job under the same cases: they use what no registered scheme uses yet.

use super::bytes::Redundancy;
use super::case::{Case, buffered, cases, dftl_cases, hybrid_cases, nvram_cases};
use super::{case_of, check_case, for_cases};
use flashraid_redundancy::testing::{CommitsAnotherFirst, CopyWhenIdle, chained};
use flashraid_redundancy::{Addressed, Decisions, Extent, Operation, OperationKind, Outcomes, ParityUpdates, Recovery, Scheme, Step};
use flashraid_sim::Config;
use flashraid_vocabulary::{GcAdvisor, Lpn, MemberPage, SemivalidAction, StripeId, View, Wave};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What GC asked and what became of it.
#[derive(Default)]
struct Seen {
    commit_first: AtomicU64,
    free: AtomicU64,
    decided_commits: AtomicU64,
    stepped_commits: AtomicU64,
}

/// A scheme, watched.
#[derive(Clone)]
struct Watched<S> {
    inner: S,
    seen: Arc<Seen>,
}

flashraid_vocabulary::persistent!(Watched<S> where [S: Scheme] {
    keeps [inner],
    anew [seen],
});

impl<S: Scheme> GcAdvisor for Watched<S> {
    fn rule(&self, address: MemberPage) -> SemivalidAction {
        let action = self.inner.rule(address);
        match action {
            SemivalidAction::CommitFirst => self.seen.commit_first.fetch_add(1, Relaxed),
            SemivalidAction::Free => self.seen.free.fetch_add(1, Relaxed),
            SemivalidAction::Move => unreachable!("this scheme leaves moves to the engine"),
        };
        action
    }
}

impl<S: Scheme> Addressed for Watched<S> {
    type Addressing = S;

    fn addressing(&self) -> &S {
        &self.inner
    }
}

impl<S: Scheme> Recovery for Watched<S> {
    crate::support::recovers_like_inner!();
}

impl<S: Scheme + Clone + 'static> Scheme for Watched<S> {
    crate::support::like_inner!();

    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        let pages = self.inner.decide(extent, view, decisions);
        let commits = decisions.operations.iter().filter(|operation| operation.kind == OperationKind::Commit).count();
        self.seen.decided_commits.fetch_add(commits as u64, Relaxed);
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.kind == OperationKind::Commit && operation.step == 0 {
            self.seen.stepped_commits.fetch_add(1, Relaxed);
        }
        self.inner.step(operation, outcomes, view, wave)
    }
}

/// The worked example of docs/writing-a-scheme.md, on the devices of a scheme of as many user pages: alone, behind buffers, and on other mappings.
/// The halves of that scheme hold adjacent members, which here hold both copies of a page: each member has an FTL of its own.
#[test]
fn chained_declustering() {
    let check = |case: &Case| {
        let case = case.with_ftl_by_member("raid1");
        let config = case.config("raid1");
        check_case(&case, &config, &|| chained::ENTRY.build(&config.build()).unwrap(), &|| None, Redundancy::None);
    };
    for_cases("test_only::chained_declustering", 30, cases("raid1", 0.0), check);
    for_cases("test_only::chained_declustering", 10, buffered(dftl_cases("raid1")), check);
    for_cases("test_only::chained_declustering", 10, nvram_cases("raid1"), check);
    for_cases("test_only::chained_declustering", 10, hybrid_cases("raid1"), check);
}

/// Bases take space beside the logical pages, for which the capacity rule of registered schemes makes no room: hence some spare.
#[test]
fn commits_another_first() {
    let seen = Arc::new(Seen::default());
    let check = |case: &Case| {
        let config = case.config("raid5");
        let device = &config.device;
        let inner = || CommitsAnotherFirst::new(device.members(), device.pages_per_member(), device.page_bytes);
        let scheme = || Box::new(Watched { inner: inner(), seen: seen.clone() }) as Box<dyn Scheme>;
        check_case(case, &config, &scheme, &|| None, Redundancy::Late);
    };
    for_cases("test_only::commits_another_first", 100, cases("raid5", 0.1), check);
    // Members share the device's pages, and many stripes wait for some. (If each were promised one in turn, none would have all that it needs.)
    check(&case_of(264, &cases("raid5", 0.1)));
    if std::env::var("FLASHRAID_CASE").is_err() {
        let [commit_first, free, decided, stepped] =
            [&seen.commit_first, &seen.free, &seen.decided_commits, &seen.stepped_commits].map(|count| count.load(Relaxed));
        let committed = stepped.saturating_sub(decided);
        println!("rulings: commit first {commit_first} (committed {committed}, moved {}), free {free}", commit_first - committed);
        assert!(committed > 0, "no collection committed a stripe");
        assert!(commit_first > committed, "no collection moved a semivalid page");
    }
}

/// The job copies every page that is written when it begins, whatever the host does meanwhile, and ends when the host is done.
#[test]
fn copy_when_idle() {
    let job = |config: &Config| {
        let device = &config.device;
        let stripe_of = |address: MemberPage| StripeId(address.page.0);
        Some(Box::new(CopyWhenIdle::new(device.members(), device.pages_per_member(), device.page_bytes, stripe_of)) as _)
    };
    for_cases("test_only::copy_when_idle", 20, cases("raid5", 0.0), |case| {
        let config = case.config("raid5");
        check_case(case, &config, &|| config.build_scheme().unwrap(), &|| job(&config), Redundancy::Parity);
    });
}
