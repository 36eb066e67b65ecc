//! How far a run is.

/// How far a run is; given to the progress function about ten times a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Requests of the trace counted, for faults at a share of it.
    Counting {
        /// How many.
        requests: u64,
        /// Share of the trace that they are, from 0 to 1.
        share: f64,
    },
    /// Pages overwritten by the precondition.
    Preconditioning(u64),
    /// Requests replayed.
    Replaying {
        /// How many.
        requests: u64,
        /// Share of the trace that they are, from 0 to 1.
        share: f64,
    },
    /// The trace is repeated until SSDs are worn out.
    Ageing {
        /// How many are.
        worn: u32,
        /// How far that is, with the age of the eldest of the others, from 0 to 1.
        share: f64,
    },
    /// Everything stored is being checked.
    Verifying,
}
