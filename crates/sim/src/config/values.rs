//! The values that count among settings: of each key, and of each parameter of a scheme, the one given last, or the default.

use super::files::one_line;
use super::key::Given;
use super::renamed::renamed_word;
use super::setting::{Setting, last};
use super::{ConfigError, Key, SchemeChoice, Table, find_key, units};
use flashraid_redundancy::{Parameter, SCHEMES, Values};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub(super) fn read_table(settings: &[Setting], table: &Table) -> Result<Json, ConfigError> {
    let values = table.keys.iter().map(|key| Ok((key.name.to_string(), read_key(settings, key)?)));
    values.collect::<Result<_, _>>().map(Json::Object)
}

pub(super) fn deserialize<T: DeserializeOwned>(values: Json) -> Result<T, ConfigError> {
    serde_json::from_value(values).map_err(|error| ConfigError(one_line(&error.to_string())))
}

pub(super) fn read_key(settings: &[Setting], key: &Key) -> Result<Json, ConfigError> {
    let (given, place) = match (last(settings, key.table, key.name), key.default) {
        (Some(setting), _) => (setting.given.clone(), setting.place.as_str()),
        (None, Some(default)) => (Given::bare(default), ""),
        (None, None) => return Err(ConfigError(format!("{}.{} is missing", key.table, key.name))),
    };
    key.read(&given).ok_or_else(|| {
        let (name, allowed, renamed) = (key.name, key.allowed_instead(&given), renamed_word(key.name, &given.text));
        ConfigError(format!("{place}{name} = {}: allowed is {allowed}{renamed}", given.shown()))
    })
}

pub(super) fn read_parameter(settings: &[Setting], parameter: &Parameter) -> Result<(String, Json), ConfigError> {
    let Parameter { name, values, .. } = parameter;
    let (given, place) = match last(settings, SchemeChoice::TABLE.name, name) {
        Some(setting) => (setting.given.clone(), setting.place.as_str()),
        None => (Given::bare(values.default_text()), ""),
    };
    let number = units::plain(&given.text, parameter.unit);
    let text = number.as_deref().unwrap_or(&given.text);
    let value = match values {
        _ if given.list || !values.allows(text) => None,
        Values::Words(_) | Values::Percentages { .. } => Some(Json::from(text)),
        _ if given.quoted && number.is_none() => None,
        Values::Whole { .. } => text.parse::<u32>().ok().map(Json::from),
        Values::Decimal { .. } => text.parse::<f64>().ok().map(Json::from),
    };
    let value = value.ok_or_else(|| {
        ConfigError(format!("{place}{name} = {}: allowed is {}{}", given.shown(), values.allowed(), units::also(parameter.unit)))
    })?;
    Ok((name.to_string(), value))
}

/// Whether two texts give a key (`key` or `table.key`) or a parameter the same value; texts that are not allowed are the same if they are equal.
pub fn same_value(key: &str, one: &str, other: &str) -> bool {
    let settings = |text: &str| {
        let mut setting = Setting::of_scheme(key.rsplit('.').next().unwrap_or(key), 0);
        (setting.table, setting.given) = (SchemeChoice::TABLE.name.into(), Given::bare(text));
        [setting]
    };
    let read = |text: &str| match find_key(key) {
        Some(key) => key.read(&Given::bare(text)),
        None => {
            let mut parameters = SCHEMES.iter().flat_map(|entry| entry.parameters());
            let parameter = parameters.find(|parameter| parameter.name == settings(text)[0].key)?;
            read_parameter(&settings(text), parameter).ok().map(|(_, value)| value)
        }
    };
    one == other || read(one).is_some_and(|value| Some(value) == read(other))
}
