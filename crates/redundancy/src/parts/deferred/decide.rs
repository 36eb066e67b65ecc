//! Decisions: which stripes have entries, in the order of requests (SPEC 4.2, 4.4).

use super::{DeferredParity, Rule};
use crate::parts::parity_cache::Update;
use crate::stripe_map::{Row, StripeMap};
use crate::{Decisions, Operation, OperationKind};

impl<M: StripeMap, R: Rule> DeferredParity<M, R> {
    /// Counts an update of a stripe, and frees space for its entry. Returns the operation that it requires.
    fn decide_update(&mut self, update: Update, decisions: &mut Decisions) -> Option<u16> {
        self.counts.hits += u64::from(update.is_hit);
        self.counts.misses += u64::from(!update.is_hit);
        let commit = self.raid.commit(update.victim?);
        decisions.operations.push(commit);
        Some(decisions.operations.len() as u16 - 1)
    }

    pub(super) fn decide_write(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        let row = self.raid.map().row(operation.stripe);
        operation.space &= !row.parity_bit();
        let update = self.cache.write(operation.stripe, row.width(), operation.strips);
        operation.requires = self.decide_update(update, decisions);
        decisions.operations.push(operation);
    }

    /// A trim that puts off no parity keeps its space for one, unless it is of the whole stripe: there may be strips that nobody decided to write.
    pub(super) fn decide_trim(&mut self, mut operation: Operation, decisions: &mut Decisions) {
        let width = self.raid.map().row(operation.stripe).width();
        if let Some(update) = self.cache.trim(operation.stripe, width, operation.strips) {
            operation.space = 0;
            operation.requires = self.decide_update(update, decisions);
        }
        decisions.operations.push(operation);
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
