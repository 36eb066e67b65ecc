//! Levels of pages, which say how many attempts a read takes: what is known of blocks and of reads in flight on devices with LDPC.
//!
//! The level of a page is that of its block when the read starts: a draw for each block, raised by its P/E cycles, by the time since the first
//! program into it, and by the attempts to read its pages since its erase.

use crate::luns::{Lun, LunState};
use crate::{BlockFacts, Ldpc, LevelLaw, Nand, Pages, Record, slc};
use flashraid_vocabulary::{NIL, Persistent, Ppn, SplitMix64, memory};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// The longest time since a program that is told apart.
const LONGEST_NS: u64 = i64::MAX as u64;

/// The last attempt of a read, which is being decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoding {
    pub(crate) end_ns: u64,
    pub(crate) record: u32,
    /// When its LUN began with the read.
    pub(crate) since_ns: u64,
}

/// Levels of blocks, and of reads in flight.
#[derive(Clone, Debug)]
pub struct Levels {
    pub(crate) ldpc: Ldpc,
    /// Of each block when it is new.
    drawn: Vec<u8>,
    /// Attempts to read pages of each block since its erase.
    reads: Vec<u32>,
    /// When each block took its first program since its erase: a time modulo 2^64, which lies before time began if that was before.
    written_ns: Vec<u64>,
    /// By record.
    pub(crate) of_reads: Vec<u32>,
    /// Reads that were started, by level: those above the highest are the last.
    counts: Vec<u64>,
    pub(crate) decoding: VecDeque<Decoding>,
}

impl Levels {
    pub(crate) fn new(ldpc: &Ldpc, blocks: usize) -> Self {
        let mut random = SplitMix64::new(ldpc.seed);
        Self {
            ldpc: *ldpc,
            drawn: (0..blocks).map(|_| draw(ldpc, &mut random) as u8).collect(),
            reads: memory::zeroed(blocks),
            written_ns: vec![0u64.wrapping_sub(ldpc.stored_ns); blocks],
            of_reads: Vec::new(),
            counts: vec![0; ldpc.highest as usize + 2],
            decoding: VecDeque::new(),
        }
    }

    /// Reads that were started so far, by level; the last are those of pages that cannot be corrected.
    pub fn reads_by_level(&self) -> &[u64] {
        &self.counts
    }

    /// The first program of the block since its erase starts.
    pub fn note_first_program(&mut self, block: usize, now_ns: u64) {
        self.written_ns[block] = now_ns;
    }

    /// The level that pages of the block have as soon as they are programmed, after so many erases.
    fn when_new(&self, block: usize, erases: u32) -> u32 {
        u32::from(self.drawn[block]).saturating_add(erases.checked_div(self.ldpc.erases).unwrap_or(0))
    }

    /// Whether pages of the block cannot be corrected as soon as they are programmed, after so many erases.
    pub fn is_worn_out(&self, block: usize, erases: u32) -> bool {
        self.when_new(block, erases) > self.ldpc.highest
    }

    /// The level of the pages of the block.
    fn level(&self, block: usize, erases: u32, now_ns: u64) -> u32 {
        let Ldpc { retention_ns, reads, .. } = self.ldpc;
        let retained_ns = now_ns.wrapping_sub(self.written_ns[block]);
        let by_time = retained_ns.checked_div(retention_ns).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        let by_reads = self.reads[block].checked_div(reads).unwrap_or(0);
        self.when_new(block, erases).saturating_add(by_time).saturating_add(by_reads)
    }

    /// The level of the page of a read that starts.
    fn note_level(&mut self, record: u32, level: u32) {
        if self.of_reads.len() <= record as usize {
            self.of_reads.resize((record as usize + 1).next_power_of_two(), 0);
        }
        self.of_reads[record as usize] = level;
    }

    /// The attempt that corrects a read in flight, or the last one.
    pub(crate) fn last_attempt(&self, record: u32) -> u32 {
        self.of_reads[record as usize].min(self.ldpc.highest)
    }

    /// Whether a read in flight is of a page that cannot be corrected.
    pub(crate) fn fails(&self, record: u32) -> bool {
        self.of_reads[record as usize] > self.ldpc.highest
    }

    /// Saves what is kept of blocks while the device is off.
    pub fn save(&self, now_ns: u64, to: &mut dyn Write) -> io::Result<()> {
        let since_ns = |time_ns: &u64| now_ns.wrapping_sub(*time_ns).min(LONGEST_NS);
        self.reads[..].save(to)?;
        self.written_ns.iter().map(since_ns).collect::<Vec<_>>()[..].save(to)
    }

