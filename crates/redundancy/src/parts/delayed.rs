//! Parities that NVRAM holds while those on flash are out of date: the rules that PPC and FPC share (SPEC 4.2, 4.4, 4.6).
//!
//! A strip is *associated* (SPEC: in pi) if it has changed since the parity on flash was made. NVRAM holds the XOR of the newest versions of the
//! associated strips, and the parity on flash covers the *base* of each of them beside the newest versions of all others:
//!
//! ```text
//! delayed = XOR of current_i, i associated
//! parity = XOR of base_i, i associated, and current_i, i not associated
//! ```
//!
//! An unwritten version is zero. With all strips associated the first line alone protects the stripe, and bases are of no use; so a full parity in
//! NVRAM (FPC) is the case in which either none or all are associated. With none associated the stripe is a RAID-5 stripe, and has no entry.
//!
//! Everything that is read is a sum of versions that these two lines make equal to what is wanted (`Sum`). What an update does to the first line is
//! the scheme's (`Rule`). A commit makes the parity of both lines, by whichever reads fewer pages; if the parity's chip has no page at hand the
//! collector makes do with all strips associated (widen).
//!
//! *Decided* state (`ParityCache`) and *durable* state are apart: plans and recovery look at the durable one alone. They differ in what is under
//! way, and where the collector or a failure intervened: then an operation finds nothing to do, or an update makes an entry that it was to find.
//!
//! After failures an associated strip is the XOR of NVRAM and the other associated ones, any other strip is the XOR of the parity and what that
//! covers of the others. A write or trim that finds something of its stripe lost makes NVRAM cover the whole stripe: so nothing that it leaves
//! behind depends on what is lost, and it needs no page for a parity. If it cannot, as more is lost than one failure takes, the data are written and the
//! parity counts as lost. Repairs follow the table of SPEC 4.4.
//!
//! So the two lines give back two lost strips, one each: one of a member that has failed, one of a member that had no page for what was written since.
//! What makes one line of the two (a commit, widening, covering the whole stripe) would cost both. It is left undone then, until a repair has brought
//! one back: the commit fails and its entry stays, an update goes on as if nothing were lost or fails.

use crate::parts::bits::{self, Bits};
use crate::parts::layout::{Layout, LeftAsymmetric, Role, Row};
use crate::parts::parity::{self, Losses, ParityScheme, waits_for_reads};
use crate::parts::parity_cache::{ParityCache, Replacement, Update};
use crate::parts::update::UpdateRule;
use crate::parts::{cut, pages};
use crate::{
    Build, CommitCause, Damage, Decisions, Extent, Failure, Group, GuardCounts, Lock, Lost, Method, Operation, OperationKind, Outcomes,
    Parameter, ParameterError, ParityUpdates, Protects, Scheme, Step, Values,
};
use flashraid_vocabulary::{
    Cause, Change, Delivery, Guardian, HostOp, Lpn, MemberPage, PageOperation, Ruling, Sources, StripeId, Version, View, Wave, memory,
    prefetch,
};
use std::ops::BitXor;

/// How much NVRAM there is for parities.
pub const PARITY_CACHE_BYTES: Parameter = Parameter {
    name: "parity_cache_bytes",
    unit: "bytes",
    values: Values::Whole { least: 512, most: u32::MAX, default: 32_768 },
    needs: None,
    only_in_gc: false,
    about: "NVRAM for delayed parities, in bytes: one page for each stripe whose parity is delayed; the rest of an entry is neglected.",
};

/// Members beyond which the reads of one operation, two versions of each strip, would not fit one wave.
const MOST_MEMBERS: u16 = 32;

/// How a scheme brings up to date what NVRAM holds of a stripe.
pub trait Rule: Clone + Send + 'static {
    /// What an update of the data strips `changed` does, of a stripe of which nothing is lost. Must follow from what is associated and changed alone.
    fn next(&self, stripe: &Stripe, changed: u64) -> Next;

    /// What the collector does about a base.
    fn ruling(&self) -> Ruling;
}

/// What NVRAM will hold of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// What it is made of beside the new versions of what changes.
    pub sum: Sum,
    /// The parity on flash is read too, though it is no part of the sum.
    pub reads_parity: bool,
    /// The associated strips.
    pub associated: u64,
    /// The versions that the parity on flash covers stay as bases.
    pub keeps_bases: bool,
}

/// An XOR of versions of a stripe's pages, and of what NVRAM holds of its parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Data strips: their current versions.
    pub current: u64,
    /// Data strips: their bases.
    pub base: u64,
    /// The parity on flash.
    pub parity: bool,
    /// What NVRAM holds.
    pub delayed: bool,
}

impl BitXor for Sum {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self {
            current: self.current ^ other.current,
            base: self.base ^ other.base,
            parity: self.parity ^ other.parity,
            delayed: self.delayed ^ other.delayed,
        }
    }
}

