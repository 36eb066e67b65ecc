//! A setting as one source gave it, before it is read.

use super::key::Given;
use super::{Array, Device};

/// A key and its value, each with where it was given ("conf.toml:3:5: ", or empty for overrides).
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) table: String,
    pub(super) key: String,
    pub(super) key_place: String,
    pub(super) given: Given,
    pub(super) place: String,
    pub(super) source: SettingSource,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingSource {
    /// A device, the scheme's own default, or the configuration of a result, which is complete: nobody asked for each of these.
    Background,
    /// A configuration file, which may serve several runs.
    File,
    /// An option or argument.
    Override,
}

impl Setting {
    /// The scheme's default for a setting of the device.
    pub(super) fn of_scheme(key: &str, value: u32) -> Self {
        let given = Given::bare(value.to_string());
        let (table, none) = (Device::TABLE.name.into(), String::new());
        Self { table, key: key.into(), key_place: none.clone(), given, place: none, source: SettingSource::Background }
    }

    /// Whether it is a number of a device, which a device file may have: of the host's settings, the one that the drive itself decides, how many requests it
    /// takes at a time.
    pub(super) fn is_of_device(&self) -> bool {
        match self.table.as_str() {
            "host" => self.key == "device_queue_depth",
            table => [Device::TABLE.name, Array::TABLE.name].contains(&table),
        }
    }
}

/// The setting that counts for a key: the last one.
pub(super) fn last<'a>(settings: &'a [Setting], table: &str, key: &str) -> Option<&'a Setting> {
    settings.iter().rev().find(|setting| setting.table == table && setting.key == key)
}
