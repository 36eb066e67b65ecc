//! The JSON Schema of a complete configuration, as a result carries it: made of the schema of the settings.

use super::key::MOST;
use super::{Key, Kind, SchemeChoice, Table};
use flashraid_redundancy::{Parameter, SCHEMES, Values};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The schema of a table, all keys of which are there.
pub(super) fn of_table(table: &Table) -> Schema {
    let properties: Map<String, Value> = table.keys.iter().map(|key| (key.name.into(), of_key(key))).collect();
    let required: Vec<_> = table.keys.iter().map(|key| key.name).collect();
    json_schema!({ "type": "object", "description": table.about, "properties": properties, "required": required })
}

fn of_key(key: &Key) -> Value {
    let mut schema = match (key.words(), key.kind) {
        (Some(words), _) => json!({ "type": "string", "enum": words }),
        (None, Kind::Whole { min, max: MOST }) => json!({ "type": "integer", "minimum": min }),
        (None, Kind::Whole { min, max }) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        (None, Kind::PowerOfTwo { min, max }) => {
            let powers: Vec<u64> = (0..63).map(|exponent| 1 << exponent).filter(|power| (min..=max).contains(power)).collect();
            json!({ "type": "integer", "enum": powers })
        }
        (None, Kind::Real { .. }) => json!({ "type": "number" }),
        (None, Kind::Flag) => json!({ "type": "boolean" }),
        (None, Kind::Word(_) | Kind::Text { .. } | Kind::GcPolicy) => json!({ "type": "string" }),
        (None, Kind::Numbers { .. }) => json!({ "type": "array", "items": { "type": "number" } }),
        (None, Kind::List { .. }) => json!({ "type": "array", "items": { "type": "string" } }),
    };
    describe(&mut schema, key.about, key.unit);
    schema
}

fn of_parameter(parameter: &Parameter) -> Value {
    let mut schema = match parameter.values {
        Values::Words(words) => json!({ "type": "string", "enum": words }),
        Values::Percentages { .. } => json!({ "type": "string" }),
        Values::Whole { least, most, .. } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Values::Decimal { least, most, .. } => {
            json!({ "type": "number", "minimum": f64::from(least) / 1000.0, "maximum": f64::from(most) / 1000.0 })
        }
    };
    describe(&mut schema, parameter.about, parameter.unit);
    schema
}

fn describe(schema: &mut Value, about: &str, unit: &str) {
    schema["description"] = about.into();
    if !unit.is_empty() {
        schema["unit"] = unit.into();
    }
}

impl JsonSchema for SchemeChoice {
    fn schema_name() -> Cow<'static, str> {
        "Scheme".into()
    }

    /// All parameters that there are, and for each scheme which of them it has.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut all = of_table(&Self::TABLE);
        let properties = all.get_mut("properties").and_then(Value::as_object_mut).expect("an object");
        for parameter in SCHEMES.iter().flat_map(|entry| entry.parameters()) {
            properties.insert(parameter.name.into(), of_parameter(parameter));
        }
        let of_scheme = |entry: &flashraid_redundancy::Entry| {
            let keys = || std::iter::once("name").chain(entry.parameters().map(|parameter| parameter.name));
            let mut properties: Map<String, Value> = keys().map(|key| (key.into(), json!(true))).collect();
            properties["name"] = json!({ "const": entry.name });
            json!({ "properties": properties, "required": keys().collect::<Vec<_>>(), "additionalProperties": false })
        };
        all.insert("oneOf".into(), SCHEMES.iter().map(of_scheme).collect());
        all
    }
}
