//! The phases of GC: how far each plane is, when time begins, on its way from one GC run to the next.
//!
//! Pages that are placed in no simulated time take turns over the planes of a domain. Where each victim is nothing but garbage, all of these planes are then
//! collected together, once for each block that they fill, and a run shorter than that sees GC in all of them or in none. A drive in use has planes in all
//! phases: so each plane takes a number of pages of its own, drawn from those of a block, before time begins. With `gc_pace = debt` GC of a drive in use is
//! always under way, and frees as much as is written: there each plane takes pages until the next one lets GC begin.

use crate::space::Space;
use flashraid_nand::{DATA, Nand};
use flashraid_vocabulary::{GcPace, NIL, one_of};

/// Pages that planes are still to take in no simulated time.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    /// By domain: planes, and how many program units each of them is to take.
    left: Vec<Vec<(u32, u32)>>,
}

impl Phases {
    /// Each data plane first takes a number of pages of its own (see the module).
    pub(crate) fn draw(random: &mut dyn FnMut() -> u64, space: &Space, nand: &Nand) -> Self {
        let mut left = vec![Vec::new(); space.domains.len()];
        for plane in 0..space.shape.data_planes() {
            let domain = space.domain_of_plane(plane);
            if domain == NIL || nand.takers(domain).kind != DATA || space.holds_copies(domain) {
                continue;
            }
            let units = space.settings.units_per_program();
            let programs = match space.settings.given.gc_pace {
                GcPace::Block => one_of((space.shape.pages_per_block / units).into(), random()) as u32,
                // Until it is low (`Space::is_low`).
                GcPace::Debt => space.blocks.pages_for_all(plane).saturating_sub(space.blocks.planes[plane as usize].gc_pages) / units,
            };
            if programs > 0 {
                left[domain as usize].push((plane, programs));
            }
        }
        Self { left }
    }

    /// How many program units these are together.
    pub(crate) fn programs(&self) -> u64 {
        self.left.iter().flatten().map(|(_, programs)| u64::from(*programs)).sum()
    }

    /// Whether a plane of the domain is still to take pages.
    pub(crate) fn is_to_advance(&self, domain: u32) -> bool {
        !self.left[domain as usize].is_empty()
    }

    /// The plane of a domain that takes the next page because of its phase, if there is one.
    #[cold]
    pub(crate) fn advance(&mut self, domain: u32, space: &Space) -> Option<u32> {
        let planes = &mut self.left[domain as usize];
        let (plane, programs) = planes.last_mut()?;
        let plane = *plane;
        *programs -= 1;
        if *programs == 0 {
            planes.pop();
        }
        (space.blocks.host_pages(plane) > 0).then_some(plane)
    }
}
