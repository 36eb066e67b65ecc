//! The event queue: one entry for each resource (bus or LUN) that has an event, which is when it next changes state, one for the timer of the layer
//! above if it has one, and one for the decoder of LDPC if decoding takes time.
//!
//! A binary heap. Ties go to the lower number, LUNs come before buses, and these before the other two, so that a bus that becomes free
//! chooses among all LUNs that are ready by then: that is the defined order of simultaneous events. Cost is the height of the heap, which follows from
//! how many resources are in use, not from how many there are. A LUN whose event is being processed is only lifted out: mostly its next event takes
//! the place. Half of all events are those of buses that wait for LUNs at the same instant. These are bits beside the heap.
//!
//! Time and resource of an event are one word, its key, so that one comparison orders them: nanoseconds since a base, then the number of the
//! resource. What is too far from the base for that lies behind all others, until nothing else is left and the base moves there.

use std::cmp::Ordering;

/// "No event".
pub const NEVER: u64 = u64::MAX;

/// Key of no event.
const NO_EVENT: u64 = u64::MAX;
/// Bit of the keys whose times are too far from the base.
const FAR: u64 = 1 << 63;

/// Next event of each resource, and the earliest of all.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Keys of the events; that at i is not after those at 2i + 1 and 2i + 2. Behind the last one, `NO_EVENT` as far as there may be children.
    heap: Vec<u64>,
    len: usize,
    /// The first event was lifted out: it is in the heap, and does not count.
    is_lifted: bool,
    /// Time of the event of each resource, `NEVER` for none.
    times: Vec<u64>,
    /// Bits of a key that are its resource.
    resource_bits: u32,
    base_ns: u64,
    /// Key and time of the first event in the heap.
    top: u64,
    top_ns: u64,
    /// Buses that are due at `due_ns`, the time that it is, as bits. They have no event in the heap.
    due: u64,
    /// `NEVER` if no bus is due.
    due_ns: u64,
    /// Number of the first bus.
    buses: u32,
    /// Time of the earliest event of all.
    first_ns: u64,
}

impl EventQueue {
    /// A queue for `resources` resources, none of which has an event.
    pub fn new(resources: usize) -> Self {
        Self::with_buses(resources, 0)
    }

    /// The same, of which those from `buses` on, up to 64, are buses, with `set_bus` and `clear_bus`.
    pub(crate) fn with_buses(resources: usize, buses: u32) -> Self {
        Self {
            heap: vec![NO_EVENT; 2 * resources + 3],
            len: 0,
            is_lifted: false,
            times: vec![NEVER; resources],
            resource_bits: resources.next_power_of_two().trailing_zeros(),
            base_ns: 0,
            top: NO_EVENT,
            top_ns: NEVER,
            due: 0,
            due_ns: NEVER,
            buses,
            first_ns: NEVER,
        }
    }

    /// Sets the event of a bus that has none: it is due now unless its time is later. The time must not move on before it.
    #[inline]
    pub(crate) fn set_bus(&mut self, bus: u32, time_ns: u64, now_ns: u64) {
        if time_ns > now_ns {
            return self.set((self.buses + bus) as usize, time_ns);
        }
        debug_assert!(now_ns <= self.first_ns && (self.due == 0 || self.due_ns == now_ns));
        self.due |= 1 << bus;
        (self.due_ns, self.first_ns) = (now_ns, now_ns);
    }

    /// Takes the bus's event, which must be the first, away.
    #[inline]
    pub(crate) fn clear_bus(&mut self, bus: u32) {
        if self.due & 1 << bus == 0 {
            return self.lift((self.buses + bus) as usize);
        }
        self.due &= !(1 << bus);
        if self.due == 0 {
            (self.due_ns, self.first_ns) = (NEVER, self.top_ns);
        }
    }

    /// Sets the resource's event (or `NEVER`).
    #[inline]
    pub fn set(&mut self, resource: usize, time_ns: u64) {
        let before_ns = std::mem::replace(&mut self.times[resource], time_ns);
        if time_ns < self.base_ns {
            self.move_base(time_ns);
        } else if before_ns != NEVER {
            self.change(resource, before_ns);
        } else if time_ns == NEVER {
            return;
        } else if self.is_lifted {
            self.is_lifted = false;
            self.sink(0, self.key(resource));
        } else {
            self.len += 1;
            self.rise(self.len - 1, self.key(resource));
        }
        self.find_first();
    }

