//! What operations of the scheme need of the map, and what they and GC change in it.

use super::cache::{EvictedEntry, Lookup};
use super::lists::EMPTY;
use super::state::{LOCK, NO_WAVE, Translation, TranslationWork, lock_of, stamp};
use crate::engine::content::Content;
use crate::engine::slot::{NIL, TRANSLATION};
use crate::engine::state::Engine;
use crate::media::{FlashFault, MapEvent, Media};
use flashraid_redundancy::{Lock, Operation};
use flashraid_vocabulary::{Action, Change, MemberPage, Version, Wave};

impl<C: Content, M: Media> Engine<C, M> {
    /// Sees to it that the entries of all pages of a wave are cached, and pins them. If some have to be loaded first, keeps the wave and returns
    /// false; the operation is among `ready` when they are there.
    pub(in crate::engine) fn translate(&mut self, id: u32, wave: &mut Wave) -> bool {
        let Some(mut translation) = self.translation.take() else { return true };
        if translation.held.len() <= id as usize {
            translation.held.resize((id as usize + 1).next_power_of_two(), NO_WAVE);
        }
        debug_assert!(translation.held[id as usize].missing == 0);
        for page_operation in &wave.operations {
            let is_change = page_operation.action == Action::Program;
            let slot = self.shape.entry(page_operation.address);
            self.need(&mut translation, id, slot, is_change);
            if page_operation.version != Version::Current && translation.mirrors.is_in_use() {
                let entry = translation.mirrors.entry_or_new(slot);
                self.need(&mut translation, id, entry, is_change);
            }
        }
        for change in &wave.changes {
            let Some(page) = page_of_change(change) else { continue };
            if matches!(change, Change::ReleaseBase(_)) && !translation.mirrors.is_in_use() {
                continue;
            }
            let slot = self.shape.entry(page);
            self.need(&mut translation, id, slot, !self.media.makes(FlashFault::ForgetChange));
            if let (Some(entry), Change::ReleaseBase(_) | Change::ReleaseCopy(_)) = (translation.mirrors.entry(slot), change) {
                self.need(&mut translation, id, entry, true);
            }
        }
        let is_ready = translation.held[id as usize].missing == 0;
        if !is_ready {
            translation.keep(id, wave);
        }
        self.translation = Some(translation);
        is_ready
    }

    /// Operation `id` needs an entry.
    fn need(&mut self, translation: &mut Translation, id: u32, entry: u32, is_change: bool) {
        let pins = &mut translation.held[id as usize].pins;
        if let Some(pin) = translation.pins.find(*pins, |pin| pin.0 == entry) {
            pin.1 |= is_change;
            return;
        }
        translation.pins.push(pins, (entry, is_change));
        let page = translation.page_of(entry);
        match translation.table.pin(entry) {
            Lookup::Hit => translation.counts.hits += 1,
            Lookup::Loading => {
                translation.counts.misses += 1;
                translation.wait(id, entry, page);
            }
            Lookup::Miss => {
                translation.counts.misses += 1;
                self.load(translation, id, entry, page);
            }
        }
    }

    /// Makes space for an entry and has it read for operation `id`.
    fn load(&mut self, translation: &mut Translation, id: u32, entry: u32, page: u32) {
        let mut write = NIL;
        while let Some(victim) = translation.table.evict_one() {
            translation.counts.evictions += 1;
            if let EvictedEntry::Dirty(victim) = victim {
                translation.counts.dirty_evictions += 1;
                let page_of_victim = translation.page_of(victim);
                let id = self.write_translation_page(translation, page_of_victim);
                translation.victims.push(&mut translation.work[id as usize].victims, victim);
                write = id;
            }
        }
        // It waits for its own page if that is about to be written, else for one of the victims' (there are several only after the table had
        // to exceed its capacity).
        if translation.queued[page as usize] != NIL {
            write = translation.queued[page as usize];
        }
        translation.table.insert(entry);
        if translation.loading[page as usize] == NIL {
            if write == NIL && translation.on_flash[page as usize] == 0 {
                // The page says nothing yet, and nothing is in the way.
                translation.table.loaded(entry);
                return;
            }
            let operation = translation.operation(page, Lock::None, 0);
            translation.loading[page as usize] = self.admit_work(translation, operation, write);
        }
        translation.wait(id, entry, page);
    }

    /// The operation that will write what is new of a translation page; it has not begun to.
    fn write_translation_page(&mut self, translation: &mut Translation, page: u32) -> u32 {
        if translation.queued[page as usize] == NIL {
            let space = translation.copies(page).iter().fold(0, |members, copy| members | 1 << copy.member.0);
            let operation = translation.operation(page, Lock::Exclusive, space);
            translation.queued[page as usize] = self.admit_work(translation, operation, NIL);
        }
        translation.queued[page as usize]
    }

