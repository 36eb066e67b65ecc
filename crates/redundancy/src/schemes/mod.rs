//! The schemes, one file each. Only `registry::SCHEMES` names them.

pub mod cr5m;
pub mod fpc;
pub mod fra;
pub mod no_pc;
pub mod ppc;
pub mod raid0;
pub mod raid1;
pub mod raid4;
pub mod raid5;
pub mod sirf1;
