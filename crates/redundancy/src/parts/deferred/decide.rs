//! Which stripes have entries (SPEC 4.2, 4.4): updates claim their places when they are about to start, or when they are decided.

use super::{DeferredParity, Rule};
use crate::stripe_map::{Row, StripeMap};
use crate::{Claim, Decisions, Operation, OperationKind};
use flashraid_vocabulary::View;

impl<M: StripeMap, R: Rule> DeferredParity<M, R> {
    /// Claims a place for an update, and counts it. Returns the victim's commit, if there is a victim, or `None` if there is no place.
    fn claim_place(&mut self, operation: &mut Operation, strips: u64, may_evict: bool) -> Option<Option<Operation>> {
        let width = self.raid.map().row(operation.stripe).width();
        let update = self.cache.claim(operation.stripe, width, strips, may_evict)?;
        operation.is_placed = true;
        self.counts.hits += u64::from(update.is_hit);
        self.counts.misses += u64::from(!update.is_hit);
        Some(update.victim.map(|victim| self.raid.commit(victim)))
    }

    /// Decides an update, with its place and the commit that it requires where places follow from the order of requests.
    fn decide_update(&mut self, mut operation: Operation, strips: u64, decisions: &mut Decisions) {
        if self.cache.evicts_locked() {
            let commit = self.claim_place(&mut operation, strips, true).expect("nothing counts as locked");
            if let Some(commit) = commit {
                decisions.operations.push(commit);
                operation.requires = Some(decisions.operations.len() as u16 - 1);
            }
        }
        decisions.operations.push(operation);
    }

    pub(super) fn decide_write(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        operation.space &= !self.raid.map().row(operation.stripe).parity_bit();
        self.cache.write(operation.stripe, operation.strips);
        self.decide_update(operation, operation.strips, decisions);
    }

    /// A trim that puts off no parity keeps its space for one, unless it is of the whole stripe: there may be strips that nobody decided to write.
    pub(super) fn decide_trim(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        match self.cache.trim(operation.stripe, operation.strips) {
            0 => decisions.operations.push(operation),
            dropped => {
                operation.space = 0;
                self.decide_update(operation, dropped, decisions);
            }
        }
    }

    /// An update that was decided without its place claims it.
    pub(super) fn claim_late(&mut self, operation: &mut Operation, may_evict: bool, view: &dyn View) -> Claim {
        if operation.is_placed || !self.is_update(operation) {
            return Claim::Granted;
        }
        let strips = match operation.kind {
            OperationKind::Trim => self.raid.written(&self.raid.map().row(operation.stripe), operation.strips, view),
            _ => operation.strips,
        };
        if strips == 0 {
            return Claim::Granted; // what it was to drop was never written
        }
        self.house();
        if self.associated(operation.stripe) != 0 && !self.cache.has_place(operation.stripe) {
            return Claim::Wait; // its commit has not ended, or has failed
        }
        match self.claim_place(operation, strips, may_evict) {
            Some(None) => Claim::Granted,
            Some(Some(commit)) if self.commits_first => Claim::Behind(commit),
            Some(Some(commit)) => Claim::After(commit),
            None => Claim::Wait,
        }
    }

    /// Whether an operation was decided as an update of an entry.
    pub(super) fn is_update(&self, operation: &Operation) -> bool {
        let row = self.raid.map().row(operation.stripe);
        let has_space = Self::has_space_for_parity(operation, &row);
        match operation.kind {
            OperationKind::Write => !has_space,
            OperationKind::Trim => !has_space && operation.strips != row.all(),
            _ => false,
        }
    }
}
