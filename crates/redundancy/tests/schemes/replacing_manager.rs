//! When SSDs are replaced and what is ordered (SPEC 5.4, 5.5, 5.7), and the mechanisms to compare with (SPEC 5.8, 5.9). The array is that of `replacing`.

use crate::flash::PAGE;
use crate::host::{Host, build};
use crate::replacing::{E, G, S, STRIPES, begin, empty, migrate, pages, parity_on, row, update};
use crate::replacing_deaths::dies;
use crate::waves::waves;
use flashraid_redundancy::parts::replacing::{Mechanism, Policy, Redistribution, ReplacedSsds};
use flashraid_redundancy::{Build, Decisions, Extent, IdleWork, Operation, Order, Step};
use flashraid_vocabulary::{Action, Health, HostOp, Lpn, MemberId, Priority, SsdView, StripeId};

pub const UNBALANCED: (&str, &str) = ("parity_shares", "80");
pub const BALANCED: (&str, &str) = ("parity_shares", "20,20,40,20");
pub const RMW: (&str, &str) = ("update", "rmw");
pub const RCW: (&str, &str) = ("update", "rcw");

pub fn end(old: u16, new: u16) -> Order {
    Order::End { old: MemberId(old), new: MemberId(new), stays: false }
}

pub fn begun(old: u16, new: u16) -> Order {
    Order::Begin { old: MemberId(old), new: MemberId(new), host_waits: false }
}

pub fn read_only(member: u16) -> Order {
    Order::ReadOnly(MemberId(member))
}

