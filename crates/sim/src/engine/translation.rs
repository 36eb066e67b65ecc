//! DFTL (SPEC 6.2): what it costs to find and to store the map. The maps of the flash stay the truth; here is which of their entries RAM holds,
//! which translation pages are on flash, and the operations that read and program these.
//!
//! Before a wave is submitted the entries of all its pages must be cached; if some are not, the wave is held in its operation's slot while
//! translation pages are read. An entry stays pinned until its operation has ended, when it is dirty if the operation changed it. A translation
//! page is stored on two members; one operation programs both, and with its end both count.
//!
//! Where a device has mirror chips, an entry also says which entry of its member's mirror table holds the addresses of the base and the copy
//! (SPEC 1.2: MA, EPPN, MPPN), and a second set of translation pages holds these tables. Their entries are numbered behind the others.
//!
//! No cycle: an operation waits for its translation with its lock and its promised pages in hand. A translation operation waits for the
//! lock of its translation page, for space in translation planes and for flash, and none of these ever waits for a scheme's operation.

use super::content::Content;
use super::operations::TRANSLATION;
use super::{Dftl, Engine, NIL, ROOM};
use crate::media::{FlashFault, MapNews, Media, Shape};
use flashraid_flash::mapping::cache::{CachedMap, Lookup, Victim};
use flashraid_redundancy::{Lock, Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::memory::{reserved, zeroed};
use flashraid_vocabulary::{Action, Cause, Change, Lpn, MemberPage, PageOperation, Priority, Sources, StripeId, Version, Wave};
use rustc_hash::FxHashSet;

/// Locks of translation pages have numbers beyond those of stripes.
const LOCK: u32 = 1 << 31;

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

/// Lists that share their memory: first in, first out.
#[derive(Clone, Debug)]
struct Lists<T> {
    nodes: Vec<(T, u32)>,
    free: u32,
}

/// First and last node of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List(u32, u32);

const EMPTY: List = List(NIL, NIL);

impl<T: Copy> Lists<T> {
    fn new() -> Self {
        Self { nodes: reserved(ROOM), free: NIL }
    }

    fn push(&mut self, list: &mut List, value: T) {
        let node = match self.free {
            NIL => {
                self.nodes.push((value, NIL));
                self.nodes.len() as u32 - 1
            }
            node => {
                self.free = self.nodes[node as usize].1;
                self.nodes[node as usize] = (value, NIL);
                node
            }
        };
        match *list {
            EMPTY => list.0 = node,
            List(_, last) => self.nodes[last as usize].1 = node,
        }
        list.1 = node;
    }

    fn pop(&mut self, list: &mut List) -> Option<T> {
        let (value, next) = *self.nodes.get(list.0 as usize)?;
        self.nodes[list.0 as usize].1 = std::mem::replace(&mut self.free, list.0);
        *list = if next == NIL { EMPTY } else { List(next, list.1) };
        Some(value)
    }

    fn find(&mut self, list: List, is_wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        let mut node = list.0;
        while node != NIL && !is_wanted(&self.nodes[node as usize].0) {
            node = self.nodes[node as usize].1;
        }
        self.nodes.get_mut(node as usize).map(|(value, _)| value)
    }
}

/// A wave that waits for entries, and the entries that its operation uses.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The wave's page operations.
    wave: List,
    background: bool,
    /// Entries not loaded yet.
    missing: u32,
    /// Entries that the operation has pinned, and whether it changes them.
    pins: List,
}

const NOTHING_HELD: Held = Held { wave: EMPTY, background: false, missing: 0, pins: EMPTY };

/// What a translation operation is at.
#[derive(Clone, Debug)]
struct Work {
    /// The version of the translation page that it reads or writes.
    version: u32,
    /// Dirty entries that leave when their translation page is written.
    victims: List,
    /// Operations that wait for entries of the page that is read, and for which.
    waiting: List,
    /// Entries written, with what they say: only if contents are tracked.
    written: Vec<(u32, u64)>,
    /// What the page said before is known: a read of it has ended, or there was nothing to read.
    knows_page: bool,
}

/// What the translation pages on flash say: only if contents are tracked.
#[derive(Clone, Debug)]
struct Stored {
    entries: Vec<u64>,
    /// Entries that the collector changed and that are not cached.
    moved: FxHashSet<u32>,
    /// Entries of pages that appeared without time: what is being written of their translation pages says so too.
    appeared: FxHashSet<u32>,
}

