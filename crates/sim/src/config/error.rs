//! What is wrong with a setting, as users read it.

use std::fmt;

/// A setting that cannot be used. The text names the file or key, what is wrong, and what is allowed; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The error that says this.
pub(super) fn refuse<T>(text: String) -> Result<T, ConfigError> {
    Err(ConfigError(text))
}
