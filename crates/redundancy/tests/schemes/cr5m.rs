//! CR5M, rule by rule (SPEC 1.4 to 1.6, 1.10). On 3+1 the parity of stripe 0 is on member 3, that of stripe 1 on member 2.

use crate::flash::{Course, PAGE};
use crate::host::{Host, build, scheme};
use crate::waves::waves;
use flashraid_redundancy::{Build, Decisions, Extent, Method, Operation, Outcomes, Source, Step, find};
use flashraid_vocabulary::{Cause, Change, HostOp, Lpn, MemberId, MemberPage, SemivalidAction, Version, Wave};

/// A limit that never binds.
const FREE: (&str, &str) = ("mw_limit", "1000");

/// 3+1, eight stripes, all written and plain.
fn cr5m(parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme("cr5m", 4, 8, parameters)).filled()
}

/// 7+1, likewise: one or two strips are RMW for RAID-5.
fn wide(parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme("cr5m", 8, 8, parameters)).filled()
}

/// 3+1 with room for so many bases and copies on each channel.
pub fn with_credit(bases: u32, copies: u32) -> Host {
    let build = Build { pages_held: 8 + bases, copies_held: copies, ..build(4, 8, &[FREE]) };
    Host::new(find("cr5m").unwrap().build(&build).unwrap()).filled()
}

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

pub fn method(courses: Vec<Course>) -> Method {
    only(courses).operation.method
}

/// Makes the mirror chips of these channels busy, and no others.
pub fn busy(host: &mut Host, members: &[u16]) {
    host.flash.busy_mirrors = members.iter().map(|member| MemberId(*member)).collect();
}

/// Pages with a base, and pages with a copy.
pub fn bases_and_copies(host: &Host) -> (Vec<MemberPage>, Vec<MemberPage>) {
    let pages = (0..64).flat_map(|page| (0..8).map(move |member| MemberPage::new(member, page)));
    let having = |version| pages.clone().filter(|page| host.flash.version(*page, version).is_some()).collect();
    (having(Version::Base), having(Version::Copy))
}

fn decided(host: &mut Host, lpn: u64) -> Operation {
    let extent = Extent { op: HostOp::Write, first: Lpn(lpn), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
    let mut decisions = Decisions::default();
    host.scheme.decide(&extent, &host.flash, &mut decisions);
    decisions.operations[0]
}

/// The first step of a one-page write that stays under way.
pub fn started(host: &mut Host, lpn: u64) -> (Operation, Step) {
    let mut operation = decided(host, lpn);
    let step = host.scheme.step(&mut operation, Outcomes::default(), &host.flash, &mut Wave::default());
    (operation, step)
}

// ---- the worked example (SPEC 1.4; the paper's section 3.1.2 and Figure 4) ----

#[test]
fn r1_mirrors_and_r2_makes_the_parity_anew() {
    let mut host = cr5m(&[FREE]);
    let [d3, d4, d5, p1] = [0, 1, 3, 2].map(|member| MemberPage::new(member, 1));
    let old = [d3, d4, d5, p1].map(|page| host.flash.current(page));

    let r1 = only(host.write(3, 2));
    assert_eq!((r1.operation.method, r1.end), (Method::Mirrored, Step::Last));
    let programs = [
        "program host 0/1 4096 keeps base = host 0",
        "program host 1/1 4096 keeps base = host 1",
        "program mirror 0/1 4096 copy = host 0",
        "program mirror 1/1 4096 copy = host 1",
    ];
    assert_eq!((waves(&r1), r1.changes.len()), (vec![programs.map(String::from).to_vec()], 0));
    for (page, old) in [(d3, old[0]), (d4, old[1])] {
        assert_eq!(host.flash.base(page), old, "EPPN is the old PPN");
        assert_eq!(host.flash.version(page, Version::Copy), host.flash.current(page));
        assert_ne!(host.flash.current(page), old);
    }
    assert_eq!([d5, p1].map(|page| host.flash.current(page)), [old[2], old[3]], "D5 and P1 are untouched");
    assert_eq!(host.flash.garbage, 0);
    host.check();

    let r2 = only(host.write(5, 1));
    assert_eq!(r2.operation.method, Method::Rcw);
    let reads = vec!["read pre_read 0/1 4096", "read pre_read 1/1 4096"];
    assert_eq!(waves(&r2), [reads, vec!["program host 3/1 4096 = host 2", "program parity 2/1 4096 = host 2 ^ reads 01"]]);
    let released = [d3, d4].map(|page| [Change::ReleaseBase(page), Change::ReleaseCopy(page)]).concat();
    assert_eq!(r2.changes, released);
    assert_eq!(host.flash.garbage, 6, "D3, D4, D5, P1 and both copies");
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.check();
}

#[test]
fn instead_of_r2_an_update_of_d4_replaces_both_its_copies() {
    let mut host = cr5m(&[FREE]);
    host.write(3, 2);
    let d4 = MemberPage::new(1, 1);
    let base = host.flash.base(d4);
    let again = only(host.write(4, 1));
    assert_eq!(waves(&again), [["program host 1/1 4096 = host 1", "program mirror 1/1 4096 copy = host 1"]]);
    assert_eq!((again.changes.len(), host.flash.garbage), (0, 2));
    assert_eq!(host.flash.base(d4), base, "the parity covers what it covered");
    host.check();
}

// ---- write path, branch by branch ----

#[test]
fn a_full_stripe_releases_every_mirror() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 1);
    let course = only(host.write(0, 3));
    assert_eq!((course.operation.method, waves(&course).len()), (Method::FullStripe, 1));
    assert_eq!(course.changes, [Change::ReleaseBase(MemberPage::new(0, 0)), Change::ReleaseCopy(MemberPage::new(0, 0))]);
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.check();
}

