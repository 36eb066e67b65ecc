//! Block-level striping with rotating parity (RAID-5).
//!
//! Idea: N = n - 1 data strips form a stripe with the XOR of them; the parity moves by one member from stripe to stripe, so that
//! its programs load and wear all members alike. Any one lost member is the XOR of the others. Small writes pay for the parity
//! with pre-reads.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, section
//! on level 5; SPEC 0.2 (left-asymmetric layout, which the figures of cr5m and ppc show) and 0.6, CR5 (full stripe without
//! pre-reads; RMW if it needs strictly fewer pre-reads, else RCW). The rules are in `parts::parity`.
//! Departures: none.

use crate::parts::cut;
use crate::parts::layout::LeftAsymmetric;
use crate::parts::parity::ParityScheme;
use crate::parts::update::UpdateRule;
use crate::{Build, Entry, ParameterError, Protects, Redundancy, Scheme};

/// RAID-5.
pub const ENTRY: Entry = Entry {
    name: "raid5",
    title: "RAID-5 (rotating parity)",
    about: "Stripes with parity, which rotates over the members. Costs one member's capacity, and pre-reads for small writes.",
    protects: Protects::Member,
    has_window: false,
    redundancy: Redundancy::Parity,
    members: "at least 3",
    mirror_chips: 0,
    parameters: &[UpdateRule::PARAMETER],
    build,
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    cut::at_least(ENTRY.name, build, 3)?;
    let layout = LeftAsymmetric { members: build.members, stripes: build.pages_per_member };
    Ok(Box::new(ParityScheme::new(layout, build.page_bytes, UpdateRule::from_build(build)?)))
}
