//! The whole configuration, merged of settings, later ones over earlier, and defaults.

use super::files::{read_json, settings_of};
use super::lookup::check_key;
use super::setting::{Setting, last};
use super::values::{deserialize, read_parameter, read_table};
use super::{Array, Config, ConfigError, Device, Host, Key, Member, Run, SchemeChoice, find_scheme};
use crate::drive::Header;
use crate::presets;
use flashraid_redundancy::Entry;

/// The whole configuration out of `settings` (later ones over earlier) and defaults. `described` is what was to describe the device.
pub(super) fn build(described: &str, settings: &[Setting], entry: &Entry) -> Result<Config, ConfigError> {
    for setting in settings {
        check_key(setting, Some(entry))?;
    }
    refuse_missing(described, settings)?;
    let (device, array) = device_and_array(settings)?;
    Ok(Config {
        // Of an array the check refuses slices.
        device: if array.is_single() { device.sliced()? } else { device.clone() },
        array: array.with_models_of(&device)?,
        whole: device,
        scheme: SchemeChoice {
            name: entry.name.into(),
            parameters: entry.parameters().map(|parameter| read_parameter(settings, parameter)).collect::<Result<_, _>>()?,
        },
        host: deserialize(read_table(settings, &Host::TABLE)?)?,
        run: deserialize(read_table(settings, &Run::TABLE)?)?,
    })
}

/// The whole configuration out of the settings of one source, the scheme's name among them.
pub(super) fn build_alone(source: &str, mut settings: Vec<Setting>) -> Result<Config, ConfigError> {
    let name = last(&settings, SchemeChoice::TABLE.name, "name").map(|setting| setting.given.text.clone()).unwrap_or_default();
    let entry = find_scheme(&name).map_err(|ConfigError(text)| ConfigError(format!("{source}: config: {text}")))?;
    settings.retain(|setting| !(setting.table == SchemeChoice::TABLE.name && setting.key == "name"));
    build(source, &settings, entry)
}

impl Config {
    /// The configuration of a result, complete as one of today: where it lacks a setting, with what the version did that has written it. `file` is what
    /// errors call the text.
    pub fn of_result(file: &str, text: &str) -> Result<Self, ConfigError> {
        build_alone(file, read_json(file, text)?)
    }

    /// The configuration of a drive, out of the header of its file.
    pub(crate) fn of_drive(path: &str, header: &Header) -> Result<Self, ConfigError> {
        build_alone(path, settings_of(path, &header.config, Some(&header.version))?)
    }
}

/// The SSD, and how many of them there are: those of an array are one member each. Models are not looked at.
pub(super) fn device_and_array(settings: &[Setting]) -> Result<(Device, Array), ConfigError> {
    let array: Array = deserialize(read_table(settings, &Array::TABLE)?)?;
    let device: Device = deserialize(read_table(settings, &Device::TABLE)?)?;
    let member = if array.is_single() { device.member } else { Member::Device };
    Ok((Device { member, ..device }, array))
}

/// All keys of the device that are missing are named at once. `described` is the file that was to give them; a preset gives all.
pub(super) fn refuse_missing(described: &str, settings: &[Setting]) -> Result<(), ConfigError> {
    let has = |key: &&Key| last(settings, key.table, key.name).is_some();
    let missing: Vec<_> = Device::TABLE.keys.iter().filter(|key| key.default.is_none() && !has(key)).collect();
    let is_begun = settings.iter().any(|setting| setting.table == Device::TABLE.name);
    let place = if described.is_empty() { String::new() } else { format!("{described}: ") };
    match missing[..] {
        [] => Ok(()),
        _ if !is_begun && described.is_empty() => {
            Err(ConfigError(format!("no device: give a preset ({}) or a TOML file", presets::names())))
        }
        [key] => Err(ConfigError(format!("{place}device.{} is missing; it has no default: {}", key.name, key.about))),
        _ => {
            let names = missing.iter().map(|key| key.name).collect::<Vec<_>>().join(", ");
            let what = if is_begun { "" } else { "no device: " };
            Err(ConfigError(format!("{place}{what}table device lacks {names}, which have no defaults")))
        }
    }
}
