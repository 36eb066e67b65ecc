//! Torture.

use crate::caller::ask;
use crate::errors::{INTERRUPTED, json, to_python};
use flashraid_torture::Torture;
use flashraid_vocabulary::wall::Stopwatch;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Kills devices at random instants and checks everything. `progress(scheme, kills)` is called about ten times a second and stops it by
/// returning false; so does Ctrl-C. Returns the report as JSON text, and the exit status of the command.
#[pyfunction]
#[pyo3(signature = (scheme, device, seed, kills, kill, rebuild, second, settings, progress))]
#[allow(clippy::too_many_arguments)] // all given by name in Python
pub fn torture(
    py: Python<'_>,
    scheme: &str,
    device: Option<&str>,
    seed: u64,
    kills: u64,
    kill: Option<u64>,
    rebuild: &str,
    second: bool,
    settings: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, u8)> {
    let torture = Torture {
        scheme: scheme.into(),
        device: device.map(String::from),
        seed,
        kills,
        kill,
        rebuild: rebuild.into(),
        second,
        settings,
        ..Torture::default()
    };
    let (mut error, mut is_stopped, mut stopwatch) = (None, false, Stopwatch::start());
    let mut go_on = |scheme: &str, kills: u64| {
        if stopwatch.is_due() {
            let answer = Python::attach(|py| ask(py, progress.as_ref(), (scheme, kills)));
            is_stopped = !matches!(answer, Ok(true));
            error = answer.err();
        }
        !is_stopped
    };
    let report = py.detach(|| torture.run(&mut go_on)).map_err(to_python)?;
    let status = match error {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
        _ if !report.is_clean() => 1,
        _ if is_stopped => INTERRUPTED,
        _ => 0,
    };
    Ok((json(&report)?, status))
}
