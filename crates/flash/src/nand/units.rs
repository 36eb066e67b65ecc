//! Buses and array units: who is served next, and for how long (SPEC 0.4).
//!
//! A unit (die, or chip if chip-serial) executes one array operation at a time. A read takes the bus for its command, then the
//! array; the unit keeps the data in its register until the bus has moved them out. A program takes the bus for command and
//! data, then the array. When a bus is free it serves, class by class: read commands (so that arrays start early), data out,
//! programs and erases of units that wait for them, then programs that any unit of their domain may take; round robin over
//! units in each. A bus has an event only while somebody waits for it.

use super::events::NEVER;
use crate::mapping::blocks::Stream;
use crate::mapping::space::{NIL, Queue};
use crate::{CellOperation, Completion, Flash, Progress, action_index, memory};
use flashraid_vocabulary::{Action, Cause, MemberId, Observer, PageOperation, Ppn, Priority, Version};

/// What a record makes its unit do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Work {
    /// Read for a plan.
    Read,
    /// Program for a plan.
    Program,
    /// Collector's read of a page to move.
    MoveRead,
    /// Collector's program of a moved page.
    MoveProgram,
    /// Collector's move inside the plane.
    CopyBack,
    /// Collector's erase.
    Erase,
}

/// A page operation in flight. For the collector's work `owner` is the plane.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub(crate) next: u32,
    pub(crate) slot: u32,
    pub(crate) ppn: u32,
    pub(crate) owner: u32,
    pub(crate) unit: u32,
    pub(crate) plane: u32,
    pub(crate) domain: u32,
    pub(crate) bytes: u32,
    pub(crate) submitted_ns: u64,
    pub(crate) member: u16,
    pub(crate) work: Work,
    pub(crate) cause: Cause,
    pub(crate) priority: Priority,
    pub(crate) version: Version,
    pub(crate) keep_base: bool,
    pub(crate) host_waits: bool,
}

/// What a completion is about.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The operation, as it was given with the submission.
    pub owner: u32,
    /// Read or program.
    pub action: Action,
    /// Whether the host's response waits for it.
    pub host_waits: bool,
    /// The member.
    pub member: MemberId,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// The physical page: of a read from its submission, of a program from its start.
    pub ppn: Ppn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The array is reading.
    Reading,
    /// Data wait in the register for the bus.
    DataReady,
    /// Data cross the bus.
    DataOut,
    /// Data cross the bus towards the register, and their arrival is reported.
    DataIn,
    /// The array programs, erases or copies.
    Working,
}

const NOTHING: u8 = u8::MAX;
/// Phases inside a class, in the order in which a free bus serves them.
const READ_COMMAND: u8 = 0;
const DATA_OUT: u8 = 1;
const PROGRAM: u8 = 2;
const PHASES: u8 = 3;
const WANTS: usize = Priority::COUNT * PHASES as usize;
/// Bits of `Unit::filled` that belong to the urgent class.
const URGENT_QUEUES: u16 = 0b11;

/// An array unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its channel, its number there, and the bit of that number.
    pub(crate) channel: u32,
    number: u64,
    pub(crate) bit: u64,
    state: State,
    /// What it would do with the bus: class * PHASES + phase, or `NOTHING`.
    want: u8,
    /// How many collections keep it from serving anything but urgent work.
    pub(crate) blocked: u8,
    turn_of_plane: u64,
    /// Which of `queues` are not empty.
    filled: u16,
    /// Bound work by class and kind (reads, others); all in the first of a class under FIFO.
    queues: [Queue; 2 * Priority::COUNT],
    /// Records in service: several for a multi-plane operation.
    current: u32,
    /// Bound records waiting.
    pub(crate) queued: u32,
    /// Planes in which a host program finds a page.
    pub(crate) writable: u64,
    since_ns: u64,
    /// Array time that follows the reported data-in.
    cell_after_ns: u64,
    /// Operations started: reads, programs, erases.
    pub operations: [u64; 3],
    /// Time not idle, by the cause of the work.
    pub busy_ns: [u64; Cause::COUNT],
}

