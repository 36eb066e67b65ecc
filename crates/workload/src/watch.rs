//! Long work asks now and then whether to go on.

use crate::error::TraceError;
use crate::trace::Trace;
use flashraid_vocabulary::wall::Stopwatch;

/// Asked about ten times a second, with the requests done and the share of the work that they are, if it is known; false stops the work.
pub type GoOn<'a> = dyn FnMut(u64, Option<f64>) -> bool + 'a;

/// Keeps the time between two questions.
pub(crate) struct Watch<'a> {
    go_on: &'a mut GoOn<'a>,
    stopwatch: Stopwatch,
}

impl<'a> Watch<'a> {
    pub fn new(go_on: &'a mut GoOn<'a>) -> Self {
        Self { go_on, stopwatch: Stopwatch::start() }
    }

    /// Asks if it is time to.
    pub fn look(&mut self, requests: u64, share: impl FnOnce() -> Option<f64>) -> Result<(), TraceError> {
        if self.stopwatch.is_due() { self.ask(requests, share()) } else { Ok(()) }
    }

    /// Reads all of a trace that is sorted, and asks if it is time to.
    pub fn gather(&mut self, trace: &mut Trace) -> Result<(), TraceError> {
        trace.gather(|requests, share| self.look(requests, || Some(share)).is_ok())
    }

    /// Asks at the end, when what has been done is about to be shown.
    pub fn look_last(&mut self, requests: u64) -> Result<(), TraceError> {
        self.ask(requests, Some(1.0))
    }

    fn ask(&mut self, requests: u64, share: Option<f64>) -> Result<(), TraceError> {
        if (self.go_on)(requests, share) { Ok(()) } else { Err(TraceError::Interrupted) }
    }
}
