//! The SSDs of an array, and those that were worn out.

use super::figures::{flash_ops, ratio};
use super::measured::Snapshot;
use super::types::{Ssd, SsdState, WearOut};
use crate::engine::Survey;
use crate::media::{Counts, SsdRecord};
use crate::simulation::Simulation;
use flashraid_vocabulary::Health;
use std::iter::once;

impl Simulation {
    /// Each SSD of an array; none of a single one.
    pub(super) fn report_ssds(&self, device: &Survey<'_>, now: &Snapshot) -> Option<Vec<Ssd>> {
        let (media, start, averaged_from) = (device.media, &self.measured.start, self.measured.averaged_from());
        let ssds = media.ssds();
        let ends = ssds.iter().scan(0, |end, ssd| {
            *end += ssd.luns;
            Some(*end)
        });
        let firsts = once(0).chain(ends);
        let report = |(number, (ssd, first)): (usize, (&SsdRecord<'_>, usize))| {
            let luns = first..first + ssd.luns;
            let counts = |snapshot: &Snapshot, action: usize, cause: usize| {
                snapshot.flash_luns[luns.clone()].iter().map(|of| of[action][cause]).sum::<u64>()
            };
            let ops: Counts =
                std::array::from_fn(|action| std::array::from_fn(|cause| counts(now, action, cause) - counts(start, action, cause)));
            let busy_ns = |snapshot: &Snapshot| snapshot.lun_busy_ns[luns.clone()].iter().flatten().map(|ns| u128::from(*ns)).sum::<u128>();
            let settings = ssd.settings;
            let luns = ssd.luns as u32 / settings.chips_per_channel() * settings.geometry.chips_per_channel;
            let averaged_ns = (now.now_ns - averaged_from.now_ns) as f64;
            let blocks = media.erase_counts_of(number).count() as u64;
            Ssd {
                number: number as u32,
                member: ssd.member,
                state: state(ssd),
                age: ssd.age,
                total_erases: ssd.total_erases,
                preset_erases: blocks * u64::from(ssd.preset_erases),
                erase_mean: ssd.total_erases as f64 / blocks as f64,
                free_blocks: ssd.free_blocks,
                busy_fraction: ratio((busy_ns(now) - busy_ns(averaged_from)) as f64, f64::from(luns) * averaged_ns),
                flash_ops: flash_ops(&ops),
            }
        };
        (!self.device.config.array.is_single()).then(|| ssds.iter().zip(firsts).enumerate().map(report).collect())
    }

    /// Each SSD that was worn out; none without a limit that it could reach.
    pub(super) fn report_wear_outs(&self, device: &Survey<'_>) -> Option<Vec<WearOut>> {
        let records = device.wear_outs;
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
fn state(ssd: &SsdRecord<'_>) -> SsdState {
    match (ssd.member, ssd.health) {
        _ if !ssd.is_alive => SsdState::Failed,
        (_, Health::Disabled) => SsdState::Disabled,
        (_, Health::ReadOnly) => SsdState::ReadOnly,
        (None, Health::ReadWrite) => SsdState::Spare,
        (Some(_), Health::ReadWrite) => SsdState::ReadWrite,
    }
}
