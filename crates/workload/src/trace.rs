//! A trace as a stream of checked, timed requests.

use crate::columns::Columns;
use crate::error::TraceError;
use crate::formats::{self, Format, Setup};
use crate::gate::Gate;
use crate::input::{Input, can_be_read_again};
use crate::options::{BlockAction, TraceOptions};
use crate::parser::Parser;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;
use std::collections::BTreeMap;
use std::path::Path;

/// Devices that a message names.
const DEVICES_NAMED: usize = 20;

/// Requests of one batch: 32 KiB, which stay in the first-level cache until they are used.
const BATCH: usize = 1024;

/// One device of a trace.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeviceSummary {
    /// Its number, `HostRequest::source`.
    pub number: u32,
    /// What the trace calls it.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Whether the filter keeps them.
    pub is_kept: bool,
    /// Where its address space begins in the common one.
    pub base_bytes: u64,
    /// Highest end of its requests, in its own address space.
    pub end_bytes: u64,
}

/// What is known of a trace once it has been read. A limit counts requests in the order of their times, among those and the 4,096 after them (of a
/// coarse clock, to the end of a tick); what is left out, late, ignored or skipped is counted over all that was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TraceSummary {
    /// Name of the file, without its folders.
    pub name: String,
    /// SHA-256 of the whole file as it lies on disk, in hexadecimal; empty if reading ended early and nobody needs it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// The format it was read as.
    pub format: &'static str,
    /// What its times were taken to count.
    pub time_unit: &'static str,
    /// Requests delivered.
    pub requests: u64,
    /// Requests left out by the device filter.
    pub filtered: u64,
    /// Requests with an earlier time than one recorded before them.
    pub out_of_order: u64,
    /// How often the clock went back from one request to the next: once for each further log in a file of several.
    pub steps_back: u64,
    /// The most by which one of them is late, if it is not in the nature of the format to record requests late; else 0.
    #[serde(skip)]
    pub late_ns: u64,
    /// Where the header came again, from which on another recording is joined to the first: the number of the line.
    #[serde(skip)]
    pub header_again: Option<u64>,
    /// How many recordings are joined to the first in this way.
    #[serde(skip)]
    pub joined: u64,
    /// Tick of the trace's clock if it is too coarse to order requests by: those of a tick were spread over it evenly.
    pub spread_tick_ns: Option<u64>,
    /// Lines or records that could not be read (`OnError::Skip`).
    pub skipped: u64,
    /// The messages of the first few of them.
    pub faults: Vec<String>,
    /// What was recorded beside requests: what it is, and how often.
    #[serde(serialize_with = "as_map")]
    pub ignored: Vec<(&'static str, u64)>,
    /// Requests, or parts of them, that no simulated device serves and that are left out: what they are, and how many.
    #[serde(serialize_with = "as_map")]
    pub unsupported: Vec<(&'static str, u64)>,
    /// Events that the recorder says it lost.
    pub lost_events: u64,
    /// Requests that were issued again after the device had given them back, left out: they count once.
    pub reissued: u64,
    /// Whether the last line or record is cut off, and left out: 0 or 1.
    pub truncated: u64,
    /// What the reader takes for granted, a sentence each.
    pub assumed: Vec<String>,
    /// Devices that the filter names and that were not met.
    pub absent: Vec<String>,
    /// Distinct devices met, filtered out or not.
    pub devices: u64,
    /// These devices, in the order of their first requests.
    pub device_list: Vec<DeviceSummary>,
}

fn pairs(map: &BTreeMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    map.iter().map(|(what, count)| (*what, *count)).collect()
}

/// Pairs as a map.
fn as_map<S: serde::Serializer>(pairs: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// Does `work` on a trace. If the trace cannot be read in order of time (a record belongs before what has been delivered), `work` is done once more,
/// from the start, on the trace sorted by time. `is_late` says whether an error of `work` is that (`TraceError::is_late`).
pub fn in_order<T, E: From<TraceError>>(
    path: &Path,
    options: &TraceOptions,
    is_late: impl Fn(&E) -> bool,
    mut work: impl FnMut(Trace) -> Result<T, E>,
) -> Result<T, E> {
    match Trace::open(path, options).map_err(E::from).and_then(&mut work) {
        Err(error) if is_late(&error) => Trace::open_sorted(path, options).map_err(E::from).and_then(work),
        ended => ended,
    }
}

/// An open trace.
pub struct Trace {
    input: Input,
    format: &'static Format,
    unit: TimeUnit,
    parser: Box<dyn Parser>,
    action: BlockAction,
    gate: Gate,
    is_at_end: bool,
    delivered: u64,
}

impl Trace {
    /// Opens a trace and finds its format. A file is read as it is recorded; `in_order` takes care of one of which that cannot be. What can be
    /// read only once, as a pipe, is read to its end and sorted before the first request is delivered.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        Self::open_as(path, options, !can_be_read_again(path))
    }

    /// The same, sorted whatever it is.
    pub fn open_sorted(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        Self::open_as(path, options, true)
    }

    fn open_as(path: &Path, options: &TraceOptions, is_sorted: bool) -> Result<Self, TraceError> {
        let named = match options.format.as_str() {
            "auto" => None,
            name => Some(formats::find(name).ok_or_else(|| TraceError::UnknownFormat { name: name.to_owned() })?),
        };
        let input = Input::open(path, options.on_error)?;
        input.check_content()?;
        if options.columns.is_none() {
            formats::check_spelling(path, input.text_head(), named)?;
        }
        let format = match named {
            Some(format) if options.columns.is_some() && format.name != formats::COLUMNS.name => {
                let what =
                    format!("--columns is for texts of no format, and this is read as {}; expected --format auto or columns", format.name);
                return Err(TraceError::Unusable { path: path.to_owned(), what });
            }
            Some(format) => format,
            None if options.columns.is_some() => formats::COLUMNS,
            None => formats::recognize(path, input.text_head())?,
        };
        let unit = options.time_unit.or_else(|| formats::unit_in_name(path, format)).unwrap_or(format.unit);
        let parser = (format.parser)(&Setup { path, unit, options });
        let unit = options.columns.as_ref().and_then(Columns::time_unit).unwrap_or(unit);
        let gate = Gate::new(path, options, format.traits, unit, is_sorted);
        Ok(Self { input, format, unit, parser, action: options.action, gate, is_at_end: false, delivered: 0 })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.input.path()
    }

    /// Whether it is read to its end and sorted before the first request is delivered.
    pub fn is_sorted(&self) -> bool {
        self.gate.is_sorted()
    }

    /// The format it is read as.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// What its times were taken to count.
    pub fn unit(&self) -> TimeUnit {
        self.unit
    }

    /// Devices met so far whose requests are kept.
    pub fn devices(&self) -> u64 {
        self.gate.devices().filter(|device| device.is_kept).count() as u64
    }

    /// Appends the next requests (about 1024) to `batch`, and returns how many. 0 is the end of the trace, or of the part
    /// asked for. A trace without any request is an error. After an error the trace is of no further use.
    pub fn read_batch(&mut self, batch: &mut Vec<HostRequest>) -> Result<usize, TraceError> {
        let before = batch.len();
        batch.reserve(BATCH);
        loop {
            self.gate.deliver(batch, BATCH, self.is_at_end)?;
            let count = batch.len() - before;
            self.delivered += count as u64;
            if count > 0 {
                return Ok(count);
            }
            if self.is_at_end || self.gate.left() == 0 {
                return if self.delivered > 0 { Ok(0) } else { Err(self.empty()) };
            }
            self.read_on()?;
        }
    }

    /// Reads all of a trace that is sorted, if it is. `go_on` is asked after each thousand requests, with their number and the share of the file
    /// read; false stops the work. Without this, the first `read_batch` does it.
    pub fn gather(&mut self, mut go_on: impl FnMut(u64, f64) -> bool) -> Result<(), TraceError> {
        while self.gate.is_gathering() && !self.is_at_end {
            self.read_on()?;
            if !go_on(self.gate.admitted(), self.input.share_read()) {
                return Err(TraceError::Interrupted);
            }
        }
        Ok(())
    }

    /// Parses some more requests.
    fn read_on(&mut self) -> Result<(), TraceError> {
        let wanted = self.gate.next_wanted(BATCH);
        self.is_at_end = wanted == 0
            || match self.parser.parse(&mut self.input, &mut self.gate, wanted) {
                Ok(has_more) => !has_more,
                Err(error @ TraceError::Late { .. }) => return Err(error),
                // Beyond the limit, a fault only ends the search for requests that were recorded late.
                Err(_) if self.gate.has_enough() => true,
                Err(error) => return Err(error),
            };
        if let Some(message) = self.input.take_cut_archive() {
            self.gate.skip(message);
        }
        Ok(())
    }

    /// Share of the requests asked for that have been delivered, from 0 to 1, for a progress bar: exact with a limit that the trace
    /// reaches, else by the bytes read.
    pub fn share_read(&mut self) -> f64 {
        let read = if self.gate.is_sorted() { 0.0 } else { self.input.share_read() };
        let wanted = self.delivered.saturating_add(self.gate.left());
        let wanted = if self.gate.is_sorted() { wanted.min(self.gate.admitted()) } else { wanted };
        read.max(self.delivered as f64 / wanted.max(1) as f64)
    }

    /// Ends reading. What has not been read is hashed all the same.
    pub fn finish(mut self) -> Result<TraceSummary, TraceError> {
        let summary = self.so_far();
        Ok(TraceSummary { sha256: self.parser.sha256(self.input)?, ..summary })
    }

    /// What is known so far, without the hash, for which all of the file would have to be read.
    pub(crate) fn so_far(&self) -> TraceSummary {
        let name = self.input.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = self.gate.found();
        let joined = found.joined(self.gate.admitted());
        TraceSummary {
            name,
            format: self.format.name,
            time_unit: self.unit.name(),
            requests: self.delivered,
            filtered: self.gate.filtered(),
            out_of_order: self.gate.out_of_order(),
            steps_back: self.gate.steps_back(),
            late_ns: self.gate.late_ns(),
            header_again: joined.line,
            joined: joined.recordings,
            spread_tick_ns: self.gate.spread_tick_ns(),
            skipped: found.skipped,
            faults: found.faults.clone(),
            ignored: pairs(&found.ignored),
            unsupported: pairs(&found.unsupported),
            lost_events: found.lost_events,
            reissued: found.reissued,
            truncated: u64::from(found.cut.is_some()),
            assumed: self.gate.assumed(),
            absent: self.gate.absent(),
            devices: self.gate.devices().count() as u64,
            device_list: self.gate.devices().collect(),
            sha256: String::new(),
        }
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    fn empty(&mut self) -> TraceError {
        let what = if self.gate.filtered() > 0 {
            let seen: Vec<String> = self.gate.devices().map(|device| device.name).collect();
            let more = seen.len().saturating_sub(DEVICES_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = seen[..seen.len().min(DEVICES_NAMED)].join(", ");
            format!("no request matches --device-filter; devices found: {named}{more}")
        } else if let Some(fault) = self.gate.found().faults.first() {
            format!("no line or record can be read; the first error: {fault}")
        } else if let Some(fault) = self.gate.take_cut() {
            return fault;
        } else {
            formats::what_there_is(self.gate.found(), self.action, self.format)
        };
        TraceError::Empty { path: self.input.path().to_owned(), what }
    }
}
