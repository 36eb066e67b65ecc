//! The result of a run. Its type, in `types`, is serialized to the JSON that users get; docs/result.md, the JSON Schema and the types for
//! Python are generated from it. The keys are a contract with people's scripts: a key that is removed, is renamed or changes its meaning
//! raises [`SCHEMA`].
//!
//! `measured` has the counters of which everything is made, and `report` makes the whole; `parts`, `resources`, `ageing`, `amplification` and
//! `load` are parts of it, made with `figures`, and `source` is what is known of the trace. `check` and `times` say what figures must agree
//! before there is a result at all.

mod ageing;
mod amplification;
mod check;
mod figures;
mod inconsistent;
mod load;
mod measured;
mod parts;
mod report;
mod resources;
mod schema;
mod source;
mod times;
pub mod types;

pub(crate) use amplification::is_apart;
pub use inconsistent::Inconsistent;
pub use load::Load;
pub use measured::{Measured, Snapshot};
pub use report::text;
pub use schema::{schema, schema_of};
pub use source::Source;
pub use types::{EngineCost, RunResult, SCHEMA};
