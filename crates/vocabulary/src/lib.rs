//! The words that every other crate uses: ids, units, geometry, host requests, page operations with their causes, and
//! the traits through which the layers communicate. Nothing here simulates anything.
//!
//! Times are integer nanoseconds (`*_ns`), sizes are bytes (`*_bytes`).

#![warn(missing_docs)]

pub mod array;
mod divisor;
mod faults;
pub mod galois;
mod geometry;
mod host;
mod ids;
pub mod memory;
pub mod names;
pub mod persistent;
mod plan;
mod random;
pub mod slab;
mod talk;
pub mod wall;
mod words;

pub use divisor::Divisor;
pub use faults::{DeviceFault, Fault, Part};
pub use geometry::Geometry;
pub use host::{HostOp, HostRequest};
pub use ids::{LocalPage, Lpn, MemberId, MemberPage, Ppn, StripeId};
pub use memory::prefetch;
pub use persistent::Persistent;
pub use plan::{Action, Cause, Change, Delivery, PageOperation, Priority, Sources, Version, Wave, Weights};
pub use random::{SplitMix64, mix, one_of, unit};
pub use slab::NIL;
pub use talk::{GcAdvisor, GcLoad, Health, LoadView, NoObserver, Observer, ReadLoad, SemivalidAction, SsdView, View};
pub use words::{
    GcBlockingScope, GcPace, GcStreams, Lun, Member, RebuildTarget, Scheduling, SerialSubrequests, SlcFull, Suspend, Transfer,
    WearLeveling, WriteCompletes,
};
