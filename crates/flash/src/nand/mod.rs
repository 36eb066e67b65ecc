//! Buses, array units, their queues and the events that drive them.

pub mod events;
pub mod units;
