//! What must hold of hybrid mapping, by a scan of everything: for tests.

use super::state::{Hybrid, Instance, Logical};
use crate::mapping::maps::Maps;
use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use flashraid_vocabulary::{NIL, Version};

impl Hybrid {
    /// What must hold of every instance. `is_merging` says of a plane whether a merge runs there.
    pub(crate) fn check(&self, space: &Space, maps: &Maps, is_merging: impl Fn(u32) -> bool) -> Result<(), String> {
        for (domain, instance) in (0..).zip(&self.instances).filter(|(_, instance)| instance.member != NIL) {
            let plane = space.domains[domain as usize].plane;
            if !space.blocks.planes[plane as usize].dead {
                let checked = self.check_instance(domain, plane, is_merging(plane), space, maps);
                checked.map_err(|what| format!("instance {domain} {instance:?}: {what}"))?;
            }
        }
        Ok(())
    }

    fn check_instance(&self, domain: u32, plane: u32, is_merging: bool, space: &Space, maps: &Maps) -> Result<(), String> {
        let (instance, state) = (&self.instances[domain as usize], &space.blocks.planes[plane as usize]);
        let blocks = &space.blocks.in_plane(plane)[..state.blocks as usize];
        let count = |state: BlockState| blocks.iter().filter(|block| block.state == state).count() as u32;
        let logical = &self.logical[(domain * self.per_instance) as usize..][..self.per_instance as usize];
        // Nothing would tell whoever waits for a page to try again, though nothing is in the way of a merge.
        let has_bases = blocks.iter().any(|block| block.bases > 0);
        let is_forgotten = instance.starved && !is_merging && !has_bases && logical.iter().all(|logical| logical.active == 0);
        if is_forgotten && !space.news.tells_of(domain) {
            return Err("somebody waits for a page, and nothing is merged".into());
        }
        let (mut data_blocks, mut held) = (0, 0);
        for (number, logical) in (domain * self.per_instance..).zip(logical) {
            data_blocks += u32::from(logical.data != NONE);
            held += self.check_logical(number, *logical, plane, is_merging, space)?;
            self.check_pages(number, space, maps)?;
        }
        let pending: u32 = blocks.iter().map(|block| block.pending).sum();
        // The page that a merge is programming is pending too, and so is no logical block's.
        if pending != held && !(is_merging && pending == held + 1) {
            return Err(format!("{pending} pages are pending, and logical blocks hold {held}"));
        }
        let (mut listed, mut log) = (u32::from(instance.sequential != NONE), instance.oldest);
        while log != NONE {
            listed += 1;
            log = blocks[usize::from(log)].next;
        }
        if (!is_merging && listed != instance.logs) || instance.logs > self.most_logs {
            return Err(format!("{listed} log blocks"));
        }
        let idle_blocks = (count(BlockState::Data), count(BlockState::Log));
        if !is_merging && (idle_blocks != (data_blocks, listed) || state.free_blocks == 0) {
            let free = state.free_blocks;
            return Err(format!("{idle_blocks:?} data and log blocks, known {data_blocks} and {listed}, {free} are free"));
        }
        Ok(())
    }

    /// Checks a logical block, and returns how many programmed pages operations hold of it.
    fn check_logical(&self, number: u32, logical: Logical, plane: u32, is_merging: bool, space: &Space) -> Result<u32, String> {
        let Instance { sequential, .. } = self.instances[(number / self.per_instance) as usize];
        let index = |block: u16| space.blocks.index(plane, block);
        let mut reserved = u32::from(logical.reserved_log);
        if logical.data != NONE {
            let index = index(logical.data);
            let block = &space.blocks.blocks[index];
            reserved += self.reservations_in(index);
            if self.owner[index] != number || block.state != BlockState::Data {
                return Err(format!("data block of {number} {logical:?} is {block:?}"));
            }
            let taken: u32 = self.taken[index * self.words..][..self.words].iter().map(|word| word.count_ones()).sum();
            if taken != block.written + self.reservations_in(index) {
                return Err(format!("{taken} offsets of {block:?} are taken"));
            }
        }
        if sequential != NONE && self.owner[index(sequential)] == number {
            reserved += self.reservations_in(index(sequential));
        }
        if u32::from(logical.active) < reserved || (logical.merging && (!is_merging || logical.active > 0)) {
            return Err(format!("logical block {number} {logical:?}"));
        }
        Ok(u32::from(logical.active) - reserved)
    }

    /// Checks that the pages of a logical block are in its blocks.
    fn check_pages(&self, number: u32, space: &Space, maps: &Maps) -> Result<(), String> {
        for offset in 0..space.shape.pages_per_block {
            let Some(slot) = self.slot_in(number, offset, space) else { continue };
            let Some(ppn) = maps.get(Version::Current, slot).filter(|ppn| *ppn != space.lost) else { continue };
            let block = space.shape.block_of(ppn);
            let at_offset = ppn.0 % space.shape.pages_per_block == offset;
            let (of, entry) = (self.owner[block], &space.blocks.blocks[block]);
            let fits = entry.state == BlockState::Retired || (of == number && (at_offset || entry.state != BlockState::Data)) || of == NIL;
            if !fits || number != self.logical_of(slot, space) {
                return Err(format!("page {offset} of logical block {number} is at {ppn:?} in {entry:?} of {of}"));
            }
        }
        Ok(())
    }
}
