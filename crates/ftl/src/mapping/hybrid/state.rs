//! What hybrid mapping knows of logical blocks, log blocks and reservations.

use crate::Settings;
use crate::gc::state::Merge;
use crate::space::blocks::NONE;
use flashraid_vocabulary::{NIL, persistent};

/// A logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logical {
    /// Its data block, `NONE` before its first page.
    pub(crate) data: u16,
    /// Under BAST its log block, if it has one.
    pub(crate) log: u16,
    /// Pages of log blocks reserved and not taken.
    pub(crate) reserved_log: u16,
    /// Promises that were made before a failure took the plane: their pages are still to be found.
    pub(super) unbacked: u16,
    /// Pages reserved, and programmed pages whose operation has not ended.
    pub(crate) active: u16,
    /// A merge runs: no page of it is given out.
    pub(crate) merging: bool,
}

persistent!(Logical {
    keeps [data, log],
    anew [reserved_log, unbacked, active, merging], // nothing, as nothing is in flight
});

pub(super) const EMPTY: Logical = Logical { data: NONE, log: NONE, reserved_log: 0, unbacked: 0, active: 0, merging: false };

/// The mapping of one space domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub(crate) member: u32,
    /// Which of the member's planes it is, in the order in which logical blocks go round them.
    pub(super) position: u32,
    /// Log blocks in use, those to be erased included.
    pub(crate) logs: u32,
    /// Ends of the list of log blocks, but for the sequential one: by last write (BAST), or by age (FAST).
    pub(crate) oldest: u16,
    pub(super) newest: u16,
    /// FAST: the log block of pages in sequence.
    pub(crate) sequential: u16,
    /// FAST: the offset that would continue its sequence.
    pub(super) sequential_next: u16,
    /// FAST: pages reserved and not taken in the other log blocks.
    pub(super) reserved_random: u32,
    /// Somebody waits for a page.
    pub(crate) starved: bool,
}

persistent!(Instance {
    keeps [logs, oldest, newest, sequential, sequential_next, starved],
    anew [member, position, reserved_random],
});

impl Instance {
    pub(super) fn new(member: u32, position: u32) -> Self {
        Self {
            member,
            position,
            logs: 0,
            oldest: NONE,
            newest: NONE,
            sequential: NONE,
            sequential_next: 0,
            reserved_random: 0,
            starved: false,
        }
    }
}

/// Where a page belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) domain: u32,
    /// Number of its logical block among those of all instances.
    pub(crate) logical: u32,
    /// Its offset in that.
    pub(crate) offset: u32,
}

/// Everything about hybrid mapping.
#[derive(Clone, Debug)]
pub(crate) struct Hybrid {
    /// Log blocks of each instance.
    pub(crate) most_logs: u32,
    /// FAST.
    pub(crate) shared: bool,
    /// Logical blocks of each instance.
    pub(crate) per_instance: u32,
    pub(crate) logical: Vec<Logical>,
    pub(crate) instances: Vec<Instance>,
    /// Offsets of data blocks and of sequential log blocks that are programmed or reserved, as bits, and those that are reserved alone.
    pub(crate) taken: Vec<u64>,
    pub(super) reserved: Vec<u64>,
    pub(crate) words: usize,
    /// The logical block that a data block or log block serves (not those that FAST shares).
    pub(crate) owner: Vec<u32>,
    /// Log blocks of which each page so far was programmed at its own offset.
    pub(crate) in_order: Vec<bool>,
    /// Merges of each instance.
    pub(crate) merges: Vec<Merge>,
    /// Instances whose merge found a semivalid page that could not be committed.
    pub(crate) left: Vec<u32>,
    /// Programs without a page: only after failures.
    pub(super) waiting: Vec<u32>,
}

persistent!(Hybrid {
    arrays [logical, instances, taken, owner, in_order],
    // Nothing is reserved, and no merge runs.
    anew [most_logs, shared, per_instance, reserved, words, merges, left, waiting],
});

impl Hybrid {
    /// All erased.
    pub(crate) fn new(settings: &Settings, domains: usize, blocks: usize) -> Self {
        let pages_per_block = settings.geometry.pages_per_block;
        let planes = settings.geometry.planes_per_die * settings.geometry.dies_per_chip;
        let planes = planes * if settings.member_is_chip() { 1 } else { settings.geometry.chips_per_channel };
        let per_instance = settings.pages_per_member.div_ceil(pages_per_block).div_ceil(planes);
        let words = pages_per_block.div_ceil(64) as usize;
        Self {
            most_logs: settings.log_blocks,
            shared: settings.shared_logs,
            per_instance,
            logical: vec![EMPTY; domains * per_instance as usize],
            instances: vec![Instance::new(NIL, 0); domains],
            taken: vec![0; blocks * words],
            reserved: vec![0; blocks * words],
            words,
            owner: vec![NIL; blocks],
            in_order: vec![false; blocks],
            merges: vec![Default::default(); domains],
            left: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn bit(&self, block: usize, offset: u32) -> (usize, u64) {
        (block * self.words + offset as usize / 64, 1 << (offset % 64))
    }

    pub(super) fn is_taken(&self, block: usize, offset: u32) -> bool {
        let (word, bit) = self.bit(block, offset);
        self.taken[word] & bit != 0
    }

    pub(crate) fn take(&mut self, block: usize, offset: u32) {
        let (word, bit) = self.bit(block, offset);
        self.taken[word] |= bit;
    }

    pub(super) fn is_reserved(&self, block: usize, offset: u32) -> bool {
        let (word, bit) = self.bit(block, offset);
        self.reserved[word] & bit != 0
    }

    pub(crate) fn reservations_in(&self, block: usize) -> u32 {
        self.reserved[block * self.words..][..self.words].iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn forget_block(&mut self, block: usize) {
        self.taken[block * self.words..][..self.words].fill(0);
        self.reserved[block * self.words..][..self.words].fill(0);
        (self.owner[block], self.in_order[block]) = (NIL, false);
    }
}