impl Unit {
    pub(crate) fn new(channel: u32, number: u32) -> Self {
        Self {
            channel,
            number: u64::from(number),
            bit: 1 << number,
            state: State::Idle,
            want: NOTHING,
            blocked: 0,
            turn_of_plane: 63,
            filled: 0,
            queues: [Queue::EMPTY; 2 * Priority::COUNT],
            current: NIL,
            queued: 0,
            writable: 0,
            since_ns: 0,
            cell_after_ns: 0,
            operations: [0; 3],
            busy_ns: [0; Cause::COUNT],
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
}

/// A channel's bus.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) first_unit: u32,
    free_ns: u64,
    has_event: bool,
    /// Which entries of `wants` are not empty. This and the turns are whole words, lest the processor has to load together what
    /// was just stored apart.
    wanted: u64,
    turn: u64,
    turn_of_pool: u64,
    /// Units by what they want.
    wants: [u64; WANTS],
    idle: u64,
    blocked: u64,
    pub(crate) writable: u64,
    /// Space domains that touch this channel.
    pub(crate) domains: Vec<u32>,
    /// Time in use, by the cause of the work.
    pub busy_ns: [u64; Cause::COUNT],
}

impl Channel {
    pub(crate) fn new(number: u32, units: u32) -> Self {
        Self {
            first_unit: number * units,
            free_ns: 0,
            has_event: false,
            wanted: 0,
            turn: 63,
            turn_of_pool: 63,
            wants: [0; WANTS],
            idle: u64::MAX >> (64 - units),
            blocked: 0,
            writable: 0,
            domains: Vec::new(),
            busy_ns: [0; Cause::COUNT],
        }
    }
}

impl Channel {
    /// Units that could take any program.
    #[inline]
    fn takers(&self) -> u64 {
        self.idle & self.writable & !self.blocked
    }
}

/// The first set bit of `mask` after position `last`, going round. `mask` must not be zero.
#[inline]
pub(crate) fn after(mask: u64, last: u64) -> u32 {
    let above = mask & (u64::MAX << last << 1);
    (if above != 0 { above } else { mask }).trailing_zeros()
}

/// The first set bit of `mask` from position `first` on, going round. `mask` must not be zero.
#[inline]
pub(crate) fn at_or_after(mask: u64, first: u32) -> u32 {
    let above = mask & (u64::MAX << first);
    (if above != 0 { above } else { mask }).trailing_zeros()
}

impl Flash {
    // ---- records ----

    fn new_record(&mut self, record: Record) -> u32 {
        match self.free_records {
            NIL => {
                self.records.push(record);
                self.records.len() as u32 - 1
            }
            free => {
                self.free_records = self.records[free as usize].next;
                self.records[free as usize] = record;
                free
            }
        }
    }

    pub(crate) fn free_record(&mut self, record: u32) {
        self.records[record as usize].next = self.free_records;
        self.free_records = record;
    }

    /// What a completion is about.
    #[inline]
    pub fn about(&self, record: u32) -> About {
        let Record { owner, work, host_waits, member, submitted_ns, ppn, .. } = self.records[record as usize];
        let action = if work == Work::Read { Action::Read } else { Action::Program };
        About { owner, action, host_waits, member: MemberId(member), submitted_ns, ppn: Ppn(ppn) }
    }

    /// The record after this one in a list kept by the caller (programs of an operation that have ended).
    #[inline]
    pub fn next_in_list(&self, record: u32) -> u32 {
        self.records[record as usize].next
    }

    /// See `next_in_list`. Only between a program's end and its `commit` or `abandon`.
    #[inline]
    pub fn set_next_in_list(&mut self, record: u32, next: u32) {
        self.records[record as usize].next = next;
    }

    /// Frees a read that has ended.
    #[inline]
    pub fn forget(&mut self, record: u32) {
        self.free_record(record);
    }

    // ---- submission ----

