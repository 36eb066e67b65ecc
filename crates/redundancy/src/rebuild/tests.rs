//! Orders and the walk, on a scheme that is nothing but the damage of its stripes.

use super::*;
use crate::{Addressing, Decisions, Extent, Lost, OperationKind, ParityUpdates, Protects, Recovery, SCHEMES, Source, find};
use flashraid_vocabulary::{Cause, GcAdvisor, LoadView, LocalPage, Lpn, MemberPage, PageOperation, ReadLoad, Sources, SsdView, Version};
use std::collections::BTreeSet;
use std::ops::Range;

/// Damage by stripe. Everything goes to member 0, but what goes to member 1.
#[derive(Clone, Default)]
struct Damaged {
    damage: Vec<Damage>,
    on_member_1: BTreeSet<u32>,
}

flashraid_vocabulary::persistent!(Damaged { anew [damage, on_member_1], });

impl Damaged {
    fn new(damage: &[(u32, Damage)]) -> Self {
        let mut stripes = vec![Damage::None; 10];
        damage.iter().for_each(|(stripe, damage)| stripes[*stripe as usize] = *damage);
        Self { damage: stripes, on_member_1: BTreeSet::new() }
    }

    fn member(&self, stripe: StripeId) -> u16 {
        u16::from(self.on_member_1.contains(&stripe.0))
    }
}

impl GcAdvisor for Damaged {}

impl Addressing for Damaged {
    fn user_pages(&self) -> u64 {
        10
    }
    fn width(&self) -> u32 {
        1
    }
    fn fill(&self, _: u64) -> Option<Operation> {
        None
    }
    fn locate(&self, lpn: Lpn) -> MemberPage {
        MemberPage { member: MemberId(0), page: LocalPage(lpn.0 as u32) }
    }
    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        StripeId(lpn.0 as u32)
    }
    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        MemberPage { member, page: LocalPage(stripe.0) }
    }
    fn stripe_at(&self, page: MemberPage) -> StripeId {
        StripeId(page.page.0)
    }
    fn row_pages(&self) -> Option<u32> {
        Some(1)
    }
    fn first_stripe_at(&self, page: LocalPage) -> Option<StripeId> {
        Some(StripeId(page.0))
    }
    fn redundancy_of(&self, _: Lpn, _: &mut Vec<MemberPage>) {}
    fn stripes(&self) -> u32 {
        10
    }
}

impl Scheme for Damaged {
    fn decide(&mut self, _: &Extent, _: &dyn View, _: &mut Decisions) -> u64 {
        1
    }
    fn step(&mut self, operation: &mut Operation, _: Outcomes, _: &dyn View, wave: &mut Wave) -> Step {
        let address = MemberPage { member: MemberId(0), page: LocalPage(operation.stripe.0) };
        wave.operations.push(crate::parts::pages::read(address, Cause::Rebuild, 4096, PageOperation::NO_STRIP));
        if operation.step == 0 {
            operation.step = 1;
            return Step::Wave;
        }
        wave.operations.push(crate::parts::pages::program(address, Cause::Rebuild, 4096, Sources::default()));
        Step::Last
    }
    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates::default()
    }
}

impl Recovery for Damaged {
    fn protects(&self) -> Protects {
        Protects::Chip
    }
    fn recover(&self, _: Lpn, _: &Lost, _: &mut Vec<Source>) -> bool {
        false
    }
    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        match self.damage[stripe.0 as usize] {
            Damage::None => Damage::None,
            _ if !view.can_allocate(MemberPage::new(self.member(stripe), stripe.0)) => Damage::NoSpace,
            damage => damage,
        }
    }
    fn repair(&self, stripe: StripeId, _: &dyn View) -> Operation {
        Operation::background(OperationKind::Repair, stripe, Lpn(0), 1 << self.member(stripe))
    }
}

/// Free pages of two members, and from which page on nothing is written up to which other one.
struct Room([u32; 2], Range<u32>);

impl View for Room {
    fn now_ns(&self) -> u64 {
        0
    }

