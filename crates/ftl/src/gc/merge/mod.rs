//! Merges of hybrid mapping (SPEC 6.3): a log block becomes a data block (*switch*), after the pages behind its own are copied to it (*partial*), or the
//! newest versions of all pages are copied to an erased block (*full*); what is left over is erased.
//!
//! A merge is the GC run of its plane, in the same two phases: first every stripe with a semivalid page in a block to be erased is committed, until
//! there is none; then copies and erases, with the LUNs blocked. From the choice of the log block on, no page of its logical blocks is given out.
//!
//! Reading order: `choice`, `commits`, `copies`.

mod choice;
mod commits;
mod copies;
