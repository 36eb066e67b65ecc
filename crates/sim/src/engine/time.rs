//! Time: the engine processes the earliest of media events, timers and what the data buffer does (see `clock`). After each event it tells whoever
//! watches: the rebuild, jobs, and the scheme, which may want to do something while nobody else works. Where nothing is to come, somebody who waits for
//! space goes on without it, or fails.

use super::content::Content;
use super::executor::Executor;
use super::request::Request;
use super::slot::NO_JOB;
use super::state::Engine;
use crate::clock::{Due, NEVER};
use crate::media::Media;
use crate::time::LATEST_NS;
use flashraid_redundancy::IdleWork;
use flashraid_vocabulary::{DeviceFault, NIL};
use std::fmt;

/// Why the engine cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halted {
    /// Work is unfinished, but nothing is in flight and nothing waits for space: a defect of a scheme or of the engine.
    Stalled(String),
    /// Outstanding work would end after `LATEST_NS`.
    TooLate,
}

impl fmt::Display for Halted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled(text) => formatter.write_str(text),
            Self::TooLate => {
                write!(formatter, "work of the device would end after the latest simulated time of {LATEST_NS} ns (292 years)")
            }
        }
    }
}

impl std::error::Error for Halted {}

impl<C: Content, M: Media> Engine<C, M> {
    /// Time of the next event, if anything is in flight.
    pub fn next_event_ns(&self) -> Option<u64> {
        Some(
            self.executor
                .media
                .next_event_ns()
                .min(self.executor.clock.next_timer_ns())
                .min(self.front_end.next_in_buffer_ns(self.executor.clock.now_ns())),
        )
        .filter(|time| *time != NEVER)
    }

    /// Processes every event up to and including `time_ns` and moves the clock there.
    #[inline]
    pub fn advance_until(&mut self, time_ns: u64) -> Result<(), Halted> {
        if self.front_end.buffer.is_some() {
            self.advance_to_buffer(time_ns)?;
        }
        loop {
            while self.executor.media.next_event_ns() <= time_ns.min(self.executor.clock.next_timer_ns()) {
                self.process_event(!self.executor.has_watchers);
            }
            if self.executor.clock.next_timer_ns() > time_ns {
                break;
            }
            self.timer_is_due();
        }
        if self.executor.media.next_event_ns() == NEVER
            && !self.executor.clock.has_work()
            && (self.executor.operations.waiting_for_space > 0 || self.executor.media.has_failures())
            && self.goes_on_without_progress()
        {
            return self.advance_until(time_ns);
        }
        if self.executor.media.is_at_rest() {
            self.executor.note_idle(&self.front_end, time_ns);
        }
        self.executor.set_now(time_ns);
        Ok(())
    }

    /// Processes the next event. Returns whether there was one; without one, requests that wait for space fail.
    pub fn advance(&mut self) -> Result<bool, Halted> {
        let (event_ns, timer_ns, buffer_ns) = (
            self.executor.media.next_event_ns(),
            self.executor.clock.next_timer_ns(),
            self.front_end.next_in_buffer_ns(self.executor.clock.now_ns()),
        );
        let first_ns = event_ns.min(timer_ns).min(buffer_ns);
        if first_ns > LATEST_NS {
            return self.advance_without_event();
        }
        if event_ns == first_ns {
            self.process_event(false);
        } else if timer_ns == first_ns {
            self.timer_is_due();
        } else {
            self.buffer_is_due();
        }
        Ok(true)
    }

    /// The next timer is due, before any event.
    #[cold]
    fn timer_is_due(&mut self) {
        if self.executor.media.is_at_rest() {
            self.executor.note_idle(&self.front_end, self.executor.clock.next_timer_ns());
        }
        let due = self.executor.clock.take_due();
        self.executor.media.set_now(self.executor.clock.now_ns());
        match due {
            Due::Operation(id) => self.executor.pause_is_over(&mut self.front_end, id),
            Due::Stage => {
                if let Some(id) = self.executor.leave_stage(&mut self.front_end) {
                    let Request { op, offset_bytes, size_bytes, .. } = self.front_end.requests[id];
                    self.accept(id, op, offset_bytes, size_bytes);
                }
            }
            Due::Host => self.take_from_host(),
            Due::Idle => {}
        }
        self.executor.run_ready(&mut self.front_end);
        if self.executor.has_watchers {
            self.tell_watchers();
        }
    }

