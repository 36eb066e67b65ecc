//! Mirroring-assisted channel-level reconstruction (MCR).
//!
//! Idea: a strip that has a copy on a mirror chip is not in danger, is read from there meanwhile, and is likely to be written again soon;
//! so what has to be computed comes first, in the manner of DOR, and copies are made last, if they are still needed.
//! Paper: section 3.2 and Algorithm 2 of the CR5M paper. Rules: SPEC 1.7 (MCR), 1.10 rulings 10 to 15, 20 and 26. Which class a stripe
//! is of, and what its repair does, is in `schemes/cr5m/`.

use super::RebuildOrder;
use crate::{Entry, Redundancy};
use flashraid_vocabulary::Priority;

/// MCR. Its window is the buffer, in pages.
pub const ORDER: RebuildOrder = RebuildOrder {
    name: "mcr",
    about: "Mirroring-assisted: as dor, but in two rounds; strips that have a copy on a mirror chip are copied in the second round.",
    window: 8,
    paced: true,
    priority: Priority::Host,
    copies_last: true,
    suits: mirrors_strips,
};

fn mirrors_strips(entry: &Entry) -> Result<(), String> {
    if entry.redundancy == Redundancy::Parity && entry.mirror_chips > 0 {
        return Ok(());
    }
    Err(format!("{} has no mirror chips, from which mcr copies in its second round", entry.name))
}
