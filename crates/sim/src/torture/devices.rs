//! The devices of episodes: small, of many shapes, with every setting of the schema, at fills up to the highest legal one.
//!
//! What is drawn follows from the schema: each key of it, and each parameter of a scheme, is drawn from all its words, has a rule here, or stands in
//! `rule` as never drawn, with the reason. A key is drawn when it is first needed, so that rules may look at what others came to; what is asked for
//! (`Torture::settings`) takes the place of what would be drawn. The size of a plane and the over-provisioning come last, computed so that all fits.

use super::Torture;
use crate::config::{Config, ConfigError, Kind, TABLES, find_scheme};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Entry, Values};
use flashraid_workload::SplitMix64;

/// Physical pages, at most, that dies and planes are multiplied up to.
const MOST_PAGES: u64 = 4_000;

/// Blocks of a plane with which every shape and scheme has room.
const ROOMY_BLOCKS: &str = "64";

/// Blocks that a plane may have more than drawn, until all fits.
const MOST_MORE_BLOCKS: u32 = 60;

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

/// How a setting is drawn.
enum Rule {
    /// Not at all, for this reason: it has no effect.
    Never(&'static str),
    /// Each of the words, or of `true` and `false`, is as likely.
    AnyWord,
    /// Each of these is as likely; what stands there twice, twice.
    OneOf(&'static [&'static str]),
    /// By what others came to; `None` leaves the default, where nothing else has an effect or is allowed.
    By(fn(&mut Drawing) -> Option<String>),
    /// When everything else is known.
    Last,
}

/// Refuses settings that torture cannot heed.
pub fn check_asked(torture: &Torture) -> Result<(), ConfigError> {
    for (key, value) in &torture.settings {
        let (option, said) = match key.as_str() {
            "scheme.name" => ("scheme", &torture.scheme),
            "rebuild" | "host.rebuild" if torture.rebuild != "auto" => ("rebuild", &torture.rebuild),
            _ => ("", value),
        };
        if said != value {
            return Err(ConfigError(format!("--{option} {said} and --set {key}={value} contradict each other: give one of them")));
        }
        let bare = key.rsplit('.').next().expect("a part at least");
        if let Some(Rule::Never(reason)) = rule(bare).filter(|_| option.is_empty()) {
            return Err(ConfigError(format!("{key} = {value} has no effect: {reason}")));
        }
    }
    Ok(())
}

/// The settings of an episode, as far as they are drawn.
struct Drawing<'a> {
    torture: &'a Torture,
    entry: &'static Entry,
    random: Random,
    drawn: Vec<(&'static str, Option<String>)>,
}

