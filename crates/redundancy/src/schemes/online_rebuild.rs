//! Online reconstruction: an SSD is replaced by a rebuild in idle time.
//!
//! Idea: what an array of disks does. The eldest SSD is taken out at once; a spare one takes what is written to its strips, and in idle time the others are
//! computed from the rest of their stripes, one after the other. Until the end the array has no redundancy. Afterwards parity is shifted, also in idle
//! time, from the new SSD to the second eldest.
//! Source: the baseline of A. A. McEwan, M. Z. Komsul, "Reliability and performance enhancements for SSD RAID", Microprocessors and Microsystems 48, 2017,
//! figures 4 and 5. Rules: SPEC 5.8; `parts::replacing` has them.
//! Departures: none.

use crate::parts::replacing::{Mechanism, Policy, ReplacedSsds};
use crate::parts::update::UpdateRule;
use crate::parts::{replacing, uneven};
use crate::stripe_map::table::MOST_MEMBERS;
use crate::{Build, Entry, Members, Parameter, ParameterError, Protects, Redundancy, Scheme, Values};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "online-rebuild",
    title: "Online reconstruction (SSDs replaced by a rebuild in idle time)",
    about: "Diff-RAID that takes its eldest SSD out before that wears out, and rebuilds it in idle time. Overhead: that of Diff-RAID, spare SSDs, and no \
            redundancy during a replacement.",
    protects: Protects::Device,
    redundancy: Redundancy::Parity,
    members: Members { most: MOST_MEMBERS, ..Members::from(3) },
    replaces_devices: true,
    takes_devices_out: true,
    has_chunks: false,
    drive_format: uneven::DRIVE_FORMAT,
    parameters: &[&[uneven::PARITY_SHARES, uneven::PARTIAL_STRIPES, replacing::ERASURE_THRESHOLD, SHIFT_PARITY], UpdateRule::PARAMETERS],
    construct: build,
    ..Entry::PLAIN
};

const SHIFT_PARITY: Parameter = Parameter {
    name: "shift_parity",
    values: Values::Words(&["true", "false"]),
    about: "Whether parity is shifted to the second eldest SSD after the rebuild; if not, the new SSD keeps the share of the old one.",
    ..Parameter::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let shifts_parity = build.choice(&SHIFT_PARITY)? == "true";
    let policy = Policy::from_build(build, Mechanism::Online { shifts_parity })?;
    Ok(Box::new(ReplacedSsds::from_build(build, policy)?))
}
