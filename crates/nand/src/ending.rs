//! Events of LUNs: an operation goes on to its next phase, or ends.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::arbitration::kick;
use crate::attempts::attempt_ended;
use crate::luns::LunState;
use crate::packed::complete_in_memory;
use crate::power;
use crate::{Completion, Nand, Pages, Progress, Record};
use flashraid_vocabulary::{MemberId, NIL, Observer};

/// What a LUN does goes on to its next phase, or ends.
pub(crate) fn lun_event<P: Pages, O: Observer>(ssd: &mut P, lun_id: u32, observer: &mut O) {
    let nand = ssd.nand_mut();
    let lun = &mut nand.luns[lun_id as usize];
    let (state, id, channel_id, since_ns) = (lun.state, lun.current, lun.channel, lun.since_ns);
    if state != LunState::DataIn {
        nand.events.lift(lun_id as usize);
    }
    match state {
        LunState::Reading => {
            nand.channels[channel_id as usize].set_state(lun, LunState::DataReady, &nand.records);
        }
        LunState::DataOut => {
            if nand.levels.is_some() {
                return attempt_ended(ssd, lun_id, observer);
            }
            lun.current = nand.records[id].next;
            if lun.current == NIL {
                nand.end_of_work(lun_id, id);
            } else {
                nand.channels[channel_id as usize].set_state(lun, LunState::DataReady, &nand.records);
            }
            finish(ssd, id, since_ns, observer);
        }
        LunState::Decoding => {
            nand.channels[channel_id as usize].set_state(lun, LunState::RetryReady, &nand.records);
        }
        LunState::DataIn => {
            let end_ns = nand.now_ns + lun.cell_after_ns;
            nand.channels[channel_id as usize].set_state(lun, LunState::Working, &nand.records);
            let mut id = id;
            while id != NIL {
                nand.completions.push(Completion { record: id, progress: Progress::DataIn });
                id = nand.records[id].next;
            }
            nand.lun_at(lun_id, end_ns);
            if let Some((suspension, mut sites)) = nand.suspension() {
                suspension.ask_for_waiting(lun_id, &mut sites);
            }
            return;
        }
        LunState::Working => {
            let began_ns = nand.suspension.as_ref().and_then(|suspension| suspension.began_ns(lun_id)).unwrap_or(since_ns);
            nand.end_of_work(lun_id, id);
            power::end(nand);
            let mut id = id;
            while id != NIL {
                let next = ssd.nand().records[id].next;
                finish(ssd, id, began_ns, observer);
                id = next;
            }
        }
        LunState::Interruptible | LunState::Suspending => {
            let (suspension, mut sites) = nand.suspension().expect("a device with suspension");
            match state {
                LunState::Interruptible => suspension.suspend(lun_id, &mut sites),
                _ => suspension.suspended_now(lun_id, &mut sites),
            }
        }
        LunState::Idle | LunState::DataReady | LunState::RetryReady | LunState::Suspended => unreachable!("a LUN that waits has no event"),
    }
    kick(ssd, channel_id);
}

/// The LUN has done one record, with which it began at `start_ns`.
#[inline(always)]
fn finish<P: Pages, O: Observer>(ssd: &mut P, id: u32, start_ns: u64, observer: &mut O) {
    let nand = ssd.nand_mut();
    if nand.recording.lists_done {
        nand.note_done(id, start_ns);
    }
    ssd.ended(id, observer);
}

impl Nand {
    /// What the LUN has done of a record since it began with it, or went on, counts up to now.
    #[inline(always)]
    pub(crate) fn charge(&mut self, lun_id: u32, id: u32) {
        if self.recording.lists_slices {
            self.note_lun(lun_id, id);
        }
        let cause = self.records[id].cause;
        let lun = &mut self.luns[lun_id as usize];
        lun.busy_ns[cause as usize] += self.now_ns - lun.since_ns;
    }

    /// The LUN has done all of the records that begin with this one.
    #[inline(always)]
    pub(crate) fn end_of_work(&mut self, lun_id: u32, id: u32) {
        self.charge(lun_id, id);
        #[cfg(feature = "mutants")]
        if self.luns[lun_id as usize].state == LunState::DataOut && accounting::makes(Slip::TransferTwice) {
            let Record { cause, bytes, .. } = self.records[id];
            self.luns[lun_id as usize].busy_ns[cause as usize] += self.settings.transfer_ns(bytes);
        }
        if let Some((suspension, mut sites)) = self.suspension()
            && suspension.goes_on(lun_id, &mut sites)
        {
            return;
        }
        let lun = &mut self.luns[lun_id as usize];
        lun.current = NIL;
        self.channels[lun.channel as usize].set_state(lun, LunState::Idle, &self.records);
    }

    #[cfg(feature = "mutants")]
    fn forget_failed_program(&mut self, id: u32) {
        let Record { work, plane, ppn, cause, .. } = self.records[id];
        if work == crate::WorkKind::Program && accounting::makes(Slip::FailedProgramIdle) {
            let lun = self.places().lun_of_page(plane, flashraid_vocabulary::Ppn(ppn)) as usize;
            self.luns[lun].busy_ns[cause as usize] -= self.now_ns - self.luns[lun].since_ns;
        }
    }

    /// A page operation of a plan that a LUN has done has ended, or failed.
    #[inline(always)]
    pub fn complete(&mut self, id: u32, failed: bool) {
        if failed {
            self.note_failed();
            #[cfg(feature = "mutants")]
            self.forget_failed_program(id);
        }
        complete_in_memory(self, id, failed);
    }

    /// A program of a plan that never started fails.
    pub fn complete_unstarted(&mut self, id: u32) {
        let Record { member, .. } = self.records[id];
        self.loads.queue_changes(MemberId(member.into()), 0, -1);
        self.completions.push(Completion { record: id, progress: Progress::Failed });
    }

    /// Completions of the last event, in order. Who takes them empties the list.
    #[inline]
    pub fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }
}
