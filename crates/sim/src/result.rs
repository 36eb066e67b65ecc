//! The result of a run, as one JSON object. The keys are a contract with people's scripts: add, never rename.

use crate::buffer::{self, Buffer};
use crate::config::Price;
use crate::engine::content::Content;
use crate::engine::translation::TranslationCounts;
use crate::engine::{Engine, RebuildRecord};
use crate::listing::Placed;
use crate::simulation::{Simulation, with_engine};
use crate::statistics::{KINDS, Latency, Statistics};
use crate::verify::Verified;
use flashraid_flash::{ACTIONS, CellOperation, CellTimes, Collected, Counts, Flash};
use flashraid_redundancy::{CommitCause, Commits, GuardCounts, ParityUpdates};
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest, MemberId};
use flashraid_workload::TraceSummary;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Causes of commits, as the keys of the result call them. Those of a drain are counted apart, as all that it does.
const COMMIT_CAUSES: [(&str, CommitCause); 4] = [
    ("replacement", CommitCause::Replacement),
    ("gc", CommitCause::Collection),
    ("rebuild", CommitCause::Rebuild),
    ("idle", CommitCause::Idle),
];

/// Version of the result's form.
pub const SCHEMA: u32 = 1;

/// Monotonic counters at one moment; a report is the difference of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    now_ns: u64,
    counts: Counts,
    units: Vec<[u64; ACTIONS]>,
    /// What lies before this moment of work and transfers under way included.
    unit_busy_ns: Vec<[u64; Cause::COUNT]>,
    unit_programs: Vec<[u64; Cause::COUNT]>,
    channel_busy_ns: Vec<[u64; Cause::COUNT]>,
    blocked: Vec<u64>,
    completed: u64,
    parity: ParityUpdates,
    parity_programs: Vec<u64>,
    unmapped_reads: u64,
    buffer: Option<buffer::Counts>,
    guard: Option<GuardCounts>,
    collected: Collected,
    idle_ns: u64,
    translation: Option<TranslationCounts>,
}

impl Snapshot {
    pub(crate) fn of<C: Content>(engine: &Engine<C>) -> Self {
        let (flash, now_ns) = (&engine.flash, engine.now_ns());
        Self {
            now_ns,
            counts: flash.counts,
            units: flash.units().iter().map(|unit| unit.operations).collect(),
            unit_busy_ns: (0..flash.units().len()).map(|unit| flash.unit_busy_ns(unit as u32, now_ns)).collect(),
            unit_programs: flash.units().iter().map(|unit| unit.programs).collect(),
            channel_busy_ns: (0..flash.channels().len()).map(|channel| flash.bus_busy_ns(channel as u32, now_ns)).collect(),
            blocked: (0..flash.settings().members()).map(|member| flash.blocked_sum(member)).collect(),
            completed: flash.requests_completed(),
            parity: engine.scheme().parity_updates(),
            parity_programs: engine.statistics.parity_programs.clone(),
            unmapped_reads: engine.statistics.unmapped_reads,
            buffer: engine.buffer().map(|buffer| buffer.counts),
            guard: engine.scheme().guard(),
            collected: flash.collected,
            idle_ns: engine.idle_ns(),
            translation: engine.translation().map(|translation| translation.counts),
        }
    }
}

impl Snapshot {
    /// What a drain cost that began at `start`.
    pub(crate) fn cost_since(&self, start: &Self) -> Value {
        let pages = |snapshot: &Self| snapshot.buffer.map_or(0, |counts| counts.pages_written_out);
        json!({
            "pages": pages(self) - pages(start),
            "commits": self.commits() - start.commits(),
            "simulated_ns": self.now_ns - start.now_ns,
            "flash_ops": flash_ops(&self.counts_since(start)),
        })
    }

    /// Delayed parities that were brought to flash.
    fn commits(&self) -> u64 {
        self.guard.map_or(0, |guard| guard.commits.iter().map(|of| of.commits).sum())
    }

    fn counts_since(&self, start: &Self) -> Counts {
        std::array::from_fn(|action| std::array::from_fn(|cause| self.counts[action][cause] - start.counts[action][cause]))
    }
}

/// What was asked of the device since measuring began.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Counters when measuring began.
    pub(crate) start: Snapshot,
    requests: u64,
    by_op: [u64; 4],
    bytes_read: u64,
    bytes_written: u64,
    first_arrival_ns: Option<u64>,
    last_arrival_ns: u64,
}

