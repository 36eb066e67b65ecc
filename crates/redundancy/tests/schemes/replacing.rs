//! Where strips go while an SSD is replaced (SPEC 5.6), case by case, and what the shares of the parity become (SPEC 5.4). SSDs 0 to 3 are the array,
//! those behind them are spare: E is 0, G is 1, S is 4. A stripe's page is the one of its number, on each SSD.

use crate::flash::{Course, PAGE};
use crate::host::{Host, build};
use crate::waves::{migration_waves, waves};
use flashraid_redundancy::{Build, IdleWork, Method, OperationKind, Order, Step, find};
use flashraid_vocabulary::{Change, HostOp, Lpn, MemberId, MemberPage, StripeId};
use std::collections::BTreeMap;

pub const E: u16 = 0;
pub const G: u16 = 1;
pub const S: u16 = 4;
pub const STRIPES: u32 = 10;

/// An array of this scheme with 3 spare SSDs, empty, of which SSD 0 is the most aged, then 1, then 2.
pub fn empty(scheme: &str, parameters: &[(&str, &str)]) -> Host {
    let build = Build { spares: 3, ..build(4, STRIPES, parameters) };
    let mut host = Host::new(find(scheme).unwrap().build(&build).unwrap());
    host.flash.spares = [4, 5, 6].map(MemberId).to_vec();
    host.flash.erases = [(0, 100), (1, 50), (2, 40), (3, 30)].map(|(member, erases)| (MemberId(member), erases)).into();
    host
}

/// The replacement of E by S begins; everything is idle.
pub fn begin(mut host: Host) -> Host {
    host.flash.now_ns = 2_000_000;
    assert_eq!(host.replace(MemberId(E)), Ok(()));
    host.carry_out_orders();
    let begun = Order::Begin { old: MemberId(E), new: MemberId(S), host_waits: false };
    assert_eq!(host.orders, [begun, Order::ReadOnly(MemberId(E))]);
    host
}

/// The same with each stripe created, in order, and all of it trimmed again.
pub fn emptied(scheme: &str, parameters: &[(&str, &str)]) -> Host {
    let mut host = empty(scheme, parameters).filled();
    host.trim(0, host.scheme.user_pages());
    host.flash.log.clear();
    host
}

fn filled(parameters: &[(&str, &str)]) -> Host {
    begin(empty("hotswap", parameters).filled())
}

/// Host pages of a stripe.
pub fn pages(host: &Host, stripe: u32) -> impl Iterator<Item = u64> + use<'_> {
    (0..host.scheme.user_pages()).filter(move |lpn| host.scheme.stripe_of(Lpn(*lpn)) == StripeId(stripe))
}

/// The members of a stripe's data strips, then that of its parity.
pub fn row(host: &Host, stripe: u32) -> Vec<u16> {
    let mut all: Vec<MemberPage> = pages(host, stripe).map(|lpn| host.scheme.locate(Lpn(lpn))).collect();
    host.scheme.redundancy_of(Lpn(pages(host, stripe).next().unwrap()), &mut all);
    all.into_iter().map(|page| page.member.0).collect()
}

/// The first stripe with its parity on this SSD.
pub fn parity_on(host: &Host, member: u16) -> u32 {
    (0..host.scheme.stripes()).find(|stripe| row(host, *stripe).last() == Some(&member)).expect("a parity on it")
}

pub fn unmap(member: u16, stripe: u32) -> Change {
    Change::Unmap(MemberPage::new(member, stripe))
}

/// Writes or trims data strips of a stripe, `strips` of them from `first` on.
pub fn update(host: &mut Host, op: HostOp, stripe: u32, first: u64, strips: u64, bytes: u32) -> Course {
    let page = pages(host, stripe).next().unwrap() + first;
    let mut courses = host.submit(op, page, strips, bytes, bytes);
    assert_eq!(courses.len(), 1);
    courses.remove(0)
}