#[test]
fn the_last_strips_consolidate_together_with_mirrored_ones() {
    // M = {0}, U = {1, 2} and M = {0, 1}, U = {1, 2}: either way nothing is left that the parity covers.
    for first in [1, 2] {
        let mut host = cr5m(&[FREE]);
        host.write(0, first);
        let course = only(host.write(1, 2));
        assert_eq!(course.operation.method, Method::Rcw);
        assert_eq!(waves(&course)[0], ["read pre_read 0/0 4096"]);
        assert_eq!(bases_and_copies(&host), (vec![], vec![]));
        host.check();
    }
}

#[test]
fn consolidation_needs_a_strip_that_is_not_mirrored() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 2);
    assert_eq!(method(host.write(0, 2)), Method::Mirrored, "U is within M");
    assert_eq!(method(host.write(0, 1)), Method::Mirrored);
    host.check();
}

#[test]
fn consolidation_is_rcw_whatever_the_update_rule() {
    let mut host = wide(&[FREE, ("update", "rmw")]);
    host.write(0, 6);
    assert_eq!(method(host.write(6, 1)), Method::Rcw);
    host.check();
}

#[test]
fn consolidate_never_mirrors_the_last_strip_too() {
    let mut host = cr5m(&[FREE, ("consolidate", "never")]);
    host.write(0, 2);
    assert_eq!(method(host.write(2, 1)), Method::Mirrored);
    assert_eq!(bases_and_copies(&host).1.len(), 3, "M is all of the stripe");
    host.check();
    assert_eq!(method(host.write(1, 2)), Method::Mirrored, "ruling 3: U within M, and M all");
    host.check();
    // Refused there, RCW reads the third strip's current version and makes the stripe plain.
    busy(&mut host, &[0, 1]);
    let course = only(host.write(0, 2));
    assert_eq!((course.operation.method, course.changes.len()), (Method::Rcw, 6));
    assert_eq!(waves(&course)[0], ["read pre_read 2/0 4096"]);
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.check();
}

#[test]
fn a_strip_never_written_before_its_first_mw_has_no_base() {
    let mut host = Host::new(scheme("cr5m", 4, 8, &[FREE]));
    host.write(0, 1);
    host.write(0, 1);
    assert_eq!(bases_and_copies(&host), (vec![], vec![MemberPage::new(0, 0)]));
    host.check();
    let course = only(host.write(1, 2));
    assert_eq!(course.changes, [Change::ReleaseCopy(MemberPage::new(0, 0))]);
    host.check();
}