/// How a key of the schema, or a parameter of a scheme, is drawn. `None` if nobody has said.
fn rule(key: &str) -> Option<Rule> {
    const TRACE: &str = "torture makes its own requests";
    Some(match key {
        "name" => Rule::Never("a label"),
        "verify" => Rule::Never("torture verifies, whatever it says"),
        "verify_every" => Rule::Never("torture verifies at each kill"),
        "fail" => Rule::Never("torture makes its own failures"),
        "format" | "time_unit" | "device_filter" | "on_error" | "op" | "action" | "object_bytes" => Rule::Never(TRACE),
        "limit" | "speed" | "queue_depth" | "fit" => Rule::Never(TRACE),
        "warmup" => Rule::Never("concerns statistics, of which torture has none"),

        "channels" => Rule::By(channels),
        "chips_per_channel" => Rule::By(|draw| {
            let (least, most) = match draw.entry.mirror_chips > 0 {
                true => (2, 4),
                false if draw.is("member", "chip") => (2, 3),
                false => (1, 4),
            };
            Some(draw.random.within(least, most).to_string())
        }),
        "mirror_chips" => Rule::By(|draw| {
            let chips = draw.number("chips_per_channel");
            // One half of the chips at most: a channel has all its data on the others.
            (draw.entry.mirror_chips > 0).then(|| draw.random.within(1, (chips / 2).max(1)).to_string())
        }),
        "spare_chips" => Rule::OneOf(&["0", "0", "1", "2", "3", "4"]),
        "dies_per_chip" => Rule::By(|draw| Some(draw.one_or_two(1))),
        "planes_per_die" => Rule::By(|draw| {
            let dies = draw.number("dies_per_chip");
            Some(draw.one_or_two(dies))
        }),
        "pages_per_block" => Rule::By(|draw| Some(draw.random.within(2, 8).to_string())),
        "page_bytes" => Rule::OneOf(&["4096", "512", "1024"]),
        "read_ns" => Rule::OneOf(&["20000", "25000", "200000", "1"]),
        "program_ns" => Rule::OneOf(&["200000", "200000", "20000", "1500000"]),
        "erase_ns" => Rule::OneOf(&["1500000", "1500000", "20000"]),
        "bus_ps_per_byte" => Rule::OneOf(&["25000", "25000", "1000", "0"]),
        "read_command_ns" | "program_command_ns" | "erase_command_ns" => Rule::OneOf(&["0", "100", "5000"]),
        "member" => Rule::By(|draw| {
            // Mirror chips belong to a channel.
            (draw.entry.mirror_chips == 0).then(|| draw.random.of_list(&["channel", "channel", "chip"]).into())
        }),
        "ftl" | "blocks_per_plane" | "over_provisioning" | "space_bytes" | "fill" | "fill_bytes" | "buffer_bytes_per_gib" => Rule::Last,
        "mapping" => Rule::By(mapping),
        "cmt_entries" => Rule::By(|draw| draw.is("mapping", "dftl").then(|| draw.random.of_list(&["1", "4", "16", "16", "64"]).into())),
        "log_blocks" => Rule::By(|draw| {
            let least = if draw.is("mapping", "fast") { 2 } else { 1 };
            let planes = draw.number("dies_per_chip") * draw.number("planes_per_die");
            draw.is_hybrid().then(|| (draw.random.within(least, 4) * planes).to_string())
        }),
        "allocation" => Rule::By(|draw| {
            // A strip and its copy are in one member, wherever it has room.
            let words: &[&str] = match draw.entry.mirror_chips > 0 {
                true => &["semi_dynamic", "dynamic"],
                false => &["semi_dynamic", "semi_dynamic", "static", "dynamic"],
            };
            (!draw.is_hybrid()).then(|| draw.random.of_list(words).into())
        }),
        "static_order" => Rule::By(|draw| {
            let orders = ["WDP", "WPD", "DWP", "DPW", "PWD", "PDW"];
            draw.is("allocation", "static").then(|| draw.random.of_list(&orders).into())
        }),
        "multi_plane" => Rule::By(|draw| (!draw.is_hybrid()).then(|| draw.random.of_list(&["false", "true"]).into())),
        "write_completes" => Rule::AnyWord,
        "gc_threshold" => Rule::By(|draw| (!draw.is_hybrid()).then(|| draw.random.of_list(&["0", "0.1", "0.3", "0.5"]).into())),
        "gc_hard" => Rule::OneOf(&["2", "2", "3"]),
        "wear_leveling" => Rule::By(|draw| {
            let words: &[&str] = if draw.is_hybrid() { &["none", "dynamic"] } else { &["none", "dynamic", "static"] };
            Some(draw.random.of_list(words).into())
        }),
        "wear_spread" => Rule::By(|draw| draw.is("wear_leveling", "static").then(|| draw.random.of_list(&["1", "2", "5"]).into())),
        "buffer_bytes" => Rule::By(|draw| (draw.buffer() == "dram").then(|| draw.buffered_bytes())),
        "nvram_buffer_bytes" => Rule::By(|draw| (draw.buffer() == "nvram").then(|| draw.buffered_bytes())),
        "nvram_victim" => {
            Rule::By(|draw| (draw.number("nvram_buffer_bytes") > 0).then(|| draw.random.of_list(&["oldest_write", "largest_group"]).into()))
        }
        "buffer_ns" => Rule::OneOf(&["1000", "0", "300000"]),

        "parity_in_response" => Rule::OneOf(&["true", "true", "false"]),
        "unwritten" => Rule::OneOf(&["zero", "zero", "prefill"]),
        "rebuild" => Rule::By(|draw| {
            let suiting: Vec<_> = ORDERS.iter().filter(|order| (order.suits)(draw.entry).is_ok()).map(|order| order.name).collect();
            Some(match draw.torture.rebuild.as_str() {
                "auto" if suiting.is_empty() => "none".into(),
                "auto" => draw.random.of_list(&suiting).into(),
                order => order.into(),
            })
        }),
        "rebuild_window" => Rule::OneOf(&["0", "0", "1", "2", "16"]),
        "precondition" => Rule::OneOf(&["none", "none", "none", "random:0.5", "random:2"]),
        "seed" => Rule::By(|draw| Some(draw.random.below(1 << 32).to_string())),

        "groups" => Rule::By(|draw| Some(draw.random.of_list(&["2", "2", "3"]).into())),
        "completes" => Rule::OneOf(&["all_copies", "all_copies", "first_copy"]),
        "mw_limit" => Rule::OneOf(&["1000", "1000", "1.1", "3", "0"]),
        "alpha" => Rule::OneOf(&["0", "0", "0.5", "1"]),
        "parity_cache_bytes" => Rule::By(|draw| {
            let page_bytes = draw.number("page_bytes");
            (draw.torture.device.is_none()).then(|| (draw.random.of_list(&[1, 2, 3, 5, 8]) * page_bytes).to_string())
        }),
        // Where pages do not move freely, nor do semivalid ones.
        "gc_semivalid" => Rule::By(|draw| (!draw.is_hybrid()).then(|| draw.random.of_list(&["commit", "commit", "move"]).into())),
        _ => return None,
    })
}

