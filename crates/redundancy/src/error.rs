//! Why a scheme cannot be built.

use std::fmt;

/// A configuration that makes no sense for a scheme; the text says what and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(pub String);

impl fmt::Display for ParameterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ParameterError {}
