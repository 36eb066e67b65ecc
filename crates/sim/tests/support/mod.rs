//! What the engine's tests share: devices by a few settings, and engines with what contents and which scheme a test wants.

pub mod archive;
pub mod committed;
#[path = "../../../workload/tests/suite/support/own_folder.rs"]
mod own_folder;

use flashraid_ftl::{Placement, policies};
use flashraid_redundancy::{Entry, Redundancy, SCHEMES, Scheme, find};
use flashraid_sim::assemble::{Assembled, options};
use flashraid_sim::config::Device;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Untracked};
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::Media;
use flashraid_sim::verify;
use flashraid_sim::{Config, RunResult, Simulation};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::path::PathBuf;

pub use own_folder::own_folder;

/// A trace of these rows (`ts_us,op,offset,size,,`) in the test's own folder.
pub fn own_trace(name: &str, rows: &str) -> PathBuf {
    let path = own_folder().join(format!("{name}.csv"));
    std::fs::write(&path, format!("ts_us,op,offset,size,flags,latency_us\n{rows}")).unwrap();
    path
}

/// How much a test does: a proof (`FLASHRAID_PROVE`, `make prove`), or the slice of it that `make test` has time for.
pub fn proving<T>(proof: T, slice: T) -> T {
    if std::env::var_os("FLASHRAID_PROVE").is_some() { proof } else { slice }
}

/// All for a proof; for a slice one in `of`, from the `first`. Tests that look at the same list begin elsewhere.
pub fn some_of<T>(all: impl IntoIterator<Item = T>, first: usize, of: usize) -> impl Iterator<Item = T> {
    let rows = all.into_iter().enumerate();
    rows.filter(move |(row, _)| proving(true, row % of == first % of)).map(|(_, each)| each)
}

/// The SSDs of a scheme that replaces them, where a test asks for none.
pub fn array_of(scheme: &str) -> &'static [(&'static str, &'static str)] {
    match find(scheme).is_some_and(|entry| entry.replaces_devices) {
        true => &[("devices", "5"), ("spare_devices", "2"), ("channels", "1")],
        false => &[],
    }
}

/// Whether the map may lie on flash: the SSDs of an array hold theirs in RAM, and one on flash survives no second failure.
pub fn has_map_on_flash(entry: &Entry) -> bool {
    !entry.replaces_devices && entry.survives_failures() < 2
}

/// Settings over a preset, on an array if the scheme needs one.
pub fn config(device: &str, scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let pairs: Vec<_> = array_of(scheme).iter().chain(pairs).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Config::assemble(Some(device), Some(scheme), None, &pairs).expect("legal settings")
}

/// The drive of the golden results: GC runs, static wear leveling, sub-page writes.
pub fn small(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    config("tiny", scheme, &[&small_pairs(scheme), pairs].concat())
}

fn small_pairs(scheme: &str) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("blocks_per_plane", "12"),
        ("pages_per_block", "8"),
        ("over_provisioning", "0.3"),
        ("wear_leveling", "static"),
        ("wear_leveling_threshold", "3"),
        ("fill", "0.9"),
        ("fit", "wrap"),
    ];
    if find(scheme).is_some_and(|entry| entry.mirror_chips > 0) {
        all.push(("chips_per_channel", "3"));
    }
    all.extend(array_of(scheme));
    all
}

