//! Garbage collection and wear levelling: choice of victims, and the moves.

pub mod collector;
pub mod victims;
