//! Replay of a trace: the host's clock, the look-ahead in the arrivals, progress, and the result.

use crate::config::{Asked, Config, ConfigError, Fit, Happened, Warmup};
use crate::engine::content::Content;
use crate::engine::{Engine, Halted};
use crate::inject::Injector;
use crate::outputs::{Outputs, Writers};
use crate::result::{EngineCost, Inconsistent, Measured, Snapshot, Source, text};
use crate::simulation::{Simulation, with_engine};
use crate::time::{LATEST_NS, Speed};
use crate::verify::{Checked, Checks};
#[cfg(feature = "mutants")]
use flashraid_flash::accounting::{self, Slip};
use flashraid_vocabulary::{Cause, HostOp, HostRequest};
use flashraid_workload::{Compactor, OnError, Trace, TraceError, can_be_read_again, system_text};
use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How far a run is; given to the progress function about ten times a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Requests of the trace counted, for faults at a share of it.
    Counting {
        /// How many.
        requests: u64,
        /// Share of the trace that they are, from 0 to 1.
        share: f64,
    },
    /// Pages overwritten by the precondition.
    Preconditioning(u64),
    /// Requests replayed.
    Replaying {
        /// How many.
        requests: u64,
        /// Share of the trace that they are, from 0 to 1.
        share: f64,
    },
    /// Everything stored is being checked.
    Verifying,
}

