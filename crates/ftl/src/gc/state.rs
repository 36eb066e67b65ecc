//! How far the GC run of a plane is, and what GC runs have done.

use crate::space::Space;
use crate::space::blocks::NONE;
use crate::store::Store;
use crate::{MapEvent, Settings};
use flashraid_nand::{ERASE, Nand, WorkKind, action_index};
use flashraid_vocabulary::{Action, Cause, Health, Ppn, Version};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GcStage {
    Moving,
    /// It owes no move (`pace`).
    Resting,
    /// As many program units full of pages moved are programmed as may be at once.
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
    pub(crate) cursor: u32,
    pub(crate) stage: GcStage,
    pub(crate) wear: bool,
    /// It blocks no LUN, whatever the blocking scope.
    pub(crate) pagewise: bool,
    /// It goes before the host.
    pub(crate) urgent: bool,
    /// The page at the cursor is to be moved even if it is semivalid.
    pub(crate) move_semivalid: bool,
    /// The victim is retired instead of erased, so nothing is gained.
    pub(crate) retires: bool,
    pub(crate) moving: u32,
    /// Where program units have several pages: flash pages that it reads now.
    pub(super) reading: u32,
    /// Blocks of its victim, one in each living lane, that are being erased.
    pub(super) erasing: u32,
    /// First phase: semivalid pages without an answer, and commits that have not ended.
    pub(crate) uncommitted: u32,
    /// When the victim was chosen.
    pub(crate) since_ns: u64,
    /// Pages that were to be moved then.
    pub(crate) to_move: u32,
    /// Whether it rests while it owes nothing. (One for wear leveling, or that retires its victim, does not.)
    pub(super) may_rest: bool,
    /// Moves that it owes, in parts: each move takes as many as the run frees pages.
    pub(super) owed: i64,
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
        reading: 0,
        erasing: 0,
        uncommitted: 0,
        since_ns: 0,
        to_move: 0,
        may_rest: false,
        owed: 0,
    };
}

/// What a GC run does next, once all tables say what it has come to: the part of it that only who holds all of the SSD can do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits until it is told something.
    Waits,
    /// It goes on.
    GoesOn,
    /// It waits, and has let host work on its LUNs again.
    Unblocks,
    /// NAND works on this page.
    Work(WorkKind, Ppn),
    /// The victim is empty and is retired instead of erased, or is lost: the run ends.
    Retires,
    /// There is no page for what it moves: the run ends, and its victim stays.
    Leaves,
    /// A merge: it has let host work on its LUNs again, and asks about semivalid pages.
    AsksAgain,
    /// A merge has ended, and let host work on its LUNs again.
    Merged,
    /// No merge runs, and one that was put off may begin now: who waits for a page may try again.
    Wakes,
}

/// GC runs of all planes, and whether there may be any.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Whether the SSD may be programmed and collected: SPEC 5.2 has no GC on an SSD that is not S0.
    pub(crate) health: Health,
    /// Work is done in no simulated time: nothing starts GC by itself.
    pub(crate) is_untimed: bool,
    /// By plane.
    pub(crate) runs: Vec<Gc>,
    /// With `gc_pace = debt`, of each plane: pages that were programmed while its last run ended, beyond those that the erase has given back.
    pub(super) unpaid: Vec<u32>,
    /// Of each LUN, pages that GC moved to it, and erases of GC, before the device was switched on.
    pub(crate) before: Vec<[u64; 2]>,
    pub(crate) counts: GcCounts,
    /// With coordinated migration: page operations of migrations that are submitted and have not ended.
    pub(super) migrations: u32,
}

impl Collection {
    /// Nothing is collected.
    pub(crate) fn new(planes: u32, luns: u32) -> Self {
        Self {
            health: Health::ReadWrite,
            is_untimed: false,
            runs: vec![Gc::IDLE; planes as usize],
            unpaid: vec![0; planes as usize],
            before: vec![[0; 2]; luns as usize],
            counts: GcCounts::default(),
            migrations: 0,
        }
    }

    /// Whether the SSD may be programmed and collected.
    pub fn health(&self) -> Health {
        self.health
    }

    // ---- what runs ----

    /// Whether GC runs may start.
    #[inline]
    pub(crate) fn is_collectable(&self) -> bool {
        self.health == Health::ReadWrite
    }

    #[inline]
    pub(crate) fn is_collecting(&self, plane: u32) -> bool {
        self.runs[plane as usize].victim != NONE
    }

    /// Whether a block of the plane's SLC cache is being folded, and that waits for no commit, which may wait for programs.
    pub(crate) fn is_folding(&self, plane: u32, space: &Space) -> bool {
        let Gc { victim, stage, .. } = self.runs[plane as usize];
        let waits = matches!(stage, GcStage::Asking | GcStage::Committing);
        victim != NONE && !waits && space.blocks.is_slc(space.blocks.index(plane, victim))
    }

    /// Whether a run is under way that does not rest: looks at all planes.
    pub(crate) fn is_at_work(&self) -> bool {
        self.runs.iter().any(|run| run.victim != NONE && run.stage != GcStage::Resting)
    }

    /// GC runs, by what they are: looks at all planes. `are_merges` under hybrid mapping.
    pub(crate) fn under_way(&self, data_planes: u32, are_merges: bool) -> GcUnderWay {
        let mut collecting = GcUnderWay::default();
        for (plane, gc) in (0..).zip(&self.runs).filter(|(_, gc)| gc.victim != NONE) {
            collecting.merges |= are_merges;
            collecting.of_data |= !are_merges && plane < data_planes;
            collecting.of_map |= plane >= data_planes;
            collecting.for_wear |= gc.wear;
        }
        collecting
    }

    /// Pages that GC has moved to a LUN, and erases of GC, since the device was new.
    pub(crate) fn so_far(&self, lun: u32, nand: &Nand) -> [u64; 2] {
        let [moves, erases] = self.before[lun as usize];
        let of = |action: usize| nand.luns()[lun as usize].operations[action][Cause::Gc as usize];
        [moves + of(action_index(Action::Program)), erases + of(ERASE)]
    }

    // ---- news ----

    /// What runs have done beside the page operations that NAND counts.
    pub fn counts(&self) -> GcCounts {
        self.counts
    }

    /// Whether somebody stores the map, and must hear of moves.
    pub(crate) fn reports_moves(&self, settings: &Settings) -> bool {
        settings.translation_blocks > 0 && !self.is_untimed
    }

    /// A version that was in this plane is elsewhere, or lost.
    pub(super) fn report_move(&self, plane: u32, (version, slot): (Version, u32), store: &mut Store) {
        let settings = &store.space.settings;
        if self.reports_moves(settings) && !settings.is_translation(store.maps.address(slot).page) {
            store.space.news.report(MapEvent::Moved { plane, version, slot });
        }
    }

    /// No page is moved out of the plane's victim any more.
    pub(crate) fn report_end(&self, plane: u32, space: &mut Space) {
        if self.reports_moves(&space.settings) {
            space.news.report(MapEvent::Ended { plane });
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
