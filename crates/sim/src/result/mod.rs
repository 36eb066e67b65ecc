//! The result of a run, as one JSON object. The keys are a contract with people's scripts: add, never rename.
//!
//! `measured` has the counters of which everything is made, and `report` the object as a whole; `parts`, `resources`, `amplification` and
//! `load` are parts of it, made with `figures`, and `source` is what is known of the trace. `check` and `times` say what figures must agree
//! before there is a result at all.

mod amplification;
mod check;
mod figures;
mod inconsistent;
mod load;
mod measured;
mod parts;
mod report;
mod resources;
mod source;
mod times;

pub(crate) use amplification::is_apart;
pub use inconsistent::Inconsistent;
pub use load::Load;
pub use measured::{Measured, Snapshot};
pub use report::{EngineCost, SCHEMA, text};
pub use source::Source;
