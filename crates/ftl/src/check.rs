//! What must always hold of an SSD, by a scan of everything: for tests. Each part checks what concerns it alone.

use crate::Held;
use crate::faults::Parts;
use crate::gc::state::{Collection, GcUnderWay};
use crate::mapping::hybrid::Hybrid;
use crate::store::Store;
use crate::untimed::Untimed;
use flashraid_nand::{Nand, Record, WorkKind, check_buses};
use flashraid_vocabulary::{NIL, Version};

/// All parts of an SSD, to be looked at.
pub struct Checked<'a> {
    pub(crate) store: &'a Store,
    pub(crate) gc: &'a Collection,
    pub(crate) hybrid: Option<&'a Hybrid>,
    pub(crate) nand: &'a Nand,
    pub(crate) untimed: &'a Untimed,
}

impl Checked<'_> {
    /// Checks what must always hold, by scanning everything. Returns what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let Store { space, maps, faults, memory } = self.store;
        self.check_maps()?;
        space.check_free_pages(faults.any)?;
        if let Some(hybrid) = self.hybrid {
            hybrid.check(space, maps, |plane| self.gc.is_collecting(plane))?;
        }
        self.check_loads()?;
        self.check_starved()?;
        memory.iter().try_for_each(|memory| memory.check(space))?;
        for plane in 0..space.planes() {
            space.check_plane(plane, self.gc.is_collecting(plane), self.nand)?;
        }
        let gone = space.count_pages_gone(self.nand);
        if gone != faults.pages_gone {
            return Err(format!("{gone:?} pages are gone, counted {:?}", faults.pages_gone));
        }
        space.check_domains(&self.waiting_in_domains(), self.nand)?;
        for Record { domain, .. } in self.nand.bound().filter(|record| record.work == WorkKind::Program) {
            if space.domains[*domain as usize].free_pages < space.domains[*domain as usize].reserved {
                return Err(format!("a program is bound to a LUN of domain {domain}, which is short of pages"));
            }
        }
        self.gc.check_blocked(space, self.nand)?;
        check_buses(self.nand, space)
    }

    /// Checks the maps, and blocks against them.
    fn check_maps(&self) -> Result<(), String> {
        let Store { space, maps, .. } = self.store;
        if !maps.has_right_counts() {
            return Err("bases and copies in runs of slots are counted wrongly".into());
        }
        let (members, settings) = (space.members, &space.settings);
        let mut live = vec![0u32; space.blocks.blocks.len()];
        let mut bases = vec![0u32; space.blocks.blocks.len()];
        let mut held = vec![Held::default(); members as usize];
        for version in [Version::Current, Version::Base, Version::Copy] {
            for slot in 0..(settings.pages_per_member + settings.translation_pages) * members {
                let Some(ppn) = maps.get(version, slot) else { continue };
                if maps.next_written_page(slot / members) != Some(slot / members) {
                    return Err(format!("{version:?} of slot {slot} is passed over as unwritten"));
                }
                if ppn != space.lost {
                    if maps.labeled(ppn) != (version, slot) {
                        return Err(format!("{version:?} of slot {slot} is at {ppn:?}, labeled {:?}", maps.labeled(ppn)));
                    }
                    live[space.shape.block_of(ppn)] += 1;
                    bases[space.shape.block_of(ppn)] += u32::from(version == Version::Base && !settings.moves_bases);
                }
                let held = &mut held[(slot % members) as usize];
                held.bases += u32::from(version == Version::Base);
                held.copies += u32::from(version == Version::Copy);
            }
        }
        maps.check_held(&held)?;
        space.check_blocks(&live, &bases)
    }

    /// Programs that wait in each domain.
    fn waiting_in_domains(&self) -> Vec<i64> {
        let mut waiting: Vec<i64> = (0..self.store.space.domains.len() as u32).map(|domain| self.nand.count_waiting(domain)).collect();
        self.waiting_in_memory().for_each(|record| waiting[record.domain as usize] += 1);
        waiting
    }

    fn waiting_in_memory(&self) -> impl Iterator<Item = &Record> {
        self.store.memory.iter().flat_map(|memory| memory.waiting()).map(|id| self.nand.record(id))
    }

    /// Reads and programs that are queued for each member, by a walk through all queues.
    pub fn recount_queued(&self) -> Vec<(u32, u32)> {
        let mut queued = vec![(0, 0); self.store.space.members as usize];
        for Record { work, member, .. } in self.nand.queued().chain(self.waiting_in_memory()) {
            match work {
                WorkKind::Read => queued[usize::from(*member)].0 += 1,
                WorkKind::Program => queued[usize::from(*member)].1 += 1,
                WorkKind::PageProgram | WorkKind::MoveRead | WorkKind::MoveProgram | WorkKind::CopyBack | WorkKind::Erase => {}
            }
        }
        queued
    }

    /// Checks the load that schemes see.
    fn check_loads(&self) -> Result<(), String> {
        for (member, (queued, load)) in self.recount_queued().into_iter().zip(self.nand.loads().iter()).enumerate() {
            if queued.0 > load.reads || queued.1 > load.programs {
                return Err(format!("{queued:?} reads and programs wait for member {member}, counted {:?}", (load.reads, load.programs)));
            }
        }
        Ok(())
    }

    /// Checks that no plane is starved which a GC run would help, and none runs.
    fn check_starved(&self) -> Result<(), String> {
        let space = &self.store.space;
        if self.hybrid.is_some() || !self.gc.is_collectable() {
            return Ok(());
        }
        // What padding in no simulated time has made garbage is collected when somebody waits for pages.
        let is_awaited = |plane: &u32| self.store.memory.is_none() || (space.domain_of_plane(*plane) != NIL && space.is_short(*plane));
        let mut planes = (0..space.planes()).filter(is_awaited);
        match planes.find(|plane| !self.gc.is_collecting(*plane) && space.would_gain_by_gc(*plane)) {
            Some(plane) => Err(format!(
                "plane {plane} is short of erased blocks, has garbage, and does not collect it: {:?}",
                space.blocks.planes[plane as usize]
            )),
            None => Ok(()),
        }
    }

    // ---- switching off ----

    /// GC runs, by what they are: looks at all planes.
    pub fn gc_runs_under_way(&self) -> GcUnderWay {
        self.gc.under_way(self.store.space.shape.data_planes(), self.hybrid.is_some())
    }

    /// Whether anything is in flight. A GC run that rests is not.
    pub fn is_at_work(&self) -> bool {
        let mut domains = self.store.space.domains.iter();
        !self.nand.is_at_rest()
            || self.gc.is_at_work()
            || self.untimed.is_filling()
            || domains.any(|domain| domain.reserved != 0 || domain.to_rescue > 0)
    }

    /// Why what is kept of it would not be all, if that is so: of what may have failed, blocks and pages are known from it alone.
    pub fn failed_parts(&self) -> Option<&'static str> {
        let Store { space, faults, .. } = self.store;
        if space.is_worn_out() {
            Some("an SSD is worn out")
        } else if (Parts { space, nand: self.nand }).uses_spares() || space.blocks.planes.iter().any(|plane| plane.dead) {
            Some("a part of an SSD has failed")
        } else if faults.is_armed() {
            Some("a program or erase is still to fail")
        } else {
            None
        }
    }
}
