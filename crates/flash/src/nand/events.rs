//! The event queue: one entry for each resource (bus or LUN), which is when it next changes state, one for the timer of idle time if there is GC then,
//! and one for the decoder of LDPC if decoding takes time.
//!
//! A winner tree over all resources. Ties go to the lower number, units come before buses, and these before the other two, so that a bus that becomes free
//! chooses among all units that are ready by then: that is the defined order of simultaneous events. Cost is the tree's height, whatever is in flight.

/// "No event".
pub(crate) const NEVER: u64 = u64::MAX;

/// Next event of each resource, and the earliest of all.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Heap-ordered binary tree of times: node i has children 2i and 2i+1, and the earlier of theirs; leaves start at `leaves`. Which
    /// resource a time belongs to follows from where it lies, so that no time is too late for a node.
    nodes: Vec<u64>,
    leaves: usize,
}

impl EventQueue {
    /// A queue for `resources` resources, none of which has an event.
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        Self { nodes: vec![NEVER; 2 * leaves], leaves }
    }

    /// Sets the resource's event (or `NEVER`). Always walks to the root: the height is small, and a loop of fixed length is
    /// predicted better than one that stops where nothing changes.
    #[inline]
    pub fn set(&mut self, resource: usize, time_ns: u64) {
        let mut node = self.leaves + resource;
        let mut earliest = time_ns;
        self.nodes[node] = earliest;
        while node > 1 {
            earliest = earliest.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = earliest;
        }
    }

    /// The resource's event, `NEVER` if it has none.
    #[inline]
    pub fn of(&self, resource: usize) -> u64 {
        self.nodes[self.leaves + resource]
    }

    /// The time of the earliest event of all other resources, `NEVER` if none of them has one.
    #[inline]
    pub fn first_of_others_ns(&self, resource: usize) -> u64 {
        let mut node = self.leaves + resource;
        let mut earliest = NEVER;
        while node > 1 {
            earliest = earliest.min(self.nodes[node ^ 1]);
            node /= 2;
        }
        earliest
    }

    /// The earliest event's time, `NEVER` if there is none.
    #[inline]
    pub fn first_ns(&self) -> u64 {
        self.nodes[1]
    }

    /// The earliest event: (time, resource). There must be one.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        let earliest = self.nodes[1];
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.nodes[2 * node] != earliest);
        }
        (earliest, (node - self.leaves) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_ties_to_the_lower_resource() {
        let mut queue = EventQueue::new(5);
        assert_eq!(queue.first_ns(), NEVER);
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

    /// Random events around a time that moves on, wherever it starts: before and behind each other, and before what was set first.
    #[test]
    fn agrees_with_a_sorted_list_at_all_times() {
        for start_ns in [0, (1 << 47) - 25, (1 << 48) - 25, (1 << 53) - 25, (1 << 62) - 25, (1 << 63) - 25, NEVER - 6_000] {
            for resources in [1, 2, 5, 37, 64] {
                let mut queue = EventQueue::new(resources);
                let mut times = vec![NEVER; resources];
                let mut state = 1u64;
                for step in 0..5_000 {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let resource = (state >> 33) as usize % resources;
                    let time_ns = if state >> 60 == 0 { NEVER } else { start_ns + step + (state >> 40) % 50 };
                    times[resource] = time_ns;
                    queue.set(resource, time_ns);
                    assert_eq!(queue.of(resource), time_ns);
                    let expected = times.iter().enumerate().map(|(i, t)| (*t, i as u32)).min().unwrap();
                    assert_eq!(queue.first_ns(), expected.0);
                    let others = times.iter().enumerate().filter(|(other, _)| *other != resource);
                    assert_eq!(queue.first_of_others_ns(resource), others.map(|(_, time_ns)| *time_ns).min().unwrap_or(NEVER));
                    if expected.0 != NEVER {
                        assert_eq!(queue.first(), expected, "from {start_ns} ns with {resources} resources");
                    }
                }
            }
        }
    }

    /// A device may be idle for years: what comes next is at its own time all the same, also where it is earlier than what was set
    /// before it.
    #[test]
    fn keeps_time_over_idle_gaps() {
        for hours in [1, 38, 39, 40, 78, 79, 100, 168, 1000, 1_000_000] {
            let mut queue = EventQueue::new(3);
            let mut now_ns = 0;
            for _ in 0..3 {
                queue.set(1, now_ns + 30_000);
                queue.set(2, now_ns + 175);
                assert_eq!(queue.first(), (now_ns + 175, 2), "{hours} h");
                queue.set(2, now_ns + 20_000);
                assert_eq!(queue.first(), (now_ns + 20_000, 2), "{hours} h");
                queue.set(2, NEVER);
                assert_eq!(queue.first(), (now_ns + 30_000, 1), "{hours} h");
                queue.set(1, NEVER);
                assert_eq!(queue.first_ns(), NEVER);
                now_ns += hours * 3_600_000_000_000;
            }
        }
    }
}
