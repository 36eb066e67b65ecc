//! How page operations come in: records, and the queues of units and domains that they wait in.

use super::records::{Record, WorkKind};
use super::units::UnitState;
#[cfg(feature = "mutants")]
use crate::accounting::{self, Slip};
use crate::mapping::space::{NIL, Queue, pool_of};
use crate::{About, Flash};
use flashraid_vocabulary::{Action, Cause, Health, MemberId, PageOperation, Ppn, Priority, Transfer, Version, memory};

impl Flash {
    // ---- records ----

    pub(crate) fn new_record(&mut self, record: Record) -> u32 {
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
        let Record { owner, work, cause, host_waits, member, submitted_ns, ppn, .. } = self.records[record as usize];
        #[cfg(feature = "mutants")]
        let submitted_ns = if accounting::makes(Slip::MemberLatencyFromStart) { self.began_ns(record) } else { submitted_ns };
        let action = if work == WorkKind::Read { Action::Read } else { Action::Program };
        About { owner, action, cause, host_waits, member: MemberId(member), submitted_ns, ppn: Ppn(ppn) }
    }

    /// The record after this one in a list kept by the caller (programs of an operation that have ended), until `commit`.
    #[inline]
    pub fn next_in_list(&mut self, record: u32) -> &mut u32 {
        &mut self.records[record as usize].next
    }

    /// Frees a read that has ended.
    #[inline]
    pub fn forget(&mut self, record: u32) {
        self.free_record(record);
    }

    /// The record of a program that is not submitted yet.
    #[inline]
    pub(crate) fn program_record(&self, operation: &PageOperation, owner: u32) -> Record {
        Record {
            next: NIL,
            slot: self.slot(operation.address),
            ppn: NIL,
            owner,
            unit: NIL,
            plane: NIL,
            domain: NIL,
            bytes: if self.settings.given.transfer == Transfer::Page { self.settings.geometry.page_bytes } else { operation.bytes },
            submitted_ns: self.now_ns,
            member: operation.address.member.0,
            work: WorkKind::Program,
            cause: operation.cause,
            priority: operation.priority,
            version: operation.version,
            keep_base: operation.keep_base,
            host_waits: operation.host_waits,
        }
    }

    /// Asks the processor for a program that has ended.
    #[inline]
    pub fn prefetch_record(&self, record: u32) {
        memory::prefetch(&self.records, record as usize);
    }

    // ---- submission ----

