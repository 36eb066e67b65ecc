//! Buses, LUNs, their queues and the events that drive them, and the times of the cell array.
//!
//! Reading order: `cells`, `units`, `records`, `events`; then what happens to a page operation: `submit`, `arbitration`, `service`, `ending`, and with LDPC
//! `levels`. `counting` and `recording` note what was done, and `slices` says what such notes are.

mod arbitration;
pub(crate) mod cells;
mod counting;
mod ending;
pub(crate) mod events;
pub(crate) mod levels;
mod recording;
pub(crate) mod records;
mod service;
pub(crate) mod slices;
mod submit;
pub(crate) mod units;
