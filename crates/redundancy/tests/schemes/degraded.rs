//! RAID-0, 1, 4, 5 and SIRF-1 after failures: each rule of SPEC 0.6 (last paragraph), 0.1 (e) and 2.4. All cases of small devices are in `degraded_all`, random
//! ones in `matrix`.
//!
//! Stripe 0 of raid5 has its parity on the last member, and strip i on member i.

use crate::flash::Course;
use crate::host::{Host, scheme};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::parts::raid::end_without;
use flashraid_redundancy::parts::stripe::{Guard, Losses, Stripe};
use flashraid_redundancy::stripe_map::StripeMap;
use flashraid_redundancy::stripe_map::formula::{Formula, Layout};
use flashraid_redundancy::{Damage, Failure, Lock, Method, Operation, OperationKind, Step};
use flashraid_vocabulary::{Action, Cause, Change, HostOp, Lpn, MemberId, MemberPage, StripeId, Version, View};

pub fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// Filled raid5 that chooses RMW or RCW as `update` says, with what `lost` held gone. Programs find a place on these members.
fn raid5(members: u16, update: &str, lost: &[u16]) -> Host {
    let mut host = Host::new(scheme("raid5", members, 8, &[("update", update)])).filled();
    lost.iter().for_each(|member| host.flash.replace(MemberId(*member)));
    host
}

/// The lost pages of stripe 0.
pub fn lost(host: &Host) -> Vec<u16> {
    (0..64).filter(|member| host.flash.is_lost(MemberPage::new(*member, 0), Version::Current)).collect()
}

/// How a write ends that finds no page on some members (`unallocated`, the parity on member 4), by what its method leaves of dirty strips (which have
/// copies) and what is lost: it is done if all it wrote and all that could be had before can be had after it.
#[test]
fn a_write_without_space_leans_on_what_it_leaves() {
    use Method::{None, Rcw, Rmw};
    let row = Formula::new(Layout::LeftAsymmetric, 5, 1).row(StripeId(0));
    let none = Losses::default();
    let [current, base] = [|strips| Losses { current: strips, ..Losses::default() }, |strips| Losses { base: strips, ..Losses::default() }];
    let cases = [
        // The strip without a page is the sum of the parity, the others, and the base of a dirty one.
        (Rmw, 0b0001, 0b0_0001, 0b0010, none, true),
        (Rmw, 0b0001, 0b0_0001, 0b0010, base(0b0010), false),
        (Rmw, 0b0100, 0b0_0100, 0b0011, none, true),
        (Rmw, 0b0100, 0b0_0100, 0b0011, base(0b0001), false),
        (Rmw, 0b0101, 0b0_0101, 0, none, false),
        (Rmw, 0b0001, 0b1_0001, 0, none, false),
        (Rmw, 0b0001, 0b1_0000, 0, none, true),
        // Of what it writes itself no base counts, nor of anything if the parity is made of all that is newest.
        (Rmw, 0b0010, 0b0_0010, 0b0010, base(0b0010), true),
        (Rmw, 0b0011, 0b0_0001, 0b0010, base(0b0010), true),
        (Rcw, 0b0001, 0b0_0001, 0b0010, base(0b0010), true),
        (Rcw, 0b0001, 0b0_0001, 0b1110, base(0b1110), true),
        // A strip that its copy holds stays one with RMW; RCW leaves it to the parity, which has another one to give.
        (Rmw, 0b0001, 0b0_0001, 0b0010, current(0b0010), true),
        (Rcw, 0b0001, 0b0_0001, 0b0010, current(0b0010), false),
        (Rmw, 0b0001, 0b0_0001, 0b0010, Losses { copy: 0b0010, ..none }, true),
        // What can be had may not be lost for it; what was lost before may be.
        (Rmw, 0b0001, 0b0_0001, 0, current(0b1000), false),
        (Rmw, 0b0001, 0b1_0000, 0, current(0b1000), false),
        (Rmw, 0b0001, 0b1_0000, 0, Losses { current: 0b1000, parity: true, ..none }, true),
        (Rmw, 0b1000, 0b0_0000, 0, current(0b1000), true),
        // Without a method the parity is lost.
        (None, 0b0001, 0b0_0001, 0, none, false),
        (None, 0b0001, 0b0_0000, 0b0010, current(0b0010), true),
        (None, 0b0001, 0b0_0000, 0, current(0b1000), false),
    ];
    for (method, strips, unallocated, dirty, lost, is_done) in cases {
        let operation = Operation { method, strips, ..Operation::background(OperationKind::Write, StripeId(0), Lpn(0), 0) };
        let stripe = Stripe { lost, ..Stripe::new(row, dirty, Guard::Copy) };
        let expected = if is_done { Step::Done } else { Step::Failed(Failure::NoSpace) };
        assert_eq!(end_without(&operation, unallocated, &stripe), expected, "{method:?} of {strips:b} without {unallocated:b}: {stripe:?}");
    }
}

