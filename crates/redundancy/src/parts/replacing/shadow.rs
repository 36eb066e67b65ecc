//! What stays on an SSD that was replaced, for reads (semi-hybrid RAID, SPEC 5.10).
//!
//! A copy in idle time leaves the page on E as it is, and notes that it equals the one on S. From the end of the replacement on reads may take it there. It is
//! garbage as soon as the strip is written anew, or leaves S. A shadow protects nothing: no recovery looks at it.

use super::state::Shadow;
use super::{Mechanism, ReplacedSsds};
use crate::parts::bits::Bits;
use crate::parts::moves;
use crate::stripe_map::Row;
use crate::stripe_map::StripeMap;
use crate::stripe_map::table::TableRow;
use crate::{Operation, OperationKind, Order};
use flashraid_vocabulary::{Action, Change, Health, MemberId, PageOperation, StripeId, Version, View, Wave};

impl ReplacedSsds {
    fn shadow(&self, member: MemberId) -> Option<&Shadow> {
        self.shadows[usize::from(member.0)].as_ref()
    }

    pub(super) fn open_shadow(&mut self, old: MemberId, new: MemberId) {
        let valid = vec![0; self.raid.map().stripes().div_ceil(64) as usize];
        self.shadows[usize::from(new.0)] = Some(Shadow { old, is_in_use: false, valid });
    }

    /// The replacement of E by this SSD has ended: reads may use what is left on E, if that is to be. Returns whether it is.
    pub(super) fn use_shadow(&mut self, new: MemberId) -> bool {
        let shadow = self.shadows[usize::from(new.0)].as_mut();
        shadow.map(|shadow| shadow.is_in_use = true).is_some()
    }

    /// Forgets the shadow of an SSD of which it does not come to be one.
    pub(super) fn close_shadow(&mut self, new: MemberId) {
        self.shadows[usize::from(new.0)] = None;
    }

    /// Takes the shadow of an SSD out, if it has one.
    pub(super) fn drop_shadow(&mut self, member: MemberId) {
        if let Some(shadow) = self.shadows[usize::from(member.0)].take() {
            self.orders.push_back(Order::Drop(shadow.old));
        }
    }

    /// A shadow that is dead, or whose SSD is, is dropped at once (SPEC 5.6, 5.10).
    pub(super) fn drop_dead_shadows(&mut self, view: &dyn View) {
        for member in (0..self.shadows.len()).map(|member| MemberId(member as u16)) {
            let is_dead = |of: MemberId| view.health(of) == Health::Disabled;
            if self.shadow(member).is_some_and(|shadow| shadow.is_in_use && (is_dead(shadow.old) || is_dead(member))) {
                self.drop_shadow(member);
            }
        }
    }

    /// Lets reads of data go to the shadow: all of them while GC or a replacement keeps the SSD busy, else each where less is queued (SPEC 5.10).
    pub(super) fn read_shadows(&mut self, stripe: StripeId, view: &dyn View, wave: &mut Wave) {
        for read in &mut wave.operations {
            let PageOperation { action, version, address, strip, .. } = *read;
            let is_data = action == Action::Read && version == Version::Current && strip != PageOperation::NO_STRIP;
            let Some(shadow) = self.shadow(address.member).filter(|shadow| is_data && shadow.is_in_use && shadow.is_valid(stripe)) else {
                continue;
            };
            let page = shadow.page(stripe);
            if view.is_lost(page, Version::Current) {
                continue;
            }
            let is_replaced = self.running.is_some_and(|running| [running.old, running.new].contains(&address.member));
            let is_busy = is_replaced || view.is_collecting(address.member);
            if is_busy || view.load_at(page, Version::Current) < view.load_at(address, Version::Current) {
                read.address = page;
                self.migrated.shadow_reads += 1;
            }
        }
    }

    /// Data strips that are written or trimmed, or move: what shadows have of them is out of date when the operation has ended.
    fn outdated(&self, operation: &Operation, row: &TableRow, goal: Option<&TableRow>) -> u64 {
        let changed = match operation.kind {
            OperationKind::Write | OperationKind::Trim => operation.strips,
            _ => 0,
        };
        changed | goal.map_or(0, |goal| moves::moved(row, goal))
    }

    /// Whether the operation leaves the page of a data strip on E as a part of its shadow.
    fn leaves_shadow(&self, operation: &Operation, row: &TableRow, goal: Option<&TableRow>) -> Option<(MemberId, MemberId)> {
        let running = self.running?;
        let is_shadowed = matches!(self.policy.mechanism, Mechanism::HotSwap { semi_hybrid: true, .. }) && !running.is_given_up;
        let is_copied = operation.kind == OperationKind::Migrate && operation.restored != 0 && row.parity().member != running.old;
        let goes_to_new = goal.is_some_and(|goal| row.role(running.old) == goal.role(running.new) && row.role(running.old).is_some());
        (is_shadowed && is_copied && goes_to_new).then_some((running.old, running.new))
    }

    /// Adjusts the changes with which an operation ends: a page of a shadow that is out of date becomes garbage, and a page that becomes part of a
    /// shadow does not.
    pub(super) fn push_shadow_changes(&self, operation: &Operation, row: &TableRow, wave: &mut Wave) {
        if self.shadows.iter().all(Option::is_none) {
            return;
        }
        let goal = self.goals.get(&operation.stripe);
        if let Some((old, _)) = self.leaves_shadow(operation, row, goal) {
            wave.changes.retain(|change| !matches!(change, Change::Unmap(page) if page.member == old));
        }
        for strip in Bits(self.outdated(operation, row, goal)) {
            let shadow = self.shadow(row.data(strip).member).filter(|shadow| shadow.is_valid(operation.stripe));
            // If a replacement was given up, a strip may go back to where its shadow is: the program there is all that is left.
            let goes_back = |shadow: &&Shadow| goal.is_some_and(|goal| goal.data(strip).member == shadow.old);
            if let Some(shadow) = shadow.filter(|shadow| operation.kind == OperationKind::Trim || !goes_back(shadow)) {
                wave.changes.push(Change::Unmap(shadow.page(operation.stripe)));
            }
        }
    }

    /// Keeps the valid bits of shadows when an operation has ended as planned.
    pub(super) fn note_shadows(&mut self, operation: &Operation, row: &TableRow, goal: Option<&TableRow>) {
        if self.shadows.iter().all(Option::is_none) {
            return;
        }
        for strip in Bits(self.outdated(operation, row, goal)) {
            if let Some(shadow) = &mut self.shadows[usize::from(row.data(strip).member.0)] {
                shadow.set(operation.stripe, false);
            }
        }
        if let Some((_, new)) = self.leaves_shadow(operation, row, goal)
            && let Some(shadow) = &mut self.shadows[usize::from(new.0)]
        {
            shadow.set(operation.stripe, true);
        }
    }
}
