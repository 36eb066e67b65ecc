//! Schemes that delay parities in NVRAM, after failures: the table of SPEC 4.4 row by row, all cases of small stripes, then random ones.
//!
//! On 5 members stripe 0 has strip i on member i and its parity on member 4.

use crate::content::{STRIPES, request};
use crate::deferred_random::{Cached, cached, check_counts, step};
use crate::flash::Course;
use crate::host::{Host, build, scheme};
use crate::waves::background_waves;
use flashraid_redundancy::{Damage, Failure, Lock, Method, Step, find};
use flashraid_vocabulary::{Action, Change, HostOp, Lpn, MemberId, MemberPage, StripeId, Version, View};
use proptest::prelude::*;

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// 4+1 members, full, on which some strips of stripe 0 are associated, and then some pages are lost: a member's number, `b` behind it for its base.
fn host(associated: &str, lost: &str) -> Host {
    let mut host = Host::new(scheme("ppc", 5, 4, &[])).filled();
    for strip in associated.split_whitespace() {
        host.write(strip.parse().unwrap(), 1);
    }
    for name in lost.split_whitespace() {
        let version = if name.ends_with('b') { Version::Base } else { Version::Current };
        let page = MemberPage::new(name[..1].parse().unwrap(), 0);
        assert!(host.flash.is_written(page, version), "{name}");
        host.flash.lose(page, version);
    }
    host
}

/// The reads and the programs of a course.
fn pages(course: &Course) -> [String; 2] {
    [Action::Read, Action::Program].map(|action| {
        let done = course.waves.iter().flatten().filter(|done| done.action == action);
        let names = done.map(|done| format!("{}{}", done.address.member.0, if done.version == Version::Base { "b" } else { "" }));
        names.collect::<Vec<_>>().join(" ")
    })
}

/// SPEC 4.4, table of failures: how the newest version of a lost strip is recovered, on flash.
#[test]
fn reads_of_lost_pages() {
    for (associated, lost, strip, reads) in [
        ("", "1", 1, "0 2 3 4"),
        ("1 2", "1", 1, "2"),
        ("1", "1", 1, ""), // NVRAM alone has it
        ("1 2", "0", 0, "1b 2b 3 4"),
        ("0 1 2 3", "3", 3, "0 1 2"),
        ("1 2", "4", 0, "0"),
        ("1 2", "1b", 1, "1"),
    ] {
        let mut host = host(associated, lost);
        let course = only(host.read(strip, 1));
        let is_computed = lost.parse() == Ok(strip);
        assert_eq!((pages(&course)[0].as_str(), course.operation.lock == Lock::Shared), (reads, is_computed), "{associated}: {lost}");
        assert_eq!(host.check_degraded(), 0);
    }
    for (associated, lost, strip) in [("1 2", "1 2", 1), ("1", "0 1b", 0), ("1", "0 4", 0), ("1", "0 2", 0), ("", "1 4", 1)] {
        let mut host = host(associated, lost);
        assert_eq!(only(host.read(strip, 1)).end, Step::Failed(Failure::Lost), "{associated}: {lost}");
        assert!(host.check_degraded() > 0);
    }
    // Two are lost, and each is computed of other pages.
    assert_eq!(host("1 2", "0 1").check_degraded(), 0);
}

