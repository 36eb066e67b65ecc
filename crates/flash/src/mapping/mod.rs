//! Which physical page holds which version of which logical page, and where free space is.
//!
//! Reading order: `maps`, `blocks`, `space`; then `versions` and `allocation`, which keep them in step. `hybrid` is mapping by log blocks.

mod allocation;
pub mod blocks;
pub(crate) mod hybrid;
pub mod maps;
pub(crate) mod space;
mod versions;
