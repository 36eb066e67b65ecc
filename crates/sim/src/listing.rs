//! Listings of devices with their capacities, of schemes and of settings. Each serializes to the JSON of its command.

use crate::config::{
    Allocation, Array, Asked, Config, ConfigError, Derived, Device, Ftl, Host, Idle, Overhead, Sheet, Spare, Survival, find_scheme, keys,
};
use crate::presets::PRESETS;
use flashraid_ftl::Placement;
use flashraid_redundancy::{Entry, Protects, SCHEMES, Values, WriteBuffer};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A preset.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceLine {
    /// The name to ask for.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
}

/// A device with what follows from its numbers.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceDetail {
    /// Name in results.
    pub name: String,
    /// One sentence, if it is a preset.
    pub about: Option<&'static str>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Derived numbers.
    #[serde(flatten)]
    pub derived: Derived,
    /// What each scheme makes of it, by the scheme's name.
    pub schemes: BTreeMap<&'static str, Capacity>,
    /// All its settings, as given: with `slice`, of all of it, where the numbers above are of its slice.
    pub device: Device,
    /// The SSDs of an array; absent for a single SSD.
    #[serde(skip_serializing_if = "Array::is_single")]
    pub array: Array,
    /// Each of these, spare ones included; absent for a single SSD.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ssds: Vec<SsdLine>,
    /// Requests that it takes at a time; absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_queue_depth: Option<u32>,
    /// What its maker states; absent if its file has no such table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<Sheet>,
}

/// An SSD of an array before it is used.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SsdLine {
    /// Its number.
    pub number: u32,
    /// Whether it waits to take the place of another one.
    pub is_spare: bool,
    /// Bytes of its flash, without spare chips.
    pub raw_bytes: u64,
    /// Share of the erases that it endures that it has spent. Null without a limit.
    pub age: Option<f64>,
    /// Erases of all its blocks so far.
    pub erases: u64,
    /// Erases that its blocks endure: their number times `pe_limit`. Null without a limit.
    pub endurance: Option<u64>,
}

/// The SSDs of an array.
fn ssds(device: &Device, array: &Array) -> Vec<SsdLine> {
    let line = |(number, device): (u32, Device)| {
        let (blocks, limit) = (device.blocks(), device.pe_limit);
        let (preset, has_limit) = (array.preset_erases(number, limit), limit > 0);
        SsdLine {
            number,
            is_spare: number >= array.devices,
            raw_bytes: device.geometry().raw_bytes(),
            age: has_limit.then(|| f64::from(preset) / f64::from(limit)),
            erases: blocks * u64::from(preset),
            endurance: has_limit.then_some(blocks * u64::from(limit)),
        }
    };
    (0..).zip(array.each(device)).filter(|_| !array.is_single()).map(line).collect()
}

/// What a scheme makes of a device.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Capacity {
    /// It can be built.
    Offered {
        /// Host pages.
        user_pages: u64,
        /// Host bytes.
        user_bytes: u64,
        /// Bytes of flash that the host does not get: over-provisioning, and parity or copies.
        reserved_bytes: u64,
        /// Share of the pages for data and redundancy that are not live when all host pages are written. Null with log blocks.
        effective_over_provisioning: Option<f64>,
        /// The part of it that GC can use: what lies above the pages that it keeps free, `gc_threshold` of them or `gc_reserve_blocks` blocks.
        usable_over_provisioning: Option<f64>,
        /// What the scheme costs.
        #[serde(flatten)]
        overhead: Overhead,
        /// What may die without loss.
        survives: Survival,
        /// What is likely to surprise in its configuration.
        warnings: Vec<String>,
    },
    /// It cannot.
    Refused {
        /// Why.
        refused: String,
    },
}

/// A complete configuration, and the space that it gives the host.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigDetail {
    /// Every setting, defaults filled in.
    pub config: Config,
    /// Bytes that the scheme offers on the device.
    pub user_bytes: u64,
    /// Bytes of the logical space.
    pub space_bytes: u64,
    /// About the most memory that a run takes (`Config::memory_bytes`).
    pub memory_bytes: u64,
    /// Where programs find their pages.
    pub placement: Placed,
    /// Settings asked for that no run of the configuration would notice.
    pub idle: Vec<Idle>,
    /// Whether another seed makes another run (`Run::is_random`).
    pub is_random: bool,
}

