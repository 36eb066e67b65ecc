//! The steps of a run: the device is built and prepared, the trace replayed, what is stored is checked, and the result is made of it.

use super::replay::{Replay, Replayed};
use super::stage::Stage;
use super::status::Status;
use super::warnings::{warnings_after, warnings_of_verification};
use crate::config::{Asked, Config, ConfigError, Happened, Until};
use crate::error::RunError;
use crate::inject::Injector;
use crate::outputs::{Outputs, Writers};
use crate::prepared::Prepared;
use crate::result::{EngineCost, RunResult, Source, text};
use crate::simulation::Simulation;
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_vocabulary::Cause;
use flashraid_vocabulary::wall::Stopwatch;
use flashraid_workload::{Trace, TraceError, can_be_read_again, in_order};
use std::path::Path;

/// A finished or interrupted run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The result.
    pub result: RunResult,
    /// The result in the form of fio's JSON, if it was asked for.
    pub fio: Option<String>,
    /// What the user should be told beside the result, one line each.
    pub warnings: Vec<String>,
    /// How it ended.
    pub status: Status,
}

impl Finished {
    /// The result as text.
    pub fn json(&self) -> String {
        text(&self.result)
    }
}

/// Replays a trace on the configured device. `progress` is called about ten times a second; when it returns false the run stops
/// and the result says that it is partial; outputs hold what there is up to then. `with_cost` adds what the machine needed.
pub fn run(
    trace: &Path,
    asked: impl Into<Asked>,
    outputs: &Outputs,
    with_cost: bool,
    progress: &mut dyn FnMut(Stage) -> bool,
) -> Result<Finished, RunError> {
    run_asked(None, trace, &asked.into(), outputs, with_cost, progress)
}

/// The same, beginning with a clone of a device that was prepared for this configuration, or one that prepares it in the same way.
pub fn run_on(
    device: &Prepared,
    trace: &Path,
    asked: impl Into<Asked>,
    outputs: &Outputs,
    with_cost: bool,
    progress: &mut dyn FnMut(Stage) -> bool,
) -> Result<Finished, RunError> {
    run_asked(Some(device), trace, &asked.into(), outputs, with_cost, progress)
}

/// Not generic, so that the engine is compiled in this crate and not again in those that call `run`.
fn run_asked(
    device: Option<&Prepared>,
    trace: &Path,
    asked: &Asked,
    outputs: &Outputs,
    with_cost: bool,
    progress: &mut dyn FnMut(Stage) -> bool,
) -> Result<Finished, RunError> {
    // The trace is opened before the device is built, so that a wrong name costs no waiting.
    let options = asked.config.run.trace_options()?;
    in_order(trace, &options, RunError::is_late, |opened| run_opened(device, trace, opened, asked, outputs, with_cost, progress))
}

fn run_opened(
    device: Option<&Prepared>,
    trace: &Path,
    mut opened: Trace,
    asked: &Asked,
    outputs: &Outputs,
    with_cost: bool,
    progress: &mut dyn FnMut(Stage) -> bool,
) -> Result<Finished, RunError> {
    let config = asked.config.clone();
    let mut warnings = config.warnings()?;
    warnings.extend(asked.notes());
    if config.until()? != Until::End && !can_be_read_again(trace) {
        let why = "the trace is repeated: allowed is a trace that can be read again, not a pipe";
        return Err(RunError::Request(format!("until = {}: {why}", config.run.until)));
    }
    refuse_to_save_failures(&config, outputs)?;
    let mut gathering = Stopwatch::start();
    opened.gather(|requests, share| !gathering.is_due() || progress(Stage::Counting { requests, share }))?;
    let requests = count_requests(trace, &config, progress)?;
    let device = match device {
        None => Prepared::new(config, &mut |pages| progress(Stage::Preconditioning(pages)))?,
        Some(device) => {
            let most_requests = requests.or_else(|| most_requests(trace, &config, opened.format().name));
            device.for_run_of(config, most_requests)?
        }
    };
    let mut simulation = Simulation::of(device, requests)?;
    let stopwatch = Stopwatch::start();
    let writers = Writers::open(outputs, &mut simulation)?;
    let mut replay = Replay::new(&simulation, opened, trace, writers)?;
    let is_done = simulation.device.is_complete
        && replay.all(&mut *simulation.device.engine, &mut simulation.measured, &mut simulation.injector, progress)?;
    if simulation.device.is_complete && !replay.is_measuring {
        let what = if is_done { "the warm-up covered all" } else { "the run was stopped during the warm-up, after" };
        warnings.push(format!("{what} {} requests: nothing was measured", replay.submitted));
        replay.start_measuring(&mut *simulation.device.engine, &mut simulation.measured);
    }
    simulation.checks = std::mem::take(&mut replay.checks);
    let Replayed { mut source, writers, compactor, summary } = replay.finish()?;
    source.compacted = compactor.map(|compactor| compactor.found());
    let of_recording = summary.warnings(simulation.device.config.run.queue_depth == 0);
    warnings.extend(of_recording.iter().cloned());
    let delivered = summary.requests;
    source.read(summary, of_recording);
    if is_done && simulation.device.config.run.verify {
        progress(Stage::Verifying);
        simulation.verify();
    }
    let wall_seconds = stopwatch.seconds();
    let cost = with_cost.then(|| cost(&simulation, wall_seconds));
    let mut result = simulation.result(&source, !is_done, cost)?;
    let (fio, warnings_of_outputs) = match writers {
        Some(writers) => writers.finish(&mut simulation, &result)?,
        None => (None, Vec::new()),
    };
    // Outputs leave a drain out; losses during it cause the same warnings as earlier ones.
    if is_done && simulation.device.config.run.drain {
        drain(&mut simulation, &mut result)?;
    }
    let mut is_saved = true;
    warnings.extend(warnings_after(&simulation, &result));
    warnings.extend(simulation.injector.warnings());
    warnings.extend(warnings_of_outputs);
    warnings.extend(warnings_of_verification(&simulation, &result));
    if is_done {
        warnings.extend(asked.notes_after(&happened(&simulation, &source, delivered, &result)));
        if let Some(path) = &outputs.save_drive
            && let Some(why) = simulation.save_drive_at_end(path)?
        {
            is_saved = false;
            warnings.push(format!("the drive was not saved: {why}"));
        }
    }
    let status = Status::of(&result, is_saved);
    Ok(Finished { result, fio, warnings, status })
}

