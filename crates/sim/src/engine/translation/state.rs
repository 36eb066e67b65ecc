//! What of the map RAM holds, what translation pages are on flash, and what waits for which.

use super::cache::CachedMap;
use super::layout::TranslationLayout;
use super::lists::{EMPTY, List, Lists};
use super::mirrors::MirrorTable;
use crate::engine::options::Dftl;
use crate::engine::slot::ROOM;
use crate::media::{MapEvent, Media, Shape};
use flashraid_redundancy::{Lock, Operation, OperationKind};
use flashraid_vocabulary::memory::reserved;
use flashraid_vocabulary::{Lpn, MemberId, MemberPage, NIL, PageOperation, StripeId, Version, Wave, persistent};
use rustc_hash::FxHashSet;

/// Locks of translation pages have numbers beyond those of stripes.
pub(super) const LOCK: u32 = 1 << 31;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounts {
    /// Entries found cached, of those that operations needed; each operation looks an entry up once.
    pub hits: u64,
    /// Entries not found.
    pub misses: u64,
    /// Entries that left the table for others.
    pub evictions: u64,
    /// Of these, dirty ones, whose translation page had to be written first.
    pub dirty_evictions: u64,
    /// Translation pages that were not read because they were just being written, and the controller had their content.
    pub in_hand: u64,
}

/// A wave that waits for entries, and the entries that its operation uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldWave {
    /// The wave's page operations.
    pub(super) wave: List,
    pub(super) background: bool,
    /// Entries not loaded yet.
    pub(super) missing: u32,
    /// Entries that the operation has pinned, and whether it changes them.
    pub(super) pins: List,
}

pub(super) const NO_WAVE: HeldWave = HeldWave { wave: EMPTY, background: false, missing: 0, pins: EMPTY };

/// What a translation operation is at.
#[derive(Clone, Debug)]
pub(super) struct TranslationWork {
    /// The version of the translation page that it reads or writes.
    pub(super) version: u32,
    /// Dirty entries that leave when their translation page is written.
    pub(super) victims: List,
    /// Operations that wait for entries of the page that is read, and for which.
    pub(super) waiting: List,
    /// Entries written, with what they say: only if contents are tracked.
    pub(super) written: Vec<(u32, u64)>,
    /// What the page said before is known: a read of it has ended, or there was nothing to read.
    pub(super) knows_page: bool,
}

/// What the translation pages on flash say: only if contents are tracked.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) entries: Vec<u64>,
    /// Entries that GC changed and that are not cached.
    pub(super) moved: FxHashSet<u32>,
    /// Entries of pages that appeared in no simulated time: what is being written of their translation pages says so too.
    pub(super) appeared: FxHashSet<u32>,
}

/// See `translation`. Entries are numbered as the slots of the flash's maps are.
#[derive(Clone, Debug)]
pub struct Translation {
    pub(super) table: CachedMap,
    pub(super) mirrors: MirrorTable,
    pub(super) layout: TranslationLayout,
    pub(super) page_bytes: u32,
    /// By translation page: the version on flash (0 is none), and the newest that was programmed or is being programmed.
    pub(super) on_flash: Vec<u32>,
    pub(super) newest: Vec<u32>,
    /// By translation page: the operation that will write it and has not gathered its entries yet, and the one that reads it for somebody.
    pub(super) queued: Vec<u32>,
    pub(super) loading: Vec<u32>,
    /// By translation page: whether GC changed entries of it that are not cached and not written.
    pub(super) stale: Vec<bool>,
    /// By plane: translation pages that became stale by the GC run in progress there.
    pub(super) grouped: Vec<Vec<u32>>,
    /// By slot of an operation.
    pub(super) held: Vec<HeldWave>,
    pub(super) waves: Lists<PageOperation>,
    pub(super) work: Vec<TranslationWork>,
    pub(super) pins: Lists<(u32, bool)>,
    pub(super) victims: Lists<u32>,
    pub(super) waiting: Lists<(u32, u32)>,
    pub(in crate::engine) news: Vec<MapEvent>,
    /// Repairs in progress.
    pub(super) repairs: u32,
    /// Translation pages of which an operation has left a copy without a place, until there is space to repair it.
    pub(in crate::engine) unallocated: Vec<u32>,
    pub(super) stored: Option<Box<Stored>>,
    /// What was counted.
    pub counts: TranslationCounts,
}

persistent!(Stored {
    keeps [moved, appeared],
    arrays [entries],
});

// The table is kept too: who switches a drive off in order lets it write what RAM holds of the map, and read that again.
persistent!(Translation {
    keeps [table, mirrors],
    arrays [on_flash, newest, stale],
    parts [stored],
    // What is made of the configuration; work, of which there is none; statistics.
    anew [
        layout, page_bytes, queued, loading, grouped, held, waves, work, pins, victims, waiting, news, repairs, unallocated, counts,
    ],
});

