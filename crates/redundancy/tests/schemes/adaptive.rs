//! RMW or RCW by the load of members (SPEC 3): the cost model, the stand-in for BPU, the points at which a write decides, and what other schemes make of it.
//!
//! Stripe 0 of raid5 and its kin has its parity on the last member, and strip i on member i.

use crate::flash::{Course, PAGE};
use crate::host::{Host, scheme};
use crate::waves::waves;
use flashraid_redundancy::{Decisions, Extent, Failure, Method, Outcomes, Step};
use flashraid_vocabulary::{GcLoad, HostOp, Lpn, MemberId, MemberPage, Version, View, Wave};

/// Filled.
fn host(name: &str, members: u16, parameters: &[(&str, &str)]) -> Host {
    Host::new(scheme(name, members, 8, parameters)).filled()
}

fn set_queued(host: &mut Host, queued: &[(u16, (u32, u32))]) {
    host.flash.queued = queued.iter().map(|(member, queued)| (MemberId(*member), *queued)).collect();
}

/// What a write of so many strips from the first on chooses, and whether that counts as adjusted.
fn chosen(host: &mut Host, pages: u64) -> (Method, bool) {
    let before = host.scheme.parity_updates().adjusted;
    let course = only(host.write(0, pages));
    (course.operation.method, host.scheme.parity_updates().adjusted > before)
}

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

/// A GC run that is expected to take so much longer.
fn gc_of(left_ns: u64) -> GcLoad {
    GcLoad { elapsed_ns: 0, moves: 0, erases: 0, to_move: 0, read_ns: 0, program_ns: 0, erase_ns: left_ns }
}

// ---- the cost model ----

/// The paper's Figure 5: a write of strip 0 of a stripe on six channels, with the parity on channel 5. RMW reads channels 0 and 5, RCW the other four. Channel
/// 5 collects, and RCW is chosen although it makes more pre-reads. (The figure's own numbers are not printed.)
#[test]
fn the_example_of_figure_5() {
    let mut host = host("adaptive", 6, &[]);
    set_queued(&mut host, &[(0, (1, 2)), (1, (1, 1)), (3, (2, 1)), (4, (1, 0)), (5, (2, 2))]);
    host.flash.gc.insert(MemberId(5), gc_of(4));
    // RMW: max (1 + 1, 2 + 1 + 4) + 2 + 2 = 11. RCW: max (2, 1, 3, 2) + 1 + 1 = 5.
    assert_eq!(chosen(&mut host, 1), (Method::Rcw, true));
    // Without the GC run: max (2, 3) + 4 = 7, still more than 5. With fewer writes queued RMW costs 3 + 1 = 4.
    host.flash.gc.clear();
    assert_eq!(chosen(&mut host, 1), (Method::Rcw, true));
    set_queued(&mut host, &[(0, (1, 1)), (1, (1, 1)), (3, (2, 1)), (4, (1, 0)), (5, (2, 0))]);
    assert_eq!(chosen(&mut host, 1), (Method::Rmw, false));
}

/// Each term of equations 8 and 9 alone decides, in both directions. With empty queues both methods cost one read, and the tie goes to RMW.
#[test]
fn each_term_of_the_cost_decides() {
    let mut host = host("adaptive", 4, &[]);
    // One strip of three: RMW reads members 0 and 3, RCW 1 and 2. Fewest pre-reads would be RCW, as both read two pages.
    assert_eq!(chosen(&mut host, 1), (Method::Rmw, true), "a tie");
    for (member, expected) in [(0, Method::Rcw), (1, Method::Rmw), (2, Method::Rmw), (3, Method::Rcw)] {
        let is_adjusted = expected == Method::Rmw;
        for queued in [(1, 0), (0, 1)] {
            set_queued(&mut host, &[(member, queued)]);
            assert_eq!(chosen(&mut host, 1), (expected, is_adjusted), "{queued:?} queued for member {member}");
        }
        set_queued(&mut host, &[]);
        host.flash.gc.insert(MemberId(member), gc_of(1));
        assert_eq!(chosen(&mut host, 1), (expected, is_adjusted), "GC on member {member}");
        host.flash.gc.clear();
        host.flash.read_ns.insert(MemberPage::new(member, 0), 2);
        assert_eq!(chosen(&mut host, 1), (expected, is_adjusted), "a slow page on member {member}");
        host.flash.read_ns.clear();
    }
}

