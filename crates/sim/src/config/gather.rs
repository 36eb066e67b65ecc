//! Gathers settings from their sources, later ones over earlier, and checks each against its key; and keeps which of them were asked for.

use super::effect::{COLLECTED, Happened, Meeting};
use super::key::Given;
use super::units;
use super::{Config, ConfigError, Device, Host, Key, Run, SchemeChoice, TABLES, Table, key::near, nearest};
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
    source: Source,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A device, the scheme's own default, or the configuration of a result, which is complete: nobody asked for each of these.
    Background,
    /// A configuration file, which may serve several runs.
    File,
    /// An option or argument.
    Override,
}

/// What a file may give a key.
const ALLOWED: &str = "allowed is a text, a number, true or false, or a list of texts";

/// The device's setting of which a scheme has its own default.
const MIRROR_CHIPS: &str = "mirror_chips";

impl Setting {
    /// The scheme's default for a setting of the device.
    fn of_scheme(key: &str, value: u32) -> Self {
        let given = Given::bare(value.to_string());
        let (table, none) = (Device::TABLE.name.into(), String::new());
        Self { table, key: key.into(), key_place: none.clone(), given, place: none, source: Source::Background }
    }
}

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
    /// As messages show it: `conf.toml, line 3, column 5: gc_hard = 3`.
    shown: String,
    source: Source,
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

    /// As `Config::assemble`.
    pub fn gather(
        device: Option<&str>,
        scheme: Option<&str>,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let (config, settings, entry) = gather(device, scheme, file, overrides)?;
        let keys = TABLES.iter().flat_map(|table| table.keys).filter(|key| (key.table, key.name) != ("scheme", "name"));
        let of_keys = keys.filter_map(|key| {
            let setting = wished(&settings, key.table, key.name, |settings| read_key(settings, key).ok())?;
            let need = key.effect.needs.filter(|need| !(need.holds)(&config));
            Some(Wish::of(setting, need.map(|need| need.words), key.effect.meets))
        });
        let of_parameters = entry.parameters.iter().filter_map(|parameter| {
            let read = |settings: &[Setting]| read_parameter(settings, parameter).ok().map(|(_, value)| value);
            let setting = wished(&settings, SchemeChoice::TABLE.name, parameter.name, read)?;
            let lacks = parameter.needs.filter(|(_, holds)| !holds(&config.build()));
            let meets = parameter.only_in_gc.then_some(COLLECTED.meets).flatten();
            Some(Wish::of(setting, lacks.map(|(words, _)| words), meets))
        });
        let wishes = of_keys.chain(of_parameters).collect();
        Ok(Self { config, wishes })
    }

    /// Settings of options and arguments that no run of this configuration would notice.
    pub fn idle(&self) -> impl Iterator<Item = Idle> {
        let wishes = self.wishes.iter().filter(|wish| wish.source == Source::Override);
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
    let setting = last(settings, table, key).filter(|setting| setting.source != Source::Background)?;
    let is_asked = |other: &&Setting| other.source != Source::Background && (other.table.as_str(), other.key.as_str()) == (table, key);
    let others: Vec<_> = settings.iter().filter(|other| !is_asked(other)).cloned().collect();
    (read(settings) != read(&others)).then_some(setting)
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
        gather(device, scheme, file, overrides).map(|(config, ..)| config)
    }
}

/// `Config::assemble`, with the settings gathered and the scheme.
fn gather(
    device: Option<&str>,
    scheme: Option<&str>,
    file: Option<&Path>,
    overrides: &[(String, String)],
) -> Result<(Config, Vec<Setting>, &'static Entry), ConfigError> {
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
    let described = device.or(file.and_then(Path::to_str)).unwrap_or_default();
    let config = build(described, &settings, entry)?;
    config.check()?;
    Ok((config, settings, entry))
}

impl Device {
    /// A preset, or the device that a TOML file describes.
    pub fn load(device: &str) -> Result<Self, ConfigError> {
        let settings = device_settings(device)?;
        for setting in &settings {
            check_key(setting, None)?;
        }
        refuse_missing(device, &settings)?;
        let device: Self = deserialize(read_table(&settings, &Self::TABLE)?)?;
        device.check()?;
        Ok(device)
    }
}

/// The scheme called `name`, or an error that names one that is near, and all.
pub(crate) fn find_scheme(name: &str) -> Result<&'static Entry, ConfigError> {
    flashraid_redundancy::find(name).ok_or_else(|| {
        let near = nearest(name, SCHEMES.iter().map(|entry| entry.name));
        let shown = if name.is_empty() { "without a name" } else { name };
        ConfigError(format!("unknown scheme {shown}{near}; there are {}", scheme_names()))
    })
}

