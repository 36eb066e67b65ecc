//! Versions of pages: which physical page each one names, and how the page that it named before is handled.

use crate::Flash;
use crate::space::blocks::{Block, BlockState};
use flashraid_nand::Record;
use flashraid_vocabulary::{MemberPage, Ppn, Version, WearLeveling, memory};

impl Flash {
    /// The physical page of a version: only to label contents and to check them.
    #[inline]
    pub fn lookup(&self, address: MemberPage, version: Version) -> Option<Ppn> {
        self.maps.get(version, self.slot(address))
    }

    /// The first slot at or after `slot` and before `end` that has a current version.
    pub fn next_mapped(&self, slot: u32, end: u32) -> Option<u32> {
        self.maps.next_mapped(slot, end)
    }

    /// `View::next_written`.
    #[inline]
    pub fn next_written(&self, page: u32) -> Option<u32> {
        self.maps.next_written(page * self.members).map(|slot| page.max(slot / self.members))
    }

    /// Ends a program: its page becomes the version it was programmed for; what that version named before becomes garbage, or
    /// the base if the plan says so and there is none yet.
    #[inline]
    pub fn commit(&mut self, record: u32) {
        let Record { slot, ppn, version, keep_base, .. } = *self.nand.record(record);
        if self.has_failures() && self.is_unallocated(record) {
            self.lose_version(version, slot, keep_base);
        } else {
            self.name(version, slot, Ppn(ppn), keep_base);
        }
        self.nand.remove_record(record);
    }

    #[inline]
    pub(crate) fn name(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let block = self.shape.block_of(ppn);
        self.space.blocks.blocks[block].live += 1;
        self.supersede(version, slot, ppn, keep_base);
        self.settle(block);
        if self.hybrid.is_some() {
            self.page_settled(slot, ppn);
        }
    }

    /// The version is lost: it names the sentinel.
    #[cold]
    fn lose_version(&mut self, version: Version, slot: u32, keep_base: bool) {
        self.supersede(version, slot, self.faults.lost, keep_base);
    }

    /// The version is `ppn` now; what it named before becomes garbage, or the base.
    #[inline(always)]
    fn supersede(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let old = self.maps.set(version, slot, ppn);
        match old {
            Some(old) if keep_base && self.maps.get(Version::Base, slot).is_none() => {
                self.becomes_base(slot, old);
            }
            Some(old) => self.invalidate(old),
            None if version == Version::Copy => self.held[(slot % self.members) as usize].copies += 1,
            None => {}
        }
    }

    /// A programmed page of the block is pending no more; a full block without pending pages can become a victim.
    #[inline]
    pub(crate) fn settle(&mut self, block: usize) {
        let entry = &mut self.space.blocks.blocks[block];
        entry.pending -= 1;
        if entry.pending == 0 && matches!(entry.state, BlockState::Closed | BlockState::Doomed) {
            self.list_victim(block);
        }
    }

    pub(crate) fn list_victim(&mut self, block: usize) {
        let (plane, number) = self.space.blocks.place(block);
        if self.space.blocks.blocks[block].state == BlockState::Doomed {
            return self.drain_doomed(plane);
        }
        self.space.victims.close(plane, number, self.space.blocks.of_plane(plane));
        if self.settings.given.wear_leveling == WearLeveling::Static {
            self.note_cold(plane, number);
        }
        self.collect_if_starved(plane);
    }

    /// A live page becomes garbage.
    #[inline]
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        let block = self.shape.block_of(ppn);
        let entry = &mut self.space.blocks.blocks[block];
        if !entry.listed {
            if ppn != self.faults.lost {
                entry.live -= 1;
            }
            return;
        }
        let (plane, number) = self.space.blocks.place(block);
        self.space.victims.change(plane, number, self.space.blocks.of_plane(plane), |block| block.live -= 1);
        self.collect_if_starved(plane);
    }

    /// The page has no current version any more.
    pub fn unmap(&mut self, address: MemberPage, version: Version) {
        if let Some(old) = self.maps.clear(version, self.slot(address)) {
            if version == Version::Base {
                self.count_base(old, -1);
            }
            self.invalidate(old);
            let held = &mut self.held[usize::from(address.member.0)];
            match version {
                Version::Current => {}
                Version::Base => {
                    held.bases -= 1;
                    self.base_released(old);
                }
                Version::Copy => held.copies -= 1,
                Version::DeferredParity => unreachable!("never on flash"),
            }
        }
    }

    /// The page has no current version any more: it becomes the base, if there is none.
    pub fn retire(&mut self, address: MemberPage) {
        let slot = self.slot(address);
        if self.maps.get(Version::Base, slot).is_some() {
            return self.unmap(address, Version::Current);
        }
        if let Some(old) = self.maps.clear(Version::Current, slot) {
            self.becomes_base(slot, old);
        }
    }

    #[inline(always)]
    fn becomes_base(&mut self, slot: u32, old: Ppn) {
        self.maps.set(Version::Base, slot, old);
        self.maps.label(old, Version::Base, slot);
        self.held[(slot % self.members) as usize].bases += 1;
        self.count_base(old, 1);
    }

    /// A page of the block became a base, or is one no more. Only who commits bases needs to know.
    #[inline]
    fn count_base(&mut self, ppn: Ppn, change: i16) {
        if self.settings.moves_bases || ppn == self.faults.lost {
            return;
        }
        let block = self.shape.block_of(ppn);
        let (plane, number) = self.space.blocks.place(block);
        let listed = self.space.blocks.blocks[block].listed;
        let count = |block: &mut Block| block.bases = block.bases.wrapping_add_signed(change);
        if listed {
            self.space.victims.change(plane, number, self.space.blocks.of_plane(plane), count);
        } else {
            count(&mut self.space.blocks.blocks[block]);
        }
        // One page less to move. (Of a base that goes the page is still to be counted off.)
        if listed && change > 0 {
            self.collect_if_starved(plane);
        }
    }

    // ---- what will be touched next ----

    /// Asks the processor for what a request to this page will touch first.
    #[inline(always)]
    pub fn prefetch_map(&self, address: MemberPage) {
        let slot = self.slot(address);
        self.maps.prefetch(slot);
        if self.keeps_versions() {
            self.maps.prefetch_base(slot);
        }
        if self.settings.given.mirror_chips > 0 {
            self.maps.prefetch_copy(slot);
        }
    }

    /// Asks the processor for the block of a slot's current version; the map entry should be there already.
    #[inline(always)]
    pub fn prefetch_block(&self, slot: u32) {
        if let Some(ppn) = self.maps.get(Version::Current, slot) {
            memory::prefetch(&self.space.blocks.blocks, self.shape.block_of(ppn));
            if self.keeps_versions() {
                self.maps.prefetch_label(ppn);
            }
        }
    }

    /// Whether superseded pages become bases, as a rule: of schemes with copies, and of those that commit bases before they are erased.
    #[inline(always)]
    fn keeps_versions(&self) -> bool {
        self.settings.given.mirror_chips > 0 || !self.settings.moves_bases
    }

    /// Asks the processor for what `commit` of this program will touch first: its block and its map entry.
    #[inline]
    pub fn prefetch_commit(&self, record: u32) {
        let Record { ppn, slot, .. } = *self.nand.record(record);
        memory::prefetch(&self.space.blocks.blocks, self.shape.block_of(Ppn(ppn)));
        self.maps.prefetch(slot);
    }

    /// Asks the processor for the block of the version that this program will supersede; the map entry should be there already.
    #[inline]
    pub fn prefetch_superseded(&self, record: u32) {
        self.prefetch_block(self.nand.record(record).slot);
    }
}
