//! Counts page operations by action and cause, and records slices and page operations while somebody asks for them.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::luns::LunState;
use crate::{Activity, Counts, Done, Loads, Nand, Record, Slice, Track, WorkKind};
use flashraid_vocabulary::{Cause, MemberPage, NIL, Ppn};

/// What is recorded, and what was.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(crate) lists_started: bool,
    /// Page operations of plans that were started: the operation, its physical page and its slot.
    pub(crate) started: Vec<(u32, Ppn, u32)>,
    pub(crate) lists_slices: bool,
    slices: Vec<Slice>,
    pub(crate) lists_done: bool,
    done: Vec<Done>,
    /// Of LUNs that were at work when recording of page operations began: since when.
    begun_before: Vec<Option<u64>>,
    /// When it began.
    done_since_ns: u64,
}

impl Recording {
    /// Lists, or does not list, page operations of plans that are started.
    pub fn list_started(&mut self, lists: bool) {
        self.lists_started = lists;
        self.started.clear();
    }

    /// Page operations of plans that were started, if they are listed: the operation, its physical page and its slot. Who takes them empties the list.
    #[inline]
    pub fn started(&mut self) -> &mut Vec<(u32, Ppn, u32)> {
        &mut self.started
    }

    /// Begins or ends recording.
    pub fn record_slices(&mut self, records: bool) {
        self.lists_slices = records;
    }

    /// Takes what was recorded and leaves the empty lists: slices of buses in the order in which they began, those of LUNs and page
    /// operations in the order in which they ended.
    pub fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>) {
        debug_assert!(slices.is_empty() && done.is_empty());
        std::mem::swap(&mut self.slices, slices);
        std::mem::swap(&mut self.done, done);
    }
}

impl Nand {
    // ---- counts ----

    /// What page operations were started, by action and cause.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A LUN starts this action.
    #[inline]
    pub(crate) fn count(&mut self, lun: u32, action: usize, cause: Cause) {
        self.luns[lun as usize].operations[action][cause as usize] += 1;
        #[cfg(feature = "mutants")]
        let cause = match cause {
            Cause::Wear if accounting::makes(Slip::WearAsGc) => Cause::Gc,
            Cause::Rebuild if action == 1 && accounting::makes(Slip::RebuildAsParity) => Cause::Parity,
            cause => cause,
        };
        self.counts[action][cause as usize] += 1;
    }

    /// A deliberate fault: an erase that has failed counts twice.
    #[cfg(feature = "mutants")]
    pub fn count_erase_again(&mut self, plane: u32, cause: Cause) {
        self.count(self.places().lun_of_plane(plane), crate::counts::ERASE, cause);
    }

    /// Loads of members.
    #[inline]
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Loads of members.
    #[inline]
    pub fn loads_mut(&mut self) -> &mut Loads {
        &mut self.loads
    }

    // ---- records ----

    /// What is recorded, and what was.
    #[inline]
    pub fn recording_mut(&mut self) -> &mut Recording {
        &mut self.recording
    }

    fn address(&self, slot: u32) -> MemberPage {
        MemberPage::of_entry(slot, self.loads.members())
    }

    /// Begins to record page operations that start from now on, or ends recording.
    pub fn record_done(&mut self, records: bool) {
        self.recording.lists_done = records;
        self.recording.begun_before = self.luns.iter().map(|lun| (!lun.is_idle()).then_some(lun.since_ns)).collect();
        self.recording.done_since_ns = self.now_ns;
    }

    /// When the LUN of a page operation began with what it did last.
    #[cfg(feature = "mutants")]
    pub(crate) fn began_record_ns(&self, record: u32) -> u64 {
        let Record { plane, ppn, submitted_ns, .. } = self.records[record];
        if plane == NIL { submitted_ns } else { self.luns[self.places().lun_of_page(plane, Ppn(ppn)) as usize].since_ns }
    }

    /// A page operation ends that its LUN began at `start_ns`.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_done(&mut self, id: u32, start_ns: u64) {
        let Record { work, cause, owner, ppn, plane, slot, version, bytes, submitted_ns, .. } = self.records[id];
        let lun_id = self.places().lun_of_page(plane, Ppn(ppn));
        if self.recording.begun_before[lun_id as usize] == Some(start_ns) || start_ns < self.recording.done_since_ns {
            return;
        }
        let transfers = match work {
            WorkKind::CopyBack | WorkKind::Erase => 0,
            WorkKind::Read | WorkKind::MoveRead => self.attempts(id),
            WorkKind::Program | WorkKind::PageProgram | WorkKind::MoveProgram => 1,
        };
        self.recording.done.push(Done {
            submitted_ns,
            start_ns,
            end_ns: self.now_ns,
            activity: activity_of(work),
            cause,
            operation: matches!(work, WorkKind::Read | WorkKind::Program).then_some(owner),
            ppn: Ppn(ppn),
            member: if slot == NIL { self.luns[lun_id as usize].member } else { Some(self.address(slot).member.0.into()) },
            page: (slot != NIL).then(|| (self.address(slot), version)),
            bytes: transfers * bytes,
            failed: false,
        });
    }

    /// The page operation recorded last has failed.
    #[cold]
    pub fn note_failed(&mut self) {
        if let Some(last) = self.recording.done.last_mut() {
            last.failed = true;
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn note_bus(&mut self, lun_id: u32, duration_ns: u64, id: u32) {
        let lun = &self.luns[lun_id as usize];
        let activity = match self.records[id].work {
            WorkKind::Read | WorkKind::MoveRead if lun.state == LunState::DataReady => Activity::DataOut,
            WorkKind::Read | WorkKind::MoveRead => Activity::ReadCommand,
            WorkKind::Program | WorkKind::PageProgram | WorkKind::MoveProgram => Activity::DataIn,
            WorkKind::CopyBack => Activity::CopyBackCommand,
            WorkKind::Erase => Activity::EraseCommand,
        };
        self.note(Track::Bus(lun.channel), lun_id, activity, (self.now_ns, self.now_ns + duration_ns), id);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn note_lun(&mut self, lun_id: u32, id: u32) {
        let activity = activity_of(self.records[id].work);
        self.note(Track::Lun(lun_id), lun_id, activity, (self.luns[lun_id as usize].since_ns, self.now_ns), id);
    }

    fn note(&mut self, track: Track, lun: u32, activity: Activity, (start_ns, end_ns): (u64, u64), id: u32) {
        let Record { work, cause, owner, ppn, slot, .. } = self.records[id];
        let is_planned = matches!(work, WorkKind::Read | WorkKind::Program);
        let page = (slot != NIL).then(|| self.address(slot));
        let operation = is_planned.then_some(owner);
        self.recording.slices.push(Slice { start_ns, end_ns, track, lun, activity, cause, operation, ppn: Ppn(ppn), page });
    }
}

fn activity_of(work: WorkKind) -> Activity {
    match work {
        WorkKind::Read | WorkKind::MoveRead => Activity::Read,
        WorkKind::Program | WorkKind::PageProgram | WorkKind::MoveProgram => Activity::Program,
        WorkKind::CopyBack => Activity::CopyBack,
        WorkKind::Erase => Activity::Erase,
    }
}
