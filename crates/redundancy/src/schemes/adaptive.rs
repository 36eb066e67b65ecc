//! Adaptive choice between RMW and RCW, by the congestion of channels.
//!
//! Idea: a small write of RAID-5 needs pre-reads for the parity, either of what it changes (RMW) or of what it does not (RCW). The method with fewer
//! pre-reads is not always the faster one: they may meet a channel with a long queue, or with a GC run, and they delay the writes that are queued
//! there. Adaptive estimates both effects from the queues of the channels, and takes the method that costs less time. The overhead is the
//! estimate, and sometimes more pre-reads.
//! Paper: F. Yang, Z. Cai, J. Li, B. Gerofi, F. Trahay, Z. Sha, M. Zhao, J. Liao, "Adaptive Selection of Parity Chunk Update Methods in RAID-enabled
//! SSDs", MSST 2024, section III: equations 3 to 9 and Algorithm 1, all in `parts::update::congestion`. Rules: SPEC 3.4 and 3.8. When the data are
//! programmed and the choice is made is in `parts::decision_point`; all else is RAID-5 (`raid5.rs`). Other schemes with parity take the same rule as
//! `update = adaptive`.
//!
//! Departures:
//! - Where the paper has channels, this has the members of the stripe: the channels of the paper's device. The queues of a member are those of all its
//!   chips, and a GC run counts if it blocks the LUN that holds the page.
//! - If the load decides against fewest pre-reads while something of the stripe is lost, there is no choice to be made (SPEC 3.4), and none is counted.

use crate::parts::decision_point::DecisionPoint;
use crate::parts::update::UpdateRule;
use crate::schemes::raid5;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{Build, Entry, ParameterError, Scheme};

/// Adaptive.
pub const ENTRY: Entry = Entry {
    name: "adaptive",
    title: "Adaptive (RMW or RCW by congestion)",
    about: "RAID-5 whose small writes choose between read-modify-write and reconstruct write by the queues and GC runs that their pre-reads would meet. \
            Overhead: that of RAID-5.",
    parameters: &[&[Layout::PARAMETER], UpdateRule::OF_ADAPTIVE, DecisionPoint::OF_LOAD],
    construct: build,
    ..raid5::ENTRY
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    raid5::over(Formula::on_device(build)?, build, UpdateRule::adaptive(build)?)
}