/// SPEC 4.4, table of failures: what restores redundancy.
#[test]
fn repairs() {
    use Damage::{Compute, None};
    for (associated, lost, damage, plans, commits) in [
        ("1 2", "1 1b", Compute, vec![["0 3 2", "4 1"]], 1), // the chip of an associated strip: it, and the parity of the others
        ("1", "1 1b", Compute, vec![["0 2 3", "4 1"]], 1),
        ("1 2", "0", Compute, vec![["1b 2b 3 4", "0"]], 0), // of another strip: the entry stays
        ("1 2", "4", Compute, vec![["0 3", "4"]], 1),       // of the parity, whatever the formula
        ("1", "4", Compute, vec![["0 2 3", "4"]], 1),
        ("1 2", "1", Compute, vec![["2", "1"]], 0), // one page: the base is there
        ("1", "1b", Compute, vec![["0 2 3", "4"]], 1),
        ("0 1 2 3", "4", Compute, vec![["", "4"]], 1),
        ("", "1", Compute, vec![["0 2 3 4", "1"]], 0), // no entry: RAID-5
        ("", "4", Compute, vec![["0 1 2 3", "4"]], 0),
        ("1 2", "0 1", Compute, vec![["1b 2b 3 4", "0"], ["2", "1"]], 0),
        ("1 2", "1 2", None, vec![], 0),
        ("1", "0 4", None, vec![], 0),
        ("1 2", "1 2 4", None, vec![], 0),
    ] {
        let mut host = host(associated, lost);
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), damage, "{associated}: {lost}");
        let courses = host.repair_all();
        let done: Vec<_> = courses.iter().map(pages).collect();
        assert_eq!(done, plans.iter().map(|plan| plan.map(String::from)).collect::<Vec<_>>(), "{associated}: {lost}");
        courses.iter().for_each(|course| drop(background_waves(course)));
        assert_eq!(host.scheme.parity_updates().committed, commits);
        if damage == Compute {
            assert_eq!(host.flash.lost(), 0);
            host.check_each_member();
            check_counts(&host);
            // The cache knows whether the entry is still there.
            let hits = host.deferring().guard().unwrap().hits;
            host.write(2, 1);
            let stays = commits == 0 && !associated.is_empty();
            assert_eq!(host.deferring().guard().unwrap().hits - hits, u64::from(stays), "{associated}: {lost}");
        }
    }
    // Want of room for the parity: the strip at least; of the strip: nothing.
    for (full, damage, programs) in [(4, Compute, "1"), (1, Damage::NoSpace, "")] {
        let mut host = host("1 2", "1 1b");
        host.flash.full.insert(MemberId(full));
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), damage);
        assert_eq!(host.repair_all().first().map_or(String::new(), |course| pages(course)[1].clone()), programs);
        assert_eq!(host.check_degraded(), 0);
    }
    // A write has repaired the stripe meanwhile.
    let mut late = host("1", "0");
    let repair = late.scheme.repair(StripeId(0), &late.flash);
    late.write(0, 1);
    assert_eq!(late.run(repair).end, Step::Nothing);
}

/// What NVRAM has lost takes no room in it any more, whether or not the stripes are repaired.
#[test]
fn a_cache_that_has_lost_all_is_empty() {
    for name in ["ppc", "fpc"] {
        let mut host = Host::new(scheme(name, 5, STRIPES, &[("parity_cache_bytes", "8192")])).filled();
        (0..2).for_each(|stripe| drop(host.write(4 * stripe, 1)));
        host.lose_parity_cache();
        for (stripe, is_hit) in [(0, false), (2, false), (0, true)] {
            let before = host.deferring().guard().unwrap();
            assert_eq!(host.write(4 * stripe + 1, 1).len(), 1, "{name}: nothing is committed to make room");
            assert_eq!(host.deferring().guard().unwrap().hits - before.hits, u64::from(is_hit), "{name}: stripe {stripe}");
        }
    }
}

/// SPEC 4.4: a commit takes the formula that needs nothing lost, whatever k is.
#[test]
fn commits_with_something_lost() {
    for (associated, lost, reads) in
        [("1", "4", "0 2 3"), ("1", "1b", "0 2 3"), ("1 2", "0", "1b 2b 4"), ("1", "0", "1b 4"), ("1 2", "1", "0 3"), ("1 2", "1b", "0 3")]
    {
        let mut host = host(associated, lost);
        assert_eq!(pages(&only(host.drain())), [reads, "4"], "{associated}: {lost}");
        assert_eq!((host.check_degraded(), host.flash.held(Version::Base), host.flash.held(Version::DeferredParity)), (0, 0, 0));
        host.repair_all();
        host.check_each_member();
    }
    // Beyond one failure no parity can be made: nothing wrong is ever computed of it.
    let mut host = host("1", "0 4");
    let course = only(host.drain());
    assert_eq!((course.end, course.changes[0]), (Step::Done, Change::Lose(MemberPage::new(4, 0))));
    assert_eq!(host.check_degraded(), 1);
}

