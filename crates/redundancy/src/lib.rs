//! Redundancy: the scheme contract, the one registry list, and the schemes. Knows neither clock nor flash.

#![warn(missing_docs)]

mod contract;
pub mod parts;
pub mod rebuild;
mod registry;
pub mod schemes;
#[cfg(feature = "testing")]
pub mod testing;

pub use contract::{
    CommitCause, Commits, Damage, Decisions, Extent, Failure, Group, GuardCounts, IdleWork, Job, Lock, Lost, Method, Operation,
    OperationKind, Outcomes, ParityUpdates, Scheme, Step,
};
pub use registry::{Build, Entry, Parameter, ParameterError, Protects, Redundancy, SCHEMES, Values, find};