    /// No event is to come, or none in time.
    #[cold]
    fn advance_without_event(&mut self) -> Result<bool, Halted> {
        if self.next_event_ns().is_some() {
            return Err(Halted::TooLate);
        }
        if self.goes_on_without_progress() {
            return Ok(true);
        }
        if self.front_end.requests.outstanding > 0 || self.front_end.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()) {
            let (now_ns, outstanding) = (self.executor.clock.now_ns(), self.front_end.requests.outstanding);
            let what = format!("stalled at {now_ns} ns with {outstanding} requests outstanding and nothing under way;");
            return Err(Halted::Stalled(what + &self.executor.operations.describe()));
        }
        Ok(false)
    }

    /// Nothing is in flight: lets somebody go on, or fail, who waits for space that will not come. Returns whether there was anybody.
    #[cold]
    fn goes_on_without_progress(&mut self) -> bool {
        if self.goes_on_without_space() {
            return true;
        }
        let has_failed = self.executor.operations.waiting_for_space > 0 && self.executor.fail_for_space(&mut self.front_end);
        if has_failed && self.executor.has_watchers {
            // It may have been in the way of what is done in idle time, and no event may come.
            self.tell_watchers();
        }
        has_failed
    }

    /// Runs until everything submitted has completed and ended. Meanwhile a buffer does not destage by itself: how much would leave depends on flash.
    pub fn finish(&mut self) -> Result<(), Halted> {
        let destages = std::mem::replace(&mut self.front_end.destages, false);
        let finished = loop {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(halted) => break Err(halted),
            }
        };
        self.front_end.destages = destages;
        finished
    }

    /// Processes the next event, and with `buses` those of buses that follow from it at once: where nobody looks at each event.
    #[inline(always)]
    pub(super) fn process_event(&mut self, buses: bool) {
        if self.executor.shape.waits_at_rest && self.executor.media.is_at_rest() {
            self.executor.note_idle(&self.front_end, self.executor.media.next_event_ns());
        }
        self.executor.clock.advance_to(self.executor.media.next_event_ns());
        self.executor.media.advance(&mut self.executor.content);
        if buses {
            self.executor.media.serve_due_buses();
        }
        if let Some(recorder) = &mut self.front_end.recorder {
            recorder.note_recorded(&mut self.executor.media, &self.executor.operations, &self.front_end.requests);
        }
        if self.look_ahead.is_on() {
            let Executor { media, content, operations, .. } = &mut self.executor;
            self.look_ahead.fetch_started(media, content, operations, &self.front_end.requests);
        }
        if self.executor.translation.is_some() {
            self.executor.take_map_events(&self.front_end);
        }
        self.executor.take_completions(&mut self.front_end);
        self.executor.run_ready(&mut self.front_end);
        if self.executor.has_watchers {
            self.tell_watchers();
        }
    }

    /// An event was processed.
    #[cold]
    pub(super) fn tell_watchers(&mut self) {
        if let Some(side) = &mut self.front_end.host_side {
            side.note_moves(|| self.executor.media.counts(), self.executor.clock.now_ns());
        }
        self.executor.fail_worn_out(&mut self.front_end);
        if self.executor.shape.reads_may_fail {
            self.executor.take_unreadable();
        }
        self.executor.resume_rebuild(&mut self.front_end);
        self.executor.offer_jobs(&mut self.front_end);
        if self.executor.scheme.when_idle().is_some() {
            self.offer_idle_time();
        }
        if let Some(recorder) = &mut self.front_end.recorder {
            recorder.note_queues(self.executor.clock.now_ns(), &self.executor.media);
        }
    }

    /// Starts what the scheme does while nobody else works.
    #[cold]
    pub(super) fn offer_idle_time(&mut self) {
        loop {
            if self.executor.moves_strips {
                self.carry_out_orders();
            }
            let Some(worker) = self.executor.scheme.when_idle() else { return };
            match worker.idle(&self.executor.media) {
                IdleWork::Start(operation) => drop(self.executor.admit_after(&mut self.front_end, operation, NO_JOB, NIL)),
                IdleWork::After(delay_ns) => return self.executor.clock.ask_when_idle(delay_ns),
                // That there is none may be what an order of the replacement waits for.
                IdleWork::None if self.front_end.replacements.running().is_some() && self.carry_out_orders() => {}
                IdleWork::None => return,
            }
            self.executor.run_ready(&mut self.front_end);
        }
    }

    /// Something fails now. The part must exist on the device.
    pub fn fail(&mut self, failure: impl Into<DeviceFault>) {
        self.executor.take_down(&mut self.front_end, failure.into());
        self.executor.after_failure(&mut self.front_end);
        self.tell_watchers();
    }

    /// Nothing is in flight. Returns whether somebody goes on who waited for pages that failures have taken.
    #[cold]
    pub(in crate::engine) fn goes_on_without_space(&mut self) -> bool {
        if !self.executor.media.has_failures() {
            return false;
        }
        if self.executor.failures.waiting > 0 {
            // What let their repairs start was no event.
            self.executor.resume_rebuild(&mut self.front_end);
            if self.executor.media.next_event_ns() != NEVER || self.executor.clock.has_work() {
                return true;
            }
        }
        if self.executor.media.fail_stuck() {
            self.executor.take_completions(&mut self.front_end);
            self.executor.run_ready(&mut self.front_end);
            self.tell_watchers();
            return true;
        }
        let waits = |domain: &u32| {
            self.executor.operations.space_waiters[*domain as usize].0 != NIL && self.executor.media.domain_has_losses(*domain)
        };
        let Some(domain) = (0..self.executor.shape.domains).find(waits) else { return false };
        self.executor.failures.exhausted[domain as usize] = true;
        self.executor.wake_space_waiters(&mut self.front_end, domain);
        self.executor.run_ready(&mut self.front_end);
        self.tell_watchers();
        true
    }
}
