//! Where new pages lie. Each device's part of the space is cut into slices that grow side by side, and a new request begins at the slice
//! that has rested longest: so requests that follow on each other by chance do not look sequential, and pages used once
//! together stay neighbours.

/// Slices of a device.
const SLICES: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Slice {
    /// First page not given yet, and the end.
    next: u64,
    end: u64,
    used: u64,
}

/// The slices of one device.
#[derive(Clone, Debug)]
pub(super) struct Frontiers {
    slices: Vec<Slice>,
    uses: u64,
}

impl Frontiers {
    /// Of the pages from `first` to below `end`.
    pub fn new(first: u64, end: u64) -> Self {
        let slices = SLICES.min(end - first).max(1);
        let bound = |index: u64| first + (u128::from(end - first) * u128::from(index) / u128::from(slices)) as u64;
        let slice = |index| Slice { next: bound(index), end: bound(index + 1), used: 0 };
        Self { slices: (0..slices).map(slice).collect(), uses: 0 }
    }

    /// The first of so many new pages. None: all pages are used.
    pub fn begin(&mut self, pages: u64) -> Option<u64> {
        let fits = self.slices.iter_mut().filter(|slice| slice.end - slice.next >= pages).min_by_key(|slice| slice.used);
        let page = fits.map(|slice| slice.next);
        page.or_else(|| {
            self.slices.iter().filter(|slice| slice.next < slice.end).max_by_key(|slice| slice.end - slice.next).map(|slice| slice.next)
        })
    }

    /// Pages up to below `end` were used, from `first` on.
    pub fn advance(&mut self, first: u64, end: u64) {
        self.uses += 1;
        for slice in &mut self.slices {
            if first <= slice.next && slice.next < end {
                (slice.next, slice.used) = (end.min(slice.end), self.uses);
            }
        }
    }
}
