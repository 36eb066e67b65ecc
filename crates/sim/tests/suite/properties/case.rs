//! Random devices and random requests.

use crate::support;
use flashraid_redundancy::{Members, Parameter, find};
use flashraid_sim::Config;
use flashraid_vocabulary::{HostOp, HostRequest};
use proptest::collection::vec;
use proptest::num::usize::BinarySearch;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::NewTree;
use proptest::test_runner::TestRunner;

/// A request before it is known how large the device is.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    op: HostOp,
    is_hot: bool,
    place: u32,
    sectors: u32,
    /// Time since the former request; half of them come at once.
    gap_ns: u32,
}

/// How requests are driven.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// Closed loop with so many outstanding; 0 for open loop.
    pub queue_depth: u64,
    /// Everything is let end after every so many requests.
    pub quiet_every: usize,
}

/// One case: shrinks towards a plain device and few requests.
#[derive(Clone, Debug)]
pub struct Case {
    pub settings: Vec<(&'static str, String)>,
    pub fill: f64,
    pub drive: Drive,
    pub raw: Vec<Raw>,
}

/// Cases with a write buffer of a few pages in NVRAM.
pub fn nvram_cases(scheme: &'static str) -> impl Strategy<Value = Case> {
    nvram(cases(scheme, if find(scheme).is_some_and(|entry| entry.mirror_chips > 0) { 0.1 } else { 0.0 }))
}

/// The same cases with a write buffer of a few pages in NVRAM.
pub fn nvram(cases: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    (buffered(cases), word(&["oldest_write", "largest_group"])).prop_map(|(mut case, victim)| {
        let (key, _) = case.settings.iter_mut().find(|(key, _)| *key == "buffer_bytes").expect("a buffer");
        *key = "nvram_buffer_bytes";
        case.settings.push(("nvram_victim", victim.into()));
        case
    })
}

/// Cases with a data buffer of a few pages.
pub fn buffered_cases(scheme: &'static str) -> impl Strategy<Value = Case> {
    buffered(cases(scheme, 0.0))
}

/// The same cases with a data buffer of a few pages.
pub fn buffered(cases: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    let destage = word(&["when_full", "low_water", "low_water"]);
    let rate = word(&["0", "4MB", "50MB", "1GB"]);
    let answer = prop_oneof![Just(0u64), Just(1000u64), 0..=400_000u64];
    (cases, 1..=12u64, answer, destage, rate).prop_map(|(mut case, pages, answer_ns, destage, rate)| {
        let (_, page_bytes) = case.settings.iter().find(|(key, _)| *key == "page_bytes").expect("a page has a size");
        let bytes = pages * page_bytes.parse::<u64>().expect("a number");
        case.settings.extend([("buffer_bytes", bytes.to_string()), ("buffer_ns", answer_ns.to_string()), ("destage", destage.into())]);
        if destage == "low_water" {
            case.settings.push(("destage_bytes_per_second", rate.into()));
        }
        case
    })
}

/// The same cases, in which pages that are written in part are read only if something of them is valid.
pub fn sectored(cases: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    (cases, word(&["read_if_needed", "read_if_used"])).prop_map(|(mut case, rule)| {
        case.settings.push(("partial_writes", rule.into()));
        case
    })
}

type Shape = (u32, u32, u32, u32, u32, u32, u32);

fn shape() -> impl Strategy<Value = Shape> {
    let blocks = prop_oneof![4 => 8..=12u32, 1 => 13..=64u32];
    (2..=6u32, 1..=2u32, 1..=2u32, 1..=2u32, blocks, 4..=16u32, prop_oneof![3 => Just(4096u32), 1 => Just(512u32)])
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    (0..words.len()).prop_map(move |index| words[index])
}

const BOOL: &[&str] = &["false", "true"];

/// Words of keys, the number of mirror groups, and which of the values that torture draws each parameter of the scheme has.
type Words = ([&'static str; 10], [&'static str; 9], &'static str, [Index; MOST_PARAMETERS]);

/// Parameters of a scheme that are drawn one apart from the other; those beyond share the draws of the first ones.
const MOST_PARAMETERS: usize = 8;

fn words() -> impl Strategy<Value = Words> {
    let device = [
        word(&["channel", "chip"]),
        word(&["dynamic_member", "static", "dynamic"]),
        word(&["auto", "member", "group", "device"]),
        word(&["die", "chip"]),
        word(&["read_first", "fifo"]),
        word(&["program_end", "data_in"]),
        word(&["touched", "page"]),
        word(&["none", "lun", "chip", "channel"]),
        word(&["none", "dynamic", "static"]),
        word(&["WDP", "PDW", "DPW"]),
    ];
    let rest = [
        word(BOOL),
        word(BOOL),
        word(&["0.1", "0", "0.5"]),
        word(&["2", "3"]),
        word(&["queued", "strict", "off"]),
        word(&["true", "false"]),
        word(&["zero", "prefill"]),
        word(&["1", "2", "5"]),
        word(&["0", "0", "1", "3"]),
    ];
    // Torture draws no single group, which protects nothing.
    (device, rest, word(&["2", "1", "3"]), any::<[Index; MOST_PARAMETERS]>())
}

fn raw() -> impl Strategy<Value = Raw> {
    let op = prop_oneof![
        8 => Just(HostOp::Write), 6 => Just(HostOp::Read), 2 => Just(HostOp::Trim),
        1 => Just(HostOp::WriteZeroes), 1 => Just(HostOp::Flush),
    ];
    let sectors = prop_oneof![4 => 1..=16u32, 2 => 8..=64u32, 1 => 1..=400u32];
    let gap = prop_oneof![3 => Just(0u32), 3 => 0..=50_000u32, 1 => 0..=3_000_000u32];
    (op, any::<bool>(), any::<u32>(), sectors, gap).prop_map(|(op, is_hot, place, sectors, gap_ns)| Raw {
        op,
        is_hot,
        place,
        sectors,
        gap_ns,
    })
}

/// 300 to 399 requests, yet a failing case shrinks to any number.
#[derive(Clone, Debug)]
struct Count;

impl Strategy for Count {
    type Tree = BinarySearch;
    type Value = usize;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        Ok(BinarySearch::new(300 + runner.rng().random_range(0..100)))
    }
}

/// Cases for `scheme`; `spare` is over-provisioning beyond the least.
pub fn cases(scheme: &'static str, spare: f64) -> impl Strategy<Value = Case> {
    let drive = (prop_oneof![Just(0u64), 1..=32u64], prop_oneof![2 => 20..=150usize, 1 => Just(1000usize)])
        .prop_map(|(queue_depth, quiet_every)| Drive { queue_depth, quiet_every });
    let fill = prop_oneof![1 => Just(0.0), 1 => 0.0..=1.0, 2 => Just(1.0)];
    (shape(), words(), fill, drive, vec(raw(), 400), Count).prop_map(move |(shape, words, fill, drive, mut raw, count)| {
        raw.truncate(count);
        Case { settings: settings(scheme, shape, words, spare, &[]), fill, drive, raw }
    })
}

/// Cases for `scheme` with the map on flash and a tiny part of it in RAM.
pub fn dftl_cases(scheme: &'static str) -> impl Strategy<Value = Case> {
    let entries = prop_oneof![3 => 1..=8u32, 1 => 9..=200u32];
    (cases(scheme, 0.0), entries, shape(), words()).prop_map(move |(case, entries, mut shape, words)| {
        shape.4 += 12; // blocks of each plane: some of them are for translation pages
        let mapping = [("mapping", "dftl".into()), ("cmt_entries", entries.to_string())];
        Case { settings: settings(scheme, shape, words, 0.0, &mapping), ..case }
    })
}

/// Cases for `scheme` with hybrid mapping and few log blocks.
pub fn hybrid_cases(scheme: &'static str) -> impl Strategy<Value = Case> {
    let logs = (word(&["bast", "fast"]), 1..=4u32);
    (cases(scheme, 0.0), logs, shape(), words()).prop_map(move |(case, (kind, logs), shape, words)| {
        let logs = (logs + u32::from(kind == "fast")) * shape.2 * shape.3;
        let mapping = [("mapping", kind.into()), ("log_blocks", logs.to_string())];
        Case { settings: settings(scheme, shape, words, 0.0, &mapping), ..case }
    })
}

/// Legal settings from any choice.
fn settings(scheme: &'static str, shape: Shape, words: Words, spare: f64, more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let (mut channels, mut chips, dies, planes, blocks, pages, page_bytes) = shape;
    let ([mut member, mut allocation, ftl, unit, scheduling, completes, transfer, gc_blocking_scope, wear, order], rest, groups, indices) =
        words;
    let [multi_plane, copyback, gc_threshold, gc_reserve_blocks, serial, parity_in_response, unwritten, spread, queue_depth] = rest;
    let entry = find(scheme).expect("a scheme");
    if entry.mirror_chips > 0 {
        // One more chip, for copies, which are in the member of the page.
        (chips, member) = (chips + 1, "channel");
        allocation = if allocation == "static" { "dynamic_member" } else { allocation };
    }
    // Each entry of a parity cache may pin an old version, which takes space beside the logical pages.
    let spare = if entry.parity_cache.is_some() && entry.bases.is_some() { spare.max(0.2) } else { spare };
    if entry.replaces_devices {
        // Each member is an SSD.
        member = "channel";
    }
    let by_chip = member == "chip";
    let is_hybrid = more.iter().any(|(key, _)| *key == "log_blocks");
    let wear = if is_hybrid && wear == "static" { "dynamic" } else { wear };
    let multi_plane = if is_hybrid { "false" } else { multi_plane };
    // The fewest from there on that the scheme works on, in groups of whole channels.
    let whole_groups = if entry.mirror_groups.is_some() { groups.parse().expect("a number") } else { 1 };
    let legal: Vec<u32> = entry.members.legal(whole_groups).map(u32::from).collect();
    let is_legal =
        |channels: &u32| channels.is_multiple_of(whole_groups.into()) && legal.contains(&(channels * if by_chip { chips } else { 1 }));
    channels = (channels..=Members::MOST.into()).chain((1..channels).rev()).find(is_legal).expect("some number does");
    let devices = channels;
    if entry.replaces_devices {
        channels = 1;
    }
    let ftl = match (scheme, ftl) {
        _ if is_hybrid || entry.replaces_devices => "auto",
        ("raid0" | "raid1", "group") if channels % 2 == 0 => "group",
        ("raid0", "device") => "device",
        ("sirf1", "group") => "group",
        ("sirf1", "device") if groups == "1" => "device",
        (_, "auto") => "auto",
        _ => "member",
    };
    let mut settings: Vec<(&'static str, String)> = [
        ("channels", channels),
        ("chips_per_channel", chips),
        ("dies_per_chip", dies),
        ("planes_per_die", planes),
        ("blocks_per_plane", blocks),
        ("pages_per_block", pages),
        ("page_bytes", page_bytes),
    ]
    .map(|(key, value)| (key, value.to_string()))
    .into();
    settings.extend(
        [
            ("member", member),
            ("allocation", allocation),
            ("ftl", ftl),
            ("lun", unit),
            ("scheduling", scheduling),
            ("write_completes", completes),
            ("transfer", transfer),
            ("gc_blocking_scope", gc_blocking_scope),
            ("wear_leveling", wear),
            ("wear_leveling_threshold", spread),
            ("static_order", order),
            ("multi_plane", multi_plane),
            ("copyback", copyback),
            ("gc_threshold", gc_threshold),
            ("gc_reserve_blocks", gc_reserve_blocks),
            ("serial_subrequests", serial),
            ("parity_in_response", parity_in_response),
            ("unwritten", unwritten),
            ("device_queue_depth", queue_depth),
        ]
        .map(|(key, value)| (key, value.to_string())),
    );
    if entry.replaces_devices {
        // With hybrid mapping there are none.
        let spares = if is_hybrid { "0" } else { "2" };
        settings.extend([("devices", devices.to_string()), ("spare_devices", spares.into())]);
    }
    // Where pages do not move freely, nor do semivalid ones.
    let is_allowed = |parameter: &Parameter| !is_hybrid || !entry.is_of_bases(parameter);
    for (parameter, index) in entry.parameters().zip(indices.iter().cycle()).filter(|(parameter, _)| is_allowed(parameter)) {
        let is_groups = entry.mirror_groups.is_some_and(|groups| groups.name == parameter.name);
        settings.push((parameter.name, if is_groups { groups.into() } else { index.get(&parameter.drawn(page_bytes)).clone() }));
    }
    settings.extend_from_slice(more);
    settings.push(("over_provisioning", format!("{:.6}", (least_over_provisioning(scheme, &settings) + spare).min(0.95))));
    settings
}

/// How little over-provisioning would do.
fn least_over_provisioning(scheme: &str, settings: &[(&'static str, String)]) -> f64 {
    let mut pairs: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let blocks = pairs.iter().find(|(key, _)| *key == "blocks_per_plane").map_or(8, |(_, blocks)| blocks.parse().expect("a number"));
    let one_block = format!("{:.6}", 1.0 - 1.01 / f64::from(blocks));
    pairs.push(("over_provisioning", if pairs.iter().any(|(key, _)| *key == "log_blocks") { &one_block } else { "0.9" }));
    let config = support::config("tiny", scheme, &pairs);
    support::least_over_provisioning(&config.device, config.placement(&*config.build_scheme().expect("a legal scheme")))
}

impl Case {
    /// The case with an FTL for each member, and room for what each of them keeps free.
    pub fn with_ftl_by_member(&self, scheme: &str) -> Self {
        let mut settings = self.settings.clone();
        settings.retain(|(key, _)| !["ftl", "over_provisioning"].contains(key));
        settings.push(("ftl", "member".into()));
        settings.push(("over_provisioning", format!("{:.6}", least_over_provisioning(scheme, &settings))));
        Self { settings, ..self.clone() }
    }

    /// The configuration, with verification.
    pub fn config(&self, scheme: &str) -> Config {
        let fill = self.fill.to_string();
        let mut pairs: Vec<(&str, &str)> = self.settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        pairs.extend([("verify", "true"), ("fill", fill.as_str())]);
        support::config("tiny", scheme, &pairs)
    }

    /// The requests on a logical space of so many bytes. Some go over its end and on at its start.
    pub fn requests(&self, space_bytes: u64, page_bytes: u64) -> Vec<HostRequest> {
        let lane_bytes = page_bytes / super::bytes::LANES;
        let mut arrival_ns = 0;
        let place = |raw: &Raw| {
            let lanes = space_bytes / lane_bytes;
            let reach = if raw.is_hot { lanes.min(64) } else { lanes };
            let lane = u64::from(raw.place) % reach;
            // Half of the requests begin at a page's start.
            if raw.place >> 31 == 1 { lane * lane_bytes } else { lane * lane_bytes / page_bytes * page_bytes }
        };
        self.raw
            .iter()
            .map(|raw| {
                arrival_ns += u64::from(raw.gap_ns);
                let size_bytes = (u64::from(raw.sectors) * lane_bytes).min(space_bytes - page_bytes);
                let (offset_bytes, size_bytes) = if raw.op == HostOp::Flush { (0, 0) } else { (place(raw), size_bytes) };
                HostRequest { arrival_ns, offset_bytes, size_bytes, op: raw.op, stream: 0, source: 0 }
            })
            .collect()
    }
}
