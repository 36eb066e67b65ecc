//! CR5M after failures: each row of the tables of SPEC 1.7 page by page, then random requests, failures and repairs.
//!
//! On 5 members stripe 0 has its data on members 0 to 3 and its parity on member 4. RMW of one strip reads 2 pages, RCW 3; of two strips 3 and 2.

use crate::content::{Request, STRIPES, mirrors, request, submit};
use crate::flash::{Course, DATA_CHIPS, PAGE, Strike};
use crate::host::{Host, build, scheme};
use flashraid_redundancy::{Build, Damage, Failure, Method, Step, find};
use flashraid_vocabulary::{Action, HostOp, Lpn, MemberId, MemberPage, StripeId, Version, View};
use proptest::prelude::*;

const ALWAYS: (&str, &str) = ("mw_limit", "1000");

/// Page `name` of stripe 0: a member, then `b` for its base or `c` for its copy.
fn page(name: &str) -> (MemberPage, Version) {
    let version = match &name[1..] {
        "b" => Version::Base,
        "c" => Version::Copy,
        _ => Version::Current,
    };
    (MemberPage::new(name[..1].parse().unwrap(), 0), version)
}

/// The reads and the programs of a course, as names like those of `page`.
fn pages(course: &Course) -> [String; 2] {
    [Action::Read, Action::Program].map(|action| {
        let done = course.waves.iter().flatten().filter(|done| done.action == action);
        let names = done.map(|done| {
            let suffix = match done.version {
                Version::Current => "",
                Version::Base => "b",
                Version::Copy => "c",
                Version::DeferredParity => unreachable!("{done:?}"),
            };
            format!("{}{suffix}", done.address.member.0)
        });
        names.collect::<Vec<_>>().join(" ")
    })
}

/// 5 members, full, on which some strips of stripe 0 are mirrored and then some pages are lost.
fn host(mirrored: &str, lost: &str) -> Host {
    let mut host = Host::new(scheme("cr5m", 5, STRIPES, &[ALWAYS])).filled();
    for strip in mirrored.split_whitespace() {
        assert_eq!(only(host.write(strip.parse().unwrap(), 1)).operation.method, Method::Mirrored);
    }
    for name in lost.split_whitespace() {
        let (page, version) = page(name);
        assert!(host.flash.is_written(page, version), "{name}");
        host.flash.lose(page, version);
    }
    host
}

fn busy(mut host: Host) -> Host {
    host.flash.busy_mirrors = (0..5).map(MemberId).collect();
    host
}

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// Strips of stripe 0 that are mirrored now.
fn mirrored(host: &Host) -> String {
    let is_mirrored = |strip: &u16| host.flash.is_written(MemberPage::new(*strip, 0), Version::Copy);
    (0..4).filter(is_mirrored).map(|strip| strip.to_string()).collect::<Vec<_>>().join(" ")
}

/// A request on strips `first` to `first + pages - 1` of a stripe with these `mirrored` and `lost`: what it reads and programs, which strips are mirrored
/// afterwards, and what is lost. Nothing that the host wrote is, and after the rebuild any chip may fail.
#[track_caller]
fn row(idle: bool, op: HostOp, before: [&str; 2], (first, pages_): (u64, u64), plan: [&str; 2], after: (&str, usize)) {
    let mut host = host(before[0], before[1]);
    if !idle {
        host = busy(host);
    }
    let course = only(host.submit(op, first, pages_, PAGE, PAGE));
    assert_eq!(pages(&course), plan);
    assert_eq!((mirrored(&host).as_str(), host.flash.lost()), after);
    assert_eq!(host.check_degraded(), 0);
    host.repair_all();
    assert_eq!(host.flash.lost(), 0);
    host.check();
}