impl Translation {
    /// Nothing cached, nothing on flash. `tracked` says whether it is checked what translation pages say.
    pub fn new(shape: &Shape, dftl: Dftl, tracked: bool) -> Self {
        let members = shape.members;
        let mirrors = MirrorTable::new(*shape, dftl);
        let entries = match dftl.mirror_entries {
            0 => shape.pages_per_member * members,
            mirror_entries => (mirrors.first + mirror_entries) * members,
        };
        let layout = TranslationLayout::new(shape, dftl, entries);
        let all_pages = layout.all_pages() as usize;
        Self {
            table: CachedMap::new(dftl.cmt_entries, entries as usize, all_pages),
            mirrors,
            layout,
            page_bytes: shape.page_bytes,
            on_flash: vec![0; all_pages],
            newest: vec![0; all_pages],
            queued: vec![NIL; all_pages],
            loading: vec![NIL; all_pages],
            stale: vec![false; all_pages],
            grouped: (0..shape.planes).map(|_| Vec::with_capacity(shape.pages_per_block as usize)).collect(),
            held: reserved(ROOM),
            waves: Lists::new(),
            work: reserved(ROOM),
            pins: Lists::new(),
            victims: Lists::new(),
            waiting: Lists::new(),
            news: Vec::new(),
            repairs: 0,
            unallocated: Vec::new(),
            stored: tracked.then(|| {
                let stored = Stored { entries: vec![0; entries as usize], moved: FxHashSet::default(), appeared: FxHashSet::default() };
                Box::new(stored)
            }),
            counts: TranslationCounts::default(),
        }
    }

    /// The copy of a translation page that is lost while the other one lives: 0 or 1.
    pub(super) fn lost_copy(&self, page: u32, media: &impl Media) -> Option<usize> {
        let lost = self.layout.copies(page).map(|copy| media.is_lost(copy, Version::Current));
        (lost[0] != lost[1]).then_some(usize::from(lost[1]))
    }

    /// The copy of a translation page at this address could not be allocated.
    pub(in crate::engine) fn unallocated(&mut self, address: MemberPage) {
        let page = self.layout.page_at(address);
        if !self.unallocated.contains(&page) {
            self.unallocated.push(page);
        }
    }

    /// Whether a copy of a translation page stays lost until there is space for it.
    pub(in crate::engine) fn waits_for_slot(&self) -> bool {
        !self.unallocated.is_empty()
    }

    /// A translation page appeared on flash in no simulated time, in its first version.
    pub(super) fn placed(&mut self, page: u32) {
        (self.on_flash[page as usize], self.newest[page as usize]) = (1, 1);
    }

    /// Keeps the page operations of a wave.
    pub(super) fn keep(&mut self, id: u32, wave: &mut Wave) {
        let held = &mut self.held[id as usize];
        held.background = wave.background;
        wave.operations.drain(..).for_each(|page_operation| self.waves.push(&mut held.wave, page_operation));
    }

    /// Operation `id` waits for an entry of a page that is being read.
    pub(super) fn wait(&mut self, id: u32, entry: u32, page: u32) {
        self.held[id as usize].missing += 1;
        let load = self.loading[page as usize];
        self.waiting.push(&mut self.work[load as usize].waiting, (id, entry));
    }

    /// Number of translation pages.
    pub fn pages(&self) -> u32 {
        self.layout.all_pages()
    }

    /// Entries cached now.
    pub fn cached(&self) -> u32 {
        self.table.len()
    }

    /// The version of a translation page on flash, if it is there, and where its copies are.
    pub fn stored_at(&self, page: u32) -> Option<(u32, [MemberPage; 2])> {
        Some(self.on_flash[page as usize]).filter(|version| *version > 0).map(|version| (version, self.layout.copies(page)))
    }

    /// Entries of which translation pages say something else than the map does, although neither the table nor the list of moved entries
    /// knows better. `is_busy` tells which translation pages are being written.
    pub(crate) fn forgotten(&self, media: &impl Media, is_busy: impl Fn(u32) -> bool) -> u64 {
        let Some(stored) = &self.stored else { return 0 };
        let is_forgotten = |entry: &u32| {
            stored.entries[*entry as usize] != self.mirrors.value(media, *entry)
                && !self.table.is_dirty(*entry)
                && !stored.moved.contains(entry)
                && !is_busy(self.layout.page_of(*entry))
        };
        (0..self.layout.entries).filter(is_forgotten).count() as u64
    }

    /// Entries that GC changed, that no translation page says, and that nobody is about to write. Unless a GC run is in flight there must be none.
    pub(crate) fn unwritten_moves(&self) -> u64 {
        let is_forgotten = |entry: &&u32| self.queued[self.layout.page_of(**entry) as usize] == NIL;
        self.stored.as_ref().map_or(0, |stored| stored.moved.iter().filter(is_forgotten).count() as u64)
    }

    pub(super) fn operation(&self, page: u32, lock: Lock, space: u64) -> Operation {
        Operation { lock, ..Operation::background(OperationKind::Job, lock_of(page), Lpn(0), space) }
    }

    /// The copy on a member, which has one, of the translation page with this lock.
    pub(in crate::engine) fn copy_on(&self, lock: StripeId, member: MemberId) -> MemberPage {
        let [own, twin] = self.layout.copies(lock.0 ^ LOCK);
        if own.member == member { own } else { twin }
    }
}

/// The content of a version of a translation page, which no other has.
pub(crate) fn stamp(page: u32, version: u32) -> u64 {
    (u64::from(page) << 32 | u64::from(version)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
}

/// The lock of a translation page.
pub(in crate::engine) fn lock_of(page: u32) -> StripeId {
    StripeId(LOCK | page)
}

/// Whether this is the lock of a translation page, and of no stripe.
#[inline]
pub(in crate::engine) fn is_lock(stripe: StripeId) -> bool {
    stripe.0 & LOCK != 0
}
