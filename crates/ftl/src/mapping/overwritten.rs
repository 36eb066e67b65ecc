//! The fill of a drive as uniform random writes would leave it (SPEC 8.10), in one pass.
//!
//! Where GC takes the oldest block, pages are written at an even pace from the oldest slot of a plane to the newest, and each slot is still valid unless its page
//! was overwritten since. So validity falls with age: as e^(-aTx) for pages that are overwritten a times while a page with data is once, where x is the rank of
//! the slot from 0 (newest) to 1 (oldest), and T how often a page with data is overwritten while all slots are written once. Which page is in which valid slot is a
//! matter of chance.

use crate::space::Space;
use crate::space::blocks::{BlockState, NONE};
use crate::space::streams::WriteStream;
use flashraid_vocabulary::{GcPace, Ppn, one_of, unit};

/// Pages that are overwritten equally often: those with data, or copies of it, and parities.
const CLASSES: usize = 2;

/// Pages of a domain or a plane, by class.
type Classes = [u64; CLASSES];

/// What a fill writes, and how it was overwritten since.
pub struct Overwrites<'a> {
    /// By space domain: its pages with data or copies of it, and its parities.
    pub pages: &'a [[u64; CLASSES]],
    /// How often a parity is overwritten while each page with data is overwritten once.
    pub parity_rate: f64,
    /// Whether each plane is at a point of its own between two GC runs, unless these keep pace with the host.
    pub phases: bool,
    /// Uniform 64-bit numbers.
    pub random: &'a mut dyn FnMut() -> u64,
}

/// What the fill goes by.
#[derive(Clone, Debug)]
pub(super) struct Overwritten {
    /// By domain and class: valid slots that have no page yet.
    spots: Vec<[Vec<u32>; CLASSES]>,
    /// Full blocks of planes, the oldest first, with the pages that anything but GC wrote while one of them was filled.
    full: Vec<(Vec<usize>, u32)>,
}

impl Overwritten {
    /// A fill begins, on an erased device. Returns how many pages are programmed, those of GC included, while each page with data is overwritten once, too; `None`
    /// if nothing is spare in a plane.
    pub(super) fn begin(overwrites: &mut Overwrites<'_>, space: &mut Space) -> Option<(Self, f64)> {
        let (mut spots, mut full, mut programs) = (vec![<[Vec<u32>; CLASSES]>::default(); space.domains.len()], Vec::new(), 0.0);
        for (domain, pages) in (0..).zip(overwrites.pages) {
            if pages.iter().sum::<u64>() == 0 {
                continue;
            }
            let planes: Vec<u32> = (0..space.shape.data_planes()).filter(|plane| space.domain_of_plane(*plane) == domain).collect();
            for (number, &plane) in (0..).zip(&planes) {
                let live = pages.map(|pages| (pages + number) / planes.len() as u64);
                let is_drawn = overwrites.phases && space.settings.given.gc_pace == GcPace::Block;
                let phase = if is_drawn { unit((overwrites.random)()) } else { 0.0 };
                let aging = Aging::of_plane(plane, live, overwrites.parity_rate, phase, space)?;
                let share_of_others = aging.share_of_others();
                programs += aging.written_by_others(live) / share_of_others;
                let blocks = aging.lay_out(plane, live, &mut spots[domain as usize], space, overwrites.random);
                full.push((blocks, (share_of_others * f64::from(space.shape.pages_per_block)) as u32));
            }
            spots[domain as usize].iter_mut().for_each(|spots| shuffle(spots, overwrites.random));
        }
        Some((Self { spots, full }, programs))
    }

    /// The next page of the domain takes a valid slot of its class. `None` if there is none.
    #[inline]
    pub(super) fn take(&mut self, domain: u32, is_parity: bool, space: &mut Space) -> Option<(u32, Ppn)> {
        let ppn = Ppn(self.spots[domain as usize][usize::from(is_parity)].pop()?);
        space.blocks.blocks[space.shape.block_of(ppn)].live += 1;
        Some((space.shape.plane_of(ppn), ppn))
    }

    /// The fill is over: full blocks may be victims.
    pub(super) fn end(&self, space: &mut Space) {
        for (blocks, written_by_others) in &self.full {
            for block in blocks {
                (0..*written_by_others).for_each(|_| space.victims.program());
                // Nothing starts meanwhile.
                let _ = space.list(*block);
            }
        }
    }
}

fn shuffle(spots: &mut [u32], random: &mut dyn FnMut() -> u64) {
    for end in (2..=spots.len()).rev() {
        spots.swap(end - 1, one_of(end as u64, random()) as usize);
    }
}

/// How slots of a plane become garbage as they age.
struct Aging {
    /// Slots that are written.
    written: u32,
    /// By class: how often one of its pages is overwritten while all slots are written once.
    overwrites: [f64; CLASSES],
    /// By class: the probability that the newest slot has one of its pages.
    newest: [f64; CLASSES],
}

impl Aging {
    /// Written are all slots but those that GC keeps free, and of what a victim frees this share. `None` if they are no more than its pages.
    fn of_plane(plane: u32, live: Classes, parity_rate: f64, phase: f64, space: &Space) -> Option<Self> {
        let (state, shape, given) = (&space.blocks.planes[plane as usize], space.shape, &space.settings.given);
        let kept = state.gc_pages.max(given.gc_reserve_blocks * shape.pages_per_block);
        let all = live.iter().sum::<u64>();
        let most = (state.free_blocks * shape.pages_per_block).checked_sub(kept).filter(|most| u64::from(*most) > all)?;
        let freed = f64::from(shape.pages_per_block) * Self::new(most, live, parity_rate).share_of_others();
        let written = most - (phase * freed) as u32;
        let written = written - written % space.settings.units_per_program();
        (u64::from(written) > all).then(|| Self::new(written, live, parity_rate))
    }

