//! What a trace is made of, in one pass: the figures that papers tabulate of their workloads, and more. `docs/trace-info.md` explains
//! each.

mod figures;
mod statistics;
mod window;

pub use figures::{Burstiness, DeviceFigures, Figures, Quantiles, Sequentiality, SizeFigures, SizeShare, Skew, WorkingSet};
pub use statistics::TraceStatistics;

use crate::error::TraceError;
use crate::options::TraceOptions;
use crate::trace::{Trace, TraceSummary};
use serde::Serialize;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::path::Path;

/// Statistics of a trace file. Its figures are read as if they were its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// Name of the file, without its folders.
    pub name: String,
    /// SHA-256 of the file as it lies on disk.
    pub sha256: String,
    /// What its requests are like.
    #[serde(flatten)]
    pub figures: Figures,
    /// Distinct devices in the file.
    pub devices: u64,
    /// Requests left out by the device filter.
    pub filtered: u64,
    /// Requests recorded with a time before their predecessor's.
    pub out_of_order: u64,
    /// Tick of the trace's clock if it is too coarse to order requests by: those of a tick were spread over it evenly, so that
    /// inter-arrival times below it are invented.
    pub spread_tick_ns: Option<u64>,
}

impl Deref for TraceInfo {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

impl TraceStatistics {
    /// The figures, with what is known of the file.
    pub fn finish(self, summary: TraceSummary) -> TraceInfo {
        let TraceSummary { name, sha256, filtered, out_of_order, spread_tick_ns, devices, .. } = summary;
        TraceInfo { name, sha256, figures: self.figures(), devices, filtered, out_of_order, spread_tick_ns }
    }
}

/// Reads a trace and returns its statistics, with page counts in units of `page_bytes`.
pub fn trace_info(path: &Path, options: &TraceOptions, page_bytes: NonZeroU64) -> Result<TraceInfo, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut statistics = TraceStatistics::new(page_bytes);
    let mut batch = Vec::new();
    while trace.read_batch(&mut batch)? > 0 {
        batch.drain(..).for_each(|request| statistics.add(&request));
    }
    Ok(statistics.finish(trace.finish()?))
}
