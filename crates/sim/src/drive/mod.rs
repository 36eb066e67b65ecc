//! Drives in files: the state in which a run leaves a drive, with which others begin.
//!
//! A file has a line of JSON (`header`), the state of the drive as `flashraid_vocabulary::persistent` writes it, compressed, and the SHA-256 of all before. What
//! the state consists of each part says itself: `switching_off` in the engine and in `ftl`, and [`Persistent`](flashraid_vocabulary::Persistent) of schemes.
//! The device is built of the configuration in the header, and its state put back; so a file is of use only to a flashraid in which the same parts keep the
//! same: whoever changes what is kept raises `FORMAT` of `header`, or `Entry::drive_format` of the schemes that keep something else.

pub(crate) mod file;
mod header;
mod save;

pub use header::format_of;
pub(crate) use header::{Header, refuse_another, split_name};
