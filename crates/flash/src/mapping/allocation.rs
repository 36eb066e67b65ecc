//! Free space: pages reserved for programs, and pages taken for them.

use super::blocks::{Blocks, WriteStream};
use crate::Flash;
use flashraid_nand::NIL;
use flashraid_vocabulary::{MemberPage, Ppn, Version};

impl Flash {
    /// Reserves a page for a program of this version, if there is one; else starts what frees space.
    // Always inlined, as callers know the version.
    #[inline(always)]
    pub fn reserve(&mut self, address: MemberPage, version: Version) -> bool {
        let domain = self.domain_of(address, version);
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
        let domain = self.domain_of(address, version);
        self.space.domains[domain as usize].reserved -= 1;
        self.space.freed.push(domain);
    }

    /// Domains that gained space, in order. Who takes them empties the list.
    #[inline]
    pub fn freed(&mut self) -> &mut Vec<u32> {
        &mut self.space.freed
    }

    /// Takes a domain that gained space since the last call; operations may wait for it.
    #[inline]
    pub fn take_freed(&mut self) -> Option<u32> {
        self.space.freed.pop()
    }

    /// Takes the next page of a plane for a host program. The page stays pending.
    #[inline]
    pub(crate) fn take_host_page(&mut self, plane: u32) -> Ppn {
        let (block, offset) = self.space.blocks.take(plane, WriteStream::Host);
        let domain = self.domain_of_plane(plane);
        self.space.domains[domain as usize].free_pages -= 1;
        if offset + 1 == self.shape.pages_per_block && self.space.blocks.host_pages(plane) == 0 {
            self.set_writable(plane, false);
        }
        Ppn(block as u32 * self.shape.pages_per_block + offset)
    }

    pub(super) fn set_writable(&mut self, plane: u32, writable: bool) {
        let domain = self.domain_of_plane(plane);
        let is_new = self.nand.set_writable(plane, self.nand.takers(domain).kind, writable);
        if is_new && self.nand.is_of_replacement(plane) {
            self.count_replacement_plane(domain, writable);
        }
    }

    /// A plane of a replacement has a free page from now on, or has none. When none has, any other plane of the domain takes what waits for them.
    #[cold]
    fn count_replacement_plane(&mut self, domain: u32, writable: bool) {
        let takers = self.nand.takers_mut(domain);
        if writable {
            takers.replacement_planes += 1;
            return;
        }
        takers.replacement_planes -= 1;
        if takers.replacement_planes == 0 {
            self.nand.release_waiting_for_replacements(domain);
        }
    }

    /// Changes what programs of plans may take in a plane, and lets its domain know.
    pub(crate) fn change_space<R>(&mut self, plane: u32, change: impl FnOnce(&mut Blocks) -> R) -> R {
        let before = i64::from(self.space.blocks.host_pages(plane));
        let result = change(&mut self.space.blocks);
        let after = i64::from(self.space.blocks.host_pages(plane));
        let domain = self.domain_of_plane(plane);
        if after != before && domain != NIL {
            self.space.domains[domain as usize].free_pages += after - before;
            self.set_writable(plane, after > 0);
            if after > before {
                self.space.freed.push(domain);
            } else {
                self.pool_if_short(domain);
            }
        }
        result
    }

    /// The plane's pages are free for programs of its domain, if it has one.
    pub(crate) fn join_domain(&mut self, plane: u32) {
        let pages = self.space.blocks.host_pages(plane);
        let domain = self.domain_of_plane(plane);
        self.space.blocks.set_in_use(plane, domain != NIL);
        if domain != NIL {
            self.space.domains[domain as usize].free_pages += i64::from(pages);
            self.space.domains[domain as usize].living_planes += u32::from(self.space.blocks.planes[plane as usize].blocks > 0);
            self.set_writable(plane, pages > 0);
        }
    }
}
