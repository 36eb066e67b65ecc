//! One parity strip per stripe, updated with every write: the rules that RAID-4, RAID-5 and (for writes that it does not mirror) CR5M
//! share; and the reads and programs of which all schemes with parity consist.
//!
//! Writes (SPEC 0.6): a full stripe needs no pre-read. A partial one reads the covered versions of the changed strips and the
//! parity (RMW: P' = P xor covered_i xor new_i), or the strips that do not change (RCW: P' = xor of these and the new ones). All
//! reads form the first wave, all programs the second, which is the first if there is nothing to read. What the parity covers is the
//! stripe's (`parts::stripe`): RAID-4 and RAID-5 have no dirty strips. With another decision point the data are programmed earlier
//! (`parts::decision_point`).
//!
//! Sub-page writes (SPEC 0.3 step 4): a page of which the host gives a part, and which is written, is read and programmed
//! anew as a whole. RMW reads it anyway, unless it is dirty: one read serves both ends. Otherwise an update read joins the first
//! wave; it is not a source of the parity, since the engine's host strip is the host's part merged with what this read delivers.
//!
//! Unwritten strips are zero (SPEC 0.3 step 5): never read, and no source. The method counts them all the same.
//!
//! Trims: as a write of zeroes that programs the parity only (SPEC 1.4, trim, without mirrors). A stripe that keeps no written
//! strip loses its parity page too, and costs no flash operation.
//!
//! After failures (SPEC 0.6): a lost strip is computed under the stripe's lock, as the pages read must be consistent. A write or trim takes the
//! method that reads no lost page: RMW if a lost strip does not change, so that the parity continues to hold it; RCW if it changes, or if the parity
//! is lost. If neither is possible, as more is lost than one parity can replace, the data are written and the parity counts as lost, so that nothing
//! wrong is ever computed from it. Lost old content of which the host overwrites a part is computed first. A strip whose allocation fails is held by
//! the parity; a parity whose allocation fails is left out.

use crate::parts::bits::{self, Bits};
use crate::parts::decision_point::DecisionPoint;
use crate::parts::stripe::{Guard, Losses, Stripe, Sum};
use crate::parts::update::Chosen;
use crate::parts::{cut, pages};
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Addressing, Decisions, Extent, Failure, Group, Grouping, Lock, Method, Operation, OperationKind, Outcomes, ParityUpdates, Step,
};
use flashraid_vocabulary::{
    Cause, Change, Delivery, HostOp, LocalPage, Lpn, MemberId, MemberPage, PageOperation, Sources, StripeId, Version, View, Wave,
    persistent,
};

/// Stripes with one parity strip over any map.
#[derive(Clone, Debug)]
pub struct Raid<M> {
    map: M,
    page_bytes: u32,
    point: DecisionPoint,
    updates: ParityUpdates,
}

persistent!(Raid<M> where [M: StripeMap] {
    keeps [map],
    anew [page_bytes, point, updates],
});

impl<M: StripeMap> Raid<M> {
    /// Over the stripes of `map`.
    pub fn new(map: M, page_bytes: u32) -> Self {
        Self { map, page_bytes, point: DecisionPoint::default(), updates: ParityUpdates::default() }
    }

    /// The same, with partial-stripe writes decided at this point.
    pub fn deciding(self, point: DecisionPoint) -> Self {
        Self { point, ..self }
    }

    /// Where strips lie.
    #[inline]
    pub fn map(&self) -> &M {
        &self.map
    }

    /// Where strips lie, to be changed.
    pub fn map_mut(&mut self) -> &mut M {
        &mut self.map
    }

    /// When partial-stripe writes are decided.
    #[inline]
    pub(super) fn point(&self) -> DecisionPoint {
        self.point
    }

    /// Counts since construction.
    pub fn updates(&self) -> ParityUpdates {
        self.updates
    }

