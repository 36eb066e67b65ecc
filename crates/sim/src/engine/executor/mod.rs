//! The executor: carries out operations of the scheme, of jobs, of the rebuild and of the map. It has the clock, the scheme, the media and their contents.
//!
//! It is the lower half of the engine. What it does for a request it tells the front end, which is lent to it for each step, and it never looks for work
//! of the host by itself: the engine above it cuts requests and lets the scheme decide them.
//!
//! Reading order: `state`, `admission` (order, places in NVRAM, reserved pages), `waves` (steps, XOR, reads without flash), `ending`, `background` (jobs,
//! answers to GC, windows, the map on flash), `instant` (work in no simulated time); `repeats` and `failing` (when something fails).

mod admission;
mod background;
mod ending;
mod failing;
mod instant;
mod repeats;
mod state;
mod waves;

pub use state::Executor;
