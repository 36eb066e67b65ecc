//! The types of a run's result. docs/result.md, the JSON Schema and the Python types take each field's description and unit from here. The
//! JSON has the same order of fields. A field without a `unit` inherits the unit of its object.

mod ageing;
mod flash;
mod mechanisms;
mod requests;
mod run;

pub use ageing::{Ssd, SsdState, WearOut};
pub use flash::{
    ByCause, Capacity, Channel, ChiSquare, Die, EraseRange, FlashOps, GarbageCollection, HostSideFigures, InUse, LdpcFigures, Lifetime,
    Link, Member, MemberState, ParityUpdates, PerDataPage, SlcFigures, SuspensionFigures, Wear, WriteAmplificationBy,
};
pub use mechanisms::{BufferFigures, Drain, FailedPart, GuardFigures, MappingFigures, Preconditioned, Rebuild, Replacement, Window};
pub use requests::{
    Bandwidth, FailedRequests, Failures, Latencies, LatenciesAround, LatencyFigures, LatencyQuantile, LatencySummaries, LatencySummary,
    Losses, Requests, Workload,
};
pub use run::{Drive, EngineCost, RunResult, SCHEMA};
