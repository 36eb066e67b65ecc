//! Flash-aware redundancy array (FRA): deferred parity, written in idle time, without NVRAM.
//!
//! Idea: a write programs only its data and queues its stripe. When the stripe's members are idle, the parity is recomputed from all
//! strips. A second address in the map entry of each changed page records the version that the old parity covers, and thereby that the parity is out of
//! date. This saves pre-reads, and parity programs for pages that are soon overwritten. The overhead is safety: until the parity is written nothing guards
//! a changed strip, and as the recorded versions are garbage to GC, the old parity no longer protects the other strips once one of them is erased.
//! Source: Y. Lee, S. Jung, Y. H. Song, "FRA: A Flash-Aware Redundancy Array of Flash Storage Devices", CODES+ISSS 2009, as the PPC paper describes
//! it (S. Im, D. Shin, IEEE Transactions on Computers 60(1), 2011, section 3.3). Rules: SPEC 4.6.
//! Departures: what the sources leave open. The oldest queued stripe is next, and waits only for its own members. A stripe with a lost page waits for its
//! repair or its next write. A write fails if the allocation of one of its pages fails, as there is no parity that could hold the data (in SPEC 0.6 there is).

use crate::parts::bits::{self, Bits};
use crate::parts::raid::{Raid, waits_for_reads};
use crate::parts::repair;
use crate::parts::stripe::{Guard, Stripe};
use crate::stripe_map::formula::{Formula, Layout};
use crate::stripe_map::{Role, Row, StripeMap};
use crate::{
    Addressed, Addressing, Bases, Build, CommitCause, Damage, Decisions, Deferring, Entry, Extent, Failure, Group, GuardCounts, IdleWork,
    Lost, Members, Method, Operation, OperationKind, Outcomes, ParameterError, ParityUpdates, Protects, Recovery, Redundancy, Scheme,
    Source, Step, WorksWhenIdle,
};
use bytemuck::Zeroable;
use flashraid_vocabulary::array::Array;
use flashraid_vocabulary::{
    Change, GcAdvisor, HostOp, Lpn, MemberPage, SemivalidAction, StripeId, Version, View, Wave, memory, persistent, prefetch,
};
use std::collections::VecDeque;

/// FRA.
pub const ENTRY: Entry = Entry {
    name: "fra",
    title: "FRA (parity in idle time)",
    about: "RAID-5 with deferred parity and without NVRAM: parities are written in idle time. Overhead: one member's capacity, and an exposure \
            window: data written since the last parity update are lost if their chip fails.",
    protects: Protects::Member,
    has_window: true,
    redundancy: Redundancy::Parity,
    members: Members::from(3),
    bases: Some(Bases::Always(SemivalidAction::Free)),
    parameters: &[&[Layout::PARAMETER]],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    Ok(Box::new(Fra::new(Formula::on_device(build)?, build.page_bytes)))
}

/// The recorded state of a stripe; `next` is its state after the operation that holds the stripe.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable)]
struct Notes {
    /// Strips that have changed since the parity was computed.
    changed: u64,
    /// Those of them whose version covered by the parity still exists.
    noted: u64,
    next_changed: u64,
    next_noted: u64,
    /// A version that the parity covers was erased, so the parity is useless.
    is_void: bool,
    is_queued: bool,
}

persistent!(Notes { keeps [changed, noted, next_changed, next_noted, is_void, is_queued], });

/// RAID-5 with parities written in idle time.
#[derive(Clone, Debug)]
pub struct Fra<M> {
    raid: Raid<M>,
    stripes: Array<Notes>,
    /// Stripes whose parity is out of date, oldest first.
    queue: VecDeque<StripeId>,
    counts: GuardCounts,
}

persistent!(Fra<M> where [M: StripeMap] {
    keeps [raid, queue, counts],
    arrays [stripes],
});

impl<M: StripeMap> Fra<M> {
    /// FRA over the stripes of `map`.
    pub fn new(map: M, page_bytes: u32) -> Self {
        let stripes = map.stripes() as usize;
        Self {
            stripes: Array::zeroed(stripes),
            queue: memory::reserved(stripes).into(),
            raid: Raid::new(map, page_bytes),
            counts: GuardCounts::default(),
        }
    }

    fn notes(&mut self, stripe: StripeId) -> &mut Notes {
        &mut self.stripes[stripe.0 as usize]
    }

    /// The stripe of an operation: changed strips are dirty and have no guard.
    fn stripe(&self, operation: &Operation, view: &dyn View) -> Stripe<M::Row> {
        let Notes { changed, is_void, .. } = self.stripes[operation.stripe.0 as usize];
        Stripe { is_void, ..self.raid.stripe(operation, changed, Guard::None, view) }
    }

    fn whole_stripe(&self, number: StripeId, view: &dyn View) -> Stripe<M::Row> {
        let Notes { changed, is_void, .. } = self.stripes[number.0 as usize];
        Stripe { is_void, ..self.raid.whole_stripe(number, changed, Guard::None, view) }
    }