impl Sum {
    /// The versions on flash.
    fn versions(self, row: Row) -> impl Iterator<Item = (MemberPage, Version)> {
        let current = Bits(self.current).map(move |strip| (row.data(strip), Version::Current));
        let base = Bits(self.base).map(move |strip| (row.data(strip), Version::Base));
        current.chain(base).chain(self.parity.then(|| (row.parity(), Version::Current)))
    }
}

/// A stripe as a plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    /// Where its strips lie.
    pub row: Row,
    /// All its data strips.
    pub all: u64,
    /// The associated ones; none if NVRAM holds nothing of its parity.
    pub associated: u64,
    /// What failures took of it.
    pub lost: Losses,
}

impl Stripe {
    /// The rule of recovery: what the newest version of a data strip is the sum of, other than itself.
    pub fn others(&self, strip: u32) -> Sum {
        let own = 1 << strip;
        if self.associated & own != 0 {
            Sum { current: self.associated & !own, delayed: true, ..Sum::default() }
        } else {
            Sum { current: self.all & !self.associated & !own, base: self.associated, parity: true, delayed: false }
        }
    }

    /// Whether nothing of the sum is lost.
    fn can_read(&self, sum: &Sum) -> bool {
        sum.current & self.lost.current == 0 && sum.base & self.lost.base == 0 && !(sum.parity && self.lost.parity)
    }

    /// What the newest version of a data strip is the sum of; `None` if it is lost for good.
    fn newest(&self, strip: u32) -> Option<Sum> {
        let own = Sum { current: 1 << strip, ..Sum::default() };
        [own, self.others(strip)].into_iter().find(|sum| self.can_read(sum))
    }

    /// What covers the whole stripe but for `changed`, and how: with what NVRAM holds (`Rmw`) or without (`Rcw`); `None` and nothing if too much is lost.
    fn made_anew(&self, changed: u64) -> (Method, Sum) {
        match Bits(self.all & !changed).try_fold(Sum::default(), |sum, strip| Some(sum ^ self.newest(strip)?)) {
            Some(sum) => (if sum.delayed { Method::Rmw } else { Method::Rcw }, sum),
            None => (Method::None, Sum::default()),
        }
    }

    /// Lost strips other than `changed` whose newest version the rest of the stripe still gives.
    fn recoverable(&self, changed: u64) -> u64 {
        bits::of(Bits(self.lost.current & !changed).filter(|strip| self.newest(*strip).is_some()))
    }

    /// Whether a parity that covers the whole stripe, new versions of `changed` included, gives back all that is recoverable now. `is_made`: whether
    /// it can be computed.
    fn can_be_covered(&self, changed: u64, is_made: bool) -> bool {
        self.recoverable(changed) == 0 || (is_made && (self.lost.current & !changed).count_ones() == 1)
    }

    /// What the parity of all newest versions is made of (SPEC 4.4, commit): NVRAM and, with half of the strips associated or more, the other strips,
    /// else the old parity and the bases; the other way round if something of that is lost.
    fn commit(&self) -> Option<Sum> {
        let many = Sum { current: self.all & !self.associated, delayed: true, ..Sum::default() };
        let few = Sum { base: self.associated, parity: true, delayed: true, ..Sum::default() };
        let is_large = self.associated.count_ones() >= self.all.count_ones().div_ceil(2);
        if is_large { [many, few] } else { [few, many] }.into_iter().find(|sum| self.can_read(sum))
    }
}

/// Durable state of a stripe. `next` is what the operation that has it makes of it. (Of integers, as such an array is not touched before it is
/// used.)
#[derive(Clone, Copy, Debug, Default)]
struct Durable {
    associated: u32,
    /// Associated strips that have a base.
    bases: u32,
    next_associated: u32,
    next_bases: u32,
    /// Entries that are being made: one or none.
    making: u32,
}

/// Stripes with rotating parity that NVRAM delays.
#[derive(Clone, Debug)]
pub struct Delayed<R> {
    /// Everything that RAID-5 does.
    inner: ParityScheme<LeftAsymmetric>,
    rule: R,
    page_bytes: u32,
    /// Decided.
    cache: ParityCache,
    stripes: Vec<Durable>,
    /// Entries being made.
    making: u32,
    counts: GuardCounts,
    committed: u64,
}

/// Entries of a cache of the size that the user asked for: at least one, and no more than there are stripes.
pub fn entries(build: &Build) -> Result<u32, ParameterError> {
    let bytes = build.whole(&PARITY_CACHE_BYTES)?;
    if bytes < build.page_bytes {
        let text = format!("parity_cache_bytes = {bytes}: the smallest that holds a parity is {}, one page", build.page_bytes);
        return Err(ParameterError(text));
    }
    Ok((bytes / build.page_bytes).min(build.pages_per_member))
}

