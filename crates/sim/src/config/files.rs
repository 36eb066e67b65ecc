//! Settings out of files: a device or a configuration in TOML, or the JSON of a result.

use super::ConfigError;
use super::key::Given;
use super::lookup::{check_table, outside_tables};
use super::older;
use super::setting::{Setting, SettingSource};
use super::sheet::{self, Sheet};
use crate::presets;
use flashraid_workload::{document, system_text};
use serde_json::Value as Json;
use std::path::Path;
use toml::de::DeValue;

/// What a file may give a key.
const ALLOWED: &str = "allowed is a text, a number, true or false, or a list of texts or numbers";

/// What a file says: settings, and the sheet of the device that it describes.
type Read = (Vec<Setting>, Option<Sheet>);

/// Settings of a preset or of a device file, which has the form of a configuration file with a `device` table, and perhaps `array` and `sheet`.
pub(super) fn device_settings(device: &str) -> Result<Vec<Setting>, ConfigError> {
    let (mut settings, _) = read_device(device)?;
    settings.iter_mut().for_each(|setting| setting.source = SettingSource::Background);
    match settings.iter().find(|setting| !setting.is_of_device()) {
        Some(Setting { table, key, place, .. }) => {
            let what = if table == "host" { format!("host.{key}") } else { table.clone() };
            let only = "a device file contains only the tables device, array and sheet, and host.device_queue_depth";
            Err(ConfigError(format!("{place}{only}, not {what}")))
        }
        None => Ok(settings),
    }
}

impl Sheet {
    /// The sheet of a preset, or in a TOML file, if there is one.
    pub fn load(device: &str) -> Result<Option<Self>, ConfigError> {
        read_device(device).map(|(_, sheet)| sheet)
    }
}

fn read_device(device: &str) -> Result<Read, ConfigError> {
    if device.ends_with(".toml") || device.contains(std::path::MAIN_SEPARATOR) {
        return read(Path::new(device));
    }
    let preset = presets::find(device)?;
    read_toml(&format!("devices/{}.toml", preset.name), preset.text)
}

pub(super) fn read_file(path: &Path) -> Result<Vec<Setting>, ConfigError> {
    read(path).map(|(settings, _)| settings)
}

fn read(path: &Path) -> Result<Read, ConfigError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError(format!("{file}: cannot be read: {}", system_text(&error))))?;
    if text.trim_start().starts_with('{') { Ok((read_json(&file, &text)?, None)) } else { read_toml(&file, &text) }
}

fn read_toml(file: &str, text: &str) -> Result<Read, ConfigError> {
    let place = |offset: usize| document::place(file, text, offset);
    let document = document::tables(file, text).map_err(ConfigError)?;
    let (mut settings, mut sheet) = (Vec::new(), None);
    for (table, content) in document.get_ref() {
        let DeValue::Table(keys) = content.get_ref() else {
            let (place, name) = (place(table.span().start), table.get_ref());
            let is_table = name == sheet::TABLE || check_table(name).is_ok();
            return Err(if is_table {
                ConfigError(format!("{place}{name}: allowed is one table, [{name}]"))
            } else {
                outside_tables(&place, name)
            });
        };
        if table.get_ref() == sheet::TABLE {
            sheet = Some(Sheet::of(keys, &place(table.span().start), place)?);
            continue;
        }
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
                    let text = |entry: &DeValue<'_>| match entry {
                        DeValue::String(text) => Some(text.to_string()),
                        DeValue::Integer(n) => Some(n.as_str().into()),
                        DeValue::Float(number) => Some(number.as_str().into()),
                        _ => None,
                    };
                    let entries: Option<Vec<_>> = entries.iter().map(|entry| text(entry.get_ref())).collect();
                    entries.map(|entries| Given::list(&entries))
                }
                DeValue::Datetime(_) | DeValue::Table(_) => None,
            };
            let given = given.ok_or_else(|| ConfigError(format!("{place}{key}: {ALLOWED}")))?;
            settings.push(Setting { table: table.get_ref().to_string(), key, key_place, given, place, source: SettingSource::File });
        }
    }
    Ok((settings, sheet))
}

/// The settings in the `config` object of a result, the text of which `file` has.
pub(super) fn read_json(file: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let document: Json = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        ConfigError(format!("{file}:{}:{}: {message}", error.line(), error.column()))
    })?;
    match document.get("config") {
        Some(config @ Json::Object(_)) => settings_of(file, config, document.get("version").and_then(Json::as_str)),
        _ => Err(ConfigError(format!("{file}: a JSON file must be a result, with an object config"))),
    }
}

/// The settings in the configuration of a result or of a drive, which `version` has written: where they lack one, what that version did.
pub(super) fn settings_of(file: &str, config: &Json, version: Option<&str>) -> Result<Vec<Setting>, ConfigError> {
    let place = &format!("{file}: config: ");
    let tables = config.as_object().ok_or_else(|| ConfigError(format!("{place}allowed is an object")))?;
    let mut settings = Vec::new();
    for (table, content) in tables {
        let Json::Object(keys) = content else {
            return Err(outside_tables(place, table));
        };
        check_table(table).map_err(|ConfigError(text)| ConfigError(format!("{place}{text}")))?;
        for (key, value) in keys {
            let given = match value {
                Json::String(text) => Some(Given::quoted(text.clone())),
                Json::Number(_) | Json::Bool(_) => Some(Given::bare(value.to_string())),
                Json::Array(entries) => {
                    let text = |entry: &Json| entry.as_str().map(String::from).or_else(|| entry.as_number().map(ToString::to_string));
                    let entries: Option<Vec<_>> = entries.iter().map(text).collect();
                    entries.map(|entries| Given::list(&entries))
                }
                Json::Null | Json::Object(_) => None,
            };
            let given = given.ok_or_else(|| ConfigError(format!("{place}{key}: {ALLOWED}")))?;
            settings.push(Setting {
                table: table.clone(),
                key: key.clone(),
                key_place: place.into(),
                given,
                place: place.into(),
                source: SettingSource::Background,
            });
        }
    }
    older::complete(&mut settings, version);
    Ok(settings)
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