/// Reads and programs of one update, in words without what they share, then its changes and the row that it leaves. Checks everything.
fn assert_update(host: &mut Host, course: Course, reads: &[&str], programs: &[&str], changes: &[Change], row_after: &[u16]) {
    let stripe = course.operation.stripe.0;
    let expected = [reads, programs].into_iter().filter(|wave| !wave.is_empty());
    let in_full = |word: &&str| {
        let (place, sources) = word.split_once(" = ").unwrap_or((word, ""));
        let (place, strip) = place.split_once(" for ").unwrap_or((place, ""));
        let rest = if sources.is_empty() { String::new() } else { format!(" = {sources}") };
        format!("{place}/{stripe} {PAGE}{}{rest}", if strip.is_empty() { String::new() } else { format!(" for {strip}") })
    };
    let expected: Vec<Vec<String>> = expected.map(|wave| wave.iter().map(in_full).collect()).collect();
    assert_eq!(waves(&course), expected);
    assert_eq!((course.changes.as_slice(), row(host, stripe).as_slice()), (changes, row_after));
    host.check();
}

/// One written strip on SSD `member` of a stripe.
fn write_on(host: &mut Host, stripe: u32, member: u16) -> Course {
    let strip = row(host, stripe).iter().position(|of| *of == member).unwrap() as u64;
    update(host, HostOp::Write, stripe, strip, 1, PAGE)
}

/// Lets idle time pass until nothing is left to do: how the copy of each stripe went, or its repair if that moved all there was to move.
pub fn migrate(host: &mut Host) -> BTreeMap<u32, Course> {
    let mut courses = BTreeMap::new();
    loop {
        match host.idle() {
            Ok(course) => {
                let former = courses.insert(course.operation.stripe.0, course);
                assert!(former.is_none_or(|former| former.operation.kind == OperationKind::Repair), "a stripe is copied twice");
            }
            Err(answer) => {
                assert_eq!(answer, IdleWork::None);
                return courses;
            }
        }
    }
}

// ---- shares for each case ----

/// G has less than its share: its share was 6.7 %, and is 80 % now.
const UNBALANCED: (&str, &str) = ("parity_shares", "80");
/// G has its 20 %; SSD 3 is to have 40 % and has 20 %, SSD 2 is to have 20 % and has 40 %; S is to have 20 %.
const BALANCED: (&str, &str) = ("parity_shares", "20,20,40,20");
const RMW: (&str, &str) = ("update", "rmw");
const RCW: (&str, &str) = ("update", "rcw");

// ---- case A, and C ----

#[test]
fn a_written_strip_of_e_goes_to_s_and_the_parity_stays() {
    for (method, reads) in [(RMW, ["read pre_read 0", "read pre_read 1"]), (RCW, ["read pre_read 2", "read pre_read 3"])] {
        let mut host = filled(&[BALANCED, method]);
        let stripe = parity_on(&host, G);
        let course = write_on(&mut host, stripe, E);
        let programs = ["program host 4 = host 0", "program parity 1 = host 0 ^ reads 01"];
        assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
        assert_eq!(
            (host.replacing().migrated().hot_data, host.replacing().migrated().hot_parity, host.replacing().migrated().hot_moves),
            (1, 0, 0)
        );
    }
}

#[test]
fn the_first_write_of_a_strip_of_e_goes_to_s() {
    let mut host = emptied("hotswap", &[BALANCED, RMW]);
    let stripe = parity_on(&host, G);
    update(&mut host, HostOp::Write, stripe, 1, 1, PAGE);
    let mut host = begin(host);
    let course = write_on(&mut host, stripe, E);
    let programs = ["program host 4 = host 0", "program parity 1 = host 0 ^ reads 0"];
    assert_update(&mut host, course, &["read pre_read 1"], &programs, &[], &[S, 2, 3, G]);
}

