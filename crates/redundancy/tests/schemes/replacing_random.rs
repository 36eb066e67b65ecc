//! Random requests, failures and replacements in a row, on full and partial stripes (SPEC 5.4 to 5.10): every page reads as written, single failures are
//! survived, and what schemes count along the way is what is there.

use crate::flash::PAGE;
use crate::host::{Host, build};
use flashraid_redundancy::parts::replacing::{Mechanism, Policy, Redistribution, ReplacedSsds};
use flashraid_redundancy::{Addressing, Build, Damage, IdleWork, Order, Recovery};
use flashraid_vocabulary::{Health, HostOp, Lpn, MemberId, SsdView, StripeId, Version};
use proptest::prelude::*;
use proptest::sample::{Index, select};

const STRIPES: u32 = 7;

#[derive(Clone, Debug)]
struct Case {
    members: u16,
    spares: u16,
    shares: &'static str,
    partial: &'static str,
    update: &'static str,
    mechanism: Mechanism,
    filled: bool,
}

#[derive(Clone, Debug)]
enum Event {
    Request(HostOp, Index, u64, u32, u32),
    /// So many offers of idle time.
    Idle(u32),
    Replace(Index),
    /// An SSD fails: now, or under this wave of the next operation.
    Failure(Index, Option<usize>),
    Repair,
    Collect(Index),
}

