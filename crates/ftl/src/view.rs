//! What schemes may look at.

use crate::Flash;
use crate::store::Store;
use flashraid_vocabulary::{Health, LoadView, LocalPage, MemberId, MemberPage, ReadLoad, SsdView, Version, View};

impl View for Flash {
    fn now_ns(&self) -> u64 {
        self.nand.now_ns()
    }

    #[inline]
    fn is_written(&self, address: MemberPage, version: Version) -> bool {
        self.store.lookup(address, version).is_some()
    }

    #[inline]
    fn has_failures(&self) -> bool {
        self.store.has_failures()
    }

    fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        self.store.is_lost(address, version)
    }

    fn next_written(&self, page: LocalPage) -> Option<LocalPage> {
        self.store.maps.next_written_page(page.0).map(LocalPage)
    }

    fn can_allocate(&self, address: MemberPage) -> bool {
        let Store { maps, space, .. } = &self.store;
        let domain = &space.domains[self.space_of(address) as usize];
        let is_merging = |plane| self.gc.is_collecting(plane);
        domain.can_reserve() && self.hybrid.as_ref().is_none_or(|hybrid| hybrid.may_have_place(maps.slot(address), is_merging, space))
    }

    fn space_of(&self, address: MemberPage) -> u32 {
        self.store.space.domain_of(address, Version::Current)
    }

    fn has_mirror(&self, member: MemberId) -> bool {
        self.store.space.mirror_domain(member).is_some_and(|domain| self.store.space.domain_is_alive(domain))
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.store.faults.pages_gone[usize::from(member.0)]
    }

    fn takes_copy(&self, member: MemberId) -> bool {
        let Some(id) = self.store.space.mirror_domain(member) else { return false };
        let domain = &self.store.space.domains[id as usize];
        !self.store.faults.no_copies[usize::from(member.0)]
            && domain.can_reserve()
            && !self.nand.has_waiting(id)
            && self.nand.domain_is_idle(id)
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.store.maps.held(member).bases
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.store.maps.held(member).copies
    }
}

impl LoadView for Flash {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        let load = &self.nand.loads()[member];
        (load.reads, load.programs)
    }

    fn load_at(&self, address: MemberPage, version: Version) -> u32 {
        let Some(ppn) = self.store.lookup(address, version) else { return 0 };
        let lun = &self.nand.luns()[self.nand.places().lun_of(ppn) as usize];
        lun.queued() + u32::from(!lun.is_idle())
    }

    fn busy_ns_at(&self, address: MemberPage, version: Version) -> u64 {
        self.store.busy_ns_at(address, version, self.nand.now_ns(), &self.nand)
    }

    fn channel_load_at(&self, address: MemberPage) -> u32 {
        let Some(ppn) = self.store.lookup(address, Version::Current) else { return 0 };
        let channel = &self.nand.channels()[self.nand.channel_of_lun(self.nand.places().lun_of(ppn)) as usize];
        channel.queued() + self.nand.shape().luns_per_channel - channel.idle_luns()
    }

    fn read_load(&self, address: MemberPage, version: Version) -> Option<ReadLoad> {
        self.gc.read_load(address, version, self.nand.now_ns(), &self.store, &self.nand)
    }

    fn is_idle(&self, member: MemberId) -> bool {
        let load = &self.nand.loads()[member];
        load.reads + load.programs + load.in_service + load.gc_runs == 0
    }
}

impl SsdView for Flash {
    fn erases(&self, _: MemberId) -> u64 {
        self.store.space.total_erases()
    }

    fn endurance(&self, _: MemberId) -> u64 {
        self.store.space.endurance()
    }

    fn health(&self, _: MemberId) -> Health {
        self.gc.health
    }

    fn last_host_ns(&self, member: MemberId) -> u64 {
        self.nand.loads()[member].last_host_ns
    }

    fn is_collecting(&self, member: MemberId) -> bool {
        self.nand.loads()[member].gc_runs > 0
    }
}