/// SPEC 1.7, writes in degraded mode, line by line.
#[test]
fn writes_in_degraded_mode() {
    use HostOp::Write;
    let row = |idle, before, strips, plan, after| row(idle, Write, before, strips, plan, after);
    // cur_0 unmirrored, not touched: RMW or MW.
    row(false, ["", "0"], (1, 1), ["1 4", "1 4"], ("", 1));
    row(true, ["", "0"], (1, 1), ["", "1 1c"], ("1", 1));
    row(false, ["2", "0"], (1, 1), ["1 4", "1 4"], ("2", 1));
    row(false, ["2", "0"], (2, 1), ["2b 4", "2 4"], ("", 1));
    row(false, ["", "0"], (1, 2), ["1 2 4", "1 2 4"], ("", 1)); // RCW would need a reconstruction
    // The same, touched: RCW, all released.
    row(true, ["", "0"], (0, 1), ["1 2 3", "0 4"], ("", 0));
    row(true, ["2", "0"], (0, 1), ["1 2 3", "0 4"], ("", 0));
    row(true, ["2", "0"], (0, 2), ["2 3", "0 1 4"], ("", 0));
    // PPN_0 of a mirrored strip, not touched: any; who releases it programs it too.
    row(false, ["0", "0"], (1, 1), ["1 4", "1 4"], ("0", 1));
    row(true, ["0", "0"], (1, 1), ["", "1 1c"], ("0 1", 1));
    row(false, ["0", "0"], (1, 2), ["0c 3", "1 2 4 0"], ("", 0));
    row(true, ["0 1 2", "0"], (3, 1), ["0c 1 2", "3 4 0"], ("", 0));
    row(true, ["0 1 2", "2"], (3, 1), ["2c 0 1", "3 4 2"], ("", 0));
    // The same, touched: any, and it counts as repaired.
    row(false, ["0", "0"], (0, 1), ["0b 4", "0 4"], ("", 0));
    row(true, ["0", "0"], (0, 1), ["", "0 0c"], ("0", 0));
    row(false, ["0", "0"], (0, 2), ["2 3", "0 1 4"], ("", 0));
    // MPPN_0: any; touched RMW or RCW.
    row(true, ["0", "0c"], (1, 1), ["", "1 1c"], ("0 1", 1));
    row(false, ["0", "0c"], (1, 1), ["1 4", "1 4"], ("0", 1));
    row(true, ["0", "0c"], (0, 1), ["0b 4", "0 4"], ("", 0));
    row(true, ["0", "0c"], (0, 2), ["2 3", "0 1 4"], ("", 0));
    // EPPN_0: RCW, all released.
    row(true, ["0", "0b"], (1, 1), ["0 2 3", "1 4"], ("", 0));
    row(true, ["0 3", "0b"], (0, 1), ["1 2 3", "0 4"], ("", 0));
    // EPPN_0 and PPN_0: the same, from the copy.
    row(true, ["0", "0b 0"], (1, 1), ["0c 2 3", "1 4 0"], ("", 0));
    row(true, ["0", "0b 0"], (0, 1), ["1 2 3", "0 4"], ("", 0));
    // Parity: RCW, a new one.
    row(true, ["", "4"], (1, 1), ["0 2 3", "1 4"], ("", 0));
    row(true, ["2", "4"], (2, 1), ["0 1 3", "2 4"], ("", 0));
    // A full stripe is always possible and repairs everything.
    for (mirrored, lost) in [("", "0"), ("0", "0"), ("0", "0c"), ("0 2", "0b 0"), ("1", "4")] {
        row(true, [mirrored, lost], (0, 4), ["", "0 1 2 3 4"], ("", 0));
    }
}

/// SPEC 1.7: as an update with zeroes, but never MW (1.4).
#[test]
fn trims_in_degraded_mode() {
    let row = |before, strips, plan, after| row(true, HostOp::Trim, before, strips, plan, after);
    row(["", "0"], (1, 1), ["1 4", "4"], ("", 1));
    row(["", "0"], (0, 1), ["1 2 3", "4"], ("", 0));
    row(["0", "0"], (1, 1), ["1 4", "4"], ("0", 1));
    row(["0", "0"], (1, 2), ["0c 3", "4 0"], ("", 0));
    row(["0", "0"], (0, 1), ["0b 4", "4"], ("", 0));
    row(["0", "0c"], (0, 1), ["0b 4", "4"], ("", 0));
    row(["0", "0b"], (1, 1), ["0 2 3", "4"], ("", 0));
    row(["0", "0b 0"], (1, 1), ["0c 2 3", "4 0"], ("", 0));
    row(["2", "4"], (1, 1), ["0 2 3", "4"], ("", 0));
    row(["0", "0b 0"], (0, 4), ["", ""], ("", 0));
    row(["", "4"], (0, 4), ["", ""], ("", 0));
}

