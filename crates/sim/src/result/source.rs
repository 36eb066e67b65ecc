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
    /// Requests that the trace recorded with a time before that of the record before.
    pub out_of_order: u64,
    /// Of these, requests so late that they were given a later time.
    pub displaced: u64,
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
    pub(crate) fn read(&mut self, summary: TraceSummary) {
        let TraceSummary { name, sha256, format, time_unit, filtered, out_of_order, displaced, skipped, ignored, devices, .. } = summary;
        *self = Self {
            name,
            sha256,
            format: format.to_owned(),
            time_unit: time_unit.to_owned(),
            devices,
            skipped,
            ignored: ignored.into_iter().map(|(what, count)| (what.to_owned(), count)).collect(),
            out_of_order,
            displaced,
            filtered,
            ..std::mem::take(self)
        };
    }
}
