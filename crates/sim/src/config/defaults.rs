//! Tables of which nothing is given.

use super::values::{deserialize, read_table};
use super::{Host, Run, Table};
use serde::de::DeserializeOwned;

/// The defaults of a table whose keys all have one.
fn defaults<T: DeserializeOwned>(table: &Table) -> T {
    read_table(&[], table).and_then(deserialize).expect("every key of the table has a legal default, and is a field")
}

impl Default for Host {
    fn default() -> Self {
        defaults(&Self::TABLE)
    }
}

impl Default for Run {
    fn default() -> Self {
        defaults(&Self::TABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::Given;
    use crate::config::keys;

    #[test]
    fn every_default_is_allowed() {
        for key in keys() {
            if let Some(default) = key.default {
                assert!(key.read(&Given::bare(default)).is_some(), "{}", key.name);
            }
        }
        let (host, run) = (Host::default(), Run::default());
        assert_eq!((host.parity_in_response, run.speed), (true, 1.0));
    }
}
