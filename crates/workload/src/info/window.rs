//! Windows of equal length, one after the other: distinct pages and requests of each.

/// Windows of one length.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub length_ns: u64,
    /// Windows that have ended.
    pub ended: u64,
    /// Uses at this place or later fell into the present window (see `Recency`).
    pub first_place: usize,
    /// Of the present window.
    pages: u64,
    requests: u64,
    /// Of all that have ended.
    pub pages_sum: u64,
    pub pages_max: u64,
    /// Number of the window with the most pages.
    pub busiest: u64,
    pub requests_sum: u64,
    pub requests_max: u64,
}

impl Window {
    pub fn new(length_ns: u64) -> Self {
        Self {
            length_ns,
            ended: 0,
            first_place: 0,
            pages: 0,
            requests: 0,
            pages_sum: 0,
            pages_max: 0,
            busiest: 0,
            requests_sum: 0,
            requests_max: 0,
        }
    }

    /// A request arrives this long after the first one; its pages will take places from `next_place` on.
    #[inline]
    pub fn arrive(&mut self, time_ns: u64, next_place: usize) {
        if time_ns - self.ended * self.length_ns >= self.length_ns {
            self.end(time_ns / self.length_ns, next_place);
        }
        self.requests += 1;
    }

    fn end(&mut self, window: u64, next_place: usize) {
        if self.pages > self.pages_max {
            (self.pages_max, self.busiest) = (self.pages, self.ended);
        }
        self.ended = window;
        self.first_place = next_place;
        self.pages_sum += self.pages;
        self.requests_sum += self.requests;
        self.requests_max = self.requests_max.max(self.requests);
        (self.pages, self.requests) = (0, 0);
    }

    /// A page is used whose last use, if any, was at `place`.
    #[inline]
    pub fn touch(&mut self, place: Option<usize>) {
        self.pages += u64::from(place.is_none_or(|place| place < self.first_place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_window_is_the_first_with_the_most_pages() {
        let mut window = Window::new(1000);
        for (time_ns, pages) in [(0, 2), (1000, 1), (1999, 4), (7500, 5), (9000, 5), (12_000, 9)] {
            window.arrive(time_ns, 0);
            (0..pages).for_each(|_| window.touch(None));
        }
        assert_eq!((window.ended, window.busiest, window.pages_max), (12, 1, 5), "the last one has not ended");
        assert_eq!((window.pages_sum, window.requests_sum, window.requests_max), (17, 5, 2));
    }
}
