//! Stripe locks: first in, first out; shared or exclusive; only stripes in use take memory.
//!
//! Operations queue in the order in which they were decided, so whatever an operation waits for was decided before it, but for commits that go first (`executor::background`).

use super::slot::ROOM;
use flashraid_vocabulary::NIL;
use flashraid_vocabulary::memory::{filled, prefetch, reserved};

#[derive(Clone, Copy, Debug)]
struct LockQueue {
    stripe: u32,
    /// Holders; none marks an unused entry.
    holders: u16,
    exclusive: bool,
    /// The operation that has had it for the shortest time.
    holder: u32,
    head: u32,
    tail: u32,
}

const UNUSED: LockQueue = LockQueue { stripe: 0, holders: 0, exclusive: false, holder: NIL, head: NIL, tail: NIL };

#[derive(Clone, Copy, Debug)]
struct LockWaiter {
    next: u32,
    exclusive: bool,
}

/// A hash table with linear probing of the stripes that are locked.
#[derive(Clone, Debug)]
pub struct Locks {
    entries: Vec<LockQueue>,
    used: usize,
    /// Links of waiting operations, by their id.
    waiters: Vec<LockWaiter>,
}

impl Default for Locks {
    /// Nothing is locked.
    fn default() -> Self {
        Self { entries: vec![UNUSED; 64], used: 0, waiters: reserved(ROOM) }
    }
}

impl Locks {
    #[inline]
    fn home(&self, stripe: u32) -> usize {
        // The top bits of a multiplicative hash (Knuth's constant, 2^32 divided by the golden ratio).
        (stripe.wrapping_mul(0x9E37_79B1) >> (32 - self.entries.len().trailing_zeros())) as usize
    }

    /// The stripe's entry, or the unused one where it would go.
    #[inline]
    fn find(&self, stripe: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut index = self.home(stripe);
        while self.entries[index].holders > 0 && self.entries[index].stripe != stripe {
            index = (index + 1) & mask;
        }
        index
    }

    /// Asks the processor for the stripe's entry.
    #[inline]
    pub fn prefetch(&self, stripe: u32) {
        prefetch(&self.entries, self.home(stripe));
    }

    /// Whether anybody holds the stripe.
    pub fn is_locked(&self, stripe: u32) -> bool {
        self.entries[self.find(stripe)].holders > 0
    }

    /// Asks for the stripe on behalf of operation `id`. Returns whether it has it; else it is queued.
    #[inline]
    pub fn request(&mut self, stripe: u32, exclusive: bool, id: u32) -> bool {
        let index = self.find(stripe);
        let entry = &mut self.entries[index];
        if entry.holders == 0 {
            *entry = LockQueue { stripe, holders: 1, exclusive, holder: id, head: NIL, tail: NIL };
            self.used += 1;
            if self.used * 4 > self.entries.len() * 3 {
                self.grow();
            }
            return true;
        }
        if !exclusive && !entry.exclusive && entry.head == NIL {
            entry.holders += 1;
            entry.holder = id;
            return true;
        }
        self.set_waiter(id, LockWaiter { next: NIL, exclusive });
        let entry = &mut self.entries[index];
        match entry.head {
            NIL => entry.head = id,
            _ => self.waiters[entry.tail as usize].next = id,
        }
        entry.tail = id;
        false
    }

    /// The operation that has the stripe to itself.
    pub fn exclusive_holder(&self, stripe: u32) -> Option<u32> {
        let entry = &self.entries[self.find(stripe)];
        (entry.holders > 0 && entry.exclusive).then_some(entry.holder)
    }

    /// Asks for the stripe to itself, which somebody holds, on behalf of operation `id`, before all who wait for it, but for the first ones that go
    /// before it.
    pub fn queue_first(&mut self, stripe: u32, id: u32, goes_before: impl Fn(u32) -> bool) {
        let index = self.find(stripe);
        debug_assert!(self.entries[index].holders > 0, "stripe {stripe} is not locked");
        let (mut former, mut next) = (NIL, self.entries[index].head);
        while next != NIL && goes_before(next) {
            (former, next) = (next, self.waiters[next as usize].next);
        }
        self.set_waiter(id, LockWaiter { next, exclusive: true });
        let entry = &mut self.entries[index];
        match former {
            NIL => entry.head = id,
            _ => self.waiters[former as usize].next = id,
        }
        if next == NIL {
            entry.tail = id;
        }
    }

