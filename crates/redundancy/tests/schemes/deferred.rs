//! Schemes that delay parities in NVRAM, healthy: the figures of the PPC paper page by page, and each option on both sides.
//!
//! On 5 members stripe 0 has strip i on member i and its parity on member 4, as in the paper's figures.

use crate::flash::Course;
use crate::host::{Host, build, scheme};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::{Build, CommitCause, Commits, GuardCounts, Source, Step, find};
use flashraid_vocabulary::{Action, Change, LocalPage, Lpn, MemberPage, Sources, Version};

pub fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// 4+1 members of 8 pages, filled: all stripes are committed.
pub fn filled(name: &str, parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme(name, 5, 8, parameters)).filled()
}

pub fn page(member: u16) -> MemberPage {
    MemberPage::new(member, 0)
}

pub fn deferred(host: &Host) -> u64 {
    host.flash.deferred_at(LocalPage(0))
}

pub fn guard(host: &Host) -> GuardCounts {
    host.deferring().guard().unwrap()
}

/// What the changes of a course say of NVRAM: `host STRIPS ^ reads READS ^ deferred`.
pub fn delays(course: &Course) -> Vec<String> {
    let bits = |mask: u64| (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect::<String>();
    let words = |sources: Sources| {
        let named = [("host ", bits(sources.host)), ("reads ", bits(sources.reads))];
        let named = named.into_iter().filter(|(_, bits)| !bits.is_empty()).map(|(name, bits)| name.to_string() + &bits);
        named.chain(sources.deferred.then(|| "delayed".to_string())).collect::<Vec<_>>().join(" ^ ")
    };
    course.changes.iter().filter_map(|change| if let Change::Defer(_, sources) = change { Some(words(*sources)) } else { None }).collect()
}

pub fn reads(course: &Course) -> usize {
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
    assert_eq!(sources, [Source::plain(page(2), Version::Current), Source::plain(page(4), Version::DeferredParity)]);
    assert!(host.scheme.recover(Lpn(0), &lost(0), &mut sources));
    let of_the_old = [(page(1), Version::Base), (page(2), Version::Base), (page(3), Version::Current), (page(4), Version::Current)]
        .map(|(page, version)| Source::plain(page, version));
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
    assert_eq!(host.deferring().commit_cost(page(1)), (2, 1), "the formula counts them");
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

// ---- tables, refusals ----

#[test]
fn tables() {
    let of = |name: &str| {
        let scheme = scheme(name, 5, 1024, &[]);
        (scheme.tables(5 * 1024), scheme.deferring().map_or_else(Vec::new, |deferring| deferring.nvram()))
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
