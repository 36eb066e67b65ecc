//! Reads that suspend a program or an erase (SPEC 8.3).
//!
//! A read in the class of the host that meets its LUN at such work has it suspended, at once or when it has run for `min_ns` since its start or the last
//! time it went on. While it is suspended the LUN serves the reads of that class that wait, then the work goes on for the array time that was left. Bus and
//! register are those of the reads meanwhile: what the work still needs is in the cells.

use crate::luns::LunState;
use crate::records::NIL;
use crate::{Nand, WorkKind};
use flashraid_vocabulary::{Cause, Priority};

/// Queue of `Lun::queues` whose reads suspend work.
pub(crate) const HOST_READS: usize = 2 * Priority::Host as usize;

/// What reads may suspend, and what that takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendSettings {
    /// Programs may be suspended.
    pub programs: bool,
    /// Erases may be suspended.
    pub erases: bool,
    /// How long work runs since its start, or since it went on, before it is suspended.
    pub min_ns: u64,
    /// Time of the LUN from the decision until it can read.
    pub suspend_ns: u64,
    /// Time of the LUN from the last read until the work goes on.
    pub resume_ns: u64,
    /// How often the same work is suspended at most.
    pub most_times: u32,
    /// How many reads are served at most while work is suspended.
    pub most_reads: u32,
}

/// How often work was suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspensions {
    /// Programs, of plans and of GC.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
}

/// What a LUN's work has been through.
#[derive(Clone, Copy, Debug)]
struct Interrupted {
    /// The suspended work, the first record if it is in several planes; `NIL` while none is suspended.
    record: u32,
    /// When the work would have ended; while it is suspended, the array time that is left.
    end_ns: u64,
    rest_ns: u64,
    /// How often it was suspended, and how many reads were served the last time.
    times: u32,
    reads: u32,
    /// When the LUN began with the work, if that was suspended.
    began_ns: u64,
}

/// Suspension, on devices that have it.
#[derive(Clone, Debug)]
pub(crate) struct Suspension {
    settings: SuspendSettings,
    luns: Vec<Interrupted>,
    counts: Suspensions,
}

impl Suspension {
    pub(crate) fn new(settings: SuspendSettings, luns: u32) -> Self {
        let none = Interrupted { record: NIL, end_ns: 0, rest_ns: 0, times: 0, reads: 0, began_ns: 0 };
        Self { settings, luns: vec![none; luns as usize], counts: Suspensions::default() }
    }

    fn covers(&self, work: WorkKind) -> bool {
        match work {
            WorkKind::Program | WorkKind::PageProgram | WorkKind::MoveProgram => self.settings.programs,
            WorkKind::Erase => self.settings.erases,
            // Its read and its program are one command of the die.
            WorkKind::CopyBack | WorkKind::Read | WorkKind::MoveRead => false,
        }
    }

    /// Works that are suspended, by their first record.
    pub(crate) fn suspended(&self) -> impl Iterator<Item = u32> {
        self.luns.iter().map(|interrupted| interrupted.record).filter(|record| *record != NIL)
    }
}

impl Nand {
    /// How often work was suspended; `None` of a device whose reads suspend nothing.
    pub fn suspensions(&self) -> Option<Suspensions> {
        self.suspension.as_ref().map(|suspension| suspension.counts)
    }

    /// When a LUN began with the work that it does, which reads may have suspended.
    #[inline]
    pub(crate) fn began_ns(&self, lun_id: u32) -> u64 {
        let interrupted = self.suspension.as_ref().map(|suspension| &suspension.luns[lun_id as usize]);
        match interrupted {
            Some(Interrupted { times: 1.., began_ns, .. }) => *began_ns,
            _ => self.luns[lun_id as usize].since_ns,
        }
    }

    /// A read waits for the LUN, which is at work. Work of the LUN that may be suspended for it is, as soon as it may.
    pub(crate) fn ask_to_suspend(&mut self, lun_id: u32, cause: Cause) {
        let Some(suspension) = self.suspension.as_deref_mut() else { return };
        let (lun, interrupted) = (&self.luns[lun_id as usize], &mut suspension.luns[lun_id as usize]);
        if lun.state != LunState::Working || lun.blocked() > 0 || matches!(cause, Cause::Rebuild | Cause::Migration) {
            return;
        }
        let end_ns = self.events.of(lun_id as usize);
        let may_ns = (end_ns - lun.cell_after_ns + suspension.settings.min_ns).max(self.now_ns);
        let has_times_left = interrupted.times < suspension.settings.most_times;
        if !has_times_left || may_ns >= end_ns || !suspension.covers(self.records[lun.current].work) {
            return;
        }
        suspension.luns[lun_id as usize].end_ns = end_ns;
        if may_ns == self.now_ns {
            return self.suspend(lun_id);
        }
        self.set_state(lun_id, LunState::Interruptible);
        self.lun_at(lun_id, may_ns);
    }

