//! The stripes whose parity is in NVRAM, and the next one to evict: the *decided* state of schemes that defer parities (SPEC 4.2, 4.4).
//!
//! It moves with `decide`, in the order of requests, so hits, victims and costs do not depend on timing. An update of a stripe without an entry,
//! when all entries are taken, evicts a victim: its commit is decided first, and the update requires it. The victim is chosen from decided
//! state alone: it may be a stripe whose operations are in flight; then its commit waits for them at the stripe's lock (`Replacement`).
//!
//! A stripe whose strips are all trimmed loses its entry, but NVRAM holds its parity until the trim has ended. So its slot is reused before a
//! victim is evicted, and the update that takes the slot requires a commit of that stripe, too, which will find nothing to do.
//!
//! Entries are in one list by their last update, and in one list for each cost of a commit. Among entries of equal cost the least recent is the
//! victim, so only the heads of the cost lists are candidates.

use crate::parts::bits;
use bytemuck::Zeroable;
use flashraid_vocabulary::{StripeId, memory, persistent, prefetch};

/// No entry, or no neighbor in a list.
const NIL: u32 = u32::MAX;

/// How a victim is chosen (SPEC 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Weight of recency against cost, in thousandths: 1000 is plain LRU.
    pub alpha: u32,
    /// Entries of the last updates, half as many as there are entries, are no victims. Such an update may be in progress, and a victim's commit waits for it,
    /// as do the updates that want its place: one after the other, where a cheap entry is always the newest. It stands for SPEC's "never a
    /// locked stripe", which is a matter of timing. It changes nothing about LRU.
    pub spares_recent: bool,
}

impl Replacement {
    /// Plain LRU.
    pub const LRU: Self = Self { alpha: 1000, spares_recent: false };
}

/// What an update of a stripe means for the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The stripe had an entry.
    pub is_hit: bool,
    /// The stripe that must be committed before.
    pub victim: Option<StripeId>,
}

/// What is decided of a stripe.
#[derive(Clone, Copy, Debug, Zeroable)]
struct StripeEntry {
    /// Its entry plus 1, 0 if it has none.
    entry: u32,
    /// Strips that are written once everything decided has ended.
    written: u32,
    /// Updates decided and not ended.
    pending: u32,
}

persistent!(StripeEntry {
    keeps [entry, written],
    anew [pending], // none, as nothing is in flight
});

