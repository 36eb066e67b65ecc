//! How each setting of the devices is drawn.
//!
//! Which values are drawn is in the schema for a key (`Key::draw`) and in the registry for a parameter of a scheme (`Parameter::draws`). The rules here are
//! for keys whose values depend on others. A key is drawn when it is first needed, so that rules may look at what others came to; what the user asks
//! for (`Torture::settings`) takes the place of what would be drawn.

use super::asked::Torture;
use super::random::Random;
use flashraid_ftl::{ChosenPolicy, policies};
use flashraid_redundancy::rebuild::ORDERS;
use flashraid_redundancy::{Draws, Entry, Members, Parameter, WriteBuffer};
use flashraid_sim::config::{Draw, Key, Kind, find_key};
use flashraid_vocabulary::SemivalidAction;

/// Physical pages, at most, that dies and planes are multiplied up to.
const MOST_PAGES: u64 = 4_000;

/// Chips of a channel, at least and at most, where each of them is a member.
const CHIPS_AS_MEMBERS: (u64, u64) = (2, 3);

/// What superblocks allow of other settings.
const BESIDE_SUPERBLOCKS: [(&str, &str); 5] =
    [("mapping", "page"), ("gc_blocking_scope", "none"), ("multi_plane", "false"), ("spare_chips", "0"), ("copyback", "false")];

/// What an SLC cache allows of other settings.
const BESIDE_SLC: [(&str, &str); 3] = [("mapping", "page"), ("ldpc", "none"), ("copyback", "false")];

/// How a setting is drawn that depends on others.
pub(super) enum Rule {
    /// By what others came to; `None` leaves the default, where nothing else has an effect or is allowed.
    By(fn(&mut Drawing) -> Option<String>),
    /// When everything else is known.
    Last,
}

/// The settings of an episode, as far as they are drawn.
pub(super) struct Drawing<'a> {
    pub(super) torture: &'a Torture,
    pub(super) entry: &'static Entry,
    /// Number of the episode.
    pub(super) number: u64,
    pub(super) random: Random,
    pub(super) drawn: Vec<(&'static str, Option<String>)>,
}