    /// The LUN is at work from now on, or GC keeps it from the host no longer: reads that wait for it already have its work suspended as any that comes.
    #[inline]
    pub(crate) fn ask_for_waiting(&mut self, lun_id: u32) {
        let lun = &self.luns[lun_id as usize];
        if self.suspension.is_some() && lun.filled >> HOST_READS & 1 == 1 {
            let waiting = self.records[lun.queues[HOST_READS].head].cause;
            self.ask_to_suspend(lun_id, waiting);
        }
    }

    /// The LUN's work is suspended from now on.
    pub(crate) fn suspend(&mut self, lun_id: u32) {
        let suspension = self.suspension.as_deref_mut().expect("a device with suspension");
        let (lun, interrupted) = (&self.luns[lun_id as usize], &mut suspension.luns[lun_id as usize]);
        interrupted.rest_ns = interrupted.end_ns - self.now_ns;
        interrupted.times += 1;
        interrupted.reads = 0;
        if interrupted.times == 1 {
            interrupted.began_ns = lun.since_ns;
        }
        let count =
            if self.records[lun.current].work == WorkKind::Erase { &mut suspension.counts.erases } else { &mut suspension.counts.programs };
        *count += 1;
        let suspend_ns = suspension.settings.suspend_ns;
        self.set_state(lun_id, LunState::Suspending);
        self.lun_at(lun_id, self.now_ns + suspend_ns);
    }

    /// The LUN can read: its work is suspended.
    pub(crate) fn suspended(&mut self, lun_id: u32) {
        let current = self.luns[lun_id as usize].current;
        let suspension = self.suspension.as_deref_mut().expect("a device with suspension");
        suspension.luns[lun_id as usize].record = current;
        self.serve_or_go_on(lun_id);
    }

    /// The LUN of suspended work is free: it serves the reads that wait, as many as it may, or goes on with the work.
    fn serve_or_go_on(&mut self, lun_id: u32) {
        let suspension = self.suspension.as_deref_mut().expect("a device with suspension");
        let (lun, interrupted) = (&mut self.luns[lun_id as usize], &mut suspension.luns[lun_id as usize]);
        lun.current = interrupted.record;
        if lun.filled >> HOST_READS & 1 == 1 && interrupted.reads < suspension.settings.most_reads {
            return self.set_state(lun_id, LunState::Suspended);
        }
        interrupted.record = NIL;
        lun.cell_after_ns = interrupted.rest_ns;
        let end_ns = self.now_ns + suspension.settings.resume_ns + interrupted.rest_ns;
        self.set_state(lun_id, LunState::Working);
        self.lun_at(lun_id, end_ns);
        self.ask_for_waiting(lun_id);
    }

    /// How many reads the LUN may begin together.
    pub(crate) fn most_reads_together(&self, lun_id: u32) -> u32 {
        let Some(suspension) = self.suspension.as_deref() else { return u32::MAX };
        let Interrupted { record, reads, .. } = suspension.luns[lun_id as usize];
        if record == NIL { u32::MAX } else { suspension.settings.most_reads - reads }
    }

    /// The LUN has begun so many reads together.
    pub(crate) fn note_reads_together(&mut self, lun_id: u32, reads: u32) {
        if let Some(suspension) = self.suspension.as_deref_mut() {
            suspension.luns[lun_id as usize].reads += reads;
        }
    }

    /// What the LUN did, reads or other work, has ended. Returns whether there is work to go on with.
    pub(crate) fn goes_on_with_suspended(&mut self, lun_id: u32) -> bool {
        let Some(suspension) = self.suspension.as_deref_mut() else { return false };
        let interrupted = &mut suspension.luns[lun_id as usize];
        if interrupted.record == NIL {
            interrupted.times = 0;
            return false;
        }
        self.luns[lun_id as usize].since_ns = self.now_ns;
        self.serve_or_go_on(lun_id);
        true
    }
}
