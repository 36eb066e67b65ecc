//! Events of LUNs: an operation goes on to its next phase, or ends.

use super::records::{Record, WorkKind};
use super::units::UnitState;
#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::mapping::space::NIL;
use crate::{Completion, Flash, Progress};
use flashraid_vocabulary::{Observer, Ppn};

impl Flash {
    pub(crate) fn unit_event<O: Observer>(&mut self, unit_id: u32, observer: &mut O) {
        let unit = &mut self.units[unit_id as usize];
        let (state, id, channel_id) = (unit.state, unit.current, unit.channel);
        if state != UnitState::DataIn {
            self.events.lift(unit_id as usize);
        }
        match state {
            UnitState::Reading => {
                self.channels[channel_id as usize].set_state(unit, UnitState::DataReady, &self.records);
            }
            UnitState::DataOut => {
                if self.levels.is_some() {
                    return self.attempt_ended(unit_id, observer);
                }
                unit.current = self.records[id as usize].next;
                if unit.current == NIL {
                    self.end_of_work(unit_id, id);
                } else {
                    self.channels[channel_id as usize].set_state(unit, UnitState::DataReady, &self.records);
                }
                self.finish(id, observer);
            }
            UnitState::Decoding => {
                self.channels[channel_id as usize].set_state(unit, UnitState::RetryReady, &self.records);
            }
            UnitState::DataIn => {
                let end_ns = self.now_ns + unit.cell_after_ns;
                self.channels[channel_id as usize].set_state(unit, UnitState::Working, &self.records);
                let mut id = id;
                while id != NIL {
                    self.completions.push(Completion { record: id, progress: Progress::DataIn });
                    id = self.records[id as usize].next;
                }
                return self.unit_at(unit_id, end_ns);
            }
            UnitState::Working => {
                self.end_of_work(unit_id, id);
                let mut id = id;
                while id != NIL {
                    let next = self.records[id as usize].next;
                    self.finish(id, observer);
                    id = next;
                }
            }
            UnitState::Idle | UnitState::DataReady | UnitState::RetryReady => unreachable!("a unit that waits has no event"),
        }
        self.kick(channel_id);
    }

    /// The unit has done all of the records that begin with this one.
    #[inline(always)]
    pub(super) fn end_of_work(&mut self, unit_id: u32, id: u32) {
        if self.records_slices {
            self.note_unit(unit_id, id);
        }
        let cause = self.records[id as usize].cause;
        let unit = &mut self.units[unit_id as usize];
        unit.busy_ns[cause as usize] += self.now_ns - unit.since_ns;
        #[cfg(feature = "mutants")]
        if unit.state == UnitState::DataOut && accounting::makes(Slip::TransferTwice) {
            unit.busy_ns[cause as usize] += self.settings.transfer_ns(self.records[id as usize].bytes);
        }
        unit.current = NIL;
        self.channels[unit.channel as usize].set_state(unit, UnitState::Idle, &self.records);
    }

    #[cfg(feature = "mutants")]
    fn forget_failed_program(&mut self, id: u32) {
        let Record { work, plane, cause, .. } = self.records[id as usize];
        if work == WorkKind::Program && accounting::makes(Slip::FailedProgramIdle) {
            let unit = self.unit_of_plane(plane) as usize;
            self.units[unit].busy_ns[cause as usize] -= self.now_ns - self.units[unit].since_ns;
        }
    }

    /// The unit has done one record.
    #[inline(always)]
    fn finish<O: Observer>(&mut self, id: u32, observer: &mut O) {
        if self.records_done {
            let unit = self.unit_of_plane(self.records[id as usize].plane) as usize;
            self.note_done(id, self.units[unit].since_ns);
        }
        self.ended(id, observer);
    }

    /// One record has ended.
    #[inline(always)]
    pub(super) fn ended<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, member, ppn, cause, .. } = self.records[id as usize];
        match work {
            WorkKind::Read | WorkKind::Program => {
                self.loads[usize::from(member)].in_service -= 1;
                self.dismiss(cause);
                if work == WorkKind::Read {
                    self.read_ended(Ppn(ppn));
                }
                let failed = self.has_failures() && self.has_failed(id);
                if failed {
                    self.note_failed();
                    #[cfg(feature = "mutants")]
                    self.forget_failed_program(id);
                }
                self.completions.push(Completion { record: id, progress: if failed { Progress::Failed } else { Progress::Ended } });
            }
            _ => self.gc_work_ended(id, observer),
        }
    }
}
