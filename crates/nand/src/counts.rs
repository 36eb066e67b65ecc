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
    /// The page operation has failed: a read of a page that is lost now, or a program. The record of a program lives until `repeat` succeeds or
    /// `abort`.
    Failed,
}

/// A page operation made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its handle. A read's is free again once the completion is taken; a program's after `commit` or `abort`.
    pub record: u32,
    /// What happened.
    pub progress: Progress,
}
