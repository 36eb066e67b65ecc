//! Work in no simulated time: fill, precondition, and pages that are there on first touch. Everything is programmed, moved and erased at once, where an idle
//! device would have put it.

use crate::gc::state::Gc;
use crate::mapping::filling::Filling;
use crate::mapping::phases::Phases;
use crate::memory;
use crate::{Flash, Placement};
use flashraid_nand::DATA;
use flashraid_vocabulary::{Cause, MemberPage, Observer, Ppn, Priority, Version, persistent};

/// Whether work is done in no simulated time, and how far it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Untimed {
    /// Nothing starts GC by itself.
    pub(crate) is_on: bool,
    /// Pages programmed so far, moves included.
    pub(crate) programmed: u64,
    /// Victims collected so far.
    pub(crate) victims: u64,
    /// The fill, while it is under way.
    pub(crate) filling: Option<Box<Filling>>,
    /// Pages that planes take before time begins.
    pub(crate) phases: Option<Box<Phases>>,
}

persistent!(Untimed {
    // Results count it since the drive was new.
    keeps [programmed, victims],
    anew [is_on, filling, phases],
});

impl Flash {
    /// While set, nothing starts GC by itself: untimed work calls `collect_now`. When it is over no flash page is open, as on a drive that was switched off.
    pub fn set_untimed(&mut self, untimed: bool) {
        self.end_filling();
        if !untimed {
            memory::empty(self);
        }
        self.untimed.is_on = untimed;
        if self.settings.collects_when_idle() {
            self.collect_when_idle();
        }
    }

    /// Victims collected in no simulated time so far.
    pub fn victims_collected_now(&self) -> u64 {
        self.untimed.victims
    }

    /// Pages programmed in no simulated time so far, moves included.
    pub fn pages_programmed_now(&self) -> u64 {
        self.untimed.programmed
    }

    // ---- pages ----

    /// Programs and commits a page at once, where an idle device would have put it. Takes a reserved page of its domain (`reserve`).
    pub fn place(&mut self, address: MemberPage, version: Version) -> Ppn {
        let domain = self.space.domain_of(address, version);
        self.space.domains[domain as usize].reserved -= 1;
        let (plane, ppn) = self.place_in(domain, address, version, false);
        if self.space.blocks.host_pages(plane) == 0 {
            self.collect_if_starved(plane);
        }
        ppn
    }

    /// Programs and commits a page at once, as `place` but without a reservation: runs GC in its domain until there is a page.
    /// Panics if there is none to be had, which the configuration's capacity rule excludes. Returns its plane and its number;
    /// `collect_low_now` of the plane must follow when the content is noted.
    #[inline]
    pub fn place_untimed<O: Observer>(&mut self, address: MemberPage, version: Version, keep_base: bool, observer: &mut O) -> (u32, Ppn) {
        let domain = self.space.domain_of(address, version);
        if self.hybrid.is_some() {
            return self.place_merging(domain, address, version, keep_base, observer);
        }
        if self.untimed.filling.is_some() {
            if let Some(placed) = self.place_filling(domain, address, version) {
                self.untimed.programmed += 1;
                return placed;
            }
            self.end_filling();
        }
        while self.space.domains[domain as usize].free_pages <= self.space.domains[domain as usize].reserved {
            self.free_space_now(domain, observer);
        }
        self.untimed.programmed += 1;
        self.place_in(domain, address, version, keep_base)
    }

    /// Programs and commits a page at once (`place_untimed`), after what merges that takes.
    fn place_merging<O: Observer>(
        &mut self,
        domain: u32,
        address: MemberPage,
        version: Version,
        keep_base: bool,
        observer: &mut O,
    ) -> (u32, Ppn) {
        while !self.reserve_page(self.slot(address)) {
            let plane = self.space.domains[domain as usize].plane;
            assert!(self.is_collecting(plane), "plane {plane} has no space and nothing to merge");
            self.merge_now(plane, observer);
        }
        self.untimed.programmed += 1;
        self.place_in(domain, address, version, keep_base)
    }

