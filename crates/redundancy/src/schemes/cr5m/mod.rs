//! Channel-level RAID-5 with mirroring (CR5M).
//!
//! Idea: RAID-5 across the channels of one SSD, and on each channel a mirror chip that no user sees. A small write puts the new version
//! of a strip on a data chip and on its channel's mirror chip at once, and leaves the parity alone: the copy guards the new version,
//! while the superseded version stays on flash as the *base*, which the parity still covers to protect the other strips. This
//! saves the pre-reads and the parity program, until the last unmirrored strip of the stripe changes and the parity is recomputed. A
//! write falls back on RAID-5 if a mirror chip that it needs is busy or has had more than its share of writes. The overhead is one chip
//! per channel, and flash for the bases.
//! Paper: W. Pan, T. Xie, "A Mirroring-Assisted Channel-RAID5 SSD for Mobile Applications", ACM Transactions on Embedded Computing
//! Systems 17(4), article 75, 2018: section 3.1, Algorithm 1. Rules: SPEC 1.4 (writes), 1.5 (reads), 1.6 (pin credit, pressure), 1.10.
//! The paper's tables: PPN is the current version, EPPN the base, MPPN the copy, and "MA is set" a bit of `dirty`: a mirrored strip is a dirty one
//! with a copy as its guard. What follows from that is shared: reads and recovery (1.5, `parts::stripe`), RAID-5's updates (`parts::raid`), and the
//! table of MCR (1.7, `parts::repair`). This file decides when a write is mirrored or consolidates its stripe.
//!
//! Departures, all from what the paper leaves open (SPEC 1.10): the last unmirrored strip consolidates (`consolidate`); a refused write
//! of a mirrored stripe reads bases in RMW and current versions in RCW; TRIM. Beyond SPEC:
//! - A write of part of a page reads the old content before its mirrored programs (0.3 step 4), so the mirror chips are looked at twice:
//!   before that read, and again when the programs are to start. If the second look refuses, RAID-5's reads follow, even if one of
//!   them repeats an update read.
//! - The slack of 1.6 is contained in `Build::pages_held`, which leaves two blocks out.
//! - Pressure means that only the lack of credit prevented a mirrored write: one refused by its limit or by a busy mirror chip consolidates nothing.
//! - The fill leaves every stripe plain, one that is cut off by the end of the space too.
//! - After the death of a data chip without a spare SPEC 1.7 repairs nothing; here its strips go to the other data chips of the channel as far
//!   as these have space, as 0.6 has it for writes.
//! - A stripe with a lost page that would be the next to be consolidated is not passed over for another one (1.6): its channel waits for the repair.

mod credit;
mod entry;
mod fallback;
mod recency;

use crate::parts::bits::Bits;
use crate::parts::raid::{Raid, end_without, waits_for_reads};
use crate::parts::repair;
use crate::parts::stripe::{Guard, Losses, Stripe};
use crate::parts::update::{Chosen, UpdateRule};
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Addressed, Addressing, Damage, Decisions, Deferring, Extent, Failure, Lost, Method, Operation, OperationKind, Outcomes, ParityUpdates,
    Protects, Recovery, Scheme, Source, Step,
};
use credit::Credit;
pub use entry::{ENTRY, over};
use flashraid_vocabulary::{
    Cause, Change, GcAdvisor, Lpn, MemberPage, PageOperation, SemivalidAction, StripeId, Version, View, Wave, persistent,
};
use recency::MirroredStripes;

/// How the parity of a stripe is brought up to date.
#[derive(Clone, Copy, Debug)]
struct ParityRule {
    update: UpdateRule,
    consolidates_last_strip: bool,
}

impl ParityRule {
    /// Whether a change of `changed` leaves no strip unmirrored, and so recomputes the parity (SPEC 1.10 ruling 2).
    fn consolidates<R: Row>(&self, changed: u64, stripe: &Stripe<R>) -> bool {
        self.consolidates_last_strip && changed & !stripe.dirty != 0 && changed | stripe.dirty == stripe.all()
    }

    /// Whether a write of `changed` may defer the parity.
    fn may_defer<R: Row>(&self, changed: u64, stripe: &Stripe<R>) -> bool {
        changed != stripe.all() && !self.consolidates(changed, stripe)
    }

