//! When SSDs are replaced and what is ordered (SPEC 5.4, 5.5, 5.7), what follows when one dies meanwhile (SPEC 5.6), and the mechanisms to compare with
//! (SPEC 5.8, 5.9). The array is that of `replacing`.

use crate::flash::PAGE;
use crate::host::{Host, build};
use crate::replacing::{E, G, S, STRIPES, begin, empty, migrate, pages, parity_on, row, update};
use crate::waves::{migration_waves, waves};
use flashraid_redundancy::parts::replacing::{Mechanism, Policy, Redistribution, Replacing};
use flashraid_redundancy::{Build, Damage, Decisions, Extent, IdleWork, Method, Operation, OperationKind, Order, Scheme, Step};
use flashraid_vocabulary::{Action, Health, HostOp, Lpn, MemberId, Priority, StripeId, View};
use std::ops::Range;

const UNBALANCED: (&str, &str) = ("parity_shares", "80");
const BALANCED: (&str, &str) = ("parity_shares", "20,20,40,20");
const RMW: (&str, &str) = ("update", "rmw");
const RCW: (&str, &str) = ("update", "rcw");

fn end(old: u16, new: u16) -> Order {
    Order::End { old: MemberId(old), new: MemberId(new), stays: false }
}

fn begun(old: u16, new: u16) -> Order {
    Order::Begin { old: MemberId(old), new: MemberId(new), host_waits: false }
}

fn read_only(member: u16) -> Order {
    Order::ReadOnly(MemberId(member))
}

/// A write of a host page, not yet begun.
fn decided(host: &mut Host, lpn: u64) -> Operation {
    let mut decisions = Decisions::default();
    let extent = Extent { op: HostOp::Write, first: Lpn(lpn), pages: 1, first_bytes: PAGE, last_bytes: PAGE, covered: false };
    host.scheme.decide(&extent, &host.flash, &mut decisions);
    decisions.operations[0]
}

fn lpn_on(host: &Host, stripe: u32, member: u16) -> u64 {
    pages(host, stripe).find(|lpn| host.scheme.locate(Lpn(*lpn)).member == MemberId(member)).unwrap()
}

// ---- limits and orders ----

#[test]
fn limits_go_by_age_and_then_by_number_and_the_new_ssd_is_last() {
    let build = Build { spares: 2, ..build(4, STRIPES, &[("parity_shares", "70,20,7,3")]) };
    let mechanism = Mechanism::HotSwap { redistribution: Redistribution::ByNeed, semi_hybrid: false };
    let policy = Policy { mechanism, erasure_threshold: 900, idle_ns: 1000, window: 1, most_ns: 0 };
    let mut host = Host::new(Box::new(Replacing::from_build(&build, policy).unwrap()));
    host.flash.spares = vec![MemberId(4), MemberId(5)];
    assert_eq!(host.scheme.limits(), [70_000, 20_000, 7_000, 3_000, 0, 0]);
    host.flash.erases = [(0, 5), (1, 9), (2, 9), (3, 5)].map(|(member, erases)| (MemberId(member), erases)).into();
    host.flash.now_ns = 1_000_000;
    assert_eq!(host.scheme.replace(MemberId(1), &host.flash), Ok(()));
    host.carry_out_orders();
    assert_eq!(host.scheme.limits(), [20_000, 0, 70_000, 7_000, 3_000, 0]);
    while host.idle().is_ok() {}
    assert_eq!(host.orders.last(), Some(&end(1, 4)));
    // The new SSD has grown old; the ages are those of this time.
    host.flash.erases.insert(MemberId(4), 9);
    host.flash.erases.insert(MemberId(3), 6);
    assert_eq!(host.scheme.replace(MemberId(0), &host.flash), Ok(()));
    host.carry_out_orders();
    assert_eq!(host.scheme.limits(), [0, 0, 70_000, 7_000, 20_000, 3_000], "2 and 4 are equally old: the lower number first");
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
    assert_eq!((host.orders.as_slice(), host.scheme.awaiting_replacement(&host.flash)), ([].as_slice(), vec![]));
    host.flash.erases.insert(MemberId(1), 19);
    assert_eq!(host.scheme.awaiting_replacement(&host.flash), [MemberId(1)]);
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
        assert_eq!(host.scheme.replace(MemberId(member), &host.flash), Ok(()));
    }
    host.carry_out_orders();
    assert_eq!(host.scheme.awaiting_replacement(&host.flash), [1, 2, 3].map(MemberId), "one runs");
    while host.idle().is_ok() {}
    assert_eq!(host.orders.last(), Some(&end(2, 6)));
    assert_eq!((host.flash.next_spare(), host.scheme.awaiting_replacement(&host.flash)), (None, vec![MemberId(3)]));
}

