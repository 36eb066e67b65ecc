//! Work in no simulated time: fill, precondition, and pages that are there on first touch. Everything is programmed, moved and erased at once, where an idle
//! device would have put it.

use crate::gc::merge::Merging;
use crate::gc::state::Collection;
use crate::mapping::filling::Filling;
use crate::mapping::hybrid::{Hybrid, Reserved};
use crate::mapping::maps::LARGE_SHARE;
use crate::mapping::overwritten::Overwrites;
use crate::mapping::phases::Phases;
use crate::memory::TakenPage;
use crate::space::streams::WriteStream;
use crate::store::Store;
use flashraid_nand::Nand;
use flashraid_vocabulary::{Cause, MemberPage, Observer, Ppn, Priority, Version, persistent};

/// How far work in no simulated time is.
#[derive(Clone, Debug, Default)]
pub struct Untimed {
    /// Pages programmed so far, moves included.
    pub programmed: u64,
    /// Victims collected so far.
    pub victims: u64,
    /// The fill, while it is under way.
    filling: Option<Box<Filling>>,
    /// Pages that planes take before time begins.
    phases: Option<Box<Phases>>,
}

persistent!(Untimed {
    // Results count it since the drive was new.
    keeps [programmed, victims],
    anew [filling, phases],
});

impl Untimed {
    /// Whether the fill is under way.
    #[inline]
    pub(crate) fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Whether a plane of the domain is still to take pages because of its phase.
    pub fn is_to_advance(&self, domain: u32) -> bool {
        self.phases.as_ref().is_some_and(|phases| phases.is_to_advance(domain))
    }
}

/// What work in no simulated time works with. It starts nothing that takes time: while it goes on, nothing is in flight, and no change makes GC due.
pub struct Preparation<'a> {
    pub(crate) untimed: &'a mut Untimed,
    pub(crate) store: &'a mut Store,
    pub(crate) gc: &'a mut Collection,
    pub(crate) hybrid: Option<&'a mut Hybrid>,
    pub(crate) nand: &'a mut Nand,
}

