//! Deliberate faults of accounting, for tests of what checks the figures of a result (feature `mutants`). They change what is counted and nothing
//! else. Which one is made is said for the thread, as figures are made in all layers.

use std::cell::Cell;

/// One deliberate fault of accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// The time of a failed program counts as idle.
    FailedProgramIdle,
    /// A request of which a program is repeated counts from the repetition on.
    RepeatedRequestAnew,
    /// Wear leveling counts as GC.
    WearAsGc,
    /// Programs of a rebuild count as parity.
    RebuildAsParity,
    /// Quantiles are those of one request less.
    QuantileRank,
    /// The last request of the warm-up is measured.
    WarmupMeasured,
    /// What a drain programs counts with the run.
    DrainWithRun,
    /// An erase that fails, so that its block is retired, counts twice.
    FailedEraseTwice,
    /// The data transfer of a read counts twice as time of its LUN.
    TransferTwice,
    /// The bus is free while it carries commands of erases.
    EraseCommandFree,
    /// Requests after the end of a rebuild count as served under it.
    RebuildWithoutEnd,
    /// Bytes of failed requests count.
    FailedBytes,
    /// Programs that wait are not counted as blocked requests.
    BlockedReadsOnly,
    /// Half of the idle time counts.
    IdleHalved,
    /// Page operations of members count from their start, not from their submission.
    MemberLatencyFromStart,
    /// Bandwidth is over all of the run, background work behind the last answer included.
    BandwidthToEnd,
    /// Blocks that were never erased are left out of the mean wear.
    WearOfErasedOnly,
    /// A rebuild's window of vulnerability begins with the latest failure that it answers.
    WindowFromLastFailure,
    /// Standard deviations are those of a sample.
    SampleDeviation,
    /// The time of GC runs leaves out their erases.
    GcWithoutErase,
    /// Repairs count what they programmed in vain.
    RepairsTwice,
    /// The share of commits for GC runs leaves out what they read.
    CommitWithoutReads,
}

/// All of them.
pub const SLIPS: [Slip; 22] = [
    Slip::FailedProgramIdle,
    Slip::RepeatedRequestAnew,
    Slip::WearAsGc,
    Slip::RebuildAsParity,
    Slip::QuantileRank,
    Slip::WarmupMeasured,
    Slip::DrainWithRun,
    Slip::FailedEraseTwice,
    Slip::TransferTwice,
    Slip::EraseCommandFree,
    Slip::RebuildWithoutEnd,
    Slip::FailedBytes,
    Slip::BlockedReadsOnly,
    Slip::IdleHalved,
    Slip::MemberLatencyFromStart,
    Slip::BandwidthToEnd,
    Slip::WearOfErasedOnly,
    Slip::WindowFromLastFailure,
    Slip::SampleDeviation,
    Slip::GcWithoutErase,
    Slip::RepairsTwice,
    Slip::CommitWithoutReads,
];

thread_local! {
    static MADE: Cell<Option<Slip>> = const { Cell::new(None) };
}

/// From now on this thread makes this fault, or none.
pub fn make(slip: Option<Slip>) {
    MADE.set(slip);
}

/// Whether this thread makes it.
pub fn makes(slip: Slip) -> bool {
    MADE.get() == Some(slip)
}
