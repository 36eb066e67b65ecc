//! Whether a plane needs GC, what GC may take there, and when the device is worn out.

use super::Space;
use super::blocks::{Block, share_of_pages};
use super::domain::Domain;
use crate::Given;
use flashraid_vocabulary::{NIL, WearLeveling};

/// Pages of a block, as a share of it, that GC frees at least while streams have plenty of pages in open blocks (SPEC 8.13 (f)): where these are many of all blocks, GC would move
/// nearly a block for each page else.
const STREAM_GAIN: f64 = 1.0 / 16.0;

impl Space {
    /// Whether Algorithm 3 lets migrations go before GC: enough blocks are erased.
    pub(crate) fn has_free_blocks(&self) -> bool {
        let all = self.settings.geometry.physical_pages() / u64::from(self.shape.pages_per_block);
        f64::from(self.blocks.free_blocks) > self.settings.migration_free_blocks * all as f64
    }

    /// Whether a program into the plane makes it collect: it is below the threshold, or has no page left for host programs. (All its garbage
    /// may be older than its last block, and then nothing else tells that it is starved.) Of several streams, those but the first may have many blocks open with few
    /// pages in them: what is left there does not count.
    #[inline]
    pub(crate) fn is_low(&self, plane: u32) -> bool {
        self.blocks.pages_for_all(plane) < self.blocks.planes[plane as usize].gc_pages || !self.blocks.has_host_pages(plane)
    }

    /// Whether the plane is collected because of host programs: it is low, or its SLC cache is full.
    #[inline]
    pub(crate) fn is_collected_for_host(&self, plane: u32) -> bool {
        self.is_low(plane) || self.has_cache() && !self.has_room_in_slc(plane)
    }

    /// Whether host programs get no new block in the plane.
    #[inline]
    pub(crate) fn is_starved(&self, plane: u32) -> bool {
        self.blocks.planes[plane as usize].free_blocks < self.settings.given.gc_reserve_blocks
    }

    /// Whether somebody waits for pages of the plane's domain: an operation that reserves some, padding, or what failures have driven out of its place.
    pub(crate) fn is_short(&self, plane: u32) -> bool {
        let domain = &self.domains[self.domain_of_plane(plane) as usize];
        domain.is_short || domain.owed > 0 || domain.to_rescue > 0
    }

    /// Pages of a block of the plane that can be programmed: all, unless lanes of a superblock are dead.
    #[inline]
    pub(crate) fn block_pages(&self, plane: u32) -> u32 {
        self.blocks.planes[plane as usize].block_pages
    }

    /// Whether an idle device collects the plane, or folds what is in its SLC cache.
    #[inline]
    pub(crate) fn is_low_when_idle(&self, plane: u32) -> bool {
        let state = &self.blocks.planes[plane as usize];
        state.free_pages < state.idle_pages || self.blocks.oldest_slc(plane).is_some()
    }

    /// Whether somebody waits for pages of a plane that may have lost some to its SLC cache: GC gives them back, whatever else is due.
    #[inline]
    pub(crate) fn is_short_by_slc(&self, plane: u32) -> bool {
        self.has_cache() && self.domain_of_plane(plane) != NIL && self.is_short(plane)
    }

    /// Whether there are pages for the live ones of a victim: always, unless failures took from what is kept for that.
    pub(crate) fn can_move(&self, plane: u32, victim: u16) -> bool {
        let block = self.blocks.index(plane, victim);
        let (live, left) = (self.blocks.blocks[block].live, self.blocks.left(plane, self.blocks.gc_stream_of(block)));
        let free_blocks = self.blocks.planes[plane as usize].free_blocks;
        self.settings.taken_by_gc(live) <= left + free_blocks * self.block_pages(plane)
    }

    /// How many pages of the plane GC may take to empty a block that gives nothing back: those of the open block of its stream, and those of another one if nobody
    /// needs it.
    pub(crate) fn spare_move_pages(&self, plane: u32, number: u16) -> u32 {
        let most = self.blocks.left(plane, self.blocks.gc_stream_of(self.blocks.index(plane, number)));
        let domain = self.domain_of_plane(plane);
        if domain == NIL || self.is_starved(plane) {
            return most;
        }
        let Domain { free_pages, reserved, .. } = self.domains[domain as usize];
        let pages = self.block_pages(plane);
        most + if free_pages - reserved >= i64::from(pages) { pages } else { 0 }
    }

    /// The block that the GC policy chooses.
    #[inline]
    pub(crate) fn victim(&mut self, plane: u32) -> Option<u16> {
        let victim = self.victims.choose(plane, self.blocks.of_plane(plane))?;
        debug_assert!({
            let block = self.blocks.blocks[self.blocks.index(plane, victim)];
            block.listed && block.has_garbage(self.shape.pages_per_block)
        });
        Some(victim)
    }

    /// The victim, if it frees enough (`frees_enough`); if padding takes what it would free, the one with the fewest live pages.
    #[inline]
    pub(crate) fn worth(&self, plane: u32, victim: u16) -> Option<u16> {
        let is_worth = |victim: &u16| self.is_worth(plane, *victim);
        Some(victim).filter(is_worth).or_else(|| self.fewest_to_move(plane).filter(is_worth))
    }