#[test]
fn the_first_write_of_a_stripe_does_not_use_e() {
    // A stripe that is created goes by the new limits, of which SSD 3 has most.
    let mut host = empty("hotswap", &[BALANCED]);
    host.fill(3);
    let mut host = begin(host);
    let course = update(&mut host, HostOp::Write, 7, 1, 1, PAGE);
    assert_update(&mut host, course, &[], &["program host 2 = host 1", "program parity 3 = host 1"], &[], &[G, 2, S, 3]);
    // One of which all was trimmed keeps its place until it is written, strip by strip.
    let mut host = begin(emptied("hotswap", &[BALANCED]));
    let stripe = parity_on(&host, G);
    let course = write_on(&mut host, stripe, E);
    assert_update(&mut host, course, &[], &["program host 4 = host 0", "program parity 1 = host 0"], &[], &[S, 2, 3, G]);
    // An untouched strip of E stays a strip of the stripe.
    let stripe = parity_on(&host, 2);
    let course = write_on(&mut host, stripe, 3);
    assert_update(&mut host, course, &[], &["program host 3 = host 2", "program parity 2 = host 2"], &[], &[E, G, 3, 2]);
    let stripe = parity_on(&host, E);
    let course = write_on(&mut host, stripe, 2);
    assert_update(&mut host, course, &[], &["program host 2 = host 1", "program parity 4 = host 1"], &[], &[G, 2, 3, S]);
}

#[test]
fn an_update_beside_e_is_a_normal_one() {
    for (method, reads) in [(RMW, ["read pre_read 2", "read pre_read 1"]), (RCW, ["read pre_read 0", "read pre_read 3"])] {
        let mut host = filled(&[BALANCED, method]);
        let stripe = parity_on(&host, G);
        let course = write_on(&mut host, stripe, 2);
        let programs = ["program host 2 = host 1", "program parity 1 = host 1 ^ reads 01"];
        assert_update(&mut host, course, &reads, &programs, &[], &[E, 2, 3, G]);
        assert_eq!(host.replacing().migrated(), Default::default());
    }
}

