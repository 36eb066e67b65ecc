//! How page operations of plans come in: the page that is reserved for a program, the page that a read is of, and the service class of both.

use crate::Flash;
use crate::gc::pace::find_short;
use crate::gc::state::Next;
use crate::mapping::hybrid::Reserved;
use crate::space::blocks::BlockState;
use flashraid_nand::{Nand, Record, WorkKind, bind, bind_in_domain, offer};
use flashraid_vocabulary::{Action, Health, MemberId, MemberPage, PageOperation, Ppn, Priority, Version};

impl Flash {
    // ---- reservations ----

    /// Reserves a page for a program of this version, if there is one; else starts what frees space.
    // Always inlined, as callers know the version.
    #[inline(always)]
    pub fn reserve(&mut self, address: MemberPage, version: Version) -> bool {
        let domain = self.store.space.domain_of(address, version);
        if self.hybrid.is_some() && !self.reserve_page(self.store.maps.slot(address)) {
            return false;
        }
        let granted = self.store.space.domains[domain as usize].reserve();
        if !granted {
            find_short(self, domain);
        }
        granted
    }

    /// Releases what `reserve` has reserved.
    pub fn release(&mut self, address: MemberPage, version: Version) {
        if let Some(hybrid) = &mut self.hybrid {
            let waits = hybrid.cancel(self.store.maps.slot(address), &self.store.space);
            self.wake(waits);
        }
        let domain = self.store.space.domain_of(address, version);
        give_back(self, domain);
    }

    /// Reserves a page for this slot under hybrid mapping, or starts a merge.
    pub(crate) fn reserve_page(&mut self, slot: u32) -> bool {
        let Self { hybrid, store, gc, .. } = self;
        let hybrid = hybrid.as_mut().expect("a device with log blocks");
        let spot = match hybrid.reserve(slot, |plane| gc.is_collecting(plane), &mut store.space) {
            Reserved::Granted => return true,
            Reserved::Dead => return false,
            Reserved::Full(spot) => spot,
        };
        let plane = store.space.domains[spot.domain as usize].plane;
        let next = self.merging().start_for(plane, spot);
        self.carry_out(plane, next);
        false
    }

