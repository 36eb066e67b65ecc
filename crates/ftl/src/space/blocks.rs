//! Blocks and planes: page states, open blocks, free blocks, and who may take them.
//!
//! Page states follow from counts and maps: a page past its block's write pointer is free; a programmed page is live (valid or
//! semivalid) if a forward map names it, pending while its operation has not ended, else garbage.
//!
//! Space rule (SPEC 0.5): each plane keeps `gc_reserve_blocks - 1` erased blocks that only GC takes. A GC run takes at most
//! one of them (it moves fewer pages than a block holds, plus what is left of its open block) and gives its victim back, so
//! what the host may still take in a plane never shrinks by GC. `Plane::debt` is the block on loan.

use super::slc::{Mode, SlcCache};
pub(crate) use super::streams::NONE;
use super::streams::{Streams, WriteStream};
use flashraid_nand::plane_stride;
use flashraid_vocabulary::{Persistent, memory, persistent, persistent_words};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum BlockState {
    /// Erased.
    #[default]
    Free,
    /// Being programmed page by page.
    Open,
    /// Fully programmed.
    Closed,
    /// Not to be programmed any more, as a program in it failed: when its live pages are moved, it is retired.
    Doomed,
    /// Hybrid mapping: a data block, programmed page by page at their own offsets.
    Data,
    /// Hybrid mapping: a log block.
    Log,
    /// Chosen by GC; of a merge, to be erased next.
    Victim,
    /// Out of use for good; what it held is lost.
    Retired,
}

persistent_words!(BlockState { Free, Open, Closed, Doomed, Data, Log, Victim, Retired });

/// A block; two fit a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Block {
    /// Neighbors in a list of the plane's closed blocks, if the GC policy has such lists.
    pub(crate) previous: u16,
    /// See `previous`.
    pub(crate) next: u16,
    /// Pages that a forward map names.
    pub live: u32,
    /// Of these, semivalid ones, where GC runs commit them instead of moving them (`Settings::moves_bases`); else 0.
    pub bases: u32,
    /// Next page to program. (Not beside `pending`: both grow together, and the compiler would add them as one word, which the
    /// processor cannot load while its halves are still being stored.)
    pub written: u32,
    /// Dispatched reads that have not ended: the block must not be erased.
    pub reads: u32,
    /// Programmed pages whose operation has not ended, and pages whose program is in flight.
    pub pending: u32,
    /// State.
    pub state: BlockState,
    /// Closed, with no page in flight: the GC policy knows it.
    pub listed: bool,
}

impl Block {
    /// Pages that GC moves of it.
    #[inline]
    pub fn to_move(&self) -> u32 {
        self.live - self.bases
    }

    /// Whether any of its pages is garbage, once all of them are programmed.
    #[inline]
    pub fn has_garbage(&self, pages_per_block: u32) -> bool {
        self.live < pages_per_block
    }
}

impl Persistent for Block {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        let Self { previous, next, live, bases, written, state, listed, reads: _, pending: _ } = self; // nothing is in flight
        previous.save(to)?;
        next.save(to)?;
        [live, bases, written].into_iter().try_for_each(|count| save_count(*count, to))?;
        state.save(to)?;
        listed.save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self { previous, next, live, bases, written, state, listed, reads: _, pending: _ } = self;
        previous.restore(from)?;
        next.restore(from)?;
        [live, bases, written].into_iter().try_for_each(|count| restore_count(count, from))?;
        state.restore(from)?;
        listed.restore(from)
    }
}

/// In a drive file, in place of a count of two bytes: one of four follows. Only blocks over several dies have so many pages.
const FOUR_BYTES: u16 = u16::MAX;

fn save_count(count: u32, to: &mut dyn Write) -> io::Result<()> {
    match u16::try_from(count) {
        Ok(count) if count != FOUR_BYTES => count.save(to),
        _ => FOUR_BYTES.save(to).and_then(|()| count.save(to)),
    }
}

