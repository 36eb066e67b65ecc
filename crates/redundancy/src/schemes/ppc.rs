//! Deferred parity with a partial parity cache (PPC). `ca_ppc.rs` is the same with commit-cost-aware replacement.
//!
//! Idea: a write does not update the parity on flash. NVRAM holds the XOR of the strips that have changed since (the partial parity), so unchanged
//! strips need no pre-read. The superseded versions, which flash keeps until it erases them anyway, remain as semivalid pages: the old parity still covers
//! them, and with them protects the other strips. This saves pre-reads and parity programs. The parity is committed when its entry is evicted for another
//! stripe or GC is about to erase a semivalid page. The overhead is NVRAM, and flash for the semivalid pages.
//! Paper: S. Im, D. Shin, "Flash-Aware RAID Techniques for Dependable and High-Performance Flash Memory SSD", IEEE Transactions on Computers
//! 60(1), 2011, section 4. Rules: SPEC 4.2 to 4.5 and 4.9. The paper's names: pi is `associated`, the old PPN the base, the PPPN the parity's page.
//! This file defines what an update (section 4.2) and a commit (4.3) read. The paper's associated strips are dirty strips whose guard is NVRAM.
//! `parts::stripe` derives the versions whose XOR is a lost page (4.5), `parts::repair` plans repairs, `parts::deferred` runs updates and commits (shared with
//! FPC), and `parts::parity_cache` chooses the victim of the cache (4.4).
//!
//! Departures, all of them also of FPC:
//! - An update takes its stripe, its place in the cache and its pages one after the other, not together (SPEC 4.4). It has its stripe while it waits for
//!   a place: a commit of that stripe goes before it, and nobody else can use it.
//! - If an update gets the place of another stripe, it starts when that one's commit has its pages and starts, and ends when both have ended. SPEC 4.4 has
//!   the commit end before the update starts: that is `commit_first = yes`. The paper says that a parity is committed when the cache is full, and not
//!   whether the update waits for it; with it first, partial parities are hardly faster than none.
//! - A stripe that an operation has been given and that has not started is not locked. One of which a lost page is being computed for a read is not, either;
//!   the commit waits for that.
//! - With `evicts_locked = yes` an update takes its place when it is decided, in request order, so that counts do not depend on timing. The victim may
//!   be a locked stripe (SPEC 4.4: never), and its commit waits for the stripe. By commit cost alone (CA-PPC), the victim would nearly always be the
//!   stripe updated last: updates then run one after the other, and writes under load are 10 to 50 % slower than with LRU, despite fewer operations. So
//!   `spares_recent = half` belongs to it.
//! - A trim goes directly to its stripe instead of through the write buffer (4.9 item 18), with the same effect. A trim after which nothing of the stripe
//!   is written drops the entry, the bases and the parity; the freed slot of the cache is the next one used.
//! - A flush of a stripe that awaits repair does not wait (4.4, rebuild): it makes NVRAM cover the whole stripe, whatever is lost of it, and
//!   less is left to repair. So does a flush without a replacement chip, instead of committing first.
//! - The commit cost of CA-PPC counts strips that were never written, although a commit does not read them.
//! - A commit that cannot allocate a page for its parity, as the chip is dead and not replaced, drops the entry only if the stripe has lost nothing else.

use crate::parts::deferred::{CLAIMS, COMMIT_FIRST, DeferredParity, EVICTS_LOCKED, Next, PARITY_CACHE_BYTES, Rule, entries, lru};
use crate::parts::parity_cache::Replacement;
use crate::parts::stripe::{Stripe, Sum};
use crate::parts::update::{Chosen, UpdateRule};
use crate::stripe_map::formula::{Formula, Layout};
use crate::stripe_map::{Row, StripeMap};
use crate::{
    Bases, Build, Choice, Draws, Entry, Members, Method, Parameter, ParameterError, Protects, Redundancy, Scheme, Values, WriteBuffer,
};
use flashraid_vocabulary::{SemivalidAction, View};

/// PPC.
pub const ENTRY: Entry = Entry {
    name: "ppc",
    title: "PPC (partial parity cache)",
    about: "RAID-5 with deferred parity: NVRAM holds the XOR of the changed strips (the partial parity), and flash keeps their old versions. \
            Overhead: one member's capacity, NVRAM, and flash for the old versions.",
    protects: Protects::Member,
    redundancy: Redundancy::Parity,
    members: Members { most: Members::MOST_WITH_PAIRS, ..Members::from(3) },
    write_buffer: WriteBuffer::Usual,
    parity_cache: Some(&PARITY_CACHE_BYTES),
    claims: Some(CLAIMS),
    bases: Some(Bases::MovedWith(Choice { parameter: &GC_SEMIVALID, word: MOVE })),
    parameters: &[
        &[Layout::PARAMETER, PARITY_CACHE_BYTES, EVICTS_LOCKED, COMMIT_FIRST, PPC_UPDATE, EARLY_RELEASE, GC_SEMIVALID],
        UpdateRule::PARAMETERS,
    ],
    construct: |build| over(Formula::on_device(build)?, build, lru(build)?),
    ..Entry::PLAIN
};

