//! SSDs of an array that differ from the others (`models`): which SSD, and what of its device is different.
//!
//! A model that is given by name, as a preset or a file, is written out when the configuration is gathered, as the keys in which it differs, so that
//! a result holds all that its run needs.

use super::error::refuse;
use super::key::Given;
use super::values::deserialize;
use super::{Array, ConfigError, Device};
use serde_json::{Map, Value as Json};

/// What is allowed, as help and messages say it.
pub(super) const ALLOWED: &str = "a comma-separated list of SSD:MODEL, as in 3:tiny or 3:read_ns=50us program_ns=1ms";

/// What belongs to the controller of the array, or follows from an array: a model has none of it.
const OF_THE_ARRAY: [&str; 19] = [
    "member",
    "ftl",
    "buffer_bytes_per_gib",
    "buffer_bytes",
    "nvram_buffer_bytes",
    "nvram_victim",
    "buffer_ns",
    "destage",
    "destage_unit",
    "destage_high_water",
    "destage_low_water",
    "destage_bytes_per_second",
    "xor_ns",
    "host_write_ps_per_byte",
    "host_read_ps_per_byte",
    "command_ns",
    "unit_ns",
    "read_latency_ns",
    "write_latency_ns",
];
/// What all SSDs have in common.
const IN_COMMON: [&str; 5] = ["page_bytes", "mapping", "write_completes", "mirror_chips", "slice"];

/// The settings of a device, by key.
fn settings_of(device: &Device) -> Map<String, Json> {
    match serde_json::to_value(device) {
        Ok(Json::Object(settings)) => settings,
        _ => unreachable!("a device is an object"),
    }
}

/// A value as text, without what would end it in a list.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.replace(|char: char| char.is_whitespace() || matches!(char, ',' | '='), "-"),
        other => other.to_string(),
    }
}

/// The SSD that an entry of the list is about, and its device where all others are `device`.
fn read(entry: &str, device: &Device) -> Result<(u32, Device), ConfigError> {
    let refuse = |why: String| ConfigError(format!("models = {entry}: {why}"));
    let (ssd, model) = entry.split_once(':').ok_or_else(|| refuse(format!("allowed is {ALLOWED}")))?;
    let ssd = ssd.trim().parse().map_err(|_| refuse(format!("{ssd} is no number of an SSD: allowed is {ALLOWED}")))?;
    if model.trim().is_empty() {
        return Err(refuse(format!("says nothing of the SSD: allowed is {ALLOWED}")));
    }
    let (mut settings, mut given_keys) = (settings_of(device), Vec::new());
    for (position, word) in model.split_whitespace().enumerate() {
        let Some((name, value)) = word.split_once('=') else {
            if position > 0 {
                return Err(refuse(format!("{word}: allowed behind the first word is KEY=VALUE")));
            }
            let named = Device::load(word).map_err(|ConfigError(why)| refuse(why))?;
            let own = settings_of(&named).into_iter().filter(|(key, _)| !OF_THE_ARRAY.contains(&key.as_str()));
            settings.extend(own);
            continue;
        };
        let Some(key) = Device::TABLE.keys.iter().find(|key| key.name == name) else {
            return Err(refuse(format!("{name} is no key of the table device")));
        };
        if given_keys.contains(&name) {
            return Err(refuse(format!("{name} is given twice")));
        }
        given_keys.push(name);
        if OF_THE_ARRAY.contains(&name) {
            return Err(refuse(format!("{name} is a setting of the whole array, not of one SSD")));
        }
        let given = Given::bare(value);
        let value = key.read(&given).ok_or_else(|| refuse(format!("{name} = {value}: allowed is {}", key.allowed_instead(&given))))?;
        settings.insert(name.into(), value);
    }
    let common = settings_of(device);
    for key in IN_COMMON {
        if settings[key] != common[key] {
            return Err(refuse(format!("{key} = {}: allowed is {}, as in the other SSDs", plain(&settings[key]), plain(&common[key]))));
        }
    }
    Ok((ssd, deserialize(Json::Object(settings))?))
}

impl Array {
    /// With each model written out, in the order of the SSDs: of a device that all other SSDs are.
    pub(super) fn with_models_of(self, device: &Device) -> Result<Self, ConfigError> {
        let mut models = self.models.iter().map(|entry| read(entry, device)).collect::<Result<Vec<_>, _>>()?;
        models.sort_by_key(|(ssd, _)| *ssd);
        let count = self.ssds();
        if let Some((ssd, _)) = models.iter().find(|(ssd, _)| *ssd >= count && !self.is_single()) {
            return refuse(format!("models = {ssd}: the array has SSDs 0 to {}, the spare ones last", count - 1));
        }
        if let Some(pair) = models.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return refuse(format!("models = {}: given twice", pair[0].0));
        }
        let common = settings_of(device);
        let written = models.iter().filter_map(|(ssd, model)| {
            let differing: Vec<_> = settings_of(model)
                .iter()
                .filter(|(key, value)| common[*key] != **value)
                .map(|(key, value)| format!("{key}={}", plain(value)))
                .collect();
            (!differing.is_empty()).then(|| format!("{ssd}:{}", differing.join(" ")))
        });
        Ok(Self { models: written.collect(), ..self })
    }

    /// The least of what the SSDs have of something, spare ones included: of that each SSD offers so much.
    pub(super) fn least(&self, device: &Device, of: impl Fn(&Device) -> u32) -> u32 {
        if self.models.is_empty() { of(device) } else { self.each(device).iter().map(of).min().expect("there are SSDs") }
    }

    /// The SSDs, the spare ones last, where those without a model are `device`.
    pub(crate) fn each(&self, device: &Device) -> Vec<Device> {
        let mut ssds = vec![device.clone(); self.ssds() as usize];
        for entry in &self.models {
            let (ssd, model) = read(entry, device).expect("models are checked when they are written out");
            if let Some(of) = ssds.get_mut(ssd as usize) {
                *of = model;
            }
        }
        ssds
    }
}
