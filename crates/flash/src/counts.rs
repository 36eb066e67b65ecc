//! What is counted: page operations by action and cause, and the load of each member.

use flashraid_vocabulary::{Action, Cause, persistent};

/// Number of actions counted: reads, programs, erases.
pub const ACTIONS: usize = 3;

/// What the NAND did, by action and cause.
pub type Counts = [[u64; Cause::COUNT]; ACTIONS];

/// Index of erases in `Counts`.
pub(crate) const ERASE: usize = 2;

/// Index of an action in `Counts`.
pub(crate) fn action_index(action: Action) -> usize {
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

/// How many pages of a member have versions beside the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Pages with a base.
    pub bases: u32,
    /// Pages with a copy.
    pub copies: u32,
}

persistent!(Held { keeps [bases, copies], });