    fn set_waiter(&mut self, id: u32, waiter: LockWaiter) {
        if self.waiters.len() <= id as usize {
            self.waiters.resize((id as usize + 1).next_power_of_two(), LockWaiter { next: NIL, exclusive: false });
        }
        self.waiters[id as usize] = waiter;
    }

    /// One holder gives the stripe back; operations that have it now are appended to `granted`.
    #[inline]
    pub fn release(&mut self, stripe: u32, granted: &mut Vec<u32>) {
        let index = self.find(stripe);
        let entry = &mut self.entries[index];
        debug_assert!(entry.holders > 0, "stripe {stripe} is not locked");
        entry.holders -= 1;
        if entry.holders > 0 {
            return;
        }
        while entry.head != NIL {
            let LockWaiter { next, exclusive } = self.waiters[entry.head as usize];
            if entry.holders > 0 && (exclusive || entry.exclusive) {
                break;
            }
            granted.push(entry.head);
            entry.holders += 1;
            entry.exclusive = exclusive;
            entry.holder = entry.head;
            entry.head = next;
        }
        if entry.holders == 0 {
            self.used -= 1;
            self.close_gap(index);
        }
    }

    /// Moves later entries of the probe sequence over the entry that became unused.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.entries.len() - 1;
        let mut index = (gap + 1) & mask;
        while self.entries[index].holders > 0 {
            let home = self.home(self.entries[index].stripe);
            if (index.wrapping_sub(home) & mask) >= (index.wrapping_sub(gap) & mask) {
                self.entries[gap] = self.entries[index];
                self.entries[index] = UNUSED;
                gap = index;
            }
            index = (index + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = filled(UNUSED, self.entries.len() * 2);
        let entries = std::mem::replace(&mut self.entries, larger);
        for entry in entries.into_iter().filter(|entry| entry.holders > 0) {
            let index = self.find(entry.stripe);
            self.entries[index] = entry;
        }
    }

    /// Whether anybody waits for a stripe. Looks at all that are in use.
    pub fn has_waiter(&self) -> bool {
        self.entries.iter().any(|entry| entry.holders > 0 && entry.head != NIL)
    }

    /// Stripes in use, for the report of a stall: (stripe, holders, exclusive, first waiter).
    pub fn describe(&self) -> Vec<(u32, u16, bool, Option<u32>)> {
        let mut list: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.holders > 0)
            .map(|entry| (entry.stripe, entry.holders, entry.exclusive, (entry.head != NIL).then_some(entry.head)))
            .collect();
        list.sort_unstable();
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_and_sharing() {
        let mut locks = Locks::default();
        let mut granted = Vec::new();
        assert!(locks.request(7, false, 0));
        assert!(locks.request(7, false, 1));
        assert!(!locks.request(7, true, 2));
        assert!(!locks.request(7, false, 3), "must not overtake the writer");
        assert!(!locks.request(7, false, 4));
        locks.release(7, &mut granted);
        assert!(granted.is_empty());
        locks.release(7, &mut granted);
        assert_eq!(granted, [2]);
        locks.release(7, &mut granted);
        assert_eq!(granted, [2, 3, 4]);
        locks.release(7, &mut granted);
        locks.release(7, &mut granted);
        assert!(!locks.is_locked(7));
        assert_eq!(locks.used, 0);
    }

    /// Against a map of queues, with many stripes that share probe sequences.
    #[test]
    fn agrees_with_a_map() {
        let mut locks = Locks::default();
        let mut model: std::collections::BTreeMap<u32, std::collections::VecDeque<u32>> = Default::default();
        let mut state = 1u64;
        for id in 0..20_000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let stripe = (state >> 40) as u32 % 300 * 64;
            if state >> 63 == 0 {
                let queue = model.entry(stripe).or_default();
                assert_eq!(locks.request(stripe, true, id), queue.is_empty());
                queue.push_back(id);
            } else if let Some(queue) = model.get_mut(&stripe) {
                let mut granted = Vec::new();
                locks.release(stripe, &mut granted);
                queue.pop_front();
                assert_eq!(granted, queue.front().copied().into_iter().collect::<Vec<_>>());
                if queue.is_empty() {
                    model.remove(&stripe);
                }
            }
            assert_eq!(locks.used, model.len());
            assert_eq!(locks.is_locked(stripe), model.contains_key(&stripe));
        }
    }
}
