//! The error that figures of a run contradict each other.

use std::fmt;

/// Counts or times that must agree do not: a defect of the program, never of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistent(pub String);

impl fmt::Display for Inconsistent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the figures of this run contradict each other ({}): please report it", self.0)
    }
}

impl std::error::Error for Inconsistent {}
