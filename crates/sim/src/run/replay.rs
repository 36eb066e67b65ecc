//! Replay of a trace: the host's clock, the look-ahead in the arrivals, and what becomes of addresses.

use super::passes::Passes;
use super::stage::Stage;
use crate::config::{ConfigError, Fit, Run, Warmup};
use crate::device::Device;
use crate::error::RunError;
use crate::inject::Injector;
use crate::outputs::Writers;
use crate::result::{Measured, Snapshot, Source};
use crate::simulation::Simulation;
use crate::time::{Jitter, LATEST_NS, Speed};
use crate::verify::Checks;
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_vocabulary::wall::Stopwatch;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Compactor, OnError, Trace, TraceError, TraceSummary};
use std::path::{Path, PathBuf};

/// What a replay leaves.
pub(super) struct Replayed {
    pub(super) source: Source,
    pub(super) writers: Option<Writers>,
    pub(super) compactor: Option<Compactor>,
    pub(super) summary: TraceSummary,
}

/// The host's side of a replay.
pub(super) struct Replay {
    trace: Trace,
    file: PathBuf,
    path: String,
    /// What is known of the trace from its first pass, if there are several.
    summary: Option<TraceSummary>,
    passes: Passes,
    source: Source,
    /// `None` for that of the trace.
    speed: Option<Speed>,
    /// `None` for no delay.
    jitter: Option<Jitter>,
    run: Run,
    /// With `fit = compact`, where addresses are moved to, and what the request at hand becomes.
    compactor: Option<Compactor>,
    pieces: Vec<HostRequest>,
    /// Whether requests that do not fit are left out and counted, instead of ending the run.
    leaves_out: bool,
    space_bytes: u64,
    page_mask: u64,
    warmup: Warmup,
    /// Requests of the trace looked at, the one at hand included; those submitted are fewer by what was left out, and more by what was split.
    number: u64,
    pub(super) submitted: u64,
    pub(super) is_measuring: bool,
    pub(super) checks: Checks,
    /// Outputs beside the result, if there are any.
    writers: Option<Writers>,
    stopwatch: Stopwatch,
}

impl Replay {
    pub(super) fn new(simulation: &Simulation, trace: Trace, path: &Path, writers: Option<Writers>) -> Result<Self, ConfigError> {
        let run = &simulation.config().run;
        let warmup: Warmup = run.warmup.parse()?;
        Ok(Self {
            trace,
            file: path.into(),
            path: path.display().to_string(),
            summary: None,
            passes: Passes::new(simulation.config().until()?),
            source: Source { passes: 1, ..Source::default() },
            speed: (run.speed != 1.0).then(|| Speed::new(run.speed)),
            jitter: (run.jitter_ns > 0).then(|| Jitter::new(run.jitter_ns, run.seed)),
            run: run.clone(),
            compactor: (run.fit == Fit::Compact).then(|| Compactor::new(simulation.space_bytes())),
            pieces: Vec::new(),
            leaves_out: run.trace_options().is_ok_and(|options| options.on_error == OnError::Skip),
            page_mask: u64::from(simulation.config().device.unit_bytes()) - 1,
            space_bytes: simulation.space_bytes(),
            is_measuring: matches!(warmup, Warmup::Requests(0) | Warmup::Ns(0)),
            warmup,
            number: 0,
            submitted: 0,
            checks: Checks::default(),
            writers,
            stopwatch: Stopwatch::start(),
        })
    }

    /// Replays everything. Returns whether the end was reached.
    pub(super) fn all(
        &mut self,
        engine: &mut dyn Device,
        measured: &mut Measured,
        injector: &mut Injector,
        progress: &mut dyn FnMut(Stage) -> bool,
    ) -> Result<bool, RunError> {
        if let Some(writers) = self.writers.as_mut().filter(|_| self.is_measuring) {
            writers.begin(engine);
        }
        while self.pass(engine, measured, injector, progress)? {
            if self.is_over(engine) || !self.passes.repeats() {
                return self.end(engine, injector, progress);
            }
            self.begin_again(engine, injector)?;
        }
        Ok(false)
    }

    /// Replays the trace once, or until it is over. Returns false if it was stopped.
    fn pass(
        &mut self,
        engine: &mut dyn Device,
        measured: &mut Measured,
        injector: &mut Injector,
        progress: &mut dyn FnMut(Stage) -> bool,
    ) -> Result<bool, RunError> {
        let mut batch = Vec::new();
        loop {
            // What is left of the former batch goes first, so that the look-ahead never runs dry.
            if self.trace.read_batch(&mut batch)? == 0 {
                return Ok(true);
            }
            for index in 0..batch.len() {
                if self.is_over(engine) {
                    engine.completed().clear();
                    return Ok(true);
                }
                self.number += 1;
                if self.compactor.is_some() {
                    self.compacted(engine, measured, injector, &batch[index..], progress)?;
                } else {
                    engine.prefetch(&batch, index);
                    let request = &mut batch[index];
                    if self.fits(request)? {
                        self.host_request(engine, measured, injector, request)?;
                    }
                }
                // A check takes as long as very many requests.
                if self.is_checked_now() && self.is_to_stop(engine, progress) {
                    engine.completed().clear();
                    return Ok(false);
                }
            }
            batch.clear();
            engine.completed().clear();
            if self.is_to_stop(engine, progress) {
                return Ok(false);
            }
        }
    }

