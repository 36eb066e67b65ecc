//! Operations that move strips of a stripe to other members (SPEC 5.6): updates on their way, and copies in idle time.
//!
//! Reads find strips where they are, in the stripe's row; programs go where they will be, in its goal. All new copies are programmed before the map is
//! switched, in the instant in which the operation ends; then what lies on members without a strip of the stripe is garbage. A strip that moves and is
//! not written anew is read and programmed as it is; an unwritten strip moves with the row alone.
//!
//! After failures: a strip that moves and is lost is not copied, so the operation does nothing (`Step::Nothing`) and is to be repeated after its repair. An
//! update is never held up by that: whoever chooses goals moves no lost strip with an update.

use crate::parts::bits::{self, Bits};
use crate::parts::raid::{Raid, end_without, waits_for_reads};
use crate::parts::stripe::Stripe;
use crate::parts::update::Chosen;
use crate::stripe_map::{Row, StripeMap};
use crate::{Failure, Method, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::{Cause, Change, MemberPage, Sources, Version, View, Wave};

/// A stripe whose strips move.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a, R> {
    /// As it is.
    pub stripe: &'a Stripe<R>,
    /// Where its strips will lie.
    pub goal: &'a R,
}

/// Data strips that lie elsewhere in `goal`.
pub fn moved<R: Row>(row: &R, goal: &R) -> u64 {
    bits::of(Bits(row.all()).filter(|strip| row.data(*strip) != goal.data(*strip)))
}

impl<M: StripeMap> Raid<M> {
    /// Members on which an operation that moves strips of `row` to `goal` programs: those of what changes, and of what moves.
    pub fn space_of_move(&self, operation: &Operation, row: &M::Row, goal: &M::Row) -> u64 {
        let changed = if operation.kind == OperationKind::Write { operation.strips } else { 0 };
        let trimmed = if operation.kind == OperationKind::Trim { operation.strips } else { 0 };
        let has_parity = operation.kind != OperationKind::Migrate || row.parity() != goal.parity();
        let parity = if has_parity { goal.parity_bit() } else { 0 };
        parity | goal.members(changed | moved(row, goal) & !trimmed)
    }

    /// Plans the next wave of a write, a trim or a copy in idle time that leaves the stripe's strips at their goal. `choose` as in `plan`.
    pub fn plan_move(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        moving: Moving<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let Moving { stripe, goal } = moving;
        let is_copy = operation.kind == OperationKind::Migrate;
        if outcomes.unallocated != 0 {
            return match is_copy {
                true => Step::Failed(Failure::NoSpace),
                false => end_without(operation, outcomes.unallocated, &Stripe { row: *goal, ..*stripe }),
            };
        }
        let row = &stripe.row;
        let changed = match operation.kind {
            OperationKind::Write => operation.strips,
            OperationKind::Trim => self.written(row, operation.strips, view),
            _ => 0,
        };
        let merged = if operation.kind == OperationKind::Write { self.merged(operation, row, view) } else { 0 };
        if operation.step == 0 {
            if operation.kind == OperationKind::Trim
                && let Some(step) = self.trim_all(operation, changed, stripe, view, wave)
            {
                return step;
            }
            if !stripe.has_newest(merged) {
                return Step::Failed(Failure::Lost);
            }
            operation.restored = self.written(row, moved(row, goal) & !operation.strips, view);
            if is_copy && (operation.restored & stripe.lost.current != 0 || moves_parity(row, goal) && stripe.lost.parity) {
                return Step::Nothing;
            }
            debug_assert!(operation.restored & stripe.lost.current == 0, "a lost strip moves with an update: {operation:?}");
            if !is_copy {
                choose(changed).apply(operation, changed, stripe);
                self.push_pre_reads(operation.method, changed, merged, stripe, view, wave);
            }
            let sources = wave.operations.len();
            self.push_update_reads(merged, stripe, view, wave);
            self.push_move_reads(operation, row, goal, view, wave);
            operation.update_reads = (wave.operations.len() - sources) as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.count(operation);
        self.push_moved_programs(operation, changed, merged, moving, view, wave);
        operation.step += 1;
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    /// Reads of what moves as it is, one behind the other, but that a pre-read of it serves.
    fn push_move_reads(&self, operation: &mut Operation, row: &M::Row, goal: &M::Row, view: &dyn View, wave: &mut Wave) {
        let is_copy = operation.kind == OperationKind::Migrate;
        debug_assert!(is_copy || operation.restored.count_ones() <= 1, "an update moves one other strip at most");
        operation.first_moved = wave.operations.len() as u8;
        for strip in Bits(operation.restored) {
            let index = self.push_read(row.data(strip), Version::Current, Cause::Migration, wave);
            if !is_copy {
                operation.first_moved = index as u8;
            }
        }
        if is_copy && moves_parity(row, goal) && view.is_written(row.parity(), Version::Current) {
            self.push_read(row.parity(), Version::Current, Cause::Migration, wave);
        }
    }

    /// The last wave: programs of what changes and of what moves, and the end of what lies where nothing is any more.
    fn push_moved_programs(
        &self,
        operation: &Operation,
        changed: u64,
        merged: u64,
        moving: Moving<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) {
        let Moving { stripe: Stripe { row, .. }, goal } = moving;
        let is_copy = operation.kind == OperationKind::Migrate;
        let host = if operation.kind == OperationKind::Write { operation.strips } else { 0 };
        if host != 0 {
            self.push_data_programs(operation, operation.strips, merged, goal, wave);
        }
        let mut read = operation.first_moved;
        for strip in Bits(operation.restored) {
            wave.operations.push(self.whole_program(goal.data(strip), Cause::Migration, 1 << read));
            read += 1;
        }
        let mut programmed = goal.members(host | operation.restored);
        if is_copy {
            // Of what was to be copied, the parity is the last that was read.
            if read < operation.reads {
                wave.operations.push(self.whole_program(goal.parity(), Cause::Migration, 1 << read));
                programmed |= goal.parity_bit();
            }
        } else if operation.method == Method::None {
            wave.changes.push(Change::Lose(goal.parity()));
            programmed |= goal.parity_bit();
        } else {
            let reads = operation.reads_before_update_reads();
            self.push_parity_program(goal, Sources { host, reads, ..Sources::default() }, wave);
            programmed |= goal.parity_bit();
        }
        let trimmed = changed & !host;
        let is_stale = |page: &MemberPage, is_gone: bool| {
            let bit = 1u64 << page.member.0;
            programmed & bit == 0 && (is_gone || goal.role(page.member).is_none()) && view.is_written(*page, Version::Current)
        };
        let data = Bits(row.all()).map(|strip| (row.data(strip), trimmed >> strip & 1 == 1 || row.data(strip) != goal.data(strip)));
        let stale = data.chain([(row.parity(), moves_parity(row, goal))]).filter(|(page, is_gone)| is_stale(page, *is_gone));
        wave.changes.extend(stale.map(|(page, _)| Change::Unmap(page)));
    }
}

fn moves_parity<R: Row>(row: &R, goal: &R) -> bool {
    row.parity() != goal.parity()
}
