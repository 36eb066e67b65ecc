//! Semi-hybrid RAID: what stays on a replaced SSD for reads (SPEC 5.10). The array is that of `replacing`.

use crate::flash::PAGE;
use crate::host::Host;
use crate::replacing::{E, G, S, STRIPES, begin, empty, migrate, pages, parity_on, row, unmap, update};
use flashraid_redundancy::{Order, Step};
use flashraid_vocabulary::{HostOp, Lpn, MemberId, MemberPage, StripeId};

const SHADOWS: (&str, &str) = ("semi_hybrid", "true");
const UNBALANCED: (&str, &str) = ("parity_shares", "80");
const BALANCED: (&str, &str) = ("parity_shares", "20,20,40,20");

fn lpn_on(host: &Host, stripe: u32, member: u16) -> u64 {
    pages(host, stripe).find(|lpn| host.scheme.locate(Lpn(*lpn)).member == MemberId(member)).unwrap()
}

/// The SSD on which a strip of S is read while S has more to do than E, if that may be read at all.
fn read_on(host: &mut Host, stripe: u32, member: u16) -> u16 {
    let lpn = lpn_on(host, stripe, member);
    host.flash.loads = [(MemberPage::new(member, stripe), 9)].into();
    let course = host.read(lpn, 1).remove(0);
    host.flash.loads.clear();
    course.waves[0][0].address.member.0
}

fn ended(stays: bool) -> Order {
    Order::End { old: MemberId(E), new: MemberId(S), stays }
}

/// E is replaced by S, by copies alone: all data that was on E is on its shadow.
fn replaced(shares: (&str, &str)) -> Host {
    let mut host = begin(empty("hotswap", &[shares, SHADOWS]).filled());
    migrate(&mut host);
    assert_eq!(host.orders.last(), Some(&ended(true)));
    host
}

fn stripes_with_data_on(host: &Host, member: u16) -> Vec<u32> {
    (0..STRIPES).filter(|stripe| row(host, *stripe)[..3].contains(&member)).collect()
}

#[test]
fn copies_of_data_leave_pages_for_reads_and_copies_of_parity_do_not() {
    let host = begin(empty("hotswap", &[UNBALANCED, SHADOWS]).filled());
    let of_data = stripes_with_data_on(&host, E);
    let mut host = replaced(UNBALANCED);
    for stripe in stripes_with_data_on(&host, S) {
        // Data that G gave up for a parity never was on E.
        let expected = if of_data.contains(&stripe) { E } else { S };
        assert_eq!(read_on(&mut host, stripe, S), expected);
        assert_eq!(host.flash.current(MemberPage::new(E, stripe)).is_some(), expected == E);
    }
    host.check();
}

#[test]
fn an_update_on_its_way_leaves_no_page() {
    let mut host = begin(empty("hotswap", &[BALANCED, SHADOWS]).filled());
    let stripe = parity_on(&host, G);
    let course = update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
    assert_eq!(course.changes, [unmap(E, stripe)]);
    migrate(&mut host);
    assert_eq!(read_on(&mut host, stripe, S), S);
}

#[test]
fn the_shorter_queue_is_read_and_the_new_ssd_on_a_tie() {
    let mut host = replaced(BALANCED);
    let stripe = parity_on(&host, G);
    let lpn = lpn_on(&host, stripe, S);
    for (of_new, of_old, expected) in [(0, 0, S), (1, 1, S), (1, 0, E), (0, 1, S), (3, 2, E)] {
        host.flash.loads = [(MemberPage::new(S, stripe), of_new), (MemberPage::new(E, stripe), of_old)].into();
        let course = host.read(lpn, 1).remove(0);
        assert_eq!(course.waves[0][0].address, MemberPage::new(expected, stripe));
    }
    assert_eq!(host.replacing().migrated().shadow_reads, 2);
    // GC on the new SSD: the shadow alone. GC on another one changes nothing.
    host.flash.loads.clear();
    host.flash.collecting.insert(MemberId(2));
    assert_eq!(host.read(lpn, 1)[0].waves[0][0].address.member, MemberId(S));
    host.flash.collecting.insert(MemberId(S));
    host.flash.loads = [(MemberPage::new(E, stripe), 50)].into();
    assert_eq!(host.read(lpn, 1)[0].waves[0][0].address.member, MemberId(E));
}

#[test]
fn shadows_are_not_read_before_the_replacement_ends() {
    let mut host = begin(empty("hotswap", &[BALANCED, SHADOWS]).filled());
    let stripe = host.idle().unwrap().operation.stripe.0;
    assert!(row(&host, stripe)[..3].contains(&S));
    host.flash.collecting.insert(MemberId(S));
    assert_eq!(read_on(&mut host, stripe, S), S);
    migrate(&mut host);
    assert_eq!(read_on(&mut host, stripe, S), E);
}

#[test]
fn writes_and_trims_make_the_page_garbage() {
    for op in [HostOp::Write, HostOp::Trim] {
        let mut host = replaced(BALANCED);
        let stripe = parity_on(&host, G);
        let course = update(&mut host, op, stripe, 0, 1, PAGE);
        assert!(course.changes.contains(&unmap(E, stripe)));
        assert_eq!(host.flash.current(MemberPage::new(E, stripe)), None);
        // Once more: there is nothing left to clear.
        let course = update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
        assert!(!course.changes.contains(&unmap(E, stripe)));
        assert_eq!(read_on(&mut host, stripe, S), S);
        host.check();
    }
}

