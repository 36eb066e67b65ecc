//! The service class of GC and of migrations in one SSD (SPEC 5.7), and the LUNs that GC runs block.
//!
//! Within an SSD the order is: internal work of high priority, host, internal work of low priority. High is the class `Urgent`. Low is the class `Gc`
//! for both, so that GC and migrations of low priority are served in the order in which they come; `Priority::Migration` on a page operation of a
//! migration asks for that, and any other class stays as it is. (The class of this name stays behind rebuilds, for other idle work.)
//!
//! Coordinated, an SSD on which both GC and a migration are pending serves one of them at high priority, by its erased blocks (Algorithm 3). This is
//! decided when a page operation of either is submitted, and what is queued keeps its class: at most one step of each GC run is.

use super::state::{Collection, GcStage};
use crate::space::Space;
use crate::space::blocks::NONE;
use crate::store::Store;
use flashraid_nand::{CellOperation, Nand, Record, WorkKind, each, read_ns, reclass_gc};
use flashraid_vocabulary::{Cause, GcBlockingScope, GcLoad, GcPace, MemberPage, Ppn, Priority, ReadLoad, Version};

/// What GC of the plane has queued at a LUN when nobody waited for it, as in idle time, waits among the work of the host from now on.
#[cold]
fn put_among_host_work(plane: u32, lun: u32, store: &mut Store, nand: &mut Nand) {
    for id in reclass_gc(nand, plane, lun, [Priority::Gc, Priority::Host]) {
        let Record { work, ppn, .. } = *nand.record(id);
        if let (WorkKind::PageProgram, Some(memory)) = (work, &mut store.memory) {
            memory.set_class(Ppn(ppn), Priority::Host);
        }
    }
}

impl Collection {
    // ---- service classes ----

    /// The cause and the class of the next step of a plane's GC run.
    #[inline]
    pub(crate) fn class(&self, plane: u32, space: &Space) -> (Cause, Priority) {
        (self.cause(plane), self.priority(plane, space))
    }

    pub(crate) fn cause(&self, plane: u32) -> Cause {
        if self.runs[plane as usize].wear { Cause::Wear } else { Cause::Gc }
    }

    /// The class of the next step of a plane's GC run.
    pub(crate) fn priority(&self, plane: u32, space: &Space) -> Priority {
        if space.settings.given.gc_pace == GcPace::Debt {
            // What host programs make it owe is done among them, so that neither waits for long (SPEC 8.4).
            return if space.is_collected_for_host(plane) { Priority::Host } else { Priority::Gc };
        }
        let is_urgent = self.blocking_scope(plane, space) != GcBlockingScope::None
            || space.is_starved(plane)
            || self.runs[plane as usize].urgent
            || (self.migrations > 0 && !space.has_free_blocks());
        if is_urgent { Priority::Urgent } else { Priority::Gc }
    }

    /// What a GC run of the plane that begins now blocks, page by page when coordinated; and whether it goes before the host, as free pages are
    /// below the minimum. Without either of the two features of SPEC 5.7 that is left to the blocking scope.
    pub(super) fn manner(&self, plane: u32, space: &Space) -> (bool, bool) {
        let (state, settings) = (&space.blocks.planes[plane as usize], &space.settings);
        let coordinates = settings.coordinates_migration;
        let urgent = (coordinates || settings.collects_when_idle()) && state.free_pages < state.gc_pages;
        (coordinates && !urgent, urgent)
    }

    /// A program into a plane that is being collected finds that it needs it: the run may have to go before the host now, or, in step with it, no longer behind it.
    pub(super) fn hurry(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) {
        let (_, urgent) = self.manner(plane, &store.space);
        self.runs[plane as usize].urgent |= urgent;
        if store.space.settings.given.gc_pace == GcPace::Debt {
            for lane in store.space.living_lanes(plane) {
                let lun = nand.places().lun_of_lane(plane, lane);
                if nand.luns()[lun as usize].has_waiting(Priority::Gc) {
                    put_among_host_work(plane, lun, store, nand);
                }
            }
        }
    }

    /// The class in which a page operation is served; one of a migration is pending from now on.
    #[inline]
    pub(crate) fn admit(&mut self, cause: Cause, asked: Priority, space: &Space, nand: &Nand) -> Priority {
        if cause == Cause::Migration { self.admit_migration(asked, space, nand) } else { asked }
    }

    #[cold]
    fn admit_migration(&mut self, asked: Priority, space: &Space, nand: &Nand) -> Priority {
        let coordinates = space.settings.coordinates_migration;
        let is_collecting = nand.loads().iter().any(|load| load.gc_runs > 0);
        self.migrations += u32::from(coordinates);
        match asked {
            Priority::Migration if coordinates && is_collecting && space.has_free_blocks() => Priority::Urgent,
            Priority::Migration => Priority::Gc,
            _ => asked,
        }
    }

    /// A page operation has ended or failed, after `admit`.
    #[inline]
    pub(crate) fn dismiss(&mut self, cause: Cause, space: &Space) {
        if cause == Cause::Migration {
            self.migrations -= u32::from(space.settings.coordinates_migration);
        }
    }