/// The effective values of `allocation` and `ftl` under the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Placed {
    /// How the plane of a program is selected: `static`, `dynamic_member` (in the member that the layout names) or `dynamic` (in the FTL instance).
    #[schemars(extend("enum" = Allocation::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>()))]
    pub allocation: &'static str,
    /// The planes that an FTL instance owns: those of a member, of a group of members, or of the device.
    #[schemars(extend("enum" = [Ftl::Member, Ftl::Group, Ftl::Device].map(Ftl::name)))]
    pub ftl: &'static str,
    /// Number of FTL instances.
    #[schemars(extend("unit" = "instances"))]
    pub instances: u32,
}

impl Placed {
    /// What the placement is called, on a device of so many members.
    pub fn of(placement: Placement, members: u32) -> Self {
        let (allocation, ftl, instances) = match placement {
            Placement::Static | Placement::Blocks => (Allocation::Static, Ftl::Member, members),
            Placement::Member => (Allocation::DynamicMember, Ftl::Member, members),
            Placement::Groups(1) => (Allocation::Dynamic, Ftl::Device, 1),
            Placement::Groups(groups) => (Allocation::Dynamic, Ftl::Group, groups),
        };
        Self { allocation: allocation.name(), ftl: ftl.name(), instances }
    }
}

/// A scheme.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeDetail {
    /// The name to ask for.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// The idea, and the overhead.
    pub about: &'static str,
    /// What it survives failures of: none, chip, channel, member or device.
    pub protects: &'static str,
    /// How many at once.
    pub survives_failures: u32,
    /// What that comes to on a device, in words: which chips and channels may die.
    pub survives: String,
    /// When it does not survive it, if there are such times.
    pub window: Option<String>,
    /// What it asks of the number of members.
    pub members: String,
    /// What it keeps in NVRAM, or has there by its paper: a write buffer, a parity cache.
    pub nvram: Vec<&'static str>,
    /// Its parameters.
    pub parameters: Vec<ParameterDetail>,
}

/// A parameter of a scheme.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterDetail {
    /// Key in the configuration.
    pub name: &'static str,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Allowed words; empty if it takes a number.
    pub choices: &'static [&'static str],
    /// What is allowed, in words.
    pub allowed: String,
    /// The value taken if none is given, as text.
    pub default: String,
    /// One sentence.
    pub about: &'static str,
    /// Under what it has effect, in words. Null if always.
    pub needs: Option<&'static str>,
}

/// A setting, for the command's help.
#[derive(Clone, Debug, Serialize)]
pub struct SettingDetail {
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub key: &'static str,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// Default as text; absent if it must be given.
    pub default: Option<&'static str>,
    /// Allowed values in words.
    pub allowed: String,
    /// One sentence.
    pub about: &'static str,
    /// Under what it has effect, in words. Null if always.
    pub needs: Option<&'static str>,
    /// Words that it takes, as far as there is something to say of them.
    pub words: Vec<WordDetail>,
}

/// A word that a setting takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WordDetail {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// Every preset.
pub fn devices() -> Vec<DeviceLine> {
    PRESETS.iter().map(|preset| DeviceLine { name: preset.name, about: preset.about }).collect()
}

/// One device (a preset or a TOML file), under `scheme` or under every scheme.
///
/// A scheme that cannot be built on it says why in its place; only a bad device or an unknown scheme is an error.
pub fn device(name: &str, scheme: Option<&str>) -> Result<DeviceDetail, ConfigError> {
    let entries = match scheme {
        Some(name) => std::slice::from_ref(find_scheme(name)?),
        None => SCHEMES,
    };
    let (whole, array) = (Device::load(name)?, Array::load(name)?);
    let device = whole.sliced()?;
    Ok(DeviceDetail {
        name: device.name.clone(),
        about: PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.about),
        page_bytes: device.page_bytes,
        derived: array.derived(&device),
        schemes: entries.iter().map(|entry| (entry.name, capacity(name, entry))).collect(),
        ssds: ssds(&device, &array),
        device_queue_depth: Some(Host::load(name)?.device_queue_depth).filter(|depth| *depth > 0),
        sheet: Sheet::load(name)?,
        device: whole,
        array,
    })
}

fn capacity(device: &str, entry: &Entry) -> Capacity {
    let config = match Config::assemble(Some(device), Some(entry.name), None, &[]) {
        Ok(config) => config,
        Err(ConfigError(refused)) => return Capacity::Refused { refused },
    };
    match config.build_scheme() {
        Ok(scheme) => {
            let user_pages = scheme.user_pages();
            let user_bytes = user_pages * u64::from(config.device.unit_bytes());
            let spare = config.spare_when_full();
            Capacity::Offered {
                user_pages,
                user_bytes,
                reserved_bytes: config.derived().raw_bytes - user_bytes,
                effective_over_provisioning: spare.map(|spare| spare.free),
                usable_over_provisioning: spare.map(Spare::usable),
                overhead: Overhead::of(&config, scheme.as_ref()),
                survives: Survival::of(&config, scheme.as_ref()),
                warnings: config.warnings().unwrap_or_default(),
            }
        }
        Err(ConfigError(refused)) => Capacity::Refused { refused },
    }
}

