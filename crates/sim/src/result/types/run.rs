//! The result as a whole.

use super::ageing::{Ssd, WearOut};
use super::flash::{
    Capacity, Channel, ChiSquare, Die, FlashOps, GarbageCollection, HostSideFigures, LdpcFigures, Lifetime, Link, Member, ParityUpdates,
    PerDataPage, SlcFigures, SuspensionFigures, Wear, WriteAmplificationBy,
};
use super::mechanisms::{BufferFigures, Drain, GuardFigures, MappingFigures, Preconditioned, Rebuild, Replacement, Window};
use super::requests::{Bandwidth, Latencies, LatenciesAround, Losses, Requests, Workload};
use crate::config::{Config, Survival};
use crate::inject::Injected;
use crate::listing::Placed;
use crate::verify::Verification;
use flashraid_redundancy::Protects;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the result format: incremented when a key is removed or renamed, or changes its meaning or unit.
pub const SCHEMA: u32 = 2;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunResult {
    /// Version of the result format. It is incremented when a key is removed or renamed, or changes its meaning or unit.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// Version of flashraid that produced the result.
    pub version: &'static str,
    /// Name of the device (`device.name`).
    pub device: String,
    /// Name of the redundancy scheme.
    pub scheme: String,
    /// Seed of the random number generators (`seed`).
    pub seed: u64,
    /// Whether the run was interrupted. The result then covers the part that was simulated.
    pub partial: bool,
    /// The complete configuration, including defaults. `--config` repeats the run with it.
    pub config: Config,
    /// The unit that the scheme protects: it claims to survive the loss of any one, or of any `survives_failures`. `member` is a channel or a chip (setting `member`), `device`
    /// an SSD of an array.
    #[schemars(extend("enum" = Protects::ALL.map(Protects::name)))]
    pub protects: &'static str,
    /// How many of these units the scheme claims to survive the loss of at once; 0 if it protects nothing.
    #[schemars(extend("unit" = "failures"))]
    pub survives_failures: u32,
    /// The failure that this device survives in its initial, healthy state.
    pub survives: Survival,
    /// Host pages whose redundancy was not yet written, so that a failure of their unit would have lost them. Null under a scheme that protects
    /// its data at all times. A page is exposed from the end of the last program of the operation that wrote it (one
    /// operation per stripe), because the controller holds the data until then. With `write_completes = data_in`, it is exposed from the
    /// acknowledgement, because from then on only the page registers of the chips hold the data.
    pub window: Option<Window>,
    /// The `allocation` and `ftl` in effect under the scheme.
    pub placement: Placed,
    /// Simulated time from the start of measurement to the end of the simulation. Measurement starts at time 0, or after a warm-up, with
    /// the arrival of the first measured request.
    #[schemars(extend("unit" = "ns"))]
    pub simulated_ns: u64,
    /// The trace, its measured requests, and the load that they put on the device.
    pub workload: Workload,
    /// Capacities, and the overhead of the scheme.
    pub capacity: Capacity,
    /// Outcome of the requests.
    pub requests: Requests,
    /// Data lost in failures and not recovered by the end of the run, including the drain.
    pub losses: Losses,
    /// Latencies of completed requests, by kind: from arrival (in a closed loop, from submission) to completion.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: Latencies,
    /// Operations on flash pages, and erases, that were started, by cause.
    pub flash_ops: FlashOps,
    /// Mapping units read and programmed, by cause. Present only if a flash page has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FlashOps")]
    pub flash_units: Option<FlashOps>,
    /// Mapping units of padding in flash pages that were programmed before they were full: for a flush, before an erase of GC, after `pad_after_ns`, or as
    /// the drive was switched off. Present only if a flash page has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", extend("unit" = "units"))]
    pub padded_units: Option<u64>,
    /// Throughput. It excludes failed requests and is not lowered by activity after the last completion.
    pub bandwidth: Bandwidth,
    /// Cost of parity per page programmed with host data (cause `host`).
    pub per_data_page: PerDataPage,
    /// Garbage collection; with log blocks, their merges.
    pub collection: GarbageCollection,
    /// Bytes programmed for host writes over the bytes of completed writes: the sum of `host`, `redundancy`, `gc`, `metadata` and, if several mapping units are
    /// programmed together, `padding` of `write_amplification_by`. Null if nothing was written.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification: Option<f64>,
    /// The components of `write_amplification`, which add up to it, and separate items. All are over the bytes of completed writes. GC,
    /// commits and evictions count when they occur, regardless of which writes caused them. All are null if nothing was written.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification_by: WriteAmplificationBy,
    /// `write_amplification` over `write_amplification_by.host`: pages programmed for each page programmed with host data. Like these, it
    /// excludes programs of the warm-up and of failed writes. Null if no host data was programmed.
    #[schemars(extend("unit" = "ratio"))]
    pub pages_per_host_page: Option<f64>,
    /// Operations that changed the parity of a stripe, by method.
    #[schemars(extend("unit" = "operations"))]
    pub parity_updates: ParityUpdates,
    /// Members of the redundancy group, in order.
    pub members: Vec<Member>,
    /// Channels, in order.
    pub channels: Vec<Channel>,
    /// Host links of the SSDs of an array, spares included, in order of the SSDs. Present with `link_ps_per_byte` or `link_command_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Link>")]
    pub links: Option<Vec<Link>>,
    /// What takes time between host and flash. Present with `host_write_ps_per_byte`, `host_read_ps_per_byte`, `command_ns`, `unit_ns`, `read_latency_ns`
    /// or `write_latency_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HostSideFigures")]
    pub host_side: Option<HostSideFigures>,
    /// LUNs (dies, or chips if `lun = chip`), channel by channel. Each channel has C = `chips_per_channel` + `spare_chips` chips: data chips,
    /// then mirror chips, then spare chips. Within a channel, LUN `i` is die `i / C` of chip `i mod C`.
    pub dies: Vec<Die>,
    /// Coefficient of variation of `members[].mean_blocked`: standard deviation over mean. Null if the mean is 0.
    #[schemars(extend("unit" = "ratio"))]
    pub blocked_cv: Option<f64>,
    /// Whether the members' queues differ by more than chance (SPEC 3.6). Null if the mean of `members[].mean_blocked` is 0, or there is one member.
    pub blocked_chi_square: Option<ChiSquare>,
    /// Erase counts of the blocks in use, since the device was new.
    #[schemars(extend("unit" = "erases"))]
    pub wear: Wear,
    /// How long the flash lasts at this load.
    pub lifetime: Lifetime,
    /// The SSDs, spare ones included, in order. Present for an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Ssd>")]
    pub devices: Option<Vec<Ssd>>,
    /// SSDs that were worn out (`pe_limit`), in order. Present for an array, and for a single SSD with `pe_limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<WearOut>")]
    pub wear_outs: Option<Vec<WearOut>>,
    /// The drive that the run began with. Null without `drive`: then the device was new before fill and precondition.
    pub drive: Option<Drive>,
    /// Outcome of the precondition. Present with `precondition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Preconditioned")]
    pub precondition: Option<Preconditioned>,
    /// The data buffer, counted in host pages. Present with `buffer_bytes`, `buffer_bytes_per_gib` or `nvram_buffer_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BufferFigures")]
    pub buffer: Option<BufferFigures>,
    /// How often reads suspended what a die did. Present with `suspend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SuspensionFigures")]
    pub suspensions: Option<SuspensionFigures>,
    /// The SLC cache. Present with `slc_static` or `slc_dynamic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SlcFigures")]
    pub slc: Option<SlcFigures>,
    /// Reads that LDPC decoded. Present with `ldpc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LdpcFigures")]
    pub ldpc: Option<LdpcFigures>,
    /// The cached mapping table. Present with `mapping = dftl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MappingFigures")]
    pub mapping: Option<MappingFigures>,
    /// Activity of a scheme that defers parities. Present under such a scheme, unless it mirrors the strips whose parity it defers. Hits and
    /// misses are counted when an update gets its place in NVRAM, before it starts or when it is decided; everything else is counted when it runs. Hits and misses may therefore
    /// not add up to `parity_updates.deferred`: after a warm-up under load, or if discards are looked up that defer no parity.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GuardFigures")]
    pub guard: Option<GuardFigures>,
    /// Injected faults, in order.
    pub faults: Vec<Injected>,
    /// Latencies before, during and after rebuilds and replacements of SSDs, by kind of request. Present if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LatenciesAround", extend("unit" = "ns"))]
    pub latency_around_rebuilds_ns: Option<LatenciesAround>,
    /// Rebuilds, in order. A failure during a rebuild becomes part of that rebuild.
    pub rebuild: Vec<Rebuild>,
    /// Replacements of SSDs, in order. Present under a scheme that replaces them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Replacement>")]
    pub replacements: Option<Vec<Replacement>>,
    /// Outcome of verification. Present with `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Verification")]
    pub verify: Option<Verification>,
    /// Cost of writing the data buffer and the deferred parities to flash after the last request. Only `write_amplification_by.drain` also
    /// includes it. Writes that failed during the drain appear in `losses`, `buffer.failed_evictions` and `verify`. Present with `drain`,
    /// if the run was not interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drain")]
    pub drain: Option<Drain>,
    /// Time and memory that the run took on the host machine: the only part that may differ between identical runs. Absent with
    /// `--no-engine` (`engine=False`) and for a `Simulation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EngineCost")]
    pub engine: Option<EngineCost>,
}

