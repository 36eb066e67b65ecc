//! Counts page operations by action and cause, and how many requests wait at each member.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::{Counts, MemberLoad, Nand};
use flashraid_vocabulary::{Cause, MemberId};

impl Nand {
    /// What page operations were started, by action and cause.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A LUN starts this action.
    #[inline]
    pub(crate) fn count(&mut self, unit: u32, action: usize, cause: Cause) {
        self.units[unit as usize].operations[action][cause as usize] += 1;
        #[cfg(feature = "mutants")]
        let cause = match cause {
            Cause::Wear if accounting::makes(accounting::Slip::WearAsGc) => Cause::Gc,
            Cause::Rebuild if action == 1 && accounting::makes(accounting::Slip::RebuildAsParity) => Cause::Parity,
            cause => cause,
        };
        self.counts[action][cause as usize] += 1;
    }

    /// A deliberate fault: an erase that has failed counts twice.
    #[cfg(feature = "mutants")]
    pub fn count_erase_again(&mut self, plane: u32, cause: Cause) {
        self.count(self.unit_of_plane(plane), crate::counts::ERASE, cause);
    }

    /// Load of a member.
    #[inline]
    pub fn load(&self, member: MemberId) -> &MemberLoad {
        &self.loads[usize::from(member.0)]
    }

    /// Loads of all members.
    #[inline]
    pub fn loads(&self) -> &[MemberLoad] {
        &self.loads
    }

    /// Load of a member, to change what NAND does not know of.
    #[inline]
    pub fn load_mut(&mut self, member: usize) -> &mut MemberLoad {
        &mut self.loads[member]
    }

    /// Counts a completed host request, for the members' mean of blocked requests.
    #[inline]
    pub fn request_completed(&mut self) {
        self.completed_requests += 1;
    }

    /// Completed host requests counted.
    pub fn requests_completed(&self) -> u64 {
        self.completed_requests
    }

    /// Sum over `completed` requests, which are all that have completed, of the member's queue length at their completion.
    pub fn blocked_sum(&self, member: u32, completed: u64) -> u64 {
        let load = &self.loads[member as usize];
        load.blocked_sum + u64::from(load.reads + load.programs) * (completed - load.blocked_epoch)
    }

    /// A page operation was submitted: of the host, which waits for it, or not.
    #[inline]
    pub fn note_submitted(&mut self, member: u16, is_of_host: bool, reads: i32, programs: i32) {
        self.queue_changes(member, reads, programs);
        if is_of_host {
            self.loads[usize::from(member)].last_host_ns = self.now_ns;
        }
    }

    /// So many reads and programs more, or less, wait for a member.
    #[inline]
    pub fn queue_changes(&mut self, member: u16, reads: i32, programs: i32) {
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