fn restore_count(count: &mut u32, from: &mut dyn Read) -> io::Result<()> {
    let mut short = 0u16;
    short.restore(from)?;
    *count = short.into();
    if short == FOUR_BYTES { count.restore(from) } else { Ok(()) }
}

/// How full flash is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Pages that can hold something.
    pub pages: u64,
    /// Of these, pages that hold what is needed: data, redundancy, the map, and old versions that recovery needs.
    pub live_pages: u64,
    /// Pages that GC keeps free: of each plane what starts GC runs, or what only GC takes, if that is more.
    pub kept_pages: u64,
}

impl Usage {
    /// Pages that are not live and may be garbage before GC must run.
    pub fn usable_pages(&self) -> u64 {
        (self.pages - self.live_pages).saturating_sub(self.kept_pages)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pages: self.pages + other.pages,
            live_pages: self.live_pages + other.live_pages,
            kept_pages: self.kept_pages + other.kept_pages,
        }
    }
}

/// A page that was taken of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOf {
    /// The block's index in the device.
    pub block: usize,
    /// The number of the page in it.
    pub offset: u32,
    /// It was the last one.
    pub is_full: bool,
}

/// A plane.
#[derive(Clone, Debug)]
pub struct Plane {
    /// Its blocks.
    pub blocks: u32,
    /// Free pages below which a program into it starts a GC run.
    pub gc_pages: u32,
    /// Free pages below which an idle device collects it; 0 for never.
    pub(crate) idle_pages: u32,
    /// Open blocks of the first two streams (`WriteStream::HOST`, `GC`).
    pub open: [u16; 2],
    /// Erased blocks.
    pub free_blocks: u32,
    /// Pages that can still be programmed, in erased and open blocks.
    pub free_pages: u32,
    /// The running GC has taken a block of the reserve.
    pub debt: bool,
    /// Nothing of it lives.
    pub dead: bool,
    /// Lanes of which nothing lives (bits), unless nothing of all does.
    pub(crate) dead_lanes: u64,
    /// Pages of a block in lanes that live.
    pub block_pages: u32,
    /// It has a domain: a plane of a spare chip has none before it replaces another.
    pub in_use: bool,
    /// Blocks out of use for good.
    pub retired: u32,
    /// Blocks from here on were never used.
    fresh: u32,
    most_erases: u32,
    /// Erased blocks that were used before, by erase count (dynamic wear leveling) or by the order in which they were freed.
    erased: BinaryHeap<Reverse<(u32, u16)>>,
    frees: u32,
}

persistent!(Plane {
    // The thresholds follow from the blocks that are left.
    keeps [gc_pages, idle_pages, open, free_blocks, free_pages, debt, dead, retired, fresh, most_erases, erased, frees],
    anew [blocks, in_use, dead_lanes, block_pages], // dead chips, spare chips and what they replace are not saved
});

/// Erase counts of the blocks of superblocks: lane by lane, superblock by superblock.
#[derive(Clone, Debug)]
pub(crate) struct LaneErases {
    pub(super) counts: Vec<u32>,
}

persistent!(LaneErases { arrays [counts], });

/// Every block and plane of the device.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Blocks, plane by plane.
    pub blocks: Vec<Block>,
    /// Erase count of each block.
    pub erases: Vec<u32>,
    /// With superblocks, those of the blocks that each consists of.
    pub(super) lane_erases: Option<Box<LaneErases>>,
    /// With several streams of the host.
    pub(super) streams: Option<Box<Streams>>,
    /// With an SLC cache.
    pub(super) slc: Option<Box<SlcCache>>,
    /// Erases of each block before time began.
    pub(crate) preset: u32,
    /// Sum of the erase counts of all blocks but those of spare chips that replace none.
    pub(crate) total_erases: u64,
    /// The sum at which the device is worn out.
    pub(crate) endurance: u64,
    /// Planes.
    pub planes: Vec<Plane>,
    blocks_per_plane: u32,
    stride: u32,
    pub(super) pages_per_block: u32,
    pub(super) lanes: u32,
    pub(super) pages_per_turn: u32,
    gc_reserve_blocks: u32,
    wear_dynamic: bool,
    /// Erased blocks of all planes in use.
    pub(crate) free_blocks: u32,
    /// Hybrid mapping, which counts pages by itself: planes that live count as having space.
    pub(crate) is_hybrid: bool,
}

