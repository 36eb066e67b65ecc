//! Synthetic workloads.

use crate::caller::watched;
use crate::errors::{InputError, json, trace_error};
use crate::traces::options;
use flashraid_workload::fit::Comparison;
use flashraid_workload::formats::{self, Format};
use flashraid_workload::profile::SHIPPED;
use flashraid_workload::{Arrivals, Profile, ProfileError, Synth};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

fn profile_error(error: ProfileError) -> PyErr {
    InputError::new_err(error.to_string())
}

fn find_format(name: &str) -> PyResult<&'static Format> {
    formats::named(name).map_err(trace_error)
}

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
    let format = find_format(format)?;
    let arrivals = match arrivals {
        "fixed" => Arrivals::Fixed,
        "poisson" => Arrivals::Poisson,
        other => return Err(InputError::new_err(format!("arrivals = {other}: allowed is fixed, poisson"))),
    };
    let synth = Synth { requests, seed, space_bytes, page_bytes, read_share, min_pages, max_pages, interval_ns, arrivals };
    let requests = synth.requests().map_err(profile_error)?;
    watched(py, "writing", progress, |go_on| flashraid_workload::write_trace(&output, format, false, requests, go_on))
}

/// The same of a profile: a shipped one or a TOML file, with its own number of requests, seed and space unless others are given.
#[pyfunction]
#[pyo3(signature = (output, format, profile, requests, seed, space_bytes, progress))]
#[allow(clippy::too_many_arguments)] // all given by name in Python
pub fn synth_profile(
    py: Python<'_>,
    output: PathBuf,
    format: &str,
    profile: &str,
    requests: Option<u64>,
    seed: Option<u64>,
    space_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let format = find_format(format)?;
    let mut profile = Profile::load(profile).map_err(profile_error)?;
    if requests.is_some() {
        (profile.requests, profile.duration_ns) = (requests, None);
    }
    profile.seed = seed.unwrap_or(profile.seed);
    profile.space_bytes = space_bytes.unwrap_or(profile.space_bytes);
    let names_streams = profile.streams.iter().any(|stream| stream.write_stream > 0);
    let requests = profile.requests().map_err(profile_error)?;
    watched(py, "writing", progress, |go_on| flashraid_workload::write_trace(&output, format, names_streams, requests, go_on))
}

/// What a fit comes to.
#[derive(Serialize)]
struct Fitted<'a> {
    name: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    warnings: &'a [String],
}

/// Fits a profile to a trace. Returns the profile as TOML text, and its comparison with the trace as JSON text.
#[pyfunction]
#[pyo3(signature = (trace, reading, page_bytes, progress))]
pub fn fit(
    py: Python<'_>,
    trace: PathBuf,
    reading: Vec<(String, String)>,
    page_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    let page_bytes = flashraid_workload::page_size(page_bytes).map_err(trace_error)?;
    let options = options(&reading)?;
    let fit = watched(py, "fitting", progress, |go_on| flashraid_workload::fit::fit_trace(&trace, &options, page_bytes, go_on))?;
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    Ok((fit.to_toml(), json(&Fitted { name: &name, comparison: &fit.comparison, warnings: &fit.warnings })?))
}

/// The names of the shipped profiles and what each is in a line, as JSON text.
#[pyfunction]
pub fn profiles() -> PyResult<String> {
    let about = |text: &str, name: &str| Profile::parse(text, name).map(|profile| profile.about).map_err(profile_error);
    let entry = |name: &str, text: &str| Ok(serde_json::json!({"name": name, "about": about(text, name)?}));
    json(&SHIPPED.iter().map(|shipped| entry(shipped.name, shipped.text)).collect::<PyResult<Vec<_>>>()?)
}

/// The TOML text of a shipped profile.
#[pyfunction]
pub fn profile(name: &str) -> PyResult<&'static str> {
    flashraid_workload::profile::Shipped::find(name).map(|shipped| shipped.text).map_err(profile_error)
}

/// Refuses the TOML text of a profile that cannot be replayed; `name` is what messages call it.
#[pyfunction]
pub fn check_profile(text: &str, name: &str) -> PyResult<()> {
    Profile::parse(text, name).and_then(|profile| profile.requests()).map(drop).map_err(profile_error)
}
