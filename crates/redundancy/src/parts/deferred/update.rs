//! Updates: writes and trims that leave the parity to NVRAM (SPEC 4.4, flush; 4.9 item 18, trim).

use super::{DeferredParity, Durable, Next, Rule, can_be_covered};
use crate::parts::bits::{self, Bits};
use crate::parts::raid::waits_for_reads;
use crate::parts::stripe::{Losses, Stripe, Sum};
use crate::stripe_map::{Row, StripeMap};
use crate::{Failure, Method, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::{Cause, Change, Sources, View, Wave};

/// What covers the whole stripe but for `changed`, and how: with what NVRAM holds (`Rmw`) or without (`Rcw`); `None` and nothing if too much is lost.
fn made_anew<R: Row>(stripe: &Stripe<R>, changed: u64) -> (Method, Sum) {
    match Bits(stripe.all() & !changed).try_fold(Sum::default(), |sum, strip| Some(sum ^ stripe.newest(strip)?)) {
        Some(sum) => (if sum.deferred { Method::Rmw } else { Method::Rcw }, sum),
        None => (Method::None, Sum::default()),
    }
}

impl<M: StripeMap, R: Rule> DeferredParity<M, R> {
    /// What an update of `changed` does, `None` if anything would cost what is lost and recoverable. In its first step it decides on the method:
    /// `Deferred` as the scheme says; with something lost, NVRAM is made to cover the whole stripe with what it held (`Rmw`) or without (`Rcw`), or
    /// there is no parity that could be made (`None`).
    fn next(&self, operation: &mut Operation, stripe: &Stripe<M::Row>, changed: u64, view: &dyn View) -> Option<Next> {
        if operation.step == 0 {
            (operation.is_adjusted, operation.deferred_by) = (false, Method::None);
        }
        let mut sum = Sum { deferred: operation.method == Method::Rmw, ..Sum::default() };
        if operation.step == 0 && stripe.lost == Losses::default() {
            operation.method = Method::Deferred;
            let choice = self.rule.choose(stripe, changed, view);
            (operation.deferred_by, operation.is_adjusted) = (choice.method, choice.is_adjusted);
        } else if operation.step == 0 {
            (operation.method, sum) = made_anew(stripe, changed);
            if !can_be_covered(stripe, changed, operation.method != Method::None) {
                operation.deferred_by = self.rule.choose(stripe, changed, view).method;
                let apart = self.rule.next(stripe, changed, operation.deferred_by);
                operation.method = Method::Deferred;
                return stripe.can_read(&apart.sum).then_some(apart);
            }
        }
        if operation.method == Method::Deferred {
            return Some(self.rule.next(stripe, changed, operation.deferred_by));
        }
        let associated = if operation.method == Method::None { 0 } else { stripe.all() };
        Some(Next { sum, reads_parity: false, associated, keeps_bases: false })
    }

    /// Whether there is a place in NVRAM for the entry that the operation makes, if it makes one. If it was to claim one when it started, it has done so, and
    /// ends no earlier than the commit that frees it. If it has claimed one when it was decided there is one unless a commit has failed.
    fn takes_place(&mut self, operation: &Operation, next: &Next) -> bool {
        let has_place = self.counts.entries + u64::from(self.making) < self.counts.most_entries;
        let claims_late = !self.cache.evicts_locked();
        let durable = self.durable(operation.stripe);
        if durable.associated != 0 || next.associated == 0 || durable.making != 0 {
            return true;
        }
        if claims_late {
            return operation.is_placed;
        }
        durable.making = has_place.into();
        self.making += u32::from(has_place);
        has_place
    }

    /// NVRAM holds the next parity of a change of `changed` when the operation ends.
    fn defer(&mut self, operation: &Operation, stripe: &Stripe<M::Row>, changed: u64, next: &Next, view: &dyn View, wave: &mut Wave) {
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
            return self.release(operation, stripe, wave);
        }
        self.raid.count_deferred(operation.is_adjusted);
        let host = if operation.kind == OperationKind::Write { changed } else { 0 };
        // What only serves as old content comes last.
        let reads = operation.reads_before_update_reads();
        wave.changes.push(Change::Defer(stripe.row.parity(), Sources { host, reads, deferred: next.sum.deferred, weights: 0 }));
        let mut bases = u64::from(self.durable(operation.stripe).bases);
        if next.keeps_bases {
            bases |= self.raid.written(&stripe.row, changed & !stripe.dirty, view);
        } else {
            self.release_bases(operation, &stripe.row, wave);
            bases = 0;
        }
        self.set_next(operation, next.associated, bases);
    }

    pub(super) fn write(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if Self::has_space_for_parity(operation, &stripe.row) {
            return self.fill_stripe(operation, stripe, view, wave);
        }
        if outcomes.unallocated != 0 {
            return self.end_without(operation, outcomes.unallocated, stripe);
        }
        let changed = operation.strips;
        let merged = self.raid.merged(operation, &stripe.row, view);
        let Some(next) = self.next(operation, stripe, changed, view) else { return Step::Failed(Failure::NoSpace) };
        if operation.step == 0 {
            if !stripe.has_newest(merged) {
                return Step::Failed(Failure::Lost);
            }
            if !self.takes_place(operation, &next) {
                return Step::Failed(Failure::NoSpace);
            }
            let sources = self.push_pre_reads(&next, stripe, view, wave);
            self.raid.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = (wave.operations.len() - sources) as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.defer(operation, stripe, changed, &next, view, wave);
        self.raid.push_data_programs(operation, operation.strips, merged, &stripe.row, wave);
        // Only what was written when this was planned: a page of zeroes that appears until it ends is no base.
        let bases = self.durable(operation.stripe).next_bases;
        for (strip, program) in Bits(changed).zip(&mut wave.operations) {
            program.keep_base = (u64::from(bases) & !stripe.dirty) >> strip & 1 == 1;
        }
        operation.step += 1;
        Step::Last
    }

    /// A stripe is written with its parity.
    fn fill_stripe(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        debug_assert_eq!(stripe.dirty, 0, "only new stripes are filled");
        self.raid.plan(operation, Outcomes::default(), stripe, |_| Method::FullStripe.into(), view, wave)
    }

    /// How a write ends some of whose programs could not be allocated: without them, if what NVRAM holds then, and the parity, make up for them; else it fails.
    fn end_without(&self, operation: &Operation, unallocated: u64, stripe: &Stripe<M::Row>) -> Step {
        let missing = bits::of(Bits(operation.strips).filter(|strip| unallocated & stripe.row.members(1 << strip) != 0));
        let Durable { next_associated, next_bases, .. } = self.stripes[operation.stripe.0 as usize];
        let lost = Losses {
            current: stripe.lost.current & !operation.strips | missing,
            base: stripe.lost.base & u64::from(next_bases),
            parity: stripe.lost.parity || operation.method == Method::None,
            copy: 0,
        };
        let after = Stripe { dirty: next_associated.into(), lost, ..*stripe };
        if stripe.may_become(&after, operation.strips) { Step::Done } else { Step::Failed(Failure::NoSpace) }
    }

    pub(super) fn trim(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let row = &stripe.row;
        let dropped = self.raid.written(row, operation.strips, view);
        if outcomes.unallocated != 0 {
            // The parity alone is missing.
            return if stripe.lost.current & !dropped == 0 { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        if operation.step == 0
            && let Some(step) = self.raid.trim_all(operation, dropped, stripe, view, wave)
        {
            if step == Step::Done {
                self.release(operation, stripe, wave);
            }
            return step;
        }
        if Self::has_space_for_parity(operation, row) {
            return self.trim_and_commit(operation, dropped, stripe, view, wave);
        }
        // A page of zeroes that appears until the trim ends changes nothing of its plan.
        operation.merge_strips = if operation.step == 0 { dropped } else { operation.merge_strips };
        let planned = operation.merge_strips;
        let Some(next) = self.next(operation, stripe, planned, view) else { return Step::Failed(Failure::NoSpace) };
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
        self.defer(operation, stripe, planned, &next, view, wave);
        // What the parity on flash covers stays.
        let retired = if next.keeps_bases { planned & !stripe.dirty } else { 0 };
        wave.changes.extend(Bits(retired).map(|strip| Change::Retire(row.data(strip))));
        wave.changes.extend(Bits(dropped & !retired).map(|strip| Change::Unmap(row.data(strip))));
        Step::Done
    }

    /// A trim without an entry: the parity is made at once.
    fn trim_and_commit(
        &mut self,
        operation: &mut Operation,
        dropped: u64,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if operation.step == 0 {
            let sum;
            (operation.method, sum) = made_anew(stripe, dropped);
            if !can_be_covered(stripe, dropped, operation.method != Method::None) {
                return Step::Failed(Failure::NoSpace);
            }
            self.raid.push_reads(&sum, Cause::PreRead, stripe, view, wave);
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
        self.raid.count(operation);
        let sources =
            Sources { host: 0, reads: bits::lowest(operation.reads.into()), deferred: operation.method == Method::Rmw, weights: 0 };
        self.raid.push_parity_program(&stripe.row, sources, wave);
        Step::Last
    }
}