/// A place in the cache.
#[derive(Clone, Copy, Debug, Default)]
struct CacheEntry {
    stripe: StripeId,
    /// Its data strips.
    width: u32,
    /// Strips that have changed since the last commit: pi.
    changed: u32,
    /// Number of the last update.
    updated: u64,
    /// Which of the cost lists it is in.
    class: usize,
    /// Neighbors in the list of all entries, and in its cost list.
    links: [Link; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Link {
    older: u32,
    newer: u32,
}

const UNLINKED: Link = Link { older: NIL, newer: NIL };

persistent!(CacheEntry { keeps [stripe, width, changed, updated, class, links], });
persistent!(Link { keeps [older, newer], });
persistent!(CostList { keeps [oldest, newest], });

/// Ends of a list.
#[derive(Clone, Copy, Debug)]
struct CostList {
    oldest: u32,
    newest: u32,
}

const EMPTY: CostList = CostList { oldest: NIL, newest: NIL };

/// `CacheEntry::links` of the list by last update, and of the cost list.
const BY_UPDATE: usize = 0;
const BY_COST: usize = 1;

/// See the module.
#[derive(Clone, Debug)]
pub struct ParityCache {
    /// Reads of the dearest commit that there can be.
    most_reads: u32,
    alpha: u64,
    most_entries: u32,
    /// The last updates whose entries are no victims.
    spared: u64,
    stripes: Vec<StripeEntry>,
    entries: Vec<CacheEntry>,
    /// Places that were given back.
    free: Vec<u32>,
    /// By last update.
    recency: CostList,
    /// By commit reads; each in the order of last updates. The last one holds the places of stripes that were trimmed as a whole.
    classes: Vec<CostList>,
    updates: u64,
}

persistent!(ParityCache {
    keeps [entries, free, recency, updates],
    arrays [stripes, classes],
    anew [most_reads, alpha, most_entries, spared],
});

impl ParityCache {
    /// For `stripes` stripes of at most `width` data strips (at most 32) and `most_entries` entries (at least 1).
    pub fn new(stripes: u32, width: u32, most_entries: u32, replacement: Replacement) -> Self {
        let Replacement { alpha, spares_recent } = replacement;
        debug_assert!(width <= 32 && most_entries >= 1 && alpha <= 1000);
        Self {
            most_reads: width.div_ceil(2),
            alpha: alpha.into(),
            most_entries,
            spared: if spares_recent { u64::from(most_entries) / 2 } else { 0 },
            stripes: memory::zeroed(stripes as usize),
            entries: Vec::new(),
            free: Vec::new(),
            recency: EMPTY,
            classes: vec![EMPTY; width.div_ceil(2) as usize + 2],
            updates: 0,
        }
    }

    /// Entries that there can be.
    pub fn most_entries(&self) -> u32 {
        self.most_entries
    }

    /// Asks the processor for the state of a stripe.
    pub fn prefetch(&self, stripe: StripeId) {
        prefetch(&self.stripes, stripe.0 as usize);
    }

    // ---- decisions ----

    /// `strips` of `stripe`, which has `width` of them, are written.
    pub fn write(&mut self, stripe: StripeId, width: u32, strips: u64) -> Update {
        self.stripe(stripe).written |= strips as u32;
        self.update(stripe, width, strips as u32)
    }

    /// `strips` of `stripe`, which has `width` of them, are trimmed. `None` if that puts off no parity: nothing of them is written, or nothing else of the stripe.
    pub fn trim(&mut self, stripe: StripeId, width: u32, strips: u64) -> Option<Update> {
        let state = self.stripe(stripe);
        let dropped = state.written & strips as u32;
        state.written &= !dropped;
        if state.written != 0 && dropped != 0 {
            return Some(self.update(stripe, width, dropped));
        }
        if dropped != 0
            && let Some(entry) = self.entry_of(stripe)
        {
            self.unlink(entry, BY_UPDATE);
            self.enter_class(entry, self.emptied());
        }
        None
    }

    /// An update of a stripe that was decided with an `Update` has ended, or failed.
    pub fn ended(&mut self, stripe: StripeId) {
        self.stripe(stripe).pending -= 1;
    }

    /// `strips` of a stripe were written without being decided, with their parity.
    pub fn filled(&mut self, stripe: StripeId, strips: u64) {
        self.stripe(stripe).written |= strips as u32;
    }

    /// The parity of a stripe is on flash: its place is free, unless updates that are in flight need it.
    pub fn committed(&mut self, stripe: StripeId) {
        if let Some(entry) = self.entry_of(stripe).filter(|_| self.stripes[stripe.0 as usize].pending == 0) {
            self.remove(entry);
        }
    }

    /// What NVRAM holds of a stripe's parity covers all of it now (SPEC 4.4, widen).
    pub fn widened(&mut self, stripe: StripeId) {
        if let Some(entry) = self.entry_of(stripe).filter(|entry| self.entries[*entry as usize].class != self.emptied()) {
            let CacheEntry { width, changed, .. } = &mut self.entries[entry as usize];
            *changed = bits::lowest(*width) as u32;
            self.enter_class(entry, 0);
        }
    }

    /// All that NVRAM held is lost.
    pub fn lost(&mut self) {
        for entry in 0..self.entries.len() as u32 {
            let stripe = self.entries[entry as usize].stripe;
            if self.entry_of(stripe) == Some(entry) {
                self.committed(stripe);
            }
        }
    }

    /// Takes the least recent entry away, to be committed.
    pub fn take_oldest(&mut self) -> Option<StripeId> {
        let entry = [self.classes[self.emptied()].oldest, self.recency.oldest].into_iter().find(|entry| *entry != NIL)?;
        let stripe = self.entries[entry as usize].stripe;
        self.remove(entry);
        Some(stripe)
    }

    /// Reads of a commit of a stripe in which `changed` strips have changed since the last one (SPEC 4.4).
    pub fn commit_reads(width: u32, changed: u32) -> u32 {
        if changed >= width.div_ceil(2) { width - changed } else { changed + 1 }
    }

    /// Reads of a commit of the stripe once everything decided has ended; `None` if it has no entry.
    pub fn reads_to_commit(&self, stripe: StripeId) -> Option<u32> {
        let entry = self.entry_of(stripe).filter(|entry| self.entries[*entry as usize].class != self.emptied())?;
        let CacheEntry { width, changed, .. } = self.entries[entry as usize];
        Some(Self::commit_reads(width, changed.count_ones()))
    }

    fn update(&mut self, stripe: StripeId, width: u32, strips: u32) -> Update {
        let mut update = Update { is_hit: false, victim: None };
        let entry = match self.entry_of(stripe) {
            Some(entry) if self.entries[entry as usize].class != self.emptied() => {
                update.is_hit = true;
                self.unlink(entry, BY_UPDATE);
                entry
            }
            // Nobody else has taken its place yet.
            Some(entry) => entry,
            None => {
                let (entry, victim) = self.take_place();
                update.victim = victim;
                self.stripe(stripe).entry = entry + 1;
                entry
            }
        };
        self.updates += 1;
        let changed = if update.is_hit { self.entries[entry as usize].changed } else { 0 } | strips;
        let CacheEntry { class, links, .. } = self.entries[entry as usize];
        self.entries[entry as usize] = CacheEntry { stripe, width, changed, updated: self.updates, class, links };
        self.link_newest(entry, BY_UPDATE);
        self.enter_class(entry, Self::commit_reads(width, changed.count_ones()) as usize);
        self.stripe(stripe).pending += 1;
        update
    }

    /// A place for a stripe, and the stripe that must leave it before.
    fn take_place(&mut self) -> (u32, Option<StripeId>) {
        if let Some(entry) = self.free.pop() {
            return (entry, None);
        }
        if self.entries.len() < self.most_entries as usize {
            let blank = CacheEntry { stripe: StripeId(0), width: 0, changed: 0, updated: 0, class: NIL as usize, links: [UNLINKED; 2] };
            self.entries.push(blank);
            return (self.entries.len() as u32 - 1, None);
        }
        let emptied = self.classes[self.emptied()].oldest;
        let entry = if emptied == NIL { self.choose_victim() } else { emptied };
        let victim = self.entries[entry as usize].stripe;
        self.remove(entry);
        self.free.pop();
        (entry, Some(victim))
    }

    /// The entry with the least `alpha * recency + (1 - alpha) * cost`, where recency is its rank by last update divided by the highest rank, and cost
    /// its commit reads divided by the most there can be (SPEC 4.4); a tie goes to the least recent. Exact, as both sides are multiplied out. Of those
    /// that are not spared, which is at least every other one.
    fn choose_victim(&self) -> u32 {
        if self.alpha == 1000 {
            return self.recency.oldest;
        }
        let last = self.updates - self.spared;
        let is_victim = |entry: u32| entry != NIL && self.entries[entry as usize].updated <= last;
        let mut heads = self.classes[..self.emptied()].iter().map(|class| class.oldest);
        if self.alpha == 0 {
            return heads.find(|entry| is_victim(*entry)).expect("the cache is full");
        }
        let (most_reads, highest_rank) = (u64::from(self.most_reads), u64::from(self.most_entries) - 1);
        let mut best = (u64::MAX, NIL);
        let mut entry = self.recency.oldest;
        for rank in 0.. {
            let recency = self.alpha * rank * most_reads;
            if !is_victim(entry) || recency >= best.0 {
                break; // later ones are spared, too, or no cheaper
            }
            let CacheEntry { class, links, .. } = self.entries[entry as usize];
            let priority = recency + (1000 - self.alpha) * class as u64 * highest_rank;
            if priority < best.0 {
                best = (priority, entry);
            }
            entry = links[BY_UPDATE].newer;
        }
        best.1
    }

    // ---- lists ----

    fn stripe(&mut self, stripe: StripeId) -> &mut StripeEntry {
        &mut self.stripes[stripe.0 as usize]
    }

    fn entry_of(&self, stripe: StripeId) -> Option<u32> {
        self.stripes[stripe.0 as usize].entry.checked_sub(1)
    }

    /// The list of places of trimmed stripes.
    fn emptied(&self) -> usize {
        self.classes.len() - 1
    }

    /// The place is free.
    fn remove(&mut self, entry: u32) {
        let CacheEntry { stripe, class, .. } = self.entries[entry as usize];
        if class != self.emptied() {
            self.unlink(entry, BY_UPDATE);
        }
        self.unlink(entry, BY_COST);
        self.entries[entry as usize].class = NIL as usize;
        self.stripe(stripe).entry = 0;
        self.free.push(entry);
    }

    /// Moves the entry to its place, by last update, in the list of another class, or of its own.
    fn enter_class(&mut self, entry: u32, class: usize) {
        if self.entries[entry as usize].class != NIL as usize {
            self.unlink(entry, BY_COST);
        }
        self.entries[entry as usize].class = class;
        let updated = self.entries[entry as usize].updated;
        // Mostly it was updated just now: the newest.
        let mut older = self.classes[class].newest;
        while older != NIL && self.entries[older as usize].updated > updated {
            older = self.entries[older as usize].links[BY_COST].older;
        }
        self.link_behind(entry, older, BY_COST);
    }

    fn list(&mut self, entry: u32, which: usize) -> &mut CostList {
        if which == BY_UPDATE { &mut self.recency } else { &mut self.classes[self.entries[entry as usize].class] }
    }

    fn link_newest(&mut self, entry: u32, which: usize) {
        let newest = self.list(entry, which).newest;
        self.link_behind(entry, newest, which);
    }

    /// Links the entry behind `older`, at the beginning if that is `NIL`.
    fn link_behind(&mut self, entry: u32, older: u32, which: usize) {
        let newer = match older {
            NIL => std::mem::replace(&mut self.list(entry, which).oldest, entry),
            _ => std::mem::replace(&mut self.entries[older as usize].links[which].newer, entry),
        };
        match newer {
            NIL => self.list(entry, which).newest = entry,
            _ => self.entries[newer as usize].links[which].older = entry,
        }
        self.entries[entry as usize].links[which] = Link { older, newer };
    }

    fn unlink(&mut self, entry: u32, which: usize) {
        let Link { older, newer } = std::mem::replace(&mut self.entries[entry as usize].links[which], UNLINKED);
        match older {
            NIL => self.list(entry, which).oldest = newer,
            _ => self.entries[older as usize].links[which].newer = newer,
        }
        match newer {
            NIL => self.list(entry, which).newest = older,
            _ => self.entries[newer as usize].links[which].older = older,
        }
    }
}
