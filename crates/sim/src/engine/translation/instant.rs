//! Translation pages that appear in no simulated time: before the workload, and with pages that are placed at their first touch.

use super::state::{Translation, lock_of, stamp};
use crate::engine::content::Content;
use crate::engine::locks::Locks;
use crate::media::{Media, Shape};
use flashraid_vocabulary::{Cause, MemberPage, Version};

impl Translation {
    /// Before the workload: every translation page with a mapped entry is on flash.
    pub(in crate::engine) fn place_all(&mut self, media: &mut impl Media, content: &mut impl Content, shape: &Shape) {
        for slot in 0..self.mirrors.of_slot.len() as u32 {
            if media.lookup(shape.page(slot), Version::Copy).is_some() {
                self.mirrors.entry_or_new(slot);
            }
        }
        for page in 0..self.pages() {
            let is_mapped = |entry: u32| self.mirrors.value(media, entry) != 0;
            if self.on_flash[page as usize] == 0 && self.layout.entries_of(page).any(is_mapped) {
                self.placed(page);
                for copy in self.layout.copies(page) {
                    let (plane, ppn) = media.place_untimed(copy, Version::Current, false, Cause::Metadata, content);
                    content.placed_stamp(ppn, stamp(page, 1));
                    media.collect_low_now(plane, content);
                }
            }
        }
        if let Some(stored) = &mut self.stored {
            let mirrors = &self.mirrors;
            (0..).zip(&mut stored.entries).for_each(|(entry, says)| *says = mirrors.value(media, entry));
        }
    }

    /// Adds to `pages`, which appear on flash in no simulated time, the translation pages that must appear with them.
    pub(in crate::engine) fn add_pages(&self, pages: &mut Vec<MemberPage>, shape: &Shape, locks: &Locks) {
        for index in 0..pages.len() {
            let page = self.layout.page_of(shape.entry(pages[index]));
            let is_there = self.on_flash[page as usize] > 0 || locks.is_locked(lock_of(page).0);
            let copies = self.layout.copies(page);
            if !is_there && !pages.contains(&copies[0]) {
                pages.extend(copies);
            }
        }
    }

    /// A page appeared on flash in no simulated time, and what the map says of it in its translation page; or a translation page did. Returns the
    /// content of that.
    pub(in crate::engine) fn note_placed(&mut self, address: MemberPage, media: &impl Media, shape: &Shape) -> Option<u64> {
        if !shape.is_translation(address) {
            let entry = shape.entry(address);
            if let Some(stored) = &mut self.stored {
                stored.entries[entry as usize] = self.mirrors.value(media, entry);
                stored.appeared.insert(entry);
            }
            return None;
        }
        // The second copy of a page follows the first.
        let page = self.layout.page_at(address);
        self.placed(page);
        Some(stamp(page, 1))
    }
}
