//! Traces: their statistics.

use crate::{InputError, config_error, json, to_python, trace_error};
use flashraid_sim::Config;
use flashraid_workload::TraceOptions;
use pyo3::prelude::*;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Statistics of a trace as JSON text.
#[pyfunction]
#[pyo3(signature = (trace, reading, page_bytes))]
pub fn trace_info(py: Python<'_>, trace: PathBuf, reading: Vec<(String, String)>, page_bytes: u64) -> PyResult<String> {
    let page_bytes = NonZeroU64::new(page_bytes).ok_or_else(|| InputError::new_err("page_bytes = 0: allowed is at least 1"))?;
    let options = options(&reading)?;
    json(&py.detach(|| flashraid_workload::trace_info(&trace, &options, page_bytes)).map_err(trace_error)?)
}

/// How a trace is read, from pairs of option and value.
pub fn options(reading: &[(String, String)]) -> PyResult<TraceOptions> {
    let mut options = TraceOptions::default();
    for (key, value) in reading {
        options.set(key, value).map_err(trace_error)?;
    }
    Ok(options)
}

/// What the beginning of a trace would ask of a configured device, and what is almost certainly not meant, as JSON text.
#[pyfunction]
#[pyo3(signature = (trace, device, scheme, config, settings))]
pub fn sanity(
    py: Python<'_>,
    trace: PathBuf,
    device: Option<&str>,
    scheme: Option<&str>,
    config: Option<PathBuf>,
    settings: Vec<(String, String)>,
) -> PyResult<String> {
    let config = Config::assemble(device, scheme, config.as_deref(), &settings).map_err(config_error)?;
    json(&py.detach(|| flashraid_sim::sanity(&trace, config)).map_err(to_python)?)
}
