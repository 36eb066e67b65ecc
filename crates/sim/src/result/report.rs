//! The result as a whole.

use super::amplification::Programs;
use super::figures::{distributed, flash_ops, latency, ratio};
use super::parts::{
    failed_evictions, report_buffer, report_exposure, report_gc, report_guard, report_ldpc, report_mapping, report_rebuild,
    report_replacements, report_slc, report_suspensions,
};
use super::resources::Resources;
use super::types::{
    Bandwidth, Capacity, Drain, EngineCost, FailedRequests, Latencies, LatenciesAround, LatencySummaries, Lifetime, Losses, ParityUpdates,
    PerDataPage, Preconditioned, Requests, RunResult, SCHEMA, Workload,
};
use super::{Inconsistent, Snapshot, Source, times};
use crate::config::Overhead;
use crate::engine::{Around, Survey};
use crate::listing::Placed;
use crate::simulation::Simulation;
use crate::statistics::{KINDS, Latency, Statistics};
use crate::verify::Verification;
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_vocabulary::{Action, Cause};
use serde::Serialize;

impl Simulation {
    /// The result so far. `cost` and `source` come from who drives the simulation.
    pub fn result(&self, source: &Source, is_partial: bool, cost: Option<EngineCost>) -> Result<RunResult, Inconsistent> {
        let device = &self.survey();
        let (now, start, measured) = (Snapshot::of(device), &self.measured.start, &self.measured);
        let statistics = device.statistics;
        let completed: u64 = statistics.latency.iter().map(|latency| latency.count).sum();
        let unfinished = device.outstanding;
        self.check(device, &now, completed, unfinished, source.warmup_requests)?;
        times::check(device, &now, measured)?;
        let counts = now.counts_since(start);
        let page_bytes = u64::from(self.device.config.device.unit_bytes());
        let padded_units = (device.media.shape().units_per_program > 1).then(|| now.padded - start.padded);
        let programs = Programs::of(&counts, padded_units, statistics);
        let pages_written = statistics.bytes_written as f64 / page_bytes as f64;
        let data_pages = counts[Action::Program as usize][Cause::Host as usize] as f64;
        let per_page = |action: Action, cause: Cause| ratio(counts[action as usize][cause as usize] as f64, data_pages);
        let Resources { members, channels, links, host_side, dies, blocked_cv, blocked_chi_square, wear, programs_peak_to_mean } =
            self.report_resources(device, &now);
        let (capacity, bandwidth) = (self.report_capacity(device), self.report_throughput(device, completed));
        let cell = device.media.ssds()[0].settings.cell;
        Ok(RunResult {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            device: self.device.config.device.name.clone(),
            scheme: self.device.config.scheme.name.clone(),
            seed: self.device.config.run.seed,
            partial: is_partial,
            config: self.device.config.clone(),
            protects: self.device.config.array.protects(device.scheme),
            survives_failures: device.scheme.survives_failures(),
            survives: self.device.survival.clone(),
            window: device.exposure.map(|exposure| report_exposure(exposure, &now, measured.averaged_from())),
            placement: Placed::of(self.device.config.placement(device.scheme), device.media.shape().members),
            simulated_ns: now.now_ns - start.now_ns,
            workload: self.report_workload(source),
            lifetime: self.report_lifetime(&capacity, &bandwidth, programs.counted(), statistics.bytes_written, programs_peak_to_mean),
            capacity,
            requests: Requests {
                completed,
                failed: FailedRequests {
                    no_space: statistics.failed_no_space,
                    lost: statistics.failed_lost,
                    refused: statistics.failed_refused,
                },
                unfinished,
                unmapped_reads: statistics.unmapped_reads,
                prefilled_pages: statistics.prefilled_pages,
            },
            losses: self.losses(),
            latency_ns: latencies(statistics),
            flash_ops: flash_ops(&now.flash_counts_since(start)),
            flash_units: padded_units.map(|_| flash_ops(&counts)),
            padded_units,
            bandwidth,
            per_data_page: PerDataPage {
                pre_reads: per_page(Action::Read, Cause::PreRead),
                commit_reads: per_page(Action::Read, Cause::Commit),
                parity_programs: per_page(Action::Program, Cause::Parity),
                commit_programs: per_page(Action::Program, Cause::Commit),
            },
            collection: report_gc(&now, start, device.media),
            write_amplification: ratio(programs.counted() as f64, pages_written),
            write_amplification_by: programs.report(pages_written),
            pages_per_host_page: ratio(programs.counted() as f64, programs.data() as f64),
            parity_updates: report_parity_updates(&now.parity, &start.parity),
            members,
            channels,
            links,
            host_side,
            dies,
            blocked_cv,
            blocked_chi_square,
            wear,
            devices: self.report_ssds(device, &now),
            wear_outs: self.report_wear_outs(device),
            drive: self.device.drive.clone(),
            precondition: self.device.preconditioned.map(|reached| Preconditioned {
                overwritten_bytes: reached.overwritten_pages * page_bytes,
                write_amplification: reached.write_amplification,
                steady: reached.steady,
            }),
            buffer: match (now.buffer, start.buffer, device.buffer) {
                (Some(now), Some(start), Some(buffer)) => Some(report_buffer(now, start, buffer, &self.device.config)),
                _ => None,
            },
            suspensions: device.media.ssds().iter().any(|ssd| ssd.suspensions.is_some()).then(|| report_suspensions(&now, start)),
            slc: device.media.ssds().iter().any(|ssd| ssd.slc.is_some()).then(|| report_slc(&now, start)),
            ldpc: self.device.config.device.cells(0).ldpc().map(|_| report_ldpc(&now, start, device.read_errors)),
            mapping: match (now.translation, start.translation, device.translation) {
                (Some(now), Some(start), Some(translation)) => Some(report_mapping(now, start, translation.pages())),
                _ => None,
            },
            guard: match (&now.guard, &start.guard) {
                (Some(now), Some(start)) => Some(report_guard(now, start, cell)),
                _ => None,
            },
            faults: self.injector.injected.clone(),
            latency_around_rebuilds_ns: device.around.map(latencies_around),
            rebuild: device.rebuilds.iter().map(|rebuild| report_rebuild(rebuild, device.media.lost_versions(), page_bytes)).collect(),
            replacements: device.scheme.replacing().map(|replacing| report_replacements(device, replacing.migrated())),
            verify: self.device.config.run.verify.then(|| self.report_verification()),
            drain: None,
            engine: cost,
        })
    }

