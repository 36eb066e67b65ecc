//! Places of NVRAM that updates claim when they start, with commits that fail and operations side by side.
//!
//! Members and strips are those of `deferred`.

use crate::deferred::{filled, guard};
use crate::deferred_random::check_counts;
use crate::flash::PAGE;
use crate::host::Host;
use flashraid_redundancy::{Claim, Decisions, Extent, Operation};
use flashraid_vocabulary::{HostOp, Lpn};
use proptest::prelude::*;

const STRIPES: u64 = 8;
const WIDTH: u64 = 4;

/// Of so many entries, each with the stripe of that number.
fn full(name: &str, entries: u64) -> Host {
    let mut host = filled(name, &[("parity_cache_bytes", &(entries * u64::from(PAGE)).to_string())]);
    (0..entries).for_each(|stripe| drop(host.write(WIDTH * stripe, 1)));
    host
}

/// A write of one page.
pub fn decided(host: &mut Host, lpn: u64) -> Operation {
    let extent = Extent { op: HostOp::Write, first: Lpn(lpn), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
    let mut decisions = Decisions::default();
    host.scheme.decide(&extent, &host.flash, &mut decisions);
    let [operation] = decisions.operations[..] else { panic!("{decisions:?}") };
    operation
}

fn claim(host: &mut Host, operation: &mut Operation) -> Claim {
    host.scheme.claim(operation, true, &host.flash)
}

/// The commit of the stripe whose place an update gets.
fn commit_before(host: &mut Host, operation: &mut Operation) -> Operation {
    let Claim::After(commit) = claim(host, operation) else { panic!("no place of another one for {operation:?}") };
    commit
}

const NAMES: [&str; 3] = ["ppc", "ca-ppc", "fpc"];

/// While the commit of its stripe is under way, and after it has failed until the place is given back, an update waits. It takes the place of no third
/// stripe: then the one that is given back would be free for a stripe that has no entry.
#[test]
fn an_entry_without_a_place_gets_the_first_that_is_given_back() {
    for name in NAMES {
        for returning in [0, 1] {
            let mut host = full(name, 2);
            let [mut second, mut third] = [2, 3].map(|stripe| decided(&mut host, WIDTH * stripe));
            let commits = [&mut second, &mut third].map(|update| commit_before(&mut host, update));
            assert_eq!(commits.map(|commit| commit.stripe.0), [0, 1], "{name}");
            let mut update = decided(&mut host, WIDTH * returning + 1);
            assert_eq!(claim(&mut host, &mut update), Claim::Wait, "{name}: it is being committed");
            commits.iter().for_each(|commit| host.scheme.failed(commit));
            assert_eq!(claim(&mut host, &mut update), Claim::Wait, "{name}: both places are claimed");
            host.scheme.failed(&second);
            let (expected, hits) = if returning == 0 { (Claim::Granted, 1) } else { (Claim::Wait, 0) };
            assert_eq!((claim(&mut host, &mut update), guard(&host).hits), (expected, hits), "{name}");
            host.scheme.failed(&third);
            assert_eq!((claim(&mut host, &mut update), guard(&host).hits), (Claim::Granted, 1), "{name}: its own place");
            // NVRAM is full with those two, of which one is being changed.
            let mut fourth = decided(&mut host, WIDTH * 4);
            let commit = commit_before(&mut host, &mut fourth);
            assert_eq!(u64::from(commit.stripe.0), 1 - returning, "{name}");
            [commit, fourth, update].into_iter().for_each(|operation| drop(host.run(operation)));
            assert_eq!(guard(&host).entries, 2, "{name}");
            host.check();
            host.drain();
            assert_eq!(guard(&host).entries, 0, "{name}");
        }
    }
}

/// A commit for GC takes no place away: if it fails, the entry has its own, and another one of its stripe may be under way.
#[test]
fn a_commit_for_the_gc_that_fails_leaves_places_as_they_are() {
    for name in ["ppc", "ca-ppc"] {
        let mut host = full(name, 2);
        let page = host.scheme.locate(Lpn(0));
        let for_gc = host.deferring_mut().commit_for_gc(page, true).expect("it is associated");
        host.scheme.failed(&for_gc);
        let mut second = decided(&mut host, WIDTH * 2);
        let commit = commit_before(&mut host, &mut second);
        assert_eq!(commit.stripe.0, 0, "{name}");
        let for_gc = host.deferring_mut().commit_for_gc(page, true).expect("it is associated");
        host.scheme.failed(&for_gc);
        // A place is free, and is not for the stripe that is being committed.
        host.trim(WIDTH, WIDTH);
        let mut update = decided(&mut host, 1);
        assert_eq!(claim(&mut host, &mut update), Claim::Wait, "{name}");
        let mut third = decided(&mut host, WIDTH * 3);
        assert_eq!(claim(&mut host, &mut third), Claim::Granted, "{name}");
        [commit, second, third].into_iter().for_each(|operation| drop(host.run(operation)));
        assert_eq!(guard(&host).entries, 2, "{name}");
        commit_before(&mut host, &mut update);
    }
}

/// What is drained in vain keeps its entry, which has a place again when all have been asked for.
#[test]
fn a_commit_that_fails_in_draining_leaves_an_entry_with_a_place() {
    for name in NAMES {
        let mut host = full(name, 2);
        let drained = std::iter::from_fn(|| host.deferring_mut().drain().inspect(|commit| host.scheme.failed(commit)));
        let commits: Vec<u32> = drained.take(5).map(|commit| commit.stripe.0).collect();
        assert_eq!((commits, guard(&host).entries), (vec![0, 1], 2), "{name}");
        let mut update = decided(&mut host, 0);
        assert_eq!((claim(&mut host, &mut update), guard(&host).hits), (Claim::Granted, 1), "{name}");
        let mut second = decided(&mut host, WIDTH * 2);
        assert_eq!(commit_before(&mut host, &mut second).stripe.0, 1, "{name}");
    }
}

// ---- many at once ----

/// How far an update is that holds its stripe.
#[derive(Clone, Copy, Debug)]
enum Course {
    Waits,
    /// For this commit.
    Claims(Operation),
    Runs,
    /// Its commit has failed.
    Fails,
}

impl Course {
    /// What is in flight for it.
    fn commit(&self) -> Option<&Operation> {
        match self {
            Self::Claims(commit) => Some(commit),
            _ => None,
        }
    }
}

/// Updates in flight, in the order in which they were decided, at most one of a stripe.
struct InFlight {
    host: Host,
    updates: Vec<(Operation, Course)>,
}

impl InFlight {
    fn position(&self, is_meant: impl Fn(&(Operation, Course)) -> bool, index: usize) -> Option<usize> {
        let found: Vec<_> = (0..self.updates.len()).filter(|update| is_meant(&self.updates[*update])).collect();
        found.get(index % found.len().max(1)).copied()
    }

    /// Nothing is under way on the stripe.
    fn is_free(&self, stripe: u64) -> bool {
        let is_its = |operation: &Operation| u64::from(operation.stripe.0) == stripe;
        !self.updates.iter().any(|(update, course)| is_its(update) || course.commit().is_some_and(is_its))
    }

    fn claim(&mut self, index: usize, may_evict: bool) {
        let (update, course) = &mut self.updates[index];
        *course = match self.host.scheme.claim(update, may_evict, &self.host.flash) {
            Claim::Granted => Course::Runs,
            Claim::After(commit) | Claim::Behind(commit) => Course::Claims(commit),
            Claim::Wait => Course::Waits,
        };
    }

    fn start(&mut self, lpn: u64) {
        let has_waiting = self.updates.iter().any(|(_, course)| matches!(course, Course::Waits));
        let update = decided(&mut self.host, lpn);
        self.updates.push((update, Course::Waits));
        self.claim(self.updates.len() - 1, !has_waiting);
    }

    /// The commit that an update has started with, and waits for, ends or fails.
    fn end_commit(&mut self, index: usize, fails: bool) {
        let Some(index) = self.position(|(_, course)| course.commit().is_some(), index) else { return };
        let commit = *self.updates[index].1.commit().unwrap();
        if fails {
            self.host.scheme.failed(&commit);
        } else {
            self.host.run(commit);
        }
        self.updates[index].1 = if fails { Course::Fails } else { Course::Runs };
    }

    /// An update that waits for nothing ends, or fails.
    fn end_update(&mut self, index: usize, fails: bool) {
        // A commit of its stripe goes before it.
        let committed: Vec<u32> = self.updates.iter().filter_map(|(_, course)| course.commit()).map(|commit| commit.stripe.0).collect();
        let has_ended = |(update, course): &(Operation, Course)| {
            matches!(course, Course::Runs | Course::Fails) && !committed.contains(&update.stripe.0)
        };
        let Some(index) = self.position(has_ended, index) else { return };
        let (update, course) = self.updates.remove(index);
        if fails || matches!(course, Course::Fails) {
            self.host.scheme.failed(&update);
        } else {
            self.host.run(update);
        }
    }

    fn collect(&mut self, lpn: u64, can_allocate: bool, fails: bool) {
        let page = self.host.scheme.locate(Lpn(lpn));
        if !fails {
            self.host.collect(page, can_allocate);
        } else if let Some(commit) = self.host.deferring_mut().commit_for_gc(page, can_allocate) {
            self.host.scheme.failed(&commit);
        }
    }

    /// Those that wait for a place ask again, in order.
    fn serve(&mut self) {
        while let Some(first) = self.position(|(_, course)| matches!(course, Course::Waits), 0) {
            self.claim(first, true);
            if matches!(self.updates[first].1, Course::Waits) {
                return;
            }
        }
    }

    /// All that is in flight ends, and nothing fails any more but what has to.
    fn finish(&mut self) {
        while self.updates.iter().any(|(_, course)| !matches!(course, Course::Waits)) {
            self.end_commit(0, false);
            self.end_update(0, false);
            self.serve();
        }
        assert_eq!(self.updates.len(), 0, "they wait for ever");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// No place is given twice, so that NVRAM never holds more entries than it has places, and none gets lost.
    #[test]
    fn there_are_as_many_places_as_there_are(
        name in prop::sample::select(NAMES.to_vec()), entries in 1..=3u64,
        events in prop::collection::vec((0..14u32, 0..STRIPES, any::<u8>()), 1..120),
    ) {
        let mut all = InFlight { host: full(name, entries), updates: Vec::new() };
        for (kind, stripe, aside) in events {
            let (lpn, index) = (WIDTH * stripe + u64::from(aside) % WIDTH, usize::from(aside));
            match kind {
                0..5 if all.is_free(stripe) => all.start(lpn),
                5 => all.end_commit(index, false),
                6..8 => all.end_commit(index, true),
                8..10 => all.end_update(index, false),
                10 => all.end_update(index, true),
                11 => all.collect(lpn, aside.is_multiple_of(2), aside.is_multiple_of(3)),
                12 if all.is_free(stripe) => drop(all.host.trim(WIDTH * stripe, WIDTH)),
                13 if aside < 32 => {
                    all.host.lose_parity_cache();
                    all.host.repair_all();
                }
                _ => {}
            }
            all.serve();
            check_counts(&all.host);
        }
        all.finish();
        let mut host = all.host;
        host.check();
        host.drain();
        prop_assert_eq!(guard(&host).entries, 0);
        let claims: Vec<Claim> = (0..=entries).map(|stripe| {
            let mut update = decided(&mut host, WIDTH * stripe);
            claim(&mut host, &mut update)
        }).collect();
        let (last, others) = claims.split_last().unwrap();
        prop_assert!(*last == Claim::Wait && others.iter().all(|claim| *claim == Claim::Granted), "{:?}", claims);
    }
}
