//! The devices of episodes: small, of many shapes, with many settings, at fills up to the highest legal one.

use super::Torture;
use crate::config::{Config, ConfigError, find_scheme};
use flashraid_redundancy::Entry;
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_workload::SplitMix64;

/// Physical pages that are looked at in no time.
const MOST_PAGES: u64 = 6_000;

/// Settings that make a buffer.
const BUFFERS: [&str; 3] = ["buffer_bytes", "buffer_bytes_per_gib", "nvram_buffer_bytes"];

/// Random choices.
pub struct Random(SplitMix64);

impl Random {
    /// The sequence of an episode.
    pub fn of(seed: u64, episode: u64, purpose: u64) -> Self {
        let mut seeds = SplitMix64::new(seed ^ purpose << 60);
        Self(SplitMix64::new(seeds.next_u64() ^ episode.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// From `least` to `most`.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Whether something happens that happens once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn of_list<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

type Pairs = Vec<(String, String)>;

/// The configuration of an episode under `scheme`.
pub fn draw(torture: &Torture, scheme: &str, number: u64) -> Result<Config, ConfigError> {
    let mut random = Random::of(torture.seed, number, 1);
    let entry = find_scheme(scheme)?;
    let mut settings = Pairs::new();
    let order = match torture.rebuild.as_str() {
        "auto" => {
            let suiting: Vec<_> = ORDERS.iter().filter(|order| (order.suits)(entry).is_ok()).map(|order| order.name).collect();
            if suiting.is_empty() { "none" } else { random.of_list(&suiting) }
        }
        order => order,
    };
    let mut set = |key: &str, value: &str| settings.push((key.into(), value.into()));
    set("verify", "true");
    set("rebuild", order);
    set("rebuild_window", random.of_list(&["0", "0", "1", "2", "16"]));
    set("piggyback", random.of_list(&["false", "true"]));
    set("serial_subrequests", random.of_list(&["queued", "strict", "off"]));
    set("parity_in_response", random.of_list(&["true", "true", "false"]));
    set("unwritten", random.of_list(&["zero", "zero", "prefill"]));
    set("fill", random.of_list(&["1", "1", "0.8", "0.5", "0"]));
    for parameter in entry.parameters {
        let values: &[&str] = match parameter.name {
            "update" => &["fewest", "rmw", "rcw"],
            "mw_limit" => &["1000", "1.1", "3", "0"],
            "consolidate" => &["last_strip", "never"],
            "read" => &["round_robin", "least_busy"],
            "alpha" => &["0", "0", "0.5", "1"],
            "spares_recent" => &["half", "none"],
            "ppc_update" => &["paper", "min"],
            "early_release" => &["no", "yes"],
            "gc_semivalid" => &["commit", "commit", "move"],
            "fpc_cached_parity_free" => &["no", "yes"],
            _ => continue,
        };
        set(parameter.name, random.of_list(values));
    }
    let is_hybrid = |(key, value): &(String, String)| key == "mapping" && ["bast", "fast"].contains(&value.as_str());
    if torture.settings.iter().any(is_hybrid) {
        // Pages do not move freely.
        settings.retain(|(key, _)| key != "gc_semivalid");
    }
    let Some(device) = &torture.device else {
        shape(entry, torture, &mut random, &mut settings);
        // A buffer that is asked for takes the place of any other.
        if torture.settings.iter().any(|(key, _)| BUFFERS.contains(&key.as_str())) {
            settings.retain(|(key, _)| !BUFFERS.contains(&key.as_str()));
        }
        settings.extend(torture.settings.iter().cloned());
        return with_room("tiny", scheme, &mut random, settings);
    };
    settings.extend(torture.settings.iter().cloned());
    Config::assemble(Some(device), Some(scheme), None, &settings)
}

/// A small device.
fn shape(entry: &Entry, torture: &Torture, random: &mut Random, settings: &mut Pairs) {
    let scheme = entry.name;
    let has_parity_cache = entry.parameters.iter().any(|parameter| parameter.name == "parity_cache_bytes");
    let (mut member, mut channels, mut chips) = ("channel", random.within(3, 8), random.within(1, 4));
    match scheme {
        "raid1" => {
            channels = random.of_list(&[2, 4, 6, 8]);
            member = random.of_list(&["channel", "channel", "chip"]);
        }
        "sirf1" => {
            let groups = random.of_list(&[2, 2, 3]);
            channels = groups * random.within(1, 8 / groups);
            if !settings.iter().any(|(key, _)| key == "groups") {
                settings.push(("groups".into(), groups.to_string()));
            }
        }
        "cr5m" => (channels, chips) = (random.within(3, 6), random.within(2, 4)),
        _ if random.once_in(3) => (member, channels, chips) = ("chip", random.within(2, 3), random.within(2, 3)),
        _ => {}
    }
    let (mut dies, mut planes) = (random.within(1, 2), random.within(1, 2));
    let (blocks, pages) = (random.within(8, 14), random.within(3, 8));
    while channels * chips * dies * planes * blocks * pages > MOST_PAGES && dies * planes > 1 {
        if dies > 1 { dies = 1 } else { planes = 1 }
    }
    let page_bytes = random.of_list(&[4096, 512]);
    // With log blocks if that is asked for.
    let asked = torture.settings.iter().find(|(key, _)| key == "mapping").map(|(_, value)| value.as_str());
    let mapping = asked.unwrap_or("page");
    let is_hybrid = ["bast", "fast"].contains(&mapping);
    if is_hybrid {
        let logs = random.within(if mapping == "fast" { 2 } else { 1 }, 4) * dies * planes;
        settings.extend([("mapping", mapping.to_string()), ("log_blocks", logs.to_string())].map(|(key, value)| (key.into(), value)));
    }
    let numbers = [
        ("channels", channels),
        ("chips_per_channel", chips),
        ("spare_chips", random.of_list(&[0, 1, 2, 3, 4])),
        ("dies_per_chip", dies),
        ("planes_per_die", planes),
        ("blocks_per_plane", blocks),
        ("pages_per_block", pages),
        ("page_bytes", page_bytes),
        ("gc_hard", random.of_list(&[2, 2, 3])),
        ("wear_spread", random.of_list(&[1, 2, 5])),
    ];
    settings.extend(numbers.map(|(key, value)| (key.into(), value.to_string())));
    let words = [
        ("member", member),
        (
            "allocation",
            if scheme == "cr5m" { "semi_dynamic" } else { random.of_list(&["semi_dynamic", "semi_dynamic", "static", "dynamic"]) },
        ),
        ("array_unit", random.of_list(&["die", "chip"])),
        ("scheduling", random.of_list(&["read_first", "fifo"])),
        ("write_completes", random.of_list(&["program_end", "program_end", "data_in"])),
        ("gc_blocks", random.of_list(&["none", "unit", "chip", "channel"])),
        ("gc_threshold", random.of_list(&["0", "0.1", "0.3", "0.5"])),
        ("wear_leveling", random.of_list(&["none", "dynamic", if is_hybrid { "dynamic" } else { "static" }])),
        ("static_order", random.of_list(&["WDP", "PDW", "DPW"])),
        ("multi_plane", random.of_list(&["false", if is_hybrid { "false" } else { "true" }])),
        ("copyback", random.of_list(&["false", "true"])),
    ];
    settings.extend(words.map(|(key, value)| (key.into(), value.into())));
    let buffers = if scheme == "sirf1" { 2 } else { 5 };
    if random.once_in(buffers) {
        let bytes = random.within(1, 12) * 4096;
        settings.push(("buffer_bytes".into(), bytes.to_string()));
    } else if random.once_in(if has_parity_cache { 2 } else { 5 }) {
        settings.push(("nvram_buffer_bytes".into(), (random.within(1, 12) * page_bytes).to_string()));
        settings.push(("nvram_victim".into(), random.of_list(&["oldest_write", "largest_group"]).into()));
    }
    if has_parity_cache {
        settings.push(("parity_cache_bytes".into(), (random.of_list(&[1, 2, 3, 5, 8]) * page_bytes).to_string()));
    }
}

/// The over-provisioning is the least that is legal and, mostly, some more, which is what is left to a member that has lost a chip.
fn with_room(device: &str, scheme: &str, random: &mut Random, mut settings: Pairs) -> Result<Config, ConfigError> {
    let room = random.of_list(&[0.0, 0.1, 0.25, 0.4, 0.5]);
    if settings.iter().any(|(key, _)| key == "over_provisioning") {
        return Config::assemble(Some(device), Some(scheme), None, &settings);
    }
    let value = |key: &str| settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    // Of a plane under hybrid mapping a whole block must be left.
    let blocks = value("mapping").filter(|mapping| ["bast", "fast"].contains(mapping)).and(value("blocks_per_plane"));
    let most = blocks.and_then(|blocks| blocks.parse::<f64>().ok()).map_or(0.9, |blocks| 1.0 - 1.01 / blocks);
    settings.push(("over_provisioning".into(), format!("{most:.6}")));
    let config = Config::assemble(Some(device), Some(scheme), None, &settings)?;
    let placement = config.placement(&*config.build_scheme()?);
    let least = config.device.least_over_provisioning_ppm(placement).unwrap_or(900_000) as f64 / 1e6;
    settings.pop();
    let mut ratio = (least + room * (1.0 - least)).min(most);
    loop {
        settings.push(("over_provisioning".into(), format!("{ratio:.6}")));
        let config = Config::assemble(Some(device), Some(scheme), None, &settings);
        // Schemes that keep old versions need room for these.
        if config.is_ok() || ratio >= most {
            return config;
        }
        settings.pop();
        ratio = (ratio + 0.02).min(most);
    }
}
