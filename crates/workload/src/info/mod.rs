//! What a trace is made of, in one pass: the figures that papers tabulate of their workloads, and more. `docs/trace-info.md` explains
//! each.

mod arrivals;
pub(crate) mod bursts;
mod figures;
mod statistics;
mod uses;
mod window;

pub use figures::{BurstFigures, Burstiness, DeviceFigures, Figures, Quantiles, Sequentiality, SizeFigures, SizeShare, Skew, WorkingSet};
pub use statistics::TraceStatistics;

use crate::error::TraceError;
use crate::options::TraceOptions;
use crate::summary::{DeviceSummary, TraceSummary};
use crate::trace::in_order;
use crate::watch::{GoOn, Watch};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::{Deref, RangeInclusive};
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
    /// Requests with an earlier time than one recorded before them.
    pub out_of_order: u64,
    /// How often the clock went back from one request to the next.
    pub steps_back: u64,
    /// Tick of the trace's clock if it is too coarse to order requests by: those of a tick were spread over it evenly, so that
    /// inter-arrival times and bursts below it are invented.
    pub spread_tick_ns: Option<u64>,
    /// The format it was read as.
    pub format: &'static str,
    /// What its times were taken to count.
    pub time_unit: &'static str,
    /// Lines or records that could not be read.
    pub skipped: u64,
    /// The messages of the first few of them.
    pub faults: Vec<String>,
    /// What was recorded beside requests, and how often.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Requests of kinds that no simulated device serves, left out, and how many.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Events that the recorder says it lost.
    pub lost_events: u64,
    /// Requests that were issued again after the device had given them back, left out.
    pub reissued: u64,
    /// Whether the last line or record is cut off, and left out: 0 or 1.
    pub truncated: u64,
    /// What the reader takes for granted, a sentence each.
    pub assumed: Vec<String>,
    /// What is likely to mislead in a replay of the trace, a sentence each.
    pub warnings: Vec<String>,
    /// Devices that the filter names and that were not met.
    pub absent: Vec<String>,
    /// The devices, in order of appearance: where in the common address space each lies, and what is asked of it.
    pub device_list: Vec<DeviceInfo>,
    /// A capacity to compare addresses with.
    pub capacity_bytes: Option<u64>,
    /// Requests that end beyond it.
    pub beyond_capacity: Option<u64>,
}

/// One device of a trace, with its name and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// Name, requests and place.
    #[serde(flatten)]
    pub summary: DeviceSummary,
    /// Writes / transfers; None if the filter leaves it out.
    pub write_share: Option<f64>,
    /// Mean size of transfers; None if the filter leaves it out.
    pub mean_bytes: Option<f64>,
}

impl DeviceInfo {
    fn new(summary: DeviceSummary, figures: &Figures) -> Self {
        let found = figures.by_device.binary_search_by_key(&summary.number, |of| of.device).ok().map(|index| figures.by_device[index]);
        Self { summary, write_share: found.and_then(|of| of.write_share), mean_bytes: found.and_then(|of| of.mean_bytes) }
    }
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
        let figures = self.figures();
        let warnings = summary.warnings(true);
        TraceInfo {
            warnings,
            name: summary.name,
            sha256: summary.sha256,
            absent: summary.absent,
            device_list: summary.device_list.into_iter().map(|device| DeviceInfo::new(device, &figures)).collect(),
            figures,
            devices: summary.devices,
            filtered: summary.filtered,
            out_of_order: summary.out_of_order,
            steps_back: summary.steps_back,
            spread_tick_ns: summary.spread_tick_ns,
            format: summary.format,
            time_unit: summary.time_unit,
            skipped: summary.skipped,
            faults: summary.faults,
            ignored: summary.ignored.into_iter().collect(),
            unsupported: summary.unsupported.into_iter().collect(),
            lost_events: summary.lost_events,
            reissued: summary.reissued,
            truncated: summary.truncated,
            assumed: summary.assumed,
            capacity_bytes: None,
            beyond_capacity: None,
        }
    }
}

/// Sizes that pages can be counted in: of flash, and never across two devices, which lie at multiples of 1 MiB.
const PAGE_SIZES: RangeInclusive<u64> = 512..=1 << 20;

/// A unit for counting pages, if it is one that has a meaning.
pub fn page_size(page_bytes: u64) -> Result<NonZeroU64, TraceError> {
    let refuse = || TraceError::Option {
        key: "page_bytes".to_owned(),
        value: page_bytes.to_string(),
        allowed: "a power of two from 512 to 1048576",
    };
    NonZeroU64::new(page_bytes).filter(|bytes| bytes.is_power_of_two() && PAGE_SIZES.contains(&bytes.get())).ok_or_else(refuse)
}

/// Reads a trace and returns its statistics, with page counts in units of `page_bytes` (see `page_size`).
pub fn trace_info(path: &Path, options: &TraceOptions, page_bytes: NonZeroU64) -> Result<TraceInfo, TraceError> {
    trace_info_within(path, options, page_bytes, None, &mut |_, _| true)
}

/// The same for a device of `capacity_bytes`; `go_on` can stop it.
pub fn trace_info_within(
    path: &Path,
    options: &TraceOptions,
    page_bytes: NonZeroU64,
    capacity_bytes: Option<u64>,
    go_on: &mut GoOn<'_>,
) -> Result<TraceInfo, TraceError> {
    let page_bytes = page_size(page_bytes.get())?;
    let mut watch = Watch::new(go_on);
    let capacity = capacity_bytes.unwrap_or(u64::MAX);
    in_order(path, options, TraceError::is_late, |mut trace| {
        let (mut read, mut beyond_capacity) = (0, 0);
        let mut statistics = TraceStatistics::new(page_bytes);
        let mut batch = Vec::new();
        watch.gather(&mut trace)?;
        while trace.read_batch(&mut batch)? > 0 {
            read += batch.len() as u64;
            beyond_capacity += batch.iter().filter(|request| request.offset_bytes + request.size_bytes > capacity).count() as u64;
            batch.drain(..).for_each(|request| statistics.add(&request));
            watch.look(read, || Some(trace.share_read()))?;
        }
        let info = statistics.finish(trace.finish()?);
        Ok(TraceInfo { capacity_bytes, beyond_capacity: capacity_bytes.map(|_| beyond_capacity), ..info })
    })
}
