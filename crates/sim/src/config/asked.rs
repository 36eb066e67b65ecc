//! A configuration with what was asked for in it, and which of that has no effect.

use super::effect::{Happened, Meeting, OF_BASES};
use super::gather::gather;
use super::setting::{Setting, SettingSource, last};
use super::values::{read_key, read_parameter};
use super::{Config, ConfigError, SchemeChoice, find_key, keys};
use serde_json::Value as Json;
use std::path::Path;

/// A configuration with what was asked for in it: by options, arguments or a configuration file. The settings of a device or of a result, and
/// defaults, nobody asked for; nor for what would be the same without asking.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The configuration.
    pub config: Config,
    wishes: Vec<Wish>,
}

/// A setting asked for.
#[derive(Clone, Debug)]
struct Wish {
    key: String,
    /// As messages show it: `conf.toml:3:5: gc_reserve_blocks = 3`.
    shown: String,
    source: SettingSource,
    /// What the configuration lacks for it to have effect in any run.
    lacks: Option<&'static str>,
    meets: Option<Meeting>,
}

/// A setting asked for that no run of its configuration would notice.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Idle {
    /// Its key, without the table.
    pub key: String,
    /// Why.
    pub text: String,
}

impl From<Config> for Asked {
    /// A configuration of which nothing was asked for.
    fn from(config: Config) -> Self {
        Self { config, wishes: Vec::new() }
    }
}

impl Asked {
    /// As `gather`; settings of options and arguments that no run of this configuration would notice are refused.
    pub fn assemble(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let asked = Self::gather(device, scheme, file, overrides)?;
        let idle = asked.idle().next();
        idle.map_or(Ok(asked), |Idle { text, .. }| Err(ConfigError(text)))
    }

    /// As `assemble`, for a simulation whose requests the caller submits: settings that only the replay of a trace heeds are refused.
    pub fn without_trace(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let of_replays = overrides.iter().find(|(key, _)| find_key(key).is_some_and(|key| key.effect.of_replays));
        if let Some((key, value)) = of_replays {
            return Err(ConfigError(format!("{key} = {value}: not allowed for a Simulation, which replays no trace")));
        }
        Self::assemble(device, scheme, file, overrides)
    }

    /// As `Config::assemble`.
    pub fn gather(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let (config, settings, entry) = gather(device, scheme, file, overrides)?;
        let of_keys = keys().filter_map(|key| {
            let setting = wished(&settings, key.table, key.name, |settings| read_key(settings, key).ok())?;
            let need = key.effect.needs.filter(|need| !(need.holds)(&config));
            Some(Wish::of(setting, need.map(|need| need.words), key.effect.meets))
        });
        let of_parameters = entry.parameters().filter_map(|parameter| {
            let read = |settings: &[Setting]| read_parameter(settings, parameter).ok().map(|(_, value)| value);
            let setting = wished(&settings, SchemeChoice::TABLE.name, parameter.name, read)?;
            let lacks = parameter.needs.filter(|(_, holds)| !holds(&config.build()));
            let meets = entry.is_of_bases(parameter).then_some(OF_BASES.meets).flatten();
            Some(Wish::of(setting, lacks.map(|(words, _)| words), meets))
        });
        let wishes = of_keys.chain(of_parameters).collect();
        Ok(Self { config, wishes })
    }

    /// Settings of options and arguments that no run of this configuration would notice.
    pub fn idle(&self) -> impl Iterator<Item = Idle> {
        let wishes = self.wishes.iter().filter(|wish| wish.source == SettingSource::Override);
        wishes.filter_map(|wish| wish.idle_text().map(|text| Idle { key: wish.key.clone(), text }))
    }

    /// What there is to say of it before a run.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.wishes.iter().filter_map(Wish::idle_text)
    }

    /// What had no effect in a run in which this happened.
    pub(crate) fn notes_after(&self, happened: &Happened) -> Vec<String> {
        let without = self.wishes.iter().filter(|wish| wish.lacks.is_none()).filter_map(|Wish { shown, meets, .. }| {
            let missed = meets.filter(|meeting| !(meeting.holds)(happened))?;
            Some(format!("{shown}: had no effect in this run: {}", missed.missed))
        });
        without.collect()
    }
}

impl Wish {
    fn of(setting: &Setting, lacks: Option<&'static str>, meets: Option<Meeting>) -> Self {
        let Setting { key, given, place, source, .. } = setting;
        Self { key: key.clone(), shown: format!("{place}{key} = {}", given.shown()), source: *source, lacks, meets }
    }

    fn idle_text(&self) -> Option<String> {
        self.lacks.map(|words| format!("{}: has no effect here: allowed with {words}", self.shown))
    }
}

/// The setting that asks for a value of this key, if one does; `read` is the value that counts among settings.
fn wished<'a>(settings: &'a [Setting], table: &str, key: &str, read: impl Fn(&[Setting]) -> Option<Json>) -> Option<&'a Setting> {
    let setting = last(settings, table, key).filter(|setting| setting.source != SettingSource::Background)?;
    let is_asked =
        |other: &&Setting| other.source != SettingSource::Background && (other.table.as_str(), other.key.as_str()) == (table, key);
    let others: Vec<_> = settings.iter().filter(|other| !is_asked(other)).cloned().collect();
    (read(settings) != read(&others)).then_some(setting)
}
