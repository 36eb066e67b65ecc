//! The cached mapping table of DFTL (SPEC 6.2): which entries of the map RAM holds. Pure bookkeeping, in no simulated time.
//!
//! A segmented LRU: an entry comes into the probationary segment, and into the protected one when it is used again; what the protected
//! one has no space for goes back to the head of the other, from whose tail entries leave. An entry in use by an operation is *pinned* and
//! in no segment; it is put at the head of its segment when the last of its users lets go. Dirty entries of one translation page are in
//! one list, so that they are written together.
//!
//! All arrays are flat, and nothing scans: each operation takes constant time, but for taking the dirty entries of a page, which takes
//! constant time for each.

use flashraid_vocabulary::slab::{NIL, Slab};
use flashraid_vocabulary::{linked, memory, persistent, persistent_words};

/// Entries beyond its capacity, all of them pinned, for which the table has space without growing.
const INITIAL_CAPACITY: usize = 1 << 16;
/// Share of the table that the protected segment may take, in percent.
const PROTECTED_PERCENT: u64 = 80;

/// Where an entry is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EntryState {
    /// In use; when it is let go it goes to the protected segment if it was used more than once.
    #[default]
    Pinned,
    Probationary,
    Protected,
    /// Chosen to leave, and waiting for its translation page to be written.
    Leaving,
}

#[derive(Clone, Copy, Debug, Default)]
struct CmtEntry {
    key: u32,
    state: EntryState,
    /// Used since it came: it belongs to the protected segment.
    used_again: bool,
    dirty: bool,
    is_loading: bool,
    pins: u32,
    /// Neighbors in its segment.
    newer: u32,
    older: u32,
    /// Neighbors among the dirty entries of its translation page.
    previous: u32,
    next: u32,
}

linked!(CmtEntry: newer);

persistent_words!(EntryState { Pinned, Probationary, Protected, Leaving });
persistent!(CmtEntry {
    keeps [key, state, used_again, dirty, newer, older, previous, next],
    anew [is_loading, pins], // nothing uses it
});

/// A segment: its newest and oldest entry, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Segment {
    newest: u32,
    oldest: u32,
    len: u32,
}

persistent!(Segment { keeps [newest, oldest, len], });

const EMPTY: Segment = Segment { newest: NIL, oldest: NIL, len: 0 };

/// What became of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The entry is there.
    Hit,
    /// It will be: it was inserted for somebody else and is not `loaded` yet.
    Loading,
    /// It is not: `evict_one`, then `insert`.
    Miss,
}

/// Who leaves to free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EvictedEntry {
    /// A clean entry has left.
    Clean,
    /// This dirty entry leaves once its translation page is written (`written`).
    Dirty(u32),
}

/// See the module. Keys are dense numbers of map entries; those of a translation page are neighbors only in the sense of `page_of`, which
/// the caller gives.
#[derive(Clone, Debug)]
pub(super) struct CachedMap {
    capacity: u32,
    most_protected: u32,
    /// Place of each key in `entries`, plus one; 0 if it is not cached.
    places: Vec<u32>,
    entries: Slab<CmtEntry>,
    len: u32,
    leaving: u32,
    probationary: Segment,
    protected: Segment,
    /// First dirty entry of each translation page.
    dirty: Vec<u32>,
}

persistent!(CachedMap {
    keeps [entries, len, leaving, probationary, protected],
    arrays [places, dirty],
    anew [capacity, most_protected],
});

impl CachedMap {
    /// An empty table for `capacity` entries of `keys`, which lie in `pages` translation pages.
    pub(super) fn new(capacity: u32, keys: usize, pages: usize) -> Self {
        Self {
            capacity,
            most_protected: (u64::from(capacity) * PROTECTED_PERCENT / 100) as u32,
            places: memory::zeroed(keys),
            entries: Slab::with_room((capacity as usize).min(keys) + INITIAL_CAPACITY),
            len: 0,
            leaving: 0,
            probationary: EMPTY,
            protected: EMPTY,
            dirty: memory::filled(NIL, pages),
        }
    }

