//! The arithmetic of the logical space: bytes, pages and rows. Nothing of it ever changes, so that every part may have it.

use crate::media::Shape;
use flashraid_redundancy::Scheme;
use flashraid_vocabulary::{Divisor, Lpn};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogicalSpace {
    /// Pages of the logical space.
    pub(super) pages: u64,
    pub(super) page_bytes: u32,
    page_shift: u32,
    /// Host pages in a row.
    pub(super) row_pages: u64,
    per_row: Divisor,
    /// Whether a row of so many host pages lies at one local page of its members (`Addressing::row_pages`).
    pub(super) has_rows: bool,
}

impl LogicalSpace {
    /// So many pages, which the scheme distributes.
    pub(super) fn new(pages: u64, scheme: &dyn Scheme, shape: &Shape) -> Self {
        let row_pages = u64::from(scheme.row_pages().unwrap_or(scheme.width()));
        Self {
            pages,
            page_bytes: shape.page_bytes,
            page_shift: shape.page_bytes.trailing_zeros(),
            row_pages,
            per_row: Divisor::new(row_pages as u32),
            has_rows: scheme.row_pages().is_some(),
        }
    }

    /// The page that a byte is in.
    #[inline]
    pub(super) fn page_of(&self, byte: u64) -> u64 {
        byte >> self.page_shift
    }

    /// The first byte of a page.
    #[inline]
    pub(super) fn start_of(&self, page: u64) -> u64 {
        page << self.page_shift
    }

    /// Pages that so many bytes reach into.
    #[inline]
    pub(super) fn pages_up(&self, bytes: u64) -> u64 {
        (bytes + u64::from(self.page_bytes) - 1) >> self.page_shift
    }

    /// The page of the logical space, which is as if it repeated without end.
    #[inline]
    pub(super) fn wrapped(&self, page: u64) -> Lpn {
        Lpn(if page < self.pages { page } else { page % self.pages })
    }

    /// The row of a host page.
    #[inline]
    pub(super) fn row_of(&self, lpn: Lpn) -> u64 {
        self.per_row.divide(lpn.0)
    }

    /// The lanes that a part of a page reaches into; never all of them, as a part is no whole page.
    pub(super) fn lanes(&self, start: u32, bytes: u32) -> u64 {
        let lane = |byte: u32| (u64::from(byte) * 64 / u64::from(self.page_bytes)) as u32;
        let (first, last) = (lane(start), lane(start + bytes - 1));
        let lanes = u64::MAX >> (63 - (last - first)) << first;
        if lanes == u64::MAX { lanes >> 1 } else { lanes }
    }

    /// Each page of a range of bytes, with the first of them in the page and their number.
    pub(super) fn parts(self, mut offset_bytes: u64, end_bytes: u64) -> impl Iterator<Item = (Lpn, u32, u32)> {
        let page_bytes = u64::from(self.page_bytes);
        std::iter::from_fn(move || {
            let start = offset_bytes & (page_bytes - 1);
            let bytes = end_bytes.checked_sub(offset_bytes).filter(|left| *left > 0)?.min(page_bytes - start);
            let lpn = self.wrapped(self.page_of(offset_bytes));
            offset_bytes += bytes;
            Some((lpn, start as u32, bytes as u32))
        })
    }
}
