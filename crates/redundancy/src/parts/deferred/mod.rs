//! Parities that NVRAM holds while those on flash are out of date: the rules that PPC and FPC share (SPEC 4.2, 4.4, 4.6).
//!
//! A strip is *associated* (SPEC: in pi) if it has changed since the parity on flash was made: it is dirty (`parts::stripe`), and its guard is what NVRAM
//! holds, the XOR of the newest versions of all associated strips. With all strips associated that alone protects the stripe, and bases are of no use;
//! so a full parity in NVRAM (FPC) is the case in which either none or all are associated. With none associated the stripe is a RAID-5 stripe, and has no
//! entry.
//!
//! What an update does to what NVRAM holds is the scheme's (`Rule`). A commit makes the parity of both lines, by whichever reads fewer pages; if the
//! parity's chip has no page at hand GC makes do with all strips associated (widen).
//!
//! What updates have claimed (`ParityCache`) and *durable* state are apart: plans and recovery look at the durable one alone. They differ in what is under
//! way, and where GC or a failure intervened: then an operation finds nothing to do, or an update makes an entry that it was to find.
//!
//! An entry whose commit has failed is *homeless*: its place was claimed for another stripe. The update of that one fails, too, and gives the place back;
//! every place that is free goes to the homeless first. Until then updates of a homeless stripe wait, as do those of one that is being committed: with the
//! place of a third stripe there would be one entry too many once the place that was given back is taken by somebody else.
//!
//! After failures an associated strip is the XOR of NVRAM and the other associated ones, any other strip is the XOR of the parity and what that
//! covers of the others. A write or trim that finds something of its stripe lost makes NVRAM cover the whole stripe: so nothing that it leaves
//! behind depends on what is lost, and it needs no page for a parity. If it cannot, as more is lost than one failure takes, the data are written and the
//! parity counts as lost. Repairs follow the table of SPEC 4.4.
//!
//! So the two lines give back two lost strips, one each: one of a member that has failed, one of a member that had no page for what was written since.
//! What makes one line of the two (a commit, widening, covering the whole stripe) would cost both. It is left undone then, until a repair has brought
//! one back: the commit fails and its entry stays, an update goes on as if nothing were lost or fails.

mod commit;
mod decide;
mod scheme;
mod update;

use crate::parts::bits::Bits;
use crate::parts::parity_cache::{ParityCache, Replacement};
use crate::parts::raid::Raid;
use crate::parts::stripe::{Guard, Stripe, Sum};
use crate::parts::update::Chosen;
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Before, Build, Choice, CommitCause, Draws, GuardCounts, Members, Method, Operation, OperationKind, Parameter, ParameterError, Values,
};
use bytemuck::Zeroable;
use flashraid_vocabulary::array::Array;
use flashraid_vocabulary::{Cause, Change, SemivalidAction, StripeId, Version, View, Wave, persistent};

/// How much NVRAM there is for parities.
pub const PARITY_CACHE_BYTES: Parameter = Parameter {
    name: "parity_cache_bytes",
    unit: "bytes",
    values: Values::Whole { least: 512, most: u32::MAX, default: 32_768 },
    draws: Draws::Pages(&[1, 2, 3, 5, 8]),
    about: "Size of the parity cache in NVRAM: one page for each stripe whose parity is deferred. Metadata of an entry are not counted.",
    ..Parameter::PLAIN
};

/// When updates take their places.
pub const EVICTS_LOCKED: Parameter = Parameter {
    name: "evicts_locked",
    values: Values::Words(&["no", "yes"]),
    before: &[Before { version: "0.3.0", value: "yes" }],
    about: "Whether the parity cache may evict a stripe that an operation in flight changes, so that the commit waits for it. With no, an update \
            takes its place in the cache when it starts, and waits if all stripes there are being changed; with yes when it arrives, so that victims and \
            all counts follow from the order of requests alone, whatever the timing.",
    ..Parameter::PLAIN
};

/// Whether an update that gets the place of another stripe runs beside that one's commit or after it.
pub const COMMIT_FIRST: Parameter = Parameter {
    name: "commit_first",
    values: Values::Words(&["no", "yes"]),
    needs: Some(("evicts_locked = no", |build| build.choice(&EVICTS_LOCKED) == Ok("no"))),
    about: "Whether an update that takes the place of another stripe in the parity cache starts only when the commit of that stripe has ended. \
            With no, both run side by side, and the update ends when both have ended.",
    ..Parameter::PLAIN
};

/// The choice with which they do when they start.
pub const CLAIMS: Choice = Choice { parameter: &EVICTS_LOCKED, word: "no" };