// ---- parity: reads ----

#[test]
fn a_lost_strip_is_the_xor_of_the_others_under_the_lock() {
    let mut host = raid5(4, "fewest", &[1]);
    let course = only(host.read(1, 1));
    assert_eq!(waves(&course), [["read reconstruct 0/0 4096", "read reconstruct 2/0 4096", "read reconstruct 3/0 4096"]]);
    assert_eq!((course.computed, course.operation.lock, course.end), (vec![(1, 0b111)], Lock::Shared, Step::Last));
    let healthy = only(host.read(0, 1));
    assert_eq!((healthy.operation.lock, waves(&healthy)), (Lock::None, vec![vec!["read host 0/0 4096 for strip 0".to_string()]]));
    assert_eq!(host.check_degraded(), 0);
}

#[test]
fn what_host_and_xor_both_need_is_read_once_and_whole() {
    let mut host = raid5(5, "fewest", &[1]);
    let course = only(host.submit(HostOp::Read, 0, 3, 512, 1024));
    let reads =
        ["read host 0/0 4096 for strip 0", "read host 2/0 4096 for strip 2", "read reconstruct 3/0 4096", "read reconstruct 4/0 4096"];
    assert_eq!(waves(&course), [reads]);
    assert_eq!(course.computed, [(1, 0b1111)]);
}

#[test]
fn unwritten_strips_are_no_part_of_the_xor() {
    let mut host = Host::raid5(5, 8);
    host.write(1, 2);
    host.flash.replace(MemberId(1));
    assert_eq!(waves(&only(host.read(0, 4))), [["read host 2/0 4096 for strip 2", "read reconstruct 4/0 4096"]]);
}

#[test]
fn more_than_one_lost_strip_is_lost() {
    for second in [0, 3] {
        let mut host = raid5(4, "fewest", &[1, second]);
        let course = only(host.read(1, 1));
        assert_eq!((course.end, course.waves.len()), (Step::Failed(Failure::Lost), 0));
        // Of 8 stripes 4 have lost two data strips, and 4 one and the parity.
        assert_eq!(host.check_degraded(), 12);
    }
}

// ---- parity: writes ----

#[test]
fn a_lost_strip_that_does_not_change_stays_in_the_parity_by_rmw() {
    for update in ["fewest", "rcw"] {
        let mut host = raid5(4, update, &[0]);
        let course = only(host.write(1, 1));
        assert_eq!(course.operation.method, Method::Rmw, "RCW would be chosen if it could be done");
        let programs = vec!["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1 ^ reads 01"];
        assert_eq!(waves(&course), [vec!["read pre_read 1/0 4096", "read pre_read 3/0 4096"], programs]);
        assert_eq!((lost(&host), host.check_degraded()), (vec![0], 0));
    }
}

#[test]
fn a_lost_strip_that_changes_is_replaced_by_rcw() {
    for update in ["fewest", "rmw"] {
        let mut host = raid5(6, update, &[0]);
        let course = only(host.write(0, 2));
        assert_eq!(course.operation.method, Method::Rcw);
        let reads = vec!["read pre_read 2/0 4096", "read pre_read 3/0 4096", "read pre_read 4/0 4096"];
        let programs =
            vec!["program host 0/0 4096 = host 0", "program host 1/0 4096 = host 1", "program parity 5/0 4096 = host 01 ^ reads 012"];
        assert_eq!(waves(&course), [reads, programs]);
        assert_eq!((lost(&host), host.check_degraded()), (vec![], 0));
    }
}