    pub(super) fn admit_work(&mut self, translation: &mut Translation, operation: Operation, after: u32) -> u32 {
        let id = self.admit_after(operation, TRANSLATION, after);
        if translation.work.len() <= id as usize {
            let nothing = TranslationWork { version: 0, victims: EMPTY, waiting: EMPTY, written: Vec::new(), knows_page: false };
            translation.work.resize((id as usize + 1).next_power_of_two(), nothing);
        }
        id
    }

    /// Whether the operation's wave waits for entries.
    pub(in crate::engine) fn is_held(&self, id: u32) -> bool {
        self.translation.as_ref().is_some_and(|translation| translation.held.get(id as usize).is_some_and(|held| held.missing > 0))
    }

    /// Gives the kept wave of an operation back: its entries are there.
    pub(in crate::engine) fn take_held(&mut self, id: u32, wave: &mut Wave) {
        let translation = self.translation.as_mut().expect("who holds waves");
        let held = &mut translation.held[id as usize];
        wave.background = held.background;
        while let Some(page_operation) = translation.waves.pop(&mut held.wave) {
            wave.operations.push(page_operation);
        }
    }

    /// An operation has ended, with its programs and changes in the map.
    pub(in crate::engine) fn settle_translation(&mut self, id: u32, operation: &Operation, is_translation: bool, failed: bool) {
        let translation = self.translation.as_mut().expect("only under DFTL");
        if is_translation {
            translation.ended(id, operation, &self.media, &mut self.operations.ready);
            return;
        }
        let Some(held) = translation.held.get_mut(id as usize) else { return };
        let mut pins = std::mem::replace(&mut held.pins, EMPTY);
        while let Some((entry, is_change)) = translation.pins.pop(&mut pins) {
            if is_change && !failed {
                translation.table.set_dirty(entry, translation.page_of(entry));
                if translation.mirrors.entry(entry).is_some() && self.media.lookup(self.shape.page(entry), Version::Copy).is_none() {
                    translation.mirrors.release(entry);
                }
            }
            translation.table.unpin(entry);
        }
    }

    /// Takes notice of what GC moved, and returns whether it did anything. What is not cached is written when the GC run has ended,
    /// all entries of a page at once.
    pub(in crate::engine) fn take_map_events(&mut self) -> bool {
        let mut translation = self.translation.take().expect("only under DFTL");
        let mut all_news = std::mem::take(&mut translation.news);
        self.media.swap_map_events(&mut all_news);
        if self.media.makes(FlashFault::ForgetMoves) {
            all_news.clear();
        }
        let any = !all_news.is_empty();
        for news in all_news.drain(..) {
            match news {
                MapEvent::Moved { plane, version, slot } => translation.moved(plane, version, slot, &self.media),
                MapEvent::Ended { plane } => {
                    let mut pages = std::mem::take(&mut translation.grouped[plane as usize]);
                    for page in pages.drain(..) {
                        if translation.stale[page as usize] {
                            self.write_translation_page(&mut translation, page);
                        }
                        if self.media.makes(FlashFault::WriteFirstStale) {
                            break;
                        }
                    }
                    translation.grouped[plane as usize] = pages;
                }
            }
        }
        translation.news = all_news;
        self.translation = Some(translation);
        any
    }

    /// The content that a program of a translation operation writes, or that its read must find.
    pub(in crate::engine) fn stamp_of(&self, id: u32) -> u64 {
        let translation = self.translation.as_ref().expect("only under DFTL");
        stamp(self.operations.operation(id).stripe.0 & !LOCK, translation.work[id as usize].version)
    }

    /// A read of a translation page has ended, for the operation that wanted it.
    pub(in crate::engine) fn translation_page_read(&mut self, id: u32) {
        self.translation.as_mut().expect("only under DFTL").work[id as usize].knows_page = true;
    }

    /// Whether the translation page is being written, or about to be.
    pub(crate) fn writes_translation_page(&self, page: u32) -> bool {
        self.operations.locks.is_locked(lock_of(page).0)
    }

    #[cfg(feature = "mutants")]
    pub(in crate::engine) fn switch_map_early(&mut self, id: u32) {
        let page = self.operations.operation(id).stripe.0 ^ LOCK;
        if self.has_fault(crate::mutants::EngineFault::SwitchMapEarly) && page < LOCK {
            let translation = self.translation.as_mut().expect("whose page it is");
            translation.on_flash[page as usize] = translation.work[id as usize].version;
        }
    }
}

/// The page whose entry a change is of; `None` if it changes NVRAM alone.
fn page_of_change(change: &Change) -> Option<MemberPage> {
    match *change {
        Change::Unmap(address)
        | Change::ReleaseBase(address)
        | Change::ReleaseCopy(address)
        | Change::Lose(address)
        | Change::Retire(address) => Some(address),
        Change::Defer(..) | Change::ReleaseDeferred(_) => None,
    }
}
