//! What is counted: page operations by action and cause, and the load of each member.

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

/// Load and traffic of one member.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberLoad {
    /// Reads queued and not started.
    pub reads: u32,
    /// Programs queued and not started.
    pub programs: u32,
    /// Page operations of plans in service.
    pub in_service: u32,
    /// GC runs in progress in the member.
    pub gc_runs: u32,
    /// When a page operation that the host waits for was last submitted; 0 if none was.
    pub last_host_ns: u64,
    /// Sum over completed host requests of the queue length found at their completion (SPEC 3.6).
    pub(crate) blocked_sum: u64,
    pub(crate) blocked_epoch: u64,
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