#[test]
fn a_part_of_a_lost_strip_is_laid_over_what_is_left_of_it() {
    for (mirrored, lost, plan) in [
        ("", "0", ["1 2 3 4", "0 4"]),
        ("2", "0", ["1 2 3 2b 4", "0 4"]),
        ("0", "0", ["0c", "0 0c"]),
        ("0", "0b 0", ["1 2 3 0c", "0 4"]),
        ("0", "0c", ["0b 4 0", "0 4"]),
    ] {
        let mut host = host(mirrored, lost);
        let course = only(host.write_part(0, 512));
        assert_eq!(pages(&course), plan, "{mirrored} {lost}");
        assert_eq!(host.check_degraded(), 0);
    }
}

/// SPEC 1.5 and 1.7: a mirrored strip from its copy and without a lock, any other one is computed under the lock.
#[test]
fn reads_of_lost_pages() {
    for (mirrored, lost, reads) in
        [("0", "0", "0c"), ("0", "0b 0", "0c"), ("0", "0c", "0"), ("", "0", "1 2 3 4"), ("2 3", "0", "1 2b 3b 4"), ("", "4", "0")]
    {
        let mut host = host(mirrored, lost);
        let course = only(host.read(0, 1));
        assert_eq!(pages(&course)[0], reads, "{mirrored} {lost}");
        let is_computed = reads.ends_with('4');
        assert_eq!(course.operation.lock == flashraid_redundancy::Lock::Shared, is_computed);
    }
    // The strips that the host wants, too, are read once; of a mirrored one the host wants another version.
    assert_eq!(pages(&only(host("2", "0").read(0, 4)))[0], "1 2 3 2b 4");
    for (mirrored, lost) in [("0", "0 0c"), ("", "0 4"), ("1", "0 1b"), ("", "0 1")] {
        let mut host = host(mirrored, lost);
        assert_eq!(only(host.read(0, 1)).end, Step::Failed(Failure::Lost), "{mirrored} {lost}");
        assert!(host.check_degraded() > 0);
    }
}

