//! Golden results in one compressed file: a line of JSON for each, with the settings of its run.

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

type Object = Map<String, Value>;

/// Settings and result of each case, by its name.
pub type Archive = BTreeMap<String, (Object, Object)>;

/// Reads an archive; an empty one if there is none.
pub fn read(path: &Path) -> Archive {
    let Ok(file) = File::open(path) else { return Archive::new() };
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let case = |line: String| {
        let mut of: Object = serde_json::from_str(&line).unwrap();
        let mut part = |key: &str| of.remove(key).unwrap();
        let object = |value: Value| value.as_object().unwrap().clone();
        (part("case").as_str().unwrap().to_string(), (object(part("settings")), object(part("result"))))
    };
    lines.map(|line| case(line.unwrap())).collect()
}

/// Writes it; the same cases make the same file.
pub fn write(path: &Path, archive: &Archive) {
    let mut file = GzBuilder::new().mtime(0).write(File::create(path).unwrap(), Compression::best());
    for (name, (settings, result)) in archive {
        writeln!(file, "{}", json!({"case": name, "settings": settings, "result": result})).unwrap();
    }
    file.finish().unwrap();
}

/// The most keys of a case that are shown.
const SHOWN: usize = 12;

/// What differs, a line for each key: what was kept and what there is.
pub fn differences(kept: &Archive, fresh: &Archive) -> String {
    let mut text = String::new();
    for name in kept.keys().filter(|name| !fresh.contains_key(*name)) {
        text += &format!("{name}: there is no such case\n");
    }
    for (name, (settings, result)) in fresh {
        let Some((kept_settings, kept_result)) = kept.get(name) else {
            text += &format!("{name}: not kept\n");
            continue;
        };
        let mut found = Vec::new();
        compare("settings", &Value::from(kept_settings.clone()), &Value::from(settings.clone()), &mut found);
        compare("", &Value::from(kept_result.clone()), &Value::from(result.clone()), &mut found);
        text.extend(found.iter().take(SHOWN).map(|line| format!("{name}: {line}\n")));
        if found.len() > SHOWN {
            text += &format!("{name}: and {} more\n", found.len() - SHOWN);
        }
    }
    text
}

fn compare(path: &str, kept: &Value, fresh: &Value, found: &mut Vec<String>) {
    let inner = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match (kept, fresh) {
        (Value::Object(kept), Value::Object(fresh)) => {
            for (key, value) in kept {
                compare(&inner(key), value, fresh.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in fresh.iter().filter(|(key, _)| !kept.contains_key(*key)) {
                compare(&inner(key), &Value::Null, value, found);
            }
        }
        (Value::Array(kept), Value::Array(fresh)) if kept.len() == fresh.len() => {
            for (at, (kept, fresh)) in kept.iter().zip(fresh).enumerate() {
                compare(&inner(&at.to_string()), kept, fresh, found);
            }
        }
        _ if kept == fresh => {}
        _ => found.push(format!("{path} was {kept}, is {fresh}")),
    }
}
