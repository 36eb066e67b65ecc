//! Starting page operations on a unit: how long bus and array are occupied (SPEC 0.4).

use super::records::{Record, WorkKind};
use super::units::{UnitState, after};
#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::counts::{ERASE, action_index};
use crate::mapping::blocks::WriteStream;
use crate::mapping::space::{Domain, NIL, Pool, is_for_replacement, pool_of};
use crate::{Flash, FlashFault};
use flashraid_vocabulary::{Action, Ppn, memory};

/// Where a program waits.
#[derive(Clone, Copy)]
enum WaitsIn {
    /// In this queue of the unit.
    Queue(usize),
    /// In this pool.
    Pool(u32),
}

impl Flash {
    /// The unit begins what `state` says for a record, and for those behind it too: commands or data occupy the bus, and the array works. When the state
    /// ends the unit has an event.
    #[inline(always)]
    pub(super) fn begin(&mut self, unit_id: u32, id: u32, state: UnitState, bus_ns: u64, cell_ns: u64) {
        if self.records_slices {
            self.note_bus(unit_id, bus_ns, id);
        }
        let counted_ns = if self.makes(FlashFault::CountBusTwice) { 2 * bus_ns } else { bus_ns };
        let record = &self.records[id as usize];
        let cause = record.cause as usize;
        let unit = &mut self.units[unit_id as usize];
        let channel = &mut self.channels[unit.channel as usize];
        unit.current = id;
        unit.array_ns[cause] += cell_ns;
        unit.cell_after_ns = cell_ns;
        channel.busy_ns[cause] += counted_ns;
        #[cfg(feature = "mutants")]
        if record.work == WorkKind::Erase && accounting::makes(Slip::EraseCommandFree) {
            channel.busy_ns[cause] -= counted_ns;
        }
        channel.turn = unit.number;
        channel.free_ns = self.now_ns + bus_ns;
        let end_ns = channel.free_ns + if state == UnitState::DataIn { 0 } else { cell_ns };
        channel.set_state(unit, state, &self.records);
        self.unit_at(unit_id, end_ns);
    }

    pub(super) fn unit_at(&mut self, unit_id: u32, time_ns: u64) {
        let time_ns = if self.makes(FlashFault::LateEvent) { time_ns.saturating_add(1 << 48) } else { time_ns };
        self.events.set(unit_id as usize, time_ns);
    }

    fn pop_bound(&mut self, unit_id: u32, index: usize) -> u32 {
        let unit = &mut self.units[unit_id as usize];
        let head = unit.queues[index].head;
        let next = std::mem::replace(&mut self.records[head as usize].next, NIL);
        unit.queues[index].head = next;
        if next == NIL {
            unit.filled &= !(1 << index);
        }
        unit.queued -= 1;
        let channel = unit.channel;
        self.channels[channel as usize].queued -= 1;
        head
    }

    #[inline]
    pub(super) fn domain_of_pool(&self, pool: u32) -> &Domain {
        &self.domains[pool as usize / 2]
    }

    #[inline]
    pub(crate) fn pool(&self, pool: u32) -> &Pool {
        &self.pools[pool as usize]
    }

    /// The pools of a domain.
    #[inline]
    pub(crate) fn pools_of(&self, domain: u32) -> &[Pool] {
        &self.pools[pool_of(domain, false) as usize..=pool_of(domain, true) as usize]
    }

    /// Whether a program waits in a domain.
    #[inline]
    pub(crate) fn has_waiting(&self, domain: u32) -> bool {
        self.pools_of(domain).iter().any(|pool| pool.mask != 0)
    }

    /// Takes the program out of a pool that has waited longest of the most urgent ones. There must be one.
    pub(crate) fn pop_pool(&mut self, pool: u32) -> u32 {
        self.pooled_for_replacements -= u32::from(is_for_replacement(pool));
        let pool = &mut self.pools[pool as usize];
        let class = pool.mask.trailing_zeros() as usize;
        let head = pool.queues[class].head;
        let next = std::mem::replace(&mut self.records[head as usize].next, NIL);
        pool.queues[class].head = next;
        if next == NIL {
            pool.mask &= !(1 << class);
        }
        self.pooled -= 1;
        if self.pooled == 0 {
            self.pooled_channels = 0;
        }
        head
    }

