//! The SSDs of an array, and what age did to them.

use super::flash::FlashOps;
use schemars::JsonSchema;
use serde::Serialize;

/// What an SSD of an array is at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsdState {
    /// It is read, programmed and collected.
    ReadWrite,
    /// It is read, and neither programmed nor collected.
    ReadOnly,
    /// It lives, and is not accessed.
    Disabled,
    /// It has failed as a whole, or was taken out by `online-rebuild` or `offline-diff-raid`.
    Failed,
    /// It waits to take the place of another one.
    Spare,
}

/// An SSD of an array.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ssd {
    /// Its number: spare SSDs follow the others. Faults name it `device:N`.
    pub number: u32,
    /// The member that it is, or was until a spare SSD took its place. Null for a spare SSD that waits.
    pub member: Option<u32>,
    /// Its state at the end.
    pub state: SsdState,
    /// Its age at the end: `total_erases` over the erases that its blocks endure, their number times `pe_limit`. Null without a limit.
    #[schemars(extend("unit" = "share"))]
    pub age: Option<f64>,
    /// Erases of all its blocks since it was new: preset (`ages`), by fill, precondition and warm-up, and measured. Blocks of a chip that a spare chip
    /// has replaced do not count, nor those of spare chips that wait.
    #[schemars(extend("unit" = "blocks"))]
    pub total_erases: u64,
    /// Erases of all its blocks that it began with (`ages`).
    #[schemars(extend("unit" = "blocks"))]
    pub preset_erases: u64,
    /// Mean of the erase counts of its blocks.
    #[schemars(extend("unit" = "erases"))]
    pub erase_mean: f64,
    /// Erased blocks at the end.
    #[schemars(extend("unit" = "blocks"))]
    pub free_blocks: u64,
    /// Mean share of the averaged time for which its LUNs were busy, without those of spare chips. Null if the averaged time is 0.
    #[schemars(extend("unit" = "share"))]
    pub busy_fraction: Option<f64>,
    /// Page operations and erases that were started on it, by cause.
    pub flash_ops: FlashOps,
}

/// An SSD that was worn out: the erase that was the last one its blocks endure had ended, and it failed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WearOut {
    /// Simulated time at which it failed.
    #[schemars(extend("unit" = "ns"))]
    pub at_ns: u64,
    /// Number of the SSD in `devices`.
    pub device: u32,
    /// Time since the wear-out before. Null for the first.
    #[schemars(extend("unit" = "ns"))]
    pub since_previous_ns: Option<u64>,
    /// Data exposed at this moment, before anything was rebuilt: host pages that were not lost, and that a failure of one more member would have taken.
    #[schemars(extend("unit" = "pages"))]
    pub exposed_pages: u64,
    /// Host pages that could not be rebuilt immediately after the wear-out.
    #[schemars(extend("unit" = "pages"))]
    pub pages_lost: u64,
}
