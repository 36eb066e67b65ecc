//! docs/configuration.md, generated from the schema and the registry.

use super::{Key, Kind, TABLES, units};
use flashraid_redundancy::SCHEMES;
use flashraid_redundancy::rebuild::ORDERS;
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

Generated from the schema by `FLASHRAID_BLESS=1 cargo test -p flashraid-sim --test suite config`; do not edit.

Settings come from the device (a preset or a TOML file), then a configuration file (TOML, or the JSON of a result, whose `config`
object is complete), then options, arguments and `--set key=value`; later ones count. (Parameters in a
file belong to the scheme that it names, and so do not count with another `--scheme`.) Of a `--set` that is repeated the last one counts. An option and a `--set`
that give one setting two values are refused. A TOML file has the tables below; a device file has the table `device` alone. `--set` takes
`key` or `table.key`. Unknown keys and values that are not allowed are refused.

Sizes, shares and times also take units: `page_bytes=16KiB` (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB), `fill=50%`, `read_ns=20us` (ns, us,
ms, s); in TOML as texts: `page_bytes = \"16KiB\"`.

A setting asked for that no run of its configuration would notice (`cmt_entries` without `mapping = dftl`) is refused; in a configuration file,
which may serve several runs, a warning tells of it, and `compare` takes it if it has effect under one of the schemes. One that happened to change
nothing in a run, as nothing failed, nothing was collected and so on, is told among the warnings of its result. Nobody asks for defaults, for
what the device or a result says, or for a value that would count anyway.

```toml
[device]
over_provisioning = 0.2

[scheme]
name = \"raid5\"

[run]
fill = 0.5
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
            let about = key.about.to_string() + &needed(key.effect.needs.map(|need| need.words));
            let _ = writeln!(text, "| `{}` | {} | {default} | {} | {about} |", key.name, key.unit, allowed(key));
        }
        if table.name == "scheme" {
            parameters(&mut text);
        }
        if table.name == "host" {
            text.push_str("\nOrders of rebuild:\n\n");
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

fn parameters(text: &mut String) {
    text.push_str("\n| parameter | of | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n");
    for entry in SCHEMES {
        for parameter in entry.parameters {
            let (default, allowed) = (parameter.values.default_text(), parameter.values.allowed() + units::also(parameter.unit));
            let about = parameter.about.to_string() + &needed(parameter.needs.map(|(words, _)| words));
            let _ = writeln!(text, "| `{}` | `{}` | `{default}` | {allowed} | {about} |", parameter.name, entry.name);
        }
    }
}

fn words(text: &mut String, keys: &[Key]) {
    for key in keys {
        if let Kind::Word(words) = key.kind {
            let _ = write!(text, "\n`{}`:\n\n", key.name);
            for (word, about) in words {
                let _ = writeln!(text, "- `{word}`: {about}");
            }
        }
    }
}
