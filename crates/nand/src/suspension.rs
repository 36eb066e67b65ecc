//! Reads that suspend a program or an erase (SPEC 8.3).
//!
//! A read in the class of the host that meets its LUN at such work has it suspended, at once or when it has run for `min_ns` since its start or the last
//! time it went on. While it is suspended the LUN serves the reads of that class that wait, then the work goes on for the array time that was left. Bus and
//! register are those of the reads meanwhile: what the work still needs is in the cells.

use crate::WorkKind;
use crate::events::EventQueue;
use crate::luns::{Channel, Lun, LunState};
use crate::records::Records;
use flashraid_vocabulary::{Cause, NIL, Priority};

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
    /// Array time that is left when the work is suspended, from the decision to do so on.
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
        let none = Interrupted { record: NIL, rest_ns: 0, times: 0, reads: 0, began_ns: 0 };
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

    /// How often work was suspended.
    pub(crate) fn counts(&self) -> Suspensions {
        self.counts
    }

    /// When a LUN began with the work that it does, if that was suspended.
    #[inline]
    pub(crate) fn began_ns(&self, lun_id: u32) -> Option<u64> {
        let Interrupted { times, began_ns, .. } = self.luns[lun_id as usize];
        (times > 0).then_some(began_ns)
    }

    /// How many reads the LUN may begin together.
    pub(crate) fn most_reads_together(&self, lun_id: u32) -> u32 {
        let Interrupted { record, reads, .. } = self.luns[lun_id as usize];
        if record == NIL { u32::MAX } else { self.settings.most_reads - reads }
    }

    /// The LUN has begun so many reads together.
    pub(crate) fn note_reads_together(&mut self, lun_id: u32, reads: u32) {
        self.luns[lun_id as usize].reads += reads;
    }

    /// A read waits for the LUN, which is at work. Work of the LUN that may be suspended for it is, as soon as it may.
    pub(crate) fn ask(&mut self, lun_id: u32, cause: Cause, sites: &mut Sites<'_>) {
        let (lun, interrupted) = (&sites.luns[lun_id as usize], &self.luns[lun_id as usize]);
        if lun.state != LunState::Working || lun.blocked() > 0 || !suspends(cause) {
            return;
        }
        let end_ns = sites.events.of(lun_id as usize);
        let may_ns = (end_ns - lun.cell_after_ns + self.settings.min_ns).max(sites.now_ns);
        let has_times_left = interrupted.times < self.settings.most_times;
        if !has_times_left || may_ns >= end_ns || !self.covers(sites.records[lun.current].work) {
            return;
        }
        self.luns[lun_id as usize].rest_ns = end_ns - may_ns;
        if may_ns == sites.now_ns {
            return self.suspend(lun_id, sites);
        }
        sites.go_on(lun_id, LunState::Interruptible, may_ns);
    }

    /// The LUN is at work from now on, or GC keeps it from the host no longer: reads that wait for it already have its work suspended as any that comes.
    pub(crate) fn ask_for_waiting(&mut self, lun_id: u32, sites: &mut Sites<'_>) {
        let lun = &sites.luns[lun_id as usize];
        if lun.filled >> HOST_READS & 1 == 0 {
            return;
        }
        // GC that keeps pace with the host has the reads of one group of each plane among them at most.
        let mut read = lun.queues[HOST_READS].head;
        while read != NIL && !suspends(sites.records[read].cause) {
            read = sites.records[read].next;
        }
        if read != NIL {
            self.ask(lun_id, sites.records[read].cause, sites);
        }
    }

    /// The LUN's work is suspended from now on.
    pub(crate) fn suspend(&mut self, lun_id: u32, sites: &mut Sites<'_>) {
        let (lun, interrupted) = (&sites.luns[lun_id as usize], &mut self.luns[lun_id as usize]);
        interrupted.times += 1;
        interrupted.reads = 0;
        if interrupted.times == 1 {
            interrupted.began_ns = lun.since_ns;
        }
        match sites.records[lun.current].work {
            WorkKind::Erase => self.counts.erases += 1,
            _ => self.counts.programs += 1,
        }
        sites.go_on(lun_id, LunState::Suspending, sites.now_ns + self.settings.suspend_ns);
    }

    /// The LUN can read: its work is suspended.
    pub(crate) fn suspended_now(&mut self, lun_id: u32, sites: &mut Sites<'_>) {
        self.luns[lun_id as usize].record = sites.luns[lun_id as usize].current;
        self.serve_or_go_on(lun_id, sites);
    }

    /// The LUN of suspended work is free: it serves the reads that wait, as many as it may, or goes on with the work.
    fn serve_or_go_on(&mut self, lun_id: u32, sites: &mut Sites<'_>) {
        let (lun, interrupted) = (&mut sites.luns[lun_id as usize], &mut self.luns[lun_id as usize]);
        lun.current = interrupted.record;
        if lun.filled >> HOST_READS & 1 == 1 && interrupted.reads < self.settings.most_reads {
            return sites.set_state(lun_id, LunState::Suspended);
        }
        interrupted.record = NIL;
        lun.cell_after_ns = interrupted.rest_ns;
        let end_ns = sites.now_ns + self.settings.resume_ns + interrupted.rest_ns;
        sites.go_on(lun_id, LunState::Working, end_ns);
        self.ask_for_waiting(lun_id, sites);
    }

    /// What the LUN did, reads or other work, has ended. Returns whether there is work to go on with.
    pub(crate) fn goes_on(&mut self, lun_id: u32, sites: &mut Sites<'_>) -> bool {
        let interrupted = &mut self.luns[lun_id as usize];
        if interrupted.record == NIL {
            interrupted.times = 0;
            return false;
        }
        sites.luns[lun_id as usize].since_ns = sites.now_ns;
        self.serve_or_go_on(lun_id, sites);
        true
    }

    /// Works that are suspended, by their first record.
    pub(crate) fn suspended(&self) -> impl Iterator<Item = u32> {
        self.luns.iter().map(|interrupted| interrupted.record).filter(|record| *record != NIL)
    }
}

/// Whether a read of this cause suspends work, if it is in the class of the host.
fn suspends(cause: Cause) -> bool {
    !matches!(cause, Cause::Gc | Cause::Wear | Cause::Rebuild | Cause::Migration)
}

/// LUNs and their buses, what waits there, and when it goes on: what suspension works with.
pub(crate) struct Sites<'a> {
    pub(crate) now_ns: u64,
    pub(crate) luns: &'a mut [Lun],
    pub(crate) channels: &'a mut [Channel],
    pub(crate) records: &'a Records,
    pub(crate) events: &'a mut EventQueue,
}

impl Sites<'_> {
    /// The LUN is in this state from now on.
    fn set_state(&mut self, lun_id: u32, state: LunState) {
        let lun = &mut self.luns[lun_id as usize];
        self.channels[lun.channel as usize].set_state(lun, state, self.records);
    }

    /// The LUN is in this state until then.
    fn go_on(&mut self, lun_id: u32, state: LunState, until_ns: u64) {
        self.set_state(lun_id, state);
        self.events.set(lun_id as usize, until_ns);
    }
}
