//! What an SSD keeps when it is switched off in order, with nothing in flight: its maps, the state and the wear of its blocks, and whose turn it is.
//! The time begins anew when it is switched on, and none has passed meanwhile.

use crate::mapping::space::Domain;
use crate::{Flash, GcUnderWay};
use flashraid_nand::{ERASE, Nand, action_index};
use flashraid_vocabulary::{Action, Cause, Persistent, persistent};
use std::io::{self, Read, Write};

impl Flash {
    /// Whether anything is in flight.
    pub fn is_at_work(&self) -> bool {
        !self.nand.is_at_rest()
            || self.gc_runs_under_way() != GcUnderWay::default()
            || self.filling.is_some()
            || self.domains.iter().any(|domain| domain.reserved != 0)
    }

    /// Why what is kept of it would not be all, if that is so: of what may have failed, blocks and pages are known from it alone.
    pub fn failed_parts(&self) -> Option<&'static str> {
        if self.is_worn_out() {
            Some("an SSD is worn out")
        } else if self.uses_spares() || self.blocks.planes.iter().any(|plane| plane.dead) {
            Some("a part of an SSD has failed")
        } else if !self.faults.armed.is_empty() {
            Some("a program or erase is still to fail")
        } else {
            None
        }
    }

    /// Pages that GC has moved to a unit, and erases of GC, since the device was new.
    pub(crate) fn gc_so_far(&self, unit: u32) -> [u64; 2] {
        let [moves, erases] = self.gc_before[unit as usize];
        let of = |action: usize| self.nand.units()[unit as usize].operations[action][Cause::Gc as usize];
        [moves + of(action_index(Action::Program)), erases + of(ERASE)]
    }
}

/// Of a space domain, what is kept.
#[derive(Clone, Debug, Default)]
struct KeptDomain {
    free_pages: i64,
    living_planes: u32,
    next_channel: u32,
    fill_turn: (u32, u32, u32),
}

// Nothing is reserved, and spare chips and what they replace are not saved.
persistent!(KeptDomain { keeps [free_pages, living_planes, next_channel, fill_turn], });

fn keep(domains: &[Domain], nand: &Nand) -> Vec<KeptDomain> {
    let kept = |(id, domain): (u32, &Domain)| {
        let Domain { free_pages, living_planes, fill_turn, reserved: _, plane: _ } = *domain;
        KeptDomain { free_pages, living_planes, next_channel: nand.takers(id).next_channel, fill_turn }
    };
    (0..).zip(domains).map(kept).collect()
}

fn put_back(kept: &[KeptDomain], domains: &mut [Domain], nand: &mut Nand) {
    for ((id, domain), kept) in (0..).zip(domains).zip(kept) {
        (domain.free_pages, domain.living_planes, domain.fill_turn) = (kept.free_pages, kept.living_planes, kept.fill_turn);
        nand.takers_mut(id).next_channel = kept.next_channel;
    }
}

impl Persistent for Flash {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        debug_assert!(!self.is_at_work());
        self.health.save(to)?;
        self.programmed_now.save(to)?;
        self.victims_now.save(to)?;
        self.maps.save(to)?;
        self.blocks.save(to)?;
        self.victims.save(to)?;
        keep(&self.domains, &self.nand)[..].save(to)?;
        self.nand.save(to)?;
        // What GC cost so far is what it is expected to cost.
        (0..self.shape.units()).map(|unit| self.gc_so_far(unit)).collect::<Vec<_>>()[..].save(to)?;
        self.cold[..].save(to)?;
        self.held[..].save(to)?;
        self.faults.save(to)?;
        self.hybrid.iter().try_for_each(|hybrid| hybrid.save(to))?;
        self.nand.levels().into_iter().try_for_each(|levels| levels.save(self.nand.now_ns(), to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self {
            maps,
            blocks,
            victims,
            domains,
            nand,
            cold,
            held,
            health,
            faults,
            hybrid,
            gc_before,
            // What was done in no simulated time, which results count since the drive was new.
            programmed_now,
            victims_now,
            // What is made of the configuration.
            settings: _,
            shape: _,
            members: _,
            static_planes: _,
            domain_of_plane: _,
            translation_domains: _,
            preset_erases: _,
            // Work.
            gc_runs: _,
            freed: _,
            gc_queries: _,
            map_events: _,
            untimed: _,
            migrations: _,
            filling: _,
            phases: _,
            // Statistics.
            collected: _,
        } = self;
        health.restore(from)?;
        programmed_now.restore(from)?;
        victims_now.restore(from)?;
        maps.restore(from)?;
        blocks.restore(from)?;
        victims.restore(from)?;
        let mut kept = keep(domains, nand);
        kept[..].restore(from)?;
        put_back(&kept, domains, nand);
        nand.restore(from)?;
        gc_before[..].restore(from)?;
        cold[..].restore(from)?;
        held[..].restore(from)?;
        faults.restore(from)?;
        hybrid.iter_mut().try_for_each(|hybrid| hybrid.restore(from))?;
        nand.levels_mut().into_iter().try_for_each(|levels| levels.restore(from))
    }
}