    /// Queues a page operation of the plan of `owner`, which completions name again. A read must be of a written version: it is bound to the page that holds it now, which is
    /// not erased before the read ends. A program's page is chosen when it starts; it uses a page promised by `reserve`.
    /// Returns the record, or `None` for a read of a version that is not written.
    #[inline]
    pub fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        let slot = self.slot(operation.address);
        let mut record = Record {
            next: NIL,
            slot,
            ppn: NIL,
            owner,
            unit: NIL,
            plane: NIL,
            domain: NIL,
            bytes: if self.settings.whole_page_transfers { self.settings.geometry.page_bytes } else { operation.bytes },
            submitted_ns: self.now_ns,
            member: operation.address.member.0,
            work: Work::Program,
            cause: operation.cause,
            priority: operation.priority,
            version: operation.version,
            keep_base: operation.keep_base,
            host_waits: operation.host_waits,
        };
        if operation.action == Action::Read {
            let ppn = self.maps.get(operation.version, slot)?;
            let block = self.block_of(ppn);
            self.blocks.blocks[block].reads += 1;
            record.work = Work::Read;
            record.ppn = ppn.0;
            record.plane = self.plane_of(ppn);
            record.unit = self.unit_of_plane(record.plane);
            self.queue_changes(record.member, 1, 0);
            let id = self.new_record(record);
            self.bind(id);
            return Some(id);
        }
        self.queue_changes(record.member, 0, 1);
        let domain_id = self.domain_of(operation.address);
        record.domain = domain_id;
        let domain = &self.domains[domain_id as usize];
        let single_unit = domain.units.is_power_of_two() && domain.channels.0 + 1 == domain.channels.1;
        if single_unit {
            record.unit = self.channels[domain.channels.0 as usize].first_unit + domain.units.trailing_zeros();
            if self.settings.placement == crate::Placement::Static {
                record.plane = domain_id;
            }
            let id = self.new_record(record);
            self.bind(id);
            return Some(id);
        }
        let class = record.priority as usize;
        let id = self.new_record(record);
        let mut queue = self.domains[domain_id as usize].waiting[class];
        self.append(&mut queue, id);
        let domain = &mut self.domains[domain_id as usize];
        domain.waiting[class] = queue;
        domain.waiting_mask |= 1 << class;
        self.offer(domain_id);
        Some(id)
    }

    /// Lets the domain's channels, in turn, serve what waits in it.
    fn offer(&mut self, domain_id: u32) {
        let (first, end) = self.domains[domain_id as usize].channels;
        let mut channel = self.domains[domain_id as usize].next_channel;
        for _ in first..end {
            let next = if channel + 1 == end { first } else { channel + 1 };
            self.domains[domain_id as usize].next_channel = next;
            self.kick(channel);
            if self.domains[domain_id as usize].waiting_mask == 0 {
                return;
            }
            channel = next;
        }
    }

    fn append(&mut self, queue: &mut Queue, record: u32) {
        if queue.head == NIL {
            queue.head = record;
        } else {
            self.records[queue.tail as usize].next = record;
        }
        queue.tail = record;
    }

    /// Queues a record at its unit.
    pub(crate) fn bind(&mut self, id: u32) {
        let record = &self.records[id as usize];
        let reads_first = !self.settings.fifo && !matches!(record.work, Work::Read | Work::MoveRead);
        let index = record.priority as usize * 2 + usize::from(reads_first);
        let unit_id = record.unit;
        let mut queue = self.units[unit_id as usize].queues[index];
        self.append(&mut queue, id);
        let unit = &mut self.units[unit_id as usize];
        unit.queues[index] = queue;
        unit.filled |= 1 << index;
        unit.queued += 1;
        if unit.state == State::Idle {
            self.refresh_want(unit_id);
            self.kick(self.units[unit_id as usize].channel);
        }
    }

    /// Queues the collector's work on a plane.
    pub(crate) fn submit_collection(&mut self, plane: u32, work: Work, ppn: u32, cause: Cause, priority: Priority) {
        let unit = self.unit_of_plane(plane);
        let record = Record {
            next: NIL,
            slot: NIL,
            ppn,
            owner: plane,
            unit,
            plane,
            domain: NIL,
            bytes: self.settings.geometry.page_bytes,
            submitted_ns: self.now_ns,
            member: 0,
            work,
            cause,
            priority,
            version: Version::Current,
            keep_base: false,
            host_waits: false,
        };
        let id = self.new_record(record);
        self.bind(id);
    }

