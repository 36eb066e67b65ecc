//! Flash work by cause, capacities, and the parts of the device.

use crate::config::Overhead;
use schemars::JsonSchema;
use serde::Serialize;

/// Counts by cause of flash work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByCause {
    /// Data that the host reads or writes.
    pub host: u64,
    /// Reads of the old content of partly overwritten pages.
    pub update_read: u64,
    /// Reads for computing parity, including reads that also deliver the old content of a partly overwritten page.
    pub pre_read: u64,
    /// Programs of parity pages as part of a write or trim.
    pub parity: u64,
    /// Programs of additional copies of a page.
    pub mirror: u64,
    /// Reads and programs that bring a deferred parity up to date.
    pub commit: u64,
    /// Reads of surviving pages to reconstruct a lost page for a request, and programs that restore a lost page as part of a host write.
    pub reconstruct: u64,
    /// Page moves and erases of GC or of log-block merges.
    pub gc: u64,
    /// Page moves and erases of static wear leveling.
    pub wear: u64,
    /// Reads and programs of rebuilds.
    pub rebuild: u64,
    /// Reads and programs of migrations to another member.
    pub migration: u64,
    /// Reads and programs of translation pages.
    pub metadata: u64,
    /// Retries of failed programs.
    pub retry: u64,
    /// Sum over the causes.
    pub total: u64,
}

/// Page operations and erases by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlashOps {
    /// Page reads. A copyback counts as a read and a program.
    #[schemars(extend("unit" = "pages"))]
    pub reads: ByCause,
    /// Page programs.
    #[schemars(extend("unit" = "pages"))]
    pub programs: ByCause,
    /// Block erases.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: ByCause,
}

/// Capacities, and the overhead of the scheme.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Capacity {
    /// Bytes of flash: all physical pages, excluding spare chips.
    #[schemars(extend("unit" = "bytes"))]
    pub raw_bytes: u64,
    /// Flash of an SSD as a share of that of the preset whose name the device has, if it was made smaller: lifetimes, and times of rebuilds and replacements,
    /// are then as much shorter than those of the preset. Null otherwise.
    #[schemars(extend("unit" = "share"))]
    pub share_of_preset: Option<f64>,
    /// Capacity available to the host under this scheme, excluding redundancy and over-provisioning.
    #[schemars(extend("unit" = "bytes"))]
    pub user_bytes: u64,
    /// Size of the logical space, which is the address range of requests: `user_bytes`, unless `space_bytes` is set.
    #[schemars(extend("unit" = "bytes"))]
    pub space_bytes: u64,
    /// Bytes of the logical space written before the first request (`fill`, `fill_bytes`).
    #[schemars(extend("unit" = "bytes"))]
    pub filled_bytes: u64,
    /// Pages programmed in no simulated time by the fill, the precondition and first touches (`unwritten = prefill`), including pages
    /// moved.
    #[schemars(extend("unit" = "pages"))]
    pub placed_pages: u64,
    /// Pages still needed at the end: data, redundancy, translation pages, and old versions that recovery needs.
    #[schemars(extend("unit" = "pages"))]
    pub live_pages: u64,
    /// Share of the pages in all blocks in use that are not live at the end, including mirror chips, whose blocks GC of other chips cannot use. With equal amounts of
    /// data, it differs between schemes with different overhead. Null if no block is left.
    #[schemars(extend("unit" = "share"))]
    pub effective_over_provisioning: Option<f64>,
    /// The part of `effective_over_provisioning` that GC can use: what lies above the pages that it keeps free in each plane, which are
    /// `gc_threshold` of them, or `gc_reserve_blocks` blocks if these are more. Only so many pages can be garbage before GC must run, so write amplification
    /// follows from this share. Null with log blocks (`mapping = bast` or `fast`), which have no free pages in common, and if no block is left.
    #[schemars(extend("unit" = "share"))]
    pub usable_over_provisioning: Option<f64>,
    /// Cost of the scheme in flash and memory.
    #[serde(flatten)]
    pub overhead: Overhead,
}

/// Cost of parity per page programmed with host data. All are null if there is no such page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages per page"))]
pub struct PerDataPage {
    /// Pre-reads: `flash_ops.reads.pre_read` over `flash_ops.programs.host`.
    pub pre_reads: Option<f64>,
    /// Reads of commits: `flash_ops.reads.commit` over `flash_ops.programs.host`.
    pub commit_reads: Option<f64>,
    /// Parity programs: `flash_ops.programs.parity` over `flash_ops.programs.host`.
    pub parity_programs: Option<f64>,
    /// Programs of commits: `flash_ops.programs.commit` over `flash_ops.programs.host`.
    pub commit_programs: Option<f64>,
}

/// Garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GarbageCollection {
    /// Blocks, or superblocks, collected by GC and wear leveling; with log blocks, merges of all kinds.
    #[schemars(extend("unit" = "runs"))]
    pub collections: u64,
    /// Switch merges: a log block that was fully written in order became the data block.
    #[schemars(extend("unit" = "merges"))]
    pub merges_switch: u64,
    /// Partial merges: the remaining pages were copied to a log block that was partly written in order.
    #[schemars(extend("unit" = "merges"))]
    pub merges_partial: u64,
    /// Full merges: the newest version of every page was copied to an erased block.
    #[schemars(extend("unit" = "merges"))]
    pub merges_full: u64,
    /// Pages of the map that were copied: `flash_ops.programs.gc`, or `flash_units.programs.gc` if several are programmed together.
    #[schemars(extend("unit" = "pages"))]
    pub copies: u64,
    /// Blocks erased: `flash_ops.erases.gc`.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: u64,
    /// Time during which collections ran, summed over planes.
    #[schemars(extend("unit" = "ns"))]
    pub time_ns: u64,
    /// Mean array time of `copies` (a read and a program each) and of `erases` (SPEC 6.3). Where several mapping units are programmed together: the
    /// array time of GC's reads, programs and erases.
    #[schemars(extend("unit" = "ns"))]
    pub cost_ns: u64,
}

/// Components of write amplification, and separate items that it does not include.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WriteAmplificationBy {
    /// Programs of host data (cause `host`), without those counted below in `warmup` and `failed`.
    pub host: Option<f64>,
    /// Programs of redundancy (causes `parity`, `mirror`, `commit`), likewise.
    pub redundancy: Option<f64>,
    /// Programs of GC and wear leveling (causes `gc`, `wear`).
    pub gc: Option<f64>,
    /// Programs of translation pages (cause `metadata`).
    pub metadata: Option<f64>,
    /// Padding: mapping units of flash pages that were programmed before they were full. Present only if a flash page has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub padding: Option<Option<f64>>,
    /// Separate: programs of lost pages, by a rebuild or as part of a host write (causes `rebuild`, `reconstruct`).
    pub rebuild: Option<f64>,
    /// Separate: retries of failed programs (cause `retry`).
    pub retry: Option<f64>,
    /// Separate: migrations to another member (cause `migration`).
    pub migration: Option<f64>,
    /// Separate: programs of warm-up requests that were still pending when measurement began.
    pub warmup: Option<f64>,
    /// Separate: programs of failed writes, whose bytes do not count as written. `gc` still includes the page moves that they caused.
    pub failed: Option<f64>,
    /// Separate: all programs of the drain. Present with `drain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub drain: Option<Option<f64>>,
}

/// Operations that changed the parity of a stripe, or would have changed it if they had not been mirrored or deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParityUpdates {
    /// Full-stripe writes, which need no reads for the parity.
    pub full_stripe: u64,
    /// Read-modify-writes: the parity is computed from the old parity and the old and new data of the strips that change.
    pub rmw: u64,
    /// Reconstruct writes: the parity is computed from the new data and the strips that do not change.
    pub rcw: u64,
    /// Writes that programmed copies on mirror chips instead of updating the parity. Writes of schemes without parity are not counted
    /// here, although the log of requests calls those that program copies `mirrored` too.
    pub mirrored: u64,
    /// Writes, and discards of written pages, that deferred the parity.
    pub deferred: u64,
    /// Deferred parities committed. One commit covers all earlier deferred updates of its stripe, so there may be fewer commits than
    /// deferred updates. Some parities may still be pending at the end.
    pub committed: u64,
    /// Updates, and commits of deferred parities, for which the rule (`update` = `adaptive` or `bpu`) chose another method than the one with fewest
    /// pre-reads. Under `adaptive` these include updates for which both cost the same, as on an idle device, with `tie = rmw`. They count as updates or
    /// commits too.
    pub adjusted: u64,
}

/// Health of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// No page of it is lost.
    Healthy,
    /// Some of its pages are lost now.
    Degraded,
    /// The whole member has failed.
    Failed,
}

