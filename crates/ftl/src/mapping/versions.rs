//! Versions of pages in the SSD: what a program makes becomes one, others are released, and what is due then is seen to.

use crate::Flash;
use crate::gc::state::Next;
use flashraid_nand::Record;
use flashraid_vocabulary::{MemberPage, Ppn, Version};

impl Flash {
    /// Ends a program: its page becomes the version it was programmed for; what that version named before becomes garbage, or
    /// the base if the plan says so and there is none yet.
    #[inline(always)]
    pub fn commit(&mut self, record: u32) {
        let Record { slot, ppn, version, keep_base, .. } = *self.nand.record(record);
        if self.store.has_failures() && self.store.is_unallocated(self.nand.record(record)) {
            // The version is lost: it names the sentinel.
            let due = self.store.supersede(version, slot, Ppn(ppn), keep_base);
            self.attend(due);
        } else {
            self.name(version, slot, Ppn(ppn), keep_base);
        }
        self.nand.remove_record(record);
    }

    /// The page, which was programmed for it, is this version now.
    #[inline]
    pub(crate) fn name(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let block = self.store.space.shape.block_of(ppn);
        self.store.space.blocks.blocks[block].live += 1;
        let due = self.store.supersede(version, slot, ppn, keep_base);
        self.attend(due);
        let due = self.store.space.settle(block);
        self.attend(due);
        if let Some(hybrid) = &mut self.hybrid {
            let waits = hybrid.page_settled(slot, ppn, &self.store.space);
            self.wake(waits);
        }
    }

    /// The page has no such version any more.
    pub fn unmap(&mut self, address: MemberPage, version: Version) {
        let Some((old, due)) = self.store.clear(address, version) else { return };
        self.attend(due);
        self.store.maps.count_off(version, address.member);
        let plane = self.store.space.shape.plane_of(old);
        if version != Version::Base {
            return;
        }
        // The GC run that asks about it goes on.
        if self.gc.asks_about(plane, old, &self.store.space) {
            self.carry_out(plane, Next::GoesOn);
        } else if self.hybrid.is_some() {
            let next = self.merging().base_released(plane);
            self.carry_out(plane, next);
        }
    }

    /// The page has no current version any more: it becomes the base, if there is none.
    pub fn retire(&mut self, address: MemberPage) {
        let due = self.store.retire(address);
        self.attend(due);
    }

    /// The current version of the page is lost: it counts as written, and can be read no more.
    pub fn lose(&mut self, address: MemberPage) {
        let due = self.store.lose(address);
        self.attend(due);
    }

    /// Nobody needs anything that the SSD holds. Looks at all pages.
    pub fn discard(&mut self) {
        let (pages, members) = (self.settings().pages_per_member, self.store.space.members);
        for (page, member) in (0..pages).flat_map(|page| (0..members).map(move |member| (page, member))) {
            for version in [Version::Current, Version::Base] {
                self.unmap(MemberPage::new(member as u16, page), version);
            }
        }
    }
}
