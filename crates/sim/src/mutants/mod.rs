//! Deliberate faults, all of them, for tests of the checkers only (feature `mutants`): each must be caught by verification.
//!
//! Some are made by the flash and the map on it (`flashraid_ftl::FlashFault`), some by the data buffer (`crate::buffer`); the others distort what a scheme decides
//! or the waves that it plans, before the engine executes them. Reading order: `faults` (their names), `mutant` (the waves), `injected` (the engine).

mod faults;
mod injected;
mod mutant;

pub use faults::{BUFFER_FAULTS, BufferFault, EngineFault, FAULTS};
pub use injected::Injected;
