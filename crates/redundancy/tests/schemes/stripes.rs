//! RAID-4 and RAID-5, rule by rule. On 3+1 the parity of stripe 0 is on member 3, that of stripe 1 on member 2 (raid5).

use crate::flash::{Course, PAGE};
use crate::host::{Host, on, scheme};
use crate::waves::waves;
use flashraid_redundancy::{Decisions, Extent, Method, Scheme, Source, Step};
use flashraid_vocabulary::{Change, HostOp, Lpn, MemberId, MemberPage, Version};

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

fn forced(update: &str) -> Host {
    Host::new(scheme("raid5", 4, 8, &[("update", update)]))
}

#[test]
fn a_full_stripe_needs_no_pre_read() {
    let mut host = Host::raid5(4, 8).filled();
    let course = only(host.write(3, 3));
    assert_eq!((course.operation.method, course.end), (Method::FullStripe, Step::Last));
    let programs = [
        "program host 0/1 4096 = host 0",
        "program host 1/1 4096 = host 1",
        "program host 3/1 4096 = host 2",
        "program parity 2/1 4096 = host 012",
    ];
    assert_eq!(waves(&course), [programs]);
}

#[test]
fn rmw_reads_the_old_versions_and_the_parity() {
    // 7+1: one strip is 2 pre-reads by RMW and 6 by RCW.
    let mut host = Host::raid5(8, 8).filled();
    let course = only(host.write(1, 1));
    assert_eq!(course.operation.method, Method::Rmw);
    let reads = vec!["read pre_read 1/0 4096", "read pre_read 7/0 4096"];
    assert_eq!(waves(&course), [reads, vec!["program host 1/0 4096 = host 1", "program parity 7/0 4096 = host 1 ^ reads 01"]]);
}

#[test]
fn rcw_reads_what_does_not_change() {
    let mut host = Host::raid5(4, 8).filled();
    let course = only(host.write(4, 1));
    assert_eq!(course.operation.method, Method::Rcw, "2 pre-reads either way: a tie goes to RCW");
    let reads = vec!["read pre_read 0/1 4096", "read pre_read 3/1 4096"];
    assert_eq!(waves(&course), [reads, vec!["program host 1/1 4096 = host 1", "program parity 2/1 4096 = host 1 ^ reads 01"]]);
}

#[test]
fn raid4_keeps_its_parity_on_the_last_member() {
    let mut host = Host::new(scheme("raid4", 4, 8, &[])).filled();
    let course = only(host.write(4, 1));
    let reads = vec!["read pre_read 0/1 4096", "read pre_read 2/1 4096"];
    assert_eq!(waves(&course), [reads, vec!["program host 1/1 4096 = host 1", "program parity 3/1 4096 = host 1 ^ reads 01"]]);
}

#[test]
fn the_method_is_the_one_with_strictly_fewer_pre_reads() {
    for width in 2..=9u64 {
        let mut host = Host::raid5(width as u16 + 1, 2).filled();
        for changed in 1..=width {
            for first in 0..=width - changed {
                let course = only(host.write(first, changed));
                let (rmw, rcw) = (changed + 1, width - changed);
                let expected = match changed {
                    _ if changed == width => (Method::FullStripe, 0),
                    _ if rmw < rcw => (Method::Rmw, rmw),
                    _ => (Method::Rcw, rcw),
                };
                let pre_reads = if course.waves.len() == 2 { course.waves[0].len() as u64 } else { 0 };
                assert_eq!((course.operation.method, pre_reads), expected, "{changed} of {width}");
                assert_eq!(course.waves.last().unwrap().len() as u64, changed + 1);
                host.check();
            }
        }
    }
}

#[test]
fn a_forced_method_holds_for_partial_stripes_only() {
    for (update, method, pre_reads) in [("rmw", Method::Rmw, 3), ("rcw", Method::Rcw, 1)] {
        let mut host = forced(update).filled();
        let course = only(host.write(0, 2));
        assert_eq!((course.operation.method, course.waves[0].len()), (method, pre_reads));
        assert_eq!(only(host.write(0, 3)).operation.method, Method::FullStripe);
        host.check();
    }
}

#[test]
fn unwritten_strips_are_zero_and_never_read() {
    let mut host = Host::raid5(4, 8);
    let course = only(host.write(1, 1));
    assert_eq!(course.operation.method, Method::Rcw, "the nominal numbers decide, not what is written");
    assert_eq!(waves(&course), [["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1"]]);
    let course = only(host.write(0, 1));
    let programs = vec!["program host 0/0 4096 = host 0", "program parity 3/0 4096 = host 0 ^ reads 0"];
    assert_eq!(waves(&course), [vec!["read pre_read 1/0 4096"], programs]);
    host.check();
}

