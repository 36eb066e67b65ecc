//! Offline replacement, as Diff-RAID does it.
//!
//! Idea: host requests wait while the eldest SSD is replaced: first each of its strips is computed from the rest of its stripe and programmed on the spare
//! SSD; then, stripe by stripe, the parity that is to be on the second eldest SSD changes places with the strip that this has there.
//! Source: M. Balakrishnan, A. Kadav, V. Prabhakaran, D. Malkhi, "Differential RAID: rethinking RAID for SSD reliability", ACM Transactions on Storage 6(2),
//! 2010, as the hot-swapping paper compares with it. Rules: SPEC 5.9; `parts::replacing` has them.
//! Departures: none.

use crate::parts::replacing::{Mechanism, Policy, ReplacedSsds};
use crate::parts::update::UpdateRule;
use crate::parts::{replacing, uneven};
use crate::stripe_map::table::MOST_MEMBERS;
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "offline-diff-raid",
    title: "Offline Diff-RAID (SSDs replaced while the host waits)",
    about: "Diff-RAID that replaces its eldest SSD before that wears out, while host requests wait. Overhead: that of Diff-RAID, spare SSDs, and pauses.",
    protects: Protects::Device,
    redundancy: Redundancy::Parity,
    members: Members { most: MOST_MEMBERS, ..Members::from(3) },
    replaces_devices: true,
    takes_devices_out: true,
    holds_host: true,
    has_chunks: false,
    drive_format: uneven::DRIVE_FORMAT,
    parameters: &[&[uneven::PARITY_SHARES, uneven::PARTIAL_STRIPES, replacing::ERASURE_THRESHOLD], UpdateRule::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let policy = Policy::from_build(build, Mechanism::Offline)?;
    Ok(Box::new(ReplacedSsds::from_build(build, policy)?))
}
