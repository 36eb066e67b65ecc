//! flashraid's own CSV: what our captures are kept in, and the only text format with flushes, discards and write-zeroes.
//!
//! The first line names the columns, in any order. `ts_us` is the time of issue in microseconds from the start (a fraction down to the
//! nanosecond is allowed), `op` one of `R W F D Z`, `offset` and `size` are bytes (0 for a flush). These four must be there. `flags` are the
//! kernel's letters for the request and `latency_us` what the recorded device took: both may be empty; they are checked but not used. `stream` is the write
//! stream that the request names (NVMe: its placement handle); 0 or nothing if it names none.

use super::format::{Format, NotExpressible, Writer, first_line, no_other_word};
use crate::error::{RecordError, excerpt};
use crate::gate::Gate;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, TraceRecord, no_header_line};
use crate::table::Table;
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::names::near;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::io::Write;

const COLUMNS: &str = "ts_us,op,offset,size,flags,latency_us";

/// What a header may be, for messages.
const ALLOWED: &str = "ts_us (microseconds), op (R, W, F, D or Z), offset and size (bytes), in any order, and flags, latency_us and stream or \
                       not, with commas between";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table = Table { names: COLUMNS, is_header, columns: Some("time:us,op,offset,size,-,-"), also: "" };

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "flashraid",
    about: "CSV with the header ts_us,op,offset,size, in any order, flags, latency_us and stream besides or not: microseconds, R W F D Z, bytes",
    unit: TimeUnit::Us,
    words: &["flashraid"],
    is_word: no_other_word,
    endings: &[],
    // With other columns beside it the file is meant to be ours all the same, and is refused with the right ones.
    is_header: |head| {
        let mut words = first_line(head).split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        words.any(|word| word.eq_ignore_ascii_case(b"ts_us"))
    },
    traits: Traits { names_streams, ..Traits::PLAIN },
    parser: |setup| Box::new(LineParser::new(Csv { unit: setup.unit, columns: None })),
    writer: Some(|| Box::new(CsvWriter { has_streams: false })),
};

/// A column of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Op,
    Offset,
    Size,
    Flags,
    Latency,
    Stream,
}

/// The columns by name, in the order in which they are written; those before `REQUIRED` must be there.
const NAMES: [(&str, Column); 7] = [
    ("ts_us", Column::Time),
    ("op", Column::Op),
    ("offset", Column::Offset),
    ("size", Column::Size),
    ("flags", Column::Flags),
    ("latency_us", Column::Latency),
    ("stream", Column::Stream),
];
const REQUIRED: usize = 4;

/// Columns that a message names, and how much it shows of a name and of a header: it is one line, whatever the file holds.
const MOST_FAULTS: usize = 4;
const LONGEST_NAME: usize = 60;
const LONGEST_HEADER: usize = 300;

/// The header as messages show it.
pub(super) fn shown(header: &[u8]) -> String {
    excerpt(header, LONGEST_HEADER)
}

/// The columns that a header names; if it cannot be ours, why not.
fn columns_of(header: &[u8]) -> Result<Vec<Column>, String> {
    let header = header.to_ascii_lowercase();
    let (mut columns, mut faults, mut more) = (Vec::new(), Vec::new(), 0);
    for word in header.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        match NAMES.iter().find(|(name, _)| name.as_bytes() == word) {
            Some((_, column)) if !columns.contains(column) => columns.push(*column),
            _ if faults.len() == MOST_FAULTS => more += 1,
            Some((name, _)) => faults.push(format!("{name} stands there twice")),
            None => {
                let word = excerpt(word, LONGEST_NAME);
                let near = near(&word, NAMES.iter().map(|(name, _)| *name)).filter(|_| !word.is_empty());
                let hint = near.map(|name| format!(" (nearest: {name})"));
                faults.push(format!("'{word}' is none of them{}", hint.unwrap_or_default()));
            }
        }
    }
    if more > 0 {
        faults.push(format!("{more} more are wrong"));
    }
    let missing: Vec<&str> = NAMES[..REQUIRED].iter().filter(|(_, column)| !columns.contains(column)).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        faults.push(format!("missing: {}", missing.join(", ")));
    }
    if faults.is_empty() { Ok(columns) } else { Err(faults.join("; ")) }
}

/// Whether a line looks like a header, whatever its columns: words separated by commas, and no number.
pub(super) fn is_like_header(line: &[u8]) -> bool {
    let is_name = |word: &[u8]| word.trim_ascii().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    line.iter().filter(|byte| **byte == b',').count() >= 2 && line.is_ascii() && line.split(|byte| *byte == b',').all(is_name)
}

/// Whether the first line of a file names the column of streams.
fn names_streams(head: &[u8]) -> bool {
    columns_of(first_line(head)).is_ok_and(|columns| columns.contains(&Column::Stream))
}

/// What keeps a line from being the header of this format, and what would be one.
pub(super) fn why_not(header: &[u8]) -> String {
    format!("flashraid's own has {ALLOWED}: {}", columns_of(header).err().unwrap_or_default())
}

/// Whether a line is the header of this format.
fn is_header(line: &[u8]) -> bool {
    columns_of(line).is_ok()
}