impl From<Snapshot> for Measured {
    fn from(start: Snapshot) -> Self {
        Self { start, requests: 0, by_op: [0; 4], bytes_read: 0, bytes_written: 0, first_arrival_ns: None, last_arrival_ns: 0 }
    }
}

impl Measured {
    /// Counts a request that is about to be submitted.
    #[inline]
    pub(crate) fn arrived(&mut self, request: &HostRequest) {
        self.requests += 1;
        let kind = match request.op {
            HostOp::Read => {
                self.bytes_read += request.size_bytes;
                0
            }
            HostOp::Write => {
                self.bytes_written += request.size_bytes;
                1
            }
            HostOp::Trim | HostOp::WriteZeroes => 2,
            HostOp::Flush => 3,
        };
        self.by_op[kind] += 1;
        self.first_arrival_ns.get_or_insert(request.arrival_ns);
        self.last_arrival_ns = request.arrival_ns;
    }

    /// Requests counted.
    pub fn requests(&self) -> u64 {
        self.requests
    }
}

/// Offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Mean over the buses, or over the array units if that is more.
    pub mean: f64,
    /// Of the busiest bus or array unit.
    pub busiest: f64,
}

/// Where the requests came from, for the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// Name of the trace.
    pub name: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Format of the trace.
    pub format: String,
    /// What its times were taken to count.
    pub time_unit: String,
    /// Devices in the trace; the address spaces of those that the filter keeps lie side by side.
    pub devices: u64,
    /// Lines or records that could not be read (`on_error = skip`).
    pub skipped: u64,
    /// What the trace recorded beside requests, and how often.
    pub ignored: BTreeMap<String, u64>,
    /// Requests that the trace recorded with a time before that of the record before.
    pub out_of_order: u64,
    /// Of these, requests so late that they were given a later time.
    pub displaced: u64,
    /// Requests of other devices, left out by the filter.
    pub filtered: u64,
    /// Requests whose offset or size is not a whole number of pages.
    pub unaligned: u64,
    /// Requests beyond the logical space, taken modulo it.
    pub wrapped: u64,
    /// Requests beyond the logical space, left out (`on_error = skip`).
    pub left_out: u64,
    /// Requests left out of the statistics at the start.
    pub warmup_requests: u64,
}

impl Source {
    /// Takes over what is known of a trace that has been read.
    pub(crate) fn read(&mut self, summary: TraceSummary) {
        let TraceSummary { name, sha256, format, time_unit, filtered, out_of_order, displaced, skipped, ignored, devices, .. } = summary;
        *self = Self {
            name,
            sha256,
            format: format.to_owned(),
            time_unit: time_unit.to_owned(),
            devices,
            skipped,
            ignored: ignored.into_iter().map(|(what, count)| (what.to_owned(), count)).collect(),
            out_of_order,
            displaced,
            filtered,
            ..std::mem::take(self)
        };
    }
}

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

/// Counts that must agree do not: a defect of the program, never of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistent(pub String);

impl fmt::Display for Inconsistent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the counts of this run contradict each other ({}): please report it", self.0)
    }
}

impl std::error::Error for Inconsistent {}

fn latency(latency: &Latency) -> Value {
    json!({
        "count": latency.count,
        "mean": latency.mean_ns(),
        "stddev": latency.stddev_ns(),
        "min": latency.min_ns(),
        "max": latency.max_ns,
        "p50": latency.quantile_ns(0.5),
        "p90": latency.quantile_ns(0.9),
        "p95": latency.quantile_ns(0.95),
        "p99": latency.quantile_ns(0.99),
        "p99_9": latency.quantile_ns(0.999),
        "p99_99": latency.quantile_ns(0.9999),
    })
}

fn by_cause(counts: &[u64; Cause::COUNT]) -> Value {
    let mut object: Map<String, Value> = Cause::ALL.iter().map(|cause| (cause.name().into(), counts[*cause as usize].into())).collect();
    object.insert("total".into(), counts.iter().sum::<u64>().into());
    Value::Object(object)
}

fn flash_ops(counts: &Counts) -> Value {
    json!({ "reads": by_cause(&counts[0]), "programs": by_cause(&counts[1]), "erases": by_cause(&counts[2]) })
}

fn since(now: &[u64; Cause::COUNT], before: &[u64; Cause::COUNT]) -> Value {
    by_cause(&std::array::from_fn(|cause| now[cause] - before[cause]))
}