/// SPEC 1.7, table of MCR, and the rows of the mirror chip: damage, reads, programs, how many of these were copied, and what stays mirrored.
#[test]
fn repairs() {
    use Damage::{Compute, Copy, NoSpace, None};
    for (mirrored_, lost, damage, plan, copied, after) in [
        ("", "0", Compute, ["1 2 3 4", "0"], 0, ""),          // non-MW
        ("2", "0", Compute, ["1 2b 3 4", "0"], 0, "2"),       // sibling-MW, data
        ("2", "4", Compute, ["0 1 2 3", "4"], 0, ""),         // sibling-MW, parity
        ("", "4", Compute, ["0 1 2 3", "4"], 0, ""),          // non-MW
        ("0", "0", Copy, ["0c", "0"], 1, "0"),                // MW
        ("0 2", "0b", Compute, ["0 1 2 3", "4"], 0, ""),      // obsolete-lost
        ("0 2", "0b 0", Compute, ["0c 1 2 3", "4 0"], 1, ""), // MW and obsolete-lost
        ("2", "2b 2", Compute, ["2c 0 1 3", "4 2"], 1, ""),
        ("0 1", "0c", Copy, ["0", "0c"], 1, "0 1"),         // mirror chip
        ("0 1", "0b 0c", Compute, ["0 1 2 3", "4"], 0, ""), // both chips of the channel
    ] {
        let mut host = host(mirrored_, lost);
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), damage, "{mirrored_} {lost}");
        let course = only(host.repair_all());
        assert_eq!((pages(&course), course.operation.copied), (plan.map(String::from), copied), "{mirrored_} {lost}");
        assert!(course.waves.iter().flatten().all(|done| !done.host_waits));
        assert_eq!((mirrored(&host).as_str(), host.flash.lost()), (after, 0), "{mirrored_} {lost}");
        host.check();
    }
    // Without a mirror chip the parity takes the place of copies.
    let mut no_mirror = host("0 1", "0c");
    no_mirror.flash.dead_mirrors.insert(MemberId(0));
    assert_eq!(no_mirror.scheme.damage(StripeId(0), &no_mirror.flash), Compute);
    assert_eq!(pages(&only(no_mirror.repair_all())), ["0 1 2 3", "4"]);
    assert_eq!((mirrored(&no_mirror).as_str(), no_mirror.flash.lost()), ("", 0));
    no_mirror.check();
    // What more than one failure took is left alone, and what has a copy is repaired all the same.
    for (mirrored, lost) in [("0", "0 0c"), ("", "0 4"), ("0", "0b 1"), ("0", "0 0c 4")] {
        assert_eq!(host(mirrored, lost).scheme.damage(StripeId(0), &host(mirrored, lost).flash), None, "{mirrored} {lost}");
    }
    let mut two = host("1", "0 1 4");
    assert_eq!(pages(&only(two.repair_all())), ["1c", "1"]);
    assert_eq!(two.scheme.damage(StripeId(0), &two.flash), None);
    // What is computed comes before what is copied: while it is lost, one more failure would take it for good.
    let mut two = host("0", "0 1");
    assert_eq!(two.scheme.damage(StripeId(0), &two.flash), Compute);
    assert_eq!(two.repair_all().iter().map(pages).collect::<Vec<_>>(), [["0b 2 3 4", "1"], ["0c", "0"]]);
    // Want of room, of the member that is to take the page.
    for (mirrored, lost, full, damage) in [
        ("", "0", 0, NoSpace),
        ("", "0", 1, Compute),
        ("0", "0", 0, NoSpace),
        ("0", "0b", 0, Compute),
        ("0", "0b", 4, NoSpace),
        ("0", "0b 0", 4, Copy), // the strip at least
        ("0", "0b 0", 0, NoSpace),
        ("0", "0c", 0, Copy),
        ("0", "0c", 4, Copy),
    ] {
        let mut host = host(mirrored, lost);
        host.flash.full.insert(MemberId(full));
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), damage, "{mirrored} {lost} {full}");
    }
}

#[test]
fn a_repair_does_what_is_needed_when_it_has_its_lock() {
    let mut host = host("2", "0");
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    // A write has repaired the stripe meanwhile.
    host.write(0, 1);
    let course = host.run(repair);
    assert_eq!((course.end, course.waves.len()), (Step::Nothing, 0));
    // Another page of it was lost than the one for which it has space.
    host.flash.lose(MemberPage::new(1, 0), Version::Current);
    assert_eq!(host.run(repair).end, Step::Nothing);
    assert_eq!(host.repair_all().len(), 1);
    assert_eq!(host.flash.lost(), 0);
}

/// SPEC 1.7 and 1.10 ruling 22: the mirror chip dies under a mirrored write, and there is no spare.
#[test]
fn a_mirrored_write_without_a_mirror_chip_is_finished_as_rmw_or_rcw() {
    let strike = |wave, member| Some(Strike { wave, member: MemberId(member), chip: DATA_CHIPS, has_spare: false });
    for (mirrored_, lost, (first, pages_), bytes, wave, plan, after) in [
        ("", "", (0, 1), PAGE, 0, ["0 4", "0 0c 4"], ""),
        ("0", "", (0, 1), PAGE, 0, ["0b 4", "0 0c 4"], ""),
        ("2", "", (0, 2), PAGE, 0, ["2 3", "0 1 0c 1c 4"], ""),
        ("0 1", "", (0, 2), PAGE, 0, ["2 3", "0 1 0c 1c 4"], ""),
        ("", "", (0, 1), 512, 1, ["0 0 4", "0 0c 4"], ""),
        ("1", "", (0, 1), 512, 1, ["0 0 4", "0 0c 4"], "1"),
        ("3", "3", (0, 2), PAGE, 0, ["3c 2", "0 1 0c 1c 4 3"], ""),
        ("3", "3", (0, 2), 512, 1, ["0 1 3c 2", "0 1 0c 1c 4 3"], ""),
    ] {
        let mut host = host(mirrored_, lost);
        let before = host.scheme.parity_updates();
        host.flash.chip_strike = strike(wave, 0);
        let course = only(host.submit(HostOp::Write, first, pages_, bytes, bytes));
        assert_eq!((pages(&course), mirrored(&host).as_str()), (plan.map(String::from), after), "{mirrored_}");
        let updates = host.scheme.parity_updates();
        assert_eq!((updates.mirrored, updates.rmw + updates.rcw), (before.mirrored, before.rmw + before.rcw + 1));
        assert_eq!(host.flash.held(Version::Base), mirrored(&host).split_whitespace().count() as u64);
        assert_eq!(host.check_degraded(), 0);
        host.repair_all();
        host.check();
    }
}

