//! From kill to kill.

use super::host::Favor;
use super::instant::held;
use super::setup::{Episode, KILLS, Problem};
use crate::states::{Known, STATES};
use flashraid_sim::NEVER;
use flashraid_sim::media::Media;

/// Events before a kill, at most, and for how many more it is deferred until something wanted goes on.
const MOST_EVENTS: u64 = 60;
const MOST_PATIENCE: u64 = 2_500;
/// Events between two attempts to bring about what is wanted.
const PROVOCATION: u64 = 100;

impl<M: Media> Episode<M> {
    /// Runs so many kills, then lets everything end, and reads everything.
    pub fn run(&mut self, kills: u64) -> Result<(), Problem> {
        for _ in 0..kills {
            self.run_to_a_kill()?;
            self.notice_rebuilt();
            let held = held(self);
            self.wanted.note(&held);
            self.check()?;
            self.kills += 1;
            if self.engine.scheme().replacing().is_some() && self.random.once_in(3) {
                self.ask_for_replacement();
            }
            if self.kills < self.terms.calm {
                continue;
            }
            match self.random.below(20) {
                0..5 => self.fail_something(None),
                5..7 => self.fail_an_operation(),
                7 => self.fail_the_parity_cache(),
                8 if self.terms.second && self.engine.executor.media.shape().has_mirrors => self.fail_mirror_and_base(),
                8 | 9 if self.terms.second => self.fail_a_second_unit(),
                10 if self.engine.scheme().replacing().is_some() => self.fail_a_spare(),
                _ => {}
            }
        }
        if kills == KILLS { self.end() } else { Ok(()) }
    }

    /// Goes on for some events, and then, mostly, until one or two states hold that are wanted.
    fn run_to_a_kill(&mut self) -> Result<(), Problem> {
        for _ in 0..self.random.within(1, MOST_EVENTS) {
            self.event()?;
        }
        let wanted = match self.random.below(10) {
            0..3 => return Ok(()),
            3..6 => vec![self.wanted.any_state(&mut self.random)],
            _ => self.wanted.any_pair(&mut self.random),
        };
        let takes_idle_time = |name: &str| ["rebuild", "replacement", "shadow"].iter().any(|start| name.starts_with(start));
        let rebuilds = wanted.iter().any(|state| takes_idle_time(STATES[*state].name));
        if rebuilds {
            self.host.leave_idle_time();
        }
        for tick in 0..MOST_PATIENCE {
            let known = Known::of(self);
            let mut missing = wanted.iter().filter(|state| !(STATES[**state].holds)(&known)).copied();
            let Some(first) = missing.next() else { break };
            if tick % PROVOCATION == 0 {
                let next = missing.next();
                [Some(first), next].into_iter().flatten().for_each(|state| self.provoke(STATES[state].name));
            }
            self.event()?;
        }
        self.host.be_as_usual();
        Ok(())
    }

    /// Does what may bring a state about.
    fn provoke(&mut self, state: &str) {
        match state {
            "flush_waits" => self.host.favor(Favor::Flushes),
            "trim" => self.host.favor(Favor::Trims),
            "partial_write" => self.host.favor(Favor::PartsOfPages),
            "replacement_running" | "replacement_10" | "replacement_50" | "replacement_90" | "shadow_in_use" | "host_held" => {
                self.ask_for_replacement();
            }
            _ if self.kills < self.terms.calm => {}
            "degraded" | "rebuild_10" | "rebuild_50" | "rebuild_90" if self.damage.failed.is_empty() => self.fail_something(None),
            "spare_in_use" if self.damage.failed.is_empty() => self.fail_something(Some("chip")),
            "retired_block" if self.damage.failed.is_empty() => self.fail_something(Some("block")),
            "parity_cache_lost" => self.fail_the_parity_cache(),
            "given_up" => self.fail_what_is_new(),
            "second_failure" => {
                if self.damage.failed.is_empty() {
                    self.fail_something(None);
                }
                self.fail_a_second_unit();
            }
            "write_on_dead_part" => self.fail_under_a_program(),
            "both_chips_dead" => self.fail_both_chips(),
            "no_mirror_and_no_base" => self.fail_mirror_and_base(),
            _ => {}
        }
    }

    /// Submits a request, or lets the device do one thing.
    fn event(&mut self) -> Result<(), Problem> {
        let submits = self.host.is_to_submit(self.engine.outstanding(), &mut self.random);
        if submits || !self.advance()? {
            self.host.submit(&mut self.engine, &mut self.random);
        }
        self.host.take_completed(&mut self.engine);
        Ok(())
    }

    /// Lets the device do one thing. Returns whether it had any left to do.
    pub(super) fn advance(&mut self) -> Result<bool, Problem> {
        let is_at_rest = self.engine.executor.media.next_event_ns() == NEVER;
        let has_advanced = self.engine.advance().map_err(|halted| (None, halted.to_string()))?;
        self.notice_taken_out();
        if is_at_rest {
            // Nothing is given up while something is in flight.
            self.notice_given_up();
        }
        Ok(has_advanced)
    }
}
