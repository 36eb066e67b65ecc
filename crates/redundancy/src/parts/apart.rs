//! Partial-stripe writes by their decision point (`parts::decision_point`): the choice, and data that are programmed apart from the parity.

use crate::parts::bits;
use crate::parts::raid::{Raid, end_without, waits_for_reads};
use crate::parts::stripe::Stripe;
use crate::parts::update::Chosen;
use crate::stripe_map::{Row, StripeMap};
use crate::{Failure, Method, Operation, Outcomes, Step};
use flashraid_vocabulary::{Change, Sources, View, Wave};

/// `Operation::step` after the reads of old content that come before the data programs.
const OLD: u8 = 1;
/// `Operation::step` after the data programs, which all were made.
const DATA: u8 = 2;
/// `Operation::step` after all reads.
const READ: u8 = 3;
/// `Operation::step` after the program of the parity.
const PARITY: u8 = 4;

impl<M: StripeMap> Raid<M> {
    /// Chooses the method of a write, unless that was done before the pause for the choice. Returns that pause.
    #[inline(always)]
    pub(super) fn decide_method(
        &self,
        operation: &mut Operation,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
    ) -> Option<Step> {
        let (strips, decision_ns) = (operation.strips, self.point().decision_ns());
        if decision_ns == 0 {
            choose(strips).apply(operation, strips, stripe);
            return None;
        }
        let is_chosen = matches!(operation.method, Method::Rmw | Method::Rcw);
        // Something may have been lost during the pause.
        let choice = if is_chosen { Chosen::of(operation) } else { choose(strips) };
        choice.apply(operation, strips, stripe);
        (!is_chosen && matches!(operation.method, Method::Rmw | Method::Rcw)).then_some(Step::Pause(decision_ns))
    }

    /// Plans the next wave of a partial-stripe write whose data and parity are programmed apart.
    pub(super) fn write_apart(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if operation.step == 0 && !stripe.has_newest(self.merged(operation, &stripe.row, view)) {
            return Step::Failed(Failure::Lost);
        }
        if self.point().is_at_arrival() {
            self.write_at_arrival(operation, outcomes, stripe, choose, view, wave)
        } else {
            self.write_after_data(operation, outcomes, stripe, choose, view, wave)
        }
    }

    fn write_after_data(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let merged = self.merged(operation, &stripe.row, view);
        if operation.step == 0 && merged != 0 {
            self.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = wave.operations.len() as u8;
            return waits_for_reads(operation, wave);
        }
        if operation.step <= OLD {
            self.push_data_programs(operation, operation.strips, merged, &stripe.row, wave);
            operation.step = DATA;
            return Step::Wave;
        }
        if operation.step == DATA {
            if let Some(pause) = self.decide_method(operation, stripe, choose) {
                return pause;
            }
            // What was read as old content is not read twice.
            let changed = operation.strips & if operation.method == Method::Rmw { !merged } else { !0 };
            self.push_pre_reads(operation.method, changed, 0, stripe, view, wave);
            operation.reads += wave.operations.len() as u8;
            operation.step = READ;
            if !wave.operations.is_empty() {
                return Step::Wave;
            }
        }
        // RMW needs the old content, too.
        let is_rmw = operation.method == Method::Rmw;
        let sources = if is_rmw { bits::lowest(u32::from(operation.reads)) } else { operation.reads_after_update_reads() };
        self.end_with_parity(operation, outcomes, sources, stripe, wave)
    }

    fn write_at_arrival(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let merged = self.merged(operation, &stripe.row, view);
        // What may need old content waits for it, whether or not there is any.
        let at_once = operation.strips & !operation.merge_strips;
        if operation.step == 0 {
            if let Some(pause) = self.decide_method(operation, stripe, choose) {
                return pause;
            }
            self.push_reads_of_write(operation, merged, stripe, view, wave);
            operation.reads = wave.operations.len() as u8;
            self.push_data_programs(operation, at_once, merged, &stripe.row, wave);
            wave.overlapped_reads = operation.reads;
            operation.step = READ;
            if !wave.operations.is_empty() {
                return Step::Wave;
            }
        }
        if operation.step == READ {
            self.push_data_programs(operation, operation.strips & !at_once, merged, &stripe.row, wave);
        }
        let sources = operation.reads_before_update_reads();
        self.end_with_parity(operation, outcomes, sources, stripe, wave)
    }

    /// The last wave: the parity of the host's strips and the reads `sources`, beside the data programs that are in the wave already. It must hold what of
    /// the data has found no page: whether it can is asked again when it is there, as something else may have failed by then.
    fn end_with_parity(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        sources: u64,
        stripe: &Stripe<M::Row>,
        wave: &mut Wave,
    ) -> Step {
        if outcomes.unallocated != 0 {
            let step = end_without(operation, outcomes.unallocated, stripe);
            if operation.step == PARITY || step != Step::Done {
                wave.clear();
                return step;
            }
        }
        operation.step = PARITY;
        self.count(operation);
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
        } else {
            self.push_parity_program(&stripe.row, Sources { host: operation.strips, reads: sources, ..Sources::default() }, wave);
        }
        match wave.operations.is_empty() {
            true => Step::Done,
            false if outcomes.unallocated != 0 => Step::Wave,
            false => Step::Last,
        }
    }
}
