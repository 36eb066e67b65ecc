//! A replacement of an SSD of an array, and what the engine keeps of replacements: data alone, worked on by `replacing`.

use crate::statistics::Latency;
use flashraid_redundancy::{Migrated, Scheme};
use flashraid_vocabulary::HostOp;
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

impl ReplacementRecord {
    /// What it has moved so far, of which the scheme says that all replacements together have moved `migrated`.
    pub fn migrated_of(&self, migrated: Migrated) -> Migrated {
        match self.outcome {
            Outcome::Running => migrated.since(&self.migrated_before),
            _ => self.migrated,
        }
    }

    /// Reads of shadows from its end until the next one began, of those that the scheme has counted in all.
    pub fn shadow_reads_after(&self, migrated: Migrated) -> u64 {
        let (from, to) = self.shadow_reads;
        if self.ended_ns.is_none() { 0 } else { to.unwrap_or(migrated.shadow_reads) - from }
    }
}

/// What the engine keeps of replacements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replacements {
    pub(super) records: Vec<ReplacementRecord>,
    /// Requests that wait until a replacement has ended, while one runs that they wait for.
    pub(super) held: Option<VecDeque<u32>>,
}

impl Replacements {
    /// One begins, before which the scheme had moved `migrated_before`.
    pub(super) fn begin(&mut self, old_device: u32, new_device: u32, started_ns: u64, migrated_before: Migrated) {
        if let Some(former) = self.records.last_mut() {
            former.shadow_reads.1 = Some(migrated_before.shadow_reads);
        }
        self.records.push(ReplacementRecord {
            old_device,
            new_device,
            started_ns,
            ended_ns: None,
            outcome: Outcome::Running,
            migrated: Migrated::default(),
            latency: Latency::default(),
            reads_after: Latency::default(),
            is_shadow: false,
            migrated_before,
            shadow_reads: (0, None),
        });
    }

    /// The one that runs has come to its end, until which the scheme had moved `migrated`.
    pub(super) fn end(&mut self, outcome: Outcome, now_ns: u64, migrated: Migrated) {
        let record = self.records.last_mut().expect("one runs");
        (record.outcome, record.ended_ns) = (outcome, Some(now_ns));
        record.migrated = migrated.since(&record.migrated_before);
        record.shadow_reads.0 = migrated.shadow_reads;
    }

    /// How much of the strips of the SSD that is being replaced lies elsewhere by now, or of the latest one that was, from 0 to 1. `None` before the first
    /// one.
    pub(crate) fn share(&self, scheme: &dyn Scheme) -> Option<f64> {
        match self.records.last()?.outcome {
            Outcome::Running => scheme.replacing().map(|replacing| replacing.replaced_share()),
            _ => Some(1.0),
        }
    }

    /// Whether a replacement ran then.
    pub(super) fn ran_at(&self, time_ns: u64) -> bool {
        let ran = |record: &ReplacementRecord| record.started_ns <= time_ns && record.ended_ns.is_none_or(|ended_ns| time_ns <= ended_ns);
        self.records.iter().any(ran)
    }

    /// A measured request has completed that arrived then.
    #[cold]
    pub(super) fn note(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64) {
        let Some(record) = self.records.iter_mut().rev().find(|record| record.started_ns <= arrival_ns) else { return };
        if record.ended_ns.is_none_or(|ended_ns| arrival_ns <= ended_ns) {
            record.latency.record(latency_ns);
        } else if op == HostOp::Read {
            record.reads_after.record(latency_ns);
        }
    }

    /// The replacement that runs.
    pub(crate) fn running(&self) -> Option<&ReplacementRecord> {
        self.records.last().filter(|record| record.outcome == Outcome::Running)
    }
}