#[test]
fn a_lost_parity_is_made_anew_by_rcw() {
    for update in ["fewest", "rmw"] {
        let mut host = raid5(6, update, &[5]);
        let course = only(host.write(1, 1));
        assert_eq!(course.operation.method, Method::Rcw);
        let reads = vec!["read pre_read 0/0 4096", "read pre_read 2/0 4096", "read pre_read 3/0 4096", "read pre_read 4/0 4096"];
        let programs = vec!["program host 1/0 4096 = host 1", "program parity 5/0 4096 = host 1 ^ reads 0123"];
        assert_eq!(waves(&course), [reads, programs]);
        assert_eq!((lost(&host), host.check_degraded()), (vec![], 0));
    }
}

#[test]
fn a_full_stripe_needs_nothing_of_what_was_lost() {
    for members in [vec![0], vec![3], vec![0, 1], vec![0, 1, 2, 3]] {
        let mut host = raid5(4, "fewest", &members);
        let course = only(host.write(0, 3));
        assert_eq!((course.operation.method, course.waves.len(), lost(&host)), (Method::FullStripe, 1, vec![]));
    }
}

#[test]
fn what_is_not_lost_of_the_stripe_leaves_the_choice_alone() {
    // A page of another stripe is lost.
    let mut host = raid5(4, "fewest", &[]);
    host.flash.lose(MemberPage::new(0, 1), Version::Current);
    assert_eq!(only(host.write(1, 1)).operation.method, Method::Rcw);
    let mut host = raid5(8, "fewest", &[0]);
    assert_eq!(only(host.write(1, 1)).operation.method, Method::Rmw);
    assert_eq!(only(host.write(0, 1)).operation.method, Method::Rcw);
    assert_eq!(only(host.write(0, 1)).operation.method, Method::Rmw, "it is not lost any more");
}

#[test]
fn a_part_of_a_lost_strip_is_laid_over_what_the_others_make_up() {
    for update in ["rmw", "rcw"] {
        let mut host = raid5(4, update, &[1]);
        let course = only(host.write_part(1, 512));
        assert_eq!(course.operation.method, Method::Rcw);
        let reads = vec!["read pre_read 0/0 4096", "read pre_read 2/0 4096", "read reconstruct 3/0 4096"];
        let programs = vec!["program host 1/0 4096 = host 1", "program parity 3/0 4096 = host 1 ^ reads 01"];
        assert_eq!(waves(&course), [reads, programs]);
        assert_eq!(course.computed, [(1, 0b111)]);
        assert_eq!(host.check_degraded(), 0);
    }
}

#[test]
fn a_write_with_parts_at_both_ends_of_which_one_is_lost() {
    let mut host = raid5(5, "fewest", &[0]);
    let course = only(host.submit(HostOp::Write, 0, 3, 512, 1024));
    let reads =
        ["read pre_read 3/0 4096", "read update_read 2/0 4096 for strip 2", "read reconstruct 1/0 4096", "read reconstruct 4/0 4096"];
    assert_eq!(waves(&course)[0], reads);
    assert_eq!(waves(&course)[1][3], "program parity 4/0 4096 = host 012 ^ reads 0");
    assert_eq!(course.computed, [(0, 0b1111)]);
    assert_eq!(host.check_degraded(), 0);
}

#[test]
fn a_part_of_a_strip_that_nothing_makes_up_is_not_written() {
    for second in [2, 3] {
        let mut host = raid5(4, "fewest", &[1, second]);
        let course = only(host.write_part(1, 512));
        assert_eq!((course.end, course.waves.len(), course.changes.len()), (Step::Failed(Failure::Lost), 0, 0));
        assert_eq!(only(host.write(1, 1)).end, Step::Last, "written whole it is");
        host.check_degraded();
    }
}

