//! Translation pages that appear in no simulated time: before the workload, and with pages that are placed at their first touch.

use super::state::stamp;
use crate::engine::content::Content;
use crate::engine::state::Engine;
use crate::media::Media;
use flashraid_vocabulary::{MemberPage, Version};

impl<C: Content, M: Media> Engine<C, M> {
    /// Before the workload: every translation page with a mapped entry is on flash.
    pub(in crate::engine) fn place_translation_pages(&mut self) {
        let Some(mut translation) = self.translation.take() else { return };
        for slot in 0..translation.mirrors.of_slot.len() as u32 {
            if self.media.lookup(self.shape.page(slot), Version::Copy).is_some() {
                translation.mirrors.entry_or_new(slot);
            }
        }
        for page in 0..translation.pages() {
            let is_mapped = |entry: u32| translation.mirrors.value(&self.media, entry) != 0;
            if translation.on_flash[page as usize] == 0 && translation.entries_of(page).any(is_mapped) {
                translation.placed(page);
                for copy in translation.copies(page) {
                    let (plane, ppn) = self.media.place_untimed(copy, Version::Current, false, &mut self.content);
                    self.content.placed_stamp(ppn, stamp(page, 1));
                    self.media.collect_low_now(plane, &mut self.content);
                }
            }
        }
        if let Some(stored) = &mut translation.stored {
            let mirrors = &translation.mirrors;
            (0..).zip(&mut stored.entries).for_each(|(entry, says)| *says = mirrors.value(&self.media, entry));
        }
        self.translation = Some(translation);
    }

    /// Adds to `pages`, which appear on flash in no simulated time, the translation pages that must appear with them.
    pub(in crate::engine) fn add_translation_pages(&self, pages: &mut Vec<MemberPage>) {
        let Some(translation) = &self.translation else { return };
        for index in 0..pages.len() {
            let page = translation.page_of(self.shape.entry(pages[index]));
            let is_there = translation.on_flash[page as usize] > 0 || self.writes_translation_page(page);
            let copies = translation.copies(page);
            if !is_there && !pages.contains(&copies[0]) {
                pages.extend(copies);
            }
        }
    }

    /// A page appeared on flash in no simulated time, and what the map says of it in its translation page; or a translation page did. Returns the
    /// content of that.
    pub(in crate::engine) fn note_placed(&mut self, address: MemberPage) -> Option<u64> {
        let translation = self.translation.as_mut()?;
        if !self.shape.is_translation(address) {
            let entry = self.shape.entry(address);
            if let Some(stored) = &mut translation.stored {
                stored.entries[entry as usize] = translation.mirrors.value(&self.media, entry);
                stored.appeared.insert(entry);
            }
            return None;
        }
        // The second copy of a page follows the first.
        let page = translation.page_at(address);
        translation.placed(page);
        Some(stamp(page, 1))
    }
}
