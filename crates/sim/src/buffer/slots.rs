//! The slots of a buffer in NVRAM (SPEC 4.4), and of one that destages by itself: a page takes a slot when it is admitted, and releases it when the operation that writes it to
//! flash has ended, or when it is discarded. Pages are numbered as they are taken in, and admitted in that order: page i as soon as
//! i - capacity slots have been released. So decisions do not depend on the timing of flash; only completions and the starts of operations
//! do. Nothing waits for a later decision: the slots whose release was decided before page i was taken in are enough.

use flashraid_vocabulary::slab::{NIL, Slab};
use std::collections::VecDeque;

/// What continues when a page is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// The request (by its slot) that wrote it, or reads it, is acknowledged.
    Request(u32),
    /// The operation (by its slot) that writes it to flash may start.
    Operation(u32),
}

/// A page that is not admitted yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Who waits for it: first and last in a list.
    waiters: (u32, u32),
    /// It has been discarded: it releases its slot at once.
    is_discarded: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Slots {
    capacity: u64,
    taken_in: u64,
    admitted: u64,
    released: u64,
    /// Pages taken in and not admitted, in order.
    waiting: VecDeque<Waiting>,
    /// Lists of those who wait: each with the next one.
    waiters: Slab<(Waiter, u32)>,
}

impl Slots {
    /// With this many slots; `u64::MAX` admits everything at once.
    pub fn new(capacity: u64) -> Self {
        Self { capacity, taken_in: 0, admitted: 0, released: 0, waiting: VecDeque::new(), waiters: Slab::with_room(0) }
    }

    /// Whether pages may have to wait.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.capacity != u64::MAX
    }

    /// Takes in a page. Returns its number, counted from 1.
    pub fn take_in(&mut self) -> u64 {
        self.taken_in += 1;
        if self.taken_in - self.released <= self.capacity {
            self.admitted = self.taken_in;
        } else {
            self.waiting.push_back(Waiting { waiters: (NIL, NIL), is_discarded: false });
        }
        self.taken_in
    }

    /// Whether the page with this number is admitted. Number 0 stands for no page, and is admitted.
    #[inline]
    pub fn is_admitted(&self, number: u64) -> bool {
        number <= self.admitted
    }

    /// Whether a page waits for its admission.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Registers a waiter for the admission of the page with this number, which is not admitted yet.
    pub fn wait(&mut self, number: u64, waiter: Waiter) {
        let id = self.waiters.put((waiter, NIL));
        let (first, last) = &mut self.waiting[(number - self.admitted - 1) as usize].waiters;
        match std::mem::replace(last, id) {
            NIL => *first = id,
            former => self.waiters[former].1 = id,
        }
    }

    /// The page with this number is discarded.
    pub fn discard(&mut self, number: u64, woken: &mut Vec<Waiter>) {
        if self.is_admitted(number) {
            self.release(woken);
        } else {
            self.waiting[(number - self.admitted - 1) as usize].is_discarded = true;
        }
    }

    /// Releases a slot. Appends to `woken` the waiters that continue, in order.
    pub fn release(&mut self, woken: &mut Vec<Waiter>) {
        self.released += 1;
        while self.admitted - self.released < self.capacity {
            let Some(Waiting { waiters: (mut next, _), is_discarded }) = self.waiting.pop_front() else { return };
            self.admitted += 1;
            self.released += u64::from(is_discarded);
            while next != NIL {
                let (waiter, following) = self.waiters[next];
                woken.push(waiter);
                self.waiters.remove(next);
                next = following;
            }
        }
    }

    /// Slots taken.
    #[cfg(test)]
    pub fn occupied(&self) -> u64 {
        self.admitted - self.released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn request(id: u32) -> Waiter {
        Waiter::Request(id)
    }

    #[test]
    fn pages_are_admitted_in_order_as_slots_come_back() {
        let (mut slots, mut woken) = (Slots::new(2), Vec::new());
        let numbers: Vec<u64> = (0..5).map(|_| slots.take_in()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert!(slots.is_admitted(2) && !slots.is_admitted(3));
        slots.wait(4, request(40));
        slots.wait(3, request(30));
        slots.wait(3, Waiter::Operation(31));
        slots.release(&mut woken);
        assert_eq!(std::mem::take(&mut woken), [request(30), Waiter::Operation(31)]);
        // Discarded before it has a slot: it gives back the one that it gets.
        slots.discard(5, &mut woken);
        assert!(woken.is_empty() && !slots.is_admitted(4));
        slots.release(&mut woken);
        assert_eq!(std::mem::take(&mut woken), [request(40)]);
        slots.release(&mut woken);
        assert_eq!((slots.is_admitted(5), slots.occupied()), (true, 1));
        assert_eq!(slots.take_in(), 6);
        assert!(slots.is_admitted(6));
    }

    proptest! {
        /// Against a list of pages, each of which waits, has a slot or has gone.
        #[test]
        fn agrees_with_a_list_of_slots(capacity in 1u64..6, steps in vec((0u8..4, 0usize..64), 1..300)) {
            #[derive(Clone, Copy, PartialEq)]
            enum Page { Waits, Held, Gone }
            let (mut slots, mut pages, mut discarded) = (Slots::new(capacity), Vec::<Page>::new(), Vec::<bool>::new());
            let mut due = Vec::new();
            for (step, which) in steps {
                let mut woken = Vec::new();
                match step {
                    0 | 1 => {
                        prop_assert_eq!(slots.take_in(), pages.len() as u64 + 1);
                        pages.push(Page::Waits);
                        discarded.push(false);
                    }
                    _ if pages.is_empty() => continue,
                    2 => {
                        // A page that is held has been written to flash.
                        let Some(page) = pages.iter().position(|page| *page == Page::Held) else { continue };
                        pages[page] = Page::Gone;
                        slots.release(&mut woken);
                    }
                    _ => {
                        let page = which % pages.len();
                        if pages[page] == Page::Gone || discarded[page] { continue }
                        discarded[page] = true;
                        if pages[page] == Page::Held { pages[page] = Page::Gone }
                        slots.discard(page as u64 + 1, &mut woken);
                    }
                }
                let mut expected = Vec::new();
                while pages.iter().filter(|page| **page == Page::Held).count() < capacity as usize {
                    let Some(page) = pages.iter().position(|page| *page == Page::Waits) else { break };
                    pages[page] = if discarded[page] { Page::Gone } else { Page::Held };
                    expected.extend(due.iter().filter(|(of, _)| *of == page).map(|(_, waiter)| *waiter));
                }
                prop_assert_eq!(woken, expected);
                if let Some(page) = pages.iter().position(|page| *page == Page::Waits) {
                    let (page, id) = (page + which % (pages.len() - page), due.len() as u32);
                    let waiter = if which % 2 == 0 { request(id) } else { Waiter::Operation(id) };
                    due.push((page, waiter));
                    slots.wait(page as u64 + 1, waiter);
                }
                prop_assert_eq!(slots.occupied(), pages.iter().filter(|page| **page == Page::Held).count() as u64);
                for (page, state) in pages.iter().enumerate() {
                    prop_assert_eq!(slots.is_admitted(page as u64 + 1), *state != Page::Waits);
                }
            }
        }
    }
}
