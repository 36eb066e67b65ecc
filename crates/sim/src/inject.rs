//! Injects the faults of a run (`fail`) when their time has come.
//!
//! A request costs two comparisons. Only while an event of the device is waited for (a GC run, a commit, a rebuild) the clock stops
//! after each event, which changes nothing but the time that it takes.

use crate::config::share_of;
use crate::config::{ConfigError, Injection, Target, Trigger};
use crate::device::Device;
use crate::engine::Survey;
use flashraid_vocabulary::{Action, Cause};
use schemars::JsonSchema;
use serde::Serialize;

/// An injected fault.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Injected {
    /// The fault, as specified.
    pub fault: String,
    /// The time of the fault, as specified; `now` for a fault injected with `Simulation.fail`.
    pub when: String,
    /// Simulated time at which it happened.
    #[schemars(extend("unit" = "ns"))]
    pub at_ns: u64,
    /// Number of requests that had arrived by then.
    #[schemars(extend("unit" = "requests"))]
    pub request: u64,
    /// Whether a spare chip replaced the failed one.
    pub spare: bool,
    /// Host pages that could not be rebuilt immediately after the fault.
    #[schemars(extend("unit" = "pages"))]
    pub pages_lost: u64,
}

/// The faults to come and those that came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Injector {
    /// To come, in the order in which they were given.
    pending: Vec<Injection>,
    /// The earliest time and number of a request that one of them waits for; `u64::MAX` for none.
    next_ns: u64,
    next_request: u64,
    /// Whether one of them waits for an event of the device.
    waits_for_event: bool,
    /// Requests that have arrived.
    arrived: u64,
    /// What was done for GC runs and commits before the first request.
    before: [u64; 2],
    /// Injected, in order.
    pub injected: Vec<Injected>,
    /// Replacements that could not be, and why.
    refused: Vec<String>,
}

/// Page operations started or planned for GC runs, and for commits.
fn work(survey: &Survey<'_>) -> [u64; 2] {
    let collected = survey.media.counts().iter().map(|of| of[Cause::Gc as usize] + of[Cause::Wear as usize]).sum();
    let committed = [Action::Read, Action::Program].map(|action| survey.statistics.planned[action as usize][Cause::Commit as usize]);
    [collected, committed.iter().sum()]
}

impl Injector {
    /// Injects `faults` on a device that is ready for its first request. `requests` is the number of requests of the trace, if that is known.
    pub fn new(faults: Vec<Injection>, requests: Option<u64>, survey: &Survey<'_>) -> Result<Self, ConfigError> {
        let mut injector = Self { pending: faults, before: work(survey), ..Self::default() };
        for fault in &mut injector.pending {
            if let Trigger::Share(share) = fault.trigger {
                let Some(requests) = requests else {
                    let Injection { setting, what, when, .. } = fault;
                    let why = "a share of the trace needs a trace that can be read twice: allowed is a time or request:N";
                    return Err(ConfigError(format!("{setting} = {what}@{when}: {why}")));
                };
                fault.trigger = Trigger::Request(request_of(share, requests));
            }
        }
        injector.look_ahead();
        Ok(injector)
    }

    /// Whether the number of the trace's requests must be known.
    pub fn needs_requests(faults: &[Injection]) -> bool {
        faults.iter().any(|fault| matches!(fault.trigger, Trigger::Share(_)))
    }

    fn look_ahead(&mut self) {
        (self.next_ns, self.next_request, self.waits_for_event) = (u64::MAX, u64::MAX, false);
        for fault in &self.pending {
            match fault.trigger {
                Trigger::Time(time_ns) => self.next_ns = self.next_ns.min(time_ns),
                Trigger::Request(number) => self.next_request = self.next_request.min(number),
                Trigger::Share(_) => unreachable!("made a number of a request"),
                Trigger::Gc | Trigger::Commit | Trigger::Rebuild(_) | Trigger::Replacement(_) => self.waits_for_event = true,
            }
        }
    }

    /// The time, up to `time_ns`, at which to look whether something is to be injected, if there is one before the clock gets there.
    #[inline]
    pub fn stop_before(&self, engine: &dyn Device, time_ns: u64) -> Option<u64> {
        if self.next_ns > time_ns && !self.waits_for_event {
            return None;
        }
        let event_ns = if self.waits_for_event { engine.next_event_ns().unwrap_or(u64::MAX) } else { u64::MAX };
        let stop_ns = self.next_ns.min(event_ns).max(engine.now_ns());
        (stop_ns <= time_ns).then_some(stop_ns)
    }

