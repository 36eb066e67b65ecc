//! The contract with the engine.

use super::{DeferredParity, Rule};
use crate::parts::bits::Bits;
use crate::parts::parity_cache::ParityCache;
use crate::parts::raid::Raid;
use crate::parts::repair;
use crate::parts::stripe::{Guard, Stripe};
use crate::stripe_map::{Role, Row, StripeMap};
use crate::{
    Addressed, Addressing, Claim, CommitCause, Damage, Decisions, Deferring, Extent, Group, GuardCounts, Lost, Operation, OperationKind,
    Outcomes, ParityUpdates, Protects, Recovery, Scheme, Source, Step,
};
use flashraid_vocabulary::{Change, GcAdvisor, HostOp, Lpn, MemberPage, SemivalidAction, StripeId, Version, View, Wave, prefetch};

impl<M: StripeMap, R: Rule> GcAdvisor for DeferredParity<M, R> {
    fn rule(&self, address: MemberPage) -> SemivalidAction {
        let stripe = self.raid.map().stripe_of(address);
        if self.stripes[stripe.0 as usize].bases == 0 { SemivalidAction::Move } else { self.rule.action() }
    }
}

impl<M: StripeMap, R: Rule> Addressed for DeferredParity<M, R> {
    type Addressing = Raid<M>;

    fn addressing(&self) -> &Raid<M> {
        &self.raid
    }

    /// SPEC 4.2: the map names the parity's physical page too (PPPN); the hash of old pages, of which each entry can have one a data strip, two
    /// addresses of 32 bits each; and the cache, M (log2 I + N + W) bits for M entries, I stripes, N data strips, and pages of W bits.
    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let mut tables = self.raid.tables(mapped_pages);
        let old_pages = 8 * self.counts.most_entries * u64::from(self.width());
        tables.extend((self.rule.action() != SemivalidAction::Free).then_some(("old_page_hash", old_pages)));
        tables
    }
}

impl<M: StripeMap, R: Rule> Scheme for DeferredParity<M, R> {
    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (operation, pages) = self.raid.cut(extent);
        match extent.op {
            HostOp::Write => self.decide_write(operation, decisions),
            HostOp::Trim => self.decide_trim(operation, decisions),
            _ => decisions.operations.push(operation),
        }
        pages
    }

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        let operation = self.raid.cut_group(group);
        self.decide_write(operation, decisions);
    }

    fn claim(&mut self, operation: &mut Operation, may_evict: bool, view: &dyn View) -> Claim {
        self.claim_late(operation, may_evict, view)
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.stripe(operation, view);
        if operation.step == 0 && operation.kind != OperationKind::Read {
            let bases = self.durable(operation.stripe).bases;
            self.set_next(operation, stripe.dirty, bases.into());
            self.cache.begun(operation.stripe);
        }
        match operation.kind {
            OperationKind::Read => self.raid.read(operation, &stripe, view, wave),
            OperationKind::Write => self.write(operation, outcomes, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, outcomes, &stripe, view, wave),
            OperationKind::Commit => self.commit(operation, outcomes, &stripe, view, wave),
            OperationKind::Repair => self.step_repair(operation, outcomes, &stripe, view, wave),
            OperationKind::Migrate | OperationKind::Job => unreachable!("this scheme moves no strips, and gives no job any work"),
        }
    }

    fn ended(&mut self, operation: &Operation) {
        let row = self.raid.map().row(operation.stripe);
        if operation.kind == OperationKind::Write && Self::has_space_for_parity(operation, &row) {
            self.cache.write(operation.stripe, operation.strips);
        }
        self.settle(operation, false);
    }

    fn failed(&mut self, operation: &Operation) {
        self.settle(operation, true);
    }

    fn prefetch(&self, lpn: Lpn) {
        let stripe = self.stripe_of(lpn);
        self.cache.prefetch(stripe);
        prefetch(&self.stripes, stripe.0 as usize);
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
}

impl<M: StripeMap, R: Rule> Recovery for DeferredParity<M, R> {
    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (number, strip) = self.raid.map().position(lpn);
        Stripe::new(self.raid.map().row(number), self.associated(number), Guard::DeferredParity).recover(strip, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        repair::damage(&self.whole_stripe(stripe, view), view)
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        self.raid.repair(stripe, &self.whole_stripe(stripe, view), view)
    }
}

impl<M: StripeMap, R: Rule> Deferring for DeferredParity<M, R> {
    fn prepared(&mut self) {
        self.counts.begin();
    }

    fn drain(&mut self) -> Option<Operation> {
        let taken = self.cache.take_oldest();
        self.drains = taken.is_some();
        self.house();
        let stripe = taken?;
        Some(Operation { commit: CommitCause::Shutdown, ..self.raid.commit(stripe) })
    }

    fn guard(&self) -> Option<GuardCounts> {
        Some(self.counts)
    }

    fn moves_bases(&self) -> bool {
        self.rule.action() == SemivalidAction::Move
    }

    fn commit_cost(&self, address: MemberPage) -> (u32, u32) {
        let map = self.raid.map();
        let stripe = map.stripe_of(address);
        let row = map.row(stripe);
        debug_assert_ne!(row.role(address.member), Some(Role::Parity), "a parity has no base");
        let durable = || ParityCache::commit_reads(row.width(), self.associated(stripe).count_ones());
        (self.cache.reads_to_commit(stripe).unwrap_or_else(durable), 1)
    }

    fn commit_for_gc(&mut self, address: MemberPage, can_allocate: bool) -> Option<Operation> {
        let stripe = self.raid.map().stripe_of(address);
        if self.associated(stripe) == 0 {
            return None;
        }
        let commit = self.raid.commit(stripe);
        Some(Operation { commit: CommitCause::Gc, space: if can_allocate { commit.space } else { 0 }, ..commit })
    }

    /// An entry of the cache holds the stripe's number, a bit for each strip, and a page.
    fn nvram(&self) -> Vec<(&'static str, u64)> {
        let stripe_bits = u64::from(u32::BITS - (self.stripes() - 1).leading_zeros());
        let entry_bits = stripe_bits + u64::from(self.width()) + 8 * u64::from(self.page_bytes);
        vec![("parity_cache", (self.counts.most_entries * entry_bits).div_ceil(8))]
    }

    fn claims(&self) -> bool {
        !self.cache.evicts_locked()
    }

    fn parity_cache_lost(&mut self, view: &dyn View, changes: &mut Vec<Change>) {
        for number in 0..self.stripes() {
            let row = self.raid.map().row(StripeId(number));
            let durable = &mut self.stripes[number as usize];
            if durable.associated != 0 {
                changes.extend(Bits(durable.bases.into()).map(|strip| Change::ReleaseBase(row.data(strip))));
                changes.push(Change::ReleaseDeferred(row.parity()));
                (durable.associated, durable.bases) = (0, 0);
            }
            let is_written = |page| view.is_written(page, Version::Current);
            if is_written(row.parity()) || Bits(row.all()).any(|strip| is_written(row.data(strip))) {
                changes.push(Change::Lose(row.parity()));
            }
        }
        (self.counts.entries, self.counts.old_pages) = (0, 0);
        self.cache.lost();
    }
}