    fn is_written(&self, _: MemberPage, _: Version) -> bool {
        true
    }

    fn next_written(&self, page: LocalPage) -> Option<LocalPage> {
        let next = if self.1.contains(&page.0) { self.1.end } else { page.0 };
        (next < 10).then_some(LocalPage(next))
    }

    fn has_failures(&self) -> bool {
        true
    }

    fn is_lost(&self, _: MemberPage, _: Version) -> bool {
        false
    }

    fn can_allocate(&self, MemberPage { member, .. }: MemberPage) -> bool {
        self.0[usize::from(member.0)] > 0
    }

    fn space_of(&self, address: MemberPage) -> u32 {
        address.member.0.into()
    }

    fn has_mirror(&self, _: MemberId) -> bool {
        false
    }

    fn pages_gone(&self, _: MemberId) -> u32 {
        0
    }

    fn takes_copy(&self, _: MemberId) -> bool {
        false
    }

    fn bases(&self, _: MemberId) -> u32 {
        0
    }

    fn copies(&self, _: MemberId) -> u32 {
        0
    }
}

impl LoadView for Room {
    fn queued(&self, _: MemberId) -> (u32, u32) {
        (0, 0)
    }

    fn load_at(&self, _: MemberPage, _: Version) -> u32 {
        0
    }

    fn busy_ns_at(&self, _: MemberPage, _: Version) -> u64 {
        0
    }

    fn channel_load_at(&self, _: MemberPage) -> u32 {
        0
    }

    fn read_load(&self, _: MemberPage, _: Version) -> Option<ReadLoad> {
        None
    }

    fn is_idle(&self, _: MemberId) -> bool {
        true
    }
}

impl SsdView for Room {}

/// A rebuild, the device on which it runs, and what it has started in order.
struct Run {
    rebuild: Rebuild,
    scheme: Damaged,
    room: Room,
    under_way: VecDeque<Operation>,
    started: Vec<u32>,
}

impl Run {
    fn new(order: &str, window: u32, scheme: Damaged) -> Self {
        let rebuild = Rebuild::new(find_order(order).unwrap(), window, 10);
        let mut run = Self { rebuild, scheme, room: Room([100, 100], 0..0), under_way: VecDeque::new(), started: Vec::new() };
        assert!(run.rebuild.is_done() && run.offer().is_empty(), "nothing has failed yet");
        run.rebuild.failed();
        assert!(!run.rebuild.is_done());
        run
    }

    /// Starts all that can start; returns which stripes these are.
    fn offer(&mut self) -> Vec<u32> {
        let first = self.started.len();
        while let Some(operation) = self.rebuild.next(&self.scheme, &self.room) {
            assert_eq!(operation.kind, OperationKind::Repair);
            self.room.0[operation.space.trailing_zeros() as usize] -= 1;
            self.started.push(operation.stripe.0);
            self.under_way.push_back(operation);
        }
        self.started[first..].to_vec()
    }

    /// The oldest repair ends and has repaired its stripe.
    fn end_one(&mut self) {
        let operation = self.under_way.pop_front().unwrap();
        self.scheme.damage[operation.stripe.0 as usize] = Damage::None;
        self.rebuild.ended(&operation, 1);
    }

    /// Until nothing starts and nothing is in flight.
    fn finish(&mut self) -> Vec<u32> {
        loop {
            self.offer();
            if self.under_way.is_empty() {
                return std::mem::take(&mut self.started);
            }
            self.end_one();
        }
    }
}

use Damage::{Compute, Copy};

#[test]
fn damaged_stripes_are_repaired_in_order_as_many_at_once_as_the_window_holds() {
    let mut run = Run::new("dor", 2, Damaged::new(&[(7, Compute), (2, Copy), (3, Compute), (9, Compute)]));
    assert_eq!(run.offer(), [2, 3]);
    run.end_one();
    assert_eq!(run.offer(), [7]);
    assert!(run.offer().is_empty());
    // A stripe that somebody else repaired meanwhile is passed over.
    run.scheme.damage[9] = Damage::None;
    assert_eq!(run.finish(), [2, 3, 7]);
    assert!(run.rebuild.is_done() && !run.rebuild.waits_for_slot());
    // Nothing more until the next failure.
    run.scheme.damage[1] = Compute;
    assert!(run.finish().is_empty());
    run.rebuild.failed();
    assert_eq!(run.finish(), [1]);
}