    /// Takes the resource's event, which must be the first, away until it is set again.
    #[inline]
    pub(crate) fn lift(&mut self, resource: usize) {
        if self.is_lifted {
            self.close_gap();
        }
        debug_assert_eq!(self.heap[0], self.key(resource), "not the first event");
        self.times[resource] = NEVER;
        self.is_lifted = true;
        self.find_first();
    }

    /// Whether the time, which is not before the base, fits into a key.
    #[inline(always)]
    fn is_near(&self, time_ns: u64) -> bool {
        time_ns - self.base_ns < FAR >> self.resource_bits
    }

    /// The key of a resource that has an event.
    #[inline(always)]
    fn key(&self, resource: usize) -> u64 {
        self.key_at(resource, self.times[resource])
    }

    /// Its key if that is at this time.
    #[inline(always)]
    fn key_at(&self, resource: usize, time_ns: u64) -> u64 {
        let time = if self.is_near(time_ns) { (time_ns - self.base_ns) << self.resource_bits } else { FAR };
        time | resource as u64
    }

    /// The resource has another event than before, or none.
    fn change(&mut self, resource: usize, before_ns: u64) {
        if self.is_lifted {
            self.close_gap();
        }
        let before = self.key_at(resource, before_ns);
        let place = self.heap.iter().position(|key| *key == before).expect("it had an event");
        let moved = if self.times[resource] == NEVER { self.take_last() } else { self.key(resource) };
        if place == self.len {
            return;
        }
        if place > 0 && moved < self.heap[(place - 1) / 2] { self.rise(place, moved) } else { self.sink(place, moved) }
    }

    /// The last event takes the place of the one that was lifted out.
    #[inline]
    fn close_gap(&mut self) {
        self.is_lifted = false;
        let last = self.take_last();
        if self.len > 0 {
            self.sink(0, last);
        }
    }

    #[inline]
    fn take_last(&mut self) -> u64 {
        self.len -= 1;
        std::mem::replace(&mut self.heap[self.len], NO_EVENT)
    }

