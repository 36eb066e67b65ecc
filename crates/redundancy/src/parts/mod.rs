//! What two or more schemes share.

mod apart;
pub mod bits;
pub mod copies;
pub mod cut;
pub mod decision_point;
pub mod deferred;
pub mod moves;
pub mod pages;
pub mod parity_cache;
pub mod raid;
pub mod repair;
pub mod replacing;
pub mod stripe;
pub mod uneven;
pub mod update;
