//! Schemes that delay parities in NVRAM, healthy: the figures of the PPC paper page by page, each option on both sides, the formulas for all widths, then
//! random requests.
//!
//! On 5 members stripe 0 has strip i on member i and its parity on member 4, as in the paper's figures.

use crate::content::{Request, STRIPES, request, submit};
use crate::flash::{Course, PAGE};
use crate::host::{Host, build, scheme};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::parts::parity_cache::{ParityCache, Replacement, Update};
use flashraid_redundancy::{Build, CommitCause, Commits, GuardCounts, OperationKind, Step, find};
use flashraid_vocabulary::{Action, Cause, Change, HostOp, LocalPage, Lpn, MemberPage, SemivalidAction, Sources, StripeId, Version, View};
use proptest::prelude::*;

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// 4+1 members of 8 pages, filled: all stripes are committed.
fn filled(name: &str, parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme(name, 5, 8, parameters)).filled()
}

fn page(member: u16) -> MemberPage {
    MemberPage::new(member, 0)
}

fn deferred(host: &Host) -> u64 {
    host.flash.deferred_at(LocalPage(0))
}

fn guard(host: &Host) -> GuardCounts {
    host.scheme.guard().unwrap()
}

/// What the changes of a course say of NVRAM: `host STRIPS ^ reads READS ^ deferred`.
fn delays(course: &Course) -> Vec<String> {
    let bits = |mask: u64| (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect::<String>();
    let words = |sources: Sources| {
        let named = [("host ", bits(sources.host)), ("reads ", bits(sources.reads))];
        let named = named.into_iter().filter(|(_, bits)| !bits.is_empty()).map(|(name, bits)| name.to_string() + &bits);
        named.chain(sources.deferred.then(|| "delayed".to_string())).collect::<Vec<_>>().join(" ^ ")
    };
    course.changes.iter().filter_map(|change| if let Change::Defer(_, sources) = change { Some(words(*sources)) } else { None }).collect()
}

fn reads(course: &Course) -> usize {
    course.waves.iter().flatten().filter(|done| done.action == Action::Read).count()
}

// ---- the paper's figures ----

/// Figure 6: D1 and D2 are updated, then D1 again: the three cases of section 4.2.
#[test]
fn figure_6() {
    let mut host = filled("ppc", &[]);
    let old = [0, 1, 2, 3, 4].map(|member| host.flash.current(page(member)).unwrap());
    // Case 1: the stripe has no entry. No read; the old D1 stays.
    let course = only(host.write(1, 1));
    assert_eq!(waves(&course), [["program host 1/0 4096 keeps base = host 1"]]);
    assert_eq!(delays(&course), ["host 1"]);
    let first = host.expected(1).unwrap();
    assert_eq!((deferred(&host), host.flash.base(page(1))), (first, Some(old[1])));
    // Case 2: it has one, and D2 is not associated.
    let course = only(host.write(2, 1));
    assert_eq!(waves(&course), [["program host 2/0 4096 keeps base = host 2"]]);
    assert_eq!(delays(&course), ["host 2 ^ delayed"]);
    assert_eq!((deferred(&host), host.flash.base(page(2))), (first ^ host.expected(2).unwrap(), Some(old[2])));
    // Case 3: D1 is associated. One read of what NVRAM has of it; the oldest version stays.
    let course = only(host.write(1, 1));
    assert_eq!(waves(&course), [vec!["read pre_read 1/0 4096"], vec!["program host 1/0 4096 = host 1"]]);
    assert_eq!(delays(&course), ["host 1 ^ reads 0 ^ delayed"]);
    let [second, other] = [1, 2].map(|lpn| host.expected(lpn).unwrap());
    assert_eq!((deferred(&host), host.flash.base(page(1))), (second ^ other, Some(old[1])));
    assert_ne!(first, second);
    assert_eq!((host.flash.current(page(4)), host.flash.held(Version::Base)), (Some(old[4]), 2), "the parity on flash is as it was");
    let GuardCounts { hits, misses, entries, old_pages, most_old_pages, .. } = guard(&host);
    assert_eq!((hits, misses, entries, old_pages, most_old_pages), (2, 1, 1, 2, 2));
    assert_eq!(host.scheme.parity_updates().deferred, 3);
    host.check();
}

/// Figure 7 a: D1, D2 and D3 are associated, half of the strips or more: D0 is read.
#[test]
fn figure_7a() {
    let mut host = filled("ppc", &[]);
    host.write(1, 3);
    let course = only(host.drain());
    assert_eq!(background_waves(&course), [vec!["read commit 0/0 4096"], vec!["program commit 4/0 4096 = delayed ^ reads 0"]]);
    let stripe = [0, 1, 2, 3].map(|lpn| host.expected(lpn).unwrap());
    assert_eq!(host.flash.current(page(4)), Some(stripe.iter().fold(0, |sum, content| sum ^ content)));
    assert_eq!((host.flash.held(Version::Base), host.flash.held(Version::DeferredParity)), (0, 0));
    assert_eq!((guard(&host).entries, guard(&host).old_pages), (0, 0));
    host.check();
}

/// Figure 7 b: D1 alone is associated: its old version and the old parity are read.
#[test]
fn figure_7b() {
    let mut host = filled("ppc", &[]);
    host.write(1, 1);
    let course = only(host.drain());
    let reads = vec!["read commit 1/0 4096 base", "read commit 4/0 4096"];
    assert_eq!(background_waves(&course), [reads, vec!["program commit 4/0 4096 = delayed ^ reads 01"]]);
    assert_eq!(guard(&host).commits[CommitCause::Shutdown as usize], Commits { commits: 1, reads: 2 });
    assert_eq!((host.flash.held(Version::Base), host.scheme.parity_updates().committed), (0, 1));
    host.check();
}

/// Figure 8 and SPEC 4.5: D1 and D2 are associated. D1 is what NVRAM and D2 make up, D0 what the old parity and what it covers do.
#[test]
fn figure_8() {
    let mut host = filled("ppc", &[]);
    host.write(1, 1);
    host.write(2, 1);
    let mut sources = Vec::new();
    let lost = |member: u16| move |page: MemberPage, _: Version| page.member.0 == member;
    assert!(host.scheme.recover(Lpn(1), &lost(1), &mut sources));
    assert_eq!(sources, [(page(2), Version::Current), (page(4), Version::DeferredParity)]);
    assert!(host.scheme.recover(Lpn(0), &lost(0), &mut sources));
    let of_the_old = [(page(1), Version::Base), (page(2), Version::Base), (page(3), Version::Current), (page(4), Version::Current)];
    assert_eq!(sources, of_the_old);
    host.check();
}

// ---- updates ----

/// SPEC 4.4: a flush of all strips needs no read, and drops what NVRAM held.
#[test]
fn a_full_stripe_makes_its_parity_without_reads() {
    for (name, before) in [("ppc", 0), ("ppc", 2), ("ppc", 4), ("fpc", 0), ("fpc", 2)] {
        let mut host = filled(name, &[]);
        (0..before).for_each(|lpn| drop(host.write(lpn, 1)));
        let course = only(host.write(0, 4));
        assert_eq!((course.waves.len(), delays(&course)), (1, vec!["host 0123".to_string()]));
        let has_bases = if name == "ppc" { 4 } else { 0 };
        assert_eq!(host.flash.held(Version::Base), has_bases, "{name} {before}");
        let commit = only(host.drain());
        assert_eq!(background_waves(&commit), [["program commit 4/0 4096 = delayed"]]);
        host.check();
    }
}

/// A group may leave out strips of its stripe; reads are those of the associated strips among it.
#[test]
fn a_group_is_one_update() {
    let mut host = filled("ppc", &[]);
    host.write(0, 1);
    host.write(3, 1);
    let course = only(host.flush(1, 0b101, 0));
    let programs = vec!["program host 1/0 4096 keeps base = host 1", "program host 3/0 4096 = host 3"];
    assert_eq!(waves(&course), [vec!["read pre_read 3/0 4096"], programs]);
    assert_eq!(delays(&course), ["host 13 ^ reads 0 ^ delayed"]);
    host.check();
    // Whoever has no cache makes the parity at once, for all of the group.
    let mut plain = filled("no-pc", &[]);
    let course = only(plain.flush(0, 0b101, 0));
    assert_eq!((reads(&course), course.operation.strips), (2, 0b101));
    assert_eq!(waves(&course)[1].last().unwrap(), "program parity 4/0 4096 = host 02 ^ reads 01");
    plain.check();
}

/// SPEC 4.9 item 2: `paper` reads the old versions of what changes, `min` those of the rest of what is associated if they are fewer.
#[test]
fn ppc_update() {
    for (option, known, changed, read, sources) in [
        ("paper", 0b0011, 0b0111u64, 2, "host 012 ^ reads 01 ^ delayed"),
        ("min", 0b0011, 0b0111, 0, "host 012"),
        ("paper", 0b0111, 0b0011, 2, "host 01 ^ reads 01 ^ delayed"),
        ("min", 0b0111, 0b0011, 1, "host 01 ^ reads 0"),
        ("min", 0b0011, 0b0010, 1, "host 1 ^ reads 0 ^ delayed"), // a tie
        ("min", 0b0111, 0b0001, 1, "host 0 ^ reads 0 ^ delayed"),
        ("min", 0b0001, 0b0010, 0, "host 1 ^ delayed"),
    ] {
        let mut host = filled("ppc", &[("ppc_update", option)]);
        host.flush(0, known, 0);
        let lowest = changed.trailing_zeros();
        let course = only(host.flush(lowest.into(), changed >> lowest, 0));
        assert_eq!((reads(&course), delays(&course)), (read, vec![sources.to_string()]), "{option} {known:b} {changed:b}");
        host.check();
    }
}

/// SPEC 4.9 item 6: with all strips associated, old versions stay until the commit, or not.
#[test]
fn early_release() {
    for (option, kept) in [("no", 4), ("yes", 0)] {
        for steps in [vec![0b1111], vec![0b0111, 0b1000], vec![0b0001, 0b1111]] {
            let mut host = filled("ppc", &[("early_release", option)]);
            for group in &steps {
                let lowest = u64::from(u64::trailing_zeros(*group));
                host.flush(lowest, group >> lowest, 0);
            }
            assert_eq!((host.flash.held(Version::Base), guard(&host).old_pages), (kept, kept), "{option} {steps:?}");
            host.check();
            // The next update of a stripe that keeps none makes none.
            host.write(2, 1);
            assert_eq!(host.flash.held(Version::Base), kept);
            host.check();
            assert_eq!(reads(&only(host.drain())), 0);
            host.check();
        }
    }
}

/// SPEC 0.3 step 4: the old content of a page of which the host gives a part is read once, whatever for.
#[test]
fn parts_of_pages() {
    let mut host = filled("ppc", &[]);
    let course = only(host.write_part(1, 512));
    assert_eq!(waves(&course), [["read update_read 1/0 4096 for strip 1"], ["program host 1/0 4096 keeps base = host 1"]]);
    assert_eq!(delays(&course), ["host 1"]);
    host.check();
    let course = only(host.write_part(1, 512));
    assert_eq!(waves(&course)[0], ["read pre_read 1/0 4096 for strip 1"]);
    assert_eq!(delays(&course), ["host 1 ^ reads 0 ^ delayed"]);
    let course = only(host.flush(0, 0b1011, 0b0011));
    let first = ["read pre_read 1/0 4096 for strip 1", "read update_read 0/0 4096 for strip 0"];
    assert_eq!((&waves(&course)[0][..], delays(&course)), (&first.map(String::from)[..], vec!["host 013 ^ reads 0 ^ delayed".to_string()]));
    host.check();
    for name in ["fpc", "no-pc"] {
        let mut host = filled(name, &[("update", "rmw")]);
        for _ in 0..2 {
            assert_eq!(waves(&only(host.write_part(1, 512)))[0][0], "read pre_read 1/0 4096 for strip 1");
            host.check();
        }
    }
}

/// SPEC 0.3 step 5: strips and parities that were never written are zero, and not read.
#[test]
fn unwritten_pages_are_not_read() {
    let mut host = Host::new(scheme("ppc", 5, 8, &[]));
    host.write(1, 1);
    assert_eq!(host.flash.held(Version::Base), 0);
    host.write(2, 1);
    host.check();
    assert_eq!(host.scheme.commit_cost(page(1)), (2, 1), "the formula counts them");
    let course = only(host.drain());
    assert_eq!(background_waves(&course), [["program commit 4/0 4096 = delayed"]]);
    host.check();
    host.write(1, 1);
    assert_eq!(background_waves(&only(host.drain()))[0], ["read commit 1/0 4096 base", "read commit 4/0 4096"]);
}

/// SPEC 4.6: FPC reads what no-PC does; of a parity that the cache has, flash is read for nothing, or not at all.
#[test]
fn full_parities() {
    for (free, reads_hit) in [("no", 2), ("yes", 1)] {
        let mut host = filled("fpc", &[("update", "rmw"), ("fpc_cached_parity_free", free)]);
        let miss = only(host.write(1, 1));
        assert_eq!(waves(&miss), [vec!["read pre_read 1/0 4096", "read pre_read 4/0 4096"], vec!["program host 1/0 4096 = host 1"]]);
        assert_eq!(delays(&miss), ["host 1 ^ reads 01"]);
        let hit = only(host.write(1, 1));
        assert_eq!((reads(&hit), delays(&hit)), (reads_hit, vec!["host 1 ^ reads 0 ^ delayed".to_string()]));
        host.check();
        assert_eq!(background_waves(&only(host.drain())), [["program commit 4/0 4096 = delayed"]]);
        assert_eq!((guard(&host).hits, guard(&host).misses, guard(&host).most_old_pages), (1, 1, 0));
        host.check();
    }
    let mut host = filled("fpc", &[]);
    let rcw = only(host.write(0, 2));
    assert_eq!(waves(&rcw)[0], ["read pre_read 2/0 4096", "read pre_read 3/0 4096"]);
    assert_eq!(delays(&rcw), ["host 01 ^ reads 01"]);
    host.check();
    // As many reads as no-PC, update for update.
    for width in 4..=8u16 {
        for count in 1..=u64::from(width) {
            let mut hosts = ["fpc", "no-pc"].map(|name| Host::new(scheme(name, width + 1, 8, &[])).filled());
            for _ in 0..3 {
                let [fpc, no_pc] = hosts.each_mut().map(|host| reads(&only(host.write(0, count))));
                assert_eq!(fpc, no_pc, "{count} of {width}");
            }
        }
    }
}

// ---- trims ----

/// SPEC 4.9 item 18: a strip written as zero without a program. The old version stays if the parity covers it.
#[test]
fn trims() {
    let mut host = filled("ppc", &[]);
    let course = only(host.trim(1, 1));
    assert_eq!((course.waves.len(), course.end), (0, Step::Done));
    assert_eq!(course.changes, [Change::Defer(page(4), Sources::default()), Change::Retire(page(1))]);
    assert_eq!((host.flash.current(page(1)), host.flash.held(Version::Base), deferred(&host)), (None, 1, 0));
    host.check();
    // One read if the strip is associated.
    host.write(2, 1);
    let course = only(host.trim(2, 1));
    assert_eq!(
        (waves(&course), delays(&course)),
        (vec![vec!["read pre_read 2/0 4096".to_string()]], vec!["reads 0 ^ delayed".to_string()])
    );
    assert_eq!((host.flash.held(Version::Base), guard(&host).old_pages), (2, 2));
    host.check();
    // What was trimmed and is written again.
    host.write(1, 2);
    host.check();
    let commit = only(host.drain());
    assert_eq!(reads(&commit), 2);
    host.check();
    // With nothing left of the stripe, everything goes, the place in the cache too.
    host.write(0, 1);
    let course = only(host.trim(0, 4));
    assert_eq!((course.waves.len(), host.flash.held(Version::Base), host.flash.held(Version::DeferredParity)), (0, 0, 0));
    assert_eq!((guard(&host).entries, host.flash.current(page(4))), (0, None));
    host.check();
    assert_eq!(only(host.trim(0, 4)).end, Step::Nothing);
    // Trims of what was never written change nothing, and no count.
    let before = guard(&host);
    host.write(0, 1);
    assert_eq!(only(host.trim(1, 2)).end, Step::Nothing);
    assert_eq!((guard(&host).hits, guard(&host).misses), (before.hits, before.misses + 1));
    host.check();
}

#[test]
fn trims_of_full_parities() {
    let mut host = filled("fpc", &[]);
    let course = only(host.trim(0, 2));
    assert_eq!(waves(&course), [["read pre_read 2/0 4096", "read pre_read 3/0 4096"]]);
    assert_eq!(delays(&course), ["reads 01"]);
    assert_eq!(host.flash.held(Version::Base), 0);
    host.check();
}

/// A page of zeroes may appear beside what the host wrote; nobody decided to write it, so its trim has no entry.
#[test]
fn what_nobody_decided_to_write_is_trimmed_with_a_parity() {
    for name in ["ppc", "fpc"] {
        let mut host = Host::new(scheme(name, 5, 8, &[]));
        host.write(0, 1);
        host.appear(2);
        let course = only(host.trim(0, 2));
        assert_eq!(waves(&course), [vec!["read pre_read 2/0 4096"], vec!["program parity 4/0 4096 = reads 0"]]);
        assert_eq!((guard(&host).entries, host.flash.held(Version::DeferredParity), host.flash.held(Version::Base)), (0, 0, 0));
        host.check();
    }
}

/// A page of zeroes may appear beneath a write that is under way: it is no base, which nobody would release.
#[test]
fn what_appears_under_a_write_is_no_base() {
    for name in ["ppc", "fra"] {
        let mut host = Host::new(scheme(name, 5, 8, &[]));
        host.write(0, 1);
        host.drain();
        host.flash.appears = Some(page(1));
        host.write(1, 1);
        assert_eq!(host.flash.held(Version::Base), 0, "{name}");
        host.drain();
        host.write(1, 1);
        assert_eq!(host.flash.held(Version::Base), 1);
        host.check_reads();
        host.drain();
        host.check_each_member();
    }
}

// ---- commits ----

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
            assert_eq!(host.scheme.commit_cost(page(0)), (expected, 1));
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
    let every = ("spares_recent", "none");
    assert_eq!(replaced("ca-ppc", &[every], &groups), [3]);
    assert_eq!(replaced("ca-ppc", &[every, ("alpha", "1")], &groups), [0]);
    // recency + cost, doubled, with ranks of thirds: 0 + 1, 1/3 + 1/2, 2/3 + 1, 1 + 0.
    assert_eq!(replaced("ca-ppc", &[every, ("alpha", "0.5")], &groups), [1]);
    // A tie goes to the least recent.
    assert_eq!(replaced("ca-ppc", &[every], &[(2, 0b0001), (1, 0b0011), (0, 0b0001), (4, 0b0001)]), [2]);
    assert_eq!(replaced("ca-ppc", &[every, ("alpha", "0.5")], &[(0, 0b0001), (1, 0b1111), (2, 0b0001)]), [0]);
    // A hit makes its stripe the most recent.
    assert_eq!(replaced("ppc", &[("parity_cache_bytes", "8192")], &[(0, 1), (1, 1), (0, 1), (2, 1)]), [1]);
}

