//! A device that is simulated: the engine with or without contents, and what its result needs to know.

use crate::config::{Config, ConfigError, Target};
use crate::engine::{CompletedRequest, Halted, ReplacementRecord, Survey};
use crate::error::RunError;
use crate::inject::Injector;
use crate::prepared::Prepared;
use crate::result::types::Drain;
use crate::result::{Measured, Snapshot};
use crate::time::LATEST_NS;
use crate::verify::{Checks, Verified};
use flashraid_vocabulary::{HostOp, HostRequest};

/// A simulated device, ready for requests: submit them, advance the time, take completions, ask for the result.
#[derive(Clone)]
pub struct Simulation {
    /// As it was prepared, and as requests have left it.
    pub(crate) device: Prepared,
    pub(crate) checks: Checks,
    pub(crate) measured: Measured,
    pub(crate) injector: Injector,
    submitted: u64,
}

impl Simulation {
    /// A device as the configuration describes it, filled and preconditioned as it says, or the drive that it names. `go_on` is called now and then
    /// during long preparations with the pages written; returning false cuts the precondition short.
    pub fn new(config: Config, mut go_on: impl FnMut(u64) -> bool) -> Result<Self, ConfigError> {
        Self::of(Prepared::new(config, &mut go_on)?, None)
    }

    /// A simulation that begins with this device, for a trace of so many requests, if that is known.
    pub(crate) fn of(device: Prepared, requests: Option<u64>) -> Result<Self, ConfigError> {
        let start = Snapshot::of(&device.engine.survey());
        Ok(Self {
            measured: Measured::from(start),
            injector: Injector::new(device.config.faults()?, requests, &device.engine.survey())?,
            submitted: 0,
            device,
            checks: Checks::default(),
        })
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.device.config
    }

