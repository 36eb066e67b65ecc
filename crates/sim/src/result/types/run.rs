//! The result as a whole.

use super::flash::{Capacity, Channel, Die, FlashOps, GarbageCollection, Member, ParityUpdates, PerDataPage, Wear, WriteAmplificationBy};
use super::mechanisms::{BufferFigures, Drain, GuardFigures, MappingFigures, Preconditioned, Rebuild, Window};
use super::requests::{Bandwidth, Latencies, Losses, Requests, Workload};
use crate::config::{Config, Survival};
use crate::inject::Injected;
use crate::listing::Placed;
use crate::verify::Verification;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the result's form: raised when a key is removed or renamed, or changes its meaning or unit.
pub const SCHEMA: u32 = 2;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunResult {
    /// Version of the result's form. It is raised when a key is removed or renamed, or changes its meaning or unit.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// Version of flashraid that made the result.
    pub version: &'static str,
    /// Name of the device (`device.name`).
    pub device: String,
    /// Name of the redundancy scheme.
    pub scheme: String,
    /// Seed of everything random (`seed`).
    pub seed: u64,
    /// Whether the run was stopped before its end. The result then covers what was simulated until then.
    pub partial: bool,
    /// The complete configuration, defaults filled in: `--config` runs a result again from it.
    pub config: Config,
    /// The unit of which the scheme declares that any one may be lost. `member` is a channel or a chip, as the setting `member` says.
    #[schemars(extend("enum" = ["none", "chip", "channel", "member"]))]
    pub protects: &'static str,
    /// What `protects` means on this device, as built and with nothing failed.
    pub survives: Survival,
    /// Host pages whose redundancy was not yet written, so that the loss of the unit they are on would have lost them. Null for schemes that
    /// keep their guarantee at all times; only `fra` does not. A page is exposed from the end of the last program of the operation that wrote
    /// it (one per stripe), because until then the controller has the data; with `write_completes = data_in`, from the acknowledgement,
    /// because from then on only the registers of the chips hold it.
    pub window: Option<Window>,
    /// The `allocation` and `ftl` in effect under the scheme.
    pub placement: Placed,
    /// Simulated time from the start of measurement to the end of the simulation; without a warm-up, from time 0.
    #[schemars(extend("unit" = "ns"))]
    pub simulated_ns: u64,
    /// The trace, what was measured of it, and the load that it put on the device.
    pub workload: Workload,
    /// Capacities, and the overhead of the scheme.
    pub capacity: Capacity,
    /// What became of the requests.
    pub requests: Requests,
    /// What failures took and nothing recovered by the end of the run, drain included.
    pub losses: Losses,
    /// Latencies of completed requests, by kind: from arrival (in a closed loop, from submission) to completion.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: Latencies,
    /// Page operations and erases that were started, by cause.
    pub flash_ops: FlashOps,
    /// Throughput. Failed requests count nowhere, and activity after the last completion does not lower it.
    pub bandwidth: Bandwidth,
    /// Cost of parity, per page programmed with host data (cause `host`).
    pub per_data_page: PerDataPage,
    /// Garbage collection; with log blocks, their merges.
    pub collection: GarbageCollection,
    /// Bytes programmed for host writes over the bytes of completed writes: the sum of `host`, `redundancy`, `gc` and `metadata` of
    /// `write_amplification_by`. Null if nothing was written.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification: Option<f64>,
    /// The parts of `write_amplification`, which add up to it, and separate items over the same bytes (the bytes of completed writes). GC,
    /// commits and evictions count when they happen, whatever made them necessary. All are null if nothing was written.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification_by: WriteAmplificationBy,
    /// Pages of `write_amplification` over pages programmed with host data (cause `host`). Null if there are none.
    #[schemars(extend("unit" = "ratio"))]
    pub pages_per_host_page: Option<f64>,
    /// Operations that changed the parity or the copies of a stripe, by method.
    #[schemars(extend("unit" = "operations"))]
    pub parity_updates: ParityUpdates,
    /// Members of the redundancy group, in order.
    pub members: Vec<Member>,
    /// Channels, in order.
    pub channels: Vec<Channel>,
    /// Array units (dies, or chips if `lun = chip`), channel by channel. Within a channel, unit `i` belongs to chip `i` modulo
    /// `chips_per_channel`; mirror chips come last.
    pub dies: Vec<Die>,
    /// Coefficient of variation of `members[].mean_blocked`: standard deviation over mean. Null if the mean is 0.
    #[schemars(extend("unit" = "ratio"))]
    pub blocked_cv: Option<f64>,
    /// Erase counts of the blocks in use, since the device was new.
    #[schemars(extend("unit" = "erases"))]
    pub wear: Wear,
    /// What the precondition reached. Present with `precondition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Preconditioned")]
    pub precondition: Option<Preconditioned>,
    /// The data buffer, counted in host pages. Present with `buffer_bytes`, `buffer_bytes_per_gib` or `nvram_buffer_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BufferFigures")]
    pub buffer: Option<BufferFigures>,
    /// The cached mapping table. Present with `mapping = dftl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MappingFigures")]
    pub mapping: Option<MappingFigures>,
    /// What the scheme did that defers parities. Present under `fpc`, `ppc`, `ca-ppc` and `fra`. Hits and misses count when an update is
    /// decided, in the order of the requests, and everything else when it runs; after a warm-up under load they therefore need not add up to
    /// `parity_updates.deferred`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GuardFigures")]
    pub guard: Option<GuardFigures>,
    /// Faults that were injected, in order.
    pub faults: Vec<Injected>,
    /// Rebuilds, in order. Failures during a rebuild join it.
    pub rebuild: Vec<Rebuild>,
    /// What verification found. Present with `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Verification")]
    pub verify: Option<Verification>,
    /// Cost of writing the data buffer and the deferred parities to flash after the last request. No other key but
    /// `write_amplification_by.drain` counts it; what it could not write is in `losses`, `buffer.failed_evictions` and `verify`. Present with
    /// `drain`, if the run was not stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Drain")]
    pub drain: Option<Drain>,
    /// What the machine needed: the only part that may differ between equal runs. Absent with `--no-engine` (`engine=False`), and of a
    /// `Simulation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EngineCost")]
    pub engine: Option<EngineCost>,
}

/// What the machine needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineCost {
    /// Time from opening the trace to the finished result, without fill and precondition.
    #[schemars(extend("unit" = "s"))]
    pub wall_seconds: f64,
    /// Time for building, filling and preconditioning the device.
    #[schemars(extend("unit" = "s"))]
    pub fill_seconds: f64,
    /// Measured requests per second of `wall_seconds`.
    #[schemars(extend("unit" = "requests/s"))]
    pub host_requests_per_second: f64,
    /// Page operations and erases started since time 0, per second of `wall_seconds`.
    #[schemars(extend("unit" = "operations/s"))]
    pub flash_ops_per_second: f64,
    /// Peak resident memory of the process; 0 where the system does not tell.
    #[schemars(extend("unit" = "bytes"))]
    pub peak_rss_bytes: u64,
}
