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
//!
//! After failures (SPEC 0.6): a lost strip is the XOR of the parity and of what it covers of the others, read under the stripe's lock as they
//! must belong together. A write or trim takes the method that reads nothing that is lost: RMW, by which the parity goes on holding a lost strip
//! that does not change; RCW for one that does, or with the parity lost. If there is neither, as more is lost than one parity makes up
//! for, the data are written and the parity counts as lost, so that nothing wrong is ever computed of it. Old content that is lost and of which
//! the host overwrites a part is computed first. What finds no place is held by the parity, or goes without one.

use crate::parts::bits::{self, Bits};
use crate::parts::layout::{Layout, Row};
use crate::parts::update::UpdateRule;
use crate::parts::{cut, pages};
use crate::{
    Damage, Decisions, Extent, Failure, Group, Lock, Lost, Method, Operation, OperationKind, Outcomes, ParityUpdates, Protects, Scheme,
    Step,
};
use flashraid_vocabulary::{
    Cause, Change, Delivery, Guardian, HostOp, Lpn, MemberId, MemberPage, PageOperation, Ruling, Sources, StripeId, Version, View, Wave,
};

/// What failures took of a stripe; nothing, mostly. Only what is written is ever lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Data strips whose current version is lost.
    pub current: u64,
    /// Data strips whose base is lost.
    pub base: u64,
    /// Data strips whose copy is lost.
    pub copy: u64,
    /// Whether the parity is lost.
    pub parity: bool,
}

impl Losses {
    /// What is lost of the data strips `strips` of the stripe at `row`, some of which may be `mirrored`, and of its parity.
    pub fn find(row: &Row, strips: u64, mirrored: u64, view: &dyn View) -> Self {
        let lost = |strips, version| {
            let is_lost = |strip: &u32| view.is_lost(row.data(*strip), version);
            bits::of(Bits(strips).filter(is_lost))
        };
        Self {
            current: lost(strips, Version::Current),
            base: lost(strips & mirrored, Version::Base),
            copy: lost(strips & mirrored, Version::Copy),
            parity: view.is_lost(row.parity(), Version::Current),
        }
    }
}

/// A stripe as a plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    /// Where its strips lie.
    pub row: Row,
    /// Its mirrored data strips.
    pub mirrored: u64,
    /// What failures took of it.
    pub lost: Losses,
}

impl Stripe {
    /// The version that the parity covers.
    #[inline]
    fn covered(&self, strip: u32) -> Version {
        covered(self.mirrored, strip)
    }

    /// The version to read for the newest content, which can be read: of a mirrored strip, that whose chip is free earlier; a tie goes to
    /// the data chip (SPEC 1.5).
    #[inline]
    fn newest(&self, strip: u32, view: &dyn View) -> Version {
        if self.mirrored >> strip & 1 == 0 || self.lost.copy >> strip & 1 == 1 {
            return Version::Current;
        }
        let page = self.row.data(strip);
        let has_lost_current = self.lost.current >> strip & 1 == 1;
        if has_lost_current || view.busy_ns_at(page, Version::Copy) < view.busy_ns_at(page, Version::Current) {
            Version::Copy
        } else {
            Version::Current
        }
    }

    /// Data strips of which no page that can be read holds the newest content.
    #[inline]
    pub fn unreadable(&self) -> u64 {
        self.lost.current & (!self.mirrored | self.lost.copy)
    }

    /// Data strips of which the version that the parity covers is lost.
    #[inline]
    pub fn uncovered(&self) -> u64 {
        self.lost.current & !self.mirrored | self.lost.base & self.mirrored
    }

    /// Data strips whose current version is lost, but not their copy.
    #[inline]
    pub fn backed(&self) -> u64 {
        self.lost.current & self.mirrored & !self.lost.copy
    }

    /// Whether the newest content of each of `strips`, which are unreadable, is the XOR of the parity and of what it covers of the others.
    pub fn can_compute(&self, strips: u64) -> bool {
        let has_rest = !self.lost.parity && self.uncovered() & !strips == 0;
        strips == 0 || has_rest && strips.is_power_of_two() && strips & self.mirrored == 0
    }