/// Two strips are lost and one of them changes: RMW would read the one, RCW the other.
#[test]
fn without_a_parity_that_could_be_made_the_data_are_written_and_the_parity_is_lost() {
    let mut host = raid5(4, "fewest", &[0, 1]);
    let course = only(host.write(0, 1));
    assert_eq!((course.operation.method, waves(&course)), (Method::None, vec![vec!["program host 0/0 4096 = host 0".to_string()]]));
    assert_eq!(course.changes, [Change::Lose(MemberPage::new(3, 0))]);
    assert_eq!((lost(&host), host.check_degraded()), (vec![1, 3], 11));
    let counted = host.scheme.parity_updates();
    assert_eq!((counted.rmw, counted.rcw), (0, 0), "no parity was updated");
    assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::None, "nothing can be made of what is left");
    assert_eq!(only(host.write_part(2, 512)).operation.method, Method::None, "strip 1 and the parity are lost");
    assert_eq!(only(host.write(1, 1)).operation.method, Method::Rcw);
    assert_eq!((lost(&host), host.check_degraded()), (vec![], 10));
}

#[test]
fn two_lost_strips_that_do_not_change_stay_in_the_parity() {
    let mut host = raid5(5, "fewest", &[0, 1]);
    let before = host.check_degraded();
    assert_eq!(only(host.write(2, 1)).operation.method, Method::Rmw);
    assert_eq!(only(host.write(0, 2)).operation.method, Method::Rcw);
    assert_eq!((lost(&host), host.check_degraded()), (vec![], before - 2));
}

// ---- parity: trims ----

#[test]
fn a_trim_takes_the_method_that_reads_nothing_lost() {
    for (gone, trimmed, method, reads) in [
        (0, 1, Method::Rmw, ["read pre_read 1/0 4096", "read pre_read 3/0 4096"]),
        (1, 1, Method::Rcw, ["read pre_read 0/0 4096", "read pre_read 2/0 4096"]),
        (3, 1, Method::Rcw, ["read pre_read 0/0 4096", "read pre_read 2/0 4096"]),
    ] {
        for update in ["rmw", "rcw"] {
            let mut host = raid5(4, update, &[gone]);
            let course = only(host.trim(trimmed, 1));
            assert_eq!((course.operation.method, &course.changes[..]), (method, &[Change::Unmap(MemberPage::new(1, 0))][..]));
            assert_eq!(waves(&course), [&reads[..], &["program parity 3/0 4096 = reads 01"]]);
            assert_eq!((lost(&host), host.check_degraded()), (if gone == 0 { vec![0] } else { vec![] }, 0));
        }
    }
}

#[test]
fn a_trim_without_a_parity_that_could_be_made_loses_the_parity() {
    let mut host = raid5(4, "fewest", &[0, 1]);
    let course = only(host.trim(0, 1));
    assert_eq!((course.end, course.waves.len()), (Step::Done, 0));
    assert_eq!(course.changes, [Change::Unmap(MemberPage::new(0, 0)), Change::Lose(MemberPage::new(3, 0))]);
    assert_eq!((lost(&host), host.check_degraded()), (vec![1, 3], 11));
    let course = only(host.trim(1, 2));
    assert_eq!(course.changes, [1, 2, 3].map(|member| Change::Unmap(MemberPage::new(member, 0))));
    assert_eq!((lost(&host), host.check_degraded()), (vec![], 10));
}

// ---- no place, and failures under way ----

/// Without a replacement a lost strip is held by the parity, and a stripe goes without its parity.
#[test]
fn what_finds_no_place_stays_lost_and_recoverable() {
    for (dead, first) in [(0, 0), (3, 0), (3, 1)] {
        let mut host = raid5(4, "fewest", &[]);
        host.flash.kill(MemberId(dead));
        let course = only(host.write(first, 1));
        assert_eq!((course.end, course.operation.method, course.waves.len()), (Step::Done, Method::Rcw, 2));
        assert_eq!((lost(&host), host.check_degraded()), (vec![dead], 0));
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::NoSpace);
    }
}

