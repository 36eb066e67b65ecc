//! What an SSD keeps when it is switched off in order, with nothing in flight: its maps, the state and the wear of its blocks, and whose turn it is.
//! The time begins anew when it is switched on, and none has passed meanwhile.

use crate::memory;
use crate::{Flash, GcUnderWay};
use flashraid_nand::{ERASE, action_index};
use flashraid_vocabulary::{Action, Cause, Persistent};
use std::io::{self, Read, Write};

impl Flash {
    /// Whether anything is in flight.
    pub fn is_at_work(&self) -> bool {
        !self.nand.is_at_rest()
            || self.gc_runs_under_way() != GcUnderWay::default()
            || self.untimed.filling.is_some()
            || self.space.domains.iter().any(|domain| domain.reserved != 0)
            || memory::has_to_rescue(self)
    }

    /// Why what is kept of it would not be all, if that is so: of what may have failed, blocks and pages are known from it alone.
    pub fn failed_parts(&self) -> Option<&'static str> {
        if self.space.is_worn_out() {
            Some("an SSD is worn out")
        } else if self.uses_spares() || self.space.blocks.planes.iter().any(|plane| plane.dead) {
            Some("a part of an SSD has failed")
        } else if !self.faults.armed.is_empty() {
            Some("a program or erase is still to fail")
        } else {
            None
        }
    }

    /// Pages that GC has moved to a LUN, and erases of GC, since the device was new.
    pub(crate) fn gc_so_far(&self, lun: u32) -> [u64; 2] {
        let [moves, erases] = self.gc.before[lun as usize];
        let of = |action: usize| self.nand.luns()[lun as usize].operations[action][Cause::Gc as usize];
        [moves + of(action_index(Action::Program)), erases + of(ERASE)]
    }
}

impl Persistent for Flash {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        debug_assert!(!self.is_at_work());
        let Self { settings: _, shape: _, members: _, nand, maps, held, space, gc, untimed, health, faults, hybrid, memory: _ } = self;
        health.save(to)?;
        untimed.save(to)?;
        maps.save(to)?;
        space.save(to)?;
        nand.save(to)?;
        // What GC cost so far is what it is expected to cost.
        (0..self.shape.luns()).map(|lun| self.gc_so_far(lun)).collect::<Vec<_>>()[..].save(to)?;
        gc.save(to)?;
        held[..].save(to)?;
        faults.save(to)?;
        hybrid.iter().try_for_each(|hybrid| hybrid.save(to))?;
        nand.levels().into_iter().try_for_each(|levels| levels.save(nand.now_ns(), to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self { settings: _, shape: _, members: _, nand, maps, held, space, gc, untimed, health, faults, hybrid, memory: _ } = self;
        health.restore(from)?;
        untimed.restore(from)?;
        maps.restore(from)?;
        space.restore(from)?;
        nand.restore(from)?;
        gc.before[..].restore(from)?;
        gc.restore(from)?;
        held[..].restore(from)?;
        faults.restore(from)?;
        hybrid.iter_mut().try_for_each(|hybrid| hybrid.restore(from))?;
        nand.levels_mut().into_iter().try_for_each(|levels| levels.restore(from))
    }
}
