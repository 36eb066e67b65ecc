//! Which blocks are opened in SLC mode, and which is folded next (SPEC 8.14).

use super::Space;
use super::blocks::Blocks;
use super::slc::{Mode, SlcCache, SlcCounts, SlcSettings};
use super::streams::{NONE, WriteStream};
use flashraid_nand::{Nand, slc};
use flashraid_vocabulary::NIL;

impl Blocks {
    /// There is an SLC cache. For a new device: of a program unit of so many pages so many are used in SLC mode.
    pub(crate) fn set_slc(&mut self, settings: SlcSettings, units: (u32, u32)) {
        self.slc = Some(Box::new(SlcCache::new(settings, units, self.planes.len(), self.blocks.len())));
    }

    /// What the cache has done, if there is one.
    pub(crate) fn slc_counts(&self) -> Option<SlcCounts> {
        self.slc.as_ref().map(|slc| slc.counts)
    }

    /// Whether a block is in SLC mode.
    #[inline]
    pub(crate) fn is_slc(&self, block: usize) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.is_slc(block))
    }

    /// Pages that programs fill of a program unit of the block, where all of it has so many.
    #[inline]
    pub(crate) fn units_used(&self, block: usize, units: u32) -> u32 {
        match &self.slc {
            Some(slc) if slc.is_slc(block) => slc.used,
            _ => units,
        }
    }

    /// Pages of the block that can still be programmed.
    #[inline]
    pub(crate) fn unwritten(&self, plane: u32, block: usize) -> u32 {
        let written = self.blocks[block].written;
        let pages = self.unwritten_pages(plane, written);
        match &self.slc {
            Some(slc) if slc.is_slc(block) => slc.left_of(pages, written),
            _ => pages,
        }
    }

    /// The page was taken that is the last one written of a block in SLC mode: passes over what that does not use. Returns whether the block is full.
    #[cold]
    pub(super) fn pass_unused(&mut self, block: usize) -> bool {
        let slc = self.slc.as_mut().expect("there is a cache");
        slc.counts.written += 1;
        self.blocks[block].written = slc.next(self.blocks[block].written);
        self.blocks[block].written == self.pages_per_block
    }

    /// A stream opens a block of the plane in SLC mode, where it may open one.
    fn open_slc(&mut self, plane: u32, stream: WriteStream) -> usize {
        let number = self.open(plane, stream);
        let index = self.index(plane, number);
        let lost = self.lost_by_slc(plane);
        self.planes[plane as usize].free_pages -= lost;
        let slc = self.slc.as_mut().expect("there is a cache");
        slc.modes[index] = Mode::Slc;
        slc.in_use[plane as usize] += 1;
        index
    }

    /// Pages by which a block of the plane has fewer in SLC mode.
    fn lost_by_slc(&self, plane: u32) -> u32 {
        let pages = self.planes[plane as usize].block_pages;
        self.slc.as_ref().map_or(0, |slc| pages - slc.pages_of(pages))
    }

    /// Whether one more block of the plane may be in SLC mode.
    fn may_open_slc(&self, plane: u32) -> bool {
        let Some(slc) = &self.slc else { return false };
        let SlcSettings { blocks, leave, .. } = slc.settings;
        let is_below = slc.in_use[plane as usize] < blocks;
        self.may_open(plane) && (is_below || leave.is_some_and(|leave| self.planes[plane as usize].free_blocks > leave))
    }

    /// A block that is in SLC mode becomes spent, or is so no more: it is erased, or out of use.
    pub(super) fn end_slc(&mut self, plane: u32, block: usize, mode: Mode) {
        if let Some(slc) = &mut self.slc {
            let before = slc.modes[block];
            slc.in_use[plane as usize] -= u32::from(before == Mode::Slc);
            if before != Mode::Full {
                slc.modes[block] = mode;
            }
        }
    }

    /// A block of the device, or of a superblock, is erased.
    pub(super) fn note_slc_erased(&mut self, block: usize) {
        if let Some(slc) = &mut self.slc {
            slc.counts.erases += u64::from(slc.is_slc(block));
        }
    }

    /// A block in SLC mode is full, and no page of it in flight: it can be folded.
    pub(super) fn note_full_slc(&mut self, plane: u32, number: u16) {
        self.slc.as_mut().expect("there is a cache").full[plane as usize].push_back(number);
    }

    /// The block is folded, or out of use.
    pub(super) fn forget_full_slc(&mut self, plane: u32, number: u16) {
        if let Some(slc) = &mut self.slc {
            slc.full[plane as usize].retain(|full| *full != number);
        }
    }

    /// Whether the block is among those that can be folded. For tests.
    pub(super) fn is_full_slc(&self, plane: u32, number: u16) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.full.get(plane as usize).is_some_and(|full| full.contains(&number)))
    }

    /// GC moves a page of the block.
    #[inline]
    pub(crate) fn note_folded(&mut self, block: usize) {
        if let Some(slc) = &mut self.slc {
            slc.counts.folded += u64::from(slc.is_slc(block));
        }
    }

    /// The block that is folded next.
    pub(crate) fn oldest_slc(&self, plane: u32) -> Option<u16> {
        self.slc.as_ref()?.full[plane as usize].front().copied()
    }
}

