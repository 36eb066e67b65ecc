//! Passes of a trace that is repeated until SSDs are worn out (`until = worn:N`).

use super::stage::Stage;
use crate::config::Until;
use crate::device::Device;
use crate::engine::Survey;
use crate::error::RunError;
use crate::time::LATEST_NS;
use flashraid_vocabulary::Action;

/// Where the passes are.
pub(super) struct Passes {
    /// SSDs that must be worn out; `u32::MAX` if the trace is not repeated.
    pub(super) worn: u32,
    /// What is added to the arrivals of this pass.
    offset_ns: u64,
    /// Requests of this pass, and the first and the last arrival, without `offset_ns`.
    requests: u64,
    first_ns: u64,
    last_ns: u64,
    /// Pages programmed, and the time, when this pass began.
    programs: u64,
    began_ns: u64,
    /// Passes in a row that programmed nothing.
    idle_passes: u32,
}

impl Passes {
    pub(super) fn new(until: Until) -> Self {
        let worn = if let Until::Worn(worn) = until { worn } else { u32::MAX };
        Self { worn, offset_ns: 0, requests: 0, first_ns: 0, last_ns: 0, programs: 0, began_ns: 0, idle_passes: 0 }
    }

    /// Whether the trace is repeated.
    pub(super) fn repeats(&self) -> bool {
        self.worn < u32::MAX
    }

    /// When a request of this pass arrives that is recorded for this time; `None` if that is too late.
    pub(super) fn continued(&mut self, arrival_ns: u64) -> Option<u64> {
        if self.requests == 0 {
            self.first_ns = arrival_ns;
        }
        self.requests += 1;
        self.last_ns = arrival_ns;
        arrival_ns.checked_add(self.offset_ns).filter(|time_ns| *time_ns <= LATEST_NS)
    }

    /// Whether nothing was programmed in this pass, and time has passed or cannot be waited for any longer: without programs nothing is ever erased.
    pub(super) fn programs_nothing(&mut self, engine: &dyn Device, queue_depth: u32) -> bool {
        self.idle_passes = if programs(&engine.survey()) == self.programs { self.idle_passes + 1 } else { 0 };
        // A closed loop may have to be filled first, in no time.
        self.idle_passes > 0 && (engine.now_ns() > self.began_ns || self.idle_passes > queue_depth)
    }

    /// Everything that was asked for has ended: an error, if that has still programmed nothing.
    pub(super) fn refuse_idle(&mut self, engine: &dyn Device, path: &str, until: &str) -> Result<(), RunError> {
        let survey = engine.survey();
        if programs(&survey) > self.programs {
            self.idle_passes = 0;
            return Ok(());
        }
        Err(RunError::Request(format!(
            "until = {until}: a whole pass of {path} has programmed and erased nothing, so no SSD wears out any more ({} did): allowed is a trace \
             with writes that the array can serve",
            survey.retired
        )))
    }

    /// The next pass begins: its first request arrives after the last one of this pass, by the mean time between arrivals; not in the past.
    pub(super) fn next(&mut self, engine: &dyn Device, path: &str, queue_depth: u32) -> Result<(), RunError> {
        let gap_ns = (self.last_ns - self.first_ns) / (self.requests - 1).max(1);
        if gap_ns == 0 && queue_depth == 0 {
            return Err(RunError::Request(format!(
                "until: the requests of {path} arrive at the same time, so that there is no time after which they could be repeated: allowed is \
                 queue_depth above 0"
            )));
        }
        let next_ns = (self.last_ns + self.offset_ns + gap_ns).max(engine.now_ns());
        self.offset_ns = next_ns - self.first_ns;
        (self.requests, self.programs, self.began_ns) = (0, programs(&engine.survey()), engine.now_ns());
        Ok(())
    }

    /// How far the run is.
    pub(super) fn stage(&self, engine: &dyn Device, requests: u64, share: f64) -> Stage {
        if !self.repeats() {
            return Stage::Replaying { requests, share };
        }
        let survey = engine.survey();
        let (worn, ssds) = (survey.retired, survey.media.ssds());
        let living = ssds.iter().filter(|ssd| ssd.is_of_member && !ssd.is_worn_out()).filter_map(|ssd| ssd.age);
        let eldest = living.fold(0.0, f64::max);
        Stage::Ageing { worn, share: ((f64::from(worn) + eldest) / f64::from(self.worn)).min(1.0) }
    }
}

/// Pages programmed so far.
fn programs(survey: &Survey<'_>) -> u64 {
    survey.media.counts()[Action::Program as usize].iter().sum()
}