/// A drive that an earlier run has left (`drive`), and what it has been through since it was prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drive {
    /// SHA-256 of all that is in its file, but for the digest at the end.
    pub sha256: String,
    /// Version of flashraid that wrote the file.
    pub version: String,
    /// Runs that the drive has served.
    #[schemars(extend("unit" = "runs"))]
    pub runs: u64,
    /// Their requests.
    #[schemars(extend("unit" = "requests"))]
    pub requests: u64,
    /// Data of the host that they have programmed, in whole pages.
    #[schemars(extend("unit" = "bytes"))]
    pub programmed_bytes: u64,
    /// Their simulated time, together.
    #[schemars(extend("unit" = "ns"))]
    pub simulated_ns: u64,
}

/// Time and memory that the run took on the host machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineCost {
    /// Time from opening the trace to the finished result, excluding fill and precondition.
    #[schemars(extend("unit" = "s"))]
    pub wall_seconds: f64,
    /// Time to build, fill and precondition the device.
    #[schemars(extend("unit" = "s"))]
    pub fill_seconds: f64,
    /// Measured requests per second of `wall_seconds`.
    #[schemars(extend("unit" = "requests/s"))]
    pub host_requests_per_second: f64,
    /// Page operations and erases started since time 0, per second of `wall_seconds`.
    #[schemars(extend("unit" = "operations/s"))]
    pub flash_ops_per_second: f64,
    /// Peak resident memory of the process; 0 if the system does not report it.
    #[schemars(extend("unit" = "bytes"))]
    pub peak_rss_bytes: u64,
}
