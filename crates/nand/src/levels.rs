//! Reads that take several attempts, and those that fail: what is known of blocks and of reads in flight on devices with LDPC.
//!
//! The level of a page is that of its block when the read starts: a draw for each block, raised by its P/E cycles, by the time since the first
//! program into it, and by the attempts to read its pages since its erase. Each attempt takes the bus for its command, the array for sensing, the bus
//! for the data, and the decoder. The LUN stays with a read until its last transfer; that attempt is decoded while the LUN does something else,
//! and the read ends with that. Reads of several planes at once are repeated for those pages alone that were not corrected.
//!
//! A page above the highest level cannot be corrected: its read fails, and the layer above decides what that means for its block.

use crate::arbitration::kick;
use crate::events::NEVER;
use crate::records::{NIL, Queue};
use crate::units::{Unit, UnitState};
use crate::{Ldpc, LevelLaw, Nand, Pages, Record};
use flashraid_vocabulary::{Observer, Persistent, Ppn, memory};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// The longest time since a program that is told apart.
const LONGEST_NS: u64 = i64::MAX as u64;

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
    reads: Vec<u32>,
    /// When each block took its first program since its erase: a time modulo 2^64, which lies before time began if that was before.
    written_ns: Vec<u64>,
    /// By record.
    of_reads: Vec<u32>,
    /// Reads that were started, by level: those above the highest are the last.
    counts: Vec<u64>,
    decoding: VecDeque<Decoding>,
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

impl Nand {
    fn ldpc(&self) -> &Ldpc {
        self.settings.cell.ldpc().expect("a device with levels")
    }

    fn levels_mut(&mut self) -> &mut Levels {
        self.levels.as_mut().expect("a device with LDPC")
    }

    /// Whether pages have levels: whether the device has LDPC.
    #[inline]
    pub fn has_levels(&self) -> bool {
        self.levels.is_some()
    }

    /// Reads that were started so far, by level; the last are those of pages that cannot be corrected. `None` without LDPC.
    pub fn reads_by_level(&self) -> Option<&[u64]> {
        self.levels.as_ref().map(|levels| &levels.counts[..])
    }

    /// The block has been erased.
    #[inline]
    pub fn note_block_erased(&mut self, block: usize) {
        if let Some(levels) = &mut self.levels {
            levels.reads[block] = 0;
        }
    }

    /// The first program of the block since its erase starts, on a device with LDPC.
    pub fn note_first_program(&mut self, block: usize) {
        let now_ns = self.now_ns;
        self.levels_mut().written_ns[block] = now_ns;
    }

    /// The level that pages of the block have as soon as they are programmed, after so many erases.
    pub fn level_when_new(&self, block: usize, erases: u32) -> u32 {
        let drawn = self.levels.as_ref().map_or(0, |levels| levels.drawn[block]);
        u32::from(drawn).saturating_add(erases.checked_div(self.ldpc().erases).unwrap_or(0))
    }

    /// Attempts that a read takes; 1 without LDPC.
    pub(crate) fn attempts(&self, record: u32) -> u32 {
        self.levels.as_ref().map_or(1, |levels| levels.of_reads[record as usize].min(self.ldpc().highest) + 1)
    }

