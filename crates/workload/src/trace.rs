//! A trace as a stream of checked, timed requests.

use crate::error::{Fault, TraceError};
use crate::formats;
use crate::input::Input;
use crate::line::Line;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeSet;
use std::path::Path;

/// Requests of one batch: 32 KiB, which stay in the first-level cache until they are used.
const BATCH: usize = 1024;

/// A read or write longer than this cannot come from a host: the kernel counts the bytes of one in 32 bits.
const LARGEST_TRANSFER_BYTES: u64 = u32::MAX as u64;

/// Times and addresses end here: they are signed 64-bit numbers in every system that records traces, and sums of two of
/// ours never overflow.
const LARGEST: u64 = i64::MAX as u64;

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Name of a format, or `auto`: by the first line or the file's name, never by looking at values.
    pub format: String,
    /// Keep the requests of this device (disk, volume, ASU, LUN) only. Without it, a second device is an error: address
    /// spaces are never merged silently.
    pub device_filter: Option<u32>,
    /// Stop after this many requests; 0 reads all.
    pub limit: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { format: "auto".to_owned(), device_filter: None, limit: 0 }
    }
}

/// What is known of a trace once it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSummary {
    /// Name of the file, without its folders.
    pub name: String,
    /// SHA-256 of the whole file as it lies on disk, in hexadecimal.
    pub sha256: String,
    /// Requests delivered.
    pub requests: u64,
    /// Requests left out by the device filter.
    pub filtered: u64,
    /// Requests that were recorded with a time before their predecessor's, and were moved to it.
    pub out_of_order: u64,
    /// Distinct devices met, filtered out or not.
    pub devices: u64,
}

/// An open trace.
pub struct Trace {
    input: Input,
    parser: Box<dyn Parser>,
    gate: Gate,
}

impl Trace {
    /// Opens a trace and finds its format.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        let named = match options.format.as_str() {
            "auto" => None,
            name => Some(formats::find(name).ok_or_else(|| TraceError::UnknownFormat { name: name.to_owned() })?),
        };
        let input = Input::open(path)?;
        let format = match named {
            Some(format) => format,
            None => formats::recognise(path, input.line()).ok_or_else(|| TraceError::Unrecognised { path: path.to_owned() })?,
        };
        Ok(Self { input, parser: (format.parser)(), gate: Gate::new(options) })
    }

    /// Appends the next requests (at most 1024) to `batch`, and returns how many. 0 is the end of the trace, or of the part
    /// asked for. A trace without any request is an error. After an error the trace is of no further use.
    pub fn read_batch(&mut self, batch: &mut Vec<HostRequest>) -> Result<usize, TraceError> {
        let before = batch.len();
        let wanted = self.gate.left.min(BATCH as u64) as usize;
        batch.reserve(wanted);
        self.parser.parse(&mut self.input, &mut self.gate, batch, before + wanted)?;
        if self.gate.delivered == 0 {
            return Err(self.empty());
        }
        Ok(batch.len() - before)
    }

    /// Share of the requests asked for that have been delivered, from 0 to 1, for a progress bar: exact with a limit that the trace
    /// reaches, else by the bytes read.
    pub fn share_read(&mut self) -> f64 {
        let wanted = self.gate.delivered.saturating_add(self.gate.left);
        self.input.share_read().max(self.gate.delivered as f64 / wanted as f64)
    }

    /// Ends reading. What has not been read is hashed all the same.
    pub fn finish(self) -> Result<TraceSummary, TraceError> {
        let name = self.input.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(TraceSummary {
            name,
            sha256: self.input.sha256()?,
            requests: self.gate.delivered,
            filtered: self.gate.filtered,
            out_of_order: self.gate.out_of_order,
            devices: self.gate.devices.len() as u64,
        })
    }

    fn empty(&self) -> TraceError {
        let what = match self.gate.device_filter {
            Some(device) if self.gate.filtered > 0 => {
                let seen: Vec<String> = self.gate.devices.iter().take(20).map(u32::to_string).collect();
                format!("no request of device {device} (--device-filter); devices found: {}", seen.join(", "))
            }
            _ => "no request in the file".to_owned(),
        };
        TraceError::Empty { path: self.input.path().to_owned(), what }
    }
}