    #[inline]
    fn queue_changes(&mut self, member: u16, reads: i32, programs: i32) {
        let epoch = self.completed_requests;
        let load = &mut self.loads[usize::from(member)];
        load.blocked_sum += u64::from(load.reads + load.programs) * (epoch - load.blocked_epoch);
        load.blocked_epoch = epoch;
        load.reads = load.reads.wrapping_add_signed(reads);
        load.programs = load.programs.wrapping_add_signed(programs);
    }

    // ---- arbitration ----

    /// Recomputes what a unit would do with the bus.
    pub(crate) fn refresh_want(&mut self, unit_id: u32) {
        let unit = &self.units[unit_id as usize];
        let want = match unit.state {
            State::Idle => {
                let filled = if unit.blocked > 0 { unit.filled & URGENT_QUEUES } else { unit.filled };
                if filled == 0 {
                    NOTHING
                } else {
                    let index = filled.trailing_zeros() as usize;
                    let head = &self.records[unit.queues[index].head as usize];
                    let phase = if matches!(head.work, Work::Read | Work::MoveRead) { READ_COMMAND } else { PROGRAM };
                    (index / 2) as u8 * PHASES + phase
                }
            }
            State::DataReady => self.records[unit.current as usize].priority as u8 * PHASES + DATA_OUT,
            _ => NOTHING,
        };
        let old = unit.want;
        if old == want {
            return;
        }
        let channel_id = self.units[unit_id as usize].channel;
        let bit = self.units[unit_id as usize].bit;
        self.units[unit_id as usize].want = want;
        let channel = &mut self.channels[channel_id as usize];
        if old != NOTHING {
            channel.wants[usize::from(old)] &= !bit;
            if channel.wants[usize::from(old)] == 0 {
                channel.wanted &= !(1 << old);
            }
        }
        if want != NOTHING {
            channel.wants[usize::from(want)] |= bit;
            channel.wanted |= 1 << want;
        }
    }

    pub(crate) fn set_blocked(&mut self, unit_id: u32, blocked: bool) {
        let unit = &mut self.units[unit_id as usize];
        unit.blocked = if blocked { unit.blocked + 1 } else { unit.blocked - 1 };
        let is_blocked = unit.blocked > 0;
        let channel_id = self.units[unit_id as usize].channel;
        let bit = self.units[unit_id as usize].bit;
        let channel = &mut self.channels[channel_id as usize];
        channel.blocked = if is_blocked { channel.blocked | bit } else { channel.blocked & !bit };
        self.refresh_want(unit_id);
    }

    /// Serves the channel if its bus is free, else makes sure that the end of its transfer is noticed. While other units have
    /// events at this very time the bus waits for them, so that it chooses among all that are ready now.
    #[inline]
    pub(crate) fn kick(&mut self, channel_id: u32) {
        let channel = &self.channels[channel_id as usize];
        let is_free = channel.free_ns <= self.now_ns;
        if is_free && self.events.first().0 != self.now_ns {
            self.serve(channel_id);
        } else if !channel.has_event {
            self.wait_for_bus(channel_id);
        }
    }

    fn wait_for_bus(&mut self, channel_id: u32) {
        let channel = &mut self.channels[channel_id as usize];
        channel.has_event = true;
        let time_ns = channel.free_ns.max(self.now_ns);
        self.events.set(self.units.len() + channel_id as usize, time_ns);
    }

    pub(crate) fn bus_event(&mut self, channel_id: u32) {
        self.channels[channel_id as usize].has_event = false;
        self.events.set(self.units.len() + channel_id as usize, NEVER);
        self.serve(channel_id);
    }

    /// Gives the free bus to who comes next, until it is busy or nobody wants it.
    fn serve(&mut self, channel_id: u32) {
        loop {
            let channel = &self.channels[channel_id as usize];
            if channel.free_ns > self.now_ns {
                if !channel.has_event && (channel.wanted != 0 || self.waiting_program(channel).1 != NIL) {
                    self.wait_for_bus(channel_id);
                }
                return;
            }
            let (unit_id, domain) = self.next_served(channel);
            if unit_id == NIL {
                return;
            }
            if domain != NIL {
                self.start_from_pool(unit_id, domain);
            } else if self.units[unit_id as usize].state == State::DataReady {
                self.start_data_out(unit_id);
            } else {
                self.start_bound(unit_id);
            }
        }
    }

