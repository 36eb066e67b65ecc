//! Which physical page holds which version of which logical page.
//!
//! Reading order: `maps`; then `versions`, how they change in the SSD (`store` keeps maps and blocks in step). `filling` is the fill, `overwritten` where it lays pages that are then as after random writes, `phases` how far planes are then on their way to GC, `hybrid` mapping
//! by log blocks.

pub(crate) mod filling;
pub(crate) mod hybrid;
pub mod maps;
mod overwritten;
pub(crate) mod phases;
mod versions;
