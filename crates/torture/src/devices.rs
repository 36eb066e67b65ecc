//! The devices of episodes: small, of many shapes, with every setting of the schema, at fills up to the highest legal one.
//!
//! Settings are drawn by their rules. The size of a plane and the over-provisioning come last, computed so that all fits.

use super::asked::Torture;
use super::random::Random;
use super::rules::{Drawing, words_of};
use flashraid_sim::Prepared;
use flashraid_sim::config::{Config, ConfigError, Device, Draw, Key, TABLES, find_key, find_scheme};

/// Blocks of a plane with which every shape and scheme has space.
const ROOMY_BLOCKS: &str = "64";

/// Blocks that a plane may have more than drawn, until all fits.
const MOST_MORE_BLOCKS: u32 = 60;

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
        if let Some(Key { draw: Draw::Never(reason), .. }) = find_key(key).filter(|_| option.is_empty()) {
            return Err(ConfigError(format!("{key} = {value} has no effect: {reason}")));
        }
    }
    Ok(())
}

/// The configuration of an episode under `scheme`.
pub fn draw(torture: &Torture, scheme: &str, number: u64) -> Result<Config, ConfigError> {
    let entry = find_scheme(scheme)?;
    let mut drawing = Drawing { torture, entry, number, random: Random::of(torture.seed, number, 1), drawn: Vec::new() };
    let tables =
        TABLES.iter().filter(|table| table.name != "scheme" && (!["device", "array"].contains(&table.name) || torture.device.is_none()));
    for key in tables.flat_map(|table| table.keys) {
        drawing.value(key.name);
    }
    for parameter in entry.parameters() {
        // Of a device that is given, no group of channels may be left over.
        if torture.device.is_none() || entry.mirror_groups.is_none_or(|groups| groups.name != parameter.name) {
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
        let ftl = drawing.random.of_list(&words_of("ftl"));
        // An instance over several members may be what the scheme does not survive.
        if let Ok(spread) = assemble(&drawing, &[&roomy[..], &[("ftl", ftl.into())]].concat()) {
            shape = spread;
            drawing.drawn.push(("ftl", Some(ftl.into())));
        }
    }
    let placement = shape.placement(&*shape.build_scheme()?);
    // Schemes that keep old pages until a commit keep one an entry.
    let held = match drawing.entry.parity_cache.filter(|_| drawing.entry.bases.is_some()) {
        Some(bytes) => (drawing.number(bytes.name) / drawing.unit_bytes().max(1)).max(1) as u32,
        None => 2 * drawing.entry.mirror_chips,
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
        let has_room = is_wide && (device.mirror_chips == 0 || device.copies_held() > 0);
        device.blocks_per_plane += u32::from(!has_room);
        range.filter(|_| has_room)
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
    let mut config = assemble(&drawing, &without_fill);
    // The smallest devices may not offer the space that is asked for.
    let more = if drawing.asked("space_bytes").is_some() { more } else { 0 };
    for _ in 0..more {
        if config.is_ok() {
            break;
        }
        device.blocks_per_plane += 1;
        let blocks = drawing.drawn.iter_mut().rfind(|(key, _)| *key == "blocks_per_plane").expect("it was drawn");
        blocks.1 = Some(device.blocks_per_plane.to_string());
        config = assemble(&drawing, &without_fill);
    }
    let config = config?;
    fill(&mut drawing, &config)?;
    let config = assemble(&drawing, &[])?;
    Ok(constructed(&drawing, &config).unwrap_or(config))
}

/// Now and then, where that is possible: the same with a steady state that is constructed.
fn constructed(drawing: &Drawing, config: &Config) -> Option<Config> {
    let is_drawn = Random::of_key(drawing.torture.seed, drawing.number, "precondition = direct").once_in(6);
    if !is_drawn || drawing.asked("precondition").is_some() {
        return None;
    }
    let mut settings = drawing.settings();
    settings.retain(|(key, _)| key != "precondition");
    settings.push(("precondition".into(), "direct".into()));
    let direct = Config::assemble(Some("tiny"), Some(&config.scheme.name), None, &settings).ok()?;
    // Whether anything is spare shows when it is done.
    Prepared::new(direct.clone(), &mut |_| true).is_ok().then_some(direct)
}

/// How far the over-provisioning may be varied on every device.
const WIDTH_PPM: u64 = 50_000;

/// A buffer that is a share of the device.
fn per_gib(drawing: &mut Drawing, device: &Device) {
    if drawing.buffer() == "per_gib" {
        let bytes = u128::from(drawing.random.within(1, 12)) * u128::from(device.unit_bytes());
        let share = ((bytes << 30).div_ceil(u128::from(device.geometry().raw_bytes()))).min(1 << 30);
        drawing.drawn.push(("buffer_bytes_per_gib", Some(share.to_string())));
    }
}

/// How much of the device is used, and what is there before the first request.
fn fill(drawing: &mut Drawing, config: &Config) -> Result<(), ConfigError> {
    let page_bytes = u64::from(config.device.unit_bytes());
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
    use crate::states::{Case, STATES};
    use flashraid_ftl::{GcPolicy, policies};
    use flashraid_redundancy::schemes::{raid1, raid5, sirf1};
    use flashraid_redundancy::{Bases, Entry, Members, Parameter, Protects, SCHEMES, Values};
    use flashraid_sim::config::Kind;
    use flashraid_vocabulary::SemivalidAction;
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::LazyLock;

    /// Devices of each scheme.
    const DEVICES: u64 = 200;

    fn protecting() -> impl Iterator<Item = &'static Entry> {
        SCHEMES.iter().filter(|entry| entry.protects != Protects::None)
    }

    /// Whether some scheme takes this word on some device, if it is asked for.
    fn is_possible(key: &str, word: &str) -> bool {
        let torture = Torture { settings: vec![(key.into(), word.into())], ..Torture::default() };
        protecting().any(|entry| (0..20).any(|number| draw(&torture, entry.name, number).is_ok()))
    }

    /// Of the keys of the schema and the parameters of schemes: words of which none is among those that were drawn, and others with one value alone.
    fn missed(seen: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
        let mut all = Vec::new();
        for key in TABLES.iter().filter(|table| table.name != "scheme").flat_map(|table| table.keys) {
            let drawn = &seen[key.name];
            let is_drawn = |policy: &GcPolicy| drawn.iter().any(|value| value.split(':').next() == Some(policy.name()));
            let is_missed = match (key.draw, key.kind) {
                (Draw::Never(_), _) => false,
                (_, Kind::Word(words)) => words.iter().any(|(word, _)| !drawn.contains(*word) && is_possible(key.name, word)),
                (_, Kind::GcPolicy) => !policies().all(is_drawn),
                _ => drawn.len() < 2,
            };
            if is_missed {
                all.push(format!("{}: only {drawn:?}", key.name));
            }
        }
        for (entry, parameter) in protecting().flat_map(|entry| entry.parameters().map(move |parameter| (entry, parameter))) {
            let drawn = &seen[&format!("{} {}", entry.name, parameter.name)];
            if drawn.len() < values_of(parameter) {
                all.push(format!("{} {}: only {drawn:?}", entry.name, parameter.name));
            }
        }
        all
    }

    /// How many values of a parameter there are; two, if it is a number.
    fn values_of(parameter: &Parameter) -> usize {
        if let Values::Words(words) = parameter.values { words.len() } else { 2 }
    }

    /// Every key of the schema and every parameter of a scheme is drawn with all its words, or with several numbers, or is known not to be drawn;
    /// and every device that is drawn works.
    #[test]
    fn every_setting_is_drawn() {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for number in 0..DEVICES {
            for entry in protecting() {
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
            if (number + 1).is_multiple_of(40) && missed(&seen).is_empty() {
                break;
            }
        }
        assert_eq!(missed(&seen), [""; 0]);
        for (entry, parameter) in protecting().flat_map(|entry| entry.parameters().map(move |parameter| (entry, parameter))) {
            // The page size varies too, and with it the bytes of so many pages.
            assert!(parameter.drawn(4096).len() >= values_of(parameter), "{} {}: always as many pages", entry.name, parameter.name);
        }
    }

    /// What torture generates, injects or measures itself; all else is drawn.
    #[test]
    fn only_what_is_torture_s_own_is_never_drawn() {
        let never = TABLES.iter().flat_map(|table| table.keys).filter(|key| matches!(key.draw, Draw::Never(_))).map(|key| key.name);
        let of_traces =
            ["format", "time_unit", "device_filter", "on_error", "op", "action", "object_bytes", "sector_bytes", "columns", "separator"];
        let of_replay = [
            "limit",
            "speed",
            "jitter_ns",
            "queue_depth",
            "fit",
            "drive",
            "gc_phases",
            "warmup",
            "until",
            "verify",
            "verify_every",
            "fail",
            "replace",
        ];
        let of_cells = ["ldpc_erases", "ldpc_retention_ns", "ldpc_reads", "erases_before", "stored_ns"];
        let expected: Vec<_> = ["name"].into_iter().chain(of_cells).chain(["pe_limit", "ages"]).chain(of_traces).chain(of_replay).collect();
        assert_eq!(never.collect::<Vec<_>>(), expected);
    }

    /// Whatever mapping is asked for, every scheme that allows it gets devices that work.
    #[test]
    fn every_mapping_suits_every_scheme_that_allows_it() {
        for entry in protecting() {
            for mapping in words_of("mapping") {
                let torture = Torture { settings: vec![("mapping".into(), mapping.into())], ..Torture::default() };
                let moves = entry.mirror_chips > 0 || entry.mirror_groups.is_some();
                let is_hybrid = ["bast", "fast"].contains(&mapping);
                // The SSDs of an array hold their maps in RAM, and one on flash survives one failure.
                let is_refused = is_hybrid && moves || mapping == "dftl" && (entry.replaces_devices || entry.survives_failures() > 1);
                let allowed = if moves { "allowed is page, dftl" } else { "allowed is page, bast, fast" };
                for number in 0..20 {
                    match draw(&torture, entry.name, number) {
                        Ok(config) => assert!(!is_refused && config.device.mapping.name() == mapping, "{} {mapping}", entry.name),
                        Err(error) => {
                            // An SSD that may be replaced by a spare one is mapped by pages.
                            let allowed = if entry.replaces_devices { "allowed is page" } else { allowed };
                            assert!(is_refused && error.0.contains(allowed), "{} {mapping} {number}: {error}", entry.name)
                        }
                    }
                }
            }
        }
    }

    /// What is asked for is what the device has, whatever else it asks for.
    #[test]
    fn what_is_asked_for_is_kept() {
        for (key, value) in [
            ("blocks_per_plane", "30"),
            ("over_provisioning", "0.6"),
            ("device.gc_reserve_blocks", "4"),
            ("space_bytes", "8192"),
            ("fill", "0.3"),
        ] {
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
    /// Of schemes that limit their members more than those of the list do.
    #[test]
    fn members_are_legal_whatever_the_scheme_asks_for() {
        static LIMITED: [Entry; 3] = [
            Entry { members: Members { most: 7, ..Members::from(3) }, ..raid5::ENTRY },
            Entry { members: Members { least: 4, most: 9, multiple_of: 3 }, ..raid1::ENTRY },
            Entry { members: Members { most: 12, ..Members::from(5) }, ..sirf1::ENTRY },
        ];
        for entry in &LIMITED {
            let mut seen = BTreeSet::new();
            for number in 0..DEVICES {
                let mut drawing = drawing(entry, number);
                let chips = if drawing.value("member") == "chip" { drawing.number("chips_per_channel") } else { 1 };
                let members = match drawing.number("devices") {
                    0 | 1 => drawing.number("channels") * chips,
                    devices => devices,
                };
                let groups = entry.mirror_groups.map_or(1, |groups| drawing.number(groups.name));
                let is_legal = entry.members.legal(groups as u16).any(|legal| u64::from(legal) == members);
                assert!(is_legal, "{}: {members} members in {groups} groups", entry.name);
                seen.insert(members);
            }
            assert!(seen.len() > 1, "{}: only {seen:?}", entry.name);
        }
    }

    /// Where pages have fixed offsets GC cannot move bases, whether or not the user may choose that it does.
    #[test]
    fn no_hybrid_mapping_is_drawn_where_gc_always_moves_bases() {
        let hybrid =
            |entry: &'static Entry| (0..DEVICES).any(|number| ["bast", "fast"].contains(&&*drawing(entry, number).value("mapping")));
        static MOVED: Entry = Entry { bases: Some(Bases::Always(SemivalidAction::Move)), ..raid5::ENTRY };
        static COMMITTED: Entry = Entry { bases: Some(Bases::Always(SemivalidAction::CommitFirst)), ..raid5::ENTRY };
        assert_eq!([&raid5::ENTRY, &COMMITTED, &MOVED].map(hybrid), [true, true, false]);
    }

    /// GC commits stripes first also where the user cannot choose it.
    #[test]
    fn locks_are_borrowed_where_gc_commits() {
        let config = draw(&Torture::default(), "raid5", 0).expect("a device");
        let state = STATES.iter().find(|state| state.name == "borrowed_lock").expect("a state");
        let is_possible = |action| {
            let entry = Entry { bases: Some(Bases::Always(action)), ..raid5::ENTRY };
            (state.can_be)(&Case { entry: &entry, config: &config, second: false })
        };
        assert_eq!([SemivalidAction::CommitFirst, SemivalidAction::Move, SemivalidAction::Free].map(is_possible), [true, false, false]);
    }

    fn drawing(entry: &'static Entry, number: u64) -> Drawing<'static> {
        static TORTURE: LazyLock<Torture> = LazyLock::new(Torture::default);
        Drawing { torture: &TORTURE, entry, number, random: Random::of(0, number, 1), drawn: Vec::new() }
    }
}
