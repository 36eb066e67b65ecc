//! Tables of which nothing is given.

use super::key::Given;
use super::{Host, Run, Table};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// The defaults of a table whose keys all have one.
fn defaults<T: DeserializeOwned>(table: &Table) -> T {
    let values = table.keys.iter().map(|key| {
        let default = key.default.expect("every key of this table has a default");
        (key.name.to_string(), key.read(&Given::bare(default)).expect("a default is among the allowed values"))
    });
    serde_json::from_value(Json::Object(values.collect())).expect("the table's keys are its fields")
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
    use crate::config::TABLES;

    #[test]
    fn every_default_is_allowed() {
        for key in TABLES.iter().flat_map(|table| table.keys) {
            if let Some(default) = key.default {
                assert!(key.read(&Given::bare(default)).is_some(), "{}", key.name);
            }
        }
        let (host, run) = (Host::default(), Run::default());
        assert_eq!((host.parity_in_response, run.speed), (true, 1.0));
    }
}
