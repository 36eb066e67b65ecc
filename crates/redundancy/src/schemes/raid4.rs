//! Block-level striping with one parity member (RAID-4).
//!
//! Idea: N = n - 1 data strips and their XOR, the parity, form a stripe; the parity always lies on the last member. Any one lost member is
//! the XOR of the others. Small writes need pre-reads for the parity, and all of them program the same member, which
//! wears fastest and limits the write rate.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, section
//! on level 4; SPEC 0.2 (layout) and 0.6, CR4 (same update rules as CR5). The rules are in `parts::raid`; this is raid5 with another layout (`layout = last_member`).
//! Departures: none.

use crate::parts::decision_point::DecisionPoint;
use crate::parts::update::UpdateRule;
use crate::schemes::raid5;
use crate::stripe_map::formula::{Formula, Layout};
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// RAID-4.
pub const ENTRY: Entry = Entry {
    name: "raid4",
    title: "RAID-4 (parity member)",
    about: "Striping with parity on the last member. Overhead: one member's capacity, and pre-reads for small writes; the parity member wears fastest.",
    protects: Protects::Member,
    redundancy: Redundancy::Parity,
    members: Members::from(3),
    parameters: &[UpdateRule::PARAMETERS, DecisionPoint::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let map = Formula::new(Layout::LastMember, build.members, build.pages_per_member);
    raid5::over(map, build, UpdateRule::from_build(build)?)
}
