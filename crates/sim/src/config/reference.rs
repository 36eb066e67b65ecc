//! docs/configuration.md, generated from the schema and the registry.

use super::{Key, Kind, TABLES, units};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Before, SCHEMES};
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

Generated from the schema by `make bless`; do not edit.

Settings are read from the device (a preset or a TOML file), then from a configuration file (TOML, or the JSON of a result, whose `config`
object is complete: what one of an older version lacks is what that version did), then from options, arguments and `--set key=value`. A later value replaces an earlier one, also if `--set` is repeated. An option and a
`--set` that give a setting different values are refused. Scheme parameters in a file belong to the scheme that the file names; they are ignored if `--scheme`
names another. A TOML file has the tables below; a device file has only `device`, `array` and `sheet` (docs/datasheet.md), and `device_queue_depth` of `host`. `--set` takes `key` or `table.key`. Unknown keys and values
that are not allowed are refused. `flashraid init FILE` writes a configuration file with every setting, and `flashraid explain KEY` explains one.

Sizes, shares and times may have units: `page_bytes=16KiB` (B, KiB to EiB, kB to EB), `fill=50%`, `read_ns=20us` (ns, us,
ms, s, min, h). In TOML, write a value with a unit as a string: `page_bytes = \"16KiB\"`.

A setting that cannot affect any run of its configuration (such as `cmt_entries` without `mapping = dftl`) is refused. In a configuration file,
which may serve several runs, such a setting causes a warning instead; `compare` accepts it if it has effect under one of the schemes. A setting
that had no effect in one run, for instance because nothing failed or GC did not run, is reported with the warnings of the result. These rules do not
apply to defaults, to values from the device (a configuration file that describes a whole device counts as one) or from a result, or to a value
that would apply anyway.

```toml
[device]
over_provisioning = 0.2

[scheme]
name = \"raid5\"

[run]
fill = 0.4
```
";

/// The text of docs/configuration.md.
pub fn reference_markdown() -> String {
    let mut text = String::from(HEAD);
    for table in &TABLES {
        let _ = write!(text, "\n## {}\n\n{}\n", table.name, table.about);
        text.push_str("\n| key | unit | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n");
        for key in table.keys {
            let default =
                key.default.map_or("required".into(), |default| if default.is_empty() { "none".into() } else { format!("`{default}`") });
            let about = key.about.to_string() + &needed(key.effect.needs.map(|need| need.words)) + &meant(key.before);
            let _ = writeln!(text, "| `{}` | {} | {default} | {} | {about} |", key.name, key.unit, allowed(key));
        }
        if table.name == "scheme" {
            parameters(&mut text);
        }
        if table.name == "host" {
            text.push_str("\nRebuild orders:\n\n");
            for order in ORDERS {
                let _ = writeln!(text, "- `{}`: {}", order.name, order.about);
            }
        }
        words(&mut text, table.keys);
    }
    text
}

fn allowed(key: &Key) -> String {
    match (key.table, key.name, key.words()) {
        ("scheme", "name", Some(names)) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        _ => key.allowed(),
    }
}

/// What a key needs to have effect.
fn needed(words: Option<&str>) -> String {
    words.map_or_else(String::new, |words| format!(" Has effect with {words}."))
}

/// What results and drives mean that are older than a key.
fn meant(before: &[Before]) -> String {
    let said = before
        .iter()
        .map(|Before { version, value }| format!(" A result or drive of a version before {version} that lacks it means `{value}`."));
    said.collect()
}

fn parameters(text: &mut String) {
    text.push_str("\n| parameter | of | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n");
    // Parameters that schemes share stand together.
    let mut rows: Vec<(&str, Vec<String>, String)> = Vec::new();
    for (entry, parameter) in SCHEMES.iter().flat_map(|entry| entry.parameters().map(move |parameter| (entry, parameter))) {
        let (default, allowed) = (parameter.values.default_text(), parameter.values.allowed() + units::also(parameter.unit));
        let about = parameter.about.to_string() + &needed(parameter.needs.map(|(words, _)| words)) + &meant(parameter.before);
        let rest = format!("`{default}` | {allowed} | {about}");
        let scheme = format!("`{}`", entry.name);
        match rows.iter_mut().find(|(name, _, known)| *name == parameter.name && *known == rest) {
            Some((_, schemes, _)) => schemes.push(scheme),
            None => rows.push((parameter.name, vec![scheme], rest)),
        }
    }
    for (name, schemes, rest) in rows {
        let _ = writeln!(text, "| `{name}` | {} | {rest} |", schemes.join(", "));
    }
}

fn words(text: &mut String, keys: &[Key]) {
    for key in keys {
        let words = if matches!(key.kind, Kind::Word(_) | Kind::GcPolicy) { key.explained() } else { Vec::new() };
        if !words.is_empty() {
            let _ = write!(text, "\n`{}`:\n\n", key.name);
            for (word, about) in words {
                let _ = writeln!(text, "- `{word}`: {about}");
            }
        }
    }
}
