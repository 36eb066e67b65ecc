//! Names and documents for the package, so that there is one rule for both.

use crate::errors::{InputError, json};
use flashraid_vocabulary::names;
use flashraid_workload::document;
use pyo3::prelude::*;

/// The names that may have been meant by one that does not exist, the likeliest first.
#[pyfunction]
#[pyo3(signature = (given, known))]
pub fn meant(given: &str, known: Vec<String>) -> Vec<String> {
    names::meant(given, known.iter().map(String::as_str)).into_iter().map(String::from).collect()
}

/// What flashraid calls something by the word that the field has for it.
#[pyfunction]
#[pyo3(signature = (given))]
pub fn called(given: &str) -> Option<&'static str> {
    names::called(given)
}

/// A TOML text as JSON text with the place of each key (`flashraid_workload::document::Placed`); `file` is its name in messages.
#[pyfunction]
#[pyo3(signature = (file, text))]
pub fn toml(file: &str, text: &str) -> PyResult<String> {
    let placed = document::placed(file, text).map_err(InputError::new_err)?;
    json(&placed)
}
