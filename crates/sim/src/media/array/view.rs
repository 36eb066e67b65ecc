//! What schemes, and reports, may look at of an array: each asks the SSD of the member or page.

use super::SsdArray;
use super::members::{Members, inner};
use crate::media::Reserving;
use crate::media::inspect::OfSsds;
use flashraid_vocabulary::{Cause, Health, LoadView, MemberId, MemberPage, ReadLoad, SsdView, Version, View};

impl OfSsds for SsdArray {
    type Ssds = Members;

    fn parts(&self) -> &Members {
        &self.members
    }

    fn links_busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        self.links.as_ref().map_or(Vec::new(), |links| links.busy_ns(time_ns))
    }
}

impl View for SsdArray {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn is_written(&self, page: MemberPage, version: Version) -> bool {
        self.members.flash(page.member).is_written(inner(page), version)
    }

    #[inline]
    fn has_failures(&self) -> bool {
        self.members.has_failures()
    }

    fn is_lost(&self, page: MemberPage, version: Version) -> bool {
        self.members.flash(page.member).is_lost(inner(page), version)
    }

    fn can_allocate(&self, page: MemberPage) -> bool {
        let flash = self.members.flash(page.member);
        flash.gc().health() == Health::ReadWrite && flash.can_allocate(inner(page))
    }

    fn space_of(&self, page: MemberPage) -> u32 {
        self.domain_of(page, Version::Current)
    }

    fn has_mirror(&self, _: MemberId) -> bool {
        false
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.members.flash(member).pages_gone(MemberId(0))
    }

    fn takes_copy(&self, _: MemberId) -> bool {
        false
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.members.flash(member).bases(MemberId(0))
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.members.flash(member).copies(MemberId(0))
    }
}

impl LoadView for SsdArray {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        self.members.flash(member).queued(MemberId(0))
    }

    fn load_at(&self, page: MemberPage, version: Version) -> u32 {
        self.members.flash(page.member).load_at(inner(page), version)
    }

    fn busy_ns_at(&self, page: MemberPage, version: Version) -> u64 {
        let flash = self.members.flash(page.member);
        flash.store().busy_ns_at(inner(page), version, self.now_ns, flash.nand())
    }

    fn channel_load_at(&self, page: MemberPage) -> u32 {
        self.members.flash(page.member).channel_load_at(inner(page))
    }

    fn read_load(&self, page: MemberPage, version: Version) -> Option<ReadLoad> {
        let flash = self.members.flash(page.member);
        flash.gc().read_load(inner(page), version, self.now_ns, flash.store(), flash.nand())
    }

    fn is_idle(&self, member: MemberId) -> bool {
        self.members.flash(member).is_idle(MemberId(0))
    }
}

impl SsdView for SsdArray {
    fn erases(&self, member: MemberId) -> u64 {
        self.members.flash(member).store().space().total_erases()
    }

    fn endurance(&self, member: MemberId) -> u64 {
        self.members.flash(member).store().space().endurance()
    }

    fn health(&self, member: MemberId) -> Health {
        let flash = self.members.flash(member);
        if self.members.has_failures() && !flash.parts().is_alive(MemberId(0)) { Health::Disabled } else { flash.gc().health() }
    }

    fn next_spare(&self) -> Option<MemberId> {
        self.members.next_spare().map(|ssd| self.members.member(ssd))
    }

    fn last_host_ns(&self, member: MemberId) -> u64 {
        self.members.flash(member).last_host_ns(MemberId(0))
    }

    fn is_collecting(&self, member: MemberId) -> bool {
        self.members.flash(member).nand().loads()[MemberId(0)].gc_runs > 0
    }
}