/// Reads make the maximum, writes the sum; both are in units of the page's own read time.
#[test]
fn reads_count_by_the_slowest_and_writes_by_their_sum() {
    let mut host = host("adaptive", 4, &[]);
    // RMW: max (3, 3) = 3. RCW: max (1, 4) = 4.
    set_queued(&mut host, &[(0, (2, 0)), (3, (2, 0)), (2, (3, 0))]);
    assert_eq!(chosen(&mut host, 1).0, Method::Rmw);
    // RMW: 1 + 2 + 2 = 5. RCW: 1 + 3 = 4.
    set_queued(&mut host, &[(0, (0, 2)), (3, (0, 2)), (2, (0, 3))]);
    assert_eq!(chosen(&mut host, 1).0, Method::Rcw);
    // RMW: max (2 * 2, 1) + 2 * 1 = 6. RCW: max (5, 1) = 5, or with one more read 6: a tie.
    host.flash.read_ns.insert(MemberPage::new(0, 0), 2);
    set_queued(&mut host, &[(0, (1, 1)), (2, (4, 0))]);
    assert_eq!(chosen(&mut host, 1).0, Method::Rcw);
    set_queued(&mut host, &[(0, (1, 1)), (2, (5, 0))]);
    assert_eq!(chosen(&mut host, 1).0, Method::Rmw);
}

/// SPEC 3.8 item 13: in an idle device N pre-reads cost as much as one.
#[test]
fn a_tie_goes_to_rmw_or_to_fewest_pre_reads() {
    assert_eq!(chosen(&mut host("adaptive", 6, &[]), 4), (Method::Rmw, true));
    assert_eq!(chosen(&mut host("adaptive", 6, &[("tie", "fewest")]), 4), (Method::Rcw, false));
    assert_eq!(chosen(&mut host("adaptive", 6, &[("tie", "fewest")]), 1), (Method::Rmw, false));
    let mut busy = host("adaptive", 6, &[("tie", "fewest")]);
    set_queued(&mut busy, &[(5, (1, 0))]);
    assert_eq!(chosen(&mut busy, 1), (Method::Rcw, true), "no tie");
}

/// Strips that were never written are not read, and cost nothing; without any to read RCW is no choice.
#[test]
fn unwritten_strips_are_left_out() {
    let mut host = Host::new(scheme("adaptive", 5, 8, &[]));
    set_queued(&mut host, &[(4, (9, 9))]);
    assert_eq!(chosen(&mut host, 2), (Method::Rcw, false), "an empty stripe");
    assert_eq!(waves(&host.write(0, 2)[0]).len(), 2, "nothing outside of it is written");
    host.write(2, 1);
    // RMW: 9 + 1 + 9. RCW reads strip 2 alone, not the queue of member 3.
    set_queued(&mut host, &[(3, (99, 99)), (4, (9, 9))]);
    assert_eq!(chosen(&mut host, 2), (Method::Rcw, false));
    set_queued(&mut host, &[(2, (99, 0)), (4, (9, 9))]);
    assert_eq!(chosen(&mut host, 2), (Method::Rmw, true));
    host.check();
}

/// What is lost leaves no choice, and none is counted.
#[test]
fn what_is_lost_leaves_no_choice() {
    for (lost, expected) in [(0, Method::Rcw), (1, Method::Rmw), (3, Method::Rcw)] {
        for busy in 0..4 {
            let mut host = host("adaptive", 4, &[]);
            host.flash.replace(MemberId(lost));
            set_queued(&mut host, &[(busy, (50, 50))]);
            assert_eq!(chosen(&mut host, 1), (expected, false), "member {lost} lost");
            assert_eq!(host.check_degraded(), 0);
        }
    }
}

// ---- BPU ----