/// SPEC 1.4, release: whoever releases the copy of a strip whose current version is lost programs that too.
#[test]
fn strips_that_only_a_copy_holds_are_programmed_with_what_releases_it() {
    // Mirroring is refused after the update reads.
    let mut refused = host("0", "0");
    refused.flash.busy_after_first_wave = true;
    let course = only(refused.submit(HostOp::Write, 1, 2, 512, PAGE));
    assert_eq!(pages(&course), ["1 0c 3", "1 2 4 0"]);
    assert_eq!((refused.check_degraded(), refused.flash.lost()), (0, 0));
    // A program finds no place: the parity holds what it was to hold, but for one strip only.
    for (dead, end, lost) in [
        (vec![1], Step::Done, 1),
        (vec![0], Step::Done, 1),
        (vec![4], Step::Done, 1),
        (vec![0, 1], Step::Failed(Failure::NoSpace), 1),
        (vec![0, 4], Step::Failed(Failure::NoSpace), 1),
        (vec![1, 4], Step::Failed(Failure::NoSpace), 1),
    ] {
        let mut host = busy(host("0", "0"));
        host.flash.dead = dead.iter().copied().map(MemberId).collect();
        let course = only(host.write(1, 2));
        assert_eq!((course.end, host.flash.lost(), host.check_degraded()), (end, lost, 0), "{dead:?}");
        host.flash.dead.clear();
        host.repair_all();
        host.check();
    }
    // The chip dies under the operation, which asked for no such space: the parity holds the strip until it is repaired.
    let mut late = busy(host("0", ""));
    let (page, version) = page("0");
    let chip = late.flash.chip_of(page, version);
    late.flash.chip_strike = Some(Strike { wave: 0, member: MemberId(0), chip, has_spare: true });
    let course = only(late.write(1, 2));
    assert_eq!((pages(&course), late.check_degraded()), (["0c 3", "1 2 4"].map(String::from), 0));
    assert!(late.flash.unreadable().contains(&page));
    late.repair_all();
    late.check();
}

/// A channel has credit for one base. Mirrored writes and consolidations that came to nothing give back what they took.
#[test]
fn credit_is_given_back() {
    let build = Build { pages_held: STRIPES + 1, ..build(4, STRIPES, &[ALWAYS]) };
    let mut host = Host::new(find("cr5m").unwrap().build(&build).unwrap()).filled();
    host.flash.chip_strike = Some(Strike { wave: 0, member: MemberId(0), chip: DATA_CHIPS, has_spare: false });
    assert_ne!(only(host.write(0, 1)).operation.method, Method::Mirrored);
    host.flash.revive(MemberId(0));
    assert_eq!(only(host.write(0, 1)).operation.method, Method::Mirrored);
    // Without credit: a consolidation, which finds a lost page and leaves it to the repair.
    assert_ne!(only(host.write(3, 1)).operation.method, Method::Mirrored);
    let commit = host.background.pop().unwrap();
    host.flash.lose(MemberPage::new(1, 0), Version::Current);
    assert_eq!(host.run(commit).end, Step::Nothing);
    assert_ne!(only(host.write(3, 1)).operation.method, Method::Mirrored);
    assert!(host.background.is_empty(), "a stripe with a lost page is no victim");
    host.repair_all();
    // One that finds no place for the parity.
    host.write(3, 1);
    let commit = host.background.pop().unwrap();
    host.flash.dead.extend((0..4).map(MemberId));
    assert_eq!(host.run(commit).end, Step::Failed(Failure::NoSpace));
    host.flash.dead.clear();
    host.write(3, 1);
    let commit = host.background.pop().unwrap();
    assert_eq!(host.run(commit).end, Step::Last);
    assert_eq!(only(host.write(3, 1)).operation.method, Method::Mirrored);
    // Pages that are gone are credit that is gone.
    host.flash.pages_gone.insert(MemberId(1), 1);
    assert_ne!(only(host.write(1, 1)).operation.method, Method::Mirrored);
    host.flash.pages_gone.clear();
    assert_eq!(only(host.write(1, 1)).operation.method, Method::Mirrored);
}

