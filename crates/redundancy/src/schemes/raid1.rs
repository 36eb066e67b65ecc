//! Mirroring over two halves of the members (RAID-1).
//!
//! Idea: host page l is stored twice, on member l mod h of the first half and on its twin h + l mod h in the second (h = n/2), at
//! the same local page. Writes program both copies; reads take the copy whose die is less busy. The overhead is half of the capacity and
//! one more program for each page written, but no pre-reads.
//! Source: D. A. Patterson, G. Gibson, R. H. Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988;
//! SPEC 0.6, CR1 (halves, write both, read the less busy one), 0.1 b (the lock is on the pair of copies). The rules are in
//! `parts::copies`, with two copies.
//! Departures: both copies are `Current`, each of its own member page, since either serves reads. "Less busy" compares the page
//! operations in service and queued at each copy's die; equally busy copies take turns.

use crate::parts::copies::{Copies, LeastBusy};
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// RAID-1.
pub const ENTRY: Entry = Entry {
    name: "raid1",
    title: "RAID-1 (mirrored halves)",
    about: "Each page on two members, one in each half of the device; reads go to the less busy copy. Overhead: half of the capacity, and a second program for each page.",
    protects: Protects::Member,
    redundancy: Redundancy::Copies,
    members: Members { multiple_of: 2, ..Members::from(2) },
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    Ok(Box::new(Copies::new(build, 2, LeastBusy::default())))
}