/// A name, the scheme of the golden result, and settings.
pub type Scenario = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Different ways through the engine, for golden results and for what recomputes results. Not every scheme takes all of them (`scenario`).
pub const SCENARIOS: [Scenario; 39] = [
    ("plain", "raid5", &[]),
    ("sor", "raid4", &[("spare_chips", "1"), ("rebuild", "sor"), ("fail", "chip:1.0@request:180")]),
    ("dor", "raid5", &[("spare_chips", "1"), ("rebuild", "dor"), ("fail", "chip:1.0@request:180")]),
    ("mcr", "cr5m", &[("spare_chips", "1"), ("rebuild", "mcr"), ("fail", "chip:1.0@request:180")]),
    ("copy", "raid1", &[("spare_chips", "1"), ("rebuild", "copy"), ("fail", "chip:1.0@request:180")]),
    (
        "repeated",
        "raid5",
        &[(
            "fail",
            "program:0@request:60,program:1@request:120,program:2@request:180,erase:0@request:240,erase:2@request:300,program:3@request:360",
        )],
    ),
    (
        "array",
        "raid5",
        &[("devices", "4"), ("spare_devices", "1"), ("channels", "2"), ("fail", "device:1@request:180,device:0/chip:1.0@request:400")],
    ),
    (
        "array-nvram",
        "ppc",
        &[("devices", "4"), ("nvram_buffer_bytes", "65536"), ("destage", "when_full"), ("fail", "device:1@request:180")],
    ),
    ("worn", "raid5", &[("devices", "4"), ("spare_devices", "1"), ("channels", "2"), ("pe_limit", "20"), ("ages", "0.5,0.97,0.2")]),
    ("second", "raid5", &[("spare_chips", "2"), ("fail", "chip:1.0@request:120,chip:2.0@rebuild:50%"), ("piggyback", "true")]),
    (
        "one-by-one",
        "fpc",
        &[("spare_chips", "2"), ("fail", "chip:1.0@request:60,chip:1.1@request:360,page:lpn=7@request:180,block:2.0.0.0.3@request:240")],
    ),
    ("lost", "raid5", &[("rebuild", "none"), ("fail", "chip:0.0@request:120,chip:1.0@request:240")]),
    ("wear", "cr5m", &[("wear_leveling_threshold", "1")]),
    ("warmup", "raid1", &[("warmup", "150"), ("fail", "program:1@request:360")]),
    // A part dies while programs of the warm-up wait in it.
    ("warmup-lost", "raid5", &[("warmup", "250"), ("speed", "50"), ("rebuild", "none"), ("fail", "channel:3@request:252")]),
    // Writes that were answered when their data were in a register find no page.
    ("answered-lost", "raid0", &[("write_completes", "data_in"), ("speed", "20"), ("fail", "channel:1@request:300")]),
    ("dram", "raid4", BUFFERS[0]),
    ("nvram", "raid5", BUFFERS[1]),
    ("data-in", "ppc", &[("write_completes", "data_in"), ("parity_in_response", "false"), ("copyback", "true"), ("drain", "true")]),
    ("planes", "no-pc", &[("multi_plane", "true"), ("planes_per_die", "2"), ("scheduling", "fifo")]),
    (
        "ldpc",
        "adaptive",
        &[("ldpc", "geometric"), ("ldpc_decode_ns", "9000"), ("upper_read_ns", "30us,50us"), ("upper_program_ns", "300us,700us")],
    ),
    (
        "ldpc-ageing",
        "raid5",
        &[("ldpc", "uniform"), ("ldpc_levels", "3"), ("ldpc_reads", "40"), ("scheduling", "fifo"), ("multi_plane", "true")],
    ),
    ("chips", "raid0", &[("chips_per_channel", "4"), ("dies_per_chip", "2"), ("lun", "chip"), ("gc_blocking_scope", "none")]),
    ("closed", "fra", &[("queue_depth", "5"), ("warmup", "100")]),
    ("in-host", "cr5m", &[("device_queue_depth", "2"), ("speed", "20"), ("mirror_read", "data")]),
    (
        "jitter",
        "ca-ppc",
        &[("jitter_ns", "3000000"), ("seed", "5"), ("buffer_bytes", "65536"), ("destage", "when_full"), ("destage_unit", "page")],
    ),
    ("gaps", "raid5", &[("speed", "0.05"), ("spare_chips", "1"), ("fail", "chip:3.0@request:240")]),
    ("dftl", "raid5", &[("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")]),
    (
        "dftl-lost",
        "raid5",
        &[
            ("mapping", "dftl"),
            ("cmt_entries", "20"),
            ("blocks_per_plane", "20"),
            ("over_provisioning", "0.4"),
            ("fail", "block:1.0.0.1.3@request:180"),
        ],
    ),
    ("bast", "raid5", &[("mapping", "bast"), ("log_blocks", "4"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")]),
    ("fast", "ca-ppc", &[("mapping", "fast"), ("log_blocks", "4"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")]),
    (
        "units",
        "raid5",
        &[
            ("page_bytes", "16384"),
            ("mapping_unit_bytes", "4096"),
            ("pages_per_block", "4"),
            ("over_provisioning", "0.5"),
            ("pad_after_ns", "0"),
        ],
    ),
    (
        "host-side",
        "raid5",
        &[
            ("host_write_ps_per_byte", "20000"),
            ("host_read_ps_per_byte", "30000"),
            ("command_ns", "20000"),
            ("unit_ns", "30000"),
            ("read_latency_ns", "21500"),
            ("write_latency_ns", "4000"),
            ("device_queue_depth", "4"),
            ("queues", "3"),
            ("fetch", "2"),
            ("speed", "5"),
        ],
    ),
    ("suspend", "no-pc", &[("suspend", "both"), ("suspend_min_ns", "0"), ("gc_blocking_scope", "none"), ("speed", "5")]),
    (
        "program-units",
        "ca-ppc",
        &[
            ("program_pages", "2"),
            ("read_pages", "2"),
            ("pages_per_block", "8"),
            ("over_provisioning", "0.5"),
            ("gc_blocking_scope", "none"),
            ("gc_pace", "debt"),
            ("gc_threshold", "0.4"),
        ],
    ),
    (
        "suspend-units",
        "cr5m",
        &[
            ("page_bytes", "16384"),
            ("mapping_unit_bytes", "4096"),
            ("pages_per_block", "4"),
            ("over_provisioning", "0.5"),
            ("power_loss_protection", "true"),
            ("transfer", "page"),
            ("suspend", "both"),
            ("suspend_min_ns", "50000"),
            ("gc_blocking_scope", "none"),
        ],
    ),
    (
        "chunks",
        "raid5",
        &[
            ("chunk_units", "4"),
            ("buffer_bytes", "65536"),
            ("nvram_buffer_bytes", "0"),
            ("destage", "when_full"),
            ("partial_writes", "read_if_used"),
            ("fill", "0.4"),
            ("fail", "page:lpn=7@request:180,chip:1.0@request:300"),
        ],
    ),
    (
        "superblocks",
        "raid1",
        &[
            ("page_bytes", "16384"),
            ("mapping_unit_bytes", "4096"),
            ("chips_per_channel", "3"),
            ("pages_per_block", "4"),
            ("over_provisioning", "0.6"),
            ("power_loss_protection", "true"),
            ("gc_blocking_scope", "none"),
            ("superblock", "true"),
            ("gc_pace", "debt"),
            ("gc_threshold", "0.35"),
            ("fail", "program:0@request:60,chip:1.0@request:180,block:0.1.0.0.3@request:300,erase:0@request:400"),
        ],
    ),
    (
        "slc",
        "raid5",
        &[
            ("page_bytes", "8192"),
            ("mapping_unit_bytes", "4096"),
            ("program_pages", "2"),
            ("pages_per_block", "8"),
            ("planes_per_die", "1"),
            ("over_provisioning", "0.5"),
            ("gc_blocking_scope", "none"),
            ("gc_pace", "debt"),
            ("slc_static", "1"),
            ("slc_dynamic", "true"),
            ("slc_leave", "4"),
            ("slc_program_ns", "80000"),
            ("fill", "0.6"),
            ("fail", "program:0@request:60,block:0.0.0.0.3@request:150"),
        ],
    ),
];

/// A scheme in a scenario on the drive of the golden results; `None` if the configuration is refused.
pub fn scenario(scheme: &str, pairs: &[(&str, &str)], more: &[(&str, &str)]) -> Option<Config> {
    accepted(&merged(scheme, &[pairs, more, &[("scheme.name", scheme)]].concat()))
}

/// Settings of the drive of the golden results with these over them, each key once.
pub fn merged(scheme: &str, pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (key, value) in small_pairs(scheme).iter().chain(pairs) {
        all.retain(|(other, _)| other != key);
        all.push((key.to_string(), value.to_string()));
    }
    let is = |key, value| all.iter().any(|pair| *pair == (String::from(key), String::from(value)));
    // Hybrid mappings move nothing for wear's sake.
    if is("mapping", "bast") || is("mapping", "fast") {
        all.retain(|(key, _)| !["wear_leveling", "wear_leveling_threshold"].contains(&key.as_str()));
    }
    all
}

/// The configuration, unless it is refused.
pub fn accepted(pairs: &[(String, String)]) -> Option<Config> {
    let config = Config::assemble(Some("tiny"), None, None, pairs).ok()?;
    flashraid_sim::Simulation::new(config.clone(), |_| true).ok().map(|_| config)
}

/// A golden result: its name, and the settings of its run over the trace beside it. The drive is `tiny`.
pub struct Golden {
    /// The file in `tests/golden`, without its ending.
    pub name: String,
    /// Every setting, the scheme's name too.
    pub pairs: Vec<(String, String)>,
}

impl Golden {
    /// The configuration.
    pub fn config(&self) -> Config {
        Config::assemble(Some("tiny"), None, None, &self.pairs).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// A chip fails, which is rebuilt where there is a spare one and something to rebuild it from, and later a page.
const PARTS_FAIL: (&str, &str) = ("fail", "chip:1.0@request:180,page:lpn=7@request:540");
/// A program and an erase fail first; hybrid mappings retire no blocks.
const BLOCKS_FAIL_TOO: (&str, &str) = ("fail", "program:1@request:60,erase:2@request:120,chip:1.0@request:180,page:lpn=7@request:540");

/// The same where each member is an SSD.
const PARTS_OF_SSDS_FAIL: (&str, &str) = ("fail", "device:1@request:180,page:lpn=7@request:540");
const BLOCKS_OF_SSDS_FAIL_TOO: (&str, &str) =
    ("fail", "device:1/program:0@request:60,device:2/erase:0@request:120,device:1@request:180,page:lpn=7@request:540");
/// SSDs are replaced: before one fails, and after it.
const REPLACED: (&str, &str) = ("replace", "device:0@request:150,device:2@request:400");

/// Mappings but `page`, and what a small drive needs for them.
const OTHER_MAPPINGS: [&[(&str, &str)]; 3] = [
    &[("mapping", "dftl"), ("cmt_entries", "20"), ("blocks_per_plane", "20"), ("over_provisioning", "0.4")],
    &[("mapping", "bast"), ("log_blocks", "4"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")],
    &[("mapping", "fast"), ("log_blocks", "8"), ("blocks_per_plane", "24"), ("over_provisioning", "0.4")],
];

/// Data buffers with the rules of their papers, one in DRAM and one in NVRAM.
const BUFFERS: [&[(&str, &str)]; 2] = [
    &[("buffer_bytes", "131072"), ("destage", "when_full"), ("destage_unit", "page"), ("unwritten", "prefill"), ("drain", "true")],
    &[("nvram_buffer_bytes", "65536"), ("destage", "when_full"), ("drain", "true")],
];

/// Every scheme of the registry, replacing SSDs if it does that: alone; under a buffer; with failures on page mapping; with failures on another mapping that it allows, in
/// turn. Then GC policies, mapping units and the scenarios. A new scheme or policy is among them by being in its list.
pub fn goldens() -> Vec<Golden> {
    let golden = |name: String, scheme: &str, pairs: &[(&str, &str)]| {
        let all = merged(scheme, &[pairs, &[("verify", "true"), ("scheme.name", scheme)]].concat());
        accepted(&all).map(|_| Golden { name, pairs: all })
    };
    let mut all = Vec::new();
    for entry in SCHEMES {
        // Of the name, so that a scheme in another place of the list changes no other's case.
        let turn = entry.name.bytes().fold(0_usize, |turn, letter| turn.wrapping_mul(5) + usize::from(letter));
        let spare = (entry.redundancy != Redundancy::None && !entry.replaces_devices).then_some(("spare_chips", "1"));
        let replaced = entry.replaces_devices.then_some(REPLACED);
        let [parts_fail, blocks_fail_too] = match entry.replaces_devices {
            true => [PARTS_OF_SSDS_FAIL, BLOCKS_OF_SSDS_FAIL_TOO],
            false => [PARTS_FAIL, BLOCKS_FAIL_TOO],
        };
        let failing = |mapping: &[_], fail| {
            let name = mapping.first().map_or(String::new(), |(_, word)| format!("-{word}"));
            golden(format!("{}{name}-failing", entry.name), entry.name, &[mapping, spare.as_slice(), replaced.as_slice(), &[fail]].concat())
        };
        all.extend(golden(entry.name.into(), entry.name, replaced.as_slice()));
        let buffer = BUFFERS[turn % BUFFERS.len()];
        all.extend(golden(format!("{}-buffered", entry.name), entry.name, &[buffer, replaced.as_slice()].concat()));
        all.extend(failing(&[], blocks_fail_too));
        let mut others = (0..OTHER_MAPPINGS.len()).map(|next| OTHER_MAPPINGS[(turn + next) % OTHER_MAPPINGS.len()]);
        all.extend(others.find_map(|mapping| failing(mapping, blocks_fail_too).or_else(|| failing(mapping, parts_fail))));
    }
    // The default is in all others.
    for policy in policies().filter(|policy| !policy.suits_merges) {
        let value = if policy.most.is_some() { format!("{}:3", policy.name()) } else { policy.form.into() };
        all.extend(golden(format!("ppc-{}", policy.name()), "ppc", &[("gc_policy", &value)]));
    }
    for (scheme, protection) in [("raid5", "false"), ("ca-ppc", "true")] {
        let units = [("page_bytes", "16384"), ("mapping_unit_bytes", "4096"), ("power_loss_protection", protection)];
        all.extend(golden(format!("{scheme}-units"), scheme, &units));
    }
    for (name, scheme, pairs) in SCENARIOS.iter().filter(|(name, ..)| !["plain", "dram", "nvram"].contains(name)) {
        all.extend(golden(format!("{scheme}-{name}"), scheme, pairs));
    }
    all
}

/// The least over-provisioning with which the device is legal under this placement: its highest fill.
pub fn least_over_provisioning(device: &Device, placement: Placement) -> f64 {
    let fits = |ppm: u32| {
        let device = Device { over_provisioning: f64::from(ppm) / 1e6, ..device.clone() };
        device.space_domain(placement).logical_pages <= device.most_logical_pages(placement)
    };
    let (mut low, mut high) = (0, 999_999);
    while low < high {
        let middle = (low + high) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    f64::from(low) / 1e6
}

/// An engine on an erased device, with the configured scheme.
pub fn engine<C: Content>(config: &Config, content: C) -> Engine<C> {
    engine_with(config, config.build_scheme().expect("a legal scheme"), content)
}

/// An engine on an erased device, with a scheme of the test's own.
pub fn engine_with<C: Content>(config: &Config, scheme: Box<dyn Scheme>, content: C) -> Engine<C> {
    engine_on(config, scheme, content)
}

/// An engine on erased media, which are one SSD or an array.
pub fn engine_on<C: Content, M: Assembled>(config: &Config, scheme: Box<dyn Scheme>, content: C) -> Engine<C, M> {
    let space_pages = config.space_bytes(&*scheme) / u64::from(config.device.page_bytes);
    let media = M::assemble(config, &*scheme);
    Engine::new(scheme, media, content, options(config, space_pages))
}

/// ssd1, raid0, static placement, so that a test knows each page's die.
pub fn placed(pairs: &[(&str, &str)]) -> Config {
    config("ssd1", "raid0", &[&[("allocation", "static")], pairs].concat())
}

/// Host page of a local page of channel 0 under `placed`.
pub fn at(local: u64) -> u64 {
    4 * local
}

/// An engine without contents whose first `pages` host pages are written.
pub fn filled(config: &Config, pages: u64) -> Engine<Untracked> {
    let mut engine = engine(config, Untracked);
    engine.fill(pages);
    engine
}

/// Submits a random read, write or trim on the first `space` host pages, and lets up to 300 us pass.
pub fn submit_random<M: Media>(engine: &mut Engine<Tags, M>, random: &mut SplitMix64, space: u64) {
    let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Write, HostOp::Trim][(random.next_u64() % 5) as usize];
    let count = if op == HostOp::Trim && random.next_u64().is_multiple_of(8) { space / 3 } else { 1 + random.next_u64() % 9 };
    let first = random.next_u64() % (space - count);
    engine.submit(&pages(op, first, count), true);
    engine.advance_until(engine.now_ns() + random.next_u64() % 300_000).unwrap();
}

/// Ends a run in which GC had to work, after which every request was served and nothing is lost or wrong.
pub fn finish_clean(engine: &mut Engine<Tags>, what: &str) {
    engine.finish().unwrap();
    engine.executor.media.checked().check().unwrap();
    assert!(engine.executor.media.gc().counts().gc_runs > 0, "{what}: GC had to work");
    assert!(engine.front_end.completed.iter().all(|completed| completed.ok), "{what}");
    let found = verify::stored(engine);
    assert!(found.is_clean() && found.pages_gone == 0, "{what}: {found:?}");
    assert_eq!(engine.executor.content.mismatches, 0, "{what}");
}

/// The result of a simulation that has ended, after which nothing is lost or wrong.
pub fn clean_result(simulation: &mut Simulation, what: &str) -> RunResult {
    let found = simulation.verify().unwrap();
    assert!(found.is_clean(), "{what}: {found:?}");
    simulation.result(&Default::default(), false, None).unwrap()
}

/// Tags for the device or array, and as many host pages as there could be.
pub fn tags(config: &Config) -> Tags {
    Tags::new(ssds(config) * config.device.ppn_limit(), ssds(config) * config.device.geometry().physical_pages())
}

/// SSDs, spare ones included.
pub fn ssds(config: &Config) -> u64 {
    u64::from(config.array.devices + config.array.spare_devices)
}

/// A request of bytes.
pub fn request(op: HostOp, offset_bytes: u64, size_bytes: u64) -> HostRequest {
    HostRequest { arrival_ns: 0, offset_bytes, size_bytes, op, stream: 0, source: 0 }
}

/// A request of pages of 4 KiB.
pub fn pages(op: HostOp, first: u64, count: u64) -> HostRequest {
    request(op, first * 4096, count * 4096)
}

/// What a scheme that wraps another one, `self.inner`, leaves to it of `Scheme`: all but `decide` and `step`.
macro_rules! like_inner {
    () => {
        fn ended(&mut self, operation: &Operation) {
            self.inner.ended(operation);
        }
        fn parity_updates(&self) -> ParityUpdates {
            self.inner.parity_updates()
        }
        fn deferring(&self) -> Option<&dyn flashraid_redundancy::Deferring> {
            self.inner.deferring()
        }
        fn deferring_mut(&mut self) -> Option<&mut dyn flashraid_redundancy::Deferring> {
            self.inner.deferring_mut()
        }
    };
}
pub(crate) use like_inner;

/// The same of `Addressed` and `GcAdvisor`, of a type whose `inner` is any scheme.
macro_rules! addressed_like_inner {
    ($type:ty) => {
        impl flashraid_vocabulary::GcAdvisor for $type {
            fn rule(&self, address: flashraid_vocabulary::MemberPage) -> flashraid_vocabulary::SemivalidAction {
                self.inner.rule(address)
            }
        }

        impl flashraid_redundancy::Addressed for $type {
            type Addressing = dyn flashraid_redundancy::Scheme;

            fn addressing(&self) -> &Self::Addressing {
                &*self.inner
            }
        }
    };
}
pub(crate) use addressed_like_inner;

/// The same of `Recovery`.
macro_rules! recovers_like_inner {
    () => {
        fn protects(&self) -> flashraid_redundancy::Protects {
            self.inner.protects()
        }
        fn recover(&self, lpn: Lpn, lost: &flashraid_redundancy::Lost, sources: &mut Vec<flashraid_redundancy::Source>) -> bool {
            self.inner.recover(lpn, lost, sources)
        }
    };
}
pub(crate) use recovers_like_inner;
