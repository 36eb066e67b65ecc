//! RAID-5 behind a write buffer in NVRAM, without a parity cache (no-PC).
//!
//! Idea: the buffer gathers the pages of a stripe and evicts them together, so that they share one parity update. Each eviction computes and programs
//! the parity. This is the baseline for the schemes with a parity cache.
//! Source: S. Im, D. Shin, "Flash-Aware RAID Techniques for Dependable and High-Performance Flash Memory SSD", IEEE Transactions on Computers 60(1),
//! 2011, section 5; SPEC 4.6. The buffer is the device's (`nvram_buffer_bytes`); without one this is raid5.
//! Departures: none.

use crate::schemes::raid5;
use crate::{Entry, WriteBuffer};

/// no-PC.
pub const ENTRY: Entry = Entry {
    name: "no-pc",
    title: "no-PC (RAID-5 behind a write buffer)",
    about: "RAID-5 behind a write buffer in NVRAM that evicts whole stripes, without a parity cache. Overhead: that of RAID-5, and NVRAM.",
    write_buffer: WriteBuffer::Needed("is the same as raid5; it is meant for comparison with fpc, ppc and ca-ppc behind the same buffer"),
    ..raid5::ENTRY
};