    /// The same before the next event, if there is one.
    #[inline]
    pub fn stop_before_event(&self, engine: &dyn Device) -> Option<u64> {
        if self.next_ns == u64::MAX && !self.waits_for_event {
            return None;
        }
        engine.next_event_ns().and_then(|time_ns| self.stop_before(engine, time_ns))
    }

    /// The request numbered `number`, counted from 1, arrives now.
    #[inline]
    pub fn arrives(&mut self, engine: &mut dyn Device, number: u64) {
        self.arrived = number;
        if number >= self.next_request {
            self.look(engine);
        }
    }

    /// Injects what is due at this instant.
    #[cold]
    pub fn look(&mut self, engine: &mut dyn Device) {
        let [collected, committed] = work(&engine.survey());
        let mut next = 0;
        while let Some(fault) = self.pending.get(next) {
            let is_due = match fault.trigger {
                Trigger::Time(time_ns) => time_ns <= engine.now_ns(),
                Trigger::Request(number) => number <= self.arrived,
                Trigger::Share(_) => false,
                Trigger::Gc => collected > self.before[0],
                Trigger::Commit => committed > self.before[1],
                Trigger::Rebuild(share) => passed(&engine.survey()).is_some_and(|passed| passed >= share),
                Trigger::Replacement(share) => engine.survey().replaced_share.is_some_and(|replaced| replaced >= share),
            };
            if is_due {
                let Injection { what, target, when, .. } = self.pending.remove(next);
                self.inject(engine, what, when, target);
            } else {
                next += 1;
            }
        }
        self.look_ahead();
    }

    /// Injects a fault now, or has an SSD replaced.
    pub fn inject(&mut self, engine: &mut dyn Device, fault: String, when: String, target: Target) {
        if let Target::Replace(device) = target {
            let text = format!("replace = {fault}@{when}");
            let refused = self.replace(engine, device, when).err();
            return self.refused.extend(refused.map(|why| format!("{text}: {why}")));
        }
        let failure = match target {
            Target::Fault(failure) => Some(failure),
            Target::PageOf(page) => engine.failure_of(page),
            Target::Replace(_) => unreachable!("no fault"),
        };
        if let Some(failure) = failure {
            engine.fail(failure);
        }
        self.note(engine, fault, when, failure.is_some());
    }

    /// Has an SSD replaced now, which is a fault where the scheme does not do it itself. Returns why it cannot be.
    pub fn replace(&mut self, engine: &mut dyn Device, device: u32, when: String) -> Result<(), &'static str> {
        engine.replace(device)?;
        if engine.survey().scheme.replacing().is_none() {
            self.note(engine, format!("device:{device}"), when, true);
        }
        Ok(())
    }

    fn note(&mut self, engine: &dyn Device, fault: String, when: String, has_happened: bool) {
        let record = engine.survey().faults.last().filter(|_| has_happened);
        self.injected.push(Injected {
            fault,
            when,
            at_ns: engine.now_ns(),
            request: self.arrived,
            spare: record.is_some_and(|record| record.is_replaced),
            pages_lost: record.map_or(0, |record| record.pages_lost),
        });
    }

    /// What the user should be told about faults that did not come to pass.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let pending = self.pending.iter().map(|Injection { setting, what, when, .. }| match *setting {
            "replace" => format!("{setting} = {what}@{when}: the run ended before the SSD could be replaced"),
            _ => format!("{setting} = {what}@{when}: the run ended before the fault could be injected"),
        });
        pending.chain(self.refused.iter().cloned())
    }
}

/// The share of the stripes that a rebuild has passed: all, when it has ended.
fn passed(survey: &Survey<'_>) -> Option<f64> {
    survey.rebuild_share.or_else(|| survey.rebuilds.last().map(|_| 1.0))
}

/// The first request with which this share of so many has arrived.
fn request_of(share: f64, requests: u64) -> u64 {
    share_of(share, requests).1.max(1)
}

#[cfg(test)]
mod tests {
    use super::request_of;

    #[test]
    fn a_share_has_arrived_with_the_request_that_completes_it() {
        let cases = [(0.4, 3, 2), (0.1, 3, 1), (0.5, 1, 1), (1e-6, 10, 1), (1.0, 7, 7), (0.34, 3, 2), (0.29, 100, 29), (0.5, 1001, 501)];
        for (share, requests, expected) in cases {
            assert_eq!(request_of(share, requests), expected, "{share} of {requests}");
        }
        for percent in 1..=100 {
            assert_eq!(request_of(percent as f64 / 100.0, 100), percent);
            assert_eq!(request_of(percent as f64 / 100.0, 1_000_000_000_000), percent * 10_000_000_000);
        }
    }
}
