//! The result of a run as types. The doc comment and the unit of each member are what docs/result.md, the JSON Schema and the types for
//! Python say of it; the order of the members is that of the JSON.
//!
//! `unit` is inherited: a member without one has that of the object it is in.

mod flash;
mod mechanisms;
mod requests;
mod run;

pub use flash::{
    ByCause, Capacity, Channel, Die, FlashOps, GarbageCollection, Member, MemberState, ParityUpdates, PerDataPage, Wear,
    WriteAmplificationBy,
};
pub use mechanisms::{BufferFigures, Drain, FailedPart, GuardFigures, MappingFigures, Preconditioned, Rebuild, Window};
pub use requests::{Bandwidth, Failures, Latencies, LatencyFigures, Losses, Requests, Workload};
pub use run::{EngineCost, RunResult, SCHEMA};