    /// `preferred` for a change of `changed`, if that reads nothing that is lost; else the other one of RMW and RCW; `Method::None` if
    /// no parity can be made (SPEC 0.6, degraded writes).
    #[inline]
    pub fn possible(&self, preferred: Method, changed: u64) -> Method {
        let reads_lost = match preferred {
            Method::Rmw => self.reads_lost_by_rmw(changed),
            Method::Rcw => self.reads_lost_by_rcw(changed),
            Method::None | Method::FullStripe | Method::Mirrored | Method::Deferred => false,
        };
        match preferred {
            Method::Rmw if reads_lost && !self.reads_lost_by_rcw(changed) => Method::Rcw,
            Method::Rcw if reads_lost && !self.reads_lost_by_rmw(changed) => Method::Rmw,
            _ if reads_lost => Method::None,
            _ => preferred,
        }
    }

    #[inline]
    fn reads_lost_by_rmw(&self, changed: u64) -> bool {
        self.lost.parity || self.uncovered() & changed != 0
    }

    #[inline]
    fn reads_lost_by_rcw(&self, changed: u64) -> bool {
        self.unreadable() & !changed != 0
    }
}

/// The version of a strip that the parity covers, with these strips mirrored.
#[inline]
fn covered(mirrored: u64, strip: u32) -> Version {
    if mirrored >> strip & 1 == 1 { Version::Base } else { Version::Current }
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

    /// The stripe of an operation as it is now, with these of its data strips mirrored. What is lost of strips that the operation does
    /// not name is left out if it holds no lock, as nothing is computed then.
    #[inline]
    pub fn stripe(&self, operation: &Operation, mirrored: u64, view: &dyn View) -> Stripe {
        let strips = if operation.lock == Lock::None { operation.strips } else { self.all_strips() };
        let row = self.layout.row(operation.stripe);
        let lost = if view.has_failures() { Losses::find(&row, strips, mirrored, view) } else { Losses::default() };
        Stripe { row, mirrored, lost }
    }

    /// A stripe as it is now, with these of its data strips mirrored.
    pub fn whole_stripe(&self, stripe: StripeId, mirrored: u64, view: &dyn View) -> Stripe {
        let row = self.layout.row(stripe);
        Stripe { row, mirrored, lost: Losses::find(&row, self.all_strips(), mirrored, view) }
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
        self.written(row, operation.beneath, view)
    }

    /// Cuts the part of `extent` that lies in its first stripe.
    // Always inlined: returned through memory, the operation would be copied by wide loads right behind the narrow stores that
    // made it, which the processor cannot forward; that alone costs 10 ns.
    #[inline(always)]
    pub fn cut(&self, extent: &Extent) -> (Operation, u64) {
        let (stripe, index) = self.layout.position(extent.first);
        let pages = extent.pages.min(u64::from(self.layout.width() - index));
        let row = self.layout.row(stripe);
        let mut operation = cut::operation(extent, pages, self.page_bytes, stripe, row.page(), index);
        let parity = 1 << row.parity().member.0;
        operation.space = match extent.op {
            HostOp::Write => parity | members(operation.strips, &row),
            // A stripe trimmed as a whole needs no page, so that a full device can be relieved.
            HostOp::Trim if operation.strips != self.all_strips() => parity,
            _ => 0,
        };
        (operation, pages)
    }

    /// The operation that writes the pages of `group`.
    pub fn cut_group(&self, group: &Group) -> Operation {
        let (stripe, index) = self.layout.position(group.first);
        let row = self.layout.row(stripe);
        let mut operation = cut::group(group, self.page_bytes, stripe, row.page(), index);
        operation.space = 1 << row.parity().member.0 | members(operation.strips, &row);
        operation
    }

    /// Plans the next wave of a read, write or trim. `choose` names the method that brings the parity up to date when the given
    /// strips change; another one is taken if that would read what is lost. Bases and copies are the caller's to release.
    #[inline]
    pub fn plan(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe,
        choose: impl FnOnce(u64) -> Method,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if outcomes.unplaced != 0 {
            return Self::end_without(operation, outcomes.unplaced, stripe);
        }
        match operation.kind {
            OperationKind::Read => self.read(operation, stripe, view, wave),
            OperationKind::Write => self.write(operation, stripe, choose, view, wave),
            OperationKind::Trim => self.trim(operation, stripe, choose, view, wave),
            OperationKind::Commit | OperationKind::Repair | OperationKind::Job => {
                unreachable!("not decided by cutting a request: {:?}", operation.kind)
            }
        }
    }

    /// Reads the written strips; zero needs no flash. A lost one is computed.
    #[inline]
    fn read(&self, operation: &Operation, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        let unreadable = operation.strips & stripe.unreadable();
        if unreadable != 0 && operation.lock == Lock::None {
            return Step::Lock;
        }
        if !stripe.can_compute(unreadable) {
            return Step::Failed(Failure::Lost);
        }
        for strip in Bits(self.written(&stripe.row, operation.strips & !unreadable, view)) {
            let bytes = operation.touched_bytes(strip, self.page_bytes);
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, Cause::Host, bytes, strip as u8));
        }
        self.push_computations(unreadable, stripe, view, wave);
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
            if !stripe.can_compute(merged & stripe.unreadable()) {
                return Step::Failed(Failure::Lost);
            }
            operation.method = stripe.possible(choose(operation.strips), operation.strips);
            self.push_pre_reads(operation.method, operation.strips, merged, stripe, view, wave);
            let sources = wave.operations.len();
            self.push_update_reads(if operation.method == Method::Rmw { merged & stripe.mirrored } else { merged }, stripe, view, wave);
            operation.update_reads = (wave.operations.len() - sources) as u8;
            if !wave.operations.is_empty() {
                return waits_for_reads(operation, wave);
            }
        }
        self.count(operation.method);
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
            operation.method = stripe.possible(choose(dropped), dropped);
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
        self.count(operation.method);
        self.push_parity_program(
            &stripe.row,
            Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)), ..Sources::default() },
            wave,
        );
        self.push_unmaps(dropped, &stripe.row, wave);
        operation.step += 1;
        Step::Last
    }

    /// How a write or trim ends whose last wave found no place on the members `unplaced`: without these pages, if what the host wrote
    /// can be read or computed all the same, and nothing becomes lost that was not (SPEC 0.1 e, 0.6); else it fails.
    pub fn end_without(operation: &Operation, unplaced: u64, stripe: &Stripe) -> Step {
        let is_unplaced = |page: MemberPage| unplaced >> page.member.0 & 1 == 1;
        let programmed = operation.restored | if operation.kind == OperationKind::Trim { 0 } else { operation.strips };
        let missing = bits::of(Bits(programmed).filter(|strip| is_unplaced(stripe.row.data(*strip))));
        // Other strips of which the parity covers a lost version, after the operation.
        let lost = if operation.method == Method::Rmw { stripe.uncovered() } else { stripe.lost.current };
        let others = lost & !(operation.strips | operation.restored);
        let has_parity = operation.method != Method::None && !is_unplaced(stripe.row.parity());
        let is_held = has_parity && (missing | others).count_ones() <= 1;
        // A copy is released in trust of the parity, unless other strips keep what they have (RMW).
        let leans = operation.method != Method::Rmw && others & stripe.backed() != 0;
        let is_lost_anyway = !leans && !stripe.can_compute(others);
        if is_held || missing == 0 && (others == 0 || is_lost_anyway) { Step::Done } else { Step::Failed(Failure::NoSpace) }
    }

    // ---- repair ----

    /// The one page that is lost of a stripe without copies and can be computed of the others.
    pub fn repairable(&self, stripe: &Stripe) -> Option<MemberPage> {
        let lost = stripe.lost;
        match (lost.current.count_ones(), lost.parity) {
            (0, true) => Some(stripe.row.parity()),
            (1, false) if stripe.can_compute(lost.current) => Some(stripe.row.data(lost.current.trailing_zeros())),
            _ => None,
        }
    }

    /// Plans the next wave of a repair: the XOR of all the others (SPEC 1.7, non-MW), which nobody waits for.
    pub fn plan_repair(&self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        let target = MemberPage { member: MemberId(operation.space.trailing_zeros() as u16), page: operation.page };
        if operation.step == 0 {
            if self.repairable(stripe) != Some(target) {
                return Step::Nothing; // a write has done it meanwhile, or more has failed
            }
            if target == stripe.row.parity() {
                self.push_newest_reads(self.all_strips(), Cause::Rebuild, stripe, view, wave);
            } else {
                let strip = stripe.lost.current.trailing_zeros();
                self.push_computation(strip, Cause::Rebuild, stripe, view, wave);
            }
        }
        let step = if wave.operations.is_empty() {
            let sources = Sources { host: 0, reads: bits::lowest(u32::from(operation.reads)), ..Sources::default() };
            wave.operations.push(pages::program(target, Cause::Rebuild, self.page_bytes, sources));
            operation.step += 1;
            Step::Last
        } else {
            waits_for_reads(operation, wave)
        };
        wave.operations.iter_mut().for_each(|page_operation| page_operation.host_waits = false);
        step
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
    pub fn count(&mut self, method: Method) {
        match method {
            Method::None => {}
            Method::Mirrored => self.updates.mirrored += 1,
            Method::Deferred => self.updates.deferred += 1,
            Method::FullStripe => self.updates.full_stripe += 1,
            Method::Rmw => self.updates.rmw += 1,
            Method::Rcw => self.updates.rcw += 1,
        }
    }

    /// The pre-reads of `method` for a change of the strips `changed`: the reads that are sources of the parity. Those of RMW deliver the old
    /// content of `merged` on their way, unless that is mirrored.
    #[inline(always)]
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
            }
            Method::FullStripe | Method::Rcw => {
                self.push_newest_reads(self.all_strips() & !changed, Cause::PreRead, stripe, view, wave);
            }
            Method::None | Method::Mirrored | Method::Deferred => {}
        }
    }

    /// Reads of the newest versions of those of `strips` that are written, as sources of the parity. Those that only a copy holds come first,
    /// so that who restores them knows which read is whose (`push_restored`).
    #[inline(always)]
    pub fn push_newest_reads(&self, strips: u64, cause: Cause, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        let backed = stripe.backed();
        for strip in Bits(strips & backed).chain(Bits(self.written(&stripe.row, strips & !backed, view))) {
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP));
        }
    }

    /// Reads of the old content of `merged`, all of them in the first wave; what is lost of it is computed.
    #[inline(always)]
    pub fn push_update_reads(&self, merged: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        let unreadable = merged & stripe.unreadable();
        for strip in Bits(merged & !unreadable) {
            let (page, version) = (stripe.row.data(strip), stripe.newest(strip, view));
            wave.operations.push(pages::read_version(page, version, Cause::UpdateRead, self.page_bytes, strip as u8));
        }
        self.push_computations(unreadable, stripe, view, wave);
    }

    /// Delivers the newest content of each of `strips`, which can be computed.
    #[inline]
    fn push_computations(&self, strips: u64, stripe: &Stripe, view: &dyn View, wave: &mut Wave) {
        for strip in Bits(strips) {
            let reads = self.push_computation(strip, Cause::Reconstruct, stripe, view, wave);
            wave.deliveries.push(Delivery { strip: strip as u8, reads, delayed: false });
        }
    }

    /// The reads of which the version of `strip` that the parity covers is the XOR: of the parity, and of what it covers of the others.
    /// They belong to the first wave; what that reads already is not read twice.
    pub fn push_computation(&self, strip: u32, cause: Cause, stripe: &Stripe, view: &dyn View, wave: &mut Wave) -> u64 {
        let others = Bits(self.all_strips() & !(1 << strip)).map(|other| (stripe.row.data(other), stripe.covered(other)));
        let mut reads = 0;
        for (page, version) in others.chain([(stripe.row.parity(), Version::Current)]) {
            if !view.is_written(page, version) {
                continue;
            }
            let known = wave.operations.iter().position(|read| (read.address, read.version) == (page, version));
            let index = known.unwrap_or_else(|| {
                wave.operations.push(pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP));
                wave.operations.len() - 1
            });
            wave.operations[index].bytes = self.page_bytes;
            reads |= 1 << index;
        }
        reads
    }

    /// The last wave of a write: the strips, and the parity made of them and of the reads `sources`. If none can be made, what there was
    /// of it covers the strips no longer.
    #[inline(always)]
    pub fn push_programs(&self, operation: &mut Operation, merged: u64, sources: u64, row: &Row, wave: &mut Wave) -> Step {
        self.push_data_programs(operation, merged, row, wave);
        if operation.method == Method::None {
            wave.changes.push(Change::Lose(row.parity()));
        } else {
            self.push_parity_program(row, Sources { host: operation.strips, reads: sources, ..Sources::default() }, wave);
        }
        operation.step += 1;
        Step::Last
    }

    /// Programs of the strips of a write. A merged page is programmed whole, others as far as the host touches them.
    #[inline(always)]
    pub fn push_data_programs(&self, operation: &Operation, merged: u64, row: &Row, wave: &mut Wave) {
        for strip in Bits(operation.strips) {
            let whole = merged >> strip & 1 == 1;
            let bytes = if whole { self.page_bytes } else { operation.touched_bytes(strip, self.page_bytes) };
            let sources = Sources { host: 1 << strip, reads: 0, ..Sources::default() };
            wave.operations.push(pages::program(row.data(strip), Cause::Host, bytes, sources));
        }
    }

    /// Programs of the strips that an operation restores, the reads of which are `first` and those that follow it.
    pub fn push_restored(&self, operation: &Operation, first: u8, cause: Cause, row: &Row, wave: &mut Wave) {
        for (read, strip) in (first..).zip(Bits(operation.restored)) {
            wave.operations.push(pages::program(
                row.data(strip),
                cause,
                self.page_bytes,
                Sources { host: 0, reads: 1 << read, ..Sources::default() },
            ));
        }
    }

    /// Read of a whole page that delivers no strip.
    pub fn whole_read(&self, page: MemberPage, version: Version, cause: Cause) -> PageOperation {
        pages::read_version(page, version, cause, self.page_bytes, PageOperation::NO_STRIP)
    }

    /// Program of a whole page with the XOR of `reads`.
    pub fn whole_program(&self, page: MemberPage, cause: Cause, reads: u64) -> PageOperation {
        pages::program(page, cause, self.page_bytes, Sources { host: 0, reads, ..Sources::default() })
    }

    /// Program of the parity strip.
    #[inline(always)]
    pub fn push_parity_program(&self, row: &Row, sources: Sources, wave: &mut Wave) {
        wave.operations.push(pages::program(row.parity(), Cause::Parity, self.page_bytes, sources));
    }

    /// The recovery rule for the covered version of strip `index` of a stripe at `row`: XOR of the parity and of what it covers of the others.
    pub fn recover_covered(&self, index: u32, row: &Row, mirrored: u64, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        sources.clear();
        sources.extend(Bits(self.all_strips() & !(1 << index)).map(|strip| (row.data(strip), covered(mirrored, strip))));
        sources.push((row.parity(), Version::Current));
        sources.iter().all(|(page, version)| !lost(*page, *version))
    }

    fn push_unmaps(&self, strips: u64, row: &Row, wave: &mut Wave) {
        wave.changes.extend(Bits(strips).map(|strip| Change::Unmap(row.data(strip))));
    }
}