#[test]
fn rmw_of_an_unwritten_strip_reads_the_parity_only() {
    let mut host = forced("rmw");
    let course = only(host.write(1, 1));
    assert_eq!(course.operation.method, Method::Rmw);
    assert_eq!(waves(&course), [["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1"]]);
    let course = only(host.write(0, 1));
    let programs = vec!["program host 0/0 4096 = host 0", "program parity 3/0 4096 = host 0 ^ reads 0"];
    assert_eq!(waves(&course), [vec!["read pre_read 3/0 4096"], programs]);
    host.check();
}

#[test]
fn rmw_reads_a_partly_written_strip_once() {
    let mut host = forced("rmw").filled();
    let course = only(host.write_part(1, 512));
    let reads = vec!["read pre_read 1/0 4096 for strip 1", "read pre_read 3/0 4096"];
    assert_eq!(waves(&course), [reads, vec!["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1 ^ reads 01"]]);
    host.check();
}

#[test]
fn rcw_adds_an_update_read_that_is_no_source_of_the_parity() {
    let mut host = forced("rcw").filled();
    let course = only(host.write_part(1, 512));
    let reads = vec!["read pre_read 0/0 4096", "read pre_read 2/0 4096", "read update_read 1/0 4096 for strip 1"];
    assert_eq!(waves(&course), [reads, vec!["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1 ^ reads 01"]]);
    host.check();
}

#[test]
fn a_full_stripe_with_parts_at_both_ends_reads_these_first() {
    let mut host = Host::raid5(4, 8).filled();
    let course = only(host.submit(HostOp::Write, 0, 3, 512, 1024));
    assert_eq!(course.operation.method, Method::FullStripe);
    let reads = vec!["read update_read 0/0 4096 for strip 0", "read update_read 2/0 4096 for strip 2"];
    let programs = vec![
        "program host 0/0 4096 = host 0",
        "program host 1/0 4096 = host 1",
        "program host 2/0 4096 = host 2",
        "program parity 3/0 4096 = host 012",
    ];
    assert_eq!(waves(&course), [reads, programs]);
    host.check();
}

#[test]
fn a_part_of_an_unwritten_page_needs_no_old_content() {
    for update in ["rmw", "rcw"] {
        let mut host = forced(update);
        let course = only(host.write_part(1, 512));
        assert_eq!(waves(&course), [["program host 1/0 512 = host 1", "program parity 3/0 4096 = host 1"]]);
        host.check();
    }
}

#[test]
fn a_request_is_cut_at_stripes() {
    let mut host = Host::raid5(4, 8).filled();
    let courses = host.submit(HostOp::Write, 2, 6, 512, 1024);
    let cut: Vec<_> = courses.iter().map(|course| course.operation).map(|operation| (operation.stripe.0, operation.strips)).collect();
    assert_eq!(cut, [(0, 0b100), (1, 0b111), (2, 0b11)]);
    let ends: Vec<_> = courses.iter().map(|course| (course.operation.first_bytes, course.operation.last_bytes)).collect();
    assert_eq!(ends, [(512, 512), (PAGE, PAGE), (PAGE, 1024)]);
    let spaces: Vec<_> = courses.iter().map(|course| course.operation.space).collect();
    assert_eq!(spaces, [0b1100, 0b1111, 0b0111], "one bit for each program");
    host.check();
}

#[test]
fn reads_take_one_operation_a_stripe_and_leave_unwritten_strips_out() {
    let mut host = Host::raid5(4, 8);
    host.write(0, 2);
    host.write(4, 1);
    let courses = host.submit(HostOp::Read, 1, 7, 512, 1024);
    assert_eq!(waves(&courses[0]), [["read host 1/0 512 for strip 1"]]);
    assert_eq!(waves(&courses[1]), [["read host 1/1 4096 for strip 1"]]);
    assert_eq!(courses.iter().map(|course| course.end).collect::<Vec<_>>(), [Step::Last, Step::Last, Step::Done]);
    assert_eq!(courses[1].operation.strips, 0b111, "the strips left out are still named");
}

#[test]
fn a_trim_is_a_write_of_zeroes_that_programs_only_the_parity() {
    for (update, reads) in [
        ("rmw", vec!["read pre_read 1/0 4096", "read pre_read 3/0 4096"]),
        ("rcw", vec!["read pre_read 0/0 4096", "read pre_read 2/0 4096"]),
    ] {
        let mut host = forced(update).filled();
        let course = only(host.trim(1, 1));
        assert_eq!(course.operation.space, 0b1000);
        assert_eq!(waves(&course), [reads, vec!["program parity 3/0 4096 = reads 01"]]);
        assert_eq!(course.changes, [Change::Unmap(MemberPage::new(1, 0))]);
        host.check();
    }
}

