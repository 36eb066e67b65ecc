//! What must hold of blocks, planes and domains, by a scan of everything: for tests.

use super::Space;
use super::blocks::{Block, BlockState, share_of_pages};
use flashraid_nand::Nand;
use flashraid_vocabulary::NIL;

impl Space {
    /// Checks blocks against the live pages and the bases of each that the maps name.
    pub(crate) fn check_blocks(&self, live: &[u32], bases: &[u32]) -> Result<(), String> {
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            if (block.live, block.bases) != (live[index], bases[index]) {
                let (live, bases) = (live[index], bases[index]);
                return Err(format!(
                    "block {index} counts {} live pages and {} bases, the maps name {live} and {bases}",
                    block.live, block.bases
                ));
            }
            let is_settled = block.state == BlockState::Closed && block.pending == 0;
            let (plane, number) = self.blocks.place(index);
            if (block.listed, self.blocks.is_full_slc(plane, number))
                != (is_settled && !self.blocks.is_slc(index), is_settled && self.blocks.is_slc(index))
            {
                return Err(format!("block {index} {block:?} is wrongly listed or unlisted"));
            }
        }
        for plane in 0..self.planes() {
            self.victims.check(plane, self.blocks.in_plane(plane))?;
        }
        let erases: u64 = self.erase_counts().map(u64::from).sum();
        if erases != self.total_erases() {
            return Err(format!("blocks were erased {erases} times, counted {}", self.total_erases()));
        }
        let free: u32 = self.blocks.planes.iter().filter(|plane| plane.in_use).map(|plane| plane.free_blocks).sum();
        if free == self.blocks.free_blocks { Ok(()) } else { Err(format!("{free} erased blocks, counted as {}", self.blocks.free_blocks)) }
    }

    /// Checks free pages of domains. Without failures no more are reserved than there are.
    pub(crate) fn check_free_pages(&self, has_failures: bool) -> Result<(), String> {
        for (id, domain) in (0..).zip(&self.domains) {
            let planes = (0..self.planes()).filter(|plane| self.domain_of_plane(*plane) == id);
            let pages: i64 = planes.map(|plane| i64::from(self.blocks.host_pages(plane))).sum();
            let overdrawn = domain.reserved > domain.free_pages && !has_failures;
            if pages != domain.free_pages || domain.reserved < 0 || overdrawn {
                return Err(format!("domain {id}: {pages} free pages, counted {}, reserved {}", domain.free_pages, domain.reserved));
            }
        }
        Ok(())
    }

    /// What must hold of a plane, failures or not. `is_collecting`: a GC run is in progress there.
    pub(crate) fn check_plane(&self, id: u32, is_collecting: bool, nand: &Nand) -> Result<(), String> {
        let plane = &self.blocks.planes[id as usize];
        let blocks = &self.blocks.in_plane(id)[..plane.blocks as usize];
        let count = |state: BlockState| blocks.iter().filter(|block| block.state == state).count() as u32;
        let unwritten = |(number, block): (u16, &Block)| match block.state {
            BlockState::Free => plane.block_pages,
            _ => self.blocks.unwritten(id, self.blocks.index(id, number)),
        };
        let programmable = (0..).zip(blocks).filter(|(_, block)| matches!(block.state, BlockState::Free | BlockState::Open));
        let free_pages: u32 = programmable.map(unwritten).sum();
        let open = self.blocks.all_open(id).count() as u32;
        if (count(BlockState::Free), free_pages, count(BlockState::Retired), count(BlockState::Open))
            != (plane.free_blocks, plane.free_pages, plane.retired, open)
        {
            return Err(format!("plane {id} counts {plane:?} of {blocks:?}"));
        }
        let pages = (plane.blocks - plane.retired) * plane.block_pages;
        if self.shape.lanes > 1 && !plane.dead && plane.gc_pages != share_of_pages(self.settings.gc_threshold, pages) {
            return Err(format!("plane {id} has {pages} pages, and collects below {}", plane.gc_pages));
        }
        if plane.dead && (plane.retired < plane.blocks || is_collecting) {
            return Err(format!("dead plane {id} is in use: {plane:?}"));
        }
        if count(BlockState::Victim) > u32::from(is_collecting) || (plane.debt && !is_collecting) {
            return Err(format!("plane {id} has victims or a loan without a GC run: {blocks:?}"));
        }
        let domain = self.domain_of_plane(id);
        if domain != NIL && nand.is_writable(id, domain) != (self.blocks.host_pages(id) > 0) {
            return Err(format!(
                "plane {id} with {} pages is writable, or not: {}",
                self.blocks.host_pages(id),
                nand.is_writable(id, domain)
            ));
        }
        Ok(())
    }

    /// What must hold of domains, failures or not. So many programs wait in each of them.
    pub(crate) fn check_domains(&self, waiting: &[i64], nand: &Nand) -> Result<(), String> {
        let mut living = vec![0; self.domains.len()];
        let mut luns = vec![0; self.domains.len()];
        let mut replacements = vec![0; self.domains.len()];
        for (id, plane) in (0..).zip(&self.blocks.planes) {
            let domain = self.domain_of_plane(id);
            if domain != NIL {
                living[domain as usize] += u32::from(!plane.dead && plane.blocks > 0);
                let of_lanes =
                    (0..self.shape.lanes).fold(0, |luns, lane| luns | nand.luns()[nand.places().lun_of_lane(id, lane) as usize].bit());
                luns[domain as usize] |= if plane.blocks > 0 { of_lanes } else { 0 };
                replacements[domain as usize] += u32::from(nand.is_of_replacement(id) && nand.is_writable(id, domain));
            }
        }
        for (id, domain) in self.domains.iter().enumerate() {
            let takers = nand.takers(id as u32);
            if luns[id] != 0 && takers.share_a_channel() && takers.luns != luns[id] {
                return Err(format!("domain {id} has planes in LUNs {:b}: {takers:?}", luns[id]));
            }
            if takers.replacement_planes != replacements[id] {
                return Err(format!("domain {id} has {} planes of replacements with free pages: {takers:?}", replacements[id]));
            }
            let waiting = waiting[id];
            if domain.living_planes != living[id] || domain.reserved < waiting || (living[id] == 0 && waiting > 0) {
                return Err(format!("domain {id}, in which {waiting} programs wait and {} planes live: {domain:?}", living[id]));
            }
        }
        Ok(())
    }

    /// Pages of each member's data that are gone for good.
    pub(crate) fn count_pages_gone(&self, nand: &Nand) -> Vec<u32> {
        let mut gone = vec![0; self.members as usize];
        for (id, plane) in (0..).zip(&self.blocks.planes) {
            for lane in 0..self.shape.lanes {
                if let Some(member) = self.member_of_data(id, lane, nand) {
                    let blocks = if plane.dead_lanes >> lane & 1 == 1 { plane.blocks } else { plane.retired };
                    gone[member as usize] += blocks * self.shape.pages_per_lane();
                }
            }
        }
        gone
    }

    /// Whether a GC run would help the plane, which host programs find starved.
    pub(crate) fn would_gain_by_gc(&self, plane: u32) -> bool {
        let state = &self.blocks.planes[plane as usize];
        let is_due = state.in_use && !state.dead && self.blocks.host_pages(plane) == 0;
        is_due && self.victims.pinned(plane).is_empty() && self.fewest_to_move(plane).is_some()
    }
}
