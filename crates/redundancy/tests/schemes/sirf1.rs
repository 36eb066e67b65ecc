//! SIRF-1, rule by rule (SPEC 2.4 and 2.7). What the FTL adds (placement and GC inside a group) is tested with the engine.

use crate::flash::{Course, PAGE};
use crate::host::{Host, on, scheme};
use crate::waves::waves;
use flashraid_redundancy::{Lock, Protects, Step};
use flashraid_vocabulary::{Action, Cause, Change, HostOp, Lpn, MemberPage};

fn host(members: u16, parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme("sirf1", members, 16, parameters))
}

/// Members that the courses read for the host, page by page.
fn read_from(courses: &[Course]) -> Vec<u16> {
    courses.iter().flat_map(|course| &course.waves).flatten().map(|read| read.address.member.0).collect()
}

/// Copies of a page.
fn copies(host: &Host) -> usize {
    let mut others = Vec::new();
    host.scheme.redundancy_of(Lpn(0), &mut others);
    1 + others.len()
}

/// The paper's Figure 3 and Tables I and II: pages 7 to 11 on an empty device of two channels.
#[test]
fn the_placement_example_of_the_paper() {
    let mut host = host(2, &[]);
    let writes = host.write(7, 5);
    assert_eq!(writes.len(), 5, "one operation a page, each with a lock of its own");
    for (lpn, course) in (7..).zip(&writes) {
        let (mirror_0, mirror_1) = (format!("program host 0/{lpn} 4096 = host 0"), format!("program mirror 1/{lpn} 4096 = host 0"));
        assert_eq!(waves(course), [[mirror_0, mirror_1]], "table I: page {lpn} has a physical page in each mirror");
        assert_eq!((course.operation.stripe.0, course.operation.lock), (lpn, Lock::Exclusive));
    }
    assert_eq!(host.flash.programs(), 10, "ten write operations, five on each channel");
    assert_eq!(read_from(&host.read(7, 5)), [0, 1, 0, 1, 0], "table II, column channel");
    assert_eq!(read_from(&host.read(7, 1)), [1], "the turn outlives the request");
    host.check();
}