/// The rule of a key whose values depend on others; the schema says how the others are drawn (`Key::draw`).
fn rule(key: &str) -> Option<Rule> {
    Some(match key {
        "devices" => Rule::By(devices),
        "spare_devices" => Rule::By(|draw| {
            let takes_spares = draw.is_array() && !draw.is_hybrid();
            let counts: &[&str] = if draw.entry.replaces_devices { &["1", "2", "3", "4", "0"] } else { &["0", "1", "2"] };
            takes_spares.then(|| draw.random.of_list(counts).into())
        }),
        "models" => Rule::By(|draw| {
            // With static allocation a spare SSD has the same planes as the one in whose place it comes; with superblocks of more blocks, the least
            // over-provisioning is another.
            let (other, third) = match draw.is("allocation", "static") || draw.has_superblocks() {
                true => ("1:gc_blocking_scope=none", "2:erase_ns=20000"),
                false => ("1:channels=2 gc_blocking_scope=none", "2:lun=chip erase_ns=20000"),
            };
            let has_third = draw.number("devices") + draw.number("spare_devices") > 2;
            let several = if has_third { format!("{other},{third}") } else { other.into() };
            let models = ["", "", "0:read_ns=70000 program_ns=20000", &several];
            draw.is_array().then(|| draw.random.of_list(&models).into())
        }),
        "chunk_units" => Rule::By(|draw| draw.entry.has_chunks.then(|| draw.random.of_list(&["1", "1", "1", "1", "2", "3", "8"]).into())),
        "link_ps_per_byte" => Rule::By(|draw| draw.is_array().then(|| draw.random.of_list(&["0", "0", "1667", "50000"]).into())),
        "link_command_ns" => Rule::By(|draw| draw.is_array().then(|| draw.random.of_list(&["0", "0", "500", "20000"]).into())),
        "channels" => Rule::By(|draw| if draw.is_array() { Some(draw.random.within(1, 2).to_string()) } else { channels(draw) }),
        "chips_per_channel" => Rule::By(|draw| {
            let (least, most) = match draw.entry.mirror_chips > 0 {
                true => (2, 4),
                false if draw.is_array() => (1, 2),
                false if draw.is("member", "chip") => CHIPS_AS_MEMBERS,
                false => (1, 4),
            };
            Some(draw.random.within(least, most).to_string())
        }),
        "mirror_chips" => Rule::By(|draw| {
            let chips = draw.number("chips_per_channel");
            // One half of the chips at most: a channel has all its data on the others.
            (draw.entry.mirror_chips > 0).then(|| draw.random.within(1, (chips / 2).max(1)).to_string())
        }),
        "dies_per_chip" => Rule::By(|draw| Some(draw.one_or_two(1))),
        "planes_per_die" => Rule::By(|draw| {
            let dies = draw.number("dies_per_chip");
            Some(draw.one_or_two(dies))
        }),
        "page_bytes" => Rule::By(|draw| {
            let sizes = match draw.asked("mapping_unit_bytes").and_then(|unit| unit.parse::<u64>().ok()).filter(|unit| *unit > 0) {
                Some(unit) if draw.has_superblocks() => [2 * unit, 2 * unit, 4 * unit],
                Some(unit) => [unit, 2 * unit, 4 * unit],
                None if draw.has_superblocks() => [4096, 1024, 2048],
                None => [4096, 512, 1024],
            };
            Some(draw.random.of_list(&sizes).to_string())
        }),
        "mapping_unit_bytes" => Rule::By(|draw| {
            let page_bytes = draw.number("page_bytes");
            let parts = if draw.has_superblocks() { 2 } else { draw.random.of_list(&[1, 1, 2, 4]) };
            let has_units = parts > 1 && page_bytes / parts >= 512 && !draw.is_hybrid() && !draw.is_asked("copyback", "true");
            has_units.then(|| (page_bytes / parts).to_string())
        }),
        "ldpc" => Rule::By(|draw| {
            let laws: &[&str] = if draw.has_slc() { &["none"] } else { &["none", "none", "geometric", "uniform", "fixed:2"] };
            Some(draw.random.of_list(laws).into())
        }),
        "program_pages" => Rule::By(|draw| {
            let pages = draw.number("pages_per_block");
            if draw.has_slc() {
                let together: Vec<_> = (2..=4).filter(|together| pages.is_multiple_of(*together) && 2 * together <= pages).collect();
                return Some(draw.random.of_list(&together).to_string());
            }
            // Where GC pads a program unit before each erase, it needs the others of a block.
            let together: Vec<_> = (1..=4).filter(|together| pages.is_multiple_of(*together) && 2 * together <= pages).collect();
            let may = draw.random.once_in(4) && !draw.is_hybrid() && !draw.is_asked("copyback", "true");
            may.then(|| draw.random.of_list(&together).to_string())
        }),
        // Stripes over all channels do not fit into a slice of these: only chips are divided.
        "slice" => Rule::By(|draw| {
            let divides_chips = draw.number("channels") % 2 == 1 && draw.number("chips_per_channel").is_multiple_of(2);
            let has_plain_chips = draw.entry.mirror_chips == 0 && draw.number("spare_chips") == 0 && draw.is("member", "channel");
            let may = divides_chips && has_plain_chips && !draw.is_array() && !draw.is_hybrid();
            (may && draw.random.once_in(2)).then(|| "2".into())
        }),
        "active_dies" => Rule::By(|draw| draw.random.once_in(4).then(|| draw.random.within(1, 3).to_string())),
        "read_pages" => Rule::By(|draw| {
            let together = draw.number("program_pages");
            let most = if draw.has_slc() { together / 2 } else { together };
            let sensed: Vec<_> = (1..=most).filter(|sensed| together.is_multiple_of(*sensed)).collect();
            (together > 1).then(|| draw.random.of_list(&sensed).to_string())
        }),
        // Pages that are programmed together are of all types.
        "upper_program_ns" => {
            Rule::By(|draw| (draw.number("program_pages") == 1).then(|| draw.random.of_list(&["", "", "600000,900000"]).into()))
        }
        "staging_bytes" => Rule::By(|draw| draw.packs().then(|| draw.random.of_list(&["0", "67108864"]).into())),
        "slc_static" => Rule::By(|draw| draw.has_slc().then(|| draw.random.of_list(&["0", "1", "2"]).into())),
        "slc_dynamic" => Rule::By(|draw| {
            let is_fixed = draw.number("slc_static") > 0;
            draw.has_slc().then(|| if is_fixed { draw.random.of_list(&["false", "true"]).into() } else { "true".into() })
        }),
        "slc_leave" => Rule::By(|draw| draw.is("slc_dynamic", "true").then(|| draw.random.of_list(&["6", "1", "3"]).into())),
        "slc_full" => Rule::By(|draw| draw.has_slc().then(|| draw.random.of_list(&["direct", "stall"]).into())),
        "slc_read_ns" => Rule::By(|draw| draw.has_slc().then(|| draw.random.of_list(&["0", "1"]).into())),
        "slc_program_ns" => Rule::By(|draw| draw.has_slc().then(|| draw.random.of_list(&["0", "20000"]).into())),
        "write_streams" => Rule::By(|draw| draw.packs().then(|| draw.random.of_list(&["1", "1", "2", "3", "8"]).into())),
        "gc_streams" => Rule::By(|draw| (draw.number("write_streams") > 1).then(|| draw.random.of_list(&["shared", "own"]).into())),
        "power_loss_protection" => Rule::By(|draw| draw.packs().then(|| draw.random.of_list(&["false", "true"]).into())),
        "pad_after_ns" => Rule::By(|draw| {
            let pads = draw.packs() && draw.is("power_loss_protection", "false");
            pads.then(|| draw.random.of_list(&["0", "5000000", "100000"]).into())
        }),
        "pages_per_block" => Rule::By(|draw| {
            if draw.has_slc() {
                return Some(draw.random.of_list(&["4", "6", "8"]).into());
            }
            Some(draw.random.within(2, 8).to_string())
        }),
        "member" => Rule::By(|draw| {
            // Mirror chips belong to a channel.
            (draw.entry.mirror_chips == 0 && !draw.is_array()).then(|| draw.random.of_list(&["channel", "channel", "chip"]).into())
        }),
        "ftl" | "blocks_per_plane" | "over_provisioning" | "space_bytes" | "fill" | "fill_bytes" | "buffer_bytes_per_gib" => Rule::Last,
        "mapping" => Rule::By(mapping),
        "cmt_entries" => Rule::By(|draw| {
            let slices = draw.slices();
            draw.is("mapping", "dftl").then(|| (slices * draw.random.of_list(&[1, 4, 16, 16, 64])).to_string())
        }),
        "log_blocks" => Rule::By(|draw| {
            let least = if draw.is("mapping", "fast") { 2 } else { 1 };
            let planes = draw.number("dies_per_chip") * draw.number("planes_per_die");
            draw.is_hybrid().then(|| (draw.random.within(least, 4) * planes).to_string())
        }),
        "allocation" => Rule::By(|draw| {
            // A strip and its copy are in one member, wherever it has space.
            let words: &[&str] = match draw.entry.mirror_chips > 0 {
                true => &["dynamic_member", "dynamic"],
                false if draw.has_superblocks() => &["dynamic_member", "dynamic"],
                false => &["dynamic_member", "dynamic_member", "static", "dynamic"],
            };
            (!draw.is_hybrid()).then(|| draw.random.of_list(words).into())
        }),
        "static_order" => Rule::By(|draw| {
            let orders = ["WDP", "WPD", "DWP", "DPW", "PWD", "PDW"];
            draw.is("allocation", "static").then(|| draw.random.of_list(&orders).into())
        }),
        // What a drive does not correct all levels of loses pages by itself.
        "ldpc_levels" => Rule::By(|draw| {
            let least = draw.value("ldpc").strip_prefix("fixed:").and_then(|level| level.parse().ok()).unwrap_or(0);
            let most = [2, 3, 6][draw.random.below(3) as usize];
            (draw.value("ldpc") != "none").then(|| u64::max(least, most).to_string())
        }),
        // What stays in the plane is not corrected.
        "copyback" => {
            Rule::By(|draw| (draw.value("ldpc") == "none" && !draw.packs()).then(|| draw.random.of_list(&["false", "true"]).into()))
        }
        "suspend" => Rule::By(|draw| {
            let may = draw.is("scheduling", "read_first");
            may.then(|| draw.random.of_list(&["none", "none", "erase", "program", "both"]).into())
        }),
        "suspend_min_ns" => Rule::By(|draw| draw.suspended(&["200000", "0", "20000"])),
        "suspend_ns" => Rule::By(|draw| draw.suspended(&["100000", "0"])),
        "resume_ns" => Rule::By(|draw| draw.suspended(&["50000", "0"])),
        "suspend_limit" => Rule::By(|draw| draw.suspended(&["8", "1"])),
        "suspend_reads" => Rule::By(|draw| draw.suspended(&["8", "1", "2"])),
        "multi_plane" => {
            Rule::By(|draw| (!draw.is_hybrid() && !draw.has_superblocks()).then(|| draw.random.of_list(&["false", "true"]).into()))
        }
        "gc_threshold" => Rule::By(|draw| (!draw.is_hybrid()).then(|| draw.random.of_list(&["0", "0.1", "0.3", "0.5"]).into())),
        "gc_blocking_scope" => Rule::By(|draw| {
            Some(if draw.is_asked("gc_pace", "debt") || draw.has_superblocks() {
                "none".into()
            } else if draw.number("slice") > 1 {
                // What GC blocks lies in one slice.
                draw.random.of_list(&["lun", "none"]).into()
            } else {
                draw.random.of_list(&words_of("gc_blocking_scope")).to_string()
            })
        }),
        "spare_chips" => Rule::By(|draw| (!draw.has_superblocks()).then(|| draw.random.of_list(&["0", "0", "1", "2", "3", "4"]).into())),
        // Drawn first, as hardly any device would be one that could have them.
        "superblock" => Rule::By(|draw| {
            let other = |(key, plain): &(&str, &str)| draw.asked(key).is_some_and(|asked| asked != *plain);
            let suits = !BESIDE_SUPERBLOCKS.iter().any(other)
                && !draw.is_asked("allocation", "static")
                && !draw.is_asked("mapping_unit_bytes", "0");
            let may = suits && draw.entry.mirror_chips == 0 && draw.torture.device.is_none();
            (may && draw.random.once_in(8)).then(|| "true".into())
        }),
        "gc_pace" => Rule::By(|draw| {
            let may = !draw.is_hybrid() && draw.entry.coordinates_gc.is_none() && draw.is("gc_blocking_scope", "none");
            may.then(|| draw.random.of_list(&["block", "debt"]).into())
        }),
        "gc_policy" => Rule::By(|draw| {
            let is_hybrid = draw.is_hybrid();
            let suiting: Vec<_> = policies().filter(|policy| policy.suits_merges || !is_hybrid).collect();
            let policy = draw.random.of_list(&suiting);
            let number = draw.random.of_list(&["1", "2", "10"]);
            Some(if policy.most.is_some() { format!("{}:{number}", policy.name()) } else { policy.form.into() })
        }),
        "gc_idle_threshold" => Rule::By(|draw| {
            if draw.is_hybrid() || !draw.random.once_in(4) {
                return None;
            }
            let above: f64 = draw.value("gc_threshold").parse().unwrap_or(0.1);
            Some((above + (1.0 - above) * draw.random.within(1, 4) as f64 / 5.0).to_string())
        }),
        "gc_idle_gain" => {
            Rule::By(|draw| (!draw.value("gc_idle_threshold").is_empty()).then(|| draw.random.of_list(&["0.25", "0", "0.6"]).into()))
        }
        "idle_ns" => Rule::By(|draw| {
            let is_waited_for = !draw.value("gc_idle_threshold").is_empty() || (draw.entry.replaces_devices && draw.is_array());
            is_waited_for.then(|| draw.random.of_list(&["1000000", "100000", "1"]).into())
        }),
        "wear_leveling" => Rule::By(|draw| {
            let words: &[&str] = if draw.is_hybrid() { &["none", "dynamic"] } else { &["none", "dynamic", "static"] };
            Some(draw.random.of_list(words).into())
        }),
        "wear_leveling_threshold" => {
            Rule::By(|draw| draw.is("wear_leveling", "static").then(|| draw.random.of_list(&["1", "2", "5"]).into()))
        }
        "buffer_bytes" => Rule::By(|draw| (draw.buffer() == "dram").then(|| draw.buffered_bytes())),
        "nvram_buffer_bytes" => Rule::By(|draw| (draw.buffer() == "nvram").then(|| draw.buffered_bytes())),
        "nvram_victim" => {
            Rule::By(|draw| (draw.number("nvram_buffer_bytes") > 0).then(|| draw.random.of_list(&["oldest_write", "largest_group"]).into()))
        }
        "destage" => Rule::By(|draw| draw.has_buffer().then(|| draw.random.of_list(&["when_full", "low_water"]).into())),
        "destage_unit" => Rule::By(|draw| draw.has_dram().then(|| draw.random.of_list(&["page", "stripe"]).into())),
        "destage_high_water" => Rule::By(|draw| draw.destages().then(|| draw.random.of_list(&["0.5", "0.01", "0.8", "1"]).into())),
        "destage_low_water" => Rule::By(|draw| draw.destages().then(|| draw.random.of_list(&["0", "0.005"]).into())),
        // From one page a millisecond to more than flash takes.
        "destage_bytes_per_second" => Rule::By(|draw| draw.destages().then(|| draw.random.of_list(&["0", "4MB", "50MB", "1GB"]).into())),

        "host_write_ps_per_byte" | "host_read_ps_per_byte" => Rule::By(|draw| draw.of_host_side(&["0", "154", "50000"])),
        "command_ns" => Rule::By(|draw| draw.of_host_side(&["0", "1110", "100000"])),
        "unit_ns" => Rule::By(|draw| draw.of_host_side(&["0", "460", "50000"])),
        "read_latency_ns" => Rule::By(|draw| draw.of_host_side(&["0", "21500"])),
        "write_latency_ns" => Rule::By(|draw| draw.of_host_side(&["0", "4000", "300000"])),
        "queues" => Rule::By(|draw| (draw.number("device_queue_depth") > 0).then(|| draw.random.of_list(&["1", "2", "4"]).into())),
        "fetch" => Rule::By(|draw| (draw.number("queues") > 1).then(|| draw.random.of_list(&["1", "2", "5"]).into())),

        "rebuild" => Rule::By(|draw| {
            let suiting: Vec<_> = ORDERS.iter().filter(|order| (order.suits)(draw.entry).is_ok()).map(|order| order.name).collect();
            Some(match draw.torture.rebuild.as_str() {
                "auto" if suiting.is_empty() => "none".into(),
                "auto" => draw.random.of_list(&suiting).into(),
                order => order.into(),
            })
        }),
        // Pages that are there on the first touch would share flash pages with those of requests.
        "unwritten" => Rule::By(|draw| (!draw.packs()).then(|| draw.random.of_list(&["zero", "zero", "prefill"]).into())),
        "seed" => Rule::By(|draw| Some(draw.random.below(1 << 32).to_string())),
        _ => return None,
    })
}

