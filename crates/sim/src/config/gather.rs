//! Gathers settings from their sources, later ones over earlier, and checks each against its key.

use super::key::Given;
use super::{Config, ConfigError, Device, Host, Key, Run, SchemeChoice, TABLES, Table, nearest};
use crate::presets;
use flashraid_redundancy::{Entry, Parameter, SCHEMES, Values};
use flashraid_workload::system_text;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A key and its value, each with where it was given ("conf.toml, line 3, column 5: ", or empty for overrides).
#[derive(Clone, Debug)]
struct Setting {
    table: String,
    key: String,
    key_place: String,
    given: Given,
    place: String,
}

/// What a file may give a key.
const ALLOWED: &str = "allowed is a text, a number, true or false, or a list of texts";

/// The device's setting of which a scheme has its own default.
const MIRROR_CHIPS: &str = "mirror_chips";

impl Setting {
    /// The scheme's default for a setting of the device.
    fn of_scheme(key: &str, value: u32) -> Self {
        let given = Given::bare(value.to_string());
        Self { table: Device::TABLE.name.into(), key: key.into(), key_place: String::new(), given, place: String::new() }
    }
}

impl Config {
    /// Gathers settings, later ones over earlier: the device (preset name or TOML file), the configuration file (TOML, or a
    /// result's JSON), the scheme's name, then `overrides` (`key` or `table.key`, and its value as text).
    ///
    /// Parameters in a file's `scheme` table, and mirror chips, belong to the scheme that the file names: another `scheme` brings its own.
    pub fn assemble(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let device_settings = device.map(device_settings).transpose()?.unwrap_or_default();
        let mut file_settings = file.map(read_file).transpose()?.unwrap_or_default();
        refuse_two_devices(&device_settings, &file_settings)?;

        let overridden = overrides.iter().rev().find(|(key, _)| key == "scheme.name").map(|(_, name)| name.as_str());
        let in_file = file_settings.iter().find(|setting| setting.table == "scheme" && setting.key == "name").cloned();
        let (place, name) = match (overridden.or(scheme), &in_file) {
            (Some(name), _) => ("", name),
            (None, Some(setting)) => (setting.place.as_str(), setting.given.text.as_str()),
            (None, None) => return Err(ConfigError(format!("no scheme: give one of {}", scheme_names()))),
        };
        let entry = find_scheme(name).map_err(|ConfigError(text)| ConfigError(format!("{place}{text}")))?;
        if in_file.is_some_and(|setting| setting.given.text != entry.name) {
            file_settings.retain(|setting| setting.table != "scheme" && setting.key != MIRROR_CHIPS);
        }

        // The fill has two forms: the one given now replaces the other one of the file.
        let is_given = |name: &str| overrides.iter().any(|(key, _)| key == name || key.strip_prefix("run.") == Some(name));
        for (form, other) in [("fill", "fill_bytes"), ("fill_bytes", "fill")] {
            if is_given(form) && !is_given(other) {
                file_settings.retain(|setting| !(setting.table == "run" && setting.key == other));
            }
        }

        let mut settings = device_settings;
        settings.extend(file_settings);
        if settings.iter().any(|setting| setting.table == Device::TABLE.name) {
            settings.insert(0, Setting::of_scheme(MIRROR_CHIPS, entry.mirror_chips));
        }
        for (key, value) in overrides {
            settings.push(resolve_override(key, value, entry)?);
        }
        settings.retain(|setting| !(setting.table == "scheme" && setting.key == "name"));
        let config = build(&settings, entry)?;
        config.check()?;
        Ok(config)
    }
}

impl Device {
    /// A preset, or the device that a TOML file describes.
    pub fn load(device: &str) -> Result<Self, ConfigError> {
        let settings = device_settings(device)?;
        for setting in &settings {
            check_key(setting, None)?;
        }
        let device: Self = deserialize(read_table(&settings, &Self::TABLE)?)?;
        device.check()?;
        Ok(device)
    }
}

/// The scheme called `name`, or an error that names the nearest and all.
pub(crate) fn find_scheme(name: &str) -> Result<&'static Entry, ConfigError> {
    flashraid_redundancy::find(name).ok_or_else(|| {
        let near = nearest(name, SCHEMES.iter().map(|entry| entry.name));
        ConfigError(format!("unknown scheme {name}; the nearest is {near}; there are {}", scheme_names()))
    })
}

