//! Parts of the result about one mechanism each: most are there only if a run has it.

use super::flash::FlashOps;
use super::requests::{Failures, LatencySummary};
use crate::buffer::Buffer;
use schemars::JsonSchema;
use serde::Serialize;

/// Exposure under a scheme that does not protect its data at all times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Window {
    /// Mean number of exposed pages over the averaged time. Null if the averaged time is 0.
    pub mean_pages: Option<f64>,
    /// Maximum number of pages exposed at once.
    pub peak_pages: u64,
    /// Time during which at least one page was exposed.
    #[schemars(extend("unit" = "ns"))]
    pub exposed_ns: u64,
    /// Exposed pages at the end.
    pub pages: u64,
}

/// Outcome of the precondition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Preconditioned {
    /// Bytes overwritten.
    #[schemars(extend("unit" = "bytes"))]
    pub overwritten_bytes: u64,
    /// Pages programmed per page overwritten, in the last round.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification: f64,
    /// Whether write amplification was steady over five rounds: a range of at most 20 % of the mean, and a slope of at most 10 % of the
    /// mean.
    pub steady: bool,
}

/// The data buffer. Counts are of host pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct BufferFigures {
    /// `dram` or `nvram`. Data in NVRAM is durable.
    #[schemars(extend("enum" = Buffer::KINDS))]
    pub kind: &'static str,
    /// Page accesses served by the buffer: `read_hits` plus `write_hits`.
    pub hits: u64,
    /// All other page accesses: `read_misses` plus `write_misses`.
    pub misses: u64,
    /// `hits` over the sum of `hits` and `misses`. Null without accesses.
    #[schemars(extend("unit" = "share"))]
    pub hit_rate: Option<f64>,
    /// Page reads that found all requested sectors in the buffer.
    pub read_hits: u64,
    /// All other page reads.
    pub read_misses: u64,
    /// Page writes to a page that was already in the buffer.
    pub write_hits: u64,
    /// Page writes that added a page to the buffer.
    pub write_misses: u64,
    /// Times that something left the buffer: to free space, for a flush, or as it destaged by itself. Each time it is one page (DRAM with `destage_unit = page`) or all
    /// buffered pages of a stripe.
    #[schemars(extend("unit" = "evictions"))]
    pub evictions: u64,
    /// Pages that left.
    pub pages_written_out: u64,
    /// `pages_written_out` over `evictions`. Null without evictions.
    #[schemars(extend("unit" = "pages per eviction"))]
    pub mean_victim_pages: Option<f64>,
    /// Those of the `evictions` that nothing needed: the buffer destaged by itself (`destage = low_water`).
    #[schemars(extend("unit" = "evictions"))]
    pub destages: u64,
    /// Pages that left so; included in `pages_written_out`.
    pub pages_destaged: u64,
    /// The rate at which it does that (`destage_bytes_per_second`). Null with `destage = when_full`.
    #[schemars(extend("unit" = "bytes/s"))]
    pub destage_bytes_per_second: Option<u64>,
    /// Page writes to flash that failed after the host write was acknowledged (from NVRAM, or from DRAM that destages by itself), including those of a drain. Their
    /// data is lost, and the pages count in `losses.host_pages` until they are fully overwritten or discarded.
    pub failed_evictions: Failures,
    /// Pages in the buffer that are not on flash at the end, before a drain.
    pub pages_buffered: u64,
}

/// The cached mapping table (CMT) of DFTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "entries"))]
pub struct MappingFigures {
    /// Map entries that operations found in the table. Each operation looks up an entry once.
    pub cmt_hits: u64,
    /// Map entries that operations did not find in the table.
    pub cmt_misses: u64,
    /// Entries evicted from the table to make room for others.
    pub evictions: u64,
    /// Evictions of entries whose translation page had to be written first; included in `evictions`.
    pub dirty_evictions: u64,
    /// Lookups served from a translation page that the controller was writing.
    pub in_hand: u64,
    /// Translation pages of the device. Each is stored twice; their reads and programs have the cause `metadata`.
    #[schemars(extend("unit" = "pages"))]
    pub translation_pages: u32,
}