#[test]
fn a_trim_chooses_by_the_strips_that_are_written() {
    // 7+1, strips 0 and 4 to 6 written. Naming 0 to 3 changes strip 0 only: RMW with 2 pre-reads against 6.
    let mut host = Host::raid5(8, 8);
    host.write(0, 1);
    host.write(4, 3);
    let course = only(host.trim(0, 4));
    assert_eq!(course.operation.method, Method::Rmw);
    assert_eq!(waves(&course)[0], ["read pre_read 0/0 4096", "read pre_read 7/0 4096"]);
    assert_eq!(course.changes, [Change::Unmap(MemberPage::new(0, 0))]);
    host.check();
}

#[test]
fn a_trim_that_empties_the_stripe_costs_no_flash_operation() {
    let mut host = Host::raid5(4, 8);
    host.write(0, 2);
    let course = only(host.trim(0, 3));
    assert_eq!((course.end, course.waves.len(), course.operation.method), (Step::Done, 0, Method::None));
    let gone = [MemberPage::new(0, 0), MemberPage::new(1, 0), MemberPage::new(3, 0)];
    assert_eq!(course.changes, gone.map(Change::Unmap));
    assert_eq!(host.flash.held(Version::Current), 0);
    host.check();
}

#[test]
fn a_trim_of_nothing_does_nothing() {
    let mut host = Host::raid5(4, 8);
    host.write(0, 1);
    assert_eq!(only(host.trim(1, 2)).end, Step::Nothing);
    assert_eq!(only(host.trim(3, 3)).end, Step::Nothing);
    host.check();
}

#[test]
fn the_fill_writes_whole_stripes() {
    let mut host = Host::raid5(4, 8).filled();
    assert_eq!(host.flash.held(Version::Current), 32);
    assert_eq!(host.scheme.parity_updates().full_stripe, 8);
    assert!(host.scheme.fill(8).is_none());
    let operation = host.scheme.fill(1).unwrap();
    assert_eq!((operation.strips, operation.space, operation.first), (0b111, 0b1111, Lpn(3)));
    host.check();
}

#[test]
fn recovery_names_the_other_strips_and_stops_at_a_second_loss() {
    let raid5 = scheme("raid5", 4, 8, &[]);
    let mut sources = Vec::new();
    assert_eq!(raid5.locate(Lpn(4)), MemberPage::new(1, 1));
    assert!(raid5.recover(Lpn(4), &on(0b0010), &mut sources));
    assert_eq!(sources, [0, 3, 2].map(|member| Source::plain(MemberPage::new(member, 1), Version::Current)));
    for second in [0, 2, 3] {
        assert!(!raid5.recover(Lpn(4), &on(0b0010 | 1 << second), &mut sources));
    }
    let mut sources = Vec::new();
    raid5.redundancy_of(Lpn(4), &mut sources);
    assert_eq!(sources, [MemberPage::new(2, 1)]);
}

#[test]
fn the_members_share_the_parity_or_do_not() {
    let parities = |scheme: &dyn Scheme| {
        let redundancy = |stripe: u64| {
            let mut pages = Vec::new();
            scheme.redundancy_of(Lpn(stripe * u64::from(scheme.width())), &mut pages);
            pages.first().map(|page| page.member)
        };
        (0..4).map(redundancy).collect::<Vec<_>>()
    };
    assert_eq!(parities(&*scheme("raid5", 4, 8, &[])), [3, 2, 1, 0].map(|member| Some(MemberId(member))));
    assert_eq!(parities(&*scheme("raid4", 4, 8, &[])), [Some(MemberId(3)); 4]);
}

/// A trim of a part of a stripe that is not created may find it created when it is planned, as reads have zeroes placed: it was promised a page wherever
/// the parity may be then.
#[test]
fn a_trim_decided_before_its_stripe_was_created_has_a_page_for_the_parity() {
    for shares in ["0", "0,0", "100", "20,20,20,20,20"] {
        let mut host = Host::new(scheme("diff-raid", 5, 100, &[("parity_shares", shares)]));
        for first in [0, 4, 8, 12] {
            let trim = Extent { op: HostOp::Trim, first: Lpn(first), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
            let mut decisions = Decisions::default();
            host.scheme.decide(&trim, &host.flash, &mut decisions);
            (first..first + 2).for_each(|lpn| host.appear(lpn));
            let [operation] = decisions.operations[..] else { panic!("one stripe") };
            let course = host.run(operation);
            assert_eq!(
                waves(&course).concat().iter().filter(|done| done.starts_with("program parity")).count(),
                1,
                "{shares}: of the page that is left"
            );
            host.check();
        }
    }
}
