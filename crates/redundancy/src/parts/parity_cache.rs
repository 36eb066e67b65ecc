//! The stripes whose parity is in NVRAM, and the next one to evict: the *decided* state of schemes that defer parities (SPEC 4.2, 4.4).
//!
//! An update *claims* a place: the entry of its stripe, one that is free, or that of a victim, which is committed before. It does so when it is about to
//! start, as SPEC 4.4 has it; so hits, victims and costs depend on what has ended by then. A stripe is *locked* while an update of it has claimed its place and
//! has not ended, or another operation that changes it (a commit, a repair) runs. A locked stripe is no victim. If all are, the update waits.
//!
//! With `evicts_locked` updates claim their places when they are decided, in the order of requests, and nothing counts as locked: victims follow from that
//! order alone, whatever the timing, and a commit waits for what is in flight. A stripe whose strips are all trimmed loses its entry then, but
//! NVRAM holds its parity until the trim has ended. So its slot is reused before a victim is evicted, and the update that takes the slot requires a
//! commit of that stripe, too, which will find nothing to do.
//!
//! All entries are in one list by their last update. Those that are not locked are in one list for each cost of a commit, too: among entries of equal cost the
//! least recent is the victim, so only the heads of the cost lists are candidates.

use crate::parts::bits;
use bytemuck::Zeroable;
use flashraid_vocabulary::array::Array;
use flashraid_vocabulary::{NIL, StripeId, persistent, prefetch};

/// How a victim is chosen (SPEC 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Weight of recency against cost, in thousandths: 1000 is plain LRU.
    pub alpha: u32,
    /// Entries of the last updates, half as many as there are entries, are no victims, however cheap. It changes nothing about LRU.
    pub spares_recent: bool,
    /// Locked stripes may be victims (SPEC: never): what updates claim follows from the order of requests.
    pub evicts_locked: bool,
}

impl Replacement {
    /// Plain LRU.
    pub const LRU: Self = Self { alpha: 1000, spares_recent: false, evicts_locked: false };
}

/// The place that an update of a stripe has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The stripe had an entry.
    pub is_hit: bool,
    /// The stripe that must be committed before.
    pub victim: Option<StripeId>,
}

/// What is decided of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable)]
struct StripeEntry {
    /// Its entry plus 1, 0 if it has none.
    entry: u32,
    /// Strips that are written once everything decided has ended.
    written: u32,
    /// Updates that have claimed a place and not ended.
    pending: u32,
    /// 1 while an operation that changes it runs.
    running: u32,
}

persistent!(StripeEntry {
    keeps [entry, written],
    anew [pending, running], // none, as nothing is in flight
});

/// A place in the cache.
#[derive(Clone, Copy, Debug, Default)]
struct CacheEntry {
    stripe: StripeId,
    /// Its data strips.
    width: u32,
    /// Strips that have changed since the last commit: pi. None if the stripe was trimmed as a whole.
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

/// `CacheEntry::class` in none of the cost lists: locked, or free.
const UNLISTED: usize = NIL as usize;

/// See the module.
#[derive(Clone, Debug)]
pub struct ParityCache {
    /// Reads of the dearest commit that there can be.
    most_reads: u32,
    alpha: u64,
    most_entries: u32,
    /// The last updates whose entries are no victims.
    spared: u64,
    evicts_locked: bool,
    stripes: Array<StripeEntry>,
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
    anew [most_reads, alpha, most_entries, spared, evicts_locked],
});