#[test]
fn a_write_that_would_leave_more_than_the_parity_holds_fails() {
    // Strip 0 is lost, and the member of strip 1, or of the parity that holds strip 0, has no page.
    for full in [1, 3] {
        let mut host = raid5(4, "fewest", &[0]);
        host.flash.dead.insert(MemberId(full));
        let course = only(host.write(1, 1));
        assert_eq!((course.operation.method, course.end), (Method::Rmw, Step::Failed(Failure::NoSpace)));
        assert_eq!((lost(&host), host.check_degraded()), (vec![0], 0));
    }
    // Nothing holds a strip if two find no place, be the parity one of them.
    for pages in [1, 2] {
        let mut host = raid5(4, "fewest", &[]);
        host.flash.dead.extend([MemberId(0), MemberId(if pages == 1 { 3 } else { 1 })]);
        assert_eq!(only(host.write(0, pages)).end, Step::Failed(Failure::NoSpace));
        assert_eq!((lost(&host), host.check_degraded()), (vec![], 0));
    }
    // What is beyond help already does not stand in the way of others.
    let mut host = raid5(5, "fewest", &[0, 1]);
    host.flash.dead.insert(MemberId(4));
    assert_eq!(only(host.write(2, 1)).end, Step::Done);
    assert_eq!(lost(&host), [0, 1, 4]);
}

#[test]
fn a_failed_read_plans_anew_and_the_update_counts_once() {
    for (struck, method) in [(0, Method::Rmw), (2, Method::Rmw), (3, Method::Rcw), (1, Method::Rcw)] {
        let mut host = raid5(4, "fewest", &[]);
        host.flash.strike = Some((0, MemberId(struck), true));
        let course = only(host.write(1, 1));
        assert_eq!((course.operation.method, course.end), (method, Step::Last), "member {struck}");
        let counted = host.scheme.parity_updates();
        assert_eq!(counted.rmw + counted.rcw, 1);
        assert_eq!(host.check_degraded(), 0);
    }
}

#[test]
fn a_read_that_fails_goes_on_under_the_lock() {
    let mut host = raid5(4, "fewest", &[]);
    host.flash.strike = Some((0, MemberId(1), true));
    let course = only(host.read(0, 2));
    assert_eq!((course.operation.lock, course.computed), (Lock::Shared, vec![(1, 0b111)]));
}

// ---- parity: repair ----

#[test]
fn a_repair_computes_the_lost_page_of_all_others() {
    for (gone, sources) in [(1, [0, 2, 3]), (3, [0, 1, 2])] {
        let mut host = raid5(4, "fewest", &[gone]);
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::Compute);
        let repair = host.scheme.repair(StripeId(0), &host.flash);
        assert_eq!((repair.lock, repair.space), (Lock::Exclusive, 1 << gone));
        let course = host.run(repair);
        let reads = sources.map(|member| format!("read rebuild {member}/0 4096")).to_vec();
        assert_eq!(background_waves(&course), [reads, vec![format!("program rebuild {gone}/0 4096 = reads 012")]]);
        assert_eq!((lost(&host), course.operation.copied), (vec![], 0));
        assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::None);
        host.repair_all();
        host.check();
        host.check_each_member();
    }
}

/// SPEC 1.11: a member with L live pages costs L (n - 1) reads and L programs.
#[test]
fn a_rebuild_reads_and_programs_what_the_closed_form_says() {
    for members in 3..=9u64 {
        let mut host = raid5(members as u16, "fewest", &[0]);
        host.flash.log.clear();
        assert_eq!(host.repair_all().len(), 8);
        let reads_and_programs = [Action::Read, Action::Program].map(|action| host.flash.count(action, Cause::Rebuild));
        assert_eq!((reads_and_programs, host.flash.log.len() as u64), ([8 * (members - 1), 8], 8 * members));
    }
}

