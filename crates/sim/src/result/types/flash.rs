//! Flash work by cause, capacities, and the parts of the device.

use crate::config::Overhead;
use schemars::JsonSchema;
use serde::Serialize;

/// A count for each cause of flash work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByCause {
    /// Data that the host reads or writes.
    pub host: u64,
    /// Reads of the old content of pages of which only a part is overwritten.
    pub update_read: u64,
    /// Reads made only to compute parity. One that also delivers the old content of a partly written page counts here.
    pub pre_read: u64,
    /// Programs of parity pages as part of a write or trim.
    pub parity: u64,
    /// Programs of further copies of a page.
    pub mirror: u64,
    /// Reads and programs that bring a deferred parity up to date.
    pub commit: u64,
    /// Reads of survivors to recompute a lost page for a request, and programs that store a lost page together with a host write.
    pub reconstruct: u64,
    /// Moves and erases of GC, or of merges of log blocks.
    pub gc: u64,
    /// Moves and erases of static wear levelling.
    pub wear: u64,
    /// Reads and programs of rebuilds.
    pub rebuild: u64,
    /// Reads and programs of migrations to another member; no current scheme migrates.
    pub migration: u64,
    /// Reads and programs of translation pages.
    pub metadata: u64,
    /// Repetitions of failed programs.
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
    /// Bytes of flash, every physical page counted; without spare chips.
    #[schemars(extend("unit" = "bytes"))]
    pub raw_bytes: u64,
    /// Bytes that the scheme offers to the host on this device, without redundancy and over-provisioning.
    #[schemars(extend("unit" = "bytes"))]
    pub user_bytes: u64,
    /// Bytes of the logical space, whose addresses requests may use: `user_bytes`, unless the setting `space_bytes` says otherwise.
    #[schemars(extend("unit" = "bytes"))]
    pub space_bytes: u64,
    /// Bytes of the logical space written before the first request (`fill`, `fill_bytes`).
    #[schemars(extend("unit" = "bytes"))]
    pub filled_bytes: u64,
    /// Pages programmed in no simulated time, by the fill, the precondition and first touches (`unwritten = prefill`), moves included.
    #[schemars(extend("unit" = "pages"))]
    pub placed_pages: u64,
    /// Pages that hold something needed at the end: data, redundancy, translation pages, old versions that recovery needs.
    #[schemars(extend("unit" = "pages"))]
    pub live_pages: u64,
    /// Share of the pages of all blocks in use that is not live at the end: what GC really has to work with. Equal amounts of data leave
    /// unequal shares under schemes of unequal overhead. Null if no block is left.
    #[schemars(extend("unit" = "share"))]
    pub effective_over_provisioning: Option<f64>,
    /// What the scheme costs beside time.
    #[serde(flatten)]
    pub overhead: Overhead,
}

/// Cost of parity, per page programmed with host data. All are null if there is no such page.
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
    /// Blocks collected, by GC and by wear levelling; with log blocks, merges of all kinds.
    #[schemars(extend("unit" = "runs"))]
    pub collections: u64,
    /// Switch merges: a log block written completely in order became the data block.
    #[schemars(extend("unit" = "merges"))]
    pub merges_switch: u64,
    /// Partial merges: the remaining pages were copied behind those written in order.
    #[schemars(extend("unit" = "merges"))]
    pub merges_partial: u64,
    /// Full merges: the newest version of every page was copied to an erased block.
    #[schemars(extend("unit" = "merges"))]
    pub merges_full: u64,
    /// Pages copied: `flash_ops.programs.gc`.
    #[schemars(extend("unit" = "pages"))]
    pub copies: u64,
    /// Blocks erased: `flash_ops.erases.gc`.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: u64,
    /// Time in which collections ran, summed over planes.
    #[schemars(extend("unit" = "ns"))]
    pub time_ns: u64,
    /// Mean array time of `copies` (a read and a program each) and of `erases` (SPEC 6.3).
    #[schemars(extend("unit" = "ns"))]
    pub cost_ns: u64,
}

