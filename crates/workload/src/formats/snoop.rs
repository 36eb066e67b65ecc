//! Tables with a header that tools print which trace block requests one a line, when they complete: a line of column names, then
//! rows in which a process name may hold blanks or be empty. Columns before the name are read from the left, those behind it from the
//! right. `biosnoop` and `iosnoop` say what their columns are called.

use super::format::START_NS;
use super::{lost, rwbs};
use crate::error::{RecordError, excerpt};
use crate::gate::Gate;
use crate::line::{BLANKS, LONGEST_FIELD, Line, PADDING, SECTOR_BYTES};
use crate::options::BlockAction;
use crate::parser::{LineFormat, TraceRecord};
use crate::position::Position;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// Lines at the start of a file among which the header must be: tools say before it what they do.
const LINES_BEFORE: usize = 16;

/// A time after which a difference of unsigned numbers in the tool was negative.
const LATEST_NS: u64 = i64::MAX as u64;

/// What rows of reads and writes without bytes are: the tool has these two letters alone for what is neither.
pub(crate) const UNTOLD: &str = "rows of R or W without bytes (flushes and other commands to the device)";

/// What a column is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnoopColumn {
    /// Seconds of issue.
    Start,
    /// Seconds of completion.
    End,
    /// The time of day of completion, to the millisecond.
    Clock,
    /// The name of the process.
    Comm,
    Op,
    Device,
    Sector,
    Bytes,
    /// Milliseconds from queueing to issue.
    Queued,
    /// Milliseconds from issue to completion.
    Latency,
    Other,
}

/// What keeps a recording from being replayed, and what is expected instead.
pub(super) type Refusal = (&'static str, &'static str);

/// What a tool calls its columns, and what a message says of it.
pub(super) struct Tool {
    pub name: &'static str,
    /// What a column of this name is.
    pub column: fn(&[u8]) -> SnoopColumn,
    /// Whether a line of column names is this tool's, with or without the columns that we need.
    pub is_header: fn(&[SnoopColumn], &[u8]) -> bool,
    /// Why a recording of these columns cannot be replayed.
    pub refuse: fn(&[SnoopColumn], &[u8]) -> Option<Refusal>,
}

impl Tool {
    fn columns(&self, line: &[u8]) -> Vec<SnoopColumn> {
        words(line).map(self.column).collect()
    }