    /// The stripe of an operation as it is now. What is lost of strips that a read does not name is left out if it holds no lock, as nothing is
    /// computed then.
    #[inline]
    pub fn stripe(&self, operation: &Operation, dirty: u64, guard: Guard, view: &dyn View) -> Stripe<M::Row> {
        let stripe = Stripe::new(self.map.row(operation.stripe), dirty, guard);
        let is_free = operation.kind == OperationKind::Read && operation.lock == Lock::None;
        stripe.with_losses(if is_free { operation.strips } else { stripe.all() }, view)
    }

    /// A stripe as it is now.
    pub fn whole_stripe(&self, stripe: StripeId, dirty: u64, guard: Guard, view: &dyn View) -> Stripe<M::Row> {
        let stripe = Stripe::new(self.map.row(stripe), dirty, guard);
        stripe.with_losses(stripe.all(), view)
    }

    /// The host page comes to be (`Scheme::create`).
    pub fn create(&mut self, lpn: Lpn) {
        self.map.create(self.map.position(lpn).0);
    }

    // ---- cutting ----

    /// Cuts the part of `extent` that lies in its first stripe, which is created if it is to be written.
    // Always inlined: returned through memory, the operation would be copied by wide loads right behind the narrow stores that
    // made it, which the processor cannot forward; that alone costs 10 ns.
    #[inline(always)]
    pub fn cut(&mut self, extent: &Extent) -> (Operation, u64) {
        let position = self.map.position(extent.first);
        if extent.op == HostOp::Write {
            self.map.create(position.0);
        }
        self.cut_at(extent, position)
    }

