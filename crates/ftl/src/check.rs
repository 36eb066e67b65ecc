//! What must always hold, by a scan of everything: for tests.

use crate::memory;
use crate::space::blocks::{BlockState, NONE};
use crate::{Flash, Held};
use flashraid_nand::{NIL, Record, WorkKind, check_buses};
use flashraid_vocabulary::Version;

impl Flash {
    /// Checks what must always hold, by scanning everything; for tests. Returns what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !self.maps.has_right_counts() {
            return Err("bases and copies in runs of slots are counted wrongly".into());
        }
        let mut live = vec![0u16; self.space.blocks.blocks.len()];
        let mut bases = vec![0u16; self.space.blocks.blocks.len()];
        let mut held = vec![Held::default(); self.members as usize];
        for version in [Version::Current, Version::Base, Version::Copy] {
            for slot in 0..(self.settings.pages_per_member + self.settings.translation_pages) * self.members {
                if let Some(ppn) = self.maps.get(version, slot) {
                    if self.next_written(slot / self.members) != Some(slot / self.members) {
                        return Err(format!("{version:?} of slot {slot} is passed over as unwritten"));
                    }
                    if ppn != self.faults.lost {
                        if self.maps.labeled(ppn) != (version, slot) {
                            return Err(format!("{version:?} of slot {slot} is at {ppn:?}, labeled {:?}", self.maps.labeled(ppn)));
                        }
                        live[self.shape.block_of(ppn)] += 1;
                        bases[self.shape.block_of(ppn)] += u16::from(version == Version::Base && !self.settings.moves_bases);
                    }
                    let held = &mut held[(slot % self.members) as usize];
                    held.bases += u32::from(version == Version::Base);
                    held.copies += u32::from(version == Version::Copy);
                }
            }
        }
        if held != self.held {
            return Err(format!("{held:?} bases and copies, counted {:?}", self.held));
        }
        for (index, block) in self.space.blocks.blocks.iter().enumerate() {
            if (block.live, block.bases) != (live[index], bases[index]) {
                let (live, bases) = (live[index], bases[index]);
                return Err(format!(
                    "block {index} counts {} live pages and {} bases, the maps name {live} and {bases}",
                    block.live, block.bases
                ));
            }
            if block.listed != (block.state == BlockState::Closed && block.pending == 0) {
                return Err(format!("block {index} {block:?} is wrongly listed or unlisted"));
            }
        }
        for plane in 0..self.space.blocks.planes.len() as u32 {
            self.space.victims.check(plane, self.space.blocks.in_plane(plane))?;
        }
        for (id, domain) in self.space.domains.iter().enumerate() {
            let planes = (0..self.space.blocks.planes.len() as u32).filter(|plane| self.space.domain_of_plane(*plane) == id as u32);
            let pages: i64 = planes.map(|plane| i64::from(self.space.blocks.host_pages(plane))).sum();
            let overdrawn = domain.reserved > domain.free_pages && !self.has_failures();
            if pages != domain.free_pages || domain.reserved < 0 || overdrawn {
                return Err(format!("domain {id}: {pages} free pages, counted {}, reserved {}", domain.free_pages, domain.reserved));
            }
        }
        let erases: u64 = self.space.erase_counts().map(u64::from).sum();
        if erases != self.space.total_erases() {
            return Err(format!("blocks were erased {erases} times, counted {}", self.space.total_erases()));
        }
        if self.hybrid.is_some() {
            self.check_hybrid()?;
        }
        self.check_loads()?;
        self.check_starved()?;
        check_buses(self)?;
        self.space.check_free_blocks()?;
        memory::check(self)?;
        self.check_faults()
    }

    /// Reads and programs that are queued for each member, by a walk through all queues; for tests. `View::queued` counts also what crosses a host link.
    pub fn recount_queued(&self) -> Vec<(u32, u32)> {
        let mut queued = vec![(0, 0); self.members as usize];
        for Record { work, member, .. } in self.nand.queued().chain(memory::waiting(self)) {
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
        for (id, lun) in self.nand.luns().iter().enumerate() {
            if (lun.blocked() > 0) != self.gc_blocking(id as u32).is_some() {
                return Err(format!("LUN {id} is blocked {} times, by the run of {:?}", lun.blocked(), self.gc_blocking(id as u32)));
            }
        }
        Ok(())
    }

    /// What must hold of planes and reservations, failures or not.
    fn check_faults(&self) -> Result<(), String> {
        let mut gone = vec![0; self.members as usize];
        let mut living = vec![0; self.space.domains.len()];
        let mut luns = vec![0; self.space.domains.len()];
        let mut replacements = vec![0; self.space.domains.len()];
        for (id, plane) in self.space.blocks.planes.iter().enumerate() {
            let first = self.space.blocks.index(id as u32, 0);
            let blocks = &self.space.blocks.blocks[first..first + plane.blocks as usize];
            let count = |state: BlockState| blocks.iter().filter(|block| block.state == state).count() as u32;
            let unwritten = |state: BlockState| {
                blocks
                    .iter()
                    .filter(|block| block.state == state)
                    .map(|block| self.shape.pages_per_block - u32::from(block.written))
                    .sum::<u32>()
            };
            let free_pages = unwritten(BlockState::Free) + unwritten(BlockState::Open);
            let open = plane.open.iter().filter(|open| **open != NONE).count() as u32;
            if (count(BlockState::Free), free_pages, count(BlockState::Retired), count(BlockState::Open))
                != (plane.free_blocks, plane.free_pages, plane.retired, open)
            {
                return Err(format!("plane {id} counts {plane:?} of {blocks:?}"));
            }
            if plane.dead && (plane.retired < plane.blocks || self.is_collecting(id as u32)) {
                return Err(format!("dead plane {id} is in use: {plane:?}"));
            }
            if count(BlockState::Victim) > u32::from(self.is_collecting(id as u32)) || (plane.debt && !self.is_collecting(id as u32)) {
                return Err(format!("plane {id} has victims or a loan without a GC run: {blocks:?}"));
            }
            let domain = self.space.domain_of_plane(id as u32);
            if domain == NIL {
                continue;
            }
            living[domain as usize] += u32::from(!plane.dead && plane.blocks > 0);
            luns[domain as usize] |= if plane.blocks > 0 { self.nand.luns()[self.nand.lun_of_plane(id as u32) as usize].bit() } else { 0 };
            if id < self.shape.data_planes() as usize && !self.space.holds_copies(domain) {
                let member = self.nand.member_of_lun(self.nand.lun_of_plane(id as u32)).expect("planes in use are of a member");
                gone[member as usize] += plane.retired * self.shape.pages_per_block;
            }
            let is_replacement = self.nand.is_of_replacement(id as u32);
            let writable = self.nand.is_writable(id as u32, domain);
            replacements[domain as usize] += u32::from(is_replacement && writable);
            if writable != (self.space.blocks.host_pages(id as u32) > 0) {
                return Err(format!("plane {id} with {} pages is writable: {writable}", self.space.blocks.host_pages(id as u32)));
            }
        }
        if gone != self.faults.pages_gone {
            return Err(format!("{gone:?} pages are gone, counted {:?}", self.faults.pages_gone));
        }
        for (id, domain) in self.space.domains.iter().enumerate() {
            let takers = self.nand.takers(id as u32);
            if luns[id] != 0 && takers.share_a_channel() && takers.luns != luns[id] {
                return Err(format!("domain {id} has planes in LUNs {:b}: {takers:?}", luns[id]));
            }
            if takers.replacement_planes != replacements[id] {
                return Err(format!("domain {id} has {} planes of replacements with free pages: {takers:?}", replacements[id]));
            }
            let waiting =
                self.nand.count_waiting(id as u32) + memory::waiting(self).filter(|record| record.domain == id as u32).count() as i64;
            if domain.living_planes != living[id] || domain.reserved < waiting || (living[id] == 0 && waiting > 0) {
                return Err(format!("domain {id}, in which {waiting} programs wait and {} planes live: {domain:?}", living[id]));
            }
        }
        for Record { domain, .. } in self.nand.bound().filter(|record| record.work == WorkKind::Program) {
            if self.space.domains[*domain as usize].free_pages < self.space.domains[*domain as usize].reserved {
                return Err(format!("a program is bound to a LUN of domain {domain}, which is short of pages"));
            }
        }
        self.check_blocked()
    }

    /// Checks that no plane is starved which a GC run would help, and none runs.
    fn check_starved(&self) -> Result<(), String> {
        let is_forgotten = |plane: &u32| {
            let state = &self.space.blocks.planes[*plane as usize];
            let is_due = state.in_use && !state.dead && self.space.blocks.host_pages(*plane) == 0 && !self.is_collecting(*plane);
            is_due && self.space.victims.pinned(*plane).is_empty() && self.space.fewest_to_move(*plane).is_some()
        };
        match (0..self.space.planes()).find(|plane| self.hybrid.is_none() && self.is_collectable() && is_forgotten(plane)) {
            Some(plane) => Err(format!(
                "plane {plane} is short of erased blocks, has garbage, and does not collect it: {:?}",
                self.space.blocks.planes[plane as usize]
            )),
            None => Ok(()),
        }
    }

    /// Checks that LUNs are blocked by the GC runs that do, and no others.
    fn check_blocked(&self) -> Result<(), String> {
        let mut blocked = vec![0; self.nand.luns().len()];
        for (plane, gc) in self.gc.runs.iter().enumerate() {
            if gc.victim != NONE && gc.stage.blocks_luns() {
                self.luns_blocked_by(plane as u32).for_each(|lun| blocked[lun as usize] += 1);
            }
        }
        match self.nand.luns().iter().zip(blocked).position(|(lun, blocked)| lun.blocked() != blocked) {
            Some(lun) => Err(format!("LUN {lun} is wrongly blocked, or not")),
            None => Ok(()),
        }
    }

    /// What must hold of every instance.
    fn check_hybrid(&self) -> Result<(), String> {
        let hybrid = self.hybrid();
        for (domain, instance) in hybrid.instances.iter().enumerate().filter(|(_, instance)| instance.member != NIL) {
            let plane = self.space.domains[domain].plane;
            let state = &self.space.blocks.planes[plane as usize];
            let fault = |what: String| Err(format!("instance {domain} {instance:?}: {what}"));
            let is_merging = self.is_collecting(plane);
            let count = |state: BlockState| {
                (0..self.space.blocks.planes[plane as usize].blocks as u16)
                    .filter(|block| self.space.blocks.blocks[self.space.blocks.index(plane, *block)].state == state)
                    .count() as u32
            };
            if state.dead {
                continue;
            }
            let logical = &hybrid.logical[domain * hybrid.per_instance as usize..][..hybrid.per_instance as usize];
            let has_bases = (0..state.blocks as u16).any(|block| self.space.blocks.blocks[self.space.blocks.index(plane, block)].bases > 0);
            // Nothing would tell whoever waits for a page to try again, though nothing is in the way of a merge.
            let is_forgotten = instance.starved && !is_merging && !has_bases && logical.iter().all(|logical| logical.active == 0);
            if is_forgotten && !self.space.freed.contains(&(domain as u32)) {
                return fault("somebody waits for a page, and nothing is merged".into());
            }
            let (mut data_blocks, mut held, mut pending) = (0, 0, 0);
            for (number, logical) in (0..).zip(&hybrid.logical[domain * hybrid.per_instance as usize..][..hybrid.per_instance as usize]) {
                let number = domain as u32 * hybrid.per_instance + number;
                let mut reserved = u32::from(logical.reserved_log);
                if logical.data != NONE {
                    let index = self.space.blocks.index(plane, logical.data);
                    data_blocks += 1;
                    reserved += hybrid.reservations_in(index);
                    if hybrid.owner[index] != number || !matches!(self.space.blocks.blocks[index].state, BlockState::Data) {
                        return fault(format!("data block of {number} {logical:?} is {:?}", self.space.blocks.blocks[index]));
                    }
                    let taken: u32 = hybrid.taken[index * hybrid.words..][..hybrid.words].iter().map(|word| word.count_ones()).sum();
                    if taken != u32::from(self.space.blocks.blocks[index].written) + hybrid.reservations_in(index) {
                        return fault(format!("{taken} offsets of {:?} are taken", self.space.blocks.blocks[index]));
                    }
                }
                let sequential = instance.sequential;
                if sequential != NONE && hybrid.owner[self.space.blocks.index(plane, sequential)] == number {
                    reserved += hybrid.reservations_in(self.space.blocks.index(plane, sequential));
                }
                if u32::from(logical.active) < reserved || (logical.merging && (!is_merging || logical.active > 0)) {
                    return fault(format!("logical block {number} {logical:?}"));
                }
                held += u32::from(logical.active) - reserved;
                for offset in 0..self.shape.pages_per_block {
                    let Some(slot) = self.slot_in(number, offset) else { continue };
                    let Some(ppn) = self.maps.get(Version::Current, slot).filter(|ppn| *ppn != self.faults.lost) else { continue };
                    let block = self.shape.block_of(ppn);
                    let at_offset = ppn.0 % self.shape.pages_per_block == offset;
                    let (of, entry) = (hybrid.owner[block], &self.space.blocks.blocks[block]);
                    let fits =
                        entry.state == BlockState::Retired || (of == number && (at_offset || entry.state != BlockState::Data)) || of == NIL;
                    if !fits || u64::from(number) != u64::from(self.logical_of(slot)) {
                        return fault(format!("page {offset} of logical block {number} is at {ppn:?} in {entry:?} of {of}"));
                    }
                }
            }
            for block in 0..state.blocks as u16 {
                pending += u32::from(self.space.blocks.blocks[self.space.blocks.index(plane, block)].pending);
            }
            // The page that a merge is programming is pending too, and so is no logical block's.
            if pending != held && !(is_merging && pending == held + 1) {
                return fault(format!("{pending} pages are pending, and logical blocks hold {held}"));
            }
            let (mut listed, mut log) = (u32::from(instance.sequential != NONE), instance.oldest);
            while log != NONE {
                listed += 1;
                log = self.space.blocks.blocks[self.space.blocks.index(plane, log)].next;
            }
            if (!is_merging && listed != instance.logs) || instance.logs > hybrid.most_logs {
                return fault(format!("{listed} log blocks"));
            }
            let idle_blocks = (count(BlockState::Data), count(BlockState::Log));
            if !is_merging && (idle_blocks != (data_blocks, listed) || state.free_blocks == 0) {
                return fault(format!(
                    "{idle_blocks:?} data and log blocks, known {data_blocks} and {listed}, {} are free",
                    state.free_blocks
                ));
            }
        }
        Ok(())
    }
}