#[test]
fn a_repair_judges_by_what_is_lost_when_it_runs() {
    // A write has replaced the strip, a second one is lost, or the parity is in its place.
    let mut host = raid5(4, "fewest", &[1]);
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    host.write(0, 3);
    assert_eq!(host.run(repair).end, Step::Nothing);
    host.flash.replace(MemberId(3));
    assert_eq!(host.run(repair).end, Step::Nothing, "it has no page for the parity");
    host.flash.replace(MemberId(1));
    assert_eq!(host.run(repair).end, Step::Nothing);
    assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::None);
}

#[test]
fn a_repair_without_a_page_to_program_fails_and_changes_nothing() {
    for name in ["raid5", "raid1"] {
        let mut host = Host::new(scheme(name, 4, 8, &[])).filled();
        host.flash.replace(MemberId(0));
        let repair = host.scheme.repair(StripeId(0), &host.flash);
        host.flash.dead.insert(MemberId(0));
        assert_eq!(host.run(repair).end, Step::Failed(Failure::NoSpace));
        assert_eq!((lost(&host), host.check_degraded()), (vec![0], 0));
    }
}

#[test]
fn a_repair_under_which_another_member_dies_plans_anew() {
    let mut host = raid5(4, "fewest", &[1]);
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    host.flash.strike = Some((0, MemberId(2), true));
    assert_eq!(host.run(repair).end, Step::Nothing, "it has read too little");
    let mut host = raid5(4, "fewest", &[1]);
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    host.flash.strike = Some((1, MemberId(2), true));
    assert_eq!((host.run(repair).end, lost(&host)), (Step::Last, vec![2]), "it has read all that it needs");
    host.repair_all();
    assert_eq!(lost(&host), []);
}

// ---- copies ----

#[test]
fn a_read_of_a_lost_copy_takes_another_one() {
    let read_from = |courses: Vec<Course>| courses[0].waves[0].iter().map(|read| read.address.member.0).collect::<Vec<_>>();
    let mut host = Host::new(scheme("raid1", 4, 8, &[])).filled();
    host.flash.replace(MemberId(0));
    host.flash.loads.insert(MemberPage::new(2, 0), 9);
    assert_eq!(read_from(host.read(0, 1)), [2], "however busy");
    assert_eq!(read_from(host.write_part(0, 512)), [2], "before a write too");
    assert_eq!(host.check_degraded(), 0);

    // SPEC 2.4: the turn of round robin goes on as if nothing were lost.
    let mut host = Host::new(scheme("sirf1", 2, 8, &[])).filled();
    host.flash.lose(MemberPage::new(0, 3), Version::Current);
    let taken: Vec<u16> = [3, 1, 3, 3, 1].into_iter().flat_map(|lpn| read_from(host.read(lpn, 1))).collect();
    assert_eq!(taken, [1, 1, 1, 1, 0]);
    assert_eq!(read_from(host.write_part(3, 512)), [1]);

    let mut host = Host::new(scheme("sirf1", 3, 8, &[("groups", "3")])).filled();
    host.flash.lose(MemberPage::new(1, 0), Version::Current);
    let taken: Vec<u16> = (0..6).flat_map(|_| read_from(host.read(0, 1))).collect();
    assert_eq!(taken, [0, 2, 2, 0, 2, 2], "of equally busy ones the next");

    let mut host = Host::new(scheme("sirf1", 4, 8, &[("groups", "4")])).filled();
    host.flash.replace(MemberId(0));
    host.flash.loads.extend([1, 2, 3].map(|member| (MemberPage::new(member, 0), 5 - u32::from(member) / 2)));
    host.flash.channel_loads.insert(MemberPage::new(2, 0), 1);
    assert_eq!(read_from(host.read(0, 1)), [3], "the least busy of those that are left, by LUN and channel");
}

