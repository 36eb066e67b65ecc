//! The event queue: one entry for each resource (bus or LUN), which is when it next changes state, one for the timer of idle time if there is GC then,
//! and one for the decoder of LDPC if decoding takes time.
//!
//! A winner tree over all resources. Ties go to the lower number, units come before buses, and these before the other two, so that a bus that becomes free
//! chooses among all units that are ready by then: that is the defined order of simultaneous events. Cost is the tree's height, whatever is in flight.
//! Half of all events are those of buses that wait for units at the same instant. These are bits beside the tree, and cost nothing there.

/// "No event".
pub(crate) const NEVER: u64 = u64::MAX;

/// Next event of each resource, and the earliest of all.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Heap-ordered binary tree of times: node i has children 2i and 2i+1, and the earlier of theirs; leaves start at `leaves`. Which
    /// resource a time belongs to follows from where it lies, so that no time is too late for a node.
    nodes: Vec<u64>,
    leaves: usize,
    /// Buses that are due at `due_ns`, the time that it is, as bits. They have no event in the tree.
    due: u64,
    /// `NEVER` if no bus is due.
    due_ns: u64,
    /// Number of the first bus.
    buses: u32,
}

impl EventQueue {
    /// A queue for `resources` resources, none of which has an event.
    pub fn new(resources: usize) -> Self {
        Self::with_buses(resources, 0)
    }

    /// The same, of which those from `buses` on, up to 64, are buses, with `set_bus` and `clear_bus`.
    pub fn with_buses(resources: usize, buses: u32) -> Self {
        let leaves = resources.next_power_of_two().max(2);
        Self { nodes: vec![NEVER; 2 * leaves], leaves, due: 0, due_ns: NEVER, buses }
    }

    /// Sets the event of a bus that has none: it is due now unless its time is later. The time must not move on before it.
    #[inline]
    pub fn set_bus(&mut self, bus: u32, time_ns: u64, now_ns: u64) {
        if time_ns > now_ns {
            return self.set((self.buses + bus) as usize, time_ns);
        }
        debug_assert!(now_ns <= self.nodes[1] && (self.due == 0 || self.due_ns == now_ns));
        self.due |= 1 << bus;
        self.due_ns = now_ns;
    }

    /// Takes the bus's event away, wherever it is.
    #[inline]
    pub fn clear_bus(&mut self, bus: u32) {
        if self.due & 1 << bus == 0 {
            return self.set((self.buses + bus) as usize, NEVER);
        }
        self.due &= !(1 << bus);
        if self.due == 0 {
            self.due_ns = NEVER;
        }
    }

    /// Sets the resource's event (or `NEVER`). Always walks to the root: the height is small, and a loop of fixed length is
    /// predicted better than one that stops where nothing changes.
    #[inline]
    pub fn set(&mut self, resource: usize, time_ns: u64) {
        let mut node = self.leaves + resource;
        let mut earliest = time_ns;
        self.nodes[node] = earliest;
        while node > 1 {
            // SAFETY: the leaf was just found to be a node; its sibling is one, as there is an even number of them, and so are those above.
            unsafe {
                earliest = earliest.min(*self.nodes.get_unchecked(node ^ 1));
                node /= 2;
                *self.nodes.get_unchecked_mut(node) = earliest;
            }
        }
    }

    /// The resource's event, `NEVER` if it has none; not of a bus that may be due.
    #[inline]
    pub fn of(&self, resource: usize) -> u64 {
        self.nodes[self.leaves + resource]
    }

    /// The time of the earliest event of all other resources, `NEVER` if none of them has one; not of a bus that may be due.
    #[inline]
    pub fn first_of_others_ns(&self, resource: usize) -> u64 {
        let mut node = self.leaves + resource;
        let mut earliest = self.due_ns;
        while node > 1 {
            earliest = earliest.min(self.nodes[node ^ 1]);
            node /= 2;
        }
        earliest
    }

    /// The earliest event's time, `NEVER` if there is none.
    #[inline]
    pub fn first_ns(&self) -> u64 {
        self.nodes[1].min(self.due_ns)
    }

    /// The earliest event: (time, resource). There must be one.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        let earliest = self.nodes[1];
        let due = self.buses + self.due.trailing_zeros();
        if self.due_ns < earliest {
            return (self.due_ns, due);
        }
        let mut node = 1;
        while node < self.leaves {
            // SAFETY: every node before the leaves has two children.
            node = 2 * node + usize::from(unsafe { *self.nodes.get_unchecked(2 * node) } != earliest);
        }
        let first = (node - self.leaves) as u32;
        (earliest, if self.due_ns == earliest { first.min(due) } else { first })
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

    /// Buses that are due now are as good as set to this time: as in a sorted list of units, then buses, then others.
    #[test]
    fn buses_that_are_due_take_their_turn() {
        const UNITS: u32 = 70;
        const BUSES: u32 = 64;
        let mut queue = EventQueue::with_buses((UNITS + BUSES + 1) as usize, UNITS);
        let mut times = vec![NEVER; (UNITS + BUSES + 1) as usize];
        let mut state = 1u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let (mut now_ns, mut met) = (0, [0; 4]);
        for _ in 0..50_000 {
            let bus = draw(BUSES);
            let at = (UNITS + bus) as usize;
            match draw(4) {
                0 => {
                    let resource = draw(UNITS) as usize;
                    times[resource] = now_ns + u64::from(draw(3));
                    queue.set(resource, times[resource]);
                }
                1 if times[at] == NEVER => {
                    times[at] = now_ns + u64::from(draw(2));
                    queue.set_bus(bus, times[at], now_ns);
                }
                2 => {
                    let other = (UNITS + BUSES) as usize;
                    times[other] = now_ns + u64::from(draw(5));
                    queue.set(other, times[other]);
                }
                _ => {
                    let first = times.iter().enumerate().map(|(number, time_ns)| (*time_ns, number as u32)).min().unwrap();
                    assert_eq!(queue.first_ns(), first.0);
                    let resource = first.1 as usize;
                    if first.0 == NEVER {
                        continue;
                    }
                    assert_eq!(queue.first(), first);
                    if !(UNITS..UNITS + BUSES).contains(&first.1) {
                        let others = times.iter().enumerate().filter(|(other, _)| *other != resource);
                        assert_eq!(queue.first_of_others_ns(resource), others.map(|(_, time_ns)| *time_ns).min().unwrap());
                    }
                    now_ns = first.0;
                    times[resource] = NEVER;
                    match first.1.checked_sub(UNITS) {
                        Some(bus) if bus < BUSES => queue.clear_bus(bus),
                        _ => queue.set(resource, NEVER),
                    }
                    let ties = times.iter().filter(|time_ns| **time_ns == now_ns).count();
                    met[ties.min(3)] += 1;
                }
            }
        }
        assert!(met.iter().all(|count| *count > 100), "{met:?}");
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