/// Updates that find something lost make NVRAM cover the whole stripe.
#[test]
fn updates_with_something_lost() {
    for (associated, lost, (first, count), reads, method, left) in [
        ("", "0", (1, 1), "1 4", Method::Rcw, 1), // what cancels out is not read
        ("", "0", (0, 1), "1 2 3", Method::Rcw, 0),
        ("", "4", (0, 1), "1 2 3", Method::Rcw, 1),
        ("1 2", "0", (1, 1), "1b 2 2b 4", Method::Rcw, 1),
        ("1 2", "1 1b", (2, 1), "0 2 3", Method::Rmw, 1),
        ("1 2", "1 1b", (1, 1), "0 2 3", Method::Rcw, 0),
        ("1 2", "1b", (0, 1), "1 2 3", Method::Rcw, 0),
        ("1 2", "4", (0, 4), "", Method::Rcw, 1),
    ] {
        let mut host = host(associated, lost);
        let course = only(host.write(first, count));
        assert_eq!((pages(&course)[0].as_str(), course.operation.method), (reads, method), "{associated}: {lost}");
        assert_eq!((host.flash.lost(), host.flash.held(Version::Base), host.check_degraded()), (left, 0, 0), "{associated}: {lost}");
        host.repair_all();
        host.check_each_member();
    }
    // Beyond one failure the data are written, and the parity counts as lost.
    let mut host = host("1", "0 4");
    let course = only(host.write(2, 1));
    assert_eq!((course.operation.method, pages(&course)), (Method::None, ["", "2"].map(String::from)));
    assert_eq!((host.check_degraded(), host.flash.held(Version::DeferredParity)), (1, 0));
    assert_eq!(only(host.write_part(0, 512)).end, Step::Failed(Failure::Lost));
    host.write(0, 1);
    assert_eq!((host.check_degraded(), host.repair_all().len()), (0, 1));
    host.check_each_member();
}

/// A page that finds no place is held by NVRAM, if nothing else needs that.
#[test]
fn what_finds_no_place() {
    for (lost, dead, first, count, end) in [
        ("", vec![1], 1, 1, Step::Done),
        ("", vec![1], 0, 4, Step::Done),
        ("", vec![0, 1], 0, 2, Step::Failed(Failure::NoSpace)),
        ("0", vec![1], 1, 1, Step::Failed(Failure::NoSpace)),
        ("0", vec![0], 0, 2, Step::Done),
        // Over a lost base NVRAM covers the whole stripe, and one strip that finds no place with it.
        ("2b", vec![1], 1, 1, Step::Done),
        ("2b", vec![2], 2, 1, Step::Done),
        ("2b", vec![1], 0, 4, Step::Done),
        ("2b", vec![0, 1], 0, 2, Step::Failed(Failure::NoSpace)),
    ] {
        let mut host = host("2", lost);
        host.flash.dead.extend(dead.iter().copied().map(MemberId));
        assert_eq!(only(host.write(first, count)).end, end, "{lost}: {dead:?}");
        assert_eq!(host.check_degraded(), 0);
        host.flash.dead.clear();
        host.repair_all();
        host.check_each_member();
    }
    // The parity of a commit: the stripe goes without, unless it needs one.
    for (lost, end) in [("", Step::Done), ("0", Step::Failed(Failure::NoSpace))] {
        let mut host = host("2", lost);
        host.flash.dead.insert(MemberId(4));
        let course = only(host.drain());
        assert_eq!((course.end, host.flash.held(Version::DeferredParity)), (end, u64::from(end != Step::Done)));
        assert_eq!(host.check_degraded(), 0);
    }
    // GC moves the base instead: its commit fails, and NVRAM keeps what it has.
    let mut host = host("2", "");
    host.flash.dead.insert(MemberId(4));
    let course = host.collect(MemberPage::new(2, 0), true).unwrap();
    let held = [Version::DeferredParity, Version::Base].map(|version| host.flash.held(version));
    assert_eq!((course.end, held), (Step::Failed(Failure::NoSpace), [1, 1]));
    assert_eq!(host.check_degraded(), 0);
}

/// Member 1 dies while strips 2 and 3 are programmed, and member 3 has no page: of PPC one line gives back strip 1, the other strip 3.
fn two_lost() -> Host {
    let mut host = host("", "");
    host.flash.dead.insert(MemberId(3));
    host.flash.strike = Some((0, MemberId(1), true));
    assert_eq!(only(host.write(2, 2)).end, Step::Done);
    assert_eq!((host.flash.lost(), host.check_degraded()), (5, 0)); // four stripes had a page on member 1
    host
}

