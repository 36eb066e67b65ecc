//! TOML files: configurations, devices, profiles, plans and papers' data are read in one way, and messages say alike where something stands.

use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something stands in a file, as messages begin: `conf.toml:3:5: `. Columns count characters.
pub fn place(file: &str, text: &str, offset: usize) -> String {
    let (line, column) = position(text, offset);
    format!("{file}:{line}:{column}: ")
}

/// Line and column, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The tables of a file. The error begins with its place.
pub fn tables<'text>(file: &str, text: &'text str) -> Result<Spanned<DeTable<'text>>, String> {
    DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or_else(|| format!("{file}: "), |span| place(file, text, span.start));
        place + &error.message().split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// A value of a file with the place of each key, for readers in other languages. In JSON a table is an object with the one key `table`: a list of
/// `[key, line, column, value]` in the order of the file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Placed {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// A number that JSON does not have, as Python calls it.
    Beyond {
        /// `inf`, `-inf` or `nan`.
        real: &'static str,
    },
    /// True or false.
    Flag(bool),
    /// A list.
    List(Vec<Placed>),
    /// A table.
    Table {
        /// Its keys.
        table: Vec<(String, usize, usize, Placed)>,
    },
}

/// The tables of a file with the places of their keys. The error begins with its place.
pub fn placed(file: &str, text: &str) -> Result<Placed, String> {
    let document = tables(file, text)?;
    of_table(file, text, document.get_ref())
}

fn of_table(file: &str, text: &str, table: &DeTable<'_>) -> Result<Placed, String> {
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let members = keys.into_iter().map(|(key, value)| {
        let (line, column) = position(text, key.span().start);
        Ok((key.get_ref().to_string(), line, column, of_value(file, text, value)?))
    });
    Ok(Placed::Table { table: members.collect::<Result<_, String>>()? })
}

fn of_value(file: &str, text: &str, value: &Spanned<DeValue<'_>>) -> Result<Placed, String> {
    let refuse = |what: &str| Err(place(file, text, value.span().start) + what);
    match value.get_ref() {
        DeValue::String(text) => Ok(Placed::Text(text.to_string())),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(Placed::Whole(number)),
            Err(_) => refuse("allowed are whole numbers from -2^63 to 2^63 - 1"),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Placed::Real(number)),
            Ok(number) if number.is_nan() => Ok(Placed::Beyond { real: "nan" }),
            Ok(number) => Ok(Placed::Beyond { real: if number > 0.0 { "inf" } else { "-inf" } }),
            Err(_) => refuse("allowed is a number"),
        },
        DeValue::Boolean(flag) => Ok(Placed::Flag(*flag)),
        DeValue::Datetime(_) => refuse("a date or a time: allowed are texts (in quotes), numbers, true, false, lists and tables"),
        DeValue::Array(entries) => Ok(Placed::List(entries.iter().map(|entry| of_value(file, text, entry)).collect::<Result<_, _>>()?)),
        DeValue::Table(table) => of_table(file, text, table),
    }
}

#[cfg(test)]
mod tests {
    use super::{placed, tables};

    #[test]
    fn keys_have_places_and_the_order_of_the_file() {
        let text = "b = 1\na = [1.5, \"x\", true]\n[t]\n  z = { y = inf }\n[t.s]\n'ü' = -0x1\n";
        let found = placed("f.toml", text).map(|found| serde_json::to_string(&found).unwrap());
        let expected = r#"{"table":[["b",1,1,1],["a",2,1,[1.5,"x",true]],["t",3,2,{"table":[["z",4,3,{"table":[["y",4,9,{"real":"inf"}]]}],["s",5,4,{"table":[["ü",6,1,-1]]}]]}]]}"#;
        assert!(found.is_err_and(|error| error.starts_with("f.toml:6:")), "TOML has no negative hexadecimal numbers");
        assert_eq!(placed("f.toml", &text.replace("-0x1", "-1")).map(|found| serde_json::to_string(&found).unwrap()), Ok(expected.into()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, says) in [
            ("a = 1\nb = = 2\n", "f.toml:2:5: "),
            ("a = 1\na = 2\n", "f.toml:2:1: duplicate key"),
            ("a = 1\n'ü' = = 2\n", "f.toml:2:7: "),
            ("a = 1979-05-27\n", "f.toml:1:5: a date or a time: "),
            ("a = 9223372036854775808\n", "f.toml:1:5: allowed are whole numbers from -2^63 to 2^63 - 1"),
        ] {
            let error = placed("f.toml", text).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_at_once() {
        let deep = 200_000;
        for text in [
            format!("a = {}", "[".repeat(deep)),
            format!("a = {}{}", "[".repeat(deep), "]".repeat(deep)),
            format!("a = {}", "{a=".repeat(deep)),
            format!("[a{}]", ".a".repeat(deep)),
            format!("a{} = 1", ".a".repeat(deep)),
            format!("[[a{}]]", ".a".repeat(deep)),
        ] {
            let error = tables("f.toml", &text).unwrap_err();
            assert!(error.starts_with("f.toml:") && error.contains("recurs"), "{error}");
        }
    }
}