/// `numerator / denominator`, or null where there is nothing to divide by.
fn ratio(numerator: f64, denominator: f64) -> Value {
    if denominator == 0.0 { Value::Null } else { (numerator / denominator).into() }
}

/// How a member is: `failed` if it can hold nothing any more, `degraded` if pages of it are lost.
fn state(flash: &Flash, member: MemberId) -> &'static str {
    if !flash.is_alive(member) {
        "failed"
    } else if flash.lost_versions(member) > 0 {
        "degraded"
    } else {
        "healthy"
    }
}

/// A rebuild. Its speed counts what it programmed, since the first failure (SPEC 1.7).
fn report_rebuild(rebuild: &RebuildRecord, page_bytes: u64) -> Value {
    let started_ns = rebuild.faults[0].0;
    let duration_ns = rebuild.ended_ns.map(|ended_ns| ended_ns - started_ns);
    json!({
        "failed": rebuild.faults.iter().map(|(at_ns, fault)| json!({ "fault": fault.to_string(), "at_ns": at_ns })).collect::<Vec<_>>(),
        "started_ns": started_ns,
        "ended_ns": rebuild.ended_ns,
        "finished_ns": rebuild.finished_ns,
        "window_of_vulnerability_ns": rebuild.finished_ns.map(|finished_ns| finished_ns - started_ns),
        "pages_lost": rebuild.pages_lost,
        "pages": rebuild.pages,
        "pages_copied": rebuild.pages_copied,
        "pages_xored": rebuild.pages - rebuild.pages_copied,
        "bytes_per_second": duration_ns.map(|duration_ns| ratio((rebuild.pages * page_bytes) as f64 * 1e9, duration_ns as f64)),
        "requests": rebuild.latency.count,
        "mean_latency_ns": rebuild.latency.mean_ns(),
        "latency_ns": latency(&rebuild.latency),
    })
}

/// What the data buffer did, counted in host pages.
fn report_buffer(now: buffer::Counts, start: buffer::Counts, buffer: &Buffer) -> Value {
    let (read_hits, read_misses) = (now.read_hits - start.read_hits, now.read_misses - start.read_misses);
    let (write_hits, write_misses) = (now.write_hits - start.write_hits, now.write_misses - start.write_misses);
    let (evictions, pages) = (now.evictions - start.evictions, now.pages_written_out - start.pages_written_out);
    json!({
        "kind": buffer.kind(),
        "hits": read_hits + write_hits,
        "misses": read_misses + write_misses,
        "read_hits": read_hits,
        "read_misses": read_misses,
        "write_hits": write_hits,
        "write_misses": write_misses,
        "evictions": evictions,
        "pages_written_out": pages,
        "mean_victim_pages": ratio(pages as f64, evictions as f64),
        "failed_evictions": {
            "no_space": now.failed_no_space - start.failed_no_space,
            "lost": now.failed_lost - start.failed_lost,
        },
        "pages_buffered": buffer.count(),
    })
}

/// What the scheme that delays parities did. A commit costs its reads and one program; the share of collections leaves out commits that have
/// nothing to do with room in the parity cache (SPEC 4.7).
fn report_guard(now: &GuardCounts, start: &GuardCounts, cell: CellTimes) -> Value {
    let since = |now: Commits, start: Commits| Commits { commits: now.commits - start.commits, reads: now.reads - start.reads };
    let of = |cause: CommitCause| since(now.commits[cause as usize], start.commits[cause as usize]);
    let (hits, misses) = (now.hits - start.hits, now.misses - start.misses);
    let mut object = Map::new();
    let mut insert = |key: &str, value: Value| object.insert(key.into(), value);
    insert("hits", hits.into());
    insert("misses", misses.into());
    insert("hit_rate", ratio(hits as f64, (hits + misses) as f64));
    for (name, cause) in COMMIT_CAUSES {
        insert(&format!("commits_{name}"), of(cause).commits.into());
        insert(&format!("commit_reads_{name}"), of(cause).reads.into());
    }
    let (commits, reads) =
        COMMIT_CAUSES.iter().fold((0, 0), |(commits, reads), (_, cause)| (commits + of(*cause).commits, reads + of(*cause).reads));
    insert("reads_per_commit", ratio(reads as f64, commits as f64));
    let cost = |of: Commits| (of.reads * cell.read_ns + of.commits * cell.program_ns) as f64;
    let [collection, replacement] = [CommitCause::Collection, CommitCause::Replacement].map(|cause| cost(of(cause)));
    insert("gc_commit_share", ratio(collection, collection + replacement));
    let widened = since(now.widened, start.widened);
    insert("widened", widened.commits.into());
    insert("widen_reads", widened.reads.into());
    insert("entries", now.entries.into());
    insert("most_entries", now.most_entries.into());
    insert("old_pages", now.old_pages.into());
    insert("most_old_pages", now.most_old_pages.into());
    object.into()
}

