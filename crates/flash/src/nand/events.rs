//! The event queue: one entry for each resource (bus or array unit), which is when it next changes state.
//!
//! A winner tree over all resources. Ties go to the lower number, and units come before buses, so that a bus that becomes free
//! chooses among all units that are ready by then: that is the defined order of simultaneous events. Cost is the tree's height, whatever is in flight.

/// "No event".
pub const NEVER: u64 = u64::MAX;

/// Bits of a key that hold the resource.
const RESOURCE_BITS: u32 = 16;
/// Times are kept relative to an epoch, which moves when this many nanoseconds (39 hours) have passed.
const HORIZON_NS: u64 = 1 << 47;

/// Most resources that a queue can have.
pub const RESOURCE_LIMIT: usize = 1 << RESOURCE_BITS;

/// Next event of each resource, and the earliest of all.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Heap-ordered binary tree: node i has children 2i and 2i+1, and holds the smaller of theirs; leaves start at `leaves`. A node
    /// is a key: time since the epoch, then resource, in one word, so that one comparison settles ties too.
    nodes: Vec<u64>,
    leaves: usize,
    epoch_ns: u64,
}

impl EventQueue {
    /// A queue for `resources` resources, none of which has an event.
    pub fn new(resources: usize) -> Self {
        assert!(resources < RESOURCE_LIMIT);
        let leaves = resources.next_power_of_two().max(2);
        Self { nodes: vec![NEVER; 2 * leaves], leaves, epoch_ns: 0 }
    }

    /// Sets the resource's event (or `NEVER`). Always walks to the root: the height is small, and a loop of fixed length is
    /// predicted better than one that stops where nothing changes.
    #[inline]
    pub fn set(&mut self, resource: usize, time_ns: u64) {
        let mut winner = NEVER;
        if time_ns != NEVER {
            if time_ns - self.epoch_ns >= HORIZON_NS {
                self.move_epoch(time_ns);
            }
            winner = (time_ns - self.epoch_ns) << RESOURCE_BITS | resource as u64;
        }
        let mut node = self.leaves + resource;
        self.nodes[node] = winner;
        while node > 1 {
            winner = winner.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = winner;
        }
    }

    /// Counts time from the earliest event on, or from the one to come if nothing is under way. Events are never further ahead of
    /// each other than the longest operation takes, which is far below the horizon.
    #[cold]
    fn move_epoch(&mut self, time_ns: u64) {
        if self.nodes[1] == NEVER {
            self.epoch_ns = time_ns;
            return;
        }
        let passed = self.nodes[1] >> RESOURCE_BITS;
        self.epoch_ns += passed;
        for node in self.nodes.iter_mut().filter(|node| **node != NEVER) {
            *node -= passed << RESOURCE_BITS;
        }
    }

    /// The resource's event, `NEVER` if it has none.
    #[inline]
    pub fn of(&self, resource: usize) -> u64 {
        self.time(self.nodes[self.leaves + resource])
    }

    #[inline]
    fn time(&self, key: u64) -> u64 {
        if key == NEVER { NEVER } else { self.epoch_ns + (key >> RESOURCE_BITS) }
    }

    /// The earliest event: (time, resource); time is `NEVER` if there is none.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        (self.time(self.nodes[1]), (self.nodes[1] & (RESOURCE_LIMIT as u64 - 1)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_ties_to_the_lower_resource() {
        let mut queue = EventQueue::new(5);
        assert_eq!(queue.first().0, NEVER);
        queue.set(4, 10);
        queue.set(1, 10);
        queue.set(2, 7);
        assert_eq!(queue.first(), (7, 2));
        queue.set(2, NEVER);
        assert_eq!(queue.first(), (10, 1));
        queue.set(1, 11);
        assert_eq!(queue.first(), (10, 4));
        queue.set(0, 3);
        queue.set(0, 12);
        assert_eq!(queue.first(), (10, 4));
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut queue = EventQueue::new(37);
        let mut times = vec![NEVER; 37];
        let mut state = 1u64;
        for _ in 0..10_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let resource = (state >> 33) as usize % 37;
            let time = if state >> 60 == 0 { NEVER } else { (state >> 40) % 50 };
            times[resource] = time;
            queue.set(resource, time);
            let expected = times.iter().enumerate().map(|(i, t)| (*t, i as u32)).min().unwrap();
            assert_eq!(queue.first().0, expected.0);
            if expected.0 != NEVER {
                assert_eq!(queue.first(), expected);
            }
        }
    }

    #[test]
    fn keeps_order_over_years() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut queue = EventQueue::new(3);
        let mut now_ns = 0;
        for step in 0..10_000u64 {
            for resource in 0..3 {
                queue.set(resource as usize, now_ns + HOUR_NS + (resource * 7 + step) % 11);
            }
            let first = queue.first();
            assert_eq!(first.0, (0..3).map(|resource| queue.of(resource)).min().unwrap());
            assert!((now_ns + HOUR_NS..now_ns + HOUR_NS + 11).contains(&first.0));
            now_ns = first.0;
        }
        assert!(now_ns > 2 * HORIZON_NS);
    }

    /// A device may be idle for longer than the horizon: what comes next is at its own time all the same.
    #[test]
    fn keeps_time_over_idle_gaps() {
        for hours in [1, 38, 39, 40, 78, 79, 100, 168, 1000, 1_000_000] {
            let mut queue = EventQueue::new(3);
            let mut now_ns = 0;
            for _ in 0..3 {
                queue.set(1, now_ns + 175);
                assert_eq!(queue.first(), (now_ns + 175, 1), "{hours} h");
                queue.set(1, now_ns + 20_000);
                queue.set(2, now_ns + 30_000);
                assert_eq!(queue.first(), (now_ns + 20_000, 1), "{hours} h");
                queue.set(1, NEVER);
                assert_eq!(queue.first(), (now_ns + 30_000, 2), "{hours} h");
                queue.set(2, NEVER);
                assert_eq!(queue.first().0, NEVER);
                now_ns += hours * 3_600_000_000_000;
            }
        }
    }
}
