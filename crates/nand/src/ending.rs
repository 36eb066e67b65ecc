//! Events of LUNs: an operation goes on to its next phase, or ends.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::arbitration::kick;
use crate::attempts::attempt_ended;
use crate::records::NIL;
use crate::units::UnitState;
use crate::{Completion, Nand, Pages, Progress, Record};
use flashraid_vocabulary::{MemberId, Observer};

/// What a LUN does goes on to its next phase, or ends.
pub(crate) fn unit_event<P: Pages, O: Observer>(ssd: &mut P, unit_id: u32, observer: &mut O) {
    let nand = ssd.nand_mut();
    let unit = &mut nand.units[unit_id as usize];
    let (state, id, channel_id) = (unit.state, unit.current, unit.channel);
    if state != UnitState::DataIn {
        nand.events.lift(unit_id as usize);
    }
    match state {
        UnitState::Reading => {
            nand.channels[channel_id as usize].set_state(unit, UnitState::DataReady, &nand.records);
        }
        UnitState::DataOut => {
            if nand.levels.is_some() {
                return attempt_ended(ssd, unit_id, observer);
            }
            unit.current = nand.records[id].next;
            if unit.current == NIL {
                nand.end_of_work(unit_id, id);
            } else {
                nand.channels[channel_id as usize].set_state(unit, UnitState::DataReady, &nand.records);
            }
            finish(ssd, id, observer);
        }
        UnitState::Decoding => {
            nand.channels[channel_id as usize].set_state(unit, UnitState::RetryReady, &nand.records);
        }
        UnitState::DataIn => {
            let end_ns = nand.now_ns + unit.cell_after_ns;
            nand.channels[channel_id as usize].set_state(unit, UnitState::Working, &nand.records);
            let mut id = id;
            while id != NIL {
                nand.completions.push(Completion { record: id, progress: Progress::DataIn });
                id = nand.records[id].next;
            }
            return nand.unit_at(unit_id, end_ns);
        }
        UnitState::Working => {
            nand.end_of_work(unit_id, id);
            let mut id = id;
            while id != NIL {
                let next = ssd.nand().records[id].next;
                finish(ssd, id, observer);
                id = next;
            }
        }
        UnitState::Idle | UnitState::DataReady | UnitState::RetryReady => unreachable!("a unit that waits has no event"),
    }
    kick(ssd, channel_id);
}

/// The unit has done one record.
#[inline(always)]
fn finish<P: Pages, O: Observer>(ssd: &mut P, id: u32, observer: &mut O) {
    let nand = ssd.nand_mut();
    if nand.recording.lists_done {
        let unit = nand.unit_of_plane(nand.records[id].plane) as usize;
        nand.note_done(id, nand.units[unit].since_ns);
    }
    ssd.ended(id, observer);
}

impl Nand {
    /// The unit has done all of the records that begin with this one.
    #[inline(always)]
    pub(crate) fn end_of_work(&mut self, unit_id: u32, id: u32) {
        if self.recording.lists_slices {
            self.note_unit(unit_id, id);
        }
        let cause = self.records[id].cause;
        let unit = &mut self.units[unit_id as usize];
        unit.busy_ns[cause as usize] += self.now_ns - unit.since_ns;
        #[cfg(feature = "mutants")]
        if unit.state == UnitState::DataOut && accounting::makes(Slip::TransferTwice) {
            unit.busy_ns[cause as usize] += self.settings.transfer_ns(self.records[id].bytes);
        }
        unit.current = NIL;
        self.channels[unit.channel as usize].set_state(unit, UnitState::Idle, &self.records);
    }

    #[cfg(feature = "mutants")]
    fn forget_failed_program(&mut self, id: u32) {
        let Record { work, plane, cause, .. } = self.records[id];
        if work == crate::WorkKind::Program && accounting::makes(Slip::FailedProgramIdle) {
            let unit = self.unit_of_plane(plane) as usize;
            self.units[unit].busy_ns[cause as usize] -= self.now_ns - self.units[unit].since_ns;
        }
    }

    /// A page operation of a plan that a LUN has done has ended, or failed.
    #[inline(always)]
    pub fn complete(&mut self, id: u32, failed: bool) {
        self.loads[MemberId(self.records[id].member)].in_service -= 1;
        if failed {
            self.note_failed();
            #[cfg(feature = "mutants")]
            self.forget_failed_program(id);
        }
        self.completions.push(Completion { record: id, progress: if failed { Progress::Failed } else { Progress::Ended } });
    }

    /// A program of a plan that never started fails.
    pub fn complete_unstarted(&mut self, id: u32) {
        let Record { member, .. } = self.records[id];
        self.loads.queue_changes(MemberId(member), 0, -1);
        self.completions.push(Completion { record: id, progress: Progress::Failed });
    }

    /// Completions of the last event, in order. Who takes them empties the list.
    #[inline]
    pub fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }
}