/// SPEC 3.5, class by class, on four data strips; strip i on member i, the parity on member 4.
#[test]
fn bpu_weighs_pre_reads_against_queues() {
    let defaults = [("bpu_theta_load", "0")];
    let choose = |pages, queued: &[(u16, (u32, u32))], parameters: &[(&str, &str)]| {
        let mut host = host("bpu", 6, &[&defaults, parameters].concat());
        set_queued(&mut host, queued);
        chosen(&mut host, pages)
    };
    // Two strips of five: RMW and RCW read three pages each (class 0). The smaller queue, reads and programs alike, decides; a tie is RCW's.
    assert_eq!(choose(2, &[], &[]), (Method::Rcw, false));
    assert_eq!(choose(2, &[(0, (1, 0))], &[]), (Method::Rcw, false));
    assert_eq!(choose(2, &[(3, (0, 1))], &[]), (Method::Rmw, true));
    // One strip: two pages or four, a difference of two (class 2, from a difference of 8 on).
    assert_eq!(choose(1, &[(0, (3, 4))], &[]), (Method::Rmw, false));
    assert_eq!(choose(1, &[(0, (4, 4))], &[]), (Method::Rcw, true));
    assert_eq!(choose(1, &[(0, (4, 4)), (1, (1, 0))], &[]), (Method::Rmw, false));
    // The same as class 1 (from 4 on), and as class 3 (never).
    assert_eq!(choose(1, &[(5, (2, 1))], &[("bpu_d1", "2")]), (Method::Rmw, false));
    assert_eq!(choose(1, &[(5, (2, 2))], &[("bpu_d1", "2")]), (Method::Rcw, true));
    assert_eq!(choose(1, &[(5, (99, 99))], &[("bpu_d2", "1")]), (Method::Rmw, false));
    // Four strips: five pages or one, a difference of four: class 3 unless it is brought into class 2.
    assert_eq!(choose(4, &[(4, (99, 0))], &[]), (Method::Rcw, false));
    assert_eq!(choose(4, &[(4, (8, 0))], &[("bpu_d2", "4")]), (Method::Rmw, true));
    assert_eq!(choose(4, &[(4, (8, 0))], &[("bpu_d2", "4"), ("bpu_theta_2", "9")]), (Method::Rcw, false));
    assert_eq!(choose(1, &[(0, (3, 0))], &[("bpu_d1", "2"), ("bpu_theta_1", "3")]), (Method::Rcw, true));
    // GC is not seen.
    let mut host = host("bpu", 6, &defaults);
    host.flash.gc.insert(MemberId(0), gc_of(1_000_000));
    assert_eq!(chosen(&mut host, 1), (Method::Rmw, false));
}

#[test]
fn bpu_makes_fewest_pre_reads_under_light_load() {
    let mut host = host("bpu", 6, &[]);
    // 11 page operations are fewer than two for each of six members.
    set_queued(&mut host, &[(0, (8, 3))]);
    assert_eq!(chosen(&mut host, 1), (Method::Rmw, false));
    set_queued(&mut host, &[(0, (8, 4))]);
    assert_eq!(chosen(&mut host, 1), (Method::Rcw, true));
}

// ---- decision points ----

#[test]
fn after_the_data_the_queues_of_that_moment_decide() {
    let mut host = host("adaptive", 4, &[]);
    let data = vec!["program host 0/0 4096 = host 0"];
    let parity = vec!["program parity 3/0 4096 = host 0 ^ reads 01"];
    set_queued(&mut host, &[(1, (5, 0))]);
    let course = only(host.write(0, 1));
    assert_eq!(waves(&course), [data.clone(), vec!["read pre_read 0/0 4096", "read pre_read 3/0 4096"], parity.clone()]);
    set_queued(&mut host, &[(3, (3, 3))]);
    let course = only(host.write(0, 1));
    assert_eq!(waves(&course), [data, vec!["read pre_read 1/0 4096", "read pre_read 2/0 4096"], parity]);
    host.check();
}