impl Space {
    /// Where a program unit of the host's stream is opened in a plane that has a page for it: in the SLC cache, while that has room, else beside it. A block that is opened
    /// in SLC mode has so many pages fewer, which nobody may have reserved.
    #[inline]
    pub(crate) fn choose_stream(&mut self, nand: &mut Nand, plane: u32, number: u8, goes_beside: bool) -> WriteStream {
        let of_host = WriteStream::of_host(number);
        if self.blocks.slc.is_none() {
            return of_host;
        }
        let of_slc = WriteStream::of_slc(number);
        let has_open_slc = self.blocks.open_block(plane, of_slc) != NONE;
        if goes_beside {
            let has_page = self.blocks.open_block(plane, of_host) != NONE || self.blocks.may_open(plane);
            return if has_open_slc && !has_page { of_slc } else { of_host };
        }
        if !has_open_slc {
            if !self.can_open_slc(plane) {
                return of_host;
            }
            let block = self.change_space(nand, plane, |blocks| blocks.open_slc(plane, of_slc));
            slc::set_mode(nand, block, true);
        }
        of_slc
    }

    /// Whether a block of the plane can be opened in SLC mode now.
    pub(crate) fn can_open_slc(&self, plane: u32) -> bool {
        let domain = self.domain_of_plane(plane);
        if domain == NIL || self.is_short(plane) || !self.blocks.may_open_slc(plane) {
            return false;
        }
        let domain = &self.domains[domain as usize];
        domain.free_pages - domain.reserved >= i64::from(self.blocks.lost_by_slc(plane))
    }

    /// Whether there is an SLC cache.
    #[inline(always)]
    pub(crate) fn has_cache(&self) -> bool {
        self.blocks.slc.is_some()
    }

    /// Whether the cache has a block to fold in the plane, and no room: none is open or can be opened.
    pub(crate) fn is_cache_full(&self, plane: u32) -> bool {
        self.blocks.oldest_slc(plane).is_some() && !self.has_room_in_slc(plane)
    }

    /// Whether programs wait for the fold of this block (`waits_for_slc`), so that it cannot wait for programs.
    pub(crate) fn is_awaited_fold(&self, plane: u32, victim: u16) -> bool {
        self.blocks.slc.as_ref().is_some_and(|slc| slc.settings.stalls) && self.blocks.is_slc(self.blocks.index(plane, victim))
    }

    /// Whether a program can go into the cache of the plane.
    pub(crate) fn has_room_in_slc(&self, plane: u32) -> bool {
        let is_open = |number: u16| self.blocks.is_slc(self.blocks.index(plane, number));
        self.blocks.all_open(plane).any(is_open) || self.can_open_slc(plane)
    }

    /// Whether programs into the domain wait until the cache has room: it is full in all planes, and in one something is going on that ends by itself, a fold or a program
    /// of the cache (`goes_on`). What is programmed and cannot be folded waits for requests that may wait here: then all go beside the cache.
    pub(crate) fn waits_for_slc(&self, domain: u32, goes_on: impl Fn(u32) -> bool) -> bool {
        if !self.blocks.slc.as_ref().is_some_and(|slc| slc.settings.stalls) {
            return false;
        }
        let planes = match self.domains[domain as usize].plane {
            NIL => 0..self.planes(),
            only => only..only + 1,
        };
        let mut planes = planes.filter(|plane| self.domain_of_plane(*plane) == domain);
        planes.clone().all(|plane| !self.has_room_in_slc(plane)) && planes.any(goes_on)
    }
}