/// As many as the scheme asks for, and not many more.
fn channels(draw: &mut Drawing) -> Option<String> {
    let of_chips = draw.is("member", "chip");
    let channels = match draw.entry.name {
        "raid1" => draw.random.of_list(&[2, 4, 6]),
        _ if draw.entry.parameters.iter().any(|parameter| parameter.name == "groups") => {
            let groups = draw.number("groups").max(1);
            groups * draw.random.within(1, (6 / groups).max(1))
        }
        _ if of_chips => draw.random.within(2, 3),
        _ if draw.entry.mirror_chips > 0 => draw.random.within(3, 5),
        _ => draw.random.within(3, 8),
    };
    Some(channels.to_string())
}

/// Hybrid mapping is for schemes that leave pages where they are.
fn mapping(draw: &mut Drawing) -> Option<String> {
    let moves = draw.entry.mirror_chips > 0 || draw.has_parameter("groups") || draw.is_asked("gc_semivalid", "move");
    let words: &[&str] = if moves { &["page", "page", "dftl"] } else { &["page", "page", "page", "dftl", "dftl", "bast", "fast"] };
    Some(draw.random.of_list(words).into())
}

impl Drawing<'_> {
    /// What is asked for.
    fn asked(&self, key: &str) -> Option<&str> {
        let settings = self.torture.settings.iter().rev();
        let name = |given: &'_ str| given.rsplit_once('.').map_or(given.to_string(), |(_, name)| name.to_string());
        settings.map(|(given, value)| (name(given), value.as_str())).find(|(given, _)| given == key).map(|(_, value)| value)
    }

    fn is_asked(&self, key: &str, value: &str) -> bool {
        self.asked(key) == Some(value)
    }

    fn has_parameter(&self, name: &str) -> bool {
        self.entry.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// What a setting has come to, drawn now if need be; empty for its default.
    fn value(&mut self, key: &'static str) -> String {
        if let Some(asked) = self.asked(key) {
            return asked.into();
        }
        if let Some((_, value)) = self.drawn.iter().find(|(name, _)| *name == key) {
            return value.clone().unwrap_or_default();
        }
        let value = match rule(key).unwrap_or(Rule::AnyWord) {
            Rule::Never(_) | Rule::Last => None,
            Rule::AnyWord => Some(self.random.of_list(&words_of(key, self.entry)).to_string()),
            Rule::OneOf(values) => Some(self.random.of_list(values).to_string()),
            Rule::By(draw) => draw(self),
        };
        self.drawn.push((key, value.clone()));
        value.unwrap_or_default()
    }

    fn is(&mut self, key: &'static str, value: &str) -> bool {
        self.value(key) == value
    }

    fn is_hybrid(&mut self) -> bool {
        ["bast", "fast"].contains(&self.value("mapping").as_str())
    }

    /// A number that has been drawn or asked for; 0 for none.
    fn number(&mut self, key: &'static str) -> u64 {
        self.value(key).parse().unwrap_or(0)
    }

    /// One or two parts of each of so many parts of a chip, as far as the device stays small.
    fn one_or_two(&mut self, parts: u64) -> String {
        let pages = 12 * self.number("pages_per_block") * self.number("channels") * self.number("chips_per_channel");
        let most = if 2 * parts * pages > MOST_PAGES { 1 } else { 2 };
        self.random.within(1, most).to_string()
    }

    /// Which kind of buffer there is: one that is asked for takes the place of any other.
    fn buffer(&mut self) -> String {
        const KINDS: [(&str, &str); 3] = [("buffer_bytes", "dram"), ("nvram_buffer_bytes", "nvram"), ("buffer_bytes_per_gib", "per_gib")];
        if KINDS.iter().any(|(key, _)| self.asked(key).is_some()) || self.torture.device.is_some() {
            return "none".into();
        }
        if let Some((_, Some(kind))) = self.drawn.iter().find(|(name, _)| *name == BUFFER) {
            return kind.clone();
        }
        let kind = if self.has_parameter("parity_cache_bytes") || self.entry.name == "no-pc" {
            self.random.of_list(&["none", "none", "dram", "per_gib", "nvram", "nvram"])
        } else {
            self.random.of_list(&["none", "none", "none", "dram", "dram", "per_gib", "nvram", "nvram"])
        };
        self.drawn.push((BUFFER, Some(kind.into())));
        kind.into()
    }

    fn buffered_bytes(&mut self) -> String {
        (self.random.within(1, 12) * self.number("page_bytes")).to_string()
    }

    /// All that is drawn so far, and all that is asked for.
    fn settings(&self) -> Vec<(String, String)> {
        let drawn = self.drawn.iter().filter(|(key, _)| *key != BUFFER && self.asked(key).is_none());
        let drawn = drawn.filter_map(|(key, value)| Some((key.to_string(), value.clone()?)));
        drawn.chain(self.torture.settings.iter().cloned()).collect()
    }
}

