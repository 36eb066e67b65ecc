//! Deliberate faults of one SSD, its FTL's among them, for tests of the checkers only (feature `mutants`). They are named in the lowest crate, which all see. The engine's `mutants` file lists all others.

/// One deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashFault {
    /// GC switches the map even if the page was superseded while it was moved.
    StaleMove,
    /// GC erases a block without waiting for dispatched reads.
    EraseUnderRead,
    /// A merge copies pages of the data block only, not those of the log block.
    MergeDataOnly,
    /// A merge stops one page short of the end of the logical block.
    MergeShort,
    /// A merge of a shared log block takes care of the first logical block in it only.
    MergeFirstLogical,
    /// A log block is merged although operations on its logical block are in flight.
    MergeActive,
    /// A merge erases the sequential log block, whichever logical block it belongs to.
    EraseForeignLog,
    /// Before a merge only the semivalid pages of the log block are committed, not those of the data block.
    CommitLogOnly,
    /// An erased block keeps the marks of the offsets that were programmed.
    KeepTaken,
    /// A merge leaves its logical block marked as being merged.
    KeepMerging,
    /// DFTL: what GC moved is not noted.
    ForgetMoves,
    /// DFTL: the entries that a trim or a commit changes do not become dirty.
    ForgetChange,
    /// DFTL: a translation page is written without reading what it said.
    WriteWithoutRead,
    /// DFTL: a dirty entry that changed again while its page was being written leaves as a clean one.
    DropLateChange,
    /// DFTL: of the translation pages that GC made stale in a block, the first is written, and the others are forgotten.
    WriteFirstStale,
    /// DFTL: only the first copy of a translation page is repaired.
    RepairFirstCopy,
    /// A flush leaves what the memory of an SSD holds there, though it is not protected.
    FlushWithoutMemory,
    /// What ends in an array ends 2^48 ns late, as from an event queue that lost sight of its epoch.
    LateEvent,
    /// Each transfer counts twice in the use of its bus.
    CountBusTwice,
}
