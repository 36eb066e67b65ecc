//! Devices, schemes and settings, and what a configuration comes to.

use crate::errors::{config_error, json};
use flashraid_sim::{Asked, listing};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The complete configuration that these sources make, with the space that it gives the host and the settings that have no effect in it, as JSON text.
#[pyfunction]
#[pyo3(signature = (device, scheme, config, settings))]
pub fn configuration(
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
pub fn configuration_of_result(result: &str) -> PyResult<String> {
    json(&flashraid_sim::Config::of_result("result", result).map_err(config_error)?)
}

/// Whether two texts give a setting the same value.
#[pyfunction]
#[pyo3(signature = (key, one, other))]
pub fn same_value(key: &str, one: &str, other: &str) -> bool {
    flashraid_sim::config::same_value(key, one, other)
}

/// Every device preset, as JSON text.
#[pyfunction]
pub fn devices() -> PyResult<String> {
    json(&listing::devices())
}

/// The file of a device preset: TOML with a comment on each number.
#[pyfunction]
#[pyo3(signature = (name))]
pub fn device_file(name: &str) -> PyResult<&'static str> {
    flashraid_sim::presets::find(name).map(|preset| preset.text).map_err(config_error)
}

/// One device, with its capacities under one scheme or all, as JSON text.
#[pyfunction]
#[pyo3(signature = (name, scheme))]
pub fn device(py: Python<'_>, name: &str, scheme: Option<&str>) -> PyResult<String> {
    json(&py.detach(|| listing::device(name, scheme)).map_err(config_error)?)
}

/// One scheme or all, as JSON text.
#[pyfunction]
#[pyo3(signature = (name))]
pub fn schemes(name: Option<&str>) -> PyResult<String> {
    json(&listing::schemes(name).map_err(config_error)?)
}

/// Every setting but the schemes' parameters, as JSON text.
#[pyfunction]
pub fn settings() -> PyResult<String> {
    json(&listing::settings())
}