struct Csv {
    unit: TimeUnit,
    /// The columns, if they are not all in the order of `COLUMNS`.
    columns: Option<Vec<Column>>,
}

impl LineFormat<b','> for Csv {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);
    const HAS_HEADER: bool = true;

    fn header(&mut self, line: &[u8]) -> Result<(), Box<RecordError>> {
        if line.eq_ignore_ascii_case(COLUMNS.as_bytes()) {
            return Ok(());
        }
        // One with quotes, or a comma too many, is a header all the same, and told what it lacks.
        if !is_like_header(line) && !(FORMAT.is_header)(line) {
            return Err(no_header_line(COLUMNS));
        }
        let refuse = |why| RecordError::malformed(1, format!("the header is '{}': {why}", shown(line)), ALLOWED);
        self.columns = Some(columns_of(line).map_err(refuse)?);
        Ok(())
    }

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if let Some(columns) = &self.columns {
            return by_columns(line, columns, self.unit);
        }
        let mut request = NOTHING;
        request.arrival_ns = line.time("ts_us", self.unit)?;
        request.op = op(line)?;
        request.offset_bytes = line.offset("offset", 1)?;
        request.size_bytes = line.size("size", 1)?;
        line.word("flags")?;
        latency(line)?;
        Ok(TraceRecord::Request(request))
    }
}

const NOTHING: HostRequest = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 0, op: HostOp::Read, stream: 0, source: 0 };

/// A line whose columns the header has put in another order. A field too few or too many is told of with these.
#[inline(never)]
fn by_columns(line: &mut Line<'_, b','>, columns: &[Column], unit: TimeUnit) -> Result<TraceRecord, Box<RecordError>> {
    let mut request = NOTHING;
    let mut fields = || {
        for column in columns {
            match column {
                Column::Time => request.arrival_ns = line.time("ts_us", unit)?,
                Column::Op => request.op = op(line)?,
                Column::Offset => request.offset_bytes = line.offset("offset", 1)?,
                Column::Size => request.size_bytes = line.size("size", 1)?,
                Column::Flags => drop(line.word("flags")?),
                Column::Latency => latency(line)?,
                Column::Stream => request.stream = stream(line)?,
            }
        }
        line.finish().map(drop)
    };
    fields().map_err(|mut fault| {
        if let RecordError::Malformed { expected, .. } = &mut *fault
            && expected == COLUMNS
        {
            let name = |column: &Column| NAMES.iter().find(|(_, other)| other == column).map_or("", |(name, _)| name);
            *expected = columns.iter().map(name).collect::<Vec<_>>().join(",");
        }
        fault
    })?;
    Ok(TraceRecord::Request(request))
}

#[inline(always)]
fn op(line: &mut Line<'_, b','>) -> Result<HostOp, Box<RecordError>> {
    Ok(match line.word("op")? {
        b"R" => HostOp::Read,
        b"W" => HostOp::Write,
        b"F" => HostOp::Flush,
        b"D" => HostOp::Trim,
        b"Z" => HostOp::WriteZeroes,
        _ => return Err(line.unexpected("one of R W F D Z")),
    })
}

/// Passes over a latency.
#[inline(always)]
fn latency(line: &mut Line<'_, b','>) -> Result<(), Box<RecordError>> {
    if line.word("latency_us")?.iter().all(u8::is_ascii_digit) { Ok(()) } else { Err(line.unexpected("a decimal number or nothing")) }
}

/// A write stream; none if there is nothing.
fn stream(line: &mut Line<'_, b','>) -> Result<u16, Box<RecordError>> {
    let field = line.field("stream")?;
    if field.is_empty() {
        return Ok(0);
    }
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| line.unexpected("a whole number from 0 to 65535 or nothing"))
}

struct CsvWriter {
    has_streams: bool,
}

impl Writer for CsvWriter {
    fn begin(&mut self, text: &mut Vec<u8>, names_streams: bool) {
        self.has_streams = names_streams;
        text.extend_from_slice(COLUMNS.as_bytes());
        text.extend_from_slice(if names_streams { b",stream\n" } else { b"\n" });
    }

    fn keeps_streams(&self) -> bool {
        true
    }

    fn request(&mut self, request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible> {
        if request.source != 0 {
            return Err(NotExpressible { what: format!("it is of device {}", request.source), expected: "requests of one device, 0" });
        }
        let op = match request.op {
            HostOp::Read => 'R',
            HostOp::Write => 'W',
            HostOp::Flush => 'F',
            HostOp::Trim => 'D',
            HostOp::WriteZeroes => 'Z',
        };
        let (whole_us, fraction_ns) = (request.arrival_ns / 1000, request.arrival_ns % 1000);
        let written = match fraction_ns {
            0 => write!(text, "{whole_us},{op},{},{},,", request.offset_bytes, request.size_bytes),
            _ => write!(text, "{whole_us}.{fraction_ns:03},{op},{},{},,", request.offset_bytes, request.size_bytes),
        };
        let ended = match (self.has_streams, request.stream) {
            (false, _) => writeln!(text),
            (true, 0) => writeln!(text, ","),
            (true, stream) => writeln!(text, ",{stream}"),
        };
        written.and(ended).expect("a vector takes every byte");
        Ok(())
    }
}
