//! Panics, which are defects: the command keeps what there is to say of one for its report, instead of having it printed.

use pyo3::prelude::*;
use std::backtrace::Backtrace;
use std::panic;
use std::sync::{Mutex, PoisonError};

/// What the last panic said, where, and who called.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on a panic prints nothing, and `last_panic` tells of it.
#[pyfunction]
pub fn keep_panics() {
    panic::set_hook(Box::new(|panic| {
        let text = format!("{panic}\n{}", Backtrace::force_capture());
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }));
}

/// The last panic since `keep_panics`, if there was one.
#[pyfunction]
pub fn last_panic() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
