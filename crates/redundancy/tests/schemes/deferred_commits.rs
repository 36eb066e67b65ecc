//! Commits of parities that NVRAM holds: what they cost, which stripe is next, for GC, and when the parity cache is lost.
//!
//! Members and strips are those of `deferred`.

use crate::deferred::{deferred, delays, filled, guard, only, page, reads};
use crate::deferred_places::decided;
use crate::flash::PAGE;
use crate::host::{Host, scheme};
use crate::waves::background_waves;
use flashraid_redundancy::parts::parity_cache::{ParityCache, Replacement, Update};
use flashraid_redundancy::{Claim, CommitCause, Commits, OperationKind, Step};
use flashraid_vocabulary::{SemivalidAction, StripeId, Version};

/// SPEC 4.3 of the paper: reads of a commit for every width and number of associated strips, and what `commit_cost` says before.
#[test]
fn commit_formulas() {
    for width in 2..=8u32 {
        let most = width.div_ceil(2);
        for known in 1..=width {
            let mut host = Host::new(scheme("ppc", width as u16 + 1, 8, &[])).filled();
            host.write(0, known.into());
            let expected = if known >= most { width - known } else { known + 1 };
            assert!(expected <= most);
            assert_eq!(host.deferring().commit_cost(page(0)), (expected, 1));
            let course = only(host.drain());
            assert_eq!((reads(&course) as u32, course.waves.last().unwrap().len()), (expected, 1), "{known} of {width}");
            let parity = (0..u64::from(width)).fold(0, |sum, lpn| sum ^ host.expected(lpn).unwrap());
            assert_eq!(host.flash.current(page(width as u16)), Some(parity));
            assert_eq!(ParityCache::commit_reads(width, known), expected);
            host.check();
        }
    }
}

/// The caches are full with the first `entries` stripes; then another one comes.
fn replaced(name: &str, parameters: &[(&str, &str)], groups: &[(u64, u64)]) -> Vec<u32> {
    let bytes = (groups.len() as u32 - 1) * PAGE;
    let mut parameters = parameters.to_vec();
    let text = bytes.to_string();
    parameters.push(("parity_cache_bytes", &text));
    let mut host = filled(name, &parameters);
    let mut courses = Vec::new();
    for (stripe, strips) in groups {
        courses.extend(host.flush(stripe * 4, *strips, 0));
    }
    host.check();
    courses.iter().filter(|course| course.operation.kind == OperationKind::Commit).map(|course| course.operation.stripe.0).collect()
}

/// SPEC 4.4: PPC replaces the least recent entry, CA-PPC one of those that are cheapest to commit, by `alpha`.
#[test]
fn victims() {
    // Commit reads: 2, 1, 2, 0 in the order of updates.
    let groups = [(0, 0b0001), (1, 0b0111), (2, 0b0011), (3, 0b1111), (4, 0b0001)];
    assert_eq!(replaced("ppc", &[], &groups), [0]);
    assert_eq!(replaced("fpc", &[], &groups), [0]);
    assert_eq!(replaced("ca-ppc", &[], &groups), [3]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "1")], &groups), [0]);
    // recency + cost, doubled, with ranks of thirds: 0 + 1, 1/3 + 1/2, 2/3 + 1, 1 + 0.
    assert_eq!(replaced("ca-ppc", &[("alpha", "0.5")], &groups), [1]);
    // A tie goes to the least recent.
    assert_eq!(replaced("ca-ppc", &[], &[(2, 0b0001), (1, 0b0011), (0, 0b0001), (4, 0b0001)]), [2]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "0.5")], &[(0, 0b0001), (1, 0b1111), (2, 0b0001)]), [0]);
    // A hit makes its stripe the most recent.
    assert_eq!(replaced("ppc", &[("parity_cache_bytes", "8192")], &[(0, 1), (1, 1), (0, 1), (2, 1)]), [1]);
}

/// With `spares_recent = half` stripes of the last updates are no victims, half as many as there are entries, however cheap.
#[test]
fn recent_updates_are_spared() {
    let half = ("spares_recent", "half");
    // Commit reads: 2, 1, 0, 0 in the order of updates; then 2, 0, 0, 0; then 2, 0, 0, 0 of three.
    let groups = [(0, 0b0001), (1, 0b0111), (2, 0b1111), (3, 0b1111), (4, 0b0001)];
    assert_eq!(replaced("ca-ppc", &[half], &groups), [1]);
    assert_eq!(replaced("ca-ppc", &[half, ("alpha", "0.1")], &groups), [1]);
    assert_eq!(replaced("ca-ppc", &[], &groups), [2]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "0.1")], &groups), [2]);
    assert_eq!(replaced("ca-ppc", &[half, ("alpha", "1")], &groups), [0]);
    assert_eq!(replaced("ca-ppc", &[half], &[(0, 0b0001), (1, 0b1111), (2, 0b1111), (3, 0b1111), (4, 0b0001)]), [1]);
    assert_eq!(replaced("ca-ppc", &[half], &[(0, 0b0001), (1, 0b1111), (2, 0b1111), (4, 0b0001)]), [1]);
    // Of two entries one is spared, of one none.
    assert_eq!(replaced("ca-ppc", &[half], &[(0, 0b0001), (1, 0b1111), (4, 0b0001)]), [0]);
    assert_eq!(replaced("ca-ppc", &[half], &[(0, 0b0001), (4, 0b0001)]), [0]);
}