    /// Of the reads in service on a LUN, the one whose data leave it last: of those with the most attempts the last.
    pub(crate) fn last_read(&self, unit: &Unit) -> u32 {
        let next = |id: &u32| Some(self.records[*id].next).filter(|next| *next != NIL);
        let chain = |head: u32| std::iter::successors(Some(head).filter(|head| *head != NIL), next);
        let level = |id: &u32| self.levels.as_ref().map_or(0, |levels| levels.of_reads[*id as usize].min(self.ldpc().highest));
        chain(unit.retries.head).chain(chain(unit.current)).max_by_key(level).expect("it reads")
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
    pub(crate) fn start_retry(&mut self, unit_id: u32) {
        let first = self.units[unit_id as usize].current;
        let attempt = self.units[unit_id as usize].attempt;
        let (mut id, mut bus_ns, mut cell_ns) = (first, 0, 0);
        while id != NIL {
            let Record { ppn, next, .. } = self.records[id];
            bus_ns += self.settings.read_command_ns;
            cell_ns = u64::max(cell_ns, self.sense_ns(ppn, attempt));
            let block = self.shape.block_of(Ppn(ppn));
            self.levels_mut().reads[block] += 1;
            id = next;
        }
        self.begin(unit_id, first, UnitState::Reading, bus_ns, cell_ns);
    }

    /// Position of the decoder among the events: the last.
    fn decoder(&self) -> usize {
        self.units.len() + self.channels.len() + usize::from(self.settings.has_timer)
    }

    /// Saves what is kept of blocks while the device is off, if it has LDPC.
    pub fn save_levels(&self, to: &mut dyn Write) -> io::Result<()> {
        let Some(levels) = &self.levels else { return Ok(()) };
        let since_ns = |time_ns: &u64| self.now_ns.wrapping_sub(*time_ns).min(LONGEST_NS);
        levels.reads[..].save(to)?;
        levels.written_ns.iter().map(since_ns).collect::<Vec<_>>()[..].save(to)
    }

    /// Puts it back: the time begins anew.
    pub fn restore_levels(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Some(levels) = &mut self.levels else { return Ok(()) };
        levels.reads[..].restore(from)?;
        levels.written_ns[..].restore(from)?;
        levels.written_ns.iter_mut().for_each(|time_ns| *time_ns = time_ns.wrapping_neg());
        Ok(())
    }
}

/// The level of the pages of a block now.
pub fn level_of<P: Pages>(ssd: &P, block: usize) -> u32 {
    let nand = ssd.nand();
    let Some(levels) = &nand.levels else { return 0 };
    let Ldpc { retention_ns, reads, .. } = *nand.ldpc();
    let retained_ns = nand.now_ns.wrapping_sub(levels.written_ns[block]);
    let by_time = retained_ns.checked_div(retention_ns).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
    let by_reads = levels.reads[block].checked_div(reads).unwrap_or(0);
    nand.level_when_new(block, ssd.erases(block)).saturating_add(by_time).saturating_add(by_reads)
}

/// How long the array takes to read the page, with all attempts and their decoding.
pub fn read_ns<P: Pages>(ssd: &P, ppn: u32) -> u64 {
    let nand = ssd.nand();
    let level = if nand.has_levels() { level_of(ssd, nand.shape.block_of(Ppn(ppn))) } else { 0 };
    nand.settings.cell.read_ns(|| ppn % nand.shape.pages_per_block, level)
}

/// The first attempt of a read starts.
#[inline]
pub(crate) fn note_read<P: Pages>(ssd: &mut P, record: u32, ppn: u32) {
    if ssd.nand().has_levels() {
        let block = ssd.nand().shape.block_of(Ppn(ppn));
        let level = level_of(ssd, block);
        let highest = ssd.nand().ldpc().highest;
        let levels = ssd.nand_mut().levels_mut();
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
pub(crate) fn attempt_ended<P: Pages, O: Observer>(ssd: &mut P, unit_id: u32, observer: &mut O) {
    let nand = ssd.nand_mut();
    let Unit { current: id, attempt, since_ns, channel, .. } = nand.units[unit_id as usize];
    let next = nand.records[id].next;
    nand.units[unit_id as usize].current = next;
    let (highest, level) = (nand.ldpc().highest, nand.levels_mut().of_reads[id as usize]);
    let is_last = attempt >= level.min(highest);
    if !is_last {
        nand.records[id].next = NIL;
        nand.units[unit_id as usize].retries.append(id, &mut nand.records);
    }
    if next != NIL {
        nand.set_state(unit_id, UnitState::DataReady);
    } else if !nand.retries(unit_id) {
        nand.end_of_work(unit_id, id);
    }
    if is_last {
        decode(ssd, id, since_ns, observer);
    }
    kick(ssd, channel);
}

/// The last attempt of a read that its LUN began at `since_ns` is decoded from now on.
fn decode<P: Pages, O: Observer>(ssd: &mut P, record: u32, since_ns: u64, observer: &mut O) {
    let nand = ssd.nand_mut();
    let decode_ns = nand.ldpc().decode_ns;
    if decode_ns == 0 {
        return read_is_decoded(ssd, record, since_ns, observer);
    }
    let end_ns = nand.now_ns + decode_ns;
    let decoding = &mut nand.levels_mut().decoding;
    decoding.push_back(Decoding { end_ns, record, since_ns });
    if decoding.len() == 1 {
        nand.events.set(nand.decoder(), end_ns);
    }
}

/// The decoder is done with a read. All take the same time, so the first to come is the first to leave.
#[cold]
pub(crate) fn decoded<P: Pages, O: Observer>(ssd: &mut P, observer: &mut O) {
    let nand = ssd.nand_mut();
    let (decoder, levels) = (nand.decoder(), nand.levels_mut());
    let Decoding { record, since_ns, .. } = levels.decoding.pop_front().expect("the decoder has an event");
    let next_ns = levels.decoding.front().map_or(NEVER, |next| next.end_ns);
    nand.events.set(decoder, next_ns);
    read_is_decoded(ssd, record, since_ns, observer);
}

/// A read has had its last attempt.
fn read_is_decoded<P: Pages, O: Observer>(ssd: &mut P, record: u32, since_ns: u64, observer: &mut O) {
    let nand = ssd.nand_mut();
    if nand.recording.lists_done {
        nand.note_done(record, since_ns);
    }
    let Record { ppn, .. } = nand.records[record];
    if nand.levels_mut().of_reads[record as usize] > nand.ldpc().highest {
        ssd.uncorrectable(Ppn(ppn));
    }
    ssd.ended(record, observer);
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