/// What collections, or merges of log blocks, did. Their cost is the array time of copies and erases (SPEC 6.3).
fn report_collection(now: &Collected, start: &Collected, counts: &Counts, cell: CellTimes) -> Value {
    let [copies, erases] = [Action::Program as usize, ACTIONS - 1].map(|action| counts[action][Cause::Gc as usize]);
    let merges = |kind: usize| now.merges[kind] - start.merges[kind];
    json!({
        "collections": now.collections - start.collections,
        "merges_switch": merges(0),
        "merges_partial": merges(1),
        "merges_full": merges(2),
        "copies": copies,
        "erases": erases,
        "time_ns": now.time_ns - start.time_ns,
        "cost_ns": copies * (cell.read_ns + cell.program_ns) + erases * cell.erase_ns,
    })
}

fn report_mapping(now: TranslationCounts, start: TranslationCounts, translation_pages: u32) -> Value {
    json!({
        "cmt_hits": now.hits - start.hits,
        "cmt_misses": now.misses - start.misses,
        "evictions": now.evictions - start.evictions,
        "dirty_evictions": now.dirty_evictions - start.dirty_evictions,
        "in_hand": now.in_hand - start.in_hand,
        "translation_pages": translation_pages,
    })
}

/// Mean and population standard deviation.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt())
}

impl Simulation {
    /// The result so far. `cost` and `source` come from who drives the simulation.
    pub fn result(&self, source: &Source, is_partial: bool, cost: Option<EngineCost>) -> Result<Value, Inconsistent> {
        with_engine!(&self.engine, engine => self.report(engine, source, is_partial, cost))
    }