/// A member of the redundancy group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Member {
    /// Page reads on its LUNs.
    #[schemars(extend("unit" = "pages"))]
    pub reads: u64,
    /// Page programs on its LUNs.
    #[schemars(extend("unit" = "pages"))]
    pub programs: u64,
    /// Block erases on its LUNs.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: u64,
    /// Mean share of the averaged time for which its LUNs were busy; a replaced chip and its spare count as one. Null if the averaged time
    /// is 0.
    #[schemars(extend("unit" = "share"))]
    pub busy_fraction: Option<f64>,
    /// Mean number of page reads and programs waiting for the member, sampled when each request completes (SPEC 3.6).
    #[schemars(extend("unit" = "operations"))]
    pub mean_blocked: f64,
    /// Median of the latency of its page operations, from submission to end, excluding those of GC and wear leveling. Rounded as the quantiles of
    /// `latency_ns`.
    #[schemars(extend("unit" = "ns"))]
    pub p50_ns: u64,
    /// 90th percentile of the same.
    #[schemars(extend("unit" = "ns"))]
    pub p90_ns: u64,
    /// 99th percentile of the same.
    #[schemars(extend("unit" = "ns"))]
    pub p99_ns: u64,
    /// 99.9th percentile of the same.
    #[schemars(extend("unit" = "ns"))]
    pub p99_9_ns: u64,
    /// 99.99th percentile of the same.
    #[schemars(extend("unit" = "ns"))]
    pub p99_99_ns: u64,
    /// Longest of the same.
    #[schemars(extend("unit" = "ns"))]
    pub max_ns: u64,
    /// Erased blocks at the end, excluding blocks reserved for translation pages.
    #[schemars(extend("unit" = "blocks"))]
    pub free_blocks: u64,
    /// Its share of the parity programs (cause `parity`) of all members; 0 if there are none.
    #[schemars(extend("unit" = "share"))]
    pub parity_share: f64,
    /// Its health at the end.
    pub state: MemberState,
}

/// Pearson's test of whether members have the same load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChiSquare {
    /// Requests at whose completion the queues were looked at: all since measuring began, those of the warm-up and those that failed included.
    #[schemars(extend("unit" = "requests"))]
    pub requests: u64,
    /// Sum over the members of (O - E)^2 / E: O is `mean_blocked` of the member times `requests`, and E the mean of
    /// that over the members. The O are not independent, as a queue lasts: the test is the paper's, and the more requests the less it tells.
    #[schemars(extend("unit" = "ratio"))]
    pub statistic: f64,
    /// Members less one.
    #[schemars(extend("unit" = "members"))]
    pub degrees_of_freedom: u64,
    /// Probability of at least this statistic if all members have the same load.
    #[schemars(extend("unit" = "probability"))]
    pub p_value: f64,
}

/// How often reads suspended what a die did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuspensionFigures {
    /// Suspensions of programs, those of GC included.
    #[schemars(extend("unit" = "suspensions"))]
    pub programs: u64,
    /// Suspensions of erases.
    #[schemars(extend("unit" = "suspensions"))]
    pub erases: u64,
}

/// The SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SlcFigures {
    /// Mapping units that were programmed in SLC mode, redundancy and padding included.
    #[schemars(extend("unit" = "units"))]
    pub units_written: u64,
    /// Mapping units that GC moved out of the cache, as they were still needed (folding). They are among `flash_units.programs.gc`.
    #[schemars(extend("unit" = "units"))]
    pub units_folded: u64,
    /// Erases of blocks in SLC mode. They are among `flash_ops.erases`.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: u64,
}

/// Reads that LDPC decoded.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LdpcFigures {
    /// Reads that were started, by level, those of GC included: level L takes L+1 attempts. The last are those that cannot be corrected, with as many
    /// attempts as there are.
    #[schemars(extend("unit" = "pages"))]
    pub reads_by_level: Vec<u64>,
    /// Attempts for each read.
    #[schemars(extend("unit" = "ratio"))]
    pub mean_attempts: Option<f64>,
    /// Share of reads with more than one attempt.
    #[schemars(extend("unit" = "share"))]
    pub retried_share: Option<f64>,
    /// Pages that were found to be lost since the run began, as no attempt could correct them, redundancy and translation pages included. Those that
    /// nothing can recover are among `losses`.
    #[schemars(extend("unit" = "pages"))]
    pub pages_uncorrectable: u64,
    /// Pages programmed in their place, apart from those of a rebuild.
    #[schemars(extend("unit" = "pages"))]
    pub pages_repaired: u64,
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Channel {
    /// Time for which its bus was in use, by cause.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: ByCause,
}

