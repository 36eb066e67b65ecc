//! Garbage collection and wear levelling: choice of victims, and the moves.

pub mod collector;
pub(crate) mod merge;
pub mod victims;

/// What collections have done beside their page operations (`Flash::counts`, causes `Gc` and `Wear`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Victims erased, or merges of log blocks.
    pub collections: u64,
    /// Logical blocks merged, by `MergeKind`: hybrid mapping only.
    pub merges: [u64; 3],
    /// Time from the choice of a victim to its erasure, of all of them together: they may overlap.
    pub time_ns: u64,
}
