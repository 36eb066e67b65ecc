//! Schemes and a job for tests only, registered nowhere: they use the parts of the contract that no registered scheme uses yet.
//!
//! `CommitsAnotherFirst` defers the parity for one stripe at a time and must commit it before it may defer another's.
//! `CopyWhenIdle` is a job that rewrites every page of a member which has nothing else to do.
//! `chained` is the worked example of docs/writing-a-scheme.md, which shows the file as it is.

pub mod chained;

use crate::parts::bits::Bits;
use crate::parts::pages;
use crate::parts::raid::waits_for_reads;
use crate::parts::stripe::Guard;
use crate::parts::update::UpdateRule;
use crate::schemes::raid5::Raid5;
use crate::stripe_map::formula::{Formula, FormulaRow, Layout};
use crate::stripe_map::{Role, Row, StripeMap};
use crate::{
    Addressed, Decisions, Deferring, Extent, Job, Lost, Method, Operation, OperationKind, Outcomes, ParityUpdates, Protects, Recovery,
    Scheme, Source, Step,
};
use flashraid_vocabulary::{
    Cause, Change, GcAdvisor, LocalPage, Lpn, MemberId, MemberPage, PageOperation, Priority, SemivalidAction, Sources, StripeId, Version,
    View, Wave,
};

fn left_asymmetric(members: u16, stripes: u32) -> Formula {
    Formula::new(Layout::LeftAsymmetric, members, stripes)
}

/// RAID-5 that puts off the parity of partial-stripe writes, for one stripe at a time: a write of another stripe requires a commit first.
///
/// The strips that the parity does not cover are *dirty*; the versions that it does cover stay as bases. Nothing guards a dirty
/// strip, so the scheme declares no failure that it survives; clean stripes are recoverable all the same.
/// Full-stripe writes and trims bring the parity up to date at once and release the bases.
#[derive(Clone, Debug)]
pub struct CommitsAnotherFirst {
    inner: Raid5<Formula>,
    /// Decided: the stripe whose parity was put off last.
    open: Option<StripeId>,
    /// Durable: the dirty strips of each stripe.
    dirty: Vec<u64>,
    deferred: u64,
    committed: u64,
}

flashraid_vocabulary::persistent!(CommitsAnotherFirst {
    keeps [inner, open],
    arrays [dirty],
    anew [deferred, committed],
});

impl CommitsAnotherFirst {
    /// On `members` members (at least 3) of `stripes` pages.
    pub fn new(members: u16, stripes: u32, page_bytes: u32) -> Self {
        Self {
            inner: Raid5::new(left_asymmetric(members, stripes), page_bytes, UpdateRule::Rcw),
            open: None,
            dirty: vec![0; stripes as usize],
            deferred: 0,
            committed: 0,
        }
    }

    /// Dirty strips of a stripe.
    pub fn dirty(&self, stripe: StripeId) -> u64 {
        self.dirty[stripe.0 as usize]
    }

    fn defers(&self, operation: &Operation) -> bool {
        operation.kind == OperationKind::Write && operation.strips != self.inner.raid.map().row(operation.stripe).all()
    }

    fn step_deferring(&mut self, operation: &mut Operation, row: &FormulaRow, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.inner.raid.merged(operation, row, view);
        if operation.step == 0 && merged != 0 {
            self.inner.raid.push_update_reads(merged, &self.inner.raid.stripe(operation, 0, Guard::None, view), view, wave);
            return waits_for_reads(operation, wave);
        }
        self.inner.raid.push_data_programs(operation, operation.strips, merged, row, wave);
        let dirty = self.dirty(operation.stripe);
        for (strip, program) in Bits(operation.strips).zip(&mut wave.operations) {
            program.keep_base = dirty >> strip & 1 == 0;
        }
        self.deferred += 1;
        operation.step += 1;
        Step::Last
    }

    fn step_committing(&mut self, operation: &mut Operation, row: &FormulaRow, view: &dyn View, wave: &mut Wave) -> Step {
        if self.dirty(operation.stripe) == 0 {
            return Step::Nothing;
        }
        let step = self.inner.raid.plan_commit(operation, &self.inner.raid.stripe(operation, 0, Guard::None, view), view, wave);
        if step == Step::Last {
            self.release_bases(row, view, wave);
            self.committed += 1;
        }
        step
    }

    fn release_bases(&self, row: &FormulaRow, view: &dyn View, wave: &mut Wave) {
        let pages = Bits(row.all()).map(|strip| row.data(strip));
        wave.changes.extend(pages.filter(|&page| view.is_written(page, Version::Base)).map(Change::ReleaseBase));
    }
}

impl GcAdvisor for CommitsAnotherFirst {
    fn rule(&self, address: MemberPage) -> SemivalidAction {
        let stripe = self.inner.raid.map().stripe_of(address);
        match self.inner.raid.map().row(stripe).role(address.member) {
            Some(Role::Data(strip)) if self.dirty(stripe) >> strip & 1 == 1 => SemivalidAction::CommitFirst,
            _ => SemivalidAction::Free,
        }
    }
}

impl Addressed for CommitsAnotherFirst {
    type Addressing = Raid5<Formula>;

    fn addressing(&self) -> &Raid5<Formula> {
        &self.inner
    }
}

