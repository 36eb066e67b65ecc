//! The incremental engine as a Python class.

use crate::caller::Caller;
use crate::errors::{DefectError, InputError, config_error, json, to_python};
use flashraid_sim::engine::CompletedRequest;
use flashraid_sim::{Asked, Source, Stage, text};
use flashraid_vocabulary::{HostOp, HostRequest};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Requests between two looks at signals while many are submitted.
const SIGNAL_REQUESTS: usize = 4096;

/// A completed request: number, kind, arrival, time of completion, whether it succeeded.
type Completed = (u64, &'static str, u64, u64, bool);

/// A simulated device: submit requests, advance the time, take completions, ask for the result.
///
/// Safe to share between threads: one call at a time, and others wait without holding the interpreter's lock.
#[pyclass(frozen, module = "flashraid._native")]
pub struct Simulation(Mutex<flashraid_sim::Simulation>);

impl Simulation {
    /// Does `work` on the simulation with the interpreter's lock released.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut flashraid_sim::Simulation) -> T + Send) -> PyResult<T> {
        py.detach(|| self.0.lock().map(|mut simulation: MutexGuard<'_, _>| work(&mut simulation)).ok())
            .ok_or_else(|| DefectError::new_err("an earlier call on this simulation panicked"))
    }
}

fn host_op(word: &str) -> PyResult<HostOp> {
    match word {
        "read" => Ok(HostOp::Read),
        "write" => Ok(HostOp::Write),
        "trim" => Ok(HostOp::Trim),
        "write_zeroes" => Ok(HostOp::WriteZeroes),
        "flush" => Ok(HostOp::Flush),
        other => Err(InputError::new_err(format!("op = {other}: allowed is read, write, trim, write_zeroes, flush"))),
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (device, scheme, config, settings))]
    fn new(
        py: Python<'_>,
        device: Option<&str>,
        scheme: Option<&str>,
        config: Option<PathBuf>,
        settings: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let config = py.detach(|| Asked::without_trace(device, scheme, config.as_deref(), &settings)).map_err(config_error)?.config;
        let mut caller = Caller::new(None);
        let simulation = py.detach(|| flashraid_sim::Simulation::new(config, |pages| caller.go_on(Stage::Preconditioning(pages))));
        match caller.error {
            Some(error) => Err(error),
            None => Ok(Self(Mutex::new(simulation.map_err(config_error)?))),
        }
    }

    /// Submits a request at `arrival_ns`, by default now. Returns its number.
    #[pyo3(signature = (op, offset_bytes, size_bytes, arrival_ns, stream))]
    fn submit(&self, py: Python<'_>, op: &str, offset_bytes: u64, size_bytes: u64, arrival_ns: Option<u64>, stream: u16) -> PyResult<u64> {
        let op = host_op(op)?;
        self.with(py, |simulation| {
            let arrival_ns = arrival_ns.unwrap_or_else(|| simulation.now_ns());
            simulation.submit(&HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream, source: 0 })
        })?
        .map_err(to_python)
    }

    /// Submits many requests, given as columns. Returns their numbers. A refused one ends it; those before it are submitted.
    #[pyo3(signature = (op, offset_bytes, size_bytes, arrival_ns, stream))]
    fn submit_many(
        &self,
        py: Python<'_>,
        op: Vec<String>,
        offset_bytes: Vec<u64>,
        size_bytes: Vec<u64>,
        arrival_ns: Vec<u64>,
        stream: Option<Vec<u16>>,
    ) -> PyResult<Vec<u64>> {
        let streams = stream.unwrap_or_else(|| vec![0; op.len()]);
        let lengths = [op.len(), offset_bytes.len(), size_bytes.len(), arrival_ns.len(), streams.len()];
        if lengths.iter().any(|length| *length != lengths[0]) {
            let text =
                format!("op, offset_bytes, size_bytes, arrival_ns and stream have {lengths:?} entries: allowed is the same number in each");
            return Err(InputError::new_err(text));
        }
        let mut requests = Vec::with_capacity(op.len());
        for (index, op) in op.iter().enumerate() {
            let (offset_bytes, size_bytes, arrival_ns) = (offset_bytes[index], size_bytes[index], arrival_ns[index]);
            requests.push(HostRequest { arrival_ns, offset_bytes, size_bytes, op: host_op(op)?, stream: streams[index], source: 0 });
        }
        let mut numbers = Vec::with_capacity(requests.len());
        for chunk in requests.chunks(SIGNAL_REQUESTS) {
            py.check_signals()?;
            let submitted = self.with(py, |simulation| {
                chunk.iter().try_for_each(|request| {
                    numbers.push(simulation.submit(request)?);
                    Ok(())
                })
            })?;
            submitted.map_err(to_python)?;
        }
        Ok(numbers)
    }

    /// Injects a fault now.
    fn fail(&self, py: Python<'_>, fault: &str) -> PyResult<()> {
        self.with(py, |simulation| simulation.fail(fault))?.map_err(config_error)
    }

    /// Has an SSD of an array replaced.
    fn replace_device(&self, py: Python<'_>, device: u32) -> PyResult<()> {
        self.with(py, |simulation| simulation.replace(device))?.map_err(config_error)
    }

    /// Processes every event up to and including `time_ns` and moves the clock there.
    fn advance_until(&self, py: Python<'_>, time_ns: u64) -> PyResult<()> {
        self.with(py, |simulation| simulation.advance_until(time_ns))?.map_err(to_python)
    }

    /// Time of the next event, or None if nothing is in flight.
    fn next_event_time(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |simulation| simulation.next_event_ns())
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |simulation| simulation.now_ns())
    }

    /// Requests submitted and not completed.
    #[getter]
    fn outstanding(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |simulation| simulation.outstanding())
    }

    /// Bytes of the logical space.
    #[getter]
    fn space_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |simulation| simulation.space_bytes())
    }

    /// Takes the requests completed since the last call, in order.
    fn take_completed(&self, py: Python<'_>) -> PyResult<Vec<Completed>> {
        let completed = self.with(py, |simulation| simulation.take_completed())?;
        let told = |done: CompletedRequest| (done.sequence, done.op.name(), done.arrival_ns, done.completed_ns, done.ok);
        Ok(completed.into_iter().map(told).collect())
    }

    /// Runs until everything submitted has ended.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |simulation| simulation.finish())?.map_err(|error| to_python(error.into()))
    }

    /// Checks everything stored; the counts as JSON text, or None if the simulation does not verify.
    fn verify(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |simulation| simulation.verify())?.as_ref().map(json).transpose()
    }

    /// Saves the drive as it would be if it were switched off now.
    fn save_drive(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |simulation| simulation.save_drive(&path))?.map_err(to_python)
    }

    /// A simulation that goes on from here by itself.
    fn clone(&self, py: Python<'_>) -> PyResult<Self> {
        self.with(py, |simulation| Self(Mutex::new(simulation.clone())))
    }

    /// The result so far, as JSON text.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        let result = self.with(py, |simulation| simulation.result(&Source::default(), false, None))?;
        result.map(|result| text(&result)).map_err(|error| to_python(error.into()))
    }
}