/// Once in eight episodes an array, of as many SSDs as the scheme asks for, and not many more; always, if the scheme replaces SSDs.
fn devices(draw: &mut Drawing) -> Option<String> {
    let entry = draw.entry;
    let needs_array = entry.replaces_devices && draw.torture.device.is_none();
    let is_refused = entry.mirror_chips > 0
        || entry.mirror_groups.is_some()
        || draw.is_asked("mapping", "dftl")
        || ["member", "ftl", "buffer_bytes_per_gib"].iter().any(|key| draw.asked(key).is_some());
    if !needs_array && (is_refused || draw.torture.device.is_some() || !draw.random.once_in(8)) {
        return None;
    }
    let counts: Vec<u64> = entry.members.legal(1).map(u64::from).filter(|count| *count > 1).take(4).collect();
    Some(draw.random.of_list(&counts).to_string())
}

/// As many as the scheme asks for, and not many more.
fn channels(draw: &mut Drawing) -> Option<String> {
    // Of how many members a channel is.
    let sizes = if draw.is("member", "chip") { CHIPS_AS_MEMBERS } else { (1, 1) };
    let entry = draw.entry;
    let groups = entry.mirror_groups.map_or(1, |groups| draw.number(groups.name).clamp(1, u16::MAX.into()) as u16);
    let legal: Vec<u64> = entry.members.legal(groups).map(u64::from).collect();
    let is_legal = |channels: &u64| (sizes.0..=sizes.1).all(|size| legal.contains(&(channels * size)));
    let (least, choices) = match entry.members.multiple_of {
        1 if entry.mirror_groups.is_some() => (1, (6 / groups).max(1)),
        1 if sizes.1 > 1 => (2, 2),
        1 if entry.mirror_chips > 0 => (3, 3),
        1 => (3, 6),
        _ => (1, 3),
    };
    let mut channels: Vec<u64> = (least..=Members::MOST.into()).filter(is_legal).take(choices.into()).collect();
    if channels.is_empty() {
        // Of what is asked for nothing is legal; the configuration says why.
        channels.push(groups.into());
    }
    Some(draw.random.of_list(&channels).to_string())
}

