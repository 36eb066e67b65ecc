//! What operations of the scheme need of the map, and what they and GC change in it.

use super::cache::{EvictedEntry, Lookup};
use super::lists::EMPTY;
use super::state::{LOCK, NO_WAVE, Translation, TranslationWork, stamp};
use crate::engine::content::Content;
use crate::engine::operations::Operations;
use crate::engine::slot::TRANSLATION;
use crate::media::{FlashFault, MapEvent, Media, Shape};
use flashraid_redundancy::{Lock, Operation, OperationKind};
use flashraid_vocabulary::{Action, Change, MemberPage, NIL, Version, Wave};

/// What translation operations are admitted with.
pub(in crate::engine) struct Admission<'a, C, M> {
    pub(in crate::engine) operations: &'a mut Operations,
    pub(in crate::engine) content: &'a mut C,
    pub(in crate::engine) media: &'a M,
    pub(in crate::engine) shape: &'a Shape,
    /// Number of the versions that the latest request makes.
    pub(in crate::engine) latest: u64,
    /// A deliberate fault: nothing is repaired.
    #[cfg(feature = "mutants")]
    pub(in crate::engine) skips_repairs: bool,
}

impl<C: Content, M: Media> Admission<'_, C, M> {
    /// Admits a translation operation. It starts when operation `after` has ended, if there is one.
    fn admit(&mut self, operation: &Operation, after: u32) -> u32 {
        let id = self.operations.add(operation, NIL, TRANSLATION);
        if C::TRACKED {
            self.content.begin(id, operation, None, self.latest, &[]);
        }
        self.operations.start_in_turn(id, after);
        id
    }
}

impl Translation {
    /// Sees to it that the entries of all pages of a wave are cached, and pins them. If some have to be loaded first, keeps the wave and returns
    /// false; the operation is among `ready` when they are there.
    pub(in crate::engine) fn translate<C: Content, M: Media>(&mut self, id: u32, wave: &mut Wave, with: &mut Admission<'_, C, M>) -> bool {
        if self.held.len() <= id as usize {
            self.held.resize((id as usize + 1).next_power_of_two(), NO_WAVE);
        }
        debug_assert!(self.held[id as usize].missing == 0);
        for page_operation in &wave.operations {
            let is_change = page_operation.action == Action::Program;
            let slot = with.shape.entry(page_operation.address);
            self.need(id, slot, is_change, with);
            if page_operation.version != Version::Current && self.mirrors.is_in_use() {
                let entry = self.mirrors.entry_or_new(slot);
                self.need(id, entry, is_change, with);
            }
        }
        for change in &wave.changes {
            let Some(page) = page_of_change(change) else { continue };
            if matches!(change, Change::ReleaseBase(_)) && !self.mirrors.is_in_use() {
                continue;
            }
            let slot = with.shape.entry(page);
            self.need(id, slot, !with.media.makes(FlashFault::ForgetChange), with);
            if let (Some(entry), Change::ReleaseBase(_) | Change::ReleaseCopy(_)) = (self.mirrors.entry(slot), change) {
                self.need(id, entry, true, with);
            }
        }
        let is_ready = self.held[id as usize].missing == 0;
        if !is_ready {
            self.keep(id, wave);
        }
        is_ready
    }

    /// Operation `id` needs an entry.
    fn need<C: Content, M: Media>(&mut self, id: u32, entry: u32, is_change: bool, with: &mut Admission<'_, C, M>) {
        let pins = &mut self.held[id as usize].pins;
        if let Some(pin) = self.pins.find(*pins, |pin| pin.0 == entry) {
            pin.1 |= is_change;
            return;
        }
        self.pins.push(pins, (entry, is_change));
        let page = self.layout.page_of(entry);
        match self.table.pin(entry) {
            Lookup::Hit => self.counts.hits += 1,
            Lookup::Loading => {
                self.counts.misses += 1;
                self.wait(id, entry, page);
            }
            Lookup::Miss => {
                self.counts.misses += 1;
                self.load(id, entry, page, with);
            }
        }
    }

    /// Makes space for an entry and has it read for operation `id`.
    fn load<C: Content, M: Media>(&mut self, id: u32, entry: u32, page: u32, with: &mut Admission<'_, C, M>) {
        let mut write = NIL;
        while let Some(victim) = self.table.evict_one() {
            self.counts.evictions += 1;
            if let EvictedEntry::Dirty(victim) = victim {
                self.counts.dirty_evictions += 1;
                let page_of_victim = self.layout.page_of(victim);
                let id = self.write_page(page_of_victim, with);
                self.victims.push(&mut self.work[id as usize].victims, victim);
                write = id;
            }
        }
        // It waits for its own page if that is about to be written, else for one of the victims' (there are several only after the table had
        // to exceed its capacity).
        if self.queued[page as usize] != NIL {
            write = self.queued[page as usize];
        }
        self.table.insert(entry);
        if self.loading[page as usize] == NIL {
            if write == NIL && self.on_flash[page as usize] == 0 {
                // The page says nothing yet, and nothing is in the way.
                self.table.loaded(entry);
                return;
            }
            let operation = self.operation(page, Lock::None, 0);
            self.loading[page as usize] = self.admit(&operation, write, with);
        }
        self.wait(id, entry, page);
    }