#[test]
fn old_content_is_read_before_the_data_and_not_again() {
    let mut host = host("adaptive", 4, &[]);
    set_queued(&mut host, &[(1, (5, 0))]);
    let rmw = only(host.write_part(0, 512));
    let expected = [
        vec!["read update_read 0/0 4096 for strip 0"],
        vec!["program host 0/0 4096 = host 0"],
        vec!["read pre_read 3/0 4096"],
        vec!["program parity 3/0 4096 = host 0 ^ reads 01"],
    ];
    assert_eq!(waves(&rmw), expected);
    set_queued(&mut host, &[(3, (5, 0))]);
    let rcw = only(host.write_part(0, 512));
    assert_eq!(waves(&rcw)[2], ["read pre_read 1/0 4096", "read pre_read 2/0 4096"]);
    assert_eq!(waves(&rcw)[3], ["program parity 3/0 4096 = host 0 ^ reads 12"], "the update read is no source");
    host.check();
}

/// Equations 1 and 2 give RMW the channel of what changes, and leave it nowhere out: its queue counts although its page has been read before the choice.
#[test]
fn what_changes_counts_although_it_was_read_already() {
    let mut host = host("adaptive", 4, &[]);
    for (queue, expected) in [((5, 0), Method::Rcw), ((0, 1), Method::Rcw), ((0, 0), Method::Rmw)] {
        set_queued(&mut host, &[(0, queue)]);
        let course = only(host.write_part(0, 512));
        assert_eq!(course.operation.method, expected, "{queue:?}");
        assert_eq!(waves(&course)[0], ["read update_read 0/0 4096 for strip 0"], "{queue:?}");
    }
    host.check();
}

#[test]
fn at_arrival_the_data_go_with_the_pre_reads() {
    for name in ["adaptive", "raid5"] {
        let mut host = host(name, 4, &[("decide", "at_arrival")]);
        set_queued(&mut host, &[(1, (0, 5))]);
        let reads = if name == "adaptive" { [0, 3] } else { [1, 2] };
        let [first, second] = reads.map(|member| format!("read pre_read {member}/0 4096"));
        let course = only(host.write(0, 1));
        let wave = vec![first, second, "program host 0/0 4096 = host 0".into()];
        assert_eq!(waves(&course), [wave, vec!["program parity 3/0 4096 = host 0 ^ reads 01".into()]]);
        host.check();
    }
    // What needs old content waits for it; the rest does not.
    let mut host = host("adaptive", 5, &[("decide", "at_arrival")]);
    let course = only(host.submit(HostOp::Write, 0, 2, 512, PAGE));
    let expected = [
        vec!["read pre_read 0/0 4096 for strip 0", "read pre_read 1/0 4096", "read pre_read 4/0 4096", "program host 1/0 4096 = host 1"],
        vec!["program host 0/0 4096 = host 0", "program parity 4/0 4096 = host 01 ^ reads 012"],
    ];
    assert_eq!(waves(&course), expected);
    host.check();
}

#[test]
fn a_decision_that_takes_time_is_made_before_it() {
    for decide in ["before_all", "at_arrival", "after_data"] {
        let mut host = host("adaptive", 4, &[("decide", decide), ("decision_ns", "5700")]);
        let programs = if decide == "before_all" { 2 } else { 1 };
        let course = only(host.write(0, 1));
        assert_eq!((course.end, course.waves.last().unwrap().len()), (Step::Last, programs), "{decide}");
        assert_eq!(course.pauses, [5700], "{decide}");
        let full = only(host.write(0, 3));
        assert_eq!((full.waves.len(), full.pauses), (1, vec![]), "a full stripe is no choice");
        host.check();
    }
}

