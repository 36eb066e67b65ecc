//! The result as a whole.

use super::amplification::Programs;
use super::figures::{flash_ops, latency, ratio};
use super::parts::{failed_evictions, losses, report_buffer, report_exposure, report_gc, report_guard, report_mapping, report_rebuild};
use super::{Inconsistent, Snapshot, Source, times};
use crate::config::Overhead;
use crate::engine::Engine;
use crate::engine::content::Content;
use crate::listing::Placed;
use crate::simulation::{AnyEngine, Simulation, with_engine};
use crate::statistics::{KINDS, Statistics};
#[cfg(feature = "mutants")]
use flashraid_flash::accounting::{self, Slip};
use flashraid_vocabulary::{Action, Cause};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Version of the result's form.
pub const SCHEMA: u32 = 1;

/// What the machine needed; the only part of a result that may differ between equal runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EngineCost {
    /// From opening the trace to the finished result, without fill and precondition.
    pub wall_seconds: f64,
    /// Building, filling and preconditioning the device.
    pub fill_seconds: f64,
    /// Requests for each second of `wall_seconds`.
    pub host_requests_per_second: f64,
    /// Page operations started for each second of `wall_seconds`.
    pub flash_ops_per_second: f64,
    /// Most memory that the process ever had resident.
    pub peak_rss_bytes: u64,
}

impl Simulation {
    /// The result so far. `cost` and `source` come from who drives the simulation.
    pub fn result(&self, source: &Source, is_partial: bool, cost: Option<EngineCost>) -> Result<Value, Inconsistent> {
        with_engine!(&self.engine, engine => self.report(engine, source, is_partial, cost))
    }