/// A write claims a place, and one of the cache has one then.
fn write(cache: &mut ParityCache, stripe: u32, strips: u64) -> Option<Update> {
    cache.write(StripeId(stripe), strips);
    cache.claim(StripeId(stripe), 4, strips, true)
}

/// SPEC 4.4: a stripe that an operation changes is no victim. Strips of width 4: commit reads 2, 1, 0 of stripes 0, 1, 2.
#[test]
fn locked_stripes_are_no_victims() {
    let costs = Replacement { alpha: 0, ..Replacement::LRU };
    let full = |replacement, ended: &[u32]| {
        let mut cache = ParityCache::new(8, 4, 3, replacement);
        for (stripe, strips) in [(0, 0b0001), (1, 0b0111), (2, 0b1111)] {
            assert_eq!(write(&mut cache, stripe, strips), Some(Update { is_hit: false, victim: None }));
        }
        ended.iter().for_each(|stripe| cache.ended(StripeId(*stripe), true));
        cache
    };
    let victim = |mut cache: ParityCache| write(&mut cache, 7, 1).map(|update| update.victim.unwrap().0);
    for (alpha, victims) in [(0, [2, 1, 1, 0]), (1, [2, 1, 1, 0]), (810, [0, 1, 0, 0]), (1000, [0, 1, 0, 0])] {
        let replacement = Replacement { alpha, ..costs };
        let found = [&[0, 1, 2][..], &[1], &[0, 1], &[0]].map(|ended| victim(full(replacement, ended)));
        assert_eq!(found, victims.map(Some), "{alpha}");
        assert_eq!(victim(full(replacement, &[])), None, "all are locked");
        let evicts_locked = Replacement { evicts_locked: true, ..replacement };
        assert_eq!(victim(full(evicts_locked, &[])), Some(victims[0]), "{alpha}");
    }
    // The last update of several ends the lock.
    let mut cache = full(costs, &[0, 1, 2]);
    write(&mut cache, 2, 1);
    write(&mut cache, 2, 1);
    cache.ended(StripeId(2), true);
    assert_eq!(victim(cache.clone()), Some(1));
    cache.ended(StripeId(2), true);
    assert_eq!(victim(cache.clone()), Some(2));
    // A commit for GC, a repair, or a trim that puts off no parity.
    cache.begun(StripeId(2));
    assert_eq!(victim(cache.clone()), Some(1));
    cache.ended(StripeId(2), false);
    assert_eq!(victim(cache.clone()), Some(2));
    // Nor does it become one by getting a place in the meantime.
    let mut cache = ParityCache::new(8, 4, 1, costs);
    cache.begun(StripeId(0));
    assert!(cache.give_place(StripeId(0), 4, 1));
    assert_eq!(victim(cache.clone()), None);
    assert!(!cache.clone().give_place(StripeId(1), 4, 1), "there is no other place");
    cache.ended(StripeId(0), false);
    assert_eq!(victim(cache), Some(0));
    let mut cache = full(costs, &[0, 1, 2]);
    // While others wait for a place there is none, but for stripes that have one.
    assert_eq!(cache.claim(StripeId(7), 4, 1, false), None);
    assert_eq!(cache.claim(StripeId(1), 4, 1, false), Some(Update { is_hit: true, victim: None }));
    // Sparing comes on top: of the others all are locked.
    let spares = Replacement { spares_recent: true, ..costs };
    assert_eq!(victim(full(spares, &[2])), None);
    assert_eq!(victim(full(spares, &[1, 2])), Some(1));
}

