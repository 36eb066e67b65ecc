//! What leaves the buffer: readable until its operation has ended.

use super::departures::{Departure, Departures, HeldSectors, Taken};
use super::state::Buffer;
#[cfg(feature = "mutants")]
use crate::mutants::BufferFault;
use flashraid_vocabulary::{Lpn, NIL};

impl Buffer {
    /// The operation has taken its place in the queue of the page's lock.
    pub fn depart(&mut self, lpn: Lpn, departure: Departure) {
        let Departures { list, pages } = &mut self.departures;
        let id = list.put((departure, NIL));
        let (_, last) = pages.entry(lpn.0 as u32).and_modify(|of| list[of.1].1 = id).or_insert((id, id));
        *last = id;
    }

    /// The first operation of the page that departed has ended, or failed. Returns the sectors that left with it, none for a discard.
    pub fn arrive(&mut self, lpn: Lpn, operation: u32) -> Option<u64> {
        let Departures { list, pages } = &mut self.departures;
        let of = pages.get_mut(&(lpn.0 as u32)).expect("a page that leaves");
        let first = of.0;
        let in_order = list[first].0.operation == operation;
        #[cfg(feature = "mutants")]
        let in_order = in_order || self.mutant == Some(BufferFault::Overtake);
        debug_assert!(in_order, "operations on a page end in order");
        let (Departure { sectors, .. }, next) = list[first];
        list.remove(first);
        match next {
            NIL => drop(pages.remove(&(lpn.0 as u32))),
            next => of.0 = next,
        }
        sectors
    }

    /// Whether it has all that flash holds of the page, or a discard of it on the way: whatever flash holds then does not count.
    pub fn renews(&self, lpn: Lpn) -> bool {
        let leaving = self.leaving(lpn);
        let held = leaving.sectors | self.find(lpn).map_or(0, |entry| self.sectors(entry));
        leaving.is_all || held != 0 && self.on_flash(lpn) & !held == 0
    }

    /// The departures of a page in order.
    pub fn departures(&self, lpn: Lpn) -> impl Iterator<Item = &Departure> + '_ {
        let mut next = match self.departures.pages.get(&(lpn.0 as u32)) {
            Some(of) => of.0,
            None => NIL,
        };
        #[cfg(feature = "mutants")]
        if self.mutant == Some(BufferFault::ReadBeneath) {
            next = NIL;
        }
        std::iter::from_fn(move || {
            let (departure, following) = self.departures.list.get(next)?;
            next = *following;
            Some(departure)
        })
    }

    /// What pages that leave hold of a page.
    #[inline]
    pub fn leaving(&self, lpn: Lpn) -> HeldSectors {
        if self.departures.pages.is_empty() {
            return HeldSectors::default(); // nearly always
        }
        self.departures(lpn).fold(HeldSectors::default(), |known, &Departure { sectors, number, replaces, .. }| {
            let beneath = if replaces { HeldSectors { is_all: true, ..HeldSectors::default() } } else { known };
            let sectors = beneath.sectors | sectors.unwrap_or_default();
            HeldSectors { sectors, number: beneath.number.max(number), ..beneath }
        })
    }

    /// From where a read takes the page.
    #[inline]
    pub fn take(&self, lpn: Lpn) -> Taken {
        let entry = self.find(lpn);
        let (buffered, leaving) = (entry.map_or(0, |entry| self.sectors(entry)), self.leaving(lpn));
        let taken = Taken { entry, buffered, leaving, on_flash: if leaving.is_all { 0 } else { self.on_flash(lpn) } };
        #[cfg(feature = "mutants")]
        let taken = self.distort(lpn, taken);
        taken
    }

    /// What a read takes by a deliberate fault.
    #[cfg(feature = "mutants")]
    fn distort(&self, lpn: Lpn, mut taken: Taken) -> Taken {
        let on_flash = self.on_flash(lpn);
        match self.mutant {
            Some(BufferFault::FlashForLeaving) => (taken.leaving, taken.on_flash) = (HeldSectors::default(), on_flash),
            Some(BufferFault::FlashForPart) if taken.buffered != self.all_sectors() => taken.buffered &= !on_flash,
            Some(BufferFault::FlashForFirstSector) => taken.buffered &= !(on_flash & 1),
            Some(BufferFault::NeighborOnMiss) if taken.entry.is_none() => {
                taken.entry = self.find(Lpn(lpn.0 ^ 1));
                taken.buffered = taken.entry.map_or(0, |entry| self.sectors(entry));
            }
            Some(BufferFault::OnlyLastDeparture) => {
                let last = self.departures(lpn).last().and_then(|departure| departure.sectors);
                taken.leaving.sectors = last.unwrap_or_default();
            }
            Some(BufferFault::OnlyFirstDeparture) => {
                let first = self.departures(lpn).next().and_then(|departure| departure.sectors);
                taken.leaving.sectors = first.unwrap_or_default();
            }
            Some(BufferFault::ZeroesForFlash) if taken.from_buffer() != 0 => taken.on_flash = 0,
            Some(BufferFault::KeepBeneathTrim) if taken.leaving.is_all => {
                let kept = self.departures(lpn).filter_map(|departure| departure.sectors);
                taken.leaving.sectors = kept.fold(0, |sectors, of| sectors | of);
            }
            _ => {}
        }
        taken
    }

    /// Whether anything is on its way to flash.
    pub fn is_leaving(&self) -> bool {
        !self.departures.pages.is_empty()
    }

    /// Whether it has something of the page that flash has not.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some() || self.departures.pages.contains_key(&(lpn.0 as u32))
    }
}
