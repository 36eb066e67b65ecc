//! The valid sectors of each page: what `update_reads` keeps.

use crate::buffer::SECTOR_BYTES;
use crate::config::{Host, PartialWrites, Unwritten};
use crate::sector_map::SectorMap;
use flashraid_vocabulary::{Lpn, Persistent};
use std::io::{self, Read, Write};

/// Sectors of a page: bit i is sector i.
pub(super) type Sectors = u128;

/// Which sectors of each page are valid, as `update_reads` asks.
#[derive(Clone, Debug)]
pub(super) struct ValidSectors {
    valid: SectorMap,
    /// Those that a request has read or written, where no others count.
    used: Option<SectorMap>,
    /// Whether what is read was there from the start.
    prefills: bool,
    /// Pages of the maps, which have 64 sectors at most, in a page: as a power of two.
    parts: u32,
    space_sectors: u64,
    /// The first byte touched in the page of the write that is decided next.
    pub(super) start: u32,
}

impl Persistent for ValidSectors {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.valid.save(to)?;
        self.used.iter().try_for_each(|used| used.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self { valid, used, prefills: _, parts: _, space_sectors: _, start: _ } = self;
        valid.restore(from)?;
        used.iter_mut().try_for_each(|used| used.restore(from))
    }
}

impl ValidSectors {
    /// For so many pages, unless every page that is written in part is read.
    pub(super) fn new(host: &Host, space_pages: u64, page_bytes: u32) -> Option<Box<Self>> {
        let shift = (page_bytes / SECTOR_BYTES).trailing_zeros();
        let parts = shift.saturating_sub(6);
        let map = || SectorMap::new(space_pages << parts, shift - parts);
        let used = match host.partial_writes {
            PartialWrites::Read => return None,
            PartialWrites::ReadIfNeeded => None,
            PartialWrites::ReadIfUsed => Some(map()),
        };
        let prefills = host.unwritten == Unwritten::Prefill;
        Some(Box::new(Self { valid: map(), used, prefills, parts, space_sectors: space_pages << shift, start: 0 }))
    }

    /// The page's parts in the maps, with those of its sectors that are theirs.
    fn parts(&self, lpn: Lpn, sectors: Sectors) -> impl Iterator<Item = (Lpn, u64)> + use<> {
        let parts = self.parts;
        let all = u64::MAX >> (64 - (1u64 << self.valid.shift));
        (0..1u64 << parts).map(move |part| (Lpn(lpn.0 << parts | part), (sectors >> (64 * part)) as u64 & all))
    }

    /// A write of these sectors is decided. Returns whether it needs the old page beneath them; if not, they are all that is valid of it from now on.
    pub(super) fn write(&mut self, lpn: Lpn, sectors: Sectors) -> bool {
        let counts = |part, of: u64| of & self.used.as_ref().map_or(u64::MAX, |used| used.get(part));
        let needs = self.parts(lpn, sectors).any(|(part, written)| counts(part, self.valid.get(part)) & !written != 0);
        for (part, written) in self.parts(lpn, sectors) {
            if needs {
                self.valid.add(part, written);
            } else {
                self.valid.set(part, written);
            }
            if let Some(used) = &mut self.used {
                used.add(part, written);
            }
        }
        needs
    }

    /// A read of these sectors from flash is decided.
    pub(super) fn read(&mut self, lpn: Lpn, sectors: Sectors) {
        for (part, sectors) in self.parts(lpn, sectors) {
            if self.prefills {
                self.valid.add(part, sectors);
            }
            if let Some(used) = &mut self.used {
                used.add(part, sectors);
            }
        }
    }

    /// A discard of bytes is decided, which may go over the end of the space and on at its start.
    pub(super) fn discard(&mut self, offset_bytes: u64, end_bytes: u64) {
        let (mut first, end) = (offset_bytes.div_ceil(SECTOR_BYTES.into()), end_bytes / u64::from(SECTOR_BYTES));
        while first < end {
            let lap_end = end.min((first / self.space_sectors + 1) * self.space_sectors);
            let start = first % self.space_sectors;
            self.valid.remove_range(start, start + lap_end - first);
            first = lap_end;
        }
    }

    /// The page is written before the workload starts, or a discard of it has failed. Which of its sectors requests have used, this does not change.
    pub(super) fn fill(&mut self, lpn: Lpn) {
        self.parts(lpn, Sectors::MAX).for_each(|(part, all)| self.valid.set(part, all));
    }
}
