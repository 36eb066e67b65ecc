//! The clock on the wall. No result may depend on it: it says how long work took, and when progress is to be reported. `clippy.toml` refuses
//! to read it anywhere else.

use std::time::{Duration, Instant};

/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);

/// Measures real time from when it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "the one place")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since it was made, or since progress was due last.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Whether progress is to be reported: about ten times a second.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.0.elapsed() >= REPORT;
        if is_due {
            *self = Self::start();
        }
        is_due
    }
}