impl Scheme for CommitsAnotherFirst {
    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        let pages = self.inner.decide(extent, view, decisions);
        let mut operation = decisions.operations[0];
        if self.defers(&operation) {
            operation.space &= !self.inner.raid.map().row(operation.stripe).parity_bit();
            decisions.operations.clear();
            if let Some(other) = self.open.replace(operation.stripe).filter(|&open| open != operation.stripe) {
                decisions.operations.push(self.inner.raid.commit(other));
                operation.requires = Some(0);
            }
            decisions.operations.push(operation);
        }
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let row = self.inner.raid.map().row(operation.stripe);
        if self.defers(operation) {
            return self.step_deferring(operation, &row, view, wave);
        }
        if operation.kind == OperationKind::Commit {
            return self.step_committing(operation, &row, view, wave);
        }
        let step = self.inner.step(operation, outcomes, view, wave);
        if operation.kind != OperationKind::Read && matches!(step, Step::Last | Step::Done) {
            self.release_bases(&row, view, wave);
            if step == Step::Done {
                // Tells `ended` that the trim emptied the stripe, and did not find nothing to do.
                operation.method = Method::FullStripe;
            }
        }
        step
    }

    fn ended(&mut self, operation: &Operation) {
        let dirty = &mut self.dirty[operation.stripe.0 as usize];
        match operation.kind {
            OperationKind::Read | OperationKind::Repair | OperationKind::Migrate | OperationKind::Job => {}
            OperationKind::Write if operation.method == Method::None => *dirty |= operation.strips,
            OperationKind::Trim if operation.method == Method::None => {}
            OperationKind::Write | OperationKind::Trim | OperationKind::Commit => *dirty = 0,
        }
    }

    fn parity_updates(&self) -> ParityUpdates {
        ParityUpdates { deferred: self.deferred, committed: self.committed, ..self.inner.parity_updates() }
    }

    fn deferring(&self) -> Option<&dyn Deferring> {
        Some(self)
    }

    fn deferring_mut(&mut self) -> Option<&mut dyn Deferring> {
        Some(self)
    }
}

impl Recovery for CommitsAnotherFirst {
    fn protects(&self) -> Protects {
        Protects::None
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        self.dirty(self.inner.raid.map().position(lpn).0) == 0 && self.inner.recover(lpn, lost, sources)
    }
}

impl Deferring for CommitsAnotherFirst {
    fn moves_bases(&self) -> bool {
        false
    }

    fn commit_for_gc(&mut self, address: MemberPage, can_allocate: bool) -> Option<Operation> {
        can_allocate.then(|| self.inner.raid.commit(self.inner.raid.map().stripe_of(address)))
    }
}

/// Reads and programs again each written page of a member that is idle, once.
#[derive(Clone, Debug)]
pub struct CopyWhenIdle {
    /// The local page of each member that is looked at next.
    next: Vec<u32>,
    pages_per_member: u32,
    page_bytes: u32,
    stripe_of: fn(MemberPage) -> StripeId,
}

impl CopyWhenIdle {
    /// Over `members` members. `stripe_of` names the stripe that the scheme of the device locks to write a page.
    pub fn new(members: u16, pages_per_member: u32, page_bytes: u32, stripe_of: fn(MemberPage) -> StripeId) -> Self {
        Self { next: vec![0; usize::from(members)], pages_per_member, page_bytes, stripe_of }
    }

    fn member(operation: &Operation) -> MemberId {
        MemberId(operation.space.trailing_zeros() as u16)
    }
}

impl Job for CopyWhenIdle {
    fn next(&mut self, _scheme: &dyn Scheme, view: &dyn View) -> Option<Operation> {
        (0..self.next.len() as u16).find_map(|member| self.next_of(MemberId(member), view))
    }

    fn step(&mut self, scheme: &mut dyn Scheme, operation: &mut Operation, _outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let address = scheme.page_on(operation.stripe, Self::member(operation));
        let for_nobody = |page_operation| PageOperation { host_waits: false, priority: Priority::Migration, ..page_operation };
        if operation.step == 0 {
            // The page may have been trimmed while the operation waited for its lock.
            if !view.is_written(address, Version::Current) {
                return Step::Nothing;
            }
            wave.operations.push(for_nobody(pages::read(address, Cause::Migration, self.page_bytes, PageOperation::NO_STRIP)));
            return waits_for_reads(operation, wave);
        }
        let sources = Sources { host: 0, reads: 1, ..Sources::default() };
        wave.operations.push(for_nobody(pages::program(address, Cause::Migration, self.page_bytes, sources)));
        operation.step += 1;
        Step::Last
    }
}

impl CopyWhenIdle {
    /// The next page of the member, if it is idle.
    fn next_of(&mut self, member: MemberId, view: &dyn View) -> Option<Operation> {
        if !view.is_idle(member) {
            return None;
        }
        let next = &mut self.next[usize::from(member.0)];
        while *next < self.pages_per_member {
            let address = MemberPage { member, page: LocalPage(*next) };
            *next += 1;
            if view.is_written(address, Version::Current) {
                let stripe = (self.stripe_of)(address);
                return Some(Operation::background(OperationKind::Job, stripe, Lpn(0), 1 << address.member.0));
            }
        }
        None
    }
}
