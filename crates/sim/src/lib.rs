//! Joins the scheme and the flash: host clock, operations and their locks, statistics, verification, and the assembly of a
//! device from a configuration.

#![warn(missing_docs)]

pub mod config;
pub mod engine;
pub mod statistics;
pub mod listing;
pub mod presets;
pub use config::{Config, ConfigError};
