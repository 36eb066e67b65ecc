//! The engine: takes host requests, lets the scheme plan them, has the flash execute the plans, and reports completions.
//!
//! It is incremental: `submit` at the current time, `advance_until` a time, `next_event_ns`, `completed`. It owns plain data, so
//! a simulation can be cloned and continued.
//!
//! Reading order:
//!
//! 1. Data: `options`; `request` and `pending` (requests); `slot`, `locks` and `operations` (operations in flight); `entries`; `state` holds it all.
//! 2. A request: `requests`, `extents` (its bytes are cut and decided), or `buffered` (through the data buffer); `update_reads` and `valid_sectors` (parts of pages).
//! 3. Its operations: `admission` (order), `places` (in NVRAM), `space` (reserved pages), `waves` (steps), `sums` (what XOR takes), `reads`, `ending`.
//! 4. Time: `time`, `buffer_events` (what the data buffer does when it is time), `look_ahead`.
//! 5. Work of nobody: `background`, `replacing` (SSDs of an array), `gc` (answers to GC); `instant` (work in no simulated time).
//! 6. When something fails: `failure`, `gone`, `service` (what is served then). The map on flash: `translation`.
//! 7. Verification: `content` (what is asked), `tags`.
//! 8. What is told: `recorder` and `recording`, `exposure` and `window`, `in_flight`, `around` (rebuilds), `survey` (all there is to know). What is kept: `switching_off`.

mod admission;
mod around;
mod background;
mod buffer_events;
mod buffered;
pub mod content;
mod ending;
mod entries;
mod exposure;
mod extents;
mod failure;
mod gc;
mod gone;
pub mod in_flight;
mod instant;
pub mod locks;
mod look_ahead;
mod operations;
mod options;
mod pending;
mod places;
mod reads;
pub mod recorder;
mod recording;
mod replacement;
mod replacing;
mod request;
mod requests;
mod service;
mod slot;
mod space;
mod state;
mod sums;
mod survey;
mod switching_off;
pub mod tags;
mod time;
pub mod translation;
mod update_reads;
mod valid_sectors;
mod waves;
mod window;

pub use around::Around;
pub use exposure::Exposure;
pub use failure::{FaultRecord, ReadErrors, RebuildOptions, RebuildRecord, WearOutRecord};
pub use instant::Reached;
pub use options::{Dftl, Options};
pub use replacement::{Outcome, ReplacementRecord};
pub use request::{CompletedRequest, Service};
pub use state::Engine;
pub use survey::Survey;
pub use time::Halted;
