//! Starting page operations on a LUN: how long bus and array are occupied (SPEC 0.4).

#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::counts::{ERASE, action_index};
use crate::levels::{note_joined_read, note_read};
use crate::luns::{Lun, LunState, after};
use crate::packed::count_flash_pages;
use crate::suspension::HOST_READS;
use crate::{BlockFacts, FlashFault, Nand, Pages, Record, WorkKind, slc};
use flashraid_vocabulary::{Action, MemberId, NIL, Ppn};

/// Where a program waits.
#[derive(Clone, Copy)]
enum WaitsIn {
    /// In this queue of the LUN.
    Queue(usize),
    /// In this pool.
    Pool(u32),
}

impl Nand {
    /// The LUN begins what `state` says for a record, and for those behind it too: commands or data occupy the bus, and the array works. When the state
    /// ends the LUN has an event.
    #[inline(always)]
    pub(crate) fn begin(&mut self, lun_id: u32, id: u32, state: LunState, bus_ns: u64, cell_ns: u64) {
        if self.recording.lists_slices {
            self.note_bus(lun_id, bus_ns, id);
        }
        let counted_ns = if self.makes(FlashFault::CountBusTwice) { 2 * bus_ns } else { bus_ns };
        let record = &self.records[id];
        let cause = record.cause as usize;
        let lun = &mut self.luns[lun_id as usize];
        let channel = &mut self.channels[lun.channel as usize];
        lun.current = id;
        lun.array_ns[cause] += cell_ns;
        lun.cell_after_ns = cell_ns;
        channel.busy_ns[cause] += counted_ns;
        #[cfg(feature = "mutants")]
        if record.work == WorkKind::Erase && accounting::makes(Slip::EraseCommandFree) {
            channel.busy_ns[cause] -= counted_ns;
        }
        channel.turn = lun.number;
        channel.free_ns = self.now_ns + bus_ns;
        let end_ns = channel.free_ns + if state == LunState::DataIn { 0 } else { cell_ns };
        channel.set_state(lun, state, &self.records);
        self.lun_at(lun_id, end_ns);
        if self.has_rules {
            heed_rules(self, lun_id, state, bus_ns);
        }
    }

    pub(crate) fn lun_at(&mut self, lun_id: u32, time_ns: u64) {
        let time_ns = if self.makes(FlashFault::LateEvent) { time_ns.saturating_add(1 << 48) } else { time_ns };
        self.events.set(lun_id as usize, time_ns);
    }

    /// How long the array takes to sense the page for this attempt.
    #[inline]
    pub(crate) fn sense_ns(&self, ppn: u32, attempt: u32) -> u64 {
        self.settings.cell.sense_ns(|| self.number_in_block(ppn) / self.settings.pages_per_read, attempt)
    }

    #[inline]
    fn program_ns(&self, ppn: u32) -> u64 {
        self.settings.cell.program_ns(|| self.number_in_block(ppn))
    }

    /// Occupies bus and array for one record of GC.
    fn start_working(&mut self, lun_id: u32, id: u32, bus_ns: u64, cell_ns: u64) {
        let Record { cause, work, .. } = self.records[id];
        let action = if work == WorkKind::Erase { ERASE } else { action_index(Action::Program) };
        self.count(lun_id, action, cause);
        count_flash_pages(self, lun_id, action, cause, 1);
        self.begin(lun_id, id, LunState::Working, bus_ns, cell_ns);
    }

    /// A read of a plan starts, or a program of one in its page.
    #[inline(always)]
    fn note_start(&mut self, id: u32, ppn: Ppn, reads: i32, programs: i32) {
        let Record { owner, slot, member, .. } = self.records[id];
        if self.recording.lists_started {
            self.recording.started.push((owner, ppn, slot));
        }
        self.loads.queue_changes(MemberId(member.into()), reads, programs);
        self.loads[MemberId(member.into())].in_service += 1;
    }

    pub(crate) fn start_data_out(&mut self, lun_id: u32) {
        let id = self.luns[lun_id as usize].current;
        let bus_ns = self.settings.transfer_ns(self.records[id].bytes);
        self.begin(lun_id, id, LunState::DataOut, bus_ns, 0);
    }

    /// Which kind of planes a program wants.
    fn kind_of(&self, id: u32) -> usize {
        self.takers(self.records[id].domain).kind
    }
}

