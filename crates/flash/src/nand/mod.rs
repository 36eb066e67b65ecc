//! Buses, array units, their queues and the events that drive them. Reading order: `units`, `records`, `arbitration`, `service`.

mod arbitration;
pub mod events;
pub mod records;
mod service;
pub(crate) mod slices;
pub mod units;