    /// What there is to know of the device now.
    pub(crate) fn survey(&self) -> Survey<'_> {
        self.device.engine.survey()
    }

    /// Bytes of the logical space.
    pub fn space_bytes(&self) -> u64 {
        self.device.engine.space_pages() * u64::from(self.device.config.device.unit_bytes())
    }

    /// Simulated time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.device.engine.now_ns()
    }

    /// Time of the next event, if anything is in flight.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.device.engine.next_event_ns()
    }

    /// Requests submitted and not completed.
    pub fn outstanding(&self) -> u64 {
        self.device.engine.outstanding()
    }

    /// Submits a request at its arrival time, to which time moves first. Returns its number. Refused is an arrival in the past, a size
    /// that the operation cannot have, and bytes outside the logical space.
    pub fn submit(&mut self, request: &HostRequest) -> Result<u64, RunError> {
        self.check_request(request)?;
        self.advance_until(request.arrival_ns)?;
        let engine = &mut *self.device.engine;
        self.measured.arrived(request, engine);
        self.submitted += 1;
        self.injector.arrives(engine, self.submitted);
        Ok(engine.submit(request, true))
    }

    fn check_request(&self, request: &HostRequest) -> Result<(), RunError> {
        let HostRequest { arrival_ns, offset_bytes, size_bytes, op, .. } = *request;
        let (now_ns, space_bytes) = (self.now_ns(), self.space_bytes());
        let refuse = |what: String| Err(RunError::Request(what));
        if arrival_ns > LATEST_NS {
            return refuse(format!("at {arrival_ns} ns: allowed is at most {LATEST_NS} (292 years)"));
        }
        if arrival_ns < now_ns {
            return refuse(format!("at {arrival_ns} ns: allowed is {now_ns} (now) or later"));
        }
        if op == HostOp::Flush && (offset_bytes, size_bytes) != (0, 0) {
            return refuse(format!("a flush of {size_bytes} bytes at {offset_bytes}: allowed is 0 for both"));
        }
        if op != HostOp::Flush && size_bytes == 0 {
            return refuse("a size of 0 bytes: allowed is at least 1".into());
        }
        if offset_bytes.checked_add(size_bytes).is_none_or(|end| end > space_bytes) {
            return refuse(format!(
                "{size_bytes} bytes at {offset_bytes}: allowed is up to the end of the logical space, {space_bytes} bytes"
            ));
        }
        Ok(())
    }

    /// Processes every event up to and including `time_ns` and moves the clock there.
    pub fn advance_until(&mut self, time_ns: u64) -> Result<(), RunError> {
        if time_ns > LATEST_NS || time_ns < self.now_ns() {
            return Err(RunError::Request(format!(
                "until {time_ns} ns: allowed is from {} (now) to {LATEST_NS} (292 years)",
                self.now_ns()
            )));
        }
        let engine = &mut *self.device.engine;
        while let Some(stop_ns) = self.injector.stop_before(engine, time_ns) {
            engine.advance_until(stop_ns)?;
            self.injector.look(engine);
        }
        Ok(engine.advance_until(time_ns)?)
    }

    /// Runs until everything submitted has ended.
    pub fn finish(&mut self) -> Result<(), Halted> {
        self.device.engine.set_destaging(false);
        let ended = self.come_to_end();
        self.device.engine.set_destaging(true);
        ended
    }

    fn come_to_end(&mut self) -> Result<(), Halted> {
        let engine = &mut *self.device.engine;
        loop {
            match self.injector.stop_before_event(engine) {
                Some(stop_ns) => {
                    engine.advance_until(stop_ns)?;
                    self.injector.look(engine);
                }
                None if !engine.advance()? => return Ok(()),
                None => {}
            }
        }
    }

    /// Injects a fault now: `fault` is the WHAT of the setting `fail`. Refused is what the device does not have.
    pub fn fail(&mut self, fault: &str) -> Result<(), ConfigError> {
        let target: Target = fault.parse()?;
        let space_pages = self.space_bytes() / u64::from(self.device.config.device.unit_bytes());
        target.check(&self.device.config, space_pages).map_err(|why| ConfigError(format!("{fault}: {why}")))?;
        self.injector.inject(&mut *self.device.engine, fault.into(), "now".into(), target);
        Ok(())
    }

    /// Has an SSD of the array replaced. Refused is what cannot be.
    pub fn replace(&mut self, device: u32) -> Result<(), ConfigError> {
        let refuse = |why: String| ConfigError(format!("device:{device}: {why}"));
        Target::Replace(device).check(&self.device.config, 0).map_err(refuse)?;
        let refused = self.injector.replace(&mut *self.device.engine, device, "now".into());
        refused.map_err(|why| refuse(why.into()))
    }

    /// SSDs that the user or their age wants replaced, but whose replacement has not begun, and why.
    pub(crate) fn awaiting_replacement(&self) -> Vec<(u32, &'static str)> {
        let why = if self.survey().media.next_spare().is_none() { "no spare SSD is left" } else { "the run ended before" };
        self.device.engine.awaiting_replacement().into_iter().map(|device| (device, why)).collect()
    }

    /// Replacements of SSDs so far.
    pub fn replacements(&self) -> &[ReplacementRecord] {
        self.survey().replacements
    }

    /// Takes the requests completed since the last call, in order.
    pub fn take_completed(&mut self) -> Vec<CompletedRequest> {
        std::mem::take(self.device.engine.completed())
    }

    /// Writes what the buffer holds to flash, and the parities that are deferred, and returns what that cost. It is for the end of a run, when nothing is in
    /// flight: a result taken afterwards would count it as the workload's.
    pub(crate) fn drain(&mut self) -> Result<Drain, Halted> {
        let engine = &mut *self.device.engine;
        let start = Snapshot::of(&engine.survey());
        engine.drain_buffer()?;
        engine.drain_scheme();
        engine.finish()?;
        Ok(Snapshot::of(&engine.survey()).cost_since(&start))
    }

    /// Checks everything stored, if contents are tracked, and adds it to what the result reports.
    pub fn verify(&mut self) -> Option<Verified> {
        self.device.engine.check_stored(&mut self.checks)
    }
}
