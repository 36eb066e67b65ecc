//! PPC with commit-cost-aware replacement (CA-PPC).
//!
//! Idea: PPC evicts the least recently used parity; CA-PPC evicts one that is cheap to commit, weighed against how recently it was used.
//! Paper: that of PPC (`ppc.rs`), section 4.4. Rules: SPEC 4.4. Which entry is evicted is in `parts::parity_cache`; all else is in `ppc.rs`.
//! Departures: those of PPC, of which the first is about this choice.

use super::ppc::{self, EARLY_RELEASE, GC_SEMIVALID, PPC_UPDATE};
use crate::parts::deferred::{COMMIT_FIRST, EVICTS_LOCKED, PARITY_CACHE_BYTES, lru};
use crate::parts::parity_cache::Replacement;
use crate::parts::update::UpdateRule;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{Build, Draws, Entry, Parameter, ParameterError, Scheme, Values};

/// CA-PPC.
pub const ENTRY: Entry = Entry {
    name: "ca-ppc",
    title: "CA-PPC (PPC with commit-cost-aware replacement)",
    about: "PPC whose parity cache evicts the parities that are cheapest to commit instead of the least recently used. Overhead: that of PPC.",
    parameters: &[
        &[
            Layout::PARAMETER,
            PARITY_CACHE_BYTES,
            EVICTS_LOCKED,
            COMMIT_FIRST,
            ALPHA,
            SPARES_RECENT,
            PPC_UPDATE,
            EARLY_RELEASE,
            GC_SEMIVALID,
        ],
        UpdateRule::PARAMETERS,
    ],
    construct: build,
    ..ppc::ENTRY
};

const ALPHA: Parameter = Parameter {
    name: "alpha",
    values: Values::Decimal { least: 0, most: Replacement::LRU.alpha, default: 0 },
    draws: Draws::OneOf(&["0", "0", "0.5", "1"]),
    about: "Weight of recency against commit cost when the parity cache chooses a victim: 0 is commit cost only, 1 is LRU (as in ppc).",
    ..Parameter::PLAIN
};

const SPARES_RECENT: Parameter = Parameter {
    name: "spares_recent",
    values: Values::Words(&["none", "half"]),
    about: "Which entries of the parity cache are never evicted, however cheap: none, as in the paper, or the most recently updated half.",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let replacement =
        Replacement { alpha: build.thousandths(&ALPHA)?, spares_recent: build.choice(&SPARES_RECENT)? == "half", ..lru(build)? };
    ppc::over(Formula::on_device(build)?, build, replacement)
}