    /// The victim of the plane's next GC run: the block that the policy chooses, if that frees enough. If no block has garbage, and GC runs commit
    /// semivalid pages (`commits`), the one with the fewest pages to move of those that have any: a plane full of them would never be collected else.
    pub(crate) fn next_victim(&mut self, plane: u32, commits: bool) -> Option<u16> {
        let chosen = self.victim(plane);
        let with_bases = || self.fewest_with_bases(plane).filter(|victim| commits && self.is_worth(plane, *victim));
        let victim = match chosen {
            Some(victim) if self.settings.padding_of_gc() > 0 || self.blocks.planes[plane as usize].dead_lanes != 0 => {
                self.worth(plane, victim).or_else(with_bases)
            }
            Some(victim) => Some(victim).filter(|victim| self.is_worth(plane, *victim)),
            None => with_bases(),
        };
        self.movable(plane, victim?)
    }

    /// With static wear leveling, the coldest block of a plane, if another one is worn that much more, and space is not short.
    pub(crate) fn cold_victim(&mut self, plane: u32) -> Option<u16> {
        let Given { wear_leveling, wear_leveling_threshold: spread, .. } = self.settings.given;
        if wear_leveling != WearLeveling::Static || self.is_starved(plane) {
            return None;
        }
        let (erases, block) = self.cold.coldest(plane, &self.blocks)?;
        (self.blocks.most_erases(plane) - erases > spread && self.can_move(plane, block)).then_some(block)
    }

    /// Whether collecting the block frees enough.
    #[inline]
    pub(crate) fn is_worth(&self, plane: u32, victim: u16) -> bool {
        self.frees_enough(plane, self.blocks.blocks[self.blocks.index(plane, victim)].to_move())
    }

    /// The victim, if its pages can be moved; else another one of which that is so, if there is any.
    #[inline]
    pub(crate) fn movable(&self, plane: u32, victim: u16) -> Option<u16> {
        if self.can_move(plane, victim) { Some(victim) } else { self.fewest_to_move(plane) }
    }

    /// Of the closed blocks with garbage that the policy chooses from the one with the fewest live pages, if these can be moved.
    #[cold]
    pub(crate) fn fewest_to_move(&self, plane: u32) -> Option<u16> {
        let pinned = self.victims.pinned(plane);
        let most = self.block_pages(plane) - self.settings.padding_of_gc();
        let fewest = self.fewest(plane, |number, block| (block.has_garbage(most) && !pinned.contains(&number)).then_some(block.live))?;
        self.can_move(plane, fewest).then_some(fewest)
    }

    /// Of the closed blocks with semivalid pages that GC runs commit, the one with the fewest pages to move.
    #[cold]
    pub(crate) fn fewest_with_bases(&self, plane: u32) -> Option<u16> {
        self.fewest(plane, |_, block| (block.bases > 0).then(|| block.to_move()))
    }

    /// Of the listed blocks of a plane that have a cost, the first of those that cost least.
    #[cold]
    fn fewest(&self, plane: u32, cost: impl Fn(u16, &Block) -> Option<u32>) -> Option<u16> {
        let blocks = (0..).zip(&self.blocks.in_plane(plane)[..self.blocks.planes[plane as usize].blocks as usize]);
        let costs = blocks.filter(|(_, block)| block.listed).filter_map(|(number, block)| Some((cost(number, block)?, number)));
        costs.min().map(|(_, number)| number)
    }

    /// Whether streams but the first have pages in open blocks, and programs find enough pages as it is: then GC is for erased blocks alone.
    fn has_plenty_open(&self, plane: u32) -> bool {
        let state = &self.blocks.planes[plane as usize];
        let [of_host, of_gc] = self.blocks.further_left(plane);
        self.blocks.stream_count() > 1
            && of_host > 0
            && self.blocks.host_pages(plane) >= state.block_pages / 2
            && state.free_pages - of_gc >= state.gc_pages
            && !self.is_short(plane)
    }

    /// Whether a GC run that moves so many pages of a block frees enough: a page, or a share of the block, while nothing but idle time or streams ask for GC.
    pub(crate) fn frees_enough(&self, plane: u32, moves: u32) -> bool {
        let freed = self.block_pages(plane).saturating_sub(self.settings.taken_by_gc(moves));
        if self.has_plenty_open(plane) && freed < share_of_pages(STREAM_GAIN, self.block_pages(plane)) {
            return false;
        }
        let state = &self.blocks.planes[plane as usize];
        let is_needed = !self.settings.collects_when_idle()
            || self.is_low(plane)
            || self.is_short_by_slc(plane)
            || state.free_blocks < self.settings.given.gc_reserve_blocks;
        freed > 0 && (is_needed || freed >= share_of_pages(self.settings.gc_idle_gain, self.block_pages(plane)))
    }

    /// Every block endures so many erases, and has been erased `preset` times before. For a new device. Spare chips that replace none are new, and count
    /// once they replace one; then the chip that they replace counts no more.
    pub fn limit_erases(&mut self, pe_limit: u32, preset: u32) {
        debug_assert!(self.total_erases() == 0 && preset < pe_limit);
        let blocks = self.blocks.erase_counts().count() as u64;
        self.blocks.endurance = blocks * u64::from(pe_limit);
        self.preset_wear(preset);
    }

    /// Each block has been erased so often before. The device must be new.
    pub fn preset_wear(&mut self, erases: u32) {
        self.blocks.preset_erases(erases);
    }
}
