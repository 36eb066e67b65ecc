//! How a change of some strips of a stripe gets the parity: by read-modify-write or by reconstruct write (SPEC 0.6).
//!
//! Most rules look at the changed strips alone. Adaptive and BPU look at the load of the members that would be read: `congestion` has the cost model of
//! Adaptive (SPEC 3.4), `bpu` the thresholds of BPU (SPEC 3.5).

mod bpu;
mod congestion;
mod pre_reads;

use crate::parts::bits::Bits;
use crate::parts::stripe::{Stripe, Sum};
use crate::registry::Condition;
use crate::stripe_map::Row;
use crate::{Build, Method, Operation, Parameter, ParameterError, Values};
use bpu::Thresholds;
use flashraid_vocabulary::{Version, View};
use pre_reads::{rcw_reads, rmw_reads};

/// Rule that chooses between RMW and RCW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateRule {
    /// RMW if it needs strictly fewer pre-reads, else RCW.
    Fewest,
    /// Always RMW.
    Rmw,
    /// Always RCW.
    Rcw,
    /// By the number of pre-reads and the lengths of queues, with fixed thresholds.
    Bpu(Thresholds),
    /// The one whose pre-reads cost less time.
    Adaptive(Tie),
}

/// What Adaptive does if both methods cost the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// RMW.
    Rmw,
    /// The method with fewer pre-reads.
    Fewest,
}

/// A method, and whether it is another one than fewest pre-reads would have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The method.
    pub method: Method,
    /// The load of members decided, against the number of pre-reads.
    pub is_adjusted: bool,
}

impl From<Method> for Chosen {
    #[inline]
    fn from(method: Method) -> Self {
        Self { method, is_adjusted: false }
    }
}

impl Chosen {
    /// What was chosen for an operation.
    pub fn of(operation: &Operation) -> Self {
        Self { method: operation.method, is_adjusted: operation.is_adjusted }
    }

    /// Notes it for a change of `changed`; if it would read what is lost, the other method takes its place.
    #[inline]
    pub fn apply<R: Row>(self, operation: &mut Operation, changed: u64, stripe: &Stripe<R>) {
        operation.method = stripe.possible(self.method, changed);
        operation.is_adjusted = self.is_adjusted && operation.method == self.method;
    }
}

const UPDATE: Parameter = Parameter {
    name: "update",
    values: Values::Words(&["fewest", "rmw", "rcw", "bpu", "adaptive"]),
    runtime: true,
    about: "How a partial-stripe write computes the parity, or a commit that reads pages: fewest chooses the method with fewer pre-reads (rcw on a tie; \
            commits as in the paper), rmw always uses read-modify-write, rcw always uses reconstruct write, adaptive chooses the method whose \
            pre-reads cost less time in view of queues and GC, bpu weighs pre-reads against queue lengths. The number of pre-reads counts strips only, as \
            if all strips had been written before and whole pages changed: a strip that was never written needs no read but counts, and the update \
            read of a partly written page does not count.",
    ..Parameter::PLAIN
};

const fn with_bpu(parameter: Parameter) -> Parameter {
    const WITH_BPU: (&str, Condition) = ("update = bpu", |build| build.choice(&UPDATE) == Ok("bpu"));
    Parameter { needs: Some(WITH_BPU), ..parameter }
}

const TIE: Parameter = Parameter {
    name: "tie",
    values: Values::Words(&["rmw", "fewest"]),
    needs: Some(("update = adaptive", |build| build.choice(&UPDATE) == Ok("adaptive"))),
    runtime: true,
    about: "What adaptive chooses if both methods cost the same time: rmw, as in the paper, or the method with fewer pre-reads.",
    ..Parameter::PLAIN
};

impl UpdateRule {
    /// The parameters that set it.
    pub const PARAMETERS: &[Parameter] =
        &[UPDATE, TIE, with_bpu(bpu::THETA_LOAD), with_bpu(bpu::D1), with_bpu(bpu::D2), with_bpu(bpu::THETA_1), with_bpu(bpu::THETA_2)];
    /// Those of Adaptive alone.
    pub const OF_ADAPTIVE: &[Parameter] = &[Parameter { needs: None, ..TIE }];
    /// Those of BPU alone.
    pub const OF_BPU: &[Parameter] = &[bpu::THETA_LOAD, bpu::D1, bpu::D2, bpu::THETA_1, bpu::THETA_2];