    /// Tells how far it is, now and then. Returns whether it is to stop.
    fn is_to_stop(&mut self, engine: &dyn Device, progress: &mut dyn FnMut(Stage) -> bool) -> bool {
        self.stopwatch.is_due() && {
            let share = self.trace.share_read();
            !progress(self.passes.stage(engine, self.submitted, share))
        }
    }

    /// Whether all that is stored is checked after as many requests as there were.
    #[inline(always)]
    fn is_checked_now(&self) -> bool {
        self.run.verify_every > 0 && self.submitted.is_multiple_of(self.run.verify_every)
    }

    /// Whether what the run was to wait for has come.
    #[inline(always)]
    fn is_over(&self, engine: &dyn Device) -> bool {
        self.passes.repeats() && engine.survey().retired >= self.passes.worn
    }

    /// Lets everything end. Returns false if it was stopped.
    fn end(&mut self, engine: &mut dyn Device, injector: &mut Injector, progress: &mut dyn FnMut(Stage) -> bool) -> Result<bool, RunError> {
        let mut steps = 0u64;
        engine.set_destaging(false);
        while self.advance(engine, injector)? {
            steps += 1;
            if steps.is_multiple_of(65_536) {
                engine.completed().clear();
                if !progress(self.passes.stage(engine, self.submitted, 1.0)) {
                    return Ok(false);
                }
            }
        }
        engine.completed().clear();
        Ok(true)
    }

    /// Opens the trace anew, and has its arrivals continue.
    #[cold]
    fn begin_again(&mut self, engine: &mut dyn Device, injector: &mut Injector) -> Result<(), RunError> {
        if self.passes.programs_nothing(engine, self.run.queue_depth) {
            // What was asked for before may be still to come.
            while engine.outstanding() > 0 && self.advance(engine, injector)? {}
            engine.completed().clear();
            self.passes.refuse_idle(engine, &self.path, &self.run.until)?;
        }
        self.passes.next(engine, &self.path, self.run.queue_depth)?;
        self.source.passes += 1;
        let open = if self.trace.is_sorted() { Trace::open_sorted } else { Trace::open };
        let before = std::mem::replace(&mut self.trace, open(&self.file, &self.run.trace_options()?)?);
        if self.summary.is_none() {
            self.summary = Some(before.finish()?);
        }
        Ok(())
    }

    /// What is known of the trace: from its first pass, what follows is the same again.
    pub(super) fn finish(self) -> Result<Replayed, TraceError> {
        let Self { trace, summary, source, writers, compactor, .. } = self;
        let summary = summary.map_or_else(|| trace.finish(), Ok)?;
        Ok(Replayed { source, writers, compactor, summary })
    }

