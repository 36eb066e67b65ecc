//! Runs, and devices prepared for them.

use crate::caller::Caller;
use crate::errors::{INTERRUPTED, config_error, to_python};
use flashraid_sim::{Asked, Outputs, Stage};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A device that is built, filled and preconditioned, with which any number of runs begin.
#[pyclass(frozen, module = "flashraid._native")]
pub struct Prepared(flashraid_sim::Prepared);

#[pymethods]
impl Prepared {
    /// Prepares a device. `progress` is asked as by `run`; a device whose precondition was stopped is not complete.
    #[new]
    #[pyo3(signature = (device, scheme, config, settings, progress))]
    fn new(
        py: Python<'_>,
        device: Option<&str>,
        scheme: Option<&str>,
        config: Option<PathBuf>,
        settings: Vec<(String, String)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let config = py.detach(|| Asked::assemble(device, scheme, config.as_deref(), &settings)).map_err(config_error)?.config;
        let mut caller = Caller::new(progress);
        let prepared = py.detach(|| flashraid_sim::Prepared::to_share(config, &mut |pages| caller.go_on(Stage::Preconditioning(pages))));
        match caller.error {
            Some(error) => Err(error),
            None => Ok(Self(prepared.map_err(config_error)?)),
        }
    }

    /// Whether fill and precondition came to their end.
    #[getter]
    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }
}

/// What of a configuration decides what a device is before its first request, as text; None if that is erased.
#[pyfunction]
#[pyo3(signature = (device, scheme, config, settings))]
pub fn preparation(
    py: Python<'_>,
    device: Option<&str>,
    scheme: Option<&str>,
    config: Option<PathBuf>,
    settings: Vec<(String, String)>,
) -> PyResult<Option<String>> {
    let asked = py.detach(|| Asked::gather(device, scheme, config.as_deref(), &settings)).map_err(config_error)?;
    Ok(flashraid_sim::preparation(&asked.config))
}

/// Replays a trace. `progress(stage, count, share)` is called about ten times a second and stops the run by returning false; so does
/// Ctrl-C. `outputs` are pairs of key and text: files to write beside the result, and how. Returns the result as JSON text, the same in
/// the form of fio's JSON if `outputs` asks for it, warnings, and the exit status of the command, 130 if the run was stopped. The run
/// begins with a clone of `prepared`, if that is given, instead of preparing a device.
#[pyfunction]
#[pyo3(signature = (trace, device, scheme, config, settings, outputs, with_cost, progress, prepared=None))]
#[allow(clippy::too_many_arguments)] // one call with everything, so that nothing is kept between calls
pub fn run(
    py: Python<'_>,
    trace: PathBuf,
    device: Option<&str>,
    scheme: Option<&str>,
    config: Option<PathBuf>,
    settings: Vec<(String, String)>,
    outputs: Vec<(String, String)>,
    with_cost: bool,
    progress: Option<Py<PyAny>>,
    prepared: Option<&Prepared>,
) -> PyResult<(String, Option<String>, Vec<String>, u8)> {
    let asked = py.detach(|| Asked::assemble(device, scheme, config.as_deref(), &settings)).map_err(config_error)?;
    let outputs = Outputs::from_pairs(&outputs).map_err(config_error)?;
    let mut caller = Caller::new(progress);
    let finished = py.detach(|| {
        let mut go_on = |stage| caller.go_on(stage);
        match prepared {
            None => flashraid_sim::run(&trace, asked, &outputs, with_cost, &mut go_on),
            Some(Prepared(device)) => flashraid_sim::run_on(device, &trace, asked, &outputs, with_cost, &mut go_on),
        }
    });
    let finished = finished.map_err(to_python)?;
    // Ctrl-C after the last call must not lose the result either.
    let status = match caller.error.or(py.check_signals().err()) {
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => INTERRUPTED,
        Some(error) => return Err(error),
        None => finished.status.code(),
    };
    Ok((finished.json(), finished.fio, finished.warnings, status))
}
