//! What comes before the requests that are measured: the precondition, and the warm-up; and how often the trace is replayed.

use super::ConfigError;
use super::units::decimal;
use crate::time::{self, to_latest};
use std::str::FromStr;

/// Times the space that `precondition = steady` overwrites at most: several times what it takes drives to become steady.
const STEADY_SPACES: f64 = 20.0;

/// What happens between the fill and the first request (`precondition`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Nothing.
    None,
    /// The fill leaves pages where uniform random overwrites would have when GC was steady.
    Direct,
    /// Random overwrites until GC is steady.
    Random {
        /// Upper bound of the pages overwritten, as a multiple of the logical space; above 0.
        most_spaces: f64,
        /// Whether planes may then be taken to other phases of GC (`gc_phases`): only what is steady has phases.
        is_steady: bool,
    },
}

impl FromStr for Precondition {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        if text == "none" {
            return Ok(Self::None);
        }
        if text == "direct" {
            return Ok(Self::Direct);
        }
        if text == "steady" {
            return Ok(Self::Random { most_spaces: STEADY_SPACES, is_steady: true });
        }
        text.strip_prefix("random:")
            .and_then(decimal)
            .filter(|most_spaces| *most_spaces > 0.0)
            .map(|most_spaces| Self::Random { most_spaces, is_steady: false })
            .ok_or_else(|| {
                ConfigError(format!("precondition = {text}: allowed is none, steady, direct, or random:X with a number X above 0"))
            })
    }
}

/// Which part of a run is left out of the statistics (`warmup`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// The first so many requests.
    Requests(u64),
    /// Requests that arrive before this time.
    Ns(u64),
}

impl Warmup {
    /// What is allowed, in words.
    pub(super) const ALLOWED: &str = concat!("a number of requests, or a time as in 2.5s or 100ms ", to_latest!());
}

impl FromStr for Warmup {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let parsed = text.parse().ok().map(Self::Requests).or_else(|| time::parse(text).map(Self::Ns));
        parsed.ok_or_else(|| ConfigError(format!("warmup = {text}: allowed is {}", Self::ALLOWED)))
    }
}

/// When a run ends (`until`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// With the trace.
    End,
    /// When so many SSDs are worn out; the trace is repeated until then.
    Worn(u32),
}

impl FromStr for Until {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        if text == "end" {
            return Ok(Self::End);
        }
        text.strip_prefix("worn:")
            .and_then(|number| number.parse().ok())
            .filter(|number| *number > 0)
            .map(Self::Worn)
            .ok_or_else(|| ConfigError(format!("until = {text}: allowed is end, or worn:N with a whole number N from 1")))
    }
}