/// A LUN has begun something: what power, suspension, and slices that share its bus have to do with that.
#[cold]
#[inline(never)]
fn heed_rules(nand: &mut Nand, lun_id: u32, state: LunState, bus_ns: u64) {
    let Lun { channel, current, .. } = nand.luns[lun_id as usize];
    if nand.settings.slices_per_bus > 1 {
        let others_ns = bus_ns * u64::from(nand.settings.slices_per_bus - 1);
        let channel = &mut nand.channels[channel as usize];
        channel.shared_for = nand.records[current].cause;
        channel.busy_ns[channel.shared_for as usize] += others_ns;
        channel.free_ns += others_ns;
    }
    if !matches!(state, LunState::Working | LunState::DataIn) {
        return;
    }
    if let Some(power) = &mut nand.power {
        power.take(channel, nand.now_ns);
    }
    if state == LunState::Working
        && let Some((suspension, mut sites)) = nand.suspension()
    {
        suspension.ask_for_waiting(lun_id, &mut sites);
    }
}

/// Starts the first of a LUN's bound work.
pub(crate) fn start_bound<P: Pages>(ssd: &mut P, lun_id: u32) {
    let nand = ssd.nand_mut();
    let lun = &nand.luns[lun_id as usize];
    let index = if lun.state == LunState::Suspended {
        nand.charge(lun_id, lun.current);
        HOST_READS
    } else {
        lun.served().trailing_zeros() as usize
    };
    nand.luns[lun_id as usize].since_ns = nand.now_ns;
    let (id, next) = nand.pop_bound(lun_id, index);
    // It may have waited for long.
    nand.records.prefetch(next);
    let Record { work, ppn: from, cause, .. } = nand.records[id];
    match work {
        WorkKind::Read | WorkKind::MoveRead if nand.reads_alone => start_read(nand, lun_id, id),
        WorkKind::Read | WorkKind::MoveRead => start_reads(ssd, lun_id, id, index),
        WorkKind::Program => start_programs(ssd, lun_id, id, |nand| {
            let next = nand.luns[lun_id as usize].queues[index].head;
            (nand.luns[lun_id as usize].filled >> index & 1 == 1 && nand.records[next].work == WorkKind::Program)
                .then_some((next, WaitsIn::Queue(index)))
        }),
        WorkKind::PageProgram => start_page_programs(nand, lun_id, id, index),
        WorkKind::MoveProgram => {
            let Some(ppn) = ssd.page_for_move(id) else { return };
            let nand = ssd.nand_mut();
            nand.records[id].ppn = ppn.0;
            let bus_ns = nand.settings.program_command_ns + nand.settings.page_transfer_ns();
            nand.start_working(lun_id, id, bus_ns, nand.program_ns(ppn.0));
        }
        WorkKind::CopyBack => {
            let Some(ppn) = ssd.page_for_move(id) else { return };
            let nand = ssd.nand_mut();
            nand.records[id].ppn = ppn.0;
            nand.count(lun_id, action_index(Action::Read), cause);
            let cell_ns = nand.sense_ns(from, 0) + nand.program_ns(ppn.0);
            let bus_ns = nand.settings.read_command_ns + nand.settings.program_command_ns;
            nand.start_working(lun_id, id, bus_ns, cell_ns);
        }
        WorkKind::Erase => nand.start_working(lun_id, id, nand.settings.erase_command_ns, nand.settings.cell.erase_ns()),
    }
}

/// Starts a read, where each goes alone.
#[inline(always)]
fn start_read(nand: &mut Nand, lun_id: u32, id: u32) {
    let Record { ppn, cause, work, .. } = nand.records[id];
    if work == WorkKind::Read {
        nand.note_start(id, Ppn(ppn), -1, 0);
    }
    nand.count(lun_id, action_index(Action::Read), cause);
    nand.begin(lun_id, id, LunState::Reading, nand.settings.read_command_ns, nand.sense_ns(ppn, 0));
}