/// What gives back two lost strips, one each, is never made one that gives back one of two.
#[test]
fn two_lost_strips_are_kept_apart() {
    use Failure::NoSpace;
    let check = |mut host: Host, what: &str| {
        assert_eq!(host.check_degraded(), 0, "{what}");
        host.flash.dead.clear();
        host.repair_all();
        assert_eq!((host.flash.lost(), host.check_degraded()), (0, 0), "{what}");
        host.check_each_member();
        check_counts(&host);
    };
    check(two_lost(), "nothing");
    let mut host = two_lost();
    assert_eq!(only(host.drain()).end, Step::Failed(NoSpace));
    check(host, "commit");
    for room in [true, false] {
        let mut host = two_lost();
        assert_eq!(host.collect(MemberPage::new(2, 0), room).unwrap().end, Step::Failed(NoSpace));
        check(host, &format!("commit for a collection with room {room}"));
    }
    for (first, pages, end) in [
        (0, 1, Step::Last),            // as if nothing were lost
        (1, 1, Step::Last),            // NVRAM covers the stripe: strip 3 alone is lost
        (2, 1, Step::Last),            // reads the strip that it supersedes
        (3, 1, Step::Failed(NoSpace)), // no place, and it may not lean on what strip 1 needs
        (0, 2, Step::Last),
        (0, 4, Step::Done), // strip 3 alone finds no place
    ] {
        let mut host = two_lost();
        assert_eq!(only(host.write(first, pages)).end, end, "{first} {pages}");
        check(host, &format!("write of {pages} at {first}"));
    }
    for (first, pages) in [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (2, 2)] {
        let mut host = two_lost();
        host.trim(first, pages);
        check(host, &format!("trim of {pages} at {first}"));
    }
    // Of FPC there is one line only: the write fails.
    let mut host = Host::new(scheme("fpc", 5, 4, &[])).filled();
    host.flash.dead.insert(MemberId(3));
    host.flash.strike = Some((1, MemberId(1), true));
    assert_eq!(only(host.write(2, 2)).end, Step::Failed(NoSpace));
    check(host, "fpc");
}

/// With commits that failed NVRAM is full: no update takes a place that it has not.
#[test]
fn nvram_is_never_overfull() {
    let build = build(5, 4, &[("parity_cache_bytes", "4096")]);
    let mut host = Host::new(find("ppc").unwrap().build(&build).unwrap()).filled();
    host.write(2, 1);
    host.flash.lose(MemberPage::new(0, 0), Version::Current);
    host.flash.dead.insert(MemberId(4));
    let courses = host.write(4, 1);
    assert_eq!(courses.iter().map(|course| course.end).collect::<Vec<_>>(), [Step::Failed(Failure::NoSpace); 2]);
    assert_eq!((host.deferring().guard().unwrap().entries, host.check_degraded()), (1, 0));
    host.flash.dead.clear();
    host.repair_all();
    host.check_each_member();
}

/// One stripe of `width` strips: `before` were written before the last commit, `changed` since.
fn state(name: &str, parameters: &[(&str, &str)], width: u16, before: u64, changed: u64) -> Host {
    let mut host = Host::new(scheme(name, width + 1, 1, parameters));
    for strips in [before, changed] {
        if strips != 0 {
            let first = strips.trailing_zeros();
            host.flush(first.into(), strips >> first, 0);
        }
        if strips == before {
            host.drain();
        }
    }
    host
}

/// What may happen next to a stripe, and after it another failure.
fn survives(host: &Host, width: u64, what: &str) {
    let check = |mut host: Host, what: &str| {
        assert_eq!(host.check_degraded(), 0, "{what}");
        host.repair_all();
        assert_eq!((host.flash.lost(), host.check_degraded()), (0, 0), "{what}");
        host.check_each_member();
        check_counts(&host);
    };
    check(host.fork(), what);
    for strip in 0..width {
        for op in [HostOp::Write, HostOp::Trim] {
            for pages in [1, 2].into_iter().filter(|pages| strip + pages <= width) {
                let mut host = host.fork();
                host.submit(op, strip, pages, 4096, 4096);
                check(host, &format!("{what}, then {op:?} of {pages} at {strip}"));
            }
        }
        let mut host = host.fork();
        host.write_part(strip, 512);
        check(host, &format!("{what}, then a part of {strip}"));
    }
    for room in [None, Some(true), Some(false)] {
        let mut host = host.fork();
        match room {
            None => drop(host.drain()),
            Some(room) => drop(host.collect(MemberPage::new(0, 0), room)),
        }
        check(host, &format!("{what}, then a commit with room {room:?}"));
    }
}

