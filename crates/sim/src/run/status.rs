//! How a run ended.

use crate::result::RunResult;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All requests completed, or failed because data are lost.
    Done,
    /// Verification found a violation, which outweighs all else.
    Violation,
    /// Requests failed for lack of space, or were left unfinished; or the drive that was asked for could not be saved.
    Unserved,
    /// The run was stopped before its end.
    Interrupted,
}

impl Status {
    /// How the run ended of which this is the result. `is_saved` is false if a drive was to be saved at its end and was not.
    pub(super) fn of(result: &RunResult, is_saved: bool) -> Self {
        let is_clean = result.verify.is_none_or(|verify| verify.found.is_clean());
        Self::gravest(is_clean, result.partial, result.requests.failed.no_space + result.requests.unfinished + u64::from(!is_saved))
    }

    fn gravest(is_clean: bool, is_partial: bool, unserved: u64) -> Self {
        match (is_clean, is_partial, unserved) {
            (false, ..) => Self::Violation,
            (_, true, _) => Self::Interrupted,
            (_, _, 1..) => Self::Unserved,
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

#[cfg(test)]
mod tests {
    use super::Status::{self, *};

    #[test]
    fn a_run_ends_as_the_gravest_of_what_happened() {
        let table = [
            ((true, false, 0), Done, 0),
            ((true, false, 1), Unserved, 3),
            ((true, true, 0), Interrupted, 130),
            ((true, true, 7), Interrupted, 130),
            ((false, false, 0), Violation, 1),
            ((false, false, 2), Violation, 1),
            ((false, true, 0), Violation, 1),
            ((false, true, 5), Violation, 1),
        ];
        for ((is_clean, is_partial, unserved), status, code) in table {
            assert_eq!(Status::gravest(is_clean, is_partial, unserved), status, "{is_clean} {is_partial} {unserved}");
            assert_eq!(status.code(), code);
        }
    }
}
