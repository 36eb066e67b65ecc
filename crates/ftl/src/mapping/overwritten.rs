//! The fill of a drive as uniform random writes would leave it (SPEC 8.10), in one pass.
//!
//! Where GC takes the oldest block, pages are written at an even pace from the oldest slot of a plane to the newest, and each slot is still valid unless its page
//! was overwritten since. So validity falls with age as e^(-xT), where x is the rank of the slot from 0 (newest) to 1 (oldest), and T how often a page is overwritten
//! while all slots are written once. Which page is in which valid slot is a matter of chance.

use crate::space::Space;
use crate::space::blocks::{BlockState, NONE, WriteStream};
use flashraid_nand::NIL;
use flashraid_vocabulary::{Ppn, one_of, unit};

/// What the fill of a plane goes by.
#[derive(Clone, Debug, Default)]
pub(super) struct Plane {
    /// Valid slots that have no page yet.
    spots: Vec<u32>,
    /// Full blocks, the oldest first.
    full: Vec<usize>,
    /// Pages that the host wrote while one block was filled; GC moved the others.
    written_by_host: u32,
}

impl Plane {
    /// Its next valid slot takes a page. `None` if there is none.
    #[inline]
    pub(super) fn take(&mut self, space: &mut Space) -> Option<Ppn> {
        let ppn = Ppn(self.spots.pop()?);
        let block = space.shape.block_of(ppn);
        space.blocks.blocks[block].live += 1;
        Some(ppn)
    }
}

/// What the fill goes by.
#[derive(Clone, Debug)]
pub(super) struct Overwritten {
    /// By plane.
    pub(super) planes: Vec<Plane>,
}

impl Overwritten {
    /// A fill of so many pages begins, on an erased device. With `phases`, each plane is at a point of its own between two GC runs. Returns the write
    /// amplification that goes with it, too; `None` if nothing is spare in a plane.
    pub(super) fn begin(pages: u64, phases: bool, space: &mut Space, random: &mut dyn FnMut() -> u64) -> Option<(Self, f64)> {
        let in_use: Vec<u32> = (0..space.shape.data_planes()).filter(|plane| space.domain_of_plane(*plane) != NIL).collect();
        // Members may differ by one, and planes of a member, which take turns.
        let live = pages.div_ceil(in_use.len() as u64) as u32 + 1;
        let (mut planes, mut host_share) = (vec![Plane::default(); space.blocks.planes.len()], 0.0);
        for &plane in &in_use {
            let phase = if phases { unit(random()) } else { 0.0 };
            let written = written(plane, live, phase, space)?;
            let overwrites = overwrites(live, written);
            let by_host = by_host(overwrites);
            host_share += by_host / in_use.len() as f64;
            planes[plane as usize] = lay_out(plane, (live, written), overwrites, space, random);
            planes[plane as usize].written_by_host = (by_host * f64::from(space.shape.pages_per_block)) as u32;
        }
        Some((Self { planes }, 1.0 / host_share))
    }

    /// The fill is over: full blocks may be victims.
    pub(super) fn end(&self, space: &mut Space) {
        for Plane { full, written_by_host, .. } in &self.planes {
            for block in full {
                (0..*written_by_host).for_each(|_| space.victims.program());
                // Nothing starts meanwhile.
                let _ = space.list(*block);
            }
        }
    }
}

/// Pages of a plane that are written when so many are live: all but those that GC keeps free, and of what a victim frees this share. `None` if they are no more.
fn written(plane: u32, live: u32, phase: f64, space: &Space) -> Option<u32> {
    let (state, shape, given) = (&space.blocks.planes[plane as usize], space.shape, &space.settings.given);
    let kept = state.gc_pages.max(given.gc_reserve_blocks * shape.pages_per_block);
    let most = (state.free_blocks * shape.pages_per_block).checked_sub(kept).filter(|most| *most > live)?;
    let freed = f64::from(shape.pages_per_block) * by_host(overwrites(live, most));
    let written = most - (phase * freed) as u32;
    Some(written - written % space.settings.units_per_program()).filter(|written| *written > live)
}

/// T of (1 - e^-T) / T = fill.
fn overwrites(live: u32, written: u32) -> f64 {
    let fill = f64::from(live) / f64::from(written);
    let (mut low, mut high) = (0.0, 1.0 / fill);
    for _ in 0..64 {
        let middle: f64 = (low + high) / 2.0;
        if -(-middle).exp_m1() / middle > fill { low = middle } else { high = middle }
    }
    high
}

/// The share of all programs that are the host's; of the oldest block, that of its garbage.
fn by_host(overwrites: f64) -> f64 {
    1.0 - (-overwrites).exp()
}

/// Opens the blocks of the plane, and says which of their slots are valid.
fn lay_out(plane: u32, (live, written): (u32, u32), overwrites: f64, space: &mut Space, random: &mut dyn FnMut() -> u64) -> Plane {
    let pages = space.shape.pages_per_block;
    let (mut firsts, mut full, mut left) = (Vec::new(), Vec::new(), written);
    while left > 0 {
        let block = space.blocks.open(plane, WriteStream::Host);
        let index = space.blocks.index(plane, block);
        let taken = left.min(pages);
        space.blocks.blocks[index].written = taken as u16;
        if taken == pages {
            space.blocks.blocks[index].state = BlockState::Closed;
            space.blocks.planes[plane as usize].open[WriteStream::Host as usize] = NONE;
            full.push(index);
        }
        firsts.push(space.shape.first_ppn(index).0);
        left -= taken;
    }
    space.blocks.planes[plane as usize].free_pages -= written;
    let domain = space.domain_of_plane(plane);
    space.domains[domain as usize].free_pages -= i64::from(written);
    let mut spots: Vec<u32> =
        valid_slots(live, written, overwrites, random).map(|slot| firsts[(slot / pages) as usize] + slot % pages).collect();
    for end in (2..=spots.len()).rev() {
        spots.swap(end - 1, one_of(end as u64, random()) as usize);
    }
    Plane { spots, full, written_by_host: 0 }
}

/// Which of the slots are valid, from the oldest on: `live` of them. Each draw makes up for those before, so that there are neither more nor fewer.
fn valid_slots(live: u32, written: u32, overwrites: f64, random: &mut dyn FnMut() -> u64) -> impl Iterator<Item = u32> {
    let growth = (overwrites / f64::from(written)).exp();
    let mut probability = (-overwrites * (1.0 - 0.5 / f64::from(written))).exp();
    let (mut expected, mut left) = (f64::from(live), live);
    (0..written).filter(move |slot| {
        let is_valid = left > 0 && (left >= written - slot || unit(random()) * expected < probability * f64::from(left));
        left -= u32::from(is_valid);
        expected -= probability;
        probability *= growth;
        is_valid
    })
}