/// SPEC 1.11: reads and programs of a whole rebuild.
#[test]
fn counts_of_a_rebuild() {
    let count = |host: &Host, action| host.flash.log.iter().filter(|done| done.action == action).count();
    // DOR of a data chip with L live pages, no mirrors.
    let mut host = Host::new(scheme("cr5m", 5, 40, &[ALWAYS])).filled();
    host.flash.kill_chip(MemberId(1), 0, true);
    let lost = host.flash.lost();
    assert!(lost > 0);
    host.repair_all();
    assert_eq!((count(&host, Action::Read), count(&host, Action::Program)), (lost * 4, lost));
    // MCR of a data chip: a stripes that are computed, b strips that are copied, e stripes of the a with base and current version lost.
    let mut host = Host::new(scheme("cr5m", 5, 90, &[ALWAYS])).filled();
    (0..180).for_each(|index| drop(host.write(index * 7 % 360, 1)));
    host.flash.kill_chip(MemberId(1), 0, true);
    let (mut a, mut b, mut e) = (0, 0, 0);
    for row in 0..90 {
        let page = MemberPage::new(1, row);
        let is_mirrored = host.flash.is_written(page, Version::Copy);
        let [current, base] = [Version::Current, Version::Base].map(|version| host.flash.is_lost(page, version));
        let is_computed = base || current && !is_mirrored;
        (a, b, e) = (a + usize::from(is_computed), b + usize::from(current && is_mirrored && !base), e + usize::from(current && base));
    }
    assert!(a > 0 && b > 0 && e > 0, "{a} {b} {e}");
    host.flash.log.clear();
    host.repair_all();
    assert_eq!((count(&host, Action::Read), count(&host, Action::Program)), (a * 4 + b, a + b + e));
    // A mirror chip with m entries.
    host.flash.kill_chip(MemberId(2), DATA_CHIPS, true);
    let entries = host.flash.lost();
    assert!(entries > 0);
    host.flash.log.clear();
    host.repair_all();
    assert_eq!((count(&host, Action::Read), count(&host, Action::Program)), (entries, entries));
    assert_eq!(host.flash.lost(), 0);
}

/// What happens next to a device on which one channel at a time has failures.
#[derive(Clone, Debug)]
enum Event {
    Request(Request),
    /// A chip dies during the request, or before it.
    Strike {
        wave: usize,
        member: prop::sample::Index,
        chip: u64,
        has_spare: bool,
        request: Request,
    },
    Repair(prop::sample::Index),
    RepairAll,
    /// The data chips of the channel with failures have no page left, or have some again.
    Room(bool),
}

fn event() -> impl Strategy<Value = Event> {
    let strike = (0..3usize, any::<prop::sample::Index>(), 0..=DATA_CHIPS, any::<bool>(), request());
    prop_oneof![
        10 => request().prop_map(Event::Request),
        4 => strike.prop_map(|(wave, member, chip, has_spare, request)| Event::Strike { wave, member, chip, has_spare, request }),
        3 => any::<prop::sample::Index>().prop_map(Event::Repair),
        2 => Just(Event::RepairAll),
        1 => any::<bool>().prop_map(Event::Room),
    ]
}