    /// Under hybrid mapping, whoever waits for a page of this domain, if there is one, may try again.
    pub(crate) fn wake(&mut self, domain: Option<u32>) {
        let (Some(domain), Some(hybrid)) = (domain, &mut self.hybrid) else { return };
        if !hybrid.wake(domain, &mut self.store.space) {
            return;
        }
        for id in hybrid.take_all_waiting() {
            let Record { slot, domain: of, .. } = *self.nand.record(id);
            if of == domain && self.reserve_page(slot) {
                bind_in_domain(self, id);
            } else {
                self.merging().hybrid.wait_for_page(id);
            }
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
        debug_assert!(self.gc.health == Health::ReadWrite || (self.gc.health == Health::ReadOnly && operation.action == Action::Read));
        let is_of_host = operation.host_waits && operation.priority == Priority::Host;
        let (member, version) = (operation.address.member, operation.version);
        let PageOperation { cause, priority: asked, .. } = *operation;
        // One that is on its way is admitted when it arrives.
        let admitted = |ssd: &mut Self| if ON_ITS_WAY { asked } else { ssd.gc.admit(cause, asked, &ssd.store.space, &ssd.nand) };
        if operation.action == Action::Read {
            let ppn = self.store.lookup(operation.address, version)?;
            let space = &mut self.store.space;
            let block = space.shape.block_of(ppn);
            space.blocks.blocks[block].reads += if ON_ITS_WAY { 2 } else { 1 };
            note_submitted(&mut self.nand, member, is_of_host, 1, 0);
            let (priority, plane) = (admitted(self), self.store.space.shape.plane_of(ppn));
            let lun = self.nand.places().lun_of_page(plane, ppn);
            let program = self.store.program_record(operation, owner, self.nand.now_ns());
            let id = self.nand.add_record(Record { work: WorkKind::Read, ppn: ppn.0, plane, lun, priority, ..program });
            if !ON_ITS_WAY {
                self.queue_read(id);
            }
            return Some(id);
        }
        note_submitted(&mut self.nand, member, is_of_host, 0, 1);
        let (priority, domain) = (admitted(self), self.store.space.domain_of(operation.address, version));
        let program = self.store.program_record(operation, owner, self.nand.now_ns());
        let id = self.nand.add_record(Record { domain, priority, ..program });
        if !ON_ITS_WAY {
            self.queue_program(id);
        }
        Some(id)
    }

    /// Queues a read, counted as queued, at its LUN, or has it served from the memory.
    #[inline(always)]
    fn queue_read(&mut self, id: u32) {
        match &mut self.store.memory {
            Some(memory) if memory.holds(Ppn(self.nand.record(id).ppn)) => memory.read(id, &mut self.nand),
            _ => bind(self, id),
        }
    }

    /// Queues a program, counted as queued, for which a page of its domain is reserved: at its LUN, if the domain has no other and a page for each reservation, else
    /// in the domain. If nothing of the domain lives, it fails.
    #[inline(always)]
    pub(crate) fn queue_program(&mut self, id: u32) {
        let domain_id = self.nand.record(id).domain;
        if self.store.memory.is_some() {
            return self.accept_or_wait(id);
        }
        let domain = &self.store.space.domains[domain_id as usize];
        self.nand.record_mut(id).plane = domain.plane;
        if self.nand.takers(domain_id).is_single() && domain.free_pages >= domain.reserved {
            if self.hybrid.is_none() || !self.store.has_failures() || self.keeps_reservation(id) {
                bind_in_domain(self, id);
            }
        } else if domain.living_planes == 0 {
            self.fail_unstarted(id);
        } else {
            self.nand.join_pool(id);
            let turn = self.store.space.domains[domain_id as usize].next_channel;
            // What the offer sets in motion submits no other program of a plan.
            self.store.space.domains[domain_id as usize].next_channel = offer(self, domain_id, turn);
        }
    }

    /// Whether a program under hybrid mapping that is about to be queued has its page. One whose reservation a failure broke gets another, or waits for it.
    fn keeps_reservation(&mut self, id: u32) -> bool {
        let (slot, space) = (self.nand.record(id).slot, &self.store.space);
        let is_broken = self.hybrid.as_mut().is_some_and(|hybrid| hybrid.takes_back_reservation(slot, space));
        let keeps = !is_broken || self.reserve_page(slot);
        if !keeps {
            self.merging().hybrid.wait_for_page(id);
        }
        keeps
    }

    // ---- between announcement and delivery ----

    /// What was announced has come.
    pub fn arrive(&mut self, id: u32) {
        let Record { cause, priority, work, .. } = *self.nand.record(id);
        self.nand.record_mut(id).priority = self.gc.admit(cause, priority, &self.store.space, &self.nand);
        if work == WorkKind::Read { self.queue_read(id) } else { self.queue_program(id) }
    }

    /// Fails a program that was announced and has not arrived, if nothing is left that could take it. Returns whether it has failed.
    pub fn fail_announced(&mut self, id: u32) -> bool {
        let Record { domain, work, cause, priority, .. } = *self.nand.record(id);
        let fails = work == WorkKind::Program && !self.store.space.domain_is_alive(domain);
        if fails {
            self.gc.admit(cause, priority, &self.store.space, &self.nand);
            self.fail_unstarted(id);
        }
        fails
    }

    /// A read has ended; of one that was announced, its data have left the SSD. Its page may be erased.
    #[inline]
    pub fn deliver(&mut self, id: u32) {
        let ppn = Ppn(self.nand.record(id).ppn);
        let space = &mut self.store.space;
        let entry = &mut space.blocks.blocks[space.shape.block_of(ppn)];
        entry.reads -= 1;
        if entry.reads == 0 && entry.state == BlockState::Victim {
            let plane = space.shape.plane_of(ppn);
            let mut next = self.gc.reads_ended(plane, space, &mut self.nand);
            if self.hybrid.is_some() && next != Next::Waits {
                next = self.merging().erase_next(plane);
            }
            self.carry_out(plane, next);
        }
    }
}

/// A page operation was submitted: of the host, which waits for it, or not.
#[inline]
fn note_submitted(nand: &mut Nand, member: MemberId, is_of_host: bool, reads: i32, programs: i32) {
    let now_ns = nand.now_ns();
    let loads = nand.loads_mut();
    loads.queue_changes(member, reads, programs);
    if is_of_host {
        loads[member].last_host_ns = now_ns;
    }
}

/// A page of the domain that was reserved is not taken.
pub(crate) fn give_back(flash: &mut Flash, domain: u32) {
    flash.store.space.news.free(domain);
    let entry = &mut flash.store.space.domains[domain as usize];
    entry.reserved -= 1;
    entry.is_short = false;
    if entry.owed > 0 || entry.to_rescue > 0 {
        flash.space_gained();
    }
}
