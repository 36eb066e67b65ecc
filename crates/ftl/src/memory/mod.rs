//! The memory of the controller, in which pages of the map wait for their flash page, where a flash page has several (SPEC 8.1).
//!
//! A program takes the next page of its write point as soon as the memory has room, and has ended then. A flash page is programmed when all of it is taken,
//! or what is left of it is padding. Until that has ended its block is no victim, and its pages are read from the memory. Each space domain is a write point
//! with one open flash page, and so is the GC stream of each plane.

mod events;
mod failures;
mod padding;
mod pages;
mod programs;
mod state;

pub(crate) use events::{check, programmed, served, space_gained};
pub(crate) use failures::{give_up, has_to_rescue, lose_place, lose_places};
pub use padding::{empty, flush, padded, take_flushed};
pub(crate) use padding::{has_flushed, padding_due, secure_moved, take_page_of_gc, wait_for_moves};
pub(crate) use pages::{hold_filled, holds, take_page};
pub(crate) use programs::{read, take_in, take_waiting, waiting};
pub(crate) use state::Memory;
pub use state::MemorySettings;
