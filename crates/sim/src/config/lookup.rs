//! The table and the key that a source means, or why there is none of that name.

use super::key::Given;
use super::renamed::renamed_key;
use super::setting::{Setting, SettingSource};
use super::{ConfigError, Key, SchemeChoice, TABLES, Table};
use flashraid_redundancy::{Entry, SCHEMES};
use flashraid_vocabulary::names::{called, near, nearest};

/// Every key of every table.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    TABLES.iter().flat_map(|table| table.keys)
}

/// The key that `path` names, as `key` or `table.key`.
pub fn find_key(path: &str) -> Option<&'static Key> {
    let (table, name) = path.split_once('.').map_or((None, path), |(table, name)| (Some(table), name));
    keys().find(|key| key.name == name && table.is_none_or(|table| key.table == table))
}

fn table_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

pub(super) fn check_table(name: &str) -> Result<(), ConfigError> {
    if table_names().any(|known| known == name) {
        return Ok(());
    }
    let all = table_names().collect::<Vec<_>>().join(", ");
    Err(ConfigError(format!("unknown table {name}{}; there are {all}", nearest(name, table_names()))))
}

pub(super) fn outside_tables(place: &str, key: &str) -> ConfigError {
    let tables: Vec<_> = TABLES.iter().filter(|table| table.keys.iter().any(|known| known.name == key)).map(|table| table.name).collect();
    match tables.as_slice() {
        [] => ConfigError(format!("{place}{key} is outside any table; the tables are {}", table_names().collect::<Vec<_>>().join(", "))),
        tables => ConfigError(format!("{place}{key} is outside any table; put it under [{}]", tables.join("] or ["))),
    }
}

/// Finds the table of a bare key, and checks that of a full one.
pub(super) fn resolve_override(path: &str, value: &str, entry: &Entry) -> Result<Setting, ConfigError> {
    let setting = |table: &str, key: &str| Setting {
        table: table.into(),
        key: key.into(),
        key_place: String::new(),
        given: Given::bare(value),
        place: String::new(),
        source: SettingSource::Override,
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
        None if entry.parameter(path).is_some() => Ok(setting("scheme", path)),
        None => Err(unknown_key(path, Some(entry))),
    }
}

/// Why `key` is none: it has another name now, it is a parameter of another scheme, or a misspelling.
fn unknown_key(key: &str, entry: Option<&Entry>) -> ConfigError {
    if let Some(new) = renamed_key(key) {
        return ConfigError(format!("unknown key {key}: it is now called {new}"));
    }
    let own: Vec<_> = entry.into_iter().flat_map(Entry::parameters).map(|parameter| parameter.name).collect();
    let others: Vec<_> = SCHEMES.iter().filter(|other| other.parameter(key).is_some()).map(|other| other.name).collect();
    if let (Some(entry), false) = (entry, others.is_empty()) {
        let own = if own.is_empty() { "none".into() } else { own.join(", ") };
        return ConfigError(format!("{key} is a parameter of {}, not of {}, whose parameters are: {own}", others.join(", "), entry.name));
    }
    let known = keys().map(|key| (key.name, key.table));
    let known: Vec<_> = known.chain(own.iter().map(|name| (*name, SchemeChoice::TABLE.name))).collect();
    let Some(near) = near(key, known.iter().map(|(name, _)| *name)) else {
        let hint = called(key).map_or_else(
            || "docs/configuration.md lists all".to_owned(),
            |name| format!("it is called {name}, and is no setting (flashraid explain {name})"),
        );
        return ConfigError(format!("unknown key {key}: {hint}"));
    };
    let table = known.iter().find(|(name, _)| *name == near).map_or("", |(_, table)| table);
    ConfigError(format!("unknown key {key}; the nearest is {near} in table {table}"))
}

/// Whether the table has the key, or the scheme the parameter.
pub(super) fn check_key(setting: &Setting, entry: Option<&Entry>) -> Result<(), ConfigError> {
    let Setting { table, key, key_place, .. } = setting;
    let is_parameter = entry.is_some_and(|entry| entry.parameter(key).is_some());
    let has = |at: &Table| at.keys.iter().any(|known| known.name == key) || is_parameter && at.name == SchemeChoice::TABLE.name;
    if TABLES.iter().any(|at| at.name == table && has(at)) {
        return Ok(());
    }
    match TABLES.iter().find(|at| has(at)) {
        Some(right) => Err(ConfigError(format!("{key_place}{table}.{key}: {key} belongs to table {}", right.name))),
        None => Err(ConfigError(format!("{key_place}{}", unknown_key(key, entry)))),
    }
}