/// Stands for the kind of the buffer among what is drawn; no key.
const BUFFER: &str = "";

/// The words of a key or parameter that has words.
fn words_of(key: &str, entry: &Entry) -> Vec<&'static str> {
    let kind = TABLES.iter().flat_map(|table| table.keys).find(|of_table| of_table.name == key).map(|key| key.kind);
    match (kind, entry.parameters.iter().find(|parameter| parameter.name == key).map(|parameter| parameter.values)) {
        (Some(Kind::Word(words)), _) => words.iter().map(|(word, _)| *word).collect(),
        (Some(Kind::Flag), _) => vec!["false", "true"],
        (_, Some(Values::Words(words))) => words.to_vec(),
        _ => panic!("nobody has said how torture draws {key}"),
    }
}

/// The configuration of an episode under `scheme`.
pub fn draw(torture: &Torture, scheme: &str, number: u64) -> Result<Config, ConfigError> {
    let entry = find_scheme(scheme)?;
    let mut drawing = Drawing { torture, entry, random: Random::of(torture.seed, number, 1), drawn: Vec::new() };
    let tables = TABLES.iter().filter(|table| table.name != "scheme" && (table.name != "device" || torture.device.is_none()));
    for key in tables.flat_map(|table| table.keys) {
        drawing.value(key.name);
    }
    for parameter in entry.parameters {
        // Of a device that is given, no group of channels may be left over.
        if torture.device.is_none() || parameter.name != "groups" {
            drawing.value(parameter.name);
        }
    }
    drawing.drawn.push(("verify", Some("true".into())));
    match &torture.device {
        Some(device) => {
            drawing.drawn.push(("fill", Some(drawing.random.of_list(&["1", "1", "0.8", "0.5", "0"]).into())));
            Config::assemble(Some(device), Some(scheme), None, &drawing.settings())
        }
        None => sized(drawing),
    }
}