    // ---- what is blocked ----

    pub(super) fn blocking_scope(&self, plane: u32, space: &Space) -> GcBlockingScope {
        if self.runs[plane as usize].pagewise { GcBlockingScope::None } else { space.settings.given.gc_blocking_scope }
    }

    /// The LUNs that a GC run of the plane blocks.
    pub(super) fn luns_blocked_by(&self, plane: u32, space: &Space, nand: &Nand) -> impl Iterator<Item = u32> + use<> {
        let (lun, shape) = (nand.places().lun_of_plane(plane), &space.shape);
        let first = shape.neighbors(lun).start;
        let luns = match self.blocking_scope(plane, space) {
            GcBlockingScope::None => 0,
            GcBlockingScope::Lun => 1 << (lun - first),
            GcBlockingScope::Chip => shape.chip_luns(shape.chip_of_lun(lun)),
            GcBlockingScope::Channel => u64::MAX >> (64 - shape.luns_per_channel),
        };
        each(luns).map(move |number| first + number)
    }

    /// Keeps host work off the LUNs that a GC run blocks, or lets it on again, but lets nobody start yet.
    pub(crate) fn mark_luns(&self, plane: u32, blocked: bool, space: &Space, nand: &mut Nand) {
        self.luns_blocked_by(plane, space, nand).for_each(|lun| nand.set_blocked(lun, blocked));
    }

    /// The plane of the latest GC run that keeps host work off the LUN.
    fn blocking_run(&self, lun: u32, space: &Space, nand: &Nand) -> Option<u32> {
        if nand.luns()[lun as usize].blocked() == 0 {
            return None;
        }
        let shape = &space.shape;
        let planes = |other, kind| {
            let first = shape.first_plane(other, kind);
            first..first + shape.planes_per_lun
        };
        let kinds = space.planes() / shape.data_planes();
        shape
            .neighbors(lun)
            .flat_map(|other| (0..kinds as usize).flat_map(move |kind| planes(other, kind)))
            .filter(|plane| self.is_collecting(*plane) && self.runs[*plane as usize].stage.blocks_luns())
            .filter(|plane| self.luns_blocked_by(*plane, space, nand).any(|blocked| blocked == lun))
            .max_by_key(|plane| self.runs[*plane as usize].since_ns)
    }

    /// `LoadView::read_load` at this time.
    pub fn read_load(&self, address: MemberPage, version: Version, now_ns: u64, store: &Store, nand: &Nand) -> Option<ReadLoad> {
        let ppn = store.lookup(address, version)?;
        let (space, load) = (&store.space, &nand.loads()[address.member]);
        let gc = self.blocking_run(nand.places().lun_of(ppn), space, nand).map(|plane| self.load(plane, now_ns, space, nand));
        Some(ReadLoad { read_ns: read_ns(nand, space, ppn), reads: load.reads, programs: load.programs, gc })
    }

    #[cold]
    fn load(&self, plane: u32, now_ns: u64, space: &Space, nand: &Nand) -> GcLoad {
        let (run, shape, cell) = (&self.runs[plane as usize], &space.shape, &space.settings.cell);
        let victim = shape.first_ppn(space.blocks.index(plane, run.victim));
        let lun = nand.places().lun_of_plane(plane);
        let chip = shape.neighbors(lun).filter(|other| shape.chip_of_lun(*other) == shape.chip_of_lun(lun));
        let (moves, erases) = chip.map(|lun| self.so_far(lun, nand)).fold((0, 0), |sum, of| (sum.0 + of[0], sum.1 + of[1]));
        GcLoad {
            elapsed_ns: now_ns - run.since_ns,
            moves,
            erases,
            to_move: run.to_move,
            read_ns: read_ns(nand, space, victim),
            program_ns: cell.mean_ns(CellOperation::Program),
            erase_ns: cell.mean_ns(CellOperation::Erase),
        }
    }

    /// Checks that LUNs are blocked by the GC runs that do, and no others.
    pub(crate) fn check_blocked(&self, space: &Space, nand: &Nand) -> Result<(), String> {
        let mut blocked = vec![0; nand.luns().len()];
        for (plane, gc) in (0..).zip(&self.runs) {
            if gc.retires && gc.erasing == 0 && (gc.may_rest || gc.stage == GcStage::Resting) {
                return Err(format!("the run of plane {plane}, which retires its victim, may rest"));
            }
            if gc.victim != NONE && gc.stage.blocks_luns() {
                self.luns_blocked_by(plane, space, nand).for_each(|lun| blocked[lun as usize] += 1);
            }
        }
        for (id, lun) in (0..).zip(nand.luns()) {
            if (lun.blocked() > 0) != self.blocking_run(id, space, nand).is_some() {
                return Err(format!("LUN {id} is blocked {} times, by the run of {:?}", lun.blocked(), self.blocking_run(id, space, nand)));
            }
        }
        match nand.luns().iter().zip(blocked).position(|(lun, blocked)| lun.blocked() != blocked) {
            Some(lun) => Err(format!("LUN {lun} is wrongly blocked, or not")),
            None => Ok(()),
        }
    }
}
