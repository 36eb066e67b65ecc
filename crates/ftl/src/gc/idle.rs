//! GC in idle time (SPEC 5.7), and SSDs that are not collected at all (SPEC 5.2).
//!
//! An SSD is idle from `idle_ns` after the last page operation that the host waits for. Then each plane below `gc_idle_threshold` is collected, one
//! run after the other. A host operation only stores its time. The timer looks at that when it is due, and goes on waiting if the host came
//! meanwhile; it is set only while a plane may be due, so that it ends with the work.
//!
//! A run in idle time takes only a victim of which it frees `gc_idle_gain`. Without that it would, where the fill leaves fewer pages than the threshold, go
//! on until hardly any page is garbage, and move a whole block for each page freed. With a gain g, it moves at most (1 - g) / g pages for each page that it
//! frees; and in the long run it frees no more than is programmed otherwise.

use super::state::Collection;
use crate::Settings;
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
        if settings.collects_when_idle() && !self.is_untimed && self.is_collectable() && nand.timer_ns() == NEVER {
            nand.set_timer(idle_at_ns(settings, nand).max(nand.now_ns()));
        }
    }

    /// The timer is due. Returns whether GC runs start; else the host came meanwhile. The end of each run sets the timer again.
    pub(crate) fn idle_time_begins(&self, settings: &Settings, nand: &mut Nand) -> bool {
        let idle_at_ns = idle_at_ns(settings, nand);
        let is_idle = idle_at_ns <= nand.now_ns();
        nand.set_timer(if is_idle { NEVER } else { idle_at_ns });
        is_idle
    }
}