/// Under a write of S's strip and of one on an SSD that dies: the page is cleared once.
#[test]
fn a_program_that_finds_no_page_clears_the_shadow_once() {
    let mut host = replaced(BALANCED);
    host.flash.spares.clear();
    let stripe = parity_on(&host, G);
    host.flash.strike = Some((1, MemberId(2), false));
    let course = update(&mut host, HostOp::Write, stripe, 0, 2, PAGE);
    assert_eq!((course.end, course.changes.as_slice()), (Step::Done, [unmap(E, stripe)].as_slice()));
    assert_eq!(host.check_degraded(), 0);
}

/// The second replacement, of G (eldest now) by 5, moves strips of S for parity, and copies of G's own leave a shadow too.
#[test]
fn a_move_makes_the_page_garbage_and_shadows_add_up() {
    let mut host = replaced(BALANCED);
    let before: Vec<u32> = stripes_with_data_on(&host, S);
    let on_shadow: Vec<u32> = before.into_iter().filter(|stripe| read_on(&mut host, *stripe, S) == E).collect();
    assert_eq!(host.replace(MemberId(G)), Ok(()));
    host.carry_out_orders();
    migrate(&mut host);
    assert_eq!(host.orders.last(), Some(&Order::End { old: MemberId(G), new: MemberId(5), stays: true }));
    for stripe in &on_shadow {
        let is_there = row(&host, *stripe)[..3].contains(&S);
        assert_eq!(host.flash.current(MemberPage::new(E, *stripe)).is_some(), is_there);
        if is_there {
            assert_eq!(read_on(&mut host, *stripe, S), E);
        }
    }
    let of_second = stripes_with_data_on(&host, 5).into_iter().filter(|stripe| read_on(&mut host, *stripe, 5) == G).count();
    assert!(of_second > 0);
    host.check();
}

#[test]
fn while_its_ssd_is_replaced_the_shadow_alone_is_read_and_at_the_end_it_is_dropped() {
    let mut host = replaced(BALANCED);
    let stripe = *stripes_with_data_on(&host, S).last().unwrap();
    assert_eq!(read_on(&mut host, stripe, S), E);
    let copied = stripes_with_data_on(&host, S)[0];
    assert_eq!(host.replace(MemberId(S)), Ok(()));
    host.carry_out_orders();
    let lpn = lpn_on(&host, stripe, S);
    host.flash.loads = [(MemberPage::new(E, stripe), 50)].into();
    assert_eq!(host.read(lpn, 1)[0].waves[0][0].address.member, MemberId(E), "its load does not matter");
    while row(&host, copied).contains(&S) {
        host.idle().unwrap();
    }
    assert_eq!(host.flash.current(MemberPage::new(E, copied)), None, "it has moved away");
    migrate(&mut host);
    let dropped = [Order::Drop(MemberId(E)), Order::End { old: MemberId(S), new: MemberId(5), stays: true }];
    assert_eq!(host.orders[host.orders.len() - 2..], dropped);
    host.check();
}

#[test]
fn a_shadow_is_dropped_when_it_dies_or_its_ssd_does() {
    for member in [E, S] {
        let mut host = replaced(BALANCED);
        host.flash.spares.clear();
        let stripe = parity_on(&host, G);
        host.flash.kill(MemberId(member));
        host.carry_out_orders();
        assert_eq!(host.orders.last(), Some(&Order::Drop(MemberId(E))));
        let course = update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
        assert!(!course.changes.contains(&unmap(E, stripe)));
        assert_eq!(host.check_degraded(), 0);
    }
}

#[test]
fn a_dead_e_leaves_no_shadow() {
    let mut host = begin(empty("hotswap", &[BALANCED, SHADOWS]).filled());
    let copied = host.idle().unwrap().operation.stripe.0;
    host.flash.kill(MemberId(E));
    host.carry_out_orders();
    for stripe in 0..STRIPES {
        if host.scheme.damage(StripeId(stripe), &host.flash) == flashraid_redundancy::Damage::Compute {
            let repair = host.scheme.repair(StripeId(stripe), &host.flash);
            host.run(repair);
        }
    }
    assert_eq!(host.orders.last(), Some(&ended(false)));
    let course = update(&mut host, HostOp::Write, copied, 0, 3, PAGE);
    assert_eq!(course.changes, []);
    assert_eq!(host.replace(MemberId(S)), Ok(()));
    migrate(&mut host);
    assert!(!host.orders.contains(&Order::Drop(MemberId(E))), "there is none to drop");
    host.check();
}

/// A strip that goes back to E supersedes what was to be its page on the shadow.
#[test]
fn a_given_up_replacement_leaves_no_shadow() {
    let mut host = empty("hotswap", &[BALANCED, SHADOWS]).filled();
    host.flash.spares.truncate(1);
    let mut host = begin(host);
    let copied: Vec<u32> = (0..4).map(|_| host.idle().unwrap().operation.stripe.0).collect();
    host.flash.kill(MemberId(S));
    host.carry_out_orders();
    update(&mut host, HostOp::Write, copied[0], 0, 3, PAGE);
    update(&mut host, HostOp::Trim, copied[1], 0, 3, PAGE);
    update(&mut host, HostOp::Trim, copied[2], 0, 1, PAGE);
    assert_eq!(host.check_degraded(), 0);
    for stripe in (0..STRIPES).map(StripeId) {
        if host.scheme.damage(stripe, &host.flash) == flashraid_redundancy::Damage::Compute {
            let repair = host.scheme.repair(stripe, &host.flash);
            host.run(repair);
        }
    }
    migrate(&mut host);
    host.check();
    assert!((0..STRIPES).all(|stripe| !row(&host, stripe).contains(&S)));
}
