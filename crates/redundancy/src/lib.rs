//! Redundancy: the scheme contract, the one registry list, and the schemes. Knows neither clock nor flash.

#![warn(missing_docs)]

mod contract;
mod registry;
pub mod parts;
pub mod schemes;

pub use contract::{
    Decisions, Extent, Job, Lock, Method, Operation, OperationKind, Outcomes, ParityUpdates, Scheme, Step,
};
pub use registry::{Build, Entry, Parameter, ParameterError, Protects, SCHEMES, find};
