//! The arithmetic of the logical space: bytes, pages and rows. Nothing of it ever changes, so that every part may have it.

use crate::media::Shape;
use flashraid_redundancy::Scheme;
use flashraid_vocabulary::{Divisor, Lpn};

/// Pages of a chunk, at most: 4 GiB of 4 KiB.
pub const MOST_CHUNK: u64 = 1 << 20;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LogicalSpace {
    /// Pages of the logical space.
    pub(crate) pages: u64,
    pub(super) page_bytes: u32,
    page_shift: u32,
    /// Host pages in a row.
    pub(super) row_pages: u64,
    per_row: Divisor,
    /// Whether a row of so many host pages lies at one local page of its members (`Addressing::row_pages`).
    pub(super) has_rows: bool,
    /// Host pages that follow each other in a chunk, on one member.
    chunk: u64,
    /// Pages in whole rows of chunks. Behind them a chunk is a page.
    chunked: u64,
}

impl LogicalSpace {
    /// So many pages, which the scheme distributes.
    pub(super) fn new(pages: u64, chunk_pages: u32, scheme: &dyn Scheme, shape: &Shape) -> Self {
        let row_pages = row_pages(scheme);
        let chunk = if row_pages == 1 { 1 } else { u64::from(chunk_pages) };
        Self {
            pages,
            page_bytes: shape.page_bytes,
            page_shift: shape.page_bytes.trailing_zeros(),
            row_pages,
            per_row: Divisor::new(row_pages as u32),
            has_rows: scheme.row_pages().is_some(),
            chunk,
            chunked: pages / (row_pages * chunk) * row_pages * chunk,
        }
    }

    /// Whether chunks have several pages.
    #[inline(always)]
    pub(super) fn has_chunks(&self) -> bool {
        self.chunk > 1
    }

    /// The page of the logical space that the host calls by this number, where the space repeats without end.
    #[inline]
    pub fn page_at(&self, host_page: u64) -> Lpn {
        let Lpn(page) = self.wrapped(host_page);
        if !self.has_chunks() || page >= self.chunked {
            return Lpn(page);
        }
        let (row, at) = (self.row_of_chunks(page), page % self.chunk_row());
        Lpn(row + at % self.chunk * self.row_pages + at / self.chunk)
    }

    /// What the host calls a page.
    pub fn host_page(&self, lpn: Lpn) -> u64 {
        if !self.has_chunks() || lpn.0 >= self.chunked {
            return lpn.0;
        }
        let (row, at) = (self.row_of_chunks(lpn.0), lpn.0 % self.chunk_row());
        row + at % self.row_pages * self.chunk + at / self.row_pages
    }

    /// At least so many pages from the start of the space, in whole rows of chunks, as far as there are any: the host calls them by the same numbers.
    pub(crate) fn whole_rows(&self, pages: u64) -> u64 {
        if self.has_chunks() && pages <= self.chunked { pages.next_multiple_of(self.chunk_row()) } else { pages }
    }

    /// Bytes as the host addresses them, as ranges of bytes of the logical space. Rows of chunks that are covered whole follow each other as they do for the host.
    pub(super) fn ranges(self, offset_bytes: u64, end_bytes: u64) -> Ranges {
        Ranges { space: self, offset_bytes, end_bytes, in_row: None }
    }

    /// Pages of a row of chunks.
    fn chunk_row(&self) -> u64 {
        self.row_pages * self.chunk
    }