    fn report_workload(&self, source: &Source) -> Workload {
        let (measured, source) = (&self.measured, source.clone());
        let (load, backlog_growth) = (self.offered_load(), self.backlog_growth());
        let [reads, writes, trims, flushes] = measured.by_op;
        Workload {
            name: source.name,
            sha256: source.sha256,
            requests: measured.requests,
            reads,
            writes,
            trims,
            flushes,
            bytes_read: measured.bytes_read,
            bytes_written: measured.bytes_written,
            offered_load: load.map(|load| load.mean),
            busiest_load: load.map(|load| load.busiest),
            backlog_growth,
            overloaded: self.is_overloaded(load, backlog_growth),
            format: source.format,
            time_unit: source.time_unit,
            devices: source.devices,
            skipped: source.skipped,
            ignored: source.ignored,
            unsupported: source.unsupported,
            lost_events: source.lost_events,
            reissued: source.reissued,
            truncated: source.truncated,
            warnings: source.warnings,
            spread_tick_ns: source.spread_tick_ns,
            out_of_order: source.out_of_order,
            steps_back: source.steps_back,
            displaced: 0,
            filtered: source.filtered,
            unaligned: source.unaligned,
            wrapped: source.wrapped,
            compacted: source.compacted,
            left_out: source.left_out,
            warmup_requests: source.warmup_requests,
            passes: source.passes,
        }
    }

    fn report_capacity(&self, device: &Survey<'_>) -> Capacity {
        let (page_bytes, space) = (u64::from(self.device.config.device.unit_bytes()), device.media.usage());
        Capacity {
            raw_bytes: self.device.config.array.derived(&self.device.config.device).raw_bytes,
            share_of_preset: self.device.config.share_of_preset(),
            user_bytes: device.scheme.user_pages() * page_bytes,
            space_bytes: device.space.pages * page_bytes,
            filled_bytes: self.device.filled_pages * page_bytes,
            placed_pages: device.media.untimed().programs,
            live_pages: space.live_pages,
            effective_over_provisioning: ratio((space.pages - space.live_pages) as f64, space.pages as f64),
            usable_over_provisioning: ratio(space.usable_pages() as f64, space.pages as f64)
                .filter(|_| !self.device.config.device.mapping.is_hybrid()),
            overhead: Overhead::of(&self.device.config, device.scheme),
        }
    }

    /// The one definition of throughput: what was completed, over the time from the first measured arrival to the last completion. What goes on
    /// when the host has all its answers takes nothing away from it (SPEC 4.7).
    fn report_throughput(&self, device: &Survey<'_>, completed: u64) -> Bandwidth {
        let (last_ns, last_idle_ns) = device.last_completion;
        #[cfg(feature = "mutants")]
        let last_ns = if accounting::makes(Slip::BandwidthToEnd) { device.now_ns() } else { last_ns };
        let first = self.measured.first_arrival.as_ref().filter(|_| completed > 0);
        let (first_ns, first_idle_ns) = first.map_or((last_ns, last_idle_ns), |first| (first.now_ns, first.idle_ns));
        let span_ns = last_ns - first_ns;
        let busy_ns = span_ns - (last_idle_ns - first_idle_ns);
        let per_second = |amount: u64, time_ns: u64| ratio(amount as f64 * 1e9, time_ns as f64);
        let Statistics { bytes_read, bytes_written, .. } = *device.statistics;
        Bandwidth {
            span_ns,
            requests_per_second: per_second(completed, span_ns),
            read_bytes_per_second: per_second(bytes_read, span_ns),
            write_bytes_per_second: per_second(bytes_written, span_ns),
            busy_ns,
            busy_read_bytes_per_second: per_second(bytes_read, busy_ns),
            busy_write_bytes_per_second: per_second(bytes_written, busy_ns),
        }
    }

