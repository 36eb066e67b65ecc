//! Delayed parity with a partial parity cache (PPC). `ca_ppc.rs` is the same with commit-cost-aware replacement.
//!
//! Idea: a write leaves the parity on flash alone. NVRAM holds the XOR of the strips that have changed since, which needs no pre-read of what
//! did not; the superseded versions, which flash keeps anyway until it erases them, stay as semivalid pages that the old parity goes on covering for the
//! sake of the other strips. That saves pre-reads and parity programs until the entry is wanted for another stripe, or a GC run is about to
//! erase a semivalid page: then the parity is committed. The overhead is NVRAM, and flash for the semivalid pages.
//! Paper: S. Im, D. Shin, "Flash-Aware RAID Techniques for Dependable and High-Performance Flash Memory SSD", IEEE Transactions on Computers
//! 60(1), 2011, section 4. Rules: SPEC 4.2 to 4.5 and 4.9. The paper's names: pi is `associated`, the old PPN the base, the PPPN the parity's page.
//! What an update (section 4.2) and a commit (4.3) read is here. What the paper calls associated strips are dirty ones whose guard is NVRAM: which versions
//! a lost page is the sum of (4.5) is in `parts::stripe`, repairs are in `parts::repair`. The course of updates and commits, the same for FPC, is in
//! `parts::deferred`; which victim the cache takes (4.4) in `parts::parity_cache`.
//!
//! Departures, all of them also of FPC:
//! - The victim of the cache is chosen in request order, also a stripe that is locked (SPEC 4.4: never one): so counts do not depend on timing. Its
//!   commit waits for the stripe. By commit cost alone the victim would nearly always be the stripe that was updated last, as dear ones stay and one place goes
//!   round: updates would run one after the other, and writes under load be slower by a tenth to a half than with LRU, in spite of fewer operations. So CA-PPC
//!   spares the newest half of the cache (`spares_recent`).
//! - A trim goes to its stripe at once and not through the write buffer (4.9 item 18), with the same effect. One that leaves nothing of its stripe
//!   written drops entry, bases and parity; its place in the cache is the next one taken.
//! - A flush of a stripe that waits for its repair does not wait (4.4, rebuild): it makes NVRAM cover the whole stripe, whatever is lost of it, and
//!   the repair finds less to do. So does one without a replacement chip, instead of committing first.
//! - The cost by which CA-PPC chooses counts strips that were never written, too, though a commit does not read them.
//! - A commit whose parity finds no page, as its chip is dead and not replaced, drops the entry only if the stripe has lost nothing else.

use crate::parts::deferred::{DeferredParity, MOST_MEMBERS, Next, PARITY_CACHE_BYTES, Rule, entries};
use crate::parts::parity_cache::Replacement;
use crate::parts::stripe::{Stripe, Sum};
use crate::stripe_map::formula::{Formula, Layout};
use crate::stripe_map::{Row, StripeMap};
use crate::{Build, Choice, Draws, Entry, Members, Parameter, ParameterError, Protects, Redundancy, Scheme, Values, WriteBuffer};
use flashraid_vocabulary::SemivalidAction;

/// PPC.
pub const ENTRY: Entry = Entry {
    name: "ppc",
    title: "PPC (partial parity cache)",
    about: "RAID-5 whose parities are delayed: NVRAM holds the XOR of the strips that changed, flash the old versions of these. Costs one member's \
            capacity, NVRAM, and flash for old versions.",
    protects: Protects::Member,
    has_window: false,
    redundancy: Redundancy::Parity,
    members: Members { most: MOST_MEMBERS, ..Members::from(3) },
    mirror_chips: 0,
    mirror_groups: None,
    write_buffer: WriteBuffer::Usual,
    parity_cache: Some(&PARITY_CACHE_BYTES),
    keeps_bases: true,
    moves_bases: Some(Choice { parameter: &GC_SEMIVALID, word: MOVE }),
    completes_early: None,
    parameters: &[Layout::PARAMETER, PARITY_CACHE_BYTES, PPC_UPDATE, EARLY_RELEASE, GC_SEMIVALID],
    construct: |build| over(Formula::on_device(build)?, build, Replacement::LRU),
};

pub(super) const PPC_UPDATE: Parameter = Parameter {
    name: "ppc_update",
    unit: "",
    values: Values::Words(&["paper", "min"]),
    needs: None,
    only_in_gc: false,
    draws: Draws::Words,
    about: "Which pages an update reads: the old versions of associated strips that change, or, if fewer, those that do not change.",
};

pub(super) const EARLY_RELEASE: Parameter = Parameter {
    name: "early_release",
    unit: "",
    values: Values::Words(&["no", "yes"]),
    needs: None,
    only_in_gc: false,
    draws: Draws::Words,
    about: "Whether old versions become garbage as soon as all strips are associated, or at the commit.",
};

const MOVE: &str = "move";

pub(super) const GC_SEMIVALID: Parameter = Parameter {
    name: "gc_semivalid",
    unit: "",
    values: Values::Words(&["commit", MOVE]),
    needs: None,
    only_in_gc: true,
    draws: Draws::OneOf(&["commit", "commit", MOVE]),
    about: "What a collection does about semivalid pages of its victim: commit their stripes, or move them like valid pages.",
};

/// PPC over the stripes of `map`. `replacement` says how victims of the cache are chosen.
pub fn over(map: impl StripeMap, build: &Build, replacement: Replacement) -> Result<Box<dyn Scheme>, ParameterError> {
    // Each entry may pin one page in a member (SPEC 4.2). Members that do not even hold their own pages are refused for that.
    let (entries, room) = (entries(build, map.stripes())?, build.pages_held.checked_sub(build.pages_per_member));
    if let Some(room) = room.filter(|room| entries > *room) {
        let most = u64::from(room) * u64::from(build.page_bytes);
        let text = format!(
            "{}: members have room for {room} semivalid pages, one an entry; the largest that fits is {most}",
            PARITY_CACHE_BYTES.name
        );
        return Err(ParameterError(text));
    }
    let rule = Ppc {
        reads_fewest: build.choice(&PPC_UPDATE)? == "min",
        releases_early: build.choice(&EARLY_RELEASE)? == "yes",
        moves_bases: build.choice(&GC_SEMIVALID)? == MOVE,
    };
    Ok(Box::new(DeferredParity::new(map, build, rule, replacement)?))
}

/// What updates do (SPEC 4.4, flush).
#[derive(Clone, Copy, Debug)]
struct Ppc {
    reads_fewest: bool,
    releases_early: bool,
    moves_bases: bool,
}

impl Rule for Ppc {
    fn next<R: Row>(&self, stripe: &Stripe<R>, changed: u64) -> Next {
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

    /// SPEC 4.4, commit (section 4.3): what NVRAM holds and, with half of the strips associated or more, the other strips, else the old parity and the
    /// old versions; the other way round if something of that is lost.
    fn commit<R: Row>(&self, stripe: &Stripe<R>) -> Option<Sum> {
        let many = Sum { current: stripe.all() & !stripe.dirty, deferred: true, ..Sum::default() };
        let few = Sum { base: stripe.dirty, parity: true, deferred: true, ..Sum::default() };
        let is_large = stripe.dirty.count_ones() >= stripe.row.width().div_ceil(2);
        if is_large { [many, few] } else { [few, many] }.into_iter().find(|sum| stripe.can_read(sum))
    }

    fn action(&self) -> SemivalidAction {
        if self.moves_bases { SemivalidAction::Move } else { SemivalidAction::CommitFirst }
    }
}
