//! The clock of a simulation, and its timers.
//!
//! Media report when they have events, and buffers when they answer; the engine processes the earliest. At one instant media come first, then
//! timers, pauses of operations in the order in which they began, then requests on their way between host and engine, then those that waited in the host, then
//! answers: a timer finds what has ended by then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// "No time".
pub const NEVER: u64 = u64::MAX;

/// What a timer was set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The pause of an operation is over.
    Operation(u32),
    /// A request leaves a stage between the host and the engine.
    Stage,
    /// A request has ended, and the drive takes those that wait in the host.
    Host,
    /// The scheme is to be asked for work in idle time.
    Idle,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Clock {
    now_ns: u64,
    /// When the first timer is due.
    next_ns: u64,
    /// Operations that pause: until when, which pause it was, and which operation.
    pauses: BinaryHeap<Reverse<(u64, u64, u32)>>,
    pauses_begun: u64,
    /// How long all pauses are together.
    paused_ns: u64,
    /// When a request leaves a stage.
    stage_ns: u64,
    /// When requests are taken from the host.
    host_ns: u64,
    /// When the scheme is to be asked.
    idle_ns: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            now_ns: 0,
            next_ns: NEVER,
            pauses: BinaryHeap::new(),
            pauses_begun: 0,
            paused_ns: 0,
            stage_ns: NEVER,
            host_ns: NEVER,
            idle_ns: NEVER,
        }
    }
}

impl Clock {
    /// Simulated time.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Moves the time; no timer may be due before.
    #[inline]
    pub fn advance_to(&mut self, now_ns: u64) {
        debug_assert!(
            now_ns >= self.now_ns && now_ns <= self.next_ns,
            "from {} to {now_ns}, a timer is due at {}",
            self.now_ns,
            self.next_ns
        );
        self.now_ns = now_ns;
    }

    /// When the next timer is due, `NEVER` if there is none.
    #[inline]
    pub fn next_timer_ns(&self) -> u64 {
        self.next_ns
    }

    /// How long all pauses that have begun are together, to their ends.
    pub fn paused_ns(&self) -> u64 {
        self.paused_ns
    }

    /// How much of this is still to come: at most, as pauses of different operations run side by side.
    pub fn pauses_left_ns(&self) -> u64 {
        let left = self.pauses.iter().map(|Reverse((end_ns, ..))| end_ns - self.now_ns);
        left.fold(0, u64::saturating_add)
    }

    /// Whether an operation pauses, or a request is in a stage.
    pub fn has_work(&self) -> bool {
        !self.pauses.is_empty() || self.stage_ns != NEVER
    }

    /// The operation pauses for so long.
    pub fn pause(&mut self, operation: u32, pause_ns: u64) {
        self.pauses.push(Reverse((self.now_ns.saturating_add(pause_ns).min(NEVER - 1), self.pauses_begun, operation)));
        self.pauses_begun += 1;
        self.paused_ns = self.paused_ns.saturating_add(pause_ns);
        self.find_next();
    }

    /// The scheme is to be asked after so long, and not at the time of an earlier wish.
    pub fn ask_when_idle(&mut self, delay_ns: u64) {
        self.idle_ns = self.now_ns.saturating_add(delay_ns);
        self.find_next();
    }

    /// The next request leaves a stage then; `NEVER` if none is in one.
    pub fn leave_stage(&mut self, time_ns: u64) {
        self.stage_ns = time_ns;
        self.find_next();
    }

    /// Requests are taken from the host as soon as all that happens now has happened.
    pub fn take_from_host(&mut self) {
        self.host_ns = self.now_ns;
        self.find_next();
    }

    fn find_next(&mut self) {
        self.next_ns =
            self.pauses.peek().map_or(NEVER, |Reverse((end_ns, ..))| *end_ns).min(self.stage_ns).min(self.host_ns).min(self.idle_ns);
    }

    /// Takes the timer that is due next, and moves the time there. There must be one.
    pub fn take_due(&mut self) -> Due {
        self.now_ns = self.next_ns;
        let due = match self.pauses.peek() {
            Some(&Reverse((end_ns, _, operation))) if end_ns == self.next_ns => {
                self.pauses.pop();
                Due::Operation(operation)
            }
            _ if self.stage_ns == self.next_ns => {
                self.stage_ns = NEVER;
                Due::Stage
            }
            _ if self.host_ns == self.next_ns => {
                self.host_ns = NEVER;
                Due::Host
            }
            _ => {
                self.idle_ns = NEVER;
                Due::Idle
            }
        };
        self.find_next();
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(clock: &mut Clock) -> Vec<(u64, Due)> {
        let next = || (clock.next_timer_ns() != NEVER).then(|| clock.take_due()).map(|due| (clock.now_ns(), due));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn pauses_end_in_order_of_time_and_then_of_their_beginnings() {
        let mut clock = Clock::default();
        clock.advance_to(100);
        for (operation, pause_ns) in [(1, 20), (2, 10), (3, 20), (4, 0)] {
            clock.pause(operation, pause_ns);
        }
        assert!(clock.has_work());
        let expected = [(100, 4), (110, 2), (120, 1), (120, 3)].map(|(time_ns, id)| (time_ns, Due::Operation(id)));
        assert_eq!(taken(&mut clock), expected);
        assert!(!clock.has_work());
    }

    #[test]
    fn the_latest_wish_counts_and_comes_after_pauses() {
        let mut clock = Clock::default();
        clock.ask_when_idle(10);
        clock.ask_when_idle(30);
        clock.pause(7, 30);
        assert_eq!(taken(&mut clock), [(30, Due::Operation(7)), (30, Due::Idle)]);
    }

    #[test]
    fn requests_leave_their_stages_and_are_taken_from_the_host_after_pauses_and_before_idle_time() {
        let mut clock = Clock::default();
        clock.advance_to(30);
        clock.ask_when_idle(0);
        clock.take_from_host();
        clock.leave_stage(30);
        clock.pause(7, 0);
        assert!(clock.has_work());
        assert_eq!(taken(&mut clock), [(30, Due::Operation(7)), (30, Due::Stage), (30, Due::Host), (30, Due::Idle)]);
        clock.leave_stage(40);
        assert!(clock.has_work());
        clock.leave_stage(NEVER);
        assert!(!clock.has_work() && clock.next_timer_ns() == NEVER);
    }

    #[test]
    fn a_pause_without_end_is_too_late_and_not_forgotten() {
        let mut clock = Clock::default();
        clock.advance_to(5);
        clock.pause(1, u64::MAX);
        assert_eq!(clock.next_timer_ns(), NEVER - 1);
    }
}
