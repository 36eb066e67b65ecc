//! Page maps in both directions, and the versions that they name.
//!
//! A *slot* numbers a member's logical page in the whole device: `page * members + member`, so that the strips of a stripe lie
//! side by side and cost one cache miss together. Forward maps hold PPN + 1, zero is unmapped. The reverse map says which
//! slot and version a page was programmed for; a page is live while the forward map of that version still names it, so nothing
//! has to be written to a page's entry when it is superseded.

use crate::Held;
use flashraid_vocabulary::array::Array;
use flashraid_vocabulary::{MemberId, MemberPage, Persistent, Ppn, Version, memory};
use std::io::{self, Read, Write};

/// Slots are 30-bit numbers; the two bits above them hold the version.
pub const SLOT_LIMIT: u64 = 1 << 30;
const SLOT_MASK: u32 = (SLOT_LIMIT - 1) as u32;
const CHUNK_SHIFT: u32 = 10;

/// If a smaller share of the device is written, most planes' part of the reverse map stays untouched.
pub(crate) const LARGE_SHARE: usize = 8;

/// What a version named before it named another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Superseded {
    /// Nothing.
    Nothing,
    /// A page that is garbage now.
    Garbage(Ppn),
    /// A page that is the base now.
    Base(Ppn),
}

/// Forward and reverse maps, and how many versions there are beside the current ones.
#[derive(Debug)]
pub struct Maps {
    forward: [Array<u32>; 3],
    reverse: Array<u32>,
    /// Mapped current pages in each run of 1024 slots, so that a large discard skips what is unmapped.
    chunks: Array<u16>,
    /// Bases and copies in each of these runs.
    others: Array<u16>,
    /// Bases and copies of each member.
    held: Vec<Held>,
}

impl Clone for Maps {
    fn clone(&self) -> Self {
        Self {
            forward: self.forward.clone(),
            reverse: self.reverse.copy(self.is_largely_used()),
            chunks: self.chunks.clone(),
            others: self.others.clone(),
            held: self.held.clone(),
        }
    }
}

impl Persistent for Maps {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        let Self { forward, reverse, chunks, others: _, held: _ } = self; // what is held is saved by itself
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
    /// Empty maps, with slots of so many members.
    pub fn new(slots: usize, physical_pages: usize, members: u32) -> Self {
        // A small map costs memory as it is used. Of a large one each early request would make the system find and clear memory.
        const LARGE: usize = 1 << 26;
        let mut current = Array::zeroed(slots);
        if slots >= LARGE {
            memory::put_in_place(&mut current);
        }
        Self {
            forward: [current, Array::zeroed(slots), Array::zeroed(slots)],
            // Programmed in order, a block at a time, so small pages do, and only those in use cost memory; but see `expect_fill`.
            reverse: Array::zeroed_on_small_pages(physical_pages),
            chunks: Array::zeroed((slots >> CHUNK_SHIFT) + 1),
            others: Array::zeroed((slots >> CHUNK_SHIFT) + 1),
            held: vec![Held::default(); members as usize],
        }
    }

    // ---- addresses ----

    /// The number of a member's page.
    #[inline]
    pub fn slot(&self, address: MemberPage) -> u32 {
        address.entry(self.held.len() as u32)
    }

    /// The inverse of `slot`.
    #[inline]
    pub fn address(&self, slot: u32) -> MemberPage {
        MemberPage::of_entry(slot, self.held.len() as u32)
    }

    /// The physical page of a version: only to label contents and to check them.
    #[inline]
    pub fn lookup(&self, address: MemberPage, version: Version) -> Option<Ppn> {
        self.get(version, self.slot(address))
    }

    /// `View::next_written`.
    #[inline]
    pub fn next_written_page(&self, page: u32) -> Option<u32> {
        let members = self.held.len() as u32;
        self.next_written(page * members).map(|slot| page.max(slot / members))
    }

    // ---- versions beside the current ones ----

    /// Versions of a member's pages beside the current ones.
    #[inline]
    pub fn held(&self, member: MemberId) -> Held {
        self.held[usize::from(member.0)]
    }