    fn write(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        if operation.space & stripe.row.parity_bit() != 0 {
            return self.raid.plan(operation, outcomes, stripe, |_| Method::FullStripe.into(), view, wave); // the fill
        }
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        let merged = self.raid.merged(operation, &stripe.row, view);
        if operation.step == 0 {
            if !stripe.has_newest(merged) {
                return Step::Failed(Failure::Lost);
            }
            self.raid.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = wave.operations.len() as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        operation.method = Method::Deferred;
        self.raid.count(operation);
        self.raid.push_data_programs(operation, operation.strips, merged, &stripe.row, wave);
        let noted = self.note(operation, operation.strips, stripe, view);
        for (strip, program) in Bits(operation.strips).zip(&mut wave.operations) {
            program.keep_base = noted >> strip & 1 == 1;
        }
        operation.step += 1;
        Step::Last
    }

    /// Records a change of these strips: the parity then covers their old versions, if it covered the current ones. Returns the strips whose current version it covered.
    fn note(&mut self, operation: &Operation, strips: u64, stripe: &Stripe<M::Row>, view: &dyn View) -> u64 {
        let covered = self.raid.written(&stripe.row, strips & !stripe.dirty, view);
        let notes = self.notes(operation.stripe);
        notes.next_changed |= strips;
        notes.next_noted |= covered;
        covered
    }

    fn trim(&mut self, operation: &Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let row = &stripe.row;
        let dropped = self.raid.written(row, operation.strips, view);
        if let Some(step) = self.raid.trim_all(operation, dropped, stripe, view, wave) {
            if step == Step::Done {
                self.forget(operation, stripe, wave);
            }
            return step;
        }
        let covered = self.note(operation, dropped, stripe, view);
        wave.changes.extend(Bits(covered).map(|strip| Change::Retire(row.data(strip))));
        wave.changes.extend(Bits(dropped & !covered).map(|strip| Change::Unmap(row.data(strip))));
        Step::Done
    }

    /// When the operation ends, the parity covers the newest versions, or nothing is left to cover.
    fn forget(&mut self, operation: &Operation, stripe: &Stripe<M::Row>, wave: &mut Wave) {
        let notes = self.notes(operation.stripe);
        (notes.next_changed, notes.next_noted) = (0, 0);
        wave.changes.extend(Bits(notes.noted).map(|strip| Change::ReleaseBase(stripe.row.data(strip))));
    }

    /// Computes and programs the parity of the newest versions.
    fn commit(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        if operation.step == 0 && (stripe.dirty == 0 || stripe.lost.current != 0) {
            return Step::Nothing;
        }
        let step = self.raid.plan_commit(operation, stripe, view, wave);
        if step == Step::Last {
            self.counts.commits[operation.commit as usize].count(operation.reads);
            self.raid.count_commit(false);
            self.forget(operation, stripe, wave);
        }
        step
    }

    /// An operation that held its stripe has ended.
    fn settle(&mut self, operation: &Operation) {
        let notes = self.notes(operation.stripe);
        let before = *notes;
        (notes.changed, notes.noted) = (before.next_changed, before.next_noted);
        notes.is_void &= notes.changed != 0;
        let is_new = notes.changed != 0 && !before.is_queued && operation.kind != OperationKind::Commit;
        notes.is_queued |= is_new;
        let after = *notes;
        if is_new {
            self.queue.push_back(operation.stripe);
        }
        let counts = &mut self.counts;
        if matches!(operation.kind, OperationKind::Write | OperationKind::Trim) && after.changed != 0 {
            counts.hits += u64::from(before.changed != 0);
            counts.misses += u64::from(before.changed == 0);
        }
        counts.moved((before.changed, before.noted), (after.changed, after.noted));
    }

    /// Takes a stripe from the front of the queue, if it is still out of date.
    fn dequeue(&mut self) -> Option<StripeId> {
        while let Some(stripe) = self.queue.pop_front() {
            let notes = self.notes(stripe);
            notes.is_queued = false;
            if notes.changed != 0 {
                return Some(stripe);
            }
        }
        None
    }
}

impl<M: StripeMap> GcAdvisor for Fra<M> {
    /// A recorded version is garbage.
    fn rule(&self, _address: MemberPage) -> SemivalidAction {
        SemivalidAction::Free
    }
}

impl<M: StripeMap> Addressed for Fra<M> {
    type Addressing = Raid<M>;

    fn addressing(&self) -> &Raid<M> {
        &self.raid
    }

    /// SPEC 4.6: each entry of the map holds a second address.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let mut tables = self.raid.tables(mapped_pages);
        tables.push(("old_page_map", 4 * self.raid.user_pages()));
        tables
    }
}

