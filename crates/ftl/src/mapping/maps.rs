//! Page maps in both directions.
//!
//! A *slot* numbers a member's logical page in the whole device: `page * members + member`, so that the strips of a stripe lie
//! side by side and cost one cache miss together. Forward maps hold PPN + 1, zero is unmapped. The reverse map says which
//! slot and version a page was programmed for; a page is live while the forward map of that version still names it, so nothing
//! has to be written to a page's entry when it is superseded.

use flashraid_vocabulary::{Persistent, Ppn, Version, memory};
use std::io::{self, Read, Write};

/// Slots are 30-bit numbers; the two bits above them hold the version.
pub const SLOT_LIMIT: u64 = 1 << 30;
const SLOT_MASK: u32 = (SLOT_LIMIT - 1) as u32;
const CHUNK_SHIFT: u32 = 10;

/// If a smaller share of the device is written, most planes' part of the reverse map stays untouched.
pub(super) const LARGE_SHARE: usize = 8;

/// Forward and reverse maps.
#[derive(Debug)]
pub struct Maps {
    forward: [Vec<u32>; 3],
    reverse: Vec<u32>,
    /// Mapped current pages in each run of 1024 slots, so that a large discard skips what is unmapped.
    chunks: Vec<u16>,
    /// Bases and copies in each of these runs.
    others: Vec<u16>,
}

impl Clone for Maps {
    fn clone(&self) -> Self {
        Self {
            forward: self.forward.each_ref().map(|map| memory::copy_of(map, true)),
            reverse: memory::copy_of(&self.reverse, self.is_largely_used()),
            chunks: memory::copy_of(&self.chunks, true),
            others: memory::copy_of(&self.others, true),
        }
    }
}

impl Persistent for Maps {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        let Self { forward, reverse, chunks, others: _ } = self;
        chunks[..].save(to)?;
        forward.iter().try_for_each(|map| map[..].save(to))?;
        reverse[..].save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.chunks[..].restore(from)?;
        if self.is_largely_used() {
            self.expect_fill();
        }
        self.forward.iter_mut().try_for_each(|map| map[..].restore(from))?;
        self.others = self.count_others();
        self.reverse[..].restore(from)
    }
}

impl Maps {
    /// Empty maps.
    pub fn new(slots: usize, physical_pages: usize) -> Self {
        // A small map costs memory as it is used. Of a large one each early request would make the system find and clear memory.
        const LARGE: usize = 1 << 26;
        let current = if slots < LARGE { memory::zeroed(slots) } else { memory::zeroed_in_place(slots) };
        Self {
            forward: [current, memory::zeroed(slots), memory::zeroed(slots)],
            // Programmed in order, a block at a time, so small pages do, and only those in use cost memory; but see `expect_fill`.
            reverse: vec![0; physical_pages],
            chunks: memory::zeroed((slots >> CHUNK_SHIFT) + 1),
            others: memory::zeroed((slots >> CHUNK_SHIFT) + 1),
        }
    }

    /// Whether a large part of the device is programmed.
    fn is_largely_used(&self) -> bool {
        let mapped: usize = self.chunks.iter().map(|mapped| usize::from(*mapped)).sum();
        mapped > self.reverse.len() / LARGE_SHARE
    }

    /// A large part of the device is going to be programmed, a page of each plane in turn.
    pub(super) fn expect_fill(&self) {
        memory::want_huge(&self.reverse);
    }

    /// The physical page of a version, if it is written.
    #[inline]
    pub(crate) fn get(&self, version: Version, slot: u32) -> Option<Ppn> {
        self.forward[version as usize][slot as usize].checked_sub(1).map(Ppn)
    }

    /// Points a version at `ppn` and returns what it named before.
    #[inline]
    pub fn set(&mut self, version: Version, slot: u32, ppn: Ppn) -> Option<Ppn> {
        let entry = &mut self.forward[version as usize][slot as usize];
        let old = std::mem::replace(entry, ppn.0 + 1).checked_sub(1).map(Ppn);
        if old.is_none() {
            *self.mapped_beside(version, slot) += 1;
        }
        old
    }

