//! docs/configuration.md, generated from the schema and the registry.

use super::{Key, Kind, TABLES};
use flashraid_redundancy::SCHEMES;
use flashraid_redundancy::rebuild::ORDERS;
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

Generated from the schema by `FLASHRAID_BLESS=1 cargo test -p flashraid-sim --test config`; do not edit.

Settings come from the device (a preset or a TOML file), then a configuration file (TOML, or the JSON of a result, whose `config`
object is complete), then the scheme's name, then `--set key=value`; later ones count. A TOML file has the tables below; a device
file has the table `device` alone. `--set` takes `key` or `table.key`. Unknown keys and values that are not allowed are refused.

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
            let _ = writeln!(text, "| `{}` | {} | {default} | {} | {} |", key.name, key.unit, allowed(key), key.about);
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
    match (key.table, key.name) {
        ("scheme", "name") => SCHEMES.iter().map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", "),
        _ => key.kind.allowed(),
    }
}

fn parameters(text: &mut String) {
    text.push_str("\n| parameter | of | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n");
    for entry in SCHEMES {
        for parameter in entry.parameters {
            let (default, allowed) = (parameter.values.default_text(), parameter.values.allowed());
            let _ = writeln!(text, "| `{}` | `{}` | `{default}` | {allowed} | {} |", parameter.name, entry.name, parameter.about);
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
