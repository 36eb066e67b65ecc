//! A trace as a stream of checked, timed requests.

use crate::columns::Columns;
use crate::error::TraceError;
use crate::formats::{self, Format, Setup};
use crate::gate::Gate;
use crate::input::{Input, can_be_read_again};
use crate::options::{BlockAction, TraceOptions};
use crate::parser::Parser;
use crate::summary::TraceSummary;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;
use std::collections::BTreeMap;
use std::path::Path;

/// Devices that a message names.
const DEVICES_NAMED: usize = 20;

/// Requests of one batch: 32 KiB, which stay in the first-level cache until they are used.
const BATCH: usize = 1024;

/// Reads a trace to its end, for what its gate knows then.
fn read_to_end(path: &Path, options: &TraceOptions) -> Result<Gate, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut batch = Vec::new();
    while trace.read_batch(&mut batch)? > 0 {
        batch.clear();
    }
    Ok(trace.gate)
}

fn pairs(map: &BTreeMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    map.iter().map(|(what, count)| (*what, *count)).collect()
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
    names_streams: bool,
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
            name => Some(formats::named(name)?),
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
        let gate = Gate::new(path, options, format.traits, unit, is_sorted, read_to_end);
        let names_streams = (format.traits.names_streams)(input.text_head());
        Ok(Self { input, format, unit, parser, action: options.action, names_streams, gate, is_at_end: false, delivered: 0 })
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

    /// Whether its requests may name write streams.
    pub(crate) fn names_streams(&self) -> bool {
        self.names_streams
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
