//! What buses and array units do, slice by slice: for timelines, and to tell when a request first reached the flash. Recorded only
//! while somebody asks for it. The same of single page operations, for a log of them.

use super::records::{Record, Work};
use super::units::{State, Unit};
use crate::Flash;
use crate::mapping::space::NIL;
use flashraid_vocabulary::{Cause, MemberPage, Ppn, Version};

/// Where a slice was spent. Slices of one track never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Track {
    /// The bus of a channel.
    Bus(u32),
    /// An array unit, from the command on until its register is empty again.
    Unit(u32),
}

/// What was done in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Bus: command and address of a read.
    ReadCommand,
    /// Bus: data of a read.
    DataOut,
    /// Bus: command, address and data of a program.
    DataIn,
    /// Bus: commands of a move inside the plane.
    CopyBackCommand,
    /// Bus: command of an erase.
    EraseCommand,
    /// Unit: read, until its data have left.
    Read,
    /// Unit: data in and program.
    Program,
    /// Unit: move inside the plane.
    CopyBack,
    /// Unit: erase.
    Erase,
}

impl Activity {
    /// Name in timelines.
    pub fn name(self) -> &'static str {
        match self {
            Activity::ReadCommand => "read_command",
            Activity::DataOut => "data_out",
            Activity::DataIn => "data_in",
            Activity::CopyBackCommand => "copy_back_command",
            Activity::EraseCommand => "erase_command",
            Activity::Read => "read",
            Activity::Program => "program",
            Activity::CopyBack => "copy_back",
            Activity::Erase => "erase",
        }
    }
}

/// A time in which a bus or an array unit was in use, charged to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began.
    pub start_ns: u64,
    /// When it ended: for a bus, when it will end.
    pub end_ns: u64,
    /// Where.
    pub track: Track,
    /// The array unit that was served.
    pub unit: u32,
    /// What was done.
    pub activity: Activity,
    /// Why. Of several page operations done at once in several planes, the one that the time is charged to.
    pub cause: Cause,
    /// The operation whose plan it was; `None` for the collector's work.
    pub operation: Option<u32>,
    /// The physical page; of an erase, the first of its block.
    pub ppn: Ppn,
    /// The member's logical page; `None` for the collector's work.
    pub page: Option<MemberPage>,
}

/// A page operation, or an erase, that has ended. Of several done at once in several planes, each is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When its unit began with it.
    pub start_ns: u64,
    /// When it ended: of a read, when its data had left.
    pub end_ns: u64,
    /// What was done, of the activities of array units.
    pub activity: Activity,
    /// Why.
    pub cause: Cause,
    /// The operation whose plan it was; `None` for the collector's work.
    pub operation: Option<u32>,
    /// The physical page; of an erase, the first of its block.
    pub ppn: Ppn,
    /// The member whose page it is; of the collector's work, that of the array unit.
    pub member: Option<u32>,
    /// The member's logical page, and which version of it; `None` for the collector's work.
    pub page: Option<(MemberPage, Version)>,
    /// Bytes that crossed the bus.
    pub bytes: u32,
    /// Whether it failed, or what it worked on was lost before it ended.
    pub failed: bool,
}

impl Flash {
    /// Begins to record page operations that start from now on, or ends recording.
    pub fn record_done(&mut self, records: bool) {
        self.records_done = records;
        self.begun_before = self.units.iter().map(|unit| (!unit.is_idle()).then_some(unit.since_ns)).collect();
    }

    /// When the unit of a page began with what it did last.
    #[cfg(feature = "mutants")]
    pub fn began_ns(&self, ppn: Ppn) -> u64 {
        self.units[self.unit_of(ppn) as usize].since_ns
    }

    /// Page operations recorded since they were last forgotten, in order of their ends.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// See `done`.
    pub fn forget_done(&mut self) {
        self.done.clear();
    }