    /// How long the flash lasts if the load goes on. By programs, and not by erases: in the long run every page that is programmed is erased once, and
    /// a run that has just begun to fill its blocks has erased few of them.
    fn report_lifetime(
        &self,
        capacity: &Capacity,
        bandwidth: &Bandwidth,
        programs: u64,
        bytes_written: u64,
        programs_peak_to_mean: Option<f64>,
    ) -> Lifetime {
        const DAY_NS: f64 = 86400e9;
        const DAYS_OF_A_YEAR: f64 = 365.0;
        let members = self.device.config.array.each(&self.device.config.device).into_iter().take(self.device.config.array.devices as usize);
        let limits = members.map(|ssd| u64::from(ssd.pe_limit));
        let pe_cycles = limits.filter(|limit| *limit > 0).min();
        let programmed = (programs * u64::from(self.device.config.device.unit_bytes())) as f64;
        let cycles = programmed / capacity.raw_bytes as f64;
        let drive_writes = bytes_written as f64 / capacity.user_bytes as f64;
        let pe_cycles_per_day = ratio(cycles * DAY_NS, bandwidth.span_ns as f64);
        let full_drive_writes_per_1000_cycles = ratio(1000.0 * drive_writes, cycles).filter(|_| bytes_written > 0);
        let years_per_1000_cycles = pe_cycles_per_day.and_then(|cycles| ratio(1000.0, cycles * DAYS_OF_A_YEAR));
        let of_limit = |per_1000: Option<f64>| per_1000.zip(pe_cycles).map(|(per_1000, cycles)| per_1000 * cycles as f64 / 1000.0);
        Lifetime {
            pe_cycles,
            pe_cycles_per_day,
            full_drive_writes_per_1000_cycles,
            years_per_1000_cycles,
            full_drive_writes: of_limit(full_drive_writes_per_1000_cycles),
            years: of_limit(years_per_1000_cycles),
            programs_peak_to_mean,
        }
    }

    /// Adds the cost of a drain to the result, and what it found lost and could not write.
    pub(crate) fn report_drain(&self, result: &mut RunResult, drain: Drain) {
        let device = self.survey();
        let programs = drain.flash_ops.programs.total * u64::from(self.device.config.device.page_bytes);
        result.write_amplification_by.drain = Some(ratio(programs as f64, device.statistics.bytes_written as f64));
        result.losses = self.losses();
        if let (Some(buffer), Some(start), Some(figures)) = (device.buffer, self.measured.start.buffer, &mut result.buffer) {
            figures.failed_evictions = failed_evictions(buffer.counts, start);
        }
        result.drain = Some(drain);
    }

    /// What verification found so far.
    pub(crate) fn report_verification(&self) -> Verification {
        let (reads_checked, mismatches) = self.device.engine.compared();
        self.checks.report(reads_checked, mismatches)
    }

    /// What failures have taken for good by now, and what the data buffer could not write.
    fn losses(&self) -> Losses {
        Losses { host_pages: self.device.engine.count_lost_pages(), pages_not_rebuilt: self.survey().media.lost_versions() }
    }
}

fn latencies(statistics: &Statistics) -> Latencies {
    let [read, write, trim, flush] = statistics.latency.each_ref().map(distributed);
    Latencies { all: distributed(&statistics.all()), read, write, trim, flush }
}

fn latencies_around(Around { before, during, after, .. }: &Around) -> LatenciesAround {
    let of = |latencies: &[Latency; KINDS.len()]| {
        let [read, write, trim, flush] = latencies.each_ref().map(latency);
        let mut all = Latency::default();
        latencies.iter().for_each(|latency| all.merge(latency));
        LatencySummaries { all: latency(&all), read, write, trim, flush }
    };
    LatenciesAround { before: of(before), during: of(during), after: of(after) }
}

fn report_parity_updates(now: &flashraid_redundancy::ParityUpdates, start: &flashraid_redundancy::ParityUpdates) -> ParityUpdates {
    ParityUpdates {
        full_stripe: now.full_stripe - start.full_stripe,
        rmw: now.rmw - start.rmw,
        rcw: now.rcw - start.rcw,
        mirrored: now.mirrored - start.mirrored,
        deferred: now.deferred - start.deferred,
        committed: now.committed - start.committed,
        adjusted: now.adjusted - start.adjusted,
    }
}

/// JSON in one text, as it is printed and stored: one member a line, ending in a line feed.
pub fn text(result: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(result).expect("numbers, strings, arrays and objects");
    text.push('\n');
    text
}
