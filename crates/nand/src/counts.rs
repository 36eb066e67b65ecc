//! What is counted and reported of page operations.

use flashraid_vocabulary::{Action, Cause};

/// Number of actions counted: reads, programs, erases.
pub const ACTIONS: usize = 3;

/// What the NAND did, by action and cause.
pub type Counts = [[u64; Cause::COUNT]; ACTIONS];

/// Index of erases in `Counts`.
pub const ERASE: usize = 2;

/// Index of an action in `Counts`.
pub fn action_index(action: Action) -> usize {
    action as usize
}

/// What a completion reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The data of a program are in the die's register (only if the device reports it).
    DataIn,
    /// The page operation has ended.
    Ended,
    /// The page operation has failed: a read of a page that is lost now, or a program. The record of a program lives until the layer above
    /// repeats it or gives it up.
    Failed,
}

/// A page operation made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its handle, until the layer above removes the record.
    pub record: u32,
    /// What happened.
    pub progress: Progress,
}
