//! One parity strip a stripe, brought up to date with every write: the rules that RAID-4, RAID-5 and, for what it does not mirror,
//! CR5M share.
//!
//! Writes (SPEC 0.6): a full stripe needs no pre-read. A partial one reads the covered versions of the changed strips and the
//! parity (RMW: P' = P xor covered_i xor new_i), or the strips that do not change (RCW: P' = xor of these and the new ones). All
//! reads form the first wave, all programs the second, which is the first if there is nothing to read.
//!
//! The parity covers the current version of a strip, unless the strip is *mirrored* (SPEC 1.2): then it covers the base, which may
//! be unwritten (zero), and the current version has a copy. Whoever wants the current version takes the one of the two that is free
//! earlier (SPEC 1.5). RAID-4 and RAID-5 mirror nothing.
//!
//! Sub-page writes (SPEC 0.3 step 4): a page of which the host gives a part, and which is written, is read and programmed
//! anew as a whole. RMW reads it anyway, unless it is mirrored: one read serves both ends. Otherwise an update read joins the first
//! wave; it is no source of the parity, since the engine's host strip is the part laid over what this read delivers.
//!
//! Unwritten strips are zero (SPEC 0.3 step 5): never read, and no source. The method counts them all the same.
//!
//! Trims: as a write of zeroes that programs the parity only (SPEC 1.4, trim, without mirrors). A stripe that keeps no written
//! strip loses its parity page too, and costs no flash operation.

use crate::parts::bits::{self, Bits};
use crate::parts::layout::{Layout, Row};
use crate::parts::update::UpdateRule;
use crate::parts::{cut, pages};
use crate::{Decisions, Extent, Lost, Method, Operation, OperationKind, Outcomes, ParityUpdates, Protects, Scheme, Step};
use flashraid_vocabulary::{
    Cause, Change, Guardian, HostOp, Lpn, MemberPage, PageOperation, Ruling, Sources, StripeId, Version, View, Wave,
};

/// A stripe as a plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    /// Where its strips lie.
    pub row: Row,
    /// Its mirrored data strips.
    pub mirrored: u64,
}

impl Stripe {
    /// The version that the parity covers.
    #[inline]
    fn covered(&self, strip: u32) -> Version {
        if self.mirrored >> strip & 1 == 1 { Version::Base } else { Version::Current }
    }

    /// The version to read for the newest content: of a mirrored strip, that whose chip is free earlier; a tie goes to the data
    /// chip (SPEC 1.5).
    #[inline]
    fn newest(&self, strip: u32, view: &dyn View) -> Version {
        let page = self.row.data(strip);
        let is_mirrored = self.mirrored >> strip & 1 == 1;
        if is_mirrored && view.busy_ns_at(page, Version::Copy) < view.busy_ns_at(page, Version::Current) {
            Version::Copy
        } else {
            Version::Current
        }
    }
}

/// RAID with one parity strip a stripe over any layout.
#[derive(Clone, Debug)]
pub struct ParityScheme<L> {
    layout: L,
    page_bytes: u32,
    rule: UpdateRule,
    updates: ParityUpdates,
}

impl<L: Layout> ParityScheme<L> {
    /// A scheme over `layout` that computes the parity of partial-stripe writes by `rule`.
    pub fn new(layout: L, page_bytes: u32, rule: UpdateRule) -> Self {
        Self { layout, page_bytes, rule, updates: ParityUpdates::default() }
    }

    /// Where strips lie.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// Every data strip of a stripe.
    #[inline]
    pub fn all_strips(&self) -> u64 {
        bits::lowest(self.layout.width())
    }

    /// Those of `strips` that are written.
    #[inline]
    pub fn written(&self, row: &Row, strips: u64, view: &dyn View) -> u64 {
        let mut written = 0;
        for strip in Bits(strips) {
            written |= u64::from(view.is_written(row.data(strip), Version::Current)) << strip;
        }
        written
    }

    /// Those strips of a write whose old content is needed beneath the host's part.
    #[inline]
    pub fn merged(&self, operation: &Operation, row: &Row, view: &dyn View) -> u64 {
        self.written(row, operation.partial_strips(self.page_bytes), view)
    }

