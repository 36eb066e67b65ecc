//! Repair of a stripe after failures, whatever guards its dirty strips: the tables of SPEC 0.6 (RAID), 1.7 (MCR) and 4.4 (PPC).
//!
//! Each repair takes one action, and further repairs the next ones. First, if the parity no longer protects the clean strips but all current data
//! are available, the parity is recomputed: this replaces a lost parity, lost bases, and lost copies for which there is no mirror chip. Otherwise one
//! strip is rebuilt, from the pages that the parity covers, from NVRAM or from its copy. Copies are rebuilt last, from their strips.

use crate::parts::bits::{self, Bits};
use crate::parts::raid::{Raid, waits_for_reads};
use crate::parts::stripe::{Guard, Stripe, Sum};
use crate::stripe_map::{Row, StripeMap};
use crate::{Damage, Failure, Method, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::{Cause, MemberPage, PageOperation, Sources, StripeId, Version, View, Wave};

/// What a repair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepairAction {
    /// Nothing: there is nothing lost, or nothing that can be rebuilt.
    None,
    /// Nothing, for lack of space.
    NoSpace,
    /// Makes the parity anew, and with it the dirty strips that are lost, which it takes from their guard.
    Parity,
    /// Brings a strip back.
    Strip(u32),
    /// Copies a strip to the mirror chip.
    ToCopy(u32),
}

/// What to do first for a stripe. `has_place` tells where pages can be programmed.
fn next_repair<R: Row>(stripe: &Stripe<R>, has_place: impl Fn(MemberPage) -> bool, view: &dyn View) -> RepairAction {
    let Stripe { row, lost, .. } = *stripe;
    let mut is_short = false;
    let mut place = |strips: u64, parity: bool| {
        let mut pages = Bits(strips).map(|strip| row.data(strip)).chain(parity.then(|| row.parity()));
        let has_all = pages.all(&has_place);
        is_short |= !has_all;
        has_all
    };
    let has_lost_base = stripe.guard != Guard::None && lost.base != 0;
    let without_mirror = Bits(lost.copy).any(|strip| !view.has_mirror(row.data(strip).member));
    let is_guarded = |strip| stripe.dirty >> strip & 1 == 1 && stripe.newest(strip).is_some();
    if (lost.parity || has_lost_base || without_mirror) && Bits(lost.current).all(is_guarded) && place(lost.current, true) {
        return RepairAction::Parity;
    }
    // What is computed comes before what is copied.
    let backed = stripe.backed();
    let mut obtainable = Bits(lost.current & !backed).chain(Bits(backed)).filter(|strip| stripe.newest(*strip).is_some());
    if let Some(strip) = obtainable.find(|strip| place(1 << strip, false)) {
        return RepairAction::Strip(strip);
    }
    let mut to_copy = Bits(lost.copy & !lost.current);
    if let Some(strip) = to_copy.find(|strip| view.has_mirror(row.data(*strip).member)) {
        return RepairAction::ToCopy(strip);
    }
    if is_short { RepairAction::NoSpace } else { RepairAction::None }
}

/// What failures have done to a stripe (`Recovery::damage`).
pub fn damage<R: Row>(stripe: &Stripe<R>, view: &dyn View) -> Damage {
    if !view.has_failures() {
        return Damage::None;
    }
    match next_repair(stripe, |page| view.can_allocate(page), view) {
        RepairAction::None => Damage::None,
        RepairAction::NoSpace => Damage::NoSpace,
        RepairAction::Strip(strip) if stripe.backed() >> strip & 1 == 1 => Damage::Copy,
        RepairAction::ToCopy(_) => Damage::Copy,
        RepairAction::Parity | RepairAction::Strip(_) => Damage::Compute,
    }
}

impl<M: StripeMap> Raid<M> {
    /// The operation that repairs a damaged stripe (`Recovery::repair`). A copy to the mirror chip has space for the parity too, if there is any, in case
    /// that the mirror chip has none. Where there is no space at all, what it would need.
    pub fn repair(&self, number: StripeId, stripe: &Stripe<M::Row>, view: &dyn View) -> Operation {
        let mut action = next_repair(stripe, |page| view.can_allocate(page), view);
        if action == RepairAction::NoSpace {
            action = next_repair(stripe, |_| true, view);
        }
        let row = &stripe.row;
        let space = match action {
            RepairAction::Parity => row.parity_bit() | row.members(stripe.lost.current),
            RepairAction::Strip(strip) => row.members(1 << strip),
            RepairAction::ToCopy(_) if view.can_allocate(row.parity()) => row.parity_bit(),
            RepairAction::ToCopy(_) => 0,
            RepairAction::None | RepairAction::NoSpace => unreachable!("only damaged stripes are repaired"),
        };
        self.background(OperationKind::Repair, number, space)
    }