fn scheme_names() -> String {
    SCHEMES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// The defaults of a table whose keys all have one.
pub(super) fn defaults<T: DeserializeOwned>(table: &Table) -> T {
    let values = table.keys.iter().map(|key| {
        let default = key.default.expect("every key of this table has a default");
        (key.name.to_string(), key.kind.read(&Given::bare(default)).expect("a default is among the allowed values"))
    });
    serde_json::from_value(Json::Object(values.collect())).expect("the table's keys are its fields")
}

/// Settings of a preset or of a device file, which has the form of a configuration file with a `device` table alone.
fn device_settings(device: &str) -> Result<Vec<Setting>, ConfigError> {
    let settings = if device.ends_with(".toml") || device.contains(std::path::MAIN_SEPARATOR) {
        read_file(Path::new(device))?
    } else {
        let preset = presets::find(device)?;
        read_toml(&format!("devices/{}.toml", preset.name), preset.text)?
    };
    match settings.iter().find(|setting| setting.table != "device") {
        Some(other) => Err(ConfigError(format!("{}a device file has the table device only, not {}", other.place, other.table))),
        None => Ok(settings),
    }
}

/// A file that describes a whole device of its own would silently win over the device asked for.
fn refuse_two_devices(asked: &[Setting], file: &[Setting]) -> Result<(), ConfigError> {
    let value = |settings: &[Setting], key: &str| {
        let found = settings.iter().find(|setting| setting.table == "device" && setting.key == key);
        found.map(|setting| (setting.given.text.clone(), setting.place.clone()))
    };
    let complete = Device::TABLE.keys.iter().filter(|key| key.default.is_none()).all(|key| value(file, key.name).is_some());
    if let (Some((asked, _)), Some((own, place))) = (value(asked, "name"), value(file, "name"))
        && complete
        && asked != own
    {
        let why = format!("the file describes the whole device {own}, but device {asked} is asked for: give one of them");
        return Err(ConfigError(place + &why));
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<Setting>, ConfigError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError(format!("{file}: cannot be read: {}", system_text(&error))))?;
    if text.trim_start().starts_with('{') { read_json(&file, &text) } else { read_toml(&file, &text) }
}

fn read_toml(file: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let place = |offset: usize| {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        format!("{file}, line {line}, column {column}: ")
    };
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(format!("{file}: "), |span| place(span.start));
        ConfigError(format!("{place}{}", one_line(error.message())))
    })?;
    let mut settings = Vec::new();
    for (table, content) in document.get_ref() {
        let DeValue::Table(keys) = content.get_ref() else {
            return Err(outside_tables(&place(table.span().start), table.get_ref()));
        };
        let table_place = place(table.span().start);
        check_table(table.get_ref()).map_err(|ConfigError(text)| ConfigError(format!("{table_place}{text}")))?;
        for (key, value) in keys {
            let (key, key_place, place) = (key.get_ref().to_string(), place(key.span().start), place(value.span().start));
            let given = match value.get_ref() {
                DeValue::String(text) => Some(Given::quoted(text.to_string())),
                DeValue::Integer(n) => i128::from_str_radix(n.as_str(), n.radix()).ok().map(|n| Given::bare(n.to_string())),
                DeValue::Float(number) => Some(Given::bare(number.as_str())),
                DeValue::Boolean(flag) => Some(Given::bare(flag.to_string())),
                DeValue::Array(entries) => {
                    let entries: Option<Vec<_>> = entries.iter().map(|entry| entry.get_ref().as_str().map(String::from)).collect();
                    entries.map(|entries| Given::list(&entries))
                }
                DeValue::Datetime(_) | DeValue::Table(_) => None,
            };
            let given = given.ok_or_else(|| ConfigError(format!("{place}{key}: {ALLOWED}")))?;
            settings.push(Setting { table: table.get_ref().to_string(), key, key_place, given, place });
        }
    }
    Ok(settings)
}