/// Without `spares_recent = none` stripes of the last updates are no victims, half as many as there are entries, however cheap.
#[test]
fn recent_updates_are_spared() {
    // Commit reads: 2, 1, 0, 0 in the order of updates; then 2, 0, 0, 0; then 2, 0, 0, 0 of three.
    let groups = [(0, 0b0001), (1, 0b0111), (2, 0b1111), (3, 0b1111), (4, 0b0001)];
    assert_eq!(replaced("ca-ppc", &[], &groups), [1]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "0.1")], &groups), [1]);
    assert_eq!(replaced("ca-ppc", &[("spares_recent", "none")], &groups), [2]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "0.1"), ("spares_recent", "none")], &groups), [2]);
    assert_eq!(replaced("ca-ppc", &[("alpha", "1")], &groups), [0]);
    assert_eq!(replaced("ca-ppc", &[], &[(0, 0b0001), (1, 0b1111), (2, 0b1111), (3, 0b1111), (4, 0b0001)]), [1]);
    assert_eq!(replaced("ca-ppc", &[], &[(0, 0b0001), (1, 0b1111), (2, 0b1111), (4, 0b0001)]), [1]);
    // Of two entries one is spared, of one none.
    assert_eq!(replaced("ca-ppc", &[], &[(0, 0b0001), (1, 0b1111), (4, 0b0001)]), [0]);
    assert_eq!(replaced("ca-ppc", &[], &[(0, 0b0001), (4, 0b0001)]), [0]);
}