    /// The method for a change of `changed` that does not defer the parity. If a base is lost the parity is of no use to the other
    /// strips, and is recomputed (SPEC 1.7).
    fn choose<R: Row>(&self, changed: u64, stripe: &Stripe<R>, view: &dyn View) -> Chosen {
        if changed != stripe.all() && (stripe.lost.base != 0 || self.consolidates(changed, stripe)) {
            return Method::Rcw.into();
        }
        self.update.choose(changed, stripe, || stripe.reads_of_update(changed), view)
    }
}

/// Channel-level RAID-5 with mirroring.
#[derive(Clone, Debug)]
struct Cr5m<M> {
    /// Everything that a channel-level RAID-5 does.
    raid: Raid<M>,
    rule: ParityRule,
    /// Reads take either copy of a mirrored strip, and not always the one on the data chip.
    reads_copies: bool,
    /// Of each channel.
    data_chips: u64,
    /// Of each channel.
    mirror_chips: u64,
    pages_per_chip: u64,
    credit: Credit,
    /// Durable.
    stripes: MirroredStripes,
}

persistent!(Cr5m<M> where [M: StripeMap] {
    keeps [raid, credit, stripes],
    anew [rule, reads_copies, data_chips, mirror_chips, pages_per_chip],
});

/// `Operation::step` of a write whose mirroring was refused after its update reads, and which has made RAID-5's pre-reads since.
const REFUSED: u8 = 2;
/// `Operation::step` of a mirrored write for whose copies there was no place in the end, and which has made RAID-5's pre-reads since.
const UNMIRRORED: u8 = 4;

impl<M: StripeMap> Cr5m<M> {
    fn whole_stripe(&self, stripe: StripeId, view: &dyn View) -> Stripe<M::Row> {
        self.raid.whole_stripe(stripe, self.stripes.mirrored(stripe), Guard::Copy, view)
    }

    fn write(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated | outcomes.unallocated_copies != 0 {
            return match operation.method {
                Method::Mirrored => self.unmirror(operation, outcomes, stripe, view, wave),
                // Its data are programmed, and lost again, before there is a parity that could hold them.
                _ if operation.step == UNMIRRORED => Step::Failed(Failure::NoSpace),
                _ => end_without(operation, outcomes.unallocated, stripe),
            };
        }
        let puts_off = match operation.method {
            Method::None => operation.step == 0 && self.rule.may_defer(operation.strips, stripe),
            method => method == Method::Mirrored,
        };
        if puts_off && leaves_all_protected(operation.strips, stripe) && self.credit.admits(stripe.row.members(operation.strips), view) {
            return self.mirror(operation, stripe, view, wave);
        }
        let step = if operation.method == Method::Mirrored {
            self.refuse(operation, stripe, view, wave)
        } else if operation.step == REFUSED {
            self.program_refused(operation, stripe, view, wave)
        } else if operation.step == UNMIRRORED {
            return self.program_unmirrored(operation, stripe, view, wave);
        } else {
            self.update(operation, stripe, view, wave)
        };
        if step == Step::Last {
            // The update reads of a refused write came first.
            let first = if operation.step > REFUSED { operation.update_reads } else { 0 };
            self.raid.push_restored(operation, first, &stripe.row, wave);
            let released = if keeps_others(operation.method) { operation.strips } else { !0 };
            release(released, stripe, view, wave);
        }
        step
    }

    fn trim(&mut self, operation: &mut Operation, outcomes: Outcomes, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        if outcomes.unallocated != 0 {
            return end_without(operation, outcomes.unallocated, stripe);
        }
        let step = self.update(operation, stripe, view, wave);
        if matches!(step, Step::Last | Step::Done) {
            self.raid.push_restored(operation, 0, &stripe.row, wave);
            let released = if keeps_others(operation.method) { operation.strips } else { !0 };
            release(released, stripe, view, wave);
        }
        step
    }

    /// RAID-5's update of the parity.
    fn update(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let is_first = operation.step == 0;
        let (rule, planned) = (self.rule, operation.method);
        let choose = |changed| if planned == Method::None { rule.choose(changed, stripe, view) } else { planned.into() };
        let step = self.raid.plan(operation, Outcomes::default(), stripe, choose, view, wave);
        if is_first {
            operation.restored = restored(operation, stripe);
        }
        step
    }

    // ---- mirrored writes ----

