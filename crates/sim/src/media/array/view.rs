//! What schemes, and reports, may look at of an array: each asks the SSD of the member or page.

use super::numbers::NIL;
use super::{Array, inner};
use crate::media::inspect::Ssds;
use crate::media::{Flash, Reserving, Shape};
use flashraid_vocabulary::{Cause, Health, LoadView, MemberId, MemberPage, Ppn, ReadLoad, SsdView, Version, View};

impl Ssds for Array {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn ssds(&self) -> &[Flash] {
        &self.ssds
    }

    fn home(&self, member: MemberId) -> (&Flash, MemberId) {
        (self.flash(member), MemberId(0))
    }

    fn member_in(&self, ssd: usize, _: u32) -> Option<u32> {
        Some(self.member_of[ssd]).filter(|member| *member != NIL && !self.is_spare(ssd))
    }

    fn is_of_member(&self, ssd: usize) -> bool {
        self.is_current(ssd) && !self.is_spare(ssd) && self.ssds[ssd].health() != Health::Disabled
    }

    fn locate(&self, ppn: Ppn) -> (usize, Ppn) {
        self.first.page(ppn)
    }

    fn first_page(&self, ssd: usize) -> u32 {
        self.first[ssd].page
    }

    fn links_busy_ns(&self, time_ns: u64) -> Vec<[[u64; Cause::COUNT]; 2]> {
        self.links.as_ref().map_or(Vec::new(), |links| links.busy_ns(time_ns))
    }
}

impl View for Array {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn is_written(&self, page: MemberPage, version: Version) -> bool {
        self.flash(page.member).is_written(inner(page), version)
    }

    #[inline]
    fn has_failures(&self) -> bool {
        self.has_failures
    }

    fn is_lost(&self, page: MemberPage, version: Version) -> bool {
        self.flash(page.member).is_lost(inner(page), version)
    }

    fn can_allocate(&self, page: MemberPage) -> bool {
        let flash = self.flash(page.member);
        flash.health() == Health::ReadWrite && flash.can_allocate(inner(page))
    }

    fn space_of(&self, page: MemberPage) -> u32 {
        self.domain_of(page, Version::Current)
    }

    fn has_mirror(&self, _: MemberId) -> bool {
        false
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.flash(member).pages_gone(MemberId(0))
    }

    fn takes_copy(&self, _: MemberId) -> bool {
        false
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.flash(member).bases(MemberId(0))
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.flash(member).copies(MemberId(0))
    }
}

impl LoadView for Array {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        self.flash(member).queued(MemberId(0))
    }

    fn load_at(&self, page: MemberPage, version: Version) -> u32 {
        self.flash(page.member).load_at(inner(page), version)
    }

    fn busy_ns_at(&self, page: MemberPage, version: Version) -> u64 {
        self.flash(page.member).busy_ns_at_time(inner(page), version, self.now_ns)
    }

    fn channel_load_at(&self, page: MemberPage) -> u32 {
        self.flash(page.member).channel_load_at(inner(page))
    }

    fn read_load(&self, page: MemberPage, version: Version) -> Option<ReadLoad> {
        self.flash(page.member).read_load_at_time(inner(page), version, self.now_ns)
    }

    fn is_idle(&self, member: MemberId) -> bool {
        self.flash(member).is_idle(MemberId(0))
    }
}

impl SsdView for Array {
    fn erases(&self, member: MemberId) -> u64 {
        self.flash(member).space().total_erases()
    }

    fn endurance(&self, member: MemberId) -> u64 {
        self.flash(member).space().endurance()
    }

    fn health(&self, member: MemberId) -> Health {
        let flash = self.flash(member);
        if self.has_failures && !flash.is_alive(MemberId(0)) { Health::Disabled } else { flash.health() }
    }

    fn next_spare(&self) -> Option<MemberId> {
        let living = self.spares.iter().rev().find(|spare| self.ssds[**spare as usize].is_alive(MemberId(0)))?;
        Some(self.member(*living as usize))
    }

    fn last_host_ns(&self, member: MemberId) -> u64 {
        self.flash(member).last_host_ns(MemberId(0))
    }

    fn is_collecting(&self, member: MemberId) -> bool {
        self.flash(member).nand().loads()[MemberId(0)].gc_runs > 0
    }
}