    /// Who gets the bus next: a unit for its own work (and `NIL`), or a unit and the domain whose waiting program it takes; `NIL` for
    /// nobody.
    #[inline]
    fn next_served(&self, channel: &Channel) -> (u32, u32) {
        let bound = channel.wanted.trailing_zeros(); // 64 if nobody wants
        let (class, domain) = self.waiting_program(channel);
        if domain != NIL {
            let bound_first = bound < (class + 1) * u32::from(PHASES);
            if !bound_first || (self.settings.fifo && self.pool_is_older(channel, bound, class, domain)) {
                let unit = after(channel.takers() & self.domains[domain as usize].units, channel.turn_of_pool);
                return (channel.first_unit + unit, domain);
            }
        }
        if bound == u64::BITS {
            return (NIL, NIL);
        }
        (channel.first_unit + after(channel.wants[bound as usize], channel.turn), NIL)
    }

    /// The most urgent program that waits for any unit that could take it: its class and domain, `NIL` for none. A channel mostly
    /// belongs to one domain; with chips as members, to one for each chip.
    #[inline]
    fn waiting_program(&self, channel: &Channel) -> (u32, u32) {
        let mut best = (u32::MAX, NIL);
        for &id in &channel.domains {
            let domain = &self.domains[id as usize];
            if domain.waiting_mask != 0 && channel.takers() & domain.units != 0 {
                let class = domain.waiting_mask.trailing_zeros();
                if class < best.0 {
                    best = (class, id);
                }
            }
        }
        best
    }

    /// Under FIFO, a waiting program of the same class goes before a command that was submitted later. Data out always goes first:
    /// the register is needed.
    fn pool_is_older(&self, channel: &Channel, bound: u32, class: u32, domain: u32) -> bool {
        if bound / u32::from(PHASES) != class || bound % u32::from(PHASES) == u32::from(DATA_OUT) {
            return false;
        }
        let unit = &self.units[(channel.first_unit + after(channel.wants[bound as usize], channel.turn)) as usize];
        let head = unit.queues[(class * 2) as usize].head;
        let waiting = self.domains[domain as usize].waiting[class as usize].head;
        self.records[waiting as usize].submitted_ns < self.records[head as usize].submitted_ns
    }

    // ---- starting work ----

    fn set_state(&mut self, unit_id: u32, state: State) {
        let channel_id = self.units[unit_id as usize].channel;
        let bit = self.units[unit_id as usize].bit;
        let idle = &mut self.channels[channel_id as usize].idle;
        *idle = if state == State::Idle { *idle | bit } else { *idle & !bit };
        self.units[unit_id as usize].state = state;
        self.refresh_want(unit_id);
    }

    fn occupy_bus(&mut self, unit_id: u32, duration_ns: u64, cause: Cause) -> u64 {
        let Unit { channel, number: turn, .. } = self.units[unit_id as usize];
        let channel = &mut self.channels[channel as usize];
        channel.free_ns = self.now_ns + duration_ns;
        channel.busy_ns[cause as usize] += duration_ns;
        channel.turn = turn;
        channel.free_ns
    }

    fn unit_at(&mut self, unit_id: u32, time_ns: u64) {
        self.events.set(unit_id as usize, time_ns);
    }

    fn pop_bound(&mut self, unit_id: u32, index: usize) -> u32 {
        let unit = &mut self.units[unit_id as usize];
        let head = unit.queues[index].head;
        let next = self.records[head as usize].next;
        unit.queues[index].head = next;
        if next == NIL {
            unit.filled &= !(1 << index);
        }
        unit.queued -= 1;
        self.records[head as usize].next = NIL;
        head
    }

    fn pop_pool(&mut self, domain: u32, class: usize) -> u32 {
        let domain = &mut self.domains[domain as usize];
        let head = domain.waiting[class].head;
        let next = self.records[head as usize].next;
        domain.waiting[class].head = next;
        if next == NIL {
            domain.waiting_mask &= !(1 << class);
        }
        self.records[head as usize].next = NIL;
        head
    }