    /// Starts the first of a unit's bound work.
    pub(super) fn start_bound(&mut self, unit_id: u32) {
        let unit = &mut self.units[unit_id as usize];
        let index = unit.served().trailing_zeros() as usize;
        unit.since_ns = self.now_ns;
        let id = self.pop_bound(unit_id, index);
        self.fetch_next(self.units[unit_id as usize].queues[index].head);
        match self.records[id as usize].work {
            WorkKind::Read | WorkKind::MoveRead => self.start_reads(unit_id, id, index),
            WorkKind::Program => self.start_programs(unit_id, id, |flash| {
                let next = flash.units[unit_id as usize].queues[index].head;
                (flash.units[unit_id as usize].filled >> index & 1 == 1 && flash.records[next as usize].work == WorkKind::Program)
                    .then_some((next, WaitsIn::Queue(index)))
            }),
            WorkKind::MoveProgram => {
                let plane = self.records[id as usize].plane;
                let Some(ppn) = self.take_move_page(plane) else { return self.move_finds_no_page(unit_id, id) };
                self.records[id as usize].ppn = ppn.0;
                let bus_ns = self.settings.given.program_command_ns + self.page_transfer_ns();
                self.note_program(ppn);
                self.start_working(unit_id, id, bus_ns, self.program_ns(ppn.0));
            }
            WorkKind::CopyBack => {
                let from_ns = self.sense_ns(self.records[id as usize].ppn);
                let plane = self.records[id as usize].plane;
                let Some(ppn) = self.take_move_page(plane) else { return self.move_finds_no_page(unit_id, id) };
                self.records[id as usize].ppn = ppn.0;
                let cause = self.records[id as usize].cause;
                self.count(action_index(Action::Read), cause);
                self.units[unit_id as usize].operations[0][cause as usize] += 1;
                let cell_ns = from_ns + self.program_ns(ppn.0);
                let bus_ns = self.settings.given.read_command_ns + self.settings.given.program_command_ns;
                self.start_working(unit_id, id, bus_ns, cell_ns);
            }
            WorkKind::Erase => {
                self.start_working(unit_id, id, self.settings.given.erase_command_ns, self.settings.cell.erase_ns());
            }
        }
    }

    /// Asks the processor for the record that will be started next; it may have waited for long.
    #[inline]
    fn fetch_next(&self, record: u32) {
        memory::prefetch(&self.records, record as usize);
    }

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

    #[inline(always)]
    fn note_started(&mut self, owner: u32, ppn: Ppn, slot: u32) {
        if self.lists_started {
            self.started.push((owner, ppn, slot));
        }
    }

    pub(crate) fn page_transfer_ns(&self) -> u64 {
        self.settings.transfer_ns(self.settings.geometry.page_bytes)
    }

    /// How long the array takes to sense the page for a first attempt.
    #[inline]
    fn sense_ns(&self, ppn: u32) -> u64 {
        self.settings.cell.sense_ns(|| ppn % self.pages_per_block, 0)
    }

    #[inline]
    fn program_ns(&self, ppn: u32) -> u64 {
        self.settings.cell.program_ns(|| ppn % self.pages_per_block)
    }

    /// Occupies bus and array for one record of GC.
    fn start_working(&mut self, unit_id: u32, id: u32, bus_ns: u64, cell_ns: u64) {
        let Record { cause, work, .. } = self.records[id as usize];
        let action = if work == WorkKind::Erase { ERASE } else { action_index(Action::Program) };
        self.count(action, cause);
        self.units[unit_id as usize].operations[action][cause as usize] += 1;
        self.begin(unit_id, id, UnitState::Working, bus_ns, cell_ns);
    }

    /// Starts a read, and with multi-plane those behind it that fit.
    fn start_reads(&mut self, unit_id: u32, first: u32, index: usize) {
        let mut last = first;
        let mut planes = 0u64;
        let mut bus_ns = 0;
        let mut cell_ns = 0;
        loop {
            let Record { ppn, plane, cause, member, work, owner, slot, .. } = self.records[last as usize];
            if work == WorkKind::Read {
                self.note_started(owner, Ppn(ppn), slot);
                self.queue_changes(member, -1, 0);
                self.loads[usize::from(member)].in_service += 1;
            }
            self.count(action_index(Action::Read), cause);
            self.units[unit_id as usize].operations[0][cause as usize] += 1;
            bus_ns += self.settings.given.read_command_ns;
            cell_ns = cell_ns.max(self.sense_ns(ppn));
            self.note_read(last, ppn);
            planes |= self.sites[plane as usize].bit;
            if !self.settings.given.multi_plane || self.units[unit_id as usize].filled >> index & 1 == 0 {
                break;
            }
            let next = self.units[unit_id as usize].queues[index].head;
            let candidate = self.records[next as usize];
            let fits = candidate.work == work
                && planes & self.sites[candidate.plane as usize].bit == 0
                && candidate.ppn % self.pages_per_block == ppn % self.pages_per_block;
            if !fits {
                break;
            }
            self.pop_bound(unit_id, index);
            self.records[last as usize].next = next;
            last = next;
        }
        self.begin(unit_id, first, UnitState::Reading, bus_ns, cell_ns);
    }

    /// Starts the program that has waited longest of those in a pool.
    pub(super) fn start_from_pool(&mut self, unit_id: u32, pool: u32) {
        let unit = &mut self.units[unit_id as usize];
        unit.since_ns = self.now_ns;
        self.channels[unit.channel as usize].turn_of_pool = unit.number;
        let class = self.pool(pool).mask.trailing_zeros() as usize;
        let id = self.pop_pool(pool);
        self.fetch_next(self.pool(pool).queues[class].head);
        self.start_programs(unit_id, id, |flash| {
            let Pool { queues, mask } = flash.pool(pool);
            (mask >> class & 1 == 1).then_some((queues[class].head, WaitsIn::Pool(pool)))
        });
    }