/// Hybrid mapping is for schemes that leave pages where they are.
fn mapping(draw: &mut Drawing) -> Option<String> {
    let entry = draw.entry;
    let action = entry.action_on_bases(|choice| draw.is_asked(choice.parameter.name, choice.word));
    let moves = entry.mirror_chips > 0 || entry.mirror_groups.is_some() || action == Some(SemivalidAction::Move);
    let has_other = |(key, plain): (&str, &str)| draw.asked(key).is_some_and(|asked| asked != plain);
    let is_paged = [("mapping_unit_bytes", "0"), ("program_pages", "1"), ("gc_pace", "block")].into_iter().any(has_other)
        || draw.has_superblocks()
        || draw.has_slc()
        || draw.asked("gc_policy").is_some_and(|asked| ChosenPolicy::of(asked).is_some_and(|chosen| !chosen.policy.suits_merges));
    let words: &[&str] = match (draw.is_array(), moves || is_paged) {
        (_, true) if draw.has_superblocks() || draw.has_slc() => &["page"],
        (false, true) => &["page", "page", "dftl"],
        (false, false) => &["page", "page", "page", "dftl", "dftl", "bast", "fast"],
        (true, true) => &["page"],
        (true, false) => &["page", "page", "page", "page", "bast", "fast"],
    };
    // The map on flash survives one failure.
    let survives = |word: &&&str| **word != "dftl" || entry.survives_failures() < 2;
    let words: Vec<&str> = words.iter().filter(survives).copied().collect();
    Some(draw.random.of_list(&words).into())
}