    /// `position` is that of the first page.
    #[inline(always)]
    fn cut_at(&self, extent: &Extent, (stripe, index): (StripeId, u32)) -> (Operation, u64) {
        let row = self.map.row(stripe);
        let pages = extent.pages.min(u64::from(row.width() - index));
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, index);
        operation.space = match extent.op {
            HostOp::Write => row.parity_bits() | row.members(operation.strips),
            // A stripe trimmed as a whole needs no page, so that a full device can be relieved.
            HostOp::Trim if operation.strips != row.all() => self.map.parity_members(stripe, &row),
            _ => 0,
        };
        (operation, pages)
    }

    /// The same, put into `decisions`: what `decide` does where nothing else is to be decided.
    #[inline(always)]
    pub fn decide(&mut self, extent: &Extent, decisions: &mut Decisions) -> u64 {
        let (operation, pages) = self.cut(extent);
        decisions.operations.push(operation);
        pages
    }

    /// The operation that writes the pages of `group`, whose stripe is created.
    pub fn cut_group(&mut self, group: &Group) -> Operation {
        let (stripe, index) = self.map.position(group.first);
        self.map.create(stripe);
        let row = self.map.row(stripe);
        let mut operation = cut::group(group, self.page_bytes, stripe, index);
        operation.space = row.parity_bits() | row.members(operation.strips);
        operation
    }

    /// Work that no request asked for, on a stripe, with a program on each member of `space`.
    pub fn background(&self, kind: OperationKind, stripe: StripeId, space: u64) -> Operation {
        Operation::background(kind, stripe, self.map.first(stripe), space)
    }

    /// An operation that recomputes the parity of the newest versions.
    pub fn commit(&self, stripe: StripeId) -> Operation {
        self.background(OperationKind::Commit, stripe, self.map.row(stripe).parity_bit())
    }

    /// Those of `strips` that are written.
    #[inline]
    pub fn written(&self, row: &M::Row, strips: u64, view: &dyn View) -> u64 {
        let mut written = 0;
        for strip in Bits(strips) {
            written |= u64::from(view.is_written(row.data(strip), Version::Current)) << strip;
        }
        written
    }

    /// Those strips of a write whose old content is needed beneath the host's part.
    #[inline]
    pub fn merged(&self, operation: &Operation, row: &M::Row, view: &dyn View) -> u64 {
        self.written(row, operation.merge_strips, view)
    }

    // ---- plans ----

    /// Plans the next wave of a read, write or trim. `choose` chooses the method that brings the parity up to date when the given
    /// strips change; another one is taken if that would read what is lost. Bases and copies are the caller's to release.
    #[inline]
    pub fn plan(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if self.point.is_apart() && operation.kind == OperationKind::Write && operation.strips != stripe.all() {
            return self.write_apart(operation, outcomes, stripe, choose, view, wave);
        }
        if outcomes.unallocated != 0 {
            return end_without(operation, outcomes.unallocated, stripe);
        }
        match operation.kind {
            OperationKind::Read => self.read(operation, stripe, view, wave),
            OperationKind::Write => self.write(operation, stripe, choose, view, wave),
            OperationKind::Trim => self.trim(operation, stripe, choose, view, wave),
            OperationKind::Commit | OperationKind::Repair | OperationKind::Migrate | OperationKind::Job => {
                unreachable!("not decided by cutting a request: {:?}", operation.kind)
            }
        }
    }

    /// Reads the written strips; zero needs no flash. What no page holds is computed.
    #[inline]
    pub fn read(&self, operation: &Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let unreadable = operation.strips & stripe.unreadable();
        if unreadable != 0 && operation.lock == Lock::None {
            return Step::Lock;
        }
        if !stripe.has_newest(unreadable) {
            return Step::Failed(Failure::Lost);
        }
        for strip in Bits(self.written(&stripe.row, operation.strips & !unreadable, view)) {
            let bytes = operation.touched_bytes(strip, self.page_bytes);
            let (page, version) = (stripe.row.data(strip), stripe.readable(strip, view));
            wave.operations.push(pages::read_version(page, version, Cause::Host, bytes, strip as u8));
        }
        if unreadable != 0 {
            self.push_computations(unreadable, stripe, view, wave);
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    #[inline]
    fn write(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let merged = self.merged(operation, &stripe.row, view);
        if operation.step == 0 {
            if !stripe.has_newest(merged) {
                return Step::Failed(Failure::Lost);
            }
            if let Some(pause) = self.decide_method(operation, stripe, choose) {
                return pause;
            }
            self.push_reads_of_write(operation, merged, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.count(operation);
        // The update reads come last, and are no source of the parity.
        let sources = operation.reads_before_update_reads();
        self.push_programs(operation, merged, sources, &stripe.row, wave)
    }

    #[inline]
    fn trim(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe<M::Row>,
        choose: impl FnOnce(u64) -> Chosen,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let dropped = self.written(&stripe.row, operation.strips, view);
        if operation.step == 0 {
            if let Some(step) = self.trim_all(operation, dropped, stripe, view, wave) {
                return step;
            }
            // Strips that were never written change nothing: they are not among the changed ones.
            choose(dropped).apply(operation, dropped, stripe);
            if operation.method == Method::None {
                self.push_unmaps(dropped, &stripe.row, wave);
                wave.changes.push(Change::Lose(stripe.row.parity()));
                return Step::Done;
            }
            self.push_pre_reads(operation.method, dropped, 0, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.count(operation);
        let sources = Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)), ..Sources::default() };
        self.push_parity_program(&stripe.row, sources, wave);
        self.push_unmaps(dropped, &stripe.row, wave);
        operation.step += 1;
        Step::Last
    }

    /// A trim that finds nothing written, or leaves nothing of its stripe written: then there is no parity either.
    pub fn trim_all(&self, operation: &Operation, dropped: u64, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Option<Step> {
        if dropped == 0 {
            return Some(Step::Nothing);
        }
        let row = &stripe.row;
        (self.written(row, stripe.all() & !operation.strips, view) == 0).then(|| {
            self.push_unmaps(dropped, row, wave);
            wave.changes.extend(view.is_written(row.parity(), Version::Current).then(|| Change::Unmap(row.parity())));
            Step::Done
        })
    }

    /// Plans the next wave of a `commit`: nobody waits for it.
    pub fn plan_commit(&self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let step = if operation.step == 0 {
            self.push_newest_reads(stripe.all(), Cause::Commit, stripe, view, wave);
            waits_for_reads(operation, wave)
        } else {
            let sources = Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)), ..Sources::default() };
            wave.operations.push(pages::program(stripe.row.parity(), Cause::Commit, self.page_bytes, sources));
            operation.step += 1;
            Step::Last
        };
        wave.operations.iter_mut().for_each(|page_operation| page_operation.host_waits = false);
        step
    }

    /// A mirrored write that has been counted turned out to be another one.
    pub fn retract_mirrored(&mut self) {
        self.updates.mirrored -= 1;
    }

    /// Counts one parity update.
    #[inline]
    pub fn count(&mut self, operation: &Operation) {
        if operation.is_adjusted {
            self.updates.adjusted += 1;
        }
        match operation.method {
            Method::None => {}
            Method::Mirrored => self.updates.mirrored += 1,
            Method::Deferred => self.updates.deferred += 1,
            Method::FullStripe => self.updates.full_stripe += 1,
            Method::Rmw => self.updates.rmw += 1,
            Method::Rcw => self.updates.rcw += 1,
        }
    }

    /// Counts one update of a deferred parity.
    pub fn count_deferred(&mut self, is_adjusted: bool) {
        self.updates.deferred += 1;
        self.updates.adjusted += u64::from(is_adjusted);
    }

    /// Counts a deferred parity that was brought to flash.
    pub fn count_commit(&mut self, is_adjusted: bool) {
        self.updates.committed += 1;
        self.updates.adjusted += u64::from(is_adjusted);
    }

    // ---- waves: reads ----

    /// The reads of a write by the operation's method: the sources of the parity, then what only serves as old content of `merged`.
    #[inline(always)]
    pub(super) fn push_reads_of_write(
        &self,
        operation: &mut Operation,
        merged: u64,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) {
        self.push_pre_reads(operation.method, operation.strips, merged, stripe, view, wave);
        let sources = wave.operations.len();
        self.push_update_reads(if operation.method == Method::Rmw { merged & stripe.dirty } else { merged }, stripe, view, wave);
        operation.update_reads = (wave.operations.len() - sources) as u8;
    }

    /// The pre-reads of `method` for a change of the strips `changed`: the reads that are sources of the parity. Those of RMW deliver the old
    /// content of `merged` on their way, unless that is dirty.
    #[inline(always)]
    pub fn push_pre_reads(&self, method: Method, changed: u64, merged: u64, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        const NO_STRIP: u8 = PageOperation::NO_STRIP;
        match method {
            Method::Rmw => {
                for strip in Bits(changed) {
                    let (page, covered) = (stripe.row.data(strip), stripe.covered(strip));
                    if view.is_written(page, covered) {
                        let serves_both = (merged & !stripe.dirty) >> strip & 1 == 1;
                        let delivers = if serves_both { strip as u8 } else { NO_STRIP };
                        wave.operations.push(pages::read_version(page, covered, Cause::PreRead, self.page_bytes, delivers));
                    }
                }
                if view.is_written(stripe.row.parity(), Version::Current) {
                    wave.operations.push(pages::read(stripe.row.parity(), Cause::PreRead, self.page_bytes, NO_STRIP));
                }
            }
            Method::FullStripe | Method::Rcw => {
                self.push_newest_reads(stripe.all() & !changed, Cause::PreRead, stripe, view, wave);
            }
            Method::None | Method::Mirrored | Method::Deferred => {}
        }
    }

    /// Reads of the newest versions of those of `strips` that are written, as sources of the parity. Those that only a copy holds come first,
    /// so that who restores them knows which read is whose (`push_restored`).
    #[inline(always)]
    pub fn push_newest_reads(&self, strips: u64, cause: Cause, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        let backed = stripe.backed();
        for strip in Bits(strips & backed).chain(Bits(self.written(&stripe.row, strips & !backed, view))) {
            let (page, version) = (stripe.row.data(strip), stripe.readable(strip, view));
            wave.operations.push(pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP));
        }
    }

    /// Reads of the old content of `merged`, in the first wave, beneath what the host writes; what no page holds of it is computed. What the wave reads
    /// already is not read twice.
    #[inline(always)]
    pub fn push_update_reads(&self, merged: u64, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        let unreadable = merged & stripe.unreadable();
        for strip in Bits(merged & !unreadable) {
            let version = stripe.readable(strip, view);
            let index = self.push_read(stripe.row.data(strip), version, Cause::UpdateRead, wave);
            wave.operations[index].strip = strip as u8;
        }
        if unreadable != 0 {
            self.push_computations(unreadable, stripe, view, wave);
        }
    }

    /// Delivers the newest content of each of `strips`, which no page holds and others make up.
    #[cold]
    fn push_computations(&self, strips: u64, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        for strip in Bits(strips) {
            let sum = stripe.newest(strip).expect("it can be had");
            let reads = self.push_reads(&sum, Cause::Reconstruct, stripe, view, wave);
            wave.deliveries.push(Delivery { strip: strip as u8, reads, deferred: sum.deferred, weights: 0 });
        }
    }

    /// Reads the versions of a sum that are written, in the first wave. What that reads already is not read twice. Returns which reads these are.
    pub fn push_reads(&self, sum: &Sum, cause: Cause, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> u64 {
        let mut reads = 0;
        sum.each_version(&stripe.row, |page, version| {
            if view.is_written(page, version) {
                reads |= 1 << self.push_read(page, version, cause, wave);
            }
        });
        reads
    }

    /// Reads a whole page, if the wave does not yet. Returns which read that is.
    #[inline]
    pub fn push_read(&self, page: MemberPage, version: Version, cause: Cause, wave: &mut Wave) -> usize {
        let known = wave.operations.iter().position(|read| (read.address, read.version) == (page, version));
        let index = known.unwrap_or_else(|| {
            wave.operations.push(self.whole_read(page, version, cause));
            wave.operations.len() - 1
        });
        wave.operations[index].bytes = self.page_bytes;
        index
    }

    /// Read of a whole page that delivers no strip.
    pub fn whole_read(&self, page: MemberPage, version: Version, cause: Cause) -> PageOperation {
        pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP)
    }

    // ---- waves: programs ----

    /// The last wave of a write: the strips, and the parity made of them and of the reads `sources`. If none can be made, what there was
    /// of it covers the strips no longer.
    #[inline(always)]
    pub fn push_programs(&self, operation: &mut Operation, merged: u64, sources: u64, row: &M::Row, wave: &mut Wave) -> Step {
        self.push_data_programs(operation, operation.strips, merged, row, wave);
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(row.parity()));
        } else {
            self.push_parity_program(row, Sources { host: operation.strips, reads: sources, ..Sources::default() }, wave);
        }
        operation.step += 1;
        Step::Last
    }

    /// Programs of `strips` of a write. A merged page is programmed whole, others as far as the host touches them.
    #[inline(always)]
    pub fn push_data_programs(&self, operation: &Operation, strips: u64, merged: u64, row: &M::Row, wave: &mut Wave) {
        for strip in Bits(strips) {
            let whole = merged >> strip & 1 == 1;
            let bytes = if whole { self.page_bytes } else { operation.touched_bytes(strip, self.page_bytes) };
            let sources = Sources { host: 1 << strip, reads: 0, ..Sources::default() };
            wave.operations.push(pages::program(row.data(strip), Cause::Host, bytes, sources));
        }
    }

    /// Programs of the strips that an operation restores, the reads of which are `first` and those that follow it.
    pub fn push_restored(&self, operation: &Operation, first: u8, row: &M::Row, wave: &mut Wave) {
        for (read, strip) in (first..).zip(Bits(operation.restored)) {
            wave.operations.push(self.whole_program(row.data(strip), Cause::Reconstruct, 1 << read));
        }
    }

    /// Program of a whole page with the XOR of `reads`.
    pub fn whole_program(&self, page: MemberPage, cause: Cause, reads: u64) -> PageOperation {
        pages::program(page, cause, self.page_bytes, Sources { host: 0, reads, ..Sources::default() })
    }

    /// Program of the parity strip.
    #[inline(always)]
    pub fn push_parity_program(&self, row: &M::Row, sources: Sources, wave: &mut Wave) {
        wave.operations.push(pages::program(row.parity(), Cause::Parity, self.page_bytes, sources));
    }

    pub(crate) fn push_unmaps(&self, strips: u64, row: &M::Row, wave: &mut Wave) {
        wave.changes.extend(Bits(strips).map(|strip| Change::Unmap(row.data(strip))));
    }
}