#[test]
fn a_commit_comes_before_the_update_that_needs_its_place() {
    for (evicts_locked, requires) in [("no", None), ("yes", Some(0))] {
        let mut host = filled("ppc", &[("parity_cache_bytes", "4096"), ("evicts_locked", evicts_locked)]);
        host.write(1, 1);
        let courses = host.write(5, 1);
        let [commit, write] = &courses[..] else { panic!("{courses:?}") };
        assert_eq!((commit.operation.kind, write.operation.requires), (OperationKind::Commit, requires));
        assert_eq!(background_waves(commit).len(), 2);
        assert_eq!(guard(&host).commits[CommitCause::Replacement as usize], Commits { commits: 1, reads: 2 });
        assert_eq!((guard(&host).entries, guard(&host).most_entries), (1, 1));
        // The place of a stripe that was trimmed as a whole is free. If that is not to depend on times, its commit is there, and does nothing.
        host.trim(4, 4);
        let ends: Vec<Step> = host.write(1, 1).iter().map(|course| course.end).collect();
        let commit = if requires.is_some() { vec![Step::Nothing] } else { Vec::new() };
        assert_eq!(ends, [commit, vec![Step::Last]].concat());
        assert_eq!(guard(&host).commits[CommitCause::Replacement as usize].commits, 1);
        host.trim(0, 4);
        assert_eq!(host.write(1, 1).len(), 1, "its own place");
        assert_eq!(guard(&host).misses, 4);
        host.check();
    }
}

/// SPEC 4.4: "commit(choose victim) before flush(j) starts". With `commit_first` the update is one that starts behind the commit; else both start together. What
/// the commit and the update are does not depend on it.
#[test]
fn an_update_may_start_only_when_the_commit_has_ended() {
    for name in ["fpc", "ppc", "ca-ppc"] {
        let claims = ["no", "yes"].map(|commit_first| {
            let mut host = filled(name, &[("parity_cache_bytes", "4096"), ("commit_first", commit_first)]);
            host.write(1, 1);
            let mut update = decided(&mut host, 5);
            let claim = host.scheme.claim(&mut update, true, &host.flash);
            assert_eq!(host.scheme.claim(&mut update, true, &host.flash), Claim::Granted, "{name}: it has claimed");
            claim
        });
        let [Claim::After(beside), Claim::Behind(before)] = claims else { panic!("{name}: {claims:?}") };
        assert_eq!((before, before.stripe.0, before.kind), (beside, 0, OperationKind::Commit), "{name}");
    }
}

/// SPEC 4.4, GC: GC has a stripe committed; without a page for the parity NVRAM is made to cover all of it.
#[test]
fn commits_for_the_gc() {
    for (can_allocate, entries) in [(true, 0), (false, 1)] {
        let mut host = filled("ppc", &[]);
        host.write(1, 1);
        assert_eq!((host.scheme.rule(page(1)), host.deferring().moves_bases()), (SemivalidAction::CommitFirst, false));
        let course = host.collect(page(1), can_allocate).unwrap();
        assert_eq!((course.operation.space, reads(&course)), (if can_allocate { 1 << 4 } else { 0 }, 2));
        assert_eq!((host.flash.held(Version::Base), guard(&host).entries, guard(&host).old_pages), (0, entries, 0));
        let all = (0..4).fold(0, |sum, lpn| sum ^ host.expected(lpn).unwrap());
        let counted = Commits { commits: 1, reads: 2 };
        if can_allocate {
            assert_eq!((host.flash.current(page(4)), guard(&host).commits[CommitCause::Gc as usize]), (Some(all), counted));
        } else {
            assert_eq!((deferred(&host), guard(&host).widened), (all, counted));
            assert_eq!(delays(&course), ["reads 01 ^ delayed"]);
        }
        host.check();
        // Decided state has moved: the next update is a miss, or the commit costs nothing.
        let before = guard(&host);
        if !can_allocate {
            assert_eq!(host.deferring().commit_cost(page(1)), (0, 1));
        }
        let course = only(host.write(1, 1));
        assert_eq!((guard(&host).hits - before.hits, reads(&course)), if can_allocate { (0, 0) } else { (1, 1) });
        assert_eq!(host.flash.held(Version::Base), u64::from(can_allocate));
        host.check();
        assert_eq!(reads(&only(host.drain())), if can_allocate { 2 } else { 0 });
        host.check();
        assert!(host.collect(page(1), true).is_none(), "nothing to commit");
    }
    let host = filled("ppc", &[("gc_semivalid", "move")]);
    assert!(host.deferring().moves_bases());
    let mut host = host;
    host.write(1, 1);
    assert_eq!(host.scheme.rule(page(1)), SemivalidAction::Move);
    assert!(!filled("fpc", &[]).deferring().moves_bases());
}

/// A commit of GC leaves the entry to updates that have been decided and not ended.
#[test]
fn the_gc_leaves_places_to_those_who_need_them() {
    let mut cache = ParityCache::new(8, 4, 1, Replacement::LRU);
    let stripe = StripeId(0);
    assert!(!write(&mut cache, 0, 1).unwrap().is_hit);
    cache.committed(stripe);
    assert!(write(&mut cache, 0, 1).unwrap().is_hit);
    cache.ended(stripe, true);
    cache.ended(stripe, true);
    cache.committed(stripe);
    assert!(!write(&mut cache, 0, 1).unwrap().is_hit);
}