/// LRU, in a cache that evicts locked stripes or not, as the user wants.
pub fn lru(build: &Build) -> Result<Replacement, ParameterError> {
    Ok(Replacement { evicts_locked: build.choice(&EVICTS_LOCKED)? == "yes", ..Replacement::LRU })
}

/// How a scheme brings up to date what NVRAM holds of a stripe.
pub trait Rule: Clone + Send + Sync + 'static {
    /// Whether an update of the data strips `changed` reads as for RMW or as for RCW, if it can do either. Asked once for each update.
    fn choose<R: Row>(&self, _stripe: &Stripe<R>, _changed: u64, _view: &dyn View) -> Chosen {
        Method::None.into()
    }

    /// What an update of the data strips `changed` does, of a stripe of which nothing is lost. Must follow from what is associated and changed, and from
    /// what was chosen, alone.
    fn next<R: Row>(&self, stripe: &Stripe<R>, changed: u64, chosen: Method) -> Next;

    /// What a commit makes the parity of, as all newest versions add up to it, and whether the load decided for it; `None` if too much is lost.
    fn commit<R: Row>(&self, stripe: &Stripe<R>, view: &dyn View) -> Option<(Sum, bool)>;

    /// What GC does about a base.
    fn action(&self) -> SemivalidAction;
}

/// What NVRAM will hold of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// What it is made of beside the new versions of what changes.
    pub sum: Sum,
    /// The parity on flash is read too, though it is no part of the sum.
    pub reads_parity: bool,
    /// The associated strips.
    pub associated: u64,
    /// The versions that the parity on flash covers stay as bases.
    pub keeps_bases: bool,
}

/// Whether a parity that covers the whole stripe, new versions of `changed` included, gives back all that is recoverable now. `is_made`: whether
/// it can be computed.
fn can_be_covered<R: Row>(stripe: &Stripe<R>, changed: u64, is_made: bool) -> bool {
    let lost = stripe.lost.current & !changed;
    let recoverable = Bits(lost).any(|strip| stripe.newest(strip).is_some());
    !recoverable || (is_made && lost.count_ones() == 1)
}

/// Durable state of a stripe. `next` is what the operation that has it makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable)]
struct Durable {
    associated: u32,
    /// Associated strips that have a base.
    bases: u32,
    next_associated: u32,
    next_bases: u32,
    /// Entries that are being made: one or none.
    making: u32,
}

persistent!(Durable {
    keeps [associated, bases, next_associated, next_bases],
    anew [making], // none, as nothing is in flight
});

/// Stripes with rotating parity whose updates NVRAM defers.
#[derive(Clone, Debug)]
pub struct DeferredParity<M, R> {
    /// Everything that RAID-5 does.
    raid: Raid<M>,
    rule: R,
    page_bytes: u32,
    /// An update starts when the commit that frees its place has ended.
    commits_first: bool,
    /// Decided.
    cache: ParityCache,
    stripes: Array<Durable>,
    /// Entries being made.
    making: u32,
    /// Stripes that have an entry and no place, as their commits have failed.
    homeless: Vec<StripeId>,
    /// NVRAM is being drained: the homeless get no places, or they would be drained again and again.
    drains: bool,
    counts: GuardCounts,
}

persistent!(DeferredParity<M, R> where [M: StripeMap, R: Rule] {
    keeps [raid, cache, counts],
    arrays [stripes],
    anew [rule, page_bytes, commits_first, making, homeless, drains],
});

/// Entries of a cache of the size that the user asked for: at least one, and no more than there are stripes.
pub fn entries(build: &Build, stripes: u32) -> Result<u32, ParameterError> {
    let bytes = build.whole(&PARITY_CACHE_BYTES)?;
    if bytes < build.page_bytes {
        let text = format!("{} = {bytes}: allowed is at least {}, one page", PARITY_CACHE_BYTES.name, build.page_bytes);
        return Err(ParameterError(text));
    }
    Ok((bytes / build.page_bytes).min(stripes))
}

impl<M: StripeMap, R: Rule> DeferredParity<M, R> {
    /// A scheme over the stripes of `map`, on at most [`Members::MOST_WITH_PAIRS`] members: one operation may read two versions
    /// of each strip. `replacement` says how victims of the cache are chosen.
    pub fn new(map: M, build: &Build, rule: R, replacement: Replacement) -> Result<Self, ParameterError> {
        debug_assert!(build.members <= Members::MOST_WITH_PAIRS);
        let most_entries = entries(build, map.stripes())?;
        Ok(Self {
            cache: ParityCache::new(map.stripes(), map.most_strips(), most_entries, replacement),
            stripes: Array::zeroed(map.stripes() as usize),
            raid: Raid::new(map, build.page_bytes),
            rule,
            page_bytes: build.page_bytes,
            commits_first: build.choice(&COMMIT_FIRST)? == "yes",
            making: 0,
            homeless: Vec::new(),
            drains: false,
            counts: GuardCounts { most_entries: most_entries.into(), ..GuardCounts::default() },
        })
    }

