//! What follows when an SSD dies while one is being replaced (SPEC 5.6). The array is that of `replacing`.

use crate::flash::PAGE;
use crate::host::Host;
use crate::replacing::{E, G, S, STRIPES, begin, emptied, empty, migrate, parity_on, row, update};
use crate::replacing_manager::{BALANCED, RCW, RMW, UNBALANCED, begun, decided, end, lpn_on, read_only};
use crate::waves::migration_waves;
use flashraid_redundancy::{Damage, IdleWork, Method, OperationKind, Order, Step};
use flashraid_vocabulary::{Health, HostOp, MemberId, Priority, SsdView, StripeId};
use std::ops::Range;

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

pub fn dies(host: &mut Host, member: u16) {
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
        assert_eq!((host.orders.len(), host.replacing().replaced_share()), (3, 1.0));
        // When there is a spare SSD again, E may be replaced again.
        host.flash.spares = vec![MemberId(5)];
        assert_eq!(host.replace(MemberId(E)), Ok(()));
        migrate(&mut host);
        assert_eq!(host.orders[3..], [begun(E, 5), read_only(E), end(E, 5)]);
        host.check();
    }
}

/// What comes back from S lies as it did before, also where nothing is lost, and however far the shares of the parity are from what they are to be: G has its
/// 40 %, and SSD 2 has 10 % of 40 %.
#[test]
fn what_comes_back_is_not_redistributed() {
    let mut host = emptied("hotswap", &[("parity_shares", "40,40,10,10")]);
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
    assert_eq!((host.replacing().replaced_share(), host.orders.len()), (1.0, 3));
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

/// Such a repair may program the new SSD, and waits until that is idle; the old one is not concerned.
#[test]
fn a_repair_before_a_copy_waits_for_the_new_ssd() {
    let mut host = begin(empty("hotswap", &[BALANCED]).filled());
    dies_with_spare(&mut host, 2);
    let now_ns = host.flash.now_ns;
    host.flash.last_host_ns = [(E, now_ns), (S, now_ns - 10)].map(|(member, at_ns)| (MemberId(member), at_ns)).into();
    assert_eq!(host.idle().err(), Some(IdleWork::After(999_990)));
    host.flash.now_ns += 999_990;
    assert_eq!(host.idle().unwrap().operation.kind, OperationKind::Repair);
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
    assert_eq!((host.replacing().replaced_share(), host.check_degraded()), (1.0, 0));
    // Each SSD has one rank by age all the same.
    host.flash.spares = vec![MemberId(5)];
    assert_eq!(host.replace(MemberId(2)), Ok(()));
    host.carry_out_orders();
    assert_eq!(host.orders[3..], [begun(2, 5), read_only(2)]);

    let mut host = empty("hotswap", &[UNBALANCED]).filled();
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    update(&mut host, HostOp::Write, 0, 0, 3, PAGE);
    dies(&mut host, E);
    dies(&mut host, S);
    assert_eq!(host.orders.last(), Some(&Order::Abandon { old: MemberId(E), new: MemberId(S) }));
    assert_eq!((host.replacing().replaced_share(), host.check_degraded()), (1.0, 0), "each stripe has a strip on one of them");
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
