//! What an SSD keeps when it is switched off in order, with nothing in flight: its maps, the state and the wear of its blocks, and whose turn it is.
//! The time begins anew when it is switched on, and none has passed meanwhile.

use crate::counts::{ERASE, action_index};
use crate::{Flash, GcUnderWay};
use flashraid_vocabulary::{Action, Cause, Persistent};
use std::io::{self, Read, Write};

/// The longest time since a program that is told apart.
const LONGEST_NS: u64 = i64::MAX as u64;

impl Flash {
    /// Whether anything is in flight.
    pub fn is_at_work(&self) -> bool {
        !self.is_at_rest()
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
        let of = |action: usize| self.units[unit as usize].operations[action][Cause::Gc as usize];
        [moves + of(action_index(Action::Program)), erases + of(ERASE)]
    }

    /// How long ago these times are.
    fn since(&self, times_ns: &[u64]) -> Vec<u64> {
        times_ns.iter().map(|time_ns| self.now_ns.wrapping_sub(*time_ns).min(LONGEST_NS)).collect()
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
        self.domains[..].save(to)?;
        self.channels[..].save(to)?;
        self.units[..].save(to)?;
        // What GC cost so far is what it is expected to cost.
        (0..self.units.len() as u32).map(|unit| self.gc_so_far(unit)).collect::<Vec<_>>()[..].save(to)?;
        self.cold[..].save(to)?;
        self.held[..].save(to)?;
        self.faults.save(to)?;
        self.hybrid.iter().try_for_each(|hybrid| hybrid.save(to))?;
        if let Some(levels) = &self.levels {
            levels.reads[..].save(to)?;
            self.since(&levels.written_ns)[..].save(to)?;
        }
        Ok(())
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let Self {
            maps,
            blocks,
            victims,
            domains,
            channels,
            units,
            cold,
            held,
            health,
            faults,
            hybrid,
            levels,
            gc_before,
            // What was done in no simulated time, which results count since the drive was new.
            programmed_now,
            victims_now,
            // What is made of the configuration.
            settings: _,
            static_planes: _,
            members: _,
            units_per_channel: _,
            planes_per_unit: _,
            pages_per_block: _,
            per_block: _,
            per_plane: _,
            sites: _,
            translation_domains: _,
            preset_erases: _,
            // Work and time.
            now_ns: _,
            pools: _,
            events: _,
            records: _,
            free_records: _,
            pooled: _,
            pooled_channels: _,
            pooled_for_replacements: _,
            gc_runs: _,
            completions: _,
            started: _,
            lists_started: _,
            freed: _,
            gc_queries: _,
            map_events: _,
            untimed: _,
            loads: _,
            others_have_events: _,
            migrations: _,
            filling: _,
            phases: _,
            // Statistics and records.
            collected: _,
            completed_requests: _,
            records_slices: _,
            slices: _,
            records_done: _,
            done: _,
            begun_before: _,
            counts: _,
            #[cfg(feature = "mutants")]
                mutant: _,
        } = self;
        health.restore(from)?;
        programmed_now.restore(from)?;
        victims_now.restore(from)?;
        maps.restore(from)?;
        blocks.restore(from)?;
        victims.restore(from)?;
        domains[..].restore(from)?;
        channels[..].restore(from)?;
        units[..].restore(from)?;
        gc_before[..].restore(from)?;
        cold[..].restore(from)?;
        held[..].restore(from)?;
        faults.restore(from)?;
        hybrid.iter_mut().try_for_each(|hybrid| hybrid.restore(from))?;
        if let Some(levels) = levels {
            levels.reads[..].restore(from)?;
            levels.written_ns[..].restore(from)?;
            // Time begins anew.
            levels.written_ns.iter_mut().for_each(|time_ns| *time_ns = time_ns.wrapping_neg());
        }
        Ok(())
    }
}