/// How a write or trim ends whose last wave could not be allocated on the members `unallocated`: without these pages, if what the host wrote
/// can be read or computed all the same, and nothing becomes lost that was not (SPEC 0.1 e, 0.6); else it fails.
pub fn end_without<R: Row>(operation: &Operation, unallocated: u64, stripe: &Stripe<R>) -> Step {
    let row = &stripe.row;
    let (written, trimmed) = if operation.kind == OperationKind::Trim { (0, operation.strips) } else { (operation.strips, 0) };
    let programmed = written | operation.restored;
    let missing = bits::of(Bits(programmed).filter(|strip| unallocated & row.members(1 << strip) != 0));
    let mut after = *stripe;
    // Only RMW leaves the strips dirty that it does not change; and without a method there is no parity.
    let keeps_others = matches!(operation.method, Method::Rmw | Method::None);
    after.dirty = if keeps_others { stripe.dirty & !operation.strips } else { 0 };
    after.is_void &= keeps_others;
    after.lost = Losses {
        current: stripe.lost.current & !(programmed | trimmed) | missing,
        base: stripe.lost.base & after.dirty,
        copy: stripe.lost.copy & after.dirty,
        parity: operation.method == Method::None || unallocated & row.parity_bit() != 0,
    };
    if stripe.may_become(&after, written) { Step::Done } else { Step::Failed(Failure::NoSpace) }
}