/// Activity of a scheme that defers parities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "commits"))]
pub struct GuardFigures {
    /// Updates of a stripe whose parity was already deferred.
    #[schemars(extend("unit" = "operations"))]
    pub hits: u64,
    /// All other stripe updates.
    #[schemars(extend("unit" = "operations"))]
    pub misses: u64,
    /// `hits` over the sum of `hits` and `misses`. Null without updates.
    #[schemars(extend("unit" = "share"))]
    pub hit_rate: Option<f64>,
    /// Deferred parities written to flash because their slot in NVRAM was needed. Commits of a drain are in `drain.commits` alone.
    pub commits_replacement: u64,
    /// Pages read for these commits.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_replacement: u64,
    /// Deferred parities written to flash because GC needed their old pages released.
    pub commits_gc: u64,
    /// Pages read for these commits.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_gc: u64,
    /// Deferred parities written to flash because part of their stripe was lost.
    pub commits_rebuild: u64,
    /// Pages read for these commits.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_rebuild: u64,
    /// Deferred parities written to flash because the device was otherwise idle.
    pub commits_idle: u64,
    /// Pages read for these commits.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_idle: u64,
    /// Pages read per commit, over all causes. Null without commits.
    #[schemars(extend("unit" = "pages per commit"))]
    pub reads_per_commit: Option<f64>,
    /// Cost of GC commits over the cost of GC and replacement commits (SPEC 4.7); the cost of a commit is the mean array time of its reads and
    /// its program. Null without such commits.
    #[schemars(extend("unit" = "share"))]
    pub gc_commit_share: Option<f64>,
    /// Deferred parities that were widened in NVRAM to cover their whole stripe because GC found no flash page for their commit.
    #[schemars(extend("unit" = "parities"))]
    pub widened: u64,
    /// Pages read to widen parities.
    #[schemars(extend("unit" = "pages"))]
    pub widen_reads: u64,
    /// Deferred parities pending at the end, before a drain.
    #[schemars(extend("unit" = "parities"))]
    pub entries: u64,
    /// Maximum number of deferred parities that NVRAM holds; 0 if there is no limit.
    #[schemars(extend("unit" = "parities"))]
    pub most_entries: u64,
    /// Old page versions that recovery still needs at the end, before a drain.
    #[schemars(extend("unit" = "pages"))]
    pub old_pages: u64,
    /// Maximum of `old_pages` at any time since time 0.
    #[schemars(extend("unit" = "pages"))]
    pub most_old_pages: u64,
}

/// A failed part, and the time of its failure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailedPart {
    /// The part, as in `faults[].fault`.
    pub fault: String,
    /// Simulated time at which it failed.
    #[schemars(extend("unit" = "ns"))]
    pub at_ns: u64,
}

/// A rebuild.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Rebuild {
    /// Failed parts that the rebuild covers.
    pub failed: Vec<FailedPart>,
    /// Simulated time of the first of these failures.
    #[schemars(extend("unit" = "ns"))]
    pub started_ns: u64,
    /// Simulated time at which no restorable page was left. Null if the rebuild did not get that far, for instance because repairs still
    /// waited for free pages.
    #[schemars(extend("unit" = "ns"))]
    pub ended_ns: Option<u64>,
    /// `ended_ns` if full redundancy was restored; otherwise null.
    #[schemars(extend("unit" = "ns"))]
    pub finished_ns: Option<u64>,
    /// Time from the first failure to `finished_ns`. Null if `finished_ns` is null.
    #[schemars(extend("unit" = "ns"))]
    pub window_of_vulnerability_ns: Option<u64>,
    /// Page versions lost in the failures: data, parity, copies and bases.
    pub pages_lost: u64,
    /// Pages programmed by the rebuild, excluding pages restored by host writes.
    pub pages: u64,
    /// Versions of `pages_lost` that nobody had to restore any more: the host has overwritten or discarded the page meanwhile, or changed the stripe that
    /// it was parity, copy or base of. `pages_lost`, less `pages` and what was still lost at the end of the rebuild, or of the run.
    pub pages_superseded: u64,
    /// Pages that the rebuild copied from one page; included in `pages`.
    pub pages_copied: u64,
    /// Pages that the rebuild computed from several pages; included in `pages`.
    pub pages_xored: u64,
    /// Bytes of `pages` over the time from `started_ns` to `ended_ns` (SPEC 1.7). Null if `ended_ns` is null or that time is 0.
    #[schemars(extend("unit" = "bytes/s"))]
    pub bytes_per_second: Option<f64>,
    /// Measured requests that arrived during the rebuild and completed.
    #[schemars(extend("unit" = "requests"))]
    pub requests: u64,
    /// Mean latency of these requests: `latency_ns.mean`.
    #[schemars(extend("unit" = "ns"))]
    pub mean_latency_ns: f64,
    /// Latencies of these requests.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: LatencySummary,
}

