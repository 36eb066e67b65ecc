//! The outputs in progress: what the engine recorded is taken away from it and handed to each of them.

use super::asked::Outputs;
use super::fio::{self, FioJob, Rates};
use super::hdr_log::{HdrLog, TICK_NS as HDR_TICK_NS};
use super::interval::{INTERVALS_OF_A_LENGTH, Interval, MOST_INTERVALS};
use super::latency_log::LatencyLog;
use super::operation_log::OperationLog;
use super::series::Series;
use super::timeline::{MOST_EVENTS, Timeline};
use crate::config::ConfigError;
use crate::device::Device;
use crate::engine::recorder::DEPTHS;
use crate::error::RunError;
use crate::result::{RunResult, text};
use crate::simulation::Simulation;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Records that may wait to be written.
const MOST_WAITING: usize = 4096;

/// The outputs in progress.
pub(crate) struct Writers {
    asked: Outputs,
    latency_log: Option<LatencyLog>,
    operation_log: Option<OperationLog>,
    series: Option<Series>,
    hdr_log: Option<HdrLog>,
    timeline: Option<Timeline>,
    rates: Option<Rates>,
    /// The interval in progress. It sets the pace of writing even if nobody asked for intervals.
    interval: Interval,
    is_measuring: bool,
    /// Whether a measured request has arrived: samples of fio, and the window of the timeline if none was asked for, begin there.
    has_arrivals: bool,
    /// Whether anything has happened since measuring began: intervals begin there.
    has_begun: bool,
    has_longer_intervals: bool,
}

impl Writers {
    /// Creates the files and begins recording; `None` if nothing is asked for.
    pub(crate) fn open(asked: &Outputs, simulation: &mut Simulation) -> Result<Option<Self>, RunError> {
        if asked.is_empty() {
            return Ok(None);
        }
        fn create<T>(path: &Option<PathBuf>, create: impl FnOnce(&Path) -> Result<T, RunError>) -> Result<Option<T>, RunError> {
            path.as_deref().map(create).transpose()
        }
        let engine = &mut *simulation.device.engine;
        let mut writers = Self {
            latency_log: create(&asked.latency_log, LatencyLog::create)?,
            operation_log: create(&asked.operation_log, OperationLog::create)?,
            series: create(&asked.series, |path| Series::create(path, &engine.survey()))?,
            hdr_log: create(&asked.hdr_log, HdrLog::create)?,
            timeline: create(&asked.timeline, |path| Timeline::create(path, engine.survey().media))?,
            rates: asked.fio.then(|| Rates::new(0)),
            interval: Interval::new(asked.series_interval_ns),
            is_measuring: false,
            has_arrivals: false,
            has_begun: false,
            has_longer_intervals: false,
            asked: asked.clone(),
        };
        engine.record(writers.latency_log.is_some() || writers.timeline.is_some());
        // A window of its own may begin before measuring does.
        if let (Some(window), Some(timeline)) = (&asked.timeline_window, &mut writers.timeline) {
            timeline.window = window.clone();
            engine.record_moments(window.clone());
        }
        Ok(Some(writers))
    }

    /// Measuring begins now.
    pub(crate) fn begin(&mut self, engine: &mut dyn Device) {
        let now_ns = engine.now_ns();
        self.is_measuring = true;
        self.interval.start_ns = now_ns;
        if let Some(series) = &mut self.series {
            series.begin(&engine.survey(), now_ns);
        }
        if let Some(rates) = &mut self.rates {
            *rates = Rates::new(now_ns);
        }
        if self.operation_log.is_some() {
            engine.record_operations();
        }
    }

    /// A measured request arrives now.
    #[inline]
    pub(crate) fn arrived(&mut self, engine: &mut dyn Device) {
        if !self.has_arrivals {
            self.begin_arrivals(engine);
        }
    }

    /// The first measured request arrives now.
    #[cold]
    fn begin_arrivals(&mut self, engine: &mut dyn Device) {
        let now_ns = engine.now_ns();
        (self.has_arrivals, self.has_begun) = (true, true);
        if let Some(rates) = &mut self.rates {
            *rates = Rates::new(now_ns);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.window = self.asked.window(now_ns);
            engine.record_moments(timeline.window.clone());
        }
    }

