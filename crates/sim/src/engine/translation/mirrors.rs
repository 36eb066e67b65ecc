//! The mirror tables, where a device has mirror chips (SPEC 1.2: MA, EPPN, MPPN).

use crate::engine::options::Dftl;
use crate::media::{Media, Shape};
use flashraid_vocabulary::memory::zeroed;
use flashraid_vocabulary::{Version, persistent};

/// The mirror tables of all members: which entry belongs to which slot of the flash's maps.
#[derive(Clone, Debug)]
pub(super) struct MirrorTable {
    pub(super) shape: Shape,
    /// Number, among the entries of a member, of the first of its mirror table: at the start of a translation page.
    pub(super) first: u32,
    /// By slot: its entry, plus 1; 0 for none.
    pub(super) of_slot: Vec<u32>,
    /// By entry, from the first on: its slot, plus 1; 0 for none.
    slots: Vec<u32>,
    /// By member: entries given back, and how many were ever in use.
    unused: Vec<Vec<u32>>,
    used: Vec<u32>,
}

persistent!(MirrorTable {
    arrays [of_slot, slots, unused, used],
    anew [shape, first],
});

impl MirrorTable {
    /// Whether there are mirror chips.
    pub(super) fn is_in_use(&self) -> bool {
        !self.of_slot.is_empty()
    }

    pub(super) fn new(shape: Shape, dftl: Dftl) -> Self {
        let Shape { members, pages_per_member, .. } = shape;
        let slots = if dftl.mirror_entries == 0 { 0 } else { (pages_per_member * members) as usize };
        Self {
            shape,
            first: pages_per_member.next_multiple_of(dftl.entries_per_page),
            of_slot: zeroed(slots),
            slots: zeroed((dftl.mirror_entries * members) as usize),
            unused: vec![Vec::new(); members as usize],
            used: vec![0; members as usize],
        }
    }

    /// The entry with the base and the copy of a slot, if it has one.
    pub(super) fn entry(&self, slot: u32) -> Option<u32> {
        self.of_slot.get(slot as usize)?.checked_sub(1)
    }

    /// The same; gives it one if it has none, which is before its first copy.
    pub(super) fn entry_or_new(&mut self, slot: u32) -> u32 {
        if let Some(entry) = self.entry(slot) {
            return entry;
        }
        let member = slot % self.shape.members;
        let entry = self.unused[member as usize].pop().unwrap_or_else(|| {
            let used = &mut self.used[member as usize];
            *used += 1;
            (self.first + *used - 1) * self.shape.members + member
        });
        self.of_slot[slot as usize] = entry + 1;
        self.slots[(entry - self.first * self.shape.members) as usize] = slot + 1;
        entry
    }

    /// The slot has no copy any more.
    pub(super) fn release(&mut self, slot: u32) {
        if let Some(entry) = self.entry(slot) {
            self.of_slot[slot as usize] = 0;
            self.slots[(entry - self.first * self.shape.members) as usize] = 0;
            self.unused[(slot % self.shape.members) as usize].push(entry);
        }
    }

    /// What the map says of an entry: a number to compare; 0 for nothing.
    pub(super) fn value(&self, media: &impl Media, entry: u32) -> u64 {
        let ppn = |slot: u32, version| media.lookup(self.shape.page(slot), version).map_or(0, |ppn| u64::from(ppn.0) + 1);
        match self.slots.get((entry.wrapping_sub(self.first * self.shape.members)) as usize) {
            Some(0) => 0,
            Some(slot) => ppn(slot - 1, Version::Copy) << 32 | ppn(slot - 1, Version::Base),
            None if entry >= self.shape.pages_per_member * self.shape.members => 0, // between the two sets
            None => {
                let mirrored = self.entry(entry).filter(|_| ppn(entry, Version::Copy) != 0);
                mirrored.map_or(0, |entry| u64::from(entry) + 1) << 32 | ppn(entry, Version::Current)
            }
        }
    }
}