    /// Cuts the part of `extent` that lies in its first stripe.
    // Always inlined: returned through memory, the operation would be copied by wide loads right behind the narrow stores that
    // made it, which the processor cannot forward; that alone costs 10 ns.
    #[inline(always)]
    fn cut(&self, extent: &Extent) -> (Operation, u64) {
        let (stripe, index) = self.layout.position(extent.first);
        let pages = extent.pages.min(u64::from(self.layout.width() - index));
        let row = self.layout.row(stripe);
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, row.page(), index);
        let parity = 1 << row.parity().member.0;
        operation.space = match extent.op {
            HostOp::Write => Bits(operation.strips).fold(parity, |space, strip| space | 1 << row.data(strip).member.0),
            // A stripe trimmed as a whole needs no page, so that a full device can be relieved.
            HostOp::Trim if operation.strips != self.all_strips() => parity,
            _ => 0,
        };
        (operation, pages)
    }

    /// Plans the next wave of a read, write or trim. `choose` names the method that brings the parity up to date when the given
    /// strips change. Bases and copies are the caller's to release.
    #[inline]
    pub fn plan(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe,
        choose: impl FnOnce(u64) -> Method,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        match operation.kind {
            OperationKind::Read => self.read(operation, stripe, view, wave),
            OperationKind::Write => self.write(operation, stripe, choose, view, wave),
            OperationKind::Trim => self.trim(operation, stripe, choose, view, wave),
            OperationKind::Commit | OperationKind::Repair | OperationKind::Job => {
                unreachable!("not decided by cutting a request: {:?}", operation.kind)
            }
        }
    }

    /// Reads the written strips; zero needs no flash.
    #[inline]
    fn read(&self, operation: &Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        for strip in Bits(self.written(&stripe.row, operation.strips, view)) {
            let bytes = operation.touched_bytes(strip, self.page_bytes);
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, Cause::Host, bytes, strip as u8));
        }
        if wave.operations.is_empty() { Step::Done } else { Step::Last }
    }

    #[inline]
    fn write(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe,
        choose: impl FnOnce(u64) -> Method,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let merged = self.merged(operation, &stripe.row, view);
        if operation.step == 0 {
            operation.method = choose(operation.strips);
            self.count(operation.method);
            self.push_pre_reads(operation.method, operation.strips, merged, stripe, view, wave);
            let update_reads = if operation.method == Method::Rmw { merged & stripe.mirrored } else { merged };
            operation.update_reads = update_reads.count_ones() as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        // The update reads come last, and are no source of the parity.
        let sources = bits::lowest(u32::from(operation.reads - operation.update_reads));
        self.push_programs(operation, merged, sources, &stripe.row, wave)
    }

    #[inline]
    fn trim(
        &mut self,
        operation: &mut Operation,
        stripe: &Stripe,
        choose: impl FnOnce(u64) -> Method,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        let dropped = self.written(&stripe.row, operation.strips, view);
        if operation.step == 0 {
            if dropped == 0 {
                return Step::Nothing;
            }
            if self.written(&stripe.row, self.all_strips() & !operation.strips, view) == 0 {
                self.push_unmaps(dropped, &stripe.row, wave);
                if view.is_written(stripe.row.parity(), Version::Current) {
                    wave.changes.push(Change::Unmap(stripe.row.parity()));
                }
                return Step::Done;
            }
            // Strips that were never written change nothing: they are not among the changed ones.
            operation.method = choose(dropped);
            self.count(operation.method);
            self.push_pre_reads(operation.method, dropped, 0, stripe, view, wave);
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.push_parity_program(&stripe.row, Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)) }, wave);
        self.push_unmaps(dropped, &stripe.row, wave);
        operation.step += 1;
        Step::Last
    }

    /// An operation that makes the parity anew of the newest versions, in the background.
    pub fn commit(&self, stripe: StripeId) -> Operation {
        let row = self.layout.row(stripe);
        let space = 1 << row.parity().member.0;
        Operation::background(OperationKind::Commit, stripe, row.page(), self.layout.first(stripe), space)
    }

    /// Plans the next wave of a `commit`: nobody waits for it.
    pub fn plan_commit(&self, operation: &mut Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let step = if operation.step == 0 {
            self.push_newest_reads(self.all_strips(), Cause::Commit, stripe, view, wave);
            waits_for_reads(operation, wave)
        } else {
            let sources = Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)) };
            wave.operations.push(pages::program(stripe.row.parity(), Cause::Commit, self.page_bytes, sources));
            operation.step += 1;
            Step::Last
        };
        wave.operations.iter_mut().for_each(|page_operation| page_operation.host_waits = false);
        step
    }

    /// Counts one parity update.
    #[inline]
    pub fn count(&mut self, method: Method) {
        match method {
            Method::None => {}
            Method::Mirrored => self.updates.mirrored += 1,
            Method::FullStripe => self.updates.full_stripe += 1,
            Method::Rmw => self.updates.rmw += 1,
            Method::Rcw => self.updates.rcw += 1,
        }
    }

    /// The pre-reads of `method` for a change of the strips `changed`, then those update reads of `merged` that they leave over.
    #[inline]
    pub fn push_pre_reads(&self, method: Method, changed: u64, merged: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        const NO_STRIP: u8 = PageOperation::NO_STRIP;
        match method {
            Method::Rmw => {
                for strip in Bits(changed) {
                    let (page, covered) = (stripe.row.data(strip), stripe.covered(strip));
                    if view.is_written(page, covered) {
                        let serves_both = (merged & !stripe.mirrored) >> strip & 1 == 1;
                        let delivers = if serves_both { strip as u8 } else { NO_STRIP };
                        wave.operations.push(pages::read_version(page, covered, Cause::PreRead, self.page_bytes, delivers));
                    }
                }
                if view.is_written(stripe.row.parity(), Version::Current) {
                    wave.operations.push(pages::read(stripe.row.parity(), Cause::PreRead, self.page_bytes, NO_STRIP));
                }
                self.push_update_reads(merged & stripe.mirrored, stripe, view, wave);
            }
            Method::None | Method::Mirrored | Method::FullStripe | Method::Rcw => {
                self.push_newest_reads(self.all_strips() & !changed, Cause::PreRead, stripe, view, wave);
                self.push_update_reads(merged, stripe, view, wave);
            }
        }
    }

    /// Reads of the newest versions of those of `strips` that are written, as sources of the parity.
    #[inline]
    pub fn push_newest_reads(&self, strips: u64, cause: Cause, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        for strip in Bits(self.written(&stripe.row, strips, view)) {
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP));
        }
    }

    /// Reads of the old content of `merged`.
    #[inline]
    pub fn push_update_reads(&self, merged: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        for strip in Bits(merged) {
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, Cause::UpdateRead, self.page_bytes, strip as u8));
        }
    }

    /// The last wave of a write: the strips, and the parity made of them and of the reads `sources`.
    #[inline]
    pub fn push_programs(&self, operation: &mut Operation, merged: u64, sources: u64, row: &Row, wave: &mut Wave) -> Step {
        self.push_data_programs(operation, merged, row, wave);
        self.push_parity_program(row, Sources { host: operation.strips, reads: sources }, wave);
        operation.step += 1;
        Step::Last
    }

    /// Programs of the strips of a write. A merged page is programmed whole, others as far as the host touches them.
    #[inline]
    pub fn push_data_programs(&self, operation: &Operation, merged: u64, row: &Row, wave: &mut Wave) {
        for strip in Bits(operation.strips) {
            let whole = merged >> strip & 1 == 1;
            let bytes = if whole { self.page_bytes } else { operation.touched_bytes(strip, self.page_bytes) };
            let sources = Sources { host: 1 << strip, reads: 0 };
            wave.operations.push(pages::program(row.data(strip), Cause::Host, bytes, sources));
        }
    }

    /// Program of the parity strip.
    #[inline]
    pub fn push_parity_program(&self, row: &Row, sources: Sources, wave: &mut Wave) {
        wave.operations.push(pages::program(row.parity(), Cause::Parity, self.page_bytes, sources));
    }

    /// The recovery rule for the covered version of strip `index`: XOR of the parity and of what it covers of the others.
    pub fn recover_covered(&self, index: u32, stripe: &Stripe, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        sources.clear();
        sources.extend(Bits(self.all_strips() & !(1 << index)).map(|strip| (stripe.row.data(strip), stripe.covered(strip))));
        sources.push((stripe.row.parity(), Version::Current));
        sources.iter().all(|(page, version)| !lost(*page, *version))
    }

    fn push_unmaps(&self, strips: u64, row: &Row, wave: &mut Wave) {
        wave.changes.extend(Bits(strips).map(|strip| Change::Unmap(row.data(strip))));
    }
}