    /// Puts the event where the place is, or before it.
    #[inline]
    fn rise(&mut self, mut place: usize, event: u64) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] < event {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }

    /// Puts the event where the place is, or behind it.
    #[inline]
    fn sink(&mut self, mut place: usize, event: u64) {
        loop {
            let child = 2 * place + 1;
            // SAFETY: the place is one of an event; the heap is long enough for the children of all.
            let (left, right) = unsafe { (*self.heap.get_unchecked(child), *self.heap.get_unchecked(child + 1)) };
            let earlier = left.min(right);
            if event <= earlier {
                break;
            }
            // SAFETY: as before.
            unsafe { *self.heap.get_unchecked_mut(place) = earlier };
            place = child + usize::from(right < left);
        }
        self.heap[place] = event;
    }

    #[inline(always)]
    fn find_first(&mut self) {
        let [top, left, right, ..] = self.heap[..] else { unreachable!("it is longer") };
        self.top = if self.is_lifted { left.min(right) } else { top };
        self.top_ns = self.base_ns.wrapping_add(self.top >> self.resource_bits);
        if self.top >= FAR {
            self.find_far();
        }
        self.first_ns = self.top_ns.min(self.due_ns);
    }

    /// There is no event in the heap, or only such as are far from the base.
    fn find_far(&mut self) {
        self.top_ns = NEVER;
        if self.top != NO_EVENT {
            self.move_base(self.earliest_ns(usize::MAX));
            (self.top, self.top_ns) = (self.heap[0], self.base_ns);
        }
    }

    /// The earliest time of all resources but this one.
    #[cold]
    fn earliest_ns(&self, but: usize) -> u64 {
        self.times.iter().enumerate().filter(|(resource, _)| *resource != but).map(|(_, time_ns)| *time_ns).min().unwrap_or(NEVER)
    }

    /// Keys count from another base, not after any event.
    #[cold]
    fn move_base(&mut self, base_ns: u64) {
        self.base_ns = base_ns;
        self.is_lifted = false;
        self.heap.fill(NO_EVENT);
        self.len = 0;
        for resource in 0..self.times.len() {
            if self.times[resource] != NEVER {
                self.len += 1;
                self.rise(self.len - 1, self.key(resource));
            }
        }
    }

    /// The resource's event, `NEVER` if it has none; not of a bus that may be due.
    #[inline]
    pub fn of(&self, resource: usize) -> u64 {
        self.times[resource]
    }

    /// The time of the earliest event of all other resources, `NEVER` if none of them has one; not of a bus that may be due.
    #[inline]
    pub fn first_of_others_ns(&self, resource: usize) -> u64 {
        let has_event = self.times[resource] != NEVER;
        let first_at = |place: usize| match self.heap[place] {
            key if has_event && key == self.key(resource) => self.heap[2 * place + 1].min(self.heap[2 * place + 2]),
            key => key,
        };
        let other = if self.is_lifted { first_at(1).min(first_at(2)) } else { first_at(0) };
        let other_ns = match other {
            NO_EVENT => NEVER,
            FAR.. => self.earliest_ns(resource),
            near => self.base_ns + (near >> self.resource_bits),
        };
        other_ns.min(self.due_ns)
    }

    /// How many resources have an event.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.len - usize::from(self.is_lifted) + self.due.count_ones() as usize
    }

    /// The first bus that is due, if nothing else has an event at this time.
    #[inline(always)]
    pub(crate) fn bus_alone(&self) -> Option<u32> {
        (self.due_ns < self.top_ns).then(|| self.due.trailing_zeros())
    }

    /// The first event but for those of buses that are due. There must be one.
    #[inline(always)]
    pub(crate) fn first_in_heap(&self) -> u32 {
        (self.top & ((1 << self.resource_bits) - 1)) as u32
    }

    /// The earliest event's time, `NEVER` if there is none.
    #[inline]
    pub fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// The earliest event: (time, resource). There must be one.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        let top = self.first_in_heap();
        let due = self.buses + self.due.trailing_zeros();
        let first = match self.due_ns.cmp(&self.top_ns) {
            Ordering::Less => due,
            Ordering::Equal => top.min(due),
            Ordering::Greater => top,
        };
        (self.first_ns, first)
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

    /// Buses that are due now are as good as set to this time: as in a sorted list of LUNs, then buses, then others.
    #[test]
    fn buses_that_are_due_take_their_turn() {
        const LUNS: u32 = 70;
        const BUSES: u32 = 64;
        let mut queue = EventQueue::with_buses((LUNS + BUSES + 1) as usize, LUNS);
        let mut times = vec![NEVER; (LUNS + BUSES + 1) as usize];
        let mut state = 1u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let (mut now_ns, mut met) = (0, [0; 4]);
        for _ in 0..50_000 {
            let bus = draw(BUSES);
            let at = (LUNS + bus) as usize;
            match draw(4) {
                0 => {
                    let resource = draw(LUNS) as usize;
                    times[resource] = now_ns + u64::from(draw(3));
                    queue.set(resource, times[resource]);
                }
                1 if times[at] == NEVER => {
                    times[at] = now_ns + u64::from(draw(2));
                    queue.set_bus(bus, times[at], now_ns);
                }
                2 => {
                    let other = (LUNS + BUSES) as usize;
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
                    if !(LUNS..LUNS + BUSES).contains(&first.1) {
                        let others = times.iter().enumerate().filter(|(other, _)| *other != resource);
                        assert_eq!(queue.first_of_others_ns(resource), others.map(|(_, time_ns)| *time_ns).min().unwrap());
                    }
                    now_ns = first.0;
                    times[resource] = NEVER;
                    match first.1.checked_sub(LUNS) {
                        Some(bus) if bus < BUSES => queue.clear_bus(bus),
                        None if draw(2) == 0 => queue.lift(resource),
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