#[test]
fn rmw_names_the_base_and_leaves_other_strips_mirrored() {
    let mut host = wide(&[FREE]);
    host.write(0, 2);
    busy(&mut host, &[0, 2]);
    // Strip 0 is mirrored, strip 2 is not; strip 1 stays mirrored.
    host.write(2, 1);
    let course = only(host.write(0, 1));
    assert_eq!(course.operation.method, Method::Rmw);
    let reads = vec!["read pre_read 0/0 4096 base", "read pre_read 7/0 4096"];
    assert_eq!(waves(&course), [reads, vec!["program host 0/0 4096 = host 0", "program parity 7/0 4096 = host 0 ^ reads 01"]]);
    let page = MemberPage::new(0, 0);
    assert_eq!(course.changes, [Change::ReleaseBase(page), Change::ReleaseCopy(page)]);
    assert_eq!(bases_and_copies(&host), (vec![MemberPage::new(1, 0)], vec![MemberPage::new(1, 0)]));
    host.check();
    assert_eq!(method(host.write(1, 1)), Method::Mirrored);
    host.check();
}

#[test]
fn rmw_of_a_mirrored_strip_without_base_reads_the_parity_only() {
    let mut host = Host::new(scheme("cr5m", 8, 8, &[FREE]));
    host.write(0, 1);
    busy(&mut host, &[0, 1]);
    let course = only(host.write(1, 1));
    assert_eq!(waves(&course), [["program host 1/0 4096 = host 1", "program parity 7/0 4096 = host 1"]], "strip 0 stays mirrored");
    let course = only(host.write(0, 1));
    assert_eq!(waves(&course)[0], ["read pre_read 7/0 4096"]);
    assert_eq!(course.changes, [Change::ReleaseCopy(MemberPage::new(0, 0))]);
    host.check();
}

#[test]
fn rcw_reads_current_versions_from_the_less_busy_chips_and_releases_all() {
    let mut host = wide(&[FREE]);
    host.write(0, 2);
    busy(&mut host, &[3]);
    host.flash.loads.insert(MemberPage::new(0, 0), 5);
    host.flash.copy_loads.insert(MemberPage::new(0, 0), 4);
    host.flash.loads.insert(MemberPage::new(1, 0), 5);
    host.flash.copy_loads.insert(MemberPage::new(1, 0), 5);
    let course = only(host.write(2, 3));
    assert_eq!(course.operation.method, Method::Rcw);
    let reads = ["read pre_read 0/0 4096 copy", "read pre_read 1/0 4096", "read pre_read 5/0 4096", "read pre_read 6/0 4096"];
    assert_eq!(waves(&course)[0], reads, "a tie goes to the data chip");
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.check();
}

// ---- mw_allowed, condition by condition ----

#[test]
fn mw_limit_is_tested_before_it_counts_and_exactly() {
    // d = 3 data chips. The k-th write of strip 0 finds k - 1 programs on its channel.
    let mut host = cr5m(&[("mw_limit", "1.5")]);
    let methods: Vec<_> = (0..5).map(|_| method(host.write(0, 1))).collect();
    use Method::{Mirrored, Rcw};
    assert_eq!(methods, [Mirrored, Rcw, Mirrored, Rcw, Mirrored], "0 <= 0, 1 > 0.5, 1 <= 1, 2 > 1.5, 2 <= 2");
    let mut host = cr5m(&[("mw_limit", "1.499")]);
    let methods: Vec<_> = (0..4).map(|_| method(host.write(0, 1))).collect();
    assert_eq!(methods, [Mirrored, Rcw, Rcw, Mirrored], "1 > 0.999333");
}

#[test]
fn every_channel_of_the_write_must_be_within_its_limit() {
    let mut host = cr5m(&[]);
    host.write(0, 1);
    assert_eq!(method(host.write(3, 2)), Method::Rcw, "channel 0 has had its share, channel 1 not");
    assert_eq!(method(host.write(7, 1)), Method::Mirrored, "channel 2 has had none");
}

#[test]
fn mw_limit_0_never_mirrors() {
    let mut host = cr5m(&[("mw_limit", "0")]);
    assert_eq!(method(host.write(0, 1)), Method::Rcw);
}

