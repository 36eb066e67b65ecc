//! What a maker states of a device: the table `sheet` of its file. No run depends on it; `flashraid datasheet` puts it beside what it measures.

use super::ConfigError;
use flashraid_vocabulary::names::nearest;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Name of the table.
pub(super) const TABLE: &str = "sheet";

/// Figures of one run alone, by their names.
const SINGLE: [&str; 4] = ["sequential_read_mb_s", "sequential_write_mb_s", "write_amplification", "endurance_drive_writes_per_day"];
/// Runs of random requests, each of which has all of `OF_RANDOM`.
const RANDOM: [&str; 9] = [
    "random_read_qd1_fresh",
    "random_read_qd256_fresh",
    "random_write_qd1_fresh",
    "random_write_qd256_fresh",
    "random_read_qd1_steady",
    "random_read_qd256_steady",
    "random_write_qd1_steady",
    "random_write_qd256_steady",
    "mixed_qd256_steady",
];
const OF_RANDOM: [&str; 6] = ["iops", "mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns"];

/// The sheet of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// Where it was published.
    pub source: String,
    /// The figures to which numbers of the device were fitted.
    pub fitted: Vec<String>,
    /// Its figures, called as those of `flashraid datasheet`.
    pub figures: BTreeMap<String, f64>,
}

impl Sheet {
    /// What the table says, which stands at `head` of its file; `place` says where the rest stands.
    pub(super) fn of(table: &DeTable<'_>, head: &str, place: impl Fn(usize) -> String) -> Result<Self, ConfigError> {
        let known = figures();
        let allowed = || known.iter().map(String::as_str);
        let refuse = |at: usize, text: String| ConfigError(place(at) + &text);
        let mut sheet = Self { source: String::new(), fitted: Vec::new(), figures: BTreeMap::new() };
        let mut fitted = Vec::new();
        for (key, value) in table {
            let at = value.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("source", DeValue::String(text)) if !text.trim().is_empty() => sheet.source = text.to_string(),
                ("source", _) => return Err(refuse(at, "source: allowed is a text that says where the sheet was published".into())),
                ("fitted", DeValue::Array(entries)) => fitted.extend(entries.iter()),
                ("fitted", _) => return Err(refuse(at, "fitted: allowed is a list of figures of the sheet".into())),
                (name, value) if allowed().any(|figure| figure == name) => {
                    let number = match value {
                        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number as f64),
                        DeValue::Float(number) => number.as_str().parse().ok(),
                        _ => None,
                    };
                    let number = number.filter(|number| number.is_finite() && *number > 0.0);
                    let number = number.ok_or_else(|| refuse(at, format!("{name}: allowed is a number above 0")))?;
                    sheet.figures.insert(name.to_owned(), number);
                }
                (name, _) => {
                    let near = nearest(name, allowed().chain(["source", "fitted"]));
                    return Err(refuse(key.span().start, format!("unknown key {name} in table sheet{near}; docs/datasheet.md lists all")));
                }
            }
        }
        if sheet.source.is_empty() {
            return Err(ConfigError(format!("{head}the table sheet needs source = \"...\": where it was published")));
        }
        for (number, entry) in fitted.iter().enumerate() {
            let given = || sheet.figures.keys().map(String::as_str);
            let at = entry.span().start;
            match entry.get_ref() {
                DeValue::String(name) if sheet.fitted[..number].contains(&name.to_string()) => {
                    return Err(refuse(at, format!("fitted: {name} is in the list twice")));
                }
                DeValue::String(name) if given().any(|figure| figure == name.as_ref()) => sheet.fitted.push(name.to_string()),
                DeValue::String(name) => {
                    return Err(refuse(at, format!("fitted: the sheet has no figure {name}{}", nearest(name, given()))));
                }
                _ => return Err(refuse(at, "fitted: allowed is a list of figures of the sheet".into())),
            }
        }
        Ok(sheet)
    }
}

/// The names of all figures.
fn figures() -> Vec<String> {
    let of_random = RANDOM.iter().flat_map(|run| OF_RANDOM.iter().map(move |figure| format!("{run}_{figure}")));
    SINGLE.iter().map(|name| (*name).to_owned()).chain(of_random).collect()
}
