//! The service class of GC and of migrations in one SSD (SPEC 5.7).
//!
//! Within an SSD the order is: internal work of high priority, host, internal work of low priority. High is the class `Urgent`. Low is the class `Gc`
//! for both, so that GC and migrations of low priority are served in the order in which they come; `Priority::Migration` on a page operation of a
//! migration asks for that, and any other class stays as it is. (The class of this name stays behind rebuilds, for other idle work.)
//!
//! Coordinated, an SSD on which both GC and a migration are pending serves one of them at high priority, by its erased blocks (Algorithm 3). This is
//! decided when a page operation of either is submitted, and what is queued keeps its class: at most one step of each GC run is.

use crate::Flash;
use flashraid_vocabulary::{Cause, GcBlockingScope, Priority};

impl Flash {
    /// The class of the next step of a plane's GC run.
    pub(crate) fn gc_priority(&self, plane: u32) -> Priority {
        let (run, state) = (&self.gc.runs[plane as usize], &self.space.blocks.planes[plane as usize]);
        let is_urgent = self.blocking_scope(plane) != GcBlockingScope::None
            || state.free_blocks < self.settings.given.gc_reserve_blocks
            || run.urgent
            || (self.gc.migrations > 0 && !self.space.has_free_blocks());
        if is_urgent { Priority::Urgent } else { Priority::Gc }
    }

    /// What a GC run of the plane that begins now blocks, page by page when coordinated; and whether it goes before the host, as free pages are
    /// below the minimum. Without either of the two features of SPEC 5.7 that is left to the blocking scope.
    pub(super) fn manner_of_gc(&self, plane: u32) -> (bool, bool) {
        let state = &self.space.blocks.planes[plane as usize];
        let coordinates = self.settings.coordinates_migration;
        let urgent = (coordinates || self.settings.collects_when_idle()) && state.free_pages < state.gc_pages;
        (coordinates && !urgent, urgent)
    }

    /// The class in which a page operation is served; one of a migration is pending from now on.
    #[inline]
    pub(crate) fn admit(&mut self, cause: Cause, asked: Priority) -> Priority {
        if cause == Cause::Migration { self.admit_migration(asked) } else { asked }
    }

    #[cold]
    fn admit_migration(&mut self, asked: Priority) -> Priority {
        let is_collecting = self.nand.loads().iter().any(|load| load.gc_runs > 0);
        self.gc.migrations += u32::from(self.settings.coordinates_migration);
        match asked {
            Priority::Migration if self.settings.coordinates_migration && is_collecting && self.space.has_free_blocks() => Priority::Urgent,
            Priority::Migration => Priority::Gc,
            _ => asked,
        }
    }

    /// A page operation has ended or failed, after `admit`.
    #[inline]
    pub(crate) fn dismiss(&mut self, cause: Cause) {
        if cause == Cause::Migration {
            self.gc.migrations -= u32::from(self.settings.coordinates_migration);
        }
    }
}
