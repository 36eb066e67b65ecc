//! When a buffer destages by itself (`destage = low_water`): from the moment at which it holds as many pages as its high mark until it holds no more than its
//! low one, what leaves next leaves at a steady rate. When that is follows from when requests came, and from nothing that flash does: what is due
//! leaves before a request of the same instant, so that every count is exact (`tests/reference/buffer_counts.py`).

use crate::clock::NEVER;

/// The marks, and the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestageOptions {
    /// With so many pages, at least one, it begins.
    pub high_pages: u64,
    /// With so many it ends; fewer than with which it begins.
    pub low_pages: u64,
    /// From one page to the next; a group of pages takes as long as they would one by one.
    pub page_ns: u64,
}

impl DestageOptions {
    /// Only what must leave does.
    pub const WHEN_FULL: Self = Self { high_pages: u64::MAX, low_pages: 0, page_ns: 0 };
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Destaging {
    options: DestageOptions,
    /// When the next victim leaves; `NEVER` between low mark and high mark.
    due_ns: u64,
}

impl Destaging {
    /// Nothing is buffered.
    pub fn new(options: DestageOptions) -> Self {
        debug_assert!(options.low_pages < options.high_pages);
        Self { options, due_ns: NEVER }
    }

    /// Whether it ever does.
    pub fn is_on(&self) -> bool {
        self.options != DestageOptions::WHEN_FULL
    }

    /// When the next victim leaves.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// There are so many pages now, after a write.
    #[inline]
    pub fn grew(&mut self, count: usize, now_ns: u64) {
        if count as u64 >= self.options.high_pages && self.due_ns == NEVER {
            self.due_ns = now_ns;
        }
    }

    /// There are so many pages now, after some have left for whatever reason.
    #[inline]
    pub fn shrank(&mut self, count: usize) {
        if count as u64 <= self.options.low_pages {
            self.due_ns = NEVER;
        }
    }

    /// A victim of so many pages has left that was due, and so it `shrank`.
    pub fn left(&mut self, pages: usize) {
        self.due_ns = self.due_ns.saturating_add(pages as u64 * self.options.page_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_high_mark_to_the_low_one_at_a_steady_rate() {
        let mut destaging = Destaging::new(DestageOptions { high_pages: 4, low_pages: 1, page_ns: 10 });
        (1..4).for_each(|count| destaging.grew(count, 7));
        assert_eq!(destaging.due_ns(), NEVER);
        destaging.grew(4, 7);
        destaging.grew(5, 9);
        assert_eq!(destaging.due_ns(), 7, "since the high mark was reached");
        destaging.shrank(3);
        destaging.left(2);
        assert_eq!(destaging.due_ns(), 27, "two pages take as long as two");
        destaging.shrank(2);
        destaging.left(1);
        destaging.grew(3, 28);
        assert_eq!(destaging.due_ns(), 37, "between the marks it goes on");
        destaging.shrank(1);
        destaging.left(1);
        assert_eq!(destaging.due_ns(), NEVER);
        destaging.grew(3, 40);
        assert_eq!(destaging.due_ns(), NEVER, "between the marks it does not begin");
        destaging.grew(4, 50);
        assert_eq!(destaging.due_ns(), 50);
    }

    #[test]
    fn when_full_never() {
        let mut destaging = Destaging::new(DestageOptions::WHEN_FULL);
        destaging.grew(u32::MAX as usize, 0);
        assert!(!destaging.is_on() && destaging.due_ns() == NEVER);
    }
}