/// A replacement of an SSD of an array by a spare one (SPEC 5.5).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Replacement {
    /// Number of the SSD that is replaced.
    pub old_device: u32,
    /// Number of the spare SSD that takes its place, or has taken it at the end, if an earlier one failed.
    pub new_device: u32,
    /// How it came out: `replaced`; `running`, at the end of the run; `given_up`, if the new SSD failed and no spare one was left, so that the old
    /// one stays; `failed`, if both SSDs failed.
    #[schemars(extend("enum" = ["running", "replaced", "given_up", "failed"]))]
    pub outcome: &'static str,
    /// Simulated time at which it began.
    #[schemars(extend("unit" = "ns"))]
    pub started_ns: u64,
    /// Simulated time at which it ended. Null if it was running at the end.
    #[schemars(extend("unit" = "ns"))]
    pub ended_ns: Option<u64>,
    /// Time from `started_ns` to `ended_ns`: the device replacement time. Null if `ended_ns` is null.
    #[schemars(extend("unit" = "ns"))]
    pub duration_ns: Option<u64>,
    /// Whether the old SSD stays for reads (`semi_hybrid`).
    pub is_shadow: bool,
    /// Data strips that host writes and discards moved to another SSD, those included that were never written before.
    #[schemars(extend("unit" = "pages"))]
    pub hot_data: u64,
    /// Parities that host writes and discards moved to another SSD, those included that were never written before.
    #[schemars(extend("unit" = "pages"))]
    pub hot_parity: u64,
    /// Strips that host writes moved beside those that they wrote, to make room for a parity.
    #[schemars(extend("unit" = "pages"))]
    pub hot_moves: u64,
    /// Data strips copied without a host request.
    #[schemars(extend("unit" = "pages"))]
    pub cold_data: u64,
    /// Parities copied without a host request.
    #[schemars(extend("unit" = "pages"))]
    pub cold_parity: u64,
    /// Data strips moved without a host request, to make room for a parity.
    #[schemars(extend("unit" = "pages"))]
    pub cold_moves: u64,
    /// Measured requests that arrived during the replacement and completed.
    #[schemars(extend("unit" = "requests"))]
    pub requests: u64,
    /// Latencies of these requests.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: LatencySummary,
    /// Measured reads that arrived after the end of the replacement and before the next one began, and completed.
    #[schemars(extend("unit" = "requests"))]
    pub reads_after: u64,
    /// Latencies of these reads.
    #[schemars(extend("unit" = "ns"))]
    pub read_latency_after_ns: LatencySummary,
    /// Pages read from shadows in that time, by the warm-up too.
    #[schemars(extend("unit" = "pages"))]
    pub shadow_reads_after: u64,
}

/// Cost of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drain {
    /// Host pages written from the data buffer to flash.
    #[schemars(extend("unit" = "pages"))]
    pub pages: u64,
    /// Deferred parities written to flash.
    #[schemars(extend("unit" = "commits"))]
    pub commits: u64,
    /// Simulated duration of the drain.
    #[schemars(extend("unit" = "ns"))]
    pub simulated_ns: u64,
    /// Page operations and erases started for the drain, by cause.
    pub flash_ops: FlashOps,
}