/// The mirror tables of all members: which entry belongs to which slot of the flash's maps.
#[derive(Clone, Debug)]
struct MirrorTable {
    members: u32,
    /// Local pages of a member.
    pages_per_member: u32,
    /// Number, among the entries of a member, of the first of its mirror table: at the start of a translation page.
    first: u32,
    /// By slot: its entry, plus 1; 0 for none.
    of_slot: Vec<u32>,
    /// By entry, from the first on: its slot, plus 1; 0 for none.
    slots: Vec<u32>,
    /// By member: entries given back, and how many were ever in use.
    unused: Vec<Vec<u32>>,
    used: Vec<u32>,
}

impl MirrorTable {
    /// Whether there are mirror chips.
    fn is_in_use(&self) -> bool {
        !self.of_slot.is_empty()
    }

    fn new(members: u32, pages_per_member: u32, dftl: Dftl) -> Self {
        let slots = if dftl.mirror_entries == 0 { 0 } else { (pages_per_member * members) as usize };
        Self {
            members,
            pages_per_member,
            first: pages_per_member.next_multiple_of(dftl.entries_per_page),
            of_slot: zeroed(slots),
            slots: zeroed((dftl.mirror_entries * members) as usize),
            unused: vec![Vec::new(); members as usize],
            used: vec![0; members as usize],
        }
    }

    /// The entry with the base and the copy of a slot, if it has one.
    fn entry(&self, slot: u32) -> Option<u32> {
        self.of_slot.get(slot as usize)?.checked_sub(1)
    }

    /// The same; gives it one if it has none, which is before its first copy.
    fn entry_or_new(&mut self, slot: u32) -> u32 {
        if let Some(entry) = self.entry(slot) {
            return entry;
        }
        let member = slot % self.members;
        let entry = self.unused[member as usize].pop().unwrap_or_else(|| {
            let used = &mut self.used[member as usize];
            *used += 1;
            (self.first + *used - 1) * self.members + member
        });
        self.of_slot[slot as usize] = entry + 1;
        self.slots[(entry - self.first * self.members) as usize] = slot + 1;
        entry
    }

    /// The slot has no copy any more.
    fn release(&mut self, slot: u32) {
        if let Some(entry) = self.entry(slot) {
            self.of_slot[slot as usize] = 0;
            self.slots[(entry - self.first * self.members) as usize] = 0;
            self.unused[(slot % self.members) as usize].push(entry);
        }
    }

    /// What the map says of an entry: a number to compare; 0 for nothing.
    fn value(&self, media: &impl Media, entry: u32) -> u64 {
        let ppn = |slot: u32, version| media.lookup(media.page(slot), version).map_or(0, |ppn| u64::from(ppn.0) + 1);
        match self.slots.get((entry.wrapping_sub(self.first * self.members)) as usize) {
            Some(0) => 0,
            Some(slot) => ppn(slot - 1, Version::Copy) << 32 | ppn(slot - 1, Version::Base),
            None if entry >= self.pages_per_member * self.members => 0, // between the two sets
            None => {
                let mirrored = self.entry(entry).filter(|_| ppn(entry, Version::Copy) != 0);
                mirrored.map_or(0, |entry| u64::from(entry) + 1) << 32 | ppn(entry, Version::Current)
            }
        }
    }
}

/// See the module. Entries are numbered as the slots of the flash's maps are.
#[derive(Clone, Debug)]
pub struct Translation {
    table: CachedMap,
    mirrors: MirrorTable,
    members: u32,
    /// How many members on the second copy of a translation page is: in the next channel.
    to_twin: u32,
    /// Number of entries.
    entries: u32,
    /// Entries of a translation page, as a power of two.
    shift: u32,
    /// Translation pages of each member.
    pages: u32,
    /// Local page of a member's first translation page.
    first_page: u32,
    page_bytes: u32,
    /// By translation page: the version on flash (0 is none), and the newest that was programmed or is being programmed.
    on_flash: Vec<u32>,
    newest: Vec<u32>,
    /// By translation page: the operation that will write it and has not gathered its entries yet, and the one that reads it for somebody.
    queued: Vec<u32>,
    loading: Vec<u32>,
    /// By translation page: whether the collector changed entries of it that are not cached and not written.
    stale: Vec<bool>,
    /// By plane: translation pages that became stale by the collection that runs there.
    grouped: Vec<Vec<u32>>,
    /// By slot of an operation.
    held: Vec<Held>,
    waves: Lists<PageOperation>,
    work: Vec<Work>,
    pins: Lists<(u32, bool)>,
    victims: Lists<u32>,
    waiting: Lists<(u32, u32)>,
    news: Vec<MapNews>,
    /// Repairs under way.
    repairs: u32,
    /// Translation pages of which an operation has left a copy without a place, until there is room to repair it.
    unplaced: Vec<u32>,
    stored: Option<Stored>,
    /// What was counted.
    pub counts: TranslationCounts,
}

