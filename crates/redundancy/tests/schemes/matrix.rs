//! What must hold of every scheme, by its entry alone: of each scheme of the registry, and of the worked example of docs/writing-a-scheme.md.
//!
//! A failing case is shrunk and printed with the scheme's name, its members, its parameters and what was asked of it.

use crate::content::{Request, STRIPES, request, submit};
use crate::flash::PAGE;
use crate::host::{Host, build};
use flashraid_redundancy::testing::chained;
use flashraid_redundancy::{Build, Damage, Entry, Members, SCHEMES};
use flashraid_vocabulary::{HostOp, Lpn, MemberId, MemberPage, SemivalidAction, StripeId, Version, View};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{TestCaseError, TestRunner};

/// Every scheme, and the worked example.
fn entries() -> impl Iterator<Item = &'static Entry> {
    SCHEMES.iter().chain([&chained::ENTRY])
}

/// A scheme on some members, with some parameters.
#[derive(Clone, Debug)]
struct Case {
    members: u16,
    parameters: Vec<(&'static str, String)>,
    filled: bool,
}

impl Case {
    fn build(&self, pages_per_member: u32) -> Build {
        let parameters: Vec<_> = self.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        build(self.members, pages_per_member, &parameters)
    }

    fn host(&self, entry: &Entry, pages_per_member: u32) -> Host {
        let host = Host::new(entry.build(&self.build(pages_per_member)).unwrap_or_else(|error| panic!("{self:?}: {error}")));
        if self.filled { host.filled() } else { host }
    }
}

/// Members beyond the fewest that the scheme works on.
const MORE_MEMBERS: u16 = 6;

/// Devices of the fewest members that the scheme works on, or somewhat more. Parameters have values that torture draws too.
fn cases(entry: &'static Entry) -> impl Strategy<Value = Case> {
    let indices = prop::collection::vec(any::<Index>(), entry.parameters().count());
    (any::<Index>(), indices, any::<bool>()).prop_map(|(size, indices, filled)| {
        let parameters: Vec<_> =
            entry.parameters().zip(indices).map(|(each, index)| (each.name, index.get(&each.drawn(PAGE)).clone())).collect();
        let groups = entry.mirror_groups.map_or(1, |groups| {
            let (_, value) = parameters.iter().find(|(name, _)| *name == groups.name).expect("its own parameter");
            value.parse().expect("a number")
        });
        let legal: Vec<u16> = entry.members.legal(groups).collect();
        let few = legal.partition_point(|members| *members <= legal[0] + MORE_MEMBERS);
        Case { members: *size.get(&legal[..few]), parameters, filled }
    })
}

/// Runs so many cases of a scheme.
fn for_cases<T: std::fmt::Debug>(
    entry: &Entry,
    count: u32,
    strategy: impl Strategy<Value = T>,
    check: impl Fn(T) -> Result<(), TestCaseError>,
) {
    let rules = ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(rules).run(&strategy, check).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
}

// ---- what the entry says ----

#[test]
fn what_an_entry_says_of_the_scheme_is_so() {
    for entry in entries() {
        let name = entry.name;
        for_cases(entry, 50, cases(entry), |case| {
            let build = case.build(STRIPES);
            let scheme = entry.build(&build).unwrap();
            let groups = entry.groups(&build).unwrap();
            // sirf1 with one group protects nothing.
            prop_assert!(scheme.protects() == entry.protects || groups == Some(1), "{} protects otherwise", name);
            prop_assert_eq!(scheme.has_window(), entry.has_window);
            if let Some(groups) = groups {
                let members = u32::from(case.members) / groups;
                for lpn in (0..scheme.user_pages()).map(Lpn) {
                    let mut copies = vec![scheme.locate(lpn)];
                    scheme.redundancy_of(lpn, &mut copies);
                    let of_groups: Vec<_> = copies.iter().map(|copy| u32::from(copy.member.0) / members).collect();
                    prop_assert_eq!(of_groups, (0..groups).collect::<Vec<_>>(), "the groups that hold a copy of a page");
                }
            }
            let claims = entry.claims.is_some_and(|choice| build.choice(choice.parameter).unwrap() == choice.word);
            let deferring = scheme.deferring();
            prop_assert_eq!(deferring.is_some_and(|deferring| deferring.claims()), claims);
            let guard = deferring.and_then(|deferring| deferring.guard());
            prop_assert_eq!(guard.is_some(), entry.parity_cache.is_some() || entry.has_window);
            if let Some(action) = entry.action_on_bases(|choice| build.choice(choice.parameter).unwrap() == choice.word) {
                let moves_bases = deferring.is_none_or(|deferring| deferring.moves_bases());
                prop_assert_eq!(moves_bases, action == SemivalidAction::Move);
            }
            prop_assert_eq!(scheme.replacing().is_some(), entry.replaces_devices);
            Ok(())
        });
        let Members { least, most, multiple_of } = entry.members;
        let refused = |members| entry.build(&build(members, STRIPES, &[])).map(|_| ()).expect_err("a refusal").to_string();
        let unit = if least == 1 { "member" } else { "members" };
        assert_eq!(refused(least - 1), format!("{name} needs at least {least} {unit}; the device has {}", least - 1));
        assert_eq!(refused(most + 1), format!("{name} supports at most {most} members; the device has {}", most + 1));
        if multiple_of > 1 {
            let odd = least.next_multiple_of(multiple_of) + 1;
            assert!(refused(odd).contains(&format!("; the device has {odd}")), "{name}");
        }
    }
}

/// Which versions there ever are, and whether writes complete early, over many requests.
#[test]
fn an_entry_states_what_the_scheme_keeps() {
    for entry in entries() {
        let seen = std::cell::Cell::new([false; 4]);
        for_cases(entry, 50, (cases(entry), prop::collection::vec(request(), 20..40)), |(case, requests)| {
            let mut host = case.host(entry, STRIPES);
            let build = case.build(STRIPES);
            for request in &requests {
                let posted = submit(&mut host, request).iter().any(|course| course.operation.posted_programs > 0);
                let is_early = entry.completes_early.is_some_and(|choice| build.choice(choice.parameter).unwrap() == choice.word);
                prop_assert!(is_early || !posted, "it completes writes early");
                let [base, copy, deferred, early] = seen.get();
                let has = |version| host.flash.held(version) > 0;
                if let Some(action) = entry.action_on_bases(|choice| build.choice(choice.parameter).unwrap() == choice.word) {
                    for address in host.flash.holding(Version::Base) {
                        prop_assert_eq!(host.scheme.rule(address), action, "GC of the base of {:?}", address);
                    }
                }
                seen.set([
                    base || has(Version::Base),
                    copy || has(Version::Copy),
                    deferred || has(Version::DeferredParity),
                    early || posted,
                ]);
            }
            Ok(())
        });
        let stated = [entry.bases.is_some(), entry.mirror_chips > 0, entry.parity_cache.is_some(), entry.completes_early.is_some()];
        assert_eq!(seen.get(), stated, "{}: [bases, copies on mirror chips, deferred parities, early completions]", entry.name);
    }
}

// ---- what is stored ----

/// Repairs find the stripe of a page that is lost, whatever it holds.
#[test]
fn a_page_tells_its_stripe() {
    for entry in entries() {
        for_cases(entry, 40, cases(entry), |case| {
            let scheme = entry.build(&case.build(40)).expect("a legal case");
            let mut pages = Vec::new();
            for lpn in (0..scheme.user_pages()).map(Lpn) {
                pages.clear();
                pages.push(scheme.locate(lpn));
                scheme.redundancy_of(lpn, &mut pages);
                let stripe = scheme.stripe_of(lpn);
                for page in &pages {
                    prop_assert_eq!(scheme.stripe_at(*page), stripe, "{:?} of {:?}", page, lpn);
                    prop_assert_eq!(scheme.page_on(stripe, page.member), *page);
                }
            }
            Ok(())
        });
    }
}

/// Pages of one stripe leave a write buffer together, or a request comes.
fn write_or_flush(host: &mut Host, request: &Request) {
    let aside = request.aside.index(1 << 16) as u64;
    if request.op != HostOp::Write || !aside.is_multiple_of(3) {
        submit(host, request);
        return;
    }
    let of_stripe = host.scheme.grouping().pages(Lpn(aside % host.scheme.user_pages()));
    let width = of_stripe.end - of_stripe.start;
    let pages = (aside >> 3 | 1 << (aside % width)) & (u64::MAX >> (64 - width));
    let first = u64::from(pages.trailing_zeros());
    host.flush(of_stripe.start + first, pages >> first, aside >> 5 & pages >> first);
}

/// Every page reads as it was written; and survives, at any time, each loss that the scheme declares to survive.
#[test]
fn every_scheme_keeps_every_page() {
    for entry in entries() {
        for_cases(entry, 100, (cases(entry), prop::collection::vec(request(), 1..60)), |(case, requests)| {
            let mut host = case.host(entry, STRIPES);
            for request in &requests {
                let queued = (request.pages as u32, request.aside.index(7) as u32);
                host.flash.queued.insert(MemberId(request.aside.index(usize::from(case.members)) as u16), queued);
                let busy = host.scheme.locate(Lpn(request.aside.index(host.scheme.user_pages() as usize) as u64));
                host.flash.loads.insert(busy, request.pages as u32);
                write_or_flush(&mut host, request);
                if entry.has_window { host.check_reads() } else { host.check() }
            }
            Ok(())
        });
    }
}

// ---- what fails ----

/// What happens to a device.
#[derive(Clone, Debug)]
enum Event {
    /// A request: its first page, its pages, the bytes of the first and of the last page.
    Request(HostOp, Index, u64, u32, u32),
    /// A member fails: now, or under this wave of the next operation; a spare replaces it or not.
    Failure(Index, Option<usize>, bool),
    /// A single page is lost.
    PageLoss(Index, Index),
    /// Dead members are replaced.
    Spares,
    /// Each damaged stripe is repaired once.
    Repair,
}

fn event() -> impl Strategy<Value = Event> {
    let index = || any::<Index>();
    let bytes = || prop_oneof![2 => Just(PAGE), 1 => Just(512u32)];
    prop_oneof![
        8 => (index(), 1..8u64, bytes(), bytes()).prop_map(|(at, pages, first, last)| Event::Request(HostOp::Write, at, pages, first, last)),
        2 => (index(), 1..8u64).prop_map(|(at, pages)| Event::Request(HostOp::Trim, at, pages, PAGE, PAGE)),
        2 => (index(), 1..8u64, bytes(), bytes()).prop_map(|(at, pages, first, last)| Event::Request(HostOp::Read, at, pages, first, last)),
        2 => (index(), prop::option::of(0..4usize), any::<bool>()).prop_map(|(member, wave, spare)| Event::Failure(member, wave, spare)),
        1 => (index(), index()).prop_map(|(member, page)| Event::PageLoss(member, page)),
        2 => Just(Event::Spares),
        2 => Just(Event::Repair),
    ]
}

/// Local pages of a member.
const PAGES: u32 = 4;

/// Whatever fails, however often: what the surviving pages determine is read and recovered right, everything else is reported as lost,
/// and only failures make pages lost. When all is repaired each member may fail again.
fn loses_only_what_it_must(entry: &Entry, case: &Case, events: &[Event]) -> Result<(), TestCaseError> {
    let mut host = case.host(entry, PAGES);
    let mut lost = 0;
    for event in events {
        let mut has_failed = false;
        match event {
            Event::Request(op, at, pages, first_bytes, last_bytes) => {
                let user_pages = host.scheme.user_pages();
                let first = at.index(user_pages as usize) as u64;
                has_failed = host.flash.strike.is_some();
                host.submit(*op, first, (*pages).min(user_pages - first), *first_bytes, *last_bytes);
            }
            Event::Failure(member, None, has_spare) => {
                has_failed = true;
                let member = MemberId(member.index(usize::from(case.members)) as u16);
                if *has_spare { host.flash.replace(member) } else { host.flash.kill(member) }
            }
            Event::Failure(member, Some(wave), has_spare) => {
                host.flash.strike = Some((*wave, MemberId(member.index(usize::from(case.members)) as u16), *has_spare));
                continue;
            }
            Event::PageLoss(member, page) => {
                has_failed = true;
                let page = MemberPage::new(member.index(usize::from(case.members)) as u16, page.index(PAGES as usize) as u32);
                host.flash.lose(page, Version::Current);
            }
            Event::Spares => host.flash.dead.clear(),
            Event::Repair => {
                has_failed = host.flash.strike.is_some();
                for stripe in (0..host.scheme.stripes()).map(StripeId) {
                    if matches!(host.scheme.damage(stripe, &host.flash), Damage::Copy | Damage::Compute) {
                        let repair = host.scheme.repair(stripe, &host.flash);
                        host.run(repair);
                    }
                }
            }
        }
        host.flash.strike = None;
        let lost_now = host.check_degraded();
        prop_assert!(has_failed || lost_now <= lost, "{:?} makes pages lost", event);
        lost = lost_now;
    }
    host.flash.strike = None;
    host.flash.dead.clear();
    host.repair_all();
    prop_assert!(host.check_degraded() <= lost);
    if lost == 0 {
        host.check();
    }
    for lpn in (0..host.scheme.user_pages()).map(Lpn) {
        prop_assert!(lost > 0 || !host.flash.is_lost(host.scheme.locate(lpn), Version::Current));
    }
    Ok(())
}

/// Of schemes that keep nothing but current versions on flash. What else there is may be lost too: `cr5m_failure` and `deferred_failure` do that.
#[test]
fn only_what_must_be_lost_is_lost() {
    for entry in entries().filter(|entry| entry.bases.is_none() && entry.parity_cache.is_none()) {
        let strategy = (cases(entry), prop::collection::vec(event(), 1..50));
        for_cases(entry, 80, strategy, |(case, events)| loses_only_what_it_must(entry, &case, &events));
    }
}