/// Settles how large the planes are and how much of them is offered; then what depends on it.
fn sized(mut drawing: Drawing) -> Result<Config, ConfigError> {
    let scheme = drawing.entry.name;
    let assemble = |drawing: &Drawing, more: &[(&str, String)]| {
        let mut settings = drawing.settings();
        settings.extend(more.iter().map(|(key, value)| (key.to_string(), value.clone())));
        Config::assemble(Some("tiny"), Some(scheme), None, &settings)
    };
    // What has an effect on where pages may go has none on how much room there must be for it.
    let roomy = [("blocks_per_plane", ROOMY_BLOCKS.to_string()), ("over_provisioning", "0.7".into()), ("space_bytes", "0".into())];
    let without_fill = [("fill", "0".to_string()), ("fill_bytes", "0".into())];
    let roomy: Vec<_> = roomy.into_iter().chain(without_fill.clone()).collect();
    let mut shape = assemble(&drawing, &roomy)?;
    if drawing.asked("ftl").is_none() {
        let ftl = drawing.random.of_list(&words_of("ftl", drawing.entry));
        // An instance over several members may be what the scheme does not survive.
        if let Ok(spread) = assemble(&drawing, &[&roomy[..], &[("ftl", ftl.into())]].concat()) {
            shape = spread;
            drawing.drawn.push(("ftl", Some(ftl.into())));
        }
    }
    let placement = shape.placement(&*shape.build_scheme()?);
    // Schemes that keep old pages until a commit keep one an entry.
    let held = match drawing.has_parameter("gc_semivalid") {
        true => (drawing.number("parity_cache_bytes") / drawing.number("page_bytes").max(1)).max(1) as u32,
        false => 2 * drawing.entry.mirror_chips,
    };
    let mut device = shape.device.clone();
    let asked_blocks = drawing.asked("blocks_per_plane").and_then(|blocks| blocks.parse().ok());
    device.blocks_per_plane = asked_blocks.unwrap_or(drawing.random.within(8, 14) as u32);
    let more = if asked_blocks.is_some() { 0 } else { MOST_MORE_BLOCKS };
    let asked_share: Option<f64> = drawing.asked("over_provisioning").and_then(|share| share.parse().ok());
    let range = (0..=more).find_map(|_| {
        let range = device.over_provisioning_range_ppm(placement, held);
        let is_wide = range.is_some_and(|(least, most)| {
            asked_share.map_or(least + WIDTH_PPM <= most, |share| (least..=most).contains(&((share * 1e6).round() as u64)))
        });
        device.blocks_per_plane += u32::from(!is_wide);
        range.filter(|_| is_wide)
    });
    if asked_blocks.is_none() {
        drawing.drawn.push(("blocks_per_plane", Some(device.blocks_per_plane.to_string())));
    }
    if let (None, Some((least, most))) = (asked_share, range) {
        // The least that is legal and, mostly, some more, which is what is left to a member that has lost a chip.
        let share = drawing.random.of_list(&[0, 10, 25, 40, 50]);
        let ppm = least + (most - least) * share / 100;
        drawing.drawn.push(("over_provisioning", Some(format!("{:.6}", ppm as f64 / 1e6))));
    }
    per_gib(&mut drawing, &device);
    let config = assemble(&drawing, &without_fill)?;
    fill(&mut drawing, &config)?;
    assemble(&drawing, &[])
}

/// How far the over-provisioning may be varied on every device.
const WIDTH_PPM: u64 = 50_000;

/// A buffer that is a share of the device.
fn per_gib(drawing: &mut Drawing, device: &crate::config::Device) {
    if drawing.buffer() == "per_gib" {
        let bytes = u128::from(drawing.random.within(1, 12)) * u128::from(device.page_bytes);
        let share = ((bytes << 30).div_ceil(u128::from(device.geometry().raw_bytes()))).min(1 << 30);
        drawing.drawn.push(("buffer_bytes_per_gib", Some(share.to_string())));
    }
}