/// Why a run gave no result.
#[derive(Debug)]
pub enum RunError {
    /// A setting cannot be used.
    Config(ConfigError),
    /// The trace cannot be read or does not fit.
    Trace(TraceError),
    /// A request that the device cannot be asked.
    Request(String),
    /// An output cannot be written.
    Output {
        /// The option that asked for it.
        option: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The simulation cannot go on.
    Halted(Halted),
    /// A defect of the program: counts contradict each other.
    Inconsistent(Inconsistent),
}

impl RunError {
    /// Whether the user's input is at fault (exit status 2), not the program (1).
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Trace(_) | Self::Request(_) | Self::Output { .. } | Self::Halted(Halted::TooLate))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(formatter),
            Self::Trace(error) => error.fmt(formatter),
            Self::Request(text) => formatter.write_str(text),
            Self::Output { option, source } => write!(formatter, "{option} cannot be written: {}", system_text(source)),
            Self::Halted(error) => error.fmt(formatter),
            Self::Inconsistent(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RunError {}

macro_rules! from {
    ($($error:ident => $variant:ident),+) => {
        $(impl From<$error> for RunError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}
from!(ConfigError => Config, TraceError => Trace, Halted => Halted, Inconsistent => Inconsistent);

/// A finished or interrupted run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The result, as text.
    pub json: String,
    /// The result in the form of fio's JSON, if it was asked for.
    pub fio: Option<String>,
    /// What the user should be told beside the result, one line each.
    pub warnings: Vec<String>,
    /// Exit status of the command: 0 done, 1 violation, 3 requests failed or unfinished, 130 interrupted.
    pub status: u8,
}

/// Requests ahead of the current one for which the maps, and then the blocks, are fetched into the cache.
const LOOK_AHEAD_MAP: usize = 24;
const LOOK_AHEAD_BLOCK: usize = 12;

/// Replays a trace on the configured device. `progress` is called about ten times a second; when it returns false the run stops
/// and the result says that it is partial; outputs hold what there is up to then. `with_cost` adds what the machine needed.
pub fn run(
    trace: &Path,
    asked: impl Into<Asked>,
    outputs: &Outputs,
    with_cost: bool,
    progress: &mut dyn FnMut(Stage) -> bool,
) -> Result<Finished, RunError> {
    let asked = asked.into();
    let config = asked.config.clone();
    // The trace is opened before the device is built, so that a wrong name costs no waiting.
    let options = config.run.trace_options()?;
    let opened = Trace::open(trace, &options)?;
    let mut warnings = config.warnings()?;
    warnings.extend(asked.notes());
    let requests = count_requests(trace, &config, progress)?;
    let mut simulation = Simulation::for_requests(config, requests, |pages| progress(Stage::Preconditioning(pages)))?;
    let began = Instant::now();
    let writers = Writers::open(outputs, &mut simulation)?;
    let mut replay = Replay::new(&simulation, opened, trace, writers)?;
    let is_done = simulation.is_prepared
        && with_engine!(&mut simulation.engine, engine => replay.all(engine, &mut simulation.measured, &mut simulation.injector, progress))?;
    if simulation.is_prepared && !replay.is_measuring {
        let what = if is_done { "the warm-up took all" } else { "the run was stopped in the warm-up, after" };
        warnings.push(format!("{what} {} requests: nothing was measured", replay.submitted));
        with_engine!(&mut simulation.engine, engine => replay.start_measuring(engine, &mut simulation.measured));
    }
    simulation.checks = std::mem::take(&mut replay.checks);
    let (mut source, writers) = (replay.source, replay.writers);
    source.compacted = replay.compactor.map(|compactor| compactor.found());
    let summary = replay.trace.finish()?;
    if !summary.absent.is_empty() {
        warnings.push(format!("no requests of {} in what was read (--device-filter)", summary.absent.join(", ")));
    }
    if summary.skipped > 0 {
        let first = summary.faults.first().map(String::as_str).unwrap_or_default();
        warnings.push(format!("{} lines or records were skipped, the first because of {first}", summary.skipped));
    }
    if let Some(tick_ns) = summary.spread_tick_ns
        && simulation.config.run.queue_depth == 0
    {
        let tick_s = tick_ns as f64 / 1e9;
        warnings.push(format!(
            "the trace's clock ticks every {tick_s} s: the requests of a tick were spread evenly over it, so shorter bursts are lost"
        ));
    }
    let delivered = summary.requests;
    source.read(summary);
    if is_done && simulation.config.run.verify {
        progress(Stage::Verifying);
        simulation.verify();
    }
    let wall_seconds = began.elapsed().as_secs_f64();
    let cost = with_cost.then(|| cost(&simulation, wall_seconds));
    let mut result = simulation.result(&source, !is_done, cost)?;
    warnings.extend(warnings_after(&simulation, &result));
    warnings.extend(simulation.injector.warnings());
    let mut fio = None;
    if let Some(writers) = writers {
        let (document, more) = writers.finish(&mut simulation, &result)?;
        fio = document;
        warnings.extend(more);
    }
    if is_done && simulation.config.run.drain {
        drain(&mut simulation, &mut result, &mut warnings)?;
    }
    warnings.extend(warnings_of_verification(&simulation, &result));
    if is_done {
        warnings.extend(asked.notes_after(&happened(&simulation, &source, delivered, &result)));
    }
    let is_clean = result["verify"].is_null() || (result["verify"]["mismatches"] == 0 && result["verify"]["pages_lost"] == 0);
    let all_completed = result["requests"]["failed"]["no_space"] == 0 && result["requests"]["unfinished"] == 0;
    let status = match (is_clean, is_done, all_completed) {
        (false, ..) => 1,
        (_, false, _) => 130,
        (_, _, false) => 3,
        _ => 0,
    };
    Ok(Finished { json: text(&result), fio, warnings, status })
}

/// What a run met of what settings are for. Counts that start anew after a warm-up say nothing if there was one.
fn happened<'a>(simulation: &'a Simulation, source: &'a Source, requests: u64, result: &serde_json::Value) -> Happened<'a> {
    let erased = with_engine!(&simulation.engine, engine => engine.media.erase_counts().any(|erases| erases > 0));
    let moved = with_engine!(&simulation.engine, engine => {
        engine.media.counts.iter().any(|of| of[Cause::Gc as usize] + of[Cause::Wear as usize] > 0) || engine.media.victims_collected_now() > 0
    });
    let evicted = with_engine!(&simulation.engine, engine => engine.buffer().is_some_and(|buffer| buffer.counts.evictions > 0));
    let drained = |key: &str| result["drain"][key].as_u64().is_some_and(|count| count > 0);
    let unwritten =
        ["unmapped_reads", "prefilled_pages"].into_iter().any(|key| result["requests"][key].as_u64().is_some_and(|pages| pages > 0));
    Happened {
        config: &simulation.config,
        failed: !simulation.injector.injected.is_empty(),
        collected: erased || moved,
        erased,
        evicted,
        read_unwritten: unwritten || source.warmup_requests > 0,
        drained: drained("pages") || drained("commits") || result["drain"]["flash_ops"]["programs"]["total"] != 0,
        requests,
        filled: simulation.filled_pages > 0,
        cut_pages: source.unaligned > 0,
        filtered: source.filtered > 0,
        skipped: source.skipped + source.left_out > 0,
        beyond: source.wrapped + source.left_out > 0,
        format: &source.format,
    }
}

/// The number of the trace's requests that are asked for, if a fault waits for a share of them and the trace can be read twice.
fn count_requests(path: &Path, config: &Config, progress: &mut dyn FnMut(Stage) -> bool) -> Result<Option<u64>, RunError> {
    if !Injector::needs_requests(&config.faults()?) || !can_be_read_again(path) {
        return Ok(None);
    }
    let mut trace = Trace::open(path, &config.run.trace_options()?)?;
    let (mut requests, mut batch, mut last_report) = (0, Vec::new(), Instant::now());
    loop {
        match trace.read_batch(&mut batch)? as u64 {
            0 => return Ok(Some(requests)),
            more => requests += more,
        }
        batch.clear();
        if last_report.elapsed() >= Duration::from_millis(100) {
            last_report = Instant::now();
            if !progress(Stage::Counting { requests, share: trace.share_read() }) {
                return Err(TraceError::Interrupted.into());
            }
        }
    }
}

/// Writes the buffer and the parities that are put off to flash, checks what is stored then, and adds the cost to the result, in which it is not counted otherwise.
fn drain(simulation: &mut Simulation, result: &mut serde_json::Value, warnings: &mut Vec<String>) -> Result<(), RunError> {
    let (cost, is_complete) = simulation.drain()?;
    if !is_complete {
        warnings.push("not everything could be drained for lack of space".into());
    }
    #[cfg(feature = "mutants")]
    if accounting::makes(Slip::DrainWithRun) {
        let after = simulation.result(&Source::default(), false, None)?;
        ["flash_ops", "members", "dies"].iter().for_each(|key| result[key] = after[key].clone());
    }
    let object = result.as_object_mut().expect("an object");
    let engine = object.remove("engine"); // it comes last
    object["write_amplification_by"]["drain"] = simulation.amplification_of(&cost);
    object.insert("drain".into(), cost);
    if simulation.config.run.verify {
        simulation.verify();
        object.insert("verify".into(), simulation.report_verification());
    }
    object.extend(engine.map(|engine| ("engine".into(), engine)));
    Ok(())
}

/// What is likely to surprise in the result.
fn warnings_after(simulation: &Simulation, result: &serde_json::Value) -> Vec<String> {
    let mut warnings = Vec::new();
    // A closed loop is there to saturate the device.
    let is_open_loop = simulation.config().run.queue_depth == 0;
    let [mean, busiest] = ["offered_load", "busiest_load"].map(|key| result["workload"][key].as_f64().unwrap_or(0.0));
    if is_open_loop && busiest > 0.9 {
        let what = if mean > 0.9 {
            format!("offered load is {mean:.2}: the device cannot keep up")
        } else {
            format!("offered load is {mean:.2}, but {busiest:.2} on the busiest bus or die: that one cannot keep up")
        };
        warnings.push(format!("{what}, and latencies measure how long the trace is rather than the device"));
    }
    // In a closed loop there are always some, and a few change nothing.
    let backlog = simulation.measured.backlog;
    if is_open_loop && backlog >= 10 && backlog * 10 > simulation.measured.requests() {
        warnings.push(format!(
            "measuring began while {backlog} requests of the warm-up were under way: collections, evictions and commits to which they lead \
             later count as those of the measured requests"
        ));
    }
    warnings.extend(warnings_of_failures(result));
    warnings.extend(warnings_of_space(result));
    if result["precondition"]["steady"] == false {
        let times = result["precondition"]["overwritten_bytes"].as_f64().unwrap_or(0.0) / simulation.space_bytes() as f64;
        warnings.push(format!(
            "collection was not steady after {times:.1} times the logical space was overwritten: write amplification and latencies still move"
        ));
    }
    let left_out = result["workload"]["left_out"].as_u64().unwrap_or(0);
    if left_out > 0 {
        warnings.push(format!("{left_out} requests do not fit into the logical space and were left out (--on-error skip)"));
    }
    let unmapped = result["requests"]["unmapped_reads"].as_u64().unwrap_or(0);
    let pages = unmapped + result["flash_ops"]["reads"]["host"].as_u64().unwrap_or(0);
    if unmapped * 100 > pages {
        warnings.push(format!(
            "{unmapped} page reads found nothing written and cost no flash access ({:.1} % of the pages read): \
             --fill, or --set unwritten=prefill, gives them something to read",
            100.0 * unmapped as f64 / pages as f64
        ));
    }
    warnings
}

/// What failures have cost for good.
fn warnings_of_failures(result: &serde_json::Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if let gone @ 1.. = result["losses"]["host_pages"].as_u64().unwrap_or(0) {
        let what = if gone == 1 { "host page is" } else { "host pages are" };
        let why = match result["window"].is_null() {
            true => "more has failed than the scheme survives",
            false => {
                "they were written shortly before a part failed, and had no redundancy yet, or more has failed than the scheme survives"
            }
        };
        warnings.push(format!("{gone} {what} lost: {why}"));
    }
    if let failed @ 1.. = result["requests"]["failed"]["lost"].as_u64().unwrap_or(0) {
        warnings.push(format!("{failed} requests failed because data are lost"));
    }
    let failed = &result["buffer"]["failed_evictions"];
    if let failed @ 1.. = failed["no_space"].as_u64().unwrap_or(0) + failed["lost"].as_u64().unwrap_or(0) {
        warnings.push(format!("{failed} writes of buffered pages failed after the host had its answer: what they held is gone"));
    }
    if let lost @ 1.. = result["losses"]["pages_not_rebuilt"].as_u64().unwrap_or(0) {
        warnings.push(format!("{lost} pages were not brought back by the end of the run, those of redundancy included"));
    }
    warnings
}

/// Requests that came to nothing for lack of space, or that did not end.
fn warnings_of_space(result: &serde_json::Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let (requests, of) = (&result["requests"], result["workload"]["requests"].as_u64().unwrap_or(0));
    if let failed @ 1.. = requests["failed"]["no_space"].as_u64().unwrap_or(0) {
        let why = match result["faults"].as_array().is_some_and(|faults| !faults.is_empty()) {
            true => "no page is left where what they write belongs, as parts of the device have failed",
            false => "the collector found nothing to free for what they write",
        };
        warnings.push(format!("{failed} of {of} requests failed for lack of space: {why}"));
    }
    if let unfinished @ 1.. = requests["unfinished"].as_u64().unwrap_or(0) {
        warnings.push(format!("{unfinished} of {of} requests were left unfinished"));
    }
    warnings
}

/// What verification found wrong: what, when, and in how many of its checks.
fn warnings_of_verification(simulation: &Simulation, result: &serde_json::Value) -> Vec<String> {
    let found = &result["verify"];
    let number = |key: &str| found[key].as_u64().unwrap_or(0);
    let seconds = |key: &str| number(key) as f64 / 1e9;
    let mut warnings = Vec::new();
    let when = format!(
        "{} of {} checks found something wrong, the first at {} s, the last at {} s",
        number("checks_failed"),
        number("checks"),
        seconds("first_failed_ns"),
        seconds("last_failed_ns")
    );
    if let wrong @ 1.. = number("mismatches") {
        warnings.push(format!("verification: {wrong} reads or stored pages hold what no request explains ({when})"));
    }
    if let lost @ 1.. = number("pages_lost") {
        let unit = result["protects"].as_str().unwrap_or_default();
        let why = match with_engine!(&simulation.engine, engine => engine.scheme().has_window()) {
            true => format!("; that is the window of data loss of {}", simulation.config.scheme.name),
            false => String::new(),
        };
        let pages = if lost == 1 { "page" } else { "pages" };
        warnings.push(format!("verification: {lost} {pages} would have been lost with a {unit}{why} ({when})"));
    }
    warnings
}

fn cost(simulation: &Simulation, wall_seconds: f64) -> EngineCost {
    let operations: u64 = with_engine!(&simulation.engine, engine => engine.media.counts.iter().flatten().sum());
    EngineCost {
        wall_seconds,
        fill_seconds: simulation.fill_seconds,
        host_requests_per_second: simulation.measured.requests() as f64 / wall_seconds,
        flash_ops_per_second: operations as f64 / wall_seconds,
        peak_rss_bytes: peak_rss_bytes(),
    }
}

/// Peak resident memory of this process; 0 where the system does not tell.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

/// The host's side of a replay.
struct Replay {
    trace: Trace,
    path: String,
    source: Source,
    /// `None` for that of the trace.
    speed: Option<Speed>,
    queue_depth: u64,
    fit: Fit,
    /// With `fit = compact`, where addresses are moved to, and what the request at hand becomes.
    compactor: Option<Compactor>,
    pieces: Vec<HostRequest>,
    /// Whether requests that do not fit are left out and counted, instead of ending the run.
    leaves_out: bool,
    space_bytes: u64,
    page_mask: u64,
    warmup: Warmup,
    verify_every: u64,
    /// Requests of the trace looked at, the one at hand included; those submitted are fewer by what was left out, and more by what was split.
    number: u64,
    submitted: u64,
    is_measuring: bool,
    checks: Checks,
    /// Outputs beside the result, if there are any.
    writers: Option<Writers>,
    last_report: Instant,
}

impl Replay {
    fn new(simulation: &Simulation, trace: Trace, path: &Path, writers: Option<Writers>) -> Result<Self, ConfigError> {
        let run = &simulation.config().run;
        let warmup: Warmup = run.warmup.parse()?;
        Ok(Self {
            trace,
            path: path.display().to_string(),
            source: Source::default(),
            speed: (run.speed != 1.0).then(|| Speed::new(run.speed)),
            queue_depth: u64::from(run.queue_depth),
            fit: run.fit,
            compactor: (run.fit == Fit::Compact).then(|| Compactor::new(simulation.space_bytes())),
            pieces: Vec::new(),
            leaves_out: run.trace_options().is_ok_and(|options| options.on_error == OnError::Skip),
            page_mask: u64::from(simulation.config().device.page_bytes) - 1,
            space_bytes: simulation.space_bytes(),
            is_measuring: matches!(warmup, Warmup::Requests(0) | Warmup::Ns(0)),
            warmup,
            verify_every: run.verify_every,
            number: 0,
            submitted: 0,
            checks: Checks::default(),
            writers,
            last_report: Instant::now(),
        })
    }

    /// Replays everything. Returns whether the end was reached.
    fn all<C: Checked>(
        &mut self,
        engine: &mut Engine<C>,
        measured: &mut Measured,
        injector: &mut Injector,
        progress: &mut dyn FnMut(Stage) -> bool,
    ) -> Result<bool, RunError> {
        if let Some(writers) = self.writers.as_mut().filter(|_| self.is_measuring) {
            writers.begin(engine);
        }
        let mut batch = Vec::new();
        loop {
            // What is left of the former batch goes first, so that the look-ahead never runs dry.
            if self.trace.read_batch(&mut batch)? == 0 {
                break;
            }
            for index in 0..batch.len() {
                self.number += 1;
                if self.compactor.is_some() {
                    self.compacted(engine, measured, injector, &batch[index..], progress)?;
                    continue;
                }
                self.fetch_ahead(engine, &batch, index);
                if let Some(request) = self.fitted(&batch[index])? {
                    self.host_request(engine, measured, injector, request)?;
                }
            }
            batch.clear();
            engine.completed.clear();
            if self.last_report.elapsed() >= Duration::from_millis(100) {
                self.last_report = Instant::now();
                let share = self.trace.share_read();
                if !progress(Stage::Replaying { requests: self.submitted, share }) {
                    return Ok(false);
                }
            }
        }
        let mut steps = 0u64;
        while self.advance(engine, injector)? {
            steps += 1;
            if steps.is_multiple_of(65_536) {
                engine.completed.clear();
                if !progress(Stage::Replaying { requests: self.submitted, share: 1.0 }) {
                    return Ok(false);
                }
            }
        }
        engine.completed.clear();
        Ok(true)
    }

    #[inline]
    fn fetch_ahead<C: Content>(&self, engine: &Engine<C>, batch: &[HostRequest], index: usize) {
        if let Some(request) = batch.get(index + LOOK_AHEAD_MAP) {
            engine.prefetch_map(request.offset_bytes);
        }
        if let Some(request) = batch.get(index + LOOK_AHEAD_BLOCK) {
            engine.prefetch_blocks(request.offset_bytes, request.size_bytes);
        }
    }

    /// The request, scaled to the replay's speed and fitted into the logical space. None: it does not fit, and is to be left out.
    #[inline]
    fn fitted(&mut self, request: &HostRequest) -> Result<Option<HostRequest>, RunError> {
        let mut request = self.scaled(request)?;
        if request.offset_bytes + request.size_bytes > self.space_bytes && !self.fit_into_space(&mut request)? {
            self.source.left_out += 1;
            return Ok(None);
        }
        Ok(Some(request))
    }

    /// Replays the first of these requests at the places of its extents, in one or several pieces.
    fn compacted<C: Checked>(
        &mut self,
        engine: &mut Engine<C>,
        measured: &mut Measured,
        injector: &mut Injector,
        requests: &[HostRequest],
        progress: &mut dyn FnMut(Stage) -> bool,
    ) -> Result<(), RunError> {
        let request = self.scaled(&requests[0])?;
        let Some(compactor) = &mut self.compactor else { return Ok(()) };
        let mut pieces = std::mem::take(&mut self.pieces);
        if compactor.place(&request, &mut pieces) {
            pieces.drain(..).try_for_each(|piece| self.host_request(engine, measured, injector, piece))?;
        } else if self.leaves_out {
            self.source.left_out += 1;
        } else {
            return Err(self.touches_too_much(requests, progress));
        }
        self.pieces = pieces;
        Ok(())
    }

    /// The error that the trace, of which these requests and what is not read are left, touches more than there is.
    #[cold]
    fn touches_too_much(&mut self, requests: &[HostRequest], progress: &mut dyn FnMut(Stage) -> bool) -> RunError {
        let Some(mut compactor) = self.compactor.take() else { return TraceError::Interrupted.into() };
        let (mut batch, mut count, mut last_report) = (requests.to_vec(), self.number, Instant::now());
        loop {
            count += batch.len() as u64;
            batch.drain(..).for_each(|request| compactor.touch(&request));
            match self.trace.read_batch(&mut batch) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return error.into(),
            }
            if last_report.elapsed() >= Duration::from_millis(100) {
                last_report = Instant::now();
                if !progress(Stage::Counting { requests: count, share: self.trace.share_read() }) {
                    return TraceError::Interrupted.into();
                }
            }
        }
        let found = compactor.found();
        RunError::Request(format!(
            "{}: the trace touches {} bytes in {} extents of {} bytes, and the logical space has {} bytes, {} extents: \
             use a larger device, --device-filter, --limit, or --on-error skip from request {} on",
            self.path,
            found.extents * found.extent_bytes,
            found.extents,
            found.extent_bytes,
            self.space_bytes,
            self.space_bytes / found.extent_bytes,
            self.number
        ))
    }

    /// The request, scaled to the replay's speed.
    #[inline]
    fn scaled(&mut self, request: &HostRequest) -> Result<HostRequest, RunError> {
        let mut request = *request;
        if let Some(speed) = self.speed {
            request.arrival_ns = speed.scaled(request.arrival_ns).ok_or_else(|| self.too_late(&request))?;
        }
        self.source.unaligned += u64::from((request.offset_bytes | request.size_bytes) & self.page_mask != 0);
        Ok(request)
    }

    #[cold]
    fn too_late(&self, request: &HostRequest) -> RunError {
        RunError::Request(format!(
            "{}: request {}, recorded at {} ns, arrives after {LATEST_NS} ns (292 years), the latest time: use a larger --speed",
            self.path, self.number, request.arrival_ns
        ))
    }

    /// Wraps a request round at the end of the space. False: it is to be left out.
    #[cold]
    fn fit_into_space(&mut self, request: &mut HostRequest) -> Result<bool, RunError> {
        let (end, space) = (request.offset_bytes + request.size_bytes, self.space_bytes);
        let number = self.number;
        let is_data = matches!(request.op, HostOp::Read | HostOp::Write);
        if self.leaves_out && (self.fit == Fit::Error || (is_data && request.size_bytes > space)) {
            return Ok(false);
        }
        if self.fit == Fit::Error {
            return Err(RunError::Request(format!(
                "{}: request {number} ends at byte {end}, and the logical space has {space}: use --fit compact, --fit wrap, or a larger device",
                self.path
            )));
        }
        self.source.wrapped += 1;
        request.offset_bytes %= space;
        if request.size_bytes > space {
            // A discard of more than everything is a discard of everything; data longer than the space cannot be.
            if is_data {
                return Err(RunError::Request(format!(
                    "{}: request {number} has {} bytes, and the logical space has {space}: allowed is a request that fits at all",
                    self.path, request.size_bytes
                )));
            }
            (request.offset_bytes, request.size_bytes) = (0, space);
        }
        Ok(true)
    }

    /// What came so far was warm-up.
    fn start_measuring<C: Content>(&mut self, engine: &mut Engine<C>, measured: &mut Measured) {
        self.source.warmup_requests = self.submitted;
        engine.begin_measuring();
        *measured = Measured::from(Snapshot::of(engine));
        measured.backlog = engine.outstanding();
        if let Some(writers) = &mut self.writers {
            writers.begin(engine);
        }
    }

    /// Processes the next event, or injects what is due before it. Always inlined: its result is large, and most runs have no writers.
    #[inline(always)]
    fn advance<C: Content>(&mut self, engine: &mut Engine<C>, injector: &mut Injector) -> Result<bool, RunError> {
        if let Some(stop_ns) = engine.next_event_ns().and_then(|time_ns| injector.stop_before(engine, time_ns)) {
            self.advance_until(engine, stop_ns)?;
            injector.look(engine);
            return Ok(true);
        }
        match &mut self.writers {
            None => Ok(engine.advance()?),
            Some(writers) => writers.advance(engine),
        }
    }

    /// Moves the clock.
    #[inline]
    fn advance_until<C: Content>(&mut self, engine: &mut Engine<C>, time_ns: u64) -> Result<(), RunError> {
        match &mut self.writers {
            None => Ok(engine.advance_until(time_ns)?),
            Some(writers) => writers.advance_until(engine, time_ns),
        }
    }

    #[inline]
    fn host_request<C: Checked>(
        &mut self,
        engine: &mut Engine<C>,
        measured: &mut Measured,
        injector: &mut Injector,
        mut request: HostRequest,
    ) -> Result<(), RunError> {
        if self.queue_depth > 0 {
            while engine.outstanding() >= self.queue_depth {
                self.advance(engine, injector)?;
            }
            request.arrival_ns = engine.now_ns();
        } else {
            while let Some(stop_ns) = injector.stop_before(engine, request.arrival_ns) {
                self.advance_until(engine, stop_ns)?;
                injector.look(engine);
            }
            self.advance_until(engine, request.arrival_ns)?;
        }
        injector.arrives(engine, self.number);
        if !self.is_measuring {
            self.is_measuring = match self.warmup {
                Warmup::Requests(requests) => self.number - self.source.left_out > requests,
                Warmup::Ns(time_ns) => request.arrival_ns >= time_ns,
            };
            if self.is_measuring {
                self.start_measuring(engine, measured);
            }
        }
        if self.is_measuring {
            measured.arrived(&request, engine);
            if let Some(writers) = &mut self.writers {
                writers.arrived(engine);
            }
        }
        #[cfg(feature = "mutants")]
        let is_last_of_warmup = self.warmup == Warmup::Requests(self.submitted + 1) && accounting::makes(Slip::WarmupMeasured);
        #[cfg(not(feature = "mutants"))]
        let is_last_of_warmup = false;
        engine.submit(&request, self.is_measuring || is_last_of_warmup);
        self.submitted += 1;
        if self.verify_every > 0 && self.submitted.is_multiple_of(self.verify_every) {
            C::check_stored(engine, &mut self.checks);
        }
        Ok(())
    }
}
