//! What two or more schemes share.

pub mod bits;
pub mod copies;
pub mod cut;
pub mod delayed;
pub mod layout;
pub mod pages;
pub mod parity;
pub mod parity_cache;
pub mod update;
