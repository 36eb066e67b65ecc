//! The SSDs of an array, and those that were worn out.

use super::figures::{flash_ops, ratio};
use super::measured::Snapshot;
use super::types::{Ssd, SsdState, WearOut};
use crate::engine::Engine;
use crate::engine::content::Content;
use crate::media::{Counts, Flash, Media};
use crate::simulation::Simulation;
use flashraid_vocabulary::{Health, MemberId};
use std::iter::once;

impl Simulation {
    /// Each SSD of an array; none of a single one.
    pub(super) fn report_ssds<C: Content, M: Media>(&self, engine: &Engine<C, M>, now: &Snapshot) -> Option<Vec<Ssd>> {
        let (media, start, averaged_from) = (&engine.media, &self.measured.start, self.measured.averaged_from());
        let ends = media.ssds().iter().scan(0, |end, flash| {
            *end += flash.nand().units().len();
            Some(*end)
        });
        let firsts = once(0).chain(ends);
        let report = |(number, (flash, first)): (usize, (&Flash, usize))| {
            let units = first..first + flash.nand().units().len();
            let counts = |snapshot: &Snapshot, action: usize, cause: usize| {
                snapshot.units[units.clone()].iter().map(|of| of[action][cause]).sum::<u64>()
            };
            let ops: Counts =
                std::array::from_fn(|action| std::array::from_fn(|cause| counts(now, action, cause) - counts(start, action, cause)));
            let busy_ns =
                |snapshot: &Snapshot| snapshot.unit_busy_ns[units.clone()].iter().flatten().map(|ns| u128::from(*ns)).sum::<u128>();
            let settings = flash.settings();
            let luns = flash.nand().units().len() as u32 / settings.chips_per_channel() * settings.geometry.chips_per_channel;
            let averaged_ns = (now.now_ns - averaged_from.now_ns) as f64;
            let blocks = flash.space().erase_counts().count() as u64;
            Ssd {
                number: number as u32,
                member: media.member_in(number, 0),
                state: state(media, number),
                age: flash.space().age(),
                total_erases: flash.space().total_erases(),
                preset_erases: blocks * u64::from(flash.space().preset_erases()),
                erase_mean: flash.space().total_erases() as f64 / blocks as f64,
                free_blocks: flash.free_blocks(0),
                busy_fraction: ratio((busy_ns(now) - busy_ns(averaged_from)) as f64, f64::from(luns) * averaged_ns),
                flash_ops: flash_ops(&ops),
            }
        };
        (!self.device.config.array.is_single()).then(|| media.ssds().iter().zip(firsts).enumerate().map(report).collect())
    }

    /// Each SSD that was worn out; none without a limit that it could reach.
    pub(super) fn report_wear_outs<C: Content, M: Media>(&self, engine: &Engine<C, M>) -> Option<Vec<WearOut>> {
        let records = engine.wear_outs();
        let befores = once(None).chain(records.iter().map(Some));
        let wear_outs = records.iter().zip(befores).map(|(record, before)| WearOut {
            at_ns: record.at_ns,
            device: record.device,
            since_previous_ns: before.map(|before| record.at_ns - before.at_ns),
            exposed_pages: record.exposed_pages,
            pages_lost: record.pages_lost,
        });
        let config = &self.device.config;
        (!config.array.is_single() || config.device.pe_limit > 0).then(|| wear_outs.collect())
    }
}

/// What an SSD is now.
fn state(media: &impl Media, ssd: usize) -> SsdState {
    let flash = &media.ssds()[ssd];
    match (media.member_in(ssd, 0), flash.health()) {
        _ if !flash.is_alive(MemberId(0)) => SsdState::Failed,
        (_, Health::Disabled) => SsdState::Disabled,
        (_, Health::ReadOnly) => SsdState::ReadOnly,
        (None, Health::ReadWrite) => SsdState::Spare,
        (Some(_), Health::ReadWrite) => SsdState::ReadWrite,
    }
}