#[test]
fn one_busy_mirror_chip_forbids_all() {
    let mut host = cr5m(&[FREE]);
    busy(&mut host, &[1]);
    assert_eq!(method(host.write(0, 2)), Method::Rcw);
    assert_eq!(method(host.write(2, 1)), Method::Mirrored, "its own mirror chip is idle");
    assert!(host.background.is_empty(), "waiting would help, consolidating not");
}

#[test]
fn bases_are_limited_by_the_credit_of_their_channel() {
    let mut host = with_credit(2, 8);
    let methods: Vec<_> = [0, 3, 9, 1].map(|lpn| method(host.write(lpn, 1))).into();
    use Method::{Mirrored, Rcw};
    assert_eq!(methods, [Mirrored, Mirrored, Mirrored, Mirrored], "channels 0, 0, 1, 1");
    assert_eq!(method(host.write(6, 1)), Rcw, "a third base on channel 0");
    assert_eq!(method(host.write(3, 1)), Rcw, "literally one more must fit, even where the base exists");
    host.check();
}

#[test]
fn copies_are_limited_by_the_mirror_chip() {
    let mut host = with_credit(8, 1);
    assert_eq!(method(host.write(0, 1)), Method::Mirrored);
    assert_eq!(method(host.write(3, 1)), Method::Rcw);
    assert_eq!(method(host.write(4, 1)), Method::Mirrored, "channel 1 has room");
    host.check();
}

#[test]
fn pages_without_base_take_no_credit_for_one() {
    let build = Build { pages_held: 8 + 1, ..build(4, 8, &[FREE]) };
    let mut host = Host::new(find("cr5m").unwrap().build(&build).unwrap());
    assert_eq!([0, 3, 6].map(|lpn| method(host.write(lpn, 1))), [Method::Mirrored; 3]);
}

#[test]
fn writes_under_way_count_until_they_end() {
    // For MWNo: the second write finds one booked, and no program.
    let mut host = cr5m(&[]);
    let (first, step) = started(&mut host, 0);
    assert_eq!((first.method, step), (Method::Mirrored, Step::Last));
    assert_eq!(started(&mut host, 3).0.method, Method::Rcw);
    assert_eq!(started(&mut host, 4).0.method, Method::Mirrored, "channel 1");
    // For bases and copies, and only until the end.
    for mut host in [with_credit(2, 8), with_credit(8, 2)] {
        host.write(9, 3); // programs, so that the limit does not bind
        let under_way = [started(&mut host, 0).0, started(&mut host, 3).0];
        assert_eq!(under_way.map(|operation| operation.method), [Method::Mirrored; 2]);
        assert_eq!(started(&mut host, 6).0.method, Method::Rcw);
        // They end without the flash having kept anything, as if released at once: nothing is booked any more.
        under_way.iter().for_each(|operation| host.scheme.ended(operation));
        assert_eq!(started(&mut host, 6).0.method, Method::Mirrored);
    }
}

#[test]
fn refused_writes_book_nothing() {
    let mut host = with_credit(8, 1);
    busy(&mut host, &[1]);
    for _ in 0..5 {
        assert_eq!(started(&mut host, 1).0.method, Method::Rcw);
    }
    busy(&mut host, &[]);
    assert_eq!(started(&mut host, 1).0.method, Method::Mirrored);
}

#[test]
fn counters_start_when_the_device_is_prepared() {
    let mut host = Host::new(scheme("cr5m", 4, 8, &[]));
    host.write(0, 1);
    assert_eq!(method(host.write(0, 1)), Method::Rcw);
    host.deferring_mut().prepared();
    assert_eq!(method(host.write(0, 1)), Method::Mirrored);
}

#[test]
fn channels_that_want_relief_are_forgotten_when_the_device_is_prepared() {
    let wanting = |is_prepared: bool| {
        let mut host = with_credit(1, 8);
        host.write(0, 1);
        started(&mut host, 3); // stripe 1, whose strip is on channel 0, too
        if is_prepared {
            host.deferring_mut().prepared();
        }
        host.scheme.deferring_mut().unwrap().background(&host.flash).is_some()
    };
    assert_eq!([wanting(false), wanting(true)], [true, false]);
}