/// Starts a read, and those behind it that fit: of the same flash page, of pages that one read senses together, and with multi-plane at the same place of other
/// planes.
#[inline(never)]
fn start_reads<P: Pages>(ssd: &mut P, lun_id: u32, first: u32, index: usize) {
    let mut last = first;
    let mut planes = 0u64;
    let mut bus_ns = 0;
    let mut cell_ns = 0;
    let mut is_joined = false;
    let mut sensed = first;
    // Of the pages that are sensed together in the plane of the last one.
    let mut sensed_pages = 0u64;
    let most = ssd.nand().suspension.as_ref().map_or(u32::MAX, |suspension| suspension.most_reads_together(lun_id));
    let mut together = 1;
    loop {
        let nand = ssd.nand_mut();
        let Record { ppn, plane, cause, work, .. } = nand.records[last];
        if work == WorkKind::Read {
            nand.note_start(last, Ppn(ppn), -1, 0);
            nand.count(lun_id, action_index(Action::Read), cause);
        } else if !nand.settings.packs() {
            nand.count(lun_id, action_index(Action::Read), cause);
        }
        if nand.settings.transfers_pages {
            let page_bytes = nand.settings.page_bytes;
            nand.records[last].bytes = if is_joined { 0 } else { page_bytes };
        }
        if !is_joined {
            count_flash_pages(nand, lun_id, action_index(Action::Read), cause, 1);
            bus_ns += nand.settings.read_command_ns;
            cell_ns = cell_ns.max(slc::times_of(nand, ppn).map_or_else(|| nand.sense_ns(ppn, 0), |times| times.read_ns));
            note_read(ssd, last, ppn);
            sensed = last;
        } else {
            note_joined_read(nand, last, sensed);
        }
        let nand = ssd.nand_mut();
        planes |= nand.places().of(plane).bit;
        let has_next = nand.luns[lun_id as usize].filled >> index & 1 == 1 && together < most;
        if !(nand.settings.multi_plane || nand.settings.packs()) || !has_next {
            break;
        }
        let next = nand.luns[lun_id as usize].queues[index].head;
        let candidate = nand.records[next];
        let is_together = nand.settings.packs()
            && candidate.work == work
            && candidate.ppn / nand.settings.units_per_read() == ppn / nand.settings.units_per_read();
        if is_together {
            sensed_pages |= nand.settings.bit_in_group(ppn);
            is_joined = sensed_pages & nand.settings.bit_in_group(candidate.ppn) != 0;
        } else if goes_along(nand, &candidate, work, ppn, planes) {
            (is_joined, sensed_pages) = (false, 0);
        } else {
            break;
        }
        nand.pop_bound(lun_id, index);
        nand.records[last].next = next;
        last = next;
        together += 1;
    }
    let nand = ssd.nand_mut();
    if let Some(suspension) = &mut nand.suspension {
        suspension.note_reads_together(lun_id, together);
    }
    nand.begin(lun_id, first, LunState::Reading, bus_ns, cell_ns);
}

/// Whether multi-plane takes a record along with others: the same work in the same mode at the same place of a plane that none of them is in.
#[inline]
fn goes_along(nand: &Nand, candidate: &Record, work: WorkKind, ppn: u32, planes: u64) -> bool {
    nand.settings.multi_plane
        && candidate.work == work
        && planes & nand.places().of(candidate.plane).bit == 0
        && nand.number_in_block(candidate.ppn) == nand.number_in_block(ppn)
        && slc::times_of(nand, candidate.ppn).is_some() == slc::times_of(nand, ppn).is_some()
}

/// Starts the program of a filled program unit, and with multi-plane those behind it at the same place of other planes.
fn start_page_programs(nand: &mut Nand, lun_id: u32, first: u32, index: usize) {
    let mut last = first;
    let mut used = 0u64;
    let mut bus_ns = 0;
    let mut cell_ns = 0;
    loop {
        let Record { ppn, plane, cause, bytes, .. } = nand.records[last];
        count_flash_pages(nand, lun_id, action_index(Action::Program), cause, slc::pages_per_program(nand, ppn));
        bus_ns += nand.settings.program_command_ns + nand.settings.transfer_ns(bytes);
        cell_ns = cell_ns.max(slc::times_of(nand, ppn).map_or_else(|| nand.program_ns(ppn), |times| times.program_ns));
        used |= nand.places().of(plane).bit;
        if !nand.settings.multi_plane || nand.luns[lun_id as usize].filled >> index & 1 == 0 {
            break;
        }
        let next = nand.luns[lun_id as usize].queues[index].head;
        if !goes_along(nand, &nand.records[next], WorkKind::PageProgram, ppn, used) {
            break;
        }
        nand.pop_bound(lun_id, index);
        nand.records[last].next = next;
        last = next;
    }
    nand.begin(lun_id, first, LunState::Working, bus_ns, cell_ns);
}

/// Starts the program that has waited longest of those in a pool.
pub(crate) fn start_from_pool<P: Pages>(ssd: &mut P, lun_id: u32, pool: u32) {
    let nand = ssd.nand_mut();
    let lun = &mut nand.luns[lun_id as usize];
    lun.since_ns = nand.now_ns;
    nand.channels[lun.channel as usize].turn_of_pool = lun.number;
    let class = nand.waiting.pool(pool).mask.trailing_zeros() as usize;
    let id = nand.pop_pool(pool);
    // It may have waited for long.
    nand.records.prefetch(nand.waiting.pool(pool).queues[class].head);
    start_programs(ssd, lun_id, id, |nand| {
        let waiting = nand.waiting.pool(pool);
        (waiting.mask >> class & 1 == 1).then_some((waiting.queues[class].head, WaitsIn::Pool(pool)))
    });
}

