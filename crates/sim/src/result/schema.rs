//! The JSON Schema of the result.

use super::types::RunResult;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of the result of a run. Beside the standard keywords, `unit` names the unit of numbers: that of a
/// member, or of everything in an object.
pub fn schema() -> Value {
    schema_of::<RunResult>()
}

/// The JSON Schema of what is serialized as `T`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(Closed);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Refuses members that the schema does not name.
#[derive(Clone, Debug)]
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".into(), false.into());
        }
        transform_subschemas(self, schema);
    }
}