fn mechanism() -> impl Strategy<Value = Mechanism> {
    use Redistribution::{ByNeed, DataDevice, None, ParityToNew};
    let hot_swap = |(redistribution, semi_hybrid)| Mechanism::HotSwap { redistribution, semi_hybrid };
    prop_oneof![
        6 => (select(vec![None, ByNeed, ByNeed, DataDevice, ParityToNew]), any::<bool>()).prop_map(hot_swap),
        1 => any::<bool>().prop_map(|shifts_parity| Mechanism::Online { shifts_parity }),
        1 => Just(Mechanism::Offline),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let words = |words: &[&'static str]| select(words.to_vec());
    let shares = words(&["80", "100", "50,30", "0", "34,33,33"]);
    let shapes = (3..=6u16, 0..=4u16, shares, words(&["0", "0.3", "1"]), words(&["fewest", "rmw", "rcw"]));
    (shapes, mechanism(), any::<bool>()).prop_map(|((members, spares, shares, partial, update), mechanism, filled)| {
        let shares = if shares.contains(',') { if members == 3 { "50,30" } else { shares } } else { shares };
        Case { members, spares, shares, partial, update, mechanism, filled }
    })
}

fn event() -> impl Strategy<Value = Event> {
    let index = || any::<Index>();
    let bytes = || prop_oneof![2 => Just(PAGE), 1 => Just(512u32)];
    let request = |op, pages, first, last, at| Event::Request(op, at, pages, first, last);
    prop_oneof![
        8 => (1..8u64, bytes(), bytes(), index()).prop_map(move |(pages, first, last, at)| request(HostOp::Write, pages, first, last, at)),
        3 => (1..8u64, index()).prop_map(move |(pages, at)| request(HostOp::Trim, pages, PAGE, PAGE, at)),
        2 => (1..8u64, bytes(), bytes(), index()).prop_map(move |(pages, first, last, at)| request(HostOp::Read, pages, first, last, at)),
        5 => (1..12u32).prop_map(Event::Idle),
        3 => index().prop_map(Event::Replace),
        2 => (index(), prop::option::of(0..2usize)).prop_map(|(member, wave)| Event::Failure(member, wave)),
        2 => Just(Event::Repair),
        1 => index().prop_map(Event::Collect),
    ]
}

fn array(case: &Case) -> Host<ReplacedSsds> {
    let parameters = [("parity_shares", case.shares), ("partial_stripes", case.partial), ("update", case.update)];
    let build = Build { spares: case.spares, ..build(case.members, STRIPES, &parameters) };
    let policy = Policy { mechanism: case.mechanism, erasure_threshold: 900, idle_ns: 1000, window: 1, most_ns: 0 };
    let mut host = Host::new(Box::new(ReplacedSsds::from_build(&build, policy).unwrap()));
    host.flash.spares = (case.members..case.members + case.spares).map(MemberId).collect();
    if case.filled { host.filled() } else { host }
}

/// Whether the scheme has taken E out, or is about to: then it has no redundancy (SPEC 5.8).
fn is_without_redundancy(host: &Host<ReplacedSsds>, case: &Case) -> bool {
    !matches!(case.mechanism, Mechanism::HotSwap { .. }) && matches!(host.orders.last(), Some(Order::TakeOut(_) | Order::Begin { .. }))
}

/// Nothing is lost, and no stripe has a strip on a dead SSD.
fn is_whole(host: &Host<ReplacedSsds>) -> bool {
    let mut pages = Vec::new();
    for lpn in (0..host.scheme.user_pages()).map(Lpn) {
        pages.push(host.scheme.locate(lpn));
        host.scheme.redundancy_of(lpn, &mut pages);
    }
    host.flash.lost() == 0 && pages.iter().all(|page| host.flash.health(page.member) != Health::Disabled)
}

fn check(host: &mut Host<ReplacedSsds>) {
    host.scheme.check_counts();
    if is_whole(host) {
        host.check();
    }
    assert_eq!(host.check_degraded(), 0, "pages are lost");
}

fn repair_all(host: &mut Host<ReplacedSsds>) {
    for stripe in (0..STRIPES).map(StripeId) {
        if host.scheme.damage(stripe, &host.flash) == Damage::Compute {
            let repair = host.scheme.repair(stripe, &host.flash);
            host.run(repair);
            assert_ne!(host.scheme.damage(stripe, &host.flash), Damage::Compute, "the repair of {stripe:?} does nothing");
        }
    }
}

/// Offers idle time, so often at most; returns whether there was nothing more to do.
fn idle(host: &mut Host<ReplacedSsds>, times: u32) -> bool {
    for _ in 0..times {
        match host.idle() {
            Ok(course) => {
                let before = host.flash.now_ns;
                assert!(!matches!(course.end, flashraid_redundancy::Step::Nothing), "a copy does nothing at {before}");
                host.scheme.check_counts();
            }
            Err(IdleWork::After(wait_ns)) => host.flash.now_ns += wait_ns,
            Err(_) => return true,
        }
    }
    false
}

fn run(case: &Case, events: &[Event]) {
    let mut host = array(case);
    host.flash.now_ns = 1_000_000;
    let all = case.members + case.spares;
    for event in events {
        match event {
            Event::Request(op, at, pages, first_bytes, last_bytes) => {
                let user_pages = host.scheme.user_pages();
                let first = at.index(user_pages as usize) as u64;
                let loaded = host.scheme.locate(Lpn(first));
                host.flash.loads.insert(loaded, *pages as u32);
                host.submit(*op, first, (*pages).min(user_pages - first), *first_bytes, *last_bytes);
            }
            Event::Idle(times) => drop(idle(&mut host, *times)),
            Event::Replace(member) => {
                // What takes E out at once loses what it would be needed for.
                if !is_whole(&host) && !matches!(case.mechanism, Mechanism::HotSwap { .. }) {
                    continue;
                }
                let _ = host.replace(MemberId(member.index(all.into()) as u16));
                host.carry_out_orders();
            }
            Event::Failure(member, wave) => {
                // One failure at a time.
                let member = MemberId(member.index(all.into()) as u16);
                if !is_whole(&host)
                    || is_without_redundancy(&host, case)
                    || host.flash.health(member) == Health::Disabled
                    || host.flash.spares.contains(&member)
                {
                    continue;
                }
                // A spare SSD takes the place of one that is programmed.
                let has_spare = host.flash.health(member) == Health::ReadWrite && host.flash.next_spare().is_some();
                if has_spare {
                    host.flash.spares.remove(0);
                }
                match (wave, has_spare) {
                    (Some(wave), _) => host.flash.strike = Some((*wave, member, has_spare)),
                    (None, true) => host.flash.replace(member),
                    (None, false) => host.flash.kill(member),
                }
                host.carry_out_orders();
            }
            Event::Repair => repair_all(&mut host),
            Event::Collect(member) => {
                let member = MemberId(member.index(all.into()) as u16);
                if !host.flash.collecting.remove(&member) {
                    host.flash.collecting.insert(member);
                }
            }
        }
        if !matches!(event, Event::Failure(_, Some(_))) {
            // A strike that found no such wave is called off, as a second failure might come first.
            host.flash.strike = None;
        }
        check(&mut host);
    }
    // Everything comes to its end.
    host.flash.strike = None;
    for _ in 0..20 {
        repair_all(&mut host);
        if idle(&mut host, 10_000) && host.replacing().replaced_share() == 1.0 {
            break;
        }
        host.flash.now_ns += 100_000;
    }
    check(&mut host);
    assert_eq!(host.replacing().replaced_share(), 1.0, "a replacement does not end: {:?}", host.orders);
    let ended = host.orders.iter().filter_map(|order| match order {
        Order::End { old, .. } => Some(*old),
        _ => None,
    });
    for old in ended {
        assert!((0..host.scheme.user_pages()).all(|lpn| host.scheme.locate(Lpn(lpn)).member != old), "{old:?} has a strip");
        assert!(host.flash.holding(Version::Current).filter(|page| page.member == old).count() <= STRIPES as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_by_replacements(case in case(), events in prop::collection::vec(event(), 1..60)) {
        run(&case, &events);
    }
}
