//! What is wrong with a profile.

use std::fmt::Display;

/// A profile that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The file does not follow the schema.
    #[error("{place}{what}")]
    Schema {
        /// File, line and column.
        place: String,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// A value that is not allowed.
    #[error("{key} = {value}: allowed is {allowed}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The file cannot be read.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// There is no such profile.
    #[error("unknown profile {name}{nearest}; there are {known} (or give a TOML file)")]
    Unknown {
        /// The name.
        name: String,
        /// `; the nearest is NAME`, if one is near.
        nearest: String,
        /// All.
        known: String,
    },
}

impl ProfileError {
    pub(super) fn value(key: &str, value: impl Display, allowed: String) -> Self {
        Self::Value { key: key.to_owned(), value: value.to_string(), allowed }
    }
}

/// An error unless the value is as it must be.
pub(super) fn check(holds: bool, key: &str, value: impl Display, allowed: &str) -> Result<(), ProfileError> {
    if holds { Ok(()) } else { Err(ProfileError::value(key, value, allowed.to_owned())) }
}
