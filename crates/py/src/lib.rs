//! The binding to Python: conversions, errors, and release of the interpreter's lock while Rust works. No logic.
//!
//! Results and listings cross as JSON text, byte for byte what the command writes.

mod caller;
mod errors;
mod listings;
mod names;
mod panics;
mod runs;
mod simulation;
mod synthetic;
mod torture;
mod traces;

use errors::{DefectError, FlashraidError, InputError};
use pyo3::panic::PanicException;
use pyo3::prelude::*;

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
    module.add_class::<runs::Prepared>()?;
    module.add_function(wrap_pyfunction!(runs::preparation, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run, module)?)?;
    module.add_function(wrap_pyfunction!(listings::configuration, module)?)?;
    module.add_function(wrap_pyfunction!(listings::configuration_of_result, module)?)?;
    module.add_function(wrap_pyfunction!(listings::same_value, module)?)?;
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
    module.add_function(wrap_pyfunction!(listings::devices, module)?)?;
    module.add_function(wrap_pyfunction!(listings::device, module)?)?;
    module.add_function(wrap_pyfunction!(listings::device_file, module)?)?;
    module.add_function(wrap_pyfunction!(listings::schemes, module)?)?;
    module.add_function(wrap_pyfunction!(listings::settings, module)?)?;
    Ok(())
}
