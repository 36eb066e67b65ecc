//! What has failed: parts that are dead, blocks out of use, pages that cannot be read, chips that others replace.
//!
//! A page is lost by its address: map entries stay as they are when something dies. All blocks of a dead plane are retired, so a page is lost
//! if its block is, or if it is one of the few that became unreadable alone. A version that nothing holds any more names the sentinel page,
//! which lies in a retired block where no plane is. A healthy device pays for all this with a test of one flag.
//!
//! Reading order: `parts`, `state`, `failing`, `lanes`, `programs`.

mod failing;
mod lanes;
mod parts;
pub(crate) mod programs;
mod state;

pub use parts::Parts;
pub(crate) use state::Faults;
