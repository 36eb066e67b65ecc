//! Traces: their statistics, other formats, and their rows.

use crate::caller::watched;
use crate::errors::{DefectError, config_error, json, to_python, trace_error};
use flashraid_sim::Asked;
use flashraid_workload::formats::{self, Format};
use flashraid_workload::{Pieces, TraceOptions, TraceRows, TraceSlice};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Statistics of a trace as JSON text. Here and below, `progress(stage, count, share)` is called about ten times a second and stops the
/// work by returning false; so does Ctrl-C.
#[pyfunction]
#[pyo3(signature = (trace, reading, page_bytes, capacity_bytes, progress))]
pub fn trace_info(
    py: Python<'_>,
    trace: PathBuf,
    reading: Vec<(String, String)>,
    page_bytes: u64,
    capacity_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let page_bytes = flashraid_workload::page_size(page_bytes).map_err(trace_error)?;
    let options = options(&reading)?;
    json(&watched(py, "reading", progress, |go_on| {
        flashraid_workload::trace_info_within(&trace, &options, page_bytes, capacity_bytes, go_on)
    })?)
}

/// The other files of a recording that are read with the one that is given.
#[pyfunction]
pub fn read_with(trace: PathBuf) -> Vec<PathBuf> {
    formats::read_with(&trace)
}

/// Writes a part of a trace in a format, by default that of the output's name; what became of it as JSON text. `pieces` are the requests of evenly spaced
/// pieces, and from the start of one to the next.
#[pyfunction]
#[pyo3(signature = (trace, reading, output, format, time_ns, address_bytes, skip, limit, rebase_time, rebase_address, progress, pieces=None))]
#[allow(clippy::too_many_arguments)] // all given by name in Python
pub fn convert(
    py: Python<'_>,
    trace: PathBuf,
    reading: Vec<(String, String)>,
    output: PathBuf,
    format: Option<&str>,
    time_ns: (u64, u64),
    address_bytes: (u64, u64),
    skip: u64,
    limit: u64,
    rebase_time: bool,
    rebase_address: bool,
    progress: Option<Py<PyAny>>,
    pieces: Option<(u64, u64)>,
) -> PyResult<String> {
    let (options, format) = (options(&reading)?, output_format(&output, format)?);
    let pieces = pieces.map(|(taken, each)| Pieces { taken, each });
    let (time_ns, address_bytes) = (time_ns.0..time_ns.1, address_bytes.0..address_bytes.1);
    let slice = TraceSlice { time_ns, address_bytes, skip, pieces, limit, rebase_time, rebase_address };
    json(&watched(py, "converting", progress, |go_on| flashraid_workload::convert(&trace, &options, &slice, &output, format, go_on))?)
}

/// Writes a trace without what identifies it; what became of it as JSON text.
#[pyfunction]
#[pyo3(signature = (trace, reading, output, format, seed, progress))]
pub fn anonymise(
    py: Python<'_>,
    trace: PathBuf,
    reading: Vec<(String, String)>,
    output: PathBuf,
    format: Option<&str>,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (options, format) = (options(&reading)?, output_format(&output, format)?);
    json(&watched(py, "anonymising", progress, |go_on| flashraid_workload::anonymise(&trace, &options, seed, &output, format, go_on))?)
}

fn output_format(output: &Path, name: Option<&str>) -> PyResult<&'static Format> {
    match name {
        Some(name) => formats::writable(name),
        None => formats::for_output(output),
    }
    .map_err(trace_error)
}

/// The rows of a trace as CSV, some at a time.
#[pyclass(frozen, module = "flashraid._native")]
pub struct TraceRowReader(Mutex<TraceRows>);

#[pymethods]
impl TraceRowReader {
    #[new]
    #[pyo3(signature = (trace, reading))]
    fn new(py: Python<'_>, trace: PathBuf, reading: Vec<(String, String)>) -> PyResult<Self> {
        let options = options(&reading)?;
        Ok(Self(Mutex::new(py.detach(|| TraceRows::open(&trace, &options)).map_err(trace_error)?)))
    }

    /// About as many rows as asked for; none at the end of the trace.
    fn read(&self, py: Python<'_>, rows: usize) -> PyResult<Vec<u8>> {
        let text = py.detach(|| self.0.lock().map(|mut reader| reader.read(rows)).ok());
        text.ok_or_else(|| DefectError::new_err("an earlier call on this reader panicked"))?.map_err(trace_error)
    }
}

/// How a trace is read, from pairs of option and value.
pub fn options(reading: &[(String, String)]) -> PyResult<TraceOptions> {
    let mut options = TraceOptions::default();
    for (key, value) in reading {
        options.set(key, value).map_err(trace_error)?;
    }
    Ok(options)
}

/// What the beginning of a trace would ask of a configured device, and what is almost certainly not meant, as JSON text;
/// None if the trace can be read only once.
#[pyfunction]
#[pyo3(signature = (trace, device, scheme, config, settings))]
pub fn sanity(
    py: Python<'_>,
    trace: PathBuf,
    device: Option<&str>,
    scheme: Option<&str>,
    config: Option<PathBuf>,
    settings: Vec<(String, String)>,
) -> PyResult<Option<String>> {
    let config = py.detach(|| Asked::assemble(device, scheme, config.as_deref(), &settings)).map_err(config_error)?.config;
    py.detach(|| flashraid_sim::sanity(&trace, config)).map_err(to_python)?.as_ref().map(json).transpose()
}