    /// Queues a page operation of the plan of `owner`, which completions name again. A read must be of a written version: it is bound to the page that holds it now, which is
    /// not erased before the read ends. A program's page is chosen when it starts; it uses a page reserved by `reserve_page`.
    /// Returns the record, or `None` for a read of a version that is not written.
    #[inline]
    pub fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        self.take_in::<false>(operation, owner)
    }

    /// As `submit`, of a page operation that is still on its way to the SSD: `arrive` queues it. A read keeps its page from being erased until
    /// `deliver`.
    pub fn announce(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        self.take_in::<true>(operation, owner)
    }

    #[inline(always)]
    fn take_in<const ON_ITS_WAY: bool>(&mut self, operation: &PageOperation, owner: u32) -> Option<u32> {
        debug_assert!(self.health == Health::ReadWrite || (self.health == Health::ReadOnly && operation.action == Action::Read));
        let is_of_host = operation.host_waits && operation.priority == Priority::Host;
        let (member, version) = (operation.address.member.0, operation.version);
        let admitted = |flash: &mut Self| if ON_ITS_WAY { operation.priority } else { flash.admit(operation.cause, operation.priority) };
        if operation.action == Action::Read {
            let ppn = self.maps.get(version, self.slot(operation.address))?;
            let block = self.block_of(ppn);
            self.blocks.blocks[block].reads += if ON_ITS_WAY { 2 } else { 1 };
            self.note_submitted(member, is_of_host, 1, 0);
            let (priority, plane) = (admitted(self), self.plane_of(ppn));
            let unit = self.unit_of_plane(plane);
            let read = Record { work: WorkKind::Read, ppn: ppn.0, plane, unit, priority, ..self.program_record(operation, owner) };
            let id = self.new_record(read);
            if !ON_ITS_WAY {
                self.bind(id);
            }
            return Some(id);
        }
        self.note_submitted(member, is_of_host, 0, 1);
        let (priority, domain) = (admitted(self), self.domain_of(operation.address, version));
        let id = self.new_record(Record { domain, priority, ..self.program_record(operation, owner) });
        if !ON_ITS_WAY {
            self.queue_program(id);
        }
        Some(id)
    }

    // ---- between announcement and delivery ----

    /// What was announced has come.
    pub fn arrive(&mut self, id: u32) {
        let Record { cause, priority, work, .. } = self.records[id as usize];
        self.records[id as usize].priority = self.admit(cause, priority);
        if work == WorkKind::Read { self.bind(id) } else { self.queue_program(id) }
    }

    /// Fails a program that was announced and has not arrived, if nothing is left that could take it. Returns whether it has failed.
    pub fn fail_announced(&mut self, id: u32) -> bool {
        let Record { domain, work, cause, priority, .. } = self.records[id as usize];
        let fails = work == WorkKind::Program && !self.domain_is_alive(domain);
        if fails {
            self.admit(cause, priority);
            self.fail_unstarted(id);
        }
        fails
    }

    /// The data of a read that was announced have left the SSD.
    pub fn deliver(&mut self, id: u32) {
        self.read_ended(Ppn(self.records[id as usize].ppn));
    }

    /// Bytes of data of a page operation that are transferred.
    pub fn transferred_bytes(&self, id: u32) -> u32 {
        self.records[id as usize].bytes
    }

    // ---- queues ----

    /// Queues GC's work on a plane.
    pub(crate) fn submit_gc(&mut self, plane: u32, work: WorkKind, ppn: u32, cause: Cause, priority: Priority) {
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

    /// Queues a program, counted as queued, for which a page of its domain is reserved: at its unit, if the domain has no other and a page for each reservation, else
    /// in the domain. If nothing of the domain lives, it fails.
    #[inline(always)]
    pub(crate) fn queue_program(&mut self, id: u32) {
        let record = &mut self.records[id as usize];
        let domain_id = record.domain;
        let domain = &self.domains[domain_id as usize];
        record.plane = domain.plane;
        if domain.single_unit() && domain.free_pages >= domain.reserved {
            if self.hybrid.is_none() || !self.has_failures() || self.keeps_reservation(id) {
                self.bind_program(id);
            }
        } else if domain.living_planes == 0 {
            self.fail_unstarted(id);
        } else {
            self.join_pool(id);
            self.offer(domain_id);
        }
    }

    /// Queues a program at the only unit of its domain.
    #[inline]
    pub(crate) fn bind_program(&mut self, id: u32) {
        let domain = &self.domains[self.records[id as usize].domain as usize];
        self.records[id as usize].unit = self.channels[domain.channels.0 as usize].first_unit + domain.units.trailing_zeros();
        self.bind(id);
    }

    /// Appends a program to those that wait in its domain.
    #[inline]
    pub(crate) fn join_pool(&mut self, id: u32) {
        let Record { domain, priority, cause, .. } = self.records[id as usize];
        let class = priority as usize;
        let for_replacement = cause == Cause::Rebuild && self.domains[domain as usize].replacement_planes > 0;
        let pool = pool_of(domain, for_replacement);
        let pool = &mut self.pools[pool as usize];
        pool.queues[class].append(id, &mut self.records);
        pool.mask |= 1 << class;
        self.pooled += 1;
        let (first, end) = self.domains[domain as usize].channels;
        self.pooled_channels |= u64::MAX >> (64 - (end - first)) << first;
        self.pooled_for_replacements += u32::from(for_replacement);
    }

    /// Lets the domain's channels, in turn, serve what waits in it.
    #[inline(always)]
    fn offer(&mut self, domain_id: u32) {
        let (first, end) = self.domains[domain_id as usize].channels;
        let mut channel = self.domains[domain_id as usize].next_channel;
        for _ in first..end {
            let next = if channel + 1 == end { first } else { channel + 1 };
            self.domains[domain_id as usize].next_channel = next;
            self.kick(channel);
            if !self.has_waiting(domain_id) {
                return;
            }
            channel = next;
        }
    }

    /// Queues a record at its unit.
    #[inline(always)]
    fn bind(&mut self, id: u32) {
        let record = &self.records[id as usize];
        let reads_first = !self.settings.fifo() && !matches!(record.work, WorkKind::Read | WorkKind::MoveRead);
        let index = record.priority as usize * 2 + usize::from(reads_first);
        let unit_id = record.unit;
        let unit = &mut self.units[unit_id as usize];
        unit.queues[index].append(id, &mut self.records);
        unit.filled |= 1 << index;
        unit.queued += 1;
        let (channel, is_idle) = (unit.channel, unit.state == UnitState::Idle);
        self.channels[channel as usize].queued += 1;
        if is_idle {
            self.refresh_want(unit_id);
            self.kick(channel);
        }
    }

    /// Takes the programs of a domain out of the unit's queues, and returns them, the most urgent first.
    pub(crate) fn unbind_programs(&mut self, unit_id: u32, domain: u32) -> Vec<u32> {
        let mut programs = Vec::new();
        for index in 0..2 * Priority::COUNT {
            let unit = &mut self.units[unit_id as usize];
            if unit.filled >> index & 1 == 0 {
                continue;
            }
            let mut id = unit.queues[index].head;
            let mut others = Queue::EMPTY;
            while id != NIL {
                let Record { next, work, domain: of, .. } = self.records[id as usize];
                self.records[id as usize].next = NIL;
                if work == WorkKind::Program && of == domain {
                    programs.push(id)
                } else {
                    others.append(id, &mut self.records)
                }
                id = next;
            }
            let unit = &mut self.units[unit_id as usize];
            unit.queues[index] = others;
            unit.filled = if others.head == NIL { unit.filled & !(1 << index) } else { unit.filled };
        }
        self.units[unit_id as usize].queued -= programs.len() as u32;
        let channel = self.units[unit_id as usize].channel;
        self.channels[channel as usize].queued -= programs.len() as u32;
        self.refresh_want(unit_id);
        programs
    }
}