    /// The operation that will write what is new of a translation page; it has not begun to.
    fn write_page<C: Content, M: Media>(&mut self, page: u32, with: &mut Admission<'_, C, M>) -> u32 {
        if self.queued[page as usize] == NIL {
            let space = self.layout.copies(page).iter().fold(0, |members, copy| members | 1 << copy.member.0);
            let operation = self.operation(page, Lock::Exclusive, space);
            self.queued[page as usize] = self.admit(&operation, NIL, with);
        }
        self.queued[page as usize]
    }

    fn admit<C: Content, M: Media>(&mut self, operation: &Operation, after: u32, with: &mut Admission<'_, C, M>) -> u32 {
        let id = with.admit(operation, after);
        if self.work.len() <= id as usize {
            let nothing = TranslationWork { version: 0, victims: EMPTY, waiting: EMPTY, written: Vec::new(), knows_page: false };
            self.work.resize((id as usize + 1).next_power_of_two(), nothing);
        }
        id
    }

    /// Whether the operation's wave waits for entries.
    pub(in crate::engine) fn is_held(&self, id: u32) -> bool {
        self.held.get(id as usize).is_some_and(|held| held.missing > 0)
    }

    /// Gives the kept wave of an operation back: its entries are there.
    pub(in crate::engine) fn take_held(&mut self, id: u32, wave: &mut Wave) {
        let held = &mut self.held[id as usize];
        wave.background = held.background;
        while let Some(page_operation) = self.waves.pop(&mut held.wave) {
            wave.operations.push(page_operation);
        }
    }

    /// An operation of the scheme has ended, with its programs and changes in the map.
    pub(in crate::engine) fn settle(&mut self, id: u32, failed: bool, media: &impl Media, shape: &Shape) {
        let Some(held) = self.held.get_mut(id as usize) else { return };
        let mut pins = std::mem::replace(&mut held.pins, EMPTY);
        while let Some((entry, is_change)) = self.pins.pop(&mut pins) {
            if is_change && !failed {
                self.table.set_dirty(entry, self.layout.page_of(entry));
                if self.mirrors.entry(entry).is_some() && media.lookup(shape.page(entry), Version::Copy).is_none() {
                    self.mirrors.release(entry);
                }
            }
            self.table.unpin(entry);
        }
    }

    /// Takes notice of what GC moved, and returns whether it did anything. What is not cached is written when the GC run has ended,
    /// all entries of a page at once.
    pub(in crate::engine) fn note_moves<C: Content, M: Media>(
        &mut self,
        mut all_news: Vec<MapEvent>,
        with: &mut Admission<'_, C, M>,
    ) -> bool {
        if with.media.makes(FlashFault::ForgetMoves) {
            all_news.clear();
        }
        let any = !all_news.is_empty();
        for news in all_news.drain(..) {
            match news {
                MapEvent::Moved { plane, version, slot } => self.moved(plane, version, slot, with.media),
                MapEvent::Ended { plane } => {
                    let mut pages = std::mem::take(&mut self.grouped[plane as usize]);
                    for page in pages.drain(..) {
                        if self.stale[page as usize] {
                            self.write_page(page, with);
                        }
                        if with.media.makes(FlashFault::WriteFirstStale) {
                            break;
                        }
                    }
                    self.grouped[plane as usize] = pages;
                }
            }
        }
        self.news = all_news;
        any
    }

    /// The content that a program of a translation operation, on the page with this lock, writes, or that its read must find.
    pub(in crate::engine) fn stamp_of(&self, id: u32, operations: &Operations) -> u64 {
        stamp(operations.operation(id).stripe.0 & !LOCK, self.work[id as usize].version)
    }

    /// A read of a translation page has ended, for the operation that wanted it.
    pub(in crate::engine) fn page_read(&mut self, id: u32) {
        self.work[id as usize].knows_page = true;
    }

    // ---- repairs ----

    /// Has a translation page repaired from its other copy (SPEC 6.2), if exactly one is lost.
    pub(in crate::engine) fn repair<C: Content, M: Media>(&mut self, page: u32, with: &mut Admission<'_, C, M>) {
        if let Some(copy) = self.lost_copy(page, with.media) {
            self.repair_copy(page, copy, with);
        }
    }

    /// The same for one of which an operation has left a copy without a place, if there is space for it by now.
    pub(in crate::engine) fn repair_unplaced<C: Content, M: Media>(&mut self, page: u32, with: &mut Admission<'_, C, M>) {
        // A write may have made both copies since, and a failure taken the other one too.
        if let Some(copy) = self.lost_copy(page, with.media) {
            match with.media.can_allocate(self.layout.copies(page)[copy]) {
                true => self.repair_copy(page, copy, with),
                false => self.unallocated.push(page),
            }
        }
    }

    fn repair_copy<C: Content, M: Media>(&mut self, page: u32, copy: usize, with: &mut Admission<'_, C, M>) {
        #[cfg(feature = "mutants")]
        if with.skips_repairs {
            return;
        }
        if copy == 1 && with.media.makes(FlashFault::RepairFirstCopy) {
            return;
        }
        let operation = self.operation(page, Lock::Exclusive, 1 << self.layout.copies(page)[copy].member.0);
        self.repairs += 1;
        self.admit(&Operation { kind: OperationKind::Repair, ..operation }, NIL, with);
    }

    /// Whether repairs are in flight.
    pub(in crate::engine) fn is_repaired(&self) -> bool {
        self.repairs > 0
    }

    #[cfg(feature = "mutants")]
    pub(in crate::engine) fn switch_map_early(&mut self, id: u32, operations: &Operations) {
        let page = operations.operation(id).stripe.0 ^ LOCK;
        if page < LOCK {
            self.on_flash[page as usize] = self.work[id as usize].version;
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
