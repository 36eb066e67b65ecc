//! What the shares of the parity become when SSDs are replaced one after the other (SPEC 5.4, 5.6): those of the stripes that are created, in each part of
//! them. Ten SSDs, of which 0 to 4 are the array and are replaced in this order.

use crate::flash::PAGE;
use crate::host::{Host, build};
use flashraid_redundancy::parts::replacing::{Mechanism, Policy, Redistribution, ReplacedSsds};
use flashraid_redundancy::stripe_map::table::Table;
use flashraid_redundancy::stripe_map::{Row, StripeMap};
use flashraid_redundancy::{Addressing, Build, IdleWork, Order, Percentages};
use flashraid_vocabulary::{HostOp, MemberId, StripeId};
use std::ops::Range;

const STRIPES: u32 = 1000;
const MEMBERS: u16 = 5;
const HOT_SWAP: Mechanism = Mechanism::HotSwap { redistribution: Redistribution::ByNeed, semi_hybrid: false };

fn array(mechanism: Mechanism) -> Host<ReplacedSsds> {
    let build = Build { spares: MEMBERS, ..build(MEMBERS, STRIPES, &[("parity_shares", "80,5,5,5,5")]) };
    let policy = Policy { mechanism, erasure_threshold: 900, idle_ns: 1000, window: 1, most_ns: 0 };
    let mut host = Host::new(Box::new(ReplacedSsds::from_build(&build, policy).unwrap()));
    host.flash.spares = (MEMBERS..2 * MEMBERS).map(MemberId).collect();
    host.flash.erases = (0..MEMBERS).map(|member| (MemberId(member), u64::from(100 - member))).collect();
    host
}

fn begin(host: &mut Host<ReplacedSsds>, member: u16) {
    host.flash.now_ns += 1_000_000;
    assert_eq!(host.replace(MemberId(member)), Ok(()));
    host.carry_out_orders();
}

fn ends(host: &Host<ReplacedSsds>) -> usize {
    host.orders.iter().filter(|order| matches!(order, Order::End { .. })).count()
}

/// Replaces SSDs 0 to 4; of a hundred stripes of which something is moved, so many are updated and the others copied in idle time, but that random updates may
/// find nothing to move. `check` follows each replacement.
fn replace_all(host: &mut Host<ReplacedSsds>, written: u32, updates: u32, mut check: impl FnMut(&Table)) {
    let mut random = 1u64;
    let mut below = |end: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((random >> 33) % u64::from(end)) as u32
    };
    for old in 0..MEMBERS {
        begin(host, old);
        while ends(host) == usize::from(old) {
            if below(100) < updates {
                let lpn = below(written * u32::from(MEMBERS - 1));
                host.submit(HostOp::Write, lpn.into(), 1, PAGE, PAGE);
            } else if let Err(IdleWork::After(wait_ns)) = host.idle() {
                host.flash.now_ns += wait_ns;
            }
        }
        host.scheme.check_counts();
        check(host.scheme.map());
    }
}

/// By how many parities the shares in these stripes, which are created, are off the limits, at most.
fn deviation(map: &Table, stripes: Range<u32>) -> f64 {
    let mut counts = [0u32; 2 * MEMBERS as usize];
    let count = stripes.len() as f64;
    for stripe in stripes.map(StripeId) {
        assert!(map.is_created(stripe));
        counts[usize::from(map.row(stripe).parity().member.0)] += 1;
    }
    let limit = |member: u16| f64::from(map.limit(MemberId(member))) / f64::from(Percentages::WHOLE);
    (0..).zip(counts).map(|(member, has)| (f64::from(has) - count * limit(member)).abs()).fold(0.0, f64::max)
}

/// The deviation of each tenth of the first `written` stripes, at most.
fn of_tenths(map: &Table, written: u32) -> f64 {
    (0..10).map(|tenth| deviation(map, tenth * written / 10..(tenth + 1) * written / 10)).fold(0.0, f64::max)
}

