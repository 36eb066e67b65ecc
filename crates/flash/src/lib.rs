//! Flash: page maps, free space, GC and wear; below them buses, LUNs, queues and cell times.
//!
//! The layer above submits page operations by (member, page, version) and gets completions; it never learns a physical page
//! but to label contents. Reading order: `settings`, `ssd` (the state of one SSD), `numbering`, `topology`, `mapping`, `nand`, `collection`, `faults`; then
//! `untimed` (fill and precondition), `switching_off` (what is kept then), `view` (what schemes may look at), `report` and `check`.

#![warn(missing_docs)]

#[cfg(feature = "mutants")]
pub mod accounting;
mod check;
mod counts;
mod faults;
pub mod gc;
pub mod mapping;
mod mutants;
mod nand;
mod news;
mod numbering;
mod report;
mod settings;
mod ssd;
mod switching_off;
mod topology;
mod untimed;
mod view;

pub use counts::{ACTIONS, Counts, Held, MemberLoad};
pub use gc::state::{GcCounts, GcUnderWay, MergeKind};
pub use mapping::blocks::Space;
pub use mutants::FlashFault;
pub use nand::cells::{CellOperation, CellTimes, Ldpc, LevelLaw, MOST_LEVEL, MOST_TYPES};
pub use nand::events::EventQueue;
pub use nand::records::About;
pub use nand::slices::{Activity, Done, Slice, Track};
pub use nand::units::{Channel, Unit};
pub use news::{Completion, GcQuery, MapEvent, Progress};
pub use numbering::ppn_limit;
pub use settings::{Given, Placement, Settings};
pub use ssd::Flash;