    /// Starts a program, and with multi-plane those behind it (from `next`: record, and where it waits) that find a page at the same offset.
    fn start_programs(&mut self, unit_id: u32, first: u32, next: impl Fn(&Self) -> Option<(u32, WaitsIn)>) {
        let mut last = first;
        let mut used = 0u64;
        let mut bus_ns = 0;
        let mut cell_ns = 0;
        loop {
            let bound_plane = self.records[last as usize].plane;
            let plane = if bound_plane != NIL { bound_plane } else { self.turn_plane(unit_id, self.kind_of(last)) };
            let ppn = self.give_page(unit_id, last, plane);
            bus_ns += self.settings.given.program_command_ns + self.settings.transfer_ns(self.records[last as usize].bytes);
            cell_ns = cell_ns.max(self.program_ns(ppn.0));
            used |= self.sites[plane as usize].bit;
            if !self.settings.given.multi_plane {
                break;
            }
            let Some((candidate, place)) = next(self) else { break };
            let Some(plane) = self.plane_at_offset(unit_id, candidate, used, ppn.0 % self.pages_per_block) else { break };
            match place {
                WaitsIn::Pool(pool) => {
                    self.pop_pool(pool);
                }
                WaitsIn::Queue(index) => {
                    self.pop_bound(unit_id, index);
                }
            }
            self.records[candidate as usize].plane = plane;
            self.records[last as usize].next = candidate;
            last = candidate;
        }
        let state = if self.settings.reports_data_in() { UnitState::DataIn } else { UnitState::Working };
        self.begin(unit_id, first, state, bus_ns, cell_ns);
        self.collect_after_programs(first);
    }

    /// A plane of the unit, not in `used`, whose next host page has the wanted offset; the candidate's own plane if it is bound.
    fn plane_at_offset(&self, unit_id: u32, candidate: u32, used: u64, offset: u32) -> Option<u32> {
        let kind = self.kind_of(candidate);
        let first = self.first_plane(unit_id, kind);
        let fits = |plane: u32| {
            let bit = self.sites[plane as usize].bit;
            used & bit == 0
                && self.units[unit_id as usize].writable[kind] & bit != 0
                && self.blocks.next_offset(plane, WriteStream::Host) == offset
        };
        match self.records[candidate as usize].plane {
            NIL => (first..first + self.planes_per_unit).find(|plane| fits(*plane)),
            plane => fits(plane).then_some(plane),
        }
    }

    /// Which kind of planes a program wants.
    fn kind_of(&self, id: u32) -> usize {
        self.domains[self.records[id as usize].domain as usize].kind
    }

    /// The unit's writable plane of this kind whose turn it is. With multi-plane operations, the one that is least far in its open block: planes
    /// that are out of step catch up with each other, and can be programmed together again.
    // Not inlined, as that costs `serve` registers.
    #[inline(never)]
    fn turn_plane(&mut self, unit_id: u32, kind: usize) -> u32 {
        let (first, unit) = (self.first_plane(unit_id, kind), &self.units[unit_id as usize]);
        let mut number = after(unit.writable[kind], unit.turn_of_plane);
        if self.settings.given.multi_plane {
            let turns = (0..self.planes_per_unit).map(|turn| (number + turn) % self.planes_per_unit);
            let writable = turns.filter(|number| unit.writable[kind] >> number & 1 == 1);
            number = writable.min_by_key(|number| self.blocks.next_offset(first + number, WriteStream::Host)).expect("a writable plane");
        }
        self.units[unit_id as usize].turn_of_plane = u64::from(number);
        first + number
    }

    /// Takes the reserved page for a program that starts now.
    #[inline(always)]
    fn give_page(&mut self, unit_id: u32, id: u32, plane: u32) -> Ppn {
        let Record { domain, slot, version, member, cause, owner, .. } = self.records[id as usize];
        self.maps.prefetch(slot); // for the end of the program
        let ppn = if self.hybrid.is_some() { self.take_reserved(slot) } else { self.take_host_page(plane) };
        self.note_started(owner, ppn, slot);
        self.note_program(ppn);
        self.domains[domain as usize].reserved -= 1;
        self.maps.label(ppn, version, slot);
        let record = &mut self.records[id as usize];
        (record.ppn, record.plane) = (ppn.0, plane);
        self.queue_changes(member, 0, -1);
        self.loads[usize::from(member)].in_service += 1;
        self.count(action_index(Action::Program), cause);
        self.units[unit_id as usize].operations[1][cause as usize] += 1;
        ppn
    }

    /// The programs just started may have brought their planes below the threshold.
    fn collect_after_programs(&mut self, first: u32) {
        let mut id = first;
        while id != NIL {
            let Record { plane, next, .. } = self.records[id as usize];
            self.collect_if_low(plane);
            id = next;
        }
    }

    pub(super) fn start_data_out(&mut self, unit_id: u32) {
        let id = self.units[unit_id as usize].current;
        let bus_ns = self.settings.transfer_ns(self.records[id as usize].bytes);
        self.begin(unit_id, id, UnitState::DataOut, bus_ns, 0);
    }
}
