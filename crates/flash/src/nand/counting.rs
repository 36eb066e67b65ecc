//! Counts page operations by action and cause, and how many requests wait at each member.

use crate::Flash;
#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use flashraid_vocabulary::Cause;

impl Flash {
    pub(crate) fn count(&mut self, action: usize, cause: Cause) {
        #[cfg(feature = "mutants")]
        let cause = match cause {
            Cause::Wear if accounting::makes(accounting::Slip::WearAsGc) => Cause::Gc,
            Cause::Rebuild if action == 1 && accounting::makes(accounting::Slip::RebuildAsParity) => Cause::Parity,
            cause => cause,
        };
        self.counts[action][cause as usize] += 1;
    }

    /// Counts a completed host request, for the members' mean of blocked requests.
    #[inline]
    pub fn request_completed(&mut self) {
        self.completed_requests += 1;
    }

    /// A page operation was submitted: of the host, which waits for it, or not.
    #[inline]
    pub(crate) fn note_submitted(&mut self, member: u16, is_of_host: bool, reads: i32, programs: i32) {
        self.queue_changes(member, reads, programs);
        if is_of_host {
            self.loads[usize::from(member)].last_host_ns = self.now_ns;
        }
    }

    #[inline]
    pub(crate) fn queue_changes(&mut self, member: u16, reads: i32, programs: i32) {
        let epoch = self.completed_requests;
        let load = &mut self.loads[usize::from(member)];
        let waiting = load.reads + load.programs;
        #[cfg(feature = "mutants")]
        let waiting = if accounting::makes(Slip::BlockedReadsOnly) { load.reads } else { waiting };
        load.blocked_sum += u64::from(waiting) * (epoch - load.blocked_epoch);
        load.blocked_epoch = epoch;
        load.reads = load.reads.wrapping_add_signed(reads);
        load.programs = load.programs.wrapping_add_signed(programs);
    }
}
