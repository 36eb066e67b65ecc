//! Reads that take several attempts, and those that fail: what is known of blocks and of reads in flight on devices with LDPC.
//!
//! The level of a page is that of its block when the read starts: a draw for each block, raised by its P/E cycles, by the time since the first
//! program into it, and by the attempts to read its pages since its erase. Each attempt takes the bus for its command, the array for sensing, the bus
//! for the data, and the decoder. The LUN stays with a read until its last transfer; that attempt is decoded while the LUN does something else,
//! and the read ends with that. Reads of several planes at once are repeated for those pages alone that were not corrected.
//!
//! A page above the highest level is lost: its read fails, and the layer above is told (`take_unreadable`). Its block takes no more programs before it is
//! erased; if it is so worn that the level of its pages would be too high as soon as they are programmed, it is retired as after a failed program.

use super::cells::{Ldpc, LevelLaw};
use super::events::NEVER;
use super::records::Record;
use super::units::{Unit, UnitState};
use crate::Flash;
use crate::mapping::blocks::BlockState;
use crate::mapping::space::{NIL, Queue};
use flashraid_vocabulary::{MemberPage, Observer, Ppn, Version, memory};
use std::collections::VecDeque;

/// The last attempt of a read, which is being decoded.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    end_ns: u64,
    record: u32,
    /// When its LUN began with the read.
    since_ns: u64,
}

/// Levels of blocks, and of reads in flight.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// Of each block when it is new.
    drawn: Vec<u8>,
    /// Attempts to read pages of each block since its erase.
    pub(crate) reads: Vec<u32>,
    /// When each block took its first program since its erase: a time modulo 2^64, which lies before time began if that was before.
    pub(crate) written_ns: Vec<u64>,
    /// By record.
    of_reads: Vec<u32>,
    /// Reads that were started, by level: those above the highest are the last.
    counts: Vec<u64>,
    decoding: VecDeque<Decoding>,
    /// Versions found to be lost that nobody has been told of.
    unreadable: Vec<(MemberPage, Version)>,
}

impl Levels {
    pub(crate) fn new(ldpc: &Ldpc, blocks: usize) -> Self {
        let mut state = ldpc.seed;
        Self {
            drawn: (0..blocks).map(|_| draw(ldpc, &mut state) as u8).collect(),
            reads: memory::zeroed(blocks),
            written_ns: vec![0u64.wrapping_sub(ldpc.stored_ns); blocks],
            of_reads: Vec::new(),
            counts: vec![0; ldpc.highest as usize + 2],
            decoding: VecDeque::new(),
            unreadable: Vec::new(),
        }
    }
}

/// The level of a new block. What lies above the highest is drawn again.
fn draw(ldpc: &Ldpc, state: &mut u64) -> u32 {
    let limit = u64::from(ldpc.highest) + 1;
    match ldpc.law {
        LevelLaw::Fixed(level) => level,
        // 32 of the 64 bits, mapped to the range: the bias is below 2^-28.
        LevelLaw::Uniform => (((next_random(state) >> 32) * limit) >> 32) as u32,
        LevelLaw::Geometric => loop {
            let level = next_random(state).trailing_zeros();
            if level <= ldpc.highest {
                return level;
            }
        },
    }
}