/// A drive of which a part fails cannot be saved: that is said before the run.
fn refuse_to_save_failures(config: &Config, outputs: &Outputs) -> Result<(), ConfigError> {
    match outputs.save_drive {
        Some(_) if !config.run.fail.is_empty() => {
            Err(ConfigError("save_drive: a drive of which something has failed cannot be saved: allowed without fail".into()))
        }
        _ => Ok(()),
    }
}

/// What happened in a run that settings depend on. Counts that a warm-up resets are unknown if there was one.
fn happened<'a>(simulation: &'a Simulation, source: &'a Source, requests: u64, result: &RunResult) -> Happened<'a> {
    let survey = simulation.survey();
    let media = survey.media;
    let erased = media.ssds().iter().any(|ssd| ssd.is_of_member && ssd.total_erases > 0);
    let moved = media.counts().iter().any(|of| of[Cause::Gc as usize] + of[Cause::Wear as usize] > 0) || media.untimed().victims > 0;
    let evicted = survey.buffer.is_some_and(|buffer| buffer.counts.evictions > 0);
    let unwritten = result.requests.unmapped_reads > 0 || result.requests.prefilled_pages > 0;
    Happened {
        config: &simulation.device.config,
        failed: !simulation.injector.injected.is_empty() || !survey.wear_outs.is_empty() || survey.read_errors.pages > 0,
        collected: erased || moved,
        erased,
        had_bases: survey.scheme.deferring().and_then(|deferring| deferring.guard()).is_some_and(|guard| guard.most_old_pages > 0),
        evicted,
        read_unwritten: unwritten || source.warmup_requests > 0,
        drained: result.buffer.is_some_and(|buffer| buffer.pages_buffered > 0)
            || result.drain.is_none_or(|drain| drain.commits > 0 || drain.flash_ops.programs.total > 0),
        requests,
        filled: simulation.device.filled_pages > 0,
        cut_pages: source.unaligned > 0,
        filtered: source.filtered > 0,
        queued_in_host: survey.has_queued_in_host,
        overtook_in_host: survey.has_overtaken_in_host,
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
    in_order(path, &config.run.trace_options()?, RunError::is_late, |mut trace| {
        let (mut requests, mut batch, mut stopwatch) = (0, Vec::new(), Stopwatch::start());
        loop {
            match trace.read_batch(&mut batch)? as u64 {
                0 => return Ok(Some(requests)),
                more => requests += more,
            }
            batch.clear();
            if stopwatch.is_due() && !progress(Stage::Counting { requests, share: trace.share_read() }) {
                return Err(TraceError::Interrupted.into());
            }
        }
    })
}

/// How many requests there may be at most, if that can be told at once: it decides how a device is copied, and no figure.
fn most_requests(path: &Path, config: &Config, format: &str) -> Option<u64> {
    const LEAST_BYTES: u64 = 4; // of a request in a compressed trace
    if config.run.limit > 0 {
        return Some(config.run.limit);
    }
    let file = std::fs::metadata(path).ok().filter(|file| file.is_file() && format != "profile")?;
    Some(file.len() / LEAST_BYTES)
}

/// Writes the buffer and the parities that are deferred to flash, checks what is stored then, and adds to the result the cost, which is not counted otherwise,
/// and what was lost.
fn drain(simulation: &mut Simulation, result: &mut RunResult) -> Result<(), RunError> {
    let cost = simulation.drain()?;
    #[cfg(feature = "mutants")]
    if accounting::makes(Slip::DrainWithRun) {
        let after = simulation.result(&Source::default(), false, None)?;
        (result.flash_ops, result.members, result.dies) = (after.flash_ops, after.members, after.dies);
    }
    simulation.report_drain(result, cost);
    if simulation.device.config.run.verify {
        simulation.verify();
        result.verify = Some(simulation.report_verification());
    }
    Ok(())
}

fn cost(simulation: &Simulation, wall_seconds: f64) -> EngineCost {
    let operations: u64 = simulation.survey().media.counts().iter().flatten().sum();
    EngineCost {
        wall_seconds,
        fill_seconds: simulation.device.fill_seconds,
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
