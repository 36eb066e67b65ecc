//! Block-level striping with two rotating parities (RAID-6).
//!
//! Idea: N = n - 2 data strips, their XOR P, and their sum Q in GF(2^8), each strip times another factor, form a stripe. P and Q are two equations, so that
//! any two lost members come back. Small writes program one page more than under raid5, and RMW reads one more.
//! Source: H. P. Anvin, "The mathematics of RAID-6", 2004, which describes the driver of Linux md; SPEC 8.16.
//!
//! Writes (8.16 (c)): a full stripe needs no pre-read. A partial one reads the changed strips and both parities (RMW), or the strips that do not change (RCW), whichever are
//! fewer pages; RCW on a tie. All reads form the first wave, all programs the second. Sub-page writes, unwritten strips and trims are as in
//! `parts::raid`.
//!
//! After failures (8.16 (d) to (g)): what is lost is computed from one equation, or two (`sums`). A write takes the method that reads nothing that is lost, if there is one. RMW leaves
//! out a lost parity; RCW and full stripes make it anew where there is space. If more is lost than two parities can replace, the data are written and
//! both parities count as lost, so that nothing wrong is ever computed from them. A repair makes all pages of its stripe that are lost in one go.
//!
//! Departures: the paper leaves open which reads a partial write makes, and what a write does about a lost parity; see SPEC 8.16 (c) and (e).

mod sums;

use crate::parts::bits::{self, Bits};
use crate::parts::pages;
use crate::parts::raid::{Raid, waits_for_reads};
use crate::stripe_map::raid6::Raid6Map;
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Addressed, Build, Damage, Decisions, Entry, Extent, Failure, Group, Lock, Lost, Members, Method, Operation, OperationKind, Outcomes,
    ParameterError, ParityUpdates, Protects, Recovery, Redundancy, Scheme, Source, Step,
};
use flashraid_vocabulary::{
    Cause, Change, Delivery, GcAdvisor, Lpn, MemberPage, PageOperation, Sources, StripeId, Version, View, Wave, Weights, persistent,
};
use rustc_hash::FxHashMap;
use sums::{PARITIES, Pages, Stripe, Sum, factor, page_at};

/// RAID-6.
pub const ENTRY: Entry = Entry {
    name: "raid6",
    title: "RAID-6 (two rotating parities)",
    about: "Striping with two parities that rotate over the members: any two of these may fail. Overhead: the capacity of two members, and pre-reads and two parity programs for small writes.",
    protects: Protects::Member,
    failures: 2,
    redundancy: Redundancy::Parity,
    members: Members::from(4),
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let raid = Raid::new(Raid6Map::on_device(build), build.page_bytes);
    Ok(Box::new(Raid6 { raid, page_bytes: build.page_bytes, planned: FxHashMap::default() }))
}

/// What an operation reads in its first wave, and what it knew then: a page may appear, as zeroes, or be lost before it goes on.
#[derive(Clone, Copy, Debug)]
struct Planned {
    stripe: Stripe,
    /// The pages that it reads, in the order of their places.
    reads: Pages,
}

impl Planned {
    /// The sum as sources of a program, or of a strip that is delivered: with the strips of the host, each times its factor in the equation of `parity`, if
    /// that is what is made.
    fn sources(&self, sum: &Sum, host: u64, parity: u32, wave: &mut Wave) -> Sources {
        sources(sum, Bits(self.reads).enumerate(), host, parity, wave)
    }
}

/// The same of these reads, each with the place of its page.
fn sources(sum: &Sum, reads: impl Iterator<Item = (usize, u32)>, host: u64, parity: u32, wave: &mut Wave) -> Sources {
    let mut weights = Weights { host: [0; 64], reads: [0; 64] };
    let mut sources = Sources { host, ..Sources::default() };
    Bits(host).for_each(|strip| weights.host[strip as usize] = factor(parity, strip));
    for (read, place) in reads {
        weights.reads[read] = sum.factor(place);
        sources.reads |= u64::from(sum.factor(place) != 0) << read;
    }
    let is_plain =
        Bits(host).all(|strip| weights.host[strip as usize] == 1) && Bits(sources.reads).all(|read| weights.reads[read as usize] == 1);
    Sources { weights: if is_plain { 0 } else { wave.weigh(weights) }, ..sources }
}

