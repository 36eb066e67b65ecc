//! Disk-oriented reconstruction (DOR).
//!
//! Idea: for each surviving member a fetcher that reads its next page of a stripe to be rebuilt as soon as the member is idle, so that
//! the rebuild uses all bandwidth that the host leaves; a buffer of some pages, one for each stripe, in which what arrives is XORed.
//! Source: M. Holland, as described in section 3.2.2 of the CR5M paper. Rules: SPEC 1.7 (DOR): slots of the buffer are granted in the
//! order of stripes; a fetcher gives users no precedence once its read is issued. Of a scheme of copies the stripe is a page with its
//! copies (SPEC 0.1 b), of which one is read: the XOR of one page.

use super::{RebuildOrder, keeps_redundancy};
use flashraid_vocabulary::Priority;

/// DOR. Its window is the buffer, in pages.
pub const ORDER: RebuildOrder = RebuildOrder {
    name: "dor",
    about: "Disk-oriented: each surviving member reads for the rebuild whenever it is idle; a buffer of rebuild_window pages limits the stripes in progress.",
    window: 8,
    paced: true,
    priority: Priority::Host,
    copies_last: false,
    suits: keeps_redundancy,
};
