//! Parts of the result about one mechanism each: most are there only if a run has it.

use super::flash::FlashOps;
use super::requests::{Failures, LatencyFigures};
use schemars::JsonSchema;
use serde::Serialize;

/// Exposure of a scheme that does not keep its guarantee at all times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct Window {
    /// Mean number of exposed pages over the averaged time. Null if that is 0.
    pub mean_pages: Option<f64>,
    /// Most exposed pages at once.
    pub peak_pages: u64,
    /// Time in which any page was exposed.
    #[schemars(extend("unit" = "ns"))]
    pub exposed_ns: u64,
    /// Exposed pages at the end.
    pub pages: u64,
}

/// What the precondition reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Preconditioned {
    /// Bytes overwritten.
    #[schemars(extend("unit" = "bytes"))]
    pub overwritten_bytes: u64,
    /// Pages programmed per page overwritten, in the last round.
    #[schemars(extend("unit" = "ratio"))]
    pub write_amplification: f64,
    /// Whether write amplification was steady over five rounds: a range of at most 20 % of its mean, and a slope of at most 10 % of it.
    pub steady: bool,
}

/// The data buffer. Counts are of host pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "pages"))]
pub struct BufferFigures {
    /// `dram`, or `nvram`, in which data count as durable.
    #[schemars(extend("enum" = ["dram", "nvram"]))]
    pub kind: &'static str,
    /// Page accesses that found what they need in the buffer: `read_hits` and `write_hits`.
    pub hits: u64,
    /// Page accesses that did not: `read_misses` and `write_misses`.
    pub misses: u64,
    /// `hits` over `hits` and `misses`. Null without accesses.
    #[schemars(extend("unit" = "share"))]
    pub hit_rate: Option<f64>,
    /// Reads that found all their sectors of the page in the buffer.
    pub read_hits: u64,
    /// Other reads.
    pub read_misses: u64,
    /// Writes to a page that is in the buffer.
    pub write_hits: u64,
    /// Writes that took a page into the buffer.
    pub write_misses: u64,
    /// Evictions to free space or for a flush: each takes one page of DRAM, or all pages of a stripe in NVRAM.
    #[schemars(extend("unit" = "evictions"))]
    pub evictions: u64,
    /// Pages that evictions took.
    pub pages_written_out: u64,
    /// `pages_written_out` over `evictions`. Null without evictions.
    #[schemars(extend("unit" = "pages per eviction"))]
    pub mean_victim_pages: Option<f64>,
    /// Page writes out of NVRAM that failed after the host's write was acknowledged, those of a drain included. Their data are lost, and the
    /// pages are in `losses.host_pages` until they are written whole or discarded.
    pub failed_evictions: Failures,
    /// Pages in the buffer at the end, before a drain, which are not on flash.
    pub pages_buffered: u64,
}

/// The cached mapping table (CMT) of DFTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "entries"))]
pub struct MappingFigures {
    /// Map entries that operations needed and found in the table. Each operation looks an entry up once.
    pub cmt_hits: u64,
    /// Map entries that they did not find.
    pub cmt_misses: u64,
    /// Entries evicted from the table to make way for others.
    pub evictions: u64,
    /// Of these, entries whose translation page had to be written first.
    pub dirty_evictions: u64,
    /// Lookups served from a translation page that the controller was writing at the time.
    pub in_hand: u64,
    /// Translation pages of the device. Each is stored twice; their reads and programs have the cause `metadata`.
    #[schemars(extend("unit" = "pages"))]
    pub translation_pages: u32,
}