    /// MW: books and programs, unless a part of a page needs its old content first.
    fn mirror(&mut self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> Step {
        let merged = self.raid.merged(operation, &stripe.row, view);
        operation.method = Method::Mirrored;
        if operation.step == 0 && merged != 0 {
            self.raid.push_update_reads(merged, stripe, view, wave);
            operation.update_reads = wave.operations.len() as u8;
            return waits_for_reads(operation, wave);
        }
        self.raid.count(operation);
        self.credit.book(stripe.row.members(operation.strips));
        self.raid.push_data_programs(operation, operation.strips, merged, &stripe.row, wave);
        for (index, strip) in Bits(operation.strips).enumerate() {
            let program = &mut wave.operations[index];
            let copy = PageOperation { version: Version::Copy, cause: Cause::Mirror, ..*program };
            // The version that the parity covers stays; later ones are nobody's base.
            program.keep_base = stripe.dirty >> strip & 1 == 0;
            wave.operations.push(copy);
        }
        operation.step += 1;
        Step::Last
    }

    /// Counts the host's programs of data `strips`, and of the parity if there is a `method`.
    fn count_programs(&mut self, strips: u64, method: Method, row: &M::Row) {
        self.credit.programmed(row.members(strips) | if method == Method::None { 0 } else { row.parity_bit() });
    }

    // ---- consolidation under pressure (SPEC 1.6) ----

    fn consolidate(
        &mut self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Failed(Failure::NoSpace);
        }
        // A write has done it meanwhile, or a failure leaves it to a repair.
        if operation.step == 0 && (stripe.dirty == 0 || stripe.lost != Losses::default()) {
            return Step::Nothing;
        }
        let step = self.raid.plan_commit(operation, stripe, view, wave);
        if step == Step::Last {
            release(!0, stripe, view, wave);
            self.raid.count_commit(false);
        }
        step
    }
}

/// Whether a mirrored write of `changed` leaves every strip of the stripe as safe as it was (SPEC 1.7, writes in degraded mode): the parity and all
/// bases are there, and the mirror chips hold what they have to.
fn leaves_all_protected<R: Row>(changed: u64, stripe: &Stripe<R>) -> bool {
    !stripe.lost.parity && stripe.lost.base == 0 && (stripe.unreadable() | stripe.lost.copy) & changed == 0
}

/// Whether strips that an operation does not name stay mirrored: not if the parity is made of all current versions.
fn keeps_others(method: Method) -> bool {
    matches!(method, Method::Rmw | Method::None)
}

/// The strips that RCW has to program too: those whose copy it releases and whose current version is lost (SPEC 1.4, release). All of them or,
/// if one of them broke after space was asked for, none: then the parity holds them, until they are repaired.
fn restored<R: Row>(operation: &Operation, stripe: &Stripe<R>) -> u64 {
    let strips = stripe.backed() & !operation.strips;
    let has_place = stripe.row.members(strips) & !operation.space == 0;
    if operation.method == Method::Rcw && has_place { strips } else { 0 }
}

/// Drops base and copy of those of `strips` that are mirrored; the parity covers their current versions from the operation's end on.
fn release<R: Row>(strips: u64, stripe: &Stripe<R>, view: &dyn View, wave: &mut Wave) {
    for page in Bits(strips & stripe.dirty).map(|strip| stripe.row.data(strip)) {
        // A strip that had never been written before its first MW has no base.
        if view.is_written(page, Version::Base) {
            wave.changes.push(Change::ReleaseBase(page));
        }
        wave.changes.push(Change::ReleaseCopy(page));
    }
}

impl<M: StripeMap> GcAdvisor for Cr5m<M> {
    /// A base is moved, never lost (SPEC 1.6).
    fn rule(&self, _address: MemberPage) -> SemivalidAction {
        SemivalidAction::Move
    }
}

impl<M: StripeMap> Addressed for Cr5m<M> {
    type Addressing = Raid<M>;

    fn addressing(&self) -> &Raid<M> {
        &self.raid
    }

    /// Planned as a full stripe even where the space ends inside it, so that every stripe begins plain.
    fn fill(&self, index: u64) -> Option<Operation> {
        self.raid.fill(index).map(|operation| Operation { method: Method::FullStripe, ..operation })
    }

    /// SPEC 1.2: two 32-bit addresses in each entry of both tables, one entry for each page of the data chips (PPN and MA) and of
    /// the mirror chips (EPPN and MPPN).
    fn tables(&self, _mapped_pages: u64) -> Vec<(&'static str, u64)> {
        let bytes = |chips| 8 * self.credit.channels() * chips * self.pages_per_chip;
        vec![("extended_mapping_table", bytes(self.data_chips)), ("mirror_table", bytes(self.mirror_chips))]
    }
}