    /// Those of all members, as they are saved.
    pub(crate) fn all_held(&self) -> &[Held] {
        &self.held
    }

    /// The same, to be restored.
    pub(crate) fn all_held_mut(&mut self) -> &mut [Held] {
        &mut self.held
    }

    /// Whether a page of any member has a base.
    #[inline]
    pub(crate) fn has_bases(&self) -> bool {
        self.held.iter().any(|held| held.bases > 0)
    }

    /// Whether these are the versions beside the current ones that each member has.
    pub(crate) fn check_held(&self, held: &[Held]) -> Result<(), String> {
        if held == self.held { Ok(()) } else { Err(format!("{held:?} bases and copies, counted {:?}", self.held)) }
    }

    #[inline(always)]
    fn held_beside(&mut self, slot: u32) -> &mut Held {
        let members = self.held.len() as u32;
        &mut self.held[(slot % members) as usize]
    }

    /// A version that was cleared is counted no more.
    pub(crate) fn count_off(&mut self, version: Version, member: MemberId) {
        let held = &mut self.held[usize::from(member.0)];
        match version {
            Version::Current => {}
            Version::Base => held.bases -= 1,
            Version::Copy => held.copies -= 1,
            Version::DeferredParity => unreachable!("never on flash"),
        }
    }

    /// The version is `ppn` now, and what it named before is garbage, or the base if `keep_base` says so and there is none yet.
    #[inline(always)]
    pub(crate) fn supersede(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) -> Superseded {
        match self.set(version, slot, ppn) {
            Some(old) if keep_base && self.get(Version::Base, slot).is_none() => {
                self.becomes_base(slot, old);
                Superseded::Base(old)
            }
            Some(old) => Superseded::Garbage(old),
            None => {
                if version == Version::Copy {
                    self.held_beside(slot).copies += 1;
                }
                Superseded::Nothing
            }
        }
    }

    /// A page that the current version named is the base, of which there is none yet.
    #[inline(always)]
    pub(crate) fn becomes_base(&mut self, slot: u32, old: Ppn) {
        self.set(Version::Base, slot, old);
        self.label(old, Version::Base, slot);
        self.held_beside(slot).bases += 1;
    }

    /// Of a version that a dead SSD held, nothing is left: it names the sentinel.
    pub(crate) fn inherit_loss(&mut self, version: Version, slot: u32, lost: Ppn) {
        self.set(version, slot, lost);
        self.held_beside(slot).bases += u32::from(version == Version::Base);
    }

    // ---- entries ----

    /// Whether a large part of the device is programmed.
    fn is_largely_used(&self) -> bool {
        let mapped: usize = self.chunks.iter().map(|mapped| usize::from(*mapped)).sum();
        mapped > self.reverse.len() / LARGE_SHARE
    }

    /// A large part of the device is going to be programmed, a page of each plane in turn.
    pub(crate) fn expect_fill(&self) {
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
    pub(crate) fn count_others(&self) -> Array<u16> {
        let mut others: Array<u16> = Array::zeroed(self.others.len());
        for map in &self.forward[1..] {
            for (found, run) in others.iter_mut().zip(map.chunks(1 << CHUNK_SHIFT)) {
                *found += run.iter().filter(|entry| **entry != 0).count() as u16;
            }
        }
        others
    }

    /// Whether `others` is what is mapped.
    pub(crate) fn has_right_counts(&self) -> bool {
        self.others[..] == self.count_others()[..]
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
    pub(crate) fn prefetch_base(&self, slot: u32) {
        memory::prefetch(&self.forward[Version::Base as usize], slot as usize);
    }

    /// Asks for the entry of the slot's copy.
    #[inline(always)]
    pub(crate) fn prefetch_copy(&self, slot: u32) {
        memory::prefetch(&self.forward[Version::Copy as usize], slot as usize);
    }

    /// Asks for what a physical page was programmed for, which changes when it becomes a base.
    #[inline(always)]
    pub(crate) fn prefetch_label(&self, ppn: Ppn) {
        memory::prefetch(&self.reverse, ppn.0 as usize);
    }
}