/// What a scheme did that defers parities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "commits"))]
pub struct GuardFigures {
    /// Stripe updates that found their stripe's parity already deferred.
    #[schemars(extend("unit" = "operations"))]
    pub hits: u64,
    /// All other stripe updates.
    #[schemars(extend("unit" = "operations"))]
    pub misses: u64,
    /// `hits` over `hits` and `misses`. Null without updates.
    #[schemars(extend("unit" = "share"))]
    pub hit_rate: Option<f64>,
    /// Deferred parities written to flash because their slot in NVRAM was needed. Commits of a drain are in `drain.commits` alone.
    pub commits_replacement: u64,
    /// Pages read for them.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_replacement: u64,
    /// Deferred parities written to flash because GC needed their old pages released.
    pub commits_gc: u64,
    /// Pages read for them.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_gc: u64,
    /// Deferred parities written to flash because part of their stripe was lost.
    pub commits_rebuild: u64,
    /// Pages read for them.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_rebuild: u64,
    /// Deferred parities written to flash because the device was otherwise idle.
    pub commits_idle: u64,
    /// Pages read for them.
    #[schemars(extend("unit" = "pages"))]
    pub commit_reads_idle: u64,
    /// Pages read per commit, over all causes. Null without commits.
    #[schemars(extend("unit" = "pages per commit"))]
    pub reads_per_commit: Option<f64>,
    /// Cost of GC commits over the cost of GC and replacement commits (SPEC 4.7); the cost of a commit is the mean array time of its reads and
    /// its program. Null without such commits.
    #[schemars(extend("unit" = "share"))]
    pub gc_commit_share: Option<f64>,
    /// Parities extended in NVRAM to cover their whole stripe for GC, because no flash page was available for them.
    #[schemars(extend("unit" = "parities"))]
    pub widened: u64,
    /// Pages read for them.
    #[schemars(extend("unit" = "pages"))]
    pub widen_reads: u64,
    /// Deferred parities at the end, before a drain.
    #[schemars(extend("unit" = "parities"))]
    pub entries: u64,
    /// The most that fit in NVRAM; 0 if there is no bound.
    #[schemars(extend("unit" = "parities"))]
    pub most_entries: u64,
    /// Old versions that recovery needs at the end, before a drain.
    #[schemars(extend("unit" = "pages"))]
    pub old_pages: u64,
    /// The most of these at once since time 0.
    #[schemars(extend("unit" = "pages"))]
    pub most_old_pages: u64,
}

/// What failed, and when.
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
    /// What failed.
    pub failed: Vec<FailedPart>,
    /// Simulated time of the first of these failures.
    #[schemars(extend("unit" = "ns"))]
    pub started_ns: u64,
    /// Simulated time at which nothing restorable was left. Null if the rebuild did not get that far, for instance because pages wait for
    /// space.
    #[schemars(extend("unit" = "ns"))]
    pub ended_ns: Option<u64>,
    /// `ended_ns`, if everything was then as redundant as before; else null.
    #[schemars(extend("unit" = "ns"))]
    pub finished_ns: Option<u64>,
    /// From the first failure to `finished_ns`. Null if that is null.
    #[schemars(extend("unit" = "ns"))]
    pub window_of_vulnerability_ns: Option<u64>,
    /// Page versions lost to the failures: data, parity, copies and bases.
    pub pages_lost: u64,
    /// Pages programmed by the rebuild. Pages repaired by host writes are not included.
    pub pages: u64,
    /// Of these, pages copied from one page.
    pub pages_copied: u64,
    /// Of these, pages computed from several.
    pub pages_xored: u64,
    /// Bytes of `pages` over the time from `started_ns` to `ended_ns` (SPEC 1.7). Null if `ended_ns` is null or that time is 0.
    #[schemars(extend("unit" = "bytes/s"))]
    pub bytes_per_second: Option<f64>,
    /// Measured requests that arrived while it ran, and completed.
    #[schemars(extend("unit" = "requests"))]
    pub requests: u64,
    /// Mean latency of these requests: `latency_ns.mean`.
    #[schemars(extend("unit" = "ns"))]
    pub mean_latency_ns: f64,
    /// Latencies of these requests.
    #[schemars(extend("unit" = "ns"))]
    pub latency_ns: LatencyFigures,
}

/// Cost of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drain {
    /// Host pages of the data buffer that reached flash.
    #[schemars(extend("unit" = "pages"))]
    pub pages: u64,
    /// Deferred parities written to flash.
    #[schemars(extend("unit" = "commits"))]
    pub commits: u64,
    /// Simulated time that it took.
    #[schemars(extend("unit" = "ns"))]
    pub simulated_ns: u64,
    /// Page operations and erases started for it, by cause.
    pub flash_ops: FlashOps,
}
