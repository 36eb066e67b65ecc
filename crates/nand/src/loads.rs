//! What waits and is done for each member.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use flashraid_vocabulary::MemberId;
use std::ops::{Index, IndexMut};

/// What waits and is done for one member.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberLoad {
    /// Reads queued and not started.
    pub reads: u32,
    /// Programs queued and not started.
    pub programs: u32,
    /// Page operations of plans in service.
    pub in_service: u32,
    /// GC runs in progress in the member: kept for the layer above, as is the next figure.
    pub gc_runs: u32,
    /// When a page operation that the host waits for was last submitted; 0 if none was.
    pub last_host_ns: u64,
    /// Sum over completed host requests of the queue length found at their completion (SPEC 3.6).
    pub(crate) blocked_sum: u64,
    pub(crate) blocked_epoch: u64,
}

/// What waits and is done for all members.
#[derive(Clone, Debug)]
pub struct Loads {
    members: Vec<MemberLoad>,
    pub(crate) completed_requests: u64,
}

impl Index<MemberId> for Loads {
    type Output = MemberLoad;

    #[inline]
    fn index(&self, member: MemberId) -> &MemberLoad {
        &self.members[usize::from(member.0)]
    }
}

impl IndexMut<MemberId> for Loads {
    #[inline]
    fn index_mut(&mut self, member: MemberId) -> &mut MemberLoad {
        &mut self.members[usize::from(member.0)]
    }
}

impl Loads {
    pub(crate) fn new(members: u32) -> Self {
        Self { members: vec![MemberLoad::default(); members as usize], completed_requests: 0 }
    }

    /// Number of members.
    pub(crate) fn members(&self) -> u32 {
        self.members.len() as u32
    }

    /// Member by member.
    pub fn iter(&self) -> impl Iterator<Item = &MemberLoad> {
        self.members.iter()
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
    pub fn blocked_sum(&self, member: MemberId, completed: u64) -> u64 {
        let load = &self[member];
        load.blocked_sum + u64::from(load.reads + load.programs) * (completed - load.blocked_epoch)
    }

    /// So many reads and programs more, or less, wait for a member.
    #[inline]
    pub fn queue_changes(&mut self, member: MemberId, reads: i32, programs: i32) {
        let epoch = self.completed_requests;
        let load = &mut self[member];
        let waiting = load.reads + load.programs;
        #[cfg(feature = "mutants")]
        let waiting = if accounting::makes(Slip::BlockedReadsOnly) { load.reads } else { waiting };
        load.blocked_sum += u64::from(waiting) * (epoch - load.blocked_epoch);
        load.blocked_epoch = epoch;
        load.reads = load.reads.wrapping_add_signed(reads);
        load.programs = load.programs.wrapping_add_signed(programs);
    }
}