    /// Whether the first lines of a file have the header.
    pub fn is_in(&self, head: &[u8]) -> bool {
        head.split(|byte| *byte == b'\n').take(LINES_BEFORE).any(|line| (self.is_header)(&self.columns(line), line.trim_ascii()))
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The reader of a tool's table.
pub(super) struct Snoop {
    tool: &'static Tool,
    unit: TimeUnit,
    action: BlockAction,
    /// The columns, once there was a header: those up to the process name, and those behind it that are never empty.
    left: Vec<SnoopColumn>,
    right: Vec<SnoopColumn>,
    /// Whether the last word between them is the device.
    has_device_between: bool,
    has_header: bool,
    /// Of a time of day: the last one, and the days that have passed.
    clock_ns: u64,
    days_ns: u64,
}

impl Snoop {
    pub fn new(tool: &'static Tool, unit: TimeUnit, action: BlockAction) -> Self {
        let columns = (Vec::new(), Vec::new());
        Self {
            tool,
            unit,
            action,
            left: columns.0,
            right: columns.1,
            has_device_between: false,
            has_header: false,
            clock_ns: 0,
            days_ns: 0,
        }
    }

    /// A line that is no row: before the header, the header itself, which may come again in a file of several recordings, or what the
    /// tool says beside its rows.
    #[cold]
    fn other(&mut self, line: &Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let text = line.whole_line();
        let columns = self.tool.columns(text);
        if (self.tool.is_header)(&columns, text) {
            return self.begin(&columns, line);
        }
        if lost::count(text, gate) {
            return Ok(TraceRecord::Nothing);
        }
        if !self.has_header && text.first().is_some_and(u8::is_ascii_digit) {
            let expected = "a line of column names before the first row";
            return Err(line.line_fault(format!("no header line of {}", self.tool.name), expected));
        }
        Ok(match text {
            [] => TraceRecord::Nothing,
            [b'T', b'r', b'a', b'c', b'i', b'n', b'g', ..] | [b'E', b'n', b'd', b'i', b'n', b'g', ..] => TraceRecord::Nothing,
            _ => TraceRecord::Ignored("lines that are no rows of the table"),
        })
    }

    /// Takes the header.
    fn begin(&mut self, columns: &[SnoopColumn], line: &Line<'_, BLANKS>) -> Result<TraceRecord, Box<RecordError>> {
        if let Some((what, expected)) = (self.tool.refuse)(columns, line.whole_line()) {
            return Err(line.line_fault(what.to_owned(), expected));
        }
        let has = |column| columns.contains(&column);
        if self.action == BlockAction::Queued && !has(SnoopColumn::Queued) {
            let what = format!("no column of the time in the queue, which --action Q needs, in a recording of {}", self.tool.name);
            return Err(line.line_fault(what, "QUE(ms), as of biosnoop -Q, or --action D"));
        }
        let comm = columns.iter().position(|column| *column == SnoopColumn::Comm).unwrap_or_default();
        let op = columns.iter().position(|column| *column == SnoopColumn::Op).unwrap_or(columns.len());
        if op < comm {
            return Err(line.line_fault("columns in an order that is not the tool's".to_owned(), "COMM before the type of the request"));
        }
        self.left = columns[..comm].to_vec();
        self.right = columns[op..].to_vec();
        self.has_device_between = columns[comm..op].contains(&SnoopColumn::Device);
        self.has_header = true;
        self.days_ns = 0;
        self.clock_ns = 0;
        Ok(TraceRecord::Header)
    }

    /// A time of day, and the days before it: the clock of a recording that passes midnight begins anew.
    #[cold]
    fn time_of_day(&mut self, line: &mut Line<'_, BLANKS>) -> Result<u64, Box<RecordError>> {
        const DAY_NS: u64 = 86_400_000_000_000;
        let word = line.word("TIMESTAMP")?;
        let at = *line;
        let fault = || at.unexpected("a time of day as in 23:59:58.125");
        let mut parts = word.splitn(3, |byte| *byte == b':').map(|part| std::str::from_utf8(part).ok());
        let mut next = || parts.next().flatten();
        let (Some(hours), Some(minutes), Some(seconds)) = (next(), next(), next()) else { return Err(fault()) };
        let (Ok(hours), Ok(minutes), Ok(seconds)) = (hours.parse::<u8>(), minutes.parse::<u8>(), seconds.parse::<f64>()) else {
            return Err(fault());
        };
        if hours > 23 || minutes > 59 || !(0.0..61.0).contains(&seconds) {
            return Err(fault());
        }
        let clock_ns = (u64::from(hours) * 60 + u64::from(minutes)) * 60_000_000_000 + (seconds * 1e3).round() as u64 * 1_000_000;
        if clock_ns + DAY_NS / 2 < self.clock_ns {
            self.days_ns += DAY_NS;
        }
        self.clock_ns = clock_ns;
        Ok(self.days_ns + clock_ns)
    }
}

impl LineFormat<BLANKS> for Snoop {
    const COLUMNS: &'static str = "the columns of the header";
    const HAS_EMPTY_LINES: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if !self.has_header || !line.rest().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            return self.other(line, gate);
        }
        let at_start = *line;
        self.row(line, gate).or_else(|fault| self.without_blank(at_start, fault, line, gate))
    }
}

impl Snoop {
    /// A row of the table.
    #[inline(always)]
    fn row(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let (mut start_ns, mut end_ns) = (None, None);
        for index in 0..self.left.len() {
            match self.left[index] {
                SnoopColumn::Start => start_ns = Some(moved_time(line, self.unit)?),
                SnoopColumn::End => end_ns = Some(moved_time(line, self.unit)?),
                SnoopColumn::Clock => end_ns = Some(START_NS + self.time_of_day(line)?),
                _ => {
                    line.word("a column of the header")?;
                }
            }
        }
        let between = line.field_before_last("COMM", self.right.len())?;
        let mut device = if self.has_device_between { device_of(between) } else { b"" };
        let (mut letters, mut sector, mut bytes): (&[u8], _, _) = (b"", *line, 0);
        let (mut queued_ns, mut latency_ns) = (0, 0);
        for column in &self.right {
            match column {
                SnoopColumn::Op => letters = line.word("the type")?,
                SnoopColumn::Device => device = line.word("the device")?,
                SnoopColumn::Sector => {
                    sector = *line;
                    line.word("the sector")?;
                }
                SnoopColumn::Bytes => bytes = line.size("BYTES", 1)?,
                SnoopColumn::Queued => queued_ns = queueing_time(line)?,
                SnoopColumn::Latency => latency_ns = line.time("the latency", TimeUnit::Ms)?,
                _ => {
                    line.word("a column of the header")?;
                }
            }
        }
        let Some(op) = rwbs::operation(letters) else {
            let may_be_new = !letters.is_empty() && letters.iter().all(u8::is_ascii_uppercase);
            return if may_be_new { Ok(TraceRecord::Unsupported(rwbs::unsupported(letters))) } else { Err(not_letters(*line, letters)) };
        };
        let mut offset_bytes = 0;
        if bytes > 0 && op != HostOp::Flush {
            offset_bytes = sector.offset("the sector", SECTOR_BYTES)?;
            // What follows must be another field.
            sector.word("BYTES")?;
        }
        let issued_ns = start_ns.or(end_ns.map(|end_ns| end_ns.saturating_sub(latency_ns))).unwrap_or_default();
        let arrival_ns = match self.action {
            BlockAction::Queued => issued_ns.saturating_sub(queued_ns),
            BlockAction::Issued => issued_ns,
            BlockAction::Completed => end_ns.unwrap_or(issued_ns.saturating_add(latency_ns)),
        };
        let source = gate.number_of(device);
        let size_bytes = if op == HostOp::Flush { 0 } else { bytes };
        let request = HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source };
        let Some(request) = rwbs::request_or_flush(request, letters) else {
            // Letters of the kernel tell flushes, and requests that are none.
            let is_untold = matches!(letters, b"R" | b"W");
            return Ok(if is_untold { TraceRecord::Unsupported(UNTOLD) } else { TraceRecord::Ignored("rows without bytes") });
        };
        gate.drop_parts(rwbs::dropped(request.op, letters));
        Ok(TraceRecord::Request(request))
    }
}