/// Every stripe of up to 4 strips: everything that may have been written before and since the last commit, every single loss, everything that may come next.
#[test]
fn all_small_stripes() {
    let variants: [(&str, &[(&str, &str)]); 4] =
        [("ppc", &[]), ("ppc", &[("early_release", "yes"), ("ppc_update", "min")]), ("fpc", &[]), ("fpc", &[("update", "rmw")])];
    let widest = if std::env::var_os("FLASHRAID_PROVE").is_some() { 4 } else { 3 };
    for width in 2..=widest {
        for (name, parameters) in variants {
            for (before, changed) in (0..1u64 << width).flat_map(|before| (0..1u64 << width).map(move |changed| (before, changed))) {
                let healthy = state(name, parameters, width, before, changed);
                let what = format!("{name} {width} before {before:b} changed {changed:b}");
                for member in 0..=width {
                    let mut host = healthy.fork();
                    host.flash.replace(MemberId(member));
                    survives(&host, width.into(), &format!("{what} without member {member}"));
                    for version in [Version::Current, Version::Base] {
                        let page = MemberPage::new(member, 0);
                        if healthy.flash.is_written(page, version) {
                            let mut host = healthy.fork();
                            host.flash.lose(page, version);
                            survives(&host, width.into(), &format!("{what} without {version:?} of {member}"));
                        }
                    }
                }
                let mut host = healthy.fork();
                host.lose_parity_cache();
                survives(&host, width.into(), &format!("{what} without the cache"));
            }
        }
    }
}

/// What happens next to a device of which one member at a time, or the cache, has failures.
#[derive(Clone, Debug)]
enum Event {
    Request(crate::content::Request),
    /// A member loses its pages while a wave of the next operation is under way.
    Strike(usize, prop::sample::Index),
    LoseCache,
    /// A member has no page to give any more, or has again.
    Exhaust(prop::sample::Index),
    /// A page of zeroes appears.
    Appear(prop::sample::Index),
    Repair(prop::sample::Index),
    RepairAll,
}

fn event() -> impl Strategy<Value = Event> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        12 => request().prop_map(Event::Request),
        3 => (0..3usize, index()).prop_map(|(wave, member)| Event::Strike(wave, member)),
        1 => Just(Event::LoseCache),
        2 => index().prop_map(Event::Exhaust),
        1 => index().prop_map(Event::Appear),
        3 => index().prop_map(Event::Repair),
        2 => Just(Event::RepairAll),
    ]
}

fn play(cached: &Cached, events: &[Event]) {
    let mut host = cached.host();
    host.flash.strikes_spare_others = true;
    // A failure is over when nothing is lost any more.
    let mut failed = None;
    for event in events {
        match event {
            Event::Request(request) => step(&mut host, request),
            Event::Strike(wave, member) => {
                let member = MemberId(member.index(usize::from(cached.members)) as u16);
                if failed.is_none_or(|failed| failed == Some(member)) {
                    failed = Some(Some(member));
                    host.flash.strike = Some((*wave, member, true));
                }
            }
            Event::Exhaust(member) => {
                let member = MemberId(member.index(usize::from(cached.members)) as u16);
                host.flash.has_failed = true;
                if !host.flash.dead.remove(&member) {
                    host.flash.dead.insert(member);
                }
            }
            Event::LoseCache if failed.is_none() && host.flash.lost() == 0 => {
                failed = Some(None);
                host.lose_parity_cache();
            }
            Event::LoseCache => {}
            Event::Appear(lpn) => host.appear(lpn.index(host.scheme.user_pages() as usize) as u64),
            Event::Repair(stripe) => {
                let stripe = StripeId(stripe.index(STRIPES as usize) as u32);
                if host.scheme.damage(stripe, &host.flash) == Damage::Compute {
                    let repair = host.scheme.repair(stripe, &host.flash);
                    host.run(repair);
                }
            }
            Event::RepairAll => drop(host.repair_all()),
        }
        assert_eq!(host.check_degraded(), 0, "{event:?}");
        if host.flash.lost() == 0 && host.flash.strike.is_none() {
            failed = None;
            host.check_each_member();
        }
        let counts = host.deferring().guard().unwrap();
        assert_eq!(counts.entries, host.flash.held(Version::DeferredParity), "{event:?}");
    }
    host.flash.strike = None;
    host.flash.dead.clear();
    host.repair_all();
    assert_eq!(host.flash.lost(), 0);
    host.check_each_member();
    host.drain();
    host.check_each_member();
    let last = Lpn(host.scheme.user_pages() - 1);
    assert_eq!(host.flash.current(host.scheme.locate(last)), host.expected(last.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_failure_at_a_time_loses_nothing(cached in cached(), events in prop::collection::vec(event(), 1..80)) {
        play(&cached, &events);
    }
}
