//! GC in idle time (SPEC 5.7), and SSDs that are not collected at all (SPEC 5.2).
//!
//! An SSD is idle from `idle_ns` after the last page operation that the host waits for. Then each plane below `gc_idle_threshold` is collected, one
//! run after the other. A host operation only stores its time. The timer looks at that when it is due, and goes on waiting if the host came
//! meanwhile; it is set only while a plane may be due, so that it ends with the work.
//!
//! A run in idle time takes only a victim of which it frees `gc_idle_gain`. Without that it would, where the fill leaves fewer pages than the threshold, go
//! on until hardly any page is garbage, and move a whole block for each page freed. With a gain g, it moves at most (1 - g) / g pages for each page that it
//! frees; and in the long run it frees no more than is programmed otherwise.

use crate::Flash;
use flashraid_nand::NEVER;
use flashraid_vocabulary::Health;

impl Flash {
    // ---- health ----

    /// Whether it may be programmed and collected.
    pub fn health(&self) -> Health {
        self.health
    }

    /// From now on it may be programmed and collected, or not. A GC run under way ends all the same.
    pub fn set_health(&mut self, health: Health) {
        self.health = health;
        if self.is_collectable() && !self.untimed.is_on {
            for plane in 0..self.space.planes() {
                self.collect_if_low(plane);
                self.collect_if_starved(plane);
            }
        }
    }

    /// Whether GC runs may start: SPEC 5.2 has no GC on an SSD that is not S0.
    #[inline]
    pub(crate) fn is_collectable(&self) -> bool {
        self.health == Health::ReadWrite
    }

    // ---- the timer ----

    /// When it is idle if no host operation arrives.
    fn idle_at_ns(&self) -> u64 {
        let last_ns = self.nand.loads().iter().map(|load| load.last_host_ns).max().expect("there are members");
        last_ns.saturating_add(self.settings.given.idle_ns)
    }

    /// A plane may have to be collected in idle time: sets the timer if it is not set.
    #[cold]
    pub(crate) fn collect_when_idle(&mut self) {
        if self.settings.collects_when_idle() && !self.untimed.is_on && self.is_collectable() && self.nand.timer_ns() == NEVER {
            self.nand.set_timer(self.idle_at_ns().max(self.nand.now_ns()));
        }
    }

    /// The timer is due: starts GC runs unless the host came meanwhile. The end of each run sets the timer again.
    pub(crate) fn idle_timer_event(&mut self) {
        let idle_at_ns = self.idle_at_ns();
        if idle_at_ns > self.nand.now_ns() {
            return self.nand.set_timer(idle_at_ns);
        }
        self.nand.set_timer(NEVER);
        for plane in 0..self.space.planes() {
            let state = &self.space.blocks.planes[plane as usize];
            if state.free_pages < state.idle_pages {
                self.start_gc(plane);
            }
        }
    }
}
