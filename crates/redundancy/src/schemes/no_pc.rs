//! RAID-5 behind a write buffer in NVRAM, without a parity cache (no-PC).
//!
//! Idea: the buffer gathers the pages of a stripe, so that they leave together and pay for their parity once; each time they do, the parity is computed
//! and programmed. What the schemes with a parity cache are measured against.
//! Source: S. Im, D. Shin, "Flash-Aware RAID Techniques for Dependable and High-Performance Flash Memory SSD", IEEE Transactions on Computers 60(1),
//! 2011, section 5; SPEC 4.6. The buffer is the device's (`nvram_buffer_bytes`); without one this is raid5.
//! Departures: none.

use crate::schemes::raid5;
use crate::{Entry, WriteBuffer};

/// no-PC.
pub const ENTRY: Entry = Entry {
    name: "no-pc",
    title: "no-PC (RAID-5 behind a write buffer)",
    about: "RAID-5 whose full or partial stripes come out of a write buffer in NVRAM, without a parity cache. Costs as RAID-5.",
    write_buffer: WriteBuffer::Needed(
        "is raid5 under another name: it is there for comparison with fpc, ppc and ca-ppc behind the same buffer",
    ),
    ..raid5::ENTRY
};