    /// Of so many slots, so many are valid: `newest` adds up to 1, as the newest slot is valid.
    fn new(written: u32, live: Classes, parity_rate: f64) -> Self {
        let (written_slots, rates) = (f64::from(written), [1.0, parity_rate]);
        let newest = |cycle: f64| {
            let of_class = |class: usize| live[class] as f64 / written_slots * inverse_mean(rates[class] * cycle);
            [of_class(0), of_class(1)]
        };
        let (mut low, mut high) = (0.0, written_slots / (live[0] as f64 + parity_rate * live[1] as f64));
        for _ in 0..64 {
            let middle = (low + high) / 2.0;
            if newest(middle).iter().sum::<f64>() < 1.0 { low = middle } else { high = middle }
        }
        Self { written, overwrites: rates.map(|rate| rate * high), newest: newest(high) }
    }

    /// The share of all programs that are not GC's; of the oldest block, that of its garbage.
    fn share_of_others(&self) -> f64 {
        1.0 - self.newest.iter().zip(self.overwrites).map(|(newest, overwrites)| newest * (-overwrites).exp()).sum::<f64>()
    }

    /// Pages that anything but GC programs while each page with data is overwritten once.
    fn written_by_others(&self, live: Classes) -> f64 {
        live.iter().zip(self.overwrites).map(|(live, overwrites)| *live as f64 * overwrites / self.overwrites[0]).sum()
    }

    /// Opens the blocks of the plane, and adds its valid slots to `spots`, by class. Returns those blocks that are full.
    fn lay_out(
        &self,
        plane: u32,
        live: Classes,
        spots: &mut [Vec<u32>; CLASSES],
        space: &mut Space,
        random: &mut dyn FnMut() -> u64,
    ) -> Vec<usize> {
        let (pages, mut valid) = (space.shape.pages_per_block, Valid::of(self, live));
        let (mut full, mut left) = (Vec::new(), self.written);
        while left > 0 {
            let block = space.blocks.open(plane, WriteStream::HOST);
            let index = space.blocks.index(plane, block);
            let (first, taken) = (space.shape.first_ppn(index).0, left.min(pages));
            space.blocks.blocks[index].written = taken;
            if taken == pages {
                space.blocks.blocks[index].state = BlockState::Closed;
                space.blocks.set_open(plane, WriteStream::HOST, NONE);
                full.push(index);
            }
            for slot in first..first + taken {
                if let Some(class) = valid.next_slot(random) {
                    spots[class].push(slot);
                }
            }
            left -= taken;
        }
        space.blocks.planes[plane as usize].free_pages -= self.written;
        let domain = space.domain_of_plane(plane);
        space.domains[domain as usize].free_pages -= i64::from(self.written);
        full
    }
}

/// a / (1 - e^-a): one over the mean of e^(-ax) for x from 0 to 1.
fn inverse_mean(overwrites: f64) -> f64 {
    if overwrites == 0.0 { 1.0 } else { overwrites / -(-overwrites).exp_m1() }
}

/// What is left of a class while slots are dealt, from the oldest on.
struct Class {
    /// Its pages that have no slot yet.
    pages: u64,
    /// How many of the slots to come the law lets expect for them.
    expected: f64,
    /// The probability of the next slot.
    probability: f64,
    /// What that is multiplied by from slot to slot.
    growth: f64,
}

impl Class {
    /// The probability that the next slot is one of its, given what the slots before have become.
    fn share(&self) -> f64 {
        if self.pages == 0 { 0.0 } else { self.pages as f64 * self.probability / self.expected.max(self.probability) }
    }
}

/// Deals the valid slots. Each draw makes up for those before, so that each class has as many as it has pages.
struct Valid {
    /// Slots to come.
    slots: u64,
    classes: [Class; CLASSES],
}

impl Valid {
    fn of(aging: &Aging, live: Classes) -> Self {
        let slots = f64::from(aging.written);
        let class = |class: usize| {
            let overwrites = aging.overwrites[class];
            let probability = aging.newest[class] * (-overwrites * (1.0 - 0.5 / slots)).exp();
            Class { pages: live[class], expected: live[class] as f64, probability, growth: (overwrites / slots).exp() }
        };
        Self { slots: aging.written.into(), classes: [class(0), class(1)] }
    }

    /// The class of the page in the next slot; `None` if the slot is garbage.
    fn next_slot(&mut self, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let pages = self.classes.each_ref().map(|class| class.pages);
        let total = pages.iter().sum::<u64>();
        let chosen = if total == 0 {
            None
        } else if total >= self.slots {
            // No slot is to be garbage any more.
            Some(usize::from(one_of(total, random()) >= pages[0]))
        } else {
            let shares = self.classes.each_ref().map(Class::share);
            let point = unit(random());
            [shares[0], shares[0] + shares[1]].iter().position(|end| point < *end)
        };
        self.slots -= 1;
        for class in &mut self.classes {
            class.expected -= class.probability;
            class.probability *= class.growth;
        }
        if let Some(class) = chosen {
            self.classes[class].pages -= 1;
        }
        chosen
    }
}
