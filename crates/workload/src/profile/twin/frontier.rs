//! Where new pages lie. Each device's part of the space is cut into slices that grow side by side, and a new request begins at the slice
//! that has rested longest: so requests that follow on each other by chance do not look sequential, and pages used once
//! together stay neighbors.

/// Slices of a device.
const SLICES: u64 = 64;

#[derive(Clone, Copy, Debug)]
struct FrontierSlice {
    first: u64,
    /// First page not given yet, and the end.
    next: u64,
    end: u64,
    used: u64,
}

/// The slices of one device.
#[derive(Clone, Debug)]
pub(super) struct Frontiers {
    slices: Vec<FrontierSlice>,
    uses: u64,
}

impl Frontiers {
    /// Of the pages from `first` to below `end`.
    pub fn new(first: u64, end: u64) -> Self {
        let slices = SLICES.min(end - first).max(1);
        let bound = |index: u64| first + (u128::from(end - first) * u128::from(index) / u128::from(slices)) as u64;
        let slice = |index| FrontierSlice { first: bound(index), next: bound(index), end: bound(index + 1), used: 0 };
        Self { slices: (0..slices).map(slice).collect(), uses: 0 }
    }

    /// The first of so many new pages, or of fewer if there are no more together. None: all pages are used.
    pub fn begin(&self, pages: u64) -> Option<u64> {
        let room = |slice: &&FrontierSlice| slice.end - slice.next;
        let fits = self.slices.iter().filter(|slice| room(slice) >= pages).min_by_key(|slice| slice.used);
        fits.or_else(|| self.slices.iter().filter(|slice| room(slice) > 0).max_by_key(room)).map(|slice| slice.next)
    }

    /// Pages from `first` to below `end` were used. A slice that is full replaces it the one behind it, if nothing lies there yet.
    pub fn advance(&mut self, first: u64, end: u64) {
        self.uses += 1;
        for index in 0..self.slices.len() {
            let slice = &mut self.slices[index];
            if !(first <= slice.next && slice.next < end) {
                continue;
            }
            (slice.next, slice.used) = (end.min(slice.end), self.uses);
            let (full, next) = (slice.end, slice.next);
            let behind = self.slices.get_mut(index + 1).filter(|behind| next == full && behind.next == behind.first);
            if let Some(behind) = behind {
                let taken = behind.end;
                (behind.first, behind.next) = (taken, taken);
                self.slices[index].end = taken;
                self.slices[index].next = end.min(taken);
            }
        }
    }
}
