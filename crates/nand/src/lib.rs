//! NAND: buses, LUNs, their queues and the events that drive them, and the times of the cell array.
//!
//! It knows physical pages. What they hold, which of them are free, and what is collected is known above, to which [`Pages`] is the only way up: page
//! operations are queued by physical page (`bind`), or as programs of a space domain that any of its LUNs may take (`join_pool`, `offer`).
//!
//! Reading order: `geometry`, `settings`, `pages`, `nand` (the state); `cells`, `luns`, `records`, `events`; then what happens to a page operation: `queues`,
//! `domains`, `arbitration`, `service`, `ending`, with LDPC `levels` and `attempts`, `slc` for blocks with one bit a cell, `suspension` for reads that do not wait, and `power` for how many LUNs are active. `loads` and `recording` note what was done, and `slices` says what such notes are.

#![warn(missing_docs)]

#[cfg(feature = "mutants")]
pub mod accounting;
mod arbitration;
mod attempts;
mod cells;
mod counts;
mod domains;
mod ending;
mod events;
mod geometry;
mod levels;
mod loads;
mod luns;
mod mutants;
mod nand;
pub mod packed;
mod pages;
mod places;
mod power;
mod queues;
mod recording;
mod records;
mod service;
mod settings;
pub mod slc;
mod slices;
mod suspension;

pub use arbitration::{check_buses, kick, kick_plane};
pub use cells::{CellOperation, CellTimes, Ldpc, LevelLaw, MOST_LEVEL, MOST_TYPES};
pub use counts::{ACTIONS, Completion, Counts, ERASE, Progress, action_index};
pub use domains::{DATA, TRANSLATION, Takers};
pub use events::{EventQueue, NEVER};
pub use geometry::{Shape, plane_stride, ppn_limit};
pub use levels::{Levels, level_of, read_ns};
pub use loads::{Loads, MemberLoad};
pub use luns::{Channel, Lun, after, at_or_after, each};
pub use mutants::FlashFault;
pub use nand::{Nand, advance, serve_due_bus};
pub use pages::{BlockFacts, Pages, Timer};
pub use places::Places;
pub use queues::{bind, bind_in_domain, offer, queue_work, reclass_gc};
pub use recording::Recording;
pub use records::{About, Record, WorkKind};
pub use settings::NandSettings;
pub use slc::SlcTimes;
pub use slices::{Activity, Done, Slice, Track};
pub use suspension::{SuspendSettings, Suspensions};
