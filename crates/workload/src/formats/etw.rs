//! Disk events of Windows as text, the form of SNIA's Microsoft production and TPC traces (Kavalanekar et al., "Characterization of
//! Storage Workload Traces from Production Windows Servers", IISWC 2008): `BeginHeader`, the columns of each kind of event,
//! `EndHeader`, then events.
//!
//! Columns differ between recordings, so their places are taken from the header. Times are microseconds from the start of the
//! recording. An event is written when the request completes: it was issued ElapsedTime before TimeStamp, at the earliest at the
//! recording's start. Addresses and sizes are hexadecimal bytes. DiskFlush is a flush; events of other kinds are no requests.

use super::format::{Format, START_NS, first_line, no_other_word};
use super::lost;
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "etw",
    about: "ETW disk events of Windows: BeginHeader, columns, EndHeader, then DiskRead and DiskWrite rows: microseconds, hexadecimal bytes",
    unit: TimeUnit::Us,
    words: &["etw"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| first_line(head) == b"BeginHeader",
    // Times count from the begin of the recording, if nothing was under way then.
    traits: Traits::DISORDERED,
    parser: |setup| Box::new(LineParser::new(Etw { unit: setup.unit, place: Section::Start, read: None, write: None, flush: None })),
    writer: None,
};

/// Where in the file we are.
#[derive(PartialEq, Eq)]
enum Section {
    Start,
    Header,
    Events,
}

/// What a column is to us.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EtwColumn {
    TimeStamp,
    ByteOffset,
    IoSize,
    ElapsedTime,
    DiskNum,
    Other,
}

impl EtwColumn {
    fn named(name: &[u8]) -> Self {
        match name {
            b"TimeStamp" => Self::TimeStamp,
            b"ByteOffset" => Self::ByteOffset,
            b"IOSize" => Self::IoSize,
            b"ElapsedTime" => Self::ElapsedTime,
            b"DiskNum" => Self::DiskNum,
            _ => Self::Other,
        }
    }
}

struct Etw {
    unit: TimeUnit,
    place: Section,
    /// The columns behind the event's name, up to the last that is of use, if the header has the event.
    read: Option<Vec<EtwColumn>>,
    write: Option<Vec<EtwColumn>>,
    flush: Option<Vec<EtwColumn>>,
}

impl LineFormat<b','> for Etw {
    const COLUMNS: &'static str = "the columns of the header";
    const HAS_EMPTY_LINES: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let (op, columns) = match (line.word("event")?, &self.place) {
            (b"DiskRead", Section::Events) => (HostOp::Read, &self.read),
            (b"DiskWrite", Section::Events) => (HostOp::Write, &self.write),
            (b"DiskFlush", Section::Events) if self.flush.is_none() => {
                return Ok(TraceRecord::Unsupported("DiskFlush events, of which the header names no columns"));
            }
            (b"DiskFlush", Section::Events) => (HostOp::Flush, &self.flush),
            (event, _) => return self.other(event, *line, gate),
        };
        let Some(columns) = columns else {
            return Err(line.unexpected("an event of the header"));
        };
        let (mut stamp_ns, mut elapsed_ns) = (0, 0);
        let mut request = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 0, op, stream: 0, source: 0 };
        for column in columns {
            match column {
                EtwColumn::TimeStamp => stamp_ns = START_NS.saturating_add(line.time("TimeStamp", self.unit)?),
                EtwColumn::ByteOffset => request.offset_bytes = line.hexadecimal("ByteOffset", "0x")?,
                EtwColumn::IoSize => request.size_bytes = line.hexadecimal_size("IOSize", "0x")?,
                EtwColumn::ElapsedTime => elapsed_ns = line.time("ElapsedTime", self.unit)?,
                EtwColumn::DiskNum => request.source = line.device("DiskNum")?,
                EtwColumn::Other => {
                    line.field("a column of the header")?;
                }
            }
        }
        line.skip_more_fields();
        request.arrival_ns = stamp_ns.saturating_sub(elapsed_ns);
        Ok(TraceRecord::Request(request))
    }
}

impl Etw {
    /// A line that is no request: of the header, or an event of another kind.
    #[inline(never)]
    fn other(&mut self, event: &[u8], line: Line<'_, b','>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        match (&self.place, event) {
            // Another recording may follow, joined to the one before.
            (Section::Start | Section::Events, b"BeginHeader") => {
                self.place = Section::Header;
                gate.begins_at(START_NS);
                return Ok(TraceRecord::Header);
            }
            (Section::Start, _) => return Err(line.unexpected("BeginHeader")),
            (Section::Header, b"DiskRead") => self.read = Some(transfer_columns(line)?),
            (Section::Header, b"DiskWrite") => self.write = Some(transfer_columns(line)?),
            (Section::Header, b"DiskFlush") => self.flush = Some(flush_columns(line)?),
            (Section::Header, b"EndHeader") => self.place = Section::Events,
            (Section::Header, _) => {}
            // What the tool that writes this form says of the recording, behind the header.
            (Section::Events, b"OS") => {
                lost::count(line.whole_line(), gate);
            }
            (Section::Events, b"" | b"FirstReliableEventTimeStamp" | b"FirstReliableCSwitchEventTimeStamp") => {}
            (Section::Events, _) => return Ok(TraceRecord::Ignored("events other than DiskRead, DiskWrite and DiskFlush")),
        }
        Ok(TraceRecord::Nothing)
    }
}

fn transfer_columns(line: Line<'_, b','>) -> Result<Vec<EtwColumn>, Box<RecordError>> {
    let all = [EtwColumn::TimeStamp, EtwColumn::ByteOffset, EtwColumn::IoSize, EtwColumn::ElapsedTime, EtwColumn::DiskNum];
    columns(line, &all, "the columns TimeStamp, ByteOffset, IOSize, ElapsedTime and DiskNum")
}

fn flush_columns(line: Line<'_, b','>) -> Result<Vec<EtwColumn>, Box<RecordError>> {
    let all = [EtwColumn::TimeStamp, EtwColumn::ElapsedTime, EtwColumn::DiskNum];
    columns(line, &all, "the columns TimeStamp, ElapsedTime and DiskNum")
}

/// The columns that a line of the header names behind its event, up to the last of those needed.
fn columns(mut line: Line<'_, b','>, needed: &[EtwColumn], expected: &str) -> Result<Vec<EtwColumn>, Box<RecordError>> {
    let at_event = line;
    let mut found = Vec::new();
    while !line.is_at_end() {
        found.push(EtwColumn::named(line.field("a column's name")?));
    }
    if needed.iter().any(|column| found.iter().filter(|other| *other == column).count() != 1) {
        return Err(at_event.unexpected(expected));
    }
    let last = found.iter().rposition(|column| *column != EtwColumn::Other).map_or(0, |last| last + 1);
    found.truncate(last);
    Ok(found)
}
