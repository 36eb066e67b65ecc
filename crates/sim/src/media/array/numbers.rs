//! Planes, LUNs, buses and physical pages of an array, numbered one SSD after the other.

use flashraid_ftl::Flash;
use flashraid_vocabulary::{Observer, Ppn};
use std::ops::Index;

/// "No time".
pub(super) const NEVER: u64 = u64::MAX;

/// Where the parts of an SSD begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub(super) plane: u32,
    pub(super) lun: u32,
    pub(super) bus: u32,
    pub(super) page: u32,
}

/// An observer of one SSD, which numbers its pages from 0.
pub(super) struct Behind<'a, O>(pub(super) &'a mut O, pub(super) u32);

impl<O: Observer> Observer for Behind<'_, O> {
    #[inline]
    fn moved(&mut self, from: Ppn, to: Ppn) {
        self.0.moved(Ppn(self.1 + from.0), Ppn(self.1 + to.0));
    }

    #[inline]
    fn erased(&mut self, first: Ppn, pages: u32) {
        self.0.erased(Ppn(self.1 + first.0), pages);
    }
}

/// Where the parts of each SSD begin, and behind the last.
#[derive(Clone, Debug)]
pub(super) struct FirstNumbers(Vec<Numbers>);

impl FirstNumbers {
    pub(super) fn of(ssds: &[Flash]) -> Self {
        let ends = ssds.iter().scan(Numbers::default(), |at, flash| {
            at.plane += flash.store().space().planes();
            at.lun += flash.nand().luns().len() as u32;
            at.bus += flash.nand().channels().len() as u32;
            at.page += flash.store().space().ppn_limit();
            Some(*at)
        });
        Self(std::iter::once(Numbers::default()).chain(ends).collect())
    }

    /// The SSD of a plane, and the plane's number there.
    pub(super) fn plane(&self, plane: u32) -> (usize, u32) {
        let ssd = self.0.partition_point(|first| first.plane <= plane) - 1;
        (ssd, plane - self.0[ssd].plane)
    }

    /// The SSD of a LUN, and the LUN's number there.
    pub(super) fn lun(&self, lun: u32) -> (usize, u32) {
        let ssd = self.0.partition_point(|first| first.lun <= lun) - 1;
        (ssd, lun - self.0[ssd].lun)
    }

    /// The SSD of a physical page, and the page's number there.
    pub(super) fn page(&self, ppn: Ppn) -> (usize, Ppn) {
        let ssd = self.0.partition_point(|first| first.page <= ppn.0) - 1;
        (ssd, Ppn(ppn.0 - self.0[ssd].page))
    }
}

impl Index<usize> for FirstNumbers {
    type Output = Numbers;

    fn index(&self, ssd: usize) -> &Numbers {
        &self.0[ssd]
    }
}