/// A write of a host page, not yet begun.
pub fn decided(host: &mut Host, lpn: u64) -> Operation {
    let mut decisions = Decisions::default();
    let extent = Extent { op: HostOp::Write, first: Lpn(lpn), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
    host.scheme.decide(&extent, &host.flash, &mut decisions);
    decisions.operations[0]
}

pub fn lpn_on(host: &Host, stripe: u32, member: u16) -> u64 {
    pages(host, stripe).find(|lpn| host.scheme.locate(Lpn(*lpn)).member == MemberId(member)).unwrap()
}

// ---- limits and orders ----

#[test]
fn limits_go_by_age_and_then_by_number_and_the_new_ssd_is_last() {
    let build = Build { spares: 2, ..build(4, STRIPES, &[("parity_shares", "70,20,7,3")]) };
    let mechanism = Mechanism::HotSwap { redistribution: Redistribution::ByNeed, semi_hybrid: false };
    let policy = Policy { mechanism, erasure_threshold: 900, idle_ns: 1000, window: 1, most_ns: 0 };
    let mut host = Host::new(Box::new(ReplacedSsds::from_build(&build, policy).unwrap()));
    host.flash.spares = vec![MemberId(4), MemberId(5)];
    let limits = |host: &Host<ReplacedSsds>| [0, 1, 2, 3, 4, 5].map(|member| host.scheme.map().limit(MemberId(member)));
    assert_eq!(limits(&host), [70_000, 20_000, 7_000, 3_000, 0, 0]);
    host.flash.erases = [(0, 5), (1, 9), (2, 9), (3, 5)].map(|(member, erases)| (MemberId(member), erases)).into();
    host.flash.now_ns = 1_000_000;
    assert_eq!(host.replace(MemberId(1)), Ok(()));
    host.carry_out_orders();
    assert_eq!(limits(&host), [20_000, 0, 70_000, 7_000, 3_000, 0]);
    while host.idle().is_ok() {}
    assert_eq!(host.orders.last(), Some(&end(1, 4)));
    // The new SSD has grown old; the ages are those of this time.
    host.flash.erases.insert(MemberId(4), 9);
    host.flash.erases.insert(MemberId(3), 6);
    assert_eq!(host.replace(MemberId(0)), Ok(()));
    host.carry_out_orders();
    assert_eq!(limits(&host), [0, 0, 70_000, 7_000, 20_000, 3_000], "2 and 4 are equally old: the lower number first");
}

/// The eldest is the one that has spent most of what it endures, not the one with most erases (SPEC 5.12, ruling 16, says what it is of equal ones).
#[test]
fn ssds_that_endure_different_numbers_of_erases_are_ranked_by_their_share() {
    let mut host = empty("hotswap", &[("parity_shares", "70,20,7,3"), ("erasure_threshold", "0.9")]);
    host.flash.now_ns = 1_000_000;
    host.flash.endurance = Some(1000);
    host.flash.own_endurance = [(MemberId(1), 20), (MemberId(2), u64::MAX)].into();
    host.flash.erases = [(0, 800), (1, 18), (2, 5_000_000), (3, 1)].map(|(member, erases)| (MemberId(member), erases)).into();
    host.carry_out_orders();
    assert_eq!((host.orders.as_slice(), host.replacing().awaiting_replacement(&host.flash)), ([].as_slice(), vec![]));
    host.flash.erases.insert(MemberId(1), 19);
    assert_eq!(host.replacing().awaiting_replacement(&host.flash), [MemberId(1)]);
    while host.orders.is_empty() {
        host.carry_out_orders();
    }
    assert_eq!(host.orders[0], Order::Begin { old: MemberId(1), new: MemberId(4), host_waits: false });
}

#[test]
fn what_waits_for_a_replacement_is_told() {
    let mut host = empty("hotswap", &[]).filled();
    host.flash.now_ns = 1_000_000;
    for member in 0..4 {
        assert_eq!(host.replace(MemberId(member)), Ok(()));
    }
    host.carry_out_orders();
    assert_eq!(host.replacing().awaiting_replacement(&host.flash), [1, 2, 3].map(MemberId), "one runs");
    while host.idle().is_ok() {}
    assert_eq!(host.orders.last(), Some(&end(2, 6)));
    assert_eq!((host.flash.next_spare(), host.replacing().awaiting_replacement(&host.flash)), (None, vec![MemberId(3)]));
}

#[test]
fn the_eldest_is_replaced_above_its_threshold() {
    for (endurance, threshold, most) in [(1000, "0.9", 900), (1001, "0.5", 500), (7, "1", 7), (7, "0", 0)] {
        let mut host = empty("hotswap", &[("erasure_threshold", threshold)]);
        decided(&mut host, 0);
        host.flash.endurance = Some(endurance);
        host.flash.erases = [(MemberId(2), most)].into();
        host.carry_out_orders();
        assert_eq!(host.orders, []);
        host.flash.erases.insert(MemberId(2), most + 1);
        host.carry_out_orders();
        assert_eq!(host.orders, [begun(2, 4), read_only(2)], "{threshold} of {endurance}");
    }
    let mut host = empty("hotswap", &[]);
    host.flash.erases.insert(MemberId(2), u64::MAX);
    host.carry_out_orders();
    assert_eq!(host.orders, [], "there is no limit to what it endures");
}

#[test]
fn of_equally_old_ssds_the_first_is_replaced() {
    let mut host = empty("hotswap", &[]);
    decided(&mut host, 0);
    (host.flash.endurance, host.flash.erases) = (Some(10), (1..4).map(|member| (MemberId(member), 10)).collect());
    host.carry_out_orders();
    assert_eq!(host.orders, [begun(1, 4), read_only(1)]);
}

/// E may still be programmed by what was placed before: it becomes read only when that has ended, and what is placed later leaves it alone.
#[test]
fn e_becomes_read_only_when_nothing_programs_it_any_more() {
    let mut host = empty("hotswap", &[BALANCED]).filled();
    host.flash.now_ns = 2_000_000;
    let (stripe, other) = (parity_on(&host, G), parity_on(&host, 2));
    let lpn = lpn_on(&host, stripe, E);
    let mut in_flight = decided(&mut host, lpn);
    host.place(&mut in_flight);
    assert_eq!(in_flight.space, 1 << E | 1 << G);
    assert_eq!(host.replace(MemberId(E)), Ok(()));
    host.carry_out_orders();
    assert_eq!(host.orders, [begun(E, S)]);
    assert_eq!(host.idle().err(), Some(IdleWork::None), "nothing is copied yet");
    update(&mut host, HostOp::Write, other, 0, 1, PAGE);
    assert_eq!((row(&host, other)[0], host.orders.len()), (S, 1));
    host.run(in_flight);
    assert_eq!((row(&host, stripe)[0], &host.orders[1..]), (E, &[read_only(E)][..]));
    host.check();
    migrate(&mut host);
    assert_eq!(host.orders.last(), Some(&end(E, S)));
    host.check();
}

#[test]
fn requests_wait_for_each_other_and_for_spare_ssds() {
    let mut host = begin(empty("hotswap", &[BALANCED]).filled());
    let refused = |host: &mut Host, member| host.replace(MemberId(member)).unwrap_err();
    assert_eq!(refused(&mut host, E), "it is being replaced already");
    assert_eq!(refused(&mut host, 5), "it is not an SSD of the array");
    assert_eq!(refused(&mut host, 60), "it is not an SSD of the array");
    assert_eq!(host.replace(MemberId(3)), Ok(()));
    assert_eq!(host.replace(MemberId(2)), Ok(()));
    assert_eq!(refused(&mut host, 3), "it is being replaced already");
    for _ in 0..3 {
        // One stripe after the other, and never two copies of one at once.
        migrate_until_end(&mut host);
    }
    let expected = [begun(E, 4), read_only(E), end(E, 4), begun(3, 5), read_only(3), end(3, 5), begun(2, 6), read_only(2), end(2, 6)];
    assert_eq!(host.orders, expected);
    assert_eq!(refused(&mut host, 1), "no spare SSD is left");
    assert_eq!(refused(&mut host, E), "it is not an SSD of the array");
    let mut used: Vec<u16> = row(&host, 0);
    used.sort_unstable();
    assert_eq!(used, [1, 4, 5, 6]);
    host.check();
    host.flash.kill(MemberId(1));
    host.flash.spares.push(MemberId(0));
    assert_eq!(refused(&mut host, 1), "it has failed");
}

fn migrate_until_end(host: &mut Host) {
    let ends = |host: &Host| host.orders.iter().filter(|order| matches!(order, Order::End { .. })).count();
    let before = ends(host);
    while ends(host) == before {
        host.idle().expect("something to copy");
    }
}

/// A whole round over the stripes is made once in many idle times.
#[test]
fn a_trim_of_nothing_leaves_its_stripe_to_the_round_that_waits_for_it() {
    let mut host = empty("hotswap", &[UNBALANCED]);
    let stripe = parity_on(&host, E);
    update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
    let mut host = begin(host);
    host.flash.last_host_ns.insert(MemberId(E), host.flash.now_ns);
    let Some(IdleWork::After(wait_ns)) = host.idle().err() else { panic!("the parity moves as soon as E is idle") };
    assert_eq!(update(&mut host, HostOp::Trim, stripe, 1, 1, PAGE).end, Step::Nothing);
    host.flash.now_ns += wait_ns;
    assert_eq!(host.idle().expect("E is idle").operation.stripe, StripeId(stripe));
    assert_eq!(host.orders.last(), Some(&end(E, S)));
}

#[test]
fn a_replacement_ends_when_no_stripe_names_e() {
    let mut host = begin(empty("hotswap", &[UNBALANCED]).filled());
    for stripe in 0..STRIPES {
        let share = f64::from(stripe) / f64::from(STRIPES);
        assert!((host.replacing().replaced_share() - share).abs() < 1e-9 && host.orders.len() == 2);
        // Whole stripes in turn with copies.
        if stripe % 2 == 0 {
            update(&mut host, HostOp::Write, stripe, 0, 3, PAGE);
        } else {
            assert_eq!(host.idle().unwrap().operation.stripe, StripeId(stripe));
        }
        assert!(!row(&host, stripe).contains(&E));
    }
    assert_eq!((host.replacing().replaced_share(), host.orders.last()), (1.0, Some(&end(E, S))));
    assert_eq!(host.flash.health(MemberId(E)), Health::Disabled);
    host.check();
}

// ---- idle time ----

#[test]
fn copies_wait_until_each_ssd_concerned_is_idle() {
    let mut host = begin(empty("hotswap", &[BALANCED]).filled());
    let now_ns = host.flash.now_ns;
    // The first stripe has data on E and so concerns E and S; its other SSDs may be busy.
    assert_ne!(row(&host, 0)[3], E);
    host.flash.last_host_ns = [(1, now_ns), (2, now_ns), (3, now_ns), (E, now_ns - 999_999), (S, now_ns - 10)]
        .map(|(member, at_ns)| (MemberId(member), at_ns))
        .into();
    assert_eq!(host.idle().err(), Some(IdleWork::After(999_990)));
    host.flash.now_ns += 999_989;
    assert_eq!(host.idle().err(), Some(IdleWork::After(1)));
    host.flash.now_ns += 1;
    assert_eq!(host.idle().unwrap().operation.stripe, StripeId(0));
}

#[test]
fn a_late_replacement_waits_no_longer() {
    let mut host = begin(empty("hotswap", &[BALANCED, ("max_replacement_ms", "20")]).filled());
    let began_ns = host.flash.now_ns;
    host.flash.now_ns = began_ns + 19_700_000;
    host.flash.last_host_ns = (0..5).map(|member| (MemberId(member), host.flash.now_ns)).collect();
    assert_eq!(host.idle().err(), Some(IdleWork::After(300_000)), "not for the whole idle time");
    host.flash.now_ns = began_ns + 20_000_000;
    let course = host.idle().unwrap();
    assert!(course.waves.iter().flatten().all(|operation| operation.priority == Priority::Host && !operation.host_waits));
}

#[test]
fn a_copy_without_space_is_not_begun() {
    let mut host = begin(empty("hotswap", &[BALANCED]).filled());
    host.flash.full.insert(MemberId(S));
    assert_eq!(host.idle().err(), Some(IdleWork::None));
    host.flash.full.clear();
    // The stripes were just looked at; whoever asks again has seen something happen, and it may be the last thing that does.
    assert_eq!(host.idle().err(), Some(IdleWork::After(64 * 1_000_000)));
    host.flash.now_ns += 64 * 1_000_000;
    assert!(host.idle().is_ok());
}

// ---- online reconstruction and offline replacement ----

fn taken_out(scheme: &str, parameters: &[(&str, &str)], host_waits: bool) -> Host {
    let mut host = empty(scheme, parameters).filled();
    host.flash.now_ns = 2_000_000;
    assert_eq!(host.replace(MemberId(E)), Ok(()));
    host.carry_out_orders();
    let begun = Order::Begin { old: MemberId(E), new: MemberId(S), host_waits };
    assert_eq!(host.orders, [begun, Order::TakeOut(MemberId(E))]);
    host
}

#[test]
fn without_e_reads_reconstruct_and_writes_go_to_s() {
    let mut host = taken_out("online-rebuild", &[UNBALANCED, RMW], false);
    let (stripe, parity) = (parity_on(&host, G), parity_on(&host, E));
    let lpn = lpn_on(&host, stripe, E);
    let course = host.read(lpn, 1).remove(0);
    let mut members: Vec<u16> = course.waves[0].iter().map(|read| read.address.member.0).collect();
    members.sort_unstable();
    assert_eq!((members, course.computed.len()), (vec![1, 2, 3], 1));
    let course = host.write(lpn, 1).remove(0);
    let page = |member: u16| format!("{member}/{stripe} {PAGE}");
    let reads = vec![format!("read pre_read {}", page(2)), format!("read pre_read {}", page(3))];
    let programs = vec![format!("program host {} = host 0", page(S)), format!("program parity {} = host 0 ^ reads 01", page(G))];
    assert_eq!((waves(&course), row(&host, stripe)), (vec![reads, programs], vec![S, 2, 3, G]));
    update(&mut host, HostOp::Write, parity, 0, 1, PAGE);
    assert_eq!((row(&host, parity), host.check_degraded()), (vec![G, 2, 3, S], 0));
}

#[test]
fn stripes_are_rebuilt_one_by_one_and_then_parity_is_shifted() {
    // S is to have none.
    const ALL_TO_G: (&str, &str) = ("parity_shares", "80,10,10");
    for (scheme, parameters, shifts) in [
        ("online-rebuild", vec![ALL_TO_G], true),
        ("online-rebuild", vec![ALL_TO_G, ("shift_parity", "false")], false),
        ("offline-diff-raid", vec![ALL_TO_G], true),
    ] {
        let is_offline = scheme == "offline-diff-raid";
        let mut host = taken_out(scheme, &parameters, is_offline);
        let before: Vec<Vec<u16>> = (0..STRIPES).map(|stripe| row(&host, stripe)).collect();
        if is_offline {
            // It does not wait for idle time.
            host.flash.last_host_ns = (0..5).map(|member| (MemberId(member), host.flash.now_ns)).collect();
        } else {
            host.flash.last_host_ns.insert(MemberId(3), host.flash.now_ns);
            assert_eq!(host.idle().err(), Some(IdleWork::After(1_000_000)), "all SSDs of the stripe take part");
            host.flash.now_ns += 1_000_000;
        }
        let members = |wave: &[flashraid_vocabulary::PageOperation]| -> Vec<u16> {
            let mut members: Vec<u16> = wave.iter().map(|operation| operation.address.member.0).collect();
            members.sort_unstable();
            members
        };
        let priority = if is_offline { Priority::Host } else { Priority::Migration };
        for (stripe, row_before) in (0..).zip(&before) {
            let course = host.idle().unwrap();
            assert_eq!((course.operation.stripe, course.waves.len()), (StripeId(stripe), 2));
            let mut others: Vec<u16> = row_before.iter().copied().filter(|member| *member != E).collect();
            others.sort_unstable();
            assert_eq!((members(&course.waves[0]), members(&course.waves[1])), (others, vec![S]));
            assert!(course.waves.iter().flatten().all(|operation| operation.priority == priority));
            assert_eq!(row(&host, stripe), row_before.iter().map(|member| if *member == E { S } else { *member }).collect::<Vec<_>>());
        }
        host.check();
        // G is to have 80 % of ten, and had one; E had eight.
        let of = |host: &Host, member: u16| (0..STRIPES).filter(|stripe| row(host, *stripe)[3] == member).count();
        let expected = if shifts { 8 - of(&host, G) } else { 0 };
        assert!(!shifts || expected > 0);
        for _ in 0..expected {
            assert_ne!(host.orders.last(), Some(&end(E, S)));
            let course = host.idle().unwrap();
            let stripe = course.operation.stripe.0;
            let words: Vec<_> =
                course.waves.iter().flatten().map(|page| (page.action, page.address.member.0, page.sources.reads)).collect();
            let (read, program) = (Action::Read, Action::Program);
            assert_eq!(words, [(read, G, 0), (read, S, 0), (program, S, 0b01), (program, G, 0b10)]);
            assert_eq!((course.changes.len(), row(&host, stripe)), (0, vec![S, 2, 3, G]));
            host.check();
        }
        assert_eq!(host.idle().err(), Some(IdleWork::None));
        assert_eq!((host.orders.last(), of(&host, G)), (Some(&end(E, S)), if shifts { 8 } else { of(&host, G) }));
        assert_eq!(host.replacing().migrated().cold_parity, expected as u64);
        host.check();
    }
}

#[test]
fn when_s_dies_too_what_was_taken_out_is_lost() {
    let mut host = empty("online-rebuild", &[UNBALANCED]).filled();
    host.flash.spares.truncate(1);
    host.flash.now_ns = 2_000_000;
    assert_eq!(host.replace(MemberId(E)), Ok(()));
    host.carry_out_orders();
    host.idle().unwrap();
    dies(&mut host, S);
    assert_eq!(host.orders.last(), Some(&Order::Abandon { old: MemberId(E), new: MemberId(S) }));
    assert_eq!((host.check_degraded(), host.idle().err()), (0, Some(IdleWork::None)), "each stripe has lost one strip");
}
