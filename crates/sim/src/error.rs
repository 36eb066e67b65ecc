//! Errors of a run, or of a simulation that is driven step by step.

use crate::config::ConfigError;
use crate::engine::Halted;
use crate::result::Inconsistent;
use flashraid_workload::{TraceError, system_text};
use std::fmt;
use std::io;

/// Why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// A setting cannot be used.
    Config(ConfigError),
    /// The trace cannot be read or does not fit.
    Trace(TraceError),
    /// A request that the device cannot serve.
    Request(String),
    /// An output cannot be written.
    Output {
        /// The option that asked for it.
        option: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The simulation cannot continue.
    Halted(Halted),
    /// A defect of flashraid: counts contradict each other.
    Inconsistent(Inconsistent),
}

impl RunError {
    /// Whether the trace has to be sorted before it can be replayed.
    pub(crate) fn is_late(&self) -> bool {
        matches!(self, Self::Trace(error) if error.is_late())
    }

    /// Whether the user's input caused the error (exit status 2), not a defect of flashraid (70).
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Trace(_) | Self::Request(_) | Self::Output { .. } | Self::Halted(Halted::TooLate))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(formatter),
            Self::Trace(error) => error.fmt(formatter),
            Self::Request(text) => formatter.write_str(text),
            Self::Output { option, source } => write!(formatter, "{option} cannot be written: {}", system_text(source)),
            Self::Halted(error) => error.fmt(formatter),
            Self::Inconsistent(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RunError {}

macro_rules! from {
    ($($error:ident => $variant:ident),+) => {
        $(impl From<$error> for RunError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}
from!(ConfigError => Config, TraceError => Trace, Halted => Halted, Inconsistent => Inconsistent);