    /// Unmaps a version and returns what it named.
    #[inline]
    pub fn clear(&mut self, version: Version, slot: u32) -> Option<Ppn> {
        let old = std::mem::take(&mut self.forward[version as usize][slot as usize]).checked_sub(1).map(Ppn);
        if old.is_some() {
            *self.mapped_beside(version, slot) -= 1;
        }
        old
    }

    /// How many versions of this kind are mapped in the run of a slot.
    #[inline]
    fn mapped_beside(&mut self, version: Version, slot: u32) -> &mut u16 {
        let runs = if version == Version::Current { &mut self.chunks } else { &mut self.others };
        &mut runs[slot as usize >> CHUNK_SHIFT]
    }

    /// Bases and copies in each run, counted.
    pub(crate) fn count_others(&self) -> Vec<u16> {
        let mut others = memory::zeroed(self.others.len());
        for map in &self.forward[1..] {
            for (found, run) in others.iter_mut().zip(map.chunks(1 << CHUNK_SHIFT)) {
                *found += run.iter().filter(|entry| **entry != 0).count() as u16;
            }
        }
        others
    }

    /// Whether `others` is what is mapped.
    pub(crate) fn has_right_counts(&self) -> bool {
        self.others == self.count_others()
    }

    /// A slot from this one on before which, from it on, no version is mapped; `None` if none is from it on.
    #[inline]
    pub fn next_written(&self, slot: u32) -> Option<u32> {
        let first = slot as usize >> CHUNK_SHIFT;
        let is_written = |run: usize| self.chunks[run] != 0 || self.others[run] != 0;
        if is_written(first) {
            return Some(slot);
        }
        (first + 1..self.chunks.len()).find(|run| is_written(*run)).map(|run| (run << CHUNK_SHIFT) as u32)
    }

    /// Notes what a physical page is programmed for.
    #[inline]
    pub fn label(&mut self, ppn: Ppn, version: Version, slot: u32) {
        self.reverse[ppn.0 as usize] = (version as u32) << 30 | slot;
    }

    /// What a physical page was programmed for.
    #[inline]
    pub(crate) fn labeled(&self, ppn: Ppn) -> (Version, u32) {
        let entry = self.reverse[ppn.0 as usize];
        let version = match entry >> 30 {
            0 => Version::Current,
            1 => Version::Base,
            _ => Version::Copy,
        };
        (version, entry & SLOT_MASK)
    }

    /// Version and slot of a page that a forward map still names; `None` for garbage. Only for programmed pages.
    #[inline]
    pub fn live(&self, ppn: Ppn) -> Option<(Version, u32)> {
        let (version, slot) = self.labeled(ppn);
        (self.get(version, slot) == Some(ppn)).then_some((version, slot))
    }

    /// The first slot at or after `slot` with a current page, before `end`.
    pub fn next_mapped(&self, mut slot: u32, end: u32) -> Option<u32> {
        while slot < end {
            if self.chunks[slot as usize >> CHUNK_SHIFT] == 0 {
                slot = ((slot >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
                continue;
            }
            let chunk_end = (((slot >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT).min(end);
            let current = &self.forward[Version::Current as usize][slot as usize..chunk_end as usize];
            match current.iter().position(|entry| *entry != 0) {
                Some(offset) => return Some(slot + offset as u32),
                None => slot = chunk_end,
            }
        }
        None
    }

    /// Asks the processor for the slot's forward entry.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: u32) {
        memory::prefetch(&self.forward[Version::Current as usize], slot as usize);
    }

    /// Asks for the entry of the slot's base.
    #[inline(always)]
    pub(super) fn prefetch_base(&self, slot: u32) {
        memory::prefetch(&self.forward[Version::Base as usize], slot as usize);
    }

    /// Asks for the entry of the slot's copy.
    #[inline(always)]
    pub(super) fn prefetch_copy(&self, slot: u32) {
        memory::prefetch(&self.forward[Version::Copy as usize], slot as usize);
    }

    /// Asks for what a physical page was programmed for, which changes when it becomes a base.
    #[inline(always)]
    pub(super) fn prefetch_label(&self, ppn: Ppn) {
        memory::prefetch(&self.reverse, ppn.0 as usize);
    }
}