    /// The rule that the user asked for.
    pub fn from_build(build: &Build) -> Result<Self, ParameterError> {
        Ok(match build.choice(&UPDATE)? {
            "rmw" => Self::Rmw,
            "rcw" => Self::Rcw,
            "adaptive" => Self::adaptive(build)?,
            "bpu" => Self::bpu(build)?,
            _ => Self::Fewest,
        })
    }

    /// Adaptive, with the tie that the user asked for.
    pub fn adaptive(build: &Build) -> Result<Self, ParameterError> {
        Ok(Self::Adaptive(if build.choice(&TIE)? == "fewest" { Tie::Fewest } else { Tie::Rmw }))
    }

    /// BPU, with the thresholds that the user asked for.
    pub fn bpu(build: &Build) -> Result<Self, ParameterError> {
        Ok(Self::Bpu(Thresholds::from_build(build)?))
    }

    /// Whether it looks at the load of members.
    pub fn looks_at_load(self) -> bool {
        matches!(self, Self::Bpu(_) | Self::Adaptive(_))
    }

    /// The method for a change of `changed` data strips of `stripe`, for which RMW and RCW would read `reads`.
    ///
    /// The number of pre-reads is that of SPEC 0.6 whether or not all strips were ever written (SPEC 0.3 step 5), and without the update reads of sub-page
    /// writes.
    #[inline]
    pub fn choose<R: Row>(self, changed: u64, stripe: &Stripe<R>, reads: impl FnOnce() -> [Sum; 2], view: &dyn View) -> Chosen {
        let (count, width) = (changed.count_ones(), stripe.row.width());
        debug_assert!(count <= width);
        if count == width {
            return Method::FullStripe.into();
        }
        let is_rmw = match self {
            Self::Rmw => true,
            Self::Rcw => false,
            Self::Fewest | Self::Bpu(_) | Self::Adaptive(_) => rmw_reads(count) < rcw_reads(count, width),
        };
        let method = if is_rmw { Method::Rmw } else { Method::Rcw };
        if self.looks_at_load() { self.weigh(method, changed, stripe, reads(), view) } else { method.into() }
    }

    /// How a commit makes the parity of a stripe whose dirty strips have changed since: `usual` unless the user or the load decides.
    pub fn choose_for_commit<R: Row>(self, usual: Method, stripe: &Stripe<R>, reads: [Sum; 2], view: &dyn View) -> Chosen {
        match self {
            // What NVRAM holds is the parity, and there may be no old versions.
            _ if stripe.dirty == stripe.all() => Method::Rcw.into(),
            Self::Fewest => usual.into(),
            Self::Rmw => Method::Rmw.into(),
            Self::Rcw => Method::Rcw.into(),
            Self::Bpu(_) | Self::Adaptive(_) => self.weigh(usual, stripe.dirty, stripe, reads, view),
        }
    }

    /// The choice of a rule that looks at the load, in place of the method with `fewest` pre-reads.
    fn weigh<R: Row>(self, fewest: Method, changed: u64, stripe: &Stripe<R>, [rmw, rcw]: [Sum; 2], view: &dyn View) -> Chosen {
        // What is lost leaves no choice (SPEC 3.4).
        if let Some(method) = [Method::Rmw, Method::Rcw].into_iter().find(|method| stripe.possible(*method, changed) != *method) {
            return stripe.possible(method, changed).into();
        }
        // Without a written strip beside those that change there is nothing to read for the parity.
        let is_written = |strip| view.is_written(stripe.row.data(strip), Version::Current);
        if !Bits(rcw.current | rcw.copy).any(is_written) {
            return Method::Rcw.into();
        }
        let method = match self {
            Self::Adaptive(tie) => congestion::cheaper(&rmw, &rcw, &stripe.row, view).unwrap_or(match tie {
                Tie::Rmw => Method::Rmw,
                Tie::Fewest => fewest,
            }),
            Self::Bpu(thresholds) => thresholds.choose(fewest, changed, [&rmw, &rcw], &stripe.row, view),
            Self::Fewest | Self::Rmw | Self::Rcw => fewest,
        };
        Chosen { method, is_adjusted: method != fewest }
    }
}