persistent!(Blocks {
    keeps [total_erases, free_blocks],
    arrays [blocks, erases, planes],
    parts [lane_erases, streams, slc],
    anew [preset, endurance, blocks_per_plane, stride, pages_per_block, lanes, pages_per_turn, gc_reserve_blocks, wear_dynamic, is_hybrid],
});

/// So large a share of these pages, rounded up.
pub(crate) fn share_of_pages(share: f64, pages: u32) -> u32 {
    (share * f64::from(pages)).ceil() as u32
}

/// Pages that a plane with hybrid mapping counts as having.
const ENOUGH: u32 = 1 << 30;

impl Blocks {
    /// All erased: planes of so many blocks, at most `blocks_per_plane`, which collect below the first of these shares of free pages, and in idle
    /// time below the second.
    pub fn new(
        planes: impl Iterator<Item = (u32, [f64; 2])>,
        blocks_per_plane: u32,
        pages_per_block: u32,
        gc_reserve_blocks: u32,
        wear_dynamic: bool,
    ) -> Self {
        let plane = |(blocks, thresholds): (u32, [f64; 2])| Plane {
            blocks,
            gc_pages: share_of_pages(thresholds[0], blocks * pages_per_block),
            idle_pages: share_of_pages(thresholds[1], blocks * pages_per_block),
            open: [NONE; 2],
            free_blocks: blocks,
            free_pages: blocks * pages_per_block,
            debt: false,
            dead: false,
            dead_lanes: 0,
            block_pages: pages_per_block,
            in_use: true,
            retired: 0,
            fresh: 0,
            most_erases: 0,
            erased: BinaryHeap::new(),
            frees: 0,
        };
        let planes: Vec<Plane> = planes.map(plane).collect();
        let free_blocks = planes.iter().map(|plane| plane.free_blocks).sum();
        let stride = plane_stride(blocks_per_plane);
        let blocks = planes.len() * stride as usize;
        Self {
            blocks: memory::filled(Block::default(), blocks),
            erases: memory::zeroed(blocks),
            lane_erases: None,
            streams: None,
            slc: None,
            preset: 0,
            total_erases: 0,
            endurance: u64::MAX,
            planes,
            blocks_per_plane,
            stride,
            pages_per_block,
            lanes: 1,
            pages_per_turn: pages_per_block,
            gc_reserve_blocks,
            wear_dynamic,
            free_blocks,
            is_hybrid: false,
        }
    }

    /// Blocks are superblocks of so many lanes, of which so many pages follow each other. For a new device.
    pub(crate) fn set_lanes(&mut self, lanes: u32, pages_per_turn: u32) {
        (self.lanes, self.pages_per_turn) = (lanes, pages_per_turn);
        self.lane_erases = (lanes > 1).then(|| Box::new(LaneErases { counts: vec![0; self.blocks.len() * lanes as usize] }));
    }

    /// Index of a plane's block in the device.
    #[inline]
    pub fn index(&self, plane: u32, block: u16) -> usize {
        (plane * self.stride + u32::from(block)) as usize
    }

    /// Plane, and number in it, of a block.
    #[inline]
    pub fn place(&self, block: usize) -> (u32, u16) {
        let plane = block as u32 / self.stride;
        (plane, (block as u32 - plane * self.stride) as u16)
    }