impl Translation {
    /// Nothing cached, nothing on flash. `tracked` says whether it is checked what translation pages say.
    pub fn new(shape: &Shape, dftl: Dftl, tracked: bool) -> Self {
        let members = shape.members;
        let shift = dftl.entries_per_page.trailing_zeros();
        let pages = shape.translation_pages / 2;
        let mirrors = MirrorTable::new(members, shape.pages_per_member, dftl);
        let entries = match dftl.mirror_entries {
            0 => shape.pages_per_member * members,
            mirror_entries => (mirrors.first + mirror_entries) * members,
        };
        let all_pages = (pages * members) as usize;
        Self {
            table: CachedMap::new(dftl.cmt_entries, entries as usize, all_pages),
            mirrors,
            members,
            to_twin: shape.to_twin,
            entries,
            shift,
            pages,
            first_page: shape.pages_per_member,
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
            unplaced: Vec::new(),
            stored: tracked.then(|| Stored {
                entries: vec![0; entries as usize],
                moved: FxHashSet::default(),
                appeared: FxHashSet::default(),
            }),
            counts: TranslationCounts::default(),
        }
    }

    /// The translation page of an entry.
    fn page_of(&self, entry: u32) -> u32 {
        ((entry / self.members) >> self.shift) * self.members + entry % self.members
    }

    /// Where the two copies of a translation page are.
    fn copies(&self, page: u32) -> [MemberPage; 2] {
        let (index, member) = (page / self.members, page % self.members);
        let copy = |member: u32, index: u32| MemberPage::new(member as u16, self.first_page + index);
        [copy(member, index), copy((member + self.to_twin) % self.members, self.pages + index)]
    }

    /// The copy of a translation page that is lost while the other one lives: 0 or 1.
    fn lost_copy(&self, page: u32, media: &impl Media) -> Option<usize> {
        let lost = self.copies(page).map(|copy| media.is_lost(copy, Version::Current));
        (lost[0] != lost[1]).then_some(usize::from(lost[1]))
    }

    /// The copy of a translation page at this address found no place.
    pub(super) fn unplaced(&mut self, address: MemberPage) {
        let page = self.page_at(address);
        if !self.unplaced.contains(&page) {
            self.unplaced.push(page);
        }
    }

    /// Whether a copy of a translation page stays lost until there is room for it.
    pub(super) fn waits_for_room(&self) -> bool {
        !self.unplaced.is_empty()
    }

    /// Entries in a translation page.
    fn entries_of(&self, page: u32) -> impl Iterator<Item = u32> + use<> {
        entries_of(page, self.members, self.shift, self.entries)
    }

    /// The translation page of which a copy is at this address.
    fn page_at(&self, address: MemberPage) -> u32 {
        let (index, member) = (address.page.0 - self.first_page, u32::from(address.member.0));
        match index.checked_sub(self.pages) {
            None => index * self.members + member,
            Some(index) => index * self.members + (member + self.members - self.to_twin) % self.members,
        }
    }

    /// A translation page appeared on flash without time, in its first version.
    fn placed(&mut self, page: u32) {
        (self.on_flash[page as usize], self.newest[page as usize]) = (1, 1);
    }

    /// Keeps the page operations of a wave.
    fn keep(&mut self, id: u32, wave: &mut Wave) {
        let held = &mut self.held[id as usize];
        held.background = wave.background;
        wave.operations.drain(..).for_each(|page_operation| self.waves.push(&mut held.wave, page_operation));
    }

    /// Operation `id` waits for an entry of a page that is being read.
    fn wait(&mut self, id: u32, entry: u32, page: u32) {
        self.held[id as usize].missing += 1;
        let load = self.loading[page as usize];
        self.waiting.push(&mut self.work[load as usize].waiting, (id, entry));
    }