/// The parts of write amplification, and what stands apart from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WriteAmplificationBy {
    /// Programs of host data (cause `host`).
    pub host: Option<f64>,
    /// Programs of redundancy (causes `parity`, `mirror`, `commit`).
    pub redundancy: Option<f64>,
    /// Programs of GC and of wear levelling (causes `gc`, `wear`).
    pub gc: Option<f64>,
    /// Programs of translation pages (cause `metadata`).
    pub metadata: Option<f64>,
    /// Apart: lost pages programmed anew, by a rebuild or together with a write (causes `rebuild`, `reconstruct`).
    pub rebuild: Option<f64>,
    /// Apart: repetitions of failed programs (cause `retry`).
    pub retry: Option<f64>,
    /// Apart: migrations to another member (cause `migration`).
    pub migration: Option<f64>,
    /// Apart: what requests of the warm-up still had to program when measurement began.
    pub warmup: Option<f64>,
    /// Apart: what was programmed for failed writes, whose bytes do not count as written. `gc` still includes the moves that they caused.
    pub failed: Option<f64>,
    /// Apart: all programs of the drain. Present with `drain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub drain: Option<Option<f64>>,
}

/// Operations that changed the parity or the copies of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParityUpdates {
    /// Writes of a full stripe, which read nothing for the parity.
    pub full_stripe: u64,
    /// Read-modify-writes: the parity follows from the old parity and the old version of the strips that change.
    pub rmw: u64,
    /// Reconstruct writes: the parity follows from the strips that do not change.
    pub rcw: u64,
    /// Writes that wrote a copy and left the parity as it was.
    pub mirrored: u64,
    /// Writes that deferred the parity.
    pub deferred: u64,
    /// Deferred parities written later. Each covers all deferred updates of its stripe up to then, so there may be fewer of them, and some may
    /// still be pending at the end.
    pub committed: u64,
    /// Updates by schemes that choose the method by load; 0 for all current schemes.
    pub adjusted: u64,
}

/// How a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// No page of it is lost.
    Healthy,
    /// Some of its pages are lost now.
    Degraded,
    /// No part of it works.
    Failed,
}

/// A member of the redundancy group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Member {
    /// Page reads on its array units.
    #[schemars(extend("unit" = "pages"))]
    pub reads: u64,
    /// Page programs on its array units.
    #[schemars(extend("unit" = "pages"))]
    pub programs: u64,
    /// Block erases on its array units.
    #[schemars(extend("unit" = "blocks"))]
    pub erases: u64,
    /// Mean share of the averaged time in which its array units were busy; a replaced chip and its spare count as one. Null if that time is 0.
    #[schemars(extend("unit" = "share"))]
    pub busy_fraction: Option<f64>,
    /// Mean number of page reads and programs that wait for the member, over the instants at which requests complete (SPEC 3.6).
    #[schemars(extend("unit" = "operations"))]
    pub mean_blocked: f64,
    /// 99.9 % of its page operations took at most this long, from submission to end.
    #[schemars(extend("unit" = "ns"))]
    pub p99_9_ns: u64,
    /// Erased blocks at the end, without those set apart for translation pages.
    #[schemars(extend("unit" = "blocks"))]
    pub free_blocks: u64,
    /// Its share of the parity programs (cause `parity`) of all members; 0 if there are none.
    #[schemars(extend("unit" = "share"))]
    pub parity_share: f64,
    /// How it is at the end.
    pub state: MemberState,
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Channel {
    /// Time for which its bus was in use, by cause.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: ByCause,
}

/// An array unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Die {
    /// Time for which it was busy, by cause.
    #[schemars(extend("unit" = "ns"))]
    pub busy_ns: ByCause,
    /// Page programs, by cause.
    #[schemars(extend("unit" = "pages"))]
    pub programs: ByCause,
}

/// Erase counts of the blocks in use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wear {
    /// Mean over the blocks.
    pub erase_mean: f64,
    /// Of the block with the most.
    pub erase_max: u32,
    /// Standard deviation of the population.
    pub erase_stddev: f64,
}
