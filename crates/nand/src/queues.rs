//! How page operations come in: records, and the queues of LUNs that they wait in.

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::arbitration::kick;
use crate::luns::LunState;
use crate::packed::enqueue_of_gc;
use crate::records::Queue;
use crate::suspension::HOST_READS;
use crate::{About, Nand, Pages, Record, WorkKind};
use flashraid_vocabulary::{Action, Cause, MemberId, NIL, Ppn, Priority, Version};

impl Nand {
    // ---- records ----

    /// A page operation is in flight from now on. Returns its handle.
    #[inline]
    pub fn add_record(&mut self, record: Record) -> u32 {
        self.records.put(record)
    }

    /// It is no more, and its handle free.
    #[inline]
    pub fn remove_record(&mut self, record: u32) {
        self.records.remove(record);
    }

    /// A page operation in flight.
    #[inline(always)]
    pub fn record(&self, record: u32) -> &Record {
        &self.records[record]
    }

    /// A page operation in flight.
    #[inline(always)]
    pub fn record_mut(&mut self, record: u32) -> &mut Record {
        &mut self.records[record]
    }

    /// Asks the processor for a record.
    #[inline]
    pub fn prefetch_record(&self, record: u32) {
        self.records.prefetch(record);
    }

    /// What a completion is about.
    #[inline]
    pub fn about(&self, record: u32) -> About {
        let Record { owner, work, cause, host_waits, member, submitted_ns, ppn, .. } = self.records[record];
        #[cfg(feature = "mutants")]
        let submitted_ns = if accounting::makes(Slip::MemberLatencyFromStart) { self.began_record_ns(record) } else { submitted_ns };
        let action = if work == WorkKind::Read { Action::Read } else { Action::Program };
        About { owner, action, cause, host_waits, member: MemberId(member.into()), submitted_ns, ppn: Ppn(ppn) }
    }

    // ---- queues ----

    /// Takes the programs of a domain out of the LUN's queues, and returns them, the most urgent first.
    pub fn unbind_programs(&mut self, lun_id: u32, domain: u32) -> Vec<u32> {
        let mut programs = Vec::new();
        for index in 0..2 * Priority::COUNT {
            let lun = &mut self.luns[lun_id as usize];
            if lun.filled >> index & 1 == 0 {
                continue;
            }
            let mut id = lun.queues[index].head;
            let mut others = Queue::EMPTY;
            while id != NIL {
                let Record { next, work, domain: of, .. } = self.records[id];
                self.records[id].next = NIL;
                if work == WorkKind::Program && of == domain {
                    programs.push(id)
                } else {
                    others.append(id, &mut self.records)
                }
                id = next;
            }
            let lun = &mut self.luns[lun_id as usize];
            lun.queues[index] = others;
            lun.filled = if others.head == NIL { lun.filled & !(1 << index) } else { lun.filled };
        }
        self.luns[lun_id as usize].queued -= programs.len() as u32;
        let channel = self.luns[lun_id as usize].channel;
        self.channels[channel as usize].queued -= programs.len() as u32;
        self.refresh_want(lun_id);
        programs
    }

    /// Appends a record to the queues of its LUN, or puts it before the others. Returns the channel of the LUN if that does nothing, and is to be served.
    #[inline(always)]
    pub(crate) fn enqueue<const FRONT: bool>(&mut self, id: u32) -> Option<u32> {
        let Record { work, priority, lun: lun_id, cause, .. } = self.records[id];
        let index = priority as usize * 2 + usize::from(!self.settings.fifo && !work.reads());
        let lun = &mut self.luns[lun_id as usize];
        let queue = &mut lun.queues[index];
        if FRONT {
            queue.prepend(id, &mut self.records)
        } else {
            queue.append(id, &mut self.records)
        }
        lun.filled |= 1 << index;
        lun.queued += 1;
        let (channel, is_idle) = (lun.channel, lun.state == LunState::Idle);
        self.channels[channel as usize].queued += 1;
        if is_idle {
            self.refresh_want(lun_id);
        } else if index == HOST_READS
            && let Some((suspension, mut sites)) = self.suspension()
        {
            suspension.ask(lun_id, cause, &mut sites);
        }
        is_idle.then_some(channel)
    }

