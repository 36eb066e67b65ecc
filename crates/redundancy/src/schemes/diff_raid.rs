//! RAID-5 with uneven parity (Diff-RAID).
//!
//! Idea: members that wear evenly fail together. Parity is programmed with every small write, so a member with more of it wears faster: with parity
//! spread unevenly over the members, these reach the end of their lives one after the other, and each can be replaced while the others are young.
//! Under random updates of one page, of n members one with the share p of the parity ages in proportion to p (n - 1) + (1 - p).
//! Source: M. Balakrishnan, A. Kadav, V. Prabhakaran, D. Malkhi, "Differential RAID: rethinking RAID for SSD reliability", EuroSys 2010, as the
//! hot-swapping paper uses it; SPEC 5.3 (shares) and 5.4 (placement, partial stripes). Reads, writes and repairs are those of RAID-5 (`parts::raid`).
//! Departures: none.

use crate::parts::decision_point::DecisionPoint;
use crate::parts::uneven;
use crate::parts::update::UpdateRule;
use crate::schemes::raid5;
use crate::stripe_map::table::MOST_MEMBERS;
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "diff-raid",
    title: "Diff-RAID (uneven parity)",
    about: "RAID-5 in which some members hold more of the parity than others, so that they wear out one after the other. Overhead: that of RAID-5, \
            and a table of stripes.",
    protects: Protects::Member,
    redundancy: Redundancy::Parity,
    members: Members { most: MOST_MEMBERS, ..Members::from(3) },
    has_chunks: false,
    drive_format: uneven::DRIVE_FORMAT,
    parameters: &[&[uneven::PARITY_SHARES, uneven::PARTIAL_STRIPES], UpdateRule::PARAMETERS, DecisionPoint::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let map = uneven::table(build)?;
    raid5::over(map, build, UpdateRule::from_build(build)?)
}
