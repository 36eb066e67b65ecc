//! Striping over mirrored pairs of members (RAID-10).
//!
//! Idea: host page l is stored twice, on members 2i and 2i + 1 with i = l mod h, at local page l div h (h = n/2). Writes program both copies; reads
//! take the copy whose die is less busy. Any one member may fail, and more as long as no pair loses both. The overhead is that of raid1, half of the
//! capacity and one more program for each page written; what differs is who is whose twin.
//! Source: the `raid10` driver of Linux md with its default layout of two near copies (manual page md(4), section RAID10); SPEC 8.15. The rules are in
//! `parts::copies`, with two copies.
//! Departures: md reads the copy whose disk head is nearest, and on flash the disk with fewer requests pending; here "less busy" is as in raid1. The
//! layouts `far` and `offset`, which spread sequential reads over the heads of all disks, are left out: reads of flash need no neighbors. Over an odd number of
//! members md places near copies round robin; here their number is even, as a pair has two.

use crate::parts::copies::{Copies, LeastBusy};
use crate::{Build, Entry, Members, ParameterError, Protects, Redundancy, Scheme};

/// RAID-10.
pub const ENTRY: Entry = Entry {
    name: "raid10",
    title: "RAID-10 (striped mirrored pairs)",
    about: "Each page on both members of a pair, pages striped over the pairs; reads go to the less busy copy. Overhead: half of the capacity, and a second program for each page.",
    protects: Protects::Member,
    redundancy: Redundancy::Copies,
    members: Members { multiple_of: 2, ..Members::from(4) },
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    Ok(Box::new(Copies::side_by_side(build, 2, LeastBusy::default())))
}