    /// Plans the next wave of a repair, which nobody waits for. Returns the answer of `step`, and whether it ends with a parity that covers all newest
    /// versions: then the caller releases what the parity needed before.
    pub fn plan_repair(
        &self,
        operation: &mut Operation,
        outcomes: Outcomes,
        stripe: &Stripe<M::Row>,
        view: &dyn View,
        wave: &mut Wave,
    ) -> (Step, bool) {
        if outcomes.unallocated != 0 {
            return (Step::Failed(Failure::NoSpace), false);
        }
        if operation.step == 0 {
            let space = operation.space;
            match next_repair(stripe, |page| space >> page.member.0 & 1 == 1, view) {
                RepairAction::None | RepairAction::NoSpace => return (Step::Nothing, false), // a write has done it meanwhile, or more has failed
                RepairAction::Parity => self.push_parity_reads(operation, stripe, view, wave),
                RepairAction::Strip(strip) => {
                    operation.restored = 1 << strip;
                    operation.copied = (stripe.backed() >> strip & 1) as u8;
                    let sum = stripe.newest(strip).expect("it can be had");
                    self.push_reads(&sum, Cause::Rebuild, stripe, view, wave);
                }
                RepairAction::ToCopy(strip) => {
                    (operation.restored, operation.copied, operation.method) = (1 << strip, 1, Method::Mirrored);
                    wave.operations.push(self.whole_read(stripe.row.data(strip), Version::Current, Cause::Rebuild));
                }
            }
        } else if outcomes.unallocated_copies != 0 {
            // The mirror chip died under the repair, or is full: the parity takes its place.
            let has_place = operation.space & stripe.row.parity_bit() != 0;
            if !has_place || stripe.lost.current != 0 {
                return (Step::Failed(Failure::NoSpace), false);
            }
            operation.update_reads = operation.reads;
            self.push_parity_reads(operation, stripe, view, wave);
        }
        if !wave.operations.is_empty() {
            wave.operations.iter_mut().for_each(|read| read.host_waits = false);
            let before = operation.reads;
            let step = waits_for_reads(operation, wave);
            operation.reads += before;
            return (step, false);
        }
        operation.step += 1;
        (Step::Last, self.push_rebuilt(operation, stripe, wave))
    }

    /// The reads of a parity that covers all newest versions, and of the dirty strips that are lost, which it takes from their guard.
    fn push_parity_reads(&self, operation: &mut Operation, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) {
        operation.method = Method::Rcw;
        operation.restored = stripe.lost.current;
        operation.copied = stripe.backed().count_ones() as u8;
        if stripe.guard != Guard::DeferredParity {
            return self.push_newest_reads(stripe.all(), Cause::Rebuild, stripe, view, wave);
        }
        let clean = Sum { current: stripe.all() & !stripe.dirty, ..Sum::default() };
        let sources = self.push_reads(&clean, Cause::Rebuild, stripe, view, wave);
        for strip in Bits(operation.restored) {
            let sum = stripe.newest(strip).expect("it can be had");
            self.push_reads(&sum, Cause::Rebuild, stripe, view, wave);
        }
        operation.update_reads = wave.operations.len() as u8 - sources.count_ones() as u8;
    }

    /// The programs of a repair. Returns whether the parity is among them.
    fn push_rebuilt(&self, operation: &Operation, stripe: &Stripe<M::Row>, wave: &mut Wave) -> bool {
        let Operation { reads, update_reads, restored, .. } = *operation;
        let is_deferred = stripe.guard == Guard::DeferredParity;
        let sources = |reads, strips: u64| Sources { host: 0, reads, deferred: is_deferred && stripe.dirty & strips != 0, weights: 0 };
        let all = bits::lowest(reads.into());
        let mut push = |page, version, sources| {
            wave.operations.push(PageOperation { version, sources, host_waits: false, ..self.whole_program(page, Cause::Rebuild, 0) });
        };
        if operation.method != Method::Rcw {
            let version = if operation.method == Method::Mirrored { Version::Copy } else { Version::Current };
            push(stripe.row.data(restored.trailing_zeros()), version, sources(all, restored));
            return false;
        }
        // Reads for the strips alone come last, that of a copy that was not made first.
        let of_parity = if is_deferred { operation.reads_before_update_reads() } else { operation.reads_after_update_reads() };
        push(stripe.row.parity(), Version::Current, sources(of_parity, stripe.all()));
        for (read, strip) in (update_reads..).zip(Bits(restored)) {
            let own = if is_deferred { all & !of_parity } else { 1 << read };
            push(stripe.row.data(strip), Version::Current, sources(own, 1 << strip));
        }
        true
    }
}