/// Delivers a strip that is the sum of these reads.
fn push_delivery(strip: u32, Sources { reads, weights, .. }: Sources, wave: &mut Wave) {
    wave.deliveries.push(Delivery { strip: strip as u8, reads, deferred: false, weights });
}

/// See the module.
#[derive(Clone, Debug)]
struct Raid6 {
    raid: Raid<Raid6Map>,
    page_bytes: u32,
    /// By stripe, what the operation that holds its lock has planned.
    planned: FxHashMap<StripeId, Planned>,
}

persistent!(Raid6 {
    keeps [raid],
    // Operations, of which there are none.
    anew [page_bytes, planned],
});

impl Raid6 {
    fn stripe(&self, number: StripeId, view: &dyn View) -> Stripe {
        Stripe::new(self.raid.map().row(number), view)
    }

    /// Computes what no page holds of a read; what is written is read, and zero needs no flash.
    fn read(&self, operation: &Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let unreadable = operation.strips & stripe.lost;
        if unreadable != 0 && operation.lock == Lock::None {
            return Step::Lock;
        }
        if !stripe.has_newest(unreadable) {
            return Step::Failed(Failure::Lost);
        }
        for strip in Bits(self.raid.written(&stripe.row, operation.strips & !unreadable, view)) {
            let bytes = operation.touched_bytes(strip, self.page_bytes);
            wave.operations.push(pages::read(stripe.row.data(strip), Cause::Host, bytes, strip as u8));
        }
        for strip in Bits(unreadable) {
            let sum = stripe.newest(strip).expect("it can be had");
            let mut reads = Vec::new();
            for place in Bits(sum.pages()) {
                let page = page_at(&stripe.row, place);
                if view.is_written(page, Version::Current) {
                    reads.push((self.raid.push_read(page, Version::Current, Cause::Reconstruct, wave), place));
                }
            }
            let sources = sources(&sum, reads.into_iter(), 0, 0, wave);
            push_delivery(strip, sources, wave);
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    fn write(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.raid.merged(operation, &stripe.row, view);
        if operation.step == 0 {
            if !stripe.has_newest(merged) {
                return Step::Failed(Failure::Lost);
            }
            operation.method = stripe.method(operation.strips);
            self.plan_reads(operation, operation.strips, merged, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.raid.count(operation);
        self.raid.push_data_programs(operation, operation.strips, merged, &stripe.row, wave);
        self.push_parities(operation, operation.strips, operation.strips, wave);
        operation.step += 1;
        Step::Last
    }

    /// As a write of zeroes that programs the parities only.
    fn trim(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let row = &stripe.row;
        let dropped = self.raid.written(row, operation.strips, view);
        if operation.step == 0 {
            if dropped == 0 {
                return Step::Nothing;
            }
            let parities = PARITIES.map(|parity| page_at(row, parity));
            if self.raid.written(row, stripe.all() & !operation.strips, view) == 0 {
                self.raid.push_unmaps(dropped, row, wave);
                wave.changes.extend(parities.into_iter().filter(|page| view.is_written(*page, Version::Current)).map(Change::Unmap));
                return Step::Done;
            }
            operation.method = stripe.method(dropped);
            if operation.method == Method::None {
                self.raid.push_unmaps(dropped, row, wave);
                wave.changes.extend(parities.map(Change::Lose));
                return Step::Done;
            }
            self.plan_reads(operation, dropped, 0, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.raid.count(operation);
        self.push_parities(operation, 0, dropped, wave);
        self.raid.push_unmaps(dropped, row, wave);
        operation.step += 1;
        Step::Last
    }

    /// The first wave of a change of data strips: what the parities are made of, and the old content of `merged`, beneath what the host writes. Each page is
    /// read once.
    fn plan_reads(&mut self, operation: &Operation, changed: u64, merged: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        let parities = PARITIES.into_iter().filter_map(|parity| stripe.parity(parity, operation.method, changed));
        let of_parities = parities.fold(0, |pages, sum| pages | sum.pages());
        let below = Bits(merged).map(|strip| (strip, stripe.newest(strip).expect("it can be had")));
        let of_merged = below.clone().fold(0, |pages, (_, sum)| pages | sum.pages());
        let reads = self.push_reads(of_parities | of_merged, stripe, view, wave, |place| {
            let is_below = merged >> place & 1 == 1;
            let cause = match () {
                () if of_parities >> place & 1 == 1 => Cause::PreRead,
                () if is_below => Cause::UpdateRead,
                () => Cause::Reconstruct,
            };
            (cause, if is_below { place as u8 } else { PageOperation::NO_STRIP })
        });
        let planned = Planned { stripe: *stripe, reads };
        for (strip, sum) in below.filter(|(strip, _)| stripe.is_lost(*strip)) {
            push_delivery(strip, planned.sources(&sum, 0, 0, wave), wave);
        }
        self.planned.insert(operation.stripe, planned);
    }

    /// Reads those of `pages` that are written, whole, and returns which these are. `say` tells why, and which strip that delivers.
    fn push_reads(&self, pages: Pages, stripe: &Stripe, view: &dyn View, wave: &mut Wave, say: impl Fn(u32) -> (Cause, u8)) -> Pages {
        let mut reads = 0;
        for place in Bits(pages) {
            let page = page_at(&stripe.row, place);
            if view.is_written(page, Version::Current) {
                let (cause, strip) = say(place);
                wave.operations.push(pages::read(page, cause, self.page_bytes, strip));
                reads |= 1 << place;
            }
        }
        reads
    }

    /// The programs of both parities, of what the host gives of `host` and of what was read. A lost one that cannot be made stays lost; if the method makes
    /// none, both are.
    fn push_parities(&mut self, operation: &Operation, host: u64, changed: u64, wave: &mut Wave) {
        let planned = self.planned[&operation.stripe];
        for parity in PARITIES {
            let page = page_at(&planned.stripe.row, parity);
            if let Some(sum) = planned.stripe.parity(parity, operation.method, changed) {
                let sources = planned.sources(&sum, host, parity, wave);
                wave.operations.push(pages::program(page, Cause::Parity, self.page_bytes, sources));
            } else if operation.method == Method::None {
                wave.changes.push(Change::Lose(page));
            }
        }
    }

    /// How a write or trim ends whose last wave could not be allocated on the members `unallocated`: without these pages, if nothing becomes lost for good
    /// that was not (SPEC 0.1 e, 0.6); else it fails.
    fn end_without(&self, operation: &Operation, unallocated: u64, stripe: &Stripe) -> Step {
        let written = if operation.kind == OperationKind::Trim { 0 } else { operation.strips };
        let made = PARITIES.into_iter().filter(|parity| self.makes(operation, *parity));
        let programmed = written | bits::of(made);
        let missing = bits::of(Bits(programmed).filter(|place| unallocated >> page_at(&stripe.row, *place).member.0 & 1 == 1));
        let without_method = if operation.method == Method::None { bits::of(PARITIES.into_iter()) } else { 0 };
        let after = Stripe { lost: stripe.lost & !(programmed | operation.strips) | missing | without_method, ..*stripe };
        let is_had = |strip| after.newest(strip).is_some() || written >> strip & 1 == 0 && stripe.newest(strip).is_none();
        if Bits(stripe.all()).all(is_had) { Step::Done } else { Step::Failed(Failure::NoSpace) }
    }

    /// Whether the write or trim programs a parity.
    fn makes(&self, operation: &Operation, parity: u32) -> bool {
        let planned = self.planned.get(&operation.stripe);
        planned.is_some_and(|planned| planned.stripe.parity(parity, operation.method, operation.strips).is_some())
    }

    /// Reads of the stripe end beside the operation that has planned.
    fn forget_plan(&mut self, operation: &Operation) {
        if operation.lock == Lock::Exclusive {
            self.planned.remove(&operation.stripe);
        }
    }

    // ---- repair ----

    /// The lost pages of a stripe that can be made of others, and what of.
    fn obtainable(stripe: &Stripe) -> impl Iterator<Item = (u32, Sum)> + Clone {
        let made = |place| if PARITIES.contains(&place) { stripe.parity(place, Method::Rcw, 0) } else { stripe.newest(place) };
        Bits(stripe.lost).filter_map(move |place| made(place).map(|sum| (place, sum)))
    }

    /// Those of them with a place on the members `space`: what a repair makes.
    fn made(stripe: &Stripe, space: u64) -> impl Iterator<Item = (u32, Sum)> {
        Self::obtainable(stripe).filter(move |(place, _)| space >> page_at(&stripe.row, *place).member.0 & 1 == 1)
    }

    fn plan_repair(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        if operation.step == 0 {
            let stripe = self.stripe(operation.stripe, view);
            if Self::made(&stripe, operation.space).next().is_none() {
                return Step::Nothing; // a write has done it meanwhile, or more has failed
            }
            operation.method = Method::Rcw;
            let pages = Self::made(&stripe, operation.space).fold(0, |pages, (_, sum)| pages | sum.pages());
            let reads = self.push_reads(pages, &stripe, view, wave, |_| (Cause::Rebuild, PageOperation::NO_STRIP));
            self.planned.insert(operation.stripe, Planned { stripe, reads });
            wave.operations.iter_mut().for_each(|read| read.host_waits = false);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        let planned = self.planned[&operation.stripe];
        for (place, sum) in Self::made(&planned.stripe, operation.space) {
            let sources = planned.sources(&sum, 0, 0, wave);
            let program = pages::program(page_at(&planned.stripe.row, place), Cause::Rebuild, self.page_bytes, sources);
            wave.operations.push(PageOperation { host_waits: false, ..program });
        }
        operation.step += 1;
        Step::Last
    }
}

impl GcAdvisor for Raid6 {}

impl Addressed for Raid6 {
    type Addressing = Raid<Raid6Map>;

    fn addressing(&self) -> &Raid<Raid6Map> {
        &self.raid
    }
}

impl Scheme for Raid6 {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        self.raid.decide(extent, decisions)
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        decisions.operations.push(self.raid.cut_group(group));
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.kind == OperationKind::Repair {
            return self.plan_repair(operation, outcomes, view, wave);
        }
        let stripe = self.stripe(operation.stripe, view);
        if outcomes.unallocated != 0 {
            return self.end_without(operation, outcomes.unallocated, &stripe);
        }
        match operation.kind {
            OperationKind::Read => self.read(operation, &stripe, view, wave),
            OperationKind::Write => self.write(operation, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, &stripe, view, wave),
            OperationKind::Commit | OperationKind::Repair | OperationKind::Migrate | OperationKind::Job => {
                unreachable!("this scheme never decides {:?}", operation.kind)
            }
        }
    }

    fn ended(&mut self, operation: &Operation) {
        self.forget_plan(operation);
    }

    fn failed(&mut self, operation: &Operation) {
        self.forget_plan(operation);
    }

    fn parity_updates(&self) -> ParityUpdates {
        self.raid.updates()
    }
}

impl Recovery for Raid6 {
    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn survives_failures(&self) -> u32 {
        ENTRY.failures
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (stripe, strip) = self.raid.map().position(lpn);
        let row = self.raid.map().row(stripe);
        sources.clear();
        let Some(sum) = (Stripe { row, lost: 0 }).without(lost).newest(strip) else { return false };
        let source = |place| Source { page: page_at(&row, place), version: Version::Current, factor: sum.factor(place) };
        sources.extend(Bits(sum.pages()).map(source));
        true
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() {
            return Damage::None;
        }
        let stripe = self.stripe(stripe, view);
        let mut pages = Self::obtainable(&stripe).map(|(place, _)| page_at(&stripe.row, place));
        let Some(first) = pages.next() else { return Damage::None };
        if view.can_allocate(first) || pages.any(|page| view.can_allocate(page)) { Damage::Compute } else { Damage::NoSpace }
    }

    /// With space for all that can be made where there is room, or where there is none at all, for all that it would make.
    fn repair(&self, number: StripeId, view: &dyn View) -> Operation {
        let stripe = self.stripe(number, view);
        let pages = Self::obtainable(&stripe).map(|(place, _)| page_at(&stripe.row, place));
        let members =
            |has_room: &dyn Fn(MemberPage) -> bool| bits::of(pages.clone().filter(|page| has_room(*page)).map(|page| page.member.0.into()));
        let roomy = members(&|page| view.can_allocate(page));
        self.raid.background(OperationKind::Repair, number, if roomy != 0 { roomy } else { members(&|_| true) })
    }
}
