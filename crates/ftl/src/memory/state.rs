//! What is in the memory, and what waits for it.

use super::held::{Held, HeldPages};
use crate::news::Untold;
use crate::space::Space;
use crate::space::blocks::{Block, BlockState};
use flashraid_vocabulary::{NIL, Ppn, Priority};
use std::collections::VecDeque;

/// A flush that waits for what was in the memory when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    pub(super) owner: u32,
    /// The program units that were opened before this many.
    pub(super) before: u64,
    /// How many of them are not programmed, without those that the flush before it waits for.
    pub(super) left: u32,
}

/// A write point: programs of one stream fill its program unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct WritePoint {
    /// The open program unit, by its number on flash; `NIL` for none.
    pub(super) page: u32,
    /// What is left of it is to become padding, as soon as there are pages for that.
    pub(super) must_be_padded: bool,
}

impl WritePoint {
    /// Nothing is open.
    pub(super) const NONE: Self = Self { page: NIL, must_be_padded: false };
}

/// What the memory is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Pages of the map for which it has room. Work in no simulated time, and what failures have driven out of their places, may take more.
    pub pages: u32,
    /// How long a read from it takes.
    pub read_ns: u64,
    /// Whether it survives a loss of power.
    pub survives_power_loss: bool,
    /// If not: how long after its first page a program unit is padded; 0 for never.
    pub pad_after_ns: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(super) settings: MemorySettings,
    /// Pages of a program unit.
    pub(super) units: u32,
    /// Pages for which there is room now.
    pub(super) room: i64,
    /// Streams of the host.
    pub(super) streams: usize,
    /// Where programs go: domain by domain, stream by stream.
    pub(super) points: Vec<WritePoint>,
    pub(super) held: HeldPages,
    /// Program units opened so far, and those of them that are held for programs of plans.
    pub(super) opened: u64,
    pub(super) held_of_plans: u32,
    /// Program units of the GC stream of each plane that are being programmed.
    pub(super) programs_of_gc: Vec<u32>,
    /// Program units of plans that are being programmed.
    pub(super) programs_of_plans: u32,
    /// Those of each plane that are being programmed into the SLC cache.
    pub(super) slc_programs: Vec<u32>,
    /// Programs that wait for room or for a page, by service class.
    pub(super) waiting: [VecDeque<u32>; Priority::COUNT],
    /// Programs that were accepted, and reads: when they end, and their record.
    pub(super) accepted: VecDeque<(u64, u32)>,
    pub(super) reads: VecDeque<(u64, u32)>,
    /// When open program units are padded, in order: the write point, and the number of the page.
    pub(super) deadlines: VecDeque<(u64, u32, u64)>,
    /// Some of what is held must move.
    pub(super) has_to_move: bool,
    pub(super) barriers: VecDeque<Barrier>,
    /// Pages of padding so far.
    pub(super) padded: u64,
    /// Program units given up so far: there was nowhere to program them, and a flush waited for them.
    pub(super) given_up: u64,
}

impl Memory {
    /// Empty, where a program unit has so many pages, with a write point for each domain and stream.
    pub(crate) fn new(settings: MemorySettings, units: u32, flash_pages: usize, (domains, streams): (usize, usize), planes: usize) -> Self {
        Self {
            settings,
            units,
            room: settings.pages.into(),
            streams,
            points: vec![WritePoint::NONE; domains * streams],
            held: HeldPages::new(flash_pages),
            opened: 0,
            held_of_plans: 0,
            programs_of_gc: vec![0; planes],
            programs_of_plans: 0,
            slc_programs: vec![0; planes],
            waiting: Default::default(),
            accepted: VecDeque::new(),
            reads: VecDeque::new(),
            deadlines: VecDeque::new(),
            has_to_move: false,
            barriers: VecDeque::new(),
            padded: 0,
            given_up: 0,
        }
    }

    /// Pages of a program unit.
    pub(crate) fn units(&self) -> u32 {
        self.units
    }

    /// Whether it survives a loss of power.
    pub(crate) fn survives_power_loss(&self) -> bool {
        self.settings.survives_power_loss
    }

    /// Program units of the plane's GC stream that are being programmed.
    pub(crate) fn programs_of_gc(&self, plane: u32) -> u32 {
        self.programs_of_gc[plane as usize]
    }

    /// Whether something of plans is being programmed, or waits for room: then the SSD is not idle.
    pub(crate) fn is_busy(&self) -> bool {
        self.programs_of_plans > 0 || self.waiting.iter().any(|waiting| !waiting.is_empty())
    }