    fn report<C: Content>(
        &self,
        engine: &Engine<C>,
        source: &Source,
        is_partial: bool,
        cost: Option<EngineCost>,
    ) -> Result<Value, Inconsistent> {
        let (now, start, measured) = (Snapshot::of(engine), &self.measured.start, &self.measured);
        let statistics = &engine.statistics;
        let completed: u64 = statistics.latency.iter().map(|latency| latency.count).sum();
        let unfinished = engine.outstanding();
        self.check(engine, &now, completed, unfinished, source.warmup_requests)?;
        times::check(engine, &now, measured)?;
        let counts = now.counts_since(start);
        let page_bytes = u64::from(self.config.device.page_bytes);
        let programs = Programs::of(&counts, statistics);
        let pages_written = statistics.bytes_written as f64 / page_bytes as f64;
        let duration_ns = now.now_ns - start.now_ns;
        let data_pages = counts[Action::Program as usize][Cause::Host as usize] as f64;
        let per_page = |action: Action, cause: Cause| ratio(counts[action as usize][cause as usize] as f64, data_pages);
        let (parity, load) = (now.parity, self.offered_load());
        let space = engine.media.space();
        let overhead = Overhead::of(&self.config.device, engine.scheme());
        let mut object = json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "device": self.config.device.name,
            "scheme": self.config.scheme.name,
            "seed": self.config.run.seed,
            "partial": is_partial,
            "config": self.config,
            "protects": engine.scheme().protects().name(),
            "survives": self.survival,
            "window": engine.exposure().map(|exposure| report_exposure(exposure, &now, measured.averaged_from())),
            "placement": Placed::of(engine.media.settings().placement, engine.media.settings().members()),
            "simulated_ns": duration_ns,
            "workload": {
                "name": source.name,
                "sha256": source.sha256,
                "requests": measured.requests,
                "reads": measured.by_op[0],
                "writes": measured.by_op[1],
                "trims": measured.by_op[2],
                "flushes": measured.by_op[3],
                "bytes_read": measured.bytes_read,
                "bytes_written": measured.bytes_written,
                "offered_load": load.map(|load| load.mean),
                "busiest_load": load.map(|load| load.busiest),
                "format": source.format,
                "time_unit": source.time_unit,
                "devices": source.devices,
                "skipped": source.skipped,
                "ignored": source.ignored,
                "out_of_order": source.out_of_order,
                "displaced": source.displaced,
                "filtered": source.filtered,
                "unaligned": source.unaligned,
                "wrapped": source.wrapped,
                "compacted": source.compacted,
                "left_out": source.left_out,
                "warmup_requests": source.warmup_requests,
            },
            "capacity": {
                "raw_bytes": engine.media.geometry().raw_bytes(),
                "user_bytes": engine.scheme().user_pages() * page_bytes,
                "space_bytes": engine.space_pages() * page_bytes,
                "filled_bytes": self.filled_pages * page_bytes,
                "placed_pages": engine.media.pages_programmed_now(),
                "live_pages": space.live_pages,
                "effective_over_provisioning": ratio((space.pages - space.live_pages) as f64, space.pages as f64),
                "redundancy_bytes": overhead.redundancy_bytes,
                "redundancy_share": overhead.redundancy_share,
                "raw_per_user_byte": overhead.raw_per_user_byte,
                "table_bytes": overhead.table_bytes,
                "tables": overhead.tables,
                "nvram_bytes": overhead.nvram_bytes,
                "nvram": overhead.nvram,
            },
            "requests": {
                "completed": completed,
                "failed": { "no_space": statistics.failed_no_space, "lost": statistics.failed_lost },
                "unfinished": unfinished,
                "unmapped_reads": statistics.unmapped_reads,
                "prefilled_pages": statistics.prefilled_pages,
            },
            "losses": losses(engine),
            "latency_ns": self.latencies(statistics),
            "flash_ops": flash_ops(&counts),
            "bandwidth": self.report_throughput(engine, completed),
            "per_data_page": {
                "pre_reads": per_page(Action::Read, Cause::PreRead),
                "commit_reads": per_page(Action::Read, Cause::Commit),
                "parity_programs": per_page(Action::Program, Cause::Parity),
                "commit_programs": per_page(Action::Program, Cause::Commit),
            },
            "collection": report_gc(&now.collected, &start.collected, &counts, engine.media.settings().cell),
            "write_amplification": ratio(programs.counted() as f64, pages_written),
            "write_amplification_by": programs.report(pages_written),
            "pages_per_host_page": ratio(programs.counted() as f64, programs.data() as f64),
            "parity_updates": {
                "full_stripe": parity.full_stripe - start.parity.full_stripe,
                "rmw": parity.rmw - start.parity.rmw,
                "rcw": parity.rcw - start.parity.rcw,
                "mirrored": parity.mirrored - start.parity.mirrored,
                "deferred": parity.deferred - start.parity.deferred,
                "committed": parity.committed - start.parity.committed,
                "adjusted": parity.adjusted - start.parity.adjusted,
            },
        });
        let more = object.as_object_mut().expect("an object");
        self.report_resources(engine, &now, more);
        if let Some(reached) = self.preconditioned {
            more.insert(
                "precondition".into(),
                json!({
                    "overwritten_bytes": reached.overwritten_pages * page_bytes,
                    "write_amplification": reached.write_amplification,
                    "steady": reached.steady,
                }),
            );
        }
        if let (Some(now), Some(start), Some(buffer)) = (now.buffer, start.buffer, engine.buffer()) {
            more.insert("buffer".into(), report_buffer(now, start, buffer));
        }
        if let (Some(now), Some(start), Some(translation)) = (now.translation, start.translation, engine.translation()) {
            more.insert("mapping".into(), report_mapping(now, start, translation.pages()));
        }
        if let (Some(now), Some(start)) = (&now.guard, &start.guard) {
            more.insert("guard".into(), report_guard(now, start, engine.media.settings().cell));
        }
        more.insert("faults".into(), json!(self.injector.injected));
        more.insert("rebuild".into(), engine.rebuilds().iter().map(|rebuild| report_rebuild(rebuild, page_bytes)).collect());
        if self.config.run.verify {
            more.insert("verify".into(), self.report_verification());
        }
        if let Some(cost) = cost {
            more.insert("engine".into(), json!(cost));
        }
        Ok(object)
    }

    /// The one definition of throughput: what was completed, over the time from the first measured arrival to the last completion. What goes on
    /// when the host has all its answers takes nothing away from it (SPEC 4.7).
    fn report_throughput<C: Content>(&self, engine: &Engine<C>, completed: u64) -> Value {
        let (last_ns, last_idle_ns) = engine.last_completion();
        #[cfg(feature = "mutants")]
        let last_ns = if accounting::makes(Slip::BandwidthToEnd) { engine.now_ns() } else { last_ns };
        let first = self.measured.first_arrival.as_ref().filter(|_| completed > 0);
        let (first_ns, first_idle_ns) = first.map_or((last_ns, last_idle_ns), |first| (first.now_ns, first.idle_ns));
        let span_ns = last_ns - first_ns;
        let busy_ns = span_ns - (last_idle_ns - first_idle_ns);
        let per_second = |amount: u64, time_ns: u64| ratio(amount as f64 * 1e9, time_ns as f64);
        let Statistics { bytes_read, bytes_written, .. } = engine.statistics;
        json!({
            "span_ns": span_ns,
            "requests_per_second": per_second(completed, span_ns),
            "read_bytes_per_second": per_second(bytes_read, span_ns),
            "write_bytes_per_second": per_second(bytes_written, span_ns),
            "busy_ns": busy_ns,
            "busy_read_bytes_per_second": per_second(bytes_read, busy_ns),
            "busy_write_bytes_per_second": per_second(bytes_written, busy_ns),
        })
    }

    /// Reports anew what is lost, and what the data buffer could not write: a drain may have added to it.
    pub(crate) fn report_losses(&self, result: &mut Map<String, Value>) {
        with_engine!(&self.engine, engine => {
            result.insert("losses".into(), losses(engine));
            if let (Some(buffer), Some(start)) = (engine.buffer(), self.measured.start.buffer) {
                result["buffer"]["failed_evictions"] = failed_evictions(buffer.counts, start);
            }
        });
    }

    /// What a drain programmed for each byte that the host wrote.
    pub(crate) fn amplification_of(&self, drain: &Value) -> Value {
        let bytes_written = with_engine!(&self.engine, engine => engine.statistics.bytes_written);
        let programs = drain["flash_ops"]["programs"]["total"].as_u64().unwrap_or(0);
        ratio((programs * u64::from(self.config.device.page_bytes)) as f64, bytes_written as f64)
    }

    fn latencies(&self, statistics: &Statistics) -> Value {
        let mut object = Map::new();
        object.insert("all".into(), latency(&statistics.all()));
        object.extend(KINDS.iter().zip(&statistics.latency).map(|(kind, values)| ((*kind).into(), latency(values))));
        Value::Object(object)
    }

    /// What verification found so far.
    pub(crate) fn report_verification(&self) -> Value {
        let (reads, mismatches) = match &self.engine {
            AnyEngine::Tagged(engine) => (engine.content.reads_checked, engine.content.mismatches),
            AnyEngine::Plain(_) => (0, 0),
        };
        json!(self.checks.report(reads, mismatches))
    }
}

/// Result of a run in one text, as it is printed and stored: one member a line, ending in a line feed.
pub fn text(result: &Value) -> String {
    let mut text = serde_json::to_string_pretty(result).expect("numbers, strings, arrays and objects");
    text.push('\n');
    text
}