/// The queues may change while the choice is made, and something may be lost: only what can be done no more is chosen anew.
#[test]
fn what_was_chosen_before_a_pause_stays() {
    let extent = Extent { op: HostOp::Write, first: Lpn(0), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
    for (loses, reads, is_adjusted) in [(false, [0, 3], true), (true, [1, 2], false)] {
        let mut host = host("adaptive", 4, &[("decide", "before_all"), ("decision_ns", "5700")]);
        let mut decisions = Decisions::default();
        host.scheme.decide(&extent, &host.flash, &mut decisions);
        let (mut operation, mut wave) = (decisions.operations[0], Wave::default());
        set_queued(&mut host, &[(1, (1, 0))]);
        assert_eq!(host.scheme.step(&mut operation, Outcomes::default(), &host.flash, &mut wave), Step::Pause(5700));
        set_queued(&mut host, &[(0, (9, 9))]);
        if loses {
            host.flash.replace(MemberId(0));
        }
        assert_eq!(host.scheme.step(&mut operation, Outcomes::default(), &host.flash, &mut wave), Step::Wave);
        assert_eq!(wave.operations.iter().map(|read| read.address.member.0).collect::<Vec<_>>(), reads);
        assert_eq!(operation.is_adjusted, is_adjusted);
    }
}

// ---- failures on the way ----

/// A member dies under each wave, with a spare in its place or without: what the host wrote is there, and nothing else is gone.
#[test]
fn a_member_may_die_under_any_wave() {
    for decide in ["after_data", "at_arrival"] {
        for update in ["rmw", "rcw", "adaptive"] {
            for (wave, member, has_spare, bytes) in (0..4usize).flat_map(|wave| {
                (0..4u16).flat_map(move |member| {
                    [false, true].into_iter().flat_map(move |spare| [512, PAGE].map(|bytes| (wave, member, spare, bytes)))
                })
            }) {
                let mut host = host("raid5", 4, &[("decide", decide), ("update", update)]);
                host.flash.strike = Some((wave, MemberId(member), has_spare));
                let course = only(host.write_part(0, bytes));
                let what = format!("{decide} {update}, wave {wave} on member {member}, {bytes} bytes");
                assert!(matches!(course.end, Step::Last | Step::Done), "{what}: {:?}", course.end);
                assert_eq!(host.check_degraded(), 0, "{what}");
                if host.flash.strike.take().is_none() {
                    host.flash.dead.clear();
                    host.repair_all();
                    assert!((0..4).all(|member| !host.flash.is_lost(MemberPage::new(member, 0), Version::Current)), "{what}");
                }
                host.check();
            }
        }
    }
}

/// The parity is to hold what found no page, and something that it would need for that dies under its own program: then the write fails.
#[test]
fn what_dies_under_the_parity_counts() {
    for (decide, wave) in [("before_all", 1), ("at_arrival", 1), ("after_data", 2)] {
        let mut host = host("raid5", 4, &[("decide", decide), ("update", "rcw")]);
        host.flash.kill(MemberId(0));
        host.flash.strike = Some((wave, MemberId(2), false));
        let course = only(host.write(0, 1));
        assert_eq!((course.end, course.waves.len()), (Step::Failed(Failure::NoSpace), wave + 1), "{decide}");
    }
}

// ---- other schemes ----

/// The ppc family decides at the commit, cr5m at its fallback, fpc at the update, and replacing schemes at their writes.
#[test]
fn other_schemes_take_the_rule() {
    let busy = |host: &mut Host, member| set_queued(host, &[(member, (9, 9))]);
    for name in ["cr5m", "fpc"] {
        let limit = ("mw_limit", "0");
        let parameters: &[_] = if name == "cr5m" { &[("update", "adaptive"), limit] } else { &[("update", "adaptive")] };
        for (member, reads) in [(1, [0, 3]), (0, [1, 2])] {
            let mut host = host(name, 4, parameters);
            busy(&mut host, member);
            let course = only(host.write(0, 1));
            assert_eq!(course.waves[0].iter().map(|read| read.address.member.0).collect::<Vec<_>>(), reads, "{name}");
            host.check();
        }
    }
    for (update, member, reads) in
        [("fewest", 1, vec![0, 3]), ("rcw", 1, vec![1, 2]), ("adaptive", 1, vec![0, 3]), ("adaptive", 3, vec![1, 2])]
    {
        let mut host = host("ppc", 4, &[("update", update)]);
        host.write(0, 1);
        busy(&mut host, member);
        let commit = host.deferring_mut().drain().unwrap();
        let course = host.run(commit);
        let mut members: Vec<_> = course.waves[0].iter().map(|read| read.address.member.0).collect();
        members.sort_unstable();
        assert_eq!(members, reads, "{update}");
        assert_eq!(host.scheme.parity_updates().adjusted, u64::from(update == "adaptive" && member == 3));
        host.check();
    }
}
