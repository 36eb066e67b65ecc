//! Stripe-oriented reconstruction (SOR).
//!
//! Idea: a few processes, each of which rebuilds one stripe after the other with requests of low priority, so that the host notices
//! little of it; the drawback is a long rebuild. Source: M. Holland, as cited in section 2.2 of the CR5M paper. Rules: SPEC 1.7 (SOR). Of a scheme
//! of copies the stripe is a page with its copies (SPEC 0.1 b), of which one is read: the XOR of one page.

use super::{RebuildOrder, keeps_redundancy};
use flashraid_vocabulary::Priority;

/// SOR. Its window is the number of processes.
pub const ORDER: RebuildOrder = RebuildOrder {
    name: "sor",
    about: "Stripe-oriented: repairs the stripes in order, rebuild_window of them at a time, at low priority.",
    window: 1,
    paced: false,
    priority: Priority::Rebuild,
    copies_last: false,
    suits: keeps_redundancy,
};