impl Preparation<'_> {
    /// From now on work is done in no simulated time, and nothing starts GC by itself; or that is over, and no flash page is open, as on a drive that was
    /// switched off.
    pub fn set_untimed(mut self, is_untimed: bool) {
        self.end_filling();
        let Self { store: Store { space, memory, .. }, gc, nand, .. } = self;
        gc.is_untimed = is_untimed;
        if let Some(memory) = memory
            && !is_untimed
        {
            memory.empty(space, nand);
        }
        gc.wait_for_idle(&space.settings, nand);
    }

    // ---- fill ----

    /// Nothing has been written yet, and the fill begins: of about so many pages.
    pub fn begin_fill(self, pages: u64) {
        let Store { maps, space, .. } = self.store;
        if pages > space.settings.geometry.physical_pages() / LARGE_SHARE as u64 {
            maps.expect_fill();
        }
        if let Some(filling) = Filling::begin(space, self.nand) {
            self.untimed.filling = Some(Box::new(filling));
        }
    }

    /// The same of a fill that leaves pages where uniform random writes would have (SPEC 8.10). Returns how many pages are programmed then while each page with data is
    /// overwritten once; `None` if nothing is spare.
    pub fn begin_overwritten_fill(self, overwrites: &mut Overwrites<'_>) -> Option<f64> {
        let Store { maps, space, .. } = self.store;
        maps.expect_fill();
        let (filling, programs) = Filling::begin_overwritten(overwrites, space, self.nand)?;
        self.untimed.filling = Some(Box::new(filling));
        Some(programs)
    }

    /// The fill is over, or something else is to happen.
    #[inline]
    pub fn end_filling(&mut self) {
        if let Some(filling) = self.untimed.filling.take() {
            filling.end(self.store, self.nand);
        }
    }

    // ---- phases ----

    /// From now on each data plane first takes a number of pages of its own, below those of a block. Returns how many these are together; 0 under hybrid
    /// mapping, where pages have their places.
    pub fn begin_phases(mut self, random: &mut dyn FnMut() -> u64) -> u64 {
        if self.hybrid.is_some() {
            return 0;
        }
        self.end_filling();
        let phases = Phases::draw(random, &self.store.space, self.nand);
        let pages = phases.programs() * u64::from(self.store.space.settings.units_per_program());
        self.untimed.phases = Some(Box::new(phases));
        pages
    }

    /// Planes take turns again.
    pub fn end_phases(self) {
        self.untimed.phases = None;
    }

    // ---- pages ----

    /// Programs and commits a page at once, where an idle device would have put it: runs GC in its domain until there is a page, without a reservation.
    /// Panics if there is none to be had, which the configuration's capacity rule excludes. Returns its plane and its number;
    /// `collect_low` of the plane must follow when the content is noted. `cause` tells parities, which lie elsewhere in a fill as overwrites would have left it.
    // Always inlined, so that what this lends is not stored for each page of a fill.
    #[inline(always)]
    pub fn place<O: Observer>(
        &mut self,
        address: MemberPage,
        version: Version,
        keep_base: bool,
        cause: Cause,
        observer: &mut O,
    ) -> (u32, Ppn) {
        let (domain, slot) = (self.store.space.domain_of(address, version), self.store.maps.slot(address));
        if let Some(filling) = &mut self.untimed.filling
            && let Some(placed) = filling.place((domain, slot), version, cause, self.store, self.nand)
        {
            self.untimed.programmed += 1;
            return placed;
        }
        self.place_as_always((domain, slot), version, keep_base, observer)
    }

    fn place_as_always<O: Observer>(
        &mut self,
        (domain, slot): (u32, u32),
        version: Version,
        keep_base: bool,
        observer: &mut O,
    ) -> (u32, Ppn) {
        if self.hybrid.is_some() {
            self.merge_until_free(domain, slot, observer);
        } else {
            self.end_filling();
            while self.store.space.domains[domain as usize].free_pages <= self.store.space.domains[domain as usize].reserved {
                self.free_space(domain, observer);
            }
        }
        self.untimed.programmed += 1;
        let TakenPage { plane, ppn, .. } = self.take_page(domain, slot);
        self.name(version, slot, ppn, keep_base);
        (plane, ppn)
    }

    /// Reserves a page of hybrid mapping, after what merges that takes.
    fn merge_until_free<O: Observer>(&mut self, domain: u32, slot: u32, observer: &mut O) {
        loop {
            let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
            let gc = &*self.gc;
            let reserved = hybrid.reserve(slot, |plane| gc.is_collecting(plane), &mut self.store.space);
            let plane = self.store.space.domains[domain as usize].plane;
            match reserved {
                Reserved::Granted => return,
                Reserved::Full(spot) => _ = self.merging().start_for(plane, spot),
                Reserved::Dead => {}
            }
            assert!(self.gc.is_collecting(plane), "plane {plane} has no space and nothing to merge");
            self.untimed.victims += 1;
            self.untimed.programmed += self.merging().do_now(plane, observer);
        }
    }

    fn merging(&mut self) -> Merging<'_> {
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        Merging { hybrid, gc: self.gc, store: self.store, nand: self.nand }
    }

    /// Takes a page of the domain, which has one.
    #[inline]
    pub(crate) fn take_page(&mut self, domain: u32, slot: u32) -> TakenPage {
        let Store { space, memory, .. } = &mut *self.store;
        let is_open = memory.as_ref().is_some_and(|memory| memory.has_open_page(domain));
        let of_phase = self.untimed.phases.as_mut().filter(|_| !is_open).and_then(|phases| phases.advance(domain, space));
        if let Some(memory) = memory {
            return memory.take_page((domain, 0), of_phase, (Cause::Host, Priority::Host), self.gc.is_untimed, space, self.nand);
        }
        let plane = of_phase.unwrap_or_else(|| space.plane_in_turn(self.nand, domain));
        let ppn = match &mut self.hybrid {
            Some(hybrid) => hybrid.take_reserved(slot, space),
            None => space.take_host_page(self.nand, plane, WriteStream::HOST),
        };
        TakenPage { plane, ppn, closes: false }
    }

    /// The page is programmed, and is this version now.
    #[inline]
    fn name(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) {
        let block = self.store.space.shape.block_of(ppn);
        self.store.maps.label(ppn, version, slot);
        self.store.space.blocks.blocks[block].live += 1;
        // Nothing starts meanwhile.
        let _ = self.store.supersede(version, slot, ppn, keep_base);
        let _ = self.store.space.settle(block);
        if let Some(hybrid) = &mut self.hybrid
            && let Some(domain) = hybrid.page_settled(slot, ppn, &self.store.space)
        {
            hybrid.wake(domain, &mut self.store.space);
        }
    }

    /// The drive is switched off: all open flash pages are padded, and programmed.
    pub fn empty_memory(self) {
        if let Some(memory) = &mut self.store.memory {
            memory.empty(&mut self.store.space, self.nand);
        }
    }

    // ---- GC ----

    /// Collects one victim of the plane if it is below the threshold, as after a program into it.
    #[inline(always)]
    pub fn collect_low<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        if self.untimed.filling.is_some() {
            return; // nothing is garbage yet
        }
        let state = &self.store.space.blocks.planes[plane as usize];
        if state.free_pages < state.gc_pages || self.store.space.is_starved(plane) {
            self.collect(plane, observer);
        }
    }

    /// Work in no simulated time is over: collects in planes in which host programs would get no new block, as nothing else would start that
    /// before something there becomes garbage.
    pub fn relieve<O: Observer>(&mut self, observer: &mut O) {
        for plane in 0..self.store.space.planes() {
            while self.store.space.is_starved(plane) && self.collect(plane, observer) {}
        }
    }

    #[cold]
    fn free_space<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        let mut collected = false;
        for plane in 0..self.store.space.planes() {
            collected |= self.store.space.domain_of_plane(plane) == domain && self.collect(plane, observer);
        }
        assert!(collected, "domain {domain} has no space and nothing to collect");
    }

    /// Collects one victim of the plane at once, as a device would while nobody looks at the clock. Semivalid pages are
    /// moved, whatever the scheme. Returns whether there was a victim.
    fn collect<O: Observer>(&mut self, plane: u32, observer: &mut O) -> bool {
        let Some(victim) = self.victim(plane) else { return false };
        self.untimed.victims += 1;
        self.store.space.claim(plane, victim);
        self.gc.note_untimed_run(plane, victim, self.nand);
        let block = self.store.space.blocks.index(plane, victim);
        let mut ppn = self.store.space.shape.first_ppn(block);
        while self.store.space.blocks.blocks[block].live > 0 {
            if self.store.maps.live(ppn).is_some() {
                let page = if self.store.memory.is_some() {
                    self.gc.take_packed_page(plane, victim, self.store, self.nand)
                } else {
                    self.store.space.take_move_page(self.nand, plane, WriteStream::GC, self.store.faults.any, false)
                };
                let to = page.expect("nothing has failed yet");
                // Nothing starts meanwhile.
                let _ = self.gc.switch_moved(ppn, to, self.store, self.nand, observer);
                self.untimed.programmed += 1;
            }
            ppn.0 += 1;
        }
        self.gc.erased(plane, self.store, self.nand, observer);
        true
    }

    /// The block with the fewest live pages of the one that the policy chooses and those that are pinned, if any has garbage.
    fn victim(&mut self, plane: u32) -> Option<u16> {
        let space = &mut self.store.space;
        let best = space.victim(plane);
        let live = |number: u16| space.blocks.blocks[space.blocks.index(plane, number)].live;
        let blocks = best.into_iter().chain(space.victims.pinned(plane).iter().copied());
        blocks.filter(|number| live(*number) < space.shape.pages_per_block).min_by_key(|number| live(*number))
    }
}