    /// The first page of the row of chunks that a page is in.
    fn row_of_chunks(&self, page: u64) -> u64 {
        page - page % self.chunk_row()
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

/// Pages of a row: of them none is on the member of another.
pub(crate) fn row_pages(scheme: &dyn Scheme) -> u64 {
    scheme.row_pages().unwrap_or(scheme.width()).into()
}

/// See `LogicalSpace::ranges`.
pub(super) struct Ranges {
    space: LogicalSpace,
    offset_bytes: u64,
    end_bytes: u64,
    /// A part of a row of chunks: its host pages, and the one whose stripe is next.
    in_row: Option<(u64, u64, u64)>,
}

impl Ranges {
    /// Of a part of a row of chunks, what lies on the next stripe: the pages at one place of their chunks.
    fn next_in_row(&mut self) -> Option<(u64, u64)> {
        let LogicalSpace { chunk, page_bytes, .. } = self.space;
        let (first, end, next) = self.in_row?;
        if next == end || next == first + chunk {
            (self.offset_bytes, self.in_row) = (self.space.start_of(end).min(self.end_bytes), None);
            return None;
        }
        self.in_row = Some((first, end, next + 1));
        let last = next + (end - 1 - next) / chunk * chunk;
        let lap = next / self.space.pages * self.space.pages;
        let start_of = |host_page| self.space.start_of(lap + self.space.page_at(host_page).0);
        let head = if next == first { self.offset_bytes - self.space.start_of(first) } else { 0 };
        let tail = (self.end_bytes - self.space.start_of(last)).min(page_bytes.into());
        Some((start_of(next) + head, start_of(last) + tail))
    }
}

impl Iterator for Ranges {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if let Some(range) = self.next_in_row() {
            return Some(range);
        }
        let Self { space, offset_bytes, end_bytes, .. } = *self;
        if offset_bytes >= end_bytes {
            return None;
        }
        let first = space.page_of(offset_bytes);
        let lap = first / space.pages * space.pages;
        let (lap_end, chunked) = (lap + space.pages, lap + space.chunked);
        let is_start = offset_bytes == space.start_of(first) && (first - lap).is_multiple_of(space.chunk_row());
        let whole_end = (space.page_of(end_bytes).min(chunked) - lap) / space.chunk_row() * space.chunk_row() + lap;
        let end = if first >= chunked {
            lap_end
        } else if is_start && whole_end > first {
            whole_end
        } else {
            let row_end = lap + space.row_of_chunks(first - lap) + space.chunk_row();
            self.in_row = Some((first, row_end.min(space.pages_up(end_bytes)), first));
            return self.next_in_row();
        };
        self.offset_bytes = space.start_of(end).min(end_bytes);
        Some((offset_bytes, self.offset_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    /// A space of so many pages in rows of so many, with chunks of so many.
    fn space(pages: u64, row_pages: u64, chunk: u64) -> LogicalSpace {
        LogicalSpace {
            pages,
            page_bytes: PAGE as u32,
            page_shift: PAGE.trailing_zeros(),
            row_pages,
            per_row: Divisor::new(row_pages as u32),
            has_rows: true,
            chunk,
            chunked: pages / (row_pages * chunk) * row_pages * chunk,
        }
    }

    /// MODERN U2: unit x is at row r = x div (N c), strip i = (x mod N c) div c, offset o = x mod c, stripe r c + o.
    #[test]
    fn a_chunk_lies_on_one_strip_of_stripes_that_follow_each_other() {
        let space = space(30, 3, 4);
        let places: Vec<_> = (0..30).map(|page| space.page_at(page).0).map(|lpn| (lpn / 3, lpn % 3)).collect();
        for (unit, (stripe, strip)) in (0..24).zip(&places) {
            assert_eq!((*stripe, *strip), (unit / 12 * 4 + unit % 4, unit % 12 / 4), "unit {unit}");
        }
        assert_eq!(places[24..], [(8, 0), (8, 1), (8, 2), (9, 0), (9, 1), (9, 2)], "what is no whole row of chunks");
        assert_eq!(space.page_at(31), space.page_at(1), "the space repeats");
        assert_eq!([0, 1, 12, 13, 25, 30].map(|pages| space.whole_rows(pages)), [0, 12, 12, 24, 25, 30]);
    }

    /// Two chunks and two pages, from the middle of the third page on: parts of stripes in order of their first pages; whole rows at once.
    #[test]
    fn ranges_are_of_stripes_in_order() {
        let space = space(36, 3, 4);
        let of = |first: u64, end: u64| space.ranges(first, end).collect::<Vec<_>>();
        let pages = |first, end| (first * PAGE, end * PAGE);
        // Host pages 2 to 8 of the first row: 2 and 6 on stripe 2, 3 and 7 on stripe 3, 4 and 8 on stripe 0, 5 on stripe 1.
        let head = (6 * PAGE + 512, 8 * PAGE);
        assert_eq!(of(2 * PAGE + 512, 9 * PAGE), [head, pages(9, 11), pages(1, 3), pages(4, 5)]);
        assert_eq!(of(0, 24 * PAGE), [pages(0, 24)]);
        assert_eq!(of(12 * PAGE, 36 * PAGE + 100), [pages(12, 36), (36 * PAGE, 36 * PAGE + 100)], "and at the start again");
        assert_eq!(of(5 * PAGE + 1, 5 * PAGE + 2), [(4 * PAGE + 1, 4 * PAGE + 2)]);
        assert_eq!(of(7, 7), []);
    }

    proptest! {
        /// Each byte is in one range, at the place that its page has.
        #[test]
        fn ranges_have_each_byte_once(rows in 1u64..4, width in 1u64..5, chunk in 2u64..6, rest in 0u64..9, first in 0u64..99, sectors in 0u64..700) {
            let space = space(rows * width * chunk + rest, width, chunk);
            let (from, end) = (first * 512, (first + sectors) * 512);
            let place = |sector: u64| {
                let lap = sector * 512 / PAGE / space.pages * space.pages;
                (lap + space.page_at(sector * 512 / PAGE).0) * PAGE + sector * 512 % PAGE
            };
            let mut expected: Vec<u64> = (first..first + sectors).map(place).collect();
            let mut found: Vec<u64> = space.ranges(from, end).flat_map(|(from, end)| (from..end).step_by(512)).collect();
            prop_assert!(space.ranges(from, end).all(|(from, end)| from < end));
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
            let there: Vec<u64> = (0..space.pages).map(|page| space.page_at(space.host_page(Lpn(page))).0).collect();
            prop_assert_eq!(there, (0..space.pages).collect::<Vec<_>>());
        }
    }
}
