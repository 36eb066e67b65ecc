//! Which physical page holds which version of which logical page, and where free space is.
//!
//! Reading order: `maps`, `blocks`, `space`; then `versions` and `allocation`, which keep them in step. `filling` is the fill, `phases` how far planes are then on their way to GC, `hybrid` mapping
//! by log blocks.

mod allocation;
pub mod blocks;
pub(crate) mod filling;
pub(crate) mod hybrid;
pub mod maps;
pub(crate) mod phases;
pub(crate) mod space;
mod versions;