impl<R: Rule> Delayed<R> {
    /// The scheme `name` on this device. `replacement` says how victims of the cache are chosen.
    pub fn new(name: &str, build: &Build, rule: R, replacement: Replacement) -> Result<Self, ParameterError> {
        cut::at_least(name, build, 3)?;
        if build.members > MOST_MEMBERS {
            return Err(ParameterError(format!("{name} works on at most {MOST_MEMBERS} members; the device has {}", build.members)));
        }
        let layout = LeftAsymmetric { members: build.members, stripes: build.pages_per_member };
        let most_entries = entries(build)?;
        Ok(Self {
            cache: ParityCache::new(layout.stripes, layout.width(), most_entries, replacement),
            // Its rule is never asked: only what is written as a whole has its parity made at once.
            inner: ParityScheme::new(layout, build.page_bytes, UpdateRule::Rcw),
            rule,
            page_bytes: build.page_bytes,
            stripes: memory::zeroed(layout.stripes as usize),
            making: 0,
            counts: GuardCounts { most_entries: most_entries.into(), ..GuardCounts::default() },
            committed: 0,
        })
    }

    fn durable(&mut self, stripe: StripeId) -> &mut Durable {
        &mut self.stripes[stripe.0 as usize]
    }

    fn associated(&self, stripe: StripeId) -> u64 {
        self.stripes[stripe.0 as usize].associated.into()
    }

    /// The stripe of an operation as it is now. What is lost of strips that a read does not name is left out if it holds no lock.
    #[inline]
    fn stripe(&self, operation: &Operation, view: &dyn View) -> Stripe {
        let (all, associated) = (self.inner.all_strips(), self.associated(operation.stripe));
        let row = self.inner.layout().row(operation.stripe);
        let is_free = operation.kind == OperationKind::Read && operation.lock == Lock::None;
        let strips = if is_free { operation.strips } else { all };
        let lost = if view.has_failures() { Losses::find(&row, strips, associated, view) } else { Losses::default() };
        Stripe { row, all, associated, lost }
    }

    fn whole_stripe(&self, stripe: StripeId, view: &dyn View) -> Stripe {
        let row = self.inner.layout().row(stripe);
        let (all, associated) = (self.inner.all_strips(), self.associated(stripe));
        Stripe { row, all, associated, lost: Losses::find(&row, all, associated, view) }
    }

    fn has_space_for_parity(operation: &Operation, row: &Row) -> bool {
        operation.space >> row.parity().member.0 & 1 == 1
    }

    // ---- decisions ----

    /// Counts an update of a stripe, and makes room for its entry. Returns the operation that it requires.
    fn decide_update(&mut self, update: Update, decisions: &mut Decisions) -> Option<u16> {
        self.counts.hits += u64::from(update.is_hit);
        self.counts.misses += u64::from(!update.is_hit);
        let commit = self.inner.commit(update.victim?);
        decisions.operations.push(commit);
        Some(decisions.operations.len() as u16 - 1)
    }

    fn decide_write(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        let row = self.inner.layout().row(operation.stripe);
        operation.space &= !(1 << row.parity().member.0);
        let update = self.cache.write(operation.stripe, operation.strips);
        operation.requires = self.decide_update(update, decisions);
        decisions.operations.push(operation);
    }

    /// A trim that puts off no parity keeps its space for one, unless it is of the whole stripe: there may be strips that nobody decided to write.
    fn decide_trim(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        if let Some(update) = self.cache.trim(operation.stripe, operation.strips) {
            operation.space = 0;
            operation.requires = self.decide_update(update, decisions);
        }
        decisions.operations.push(operation);
    }

    /// Whether an operation was decided as an update of an entry.
    fn is_update(&self, operation: &Operation) -> bool {
        let has_space = Self::has_space_for_parity(operation, &self.inner.layout().row(operation.stripe));
        match operation.kind {
            OperationKind::Write => !has_space,
            OperationKind::Trim => !has_space && operation.strips != self.inner.all_strips(),
            _ => false,
        }
    }

    // ---- waves ----