    /// Programs and commits a page at once; the domain has one that is not reserved. Returns its plane and its number.
    #[inline]
    fn place_in(&mut self, domain: u32, address: MemberPage, version: Version, keep_base: bool) -> (u32, Ppn) {
        let slot = self.slot(address);
        let (plane, ppn) = if self.memory.is_some() {
            memory::take_page(self, domain, Cause::Host, Priority::Host)
        } else {
            let of_phase = if self.untimed.phases.is_some() { self.advance_phase(domain) } else { None };
            let plane = match (of_phase, self.settings.placement) {
                (Some(plane), _) => plane,
                (None, Placement::Static | Placement::Blocks) if self.nand.takers(domain).kind == DATA => {
                    self.space.domains[domain as usize].plane
                }
                _ => self.space.next_plane(&self.nand, domain),
            };
            let is_hybrid = self.hybrid.is_some();
            (plane, if is_hybrid { self.take_reserved(slot) } else { self.space.take_host_page(&mut self.nand, plane) })
        };
        self.maps.label(ppn, version, slot);
        self.name(version, slot, ppn, keep_base);
        (plane, ppn)
    }

    // ---- GC ----

    /// Collects one victim of the plane if it is below the threshold, as after a program into it.
    #[inline]
    pub fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        if self.untimed.filling.is_some() {
            return; // nothing is garbage yet
        }
        let state = &self.space.blocks.planes[plane as usize];
        if state.free_pages < state.gc_pages || state.free_blocks < self.settings.given.gc_reserve_blocks {
            self.collect_now(plane, observer);
        }
    }

    /// Work in no simulated time is over: collects in planes in which host programs would get no new block, as nothing else would start that
    /// before something there becomes garbage.
    pub fn relieve_now<O: Observer>(&mut self, observer: &mut O) {
        for plane in 0..self.gc.runs.len() as u32 {
            while self.space.blocks.planes[plane as usize].free_blocks < self.settings.given.gc_reserve_blocks
                && self.collect_now(plane, observer)
            {}
        }
    }

    #[cold]
    fn free_space_now<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        let planes = 0..self.gc.runs.len() as u32;
        let mut collected = false;
        for plane in planes {
            collected |= self.space.domain_of_plane(plane) == domain && self.collect_now(plane, observer);
        }
        assert!(collected, "domain {domain} has no space and nothing to collect");
    }

    /// Collects one victim of the plane at once, as a device would while nobody looks at the clock. Semivalid pages are
    /// moved, whatever the scheme. Returns whether there was a victim.
    fn collect_now<O: Observer>(&mut self, plane: u32, observer: &mut O) -> bool {
        let best = self.space.victim(plane);
        let live = |number: u16| u32::from(self.space.blocks.blocks[self.space.blocks.index(plane, number)].live);
        let blocks = best.into_iter().chain(self.space.victims.pinned(plane).iter().copied());
        let Some(victim) = blocks.filter(|number| live(*number) < self.shape.pages_per_block).min_by_key(|number| live(*number)) else {
            return false;
        };
        self.untimed.victims += 1;
        self.space.claim(plane, victim);
        self.load_of_plane(plane).gc_runs += 1;
        self.gc.runs[plane as usize] = Gc { victim, ..Gc::IDLE };
        let block = self.space.blocks.index(plane, victim);
        let mut ppn = self.shape.first_ppn(block);
        while self.space.blocks.blocks[block].live > 0 {
            if self.maps.live(ppn).is_some() {
                let page = if self.memory.is_some() {
                    memory::take_page_of_gc(self, plane).map(|(ppn, _)| ppn)
                } else {
                    self.take_move_page(plane)
                };
                let to = page.expect("nothing has failed yet");
                self.switch_moved(ppn, to, observer);
                self.untimed.programmed += 1;
            }
            ppn.0 += 1;
        }
        self.erased(plane, observer);
        true
    }

    /// Does the merge that was begun at once. There must be no semivalid page in its way.
    fn merge_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        self.untimed.victims += 1;
        self.merge_mut(plane).begun = true;
        loop {
            while self.merge(plane).current < self.merge(plane).logicals.len() {
                self.prepare_logical(plane);
                while let Some(from) = self.next_copy(plane) {
                    let to = self.merge_page(plane);
                    self.switch_moved(from, to, observer);
                    self.untimed.programmed += 1;
                }
                self.logical_merged(plane);
                self.erase_now(plane, observer);
            }
            if !self.merge(plane).keeps_log {
                break;
            }
            self.give_log(plane);
            self.erase_now(plane, observer);
        }
        self.end_merge(plane);
    }

    fn erase_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        while !self.merge(plane).erase.is_empty() {
            self.erased_block(plane, observer);
        }
    }
}