#[test]
fn the_eldest_is_replaced_above_its_threshold() {
    for (endurance, threshold, most) in [(1000, "0.9", 900), (1001, "0.5", 500), (7, "1", 7), (7, "0", 0)] {
        let mut host = empty("hotswap", &[("erasure_threshold", threshold)]);
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
    assert_eq!(host.scheme.replace(MemberId(E), &host.flash), Ok(()));
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
    let refused = |host: &mut Host, member| host.scheme.replace(MemberId(member), &host.flash).unwrap_err();
    assert_eq!(refused(&mut host, E), "it is being replaced already");
    assert_eq!(refused(&mut host, 5), "it is not an SSD of the array");
    assert_eq!(refused(&mut host, 60), "it is not an SSD of the array");
    assert_eq!(host.scheme.replace(MemberId(3), &host.flash), Ok(()));
    assert_eq!(host.scheme.replace(MemberId(2), &host.flash), Ok(()));
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

#[test]
fn a_replacement_ends_when_no_stripe_names_e() {
    let mut host = begin(empty("hotswap", &[UNBALANCED]).filled());
    for stripe in 0..STRIPES {
        let share = f64::from(stripe) / f64::from(STRIPES);
        assert!((host.scheme.replaced_share() - share).abs() < 1e-9 && host.orders.len() == 2);
        // Whole stripes in turn with copies.
        if stripe % 2 == 0 {
            update(&mut host, HostOp::Write, stripe, 0, 3, PAGE);
        } else {
            assert_eq!(host.idle().unwrap().operation.stripe, StripeId(stripe));
        }
        assert!(!row(&host, stripe).contains(&E));
    }
    assert_eq!((host.scheme.replaced_share(), host.orders.last()), (1.0, Some(&end(E, S))));
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
    assert!(host.idle().is_err(), "the stripes were just looked at");
    host.flash.now_ns += 64 * 1_000_000;
    assert!(host.idle().is_ok());
}

// ---- deaths (the table of SPEC 5.6) ----

fn repair_all(host: &mut Host) {
    for stripe in (0..STRIPES).map(StripeId) {
        while host.scheme.damage(stripe, &host.flash) == Damage::Compute {
            let repair = host.scheme.repair(stripe, &host.flash);
            assert_eq!(host.run(repair).end, Step::Last);
        }
    }
}

/// A spare SSD takes the place of one that dies.
fn dies_with_spare(host: &mut Host, member: u16) {
    host.flash.spares.remove(0);
    host.flash.replace(MemberId(member));
    host.carry_out_orders();
}

fn dies(host: &mut Host, member: u16) {
    host.flash.kill(MemberId(member));
    host.carry_out_orders();
}

/// Writes a strip of each of the stripes. On a dead SSD it is what the others make of it.
fn update_stripes(host: &mut Host, stripes: Range<u32>, strip: u64) {
    for stripe in stripes {
        assert!(matches!(update(host, HostOp::Write, stripe, strip, 1, PAGE).end, Step::Last | Step::Done));
        assert_eq!(host.check_degraded(), 0);
    }
}

#[test]
fn what_a_dead_e_held_is_rebuilt_on_s() {
    for shares in [UNBALANCED, BALANCED] {
        let mut host = begin(empty("hotswap", &[shares, RMW]).filled());
        let (data, parity) = (parity_on(&host, G), parity_on(&host, E));
        dies(&mut host, E);
        assert_eq!(host.check_degraded(), 0);
        let repair = host.scheme.repair(StripeId(data), &host.flash);
        let course = host.run(repair);
        let programs: Vec<_> = course.waves[1].iter().map(|program| (program.address.member.0, program.sources.reads)).collect();
        assert_eq!((course.waves[0].len(), programs.as_slice()), (3, [(S, 0b111)].as_slice()));
        assert_eq!(row(&host, data), [S, 2, 3, G]);
        // An update before the repair: the parity goes to S, and nothing else moves.
        let course = update(&mut host, HostOp::Write, parity, 1, 1, PAGE);
        assert_eq!((course.operation.method, row(&host, parity)), (Method::Rcw, vec![G, 2, 3, S]));
        update_stripes(&mut host, 0..STRIPES, 0);
        repair_all(&mut host);
        assert_eq!(host.orders.last(), Some(&end(E, S)));
        host.check();
    }
}

/// What the rebuild of failures has not repaired, for want of space or as there is none, the replacement computes in idle time.
#[test]
fn what_e_has_lost_needs_no_rebuild() {
    let mut host = begin(empty("hotswap", &[BALANCED, RMW]).filled());
    dies(&mut host, E);
    let course = host.idle().expect("all strips of E are lost");
    assert_eq!((course.operation.kind, course.waves[0].len(), course.waves[1].len()), (OperationKind::Repair, 3, 1));
    assert_eq!((course.waves[1][0].address.member.0, course.waves[1][0].priority), (S, Priority::Migration));
    migrate(&mut host);
    assert_eq!(host.orders.last(), Some(&end(E, S)));
    host.check();
}

#[test]
fn a_spare_ssd_goes_on_in_the_place_of_s() {
    let mut host = begin(empty("hotswap", &[UNBALANCED]).filled());
    update_stripes(&mut host, 0..5, 0);
    dies_with_spare(&mut host, S);
    assert_eq!(host.orders.len(), 2);
    update_stripes(&mut host, 0..STRIPES, 1);
    repair_all(&mut host);
    host.check();
    migrate(&mut host);
    assert_eq!(host.orders.last(), Some(&end(E, S)));
    host.check();
}

#[test]
fn without_a_spare_ssd_e_stays_in_the_place_of_s() {
    for strip in 0..3 {
        let mut host = empty("hotswap", &[UNBALANCED, RMW]).filled();
        host.flash.spares.truncate(1);
        let mut host = begin(host);
        for stripe in (0..STRIPES).step_by(2) {
            update(&mut host, HostOp::Write, stripe, strip, 1, PAGE);
        }
        dies(&mut host, S);
        assert_eq!(host.orders.last(), Some(&Order::GiveUp { old: MemberId(E), new: MemberId(S) }));
        assert_eq!((host.flash.health(MemberId(E)), host.check_degraded()), (Health::ReadWrite, 0));
        // Written strips come back, others are rebuilt.
        update(&mut host, HostOp::Write, 0, 0, 3, PAGE);
        assert!(!row(&host, 0).contains(&S));
        repair_all(&mut host);
        migrate(&mut host);
        for stripe in 0..STRIPES {
            let mut members = row(&host, stripe);
            members.sort_unstable();
            assert_eq!(members, [E, 1, 2, 3]);
        }
        host.check();
        assert_eq!((host.orders.len(), host.scheme.replaced_share()), (3, 1.0));
        // When there is a spare SSD again, E may be replaced again.
        host.flash.spares = vec![MemberId(5)];
        assert_eq!(host.scheme.replace(MemberId(E), &host.flash), Ok(()));
        migrate(&mut host);
        assert_eq!(host.orders[3..], [begun(E, 5), read_only(E), end(E, 5)]);
        host.check();
    }
}

/// What comes back from S lies as it did before, also where nothing is lost, and however far the shares of the parity are from what they are to be: G has its
/// 40 %, and SSD 2 has 10 % of 40 %.
#[test]
fn what_comes_back_is_not_redistributed() {
    let mut host = empty("hotswap", &[("parity_shares", "40,40,10,10")]);
    host.flash.spares.truncate(1);
    let before: Vec<Vec<u16>> = (0..STRIPES).map(|stripe| row(&host, stripe)).collect();
    let mut host = begin(host);
    let write_on = |host: &mut Host, stripe: u32, member: u16| {
        let strip = row(host, stripe).iter().position(|of| *of == member).expect("a strip on it") as u64;
        update(host, HostOp::Write, stripe, strip, 1, PAGE);
        row(host, stripe)
    };
    let of_e: Vec<u32> = (0..STRIPES).filter(|stripe| before[*stripe as usize][3] == E).collect();
    assert_eq!(of_e.len(), 4);
    for stripe in &of_e {
        assert_eq!(write_on(&mut host, *stripe, 3)[3], S, "SSD 3 has its 10 %");
        update(&mut host, HostOp::Trim, *stripe, 0, 3, PAGE);
    }
    dies(&mut host, S);
    assert_eq!(host.orders.last(), Some(&Order::GiveUp { old: MemberId(E), new: MemberId(S) }));
    assert_eq!(write_on(&mut host, of_e[0], 2), before[of_e[0] as usize], "with an update");
    assert_eq!(host.orders.len(), 3, "the others are still to come");
    migrate(&mut host);
    assert_eq!((0..STRIPES).map(|stripe| row(&host, stripe)).collect::<Vec<_>>(), before);
    assert_eq!((host.scheme.replaced_share(), host.orders.len()), (1.0, 3));
    host.check();
}

/// An update that was placed before S died leaves a strip there: that comes back too.
#[test]
fn a_replacement_is_given_up_when_no_update_names_s_any_more() {
    let mut host = empty("hotswap", &[BALANCED]).filled();
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    let stripe = parity_on(&host, G);
    let lpn = lpn_on(&host, stripe, E);
    let mut in_flight = decided(&mut host, lpn);
    host.place(&mut in_flight);
    dies(&mut host, S);
    host.run(in_flight);
    assert_eq!((row(&host, stripe)[0], host.check_degraded()), (S, 0));
    repair_all(&mut host);
    assert_eq!(row(&host, stripe), [E, 2, 3, G]);
    host.check();
}

#[test]
fn a_spare_ssd_takes_the_place_of_another_one() {
    for member in [G, 2, 3] {
        let mut host = begin(empty("hotswap", &[UNBALANCED, RMW]).filled());
        update_stripes(&mut host, 0..5, 0);
        dies_with_spare(&mut host, member);
        // Updates are not held up by what is lost, copies repair it first, and no lost strip is moved.
        update_stripes(&mut host, 3..8, 1);
        let copies = migrate(&mut host);
        assert!(copies.values().all(|course| course.end != Step::Nothing));
        assert_eq!((host.check_degraded(), host.orders.last()), (0, Some(&end(E, S))));
        repair_all(&mut host);
        host.check();
    }
}

/// G's strips are lost, and a spare SSD has taken its place: a stripe is repaired before it is copied, and then the parity goes there as ever.
#[test]
fn a_lost_strip_is_repaired_before_its_stripe_is_copied() {
    let mut host = begin(empty("hotswap", &[UNBALANCED]).filled());
    let stripe = parity_on(&host, E);
    dies_with_spare(&mut host, G);
    let course = migrate(&mut host).remove(&stripe).unwrap();
    let reads = [format!("read migration 1/{stripe} {PAGE}"), format!("read migration 0/{stripe} {PAGE}")];
    let copies = [format!("program migration 4/{stripe} {PAGE} = reads 0"), format!("program migration 1/{stripe} {PAGE} = reads 1")];
    assert_eq!(migration_waves(&course), [reads, copies]);
    assert_eq!(row(&host, stripe), [S, 2, 3, G]);
    assert_eq!(host.orders.last(), Some(&end(E, S)));
    host.check();
}

#[test]
fn without_a_spare_ssd_the_array_is_degraded_and_the_replacement_goes_on() {
    for member in [G, 2, 3] {
        let mut host = empty("hotswap", &[UNBALANCED, RCW]).filled();
        host.flash.spares.truncate(1);
        let mut host = begin(host);
        let stripe = parity_on(&host, E);
        dies(&mut host, member);
        assert_eq!(host.check_degraded(), 0);
        // The eldest SSD that lives has the place of G.
        if member == G {
            migrate(&mut host);
            assert_eq!(row(&host, stripe), [G, 2, 3, S], "a stripe with a lost strip: the parity goes to S");
        }
        update_stripes(&mut host, 3..8, 1);
        migrate(&mut host);
        assert_eq!((host.check_degraded(), host.orders.last()), (0, Some(&end(E, S))));
    }
}

/// A stripe of which G has no written strip is whole without G: its parity goes to the eldest SSD that lives.
#[test]
fn parity_goes_to_no_dead_g() {
    let mut host = empty("hotswap", &[("parity_shares", "40,40,10,10"), RCW]);
    let stripe = parity_on(&host, E);
    let strip = row(&host, stripe).iter().position(|member| *member == 3).unwrap() as u64;
    update(&mut host, HostOp::Write, stripe, strip, 1, PAGE);
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    dies(&mut host, G);
    migrate(&mut host);
    assert_eq!(row(&host, stripe)[3], 2, "SSD 2 is to have 40 % now, and has 10 %");
    host.check();
}

#[test]
fn when_e_and_s_die_the_replacement_ends() {
    let mut host = empty("hotswap", &[UNBALANCED]).filled();
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    dies(&mut host, S);
    dies(&mut host, E);
    assert_eq!(host.orders.len(), 3, "it was given up, and E dies as any other one");
    assert_eq!((host.scheme.replaced_share(), host.check_degraded()), (1.0, 0));
    // Each SSD has one rank by age all the same.
    host.flash.spares = vec![MemberId(5)];
    assert_eq!(host.scheme.replace(MemberId(2), &host.flash), Ok(()));
    host.carry_out_orders();
    assert_eq!(host.orders[3..], [begun(2, 5), read_only(2)]);

    let mut host = empty("hotswap", &[UNBALANCED]).filled();
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    update(&mut host, HostOp::Write, 0, 0, 3, PAGE);
    dies(&mut host, E);
    dies(&mut host, S);
    assert_eq!(host.orders.last(), Some(&Order::Abandon { old: MemberId(E), new: MemberId(S) }));
    assert_eq!((host.scheme.replaced_share(), host.check_degraded()), (1.0, 0), "each stripe has a strip on one of them");
    assert_eq!(host.idle().err(), Some(IdleWork::None));
}

/// G dies while its strip is read to be moved: the update starts anew, without the move.
#[test]
fn an_update_starts_anew_when_what_it_moves_is_lost() {
    for has_spare in [true, false] {
        for method in [RMW, RCW] {
            let mut host = begin(empty("hotswap", &[UNBALANCED, method]).filled());
            let stripe = parity_on(&host, E);
            host.flash.strike = Some((0, MemberId(G), has_spare));
            let course = update(&mut host, HostOp::Write, stripe, 1, 1, PAGE);
            assert_eq!((course.end, course.operation.method), (Step::Last, Method::Rmw), "G's strip can be read no more");
            let programs: Vec<u16> = course.waves[1].iter().map(|program| program.address.member.0).collect();
            assert_eq!((programs.as_slice(), row(&host, stripe)), ([2, S].as_slice(), vec![G, 2, 3, S]));
            assert_eq!(host.check_degraded(), 0);
        }
    }
}

/// Each SSD dies under each wave of an update of each strip.
#[test]
fn an_update_survives_the_death_of_each_ssd() {
    for (shares, wave, member) in [UNBALANCED, BALANCED].into_iter().flat_map(|shares| (0..10).map(move |x| (shares, x % 2, x as u16 / 2)))
    {
        for (stripe, strip, op) in (0..30).flat_map(|x| [HostOp::Write, HostOp::Trim].map(|op| (x / 3, u64::from(x % 3), op))) {
            for has_spare in [false, true] {
                let mut host = begin(empty("hotswap", &[shares]).filled());
                host.flash.strike = Some((wave, MemberId(member), has_spare && member != E));
                update(&mut host, op, stripe, strip, 1, PAGE);
                assert_eq!(host.check_degraded(), 0);
            }
        }
    }
}

// ---- online reconstruction and offline replacement ----

fn taken_out(scheme: &str, parameters: &[(&str, &str)], host_waits: bool) -> Host {
    let mut host = empty(scheme, parameters).filled();
    host.flash.now_ns = 2_000_000;
    assert_eq!(host.scheme.replace(MemberId(E), &host.flash), Ok(()));
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
    for (scheme, parameters, shifts) in [
        ("online-rebuild", vec![UNBALANCED], true),
        ("online-rebuild", vec![UNBALANCED, ("shift_parity", "false")], false),
        ("offline-diff-raid", vec![UNBALANCED], true),
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
        assert_eq!(host.scheme.migrated().cold_parity, expected as u64);
        host.check();
    }
}

#[test]
fn when_s_dies_too_what_was_taken_out_is_lost() {
    let mut host = empty("online-rebuild", &[UNBALANCED]).filled();
    host.flash.spares.truncate(1);
    host.flash.now_ns = 2_000_000;
    assert_eq!(host.scheme.replace(MemberId(E), &host.flash), Ok(()));
    host.carry_out_orders();
    host.idle().unwrap();
    dies(&mut host, S);
    assert_eq!(host.orders.last(), Some(&Order::Abandon { old: MemberId(E), new: MemberId(S) }));
    assert_eq!((host.check_degraded(), host.idle().err()), (0, Some(IdleWork::None)), "each stripe has lost one strip");
}