#[test]
fn of_several_strips_that_of_e_goes_to_s_and_the_others_stay() {
    let mut host = filled(&[BALANCED, RCW]);
    let stripe = parity_on(&host, G);
    let course = update(&mut host, HostOp::Write, stripe, 0, 2, PAGE);
    let programs = ["program host 4 = host 0", "program host 2 = host 1", "program parity 1 = host 01 ^ reads 0"];
    assert_update(&mut host, course, &["read pre_read 3"], &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let stripe = parity_on(&host, 2);
    let course = update(&mut host, HostOp::Write, stripe, 0, 3, PAGE);
    let programs = ["program host 4 = host 0", "program host 1 = host 1", "program host 3 = host 2", "program parity 2 = host 012"];
    assert_update(&mut host, course, &[], &programs, &[unmap(E, stripe)], &[S, G, 3, 2]);
}

#[test]
fn a_part_of_a_strip_of_e_is_merged_with_what_e_holds() {
    let stripe_of = |host: &Host| parity_on(host, G);
    let mut host = filled(&[BALANCED, RMW]);
    let stripe = stripe_of(&host);
    let course = update(&mut host, HostOp::Write, stripe, 0, 1, 512);
    let programs = ["program host 4 = host 0", "program parity 1 = host 0 ^ reads 01"];
    let reads = ["read pre_read 0 for strip 0", "read pre_read 1"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let mut host = filled(&[BALANCED, RCW]);
    let course = update(&mut host, HostOp::Write, stripe, 0, 1, 512);
    let reads = ["read pre_read 2", "read pre_read 3", "read update_read 0 for strip 0"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
}

#[test]
fn a_trim_of_a_strip_of_e_programs_the_parity_alone() {
    let mut host = filled(&[BALANCED, RMW]);
    let stripe = parity_on(&host, G);
    let course = update(&mut host, HostOp::Trim, stripe, 0, 1, PAGE);
    let reads = ["read pre_read 0", "read pre_read 1"];
    assert_update(&mut host, course, &reads, &["program parity 1 = reads 01"], &[unmap(E, stripe)], &[S, 2, 3, G]);
    assert_eq!(host.replacing().migrated(), Default::default(), "nothing was programmed elsewhere");
    // Again: there is nothing to trim.
    let course = update(&mut host, HostOp::Trim, stripe, 0, 1, PAGE);
    assert_eq!(course.end, Step::Nothing);
}

#[test]
fn a_trim_of_a_whole_stripe_takes_e_out_of_it() {
    for parity in [G, E] {
        let mut host = filled(&[UNBALANCED]);
        let stripe = parity_on(&host, parity);
        let before = row(&host, stripe);
        let course = update(&mut host, HostOp::Trim, stripe, 0, 3, PAGE);
        assert_eq!((course.end, course.operation.method, course.operation.space), (Step::Done, Method::None, 0));
        assert_eq!(course.changes, before.iter().map(|member| unmap(*member, stripe)).collect::<Vec<_>>());
        assert!(!row(&host, stripe).contains(&E));
        assert_eq!(host.replacing().migrated(), Default::default());
        host.check();
    }
}

#[test]
fn a_trim_of_nothing_leaves_the_row_alone() {
    let mut host = empty("hotswap", &[UNBALANCED]);
    let stripe = parity_on(&host, E);
    update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
    let mut host = begin(host);
    for (stripe, first) in [(stripe, 1), (parity_on(&host, G), 0)] {
        let before = row(&host, stripe);
        assert_eq!(update(&mut host, HostOp::Trim, stripe, first, 1, PAGE).end, Step::Nothing);
        assert_eq!(row(&host, stripe), before);
    }
    host.check();
}

// ---- case B1 ----

#[test]
fn the_parity_of_a_partial_stripe_goes_where_the_limit_is_highest() {
    // Limits of SSDs 1, 2, 3 and S by age. A partial stripe leaves one of 1, 2, 3 out: that or S gets the parity.
    for (shares, rivals_of_s) in [
        ("80", vec![1, 2, 3]),
        ("10,30,20,40", vec![]),
        ("20,30,30,20", vec![1, 2, 3]),
        ("20,30,10,40", vec![]),
        ("25,25,25,25", vec![1, 2, 3]),
    ] {
        let array = || filled(&[("parity_shares", shares), ("partial_stripes", "1"), RMW]);
        let array_host = array();
        for stripe in (0..STRIPES).filter(|stripe| row(&array_host, *stripe)[2] == E) {
            let mut host = array();
            let before = row(&host, stripe);
            let free = (1..4).find(|member| !before.contains(member)).unwrap();
            let target = if rivals_of_s.contains(&free) { free } else { S };
            let course = update(&mut host, HostOp::Write, stripe, 0, 1, PAGE);
            let data = format!("program host {} = host 0", before[0]);
            let parity = format!("program parity {target} = host 0 ^ reads 01");
            let reads = [format!("read pre_read {}", before[0]), "read pre_read 0".into()];
            let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
            assert_update(&mut host, course, &reads, &[&data, &parity], &[unmap(E, stripe)], &[before[0], before[1], target]);
            // The same in idle time.
            let mut host = array();
            let course = &migrate(&mut host)[&stripe];
            let copy = format!("program migration {target}/{stripe} {PAGE} = reads 0");
            assert_eq!(migration_waves(course), [vec![format!("read migration 0/{stripe} {PAGE}")], vec![copy]]);
            assert_eq!(course.changes, [unmap(E, stripe)]);
            assert_eq!(row(&host, stripe), [before[0], before[1], target]);
            host.check();
        }
    }
}

// ---- case B2 ----

#[test]
fn once_g_has_its_share_the_parity_goes_to_the_ssd_of_the_data_or_to_s() {
    for (balanced, x, goes_to_x) in [
        ("by_need", 3, true),
        ("by_need", 2, false),
        ("data_device", 2, true),
        ("data_device", 3, true),
        ("parity_to_new", 3, false),
        ("parity_to_new", 2, false),
    ] {
        for method in [RMW, RCW] {
            let mut host = filled(&[BALANCED, ("balanced", balanced), method]);
            let stripe = parity_on(&host, E);
            let (strip, other) = (x - 1, if x == 3 { 2 } else { 3 });
            let course = write_on(&mut host, stripe, x);
            let reads = match method {
                RMW => [format!("read pre_read {x}"), "read pre_read 0".into()],
                _ => ["read pre_read 1".into(), format!("read pre_read {other}")],
            };
            let (data, parity) = if goes_to_x { (S, x) } else { (x, S) };
            let programs = [format!("program host {data} = host {strip}"), format!("program parity {parity} = host {strip} ^ reads 01")];
            let mut after = vec![G, 2, 3, parity];
            after[usize::from(strip)] = data;
            let [reads, programs] = [&reads, &programs].map(|wave| wave.iter().map(String::as_str).collect::<Vec<_>>());
            assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &after);
            let migrated = host.replacing().migrated();
            assert_eq!((migrated.hot_data, migrated.hot_parity, migrated.hot_moves), (u64::from(goes_to_x), 1, 0));
        }
    }
}

#[test]
fn of_several_strips_the_first_one_below_its_limit_goes_to_s() {
    for (balanced, programs, after) in [
        ("by_need", ["program host 2 = host 1", "program host 4 = host 2", "program parity 3 = host 12 ^ reads 0"], [G, 2, S, 3]),
        ("data_device", ["program host 4 = host 1", "program host 3 = host 2", "program parity 2 = host 12 ^ reads 0"], [G, S, 3, 2]),
        ("parity_to_new", ["program host 2 = host 1", "program host 3 = host 2", "program parity 4 = host 12 ^ reads 0"], [G, 2, 3, S]),
    ] {
        let mut host = filled(&[BALANCED, ("balanced", balanced), RCW]);
        let stripe = parity_on(&host, E);
        let course = update(&mut host, HostOp::Write, stripe, 1, 2, PAGE);
        assert_update(&mut host, course, &["read pre_read 1"], &programs, &[unmap(E, stripe)], &after);
    }
}

/// G has 20 % of ten parities and is to have 50 %, SSD 2 has its 20 %, SSD 3 has 10 % and is to have 20 %, S is to have 10 %. G gets two turns before S has
/// its one, as 3 : 1 and 3 / 3 : 1 are not below one, and 3 / 5 : 1 is; then the last one that it lacks. The fifth goes on by need.
#[test]
fn limits_are_met_exactly() {
    let mut host = filled(&[("parity_shares", "50,20,20,10")]);
    let stripes: Vec<u32> = (0..STRIPES).filter(|stripe| row(&host, *stripe)[3] == E).collect();
    assert_eq!(stripes.len(), 5);
    for (stripe, x) in stripes.iter().zip([2, 3, 2, 2, 3]) {
        write_on(&mut host, *stripe, x);
    }
    let parities: Vec<u16> = stripes.iter().map(|stripe| row(&host, *stripe)[3]).collect();
    assert_eq!(parities, [G, G, S, G, 3]);
    host.check();
    // An update of what is on G is none for it when it is S's turn; and where parity always goes to the SSD of the data nobody has turns.
    for (balanced, x, expected) in
        [("by_need", G, [G, G, S, G, S]), ("parity_to_new", 3, [G, G, S, G, S]), ("data_device", 3, [G, G, G, 3, 3])]
    {
        let mut host = filled(&[("parity_shares", "50,20,20,10"), ("balanced", balanced)]);
        stripes.iter().for_each(|stripe| drop(write_on(&mut host, *stripe, x)));
        let parities: Vec<u16> = stripes.iter().map(|stripe| row(&host, *stripe)[3]).collect();
        assert_eq!(parities, expected, "{balanced}");
    }
    // In idle time too, but that none goes to SSD 3.
    let mut host = filled(&[("parity_shares", "50,20,20,10")]);
    migrate(&mut host);
    let parities: Vec<u16> = stripes.iter().map(|stripe| row(&host, *stripe)[3]).collect();
    assert_eq!(parities, [G, G, S, G, G]);
}

#[test]
fn a_trimmed_strip_makes_room_for_the_parity() {
    let mut host = filled(&[BALANCED, RMW]);
    let stripe = parity_on(&host, E);
    let course = update(&mut host, HostOp::Trim, stripe, 2, 1, PAGE);
    let reads = ["read pre_read 3", "read pre_read 0"];
    assert_update(&mut host, course, &reads, &["program parity 3 = reads 01"], &[unmap(E, stripe)], &[G, 2, S, 3]);
    let migrated = host.replacing().migrated();
    assert_eq!((migrated.hot_data, migrated.hot_parity), (0, 1));
}

// ---- case B3 ----

#[test]
fn g_takes_the_parity_and_its_written_strip_goes_to_s() {
    for (method, reads) in [(RMW, ["read pre_read 1", "read pre_read 0"]), (RCW, ["read pre_read 2", "read pre_read 3"])] {
        let mut host = filled(&[UNBALANCED, method]);
        let stripe = parity_on(&host, E);
        let course = write_on(&mut host, stripe, G);
        let programs = ["program host 4 = host 0", "program parity 1 = host 0 ^ reads 01"];
        assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
        let migrated = host.replacing().migrated();
        assert_eq!((migrated.hot_data, migrated.hot_parity, migrated.hot_moves), (1, 1, 0));
    }
}

#[test]
fn g_takes_the_parity_and_its_other_strip_is_moved_to_s() {
    let mut host = filled(&[UNBALANCED, RMW]);
    let stripe = parity_on(&host, E);
    let course = write_on(&mut host, stripe, 2);
    let reads = ["read pre_read 2", "read pre_read 0", "read migration 1"];
    let programs = ["program host 2 = host 1", "program migration 4 = reads 2", "program parity 1 = host 1 ^ reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let migrated = host.replacing().migrated();
    assert_eq!((migrated.hot_data, migrated.hot_parity, migrated.hot_moves), (0, 1, 1));

    // The pre-read of the strip serves the move.
    let mut host = filled(&[UNBALANCED, RCW]);
    let course = write_on(&mut host, stripe, 3);
    let reads = ["read pre_read 1", "read pre_read 2"];
    let programs = ["program host 3 = host 2", "program migration 4 = reads 0", "program parity 1 = host 2 ^ reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
}

#[test]
fn of_several_strips_that_of_g_goes_to_s() {
    let mut host = filled(&[UNBALANCED, RCW]);
    let stripe = parity_on(&host, E);
    let course = update(&mut host, HostOp::Write, stripe, 0, 2, PAGE);
    let programs = ["program host 4 = host 0", "program host 2 = host 1", "program parity 1 = host 01 ^ reads 0"];
    assert_update(&mut host, course, &["read pre_read 3"], &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let mut host = filled(&[UNBALANCED, RCW]);
    let course = update(&mut host, HostOp::Write, stripe, 1, 2, PAGE);
    let programs =
        ["program host 2 = host 1", "program host 3 = host 2", "program migration 4 = reads 0", "program parity 1 = host 12 ^ reads 0"];
    assert_update(&mut host, course, &["read pre_read 1"], &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let mut host = filled(&[UNBALANCED]);
    let course = update(&mut host, HostOp::Write, stripe, 0, 3, PAGE);
    let programs = ["program host 4 = host 0", "program host 2 = host 1", "program host 3 = host 2", "program parity 1 = host 012"];
    assert_update(&mut host, course, &[], &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
}

#[test]
fn an_unwritten_strip_of_g_moves_with_the_row_alone() {
    let mut host = empty("hotswap", &[UNBALANCED, RMW]);
    let stripe = parity_on(&host, E);
    update(&mut host, HostOp::Write, stripe, 1, 2, PAGE);
    let mut host = begin(host);
    let course = write_on(&mut host, stripe, 2);
    let reads = ["read pre_read 2", "read pre_read 0"];
    let programs = ["program host 2 = host 1", "program parity 1 = host 1 ^ reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    assert_eq!(host.replacing().migrated().hot_moves, 0);
}

#[test]
fn a_part_of_a_page_is_merged_beside_a_move() {
    let mut host = filled(&[UNBALANCED, RMW]);
    let stripe = parity_on(&host, E);
    let course = update(&mut host, HostOp::Write, stripe, 1, 1, 512);
    let reads = ["read pre_read 2 for strip 1", "read pre_read 0", "read migration 1"];
    let programs = ["program host 2 = host 1", "program migration 4 = reads 2", "program parity 1 = host 1 ^ reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
    let mut host = filled(&[UNBALANCED, RCW]);
    let course = update(&mut host, HostOp::Write, stripe, 1, 1, 512);
    let reads = ["read pre_read 1", "read pre_read 3", "read update_read 2 for strip 1"];
    let programs = ["program host 2 = host 1", "program migration 4 = reads 0", "program parity 1 = host 1 ^ reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(E, stripe)], &[S, 2, 3, G]);
}

#[test]
fn a_trim_brings_the_parity_to_g() {
    let mut host = filled(&[UNBALANCED, RMW]);
    let stripe = parity_on(&host, E);
    let course = update(&mut host, HostOp::Trim, stripe, 0, 1, PAGE);
    let reads = ["read pre_read 1", "read pre_read 0"];
    assert_update(&mut host, course, &reads, &["program parity 1 = reads 01"], &[unmap(E, stripe)], &[S, 2, 3, G]);
    let mut host = filled(&[UNBALANCED, RMW]);
    let course = update(&mut host, HostOp::Trim, stripe, 1, 1, PAGE);
    let reads = ["read pre_read 2", "read pre_read 0", "read migration 1"];
    let programs = ["program migration 4 = reads 2", "program parity 1 = reads 01"];
    assert_update(&mut host, course, &reads, &programs, &[unmap(2, stripe), unmap(E, stripe)], &[S, 2, 3, G]);
}

#[test]
fn without_redistribution_s_inherits_the_parity() {
    for shares in [UNBALANCED, BALANCED] {
        let mut host = filled(&[shares, ("redistribute", "false"), RMW]);
        let stripe = parity_on(&host, E);
        let course = write_on(&mut host, stripe, 3);
        let programs = ["program host 3 = host 2", "program parity 4 = host 2 ^ reads 01"];
        assert_update(&mut host, course, &["read pre_read 3", "read pre_read 0"], &programs, &[unmap(E, stripe)], &[G, 2, 3, S]);
        migrate(&mut host);
        assert!((0..STRIPES).all(|stripe| !row(&host, stripe).contains(&E)));
    }
}

// ---- copies in idle time ----

#[test]
fn data_is_copied_to_s() {
    let mut host = filled(&[BALANCED]);
    let stripe = parity_on(&host, G);
    let course = &migrate(&mut host)[&stripe];
    let [read, copy] = [format!("read migration 0/{stripe} {PAGE}"), format!("program migration 4/{stripe} {PAGE} = reads 0")];
    assert_eq!(migration_waves(course), [[read], [copy]]);
    assert_eq!((course.changes.as_slice(), row(&host, stripe)), ([unmap(E, stripe)].as_slice(), vec![S, 2, 3, G]));
    host.check();
}

/// Two parities are on E. S is to have 20 %, two of ten; and none.
#[test]
fn parity_is_copied_to_s_up_to_its_limit_and_then_to_g() {
    for (shares, is_below_limit) in [("20,20,40,20", [true, true]), ("20,20,60,0", [false, false]), ("20,30,40,10", [false, false])] {
        let mut host = filled(&[("parity_shares", shares)]);
        let stripes: Vec<u32> = (0..STRIPES).filter(|stripe| row(&host, *stripe)[3] == E).collect();
        assert_eq!(stripes.len(), 2);
        let is_below_limit = if shares == "20,30,40,10" { [true, false] } else { is_below_limit };
        let courses = migrate(&mut host);
        for (stripe, goes_to_new) in stripes.into_iter().zip(is_below_limit) {
            let course = &courses[&stripe];
            let page = |word: &str, member: u16| format!("{word} migration {member}/{stripe} {PAGE}");
            let (expected, after) = match goes_to_new {
                true => ([vec![page("read", E)], vec![page("program", S) + " = reads 0"]], [G, 2, 3, S]),
                false => (
                    [vec![page("read", G), page("read", E)], vec![page("program", S) + " = reads 0", page("program", G) + " = reads 1"]],
                    [S, 2, 3, G],
                ),
            };
            assert_eq!(migration_waves(course), expected, "{shares}");
            assert_eq!((course.changes.as_slice(), row(&host, stripe)), ([unmap(E, stripe)].as_slice(), after.to_vec()));
        }
        host.check();
        assert_eq!(host.replacing().migrated().cold_parity, 2);
    }
}

#[test]
fn unbalanced_parity_is_copied_to_g() {
    let mut host = filled(&[("parity_shares", "80,10,10")]);
    let stripes: Vec<u32> = (0..STRIPES).filter(|stripe| row(&host, *stripe)[3] == E).collect();
    let courses = migrate(&mut host);
    assert_eq!(courses.len() as u32, STRIPES, "each stripe has a strip on E");
    for stripe in &stripes {
        let programs: Vec<String> = migration_waves(&courses[stripe]).remove(1);
        let expected = [(S, 0), (G, 1)].map(|(member, read)| format!("program migration {member}/{stripe} {PAGE} = reads {read}"));
        assert_eq!((programs.as_slice(), row(&host, *stripe)), (expected.as_slice(), vec![S, 2, 3, G]));
    }
    let migrated = host.replacing().migrated();
    let parities = stripes.len() as u64;
    assert_eq!((migrated.cold_parity, migrated.cold_moves, migrated.cold_data), (parities, parities, u64::from(STRIPES) - parities));
    assert_eq!(host.orders.last(), Some(&Order::End { old: MemberId(E), new: MemberId(S), stays: false }));
    host.check();
}

#[test]
fn where_nothing_is_written_the_row_changes_alone() {
    let mut host = emptied("hotswap", &[UNBALANCED]);
    let busy = parity_on(&host, G);
    update(&mut host, HostOp::Write, busy, 1, 2, PAGE);
    let mut host = begin(host);
    // The host is at work on all SSDs: which holds up nothing.
    host.flash.last_host_ns = (0..5).map(|member| (MemberId(member), host.flash.now_ns)).collect();
    let courses = migrate(&mut host);
    assert_eq!(courses.len() as u32, STRIPES);
    for (stripe, course) in &courses {
        assert_eq!((course.end, course.waves.len(), course.changes.len()), (Step::Done, 0, 0));
        assert!(!row(&host, *stripe).contains(&E));
    }
    assert_eq!(host.replacing().migrated(), Default::default());
    assert!(matches!(host.orders.last(), Some(Order::End { .. })));
    host.check();
}

#[test]
fn stripes_that_were_never_written_have_nothing_to_move() {
    let mut host = empty("hotswap", &[UNBALANCED]);
    host.fill(4);
    let mut host = begin(host);
    assert_eq!(migrate(&mut host).into_keys().collect::<Vec<_>>(), [0, 1]);
    assert!(matches!(host.orders.last(), Some(Order::End { .. })));
    host.check();
}