#[test]
fn a_page_without_any_copy_is_lost() {
    for (name, members, copies) in [("raid0", 2, vec![0]), ("raid1", 4, vec![0, 2]), ("sirf1", 4, vec![0, 2])] {
        let mut host = Host::new(scheme(name, members, 8, &[])).filled();
        copies.iter().for_each(|member| host.flash.replace(MemberId(*member)));
        let failed = (Step::Failed(Failure::Lost), 0);
        let read = only(host.read(0, 2));
        assert_eq!((read.end, read.waves.len()), failed, "one of the pages of a row is enough");
        let part = only(host.write_part(0, 512));
        assert_eq!((part.end, part.waves.len()), failed);
        assert_eq!((host.check_degraded(), host.scheme.damage(StripeId(0), &host.flash)), (8, Damage::None));
        assert_eq!(only(host.write(0, 1)).end, Step::Last);
        assert_eq!((only(host.trim(2, 1)).end, host.check_degraded()), (Step::Done, 6));
    }
}

#[test]
fn a_write_needs_a_place_for_one_copy() {
    for (name, members, dead, end) in [
        ("raid0", 2, vec![0], Step::Failed(Failure::NoSpace)),
        ("raid1", 4, vec![0], Step::Done),
        ("raid1", 4, vec![0, 2], Step::Failed(Failure::NoSpace)),
        ("sirf1", 4, vec![2], Step::Done),
    ] {
        let mut host = Host::new(scheme(name, members, 8, &[])).filled();
        host.flash.dead.extend(dead.iter().map(|member| MemberId(*member)));
        assert_eq!(only(host.write(0, 1)).end, end, "{name} {dead:?}");
        assert_eq!(host.check_degraded(), 0, "a write that fails leaves the old page");
        assert_eq!(lost(&host), if end == Step::Done { dead } else { vec![] }, "the old copy is stale");
    }
}

#[test]
fn a_repair_copies_from_the_least_busy_copy_to_where_room_is() {
    let filled = |gone: &[u16]| {
        let mut host = Host::new(scheme("sirf1", 6, 8, &[("groups", "3")])).filled();
        gone.iter().for_each(|member| host.flash.replace(MemberId(*member)));
        host
    };
    let mut host = filled(&[0]);
    host.flash.loads.insert(MemberPage::new(2, 0), 1);
    assert_eq!(host.scheme.damage(StripeId(0), &host.flash), Damage::Copy);
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    let course = host.run(repair);
    assert_eq!(background_waves(&course), [["read rebuild 4/0 4096"], ["program rebuild 0/0 4096 = reads 0"]]);
    assert_eq!((course.operation.copied, host.scheme.damage(StripeId(0), &host.flash)), (1, Damage::None));
    assert_eq!(host.run(repair).end, Step::Nothing);
    host.flash.replace(MemberId(4));
    assert_eq!(host.run(repair).end, Step::Nothing, "it has no page for the other copy");

    let mut host = filled(&[0, 4]);
    host.flash.full.insert(MemberId(4));
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    assert_eq!((repair.space, host.run(repair).operation.copied, lost(&host)), (1, 1, vec![4]));
    let rest = host.scheme.repair(StripeId(0), &host.flash);
    assert_eq!((host.scheme.damage(StripeId(0), &host.flash), rest.space), (Damage::NoSpace, 1 << 4));

    let mut host = filled(&[0, 4]);
    let repair = host.scheme.repair(StripeId(0), &host.flash);
    host.flash.dead.insert(MemberId(4));
    let course = host.run(repair);
    assert_eq!((course.end, course.operation.copied, lost(&host)), (Step::Done, 1, vec![4]), "one of two finds its place");
    host.flash.revive(MemberId(4));
    host.repair_all();
    assert_eq!(lost(&host), []);
    host.check();
}

#[test]
fn a_rebuild_of_copies_reads_and_programs_each_lost_page_once() {
    for (name, pages) in [("raid1", 8), ("sirf1", 8)] {
        let mut host = Host::new(scheme(name, 4, 8, &[])).filled();
        host.flash.replace(MemberId(3));
        host.flash.log.clear();
        let copied: u32 = host.repair_all().iter().map(|course| u32::from(course.operation.copied)).sum();
        let reads_and_programs = [Action::Read, Action::Program].map(|action| host.flash.count(action, Cause::Rebuild));
        assert_eq!((reads_and_programs, copied), ([pages; 2], 8));
        host.check();
    }
}