/// By copies alone, and by rebuild and shift: exactly, and within one stripe in twenty in each tenth of what is written, however little that is.
#[test]
fn what_is_copied_has_its_shares_everywhere() {
    for mechanism in [HOT_SWAP, Mechanism::Offline, Mechanism::Online { shifts_parity: true }] {
        for written in [100, 500, 900] {
            let mut host = array(mechanism);
            host.fill(u64::from(written) * u64::from(MEMBERS - 1));
            replace_all(&mut host, written, 0, |map| {
                assert_eq!(map.created(), written);
                assert!(deviation(map, 0..written) < 1e-6, "{mechanism:?}, {written}");
                assert!(
                    of_tenths(map, written) <= f64::from(written) / 10.0 / 20.0 + 0.5,
                    "{mechanism:?}, {written}: {}",
                    of_tenths(map, written)
                );
            });
            host.check();
        }
    }
}

/// Updates move what they find, in any order: all in all the shares are exact, in each tenth as they are in as many stripes drawn at random.
#[test]
fn what_updates_move_has_its_shares_too() {
    for (written, updates) in [(100, 95), (500, 50), (500, 95), (900, 95)] {
        let mut host = array(HOT_SWAP);
        host.fill(u64::from(written) * u64::from(MEMBERS - 1));
        let four_deviations = 4.0 * (f64::from(written) / 10.0 * 0.8 * 0.2).sqrt();
        replace_all(&mut host, written, updates, |map| {
            assert!(deviation(map, 0..written) < 1.0 + 1e-6, "{written}, {updates}: {}", deviation(map, 0..written));
            assert!(of_tenths(map, written) < four_deviations, "{written}, {updates}: {}", of_tenths(map, written));
        });
        assert!(host.replacing().migrated().hot_parity > 0);
        host.check();
    }
}

/// Stripes that are created while a replacement runs go by the new limits at once, and change nothing for the others. A shift does not know them from those
/// that were there before.
#[test]
fn an_array_that_grows_meanwhile_has_its_shares_too() {
    for mechanism in [HOT_SWAP, Mechanism::Online { shifts_parity: true }] {
        let mut host = array(mechanism);
        host.fill(400 * u64::from(MEMBERS - 1));
        begin(&mut host, 0);
        for stripe in 400..800u64 {
            host.submit(HostOp::Write, stripe * u64::from(MEMBERS - 1), 1, PAGE, PAGE);
            assert!(ends(&host) > 0 || host.idle().is_ok());
        }
        while host.idle().is_ok() {}
        assert_eq!(ends(&host), 1);
        let parts = if mechanism == HOT_SWAP { 5 } else { 1 };
        for stripes in [0..800, 0..400, 400..800, 0..200, 300..500].into_iter().take(parts) {
            let found = deviation(host.scheme.map(), stripes.clone());
            assert!(found < 2.0, "{mechanism:?}, {stripes:?}: {found}");
        }
        host.scheme.check_counts();
        host.check();
    }
}

/// A stripe counts from its first write on, and keeps its place when all of it is trimmed. Reads and trims create none.
#[test]
fn what_is_trimmed_stays_where_it_was() {
    let mut host = array(HOT_SWAP);
    let rows = |host: &Host<ReplacedSsds>| -> Vec<_> { (0..STRIPES).map(|stripe| host.scheme.map().row(StripeId(stripe))).collect() };
    let pages = host.scheme.user_pages();
    host.trim(0, pages);
    host.read(0, pages);
    assert_eq!(host.scheme.map().created(), 0);
    for stripe in [900, 3, 500, 4] {
        host.write(stripe * u64::from(MEMBERS - 1), 1);
    }
    let before = rows(&host);
    host.trim(0, pages);
    assert_eq!((host.scheme.map().created(), rows(&host) == before), (4, true));
    for stripe in [4, 900, 500, 3] {
        host.write(stripe * u64::from(MEMBERS - 1), 2);
    }
    assert_eq!((host.scheme.map().created(), rows(&host) == before), (4, true));
    host.scheme.check_counts();
    host.check();
}
