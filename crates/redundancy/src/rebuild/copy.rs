//! Copying from the mirror.
//!
//! Idea: a lost page of a scheme of copies is read from another copy and programmed again, at low priority, several pages at a time.
//! Rules: SPEC 2.4 (repair of SIRF-1).

use super::{RebuildOrder, keeps_redundancy};
use crate::{Entry, Redundancy};
use flashraid_vocabulary::Priority;

/// Copying. Its window is the number of pages that are copied at once.
pub const ORDER: RebuildOrder = RebuildOrder {
    name: "copy",
    about: "Reads lost pages from another copy, rebuild_window of them at a time, at low priority.",
    window: 8,
    paced: false,
    priority: Priority::Rebuild,
    copies_last: false,
    suits: keeps_copies,
};

fn keeps_copies(entry: &Entry) -> Result<(), String> {
    keeps_redundancy(entry)?;
    match entry.redundancy {
        Redundancy::Copies => Ok(()),
        _ => Err(format!("{} has parity, so a lost page must be computed from several strips", entry.name)),
    }
}