/// What a configuration comes to.
pub fn config(asked: impl Into<Asked>) -> Result<ConfigDetail, ConfigError> {
    let asked = asked.into();
    let (idle, config) = (asked.idle().collect(), asked.config);
    let scheme = config.build_scheme()?;
    let user_bytes = scheme.user_pages() * u64::from(config.device.unit_bytes());
    let placement = Placed::of(config.placement(scheme.as_ref()), u32::from(config.members()));
    let (space_bytes, memory_bytes) = (config.space_bytes(scheme.as_ref()), config.memory_bytes(scheme.as_ref()));
    Ok(ConfigDetail { user_bytes, space_bytes, memory_bytes, placement, idle, is_random: config.run.is_random(), config })
}

/// One scheme, or every scheme.
pub fn schemes(name: Option<&str>) -> Result<Vec<SchemeDetail>, ConfigError> {
    match name {
        Some(name) => Ok(vec![scheme_detail(find_scheme(name)?)]),
        None => Ok(SCHEMES.iter().map(scheme_detail).collect()),
    }
}

fn scheme_detail(entry: &Entry) -> SchemeDetail {
    let parameters = entry.parameters().map(|parameter| ParameterDetail {
        name: parameter.name,
        unit: parameter.unit,
        choices: match parameter.values {
            Values::Words(words) => words,
            Values::Whole { .. } | Values::Decimal { .. } | Values::Percentages { .. } => &[],
        },
        allowed: parameter.values.allowed() + crate::config::also(parameter.unit),
        default: parameter.values.default_text(),
        about: parameter.about,
        needs: parameter.needs.map(|(words, _)| words),
    });
    SchemeDetail {
        name: entry.name,
        title: entry.title,
        about: entry.about,
        protects: entry.protects.name(),
        survives_failures: entry.survives_failures(),
        survives: survives(entry, |chips| format!("; with member = chip {chips}")),
        window: entry.has_window.then(|| {
            format!(
                "until their parity is committed, written pages are lost if their {} fails; results give the number of exposed pages and the \
                 time (window)",
                entry.protects.name()
            )
        }),
        members: entry.members_text(),
        nvram: nvram(entry),
        parameters: parameters.collect(),
    }
}

fn nvram(entry: &Entry) -> Vec<&'static str> {
    let buffer = (entry.write_buffer != WriteBuffer::Unused).then_some("write buffer");
    buffer.into_iter().chain(entry.parity_cache.map(|_| "parity cache")).collect()
}

/// The units of which one or two may die; `of_chips` adds which these are on devices whose chips are the members, where that makes a difference.
fn survives(entry: &Entry, of_chips: impl Fn(String) -> String) -> String {
    let on_device = entry.protects.survives(entry.failures);
    let with_chips = (entry.protects == Protects::Member).then(|| of_chips(Protects::Chip.survives(entry.failures)));
    on_device + &with_chips.unwrap_or_default()
}

/// The table of schemes in README.md.
pub fn schemes_markdown() -> String {
    let mut text =
        String::from("| scheme | idea and overhead | survives the loss of | members | NVRAM |\n| --- | --- | --- | --- | --- |\n");
    for entry in SCHEMES {
        let survives = survives(entry, |_| " (*)".into());
        let but = if entry.has_window { ", except for pages whose redundancy is still to be made (`window`)" } else { "" };
        let (members, nvram) = (entry.members_text(), nvram(entry).join(", "));
        let _ = writeln!(text, "| `{}` | {}: {} | {survives}{but} | {members} | {nvram} |", entry.name, entry.title, entry.about);
    }
    text
}

/// Every setting but the schemes' parameters, which [`schemes`] lists.
pub fn settings() -> Vec<SettingDetail> {
    let detail = |key: &crate::config::Key| SettingDetail {
        table: key.table,
        key: key.name,
        unit: key.unit,
        default: key.default,
        allowed: key.allowed(),
        about: key.about,
        needs: key.effect.needs.map(|need| need.words),
        words: key.explained().into_iter().map(|(name, about)| WordDetail { name, about }).collect(),
    };
    keys().map(detail).collect()
}
