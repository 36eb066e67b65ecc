//! What an SSD keeps when it is switched off in order, with nothing in flight: its maps, the state and the wear of its blocks, and whose turn it is.
//! The time begins anew when it is switched on, and none has passed meanwhile.

use crate::Flash;
use crate::store::Store;
use flashraid_nand::slc;
use flashraid_vocabulary::Persistent;
use std::io::{self, Read, Write};

impl Persistent for Flash {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        debug_assert!(!self.checked().is_at_work());
        let Self { store: Store { maps, space, faults, memory: _ }, nand, gc, hybrid, untimed } = self;
        gc.health.save(to)?;
        untimed.save(to)?;
        maps.save(to)?;
        space.save(to)?;
        nand.save(to)?;
        // What GC cost so far is what it is expected to cost.
        (0..space.shape.luns()).map(|lun| gc.so_far(lun, nand)).collect::<Vec<_>>()[..].save(to)?;
        space.cold.save(to)?;
        maps.all_held().save(to)?;
        faults.save(to)?;
        hybrid.iter().try_for_each(|hybrid| hybrid.save(to))?;
        nand.levels().into_iter().try_for_each(|levels| levels.save(nand.now_ns(), to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self { store: Store { maps, space, faults, memory: _ }, nand, gc, hybrid, untimed } = self;
        gc.health.restore(from)?;
        untimed.restore(from)?;
        maps.restore(from)?;
        space.restore(from)?;
        nand.restore(from)?;
        let blocks = 0..space.blocks.blocks.len();
        blocks.filter(|block| space.blocks.is_slc(*block)).for_each(|block| slc::set_mode(nand, block, true));
        gc.before[..].restore(from)?;
        space.cold.restore(from)?;
        maps.all_held_mut().restore(from)?;
        faults.restore(from)?;
        hybrid.iter_mut().try_for_each(|hybrid| hybrid.restore(from))?;
        nand.levels_mut().into_iter().try_for_each(|levels| levels.restore(from))
    }
}
