//! Who has called from Python, and is asked now and then while the interpreter's lock is released.

use crate::errors::trace_error;
use flashraid_sim::Stage;
use flashraid_workload::{GoOn, TraceError};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// Work on traces with the interpreter's lock released, which asks Python about ten times a second whether to go on.
pub fn watched<T: Send>(
    py: Python<'_>,
    stage: &str,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut GoOn<'_>) -> Result<T, TraceError> + Send,
) -> PyResult<T> {
    let mut caller = Caller::new(progress);
    let done = py.detach(|| work(&mut |count, share| caller.tell(stage, count, share)));
    match caller.error {
        Some(error) => Err(error),
        None => done.map_err(trace_error),
    }
}

/// Whether to go on: signals are looked at, then `progress` is asked, which says no by returning False. What returns nothing, as `print` and
/// `list.append` do, only listens.
pub fn ask<'py>(py: Python<'py>, progress: Option<&Py<PyAny>>, told: impl PyCallArgs<'py>) -> PyResult<bool> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(true) };
    Ok(!progress.bind(py).call1(told)?.is(PyBool::new(py, false)))
}

/// Calls Python now and then while the lock is released: signals are looked at, then `progress` is asked.
pub struct Caller {
    progress: Option<Py<PyAny>>,
    /// What stopped the work; None while it goes on, or when `progress` returned false.
    pub error: Option<PyErr>,
    is_stopped: bool,
}

impl Caller {
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, error: None, is_stopped: false }
    }

    /// Whether to go on; once no, always no.
    pub fn go_on(&mut self, stage: Stage) -> bool {
        match stage {
            Stage::Counting { requests, share } => self.tell("counting", requests, Some(share)),
            Stage::Preconditioning(pages) => self.tell("preconditioning", pages, None),
            Stage::Replaying { requests, share } => self.tell("replaying", requests, Some(share)),
            Stage::Ageing { worn, share } => self.tell("ageing", worn.into(), Some(share)),
            Stage::Verifying => self.tell("verifying", 0, None),
        }
    }

    /// The same, told in words.
    pub fn tell(&mut self, name: &str, count: u64, share: Option<f64>) -> bool {
        if !self.is_stopped {
            let answer = Python::attach(|py| ask(py, self.progress.as_ref(), (name, count, share)));
            self.is_stopped = !matches!(answer, Ok(true));
            self.error = answer.err();
        }
        !self.is_stopped
    }
}
