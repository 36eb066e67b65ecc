//! The engine: takes host requests, lets the scheme plan them, has the flash execute the plans, and reports completions.
//!
//! It is incremental: `submit` at the current time, `advance_until` a time, `next_event_ns`, `completed`. It owns plain data, so
//! a simulation can be cloned and continued.
//!
//! It joins two halves. The front end has what the host sees: requests, the data buffer, and what becomes of pages on their way to flash. The executor
//! carries out operations: it has the scheme, the clock, the media and the contents. The front end knows nothing of the executor; the executor is lent
//! the front end for each step, to tell it what became of its requests and pages. What needs both, and decides what happens next, is here.
//!
//! Reading order:
//!
//! 1. Data: `options`; `request` and `pending` (requests); `slot`, `locks` and `operations` (operations in flight); `logical_space` (arithmetic).
//! 2. `front_end`, `submission_queues`, `host_side`, `valid_sectors`; `state` joins the halves. A request: `requests` (its bytes are cut and decided), or `buffered`.
//! 3. Its operations: `executor`. The map on flash: `translation`. What is kept of failures: `failure`.
//! 4. Time: `time`, `look_ahead`. Before the first request: `preparation`. SSDs of an array are replaced: `replacing`.
//! 5. Verification: `content` (what is asked), `tags`.
//! 6. What is told: `recorder` and `recording`, `exposure`, `in_flight`, `around` (rebuilds), `survey` (all there is to know). What is kept: `switching_off`.

mod around;
mod buffered;
pub mod content;
mod executor;
mod exposure;
mod failure;
mod front_end;
pub mod host_side;
pub mod in_flight;
pub mod locks;
mod logical_space;
mod look_ahead;
mod operations;
mod options;
mod pending;
mod preparation;
pub mod recorder;
mod recording;
mod replacement;
mod replacing;
mod request;
mod requests;
mod slot;
mod state;
mod submission_queues;
mod survey;
mod switching_off;
pub mod tags;
mod time;
pub mod translation;
mod valid_sectors;

pub use around::Around;
pub use executor::Executor;
pub use exposure::Exposure;
pub use failure::{FaultRecord, ReadErrors, RebuildOptions, RebuildRecord, WearOutRecord};
pub use front_end::FrontEnd;
pub use host_side::HostTimes;
pub(crate) use logical_space::row_pages;
pub use logical_space::{LogicalSpace, MOST_CHUNK};
pub use options::{Dftl, Options};
pub use preparation::AsOverwritten;
pub use preparation::Reached;
pub(crate) use preparation::fill;
pub use replacement::{Outcome, ReplacementRecord};
pub use request::{CompletedRequest, Service};
pub use state::Engine;
pub use submission_queues::MOST_QUEUES;
pub use survey::Survey;
pub use time::Halted;
