//! How far the GC run of a plane is, and what GC runs have done.

use crate::space::blocks::NONE;
use crate::{GcQuery, MapEvent};
use flashraid_vocabulary::persistent;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GcStage {
    Moving,
    /// A flash page that is full of pages moved is programmed.
    Programming,
    /// A semivalid page at the cursor: the layer above has been asked.
    Asking,
    /// First phase: the layer above has been asked about all semivalid pages, and commits some.
    Committing,
    /// Dispatched reads of the victim have not ended.
    Reads,
    Erasing,
}

impl GcStage {
    /// Whether the LUNs that a GC run blocks are blocked: not while it waits for work that may need them.
    pub(crate) fn blocks_luns(self) -> bool {
        !matches!(self, GcStage::Committing | GcStage::Reads)
    }
}

/// The GC run of one plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gc {
    pub(crate) victim: u16,
    pub(crate) cursor: u16,
    pub(crate) stage: GcStage,
    pub(crate) wear: bool,
    /// It blocks no LUN, whatever the blocking scope. Still known after its end, for who unblocks LUNs.
    pub(crate) pagewise: bool,
    /// It goes before the host.
    pub(crate) urgent: bool,
    /// The page at the cursor is to be moved even if it is semivalid.
    pub(crate) move_semivalid: bool,
    /// The victim is retired instead of erased, so nothing is gained.
    pub(crate) retires: bool,
    pub(crate) moving: u32,
    /// First phase: semivalid pages without an answer, and commits that have not ended.
    pub(crate) uncommitted: u16,
    /// When the victim was chosen.
    pub(crate) since_ns: u64,
    /// Pages that were to be moved then.
    pub(crate) to_move: u16,
}

impl Gc {
    /// No GC runs.
    pub const IDLE: Gc = Gc {
        victim: NONE,
        cursor: 0,
        stage: GcStage::Moving,
        wear: false,
        pagewise: false,
        urgent: false,
        move_semivalid: false,
        retires: false,
        moving: 0,
        uncommitted: 0,
        since_ns: 0,
        to_move: 0,
    };
}

/// GC runs of all planes, and what is known for the next ones.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    /// By plane.
    pub(crate) runs: Vec<Gc>,
    /// By plane, closed blocks by their erases, for static wear leveling; those that were erased since count no more.
    pub(crate) cold: Vec<BinaryHeap<Reverse<(u32, u16)>>>,
    pub(crate) queries: Vec<GcQuery>,
    pub(crate) map_events: Vec<MapEvent>,
    /// Of each LUN, pages that GC moved to it, and erases of GC, before the device was switched on.
    pub(crate) before: Vec<[u64; 2]>,
    pub(crate) counts: GcCounts,
    /// With coordinated migration: page operations of migrations that are submitted and have not ended.
    pub(crate) migrations: u32,
}

persistent!(Collection {
    arrays [cold],
    // Work, of which there is none, and statistics. To what was before is added what was done since (`Flash::gc_so_far`).
    anew [runs, queries, map_events, before, counts, migrations],
});

impl Collection {
    /// Nothing is collected.
    pub(crate) fn new(planes: u32, luns: u32) -> Self {
        Self {
            runs: vec![Gc::IDLE; planes as usize],
            cold: vec![BinaryHeap::new(); planes as usize],
            queries: Vec::new(),
            map_events: Vec::new(),
            before: vec![[0; 2]; luns as usize],
            counts: GcCounts::default(),
            migrations: 0,
        }
    }
}

/// Which GC runs are in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcUnderWay {
    /// Of data pages, moved page by page.
    pub of_data: bool,
    /// Merges of log blocks.
    pub merges: bool,
    /// Of translation pages.
    pub of_map: bool,
    /// Of a cold block, for static wear leveling.
    pub for_wear: bool,
}

impl std::ops::BitOr for GcUnderWay {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            of_data: self.of_data | other.of_data,
            merges: self.merges | other.merges,
            of_map: self.of_map | other.of_map,
            for_wear: self.for_wear | other.for_wear,
        }
    }
}

/// What GC runs have done beside their page operations (`Nand::counts`, causes `Gc` and `Wear`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcCounts {
    /// Victims erased, or merges of log blocks.
    pub gc_runs: u64,
    /// Logical blocks merged, by `MergeKind`: hybrid mapping only.
    pub merges: [u64; 3],
    /// Time from the choice of a victim to its erasure, of all of them together: they may overlap.
    pub time_ns: u64,
}

impl std::ops::Add for GcCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            gc_runs: self.gc_runs + other.gc_runs,
            merges: std::array::from_fn(|kind| self.merges[kind] + other.merges[kind]),
            time_ns: self.time_ns + other.time_ns,
        }
    }
}

/// How a logical block is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeKind {
    /// The log block, full and in order, becomes the data block.
    Switch,
    /// The log block, in order as far as it goes, becomes the data block when the other pages are copied to it.
    Partial,
    /// All pages are copied to an erased block.
    #[default]
    Full,
}

/// The merge of one instance, beside what every GC has: its victim is the log block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merge {
    /// Logical blocks that have a valid page in the log block.
    pub(crate) logicals: Vec<u32>,
    /// Which of them is being merged.
    pub(crate) current: usize,
    pub(super) kind: MergeKind,
    /// Where its pages are copied to; `NONE` before the first one of a full merge.
    pub(super) target: u16,
    /// The offset looked at next.
    pub(super) offset: u32,
    /// Blocks to be erased before the next logical block's turn, the last first, and whether they are log blocks.
    pub(crate) erase: Vec<(u16, bool)>,
    /// The log block is still to be erased.
    pub(crate) keeps_log: bool,
    /// Copies and erases have begun.
    pub(crate) begun: bool,
    /// A semivalid page cannot be committed now.
    pub(super) refused: bool,
    /// Bases of the plane that were released since it began.
    pub(super) released: u32,
    /// How many these were when its semivalid pages were last asked about, and when that was.
    pub(super) asked: Option<(u32, u64)>,
}