    /// Starts the first of a unit's bound work.
    fn start_bound(&mut self, unit_id: u32) {
        let unit = &self.units[unit_id as usize];
        let filled = if unit.blocked > 0 { unit.filled & URGENT_QUEUES } else { unit.filled };
        let index = filled.trailing_zeros() as usize;
        let id = self.pop_bound(unit_id, index);
        self.units[unit_id as usize].since_ns = self.now_ns;
        self.fetch_next(self.units[unit_id as usize].queues[index].head);
        match self.records[id as usize].work {
            Work::Read | Work::MoveRead => self.start_reads(unit_id, id, index),
            Work::Program => self.start_programs(unit_id, id, |flash| {
                let next = flash.units[unit_id as usize].queues[index].head;
                (flash.units[unit_id as usize].filled >> index & 1 == 1 && flash.records[next as usize].work == Work::Program)
                    .then_some((next, index))
            }),
            Work::MoveProgram => {
                let plane = self.records[id as usize].plane;
                let ppn = self.take_move_page(plane);
                self.records[id as usize].ppn = ppn.0;
                self.start_working(unit_id, id, self.settings.program_command_ns + self.page_transfer_ns(), CellOperation::Program);
            }
            Work::CopyBack => {
                let plane = self.records[id as usize].plane;
                let ppn = self.take_move_page(plane);
                self.records[id as usize].ppn = ppn.0;
                self.count(action_index(Action::Read), self.records[id as usize].cause);
                self.units[unit_id as usize].operations[0] += 1;
                self.start_working(unit_id, id, self.settings.read_command_ns + self.settings.program_command_ns, CellOperation::Program);
                let extra = self.settings.cell.cell_ns(CellOperation::Read, 0, 0);
                let end = self.events_of(unit_id) + extra;
                self.unit_at(unit_id, end);
            }
            Work::Erase => self.start_working(unit_id, id, self.settings.erase_command_ns, CellOperation::Erase),
        }
    }

    /// Asks the processor for the record that will be started next; it may have waited for long.
    #[inline]
    fn fetch_next(&self, record: u32) {
        memory::prefetch(&self.records, record as usize);
    }

    /// Takes owner and physical page of a page operation of a plan that was started since the last call.
    #[inline]
    pub fn take_started(&mut self) -> Option<(u32, Ppn)> {
        self.started.pop()
    }

    fn events_of(&self, unit_id: u32) -> u64 {
        self.events.of(unit_id as usize)
    }

    fn page_transfer_ns(&self) -> u64 {
        self.settings.transfer_ns(self.settings.geometry.page_bytes)
    }

    fn cell_ns(&self, operation: CellOperation, ppn: u32) -> u64 {
        let block = self.block_of(Ppn(ppn));
        self.settings.cell.cell_ns(operation, ppn % self.pages_per_block, self.blocks.erases[block])
    }

    /// Occupies bus and array for one record of the collector.
    fn start_working(&mut self, unit_id: u32, id: u32, bus_ns: u64, operation: CellOperation) {
        let Record { cause, ppn, .. } = self.records[id as usize];
        let action = if operation == CellOperation::Erase { 2 } else { action_index(Action::Program) };
        self.count(action, cause);
        self.units[unit_id as usize].operations[action] += 1;
        let bus_end = self.occupy_bus(unit_id, bus_ns, cause);
        self.units[unit_id as usize].current = id;
        let end = bus_end + self.cell_ns(operation, ppn);
        self.unit_at(unit_id, end);
        self.set_state(unit_id, State::Working);
    }