#[test]
fn every_host_caused_program_on_a_data_chip_counts() {
    // mw_limit 3 on 3 data chips: as many MWs may be under way on channel 0 as programs were counted there before, and one more.
    let counted = |before: &dyn Fn(&mut Host)| {
        let mut host = cr5m(&[("mw_limit", "3")]);
        busy(&mut host, &[0, 1, 2, 3]);
        before(&mut host);
        busy(&mut host, &[]);
        (0..).take_while(|_| started(&mut host, 12).0.method == Method::Mirrored).count() - 1
    };
    assert_eq!(counted(&|_| ()), 0);
    assert_eq!(counted(&|host| drop(host.write(0, 1))), 1, "RCW: the strip");
    assert_eq!(counted(&|host| drop(host.write(9, 1))), 1, "RCW of stripe 3: its parity is on channel 0");
    assert_eq!(counted(&|host| drop(host.write(0, 3))), 1, "full stripe");
    assert_eq!(counted(&|host| drop(host.trim(9, 1))), 1, "a TRIM's parity");
    assert_eq!(counted(&|host| drop(host.trim(9, 3))), 0, "a TRIM without parity");
    assert_eq!(counted(&|host| drop(host.write(1, 1))), 0, "other channels");
}

// ---- reads ----

#[test]
fn reads_take_the_copy_that_is_free_earlier() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 2);
    assert_eq!(waves(&only(host.read(0, 1))), [["read host 0/0 4096 for strip 0"]], "a tie goes to the data chip");
    host.flash.loads.insert(MemberPage::new(0, 0), 2);
    host.flash.loads.insert(MemberPage::new(2, 0), 2);
    host.flash.copy_loads.insert(MemberPage::new(1, 0), 1);
    let reads = ["read host 0/0 4096 copy for strip 0", "read host 1/0 4096 for strip 1", "read host 2/0 4096 for strip 2"];
    assert_eq!(waves(&only(host.read(0, 3))), [reads]);
    host.flash.copy_loads.insert(MemberPage::new(0, 0), 3);
    assert_eq!(waves(&only(host.read(0, 1))), [["read host 0/0 4096 for strip 0"]]);
}

#[test]
fn with_mirror_read_data_copies_are_read_only_where_the_data_chip_has_lost_the_page() {
    let mut host = cr5m(&[FREE, ("mirror_read", "data")]);
    host.write(0, 2);
    host.flash.loads.insert(MemberPage::new(0, 0), 9);
    let reads = ["read host 0/0 4096 for strip 0", "read host 1/0 4096 for strip 1"];
    assert_eq!(waves(&only(host.read(0, 2))), [reads], "however long the data chip is busy");
    host.flash.lose(MemberPage::new(0, 0), Version::Current);
    assert_eq!(waves(&only(host.read(0, 1))), [["read host 0/0 4096 copy for strip 0"]]);
}

// ---- sub-page writes ----

#[test]
fn a_part_of_a_page_is_read_before_it_is_mirrored() {
    let mut host = cr5m(&[FREE]);
    let course = only(host.write_part(0, 512));
    let programs = vec!["program host 0/0 4096 keeps base = host 0", "program mirror 0/0 4096 copy = host 0"];
    assert_eq!(waves(&course), [vec!["read update_read 0/0 4096 for strip 0"], programs]);
    host.flash.loads.insert(MemberPage::new(0, 0), 1);
    let course = only(host.write_part(0, 512));
    let programs = vec!["program host 0/0 4096 = host 0", "program mirror 0/0 4096 copy = host 0"];
    assert_eq!(waves(&course), [vec!["read update_read 0/0 4096 copy for strip 0"], programs], "what lies below is the current version");
    host.check();
}

#[test]
fn a_part_of_an_unwritten_page_is_mirrored_at_once() {
    let mut host = Host::new(scheme("cr5m", 4, 8, &[FREE]));
    let course = only(host.write_part(0, 512));
    assert_eq!(waves(&course), [["program host 0/0 512 keeps base = host 0", "program mirror 0/0 512 copy = host 0"]]);
    host.check();
}

