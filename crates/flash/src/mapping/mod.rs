//! Which physical page holds which version of which logical page, and where free space is.

pub mod blocks;
pub(crate) mod hybrid;
pub mod maps;
pub mod space;