/// What is committed when the device is switched off: first the places of stripes that were trimmed as a whole, then entries, each from the last update
/// that is longest ago. All places are free then.
#[test]
fn entries_are_taken_from_the_oldest_on_and_emptied_places_first() {
    let mut cache = ParityCache::new(8, 4, 5, Replacement { evicts_locked: true, ..Replacement::LRU });
    let write = |cache: &mut ParityCache, stripe| {
        let update = write(cache, stripe, 1).unwrap();
        cache.ended(StripeId(stripe), true);
        update
    };
    for stripe in [0, 1, 2, 3, 4, 1, 0] {
        write(&mut cache, stripe);
    }
    for stripe in [0, 4, 2] {
        assert_eq!(cache.trim(StripeId(stripe), 0b1111), 0);
    }
    let taken: Vec<u32> = std::iter::from_fn(|| cache.take_oldest()).map(|stripe| stripe.0).collect();
    assert_eq!(taken, [2, 4, 0, 3, 1]);
    for stripe in 3..8 {
        assert_eq!(write(&mut cache, stripe), Update { is_hit: false, victim: None });
    }
    assert_eq!(write(&mut cache, 0).victim, Some(StripeId(3)));
}

/// With NVRAM the entries are lost, and their places free, but for those that updates in flight need.
#[test]
fn a_lost_cache_keeps_the_places_of_updates_in_flight() {
    let mut cache = ParityCache::new(8, 4, 4, Replacement { evicts_locked: true, ..Replacement::LRU });
    for stripe in 0..4 {
        write(&mut cache, stripe, 0b11);
    }
    [0, 1, 3].into_iter().for_each(|stripe| cache.ended(StripeId(stripe), true));
    assert_eq!(cache.trim(StripeId(3), 0b1111), 0);
    cache.lost();
    let reads = [0, 1, 2, 3].map(|stripe| cache.reads_to_commit(StripeId(stripe)));
    assert_eq!(reads, [None, None, Some(2), None]);
    for (stripe, victim) in [(4, None), (5, None), (6, None), (7, Some(StripeId(2)))] {
        assert_eq!(write(&mut cache, stripe, 1).unwrap().victim, victim);
    }
}

/// GC asks for a commit of a stripe whose entry NVRAM loses: a commit under way finds nothing to do, another one is none, and bases are free.
#[test]
fn a_commit_for_the_gc_finds_nothing_when_the_parity_cache_is_lost() {
    for can_allocate in [true, false] {
        let mut host = filled("ppc", &[]);
        host.write(1, 1);
        host.write(5, 1);
        let commit = host.deferring_mut().commit_for_gc(page(1), can_allocate).expect("it is associated");
        assert_eq!((commit.commit, commit.stripe), (CommitCause::Gc, StripeId(0)));
        host.lose_parity_cache();
        let course = host.run(commit);
        assert_eq!((course.end, course.waves.len(), course.changes.len()), (Step::Nothing, 0, 0));
        assert_eq!(guard(&host).commits[CommitCause::Gc as usize], Commits::default());
        for member in 0..5 {
            assert!(host.deferring_mut().commit_for_gc(page(member), can_allocate).is_none());
        }
        assert_eq!((host.scheme.rule(page(1)), host.flash.held(Version::Base)), (SemivalidAction::Move, 0));
        // A new entry has new bases to commit, of the parity that is made first.
        host.repair_all();
        host.write(1, 1);
        assert_eq!(host.scheme.rule(page(1)), SemivalidAction::CommitFirst);
        let course = host.collect(page(1), can_allocate).expect("it is associated again");
        assert_eq!((course.end, reads(&course)), (if can_allocate { Step::Last } else { Step::Done }, 2));
        host.check();
    }
}

/// SPEC 4.4: with the parity cache lost, all data are readable, old versions are released, and parities are made anew of the newest versions.
#[test]
fn the_parity_cache_is_lost() {
    for name in ["ppc", "fpc"] {
        let mut host = Host::new(scheme(name, 5, 4, &[]));
        host.write(0, 8);
        host.drain();
        host.write(1, 1);
        host.write(9, 2);
        host.trim(10, 1);
        host.lose_parity_cache();
        assert_eq!((host.flash.held(Version::Base), host.flash.lost(), guard(&host).entries), (0, 3, 0), "{name}");
        assert_eq!(host.check_degraded(), 0);
        // A stripe that waits for its parity is covered by the next update, and a full one needs nothing.
        assert_eq!(delays(&only(host.write(2, 1))), ["host 2 ^ reads 012"]);
        assert_eq!(host.repair_all().len(), 3);
        assert_eq!((host.flash.lost(), host.check_degraded()), (0, 0));
        host.check();
        host.check_each_member();
    }
}