    /// Entries in the table.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    fn place(&self, key: u32) -> Option<u32> {
        self.places[key as usize].checked_sub(1)
    }

    /// Whether the entry is cached.
    pub(super) fn contains(&self, key: u32) -> bool {
        self.place(key).is_some()
    }

    /// Whether the entry is cached and newer than what its translation page says.
    pub(super) fn is_dirty(&self, key: u32) -> bool {
        self.place(key).is_some_and(|place| self.entries[place].dirty)
    }

    /// Looks an entry up and pins it, if it is there.
    pub(super) fn pin(&mut self, key: u32) -> Lookup {
        let Some(place) = self.place(key) else { return Lookup::Miss };
        self.unlink(place);
        let entry = &mut self.entries[place];
        (entry.state, entry.used_again) = (EntryState::Pinned, true);
        entry.pins += 1;
        if entry.is_loading { Lookup::Loading } else { Lookup::Hit }
    }

    /// Makes space for one entry. `None` if there is space already, or if all entries are pinned or leaving: then the table exceeds its
    /// capacity for the moment. To be asked until it answers `None`.
    pub(super) fn evict_one(&mut self) -> Option<EvictedEntry> {
        if self.len - self.leaving < self.capacity {
            return None;
        }
        let place = [self.probationary.oldest, self.protected.oldest].into_iter().find(|place| *place != NIL)?;
        self.unlink(place);
        let CmtEntry { key, dirty, .. } = self.entries[place];
        if dirty {
            self.entries[place].state = EntryState::Leaving;
            self.leaving += 1;
            return Some(EvictedEntry::Dirty(key));
        }
        self.remove(place);
        Some(EvictedEntry::Clean)
    }

    /// Puts an entry that is not there into the table, pinned, and to be `loaded`.
    pub(super) fn insert(&mut self, key: u32) {
        debug_assert!(!self.contains(key));
        let entry = CmtEntry {
            key,
            state: EntryState::Pinned,
            used_again: false,
            dirty: false,
            is_loading: true,
            pins: 1,
            newer: NIL,
            older: NIL,
            previous: NIL,
            next: NIL,
        };
        let place = self.entries.put(entry);
        self.places[key as usize] = place + 1;
        self.len += 1;
    }

    /// A pinned entry has been read.
    pub(super) fn loaded(&mut self, key: u32) {
        let place = self.place(key).expect("pinned entries are cached");
        self.entries[place].is_loading = false;
    }

    /// One user of a pinned entry lets go.
    pub(super) fn unpin(&mut self, key: u32) {
        let place = self.place(key).expect("pinned entries are cached");
        let entry = &mut self.entries[place];
        entry.pins -= 1;
        if entry.pins > 0 {
            return;
        }
        if !entry.used_again {
            self.link(place, EntryState::Probationary);
            return;
        }
        self.link(place, EntryState::Protected);
        while self.protected.len > self.most_protected {
            let oldest = self.protected.oldest;
            self.unlink(oldest);
            self.link(oldest, EntryState::Probationary);
        }
    }

    /// Notes that a cached entry, of translation page `page`, is newer than what the page says.
    pub(super) fn set_dirty(&mut self, key: u32, page: u32) {
        let place = self.place(key).expect("only cached entries get dirty");
        if self.entries[place].dirty {
            return;
        }
        let first = std::mem::replace(&mut self.dirty[page as usize], place);
        let entry = &mut self.entries[place];
        (entry.dirty, entry.previous, entry.next) = (true, NIL, first);
        if first != NIL {
            self.entries[first].previous = place;
        }
    }

    /// All dirty entries of a translation page are about to be written: they are clean from now on. Those that wait to leave do so when
    /// this has happened (`left`). Calls `each` with their keys.
    pub(super) fn clean(&mut self, page: u32, mut each: impl FnMut(u32)) {
        let mut place = std::mem::replace(&mut self.dirty[page as usize], NIL);
        while place != NIL {
            let entry = &mut self.entries[place];
            each(entry.key);
            entry.dirty = false;
            place = entry.next;
        }
    }

    /// The translation page of a dirty victim is written: it leaves, unless it was used or changed since.
    pub(super) fn written(&mut self, key: u32) {
        let Some(place) = self.place(key) else { return };
        let CmtEntry { state, dirty, .. } = self.entries[place];
        if state != EntryState::Leaving {
            return;
        }
        self.leaving -= 1;
        if dirty {
            self.link(place, EntryState::Probationary);
        } else {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: u32) {
        self.places[self.entries[place].key as usize] = 0;
        self.entries.remove(place);
        self.len -= 1;
    }

    fn segment(&mut self, state: EntryState) -> Option<&mut Segment> {
        match state {
            EntryState::Probationary => Some(&mut self.probationary),
            EntryState::Protected => Some(&mut self.protected),
            EntryState::Pinned | EntryState::Leaving => None,
        }
    }

    /// Puts the entry at the head of a segment.
    fn link(&mut self, place: u32, state: EntryState) {
        let segment = self.segment(state).expect("a segment");
        let former = std::mem::replace(&mut segment.newest, place);
        segment.len += 1;
        if former == NIL {
            segment.oldest = place;
        } else {
            self.entries[former].newer = place;
        }
        let entry = &mut self.entries[place];
        (entry.state, entry.newer, entry.older) = (state, NIL, former);
    }

    /// Takes the entry out of its segment, or off those that wait to leave.
    fn unlink(&mut self, place: u32) {
        let CmtEntry { state, newer, older, .. } = self.entries[place];
        if state == EntryState::Leaving {
            self.leaving -= 1;
        }
        let Some(segment) = self.segment(state) else { return };
        segment.len -= 1;
        if newer == NIL {
            segment.newest = older;
        }
        if older == NIL {
            segment.oldest = newer;
        }
        if newer != NIL {
            self.entries[newer].older = older;
        }
        if older != NIL {
            self.entries[older].newer = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u32 = 60;
    /// Entries in a translation page.
    const PER_PAGE: u32 = 8;

    /// The same rules on lists, newest first.
    #[derive(Default)]
    struct Model {
        capacity: usize,
        probationary: Vec<u32>,
        protected: Vec<u32>,
        /// Key, users, whether it was used again.
        pinned: Vec<(u32, u32, bool)>,
        leaving: Vec<u32>,
        dirty: Vec<u32>,
    }

    impl Model {
        fn len(&self) -> usize {
            self.probationary.len() + self.protected.len() + self.pinned.len() + self.leaving.len()
        }

        fn pin(&mut self, key: u32) -> Lookup {
            if let Some(pinned) = self.pinned.iter_mut().find(|pinned| pinned.0 == key) {
                (pinned.1, pinned.2) = (pinned.1 + 1, true);
                return Lookup::Hit;
            }
            for list in [&mut self.probationary, &mut self.protected, &mut self.leaving] {
                if let Some(index) = list.iter().position(|cached| *cached == key) {
                    list.remove(index);
                    self.pinned.push((key, 1, true));
                    return Lookup::Hit;
                }
            }
            Lookup::Miss
        }

        fn evict_one(&mut self) -> Option<EvictedEntry> {
            if self.len() - self.leaving.len() < self.capacity {
                return None;
            }
            let key = self.probationary.pop().or_else(|| self.protected.pop())?;
            if self.dirty.contains(&key) {
                self.leaving.push(key);
                return Some(EvictedEntry::Dirty(key));
            }
            Some(EvictedEntry::Clean)
        }

        fn unpin(&mut self, key: u32) {
            let index = self.pinned.iter().position(|pinned| pinned.0 == key).unwrap();
            self.pinned[index].1 -= 1;
            if self.pinned[index].1 > 0 {
                return;
            }
            if !self.pinned.remove(index).2 {
                self.probationary.insert(0, key);
                return;
            }
            self.protected.insert(0, key);
            while self.protected.len() > self.capacity * 80 / 100 {
                let oldest = self.protected.pop().unwrap();
                self.probationary.insert(0, oldest);
            }
        }

        fn written(&mut self, key: u32) {
            if let Some(index) = self.leaving.iter().position(|leaving| *leaving == key) {
                self.leaving.remove(index);
                if self.dirty.contains(&key) {
                    self.probationary.insert(0, key);
                }
            }
        }
    }

    #[test]
    fn agrees_with_lists() {
        for capacity in [1, 2, 3, 5, 8, 20] {
            let pages = KEYS.div_ceil(PER_PAGE);
            let mut table = CachedMap::new(capacity, KEYS as usize, pages as usize);
            let mut model = Model { capacity: capacity as usize, ..Model::default() };
            let mut state = u64::from(capacity);
            let mut below = |end: u32| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % u64::from(end)) as u32
            };
            let (mut hits, mut over) = (0, 0);
            for _ in 0..20_000 {
                let key = if below(2) == 0 { below(KEYS) } else { below(KEYS / 6) };
                match below(8) {
                    0..=2 => {
                        let found = table.pin(key);
                        assert_eq!(found, model.pin(key));
                        hits += u32::from(found == Lookup::Hit);
                        if found == Lookup::Miss {
                            loop {
                                let victim = table.evict_one();
                                assert_eq!(victim, model.evict_one());
                                if victim.is_none() {
                                    break;
                                }
                            }
                            table.insert(key);
                            let again = below(4) == 0;
                            if again {
                                assert_eq!(table.pin(key), Lookup::Loading);
                                table.unpin(key);
                            }
                            table.loaded(key);
                            model.pinned.push((key, 1, again));
                        }
                    }
                    3..=5 if !model.pinned.is_empty() => {
                        let key = model.pinned[below(model.pinned.len() as u32) as usize].0;
                        table.unpin(key);
                        model.unpin(key);
                    }
                    6 if table.contains(key) => {
                        table.set_dirty(key, key / PER_PAGE);
                        if !model.dirty.contains(&key) {
                            model.dirty.push(key);
                        }
                    }
                    7 => {
                        let page = below(pages);
                        let mut cleaned = Vec::new();
                        table.clean(page, |key| cleaned.push(key));
                        let mut expected: Vec<u32> = model.dirty.iter().copied().filter(|key| key / PER_PAGE == page).collect();
                        model.dirty.retain(|key| key / PER_PAGE != page);
                        expected.reverse();
                        assert_eq!(cleaned, expected, "the newest first");
                        // Sometimes one is changed again before it has left.
                        if let Some(key) = cleaned.first().filter(|_| below(3) == 0) {
                            table.set_dirty(*key, page);
                            model.dirty.push(*key);
                        }
                        for key in page * PER_PAGE..((page + 1) * PER_PAGE).min(KEYS) {
                            table.written(key);
                            model.written(key);
                        }
                    }
                    _ => {}
                }
                assert_eq!(table.len() as usize, model.len());
                over += u32::from(table.len() > capacity);
                for key in 0..KEYS {
                    let cached = model.probationary.contains(&key)
                        || model.protected.contains(&key)
                        || model.leaving.contains(&key)
                        || model.pinned.iter().any(|pinned| pinned.0 == key);
                    assert_eq!((table.contains(key), table.is_dirty(key)), (cached, cached && model.dirty.contains(&key)));
                }
            }
            assert!(hits > 100 && over > 0, "{hits} {over}");
        }
    }
}