    /// Whether program units of the plane are being programmed into the SLC cache.
    pub(crate) fn has_slc_programs(&self, plane: u32) -> bool {
        self.slc_programs[plane as usize] > 0
    }

    /// Pages of padding so far.
    pub(crate) fn padded(&self) -> u64 {
        self.padded
    }

    /// Program units given up so far.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether a page is in it: then it is there, whatever has become of its place.
    #[inline]
    pub(crate) fn holds(&self, ppn: Ppn) -> bool {
        self.held.get(ppn.0 / self.units).is_some_and(|held| !held.is_gone)
    }

    /// Whether a loss of power takes this page, as it has not been programmed. (What GC moves is still where it was.)
    pub(crate) fn is_at_risk(&self, ppn: Ppn) -> bool {
        let is_of_plans = |held: &Held| !held.is_gone && !held.is_of_gc;
        !self.settings.survives_power_loss && self.held.get(ppn.0 / self.units).is_some_and(is_of_plans)
    }

    // ---- flushes ----

    /// A flush has come. Returns whether it waits until what is in the memory is programmed: then all open program units must be padded, and `wait_for_held`
    /// follows.
    pub(crate) fn must_program(&self) -> bool {
        !self.settings.survives_power_loss && self.held_of_plans > 0
    }

    /// The flush waits for all program units that are held for programs of plans. Its owner is told.
    pub(crate) fn wait_for_held(&mut self, owner: u32) {
        let left = self.held_of_plans - self.barriers.iter().map(|barrier| barrier.left).sum::<u32>();
        self.barriers.push_back(Barrier { owner, before: self.opened, left });
    }

    /// Whether a flush waits.
    pub(crate) fn has_flushes(&self) -> bool {
        !self.barriers.is_empty()
    }

    /// What is held is in program units that were opened later than flushes know: they wait for all of it.
    pub(crate) fn renew_flushes(&mut self) {
        let mut left = self.held_of_plans;
        for barrier in &mut self.barriers {
            (barrier.before, barrier.left) = (self.opened, std::mem::take(&mut left));
        }
    }

    /// A program unit with this number is held no more.
    pub(super) fn pass_flushes(&mut self, number: u64, news: &mut Untold) {
        if let Some(barrier) = self.barriers.iter_mut().find(|barrier| barrier.before > number) {
            barrier.left -= 1;
        }
        while let Some(Barrier { owner, left: 0, .. }) = self.barriers.front() {
            news.pass_flush(*owner);
            self.barriers.pop_front();
        }
    }

    // ---- checks ----

    /// What must hold of it.
    pub(crate) fn check(&self, space: &Space) -> Result<(), String> {
        let of_plans = self.held.iter().filter(|held| !held.is_of_gc).count() as u32;
        for held in self.held.iter() {
            let first = held.page * self.units;
            let block = space.shape.block_of(Ppn(first));
            let Block { written, pending, state, .. } = space.blocks.blocks[block];
            let used = space.blocks.units_used(block, self.units);
            let taken = (written + space.shape.first_ppn(block).0).saturating_sub(first).min(used);
            if state != BlockState::Retired && (taken != held.taken || pending == 0) {
                return Err(format!("a program unit is held, of which {taken} pages are taken, {pending} pending in its block: {held:?}"));
            }
        }
        for (number, point) in self.points.iter().enumerate().filter(|(_, point)| point.page != NIL) {
            let first = Ppn(point.page * self.units);
            let stream = space.blocks.stream_of(space.shape.block_of(first), false);
            let open = space.blocks.open_block(space.shape.plane_of(first), stream);
            if usize::from(stream.number()) != number % self.streams {
                return Err(format!("write point {number} has a program unit of {stream:?}"));
            }
            let is_there = space.shape.block_of(first) == space.blocks.index(space.shape.plane_of(first), open);
            let held = self.held.get(point.page).filter(|held| !held.is_queued && !held.is_of_gc && !held.must_move);
            if !is_there || held.is_none() || space.domain_of_plane(space.shape.plane_of(first)) as usize != number / self.streams {
                return Err(format!("write point {number} has {point:?} open, which is {:?} of block {open}", self.held.get(point.page)));
            }
        }
        let taken: u32 = self.held.iter().filter(|held| !held.is_of_gc).map(|held| held.taken).sum();
        let room = self.room + i64::from(taken);
        if of_plans != self.held_of_plans || room != i64::from(self.settings.pages) {
            return Err(format!("{of_plans} program units with {taken} pages are held, counted {}: {self:?}", self.held_of_plans));
        }
        Ok(())
    }
}