    /// A page operation ends. Its unit is the one that it worked on since `since_ns`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_done(&mut self, id: u32) {
        let Record { work, cause, owner, ppn, plane, slot, version, bytes, submitted_ns, .. } = self.records[id as usize];
        let unit_id = self.unit_of_plane(plane);
        let start_ns = self.units[unit_id as usize].since_ns;
        if self.begun_before[unit_id as usize] == Some(start_ns) {
            return;
        }
        let crosses_bus = !matches!(work, Work::CopyBack | Work::Erase);
        self.done.push(Done {
            submitted_ns,
            start_ns,
            end_ns: self.now_ns,
            activity: activity_of(work),
            cause,
            operation: matches!(work, Work::Read | Work::Program).then_some(owner),
            ppn: Ppn(ppn),
            member: if slot == NIL { self.member_of_unit(unit_id) } else { Some(self.address(slot).member.0.into()) },
            page: (slot != NIL).then(|| (self.address(slot), version)),
            bytes: if crosses_bus { bytes } else { 0 },
            failed: false,
        });
    }

    /// The page operation recorded last has failed.
    #[cold]
    pub(crate) fn note_failed(&mut self) {
        if let Some(last) = self.done.last_mut() {
            last.failed = true;
        }
    }

    /// Begins or ends recording.
    pub fn record_slices(&mut self, records: bool) {
        self.records_slices = records;
    }

    /// Slices recorded since they were last forgotten. Those of buses come when they begin, those of array units when they end.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// See `slices`.
    pub fn forget_slices(&mut self) {
        self.slices.clear();
    }

    /// Time that a channel's bus was in use before `time_ns`, which no transfer after the one under way began before, by the cause of the
    /// work.
    pub fn bus_busy_ns(&self, channel: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let channel = &self.channels[channel as usize];
        let mut busy_ns = channel.busy_ns;
        if channel.free_ns > time_ns {
            // The unit that last had its turn is in the midst of the transfer.
            let unit = &self.units[channel.first_unit as usize + channel.turn as usize];
            busy_ns[self.records[unit.current as usize].cause as usize] -= channel.free_ns - time_ns;
        }
        busy_ns
    }

    /// Time that an array unit was at work before `time_ns`, which no event is before that is still to come, by the cause of the work.
    pub fn unit_busy_ns(&self, unit: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let unit = &self.units[unit as usize];
        let mut busy_ns = unit.busy_ns;
        if !unit.is_idle() {
            busy_ns[self.cause_of_work(unit) as usize] += time_ns.saturating_sub(unit.since_ns);
        }
        busy_ns
    }

    /// The cause that work under way will have been counted under when it ends: of several reads together, that of the last.
    fn cause_of_work(&self, unit: &Unit) -> Cause {
        let mut record = &self.records[unit.current as usize];
        if matches!(record.work, Work::Read | Work::MoveRead) {
            while record.next != NIL {
                record = &self.records[record.next as usize];
            }
        }
        record.cause
    }

    /// Whether an array unit that began its work before `time_ns` is still at it.
    pub fn is_at_work_since_before(&self, time_ns: u64) -> bool {
        self.units.iter().any(|unit| !unit.is_idle() && unit.since_ns < time_ns)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_bus(&mut self, unit_id: u32, duration_ns: u64, id: u32) {
        let unit = &self.units[unit_id as usize];
        let activity = match self.records[id as usize].work {
            Work::Read | Work::MoveRead if unit.state == State::DataReady => Activity::DataOut,
            Work::Read | Work::MoveRead => Activity::ReadCommand,
            Work::Program | Work::MoveProgram => Activity::DataIn,
            Work::CopyBack => Activity::CopyBackCommand,
            Work::Erase => Activity::EraseCommand,
        };
        self.note(Track::Bus(unit.channel), unit_id, activity, (self.now_ns, self.now_ns + duration_ns), id);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_unit(&mut self, unit_id: u32, id: u32) {
        let activity = activity_of(self.records[id as usize].work);
        self.note(Track::Unit(unit_id), unit_id, activity, (self.units[unit_id as usize].since_ns, self.now_ns), id);
    }

    fn note(&mut self, track: Track, unit: u32, activity: Activity, (start_ns, end_ns): (u64, u64), id: u32) {
        let Record { work, cause, owner, ppn, slot, .. } = self.records[id as usize];
        let is_planned = matches!(work, Work::Read | Work::Program);
        let page = (slot != NIL).then(|| self.address(slot));
        let operation = is_planned.then_some(owner);
        self.slices.push(Slice { start_ns, end_ns, track, unit, activity, cause, operation, ppn: Ppn(ppn), page });
    }
}

fn activity_of(work: Work) -> Activity {
    match work {
        Work::Read | Work::MoveRead => Activity::Read,
        Work::Program | Work::MoveProgram => Activity::Program,
        Work::CopyBack => Activity::CopyBack,
        Work::Erase => Activity::Erase,
    }
}
