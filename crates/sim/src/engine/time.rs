//! Time: the engine processes the earliest of media events, timers and what the data buffer does (see `clock`).

use super::content::Content;
use super::state::Engine;
use crate::clock::{Due, NEVER};
use crate::media::Media;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::time::LATEST_NS;
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
        Some(self.media.next_event_ns().min(self.clock.next_timer_ns()).min(self.next_in_buffer_ns())).filter(|time| *time != NEVER)
    }

    /// Moves the time, and says so to media.
    #[inline]
    pub(super) fn set_now(&mut self, now_ns: u64) {
        self.clock.advance_to(now_ns);
        self.media.set_now(now_ns);
    }

    /// Processes every event up to and including `time_ns` and moves the clock there.
    #[inline]
    pub fn advance_until(&mut self, time_ns: u64) -> Result<(), Halted> {
        if self.buffer.is_some() {
            self.advance_to_buffer(time_ns)?;
        }
        loop {
            while self.media.next_event_ns() <= time_ns.min(self.clock.next_timer_ns()) {
                self.process_event(!self.has_watchers);
            }
            if self.clock.next_timer_ns() > time_ns {
                break;
            }
            self.timer_is_due();
        }
        if self.media.next_event_ns() == NEVER
            && !self.clock.has_pauses()
            && (self.operations.waiting_for_space > 0 || self.media.has_failures())
            && self.goes_on_without_progress()
        {
            return self.advance_until(time_ns);
        }
        if self.media.is_at_rest() {
            self.note_idle(time_ns);
        }
        self.set_now(time_ns);
        Ok(())
    }

    /// Nothing is in flight on media from now until `end_ns`.
    #[cold]
    pub(super) fn note_idle(&mut self, end_ns: u64) {
        // Requests that wait for the end of a replacement are in flight.
        let holds_requests = self.replacements.held.as_ref().is_some_and(|held| !held.is_empty());
        if self.next_completion_ns() == NEVER && !self.clock.has_pauses() && !holds_requests {
            self.idle_ns += end_ns - self.clock.now_ns();
            #[cfg(feature = "mutants")]
            if accounting::makes(Slip::IdleHalved) {
                self.idle_ns -= (end_ns - self.clock.now_ns()) / 2;
            }
        }
    }

    /// Processes the next event. Returns whether there was one; without one, requests that wait for space fail.
    pub fn advance(&mut self) -> Result<bool, Halted> {
        let (event_ns, timer_ns, buffer_ns) = (self.media.next_event_ns(), self.clock.next_timer_ns(), self.next_in_buffer_ns());
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
        if self.media.is_at_rest() {
            self.note_idle(self.clock.next_timer_ns());
        }
        let due = self.clock.take_due();
        self.media.set_now(self.clock.now_ns());
        match due {
            Due::Operation(id) => self.pause_is_over(id),
            Due::Host => self.take_from_host(),
            Due::Idle => {}
        }
        self.run_ready();
        if self.has_watchers {
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
        if self.requests.outstanding > 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.is_leaving()) {
            return Err(self.stalled());
        }
        Ok(false)
    }

    /// Nothing is in flight: lets somebody go on, or fail, who waits for space that will not come. Returns whether there was anybody.
    #[cold]
    fn goes_on_without_progress(&mut self) -> bool {
        self.goes_on_without_space() || (self.operations.waiting_for_space > 0 && self.fail_for_space())
    }

    /// Runs until everything submitted has completed and ended. Meanwhile a buffer does not destage by itself: how much would leave depends on flash.
    pub fn finish(&mut self) -> Result<(), Halted> {
        let destages = std::mem::replace(&mut self.destages, false);
        let finished = loop {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(halted) => break Err(halted),
            }
        };
        self.destages = destages;
        finished
    }

    /// Processes the next event, and with `buses` those of buses that follow from it at once: where nobody looks at each event.
    #[inline(always)]
    pub(super) fn process_event(&mut self, buses: bool) {
        if self.shape.waits_at_rest && self.media.is_at_rest() {
            self.note_idle(self.media.next_event_ns());
        }
        self.clock.advance_to(self.media.next_event_ns());
        self.media.advance(&mut self.content);
        if buses {
            self.media.serve_due_buses();
        }
        if self.recorder.is_some() {
            self.note_recorded();
        }
        if self.looks_ahead {
            self.fetch_started();
        }
        if self.translation.is_some() {
            self.take_map_events();
        }
        self.take_completions();
        self.run_ready();
        if self.has_watchers {
            self.tell_watchers();
        }
    }

    /// Lets every operation go on of which a page operation made progress.
    #[inline(always)]
    pub(super) fn take_completions(&mut self) {
        let mut next = 0;
        while let Some(&completion) = self.media.completions().get(next) {
            next += 1;
            self.progress(completion);
        }
        self.media.completions().clear();
    }

    /// An event was processed.
    #[cold]
    pub(super) fn tell_watchers(&mut self) {
        self.fail_worn_out();
        if self.shape.reads_may_fail {
            self.take_unreadable();
        }
        self.resume_rebuild();
        self.offer_jobs();
        if self.scheme.when_idle().is_some() {
            self.offer_idle_time();
        }
        self.note_queues();
    }

    fn stalled(&self) -> Halted {
        let mut text =
            format!("stalled at {} ns with {} requests outstanding and nothing under way;", self.now_ns(), self.requests.outstanding);
        for (stripe, holders, exclusive, waiter) in self.operations.locks.describe().into_iter().take(16) {
            let kind = if exclusive { "exclusive" } else { "shared" };
            let waits = waiter.map_or(String::new(), |id| format!(", first waiter operation {id}"));
            text += &format!(" stripe {stripe}: {holders} {kind} holder(s){waits};");
        }
        for (id, slot) in self.operations.slots.iter().enumerate().filter(|(_, slot)| slot.is_alive()).take(16) {
            text += &format!(" operation {id}: {slot};");
        }
        Halted::Stalled(text)
    }
}
