//! What of a configuration decides what a drive is before its first request.

use super::{Config, keys};
use serde_json::Value as Json;

impl Config {
    /// The configuration without what only concerns requests and what becomes of them, and without where the drive comes from: table by table, as in a result.
    pub fn identity(&self) -> Json {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        let is_random = self.run.precondition != "none";
        let of_runs = |key: &str| matches!(key, "drive" | "fail" | "replace") || key == "seed" && !is_random;
        for key in keys().filter(|key| key.effect.of_replays || of_runs(key.name)) {
            if let Some(table) = json.get_mut(key.table).and_then(Json::as_object_mut) {
                table.remove(key.name);
            }
        }
        json
    }
}
