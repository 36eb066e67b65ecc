//! GC in idle time (SPEC 5.7), and SSDs that are not collected at all (SPEC 5.2).
//!
//! An SSD is idle from `idle_ns` after the last page operation that the host waits for, if nothing that its memory has taken for that is being programmed (SPEC 8.1). Then each plane below `gc_idle_threshold` is collected, one
//! run after the other. A host operation only stores its time. The timer looks at that when it is due, and goes on waiting if the host came
//! meanwhile; it is set only while a plane may be due, so that it ends with the work.
//!
//! A run in idle time takes only a victim of which it frees `gc_idle_gain`. Without that it would, where the fill leaves fewer pages than the threshold, go
//! on until hardly any page is garbage, and move a whole block for each page freed. With a gain g, it moves at most (1 - g) / g pages for each page that it
//! frees; and in the long run it frees no more than is programmed otherwise.

use super::state::{Collection, GcStage, Next};
use crate::Settings;
use crate::memory::Memory;
use crate::space::Space;
use crate::store::Store;
use flashraid_nand::{NEVER, Nand};

/// When the SSD is idle if no host operation arrives.
fn idle_at_ns(settings: &Settings, nand: &Nand) -> u64 {
    let last_ns = nand.loads().iter().map(|load| load.last_host_ns).max().expect("there are members");
    last_ns.saturating_add(settings.given.idle_ns)
}

impl Collection {
    /// A plane may have to be collected in idle time: sets the timer if it is not set.
    #[cold]
    pub(crate) fn wait_for_idle(&self, settings: &Settings, nand: &mut Nand) {
        if settings.works_when_idle() && !self.is_untimed && self.is_collectable() && nand.timer_ns() == NEVER {
            nand.set_timer(idle_at_ns(settings, nand).max(nand.now_ns()));
        }
    }

    /// It is idle time: starts a GC run of the plane if that is due, or lets a fold go on that rests.
    pub(crate) fn collect_when_idle(&mut self, plane: u32, store: &mut Store, nand: &mut Nand) -> Next {
        if self.rests_in_fold(plane, &store.space) {
            self.runs[plane as usize].may_rest = false;
            return self.go_on_if_needed(plane, &store.space, nand);
        }
        if store.space.is_low_when_idle(plane) { self.start(plane, store, nand) } else { Next::Waits }
    }

    fn rests_in_fold(&self, plane: u32, space: &Space) -> bool {
        self.runs[plane as usize].stage == GcStage::Resting && self.is_folding(plane, space)
    }

    /// The timer is due. Returns whether GC runs start; else the host came meanwhile. The end of each run sets the timer again.
    pub(crate) fn idle_time_begins(&self, memory: Option<&Memory>, settings: &Settings, nand: &mut Nand) -> bool {
        let is_busy = memory.is_some_and(Memory::is_busy);
        let idle_at_ns = idle_at_ns(settings, nand);
        let is_idle = !is_busy && idle_at_ns <= nand.now_ns();
        // The end of a program sets it again.
        nand.set_timer(if is_idle || is_busy { NEVER } else { idle_at_ns });
        is_idle
    }
}