impl Drawing<'_> {
    /// What is asked for.
    pub(super) fn asked(&self, key: &str) -> Option<&str> {
        let settings = self.torture.settings.iter().rev();
        let name = |given: &'_ str| given.rsplit_once('.').map_or(given.to_string(), |(_, name)| name.to_string());
        settings.map(|(given, value)| (name(given), value.as_str())).find(|(given, _)| given == key).map(|(_, value)| value)
    }

    fn is_asked(&self, key: &str, value: &str) -> bool {
        self.asked(key) == Some(value)
    }

    /// Whether blocks can be in SLC mode: drawn before what they need, as hardly any device would have all of it.
    fn has_slc(&mut self) -> bool {
        let is_asked = |key, plain| self.asked(key).is_some_and(|asked| asked != plain);
        if is_asked("slc_static", "0") || is_asked("slc_dynamic", "false") {
            return true;
        }
        let is_refused = BESIDE_SLC.iter().any(|(key, plain)| is_asked(key, plain))
            || self.is_asked("program_pages", "1")
            || self.asked("read_pages").is_some()
            || self.asked("slc_static").is_some()
            || self.asked("slc_dynamic").is_some();
        !is_refused && self.torture.device.is_none() && self.apart("slc cache", |draw| draw.random.once_in(10))
    }

    fn has_superblocks(&mut self) -> bool {
        self.is("superblock", "true")
    }

    /// What a setting has come to, drawn now if need be; empty for its default.
    pub(super) fn value(&mut self, key: &'static str) -> String {
        if let Some(asked) = self.asked(key) {
            return asked.into();
        }
        if let Some((_, value)) = self.drawn.iter().find(|(name, _)| *name == key) {
            return value.clone().unwrap_or_default();
        }
        let value = self.apart(key, |draw| draw.drawn_anew(key));
        self.drawn.push((key, value.clone()));
        value.unwrap_or_default()
    }

    /// Draws with random numbers of the key's own, so that a setting that is added changes no other.
    fn apart<T>(&mut self, key: &str, draw: impl FnOnce(&mut Self) -> T) -> T {
        let others = std::mem::replace(&mut self.random, Random::of_key(self.torture.seed, self.number, key));
        let drawn = draw(self);
        self.random = others;
        drawn
    }

    fn drawn_anew(&mut self, key: &'static str) -> Option<String> {
        match (self.entry.parameter(key), rule(key)) {
            (Some(parameter), _) => self.parameter(parameter),
            (None, Some(Rule::By(draw))) => draw(self),
            (None, Some(Rule::Last)) => None,
            (None, None) => match key_of(key).draw {
                Draw::Any => Some(self.random.of_list(&words_of(key)).to_string()),
                Draw::OneOf(values) => Some(self.random.of_list(values).to_string()),
                Draw::Never(_) => None,
            },
        }
    }

    /// As the parameter says; `None` leaves the default, where nothing else is allowed.
    fn parameter(&mut self, parameter: &Parameter) -> Option<String> {
        // Where pages do not move freely, nor do semivalid ones.
        if self.entry.is_of_bases(parameter) && self.is_hybrid() {
            return None;
        }
        // The pages of a device that is given are not drawn, and may be too many for the least of these.
        let is_of_pages = matches!(parameter.draws, Draws::Pages(_));
        if is_of_pages && self.torture.device.is_some() {
            return None;
        }
        let page_bytes = if is_of_pages { self.unit_bytes() } else { 0 };
        Some(self.random.of_list(&parameter.drawn(page_bytes as u32)))
    }

    fn is(&mut self, key: &'static str, value: &str) -> bool {
        self.value(key) == value
    }

    fn is_array(&mut self) -> bool {
        self.number("devices") > 1
    }

    fn is_hybrid(&mut self) -> bool {
        ["bast", "fast"].contains(&self.value("mapping").as_str())
    }

    /// Whether a flash page has several mapping units.
    fn packs(&mut self) -> bool {
        self.unit_bytes() < self.number("page_bytes") || self.number("program_pages") > 1
    }

    /// One of these, if reads suspend anything.
    fn suspended(&mut self, of: &[&str]) -> Option<String> {
        (self.value("suspend") != "none").then(|| self.random.of_list(of).into())
    }

    /// One of these, once in four episodes: most drives answer without a host side.
    fn of_host_side(&mut self, of: &[&str]) -> Option<String> {
        let has_one = self.apart(HOST_SIDE, |draw| draw.random.once_in(4));
        has_one.then(|| self.random.of_list(of).into())
    }

    /// Bytes of a mapping unit.
    pub(super) fn unit_bytes(&mut self) -> u64 {
        match self.number("mapping_unit_bytes") {
            0 => self.number("page_bytes"),
            unit => unit,
        }
    }

    /// A number that has been drawn or asked for; 0 for none.
    pub(super) fn number(&mut self, key: &'static str) -> u64 {
        self.value(key).parse().unwrap_or(0)
    }

    /// One or two parts of each of so many parts of a chip, as far as the device stays small.
    fn one_or_two(&mut self, parts: u64) -> String {
        let pages = 12 * self.number("pages_per_block") * self.number("channels") * self.number("chips_per_channel");
        let most = if 2 * parts * pages > MOST_PAGES { 1 } else { 2 };
        self.random.within(1, most).to_string()
    }

    /// Which kind of buffer there is: one that is asked for takes the place of any other.
    pub(super) fn buffer(&mut self) -> String {
        const KINDS: [(&str, &str); 3] = [("buffer_bytes", "dram"), ("nvram_buffer_bytes", "nvram"), ("buffer_bytes_per_gib", "per_gib")];
        if KINDS.iter().any(|(key, _)| self.asked(key).is_some()) || self.torture.device.is_some() {
            return "none".into();
        }
        if let Some((_, Some(kind))) = self.drawn.iter().find(|(name, _)| *name == BUFFER) {
            return kind.clone();
        }
        let is_array = self.is_array();
        let kinds: &[&str] = match self.entry.write_buffer {
            _ if is_array => &["none", "none", "dram", "nvram"],
            WriteBuffer::Unused => &["none", "none", "none", "dram", "dram", "per_gib", "nvram", "nvram"],
            WriteBuffer::Usual | WriteBuffer::Needed(_) => &["none", "none", "dram", "per_gib", "nvram", "nvram"],
        };
        let kind = self.apart(BUFFER, |draw| draw.random.of_list(kinds));
        self.drawn.push((BUFFER, Some(kind.into())));
        kind.into()
    }

    /// Whether there will be one of any kind; of a device that is given nothing is drawn.
    fn has_buffer(&mut self) -> bool {
        self.has_dram() || self.number("nvram_buffer_bytes") > 0
    }

    fn has_dram(&mut self) -> bool {
        self.number("buffer_bytes") > 0 || self.buffer() == "per_gib" || self.asked("buffer_bytes_per_gib").is_some()
    }

    fn destages(&mut self) -> bool {
        self.is("destage", "low_water")
    }

    fn buffered_bytes(&mut self) -> String {
        let pages = self.random.within(1, 12);
        (pages * self.unit_bytes() * self.slices()).to_string()
    }

    /// Into how many slices the drive is divided, which divide its memory.
    fn slices(&mut self) -> u64 {
        self.number("slice").max(1)
    }

    /// All that is drawn so far, and all that is asked for.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let drawn = self.drawn.iter().filter(|(key, _)| *key != BUFFER && self.asked(key).is_none());
        let drawn = drawn.filter_map(|(key, value)| Some((key.to_string(), value.clone()?)));
        drawn.chain(self.torture.settings.iter().cloned()).collect()
    }
}

/// Stands for whether the host side takes time; no key.
const HOST_SIDE: &str = "host side";

/// Stands for the kind of the buffer among what is drawn; no key.
const BUFFER: &str = "";

/// The key of this name; the schema has it.
pub(super) fn key_of(name: &str) -> &'static Key {
    find_key(name).expect("a key of the schema")
}

/// The words of a key that has words.
pub(super) fn words_of(key: &str) -> Vec<&'static str> {
    match key_of(key).kind {
        Kind::Word(words) => words.iter().map(|(word, _)| *word).collect(),
        Kind::Flag => vec!["false", "true"],
        _ => panic!("the schema does not say how torture draws {key}"),
    }
}
