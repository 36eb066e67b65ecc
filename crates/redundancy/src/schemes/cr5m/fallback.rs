//! Mirrored writes that turn out to be none: RAID-5's reads and programs follow late (SPEC 1.4, 1.7).

use super::{Cr5m, REFUSED, UNMIRRORED, keeps_others, release, restored};
use crate::parts::bits::Bits;
use crate::parts::stripe::Stripe;
use crate::stripe_map::{Row, StripeMap};
use crate::{Failure, Method, Operation, Outcomes, Step};
use flashraid_vocabulary::{Change, Sources, Version, View, Wave};

impl<M: StripeMap> Cr5m<M> {
    /// MW is refused after its update reads: the pre-reads of RAID-5 follow.
    pub(super) fn refuse(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        operation.step = REFUSED;
        self.push_late_pre_reads(operation, stripe, view, wave);
        if wave.operations.is_empty() { self.program_refused(operation, stripe, view, wave) } else { Step::Wave }
    }

    /// The pre-reads of RAID-5 after waves that were to do without.
    fn push_late_pre_reads(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        self.rule.choose(operation.strips, stripe, view).apply(operation, operation.strips, stripe);
        operation.restored = restored(operation, stripe);
        self.raid.count(operation);
        self.raid.push_pre_reads(operation.method, operation.strips, 0, stripe, view, wave);
        operation.reads += wave.operations.len() as u8;
    }

    /// A mirrored write whose programs did not all find a place. With all copies made it ends: they hold what is missing. Else it is
    /// finished as RMW or RCW (SPEC 1.7, no spare left; 1.10 ruling 22), for which nothing may be missing.
    pub(super) fn unmirror(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if outcomes.unallocated_copies == 0 {
            return Step::Done;
        }
        self.credit.cancel(stripe.row.members(operation.strips));
        self.raid.retract_mirrored();
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        for (strip, page) in Bits(operation.strips).map(|strip| (strip, stripe.row.data(strip))) {
            let is_mirrored = stripe.dirty >> strip & 1 == 1;
            // The programs come before the changes: a strip that was written has a base then, and one that found a place a copy.
            let has_base = view.is_written(page, if is_mirrored { Version::Base } else { Version::Current });
            wave.changes.extend(has_base.then_some(Change::ReleaseBase(page)));
            let has_copy = is_mirrored || outcomes.unallocated_copies >> page.member.0 & 1 == 0;
            wave.changes.extend(has_copy.then_some(Change::ReleaseCopy(page)));
        }
        operation.step = UNMIRRORED;
        self.push_late_pre_reads(operation, stripe, view, wave);
        if wave.operations.is_empty() { self.program_unmirrored(operation, stripe, view, wave) } else { Step::Wave }
    }

    /// The parity of a write whose data are programmed already.
    pub(super) fn program_unmirrored(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        operation.step += 1;
        if !keeps_others(operation.method) {
            release(!operation.strips, stripe, view, wave);
        }
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(stripe.row.parity()));
            return Step::Done;
        }
        let reads = operation.reads_after_update_reads();
        self.raid.push_parity_program(&stripe.row, Sources { host: operation.strips, reads, ..Sources::default() }, wave);
        self.raid.push_restored(operation, operation.update_reads, &stripe.row, wave);
        Step::Last
    }

    pub(super) fn program_refused(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.raid.merged(operation, &stripe.row, view);
        // The update reads came first, and are no source of the parity.
        let sources = operation.reads_after_update_reads();
        self.raid.push_programs(operation, merged, sources, &stripe.row, wave)
    }
}