/// Ends the wave of reads that `operation` starts with.
#[inline]
pub fn waits_for_reads(operation: &mut Operation, wave: &Wave) -> Step {
    operation.reads = wave.operations.len() as u8;
    operation.step = 1;
    Step::Wave
}

impl<L: Layout> Guardian for ParityScheme<L> {
    fn rule(&self, _address: MemberPage) -> Ruling {
        Ruling::Free
    }
}

impl<L: Layout> Scheme for ParityScheme<L> {
    fn user_pages(&self) -> u64 {
        u64::from(self.layout.stripes()) * u64::from(self.layout.width())
    }

    fn width(&self) -> u32 {
        self.layout.width()
    }

    fn stripes(&self) -> u32 {
        self.layout.stripes()
    }

    fn decide(&mut self, extent: &Extent, _view: &dyn View, decisions: &mut Decisions) -> u64 {
        let (operation, pages) = self.cut(extent);
        decisions.operations.push(operation);
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        debug_assert!(outcomes.is_well(), "no page operation fails yet");
        let (rule, width) = (self.rule, self.layout.width());
        let stripe = Stripe { row: self.layout.row(operation.stripe), mirrored: 0 };
        self.plan(operation, &stripe, |changed| rule.method(changed.count_ones(), width), view, wave)
    }

    fn fill(&self, index: u64) -> Option<Operation> {
        if index >= u64::from(self.layout.stripes()) {
            return None;
        }
        let stripe = StripeId(index as u32);
        let whole = cut::whole_write(self.layout.first(stripe), self.layout.width(), self.page_bytes);
        Some(self.cut(&whole).0)
    }

    fn locate(&self, lpn: Lpn) -> MemberPage {
        let (stripe, index) = self.layout.position(lpn);
        self.layout.row(stripe).data(index)
    }

    fn stripe_of(&self, lpn: Lpn) -> StripeId {
        self.layout.position(lpn).0
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        pages.push(self.layout.row(self.stripe_of(lpn)).parity());
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let (stripe, index) = self.layout.position(lpn);
        self.recover_covered(index, &Stripe { row: self.layout.row(stripe), mirrored: 0 }, lost, sources)
    }

    fn protects(&self) -> Protects {
        Protects::Member
    }

    fn parity_updates(&self) -> ParityUpdates {
        self.updates
    }

    fn boxed_clone(&self) -> Box<dyn Scheme> {
        Box::new(self.clone())
    }
}
