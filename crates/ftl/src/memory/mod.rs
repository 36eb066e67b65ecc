//! The memory of the controller, in which pages of the map wait for their program unit, where a program unit has several (SPEC 8.1).
//!
//! A program takes the next page of its write point as soon as the memory has room, and has ended then. A program unit is programmed when all of it is taken,
//! or what is left of it is padding. Until that has ended its block is no victim, and its pages are read from the memory. Each space domain is a write point
//! with one open program unit, and so is the GC stream of each plane.
//!
//! `Memory` knows what it holds and what waits for it, and has program units programmed that are full or padded. What else follows, GC and the end of programs, is
//! seen to in the SSD (`write_points`).
//!
//! Reading order: `held`, `state`, `pages`, `programs`, `failures`; then `write_points`.

mod failures;
mod held;
mod pages;
mod programs;
mod state;
mod write_points;

pub(crate) use pages::TakenPage;
pub(crate) use state::Memory;
pub use state::MemorySettings;
pub(crate) use write_points::leave_places;
