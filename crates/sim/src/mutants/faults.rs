//! The names of the deliberate faults.

use crate::media::FlashFault;

/// One deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFault {
    /// RMW: the pre-read of a changed strip delivers the version that this write makes, instead of the one that the parity covers. The
    /// two cancel out, so the parity stays as it was for this strip.
    WrongVersionInRmw,
    /// One pre-read is not made, and its content is missing in the parity.
    SkipPreRead,
    /// Two programs get each other's sources.
    SwapSources,
    /// The flash or the map on it makes this fault.
    Flash(FlashFault),
    /// The parity is not programmed.
    DropParityProgram,
    /// Under two parities, both programs are plain XORs of what they are made of.
    ForgetWeights,
    /// Under two parities, what is delivered of lost strips is the plain XOR of what was read for them.
    ForgetWeightsOfLost,
    /// A trim unmaps its pages and leaves the parity as it was.
    ForgetTrimInParity,
    /// The host gets its acknowledgement while the last program is in flight.
    AcknowledgeEarly,
    /// The update read beneath a part of a page is not made.
    SkipUpdateRead,
    /// A write of a part of a page leaves out all others, whatever sectors are valid (`partial_writes`).
    NeedNothing,
    /// A read of what only the fill has written does not make it used (`partial_writes = read_if_used`).
    ForgetUse,
    /// RMW of a mirrored strip reads the current version instead of the base that the parity covers.
    CurrentForBase,
    /// A mirrored write lets go of the version that the parity covers.
    DropBase,
    /// The copy of a strip that has one already stays as it was.
    StaleCopy,
    /// DFTL: a translation page is programmed on one member only.
    StoreMapOnce,
    /// DFTL: a translation page counts as written when its first copy is.
    SwitchMapEarly,
    /// GC erases a semivalid page as if nobody needed it.
    EraseSemivalid,
    /// A write that ends the mirroring of a strip leaves its copy.
    ForgetMirror,
    /// An operation that brings a parity up to date leaves the base that it covered before.
    KeepBase,
    /// A repair reads a superseded version of a strip.
    RepairFromStale,
    /// A repair does not lock its stripe, so what it programs may supersede a later write.
    RepairUnlocked,
    /// A repair reads the strips of another stripe.
    RepairFromOtherStripe,
    /// The map names the page of a repair before it is programmed.
    SwitchBeforeProgram,
    /// The rebuild is done when it has passed half of the stripes.
    EndRebuildEarly,
    /// Nothing counts as damaged but current versions: bases and copies are not repaired.
    RebuildOnlyCurrent,
    /// Nothing counts as damaged but data: no parity, and of copies the first one alone.
    RebuildOnlyData,
    /// What a repair has programmed is not entered in the map, which goes on naming the dead page.
    KeepDeadMapping,
    /// A read in progress in a part that dies delivers what is there.
    ReadWhatIsDead,
    /// A failed program is not repeated.
    ForgetRetry,
    /// A page that cannot be allocated is not noted as lost: its former version stays.
    KeepUnplaced,
    /// A deferred parity stays as it was when a page of its stripe is written.
    ForgetDelay,
    /// The content that an update supersedes is not taken out of the deferred parity (SPEC 4.4, case 3).
    KeepInDeferred,
    /// A commit leaves out what NVRAM holds.
    CommitWithoutDeferred,
    /// A commit leaves out one of the pages that it has read.
    CommitShort,
    /// An update leaves out what NVRAM held of the parity before.
    RestartDeferred,
    /// A deferred parity stays as it was when pages of its stripe are trimmed.
    ForgetTrimInDeferred,
    /// NVRAM takes an update of a deferred parity over before its data are programmed.
    DelayEarly,
    /// A commit that gets no page for its parity (widening) lets go of the old versions, and leaves in NVRAM what is there.
    WidenWithoutDelay,
    /// A repair leaves out what NVRAM holds.
    RepairWithoutDeferred,
    /// A commit lets go of the old versions when it starts, not when its parity is programmed.
    ReleaseBaseEarly,
    /// A commit lets go of what NVRAM holds when it starts, not when its parity is programmed.
    ReleaseDeferredEarly,
    /// With the parity cache lost, the parities on flash count as up to date.
    TrustOldParity,
    /// The rebuild never looks at the last stripe.
    SkipLastStripe,
    /// The rebuild is not told of a page that could not be allocated.
    ForgetUnplaced,
    /// An operation goes on with what its other reads delivered when one has failed.
    UseFailedRead,
    /// A fault of the data buffer, if the device has one.
    Buffer(BufferFault),
    /// A flush waits for nothing that was written before it.
    FlushAtOnce,
    /// A flush is acknowledged when what it writes is in the registers of dies.
    FlushToRegisters,
    /// DFTL: translation pages of which a copy is lost are not repaired.
    SkipMapRepair,
    /// A strip that an operation has moved to another SSD is looked for where it was.
    KeepRow,
    /// A strip is looked for where a copy is to be, before that is programmed.
    SwitchBeforeCopy,
    /// A copy to another SSD reads the same SSDs of another stripe.
    CopyFromOtherStripe,
    /// The strip that makes way for a parity is not programmed where it goes.
    ForgetMovedStrip,
    /// The last page of a copy to another SSD is not programmed.
    ForgetCopy,
    /// An SSD is taken out when half of its strips have moved.
    TakeOutHalfWay,
    /// What is written anew stays in the shadow of its SSD, and is read there.
    StaleShadow,
}