/// How much of the device is used, and what is there before the first request.
fn fill(drawing: &mut Drawing, config: &Config) -> Result<(), ConfigError> {
    let page_bytes = u64::from(config.device.page_bytes);
    let mut pages = config.space_bytes(&*config.build_scheme()?) / page_bytes;
    if drawing.asked("space_bytes").is_none() && drawing.random.once_in(4) {
        pages = drawing.random.within(pages.div_ceil(2), pages);
        drawing.drawn.push(("space_bytes", Some((pages * page_bytes).to_string())));
    }
    if drawing.asked("fill").is_some() || drawing.asked("fill_bytes").is_some() {
        return Ok(());
    }
    if drawing.random.once_in(4) {
        drawing.drawn.push(("fill_bytes", Some((drawing.random.within(0, pages) * page_bytes).to_string())));
    } else {
        drawing.drawn.push(("fill", Some(drawing.random.of_list(&["1", "1", "0.8", "0.5", "0"]).into())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashraid_redundancy::{Protects, SCHEMES};
    use std::collections::{BTreeMap, BTreeSet};

    /// Devices of each scheme.
    const DEVICES: u64 = 400;

    fn protecting() -> impl Iterator<Item = &'static Entry> {
        SCHEMES.iter().filter(|entry| entry.protects != Protects::None)
    }

    /// Whether some scheme takes this word on some device, if it is asked for.
    fn is_possible(key: &str, word: &str) -> bool {
        let torture = Torture { settings: vec![(key.into(), word.into())], ..Torture::default() };
        protecting().any(|entry| (0..20).any(|number| draw(&torture, entry.name, number).is_ok()))
    }

    /// Every key of the schema and every parameter of a scheme is drawn with all its words, or with several numbers, or is known not to be drawn;
    /// and every device that is drawn works.
    #[test]
    fn every_setting_is_drawn() {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for entry in protecting() {
            for number in 0..DEVICES {
                let config =
                    draw(&Torture::default(), entry.name, number).unwrap_or_else(|error| panic!("{} {number}: {error}", entry.name));
                for table in serde_json::to_value(&config).expect("plain data").as_object().expect("tables").values() {
                    for (key, value) in table.as_object().expect("keys") {
                        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
                        seen.entry(key.clone()).or_default().insert(text.clone());
                        seen.entry(format!("{} {key}", entry.name)).or_default().insert(text);
                    }
                }
            }
        }
        for table in TABLES.iter().filter(|table| table.name != "scheme") {
            for key in table.keys {
                let missed =
                    |words: &[&'static str]| words.iter().copied().filter(|word| !seen[key.name].contains(*word)).collect::<Vec<_>>();
                match (rule(key.name), key.kind) {
                    (Some(Rule::Never(_)), _) => {}
                    (_, Kind::Word(words)) => {
                        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                        let missed: Vec<_> = missed(&words).into_iter().filter(|word| is_possible(key.name, word)).collect();
                        assert!(missed.is_empty(), "{}: never drawn are {missed:?}", key.name);
                    }
                    (_, Kind::Flag) => assert!(missed(&["false", "true"]).is_empty(), "{}: only {:?}", key.name, seen[key.name]),
                    _ => assert!(seen[key.name].len() > 1, "{}: only {:?}", key.name, seen[key.name]),
                }
            }
        }
        for entry in protecting() {
            for parameter in entry.parameters {
                let drawn = &seen[&format!("{} {}", entry.name, parameter.name)];
                let all = if let Values::Words(words) = parameter.values { words.len() } else { 2 };
                assert!(drawn.len() >= all, "{} {}: only {drawn:?}", entry.name, parameter.name);
            }
        }
    }

    /// Whatever mapping is asked for, every scheme that allows it gets devices that work.
    #[test]
    fn every_mapping_suits_every_scheme_that_allows_it() {
        for entry in protecting() {
            for mapping in words_of("mapping", entry) {
                let torture = Torture { settings: vec![("mapping".into(), mapping.into())], ..Torture::default() };
                let is_refused = ["bast", "fast"].contains(&mapping) && (entry.mirror_chips > 0 || entry.name == "sirf1");
                for number in 0..200 {
                    match draw(&torture, entry.name, number) {
                        Ok(config) => assert!(!is_refused && config.device.mapping.name() == mapping, "{} {mapping}", entry.name),
                        Err(error) => {
                            assert!(is_refused && error.0.contains("allowed is page, dftl"), "{} {mapping} {number}: {error}", entry.name)
                        }
                    }
                }
            }
        }
    }

    /// What is asked for is what the device has, whatever else it asks for.
    #[test]
    fn what_is_asked_for_is_kept() {
        for (key, value) in
            [("blocks_per_plane", "30"), ("over_provisioning", "0.6"), ("device.gc_hard", "4"), ("space_bytes", "8192"), ("fill", "0.3")]
        {
            let torture = Torture { settings: vec![(key.into(), value.into())], ..Torture::default() };
            for number in 0..50 {
                let config = draw(&torture, "raid5", number).unwrap_or_else(|error| panic!("{key} = {value}, {number}: {error}"));
                let text = serde_json::to_value(&config).expect("plain data");
                let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
                let found = ["device", "run"].iter().find_map(|table| text[table].get(name)).expect("a key");
                assert_eq!(found.to_string(), value, "{key}");
            }
        }
    }
}