    /// Blocks of a plane.
    pub(crate) fn in_plane(&self, plane: u32) -> &[Block] {
        &self.blocks[(plane * self.stride) as usize..][..self.blocks_per_plane as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn of_plane(&mut self, plane: u32) -> &mut [Block] {
        &mut self.blocks[(plane * self.stride) as usize..][..self.blocks_per_plane as usize]
    }

    /// All blocks but those of spare chips that replace none have been erased so often before.
    pub(crate) fn preset_erases(&mut self, erases: u32) {
        self.preset = erases;
        for (id, plane) in self.planes.iter_mut().enumerate().filter(|(_, plane)| plane.in_use) {
            self.erases[id * self.stride as usize..][..plane.blocks as usize].fill(erases);
            plane.most_erases = erases;
        }
        if let Some(of_lanes) = &mut self.lane_erases {
            of_lanes.counts.fill(erases);
        }
        self.total_erases = self.erase_counts().map(u64::from).sum();
    }

    /// Sum of the erase counts of a plane.
    pub(crate) fn erases_of_plane(&self, plane: u32) -> u64 {
        let blocks = self.planes[plane as usize].blocks as usize;
        self.erases[(plane * self.stride) as usize..][..blocks].iter().map(|erases| u64::from(*erases)).sum()
    }

    /// Erase counts of all blocks but those of spare chips that replace none.
    pub fn erase_counts(&self) -> impl Iterator<Item = u32> + Clone {
        let erases = self.lane_erases.as_ref().map_or(&self.erases, |of_lanes| &of_lanes.counts);
        let planes = erases.chunks((self.stride * self.lanes) as usize).zip(&self.planes);
        planes.filter(|(_, plane)| plane.in_use).flat_map(|(erases, plane)| &erases[..(plane.blocks * self.lanes) as usize]).copied()
    }

    /// Pages of the blocks in use, how many of them are live, and how many GC keeps free, but for spare chips that replace none.
    pub(crate) fn usage(&self) -> Usage {
        let planes = self.blocks.chunks(self.stride as usize).zip(&self.planes).filter(|(_, plane)| plane.in_use);
        planes.map(|(blocks, plane)| self.usage_of(&blocks[..plane.blocks as usize], plane)).fold(Usage::default(), |sum, of| sum + of)
    }

    fn usage_of(&self, blocks: &[Block], plane: &Plane) -> Usage {
        let usable = blocks.iter().filter(|block| block.state != BlockState::Retired);
        let (blocks, live_pages) = usable.fold((0, 0), |(blocks, live), block| (blocks + 1, live + u64::from(block.live)));
        let pages = blocks * u64::from(plane.block_pages);
        let kept = plane.gc_pages.max(self.gc_reserve_blocks * plane.block_pages);
        Usage { pages, live_pages, kept_pages: u64::from(kept).min(pages) }
    }

    /// Pages that host programs may still take in the plane.
    #[inline]
    pub fn host_pages(&self, plane: u32) -> u32 {
        let state = &self.planes[plane as usize];
        if self.is_hybrid {
            return if state.retired < state.blocks { ENOUGH } else { 0 };
        }
        let blocks = (state.free_blocks + u32::from(state.debt)).saturating_sub(self.gc_reserve_blocks - 1);
        blocks * state.block_pages + self.left(plane, WriteStream::HOST) + self.further_left(plane)[0]
    }

    /// Whether host programs may take a page in the plane.
    #[inline]
    pub(crate) fn has_host_pages(&self, plane: u32) -> bool {
        let state = &self.planes[plane as usize];
        if self.is_hybrid {
            return state.retired < state.blocks;
        }
        // What is open has a page left.
        state.open[WriteStream::HOST.index()] != NONE || self.may_open(plane) || self.has_further_open(plane)
    }

    /// Whether host programs may open a block in the plane.
    #[inline(always)]
    pub(super) fn may_open(&self, plane: u32) -> bool {
        let state = &self.planes[plane as usize];
        state.free_blocks + u32::from(state.debt) >= self.gc_reserve_blocks
    }

    /// Pages left in the stream's open block.
    #[inline]
    pub(crate) fn left(&self, plane: u32, stream: WriteStream) -> u32 {
        match self.open_block(plane, stream) {
            NONE => 0,
            block => self.unwritten(plane, self.index(plane, block)),
        }
    }

    /// Pages of a block behind so many that were programmed or passed over, in lanes that live.
    #[inline]
    pub(super) fn unwritten_pages(&self, plane: u32, written: u32) -> u32 {
        let dead_lanes = self.planes[plane as usize].dead_lanes;
        if dead_lanes == 0 { self.pages_per_block - written } else { self.unwritten_in_living(dead_lanes, written) }
    }

    /// The page offset at which the stream would program next (0 if it would open a block).
    pub(crate) fn next_offset(&self, plane: u32, stream: WriteStream) -> u32 {
        match self.open_block(plane, stream) {
            NONE => 0,
            block => self.blocks[self.index(plane, block)].written,
        }
    }

    /// Takes the next page of the stream and leaves it pending; the caller has checked that there is one.
    #[inline]
    pub fn take(&mut self, plane: u32, stream: WriteStream) -> TakenOf {
        let mut block = self.open_block(plane, stream);
        if block == NONE {
            block = self.open(plane, stream);
        }
        let index = self.index(plane, block);
        let entry = &mut self.blocks[index];
        let offset = entry.written;
        entry.written += 1;
        entry.pending += 1;
        let state = &mut self.planes[plane as usize];
        state.free_pages -= 1;
        let dead_lanes = state.dead_lanes;
        let mut is_full = offset + 1 == self.pages_per_block;
        if stream.is_of_slc() {
            is_full = self.pass_unused(index);
        }
        if is_full {
            self.blocks[index].state = BlockState::Closed;
            self.set_open(plane, stream, NONE);
        } else if dead_lanes != 0 {
            is_full = self.pass_over(plane, block);
        }
        TakenOf { block: index, offset, is_full }
    }

    /// Takes an erased block for pages that are not programmed in order.
    pub(crate) fn take_free(&mut self, plane: u32, state: BlockState) -> u16 {
        let block = self.next_unretired(plane);
        self.free_blocks -= 1;
        self.planes[plane as usize].free_blocks -= 1;
        self.planes[plane as usize].free_pages -= self.planes[plane as usize].block_pages;
        let index = self.index(plane, block);
        self.blocks[index].state = state;
        block
    }

    fn next_unretired(&mut self, plane: u32) -> u16 {
        // A block retired while it was free is still among those to choose from.
        loop {
            let block = self.next_free(plane);
            if self.blocks[self.index(plane, block)].state != BlockState::Retired {
                break block;
            }
        }
    }

    pub(crate) fn open(&mut self, plane: u32, stream: WriteStream) -> u16 {
        let block = self.next_unretired(plane);
        self.free_blocks -= 1;
        let state = &mut self.planes[plane as usize];
        state.free_blocks -= 1;
        state.debt |= stream.is_of_gc();
        self.set_open(plane, stream, block);
        let index = self.index(plane, block);
        debug_assert_eq!(self.blocks[index].state, BlockState::Free);
        self.blocks[index].state = BlockState::Open;
        self.blocks[index].written = self.first_offset(plane);
        self.note_stream(index, stream);
        block
    }

    fn next_free(&mut self, plane: u32) -> u16 {
        let state = &mut self.planes[plane as usize];
        // A block never used has no erases, so it comes before any other under dynamic wear leveling too.
        if state.fresh < state.blocks {
            state.fresh += 1;
            (state.fresh - 1) as u16
        } else {
            state.erased.pop().expect("the space rule leaves a free block").0.1
        }
    }

    /// The block gets no more programs. The GC policy must not know it.
    pub(crate) fn close(&mut self, id: u32, block: u16, state: BlockState) {
        let index = self.index(id, block);
        let entry = self.blocks[index];
        debug_assert!(!entry.listed);
        let free = if entry.state == BlockState::Open { self.unwritten(id, index) } else { 0 };
        match state {
            BlockState::Doomed => self.end_slc(id, index, Mode::Spent),
            BlockState::Retired => self.end_slc(id, index, Mode::Full),
            _ => {}
        }
        let plane = &mut self.planes[id as usize];
        match entry.state {
            BlockState::Free => {
                self.free_blocks -= u32::from(plane.in_use);
                plane.free_blocks -= 1;
                plane.free_pages -= plane.block_pages;
            }
            BlockState::Open => {
                plane.free_pages -= free;
                self.forget_open(id, block);
            }
            BlockState::Retired => return,
            BlockState::Closed | BlockState::Doomed | BlockState::Data | BlockState::Log | BlockState::Victim => {}
        }
        self.planes[id as usize].retired += u32::from(state == BlockState::Retired);
        self.blocks[index].state = state;
    }

    /// A plane that was never used gives its last `blocks` blocks to another that has none.
    pub(crate) fn split(&mut self, from: u32, to: u32, blocks: u32) {
        let left = self.planes[from as usize].blocks - blocks;
        let is_retired = |number: &u32| self.blocks[self.index(from, *number as u16)].state == BlockState::Retired;
        let retired: Vec<u32> = (left..left + blocks).filter(is_retired).collect();
        let pages_per_block = self.pages_per_block;
        let mut change = |plane: u32, blocks: u32, retired: u32, sign: i32| {
            let state = &mut self.planes[plane as usize];
            state.blocks = state.blocks.wrapping_add_signed(sign * blocks as i32);
            state.retired = state.retired.wrapping_add_signed(sign * retired as i32);
            state.free_blocks = state.free_blocks.wrapping_add_signed(sign * (blocks - retired) as i32);
            state.free_pages = state.free_blocks * pages_per_block;
        };
        change(from, blocks, retired.len() as u32, -1);
        change(to, blocks, retired.len() as u32, 1);
        for number in retired {
            let index = self.index(to, (number - left) as u16);
            self.blocks[index].state = BlockState::Retired;
        }
    }

    /// The plane is in use from now on, or not.
    pub(crate) fn set_in_use(&mut self, plane: u32, in_use: bool) {
        let state = &mut self.planes[plane as usize];
        match (std::mem::replace(&mut state.in_use, in_use), in_use) {
            (false, true) => self.free_blocks += state.free_blocks,
            (true, false) => self.free_blocks -= state.free_blocks,
            _ => {}
        }
    }

    /// Erase count of the plane's most worn block.
    pub(crate) fn most_erases(&self, plane: u32) -> u32 {
        self.planes[plane as usize].most_erases
    }

    /// Returns an erased victim to the plane's free blocks and ends the loan. Returns whether the device wears out by that; of lanes, their erases tell.
    #[must_use]
    pub fn erased(&mut self, plane: u32, block: u16) -> bool {
        let index = self.index(plane, block);
        debug_assert!(self.blocks[index].live == 0 && self.blocks[index].pending == 0);
        self.erases[index] += 1;
        self.total_erases += u64::from(self.lanes == 1);
        if self.lanes == 1 {
            self.note_slc_erased(index);
        }
        self.end_slc(plane, index, Mode::Full);
        // Nobody reads it, or else their number must stay right.
        self.blocks[index] = Block { reads: self.blocks[index].reads, ..Block::default() };
        let state = &mut self.planes[plane as usize];
        state.frees += 1;
        state.most_erases = state.most_erases.max(self.erases[index]);
        let key = if self.wear_dynamic { self.erases[index] } else { state.frees };
        state.erased.push(Reverse((key, block)));
        state.free_blocks += 1;
        state.free_pages += state.block_pages;
        state.debt = false;
        self.free_blocks += 1;
        self.lanes == 1 && self.total_erases == self.endurance
    }
}