/// Ends the wave of reads that `operation` starts with.
#[inline]
pub fn waits_for_reads(operation: &mut Operation, wave: &Wave) -> Step {
    operation.reads = wave.operations.len() as u8;
    operation.step = 1;
    Step::Wave
}

impl<M: StripeMap> Addressing for Raid<M> {
    fn user_pages(&self) -> u64 {
        self.map.user_pages()
    }

    fn width(&self) -> u32 {
        self.map.most_strips()
    }

    fn stripes(&self) -> u32 {
        self.map.stripes()
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        let stripe = (index < u64::from(self.map.stripes())).then_some(StripeId(index as u32))?;
        let whole = cut::whole_write(self.map.first(stripe), self.map.row(stripe).width(), self.page_bytes);
        Some(self.cut_at(&whole, (stripe, 0)).0)
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (stripe, index) = self.map.position(lpn);
        self.map.row(stripe).data(index)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.map.position(lpn).0
    }

    fn parity_of(&self, lpn: Lpn) -> Option<MemberPage> {
        Some(self.map.row(self.stripe_of(lpn)).parity())
    }

    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        self.map.page_on(stripe, member)
    }

    fn stripe_at(&self, page: MemberPage) -> StripeId {
        self.map.stripe_of(page)
    }

    fn row_pages(&self) -> Option<u32> {
        self.map.uniform_width()
    }

    fn first_stripe_at(&self, page: LocalPage) -> Option<StripeId> {
        self.map.uniform_width().map(|_| StripeId(page.0))
    }

    fn grouping(&self) -> Grouping {
        self.map.grouping()
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        pages.extend(self.map.row(self.stripe_of(lpn)).parities());
    }

    fn tables(&self, mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let stripe_map = Some(self.map.table_bytes()).filter(|bytes| *bytes > 0);
        [("page_map", 4 * mapped_pages)].into_iter().chain(stripe_map.map(|bytes| ("stripe_map", bytes))).collect()
    }
}
