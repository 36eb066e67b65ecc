//! The settings of a drive: what made it, which a run that begins with it may repeat, and not change.

use super::files::settings_of;
use super::setting::{Setting, last};
use super::{Config, ConfigError, Run, TABLES};
use crate::drive::{Header, refuse_another, split_name};
use serde_json::Value as Json;

/// A drive that was asked for.
pub(super) struct FromDrive {
    path: String,
    sha256: String,
    /// What made it.
    config: Config,
    /// The same as settings.
    pub(super) settings: Vec<Setting>,
}

impl FromDrive {
    /// The drive that the latest of these settings names, if one does.
    pub(super) fn of(file: &[Setting], overrides: &[(String, String)]) -> Result<Option<Self>, ConfigError> {
        let overridden = overrides.iter().rev().find(|(key, _)| key == "drive" || key == "run.drive").map(|(_, name)| name.as_str());
        let in_file = last(file, Run::TABLE.name, "drive").map(|setting| setting.given.text.as_str());
        match overridden.or(in_file) {
            None | Some("") => Ok(None),
            Some(name) => Self::read(name).map(Some),
        }
    }

    fn read(name: &str) -> Result<Self, ConfigError> {
        let (path, expected) = split_name(name);
        let (header, sha256) = Header::read(path)?;
        refuse_another(path, expected, &sha256)?;
        let (settings, config) = (settings_in(path, &header)?, Config::of_drive(path, &header)?);
        Ok(Self { path: path.into(), sha256, config, settings })
    }

    /// The drive's scheme.
    pub(super) fn scheme(&self) -> &str {
        &self.config.scheme.name
    }

    /// The error that another scheme was asked for.
    pub(super) fn refuse_scheme(&self, place: &str, name: &str) -> Result<(), ConfigError> {
        let (path, own) = (&self.path, self.scheme());
        if name == own {
            Ok(())
        } else {
            Err(ConfigError(format!("{place}scheme = {name}: the drive {path} has {own}: allowed is that, or none")))
        }
    }

    /// Names the drive in a configuration, which must be what made it but for what concerns the requests. `settings` are those that were given.
    pub(super) fn put_into(&self, config: &mut Config, settings: &[Setting]) -> Result<(), ConfigError> {
        let (own, given) = (self.config.identity(), config.identity());
        let keys_of = |(table, keys): (&'static str, _)| {
            let own = &own[table];
            Json::as_object(keys).into_iter().flatten().map(move |(key, value)| (table, key, value, own.get(key)))
        };
        let values = TABLES.iter().map(|table| (table.name, &given[table.name])).flat_map(keys_of);
        let others = values.filter(|(.., value, own)| *own != Some(value));
        // A key that the drive does not have matters because of another one.
        if let Some((table, key, value, own)) = others.min_by_key(|(.., own)| own.is_none()) {
            let place = last(settings, table, key).map_or("", |setting| setting.place.as_str());
            let (path, own) = (&self.path, own.map_or("none".into(), shown));
            return Err(ConfigError(format!("{place}{key} = {}: the drive {path} has {own}: allowed is that, or none", shown(value))));
        }
        config.run.drive = format!("{}@{}", self.path, self.sha256);
        Ok(())
    }
}

/// A value as it is given.
fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn settings_in(path: &str, header: &Header) -> Result<Vec<Setting>, ConfigError> {
    settings_of(path, &header.config, Some(&header.version))
}
