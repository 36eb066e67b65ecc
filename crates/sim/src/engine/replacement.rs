//! A replacement of an SSD of an array, and what the engine keeps of replacements: data alone, worked on by `replacing`.

use crate::statistics::Latency;
use flashraid_redundancy::Migrated;
use std::collections::VecDeque;

/// How a replacement came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It runs.
    Running,
    /// The new SSD is in the place of the old one.
    Replaced,
    /// The new SSD has failed, and there was no other one: the old one stays.
    GivenUp,
    /// Both SSDs have failed.
    Failed,
}

impl Outcome {
    /// The word used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Replaced => "replaced",
            Self::GivenUp => "given_up",
            Self::Failed => "failed",
        }
    }
}

/// A replacement of an SSD.
#[derive(Clone, Debug)]
pub struct ReplacementRecord {
    /// Number of the SSD that goes.
    pub old_device: u32,
    /// Number of the SSD in its place: when it began, and again when it has ended.
    pub new_device: u32,
    /// When it began.
    pub started_ns: u64,
    /// When it came to its end.
    pub ended_ns: Option<u64>,
    /// How it came out.
    pub outcome: Outcome,
    /// What was moved.
    pub migrated: Migrated,
    /// Measured requests that arrived while it ran.
    pub latency: Latency,
    /// Measured reads that arrived after it had ended, and before the next one began.
    pub reads_after: Latency,
    /// The SSD stays for reads.
    pub is_shadow: bool,
    /// What the scheme had moved when it began.
    pub(super) migrated_before: Migrated,
    /// Reads of shadows until it ended, and until the next one began.
    pub(super) shadow_reads: (u64, Option<u64>),
}

/// What the engine keeps of replacements.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacements {
    pub(super) records: Vec<ReplacementRecord>,
    /// Requests that wait until a replacement has ended, while one runs that they wait for.
    pub(super) held: Option<VecDeque<u32>>,
}
