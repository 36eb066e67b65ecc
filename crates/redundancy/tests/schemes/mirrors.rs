//! RAID-0, RAID-1 and RAID-10, rule by rule.

use crate::flash::{Course, PAGE};
use crate::host::{Host, on, scheme};
use crate::waves::waves;
use flashraid_redundancy::Step;
use flashraid_vocabulary::{Change, HostOp, Lpn, MemberPage};

fn host(name: &str, members: u16) -> Host {
    Host::new(scheme(name, members, 8, &[]))
}

fn stripes_and_strips(courses: &[Course]) -> Vec<(u32, u64)> {
    courses.iter().map(|course| (course.operation.stripe.0, course.operation.strips)).collect()
}

#[test]
fn raid0_orders_writes_and_trims_by_page_and_reads_by_row() {
    let mut host = host("raid0", 3);
    let writes = host.write(1, 4);
    assert_eq!(stripes_and_strips(&writes), [(1, 0b010), (2, 0b100), (3, 0b001), (4, 0b010)], "strip i is on member i");
    assert!(writes.iter().all(|course| course.operation.space == course.operation.strips));
    assert_eq!(waves(&writes[2]), [["program host 0/1 4096 = host 0"]]);
    let reads = host.read(1, 4);
    assert_eq!(stripes_and_strips(&reads), [(0, 0b110), (1, 0b011)]);
    assert_eq!(waves(&reads[1]), [["read host 0/1 4096 for strip 0", "read host 1/1 4096 for strip 1"]]);
    let trims = host.trim(3, 3);
    assert_eq!(stripes_and_strips(&trims), [(3, 0b001), (4, 0b010), (5, 0b100)]);
    assert_eq!(trims[0].changes, [Change::Unmap(MemberPage::new(0, 1))]);
    assert_eq!(trims.iter().map(|course| course.end).collect::<Vec<_>>(), [Step::Done, Step::Done, Step::Nothing]);
    host.check();
}

#[test]
fn raid0_reads_a_written_page_before_it_overwrites_a_part() {
    let mut host = host("raid0", 3);
    assert_eq!(waves(&host.write_part(4, 512)[0]), [["program host 1/1 512 = host 1"]]);
    let rewrite = host.write_part(4, 1024);
    assert_eq!(waves(&rewrite[0]), [["read update_read 1/1 4096 for strip 1"], ["program host 1/1 4096 = host 1"]]);
    host.check();
}

#[test]
fn raid0_survives_nothing() {
    let host = host("raid0", 3).filled();
    assert_eq!(host.recover(Lpn(0), &on(1)), None);
}

#[test]
fn raid0_works_on_one_member() {
    let mut host = host("raid0", 1).filled();
    host.submit(HostOp::Write, 2, 3, 512, 512);
    host.check();
}

/// SPEC 8.15, its example.
#[test]
fn raid10_writes_both_members_of_a_pair() {
    let mut host = host("raid10", 6);
    let writes = host.write(4, 2);
    assert_eq!(stripes_and_strips(&writes), [(4, 0b010), (5, 0b100)]);
    assert_eq!(writes[0].operation.space, 0b001_100);
    assert_eq!(waves(&writes[0]), [["program host 2/1 4096 = host 1", "program mirror 3/1 4096 = host 1"]]);
    host.flash.loads.insert(MemberPage::new(2, 1), 1);
    assert_eq!(waves(&host.read(4, 1)[0]), [["read host 3/1 4096 for strip 1"]]);
    host.check();
}

#[test]
fn raid1_writes_both_halves() {
    let mut host = host("raid1", 6);
    let writes = host.write(4, 2);
    assert_eq!(stripes_and_strips(&writes), [(4, 0b010), (5, 0b100)]);
    assert_eq!(writes[0].operation.space, 0b010_010);
    assert_eq!(waves(&writes[0]), [["program host 1/1 4096 = host 1", "program mirror 4/1 4096 = host 1"]]);
    let trims = host.trim(4, 1);
    assert_eq!(trims[0].changes, [MemberPage::new(1, 1), MemberPage::new(4, 1)].map(Change::Unmap));
    assert_eq!((trims[0].end, host.trim(4, 1)[0].end), (Step::Done, Step::Nothing));
    host.check();
}

#[test]
fn raid1_reads_a_written_page_once_before_it_overwrites_a_part() {
    let mut host = host("raid1", 4);
    assert_eq!(waves(&host.write_part(3, 512)[0]), [["program host 1/1 512 = host 1", "program mirror 3/1 512 = host 1"]]);
    host.flash.loads.insert(MemberPage::new(1, 1), 2);
    host.flash.loads.insert(MemberPage::new(3, 1), 1);
    let rewrite = host.write_part(3, 1024);
    let programs = vec!["program host 1/1 4096 = host 1", "program mirror 3/1 4096 = host 1"];
    assert_eq!(waves(&rewrite[0]), [vec!["read update_read 3/1 4096 for strip 1"], programs]);
    host.check();
}

#[test]
fn raid1_reads_the_less_busy_copy_and_takes_turns_on_ties() {
    let mut host = host("raid1", 4).filled();
    let member = |course: &Course| course.waves[0][0].address.member.0;
    let turns: Vec<u16> = (0..4).map(|_| member(&host.read(0, 1)[0])).collect();
    assert_eq!(turns, [0, 2, 0, 2]);
    host.flash.loads.insert(MemberPage::new(0, 0), 3);
    assert_eq!(member(&host.read(0, 1)[0]), 2);
    host.flash.loads.insert(MemberPage::new(2, 0), 4);
    assert_eq!(member(&host.read(0, 1)[0]), 0);
    let rows = host.submit(HostOp::Read, 1, 3, 512, PAGE);
    assert_eq!(stripes_and_strips(&rows), [(0, 0b10), (1, 0b11)]);
    assert_eq!(rows[0].waves[0][0].bytes, 512);
}

#[test]
fn raid1_survives_each_single_member_and_not_a_pair() {
    let mut host = host("raid1", 6).filled();
    host.check();
    assert_eq!(host.recover(Lpn(0), &on(0b1001)), None);
    host.check_loss(Lpn(0), &on(0b0111));
}