#[test]
fn rmw_of_a_part_of_a_mirrored_page_reads_base_and_current_version() {
    let mut host = wide(&[FREE]);
    host.write(0, 1);
    busy(&mut host, &[0]);
    let course = only(host.write_part(0, 512));
    let reads = vec!["read pre_read 0/0 4096 base", "read pre_read 7/0 4096", "read update_read 0/0 4096 for strip 0"];
    assert_eq!(waves(&course), [reads, vec!["program host 0/0 4096 = host 0", "program parity 7/0 4096 = host 0 ^ reads 01"]]);
    host.check();
}

#[test]
fn rmw_of_a_part_of_a_plain_page_reads_it_once() {
    let mut host = wide(&[("mw_limit", "0")]);
    let course = only(host.write_part(0, 512));
    assert_eq!(waves(&course)[0], ["read pre_read 0/0 4096 for strip 0", "read pre_read 7/0 4096"]);
}

#[test]
fn full_stripes_and_consolidations_read_what_lies_below_parts() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 1);
    host.flash.loads.insert(MemberPage::new(0, 0), 1);
    let course = only(host.submit(HostOp::Write, 0, 3, 512, 1024));
    assert_eq!(waves(&course)[0], ["read update_read 0/0 4096 copy for strip 0", "read update_read 2/0 4096 for strip 2"]);
    host.check();
    host.write(0, 2);
    let course = only(host.write_part(2, 512));
    let reads = ["read pre_read 0/0 4096 copy", "read pre_read 1/0 4096", "read update_read 2/0 4096 for strip 2"];
    assert_eq!((course.operation.method, waves(&course)[0].clone()), (Method::Rcw, reads.map(String::from).to_vec()));
    host.check();
}

#[test]
fn mirror_chips_that_turn_busy_during_the_update_read_refuse() {
    let rcw = ["read pre_read 1/0 4096", "read pre_read 2/0 4096"];
    let rmw = ["read pre_read 0/0 4096", "read pre_read 7/0 4096"];
    for (mut host, reads, parity) in [(cr5m(&[FREE]), rcw, 3), (wide(&[FREE]), rmw, 7)] {
        host.flash.busy_after_first_wave = true;
        let course = only(host.write_part(0, 512));
        let programs = ["program host 0/0 4096 = host 0".to_string(), format!("program parity {parity}/0 4096 = host 0 ^ reads 12")];
        let expected = [vec!["read update_read 0/0 4096 for strip 0".to_string()], reads.map(String::from).to_vec(), programs.to_vec()];
        assert_eq!(waves(&course), expected, "the update read is no source of the parity");
        host.check();
    }
    // Mirrored before: RMW reads the base, which is not what the update read delivered. Nothing else to read: programs follow at once.
    let mut host = wide(&[FREE]);
    host.write(0, 1);
    host.flash.busy_after_first_wave = true;
    assert_eq!(waves(&only(host.write_part(0, 512)))[1], ["read pre_read 0/0 4096 base", "read pre_read 7/0 4096"]);
    host.check();
    let mut host = Host::new(scheme("cr5m", 4, 8, &[FREE]));
    host.write(0, 1);
    host.flash.busy_after_first_wave = true;
    let course = only(host.write_part(0, 512));
    assert_eq!(waves(&course)[1..], [["program host 0/0 4096 = host 0", "program parity 3/0 4096 = host 0"]]);
    host.check();
}

// ---- TRIM ----

#[test]
fn a_trim_of_all_that_is_written_costs_no_flash_operation() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 1);
    let course = only(host.trim(0, 3));
    assert_eq!((course.end, course.waves.len()), (Step::Done, 0));
    assert_eq!((host.flash.held(Version::Current), bases_and_copies(&host)), (28, (vec![], vec![])));
    assert_eq!(course.changes.len(), 4 + 2, "three strips and the parity, a base and a copy");
    host.check();
    // Without parity: an MW of a stripe never written.
    let mut host = Host::new(scheme("cr5m", 4, 8, &[FREE]));
    host.write(0, 1);
    let page = MemberPage::new(0, 0);
    assert_eq!(only(host.trim(0, 2)).changes, [Change::Unmap(page), Change::ReleaseCopy(page)]);
    assert_eq!(only(host.trim(0, 2)).end, Step::Nothing);
    host.check();
}