#[test]
fn what_is_not_written_is_not_looked_at() {
    let damage: Vec<_> = (0..10).map(|stripe| (stripe, Compute)).collect();
    for (unwritten, expected) in [(0..7, vec![7, 8, 9]), (2..9, vec![0, 1, 9]), (4..10, vec![0, 1, 2, 3]), (0..10, vec![])] {
        let mut run = Run::new("sor", 4, Damaged::new(&damage));
        run.room.1 = unwritten;
        assert_eq!(run.finish(), expected);
        assert!(run.rebuild.is_done() && run.rebuild.progress() == 1.0);
    }
}

#[test]
fn it_is_done_when_a_round_has_found_nothing_and_nothing_is_under_way() {
    let mut run = Run::new("sor", 4, Damaged::new(&[(2, Compute), (8, Compute)]));
    assert_eq!(run.offer(), [2, 8]);
    assert!(!run.rebuild.is_done());
    run.end_one();
    run.offer();
    assert!(!run.rebuild.is_done(), "stripe 8 is under way");
    // An operation that was planned before the failure leaves damage behind the walk.
    run.scheme.damage[0] = Compute;
    run.end_one();
    assert_eq!(run.offer(), [0]);
    run.end_one();
    assert!(!run.rebuild.is_done());
    assert!(run.offer().is_empty() && run.rebuild.is_done());
}

#[test]
fn a_repair_that_changes_nothing_is_tried_again() {
    let mut run = Run::new("sor", 4, Damaged::new(&[(2, Compute)]));
    assert_eq!(run.offer(), [2]);
    let operation = run.under_way.pop_front().unwrap();
    run.rebuild.ended(&operation, 0);
    assert!(!run.rebuild.is_done());
    assert_eq!(run.finish(), [2, 2]);
}

#[test]
fn mcr_copies_in_its_second_round() {
    let damage = [(1, Copy), (2, Compute), (4, Copy), (6, Compute)];
    let mut run = Run::new("mcr", 8, Damaged::new(&damage));
    assert_eq!(run.offer(), [2, 6]);
    run.end_one();
    assert!(run.offer().is_empty(), "the first round ends with its last repair");
    run.end_one();
    assert_eq!(run.offer(), [1, 4]);
    assert_eq!(run.finish(), [2, 6, 1, 4]);
    for order in ["dor", "sor"] {
        assert_eq!(Run::new(order, 8, Damaged::new(&damage)).finish(), [1, 2, 4, 6], "{order}: one pass in stripe order");
    }
}

#[test]
fn a_round_for_copies_follows_one_that_has_repaired_nothing() {
    let mut run = Run::new("mcr", 8, Damaged::new(&[(1, Copy), (4, Copy)]));
    assert_eq!(run.offer(), [1, 4]);
    assert_eq!(run.finish(), [1, 4]);
    assert!(run.rebuild.is_done() && !run.rebuild.walks());
}

