//! Torture of every scheme, and the deliberate faults that it and verification must find. One program holds all of it, so that it is linked once.

mod drives_of_today;
#[cfg(feature = "mutants")]
mod mutants;
#[allow(unused)] // most of it is for the engine's suite
#[path = "../../../sim/tests/support/mod.rs"]
mod support;
mod torture;
