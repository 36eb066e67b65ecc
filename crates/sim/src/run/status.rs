//! How a run ended.

use crate::result::RunResult;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All requests completed, or failed because data are lost.
    Done,
    /// Verification found a violation, which outweighs all else.
    Violation,
    /// Requests failed for lack of space, or were left unfinished.
    Unserved,
    /// The run was stopped before its end.
    Interrupted,
}

impl Status {
    /// How the run ended of which this is the result.
    pub(super) fn of(result: &RunResult) -> Self {
        let is_clean = result.verify.is_none_or(|verify| verify.found.is_clean());
        let are_served = result.requests.failed.no_space == 0 && result.requests.unfinished == 0;
        match (is_clean, result.partial, are_served) {
            (false, ..) => Self::Violation,
            (_, true, _) => Self::Interrupted,
            (_, _, false) => Self::Unserved,
            _ => Self::Done,
        }
    }

    /// The exit status of the command.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Violation => 1,
            Self::Unserved => 3,
            Self::Interrupted => 130,
        }
    }
}
