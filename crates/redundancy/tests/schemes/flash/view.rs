//! What schemes may look at: answers as tests have set them.

use super::Flash;
use flashraid_vocabulary::{Health, LoadView, MemberId, MemberPage, ReadLoad, SsdView, Version, View};

impl View for Flash {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn is_written(&self, address: MemberPage, version: Version) -> bool {
        self.version(address, version).is_some()
    }

    fn has_failures(&self) -> bool {
        self.has_failed
    }

    fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        self.is_written(address, version) && self.lost.contains(&(address, version))
    }

    fn can_allocate(&self, MemberPage { member, .. }: MemberPage) -> bool {
        !self.full.contains(&member) && self.health(member) == Health::ReadWrite
    }

    fn space_of(&self, address: MemberPage) -> u32 {
        address.member.0.into()
    }

    fn has_mirror(&self, member: MemberId) -> bool {
        !self.dead_mirrors.contains(&member)
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.pages_gone.get(&member).copied().unwrap_or_default()
    }

    fn takes_copy(&self, member: MemberId) -> bool {
        !self.busy_mirrors.contains(&member) && self.has_mirror(member)
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.count_versions(member, |versions| versions.base.is_some())
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.count_versions(member, |versions| versions.copy.is_some())
    }
}

impl LoadView for Flash {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        self.queued.get(&member).copied().unwrap_or_default()
    }

    fn load_at(&self, address: MemberPage, version: Version) -> u32 {
        let loads = match version {
            Version::Current => &self.loads,
            Version::Copy => &self.copy_loads,
            Version::Base | Version::DeferredParity => return 0,
        };
        loads.get(&address).copied().unwrap_or_default()
    }

    fn busy_ns_at(&self, address: MemberPage, version: Version) -> u64 {
        u64::from(self.load_at(address, version))
    }

    fn channel_load_at(&self, address: MemberPage) -> u32 {
        self.channel_loads.get(&address).copied().unwrap_or_default()
    }

    fn read_load(&self, address: MemberPage, version: Version) -> Option<ReadLoad> {
        let (reads, programs) = self.queued(address.member);
        let gc = self.gc.get(&address.member).copied();
        let read_ns = self.read_ns.get(&address).copied().unwrap_or(1);
        self.is_written(address, version).then_some(ReadLoad { read_ns, reads, programs, gc })
    }

    fn is_idle(&self, member: MemberId) -> bool {
        self.queued(member) == (0, 0)
    }
}

impl SsdView for Flash {
    fn health(&self, member: MemberId) -> Health {
        let health = self.health.get(&member).copied().unwrap_or(Health::ReadWrite);
        if self.dead.contains(&member) { Health::Disabled } else { health }
    }

    fn next_spare(&self) -> Option<MemberId> {
        self.spares.iter().copied().find(|spare| !self.dead.contains(spare))
    }

    fn erases(&self, member: MemberId) -> u64 {
        self.erases.get(&member).copied().unwrap_or_default()
    }

    fn endurance(&self, member: MemberId) -> u64 {
        self.own_endurance.get(&member).copied().or(self.endurance).unwrap_or(u64::MAX)
    }

    fn last_host_ns(&self, member: MemberId) -> u64 {
        self.last_host_ns.get(&member).copied().unwrap_or_default()
    }

    fn is_collecting(&self, member: MemberId) -> bool {
        self.collecting.contains(&member)
    }
}