impl ParityCache {
    /// For `stripes` stripes of at most `width` data strips (at most 32) and `most_entries` entries (at least 1).
    pub fn new(stripes: u32, width: u32, most_entries: u32, replacement: Replacement) -> Self {
        let Replacement { alpha, spares_recent, evicts_locked } = replacement;
        debug_assert!(width <= 32 && most_entries >= 1 && alpha <= 1000);
        Self {
            most_reads: width.div_ceil(2),
            alpha: alpha.into(),
            most_entries,
            spared: if spares_recent { u64::from(most_entries) / 2 } else { 0 },
            evicts_locked,
            stripes: Array::zeroed(stripes as usize),
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

    /// Whether updates claim their places when they are decided.
    pub fn evicts_locked(&self) -> bool {
        self.evicts_locked
    }

    // ---- decisions ----

    /// `strips` of `stripe` are to be written, or were, with their parity.
    pub fn write(&mut self, stripe: StripeId, strips: u64) {
        self.stripe(stripe).written |= strips as u32;
    }

    /// `strips` of `stripe` are to be trimmed. Returns those that an update drops: none if that puts off no parity, as nothing of them is written, or
    /// nothing else of the stripe.
    pub fn trim(&mut self, stripe: StripeId, strips: u64) -> u64 {
        let state = self.stripe(stripe);
        let dropped = state.written & strips as u32;
        state.written &= !dropped;
        if state.written != 0 {
            return dropped.into();
        }
        if dropped != 0
            && self.evicts_locked
            && let Some(entry) = self.entry_of(stripe)
        {
            self.unlink(entry, BY_UPDATE);
            self.entries[entry as usize].changed = 0;
            self.place(entry);
        }
        0
    }

    /// Claims a place for an update of `strips` of `stripe`, which has `width` of them; `None` if there is none now: all are locked. Without `may_evict` no
    /// victim is chosen, as others wait for one.
    pub fn claim(&mut self, stripe: StripeId, width: u32, strips: u64, may_evict: bool) -> Option<Update> {
        let mut update = Update { is_hit: false, victim: None };
        let entry = match self.entry_of(stripe) {
            Some(entry) if !self.is_emptied(entry) => {
                update.is_hit = true;
                self.unlink(entry, BY_UPDATE);
                entry
            }
            // Nobody else has taken its place yet.
            Some(entry) => entry,
            None => {
                let (entry, victim) = self.take_place(may_evict)?;
                update.victim = victim;
                self.stripe(stripe).entry = entry + 1;
                entry
            }
        };
        self.updates += 1;
        let changed = if update.is_hit { self.entries[entry as usize].changed } else { 0 } | strips as u32;
        let CacheEntry { class, links, .. } = self.entries[entry as usize];
        self.entries[entry as usize] = CacheEntry { stripe, width, changed, updated: self.updates, class, links };
        self.link_newest(entry, BY_UPDATE);
        self.stripe(stripe).pending += 1;
        self.enter_class(entry, self.class_of(entry));
        Some(update)
    }

    /// An operation that changes the stripe has it to itself, and runs.
    pub fn begun(&mut self, stripe: StripeId) {
        self.stripe(stripe).running = 1;
        if let Some(entry) = self.entry_of(stripe) {
            self.place(entry);
        }
    }

    /// It has ended, or failed. `is_update`: it had claimed a place.
    pub fn ended(&mut self, stripe: StripeId, is_update: bool) {
        let state = self.stripe(stripe);
        state.pending -= u32::from(is_update);
        state.running = 0;
        if let Some(entry) = self.entry_of(stripe) {
            self.place(entry);
        }
    }

    /// The parity of a stripe is on flash: its place is free, unless updates that are in flight need it.
    pub fn committed(&mut self, stripe: StripeId) {
        if let Some(entry) = self.entry_of(stripe).filter(|_| self.stripes[stripe.0 as usize].pending == 0) {
            self.remove(entry);
        }
    }

    /// NVRAM still holds a parity of a stripe, of `changed` strips, whose place was given away: it gets one that is free. Returns whether there is one.
    pub fn give_place(&mut self, stripe: StripeId, width: u32, changed: u64) -> bool {
        debug_assert!(changed != 0 && !self.has_place(stripe));
        if self.free.is_empty() && self.entries.len() == self.most_entries as usize {
            return false;
        }
        self.claim(stripe, width, changed, true);
        // No update has claimed it. What else is done to the stripe goes on.
        self.stripe(stripe).pending -= 1;
        self.entry_of(stripe).into_iter().for_each(|entry| self.place(entry));
        true
    }

    /// Whether the stripe has a place.
    pub fn has_place(&self, stripe: StripeId) -> bool {
        self.entry_of(stripe).is_some()
    }

    /// What NVRAM holds of a stripe's parity covers all of it now (SPEC 4.4, widen).
    pub fn widened(&mut self, stripe: StripeId) {
        if let Some(entry) = self.entry_of(stripe).filter(|entry| !self.is_emptied(*entry)) {
            let CacheEntry { width, changed, .. } = &mut self.entries[entry as usize];
            *changed = bits::lowest(*width) as u32;
            self.place(entry);
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
        let entry = self.entry_of(stripe).filter(|entry| !self.is_emptied(*entry))?;
        let CacheEntry { width, changed, .. } = self.entries[entry as usize];
        Some(Self::commit_reads(width, changed.count_ones()))
    }

    /// A place for a stripe, and the stripe that must leave it before.
    fn take_place(&mut self, may_evict: bool) -> Option<(u32, Option<StripeId>)> {
        if !may_evict {
            return None;
        }
        if let Some(entry) = self.free.pop() {
            return Some((entry, None));
        }
        if self.entries.len() < self.most_entries as usize {
            let blank = CacheEntry { stripe: StripeId(0), width: 0, changed: 0, updated: 0, class: UNLISTED, links: [UNLINKED; 2] };
            self.entries.push(blank);
            return Some((self.entries.len() as u32 - 1, None));
        }
        let emptied = self.classes[self.emptied()].oldest;
        let entry = if emptied == NIL { self.choose_victim()? } else { emptied };
        let victim = self.entries[entry as usize].stripe;
        self.remove(entry);
        self.free.pop();
        Some((entry, Some(victim)))
    }

    /// The entry with the least `alpha * recency + (1 - alpha) * cost`, where recency is its rank by last update divided by the highest rank, and cost
    /// its commit reads divided by the most there can be (SPEC 4.4); a tie goes to the least recent. Exact, as both sides are multiplied out. Of those
    /// that are neither locked nor spared.
    fn choose_victim(&self) -> Option<u32> {
        let updated = |entry: u32| self.entries[entry as usize].updated;
        let mut heads = self.classes[..self.emptied()].iter().map(|class| class.oldest).filter(|entry| *entry != NIL);
        let last = self.updates - self.spared;
        match self.alpha {
            1000 => heads.min_by_key(|entry| updated(*entry)),
            0 => heads.find(|entry| updated(*entry) <= last),
            _ => self.least_priority(last),
        }
    }

    /// The victim where both recency and cost count, of those whose last update is at most number `last`. The list by last update is followed as far as one
    /// of them can be better than what was found.
    fn least_priority(&self, last: u64) -> Option<u32> {
        let (most_reads, highest_rank) = (u64::from(self.most_reads), u64::from(self.most_entries) - 1);
        let mut best = (u64::MAX, None);
        let mut entry = self.recency.oldest;
        for rank in 0.. {
            let recency = self.alpha * rank * most_reads;
            if entry == NIL || recency >= best.0 {
                break; // later ones are no cheaper
            }
            let CacheEntry { updated, class, links, .. } = self.entries[entry as usize];
            if updated > last {
                break; // later ones are spared, too
            }
            if class != UNLISTED {
                let priority = recency + (1000 - self.alpha) * class as u64 * highest_rank;
                best = if priority < best.0 { (priority, Some(entry)) } else { best };
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

    /// The place is that of a stripe that was trimmed as a whole.
    fn is_emptied(&self, entry: u32) -> bool {
        self.entries[entry as usize].changed == 0
    }

    /// The cost list of an entry, as things stand.
    fn class_of(&self, entry: u32) -> usize {
        let CacheEntry { stripe, width, changed, .. } = self.entries[entry as usize];
        let StripeEntry { pending, running, .. } = self.stripes[stripe.0 as usize];
        if !self.evicts_locked && (pending, running) != (0, 0) {
            UNLISTED
        } else if changed == 0 {
            self.emptied()
        } else {
            Self::commit_reads(width, changed.count_ones()) as usize
        }
    }

    /// Moves the entry to the list of another class, if it is of another one now.
    fn place(&mut self, entry: u32) {
        let class = self.class_of(entry);
        if class != self.entries[entry as usize].class {
            self.enter_class(entry, class);
        }
    }

    /// The place is free.
    fn remove(&mut self, entry: u32) {
        let stripe = self.entries[entry as usize].stripe;
        if !self.is_emptied(entry) {
            self.unlink(entry, BY_UPDATE);
        }
        self.unlink_cost(entry);
        self.entries[entry as usize].class = UNLISTED;
        self.stripe(stripe).entry = 0;
        self.free.push(entry);
    }

    /// Moves the entry to its place, by last update, in the list of another class, or of its own, or into none.
    fn enter_class(&mut self, entry: u32, class: usize) {
        self.unlink_cost(entry);
        self.entries[entry as usize].class = class;
        if class == UNLISTED {
            return;
        }
        let updated = self.entries[entry as usize].updated;
        // Mostly it was updated just now, or is among the last that were and are not locked: the newest, or nearly.
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

    /// Takes the entry out of the cost list that it is in, if it is in one.
    fn unlink_cost(&mut self, entry: u32) {
        if self.entries[entry as usize].class != UNLISTED {
            self.unlink(entry, BY_COST);
        }
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