/// One deliberate fault of a device with a data buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferFault {
    /// The read-before-write of an eviction is not made.
    SkipReadBeforeWrite,
    /// The bitmap of the sectors that flash holds says that every eviction covers them.
    AlwaysCovers,
    /// Sectors written to a buffered page are not noted.
    LoseMerge,
    /// An eviction does not wait for the former one of its page.
    Overtake,
    /// Reads do not see pages on their way out, but what flash holds beneath.
    ReadBeneath,
    /// A trim leaves what is buffered.
    ForgetTrim,
    /// The last page of a stripe that leaves NVRAM is not written.
    LosePage,
    /// A page that was written again while it left is forgotten when it has left.
    ForgetRewritten,
    /// A read of a page on its way out takes what flash holds, as yet.
    FlashForLeaving,
    /// A read of a page of which the buffer holds a part takes from flash whatever that holds.
    FlashForPart,
    /// The first sector of a page comes from flash if that holds it, though the buffer does too.
    FlashForFirstSector,
    /// A read of a page that is not buffered takes its neighbor's entry.
    NeighborOnMiss,
    /// Of several versions of a page on their way out, reads see the last one alone.
    OnlyLastDeparture,
    /// Of several versions of a page on their way out, reads see the first one alone.
    OnlyFirstDeparture,
    /// What is missing of a page of which the buffer holds a part counts as never written.
    ZeroesForFlash,
    /// What left before a trim is still seen while the trim is in flight.
    KeepBeneathTrim,
    /// An eviction covers what flash holds if it has as many sectors.
    CoversByCount,
    /// An eviction does not note that its sectors are on flash.
    ForgetMark,
    /// Of each run of sectors that an eviction writes, the last one is not noted as being on flash.
    MarkShort,
}

/// Every fault of a data buffer; of one in DRAM all but the last two.
pub const BUFFER_FAULTS: [BufferFault; 19] = [
    BufferFault::SkipReadBeforeWrite,
    BufferFault::AlwaysCovers,
    BufferFault::LoseMerge,
    BufferFault::Overtake,
    BufferFault::ReadBeneath,
    BufferFault::ForgetTrim,
    BufferFault::FlashForLeaving,
    BufferFault::FlashForPart,
    BufferFault::FlashForFirstSector,
    BufferFault::NeighborOnMiss,
    BufferFault::OnlyLastDeparture,
    BufferFault::OnlyFirstDeparture,
    BufferFault::ZeroesForFlash,
    BufferFault::KeepBeneathTrim,
    BufferFault::CoversByCount,
    BufferFault::ForgetMark,
    BufferFault::MarkShort,
    BufferFault::LosePage,
    BufferFault::ForgetRewritten,
];

/// Every fault.
pub const FAULTS: [EngineFault; 15] = [
    EngineFault::WrongVersionInRmw,
    EngineFault::SkipPreRead,
    EngineFault::SwapSources,
    EngineFault::Flash(FlashFault::StaleMove),
    EngineFault::Flash(FlashFault::EraseUnderRead),
    EngineFault::DropParityProgram,
    EngineFault::ForgetTrimInParity,
    EngineFault::AcknowledgeEarly,
    EngineFault::SkipUpdateRead,
    EngineFault::CurrentForBase,
    EngineFault::DropBase,
    EngineFault::StaleCopy,
    EngineFault::StoreMapOnce,
    EngineFault::SwitchMapEarly,
    EngineFault::Flash(FlashFault::ForgetMoves),
];
