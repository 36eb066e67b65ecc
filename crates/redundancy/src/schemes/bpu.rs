//! A stand-in for BPU (balanced parity update): the choice between RMW and RCW by pre-reads and queue lengths with fixed thresholds.
//!
//! Idea: as Adaptive, but by thresholds that were set beforehand: a method with more pre-reads is taken if the queues that it meets are so much shorter. It
//! neither tells reads from writes in queues nor sees GC.
//! Source: what the paper on Adaptive (`adaptive.rs`) says of the scheme of Chen et al. that it compares Adaptive with; its exact classes and
//! thresholds are not known to us, so that this is a stand-in with the same traits (SPEC 3.5; `parts::update::bpu`). All else is RAID-5 (`raid5.rs`).
//! Departures: the whole rule, see above.

use crate::parts::decision_point::DecisionPoint;
use crate::parts::update::UpdateRule;
use crate::schemes::raid5;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{Build, Entry, ParameterError, Scheme};

/// BPU.
pub const ENTRY: Entry = Entry {
    name: "bpu",
    title: "BPU (stand-in: RMW or RCW by thresholds)",
    about: "RAID-5 whose small writes choose between read-modify-write and reconstruct write by pre-reads and queue lengths, with fixed thresholds. A \
            stand-in: the exact rules of BPU are not published. Overhead: that of RAID-5.",
    parameters: &[&[Layout::PARAMETER], UpdateRule::OF_BPU, DecisionPoint::OF_LOAD],
    construct: build,
    ..raid5::ENTRY
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    raid5::over(Formula::on_device(build)?, build, UpdateRule::bpu(build)?)
}
