//! Commits: parities that NVRAM holds are brought to flash (SPEC 4.4, commit, widen and rebuild).

use super::{DeferredParity, Rule, can_be_covered};
use crate::parts::bits;
use crate::parts::raid::waits_for_reads;
use crate::parts::stripe::Stripe;
use crate::stripe_map::{Row, StripeMap};
use crate::{CommitCause, Failure, Operation, Outcomes, Step};
use flashraid_vocabulary::{Cause, Change, PageOperation, Sources, View, Wave};

impl<M: StripeMap, R: Rule> DeferredParity<M, R> {
    /// Brings the parity to flash; without space for it, NVRAM is made to cover the whole stripe (widen). Fails if either would cost what is lost and
    /// recoverable: then the entry stays, and GC moves the bases.
    pub(super) fn commit(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let row = &stripe.row;
        if outcomes.unallocated != 0 {
            // The stripe goes without a parity, unless something that is lost needs one. GC can do otherwise.
            let goes_without = stripe.lost.current == 0 && operation.commit != CommitCause::Gc;
            return if goes_without { Step::Done } else { Step::Failed(Failure::NoSpace) };
        }
        if operation.step == 0 {
            if stripe.dirty == 0 {
                return Step::Nothing;
            }
            let made_of = self.rule.commit(stripe, view);
            if !can_be_covered(stripe, 0, made_of.is_some()) {
                return Step::Failed(Failure::NoSpace);
            }
            operation.is_adjusted = made_of.is_some_and(|(_, is_adjusted)| is_adjusted);
            let Some((sum, _)) = made_of else {
                wave.changes.push(Change::Lose(row.parity()));
                self.release(operation, stripe, wave);
                return Step::Done;
            };
            self.raid.push_reads(&sum, Cause::Commit, stripe, view, wave);
            wave.operations.iter_mut().for_each(|read| read.host_waits = false);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        operation.step += 1;
        let sources = Sources { host: 0, reads: bits::lowest(operation.reads.into()), deferred: true, weights: 0 };
        let is_widened = !Self::has_space_for_parity(operation, row);
        let counted = if is_widened { &mut self.counts.widened } else { &mut self.counts.commits[operation.commit as usize] };
        counted.count(operation.reads);
        if is_widened {
            wave.changes.push(Change::Defer(row.parity(), sources));
            self.release_bases(operation, row, wave);
            self.set_next(operation, stripe.all(), 0);
            return Step::Done;
        }
        self.raid.count_commit(operation.is_adjusted);
        self.release(operation, stripe, wave);
        wave.operations.push(PageOperation { host_waits: false, sources, ..self.raid.whole_program(row.parity(), Cause::Commit, 0) });
        Step::Last
    }

    /// Repairs make the parity anew, too.
    pub(super) fn step_repair(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let (step, makes_parity) = self.raid.plan_repair(operation, outcomes, stripe, view, wave);
        if makes_parity {
            if stripe.dirty != 0 {
                self.counts.commits[CommitCause::Rebuild as usize].count(operation.reads);
                self.raid.count_commit(false);
            }
            self.release(operation, stripe, wave);
        }
        step
    }
}
