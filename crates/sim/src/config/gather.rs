//! Gathers settings from their sources, later ones over earlier, and checks each against its key.

use super::files::{device_settings, read_file};
use super::from_drive::FromDrive;
use super::lookup::{check_key, resolve_override};
use super::merge::{build, device_and_array, refuse_missing};
use super::schemes::scheme_names;
use super::setting::{Setting, SettingSource, last};
use super::values::{deserialize, read_table};
use super::{Array, Config, ConfigError, Device, Host, find_scheme};
use flashraid_redundancy::Entry;
use std::path::Path;

/// The device's setting of which a scheme has its own default.
const MIRROR_CHIPS: &str = "mirror_chips";

impl Config {
    /// Gathers settings, later ones over earlier: those of a drive, if one is named; the device (preset name or TOML file), the configuration file (TOML, or a
    /// result's JSON), the scheme's name, then `overrides` (`key` or `table.key`, and its value as text).
    ///
    /// Parameters in a file's `scheme` table, and mirror chips, belong to the scheme that the file names: another `scheme` brings its own.
    pub fn assemble(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        gather(device, scheme, file, overrides).map(|(config, ..)| config)
    }
}

/// `Config::assemble`, with the settings gathered and the scheme.
pub(super) fn gather(
    device: Option<&str>,
    scheme: Option<&str>,
    file: Option<&Path>,
    overrides: &[(String, String)],
) -> Result<(Config, Vec<Setting>, &'static Entry), ConfigError> {
    let device_settings = device.map(device_settings).transpose()?.unwrap_or_default();
    let mut file_settings = file.map(read_file).transpose()?.unwrap_or_default();
    let drive = FromDrive::of(&file_settings, overrides)?;
    refuse_two_devices(&device_settings, &file_settings)?;
    if describes_device(&file_settings) {
        // They are the numbers of that device, as in a file of its own, and not wishes.
        let of_device = file_settings.iter_mut().filter(|setting| setting.is_of_device());
        of_device.for_each(|setting| setting.source = SettingSource::Background);
    }

    let overridden = overrides.iter().rev().find(|(key, _)| key == "scheme.name").map(|(_, name)| name.as_str());
    let in_file = file_settings.iter().find(|setting| setting.table == "scheme" && setting.key == "name").cloned();
    let (place, name) = match (overridden.or(scheme), &in_file) {
        (Some(name), _) => ("", name),
        (None, Some(setting)) => (setting.place.as_str(), setting.given.text.as_str()),
        (None, None) => match &drive {
            Some(drive) => ("", drive.scheme()),
            None => return Err(ConfigError(format!("no scheme: give one of {}", scheme_names()))),
        },
    };
    let entry = find_scheme(name).map_err(|ConfigError(text)| ConfigError(format!("{place}{text}")))?;
    if let Some(drive) = &drive {
        drive.refuse_scheme(place, entry.name)?;
    }
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

    let mut settings = drive.as_ref().map_or(Vec::new(), |drive| drive.settings.clone());
    settings.extend(device_settings);
    settings.extend(file_settings);
    if settings.iter().any(|setting| setting.table == Device::TABLE.name) {
        settings.insert(0, Setting::of_scheme(MIRROR_CHIPS, entry.mirror_chips));
    }
    for (key, value) in overrides {
        settings.push(resolve_override(key, value, entry)?);
    }
    settings.retain(|setting| !(setting.table == "scheme" && setting.key == "name"));
    let described = device.or(file.and_then(Path::to_str)).unwrap_or_default();
    let mut config = build(described, &settings, entry)?;
    if let Some(drive) = drive {
        drive.put_into(&mut config, &settings)?;
    }
    config.check()?;
    Ok((config, settings, entry))
}

impl Device {
    /// A preset, or the device that a TOML file describes, all of it: of an array, one of its SSDs.
    pub fn load(device: &str) -> Result<Self, ConfigError> {
        let (device, _) = device_and_array(&load(device)?)?;
        device.sliced()?.check()?;
        Ok(device)
    }
}

impl Array {
    /// The array of a preset, or of a TOML file; a single SSD if it describes none.
    pub fn load(device: &str) -> Result<Self, ConfigError> {
        let (device, array) = device_and_array(&load(device)?)?;
        array.with_models_of(&device)
    }
}

impl Host {
    /// The host's settings with what the file of a preset or of another device says of them: how many requests it takes at a time.
    pub fn load(device: &str) -> Result<Self, ConfigError> {
        deserialize(read_table(&load(device)?, &Self::TABLE)?)
    }
}

/// The settings of a preset, or of a TOML file, which lacks none.
fn load(device: &str) -> Result<Vec<Setting>, ConfigError> {
    let settings = device_settings(device)?;
    for setting in &settings {
        check_key(setting, None)?;
    }
    refuse_missing(device, &settings)?;
    Ok(settings)
}

/// Whether the settings describe a whole device.
fn describes_device(settings: &[Setting]) -> bool {
    let table = &Device::TABLE;
    table.keys.iter().filter(|key| key.default.is_none()).all(|key| last(settings, table.name, key.name).is_some())
}

/// A file that describes a whole device of its own would silently win over the device asked for.
fn refuse_two_devices(asked: &[Setting], file: &[Setting]) -> Result<(), ConfigError> {
    let value = |settings: &[Setting], key: &str| {
        let found = settings.iter().find(|setting| setting.table == "device" && setting.key == key);
        found.map(|setting| (setting.given.text.clone(), setting.place.clone()))
    };
    if let (Some((asked, _)), Some((own, place))) = (value(asked, "name"), value(file, "name"))
        && describes_device(file)
        && asked != own
    {
        let why = format!("the file describes the whole device {own}, but device {asked} was also given: give only one of them");
        return Err(ConfigError(place + &why));
    }
    Ok(())
}
