//! One SSD above its NAND: page maps, free space, GC and wear.
//!
//! The layer above submits page operations by (member, page, version) and gets completions; it never learns a physical page
//! but to label contents. Reading order: `settings`, `news` (what it tells), `space`, `mapping`, `store` (what pages hold), `ssd` (the parts of one SSD), `submission`, `pages` (what NAND
//! asks), `gc`, `faults`, `memory`; then `untimed` (fill and precondition), `switching_off` (what is kept then), `view` (what schemes may look at) and `check`.

#![warn(missing_docs)]

mod check;
mod faults;
mod gc;
pub mod mapping;
mod memory;
mod news;
mod pages;
mod settings;
pub mod space;
mod ssd;
mod store;
mod submission;
mod switching_off;
mod untimed;
mod view;

#[cfg(feature = "mutants")]
pub use flashraid_nand::accounting;
pub use flashraid_nand::{
    ACTIONS, About, Activity, CellOperation, CellTimes, Completion, Counts, Done, EventQueue, FlashFault, Ldpc, LevelLaw, Levels,
    MOST_LEVEL, MOST_TYPES, MemberLoad, Progress, SlcTimes, Slice, Suspensions, Track, level_of, packed, ppn_limit,
};
pub use gc::pace::finish_gc;
pub use gc::state::{GcCounts, GcUnderWay, MergeKind};
pub use mapping::overwritten::Overwrites;
pub use memory::MemorySettings;
pub use news::{GcQuery, Held, MapEvent, Untold};
pub use settings::{Given, Placement, Settings};
pub use space::Space;
pub use space::blocks::Usage;
pub use space::slc::{SlcCounts, SlcSettings};
pub use space::victim::{ChosenPolicy, GcPolicy, policies};
pub use ssd::Flash;
pub use store::Store;