    /// Scales the request to the replay's speed, and fits it into the logical space. False: it does not fit, and is to be left out.
    #[inline(always)]
    fn fits(&mut self, request: &mut HostRequest) -> Result<bool, RunError> {
        self.scale(request)?;
        if request.offset_bytes + request.size_bytes > self.space_bytes && !self.fit_into_space(request)? {
            self.source.left_out += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// Replays the first of these requests at the places of its extents, in one or several pieces.
    fn compacted(
        &mut self,
        engine: &mut dyn Device,
        measured: &mut Measured,
        injector: &mut Injector,
        requests: &[HostRequest],
        progress: &mut dyn FnMut(Stage) -> bool,
    ) -> Result<(), RunError> {
        let mut request = requests[0];
        self.scale(&mut request)?;
        let Some(compactor) = &mut self.compactor else { return Ok(()) };
        let mut pieces = std::mem::take(&mut self.pieces);
        if compactor.place(&request, &mut pieces) {
            pieces.drain(..).try_for_each(|mut piece| self.host_request(engine, measured, injector, &mut piece))?;
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
        let (mut batch, mut count, mut stopwatch) = (requests.to_vec(), self.number, Stopwatch::start());
        loop {
            count += batch.len() as u64;
            batch.drain(..).for_each(|request| compactor.touch(&request));
            match self.trace.read_batch(&mut batch) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return error.into(),
            }
            if stopwatch.is_due() && !progress(Stage::Counting { requests: count, share: self.trace.share_read() }) {
                return TraceError::Interrupted.into();
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

    /// Scales the request to the replay's speed, and puts it off by the jitter.
    #[inline(always)]
    fn scale(&mut self, request: &mut HostRequest) -> Result<(), RunError> {
        if let Some(speed) = self.speed {
            request.arrival_ns = speed.scaled(request.arrival_ns).ok_or_else(|| self.too_late(request))?;
        }
        if self.passes.repeats() {
            request.arrival_ns = self.passes.continued(request.arrival_ns).ok_or_else(|| self.too_late(request))?;
        }
        if self.run.queue_depth == 0 {
            self.put_off(request)?;
        }
        self.source.unaligned += u64::from((request.offset_bytes | request.size_bytes) & self.page_mask != 0);
        Ok(())
    }

    /// Puts the arrival off by the jitter.
    #[inline(always)]
    fn put_off(&mut self, request: &mut HostRequest) -> Result<(), RunError> {
        if let Some(jitter) = &mut self.jitter {
            request.arrival_ns = jitter.delayed(request.arrival_ns).ok_or_else(|| self.too_late(request))?;
        }
        Ok(())
    }

    #[cold]
    fn too_late(&self, request: &HostRequest) -> RunError {
        RunError::Request(format!(
            "{}: request {}, recorded at {} ns, arrives after the latest simulated time of {LATEST_NS} ns (292 years): use a larger --speed",
            self.path, self.number, request.arrival_ns
        ))
    }

    /// Wraps a request around the end of the logical space. Returns false if the request must be left out.
    #[cold]
    fn fit_into_space(&mut self, request: &mut HostRequest) -> Result<bool, RunError> {
        let (end, space) = (request.offset_bytes + request.size_bytes, self.space_bytes);
        let number = self.number;
        let is_data = matches!(request.op, HostOp::Read | HostOp::Write);
        if self.leaves_out && (self.run.fit == Fit::Error || (is_data && request.size_bytes > space)) {
            return Ok(false);
        }
        if self.run.fit == Fit::Error {
            return Err(RunError::Request(format!(
                "{}: request {number} ends at byte {end}, but the logical space has {space} bytes: use --fit compact, --fit wrap, or a larger device",
                self.path
            )));
        }
        self.source.wrapped += 1;
        request.offset_bytes %= space;
        if request.size_bytes > space {
            // A discard longer than the space discards all of it; a read or write cannot be longer.
            if is_data {
                return Err(RunError::Request(format!(
                    "{}: request {number} has {} bytes: allowed is at most {space}, the size of the logical space",
                    self.path, request.size_bytes
                )));
            }
            (request.offset_bytes, request.size_bytes) = (0, space);
        }
        Ok(true)
    }

    /// What came so far was warm-up.
    pub(super) fn start_measuring(&mut self, engine: &mut dyn Device, measured: &mut Measured) {
        self.source.warmup_requests = self.submitted;
        engine.begin_measuring();
        *measured = Measured::from(Snapshot::of(&engine.survey()));
        measured.backlog = engine.outstanding();
        if let Some(writers) = &mut self.writers {
            writers.begin(engine);
        }
    }

    /// Processes the next event, or injects what is due before it. Always inlined: its result is large, and most runs have no writers.
    #[inline(always)]
    fn advance(&mut self, engine: &mut dyn Device, injector: &mut Injector) -> Result<bool, RunError> {
        if let Some(stop_ns) = injector.stop_before_event(engine) {
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
    #[inline(always)]
    fn advance_until(&mut self, engine: &mut dyn Device, time_ns: u64) -> Result<(), RunError> {
        match &mut self.writers {
            None => Ok(engine.advance_until(time_ns)?),
            Some(writers) => writers.advance_until(engine, time_ns),
        }
    }

    #[inline]
    fn host_request(
        &mut self,
        engine: &mut dyn Device,
        measured: &mut Measured,
        injector: &mut Injector,
        request: &mut HostRequest,
    ) -> Result<(), RunError> {
        if self.run.queue_depth > 0 {
            while engine.outstanding() >= u64::from(self.run.queue_depth) {
                self.advance(engine, injector)?;
            }
            request.arrival_ns = engine.now_ns();
            self.put_off(request)?;
        }
        if self.run.queue_depth == 0 || request.arrival_ns > engine.now_ns() {
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
            measured.arrived(request, engine);
            if let Some(writers) = &mut self.writers {
                writers.arrived(engine);
            }
        }
        #[cfg(feature = "mutants")]
        let is_last_of_warmup = self.warmup == Warmup::Requests(self.submitted + 1) && accounting::makes(Slip::WarmupMeasured);
        #[cfg(not(feature = "mutants"))]
        let is_last_of_warmup = false;
        engine.submit(request, self.is_measuring || is_last_of_warmup);
        self.submitted += 1;
        if self.is_checked_now() {
            engine.check_stored(&mut self.checks);
        }
        Ok(())
    }
}
