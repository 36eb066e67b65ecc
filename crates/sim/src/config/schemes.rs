//! Schemes by their names.

use super::ConfigError;
use flashraid_redundancy::{Entry, SCHEMES};
use flashraid_vocabulary::names::nearest;

/// The scheme called `name`, or an error that names one that is near, and all.
pub fn find_scheme(name: &str) -> Result<&'static Entry, ConfigError> {
    flashraid_redundancy::find(name).ok_or_else(|| {
        let near = nearest(name, SCHEMES.iter().map(|entry| entry.name));
        let shown = if name.is_empty() { "without a name" } else { name };
        ConfigError(format!("unknown scheme {shown}{near}; there are {}", scheme_names()))
    })
}

pub(super) fn scheme_names() -> String {
    SCHEMES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}
