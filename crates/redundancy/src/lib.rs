//! Redundancy: the scheme contract, what a scheme states of itself, and the schemes. Knows neither clock nor flash.

#![warn(missing_docs)]

mod before;
mod contract;
mod counts;
mod error;
mod operation;
pub mod parts;
mod percentages;
mod protects;
pub mod rebuild;
mod registry;
mod replacement;
pub mod schemes;
pub mod stripe_map;
#[cfg(feature = "testing")]
pub mod testing;

pub use before::Before;
pub use contract::{
    Addressed, Addressing, Claim, CloneJob, CloneScheme, Damage, Deferring, Grouping, Job, Lost, Recovery, Replacing, Scheme, Source,
    WorksWhenIdle,
};
pub use counts::{Commits, GuardCounts, ParityUpdates};
pub use error::ParameterError;
pub use operation::{CommitCause, Decisions, Extent, Failure, Group, IdleWork, Lock, Method, Operation, OperationKind, Outcomes, Step};
pub use percentages::Percentages;
pub use protects::Protects;
pub use registry::{Bases, Build, Choice, Draws, Entry, Members, Parameter, Redundancy, Values, WriteBuffer};
pub use replacement::{Migrated, Order};
pub use schemes::{SCHEMES, find};