    /// Starts a read, and with multi-plane those behind it that fit.
    fn start_reads(&mut self, unit_id: u32, first: u32, index: usize) {
        let mut last = first;
        let mut planes = 0u64;
        let mut bus_ns = 0;
        let mut cell_ns = 0;
        loop {
            let Record { ppn, plane, cause, member, work, owner, .. } = self.records[last as usize];
            if work == Work::Read {
                self.started.push((owner, Ppn(ppn)));
                self.queue_changes(member, -1, 0);
                self.loads[usize::from(member)].in_service += 1;
            }
            self.count(action_index(Action::Read), cause);
            self.units[unit_id as usize].operations[0] += 1;
            bus_ns += self.settings.read_command_ns;
            cell_ns = cell_ns.max(self.cell_ns(CellOperation::Read, ppn));
            planes |= 1 << (plane - unit_id * self.planes_per_unit);
            if !self.settings.multi_plane || self.units[unit_id as usize].filled >> index & 1 == 0 {
                break;
            }
            let next = self.units[unit_id as usize].queues[index].head;
            let candidate = self.records[next as usize];
            let fits = candidate.work == work
                && planes >> (candidate.plane - unit_id * self.planes_per_unit) & 1 == 0
                && candidate.ppn % self.pages_per_block == ppn % self.pages_per_block;
            if !fits {
                break;
            }
            self.pop_bound(unit_id, index);
            self.records[last as usize].next = next;
            last = next;
        }
        let bus_end = self.occupy_bus(unit_id, bus_ns, self.records[first as usize].cause);
        self.units[unit_id as usize].current = first;
        self.unit_at(unit_id, bus_end + cell_ns);
        self.set_state(unit_id, State::Reading);
    }

    /// Starts the program that waits longest in the domain.
    fn start_from_pool(&mut self, unit_id: u32, domain: u32) {
        let Unit { channel, number, .. } = self.units[unit_id as usize];
        self.channels[channel as usize].turn_of_pool = number;
        let class = self.domains[domain as usize].waiting_mask.trailing_zeros() as usize;
        let id = self.pop_pool(domain, class);
        self.units[unit_id as usize].since_ns = self.now_ns;
        self.fetch_next(self.domains[domain as usize].waiting[class].head);
        self.start_programs(unit_id, id, |flash| {
            let state = &flash.domains[domain as usize];
            (state.waiting_mask >> class & 1 == 1).then_some((state.waiting[class].head, usize::MAX))
        });
    }

    /// Starts a program, and with multi-plane those behind it (from `next`: record and queue) that find a page at the same offset.
    fn start_programs(&mut self, unit_id: u32, first: u32, next: impl Fn(&Self) -> Option<(u32, usize)>) {
        let mut last = first;
        let mut used = 0u64;
        let mut bus_ns = 0;
        let mut cell_ns = 0;
        loop {
            let bound_plane = self.records[last as usize].plane;
            let plane = if bound_plane != NIL { bound_plane } else { self.turn_plane(unit_id) };
            let ppn = self.give_page(last, plane);
            bus_ns += self.settings.program_command_ns + self.settings.transfer_ns(self.records[last as usize].bytes);
            cell_ns = cell_ns.max(self.cell_ns(CellOperation::Program, ppn.0));
            used |= 1 << (plane - unit_id * self.planes_per_unit);
            if !self.settings.multi_plane {
                break;
            }
            let Some((candidate, index)) = next(self) else { break };
            let Some(plane) = self.plane_at_offset(unit_id, candidate, used, ppn.0 % self.pages_per_block) else { break };
            match index {
                usize::MAX => {
                    let Record { domain, priority, .. } = self.records[candidate as usize];
                    self.pop_pool(domain, priority as usize);
                }
                index => {
                    self.pop_bound(unit_id, index);
                }
            }
            self.records[candidate as usize].plane = plane;
            self.records[last as usize].next = candidate;
            last = candidate;
        }
        let bus_end = self.occupy_bus(unit_id, bus_ns, self.records[first as usize].cause);
        self.units[unit_id as usize].current = first;
        if self.settings.report_data_in {
            self.units[unit_id as usize].cell_after_ns = cell_ns;
            self.unit_at(unit_id, bus_end);
            self.set_state(unit_id, State::DataIn);
        } else {
            self.unit_at(unit_id, bus_end + cell_ns);
            self.set_state(unit_id, State::Working);
        }
        self.collect_after_programs(first);
    }

    /// A plane of the unit, not in `used`, whose next host page has the wanted offset; the candidate's own plane if it is bound.
    fn plane_at_offset(&self, unit_id: u32, candidate: u32, used: u64, offset: u32) -> Option<u32> {
        let first = unit_id * self.planes_per_unit;
        let fits = |plane: u32| {
            used >> (plane - first) & 1 == 0
                && self.units[unit_id as usize].writable >> (plane - first) & 1 == 1
                && self.blocks.next_offset(plane, Stream::Host) == offset
        };
        match self.records[candidate as usize].plane {
            NIL => (first..first + self.planes_per_unit).find(|plane| fits(*plane)),
            plane => fits(plane).then_some(plane),
        }
    }