/// Splitmix64 (Steele, Lea and Flood 2014).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Flash {
    fn ldpc(&self) -> &Ldpc {
        self.settings.cell.ldpc().expect("a device with levels")
    }

    fn levels_mut(&mut self) -> &mut Levels {
        self.levels.as_mut().expect("a device with LDPC")
    }

    // ---- levels ----

    /// The level that pages of the block have as soon as they are programmed.
    fn level_when_new(&self, block: usize) -> u32 {
        let drawn = self.levels.as_ref().map_or(0, |levels| levels.drawn[block]);
        u32::from(drawn).saturating_add(self.blocks.erases[block].checked_div(self.ldpc().erases).unwrap_or(0))
    }

    /// The level of the pages of a block now.
    pub fn level_of(&self, block: usize) -> u32 {
        let Some(levels) = &self.levels else { return 0 };
        let Ldpc { retention_ns, reads, .. } = *self.ldpc();
        let retained_ns = self.now_ns.wrapping_sub(levels.written_ns[block]);
        let by_time = retained_ns.checked_div(retention_ns).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        let by_reads = levels.reads[block].checked_div(reads).unwrap_or(0);
        self.level_when_new(block).saturating_add(by_time).saturating_add(by_reads)
    }

    /// How long the array takes to read the page, with all attempts and their decoding.
    pub(crate) fn read_ns(&self, ppn: u32) -> u64 {
        let level = if self.levels.is_some() { self.level_of(self.block_of(Ppn(ppn))) } else { 0 };
        self.settings.cell.read_ns(|| ppn % self.pages_per_block, level)
    }

    /// Reads that were started so far, by level; the last are those of pages that cannot be corrected. `None` without LDPC.
    pub fn reads_by_level(&self) -> Option<&[u64]> {
        self.levels.as_ref().map(|levels| &levels.counts[..])
    }

    /// The block has been erased.
    #[inline]
    pub(crate) fn note_block_erased(&mut self, block: usize) {
        if let Some(levels) = &mut self.levels {
            levels.reads[block] = 0;
        }
    }

    /// A program of the page starts.
    #[inline]
    pub(super) fn note_program(&mut self, ppn: Ppn) {
        if self.levels.is_some() {
            let (block, now_ns) = (self.block_of(ppn), self.now_ns);
            if self.blocks.blocks[block].written == 1 {
                self.levels_mut().written_ns[block] = now_ns;
            }
        }
    }

    // ---- attempts ----

    /// The first attempt of a read starts.
    #[inline]
    pub(super) fn note_read(&mut self, record: u32, ppn: u32) {
        if self.levels.is_some() {
            let block = self.block_of(Ppn(ppn));
            let (level, highest) = (self.level_of(block), self.ldpc().highest);
            let levels = self.levels_mut();
            if levels.of_reads.len() <= record as usize {
                levels.of_reads.resize((record as usize + 1).next_power_of_two(), 0);
            }
            levels.of_reads[record as usize] = level;
            levels.reads[block] += 1;
            levels.counts[level.min(highest + 1) as usize] += 1;
        }
    }

    /// The data of an attempt have left the LUN.
    #[cold]
    pub(super) fn attempt_ended<O: Observer>(&mut self, unit_id: u32, observer: &mut O) {
        let Unit { current: id, attempt, since_ns, .. } = self.units[unit_id as usize];
        let next = self.records[id as usize].next;
        self.units[unit_id as usize].current = next;
        let (highest, level) = (self.ldpc().highest, self.levels_mut().of_reads[id as usize]);
        let is_last = attempt >= level.min(highest);
        if !is_last {
            self.records[id as usize].next = NIL;
            self.units[unit_id as usize].retries.append(id, &mut self.records);
        }
        if next != NIL {
            self.set_state(unit_id, UnitState::DataReady);
        } else if !self.retries(unit_id) {
            self.end_of_work(unit_id, id);
        }
        if is_last {
            self.decode(id, since_ns, observer);
        }
        self.kick(self.units[unit_id as usize].channel);
    }

    /// The LUN has no more data to give. Returns whether it goes on with pages that were not corrected.
    fn retries(&mut self, unit_id: u32) -> bool {
        let unit = &mut self.units[unit_id as usize];
        unit.current = std::mem::replace(&mut unit.retries, Queue::EMPTY).head;
        if unit.current == NIL {
            unit.attempt = 0;
            return false;
        }
        unit.attempt += 1;
        match self.ldpc().decode_ns {
            0 => self.set_state(unit_id, UnitState::RetryReady),
            decode_ns => {
                self.unit_at(unit_id, self.now_ns + decode_ns);
                self.set_state(unit_id, UnitState::Decoding);
            }
        }
        true
    }

    /// The next attempt starts, of all pages that the LUN has not read yet.
    #[cold]
    pub(super) fn start_retry(&mut self, unit_id: u32) {
        let first = self.units[unit_id as usize].current;
        let attempt = self.units[unit_id as usize].attempt;
        let (mut id, mut bus_ns, mut cell_ns) = (first, 0, 0);
        while id != NIL {
            let Record { ppn, next, .. } = self.records[id as usize];
            bus_ns += self.settings.given.read_command_ns;
            cell_ns = u64::max(cell_ns, self.settings.cell.sense_ns(|| ppn % self.pages_per_block, attempt));
            let block = self.block_of(Ppn(ppn));
            self.levels_mut().reads[block] += 1;
            id = next;
        }
        self.begin(unit_id, first, UnitState::Reading, bus_ns, cell_ns);
    }

    /// Attempts that a read takes; 1 without LDPC.
    pub(super) fn attempts(&self, record: u32) -> u32 {
        self.levels.as_ref().map_or(1, |levels| levels.of_reads[record as usize].min(self.ldpc().highest) + 1)
    }

    /// Of the reads in service on a LUN, the one whose data leave it last: of those with the most attempts the last.
    pub(crate) fn last_read(&self, unit: &Unit) -> u32 {
        let next = |id: &u32| Some(self.records[*id as usize].next).filter(|next| *next != NIL);
        let chain = |head: u32| std::iter::successors(Some(head).filter(|head| *head != NIL), next);
        let level = |id: &u32| self.levels.as_ref().map_or(0, |levels| levels.of_reads[*id as usize].min(self.ldpc().highest));
        chain(unit.retries.head).chain(chain(unit.current)).max_by_key(level).expect("it reads")
    }

    // ---- the decoder ----

    /// Position of the decoder among the events: the last.
    fn decoder(&self) -> usize {
        self.units.len() + self.channels.len() + usize::from(self.collects_when_idle())
    }

    /// The last attempt of a read that its LUN began at `since_ns` is decoded from now on.
    fn decode<O: Observer>(&mut self, record: u32, since_ns: u64, observer: &mut O) {
        let decode_ns = self.ldpc().decode_ns;
        if decode_ns == 0 {
            return self.read_is_decoded(record, since_ns, observer);
        }
        let end_ns = self.now_ns + decode_ns;
        let decoding = &mut self.levels_mut().decoding;
        decoding.push_back(Decoding { end_ns, record, since_ns });
        if decoding.len() == 1 {
            self.events.set(self.decoder(), end_ns);
        }
    }

    /// The decoder is done with a read. All take the same time, so the first to come is the first to leave.
    #[cold]
    pub(crate) fn decoded<O: Observer>(&mut self, observer: &mut O) {
        let (decoder, levels) = (self.decoder(), self.levels_mut());
        let Decoding { record, since_ns, .. } = levels.decoding.pop_front().expect("the decoder has an event");
        let next_ns = levels.decoding.front().map_or(NEVER, |next| next.end_ns);
        self.events.set(decoder, next_ns);
        self.read_is_decoded(record, since_ns, observer);
    }

    fn read_is_decoded<O: Observer>(&mut self, record: u32, since_ns: u64, observer: &mut O) {
        if self.records_done {
            self.note_done(record, since_ns);
        }
        self.judge_read(record);
        self.ended(record, observer);
    }

    // ---- pages that cannot be corrected ----

    /// A read has had its last attempt: if that failed, the page is lost.
    fn judge_read(&mut self, record: u32) {
        let Record { ppn, .. } = self.records[record as usize];
        let highest = self.ldpc().highest;
        let block = self.block_of(Ppn(ppn));
        let state = self.blocks.blocks[block].state;
        if self.levels_mut().of_reads[record as usize] <= highest || state == BlockState::Retired {
            return;
        }
        self.faults.any = true;
        // Whoever reads it at the same time finds the same.
        if self.faults.unreadable.insert(ppn)
            && let Some((version, slot)) = self.maps.live(Ppn(ppn))
        {
            let page = self.address(slot);
            self.levels_mut().unreadable.push((page, version));
        }
        if self.level_when_new(block) > highest {
            self.doom(block);
            self.drain_doomed(self.plane_of(Ppn(ppn)));
        } else {
            self.seal(block);
        }
    }

    /// Whether the erase of a block retires it: a page of it was lost, as all pages of it would be.
    pub(crate) fn is_too_worn(&self, first: Ppn) -> bool {
        self.levels.is_some()
            && self.level_when_new(self.block_of(first)) > self.ldpc().highest
            && self.faults.unreadable.range(first.0..first.0 + self.pages_per_block).next().is_some()
    }

    /// Takes a version of a page that was found to be lost since this was last asked.
    pub fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        self.levels.as_mut()?.unreadable.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ldpc(law: LevelLaw) -> Ldpc {
        Ldpc { law, seed: 7, highest: 6, step_ns: 0, decode_ns: 0, erases: 0, retention_ns: 0, reads: 0, stored_ns: 0 }
    }

    /// Shares of 254,000 blocks within four standard deviations.
    #[test]
    fn draws_follow_their_law() {
        const BLOCKS: usize = 254_000;
        let geometric = [64, 32, 16, 8, 4, 2, 1].map(|weight| f64::from(weight) / 127.0);
        for (law, shares) in [(LevelLaw::Geometric, geometric), (LevelLaw::Uniform, [1.0 / 7.0; 7])] {
            let levels = Levels::new(&ldpc(law), BLOCKS);
            for (level, share) in shares.into_iter().enumerate() {
                let drawn = levels.drawn.iter().filter(|drawn| usize::from(**drawn) == level).count() as f64;
                let deviation = (BLOCKS as f64 * share * (1.0 - share)).sqrt();
                assert!((drawn - BLOCKS as f64 * share).abs() < 4.0 * deviation, "{law:?}: {drawn} of level {level}");
            }
            assert!(levels.drawn.iter().all(|drawn| *drawn <= 6));
        }
        assert!(Levels::new(&ldpc(LevelLaw::Fixed(4)), 50).drawn.iter().all(|drawn| *drawn == 4));
    }
}