    /// Number of translation pages.
    pub fn pages(&self) -> u32 {
        self.pages * self.members
    }

    /// Entries cached now.
    pub fn cached(&self) -> u32 {
        self.table.len()
    }

    /// The version of a translation page on flash, if it is there, and where its copies are.
    pub fn stored_at(&self, page: u32) -> Option<(u32, [MemberPage; 2])> {
        Some(self.on_flash[page as usize]).filter(|version| *version > 0).map(|version| (version, self.copies(page)))
    }

    /// Entries of which translation pages say something else than the map does, although neither the table nor the list of moved entries
    /// knows better. `is_busy` tells which translation pages are being written.
    pub(crate) fn forgotten(&self, media: &impl Media, is_busy: impl Fn(u32) -> bool) -> u64 {
        let Some(stored) = &self.stored else { return 0 };
        let is_forgotten = |entry: &u32| {
            stored.entries[*entry as usize] != self.mirrors.value(media, *entry)
                && !self.table.is_dirty(*entry)
                && !stored.moved.contains(entry)
                && !is_busy(self.page_of(*entry))
        };
        (0..self.entries).filter(is_forgotten).count() as u64
    }

    /// Entries that GC changed, that no translation page says, and that nobody is about to write. Unless a collection runs there must be none.
    pub(crate) fn unwritten_moves(&self) -> u64 {
        let is_forgotten = |entry: &&u32| self.queued[self.page_of(**entry) as usize] == NIL;
        self.stored.as_ref().map_or(0, |stored| stored.moved.iter().filter(is_forgotten).count() as u64)
    }

    fn operation(&self, page: u32, lock: Lock, space: u64) -> Operation {
        let own = self.copies(page)[0].page;
        Operation { lock, ..Operation::background(OperationKind::Job, lock_of(page), own, Lpn(0), space) }
    }

    /// Plans a translation operation: one without space reads its page; the others read it, if it is on flash, and program both copies, or
    /// the one that is lost. (If both are lost, a controller would have to scan the headers of all pages; no time is taken for that.)
    pub(super) fn step(&mut self, id: u32, operation: &mut Operation, outcomes: Outcomes, media: &impl Media, wave: &mut Wave) -> Step {
        if outcomes.unplaced != 0 {
            return Step::Done; // the copy that found no page is lost
        }
        let page = operation.stripe.0 & !LOCK;
        let copies = self.copies(page);
        let page_bytes = self.page_bytes;
        let page_operation = |action: Action, address: MemberPage| PageOperation {
            action,
            version: Version::Current,
            cause: Cause::Metadata,
            priority: Priority::Host,
            host_waits: false,
            keep_base: false,
            address,
            bytes: page_bytes,
            sources: Sources::default(),
            strip: PageOperation::NO_STRIP,
        };
        let first_step = operation.step == 0;
        operation.step += 1;
        let is_load = operation.space == 0;
        // Of a page that is being written the controller still has the new version.
        let in_hand = is_load && self.newest[page as usize] > self.on_flash[page as usize];
        self.counts.in_hand += u64::from(in_hand && self.on_flash[page as usize] > 0);
        let lost = copies.map(|copy| media.is_lost(copy, Version::Current));
        let is_repair = operation.kind == OperationKind::Repair;
        if is_repair && first_step && (lost == [false; 2] || lost == [true; 2]) {
            return Step::Nothing;
        }
        let must_read = self.on_flash[page as usize] > 0 && !in_hand && lost != [true; 2];
        if first_step {
            self.work[id as usize].knows_page = !must_read;
        }
        if first_step && must_read && !(media.makes(FlashFault::WriteWithoutRead) && !is_load && !is_repair) {
            let [own, twin] = copies.map(|copy| media.load_at(copy, Version::Current));
            let is_twin = if lost == [false; 2] { twin < own } else { lost[0] };
            wave.operations.push(page_operation(Action::Read, copies[usize::from(is_twin)]));
            self.work[id as usize].version = self.on_flash[page as usize];
            return if is_load { Step::Last } else { Step::Wave };
        }
        if is_load {
            return Step::Done;
        }
        if is_repair {
            let lost_one = copies[usize::from(operation.space >> copies[1].member.0 & 1 == 1)];
            wave.operations.push(PageOperation { cause: Cause::Rebuild, ..page_operation(Action::Program, lost_one) });
            return Step::Last;
        }
        self.gather(id, page, media);
        wave.operations.extend(copies.map(|copy| page_operation(Action::Program, copy)));
        Step::Last
    }

