//! Striping without redundancy (RAID-0).
//!
//! Idea: host page l lies on member l mod n, so that requests spread over all members. It has no redundancy and no overhead, and is the
//! baseline for the other schemes.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, gives
//! the family; SPEC 0.2 (layout), 0.3 (sub-page writes), 0.6 (what the papers call no-RAID).
//! The rules are in `parts::copies`, with one copy.
//! Departures: none.

use crate::parts::copies::{Copies, LeastBusy};
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// RAID-0.
pub const ENTRY: Entry = Entry {
    name: "raid0",
    title: "RAID-0 (striping)",
    about: "Pages striped over the members in turn. No overhead, and no protection.",
    protects: Protects::None,
    redundancy: Redundancy::None,
    members: Members::from(1),
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    Ok(Box::new(Copies::new(build, 1, LeastBusy::default())))
}
