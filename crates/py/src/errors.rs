//! What goes wrong, as Python's exceptions, and answers as JSON text.

use flashraid_sim::{ConfigError, RunError, Status};
use flashraid_workload::TraceError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use serde::Serialize;

create_exception!(flashraid, FlashraidError, PyException, "Base class of all errors of flashraid.");
create_exception!(flashraid, InputError, FlashraidError, "Invalid usage, configuration or input; the command exits with status 2.");
create_exception!(flashraid, DefectError, FlashraidError, "A defect of flashraid: please report it; the command exits with status 70.");

/// Exit status of an interrupted command.
pub const INTERRUPTED: u8 = Status::Interrupted.code();

/// An error on its way to Python.
pub fn to_python(error: RunError) -> PyErr {
    if let RunError::Trace(error) = error {
        return trace_error(error);
    }
    if error.is_input() { InputError::new_err(error.to_string()) } else { DefectError::new_err(error.to_string()) }
}

pub fn config_error(error: ConfigError) -> PyErr {
    InputError::new_err(error.to_string())
}

pub fn trace_error(error: TraceError) -> PyErr {
    match error {
        TraceError::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        _ => InputError::new_err(error.to_string()),
    }
}

/// A value as JSON text.
pub fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string_pretty(value).map_err(|error| DefectError::new_err(error.to_string()))
}
