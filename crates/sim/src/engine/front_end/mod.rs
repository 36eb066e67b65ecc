//! The front end: the side of the engine that the host sees. It has the requests, the data buffer, and the word that the host was given of each page.
//!
//! It knows nothing of stripes, flash and time: who lets something happen in it says what time it is, and which operations it concerns. What it takes to
//! serve a request is the engine's to know, and how operations are carried out the executor's.
//!
//! Reading order: `state`, `buffering` (pages on their way through the data buffer), `gone` (pages that are lost on their way to flash),
//! `update_reads` (writes of parts of pages).

mod buffering;
mod gone;
mod state;
mod update_reads;

pub use state::FrontEnd;
pub(super) use update_reads::tell_discarded;
