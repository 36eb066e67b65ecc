//! Joins the scheme and the flash: host clock, operations and their locks, statistics, verification, and the assembly of a
//! device from a configuration.

#![warn(missing_docs)]

pub mod assemble;
pub mod buffer;
mod clock;
pub mod config;
pub mod device;
mod drive;
pub mod engine;
mod error;
mod inject;
pub mod listing;
pub mod media;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod outputs;
mod prepared;
pub mod presets;
pub mod result;
mod run;
mod sanity;
mod sector_map;
mod simulation;
pub mod statistics;
pub mod threads;
mod time;
pub mod verify;
mod waits;

pub use clock::NEVER;
pub use config::{Asked, Config, ConfigError};
pub use drive::format_of as drive_format_of;
pub use error::RunError;
pub use inject::Injected;
pub use outputs::Outputs;
pub use prepared::{Prepared, preparation, prepare};
pub use result::{EngineCost, Inconsistent, Load, RunResult, SCHEMA, Source, text};
pub use run::{Finished, Stage, Status, run, run_on};
pub use sanity::{Sanity, sanity};
pub use simulation::Simulation;