#[test]
fn a_partial_trim_is_never_mirrored() {
    let mut host = cr5m(&[FREE]);
    host.write(0, 1);
    let course = only(host.trim(0, 1));
    assert_eq!((course.operation.method, course.operation.space), (Method::Rcw, 0b1000));
    let reads = vec!["read pre_read 1/0 4096", "read pre_read 2/0 4096"];
    assert_eq!(waves(&course), [reads, vec!["program parity 3/0 4096 = reads 01"]]);
    let page = MemberPage::new(0, 0);
    assert_eq!(course.changes, [Change::Unmap(page), Change::ReleaseBase(page), Change::ReleaseCopy(page)]);
    host.check();
}

#[test]
fn a_trim_by_rmw_names_the_base_and_leaves_other_strips_mirrored() {
    let mut host = wide(&[FREE]);
    host.write(0, 2);
    let course = only(host.trim(0, 1));
    assert_eq!(waves(&course)[0], ["read pre_read 0/0 4096 base", "read pre_read 7/0 4096"]);
    assert_eq!(bases_and_copies(&host), (vec![MemberPage::new(1, 0)], vec![MemberPage::new(1, 0)]));
    host.check();
}

#[test]
fn a_trim_of_the_last_strips_consolidates() {
    let mut host = wide(&[FREE]);
    host.write(0, 6);
    let course = only(host.trim(6, 1));
    assert_eq!((course.operation.method, waves(&course)[0].len()), (Method::Rcw, 6), "RMW would read 2 pages");
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.check();
    let mut host = wide(&[FREE, ("consolidate", "never")]);
    host.write(0, 6);
    assert_eq!(method(host.trim(6, 1)), Method::Rmw);
    assert_eq!(bases_and_copies(&host).1.len(), 6);
    host.check();
}

#[test]
fn a_trim_by_rmw_where_the_parity_covers_nothing_reads_nothing() {
    // 7+1, two strips mirrored in a stripe never written: neither base nor parity.
    let mut host = Host::new(scheme("cr5m", 8, 8, &[FREE]));
    host.write(0, 2);
    let course = only(host.trim(0, 1));
    assert_eq!(waves(&course), [["program parity 7/0 4096 = "]]);
    host.check();
}

// ---- GC ----

#[test]
fn the_gc_moves_bases() {
    let host = cr5m(&[FREE]);
    assert_eq!(host.scheme.rule(MemberPage::new(0, 0)), SemivalidAction::Move);
}

// ---- fill ----

#[test]
fn a_fill_that_ends_inside_a_stripe_leaves_it_plain() {
    let mut host = Host::new(scheme("cr5m", 4, 8, &[FREE]));
    let mut operation = host.scheme.fill(0).unwrap();
    operation.strips = 0b01;
    let course = host.run(operation);
    let causes: Vec<_> = course.waves.concat().iter().map(|program| (program.cause, program.version)).collect();
    assert_eq!(causes, [(Cause::Host, Version::Current), (Cause::Parity, Version::Current)]);
}

// ---- recovery ----

#[test]
fn recovery_names_copies_bases_and_parity() {
    let mut host = wide(&[FREE]);
    host.write(1, 2);
    let recover = |lpn, lost: &dyn Fn(MemberPage, Version) -> bool| {
        let mut sources = Vec::new();
        host.scheme.recover(Lpn(lpn), &lost, &mut sources).then_some(sources)
    };
    let current = |member: u16| move |page: MemberPage, version| (page.member.0, version) == (member, Version::Current);
    let page = |member| MemberPage::new(member, 0);
    assert_eq!(recover(1, &current(1)), Some(vec![Source::plain(page(1), Version::Copy)]));
    assert_eq!(recover(1, &|page, _| page.member.0 == 1), None, "both copies are lost");
    let sources = recover(0, &current(0)).unwrap();
    let versions: Vec<_> = sources.iter().map(|source| (source.page.member.0, source.version)).collect();
    use Version::{Base, Current};
    assert_eq!(versions, [(1, Base), (2, Base), (3, Current), (4, Current), (5, Current), (6, Current), (7, Current)]);
    // A lost base of another strip, on top: two failures.
    assert_eq!(recover(0, &|page, version| page.member.0 == 0 || (page.member.0, version) == (1, Base)), None);
    assert!(recover(0, &|page, version| page.member.0 == 0 || (page.member.0, version) == (1, Current)).is_some());
}
