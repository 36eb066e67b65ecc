//! Which physical page holds which version of which logical page, and where free space is.
//!
//! Reading order: `maps`, `blocks`, `space`; then `versions` and `room`, which keep them in step. `hybrid` is mapping by log blocks.

pub mod blocks;
pub(crate) mod hybrid;
pub mod maps;
mod room;
pub(crate) mod space;
mod versions;