/// The members of data `strips`, as bits.
#[inline]
pub fn members(strips: u64, row: &Row) -> u64 {
    Bits(strips).fold(0, |members, strip| members | 1 << row.data(strip).member.0)
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

    fn decide_group(&mut self, group: &Group, _page_bytes: u32, _view: &dyn View, decisions: &mut Decisions) {
        decisions.operations.push(self.cut_group(group));
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let (rule, width) = (self.rule, self.layout.width());
        let stripe = self.stripe(operation, 0, view);
        if operation.kind == OperationKind::Repair {
            return self.plan_repair(operation, outcomes, &stripe, view, wave);
        }
        self.plan(operation, outcomes, &stripe, |changed| rule.method(changed.count_ones(), width), view, wave)
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

    fn parity_of(&self, lpn: Lpn) -> Option<MemberPage> {
        Some(self.layout.row(self.stripe_of(lpn)).parity())
    }

    fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
        pages.push(self.layout.row(self.stripe_of(lpn)).parity());
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<(MemberPage, Version)>) -> bool {
        let (stripe, index) = self.layout.position(lpn);
        self.recover_covered(index, &self.layout.row(stripe), 0, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        if !view.has_failures() {
            return Damage::None;
        }
        match self.repairable(&self.whole_stripe(stripe, 0, view)) {
            None => Damage::None,
            Some(page) if view.has_room(page) => Damage::Compute,
            Some(_) => Damage::NoRoom,
        }
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        let state = self.whole_stripe(stripe, 0, view);
        let lost = self.repairable(&state).expect("only damaged stripes are repaired");
        Operation::background(OperationKind::Repair, stripe, state.row.page(), self.layout.first(stripe), 1 << lost.member.0)
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
