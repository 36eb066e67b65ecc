//! Which physical page holds which version of which logical page.
//!
//! Reading order: `maps`; then `versions`, how they change in the SSD (`store` keeps maps and blocks in step). `filling` is the fill, `overwritten` how it lays
//! pages as random writes would have, `phases` how far planes are then on their way to GC, `hybrid` mapping by log blocks.

pub(crate) mod filling;
pub(crate) mod hybrid;
pub mod maps;
pub(crate) mod overwritten;
pub(crate) mod phases;
mod versions;