pub(super) const PPC_UPDATE: Parameter = Parameter {
    name: "ppc_update",
    values: Values::Words(&["paper", "min"]),
    runtime: true,
    about: "Which pages an update reads: paper reads the old versions of the changing strips that the partial parity covers; min reads the covered \
            strips that do not change if these are fewer.",
    ..Parameter::PLAIN
};

pub(super) const EARLY_RELEASE: Parameter = Parameter {
    name: "early_release",
    values: Values::Words(&["no", "yes"]),
    about: "Whether old versions become garbage as soon as the partial parity covers all strips; with no, they become garbage at the commit.",
    ..Parameter::PLAIN
};

const MOVE: &str = "move";

pub(super) const GC_SEMIVALID: Parameter = Parameter {
    name: "gc_semivalid",
    values: Values::Words(&["commit", MOVE]),
    draws: Draws::OneOf(&["commit", "commit", MOVE]),
    about: "How GC handles semivalid pages of its victim block: it commits their stripes, or moves the pages like valid ones.",
    ..Parameter::PLAIN
};

/// PPC over the stripes of `map`. `replacement` is the rule that chooses victims of the cache.
pub fn over(map: impl StripeMap, build: &Build, replacement: Replacement) -> Result<Box<dyn Scheme>, ParameterError> {
    // Each entry may pin one page in a member (SPEC 4.2). Members that cannot hold their own pages are refused elsewhere.
    let (entries, space) = (entries(build, map.stripes())?, build.pages_held.checked_sub(build.pages_per_member));
    if let Some(space) = space.filter(|space| entries > *space) {
        let most = u64::from(space) * u64::from(build.page_bytes);
        let text = format!(
            "{}: members have space for {space} semivalid pages, one for each entry: allowed is at most {most}",
            PARITY_CACHE_BYTES.name
        );
        return Err(ParameterError(text));
    }
    let rule = Ppc {
        update: UpdateRule::from_build(build)?,
        reads_fewest: build.choice(&PPC_UPDATE)? == "min",
        releases_early: build.choice(&EARLY_RELEASE)? == "yes",
        moves_bases: build.choice(&GC_SEMIVALID)? == MOVE,
    };
    Ok(Box::new(DeferredParity::new(map, build, rule, replacement)?))
}

/// What updates do (SPEC 4.4, flush).
#[derive(Clone, Copy, Debug)]
struct Ppc {
    update: UpdateRule,
    reads_fewest: bool,
    releases_early: bool,
    moves_bases: bool,
}

impl Rule for Ppc {
    fn next<R: Row>(&self, stripe: &Stripe<R>, changed: u64, _chosen: Method) -> Next {
        let known = stripe.dirty;
        let (superseded, unchanged) = (changed & known, known & !changed);
        let fewer = self.reads_fewest && unchanged.count_ones() < superseded.count_ones();
        let sum = if changed == stripe.all() {
            Sum::default()
        } else if fewer {
            Sum { current: unchanged, ..Sum::default() }
        } else {
            // Cases 1 (no entry: NVRAM holds nothing), 2 (nothing superseded) and 3.
            Sum { current: superseded, deferred: known != 0, ..Sum::default() }
        };
        let associated = known | changed;
        Next { sum, reads_parity: false, associated, keeps_bases: !self.releases_early || associated != stripe.all() }
    }

    /// SPEC 4.4, commit (section 4.3): the partial parity and, if at least half of the strips are associated, the other strips; else the partial parity,
    /// the old parity and the old versions. If pages that this needs are lost, the other way. These are RCW and RMW; `update` may ask for another choice.
    fn commit<R: Row>(&self, stripe: &Stripe<R>, view: &dyn View) -> Option<(Sum, bool)> {
        let many = Sum { current: stripe.all() & !stripe.dirty, deferred: true, ..Sum::default() };
        let few = Sum { base: stripe.dirty, parity: true, deferred: true, ..Sum::default() };
        let is_large = stripe.dirty.count_ones() >= stripe.row.width().div_ceil(2);
        let usual = if is_large { Method::Rcw } else { Method::Rmw };
        let Chosen { method, is_adjusted } = self.update.choose_for_commit(usual, stripe, [few, many], view);
        let (chosen, other) = if method == Method::Rcw { (many, few) } else { (few, many) };
        if stripe.can_read(&chosen) { Some((chosen, is_adjusted)) } else { Some((other, false)).filter(|_| stripe.can_read(&other)) }
    }

    fn action(&self) -> SemivalidAction {
        if self.moves_bases { SemivalidAction::Move } else { SemivalidAction::CommitFirst }
    }
}
