//! Traces: their statistics.

use crate::{InputError, json, trace_error};
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