#[test]
fn every_page_read_takes_the_next_group() {
    for groups in [2u16, 3, 4] {
        let mut host = host(groups * 2, &[("groups", &groups.to_string())]).filled();
        let mut reads = Vec::new();
        for (first, pages) in [(0, 1), (3, 4), (7, 9), (0, 2), (31, 1)] {
            reads.extend(read_from(&host.read(first, pages)));
        }
        let expected: Vec<u16> = (0..17).map(|read| read % groups).collect();
        assert_eq!(reads.iter().map(|member| member / 2).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_is_read_nowhere_or_before_a_write_leaves_the_turn_alone() {
    let mut host = host(2, &[]);
    host.write(0, 1);
    assert_eq!(read_from(&host.read(0, 1)), [0]);
    assert_eq!(host.read(5, 1)[0].end, Step::Done, "never written");
    host.write_part(0, 512);
    assert_eq!(read_from(&host.read(0, 1)), [1]);
}

#[test]
fn round_robin_looks_at_no_load() {
    let mut host = host(2, &[]).filled();
    host.flash.loads.insert(MemberPage::new(0, 4), 9);
    assert_eq!(read_from(&host.read(4, 1)), [0]);
    assert_eq!(read_from(&host.read(4, 1)), [1]);
}

/// SPEC 2.7 ruling 6, with three groups so that ties are not all of one kind: the LUN's queue, then the channel's, then the toggle.
#[test]
fn the_less_busy_copy_by_lun_then_channel_then_turn() {
    let copies = [0, 1, 2].map(|group| MemberPage::new(group, 4));
    for read in ["round_robin", "least_busy"] {
        let mut host = host(3, &[("groups", "3"), ("read", read)]).filled();
        // What a part of the page being overwritten reads; and with `least_busy`, what the host reads.
        let mut taken = |loads: [u32; 3], channels: [u32; 3], reads: usize| {
            host.flash.loads = copies.into_iter().zip(loads).collect();
            host.flash.channel_loads = copies.into_iter().zip(channels).collect();
            for _ in 0..reads {
                host.read(0, 1);
            }
            let courses = if read == "least_busy" { host.read(4, 1) } else { host.write_part(4, 512) };
            courses[0].waves[0][0].address.member.0
        };
        assert_eq!(taken([2, 1, 2], [0, 9, 0], 0), 1, "{read}: the LUN counts first");
        assert_eq!(taken([1, 1, 0], [0, 0, 9], 0), 2);
        assert_eq!(taken([1, 1, 1], [5, 5, 4], 0), 2, "{read}: then the channel");
        assert_eq!(taken([3, 1, 1], [0, 5, 5], 0), 1, "{read}: ties of LUNs are broken among those that tie");
    }
    // Round robin: only reads for the host move the turn on, by one a page.
    let mut host = host(3, &[("groups", "3")]).filled();
    let before_write = |host: &mut Host| host.write_part(4, 512)[0].waves[0][0].address.member.0;
    assert_eq!((before_write(&mut host), before_write(&mut host)), (0, 0));
    host.read(0, 1);
    assert_eq!(before_write(&mut host), 1);
    host.read(0, 4);
    assert_eq!(before_write(&mut host), 2);
    // Least busy: ties take turns.
    let mut host = self::host(3, &[("groups", "3"), ("read", "least_busy")]).filled();
    assert_eq!(read_from(&host.read(0, 5)), [0, 1, 2, 0, 1]);
}

#[test]
fn one_read_before_a_write_serves_every_copy() {
    let mut host = host(6, &[("groups", "3")]);
    let first = waves(&host.write_part(3, 512)[0]);
    assert_eq!(
        first,
        [["program host 1/1 512 = host 1", "program mirror 3/1 512 = host 1", "program mirror 5/1 512 = host 1"]],
        "nothing to merge with"
    );
    host.flash.loads.insert(MemberPage::new(1, 1), 1);
    let rewrite = host.write_part(3, 1024);
    let programs = vec!["program host 1/1 4096 = host 1", "program mirror 3/1 4096 = host 1", "program mirror 5/1 4096 = host 1"];
    assert_eq!(waves(&rewrite[0]), [vec!["read update_read 3/1 4096 for strip 1"], programs], "every program waits for it");
    assert_eq!(host.flash.count(Action::Read, Cause::UpdateRead), 1);
    let whole = host.write(3, 1);
    assert_eq!(whole[0].waves.len(), 1, "a whole page needs none");
    host.check();
}

#[test]
fn a_trim_unmaps_every_copy() {
    let mut host = host(4, &[]);
    host.write(2, 1);
    let trims = host.trim(2, 1);
    assert_eq!(trims[0].changes, [MemberPage::new(0, 1), MemberPage::new(2, 1)].map(Change::Unmap));
    assert_eq!((trims[0].end, trims[0].operation.lock, host.trim(2, 1)[0].end), (Step::Done, Lock::Exclusive, Step::Nothing));
    host.check();
}

/// SPEC 2.7 ruling 2.
#[test]
fn a_write_is_answered_with_all_copies_or_with_the_first() {
    for (groups, completes, posted_programs) in
        [("2", "all_copies", 0), ("2", "first_copy", 1), ("4", "first_copy", 3), ("1", "first_copy", 0), ("4", "all_copies", 0)]
    {
        let mut host = host(4, &[("groups", groups), ("completes", completes)]);
        let write = host.write(0, 1).remove(0);
        assert_eq!(write.operation.posted_programs, posted_programs);
        assert!(write.waves[0].iter().all(|program| program.host_waits));
        assert_eq!((host.read(0, 1)[0].operation.posted_programs, host.trim(0, 1)[0].operation.posted_programs), (0, 0));
    }
}

#[test]
fn one_group_is_the_ssd_without_mirror() {
    for parameters in [&[("groups", "1")][..], &[("groups", "1"), ("read", "least_busy"), ("completes", "first_copy")]] {
        let mut one = host(3, parameters);
        let mut plain = Host::new(scheme("raid0", 3, 16, &[]));
        let requests = [
            (HostOp::Write, 1, 4, PAGE, PAGE),
            (HostOp::Write, 2, 2, 512, 1024),
            (HostOp::Read, 0, 7, 512, 512),
            (HostOp::Trim, 3, 2, PAGE, PAGE),
            (HostOp::Read, 3, 1, PAGE, PAGE),
        ];
        for (op, first, pages, first_bytes, last_bytes) in requests {
            let (one, plain) =
                (one.submit(op, first, pages, first_bytes, last_bytes), plain.submit(op, first, pages, first_bytes, last_bytes));
            assert_eq!(one.len(), plain.len());
            for (one, plain) in one.iter().zip(&plain) {
                assert_eq!((&one.operation, &one.waves, &one.changes), (&plain.operation, &plain.waves, &plain.changes));
            }
        }
        assert_eq!(one.scheme.protects(), Protects::None);
        assert_eq!(copies(&one), 1);
        one.check();
    }
}

#[test]
fn a_page_survives_as_long_as_one_group_does() {
    let mut host = host(6, &[("groups", "3")]).filled();
    assert_eq!(copies(&host), 3);
    host.check();
    host.check_loss(Lpn(0), &on(0b00_11_11));
    host.check_loss(Lpn(0), &on(0b11_00_11));
    assert_eq!(host.recover(Lpn(0), &on(0b11_11_11)), None);
}