    fn durable(&mut self, stripe: StripeId) -> &mut Durable {
        &mut self.stripes[stripe.0 as usize]
    }

    fn associated(&self, stripe: StripeId) -> u64 {
        self.stripes[stripe.0 as usize].associated.into()
    }

    fn stripe(&self, operation: &Operation, view: &dyn View) -> Stripe<M::Row> {
        self.raid.stripe(operation, self.associated(operation.stripe), Guard::DeferredParity, view)
    }

    fn whole_stripe(&self, stripe: StripeId, view: &dyn View) -> Stripe<M::Row> {
        self.raid.whole_stripe(stripe, self.associated(stripe), Guard::DeferredParity, view)
    }

    fn has_space_for_parity(operation: &Operation, row: &M::Row) -> bool {
        operation.space & row.parity_bit() != 0
    }

    /// The pre-reads of an update, its sources first. Returns how many these are.
    fn push_pre_reads(&self, next: &Next, stripe: &Stripe<M::Row>, view: &dyn View, wave: &mut Wave) -> usize {
        self.raid.push_reads(&next.sum, Cause::PreRead, stripe, view, wave);
        let sources = wave.operations.len();
        if next.reads_parity && view.is_written(stripe.row.parity(), Version::Current) {
            self.raid.push_read(stripe.row.parity(), Version::Current, Cause::PreRead, wave);
        }
        sources
    }

    /// Releases all bases when the operation ends.
    fn release_bases(&self, operation: &Operation, row: &M::Row, wave: &mut Wave) {
        let bases = self.stripes[operation.stripe.0 as usize].bases;
        wave.changes.extend(Bits(bases.into()).map(|strip| Change::ReleaseBase(row.data(strip))));
    }

    /// The stripe is committed when the operation ends: it has neither bases nor an entry.
    fn release(&mut self, operation: &Operation, stripe: &Stripe<M::Row>, wave: &mut Wave) {
        self.release_bases(operation, &stripe.row, wave);
        wave.changes.extend((stripe.dirty != 0).then_some(Change::ReleaseDeferred(stripe.row.parity())));
        self.set_next(operation, 0, 0);
    }

    fn set_next(&mut self, operation: &Operation, associated: u64, bases: u64) {
        let durable = self.durable(operation.stripe);
        (durable.next_associated, durable.next_bases) = (associated as u32, bases as u32);
    }

    /// An operation that had its stripe has ended, or failed.
    fn settle(&mut self, operation: &Operation, has_failed: bool) {
        if matches!(operation.kind, OperationKind::Read | OperationKind::Job) {
            return;
        }
        self.cache.ended(operation.stripe, operation.is_placed);
        let durable = self.durable(operation.stripe);
        let made = std::mem::take(&mut durable.making);
        let before = *durable;
        if !has_failed {
            (durable.associated, durable.bases) = (before.next_associated, before.next_bases);
        }
        let after = *durable;
        self.making -= made;
        let strips = |of: Durable| (of.associated.into(), of.bases.into());
        self.counts.moved(strips(before), strips(after));
        debug_assert!(self.counts.entries + u64::from(self.making) <= self.counts.most_entries);
        // GC or a repair may have intervened, without an update. What an update has left without a parity to put off has no entry, unless those that
        // are decided count with it.
        let intervenes = matches!(operation.kind, OperationKind::Commit | OperationKind::Repair) && !has_failed;
        if after.associated == 0 && (intervenes || !self.cache.evicts_locked()) {
            self.cache.committed(operation.stripe);
        } else if intervenes && after.associated != before.associated {
            self.cache.widened(operation.stripe);
        }
        // Commits for GC and repairs leave the entry its place.
        let gave_place =
            operation.kind == OperationKind::Commit && matches!(operation.commit, CommitCause::Replacement | CommitCause::Shutdown);
        if has_failed && gave_place && after.associated != 0 && !self.cache.evicts_locked() {
            self.homeless.push(operation.stripe);
        }
        self.house();
    }

    /// The homeless get places, as far as there are any.
    fn house(&mut self) {
        if self.homeless.is_empty() || self.drains {
            return;
        }
        let mut homeless = std::mem::take(&mut self.homeless);
        homeless.retain(|&stripe| {
            let (width, associated) = (self.raid.map().row(stripe).width(), self.associated(stripe));
            associated != 0 && !self.cache.give_place(stripe, width, associated)
        });
        self.homeless = homeless;
    }
}
