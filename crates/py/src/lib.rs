//! The binding to Python: conversions, errors, and release of the interpreter's lock while Rust works. No logic.
//!
//! Results and listings cross as JSON text, byte for byte what the command writes.

mod names;
mod panics;
mod simulation;
mod synthetic;
mod torture;
mod traces;

use flashraid_sim::{Asked, ConfigError, Outputs, RunError, Stage, Status, listing};
use flashraid_workload::{GoOn, TraceError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

create_exception!(flashraid, FlashraidError, PyException, "Base class of all errors of flashraid.");
create_exception!(flashraid, InputError, FlashraidError, "Invalid usage, configuration or input; the command exits with status 2.");
create_exception!(flashraid, DefectError, FlashraidError, "A defect of flashraid: please report it; the command exits with status 70.");

/// Exit status of an interrupted command.
const INTERRUPTED: u8 = Status::Interrupted.code();

/// An error on its way to Python.
fn to_python(error: RunError) -> PyErr {
    if let RunError::Trace(error) = error {
        return trace_error(error);
    }
    if error.is_input() { InputError::new_err(error.to_string()) } else { DefectError::new_err(error.to_string()) }
}

fn config_error(error: ConfigError) -> PyErr {
    InputError::new_err(error.to_string())
}

fn trace_error(error: TraceError) -> PyErr {
    match error {
        TraceError::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        _ => InputError::new_err(error.to_string()),
    }
}

/// Work on traces with the interpreter's lock released, which asks Python about ten times a second whether to go on.
fn watched<T: Send>(
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

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string_pretty(value).map_err(|error| DefectError::new_err(error.to_string()))
}

/// Calls Python now and then while the lock is released: signals are looked at, then `progress` is asked.
struct Caller {
    progress: Option<Py<PyAny>>,
    /// What stopped the work; None while it goes on, or when `progress` returned false.
    error: Option<PyErr>,
    is_stopped: bool,
}

impl Caller {
    fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, error: None, is_stopped: false }
    }

    /// Whether to go on; once no, always no.
    fn go_on(&mut self, stage: Stage) -> bool {
        match stage {
            Stage::Counting { requests, share } => self.tell("counting", requests, Some(share)),
            Stage::Preconditioning(pages) => self.tell("preconditioning", pages, None),
            Stage::Replaying { requests, share } => self.tell("replaying", requests, Some(share)),
            Stage::Ageing { worn, share } => self.tell("ageing", worn.into(), Some(share)),
            Stage::Verifying => self.tell("verifying", 0, None),
        }
    }

    /// The same, told in words.
    fn tell(&mut self, name: &str, count: u64, share: Option<f64>) -> bool {
        if !self.is_stopped {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                self.progress.as_ref().map_or(Ok(true), |progress| progress.call1(py, (name, count, share))?.is_truthy(py))
            });
            self.is_stopped = !matches!(answer, Ok(true));
            self.error = answer.err();
        }
        !self.is_stopped
    }
}

/// A device that is built, filled and preconditioned, with which any number of runs begin.
#[pyclass(frozen, module = "flashraid._native")]
struct Prepared(flashraid_sim::Prepared);

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
        let prepared = py.detach(|| flashraid_sim::Prepared::new(config, &mut |pages| caller.go_on(Stage::Preconditioning(pages))));
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
fn preparation(
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
fn run(
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

/// The complete configuration that these sources make, with the space that it gives the host and the settings that have no effect in it, as JSON text.
#[pyfunction]
#[pyo3(signature = (device, scheme, config, settings))]
fn configuration(
    py: Python<'_>,
    device: Option<&str>,
    scheme: Option<&str>,
    config: Option<PathBuf>,
    settings: Vec<(String, String)>,
) -> PyResult<String> {
    let asked = py.detach(|| Asked::gather(device, scheme, config.as_deref(), &settings)).map_err(config_error)?;
    json(&listing::config(asked).map_err(config_error)?)
}

/// The configuration of a result, complete as one of today, as JSON text.
#[pyfunction]
#[pyo3(signature = (result))]
fn configuration_of_result(result: &str) -> PyResult<String> {
    json(&flashraid_sim::Config::of_result("result", result).map_err(config_error)?)
}

/// Whether two texts give a setting the same value.
#[pyfunction]
#[pyo3(signature = (key, one, other))]
fn same_value(key: &str, one: &str, other: &str) -> bool {
    flashraid_sim::config::same_value(key, one, other)
}

/// Every device preset, as JSON text.
#[pyfunction]
fn devices() -> PyResult<String> {
    json(&listing::devices())
}

/// The file of a device preset: TOML with a comment on each number.
#[pyfunction]
#[pyo3(signature = (name))]
fn device_file(name: &str) -> PyResult<&'static str> {
    flashraid_sim::presets::find(name).map(|preset| preset.text).map_err(config_error)
}

/// One device, with its capacities under one scheme or all, as JSON text.
#[pyfunction]
#[pyo3(signature = (name, scheme))]
fn device(py: Python<'_>, name: &str, scheme: Option<&str>) -> PyResult<String> {
    json(&py.detach(|| listing::device(name, scheme)).map_err(config_error)?)
}

/// One scheme or all, as JSON text.
#[pyfunction]
#[pyo3(signature = (name))]
fn schemes(name: Option<&str>) -> PyResult<String> {
    json(&listing::schemes(name).map_err(config_error)?)
}

/// Every setting but the schemes' parameters, as JSON text.
#[pyfunction]
fn settings() -> PyResult<String> {
    json(&listing::settings())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FlashraidError", module.py().get_type::<FlashraidError>())?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("DefectError", module.py().get_type::<DefectError>())?;
    module.add("PanicException", module.py().get_type::<PanicException>())?;
    module.add_function(wrap_pyfunction!(panics::keep_panics, module)?)?;
    module.add_function(wrap_pyfunction!(panics::last_panic, module)?)?;
    module.add_function(wrap_pyfunction!(names::meant, module)?)?;
    module.add_function(wrap_pyfunction!(names::called, module)?)?;
    module.add_function(wrap_pyfunction!(names::toml, module)?)?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<Prepared>()?;
    module.add_function(wrap_pyfunction!(preparation, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(configuration, module)?)?;
    module.add_function(wrap_pyfunction!(configuration_of_result, module)?)?;
    module.add_function(wrap_pyfunction!(same_value, module)?)?;
    module.add_class::<traces::TraceRowReader>()?;
    module.add_function(wrap_pyfunction!(traces::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(traces::read_with, module)?)?;
    module.add_function(wrap_pyfunction!(traces::convert, module)?)?;
    module.add_function(wrap_pyfunction!(traces::anonymise, module)?)?;
    module.add_function(wrap_pyfunction!(traces::sanity, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::synth, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::synth_profile, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::fit, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::profiles, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::profile, module)?)?;
    module.add_function(wrap_pyfunction!(synthetic::check_profile, module)?)?;
    module.add_function(wrap_pyfunction!(torture::torture, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(device, module)?)?;
    module.add_function(wrap_pyfunction!(device_file, module)?)?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(settings, module)?)?;
    Ok(())
}
