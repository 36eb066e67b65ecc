//! One device, its requests, its failures, and the checks at each kill.
//!
//! `setup` is the device and what is kept of it; `course` goes from kill to kill, waits until states that are `wanted` hold at an `instant`, has the
//! `host` make requests, and makes the `failures` and the `replacements`; `window` is what these may take of a scheme that makes redundancy later;
//! `checks` is what must hold at each kill, and `end` what must be once nothing more goes on.

mod checks;
mod course;
mod end;
mod failures;
mod host;
mod instant;
mod replacements;
mod setup;
mod wanted;
mod window;

pub use setup::{Episode, KILLS};