/// A device, and which channel has failures.
struct Run {
    host: Host,
    members: u16,
    /// The channel, and whether its mirror chip is dead or new.
    hurt: Option<(MemberId, bool)>,
}

impl Run {
    /// Without a failure on the way nothing becomes unreadable, as long as there is room.
    fn request(&mut self, request: &Request) {
        let unreadable = self.host.flash.unreadable();
        let strikes = self.host.flash.chip_strike.is_some() || !self.host.flash.dead.is_empty();
        let aside = request.aside.index(1 << 16) as u64;
        let busy = (0..self.members).filter(|member| (aside >> (2 * member)) & 3 == 3).map(MemberId);
        self.host.flash.busy_mirrors = busy.chain(self.hurt.filter(|(_, mirror)| *mirror).map(|(member, _)| member)).collect();
        let page = self.host.scheme.locate(Lpn(aside % self.host.scheme.user_pages()));
        self.host.flash.loads.insert(page, (aside % 3) as u32);
        let courses = submit(&mut self.host, request);
        for course in courses {
            assert!(!matches!(course.end, Step::Failed(_)), "one channel with failures is survived: {course:?}");
        }
        assert!(strikes || self.host.flash.unreadable().is_subset(&unreadable), "a request makes a page unreadable");
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Request(request) => self.request(request),
            Event::Strike { wave, member, chip, has_spare, request } => {
                // Half of the strikes hit what the request is about.
                let first = self.host.scheme.locate(Lpn(request.at.index(self.host.scheme.user_pages() as usize) as u64)).member;
                let member = MemberId(member.index(2 * usize::from(self.members)) as u16);
                let member = if member.0 < self.members { member } else { first };
                let is_mirror = *chip == DATA_CHIPS;
                if self.hurt.is_none_or(|hurt| hurt == (member, false) && !is_mirror) {
                    self.hurt = Some((member, is_mirror));
                    self.host.flash.chip_strike = Some(Strike { wave: *wave, member, chip: *chip, has_spare: *has_spare });
                    self.request(request);
                    if self.host.flash.chip_strike.take().is_some() {
                        self.host.flash.kill_chip(member, *chip, *has_spare);
                    }
                }
            }
            Event::Repair(stripe) => {
                let stripe = StripeId(stripe.index(STRIPES as usize) as u32);
                if matches!(self.host.scheme.damage(stripe, &self.host.flash), Damage::Copy | Damage::Compute) {
                    let repair = self.host.scheme.repair(stripe, &self.host.flash);
                    assert_eq!(self.host.run(repair).end, Step::Last);
                }
            }
            Event::RepairAll => {
                self.host.repair_all();
                if self.host.flash.dead.is_empty() {
                    assert_eq!(self.host.flash.lost(), 0, "a rebuild with room for it leaves nothing lost");
                    self.hurt = None;
                    self.host.check();
                } else {
                    let waits = (0..STRIPES).any(|stripe| self.host.scheme.damage(StripeId(stripe), &self.host.flash) == Damage::NoSpace);
                    assert_eq!(waits, self.host.flash.lost() != 0);
                }
            }
            Event::Room(can_allocate) => {
                self.host.flash.dead.clear();
                if *can_allocate && self.hurt.is_none() {
                    self.host.flash.dead_mirrors.clear();
                }
                if let Some((member, false)) = self.hurt.filter(|_| !can_allocate) {
                    self.host.flash.dead.insert(member);
                }
            }
        }
        assert_eq!(self.host.check_degraded(), 0, "a page is lost");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Chips of one channel at a time die at any wave; writes, repairs and consolidations go on; after the rebuild any chip may die.
    #[test]
    fn nothing_is_lost_within_tolerance(mirrors in mirrors(), events in prop::collection::vec(event(), 1..60)) {
        let mut run = Run { host: mirrors.host(), members: mirrors.members, hurt: None };
        for event in &events {
            run.happens(event);
            if !run.host.background.is_empty() {
                let commit = run.host.background.remove(0);
                run.host.run(commit);
                prop_assert_eq!(run.host.check_degraded(), 0);
            }
        }
        run.happens(&Event::Room(true));
        run.happens(&Event::RepairAll);
    }
}