    /// Takes the first record out of a LUN's queue. Returns it, and the next one.
    #[inline]
    pub(crate) fn pop_bound(&mut self, lun_id: u32, index: usize) -> (u32, u32) {
        let lun = &mut self.luns[lun_id as usize];
        let (head, next) = lun.queues[index].pop(&mut self.records);
        if next == NIL {
            lun.filled &= !(1 << index);
        }
        lun.queued -= 1;
        let channel = lun.channel;
        self.channels[channel as usize].queued -= 1;
        (head, next)
    }
}

/// What GC of a plane has queued at a LUN in one class waits in another one from now on, behind what waits there. Returns it.
pub fn reclass_gc(nand: &mut Nand, plane: u32, lun_id: u32, [from, to]: [Priority; 2]) -> Vec<u32> {
    let mut moved = Vec::new();
    for kind in 0..2 {
        let [from, to] = [from, to].map(|class| 2 * class as usize + kind);
        let lun = &mut nand.luns[lun_id as usize];
        let mut id = std::mem::replace(&mut lun.queues[from], Queue::EMPTY).head;
        while id != NIL {
            let record = &mut nand.records[id];
            let (next, is_meant) = (record.next, record.cause == Cause::Gc && record.plane == plane);
            record.next = NIL;
            if is_meant {
                moved.push(id);
            }
            lun.queues[if is_meant { to } else { from }].append(id, &mut nand.records);
            id = next;
        }
        for index in [from, to] {
            lun.filled = lun.filled & !(1 << index) | u16::from(lun.queues[index].head != NIL) << index;
        }
    }
    moved.iter().for_each(|id| nand.records[*id].priority = to);
    nand.refresh_want(lun_id);
    // An idle LUN may want to read now where it wanted to program, for which its channel waits until there is power.
    let lun = &nand.luns[lun_id as usize];
    if lun.state == LunState::Idle {
        nand.wait_for_bus(lun.channel);
    }
    moved
}

/// Queues a record at its LUN.
#[inline(always)]
pub fn bind<P: Pages>(ssd: &mut P, id: u32) {
    let idle = ssd.nand_mut().enqueue::<false>(id);
    serve_idle(ssd, idle);
}

/// Serves the channel of an idle LUN at which something was queued, if there is one.
#[inline(always)]
fn serve_idle<P: Pages>(ssd: &mut P, channel: Option<u32>) {
    let Some(channel) = channel else { return };
    let nand = ssd.nand_mut();
    if nand.settings.packs() {
        // What else comes in this instant may be of the same flash page.
        nand.wait_for_bus(channel);
    } else {
        kick(ssd, channel);
    }
}

/// Queues a program at the only LUN of its domain.
#[inline]
pub fn bind_in_domain<P: Pages>(ssd: &mut P, id: u32) {
    let nand = ssd.nand_mut();
    nand.records[id].lun = nand.only_taker(nand.records[id].domain);
    bind(ssd, id);
}

/// Lets the domain's channels serve what waits in it, from this one on, in turn. Returns whose turn is next.
#[inline(always)]
pub fn offer<P: Pages>(ssd: &mut P, domain: u32, mut channel: u32) -> u32 {
    let (first, end) = ssd.nand().takers(domain).channels;
    for _ in first..end {
        let offered = channel;
        channel = if channel + 1 == end { first } else { channel + 1 };
        kick(ssd, offered);
        if !ssd.nand().has_waiting(domain) {
            break;
        }
    }
    channel
}

/// Queues GC's work on a plane.
pub fn queue_work<P: Pages>(ssd: &mut P, plane: u32, work: WorkKind, ppn: Ppn, cause: Cause, priority: Priority) {
    let nand = ssd.nand_mut();
    let id = nand.records.put(Record::of_no_plan(nand, plane, work, ppn, cause, priority));
    let idle = enqueue_of_gc(nand, id);
    serve_idle(ssd, idle);
}

impl Record {
    /// Work that is of no plan: whole pages cross the bus, if any do.
    pub(crate) fn of_no_plan(nand: &Nand, plane: u32, work: WorkKind, ppn: Ppn, cause: Cause, priority: Priority) -> Self {
        Self {
            next: NIL,
            slot: NIL,
            ppn: ppn.0,
            owner: plane,
            lun: nand.places().lun_of_page(plane, ppn),
            plane,
            domain: NIL,
            bytes: nand.settings.page_bytes,
            submitted_ns: nand.now_ns,
            member: 0,
            stream: 0,
            work,
            cause,
            priority,
            version: Version::Current,
            keep_base: false,
            host_waits: false,
        }
    }
}
