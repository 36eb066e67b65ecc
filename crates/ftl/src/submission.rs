//! How page operations of plans come in: the page that a read is of, the domain in which a program takes one, and the service class of both.

use crate::Flash;
use crate::memory;
use flashraid_nand::{NIL, Record, WorkKind, bind, offer};
use flashraid_vocabulary::{Action, Health, MemberId, MemberPage, PageOperation, Ppn, Priority, Transfer, Version};

impl Flash {
    // ---- reservations ----

    /// Reserves a page for a program of this version, if there is one; else starts what frees space.
    // Always inlined, as callers know the version.
    #[inline(always)]
    pub fn reserve(&mut self, address: MemberPage, version: Version) -> bool {
        let domain = self.space.domain_of(address, version);
        if self.hybrid.is_some() && !self.reserve_page(self.slot(address)) {
            return false;
        }
        self.space.domains[domain as usize].reserve()
    }

    /// Releases what `reserve` has reserved.
    pub fn release(&mut self, address: MemberPage, version: Version) {
        if self.hybrid.is_some() {
            self.cancel_reservation(self.slot(address));
        }
        let domain = self.space.domain_of(address, version);
        self.space.domains[domain as usize].reserved -= 1;
        self.space.freed.push(domain);
        let entry = &self.space.domains[domain as usize];
        if entry.owed > 0 || entry.to_rescue > 0 {
            memory::space_gained(self);
        }
    }

    // ---- records ----

    /// The record of a program that is not submitted yet.
    #[inline]
    pub(crate) fn program_record(&self, operation: &PageOperation, owner: u32) -> Record {
        Record {
            next: NIL,
            slot: self.slot(operation.address),
            ppn: NIL,
            owner,
            lun: NIL,
            plane: NIL,
            domain: NIL,
            bytes: if self.settings.given.transfer == Transfer::Page { self.settings.geometry.page_bytes } else { operation.bytes },
            submitted_ns: self.nand.now_ns(),
            member: operation.address.member.0,
            work: WorkKind::Program,
            cause: operation.cause,
            priority: operation.priority,
            version: operation.version,
            keep_base: operation.keep_base,
            host_waits: operation.host_waits,
        }
    }

    // ---- submission ----

    /// Queues a page operation of the plan of `owner`, which completions name again. A read must be of a written version: it is bound to the page that holds it now, which is
    /// not erased before the read ends. A program's page is chosen when it starts; it uses a page that `reserve` has reserved.
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
        let (member, version) = (operation.address.member, operation.version);
        let admitted = |flash: &mut Self| if ON_ITS_WAY { operation.priority } else { flash.admit(operation.cause, operation.priority) };
        if operation.action == Action::Read {
            let ppn = self.maps.get(version, self.slot(operation.address))?;
            let block = self.shape.block_of(ppn);
            self.space.blocks.blocks[block].reads += if ON_ITS_WAY { 2 } else { 1 };
            self.note_submitted(member, is_of_host, 1, 0);
            let (priority, plane) = (admitted(self), self.shape.plane_of(ppn));
            let lun = self.nand.lun_of_plane(plane);
            let read = Record { work: WorkKind::Read, ppn: ppn.0, plane, lun, priority, ..self.program_record(operation, owner) };
            let id = self.nand.add_record(read);
            if !ON_ITS_WAY {
                queue_read(self, id);
            }
            return Some(id);
        }
        self.note_submitted(member, is_of_host, 0, 1);
        let (priority, domain) = (admitted(self), self.space.domain_of(operation.address, version));
        let program = Record { domain, priority, ..self.program_record(operation, owner) };
        let id = self.nand.add_record(program);
        if !ON_ITS_WAY {
            self.queue_program(id);
        }
        Some(id)
    }

    /// A page operation was submitted: of the host, which waits for it, or not.
    #[inline]
    fn note_submitted(&mut self, member: MemberId, is_of_host: bool, reads: i32, programs: i32) {
        let now_ns = self.nand.now_ns();
        let loads = self.nand.loads_mut();
        loads.queue_changes(member, reads, programs);
        if is_of_host {
            loads[member].last_host_ns = now_ns;
        }
    }

    /// Queues a program, counted as queued, for which a page of its domain is reserved: at its LUN, if the domain has no other and a page for each reservation, else
    /// in the domain. If nothing of the domain lives, it fails.
    #[inline(always)]
    pub(crate) fn queue_program(&mut self, id: u32) {
        let domain_id = self.nand.record(id).domain;
        if self.memory.is_some() {
            return memory::take_in(self, id);
        }
        let domain = &self.space.domains[domain_id as usize];
        self.nand.record_mut(id).plane = domain.plane;
        if self.nand.takers(domain_id).is_single() && domain.free_pages >= domain.reserved {
            if self.hybrid.is_none() || !self.has_failures() || self.keeps_reservation(id) {
                self.bind_program(id);
            }
        } else if domain.living_planes == 0 {
            self.fail_unstarted(id);
        } else {
            self.nand.join_pool(id);
            let turn = self.space.domains[domain_id as usize].next_channel;
            // What the offer sets in motion submits no other program of a plan.
            self.space.domains[domain_id as usize].next_channel = offer(self, domain_id, turn);
        }
    }

    /// Queues a program at the only LUN of its domain.
    #[inline]
    pub(crate) fn bind_program(&mut self, id: u32) {
        let lun = self.nand.only_taker(self.nand.record(id).domain);
        self.nand.record_mut(id).lun = lun;
        bind(self, id);
    }

    // ---- between announcement and delivery ----

    /// What was announced has come.
    pub fn arrive(&mut self, id: u32) {
        let Record { cause, priority, work, .. } = *self.nand.record(id);
        self.nand.record_mut(id).priority = self.admit(cause, priority);
        if work == WorkKind::Read { queue_read(self, id) } else { self.queue_program(id) }
    }

    /// Fails a program that was announced and has not arrived, if nothing is left that could take it. Returns whether it has failed.
    pub fn fail_announced(&mut self, id: u32) -> bool {
        let Record { domain, work, cause, priority, .. } = *self.nand.record(id);
        let fails = work == WorkKind::Program && !self.space.domain_is_alive(domain);
        if fails {
            self.admit(cause, priority);
            self.fail_unstarted(id);
        }
        fails
    }

    /// The data of a read that was announced have left the SSD.
    pub fn deliver(&mut self, id: u32) {
        self.read_ended(Ppn(self.nand.record(id).ppn));
    }
}

/// Queues a read, counted as queued, at its LUN, or has it served from the memory.
#[inline(always)]
fn queue_read(ssd: &mut Flash, id: u32) {
    match &ssd.memory {
        Some(memory) if memory.holds(Ppn(ssd.nand.record(id).ppn)) => memory::read(ssd, id),
        _ => bind(ssd, id),
    }
}