#[test]
fn a_commit_comes_before_the_update_that_needs_its_place() {
    let mut host = filled("ppc", &[("parity_cache_bytes", "4096")]);
    host.write(1, 1);
    let courses = host.write(5, 1);
    let [commit, write] = &courses[..] else { panic!("{courses:?}") };
    assert_eq!((commit.operation.kind, write.operation.requires), (OperationKind::Commit, Some(0)));
    assert_eq!(background_waves(commit).len(), 2);
    assert_eq!(guard(&host).commits[CommitCause::Replacement as usize], Commits { commits: 1, reads: 2 });
    assert_eq!((guard(&host).entries, guard(&host).most_entries), (1, 1));
    // The place of a stripe that was trimmed as a whole: its commit is there, and does nothing.
    host.trim(4, 4);
    let courses = host.write(1, 1);
    assert_eq!((courses[0].end, courses.len()), (Step::Nothing, 2));
    assert_eq!(guard(&host).commits[CommitCause::Replacement as usize].commits, 1);
    host.trim(0, 4);
    assert_eq!(host.write(1, 1).len(), 1, "its own place");
    assert_eq!(guard(&host).misses, 4);
    host.check();
}

/// SPEC 4.4, GC: GC has a stripe committed; without a page for the parity NVRAM is made to cover all of it.
#[test]
fn commits_for_the_gc() {
    for (can_allocate, entries) in [(true, 0), (false, 1)] {
        let mut host = filled("ppc", &[]);
        host.write(1, 1);
        assert_eq!((host.scheme.rule(page(1)), host.scheme.moves_bases()), (SemivalidAction::CommitFirst, false));
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
            assert_eq!(host.scheme.commit_cost(page(1)), (0, 1));
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
    assert!(host.scheme.moves_bases());
    let mut host = host;
    host.write(1, 1);
    assert_eq!(host.scheme.rule(page(1)), SemivalidAction::Move);
    assert!(!filled("fpc", &[]).scheme.moves_bases());
}

/// A commit of GC leaves the entry to updates that have been decided and not ended.
#[test]
fn the_gc_leaves_places_to_those_who_need_them() {
    let mut cache = ParityCache::new(8, 4, 1, Replacement::LRU);
    let stripe = flashraid_vocabulary::StripeId(0);
    assert!(!cache.write(stripe, 4, 1).is_hit);
    cache.committed(stripe);
    assert!(cache.write(stripe, 4, 1).is_hit);
    cache.ended(stripe);
    cache.ended(stripe);
    cache.committed(stripe);
    assert!(!cache.write(stripe, 4, 1).is_hit);
}

/// What is committed when the device is switched off: first the places of stripes that were trimmed as a whole, then entries, each from the last update
/// that is longest ago. All places are free then.
#[test]
fn entries_are_taken_from_the_oldest_on_and_emptied_places_first() {
    let mut cache = ParityCache::new(8, 4, 5, Replacement::LRU);
    let write = |cache: &mut ParityCache, stripe| {
        let update = cache.write(StripeId(stripe), 4, 1);
        cache.ended(StripeId(stripe));
        update
    };
    for stripe in [0, 1, 2, 3, 4, 1, 0] {
        write(&mut cache, stripe);
    }
    for stripe in [0, 4, 2] {
        assert_eq!(cache.trim(StripeId(stripe), 4, 0b1111), None);
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
    let mut cache = ParityCache::new(8, 4, 4, Replacement::LRU);
    for stripe in 0..4 {
        cache.write(StripeId(stripe), 4, 0b11);
    }
    [0, 1, 3].into_iter().for_each(|stripe| cache.ended(StripeId(stripe)));
    assert_eq!(cache.trim(StripeId(3), 4, 0b1111), None);
    cache.lost();
    let reads = [0, 1, 2, 3].map(|stripe| cache.reads_to_commit(StripeId(stripe)));
    assert_eq!(reads, [None, None, Some(2), None]);
    for (stripe, victim) in [(4, None), (5, None), (6, None), (7, Some(StripeId(2)))] {
        assert_eq!(cache.write(StripeId(stripe), 4, 1).victim, victim);
    }
}

/// GC asks for a commit of a stripe whose entry NVRAM loses: a commit under way finds nothing to do, another one is none, and bases are free.
#[test]
fn a_commit_for_the_gc_finds_nothing_when_the_parity_cache_is_lost() {
    for can_allocate in [true, false] {
        let mut host = filled("ppc", &[]);
        host.write(1, 1);
        host.write(5, 1);
        let commit = host.scheme.commit_for_gc(page(1), can_allocate).expect("it is associated");
        assert_eq!((commit.commit, commit.stripe), (CommitCause::Gc, StripeId(0)));
        host.lose_parity_cache();
        let course = host.run(commit);
        assert_eq!((course.end, course.waves.len(), course.changes.len()), (Step::Nothing, 0, 0));
        assert_eq!(guard(&host).commits[CommitCause::Gc as usize], Commits::default());
        for member in 0..5 {
            assert!(host.scheme.commit_for_gc(page(member), can_allocate).is_none());
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

// ---- tables, refusals ----

#[test]
fn tables() {
    let of = |name: &str| {
        let scheme = scheme(name, 5, 1024, &[]);
        (scheme.tables(5 * 1024), scheme.nvram())
    };
    // 8 entries: 10 bits, 4 bits and a page each.
    let cache = vec![("parity_cache", 8 * 4096 + 14)];
    assert_eq!(of("ppc"), (vec![("page_map", 20_480), ("old_page_hash", 8 * 8 * 4)], cache.clone()));
    assert_eq!(of("fpc"), (vec![("page_map", 20_480)], cache));
    assert_eq!(of("no-pc"), (vec![("page_map", 20_480)], Vec::new()));
}

#[test]
fn caches_that_do_not_fit_are_refused() {
    let refused = |build: &Build, name: &str| find(name).unwrap().build(build).map(|_| ()).map_err(|error| error.to_string());
    let small = build(5, 100, &[("parity_cache_bytes", "4095")]);
    let text = "parity_cache_bytes = 4095: allowed is at least 4096, one page";
    assert_eq!(refused(&small, "ppc"), Err(text.to_string()));
    let tight = Build { pages_held: 107, ..build(5, 100, &[]) };
    let text = "parity_cache_bytes: members have space for 7 semivalid pages, one for each entry: allowed is at most 28672";
    assert_eq!(refused(&tight, "ca-ppc"), Err(text.to_string()));
    assert_eq!((refused(&tight, "fpc"), refused(&Build { pages_held: 108, ..tight.clone() }, "ppc")), (Ok(()), Ok(())));
    // What does not hold its own pages is refused by the rule of capacity, whatever the cache.
    assert_eq!(refused(&Build { pages_held: 99, ..tight.clone() }, "ppc"), Ok(()));
    assert_eq!(refused(&build(2, 100, &[]), "ppc"), Err("ppc needs at least 3 members; the device has 2".to_string()));
    assert_eq!(refused(&build(33, 100, &[]), "fpc"), Err("fpc supports at most 32 members; the device has 33".to_string()));
}

// ---- random requests ----

/// A scheme with some options and a small cache.
#[derive(Clone, Debug)]
pub struct Cached {
    pub name: &'static str,
    pub members: u16,
    parameters: Vec<(&'static str, &'static str)>,
    filled: bool,
}

pub fn cached() -> impl Strategy<Value = Cached> {
    let size = prop::sample::select(vec!["4096", "8192", "12288", "32768"]);
    let words =
        [vec!["no", "yes"], vec!["paper", "min"], vec!["commit", "move"], vec!["fewest", "rmw", "rcw"], vec!["0", "0.3", "0.81", "1"]]
            .map(prop::sample::select);
    let name = prop::sample::select(vec!["ppc", "ca-ppc", "fpc"]);
    (name, 3..=9u16, size, words, any::<bool>()).prop_map(|(name, members, size, [flag, update, gc, rule, alpha], filled)| {
        let mut parameters = vec![("parity_cache_bytes", size)];
        match name {
            "fpc" => parameters.extend([("update", rule), ("fpc_cached_parity_free", flag)]),
            _ => parameters.extend([("early_release", flag), ("ppc_update", update), ("gc_semivalid", gc)]),
        }
        if name == "ca-ppc" {
            parameters.extend([("alpha", alpha), ("spares_recent", if flag == "yes" { "none" } else { "half" })]);
        }
        Cached { name, members, parameters, filled }
    })
}

impl Cached {
    pub fn host(&self) -> Host {
        let host = Host::new(scheme(self.name, self.members, STRIPES, &self.parameters));
        if self.filled { host.filled() } else { host }
    }
}

/// A request, or a group of pages, or a commit for GC.
pub fn step(host: &mut Host, request: &Request) {
    let aside = request.aside.index(1 << 16) as u64;
    let width = u64::from(host.scheme.width());
    if aside.is_multiple_of(5) {
        let lpn = aside % host.scheme.user_pages();
        host.collect(host.scheme.locate(Lpn(lpn)), aside.is_multiple_of(2));
    }
    if request.op == HostOp::Write && aside.is_multiple_of(3) {
        let stripe = aside % u64::from(STRIPES);
        let pages = (aside >> 3 | 1 << (aside % width)) & ((1 << width) - 1);
        let first = u64::from(pages.trailing_zeros());
        host.flush(stripe * width + first, pages >> first, aside >> 5 & pages >> first);
    } else {
        submit(host, request);
    }
}

/// The counts that a host may never see differ from what its flash holds.
pub fn check_counts(host: &Host) {
    let counts = host.scheme.guard().unwrap();
    assert_eq!((counts.entries, counts.old_pages), (host.flash.held(Version::DeferredParity), host.flash.held(Version::Base)));
    assert!(counts.entries <= counts.most_entries);
    assert!(counts.most_old_pages <= counts.most_entries * u64::from(host.scheme.width()));
    let on_one = (0..64).map(|member| host.flash.bases(flashraid_vocabulary::MemberId(member))).max().unwrap();
    assert!(u64::from(on_one) <= counts.most_entries, "SPEC 4.2: at most one old page a stripe and chip");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deferred_parities_keep_every_page(cached in cached(), requests in prop::collection::vec(request(), 1..60)) {
        let mut host = cached.host();
        for request in &requests {
            step(&mut host, request);
            host.check();
            check_counts(&host);
        }
        let reads = |host: &Host| host.flash.count(Action::Read, Cause::Commit);
        let counts = guard(&host);
        let total: u64 = counts.commits.iter().chain([&counts.widened]).map(|commits| commits.reads).sum();
        assert_eq!(reads(&host), total);
        host.drain();
        host.check();
        host.check_each_member();
        prop_assert_eq!((guard(&host).entries, host.flash.held(Version::Base)), (0, 0));
    }

    /// The cache decides what a list does that is gone through each time.
    #[test]
    fn the_cache_agrees_with_a_list(
        widths in prop::collection::vec(2..=8u32, 12), even: bool, most in 1..=6u32, alpha in prop::sample::select(vec![0u32, 1, 250, 500, 810, 1000]), spares_recent: bool,
        events in prop::collection::vec((0..12u32, any::<u8>(), 0..16u32), 1..200),
    ) {
        let replacement = Replacement { alpha, spares_recent };
        let widths = if even { vec![widths[0]; 12] } else { widths };
        let mut cache = ParityCache::new(12, widths.iter().copied().max().unwrap(), most, replacement);
        let mut list = List { widths: widths.clone(), most: most as usize, replacement, ..List::default() };
        for (stripe, strips, kind) in events {
            let width = widths[stripe as usize];
            let all = (1u64 << width) - 1;
            let (id, strips) = (StripeId(stripe), u64::from(strips) & all | 1 << (stripe % width));
            match kind {
                0..10 => {
                    prop_assert_eq!(cache.write(id, width, strips), list.write(stripe, strips));
                    cache.ended(id);
                }
                10..14 => {
                    let strips = if kind == 13 { all } else { strips };
                    let update = cache.trim(id, width, strips);
                    prop_assert_eq!(update, list.trim(stripe, strips));
                    update.into_iter().for_each(|_| cache.ended(id));
                }
                14 => {
                    cache.committed(id);
                    list.entries.retain(|entry| entry.stripe != stripe);
                }
                _ => {
                    cache.widened(id);
                    list.entries.iter_mut().filter(|entry| entry.stripe == stripe && !entry.is_empty).for_each(|entry| entry.changed = all);
                }
            }
            for stripe in 0..12 {
                let entry = list.entries.iter().find(|entry| entry.stripe == stripe && !entry.is_empty);
                prop_assert_eq!(cache.reads_to_commit(StripeId(stripe)), entry.map(|entry| list.reads(entry)));
            }
        }
    }

    /// SPEC 4.4: with alpha 1 CA-PPC is PPC, plan by plan.
    #[test]
    fn alpha_one_is_ppc(members in 3..=9u16, requests in prop::collection::vec(request(), 1..60)) {
        let bytes = ("parity_cache_bytes", "8192");
        let mut hosts = [("ppc", vec![bytes]), ("ca-ppc", vec![bytes, ("alpha", "1")])]
            .map(|(name, parameters)| Host::new(scheme(name, members, STRIPES, &parameters)).filled());
        for request in &requests {
            hosts.iter_mut().for_each(|host| step(host, request));
        }
        let [ppc, ca_ppc] = hosts;
        prop_assert_eq!(ppc.flash.log, ca_ppc.flash.log);
    }
}

#[derive(Clone, Debug)]
struct Listed {
    stripe: u32,
    changed: u64,
    updated: u64,
    /// Its stripe was trimmed as a whole.
    is_empty: bool,
}

/// What `ParityCache` decides, by going through everything.
#[derive(Clone, Debug)]
struct List {
    /// Of each stripe.
    widths: Vec<u32>,
    most: usize,
    replacement: Replacement,
    entries: Vec<Listed>,
    written: [u64; 12],
    updates: u64,
}

impl Default for List {
    fn default() -> Self {
        Self { widths: Vec::new(), most: 0, replacement: Replacement::LRU, entries: Vec::new(), written: [0; 12], updates: 0 }
    }
}

impl List {
    fn reads(&self, entry: &Listed) -> u32 {
        let (changed, width) = (entry.changed.count_ones(), self.widths[entry.stripe as usize]);
        if 2 * changed >= width { width - changed } else { changed + 1 }
    }

    fn write(&mut self, stripe: u32, strips: u64) -> Update {
        self.written[stripe as usize] |= strips;
        self.update(stripe, strips)
    }

    fn trim(&mut self, stripe: u32, strips: u64) -> Option<Update> {
        let dropped = self.written[stripe as usize] & strips;
        self.written[stripe as usize] &= !strips;
        if dropped != 0 && self.written[stripe as usize] != 0 {
            return Some(self.update(stripe, dropped));
        }
        if dropped != 0 {
            self.entries.iter_mut().filter(|entry| entry.stripe == stripe).for_each(|entry| entry.is_empty = true);
        }
        None
    }

    fn update(&mut self, stripe: u32, strips: u64) -> Update {
        let own = self.entries.iter().position(|entry| entry.stripe == stripe);
        let former = own.map(|own| self.entries.remove(own));
        let is_hit = former.as_ref().is_some_and(|entry| !entry.is_empty);
        let changed = former.as_ref().filter(|_| is_hit).map_or(0, |entry| entry.changed) | strips;
        let victim = if former.is_none() && self.entries.len() == self.most { Some(self.take_victim()) } else { None };
        self.updates += 1;
        self.entries.push(Listed { stripe, changed, updated: self.updates, is_empty: false });
        Update { is_hit, victim: victim.map(StripeId) }
    }

    fn take_victim(&mut self) -> u32 {
        self.entries.sort_by_key(|entry| entry.updated);
        let emptied = self.entries.iter().position(|entry| entry.is_empty);
        let victim = emptied.unwrap_or_else(|| {
            let Replacement { alpha, spares_recent } = self.replacement;
            let spared = if spares_recent && alpha < 1000 { self.most as u64 / 2 } else { 0 };
            let candidates = (0..self.most).filter(|rank| self.entries[*rank].updated + spared <= self.updates);
            // The first of the least.
            candidates.min_by(|one, other| self.priority(*one).total_cmp(&self.priority(*other))).unwrap()
        });
        self.entries.remove(victim).stripe
    }

    /// The formula as it stands, in numbers whose rounding does not matter.
    fn priority(&self, rank: usize) -> f64 {
        let alpha = f64::from(self.replacement.alpha) / 1000.0;
        let recency = if self.most == 1 { 0.0 } else { rank as f64 / (self.most - 1) as f64 };
        let cost = f64::from(self.reads(&self.entries[rank])) / f64::from(self.widths.iter().max().unwrap().div_ceil(2));
        let priority = alpha * recency + (1.0 - alpha) * cost;
        (priority * 1e9).round()
    }
}