/// The settings in the `config` object of a result.
fn read_json(file: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let document: Json = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        ConfigError(format!("{file}, line {}, column {}: {message}", error.line(), error.column()))
    })?;
    let place = format!("{file}: config: ");
    let Some(Json::Object(tables)) = document.get("config") else {
        return Err(ConfigError(format!("{file}: a JSON file must be a result, with an object config")));
    };
    let mut settings = Vec::new();
    for (table, content) in tables {
        let Json::Object(keys) = content else {
            return Err(outside_tables(&place, table));
        };
        check_table(table).map_err(|ConfigError(text)| ConfigError(format!("{place}{text}")))?;
        for (key, value) in keys {
            let given = match value {
                Json::String(text) => Some(Given::quoted(text.clone())),
                Json::Number(_) | Json::Bool(_) => Some(Given::bare(value.to_string())),
                Json::Array(entries) => {
                    let entries: Option<Vec<_>> = entries.iter().map(|entry| entry.as_str().map(String::from)).collect();
                    entries.map(|entries| Given::list(&entries))
                }
                Json::Null | Json::Object(_) => None,
            };
            let given = given.ok_or_else(|| ConfigError(format!("{place}{key}: {ALLOWED}")))?;
            settings.push(Setting { table: table.clone(), key: key.clone(), key_place: place.clone(), given, place: place.clone() });
        }
    }
    Ok(settings)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn table_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

fn check_table(name: &str) -> Result<(), ConfigError> {
    if table_names().any(|known| known == name) {
        return Ok(());
    }
    let all = table_names().collect::<Vec<_>>().join(", ");
    Err(ConfigError(format!("unknown table {name}; the nearest is {}; there are {all}", nearest(name, table_names()))))
}

fn outside_tables(place: &str, key: &str) -> ConfigError {
    let tables: Vec<_> = TABLES.iter().filter(|table| table.keys.iter().any(|known| known.name == key)).map(|table| table.name).collect();
    match tables.as_slice() {
        [] => ConfigError(format!("{place}{key} stands outside a table; the tables are {}", table_names().collect::<Vec<_>>().join(", "))),
        tables => ConfigError(format!("{place}{key} stands outside a table; put it under [{}]", tables.join("] or ["))),
    }
}

/// Finds the table of a bare key, and checks that of a full one.
fn resolve_override(path: &str, value: &str, entry: &Entry) -> Result<Setting, ConfigError> {
    let setting = |table: &str, key: &str| Setting {
        table: table.into(),
        key: key.into(),
        key_place: String::new(),
        given: Given::bare(value),
        place: String::new(),
    };
    if let Some((table, key)) = path.split_once('.') {
        check_table(table).map_err(|ConfigError(text)| ConfigError(format!("{path}: {text}")))?;
        return Ok(setting(table, key));
    }
    if path == "name" {
        return Err(ConfigError("name is ambiguous: allowed are device.name and scheme.name".into()));
    }
    let table = TABLES.iter().find(|table| table.keys.iter().any(|key| key.name == path));
    match table {
        Some(table) => Ok(setting(table.name, path)),
        None if entry.parameters.iter().any(|parameter| parameter.name == path) => Ok(setting("scheme", path)),
        None => Err(unknown_key(path, Some(entry))),
    }
}