impl<M: StripeMap> Scheme for Cr5m<M> {
    fn decide(&mut self, extent: &Extent, view: &dyn View, decisions: &mut Decisions) -> u64 {
        let pages = self.raid.decide(extent, decisions);
        if view.has_failures() {
            let operation = decisions.operations.last_mut().expect("just decided");
            let stripe = self.whole_stripe(operation.stripe, view);
            if operation.space != 0 && operation.strips != stripe.all() {
                operation.space |= stripe.row.members(stripe.backed() & !operation.strips);
            }
        }
        pages
    }

    fn step(&mut self, operation: &mut Operation, outcomes: Outcomes, view: &dyn View, wave: &mut Wave) -> Step {
        let stripe = self.raid.stripe(operation, self.stripes.mirrored(operation.stripe), Guard::Copy, view);
        let stripe = Stripe { reads_copies: self.reads_copies, ..stripe };
        let step = match operation.kind {
            OperationKind::Write => self.write(operation, outcomes, &stripe, view, wave),
            OperationKind::Trim => self.trim(operation, outcomes, &stripe, view, wave),
            OperationKind::Commit => self.consolidate(operation, outcomes, &stripe, view, wave),
            OperationKind::Repair => {
                let (step, makes_parity) = self.raid.plan_repair(operation, outcomes, &stripe, view, wave);
                if makes_parity {
                    release(!0, &stripe, view, wave);
                }
                step
            }
            OperationKind::Read | OperationKind::Migrate | OperationKind::Job => self.raid.read(operation, &stripe, view, wave),
        };
        wave.background = self.credit.is_wanting();
        step
    }

    fn ended(&mut self, operation: &Operation) {
        let Operation { stripe, method, strips, .. } = *operation;
        let row = self.raid.map().row(stripe);
        let released = if keeps_others(method) { strips } else { !0 };
        match operation.kind {
            OperationKind::Read | OperationKind::Migrate | OperationKind::Job => {}
            OperationKind::Write if method == Method::Mirrored => {
                self.credit.mirrored(row.members(strips));
                self.stripes.mirror(stripe, strips);
            }
            OperationKind::Write => {
                self.count_programs(strips | operation.restored, method, &row);
                self.stripes.release(stripe, released);
            }
            OperationKind::Trim => {
                self.count_programs(operation.restored, method, &row);
                self.stripes.release(stripe, released);
            }
            OperationKind::Commit => {
                if operation.step > 0 {
                    self.stripes.release(stripe, !0);
                }
                self.credit.stop_consolidating(stripe);
            }
            OperationKind::Repair if method == Method::Rcw => self.stripes.release(stripe, !0),
            OperationKind::Repair => {}
        }
    }

    fn failed(&mut self, operation: &Operation) {
        if operation.kind == OperationKind::Commit {
            self.credit.stop_consolidating(operation.stripe);
        }
    }

    fn prefetch(&self, lpn: Lpn) {
        self.stripes.prefetch(self.raid.stripe_of(lpn));
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

impl<M: StripeMap> Recovery for Cr5m<M> {
    fn protects(&self) -> Protects {
        Protects::Chip
    }

    fn recover(&self, lpn: Lpn, lost: &Lost, sources: &mut Vec<Source>) -> bool {
        let (number, strip) = self.raid.map().position(lpn);
        Stripe::new(self.raid.map().row(number), self.stripes.mirrored(number), Guard::Copy).recover(strip, lost, sources)
    }

    fn damage(&self, stripe: StripeId, view: &dyn View) -> Damage {
        repair::damage(&self.whole_stripe(stripe, view), view)
    }

    fn repair(&self, stripe: StripeId, view: &dyn View) -> Operation {
        self.raid.repair(stripe, &self.whole_stripe(stripe, view), view)
    }
}

impl<M: StripeMap> Deferring for Cr5m<M> {
    fn prepared(&mut self) {
        self.credit.begin();
    }

    fn background(&mut self, view: &dyn View) -> Option<Operation> {
        while let Some(member) = self.credit.take_wanting() {
            let Some(victim) = self.stripes.least_recent_on(member, self.raid.map()) else { continue };
            // It is left to its repair; until then the channel does without.
            if view.has_failures() && self.whole_stripe(victim, view).lost != Losses::default() {
                continue;
            }
            if self.credit.consolidate(member, victim) {
                return Some(self.raid.commit(victim));
            }
        }
        None
    }
}