impl Snoop {
    /// A row that is wrong, which may be because bcc prints no blank between 7 digits of bytes and a time of 1,000 ms and more.
    #[cold]
    fn without_blank(
        &mut self,
        at_start: Line<'_, BLANKS>,
        fault: Box<RecordError>,
        line: &mut Line<'_, BLANKS>,
        gate: &mut Gate,
    ) -> Result<TraceRecord, Box<RecordError>> {
        let Some(text) = with_blank(at_start.whole_line()) else { return Err(fault) };
        match self.row(&mut Line::new(&text, 0, Self::COLUMNS), gate) {
            Ok(record) => {
                line.advance(line.rest().len());
                Ok(record)
            }
            Err(_) => Err(fault),
        }
    }
}

/// The line with a blank behind 7 digits of bytes, if it has a word of these and a time of 4 digits or more; padded for a `Line`.
fn with_blank(line: &[u8]) -> Option<Vec<u8>> {
    const BYTES: usize = 7;
    const TIME: usize = 4;
    let is_both = |word: &[u8]| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits >= BYTES + TIME && word.get(digits) == Some(&b'.')
    };
    // The time of completion is another such word, but the first of the line.
    let last = words(line).skip(1).filter(|word| is_both(word)).last()?;
    let place = last.as_ptr() as usize - line.as_ptr() as usize + BYTES;
    Some([&line[..place], b" ", &line[place..], b"\n", &[0; PADDING]].concat())
}

/// The device among a process name, a process number and a disk, any of which may be missing but the number.
#[inline]
fn device_of(between: &[u8]) -> &[u8] {
    let last = memchr::memrchr2(b' ', b'\t', between).map_or(between, |blank| &between[blank + 1..]);
    if last.iter().all(u8::is_ascii_digit) { b"?" } else { last }
}

/// A time from the tool's 0, which may lie before it, moved by `START_NS`.
#[inline(always)]
fn moved_time(line: &mut Line<'_, BLANKS>, unit: TimeUnit) -> Result<u64, Box<RecordError>> {
    let is_before = line.rest().trim_ascii_start().first() == Some(&b'-');
    if is_before {
        let blanks = line.rest().len() - line.rest().trim_ascii_start().len();
        line.advance(blanks + 1);
    }
    let time_ns = line.time("the time", unit)?;
    Ok(match is_before {
        true => START_NS.saturating_sub(time_ns),
        false if time_ns > LATEST_NS => START_NS.saturating_sub(time_ns.wrapping_neg()),
        false => START_NS.saturating_add(time_ns),
    })
}

/// The time in the queue; of a request that was not seen there, -1 is printed.
#[inline(always)]
fn queueing_time(line: &mut Line<'_, BLANKS>) -> Result<u64, Box<RecordError>> {
    if line.rest().trim_ascii_start().first() == Some(&b'-') {
        line.word("QUE(ms)")?;
        return Ok(0);
    }
    line.time("QUE(ms)", TimeUnit::Ms)
}

#[cold]
fn not_letters(line: Line<'_, BLANKS>, letters: &[u8]) -> Box<RecordError> {
    let what = format!("the type is '{}'", excerpt(letters, LONGEST_FIELD));
    line.line_fault(what, "letters as R, W, WS, D or FF")
}