    /// The unit's writable plane whose turn it is.
    pub(crate) fn turn_plane(&mut self, unit_id: u32) -> u32 {
        let unit = &mut self.units[unit_id as usize];
        let number = after(unit.writable, unit.turn_of_plane);
        unit.turn_of_plane = u64::from(number);
        unit_id * self.planes_per_unit + number
    }

    /// Takes the promised page for a program that starts now.
    fn give_page(&mut self, id: u32, plane: u32) -> Ppn {
        let Record { domain, slot, version, member, cause, owner, .. } = self.records[id as usize];
        self.maps.prefetch(slot); // for the end of the program
        let ppn = self.take_host_page(plane);
        self.started.push((owner, ppn));
        self.domains[domain as usize].reserved -= 1;
        self.maps.label(ppn, version, slot);
        let record = &mut self.records[id as usize];
        (record.ppn, record.plane) = (ppn.0, plane);
        self.queue_changes(member, 0, -1);
        self.loads[usize::from(member)].in_service += 1;
        self.count(action_index(Action::Program), cause);
        let unit = self.unit_of_plane(plane);
        self.units[unit as usize].operations[1] += 1;
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

    fn start_data_out(&mut self, unit_id: u32) {
        let id = self.units[unit_id as usize].current;
        let Record { bytes, cause, .. } = self.records[id as usize];
        let end = self.occupy_bus(unit_id, self.settings.transfer_ns(bytes), cause);
        self.unit_at(unit_id, end);
        self.set_state(unit_id, State::DataOut);
    }

    // ---- events ----

    pub(crate) fn unit_event<O: Observer>(&mut self, unit_id: u32, observer: &mut O) {
        self.unit_at(unit_id, NEVER);
        match self.units[unit_id as usize].state {
            State::Reading => {
                self.set_state(unit_id, State::DataReady);
                self.kick(self.units[unit_id as usize].channel);
            }
            State::DataOut => {
                let id = self.units[unit_id as usize].current;
                let next = self.records[id as usize].next;
                self.units[unit_id as usize].current = next;
                if next == NIL {
                    self.end_of_work(unit_id, self.records[id as usize].cause);
                } else {
                    self.set_state(unit_id, State::DataReady);
                }
                self.finish(id, observer);
                self.kick(self.units[unit_id as usize].channel);
            }
            State::DataIn => {
                let mut id = self.units[unit_id as usize].current;
                while id != NIL {
                    self.completions.push(Completion { record: id, progress: Progress::DataIn });
                    id = self.records[id as usize].next;
                }
                let end = self.now_ns + self.units[unit_id as usize].cell_after_ns;
                self.unit_at(unit_id, end);
                self.set_state(unit_id, State::Working);
            }
            State::Working => {
                let mut id = self.units[unit_id as usize].current;
                self.end_of_work(unit_id, self.records[id as usize].cause);
                while id != NIL {
                    let next = self.records[id as usize].next;
                    self.finish(id, observer);
                    id = next;
                }
                self.kick(self.units[unit_id as usize].channel);
            }
            State::Idle | State::DataReady => unreachable!("a unit that waits has no event"),
        }
    }

    fn end_of_work(&mut self, unit_id: u32, cause: Cause) {
        let now_ns = self.now_ns;
        let unit = &mut self.units[unit_id as usize];
        unit.busy_ns[cause as usize] += now_ns - unit.since_ns;
        unit.current = NIL;
        self.set_state(unit_id, State::Idle);
    }

    /// One record has ended.
    fn finish<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let Record { work, member, ppn, .. } = self.records[id as usize];
        match work {
            Work::Read | Work::Program => {
                self.loads[usize::from(member)].in_service -= 1;
                if work == Work::Read {
                    self.read_ended(Ppn(ppn));
                }
                self.completions.push(Completion { record: id, progress: Progress::Ended });
            }
            _ => self.collection_work_ended(id, observer),
        }
    }
}