    /// All that is newer than the translation page goes into it.
    fn gather(&mut self, id: u32, page: u32, media: &impl Media) {
        self.queued[page as usize] = NIL;
        self.stale[page as usize] = false;
        self.newest[page as usize] += 1;
        let work = &mut self.work[id as usize];
        work.version = self.newest[page as usize];
        let Some(Stored { moved, appeared, .. }) = &mut self.stored else { return self.table.clean(page, |_| {}) };
        let mirrors = &self.mirrors;
        self.table.clean(page, |entry| {
            appeared.remove(&entry);
            work.written.push((entry, mirrors.value(media, entry)));
        });
        let (members, shift) = (self.members, self.shift);
        moved.retain(|entry| {
            let is_here = ((*entry / members) >> shift) * members + *entry % members == page;
            if is_here {
                appeared.remove(entry);
                work.written.push((*entry, mirrors.value(media, *entry)));
            }
            !is_here
        });
    }

    /// A translation operation has ended. Appends the operations that need wait no more to `ready`.
    fn ended(&mut self, id: u32, operation: &Operation, media: &impl Media, ready: &mut Vec<u32>) {
        let page = operation.stripe.0 & !LOCK;
        let work = &mut self.work[id as usize];
        if operation.kind == OperationKind::Repair {
            self.repairs -= 1;
            return;
        }
        if operation.space == 0 {
            self.loading[page as usize] = NIL;
            while let Some((operation, entry)) = self.waiting.pop(&mut work.waiting) {
                self.table.loaded(entry);
                let held = &mut self.held[operation as usize];
                held.missing -= 1;
                if held.missing == 0 {
                    ready.push(operation);
                }
            }
            return;
        }
        self.on_flash[page as usize] = work.version;
        if media.makes(FlashFault::DropLateChange) {
            self.table.clean(page, |_| {});
        }
        while let Some(entry) = self.victims.pop(&mut work.victims) {
            self.table.written(entry);
        }
        if let Some(stored) = &mut self.stored {
            if !work.knows_page {
                entries_of(page, self.members, self.shift, self.entries).for_each(|entry| stored.entries[entry as usize] = 0);
            }
            for (entry, value) in work.written.drain(..).filter(|(entry, _)| !stored.appeared.contains(entry)) {
                stored.entries[entry as usize] = value;
            }
        }
    }

    /// The collector moved a version of a page, or gave it up.
    fn moved(&mut self, plane: u32, version: Version, slot: u32, media: &impl Media) {
        let entry = match version {
            Version::Current => slot,
            // What is kept for parities that NVRAM holds is known to NVRAM too (SPEC 6.2).
            _ if !self.mirrors.is_in_use() => return,
            Version::Base | Version::Copy => match self.mirrors.entry(slot) {
                Some(entry) => entry,
                None => {
                    // An operation that ends releases its pages one after another. Releasing one may start a collection, which
                    // gives up the next one if that cannot be read; then the operation releases that, too, and its entry.
                    assert!(media.lookup(media.page(slot), version).is_none(), "who has a base or a copy has an entry for it");
                    return;
                }
            },
            Version::Delayed => unreachable!("never on flash"),
        };
        let page = self.page_of(entry);
        if self.table.contains(entry) {
            self.table.set_dirty(entry, page);
            return;
        }
        if let Some(stored) = &mut self.stored {
            stored.moved.insert(entry);
        }
        if !std::mem::replace(&mut self.stale[page as usize], true) {
            self.grouped[plane as usize].push(page);
        }
    }
}

/// Entries in a translation page of `1 << shift` entries, of `entries` in all.
fn entries_of(page: u32, members: u32, shift: u32, entries: u32) -> impl Iterator<Item = u32> + use<> {
    let first = (page / members) << shift;
    (first..first + (1 << shift)).map(move |local| local * members + page % members).take_while(move |entry| *entry < entries)
}

