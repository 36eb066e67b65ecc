//! What is lost, and what lives.

use crate::Flash;
use crate::memory;
use crate::space::blocks::BlockState;
use flashraid_vocabulary::{MemberId, MemberPage, Ppn, Version};

impl Flash {
    /// Whether anything has failed since the device was new.
    #[inline]
    pub fn has_failures(&self) -> bool {
        self.faults.any
    }

    /// Whether the page can be read no more. For programmed pages.
    pub fn is_lost_page(&self, ppn: Ppn) -> bool {
        is_lost_place(self, ppn) && !memory::holds(self, ppn)
    }

    /// Whether the page has this version, and it can be read no more.
    #[inline]
    pub fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        self.faults.any && self.lookup(address, version).is_some_and(|ppn| self.is_lost_page(ppn))
    }

    /// The current version of the page is lost: it counts as written, and can be read no more.
    pub fn lose(&mut self, address: MemberPage) {
        self.faults.any = true;
        if let Some(old) = self.maps.set(Version::Current, self.slot(address), self.faults.lost) {
            self.invalidate(old);
        }
    }

    /// Takes a version of a page that was found to be lost since this was last asked.
    pub fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        self.faults.untold.pop()
    }

    /// Whether failures have taken pages of the domain for good.
    pub fn domain_has_losses(&self, domain: u32) -> bool {
        let planes = (0..self.space.planes()).filter(|plane| self.space.domain_of_plane(*plane) == domain);
        let retired: u32 = planes.map(|plane| self.space.blocks.planes[plane as usize].retired).sum();
        self.faults.any && (retired > 0 || !self.space.domain_is_alive(domain))
    }

    /// Versions of the member's pages, translation pages included, that are lost. Looks at all that are written.
    pub fn lost_versions(&self, member: MemberId) -> u64 {
        let pages = if self.faults.any { self.settings.pages_per_member + self.settings.translation_pages } else { 0 };
        let versions = [Version::Current, Version::Base, Version::Copy];
        let lost = |page: u32| versions.iter().filter(|version| self.is_lost(MemberPage::new(member.0, page), **version)).count() as u64;
        let next = |page: u32| self.next_written(page).filter(|page| *page < pages);
        std::iter::successors(next(0), |page| next(page + 1)).map(lost).sum()
    }
}

/// Whether flash holds nothing there, whatever the memory has.
#[inline]
pub(crate) fn is_lost_place(ssd: &Flash, ppn: Ppn) -> bool {
    ssd.faults.any
        && (ssd.space.blocks.blocks[ssd.shape.block_of(ppn)].state == BlockState::Retired || ssd.faults.unreadable.contains(&ppn.0))
}
