//! D-choices: the block with the fewest pages to move among K that are drawn at random, which comes near to greedy with few looks.
//!
//! B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives", SIGMETRICS 2013.
//!
//! Blocks without garbage are not drawn: the model draws them too, and copies them in vain, which matters for small blocks only.

use super::{GcPolicy, Policy, Sizes};
use crate::space::blocks::{Block, NONE};
use flashraid_vocabulary::{SplitMix64, memory, persistent};

pub(super) const POLICIES: &[GcPolicy] = &[GcPolicy {
    form: "d:K",
    most: Some(1000),
    about: "The block with the fewest pages to move among K that are drawn at random from those with garbage, one perhaps several times; of several, the one \
            that was closed first. The draws are the same in each run.",
    weighs_commits: false,
    suits_merges: false,
    make: |sizes, draws, seed| DChoices::new(sizes, draws, seed).into(),
}];

/// Closed blocks with garbage, in no order.
#[derive(Clone, Debug)]
pub struct DChoices {
    random: SplitMix64,
    /// By plane.
    candidates: Vec<Vec<u16>>,
    /// By plane and block: where it stands among the candidates; `NONE` for one that is none.
    places: Vec<u16>,
    /// The same: how many blocks had been closed before it.
    ages: Vec<u64>,
    closed: u64,
    draws: u32,
    sizes: Sizes,
}

persistent!(DChoices {
    keeps [random, closed],
    arrays [candidates, places, ages],
    anew [draws, sizes],
});

impl DChoices {
    fn new(sizes: Sizes, draws: u32, seed: u64) -> Self {
        let blocks = (sizes.planes * sizes.blocks_per_plane) as usize;
        Self {
            random: SplitMix64::named(seed, "gc"),
            candidates: vec![Vec::new(); sizes.planes as usize],
            places: memory::filled(NONE, blocks),
            ages: memory::zeroed(blocks),
            closed: 0,
            draws,
            sizes,
        }
    }

    fn index(&self, plane: u32, block: u16) -> usize {
        (plane * self.sizes.blocks_per_plane) as usize + usize::from(block)
    }

    /// The block is a candidate from now on, if it has garbage.
    fn join(&mut self, plane: u32, block: u16, blocks: &[Block]) {
        let index = self.index(plane, block);
        if blocks[usize::from(block)].has_garbage(self.sizes.pages_per_block) && self.places[index] == NONE {
            let candidates = &mut self.candidates[plane as usize];
            self.places[index] = candidates.len() as u16;
            candidates.push(block);
        }
    }
}

impl Policy for DChoices {
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        let index = self.index(plane, block);
        self.ages[index] = self.closed;
        self.closed += 1;
        self.join(plane, block, blocks);
    }

    fn changed(&mut self, plane: u32, block: u16, _: Block, blocks: &mut [Block]) {
        self.join(plane, block, blocks);
    }

    fn taken(&mut self, plane: u32, block: u16, _: &mut [Block]) {
        let index = self.index(plane, block);
        let place = std::mem::replace(&mut self.places[index], NONE);
        if place != NONE {
            let candidates = &mut self.candidates[plane as usize];
            candidates.swap_remove(usize::from(place));
            if let Some(&moved) = candidates.get(usize::from(place)) {
                let index = self.index(plane, moved);
                self.places[index] = place;
            }
        }
    }

    fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16> {
        let candidates = &self.candidates[plane as usize];
        if candidates.is_empty() {
            return None;
        }
        let drawn = (0..self.draws).map(|_| candidates[self.random.next_below(candidates.len() as u64) as usize]);
        let first = (plane * self.sizes.blocks_per_plane) as usize;
        drawn.min_by_key(|block| (blocks[usize::from(*block)].to_move(), self.ages[first + usize::from(*block)]))
    }

    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        let candidates = &self.candidates[plane as usize];
        for (number, block) in (0..).zip(blocks) {
            let place = self.places[self.index(plane, number)];
            let is_candidate = block.listed && block.has_garbage(self.sizes.pages_per_block);
            if is_candidate != (place != NONE) || (is_candidate && candidates.get(usize::from(place)) != Some(&number)) {
                return Err(format!("block {number} {block:?} of plane {plane} is wrongly among the candidates, or not"));
            }
        }
        let count = blocks.iter().filter(|block| block.listed && block.has_garbage(self.sizes.pages_per_block)).count();
        if count == candidates.len() { Ok(()) } else { Err(format!("plane {plane} has {count} candidates, and {candidates:?}")) }
    }
}