    /// Moves the clock as `Engine::advance_until` does, writing on the way. Recording changes nothing: what happens between two
    /// stops of the clock does not depend on them.
    pub(crate) fn advance_until(&mut self, engine: &mut dyn Device, time_ns: u64) -> Result<(), RunError> {
        self.begin_intervals(engine, time_ns)?;
        while self.is_measuring && self.interval.end_ns() <= time_ns {
            engine.advance_until(self.interval.end_ns() - 1)?;
            self.end_interval(engine)?;
        }
        engine.advance_until(time_ns)?;
        if engine.recorder().is_some_and(|recorder| recorder.waiting() >= MOST_WAITING) { self.write(engine) } else { Ok(()) }
    }

    /// Processes the next event as `Engine::advance` does, writing before.
    pub(crate) fn advance(&mut self, engine: &mut dyn Device) -> Result<bool, RunError> {
        if let Some(time_ns) = engine.next_event_ns() {
            self.begin_intervals(engine, time_ns)?;
            while self.is_measuring && self.interval.end_ns() <= time_ns {
                self.end_interval(engine)?;
            }
        }
        if engine.recorder().is_some_and(|recorder| recorder.waiting() >= MOST_WAITING) {
            self.write(engine)?;
        }
        Ok(engine.advance()?)
    }

    /// Time is about to move to `time_ns`. Until anything happens, intervals are skipped; from then on they must not be too many.
    fn begin_intervals(&mut self, engine: &dyn Device, time_ns: u64) -> Result<(), RunError> {
        if !self.is_measuring {
            return Ok(());
        }
        self.has_begun |= engine.next_event_ns().is_some_and(|event_ns| event_ns <= time_ns);
        if !self.has_begun {
            self.interval.skip_to(time_ns);
        } else if self.series.is_some() && self.interval.end_ns() <= time_ns && self.interval.number_at(time_ns) >= MOST_INTERVALS {
            return Err(RunError::Config(ConfigError(format!(
                "series_interval = {}ns: the series would have more than {MOST_INTERVALS} rows by {time_ns} ns: allowed is a longer interval",
                self.asked.series_interval_ns
            ))));
        }
        Ok(())
    }

    /// The interval in progress ends; every event before its end is processed.
    fn end_interval(&mut self, engine: &mut dyn Device) -> Result<(), RunError> {
        self.write(engine)?;
        self.write_interval(engine, self.interval.end_ns())?;
        self.has_longer_intervals |= self.interval.next();
        Ok(())
    }

    fn write_interval(&mut self, engine: &dyn Device, end_ns: u64) -> Result<(), RunError> {
        if let Some(series) = &mut self.series {
            series.add(&engine.survey(), &self.interval, end_ns)?;
        }
        if let Some(hdr_log) = &mut self.hdr_log {
            hdr_log.add(&self.interval, end_ns)?;
        }
        Ok(())
    }

    /// Writes what the engine recorded.
    fn write(&mut self, engine: &mut dyn Device) -> Result<(), RunError> {
        let Some(recorder) = engine.recorder() else { return Ok(()) };
        let (mut requests, mut done) = (std::mem::take(&mut recorder.requests), std::mem::take(&mut recorder.done));
        let mut moments = std::mem::take(&mut recorder.moments);
        let has_intervals = self.series.is_some() || self.hdr_log.is_some();
        for request in &requests {
            if let Some(log) = &mut self.latency_log {
                log.add(request)?;
            }
            if let Some(timeline) = &mut self.timeline {
                timeline.add_request(request)?;
            }
            if let Some(rates) = &mut self.rates {
                rates.add(request);
            }
            if has_intervals {
                self.interval.add(request);
            }
        }
        if let Some(log) = &mut self.operation_log {
            let media = engine.survey().media;
            done.iter().try_for_each(|done| log.add(done, media))?;
        }
        if let Some(timeline) = &mut self.timeline {
            moments.iter().try_for_each(|moment| timeline.add_moment(moment))?;
        }
        if let Some(recorder) = engine.recorder() {
            requests.clear();
            done.clear();
            moments.clear();
            (recorder.requests, recorder.done, recorder.moments) = (requests, done, moments);
        }
        let Some(timeline) = &mut self.timeline else { return Ok(()) };
        let window_end_ns = timeline.window.end;
        let is_over = engine.now_ns() >= window_end_ns && !engine.survey().media.is_at_work_since_before(window_end_ns);
        if self.has_arrivals && (is_over || timeline.truncated_ns.is_some()) {
            engine.stop_moments(self.latency_log.is_some());
        }
        Ok(())
    }

