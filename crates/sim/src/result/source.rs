//! Where the requests came from.

use flashraid_workload::{Compacted, TraceSummary};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the requests came from, for the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// Name of the trace.
    pub name: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Format of the trace.
    pub format: String,
    /// What its times were taken to count.
    pub time_unit: String,
    /// Devices in the trace; the address spaces of those that the filter keeps lie side by side.
    pub devices: u64,
    /// Lines or records that could not be read (`on_error = skip`).
    pub skipped: u64,
    /// What the trace recorded beside requests, and how often.
    pub ignored: BTreeMap<String, u64>,
    /// Requests, or parts of them, that no simulated device serves, and how many.
    pub unsupported: BTreeMap<String, u64>,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// Requests issued again after the device had given them back.
    pub reissued: u64,
    /// Whether the last line or record is cut off.
    pub truncated: u64,
    /// What of the recording is likely to mislead.
    pub warnings: Vec<String>,
    /// Tick of a clock over which requests were spread.
    pub spread_tick_ns: Option<u64>,
    /// Requests with an earlier time than one recorded before them.
    pub out_of_order: u64,
    /// How often the clock went back from one record to the next.
    pub steps_back: u64,
    /// Requests of other devices, left out by the filter.
    pub filtered: u64,
    /// Requests whose offset or size is not a whole number of pages.
    pub unaligned: u64,
    /// Requests beyond the logical space, taken modulo it.
    pub wrapped: u64,
    /// What became of addresses that were moved (`fit = compact`).
    pub compacted: Option<Compacted>,
    /// Requests beyond the logical space, left out (`on_error = skip`).
    pub left_out: u64,
    /// Requests left out of the statistics at the start.
    pub warmup_requests: u64,
    /// How often the trace was begun.
    pub passes: u64,
}

impl Source {
    /// Takes over what is known of a trace that has been read.
    pub(crate) fn read(&mut self, summary: TraceSummary, warnings: Vec<String>) {
        let owned = |pairs: Vec<(&'static str, u64)>| pairs.into_iter().map(|(what, count)| (what.to_owned(), count)).collect();
        *self = Self {
            name: summary.name,
            sha256: summary.sha256,
            format: summary.format.to_owned(),
            time_unit: summary.time_unit.to_owned(),
            devices: summary.devices,
            skipped: summary.skipped,
            ignored: owned(summary.ignored),
            unsupported: owned(summary.unsupported),
            lost_events: summary.lost_events,
            reissued: summary.reissued,
            truncated: summary.truncated,
            warnings,
            spread_tick_ns: summary.spread_tick_ns,
            out_of_order: summary.out_of_order,
            steps_back: summary.steps_back,
            filtered: summary.filtered,
            ..std::mem::take(self)
        };
    }
}
