//! Write amplification: bytes programmed for each byte that the host wrote, and what for. Programs that the host's writes of the measured
//! time did not ask for stand apart: those of failures, of migrations and of the warm-up. So do those for writes that failed, as their bytes
//! are not written.

use super::figures::ratio;
use super::types::WriteAmplificationBy;
use crate::statistics::Statistics;
use flashraid_ftl::Counts;
use flashraid_vocabulary::{Action, Cause};

/// What write amplification is made of, by the causes of programs.
const HOST: &[Cause] = &[Cause::Host, Cause::UpdateRead, Cause::PreRead];
const REDUNDANCY: &[Cause] = &[Cause::Parity, Cause::Mirror, Cause::Commit];
const GC: &[Cause] = &[Cause::Gc, Cause::Wear];
const METADATA: &[Cause] = &[Cause::Metadata];
const PARTS: [&[Cause]; 4] = [HOST, REDUNDANCY, GC, METADATA];

/// What stands apart from it.
const REBUILD: &[Cause] = &[Cause::Rebuild, Cause::Reconstruct];
const RETRY: &[Cause] = &[Cause::Retry];
const MIGRATION: &[Cause] = &[Cause::Migration];
const APART: [&[Cause]; 3] = [REBUILD, RETRY, MIGRATION];

/// Whether programs of this cause stand apart from write amplification.
pub(crate) fn is_apart(cause: Cause) -> bool {
    APART.iter().any(|causes| causes.contains(&cause))
}

/// Programs by the part of write amplification to which they belong.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    /// Of the measured requests that did not fail, by cause.
    own: [u64; Cause::COUNT],
    /// Of requests of the warm-up.
    warmup: u64,
    /// Of measured writes that failed.
    failed: u64,
    /// Padding, where a flash page has several mapping units.
    padding: Option<u64>,
}

impl Programs {
    /// Parts `counts`.
    pub(super) fn of(counts: &Counts, padding: Option<u64>, statistics: &Statistics) -> Self {
        let programs = &counts[Action::Program as usize];
        // Programs of the warm-up may not have started: in a run that was stopped, or where parts have failed. Those of a write that failed and has
        // ended have.
        let failed = &statistics.failed_programs;
        let warmup: [u64; Cause::COUNT] =
            std::array::from_fn(|cause| statistics.warmup_programs[cause].min(programs[cause] - failed[cause]));
        Self {
            own: std::array::from_fn(|cause| programs[cause] - warmup[cause] - failed[cause]),
            warmup: warmup.iter().sum(),
            failed: failed.iter().sum(),
            padding,
        }
    }

    fn sum(&self, causes: &[Cause]) -> u64 {
        causes.iter().map(|cause| self.own[*cause as usize]).sum()
    }

    /// Programs that count in write amplification.
    pub(super) fn counted(&self) -> u64 {
        PARTS.iter().map(|causes| self.sum(causes)).sum::<u64>() + self.padding.unwrap_or(0)
    }

    /// Pages programmed with the host's data.
    pub(super) fn data(&self) -> u64 {
        self.own[Cause::Host as usize]
    }

    /// Each part, and what stands apart, over `pages_written`: host bytes in units of a page.
    pub(super) fn report(&self, pages_written: f64) -> WriteAmplificationBy {
        let per_page = |pages: u64| ratio(pages as f64, pages_written);
        let of = |causes: &[Cause]| per_page(self.sum(causes));
        WriteAmplificationBy {
            host: of(HOST),
            redundancy: of(REDUNDANCY),
            gc: of(GC),
            metadata: of(METADATA),
            padding: self.padding.map(per_page),
            rebuild: of(REBUILD),
            retry: of(RETRY),
            migration: of(MIGRATION),
            warmup: per_page(self.warmup),
            failed: per_page(self.failed),
            drain: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_in_one_part() {
        let mut causes: Vec<usize> = PARTS.iter().chain(&APART).flat_map(|causes| *causes).map(|cause| *cause as usize).collect();
        causes.sort_unstable();
        assert_eq!(causes, Cause::ALL.map(|cause| cause as usize));
    }
}
