//! A stand-in for BPU (balanced parity update), with which the paper on Adaptive compares it (SPEC 3.5).
//!
//! What is known of BPU is its description in that paper: it sorts updates into classes by the difference of pre-reads and weighs that against the lengths of
//! queues with fixed thresholds; it neither tells reads from programs in queues nor sees GC. Its own classes are not known; those here have these traits.
//!
//! With q_i the reads and programs queued for member i, Q of a method the largest q_i of the members that it reads, and d the number of pre-reads that the
//! other method has more than the one with fewest:
//!
//! ```text
//! mean of q_i over the stripe < theta_load   fewest
//! d = 0                                      the smaller Q
//! 1 <= d <= D1                               the other one if Q(fewest) - Q(other) >= theta_1
//! D1 < d <= D2                               the other one if Q(fewest) - Q(other) >= theta_2
//! D2 < d                                     fewest
//! ```

use super::pre_reads::{rcw_reads, rmw_reads};
use crate::parts::bits::Bits;
use crate::parts::stripe::Sum;
use crate::stripe_map::Row;
use crate::{Build, Draws, Method, Parameter, ParameterError, Values};
use flashraid_vocabulary::{MemberPage, View};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    theta_load: u32,
    d1: u32,
    d2: u32,
    theta_1: u32,
    theta_2: u32,
}

const fn threshold(default: u32) -> Parameter {
    Parameter {
        values: Values::Whole { least: 0, most: 1_000_000, default },
        draws: Draws::OneOf(&["0", "1", "3"]),
        runtime: true,
        ..Parameter::PLAIN
    }
}

pub(super) const THETA_LOAD: Parameter = Parameter {
    name: "bpu_theta_load",
    about: "Mean number of page operations queued for each member of the stripe below which bpu takes the method with fewer pre-reads.",
    ..threshold(2)
};
pub(super) const D1: Parameter = Parameter {
    name: "bpu_d1",
    about: "Difference of pre-reads up to which bpu takes the method with more pre-reads if its longest queue is shorter by bpu_theta_1.",
    ..threshold(1)
};
pub(super) const D2: Parameter = Parameter {
    name: "bpu_d2",
    about: "Difference of pre-reads up to which bpu takes the method with more pre-reads if its longest queue is shorter by bpu_theta_2.",
    ..threshold(3)
};
pub(super) const THETA_1: Parameter = Parameter {
    name: "bpu_theta_1",
    about: "How much shorter the longest queue must be for bpu to make at most bpu_d1 more pre-reads.",
    ..threshold(4)
};
pub(super) const THETA_2: Parameter = Parameter {
    name: "bpu_theta_2",
    about: "How much shorter the longest queue must be for bpu to make more than bpu_d1 and at most bpu_d2 more pre-reads.",
    ..threshold(8)
};

impl Thresholds {
    pub(super) fn from_build(build: &Build) -> Result<Self, ParameterError> {
        Ok(Self {
            theta_load: build.whole(&THETA_LOAD)?,
            d1: build.whole(&D1)?,
            d2: build.whole(&D2)?,
            theta_1: build.whole(&THETA_1)?,
            theta_2: build.whole(&THETA_2)?,
        })
    }

    /// The method for a change of `changed`, which with `fewest` pre-reads would be that one.
    pub(super) fn choose<R: Row>(self, fewest: Method, changed: u64, reads: [&Sum; 2], row: &R, view: &dyn View) -> Method {
        let queued = |page: MemberPage| {
            let (reads, programs) = view.queued(page.member);
            u64::from(reads) + u64::from(programs)
        };
        let all = Bits(row.all()).map(|strip| row.data(strip)).chain([row.parity()]);
        let members = u64::from(row.width()) + 1;
        if all.map(queued).sum::<u64>() < u64::from(self.theta_load) * members {
            return fewest;
        }
        let [rmw, rcw] = reads.map(|reads| {
            let mut longest = 0;
            reads.each_version(row, |page, version| {
                if view.is_written(page, version) {
                    longest = queued(page).max(longest);
                }
            });
            longest
        });
        let (count, width) = (changed.count_ones(), row.width());
        let more = rmw_reads(count).abs_diff(rcw_reads(count, width));
        let (base, other, others_queue) = if fewest == Method::Rmw { (rmw, Method::Rcw, rcw) } else { (rcw, Method::Rmw, rmw) };
        let shorter_by = base.saturating_sub(others_queue);
        let least = match more {
            0 => 1,
            _ if more <= self.d1 => self.theta_1.into(),
            _ if more <= self.d2 => self.theta_2.into(),
            _ => return fewest,
        };
        if base >= others_queue && shorter_by >= least { other } else { fewest }
    }
}