/// Why `key` is none: a parameter of another scheme, or a misspelling.
fn unknown_key(key: &str, entry: Option<&Entry>) -> ConfigError {
    let own = entry.map_or(&[][..], |entry| entry.parameters);
    let others: Vec<_> =
        SCHEMES.iter().filter(|other| other.parameters.iter().any(|parameter| parameter.name == key)).map(|other| other.name).collect();
    if let (Some(entry), false) = (entry, others.is_empty()) {
        let own = if own.is_empty() { "none".into() } else { own.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ") };
        return ConfigError(format!("{key} is a parameter of {}, not of {}, whose parameters are: {own}", others.join(", "), entry.name));
    }
    let keys = TABLES.iter().flat_map(|table| table.keys).map(|key| (key.name, key.table));
    let known: Vec<_> = keys.chain(own.iter().map(|parameter| (parameter.name, SchemeChoice::TABLE.name))).collect();
    let near = nearest(key, known.iter().map(|(name, _)| *name));
    let table = known.iter().find(|(name, _)| *name == near).map_or("", |(_, table)| table);
    ConfigError(format!("unknown key {key}; the nearest is {near} in table {table}"))
}

/// The whole configuration out of `settings` (later ones over earlier) and defaults.
fn build(settings: &[Setting], entry: &Entry) -> Result<Config, ConfigError> {
    for setting in settings {
        check_key(setting, Some(entry))?;
    }
    Ok(Config {
        device: deserialize(read_table(settings, &Device::TABLE)?)?,
        scheme: SchemeChoice {
            name: entry.name.into(),
            parameters: entry.parameters.iter().map(|parameter| read_parameter(settings, parameter)).collect::<Result<_, _>>()?,
        },
        host: deserialize(read_table(settings, &Host::TABLE)?)?,
        run: deserialize(read_table(settings, &Run::TABLE)?)?,
    })
}

fn read_table(settings: &[Setting], table: &Table) -> Result<Json, ConfigError> {
    let values = table.keys.iter().map(|key| Ok((key.name.to_string(), read_key(settings, key)?)));
    values.collect::<Result<_, _>>().map(Json::Object)
}

fn deserialize<T: DeserializeOwned>(values: Json) -> Result<T, ConfigError> {
    serde_json::from_value(values).map_err(|error| ConfigError(one_line(&error.to_string())))
}

/// Whether the table has the key, or the scheme the parameter.
fn check_key(setting: &Setting, entry: Option<&Entry>) -> Result<(), ConfigError> {
    let Setting { table, key, key_place, .. } = setting;
    let has = |at: &Table| at.keys.iter().any(|known| known.name == key);
    let parameters = entry.map_or(&[][..], |entry| entry.parameters);
    let parameter = table == SchemeChoice::TABLE.name && parameters.iter().any(|parameter| parameter.name == key);
    if parameter || TABLES.iter().any(|at| at.name == table && has(at)) {
        return Ok(());
    }
    let is_own = |at: &Table| at.name == SchemeChoice::TABLE.name && parameters.iter().any(|own| own.name == key);
    match TABLES.iter().find(|at| has(at) || is_own(at)) {
        Some(right) => Err(ConfigError(format!("{key_place}{table}.{key}: {key} belongs to table {}", right.name))),
        None => Err(ConfigError(format!("{key_place}{}", unknown_key(key, entry)))),
    }
}

/// The setting that counts for a key: the last one.
fn last<'a>(settings: &'a [Setting], table: &str, key: &str) -> Option<&'a Setting> {
    settings.iter().rev().find(|setting| setting.table == table && setting.key == key)
}

fn read_key(settings: &[Setting], key: &Key) -> Result<Json, ConfigError> {
    let (given, place) = match (last(settings, key.table, key.name), key.default) {
        (Some(setting), _) => (setting.given.clone(), setting.place.as_str()),
        (None, Some(default)) => (Given::bare(default), ""),
        (None, None) => return Err(missing(settings, key)),
    };
    key.kind.read(&given).ok_or_else(|| ConfigError(format!("{place}{} = {}: allowed is {}", key.name, given.shown(), key.kind.allowed())))
}

fn missing(settings: &[Setting], key: &Key) -> ConfigError {
    if settings.iter().any(|setting| setting.table == key.table) {
        return ConfigError(format!("{}.{} is missing; it has no default: {}", key.table, key.name, key.about));
    }
    ConfigError(format!("no device: give a preset ({}) or a TOML file", presets::names()))
}

fn read_parameter(settings: &[Setting], parameter: &Parameter) -> Result<(String, Json), ConfigError> {
    let Parameter { name, values, .. } = parameter;
    let (given, place) = match last(settings, SchemeChoice::TABLE.name, name) {
        Some(setting) => (setting.given.clone(), setting.place.as_str()),
        None => (Given::bare(values.default_text()), ""),
    };
    let text = given.text.as_str();
    let value = match values {
        _ if given.list || !values.allows(text) => None,
        Values::Words(_) => Some(Json::from(text)),
        _ if given.quoted => None,
        Values::Whole { .. } => text.parse::<u32>().ok().map(Json::from),
        Values::Decimal { .. } => text.parse::<f64>().ok().map(Json::from),
    };
    let value = value.ok_or_else(|| ConfigError(format!("{place}{name} = {}: allowed is {}", given.shown(), values.allowed())))?;
    Ok((name.to_string(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_allowed() {
        for key in TABLES.iter().flat_map(|table| table.keys) {
            if let Some(default) = key.default {
                assert!(key.kind.read(&Given::bare(default)).is_some(), "{}", key.name);
            }
        }
        let (host, run) = (Host::default(), Run::default());
        assert_eq!((host.parity_in_response, run.speed), (true, 1.0));
    }
}
