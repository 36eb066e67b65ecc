//! The phases of GC: how far each plane is, when time begins, on its way from one GC run to the next.
//!
//! Pages that are placed in no simulated time take turns over the planes of a domain. Where each victim is nothing but garbage, all of these planes are then
//! collected together, once for each block that they fill, and a run shorter than that sees GC in all of them or in none. A drive in use has planes in all
//! phases: so each plane takes a number of pages of its own, drawn from those of a block, before time begins.

use crate::Flash;
use flashraid_nand::{DATA, NIL};
use flashraid_vocabulary::{MemberPage, Version};

/// Pages that planes are still to take in no simulated time.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    /// By domain: planes, and how many flash pages each of them is to take.
    left: Vec<Vec<(u32, u32)>>,
}

impl Flash {
    /// From now on each data plane first takes a number of pages of its own, below those of a block. Returns how many these are together; 0 under hybrid
    /// mapping, where pages have their places.
    pub fn begin_phases(&mut self, random: &mut dyn FnMut() -> u64) -> u64 {
        if self.hybrid.is_some() {
            return 0;
        }
        self.end_filling();
        let mut left = vec![Vec::new(); self.space.domains.len()];
        for plane in 0..self.shape.data_planes() {
            let domain = self.space.domain_of_plane(plane);
            if domain == NIL || self.nand.takers(domain).kind != DATA || self.space.holds_copies(domain) {
                continue;
            }
            let pages = ((u128::from(random()) * u128::from(self.shape.pages_per_block / self.settings.units_per_page)) >> 64) as u32;
            if pages > 0 {
                left[domain as usize].push((plane, pages));
            }
        }
        let pages: u64 = left.iter().flatten().map(|(_, pages)| u64::from(*pages)).sum();
        self.untimed.phases = Some(Box::new(Phases { left }));
        pages * u64::from(self.settings.units_per_page)
    }

    /// Whether a plane in which this page may be placed is still to take pages.
    pub fn is_to_advance(&self, address: MemberPage) -> bool {
        let domain = self.space.domain_of(address, Version::Current);
        self.untimed.phases.as_ref().is_some_and(|phases| !phases.left[domain as usize].is_empty())
    }

    /// Planes take turns again.
    pub fn end_phases(&mut self) {
        self.untimed.phases = None;
    }

    /// The plane of a domain that takes the next page because of its phase, if there is one.
    #[cold]
    pub(crate) fn advance_phase(&mut self, domain: u32) -> Option<u32> {
        let planes = &mut self.untimed.phases.as_mut()?.left[domain as usize];
        let (plane, pages) = planes.last_mut()?;
        let plane = *plane;
        *pages -= 1;
        if *pages == 0 {
            planes.pop();
        }
        (self.space.blocks.host_pages(plane) > 0).then_some(plane)
    }
}