    /// What the measured requests made buses and array units do, over the time in which they arrived: the mean over all buses or units,
    /// whichever is more, and that of the busiest one. Above 1 queues grow without bound. `None` if the requests arrived in one instant.
    pub fn offered_load(&self) -> Option<Load> {
        with_engine!(&self.engine, engine => {
            let (now, start) = (Snapshot::of(engine), &self.measured.start);
            let span_ns = self.measured.last_arrival_ns - self.measured.first_arrival_ns.unwrap_or(self.measured.last_arrival_ns);
            let cell = engine.flash.settings().cell;
            let cell_ns = [CellOperation::Read, CellOperation::Program, CellOperation::Erase].map(|operation| cell.cell_ns(operation, 0, 0));
            let buses = now.channel_busy_ns.iter().zip(&start.channel_busy_ns);
            let buses = buses.map(|(now, start)| (now.iter().sum::<u64>() - start.iter().sum::<u64>()) as f64);
            let is_used = |unit: &usize| engine.flash.member_of_unit(*unit as u32).is_some();
            let units = (0..now.units.len()).filter(is_used).map(|unit| (now.units[unit], start.units[unit]));
            let units = units.map(|(now, start)| (0..ACTIONS).map(|action| (now[action] - start[action]) * cell_ns[action]).sum::<u64>() as f64);
            let mean = moments(buses.clone()).0.max(moments(units.clone()).0);
            let busiest = buses.chain(units).fold(0.0, f64::max);
            (span_ns > 0).then(|| Load { mean: mean / span_ns as f64, busiest: busiest / span_ns as f64 })
        })
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
        let counts = now.counts_since(start);
        let page_bytes = u64::from(self.config.device.page_bytes);
        let programs: u64 = counts[Action::Program as usize].iter().sum();
        let duration_ns = now.now_ns - start.now_ns;
        // What goes on when the host has all its answers takes nothing away from the bandwidth (SPEC 4.7).
        let (answered_ns, idle_ns) = engine.last_answer();
        let served_ns = answered_ns.saturating_sub(start.now_ns);
        let busy_ns = served_ns - idle_ns.saturating_sub(start.idle_ns);
        let data_pages = counts[Action::Program as usize][Cause::Host as usize] as f64;
        let per_page = |action: Action, cause: Cause| ratio(counts[action as usize][cause as usize] as f64, data_pages);
        let (parity, load) = (now.parity, self.offered_load());
        let price = Price::of(&self.config.device, engine.scheme());
        let mut object = json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "device": self.config.device.name,
            "scheme": self.config.scheme.name,
            "seed": self.config.run.seed,
            "partial": is_partial,
            "config": self.config,
            "protects": engine.scheme().protects().name(),
            "placement": Placed::of(engine.flash.settings().placement, engine.flash.settings().members()),
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
                "left_out": source.left_out,
                "warmup_requests": source.warmup_requests,
            },
            "capacity": {
                "raw_bytes": engine.flash.geometry().raw_bytes(),
                "user_bytes": engine.scheme().user_pages() * page_bytes,
                "space_bytes": engine.space_pages() * page_bytes,
                "filled_bytes": self.filled_pages * page_bytes,
                "placed_pages": engine.flash.pages_programmed_now(),
                "redundancy_bytes": price.redundancy_bytes,
                "redundancy_share": price.redundancy_share,
                "raw_per_user_byte": price.raw_per_user_byte,
                "table_bytes": price.table_bytes,
                "tables": price.tables,
            },
            "requests": {
                "completed": completed,
                "failed": { "no_space": statistics.failed_no_space, "lost": statistics.failed_lost },
                "unfinished": unfinished,
                "unmapped_reads": statistics.unmapped_reads,
                "prefilled_pages": statistics.prefilled_pages,
            },
            "latency_ns": self.latencies(statistics),
            "flash_ops": flash_ops(&counts),
            "bandwidth": {
                "read_bytes_per_second": ratio(statistics.bytes_read as f64 * 1e9, served_ns as f64),
                "write_bytes_per_second": ratio(statistics.bytes_written as f64 * 1e9, served_ns as f64),
                "busy_ns": busy_ns,
                "busy_read_bytes_per_second": ratio(statistics.bytes_read as f64 * 1e9, busy_ns as f64),
                "busy_write_bytes_per_second": ratio(statistics.bytes_written as f64 * 1e9, busy_ns as f64),
            },
            "per_data_page": {
                "pre_reads": per_page(Action::Read, Cause::PreRead),
                "commit_reads": per_page(Action::Read, Cause::Commit),
                "parity_programs": per_page(Action::Program, Cause::Parity),
                "commit_programs": per_page(Action::Program, Cause::Commit),
            },
            "collection": report_collection(&now.collected, &start.collected, &counts, engine.flash.settings().cell),
            "write_amplification": ratio((programs * page_bytes) as f64, statistics.bytes_written as f64),
            "pages_per_host_page": ratio(programs as f64, data_pages),
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
        self.report_resources(engine, &now, duration_ns, more);
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
            more.insert("guard".into(), report_guard(now, start, engine.flash.settings().cell));
        }
        more.insert("faults".into(), json!(self.injector.injected));
        more.insert("rebuild".into(), engine.rebuilds().iter().map(|rebuild| report_rebuild(rebuild, page_bytes)).collect());
        if self.config.run.verify {
            more.insert("verify".into(), json!(self.verified_so_far()));
        }
        if let Some(cost) = cost {
            more.insert("engine".into(), json!(cost));
        }
        Ok(object)
    }

    fn latencies(&self, statistics: &Statistics) -> Value {
        let mut object = Map::new();
        object.insert("all".into(), latency(&statistics.all()));
        object.extend(KINDS.iter().zip(&statistics.latency).map(|(kind, values)| ((*kind).into(), latency(values))));
        Value::Object(object)
    }

    /// Members, channels, dies and wear.
    fn report_resources<C: Content>(&self, engine: &Engine<C>, now: &Snapshot, duration_ns: u64, object: &mut Map<String, Value>) {
        let (flash, start) = (&engine.flash, &self.measured.start);
        let members = flash.settings().members();
        let completed = (now.completed - start.completed) as f64;
        let blocked: Vec<f64> =
            (0..members as usize).map(|member| (now.blocked[member] - start.blocked[member]) as f64 / completed.max(1.0)).collect();
        let parity_programs: Vec<u64> =
            (0..members as usize).map(|member| now.parity_programs[member] - start.parity_programs[member]).collect();
        let all_parity = parity_programs.iter().sum::<u64>() as f64;
        let list: Vec<Value> = (0..members)
            .map(|member| {
                let units: Vec<usize> = (0..now.units.len()).filter(|unit| flash.member_of_unit(*unit as u32) == Some(member)).collect();
                let sum = |action: usize| units.iter().map(|unit| now.units[*unit][action] - start.units[*unit][action]).sum::<u64>();
                let busy_ns = |snapshot: &Snapshot| units.iter().flat_map(|unit| snapshot.unit_busy_ns[*unit]).sum::<u64>();
                json!({
                    "reads": sum(0),
                    "programs": sum(1),
                    "erases": sum(2),
                    "busy_fraction": ratio((busy_ns(now) - busy_ns(start)) as f64, (units.len() as u64 * duration_ns) as f64),
                    "mean_blocked": blocked[member as usize],
                    "p99_9_ns": engine.statistics.members[member as usize].quantile_ns(0.999),
                    "free_blocks": flash.free_blocks(member),
                    "parity_share": if all_parity > 0.0 { parity_programs[member as usize] as f64 / all_parity } else { 0.0 },
                    "state": state(flash, MemberId(member as u16)),
                })
            })
            .collect();
        object.insert("members".into(), list.into());
        let channels = now.channel_busy_ns.iter().zip(&start.channel_busy_ns);
        object.insert("channels".into(), channels.map(|(now, start)| json!({ "busy_ns": since(now, start) })).collect());
        let die = |unit: usize| {
            json!({
                "busy_ns": since(&now.unit_busy_ns[unit], &start.unit_busy_ns[unit]),
                "programs": since(&now.unit_programs[unit], &start.unit_programs[unit]),
            })
        };
        object.insert("dies".into(), (0..now.units.len()).map(die).collect());
        let (mean, deviation) = moments(blocked.iter().copied());
        object.insert("blocked_cv".into(), ratio(deviation, mean));
        let erases = flash.erase_counts();
        let (mean, deviation) = moments(erases.clone().map(f64::from));
        object.insert("wear".into(), json!({ "erase_mean": mean, "erase_max": erases.max(), "erase_stddev": deviation }));
    }

    pub(crate) fn verified_so_far(&self) -> Verified {
        match &self.engine {
            crate::simulation::AnyEngine::Tagged(engine) => Verified {
                reads_checked: engine.content.reads_checked,
                mismatches: self.verified.mismatches + engine.content.mismatches,
                ..self.verified
            },
            crate::simulation::AnyEngine::Plain(_) => self.verified,
        }
    }

    /// What must agree in every run: requests in = completed + failed + unfinished, and page operations planned = what the NAND did.
    fn check<C: Content>(
        &self,
        engine: &Engine<C>,
        now: &Snapshot,
        completed: u64,
        unfinished: u64,
        warmup: u64,
    ) -> Result<(), Inconsistent> {
        let failed = engine.statistics.failed_no_space + engine.statistics.failed_lost;
        let submitted = self.measured.requests;
        // Warm-up requests may be unfinished too, so they are counted in on both sides while any request is unfinished.
        let accounted = completed + failed + unfinished;
        if accounted < submitted || accounted > submitted + warmup.min(unfinished) {
            return Err(Inconsistent(format!(
                "{submitted} requests submitted, {completed} completed, {failed} failed, {unfinished} unfinished"
            )));
        }
        let units: [u64; ACTIONS] = std::array::from_fn(|action| now.units.iter().map(|unit| unit[action]).sum());
        for (action, name) in ["reads", "programs", "erases"].into_iter().enumerate() {
            let by_cause: u64 = now.counts[action].iter().sum();
            if by_cause != units[action] {
                return Err(Inconsistent(format!("{by_cause} {name} by cause, {} by array unit", units[action])));
            }
        }
        for (action, planned) in engine.statistics.planned.iter().enumerate() {
            for cause in Cause::ALL {
                let (planned, started) = (planned[cause as usize], now.counts[action][cause as usize]);
                let is_collection = matches!(cause, Cause::Gc | Cause::Wear);
                if !is_collection && (started > planned || (unfinished == 0 && engine.next_event_ns().is_none() && started < planned)) {
                    return Err(Inconsistent(format!("{planned} page operations planned for {}, {started} started", cause.name())));
                }
            }
        }
        Ok(())
    }
}

/// Result of a run in one text, as it is printed and stored: one member a line, ending in a line feed.
pub fn text(result: &Value) -> String {
    let mut text = serde_json::to_string_pretty(result).expect("numbers, strings, arrays and objects");
    text.push('\n');
    text
}