    /// The run has ended, or was stopped: writes what is left. Returns fio's document if it was asked for, and what the user
    /// should be told.
    pub(crate) fn finish(mut self, simulation: &mut Simulation, result: &RunResult) -> Result<(Option<String>, Vec<String>), RunError> {
        let mut fio = None;
        let engine = &mut *simulation.device.engine;
        self.write(engine)?;
        let now_ns = engine.now_ns();
        if self.is_measuring {
            // What happens at the very end belongs to the last interval, if need be to one of a nanosecond.
            self.write_interval(engine, now_ns.max(self.interval.start_ns + 1))?;
        }
        if let (Some(rates), Some(depths)) = (&mut self.rates, engine.recorder().map(|recorder| recorder.depths)) {
            fio = Some(text(&fio::document(&job(result, depths), rates, engine.survey().statistics, now_ns)));
        }
        engine.stop_recording();
        self.latency_log.as_mut().map_or(Ok(()), LatencyLog::finish)?;
        self.operation_log.as_mut().map_or(Ok(()), OperationLog::finish)?;
        self.series.as_mut().map_or(Ok(()), Series::finish)?;
        self.hdr_log.as_mut().map_or(Ok(()), HdrLog::finish)?;
        let warnings = self.warnings(simulation.now_ns());
        if let Some(timeline) = &mut self.timeline {
            let RunResult { version, device, scheme, workload, partial, config, .. } = result;
            let about = json!({
                "flashraid": version, "device": device, "scheme": scheme, "trace": workload.name, "partial": partial, "config": config,
            });
            let survey = simulation.survey();
            timeline.add_failures(survey.faults, survey.rebuilds, survey.now_ns());
            timeline.finish(about)?;
        }
        Ok((fio, warnings))
    }

    fn warnings(&self, now_ns: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.has_longer_intervals && (self.series.is_some() || self.hdr_log.is_some()) {
            warnings.push(format!(
                "there would have been too many intervals of {} ns: after {INTERVALS_OF_A_LENGTH} intervals they were lengthened, finally to {} ns",
                self.asked.series_interval_ns, self.interval.length_ns
            ));
        }
        if let Some(time_ns) = self.timeline.as_ref().and_then(|timeline| timeline.truncated_ns) {
            warnings.push(format!(
                "the timeline was cut off at {MOST_EVENTS} events: requests in flight at {time_ns} ns and all later events are left out, so slices may \
                 name requests that are not shown; choose a shorter window"
            ));
        }
        if let (Some(window), Some(timeline)) = (&self.asked.timeline_window, &self.timeline)
            && timeline.is_empty()
        {
            warnings.push(format!("the timeline is empty: its window begins at {} ns, but the run ended at {now_ns} ns", window.start));
        }
        if self.hdr_log.is_some() && !self.asked.series_interval_ns.is_multiple_of(HDR_TICK_NS) {
            warnings.push(format!(
                "intervals of {} ns: the HdrHistogram log rounds their times and lengths to milliseconds",
                self.asked.series_interval_ns
            ));
        }
        warnings
    }
}

/// What fio's document says about the job.
fn job(result: &RunResult, depths: [u64; DEPTHS.len() + 1]) -> FioJob<'_> {
    let of_members: Vec<f64> = result.members.iter().filter_map(|member| member.busy_fraction).collect();
    FioJob {
        scheme: &result.scheme,
        device: &result.device,
        trace: &result.workload.name,
        queue_depth: u64::from(result.config.run.queue_depth),
        is_partial: result.partial,
        span_ns: result.bandwidth.span_ns,
        busy_share: of_members.iter().sum::<f64>() / of_members.len().max(1) as f64,
        depths,
    }
}