/// Stripe 1 waits for space on member 0. When there is some, the round that repairs it and stripe 5 passes over stripe 3, for which member 1 has none: the
/// next rounds wait for either.
#[test]
fn a_further_round_waits_for_all_places_that_were_full() {
    let mut scheme = Damaged::new(&[(1, Compute)]);
    scheme.on_member_1 = [3].into();
    let mut run = Run::new("dor", 8, scheme);
    run.room.0 = [0, 9];
    assert!(run.finish().is_empty() && run.rebuild.waits_for_slot());
    for stripe in [3, 5, 7] {
        run.scheme.damage[stripe] = Compute;
    }
    run.room.0 = [2, 0];
    assert_eq!(run.offer(), [1, 5]);
    run.end_one();
    run.end_one();
    assert!(run.offer().is_empty() && run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.room.0 = [0, 1];
    assert_eq!(run.finish(), [1, 5, 3]);
    assert!(run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.room.0 = [1, 0];
    assert_eq!(run.finish(), [7]);
    // Whether that was all is known when there is space again.
    run.room.0 = [9, 9];
    assert!(run.finish().is_empty() && run.rebuild.is_done() && !run.rebuild.waits_for_slot());
}

/// A repair of an earlier failure is under way when a later one takes more of its stripe: the walk passes it, and comes again.
#[test]
fn what_was_passed_under_repair_is_looked_at_in_a_further_round() {
    let mut run = Run::new("sor", 8, Damaged::new(&[(2, Compute)]));
    assert_eq!(run.offer(), [2]);
    run.rebuild.failed();
    assert!(run.offer().is_empty() && !run.rebuild.is_done());
    let operation = run.under_way.pop_front().unwrap();
    run.rebuild.ended(&operation, 1);
    assert_eq!(run.offer(), [2]);
    run.end_one();
    assert!(run.offer().is_empty() && run.rebuild.is_done());
}

#[test]
fn a_failure_starts_a_new_round_and_leaves_repairs_under_way_alone() {
    let mut run = Run::new("dor", 8, Damaged::new(&[(2, Compute), (5, Compute)]));
    assert_eq!(run.offer(), [2, 5]);
    run.end_one();
    run.scheme.damage[1] = Compute;
    run.scheme.damage[5] = Compute;
    run.rebuild.failed();
    assert_eq!(run.offer(), [1], "stripe 5 is under way");
    run.end_one();
    // The repair of stripe 5 found what the second failure took, too; that of stripe 1 did so a round later.
    run.end_one();
    run.scheme.damage[5] = Compute;
    assert_eq!(run.finish(), [2, 5, 1, 5]);
}

#[test]
fn wanted_stripes_come_first() {
    let mut run = Run::new("dor", 1, Damaged::new(&[(2, Compute), (5, Compute), (8, Compute)]));
    assert_eq!(run.offer(), [2]);
    for stripe in [8, 2, 3, 8] {
        run.rebuild.wanted(StripeId(stripe));
    }
    assert_eq!(run.finish(), [2, 8, 5]);
    run.scheme.damage[8] = Compute;
    run.rebuild.wanted(StripeId(8));
    assert!(run.finish().is_empty(), "no rebuild runs");
}

/// One that no failure has started.
fn at_rest(scheme: Damaged) -> Run {
    let rebuild = Rebuild::new(find_order("mcr").unwrap(), 2, 10);
    Run { rebuild, scheme, room: Room([100, 100], 0..0), under_way: VecDeque::new(), started: Vec::new() }
}

#[test]
fn what_is_found_to_be_lost_is_repaired_and_nothing_else_is_looked_at() {
    let mut run = at_rest(Damaged::new(&[(2, Compute), (5, Copy), (8, Compute)]));
    run.rebuild.found(StripeId(8));
    assert!(!run.rebuild.walks() && !run.rebuild.is_done());
    assert_eq!(run.offer(), [8]);
    // What is lost of it meanwhile is repaired afterwards, and copies are not left for a second round.
    run.rebuild.found(StripeId(8));
    run.rebuild.found(StripeId(5));
    assert_eq!(run.offer(), [5]);
    let operation = run.under_way.pop_front().unwrap();
    run.rebuild.ended(&operation, 1);
    assert_eq!(run.finish(), [8, 5, 8]);
    assert!(run.rebuild.is_done() && run.scheme.damage[2] == Compute);
}

#[test]
fn what_is_found_during_a_rebuild_comes_first_and_the_rebuild_goes_on() {
    let mut run = Run::new("dor", 1, Damaged::new(&[(2, Compute), (5, Compute), (8, Compute)]));
    assert_eq!(run.offer(), [2]);
    run.rebuild.found(StripeId(8));
    assert!(run.rebuild.walks());
    assert_eq!(run.finish(), [2, 8, 5]);
    assert!(run.rebuild.is_done() && !run.rebuild.walks());
}

#[test]
fn what_is_found_and_has_no_room_makes_it_walk_when_there_is_some() {
    let mut run = at_rest(Damaged::new(&[(8, Compute)]));
    run.room.0 = [0, 0];
    run.rebuild.found(StripeId(8));
    assert!(run.offer().is_empty());
    assert!(run.rebuild.waits_for_slot() && run.rebuild.walks() && run.rebuild.is_done());
    run.room.0 = [5, 5];
    assert_eq!(run.finish(), [8]);
    assert!(run.rebuild.is_done() && !run.rebuild.waits_for_slot());
}

#[test]
fn what_finds_no_room_waits_for_it_and_holds_up_nothing_else() {
    let mut scheme = Damaged::new(&[(1, Compute), (3, Compute), (4, Copy), (6, Compute), (7, Copy)]);
    scheme.on_member_1 = [3, 7].into();
    let mut run = Run::new("mcr", 8, scheme);
    run.room.0 = [1, 100];
    assert_eq!(run.finish(), [1, 3, 7]);
    assert!(run.rebuild.is_done() && run.rebuild.waits_for_slot());
    // The other member is no reason to go on.
    run.room.0 = [0, 50];
    assert!(run.offer().is_empty());
    // Each page of room lets one repair start, the next in order.
    for expected in [4, 6] {
        run.room.0[0] += 1;
        assert_eq!(run.offer(), [expected]);
        assert!(!run.rebuild.is_done());
        run.end_one();
    }
    // Stripes 4 and 6 were all; it is noticed as soon as there is space again.
    assert!(run.offer().is_empty() && run.rebuild.waits_for_slot());
    run.room.0[0] += 1;
    assert!(run.offer().is_empty() && run.rebuild.is_done() && !run.rebuild.waits_for_slot());
}

#[test]
fn what_waits_for_room_and_is_repaired_by_others_is_forgotten() {
    let mut run = Run::new("dor", 8, Damaged::new(&[(1, Compute)]));
    run.room.0 = [0, 0];
    assert!(run.finish().is_empty() && run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.scheme.damage[1] = Damage::None;
    run.room.0 = [1, 0];
    assert!(run.finish().is_empty() && run.rebuild.is_done() && !run.rebuild.waits_for_slot());
}

/// What waits for space holds up nothing that fails later and has space.
#[test]
fn a_later_failure_is_repaired_while_others_wait_for_room() {
    let mut scheme = Damaged::new(&[(1, Compute)]);
    scheme.on_member_1 = [5].into();
    let mut run = Run::new("dor", 8, scheme);
    run.room.0 = [0, 9];
    assert!(run.finish().is_empty() && run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.scheme.damage[5] = Compute;
    run.rebuild.failed();
    assert_eq!(run.finish(), [5]);
    assert!(run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.room.0 = [1, 9];
    assert_eq!(run.finish(), [1]);
}

#[test]
fn pages_without_a_place_are_repaired_when_there_is_room() {
    let mut run = Run::new("dor", 8, Damaged::new(&[(5, Compute)]));
    assert_eq!(run.finish(), [5]);
    run.room.0 = [0, 9];
    run.scheme.damage[3] = Compute;
    run.rebuild.unallocated(MemberPage::new(0, 0), &run.room);
    assert!(run.offer().is_empty() && run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.room.0 = [1, 9];
    assert_eq!(run.finish(), [3]);
    // The same while a rebuild runs and has passed the stripe already.
    run.room.0 = [9, 9];
    run.scheme.damage[7] = Compute;
    run.rebuild.failed();
    assert_eq!(run.offer(), [7]);
    run.room.0 = [0, 9];
    run.scheme.damage[2] = Compute;
    run.rebuild.unallocated(MemberPage::new(0, 0), &run.room);
    assert_eq!(run.finish(), [7]);
    assert!(run.rebuild.waits_for_slot());
    run.room.0 = [1, 9];
    assert_eq!(run.finish(), [2]);
}

/// Also where there is space again when the page is known to be lost.
#[test]
fn a_page_without_a_place_is_repaired_while_others_wait_for_room() {
    let mut run = Run::new("dor", 8, Damaged::new(&[(1, Compute)]));
    run.scheme.on_member_1.insert(4);
    run.room.0 = [0, 9];
    assert!(run.finish().is_empty() && run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.scheme.damage[4] = Compute;
    run.rebuild.unallocated(MemberPage::new(1, 4), &run.room);
    assert_eq!(run.finish(), [4]);
    assert!(run.rebuild.is_done() && run.rebuild.waits_for_slot());
    run.room.0 = [1, 9];
    assert_eq!(run.finish(), [1]);
}

#[test]
fn progress_counts_the_rounds_of_the_order() {
    let mut run = Run::new("dor", 1, Damaged::new(&[(4, Compute), (9, Compute)]));
    let progress = |run: &mut Run| (run.offer(), run.rebuild.progress()).1;
    assert_eq!(progress(&mut run), 0.5);
    run.end_one();
    assert_eq!(progress(&mut run), 1.0);
    run.end_one();
    assert_eq!(progress(&mut run), 1.0);
    let mut run = Run::new("mcr", 1, Damaged::new(&[(4, Compute), (7, Copy)]));
    assert_eq!(progress(&mut run), 0.25);
    run.end_one();
    assert_eq!(progress(&mut run), 0.9);
    run.rebuild.failed();
    assert_eq!(progress(&mut run), 0.0);
}

#[test]
fn an_order_sets_priority_and_pace() {
    for (name, priority, paced) in [
        ("sor", Priority::Rebuild, false),
        ("dor", Priority::Host, true),
        ("mcr", Priority::Host, true),
        ("copy", Priority::Rebuild, false),
    ] {
        let mut run = Run::new(name, 1, Damaged::new(&[(4, Compute)]));
        run.offer();
        let (mut operation, mut wave) = (run.under_way[0], Wave::default());
        for (step, has_program) in [(Step::Wave, false), (Step::Last, true)] {
            wave.clear();
            assert_eq!(run.rebuild.step(&mut run.scheme, &mut operation, Outcomes::default(), &run.room, &mut wave), step);
            assert!(wave.operations.iter().all(|done| done.priority == priority && !done.host_waits), "{name}");
            assert_eq!(wave.paced, paced && !has_program, "{name}: only reads are paced");
        }
    }
}

#[test]
fn orders_suit_schemes_that_have_what_they_need() {
    let suited = |scheme: &str| -> Vec<&str> {
        let entry = find(scheme).unwrap();
        ORDERS.iter().filter(|order| (order.suits)(entry).is_ok()).map(|order| order.name).collect()
    };
    assert!(suited("raid0").is_empty());
    assert_eq!(suited("raid1"), ["sor", "dor", "copy"]);
    assert_eq!(suited("sirf1"), ["sor", "dor", "copy"]);
    assert_eq!(suited("raid4"), ["sor", "dor"]);
    assert_eq!(suited("raid5"), ["sor", "dor"]);
    assert_eq!(suited("cr5m"), ["sor", "dor", "mcr"]);
    for entry in SCHEMES {
        match default_order(entry) {
            Some(order) => assert_eq!((order.suits)(entry), Ok(()), "{}", entry.name),
            None => assert_eq!(entry.name, "raid0"),
        }
    }
    let defaults = ["raid1", "raid5", "cr5m"].map(|scheme| default_order(find(scheme).unwrap()).unwrap().name);
    assert_eq!(defaults, ["copy", "dor", "mcr"]);
    let refusal = (find_order("copy").unwrap().suits)(find("raid5").unwrap());
    assert_eq!(refusal, Err("raid5 has parity, so a lost page must be computed from several strips".into()));
    assert!(find_order("raid").is_none());
}