/// Starts a program, and with multi-plane those behind it (from `next`: record, and where it waits) that find a page at the same offset.
fn start_programs<P: Pages>(ssd: &mut P, lun_id: u32, first: u32, next: impl Fn(&Nand) -> Option<(u32, WaitsIn)>) {
    let mut last = first;
    let mut used = 0u64;
    let mut bus_ns = 0;
    let mut cell_ns = 0;
    loop {
        let bound_plane = ssd.nand().records[last].plane;
        let plane = if bound_plane != NIL { bound_plane } else { turn_plane(ssd, lun_id, ssd.nand().kind_of(last)) };
        let ppn = give_page(ssd, lun_id, last, plane);
        let nand = ssd.nand_mut();
        bus_ns += nand.settings.program_command_ns + nand.settings.transfer_ns(nand.records[last].bytes);
        cell_ns = cell_ns.max(nand.program_ns(ppn.0));
        used |= nand.places().of(plane).bit;
        if !nand.settings.multi_plane {
            break;
        }
        let Some((candidate, place)) = next(nand) else { break };
        let Some(plane) = plane_at_offset(ssd, lun_id, candidate, used, ppn.0 % ssd.nand().shape.pages_per_block) else { break };
        let nand = ssd.nand_mut();
        match place {
            WaitsIn::Pool(pool) => {
                nand.pop_pool(pool);
            }
            WaitsIn::Queue(index) => {
                nand.pop_bound(lun_id, index);
            }
        }
        nand.records[candidate].plane = plane;
        nand.records[last].next = candidate;
        last = candidate;
    }
    let nand = ssd.nand_mut();
    let state = if nand.settings.reports_data_in { LunState::DataIn } else { LunState::Working };
    nand.begin(lun_id, first, state, bus_ns, cell_ns);
    let mut id = first;
    while id != NIL {
        let Record { plane, next, .. } = ssd.nand().records[id];
        ssd.program_started(plane);
        id = next;
    }
}

/// A plane of the LUN, not in `used`, whose next host page has the wanted offset; the candidate's own plane if it is bound.
fn plane_at_offset<P: Pages>(ssd: &P, lun_id: u32, candidate: u32, used: u64, offset: u32) -> Option<u32> {
    let nand = ssd.nand();
    let kind = nand.kind_of(candidate);
    let first = nand.shape.first_plane(lun_id, kind);
    let fits = |plane: u32| {
        let bit = nand.places().of(plane).bit;
        used & bit == 0 && nand.luns[lun_id as usize].writable[kind] & bit != 0 && ssd.blocks().next_offset(plane) == offset
    };
    match nand.records[candidate].plane {
        NIL => (first..first + nand.shape.planes_per_lun).find(|plane| fits(*plane)),
        plane => fits(plane).then_some(plane),
    }
}

/// The LUN's writable plane of this kind whose turn it is. With multi-plane operations, the one that is least far in its open block: planes
/// that are out of step catch up with each other, and can be programmed together again.
// Not inlined, as that costs `serve` registers.
#[inline(never)]
fn turn_plane<P: Pages>(ssd: &mut P, lun_id: u32, kind: usize) -> u32 {
    let nand = ssd.nand();
    let (first, lun) = (nand.shape.first_plane(lun_id, kind), &nand.luns[lun_id as usize]);
    let mut number = after(lun.writable[kind], lun.turn_of_plane);
    if nand.settings.multi_plane {
        let planes = nand.shape.planes_per_lun;
        let turns = (0..planes).map(|turn| (number + turn) % planes);
        let writable = turns.filter(|number| lun.writable[kind] >> number & 1 == 1);
        number = writable.min_by_key(|number| ssd.blocks().next_offset(first + number)).expect("a writable plane");
    }
    ssd.nand_mut().luns[lun_id as usize].turn_of_plane = u64::from(number);
    first + number
}

/// Takes the reserved page for a program that starts now.
#[inline(always)]
fn give_page<P: Pages>(ssd: &mut P, lun_id: u32, id: u32, plane: u32) -> Ppn {
    let ppn = ssd.page_for(id, plane);
    let nand = ssd.nand_mut();
    nand.note_start(id, ppn, 0, -1);
    let record = &mut nand.records[id];
    (record.ppn, record.plane) = (ppn.0, plane);
    let cause = record.cause;
    nand.count(lun_id, action_index(Action::Program), cause);
    ppn
}
