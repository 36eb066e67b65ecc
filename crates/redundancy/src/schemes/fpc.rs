//! Deferred parity with a full parity cache in NVRAM (FPC).
//!
//! Idea: a write computes the stripe's new parity as RAID-5 does, with the same pre-reads, but keeps it in NVRAM, where later writes of the
//! stripe update it. The parity is written to flash when its entry is evicted for another stripe. This saves parity programs, but no pre-reads. The
//! overhead is NVRAM. As NVRAM holds the whole parity, recovery needs no old versions.
//! Source: K. M. Greenan, D. D. E. Long, E. L. Miller, T. Schwarz, A. Wildani, "Building Flexible, Fault-Tolerant Flash-Based Storage Systems", HotDep
//! 2009, as the PPC paper measures it (S. Im, D. Shin, IEEE Transactions on Computers 60(1), 2011, sections 3.3 and 5). Rules: SPEC 4.6.
//! Departures: those of PPC (`ppc.rs`). The old parity is read from flash even if NVRAM holds it, as in the paper, unless
//! `fpc_cached_parity_free` is set.

use crate::parts::deferred::{CLAIMS, COMMIT_FIRST, DeferredParity, EVICTS_LOCKED, Next, PARITY_CACHE_BYTES, Rule, lru};
use crate::parts::stripe::{Stripe, Sum};
use crate::parts::update::{Chosen, UpdateRule};
use crate::stripe_map::formula::{Formula, Layout};
use crate::stripe_map::{Row, StripeMap};
use crate::{Build, Entry, Members, Method, Parameter, ParameterError, Protects, Redundancy, Scheme, Values, WriteBuffer};
use flashraid_vocabulary::{SemivalidAction, View};

/// FPC.
pub const ENTRY: Entry = Entry {
    name: "fpc",
    title: "FPC (full parity cache)",
    about: "RAID-5 with deferred parity: NVRAM holds the whole parity until it is committed. Overhead: one member's capacity, NVRAM, and pre-reads for small writes.",
    protects: Protects::Member,
    redundancy: Redundancy::Parity,
    members: Members { most: Members::MOST_WITH_PAIRS, ..Members::from(3) },
    write_buffer: WriteBuffer::Usual,
    parity_cache: Some(&PARITY_CACHE_BYTES),
    claims: Some(CLAIMS),
    parameters: &[&[Layout::PARAMETER, PARITY_CACHE_BYTES, EVICTS_LOCKED, COMMIT_FIRST, CACHED_PARITY_FREE], UpdateRule::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

const CACHED_PARITY_FREE: Parameter = Parameter {
    name: "fpc_cached_parity_free",
    values: Values::Words(&["no", "yes"]),
    needs: Some(("update other than rcw", |build| UpdateRule::from_build(build) != Ok(UpdateRule::Rcw))),
    about: "Whether a read-modify-write skips the read of the old parity if the parity cache holds it. With no, it reads the parity from flash, as in the paper.",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    over(Formula::on_device(build)?, build)
}

/// FPC over the stripes of `map`.
pub fn over(map: impl StripeMap, build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let rule = Fpc { update: UpdateRule::from_build(build)?, is_cached_free: build.choice(&CACHED_PARITY_FREE)? == "yes" };
    Ok(Box::new(DeferredParity::new(map, build, rule, lru(build)?)?))
}

/// What updates do (SPEC 4.6, flush).
#[derive(Clone, Copy, Debug)]
struct Fpc {
    update: UpdateRule,
    is_cached_free: bool,
}

impl Rule for Fpc {
    fn choose<R: Row>(&self, stripe: &Stripe<R>, changed: u64, view: &dyn View) -> Chosen {
        let reads = || {
            let rmw = Sum { current: changed, parity: stripe.dirty == 0 || !self.is_cached_free, ..Sum::default() };
            [rmw, Sum { current: stripe.all() & !changed, ..Sum::default() }]
        };
        self.update.choose(changed, stripe, reads, view)
    }

    fn next<R: Row>(&self, stripe: &Stripe<R>, changed: u64, chosen: Method) -> Next {
        let is_cached = stripe.dirty != 0;
        let is_rmw = chosen == Method::Rmw;
        let sum = if is_rmw {
            Sum { current: changed, parity: !is_cached, deferred: is_cached, ..Sum::default() }
        } else {
            Sum { current: stripe.all() & !changed, ..Sum::default() }
        };
        Next { sum, reads_parity: is_rmw && is_cached && !self.is_cached_free, associated: stripe.all(), keeps_bases: false }
    }

    /// NVRAM holds the whole parity.
    fn commit<R: Row>(&self, _stripe: &Stripe<R>, _view: &dyn View) -> Option<(Sum, bool)> {
        Some((Sum { deferred: true, ..Sum::default() }, false))
    }

    /// FPC has no bases.
    fn action(&self) -> SemivalidAction {
        SemivalidAction::Free
    }
}