impl<M: StripeMap> Scheme for Fra<M> {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (mut operation, pages) = self.raid.cut(extent);
        if extent.op != HostOp::Read {
            operation.space &= !self.raid.map().row(operation.stripe).parity_bit();
        }
        decisions.operations.push(operation);
        pages
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        let operation = self.raid.cut_group(group);
        let parity = self.raid.map().row(operation.stripe).parity_bit();
        decisions.operations.push(Operation { space: operation.space & !parity, ..operation });
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.stripe(operation, view);
        if operation.step == 0 && operation.kind != OperationKind::Read {
            let notes = self.notes(operation.stripe);
            (notes.next_changed, notes.next_noted) = (notes.changed, notes.noted);
        }
        match operation.kind {
            OperationKind::Write => self.write(operation, outcomes, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, &stripe, view, wave),
            OperationKind::Commit => self.commit(operation, outcomes, &stripe, view, wave),
            OperationKind::Repair => {
                let (step, makes_parity) = self.raid.plan_repair(operation, outcomes, &stripe, view, wave);
                if makes_parity {
                    self.forget(operation, &stripe, wave);
                }
                step
            }
            OperationKind::Read | OperationKind::Migrate | OperationKind::Job => {
                self.raid.plan(operation, outcomes, &stripe, |_| Method::None.into(), view, wave)
            }
        }
    }

    fn ended(&mut self, operation: &Operation) {
        if !matches!(operation.kind, OperationKind::Read | OperationKind::Job) {
            self.settle(operation);
        }
    }

    fn failed(&mut self, operation: &Operation) {
        let notes = self.notes(operation.stripe);
        if operation.kind == OperationKind::Commit && notes.changed != 0 && !std::mem::replace(&mut notes.is_queued, true) {
            self.queue.push_back(operation.stripe);
        }
    }

    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.stripes, self.raid.stripe_of(lpn).0 as usize);
    }

    fn parity_updates(&self) -> ParityUpdates {
        self.raid.updates()
    }

    fn deferring(&self) -> Option<&dyn Deferring> {
        Some(self)
    }

    fn deferring_mut(&mut self) -> Option<&mut dyn Deferring> {
        Some(self)
    }

    fn when_idle(&mut self) -> Option<&mut dyn WorksWhenIdle> {
        Some(self)
    }
}

impl<M: StripeMap> Recovery for Fra<M> {
    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (number, strip) = self.raid.map().position(lpn);
        let Notes { changed, is_void, .. } = self.stripes[number.0 as usize];
        Stripe { is_void, ..Stripe::new(self.raid.map().row(number), changed, Guard::None) }.recover(strip, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        repair::damage(&self.whole_stripe(stripe, view), view)
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        self.raid.repair(stripe, &self.whole_stripe(stripe, view), view)
    }

    fn has_window(&self) -> bool {
        true
    }

    /// Pages that no parity covers; pages already lost do not count.
    fn exposed(&self, stripe: StripeId, view: &dyn View) -> u64 {
        let Notes { changed, is_void, .. } = self.stripes[stripe.0 as usize];
        let row = self.raid.map().row(stripe);
        let uncovered = if is_void { row.all() } else { changed };
        let written = self.raid.written(&row, uncovered, view);
        bits::of(Bits(written).filter(|strip| !view.is_lost(row.data(*strip), Version::Current)))
    }
}

impl<M: StripeMap> Deferring for Fra<M> {
    fn prepared(&mut self) {
        self.counts.begin();
    }

    fn drain(&mut self) -> Option<Operation> {
        let stripe = self.dequeue()?;
        Some(Operation { commit: CommitCause::Shutdown, ..self.raid.commit(stripe) })
    }

    fn guard(&self) -> Option<GuardCounts> {
        Some(self.counts)
    }

    fn moves_bases(&self) -> bool {
        false
    }

    fn base_erased(&mut self, address: MemberPage) -> Option<StripeId> {
        let stripe = self.raid.map().stripe_of(address);
        if let Some(Role::Data(strip)) = self.raid.map().row(stripe).role(address.member) {
            let notes = self.notes(stripe);
            let was_noted = notes.noted >> strip & 1 == 1;
            notes.noted &= !(1 << strip);
            notes.next_noted &= !(1 << strip);
            notes.is_void |= was_noted;
            self.counts.old_pages -= u64::from(was_noted);
        }
        Some(stripe)
    }
}

impl<M: StripeMap> WorksWhenIdle for Fra<M> {
    fn idle(&mut self, view: &dyn View) -> IdleWork {
        while let Some(&stripe) = self.queue.front() {
            let row = self.raid.map().row(stripe);
            let is_out_of_date = self.stripes[stripe.0 as usize].changed != 0;
            if is_out_of_date && !(view.has_failures() && self.whole_stripe(stripe, view).lost.current != 0) {
                let pages = Bits(row.all()).map(|strip| row.data(strip));
                if !view.can_allocate(row.parity()) || !pages.chain([row.parity()]).all(|page| view.is_idle(page.member)) {
                    return IdleWork::None;
                }
                self.dequeue();
                return IdleWork::Start(Operation { commit: CommitCause::Idle, ..self.raid.commit(stripe) });
            }
            self.queue.pop_front();
            self.notes(stripe).is_queued = false;
        }
        IdleWork::None
    }
}