/// A format at work: turns text into requests, a batch a call, so that nothing is dispatched per line.
pub(crate) trait Parser: Send {
    /// Appends requests to `batch` until it holds `end` of them or the text ends.
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, batch: &mut Vec<HostRequest>, end: usize) -> Result<(), TraceError>;
}

/// A format of one request a line. `SEPARATOR` stands between the fields.
pub(crate) trait LineFormat<const SEPARATOR: u8>: Send {
    /// The columns, as a message names them.
    const COLUMNS: &'static str;
    /// Whether the first line must be the columns' names.
    const HAS_HEADER: bool = false;
    /// Whether times count from an origin outside the trace, so that the first line's becomes 0.
    const IS_REBASED: bool = false;

    /// The request of one line: its fields in order, its time as recorded. What is wrong with the values of any format
    /// (order of times, range of addresses, device) is checked by the caller.
    fn request(&mut self, line: &mut Line<'_, SEPARATOR>) -> Result<HostRequest, Box<Fault>>;
}

/// Line by line through a `LineFormat`.
pub(crate) struct LineParser<F, const SEPARATOR: u8> {
    format: F,
    is_started: bool,
    /// The first of the empty lines before the cursor, if there are any: only the end of the file may follow them.
    empty_line: Option<u64>,
}

impl<F: LineFormat<SEPARATOR>, const SEPARATOR: u8> LineParser<F, SEPARATOR> {
    /// A parser that stands before the first line.
    pub fn new(format: F) -> Self {
        Self { format, is_started: false, empty_line: None }
    }

    fn check_header(&mut self, input: &mut Input) -> Result<(), TraceError> {
        self.is_started = true;
        if F::HAS_HEADER {
            if input.line() != F::COLUMNS.as_bytes() {
                let fault = Fault { column: 1, what: "no header line".to_owned(), expected: F::COLUMNS.to_owned() };
                return Err(located(fault, input.path(), input.line_number()));
            }
            input.skip_line();
        }
        Ok(())
    }

    /// Parses and admits the line at `start`; returns where the next one begins. None: the line is empty.
    #[inline(always)]
    fn line(&mut self, text: &[u8], start: usize, gate: &mut Gate, batch: &mut Vec<HostRequest>) -> Result<Option<usize>, Box<Fault>> {
        let mut line = Line::<SEPARATOR>::new(text, start, F::COLUMNS);
        if line.is_at_end() {
            return Ok(None);
        }
        let request = self.format.request(&mut line)?;
        let arrival_ns = gate.admit::<SEPARATOR>(&request, &line, F::IS_REBASED)?;
        let next = line.finish()?;
        if let Some(arrival_ns) = arrival_ns {
            batch.push(HostRequest { arrival_ns, ..request });
        }
        Ok(Some(next))
    }
}

impl<F: LineFormat<SEPARATOR>, const SEPARATOR: u8> Parser for LineParser<F, SEPARATOR> {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, batch: &mut Vec<HostRequest>, end: usize) -> Result<(), TraceError> {
        if !self.is_started {
            self.check_header(input)?;
        }
        while batch.len() < end && input.has_line()? {
            let (text, start) = input.text();
            match self.line(text, start, gate, batch) {
                Ok(Some(_)) if self.empty_line.is_some() => {
                    let fault = Fault { column: 1, what: "an empty line inside the trace".to_owned(), expected: F::COLUMNS.to_owned() };
                    return Err(located(fault, input.path(), self.empty_line.unwrap_or_default()));
                }
                Ok(Some(next)) => input.advance(next),
                Ok(None) => {
                    self.empty_line.get_or_insert(input.line_number());
                    input.skip_line();
                }
                Err(fault) => return Err(located(fault, input.path(), input.line_number())),
            }
        }
        Ok(())
    }
}