fn scheme_names() -> String {
    SCHEMES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// The defaults of a table whose keys all have one.
pub(super) fn defaults<T: DeserializeOwned>(table: &Table) -> T {
    let values = table.keys.iter().map(|key| {
        let default = key.default.expect("every key of this table has a default");
        (key.name.to_string(), key.read(&Given::bare(default)).expect("a default is among the allowed values"))
    });
    serde_json::from_value(Json::Object(values.collect())).expect("the table's keys are its fields")
}

/// Settings of a preset or of a device file, which has the form of a configuration file with a `device` table alone.
fn device_settings(device: &str) -> Result<Vec<Setting>, ConfigError> {
    let mut settings = if device.ends_with(".toml") || device.contains(std::path::MAIN_SEPARATOR) {
        read_file(Path::new(device))?
    } else {
        let preset = presets::find(device)?;
        read_toml(&format!("devices/{}.toml", preset.name), preset.text)?
    };
    settings.iter_mut().for_each(|setting| setting.source = Source::Background);
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
            settings.push(Setting { table: table.get_ref().to_string(), key, key_place, given, place, source: Source::File });
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
            settings.push(Setting {
                table: table.clone(),
                key: key.clone(),
                key_place: place.clone(),
                given,
                place: place.clone(),
                source: Source::Background,
            });
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
    Err(ConfigError(format!("unknown table {name}{}; there are {all}", nearest(name, table_names()))))
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
        source: Source::Override,
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
    let Some(near) = near(key, known.iter().map(|(name, _)| *name)) else {
        return ConfigError(format!("unknown key {key}: docs/configuration.md lists all"));
    };
    let table = known.iter().find(|(name, _)| *name == near).map_or("", |(_, table)| table);
    ConfigError(format!("unknown key {key}; the nearest is {near} in table {table}"))
}

/// The whole configuration out of `settings` (later ones over earlier) and defaults. `described` is what was to describe the device.
fn build(described: &str, settings: &[Setting], entry: &Entry) -> Result<Config, ConfigError> {
    for setting in settings {
        check_key(setting, Some(entry))?;
    }
    refuse_missing(described, settings)?;
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

/// Whether two texts give a key (`key` or `table.key`) or a parameter the same value; texts that are not allowed are the same if they are equal.
pub fn same_value(key: &str, one: &str, other: &str) -> bool {
    let name = |known: &Key| key == known.name || key.split_once('.') == Some((known.table, known.name));
    let settings = |text: &str| {
        let mut setting = Setting::of_scheme(key.rsplit('.').next().unwrap_or(key), 0);
        (setting.table, setting.given) = (SchemeChoice::TABLE.name.into(), Given::bare(text));
        [setting]
    };
    let read = |text: &str| match TABLES.iter().flat_map(|table| table.keys).find(|known| name(known)) {
        Some(key) => key.read(&Given::bare(text)),
        None => {
            let mut parameters = SCHEMES.iter().flat_map(|entry| entry.parameters);
            let parameter = parameters.find(|parameter| parameter.name == settings(text)[0].key)?;
            read_parameter(&settings(text), parameter).ok().map(|(_, value)| value)
        }
    };
    one == other || read(one).is_some_and(|value| Some(value) == read(other))
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
        (None, None) => return Err(ConfigError(format!("{}.{} is missing", key.table, key.name))),
    };
    key.read(&given)
        .ok_or_else(|| ConfigError(format!("{place}{} = {}: allowed is {}", key.name, given.shown(), key.allowed_instead(&given))))
}

/// All keys of the device that are missing are named at once. `described` is the file that was to give them; a preset gives all.
fn refuse_missing(described: &str, settings: &[Setting]) -> Result<(), ConfigError> {
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
            Err(ConfigError(format!("{place}{what}table device lacks {names}, which have no default")))
        }
    }
}

fn read_parameter(settings: &[Setting], parameter: &Parameter) -> Result<(String, Json), ConfigError> {
    let Parameter { name, values, .. } = parameter;
    let (given, place) = match last(settings, SchemeChoice::TABLE.name, name) {
        Some(setting) => (setting.given.clone(), setting.place.as_str()),
        None => (Given::bare(values.default_text()), ""),
    };
    let number = units::plain(&given.text, parameter.unit);
    let text = number.as_deref().unwrap_or(&given.text);
    let value = match values {
        _ if given.list || !values.allows(text) => None,
        Values::Words(_) => Some(Json::from(text)),
        _ if given.quoted && number.is_none() => None,
        Values::Whole { .. } => text.parse::<u32>().ok().map(Json::from),
        Values::Decimal { .. } => text.parse::<f64>().ok().map(Json::from),
    };
    let value = value.ok_or_else(|| {
        ConfigError(format!("{place}{name} = {}: allowed is {}{}", given.shown(), values.allowed(), units::also(parameter.unit)))
    })?;
    Ok((name.to_string(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_allowed() {
        for key in TABLES.iter().flat_map(|table| table.keys) {
            if let Some(default) = key.default {
                assert!(key.read(&Given::bare(default)).is_some(), "{}", key.name);
            }
        }
        let (host, run) = (Host::default(), Run::default());
        assert_eq!((host.parity_in_response, run.speed), (true, 1.0));
    }
}
