//! Synthetic workloads.

use crate::{InputError, trace_error, watched};
use flashraid_workload::{Arrivals, Synth, TraceError, formats};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a synthetic workload as a trace in `format`, a file complete or not at all. `progress(stage, count, share)` is called about ten
/// times a second and stops it by returning false, as Ctrl-C does. Returns the number of requests.
#[pyfunction]
#[pyo3(signature = (output, format, requests, space_bytes, page_bytes, read_share, min_pages, max_pages, interval_ns, arrivals, seed, progress))]
#[allow(clippy::too_many_arguments)] // the generator's parameters, all given by name in Python
pub fn synth(
    py: Python<'_>,
    output: PathBuf,
    format: &str,
    requests: u64,
    space_bytes: u64,
    page_bytes: u64,
    read_share: f64,
    min_pages: u64,
    max_pages: u64,
    interval_ns: u64,
    arrivals: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let format = formats::find(format).ok_or_else(|| trace_error(TraceError::UnknownFormat { name: format.to_owned() }))?;
    let arrivals = match arrivals {
        "fixed" => Arrivals::Fixed,
        "poisson" => Arrivals::Poisson,
        other => return Err(InputError::new_err(format!("arrivals = {other}: allowed is fixed, poisson"))),
    };
    let synth = Synth { requests, seed, space_bytes, page_bytes, read_share, min_pages, max_pages, interval_ns, arrivals };
    let requests = synth.requests().map_err(|error| InputError::new_err(error.to_string()))?;
    watched(py, "writing", progress, |go_on| flashraid_workload::write_trace(&output, format, requests, go_on))
}