#[cold]
fn located(fault: impl Into<Box<Fault>>, path: &Path, line: u64) -> TraceError {
    let fault = fault.into();
    TraceError::Malformed { path: path.to_owned(), line, column: fault.column, what: fault.what, expected: fault.expected }
}

/// What holds for requests of every format: which are kept, and which cannot be.
pub(crate) struct Gate {
    device_filter: Option<u32>,
    /// Requests still wanted.
    left: u64,
    delivered: u64,
    filtered: u64,
    out_of_order: u64,
    devices: BTreeSet<u32>,
    last_device: Option<u32>,
    /// Time of the first line, if times are rebased to it, and the latest time so far.
    origin_ns: Option<u64>,
    latest_ns: u64,
}

impl Gate {
    fn new(options: &TraceOptions) -> Self {
        Self {
            device_filter: options.device_filter,
            left: if options.limit == 0 { u64::MAX } else { options.limit },
            delivered: 0,
            filtered: 0,
            out_of_order: 0,
            devices: BTreeSet::new(),
            last_device: None,
            origin_ns: None,
            latest_ns: 0,
        }
    }

    /// Checks a request as recorded and returns its arrival. None: the device filter leaves it out.
    #[inline(always)]
    fn admit<const S: u8>(&mut self, request: &HostRequest, line: &Line<'_, S>, rebase: bool) -> Result<Option<u64>, Box<Fault>> {
        check_range(request, line)?;
        if self.last_device != Some(request.source) {
            self.change_device(request.source, line)?;
        }
        let origin_ns = *self.origin_ns.get_or_insert_with(|| {
            self.latest_ns = if rebase { request.arrival_ns } else { 0 };
            self.latest_ns
        });
        if self.device_filter.is_some_and(|device| device != request.source) {
            self.filtered += 1;
            return Ok(None);
        }
        self.out_of_order += u64::from(request.arrival_ns < self.latest_ns);
        self.latest_ns = self.latest_ns.max(request.arrival_ns);
        let arrival_ns = self.latest_ns - origin_ns;
        if arrival_ns > LARGEST {
            return Err(line.line_fault(format!("a time of {arrival_ns} ns"), "at most 292 years"));
        }
        self.delivered += 1;
        self.left -= 1;
        Ok(Some(arrival_ns))
    }

    #[cold]
    fn change_device<const S: u8>(&mut self, device: u32, line: &Line<'_, S>) -> Result<(), Box<Fault>> {
        self.devices.insert(device);
        if let (Some(last), None) = (self.last_device, self.device_filter) {
            let what = format!("a second device ({device} after {last})");
            return Err(line.device_fault(what, "one address space: choose a device with --device-filter"));
        }
        self.last_device = Some(device);
        Ok(())
    }
}

/// Lengths and addresses that no host can ask for.
#[inline(always)]
fn check_range<const S: u8>(request: &HostRequest, line: &Line<'_, S>) -> Result<(), Box<Fault>> {
    let is_flush = request.op == HostOp::Flush;
    if (request.size_bytes == 0) != is_flush || (is_flush && request.offset_bytes != 0) {
        return Err(if is_flush {
            line.size_fault("a flush with offset or size".to_owned(), "0 for both")
        } else {
            line.size_fault("a size of 0 bytes".to_owned(), "at least 1")
        });
    }
    let is_transfer = matches!(request.op, HostOp::Read | HostOp::Write);
    if is_transfer && request.size_bytes > LARGEST_TRANSFER_BYTES {
        return Err(line.size_fault(format!("a transfer of {} bytes", request.size_bytes), "at most 4294967295"));
    }
    if request.offset_bytes.checked_add(request.size_bytes).is_none_or(|end| end > LARGEST) {
        let what = format!("an address beyond 2^63 bytes ({} + {})", request.offset_bytes, request.size_bytes);
        return Err(line.size_fault(what, "an address that a device can have"));
    }
    Ok(())
}