    /// Reads the versions of a sum that are written, in the first wave. What that reads already is not read twice. Returns which reads these are.
    fn push_reads(&self, sum: &Sum, cause: Cause, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> u64 {
        let mut reads = 0;
        for (page, version) in sum.versions(stripe.row).filter(|(page, version)| view.is_written(*page, *version)) {
            let index = self.push_read(page, version, cause, wave);
            reads |= 1 << index;
        }
        reads
    }

    fn push_read(&self, page: MemberPage, version: Version, cause: Cause, wave: &mut Wave) -> usize {
        let known = wave.operations.iter().position(|read| (read.address, read.version) == (page, version));
        let index = known.unwrap_or_else(|| {
            wave.operations.push(self.inner.whole_read(page, version, cause));
            wave.operations.len() - 1
        });
        wave.operations[index].bytes = self.page_bytes;
        index
    }

    /// The pre-reads of an update, its sources first. Returns how many these are.
    fn push_pre_reads(&self, next: &Next, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> usize {
        self.push_reads(&next.sum, Cause::PreRead, stripe, view, wave);
        let sources = wave.operations.len();
        if next.reads_parity && view.is_written(stripe.row.parity(), Version::Current) {
            self.push_read(stripe.row.parity(), Version::Current, Cause::PreRead, wave);
        }
        sources
    }

    /// Delivers the newest version of a strip that is lost, and that the others make up.
    fn push_computation(&self, strip: u32, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        let sum = stripe.others(strip);
        let reads = self.push_reads(&sum, Cause::Reconstruct, stripe, view, wave);
        wave.deliveries.push(Delivery { strip: strip as u8, reads, delayed: sum.delayed });
    }

    /// Delivers the old content of the strips `merged` beneath a write, from reads that are sources of the parity already, or from its own.
    fn push_update_reads(&self, merged: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        for strip in Bits(merged & !stripe.lost.current) {
            let index = self.push_read(stripe.row.data(strip), Version::Current, Cause::UpdateRead, wave);
            wave.operations[index].strip = strip as u8;
        }
        for strip in Bits(merged & stripe.lost.current) {
            self.push_computation(strip, stripe, view, wave);
        }
    }

    /// Releases all bases when the operation ends.
    fn release_bases(&self, operation: &Operation, row: &Row, wave: &mut Wave) {
        let bases = self.stripes[operation.stripe.0 as usize].bases;
        wave.changes.extend(Bits(bases.into()).map(|strip| Change::ReleaseBase(row.data(strip))));
    }

    /// The stripe is committed when the operation ends: it has neither bases nor an entry.
    fn release(&mut self, operation: &Operation, stripe: &Stripe, wave: &mut Wave) {
        self.release_bases(operation, &stripe.row, wave);
        wave.changes.extend((stripe.associated != 0).then_some(Change::ReleaseDelayed(stripe.row.parity())));
        self.set_next(operation, 0, 0);
    }

    fn set_next(&mut self, operation: &Operation, associated: u64, bases: u64) {
        let durable = self.durable(operation.stripe);
        (durable.next_associated, durable.next_bases) = (associated as u32, bases as u32);
    }

    // ---- reads ----

    fn read(&self, operation: &Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let lost = operation.strips & stripe.lost.current;
        if lost != 0 && operation.lock == Lock::None {
            return Step::Lock;
        }
        if Bits(lost).any(|strip| stripe.newest(strip).is_none()) {
            return Step::Failed(Failure::Lost);
        }
        for strip in Bits(self.inner.written(&stripe.row, operation.strips & !lost, view)) {
            let bytes = operation.touched_bytes(strip, self.page_bytes);
            wave.operations.push(pages::read(stripe.row.data(strip), Cause::Host, bytes, strip as u8));
        }
        Bits(lost).for_each(|strip| self.push_computation(strip, stripe, view, wave));
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    // ---- updates ----

    /// What an update of `changed` does, `None` if anything would cost what is lost and recoverable. In its first step it decides on the method:
    /// `Deferred` as the scheme says; with something lost, NVRAM is made to cover the whole stripe with what it held (`Rmw`) or without (`Rcw`), or
    /// there is no parity that could be made (`None`).
    fn next(&self, operation: &mut Operation, stripe: &Stripe, changed: u64) -> Option<Next> {
        let mut sum = Sum { delayed: operation.method == Method::Rmw, ..Sum::default() };
        if operation.step == 0 {
            (operation.method, sum) = match stripe.lost == Losses::default() {
                true => (Method::Deferred, Sum::default()),
                false => stripe.made_anew(changed),
            };
            if !stripe.can_be_covered(changed, operation.method != Method::None) {
                let apart = self.rule.next(stripe, changed);
                operation.method = Method::Deferred;
                return stripe.can_read(&apart.sum).then_some(apart);
            }
        }
        if operation.method == Method::Deferred {
            return Some(self.rule.next(stripe, changed));
        }
        let associated = if operation.method == Method::None { 0 } else { stripe.all };
        Some(Next { sum, reads_parity: false, associated, keeps_bases: false })
    }

    /// Whether there is a place in NVRAM for the entry that the operation makes, if it makes one. There is, unless a commit has failed.
    fn takes_place(&mut self, operation: &Operation, next: &Next) -> bool {
        let has_place = self.counts.entries + u64::from(self.making) < self.counts.most_entries;
        let durable = self.durable(operation.stripe);
        if durable.associated != 0 || next.associated == 0 || durable.making != 0 {
            return true;
        }
        durable.making = has_place.into();
        self.making += u32::from(has_place);
        has_place
    }

    /// NVRAM holds the next parity of a change of `changed` when the operation ends.
    fn delay(&mut self, operation: &Operation, stripe: &Stripe, changed: u64, next: &Next, view: &dyn View, wave: &mut Wave) {
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
            return self.release(operation, stripe, wave);
        }
        self.inner.count(Method::Deferred);
        let host = if operation.kind == OperationKind::Write { changed } else { 0 };
        // What only serves as old content comes last.
        let reads = bits::lowest(u32::from(operation.reads - operation.update_reads));
        wave.changes.push(Change::Delay(stripe.row.parity(), Sources { host, reads, delayed: next.sum.delayed }));
        let mut bases = u64::from(self.durable(operation.stripe).bases);
        if next.keeps_bases {
            bases |= self.inner.written(&stripe.row, changed & !stripe.associated, view);
        } else {
            self.release_bases(operation, &stripe.row, wave);
            bases = 0;
        }
        self.set_next(operation, next.associated, bases);
    }

    fn write(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if Self::has_space_for_parity(operation, &stripe.row) {
            return self.fill_stripe(operation, stripe, view, wave);
        }
        if outcomes.unplaced != 0 {
            return self.end_without(operation, outcomes.unplaced, stripe);
        }
        let changed = operation.strips;
        let merged = self.inner.merged(operation, &stripe.row, view);
        let Some(next) = self.next(operation, stripe, changed) else { return Step::Failed(Failure::NoSpace) };
        if operation.step == 0 {
            if Bits(merged).any(|strip| stripe.newest(strip).is_none()) {
                return Step::Failed(Failure::Lost);
            }
            if !self.takes_place(operation, &next) {
                return Step::Failed(Failure::NoSpace);
            }
            let sources = self.push_pre_reads(&next, stripe, view, wave);
            self.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = (wave.operations.len() - sources) as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.delay(operation, stripe, changed, &next, view, wave);
        self.inner.push_data_programs(operation, merged, &stripe.row, wave);
        // Only what was written when this was planned: a page of zeroes that appears until it ends is no base.
        let bases = self.durable(operation.stripe).next_bases;
        for (strip, program) in Bits(changed).zip(&mut wave.operations) {
            program.keep_base = (u64::from(bases) & !stripe.associated) >> strip & 1 == 1;
        }
        operation.step += 1;
        Step::Last
    }

    /// A stripe is written with its parity.
    fn fill_stripe(&mut self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        debug_assert_eq!(stripe.associated, 0, "only new stripes are filled");
        let plain = parity::Stripe { row: stripe.row, mirrored: 0, lost: stripe.lost };
        self.inner.plan(operation, Outcomes::default(), &plain, |_| Method::FullStripe, view, wave)
    }

    /// How a write ends some of whose programs found no place: without them, if NVRAM holds what they were to hold (one strip at most, beside none that
    /// it covers and is lost already); else it fails.
    fn end_without(&self, operation: &Operation, unplaced: u64, stripe: &Stripe) -> Step {
        let missing = Bits(operation.strips).filter(|strip| unplaced >> stripe.row.data(*strip).member.0 & 1 == 1);
        let missing = bits::of(missing);
        let held = u64::from(self.stripes[operation.stripe.0 as usize].next_associated);
        let lost = held & (stripe.lost.current & !operation.strips | missing);
        if missing & !held == 0 && lost.count_ones() <= 1 { Step::Done } else { Step::Failed(Failure::NoSpace) }
    }

    fn trim(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let row = &stripe.row;
        let dropped = self.inner.written(row, operation.strips, view);
        if outcomes.unplaced != 0 {
            // The parity alone is missing.
            return if stripe.lost.current & !dropped == 0 { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        if operation.step == 0 {
            if dropped == 0 {
                return Step::Nothing;
            }
            if self.inner.written(row, stripe.all & !operation.strips, view) == 0 {
                wave.changes.extend(Bits(dropped).map(|strip| Change::Unmap(row.data(strip))));
                wave.changes.extend(view.is_written(row.parity(), Version::Current).then(|| Change::Unmap(row.parity())));
                self.release(operation, stripe, wave);
                return Step::Done;
            }
        }
        if Self::has_space_for_parity(operation, row) {
            return self.trim_and_commit(operation, dropped, stripe, view, wave);
        }
        // A page of zeroes that appears until the trim ends changes nothing of its plan.
        operation.beneath = if operation.step == 0 { dropped } else { operation.beneath };
        let planned = operation.beneath;
        let Some(next) = self.next(operation, stripe, planned) else { return Step::Failed(Failure::NoSpace) };
        if operation.step == 0 {
            if !self.takes_place(operation, &next) {
                return Step::Failed(Failure::NoSpace);
            }
            let sources = self.push_pre_reads(&next, stripe, view, wave);
            operation.update_reads = (wave.operations.len() - sources) as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.delay(operation, stripe, planned, &next, view, wave);
        // What the parity on flash covers stays.
        let retired = if next.keeps_bases { planned & !stripe.associated } else { 0 };
        wave.changes.extend(Bits(retired).map(|strip| Change::Retire(row.data(strip))));
        wave.changes.extend(Bits(dropped & !retired).map(|strip| Change::Unmap(row.data(strip))));
        Step::Done
    }

    /// A trim without an entry: the parity is made at once.
    fn trim_and_commit(&mut self, operation: &mut Operation, dropped: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.step == 0 {
            let sum;
            (operation.method, sum) = stripe.made_anew(dropped);
            if !stripe.can_be_covered(dropped, operation.method != Method::None) {
                return Step::Failed(Failure::NoSpace);
            }
            self.push_reads(&sum, Cause::PreRead, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        operation.step += 1;
        wave.changes.extend(Bits(dropped).map(|strip| Change::Unmap(stripe.row.data(strip))));
        self.release(operation, stripe, wave);
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
            return Step::Done;
        }
        self.inner.count(operation.method);
        let sources = Sources { host: 0, reads: bits::lowest(operation.reads.into()), delayed: operation.method == Method::Rmw };
        self.inner.push_parity_program(&stripe.row, sources, wave);
        Step::Last
    }

    // ---- commits ----

    /// Brings the parity to flash; without space for it, NVRAM is made to cover the whole stripe (widen). Fails if either would cost what is lost and
    /// recoverable: then the entry stays, and the collector moves the bases.
    fn commit(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let row = &stripe.row;
        if outcomes.unplaced != 0 {
            // The stripe goes without a parity, unless something that is lost needs one. The collector can do otherwise.
            let goes_without = stripe.lost.current == 0 && operation.commit != CommitCause::Collection;
            return if goes_without { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        if operation.step == 0 {
            if stripe.associated == 0 {
                return Step::Nothing;
            }
            let sum = stripe.commit();
            if !stripe.can_be_covered(0, sum.is_some()) {
                return Step::Failed(Failure::NoSpace);
            }
            let Some(sum) = sum else {
                wave.changes.push(Change::Lose(row.parity()));
                self.release(operation, stripe, wave);
                return Step::Done;
            };
            self.push_reads(&sum, Cause::Commit, stripe, view, wave);
            wave.operations.iter_mut().for_each(|read| read.host_waits = false);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        operation.step += 1;
        let sources = Sources { host: 0, reads: bits::lowest(operation.reads.into()), delayed: true };
        let is_widened = !Self::has_space_for_parity(operation, row);
        let counted = if is_widened { &mut self.counts.widened } else { &mut self.counts.commits[operation.commit as usize] };
        counted.count(operation.reads);
        if is_widened {
            wave.changes.push(Change::Delay(row.parity(), sources));
            self.release_bases(operation, row, wave);
            self.set_next(operation, stripe.all, 0);
            return Step::Done;
        }
        self.committed += 1;
        self.release(operation, stripe, wave);
        wave.operations.push(PageOperation { host_waits: false, sources, ..self.inner.whole_program(row.parity(), Cause::Commit, 0) });
        Step::Last
    }

    // ---- repair ----

    /// What to do first for a stripe after failures; the rest is left to further repairs. `has_place` tells where pages can be programmed.
    fn first_aid(stripe: &Stripe, has_place: impl Fn(MemberPage) -> bool) -> Aid {
        let mut is_short = false;
        let mut place = |strips: u64, parity: bool| {
            let mut pages = Bits(strips).map(|strip| stripe.row.data(strip)).chain(parity.then(|| stripe.row.parity()));
            let has_all = pages.all(&has_place);
            is_short |= !has_all;
            has_all
        };
        let guarded = stripe.lost.current & stripe.associated;
        let is_parity_weak = stripe.lost.base != 0 || stripe.lost.parity;
        let can_commit = stripe.lost.current & !stripe.associated == 0 && guarded.count_ones() <= 1;
        if is_parity_weak && can_commit && place(guarded, true) {
            return Aid::Commit;
        }
        let mut computable = Bits(stripe.lost.current).filter(|strip| stripe.newest(*strip).is_some());
        match computable.find(|strip| place(1 << strip, false)) {
            Some(strip) => Aid::Compute(strip),
            None if is_short => Aid::NoRoom,
            None => Aid::None,
        }
    }

    fn step_repair(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        if operation.step == 0 {
            let space = operation.space;
            match Self::first_aid(stripe, |page| space >> page.member.0 & 1 == 1) {
                Aid::None | Aid::NoRoom => return Step::Nothing, // a write has done it meanwhile, or more has failed
                Aid::Commit => {
                    operation.method = Method::Rcw;
                    operation.restored = stripe.lost.current;
                    let others = Sum { current: stripe.all & !stripe.associated, ..Sum::default() };
                    let parity = self.push_reads(&others, Cause::Rebuild, stripe, view, wave);
                    for strip in Bits(operation.restored) {
                        self.push_reads(&stripe.others(strip), Cause::Rebuild, stripe, view, wave);
                    }
                    operation.update_reads = wave.operations.len() as u8 - parity.count_ones() as u8;
                }
                Aid::Compute(strip) => {
                    operation.restored = 1 << strip;
                    self.push_reads(&stripe.others(strip), Cause::Rebuild, stripe, view, wave);
                }
            }
            if !wave.operations.is_empty() {
                wave.operations.iter_mut().for_each(|read| read.host_waits = false);
                return waits_for_reads(operation, wave);
            }
        }
        operation.step += 1;
        let mut own = bits::lowest(operation.reads.into());
        if operation.method == Method::Rcw {
            // The reads for the restored strip come last.
            let reads = bits::lowest(u32::from(operation.reads - operation.update_reads));
            own &= !reads;
            let sources = Sources { host: 0, reads, delayed: stripe.associated != 0 };
            self.push_rebuilt(stripe.row.parity(), sources, wave);
            if stripe.associated != 0 {
                self.counts.commits[CommitCause::Rebuild as usize].count(operation.reads);
                self.committed += 1;
            }
            self.release(operation, stripe, wave);
        }
        for strip in Bits(operation.restored) {
            let delayed = stripe.associated >> strip & 1 == 1;
            self.push_rebuilt(stripe.row.data(strip), Sources { host: 0, reads: own, delayed }, wave);
        }
        Step::Last
    }

    fn push_rebuilt(&self, page: MemberPage, sources: Sources, wave: &mut Wave) {
        let program = self.inner.whole_program(page, Cause::Rebuild, 0);
        wave.operations.push(PageOperation { host_waits: false, sources, ..program });
    }

    /// An operation that had its stripe has ended, or failed.
    fn settle(&mut self, operation: &Operation, has_failed: bool) {
        if matches!(operation.kind, OperationKind::Read | OperationKind::Job) {
            return;
        }
        if self.is_update(operation) {
            self.cache.ended(operation.stripe);
        }
        let durable = self.durable(operation.stripe);
        let made = std::mem::take(&mut durable.making);
        let before = *durable;
        if !has_failed {
            (durable.associated, durable.bases) = (before.next_associated, before.next_bases);
        }
        let after = *durable;
        self.making -= made;
        let strips = |of: Durable| (of.associated.into(), of.bases.into());
        self.counts.moved(strips(before), strips(after));
        debug_assert!(self.counts.entries + u64::from(self.making) <= self.counts.most_entries);
        // The collector or a repair may have intervened, without a decision.
        if !has_failed && matches!(operation.kind, OperationKind::Commit | OperationKind::Repair) {
            match after.associated {
                0 => self.cache.committed(operation.stripe),
                _ if after.associated != before.associated => self.cache.widened(operation.stripe),
                _ => {}
            }
        }
    }
}

/// What a repair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aid {
    /// Nothing: there is nothing lost, or nothing that can be brought back.
    None,
    /// Nothing, for want of room.
    NoRoom,
    /// Makes the parity anew, and with it the associated strip that is lost, if there is one: of a stripe that has lost its parity or a base,
    /// so that strips that are not associated have nothing to be recovered from.
    Commit,
    /// Computes the strip.
    Compute(u32),
}

impl<R: Rule> Guardian for Delayed<R> {
    fn rule(&self, address: MemberPage) -> Ruling {
        let stripe = self.inner.layout().stripe_at(address.page);
        if self.stripes[stripe.0 as usize].bases == 0 { Ruling::Move } else { self.rule.ruling() }
    }
}

impl<R: Rule> Scheme for Delayed<R> {
    fn user_pages(&self) -> u64 {
        self.inner.user_pages()
    }

    fn width(&self) -> u32 {
        self.inner.width()
    }

    fn stripes(&self) -> u32 {
        self.inner.stripes()
    }

    /// SPEC 4.2: the map names the parity's physical page too (PPPN); the hash of old pages, of which each entry can have one a data strip, two
    /// addresses of 32 bits each; and the cache, M (log2 I + N + W) bits for M entries, I stripes, N data strips, and pages of W bits.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let mut tables = vec![("page_map", 4 * mapped_pages)];
        let old_pages = 8 * self.counts.most_entries * u64::from(self.width());
        tables.extend((self.rule.ruling() != Ruling::Free).then_some(("old_page_hash", old_pages)));
        tables
    }

    /// An entry of the cache holds the stripe's number, a bit for each strip, and a page.
    fn nvram(&self) -> Vec<(&'static str, u64)> {
        let stripe_bits = u64::from(u32::BITS - (self.stripes() - 1).leading_zeros());
        let entry_bits = stripe_bits + u64::from(self.width()) + 8 * u64::from(self.page_bytes);
        vec![("parity_cache", (self.counts.most_entries * entry_bits).div_ceil(8))]
    }

    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (operation, pages) = self.inner.cut(extent);
        match extent.op {
            HostOp::Write => self.decide_write(operation, decisions),
            HostOp::Trim => self.decide_trim(operation, decisions),
            _ => decisions.operations.push(operation),
        }
        pages
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        let operation = self.inner.cut_group(group);
        self.decide_write(operation, decisions);
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.stripe(operation, view);
        if operation.step == 0 && operation.kind != OperationKind::Read {
            let bases = self.durable(operation.stripe).bases;
            self.set_next(operation, stripe.associated, bases.into());
        }
        match operation.kind {
            OperationKind::Read => self.read(operation, &stripe, view, wave),
            OperationKind::Write => self.write(operation, outcomes, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, outcomes, &stripe, view, wave),
            OperationKind::Commit => self.commit(operation, outcomes, &stripe, view, wave),
            OperationKind::Repair => self.step_repair(operation, outcomes, &stripe, view, wave),
            OperationKind::Job => unreachable!("this scheme gives no job any work"),
        }
    }

    fn ended(&mut self, operation: &Operation) {
        let row = self.inner.layout().row(operation.stripe);
        if operation.kind == OperationKind::Write && Self::has_space_for_parity(operation, &row) {
            self.cache.filled(operation.stripe, operation.strips);
        }
        self.settle(operation, false);
    }

    fn failed(&mut self, operation: &Operation) {
        self.settle(operation, true);
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        self.inner.fill(index)
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        self.inner.locate(lpn)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.inner.stripe_of(lpn)
    }

    fn parity_of(&self, lpn: Lpn) -> Option<MemberPage> {
        self.inner.parity_of(lpn)
    }

    fn prefetch(&self, lpn: Lpn) {
        let stripe = self.stripe_of(lpn);
        self.cache.prefetch(stripe);
        prefetch(&self.stripes, stripe.0 as usize);
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        self.inner.redundancy_of(lpn, pages);
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let (stripe, index) = self.inner.layout().position(lpn);
        let row = self.inner.layout().row(stripe);
        let stripe = Stripe { row, all: self.inner.all_strips(), associated: self.associated(stripe), lost: Losses::default() };
        let sum = stripe.others(index);
        sources.clear();
        sources.extend(sum.versions(row));
        let is_whole = sources.iter().all(|(page, version)| !lost(*page, *version));
        sources.extend(sum.delayed.then(|| (row.parity(), Version::Delayed)));
        is_whole
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() {
            return Damage::None;
        }
        match Self::first_aid(&self.whole_stripe(stripe, view), |page| view.has_room(page)) {
            Aid::None => Damage::None,
            Aid::NoRoom => Damage::NoRoom,
            Aid::Commit | Aid::Compute(_) => Damage::Compute,
        }
    }

    fn repair(&self, number: StripeId, view: &dyn View) -> Operation {
        let stripe = self.whole_stripe(number, view);
        let mut aid = Self::first_aid(&stripe, |page| view.has_room(page));
        if aid == Aid::NoRoom {
            aid = Self::first_aid(&stripe, |_| true);
        }
        let space = match aid {
            Aid::Commit => 1 << stripe.row.parity().member.0 | parity::members(stripe.lost.current, &stripe.row),
            Aid::Compute(strip) => 1 << stripe.row.data(strip).member.0,
            Aid::None | Aid::NoRoom => unreachable!("only damaged stripes are repaired"),
        };
        Operation::background(OperationKind::Repair, number, stripe.row.page(), self.inner.layout().first(number), space)
    }

    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn prepared(&mut self) {
        self.counts.begin();
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates { committed: self.committed, ..self.inner.parity_updates() }
    }

    fn commit_for_collection(&mut self, address: MemberPage, has_room: bool) -> Option<Operation> {
        let stripe = self.inner.layout().stripe_at(address.page);
        if self.associated(stripe) == 0 {
            return None;
        }
        let commit = self.inner.commit(stripe);
        Some(Operation { commit: CommitCause::Collection, space: if has_room { commit.space } else { 0 }, ..commit })
    }

    fn commit_cost(&self, address: MemberPage) -> (u32, u32) {
        let layout = self.inner.layout();
        let stripe = layout.stripe_at(address.page);
        debug_assert_ne!(layout.row(stripe).role(address.member), Role::Parity, "a parity has no base");
        let durable = || ParityCache::commit_reads(self.width(), self.associated(stripe).count_ones());
        (self.cache.reads_to_commit(stripe).unwrap_or_else(durable), 1)
    }

    fn moves_bases(&self) -> bool {
        self.rule.ruling() == Ruling::Move
    }

    fn drain(&mut self) -> Option<Operation> {
        let stripe = self.cache.take_oldest()?;
        Some(Operation { commit: CommitCause::Shutdown, ..self.inner.commit(stripe) })
    }

    fn parity_cache_lost(&mut self, view: &dyn View, changes: &mut Vec<Change>) {
        for number in 0..self.stripes() {
            let row = self.inner.layout().row(StripeId(number));
            let durable = &mut self.stripes[number as usize];
            if durable.associated != 0 {
                changes.extend(Bits(durable.bases.into()).map(|strip| Change::ReleaseBase(row.data(strip))));
                changes.push(Change::ReleaseDelayed(row.parity()));
                (durable.associated, durable.bases) = (0, 0);
            }
            let is_written = |page| view.is_written(page, Version::Current);
            if is_written(row.parity()) || Bits(self.inner.all_strips()).any(|strip| is_written(row.data(strip))) {
                changes.push(Change::Lose(row.parity()));
            }
        }
        (self.counts.entries, self.counts.old_pages) = (0, 0);
        self.cache.lost();
    }

    fn guard(&self) -> Option<GuardCounts> {
        Some(self.counts)
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
