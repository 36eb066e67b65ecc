//! Pages taken for programs, and what changes the pages that programs may take.

use super::Space;
use super::blocks::{BlockState, Blocks, TakenOf, share_of_pages};
use super::streams::WriteStream;
use crate::news::Untold;
use flashraid_nand::{Nand, Takers, after, at_or_after};
use flashraid_vocabulary::{NIL, Ppn};

impl Space {
    /// What nobody has taken of what the SSD has to tell.
    #[inline]
    pub fn news(&self) -> &Untold {
        &self.news
    }

    /// The same, to be taken.
    #[inline]
    pub fn news_mut(&mut self) -> &mut Untold {
        &mut self.news
    }

    /// Takes the next page of a plane for a program of a host's stream. The page stays pending.
    #[inline(always)]
    pub(crate) fn take_host_page(&mut self, nand: &mut Nand, plane: u32, stream: WriteStream) -> Ppn {
        let TakenOf { block, offset, is_full } = self.blocks.take(plane, stream);
        self.victims.program();
        let domain = self.domain_of_plane(plane);
        self.domains[domain as usize].free_pages -= 1;
        if is_full && !self.blocks.has_host_pages(plane) {
            nand.set_writable(plane, domain, false);
        }
        Ppn(block as u32 * self.shape.pages_per_block + offset)
    }

    /// Changes what programs of plans may take in a plane, and lets its domain know.
    pub(crate) fn change_space<R>(&mut self, nand: &mut Nand, plane: u32, change: impl FnOnce(&mut Blocks) -> R) -> R {
        let before = i64::from(self.blocks.host_pages(plane));
        let result = change(&mut self.blocks);
        let after = i64::from(self.blocks.host_pages(plane));
        let domain = self.domain_of_plane(plane);
        if after != before && domain != NIL {
            self.domains[domain as usize].free_pages += after - before;
            nand.set_writable(plane, domain, after > 0);
            if after > before {
                self.domains[domain as usize].is_short = false;
                self.news.free(domain);
            } else {
                self.pool_if_short(nand, domain);
            }
        }
        result
    }

    /// The plane's pages are free for programs of its domain, if it has one.
    pub(crate) fn join_domain(&mut self, nand: &mut Nand, plane: u32) {
        let pages = self.blocks.host_pages(plane);
        let domain = self.domain_of_plane(plane);
        self.blocks.set_in_use(plane, domain != NIL);
        if domain != NIL {
            self.domains[domain as usize].free_pages += i64::from(pages);
            self.domains[domain as usize].living_planes += u32::from(self.blocks.planes[plane as usize].blocks > 0);
            nand.set_writable(plane, domain, pages > 0);
        }
    }

    /// More pages of a domain may be reserved than there are: what waits at its LUN waits in the domain instead, so that nothing behind it
    /// is kept from the LUN, GC's work least of all.
    pub(crate) fn pool_if_short(&mut self, nand: &mut Nand, domain_id: u32) {
        let domain = &self.domains[domain_id as usize];
        if nand.takers(domain_id).is_single() && domain.free_pages < domain.reserved {
            for id in nand.unbind_programs(nand.only_taker(domain_id), domain_id) {
                nand.record_mut(id).lun = NIL;
                nand.join_pool(id);
            }
        }
    }

    /// The plane in which a program in no simulated time, or the next flash page of a write point, goes: the only one, or the one whose turn it is.
    pub(crate) fn plane_in_turn(&mut self, nand: &Nand, domain: u32) -> u32 {
        match self.domains[domain as usize].plane {
            NIL => self.next_plane(nand, domain),
            only => only,
        }
    }

    /// The plane whose turn it is: channels in turn, then LUNs, then planes, as an idle device deals out what comes one page after
    /// the other; the nearest writable one if that is full. Programs in time have turns of their own, so that what is placed
    /// while they run does not follow them around.
    pub(crate) fn next_plane(&mut self, nand: &Nand, domain: u32) -> u32 {
        let entry = &mut self.domains[domain as usize];
        let Takers { channels: (first, end), luns, kind, .. } = *nand.takers(domain);
        let (mut channel, lun, plane) = entry.fill_turn;
        entry.fill_turn.0 = if channel + 1 == end { first } else { channel + 1 };
        if channel + 1 == end {
            let next = after(luns, u64::from(lun));
            entry.fill_turn.1 = next;
            if next <= lun {
                entry.fill_turn.2 = if plane + 1 == self.shape.planes_per_lun { 0 } else { plane + 1 };
            }
        }
        while nand.channels()[channel as usize].writable(kind) & luns == 0 {
            channel = if channel + 1 == end { first } else { channel + 1 };
        }
        let channel = &nand.channels()[channel as usize];
        let lun = channel.first_lun() + at_or_after(channel.writable(kind) & luns, lun);
        self.shape.first_plane(lun, kind) + at_or_after(nand.luns()[lun as usize].writable(kind), plane)
    }

    /// The block can be no victim any more, if it could.
    pub(crate) fn unlist(&mut self, plane: u32, number: u16) {
        self.blocks.forget_full_slc(plane, number);
        if self.blocks.blocks[self.blocks.index(plane, number)].listed {
            self.victims.take(plane, number, self.blocks.of_plane(plane));
        }
    }

    /// GC collects the block.
    pub(crate) fn claim(&mut self, plane: u32, victim: u16) {
        self.unlist(plane, victim);
        self.blocks.of_plane(plane)[usize::from(victim)].state = BlockState::Victim;
    }

    /// GC starts below the same share of what is left of the plane.
    pub(crate) fn set_threshold(&mut self, plane: u32) {
        if plane < self.shape.data_planes() {
            let state = &mut self.blocks.planes[plane as usize];
            let pages = (state.blocks - state.retired) * state.block_pages;
            state.gc_pages = share_of_pages(self.settings.gc_threshold, pages);
            state.idle_pages = share_of_pages(self.settings.gc_idle_threshold, pages);
        }
    }
}