/// The host link of an SSD of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Link {
    /// Time for which commands, and the data of programs, crossed it towards the SSD, by cause.
    #[schemars(extend("unit" = "ns"))]
    pub to_ssd_busy_ns: ByCause,
    /// Time for which the data of reads crossed it from the SSD, by cause.
    #[schemars(extend("unit" = "ns"))]
    pub from_ssd_busy_ns: ByCause,
}

/// What takes time between the host and the flash of a drive; of an array, of its controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostSideFigures {
    /// The host link to the drive: the data of writes.
    pub write_link: InUse,
    /// The host link from the drive: the data of reads.
    pub read_link: InUse,
    /// The controller: commands, mapping units that reads and writes touch, and in a single SSD those that GC moves.
    pub controller: InUse,
}

/// What serves one request after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InUse {
    /// Time for which it was in use.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: u64,
    /// Share of the time since the first measured arrival for which it was in use. Null if no time has passed.
    #[schemars(extend("unit" = "share"))]
    pub busy_fraction: Option<f64>,
}

/// A LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Die {
    /// Time for which it served operations, by cause: array time, and the transfers of their data and commands.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: ByCause,
    /// Page programs, by cause.
    #[schemars(extend("unit" = "pages"))]
    pub programs: ByCause,
}

/// Erase counts of the blocks in use.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wear {
    /// Mean over the blocks.
    pub erase_mean: f64,
    /// Maximum over the blocks.
    pub erase_max: u32,
    /// Population standard deviation.
    pub erase_stddev: f64,
    /// The blocks by their number of erases: at most 32 ranges of equal width, in order, without gaps, from the least erased block on. The last range
    /// includes `erase_max` and may end beyond it. Empty if no block is left.
    pub histogram: Vec<EraseRange>,
}

/// Blocks with a number of erases in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EraseRange {
    /// Fewest erases of the range.
    #[schemars(extend("unit" = "erases"))]
    pub erases_from: u64,
    /// Most erases of the range, inclusive.
    #[schemars(extend("unit" = "erases"))]
    pub erases_to: u64,
    /// Blocks in the range; 0 if there are none. The sum over all ranges is the number of blocks in use.
    #[schemars(extend("unit" = "blocks"))]
    pub blocks: u64,
}

/// How long a new device lasts at this load, until its blocks have been erased as often as they endure, on average. It follows from the pages
/// programmed, each of which will have to be erased once, and not from the erases of the run, of which a short one has few. It leaves out programs that
/// write amplification leaves out (rebuilds, migrations, retries), erases before the run, wear that is uneven over blocks, and errors
/// before wear-out. An array counts as one device, without spare SSDs. If GC did not run, or the device was not in a steady state, the lifetime is
/// an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lifetime {
    /// P/E cycles that each block endures: `pe_limit` of an array, the least one if its SSDs differ. Null without a limit.
    #[schemars(extend("unit" = "P/E cycles"))]
    pub pe_cycles: Option<u64>,
    /// P/E cycles of a block per day: bytes programmed for host writes (those of `write_amplification`) over `capacity.raw_bytes` and
    /// `bandwidth.span_ns` in days. Null if `bandwidth.span_ns` is 0.
    #[schemars(extend("unit" = "P/E cycles/day"))]
    pub pe_cycles_per_day: Option<f64>,
    /// How often the user capacity can be written during 1,000 P/E cycles: 1000 x `capacity.raw_bytes` / (`write_amplification` x
    /// `capacity.user_bytes`). Null if `write_amplification` is null or 0.
    #[schemars(extend("unit" = "drive writes"))]
    pub full_drive_writes_per_1000_cycles: Option<f64>,
    /// Time that 1,000 P/E cycles last: 1000 / (`pe_cycles_per_day` x 365). Null if `pe_cycles_per_day` is null or 0.
    #[schemars(extend("unit" = "years"))]
    pub years_per_1000_cycles: Option<f64>,
    /// `full_drive_writes_per_1000_cycles` x `pe_cycles` / 1000. Null if either is null.
    #[schemars(extend("unit" = "drive writes"))]
    pub full_drive_writes: Option<f64>,
    /// `years_per_1000_cycles` x `pe_cycles` / 1000. Null if either is null.
    #[schemars(extend("unit" = "years"))]
    pub years: Option<f64>,
    /// Page programs of the member with most of them over the mean of the members in use (`members[].programs`). Where data stays on its member, the
    /// busiest one wears out so many times sooner than the mean, which the other figures describe: a dedicated parity member, for instance. Null
    /// without programs.
    #[schemars(extend("unit" = "ratio"))]
    pub programs_peak_to_mean: Option<f64>,
}