    /// Puts it back: the time begins anew.
    pub fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.reads[..].restore(from)?;
        self.written_ns[..].restore(from)?;
        self.written_ns.iter_mut().for_each(|time_ns| *time_ns = time_ns.wrapping_neg());
        Ok(())
    }
}

/// The level of a new block. What lies above the highest is drawn again.
fn draw(ldpc: &Ldpc, random: &mut SplitMix64) -> u32 {
    let limit = u64::from(ldpc.highest) + 1;
    match ldpc.law {
        LevelLaw::Fixed(level) => level,
        // 32 of the 64 bits, mapped to the range: the bias is below 2^-28.
        LevelLaw::Uniform => (((random.next_u64() >> 32) * limit) >> 32) as u32,
        LevelLaw::Geometric => loop {
            let level = random.next_u64().trailing_zeros();
            if level <= ldpc.highest {
                return level;
            }
        },
    }
}

impl Nand {
    /// Levels of blocks and reads, on a device with LDPC.
    #[inline]
    pub fn levels(&self) -> Option<&Levels> {
        self.levels.as_deref()
    }

    /// Levels of blocks and reads, on a device with LDPC.
    #[inline]
    pub fn levels_mut(&mut self) -> Option<&mut Levels> {
        self.levels.as_deref_mut()
    }

    /// A block has been erased.
    #[inline]
    pub fn note_erased(&mut self, block: usize) {
        if let Some(levels) = &mut self.levels {
            levels.reads[block] = 0;
        }
    }

    /// Attempts that a read takes; 1 without LDPC.
    pub(crate) fn attempts(&self, record: u32) -> u32 {
        self.levels().map_or(1, |levels| levels.last_attempt(record) + 1)
    }

    /// Of the reads in service on a LUN, the one whose data leave it last: of those with the most attempts the last.
    pub(crate) fn last_read(&self, lun: &Lun) -> u32 {
        let next = |id: &u32| Some(self.records[*id].next).filter(|next| *next != NIL);
        let chain = |head: u32| std::iter::successors(Some(head).filter(|head| *head != NIL), next);
        chain(lun.retries.head).chain(chain(lun.current)).max_by_key(|id| self.attempts(*id)).expect("it reads")
    }

    /// The next attempt starts, of all pages that the LUN has not read yet.
    #[cold]
    pub(crate) fn start_retry(&mut self, lun_id: u32) {
        let first = self.luns[lun_id as usize].current;
        let attempt = self.luns[lun_id as usize].attempt;
        let (mut id, mut bus_ns, mut cell_ns) = (first, 0, 0);
        while id != NIL {
            let Record { ppn, next, .. } = self.records[id];
            bus_ns += self.settings.read_command_ns;
            cell_ns = u64::max(cell_ns, self.sense_ns(ppn, attempt));
            let block = self.shape.block_of(Ppn(ppn));
            self.levels_mut().expect("it has read before").reads[block] += 1;
            id = next;
        }
        self.begin(lun_id, first, LunState::Reading, bus_ns, cell_ns);
    }
}

/// The level of the pages of a block now; 0 without LDPC.
pub fn level_of(nand: &Nand, blocks: &impl BlockFacts, block: usize) -> u32 {
    nand.levels().map_or(0, |levels| levels.level(block, blocks.erases(block), nand.now_ns))
}

/// How long the array takes to read the page, with all attempts and their decoding.
#[inline(always)]
pub fn read_ns(nand: &Nand, blocks: &impl BlockFacts, ppn: Ppn) -> u64 {
    if let Some(times) = slc::times_of(nand, ppn.0) {
        return times.read_ns;
    }
    let page_in_block = || nand.number_in_block(ppn.0) / nand.settings.pages_per_read;
    nand.settings.cell.read_ns(page_in_block, level_of(nand, blocks, nand.shape.block_of(ppn)))
}

/// The first attempt of a read starts.
#[inline]
pub(crate) fn note_read<P: Pages>(ssd: &mut P, record: u32, ppn: u32) {
    if ssd.nand().levels.is_some() {
        let block = ssd.nand().shape.block_of(Ppn(ppn));
        let level = level_of(ssd.nand(), ssd.blocks(), block);
        let levels = ssd.nand_mut().levels_mut().expect("a device with LDPC");
        levels.note_level(record, level);
        levels.reads[block] += 1;
        levels.counts[level.min(levels.ldpc.highest + 1) as usize] += 1;
    }
}

/// A read is served by the first attempt of another one, of the same flash page.
pub(crate) fn note_joined_read(nand: &mut Nand, record: u32, other: u32) {
    if let Some(levels) = nand.levels_mut() {
        levels.note_level(record, levels.of_reads[other as usize]);
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
