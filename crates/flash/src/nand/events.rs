//! The event queue: one entry for each resource (bus or array unit), which is when it next changes state.
//!
//! A winner tree over all resources. Ties go to the lower number, and buses come before units: that is the defined order of
//! simultaneous events. Cost is the tree's height, whatever is in flight.

/// "No event".
pub const NEVER: u64 = u64::MAX;

/// Next event of each resource, and the earliest of all.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Heap-ordered binary tree: node i has children 2i and 2i+1; leaves start at `leaves`. Each node holds (time, resource).
    nodes: Vec<(u64, u32)>,
    leaves: usize,
}

impl EventQueue {
    /// A queue for `resources` resources, none of which has an event.
    pub fn new(resources: usize) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        let mut nodes = vec![(NEVER, u32::MAX); 2 * leaves];
        for (resource, node) in nodes[leaves..].iter_mut().enumerate() {
            node.1 = resource as u32;
        }
        Self { nodes, leaves }
    }

    /// Sets the resource's event (or `NEVER`).
    #[inline]
    pub fn set(&mut self, resource: usize, time_ns: u64) {
        let mut node = self.leaves + resource;
        self.nodes[node].0 = time_ns;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            node /= 2;
            let winner = if right.0 < left.0 { right } else { left };
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// The resource's event, `NEVER` if it has none.
    pub fn of(&self, resource: usize) -> u64 {
        self.nodes[self.leaves + resource].0
    }

    /// The earliest event: (time, resource); time is `NEVER` if there is none.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        self.nodes[1]
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
}
