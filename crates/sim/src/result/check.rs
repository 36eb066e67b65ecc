//! Whether the counts of a run agree with each other. A difference is a defect of the program, and the run ends with it instead of a result.

use super::{Inconsistent, Snapshot};
use crate::engine::Survey;
use crate::simulation::Simulation;
use flashraid_ftl::ACTIONS;
use flashraid_vocabulary::Cause;

impl Simulation {
    /// What must agree in every run: requests in = completed + failed + unfinished, and page operations planned = what the NAND did.
    pub(super) fn check(
        &self,
        device: &Survey<'_>,
        now: &Snapshot,
        completed: u64,
        unfinished: u64,
        warmup: u64,
    ) -> Result<(), Inconsistent> {
        let failed = device.statistics.failed_no_space + device.statistics.failed_lost + device.statistics.failed_refused;
        let submitted = self.measured.requests;
        // Warm-up requests may be unfinished too, so they are counted in on both sides while any request is unfinished.
        let accounted = completed + failed + unfinished;
        if accounted < submitted || accounted > submitted + warmup.min(unfinished) {
            return Err(Inconsistent(format!(
                "{submitted} requests submitted, {completed} completed, {failed} failed, {unfinished} unfinished"
            )));
        }
        let luns: [u64; ACTIONS] = std::array::from_fn(|action| now.luns.iter().flat_map(|lun| lun[action]).sum());
        for (action, name) in ["reads", "programs", "erases"].into_iter().enumerate() {
            let by_cause: u64 = now.counts[action].iter().sum();
            if by_cause != luns[action] {
                return Err(Inconsistent(format!("{by_cause} {name} by cause, {} by LUN", luns[action])));
            }
        }
        for (action, planned) in device.statistics.planned.iter().enumerate() {
            for cause in Cause::ALL {
                let (planned, started) = (planned[cause as usize], now.counts[action][cause as usize]);
                let is_gc = matches!(cause, Cause::Gc | Cause::Wear);
                // The memory of packed flash pages accepts anew what its place has failed, without a plan.
                let is_beside = cause == Cause::Retry && device.media.shape().units_per_program > 1;
                if !is_gc && ((started > planned && !is_beside) || (unfinished == 0 && self.next_event_ns().is_none() && started < planned))
                {
                    return Err(Inconsistent(format!("{planned} page operations planned for {}, {started} started", cause.name())));
                }
            }
        }
        Ok(())
    }
}