/// The content of a version of a translation page, which no other has.
pub(crate) fn stamp(page: u32, version: u32) -> u64 {
    (u64::from(page) << 32 | u64::from(version)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
}

/// The lock of a translation page.
pub(super) fn lock_of(page: u32) -> StripeId {
    StripeId(LOCK | page)
}

/// The page whose entry a change is of; `None` if it changes NVRAM alone.
fn page_of_change(change: &Change) -> Option<MemberPage> {
    match *change {
        Change::Unmap(address)
        | Change::ReleaseBase(address)
        | Change::ReleaseCopy(address)
        | Change::Lose(address)
        | Change::Retire(address) => Some(address),
        Change::Delay(..) | Change::ReleaseDelayed(_) => None,
    }
}

impl<C: Content, M: Media> Engine<C, M> {
    /// Sees to it that the entries of all pages of a wave are cached, and pins them. If some have to be loaded first, keeps the wave and returns
    /// false; the operation is among `ready` when they are there.
    pub(super) fn translate(&mut self, id: u32, wave: &mut Wave) -> bool {
        let Some(mut translation) = self.translation.take() else { return true };
        if translation.held.len() <= id as usize {
            translation.held.resize((id as usize + 1).next_power_of_two(), NOTHING_HELD);
        }
        debug_assert!(translation.held[id as usize].missing == 0);
        for page_operation in &wave.operations {
            let is_change = page_operation.action == Action::Program;
            let slot = self.media.entry(page_operation.address);
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
            let slot = self.media.entry(page);
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

    /// Makes room for an entry and has it read for operation `id`.
    fn load(&mut self, translation: &mut Translation, id: u32, entry: u32, page: u32) {
        let mut write = NIL;
        while let Some(victim) = translation.table.make_room() {
            translation.counts.evictions += 1;
            if let Victim::Dirty(victim) = victim {
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

    fn admit_work(&mut self, translation: &mut Translation, operation: Operation, after: u32) -> u32 {
        let id = self.admit_after(operation, TRANSLATION, after);
        if translation.work.len() <= id as usize {
            let nothing = Work { version: 0, victims: EMPTY, waiting: EMPTY, written: Vec::new(), knows_page: false };
            translation.work.resize((id as usize + 1).next_power_of_two(), nothing);
        }
        id
    }

    /// Has each translation page of which one copy is lost repaired from the other (SPEC 6.2).
    pub(super) fn repair_translation_pages(&mut self) {
        let Some(mut translation) = self.translation.take() else { return };
        translation.unplaced.clear();
        for page in 0..translation.pages() {
            if let Some(copy) = translation.lost_copy(page, &self.media) {
                self.repair_translation_page(&mut translation, page, copy);
            }
        }
        self.translation = Some(translation);
    }

    /// The same for those of which an operation has left a copy without a place, where there is room for it by now.
    #[cold]
    pub(super) fn repair_unplaced_translation_pages(&mut self) {
        let Some(translation) = &mut self.translation else { return };
        for page in std::mem::take(&mut translation.unplaced) {
            let mut translation = self.translation.take().expect("not lent");
            // A write may have made both copies since, and a failure taken the other one too.
            if let Some(copy) = translation.lost_copy(page, &self.media) {
                match self.media.has_room(translation.copies(page)[copy]) {
                    true => self.repair_translation_page(&mut translation, page, copy),
                    false => translation.unplaced.push(page),
                }
            }
            self.translation = Some(translation);
            self.run_ready();
        }
    }

    fn repair_translation_page(&mut self, translation: &mut Translation, page: u32, copy: usize) {
        #[cfg(feature = "mutants")]
        if self.has_fault(crate::mutants::Fault::SkipMapRepair) {
            return;
        }
        if copy == 1 && self.media.makes(FlashFault::RepairFirstCopy) {
            return;
        }
        let operation = translation.operation(page, Lock::Exclusive, 1 << translation.copies(page)[copy].member.0);
        translation.repairs += 1;
        self.admit_work(translation, Operation { kind: OperationKind::Repair, ..operation }, NIL);
    }

    /// Whether repairs of translation pages are under way.
    pub(super) fn repairs_translation_pages(&self) -> bool {
        self.translation.as_ref().is_some_and(|translation| translation.repairs > 0)
    }

    /// Whether the operation's wave waits for entries.
    pub(super) fn is_held(&self, id: u32) -> bool {
        self.translation.as_ref().is_some_and(|translation| translation.held.get(id as usize).is_some_and(|held| held.missing > 0))
    }

    /// Gives the kept wave of an operation back: its entries are there.
    pub(super) fn take_held(&mut self, id: u32, wave: &mut Wave) {
        let translation = self.translation.as_mut().expect("who holds waves");
        let held = &mut translation.held[id as usize];
        wave.background = held.background;
        while let Some(page_operation) = translation.waves.pop(&mut held.wave) {
            wave.operations.push(page_operation);
        }
    }

    /// An operation has ended, with its programs and changes in the map.
    pub(super) fn settle_translation(&mut self, id: u32, operation: &Operation, is_translation: bool, failed: bool) {
        let translation = self.translation.as_mut().expect("only under DFTL");
        if is_translation {
            translation.ended(id, operation, &self.media, &mut self.ready);
            return;
        }
        let Some(held) = translation.held.get_mut(id as usize) else { return };
        let mut pins = std::mem::replace(&mut held.pins, EMPTY);
        while let Some((entry, is_change)) = translation.pins.pop(&mut pins) {
            if is_change && !failed {
                translation.table.set_dirty(entry, translation.page_of(entry));
                if translation.mirrors.entry(entry).is_some() && self.media.lookup(self.media.page(entry), Version::Copy).is_none() {
                    translation.mirrors.release(entry);
                }
            }
            translation.table.unpin(entry);
        }
    }

    /// Takes notice of what the collector moved, and returns whether it did anything. What is not cached is written when the collection has ended,
    /// all entries of a page at once.
    pub(super) fn take_map_news(&mut self) -> bool {
        let mut translation = self.translation.take().expect("only under DFTL");
        let mut all_news = std::mem::take(&mut translation.news);
        self.media.swap_map_news(&mut all_news);
        if self.media.makes(FlashFault::ForgetMoves) {
            all_news.clear();
        }
        let any = !all_news.is_empty();
        for news in all_news.drain(..) {
            match news {
                MapNews::Moved { plane, version, slot } => translation.moved(plane, version, slot, &self.media),
                MapNews::Ended { plane } => {
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
    pub(super) fn stamp_of(&self, id: u32) -> u64 {
        let translation = self.translation.as_ref().expect("only under DFTL");
        stamp(self.operation(id).stripe.0 & !LOCK, translation.work[id as usize].version)
    }

    /// A read of a translation page has ended, for the operation that wanted it.
    pub(super) fn translation_page_read(&mut self, id: u32) {
        self.translation.as_mut().expect("only under DFTL").work[id as usize].knows_page = true;
    }

    #[cfg(feature = "mutants")]
    pub(super) fn switch_map_early(&mut self, id: u32) {
        let page = self.operation(id).stripe.0 ^ LOCK;
        if self.has_fault(crate::mutants::Fault::SwitchMapEarly) && page < LOCK {
            let translation = self.translation.as_mut().expect("whose page it is");
            translation.on_flash[page as usize] = translation.work[id as usize].version;
        }
    }

    // ---- without time ----

    /// Before the workload: every translation page with a mapped entry is on flash.
    pub(super) fn place_translation_pages(&mut self) {
        let Some(mut translation) = self.translation.take() else { return };
        for slot in 0..translation.mirrors.of_slot.len() as u32 {
            if self.media.lookup(self.media.page(slot), Version::Copy).is_some() {
                translation.mirrors.entry_or_new(slot);
            }
        }
        for page in 0..translation.pages() {
            let is_mapped = |entry: u32| translation.mirrors.value(&self.media, entry) != 0;
            if translation.on_flash[page as usize] == 0 && translation.entries_of(page).any(is_mapped) {
                translation.placed(page);
                for copy in translation.copies(page) {
                    let (plane, ppn) = self.media.place_now(copy, Version::Current, false, &mut self.content);
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

    /// Adds to `pages`, which appear on flash without time, the translation pages that must appear with them.
    pub(super) fn add_translation_pages(&self, pages: &mut Vec<MemberPage>) {
        let Some(translation) = &self.translation else { return };
        for index in 0..pages.len() {
            let page = translation.page_of(self.media.entry(pages[index]));
            let is_there = translation.on_flash[page as usize] > 0 || self.writes_translation_page(page);
            let copies = translation.copies(page);
            if !is_there && !pages.contains(&copies[0]) {
                pages.extend(copies);
            }
        }
    }

    /// A page appeared on flash without time, and what the map says of it in its translation page; or a translation page did. Returns the
    /// content of that.
    pub(super) fn note_placed(&mut self, address: MemberPage) -> Option<u64> {
        let translation = self.translation.as_mut()?;
        if !self.shape.is_translation(address) {
            let entry = self.media.entry(address);
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
