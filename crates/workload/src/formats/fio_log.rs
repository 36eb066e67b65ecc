//! fio's logs of single I/Os ("Log File Formats" in fio's HOWTO; `flush_samples` in iolog.c), written with `write_lat_log`,
//! `write_clat_log`, `write_slat_log`, `write_iops_log` or `write_bw_log` and `log_offset=1`:
//! `time, value, direction, block size, offset[, priority[, issue time]]`, where direction is 0 (read), 1 (write) or 2 (trim).
//!
//! Time counts milliseconds until the I/O completed, so requests of one millisecond are spread over it; the issue time
//! (`log_issue_time=1`) counts nanoseconds, and is the arrival where it is there. In logs of `lat` and `clat`, told by the file's name, the
//! value is the latency in nanoseconds (fio 3), which is taken off; in others it is no time. A name that does not say is one of them
//! unless all values are 1, as in logs of IOPS.
//!
//! Logs without offsets cannot be replayed, nor can averages (`log_avg_msec`), which have a block size of 0. Where a log has five
//! columns, the last one is the priority, and not the offset, if it is never anything but 0, 1 or hexadecimal.

use super::beside::{Naming, are, name_of};
use super::format::{Format, START_NS, Setup, first_line};
use crate::error::{RecordError, TraceError};
use crate::gate::Gate;
use crate::input::Input;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, Parser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::path::{Path, PathBuf};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "fio-log",
    about: "fio log with log_offset=1: time, value, direction (0 = read, 1 = write, 2 = trim), block size, offset[, priority[, issue time]]: ms, bytes, ns",
    unit: TimeUnit::Ms,
    words: &[],
    is_word: |word| LOGS.iter().any(|(ending, _)| word.ends_with(ending)),
    endings: &[],
    is_header: begins_a_log,
    traits: Traits { is_disordered: true, ..Traits::COARSE },
    parser: |setup| Box::new(FioLog::new(setup)),
    writer: None,
};

/// How the names of logs end, and whether their values are latencies.
const LOGS: [(&str, bool); 5] = [("_clat", true), ("_slat", false), ("_lat", true), ("_iops", false), ("_bw", false)];

/// The logs of the jobs of a run: `NAME_lat.1.log` and so on.
const NAMING: Naming =
    Naming { before: ".", behind: ".log", first: 1, is_stem: |stem| LOGS.iter().any(|(ending, _)| stem.ends_with(ending)) };

/// Fewest and most columns of a log.
const COLUMNS: std::ops::RangeInclusive<usize> = 4..=8;

/// Lines by which a log is told.
const FIRST_LINES: usize = 16;

/// The entries in the head of a file that have as many columns as the first line, which is one.
struct Entries<'a>(Vec<Vec<&'a [u8]>>);

/// The whole lines of a head; all of it if it has no newline.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |newline| &head[..newline]);
    whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

/// Whether the first lines are entries, which lines of nothing else are: numbers with a comma and a blank between them, a direction in
/// its place.
fn begins_a_log(head: &[u8]) -> bool {
    // Text of another kind is told by its first line.
    fields(first_line(head)).is_some() && lines(head).take(FIRST_LINES).all(|line| fields(line).is_some())
}

impl<'a> Entries<'a> {
    /// `None` if the first line is no entry.
    fn of(head: &'a [u8]) -> Option<Self> {
        let columns = fields(first_line(head))?.len();
        Some(Self(lines(head).filter_map(fields).filter(|fields| fields.len() == columns).collect()))
    }

    /// Whether what stands at this place is a priority in all of them.
    fn is_priority(&self, place: usize) -> bool {
        self.0.iter().all(|fields| fields.get(place).is_some_and(|field| matches!(*field, b"0" | b"1") || field.starts_with(b"0x")))
    }

    fn are_all(&self, place: usize, value: &[u8]) -> bool {
        self.0.iter().all(|fields| fields.get(place) == Some(&value))
    }
}

fn fields(line: &[u8]) -> Option<Vec<&[u8]>> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
    let is_number = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let is_hexadecimal = |field: &[u8]| field.strip_prefix(b"0x").is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let rest: Option<Vec<&[u8]>> = fields.iter().skip(1).map(|field| field.strip_prefix(b" ")).collect();
    let fields = [&fields[..1], &rest?].concat();
    let direction = |place: usize| fields.get(place).is_some_and(|field| matches!(*field, b"0" | b"1" | b"2"));
    let is_entry = COLUMNS.contains(&fields.len())
        && (direction(2) || direction(3))
        && fields.iter().enumerate().all(|(place, field)| is_number(field) || place > 3 && is_hexadecimal(field));
    is_entry.then_some(fields)
}

/// The parser that finds out what columns there are before it reads the first line.
struct FioLog {
    path: PathBuf,
    unit: TimeUnit,
    rows: Option<LineParser<Rows, b','>>,
}

impl FioLog {
    fn new(setup: &Setup) -> Self {
        Self { path: setup.path.to_owned(), unit: setup.unit, rows: None }
    }

    /// Each job has its log, and only the one that is given is read.
    fn say_what_is_beside(&self, gate: &mut Gate) {
        // Numbers that are left out tell nothing: jobs are counted that were not logged.
        let others = NAMING.beside(&self.path).others;
        if !others.is_empty() {
            let own = name_of(&self.path);
            gate.assume(&format!(
                "{own} is the log of one of several jobs, and {} not read: join the logs of all jobs (cat) into one file, and give that",
                are(&others)
            ));
        }
    }

    fn rows(&self, head: &[u8], gate: &mut Gate) -> Result<Rows, Box<RecordError>> {
        let fault = |what: &str, expected: &str| RecordError::malformed(1, what.to_owned(), expected);
        let entries = Entries::of(head).ok_or_else(|| fault("no entry of a fio log", Rows::COLUMNS))?;
        if entries.are_all(3, b"0") {
            return Err(fault("averages of several I/Os (log_avg_msec)", "a log of each I/O: log_avg_msec=0 and log_offset=1"));
        }
        let columns = entries.0[0].len();
        let (has_priority, has_issue_time) = match columns {
            5 if !entries.is_priority(4) => (false, false),
            6 if entries.is_priority(5) => (true, false),
            7 if entries.is_priority(5) => (true, true),
            _ => return Err(fault("a log without offsets", "a log that was written with log_offset=1")),
        };
        let has_latency = latencies(&self.path).unwrap_or_else(|| {
            let has_latency = !entries.are_all(1, b"1");
            let what = if has_latency { "latencies in nanoseconds" } else { "no latencies" };
            gate.assume(&format!(
                "assumed that the second column has {what}, which the file's name does not say (_lat, _clat, _slat, _iops, _bw)"
            ));
            has_latency
        });
        if has_issue_time {
            gate.has_fine_clock();
        }
        Ok(Rows { unit: self.unit, has_latency, has_priority, has_issue_time })
    }
}

/// Whether the values of a log are latencies, if its name says so.
fn latencies(path: &Path) -> Option<bool> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    name.split(['.', '-'])
        .rev()
        .find_map(|word| LOGS.iter().find(|(ending, _)| word.ends_with(ending)))
        .map(|(_, has_latency)| *has_latency)
}

impl Parser for FioLog {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        if self.rows.is_none() {
            self.say_what_is_beside(gate);
            let rows = self.rows(input.text_head(), gate).map_err(|fault| fault.at_line(input.path(), 1))?;
            self.rows = Some(LineParser::new(rows));
        }
        match &mut self.rows {
            Some(rows) => rows.parse(input, gate, wanted),
            None => Ok(false),
        }
    }
}

struct Rows {
    unit: TimeUnit,
    has_latency: bool,
    has_priority: bool,
    has_issue_time: bool,
}

impl LineFormat<b','> for Rows {
    const COLUMNS: &'static str = "time, value, direction, block size, offset";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let time_ns = line.time("time", self.unit)?;
        let value = line.whole("value")?;
        let op = match line.word("direction")? {
            b"0" => HostOp::Read,
            b"1" => HostOp::Write,
            b"2" => HostOp::Trim,
            _ => return Err(line.unexpected("0 (read), 1 (write) or 2 (trim)")),
        };
        let size_bytes = line.size("block size", 1)?;
        let offset_bytes = line.offset("offset", 1)?;
        if self.has_priority {
            line.word("priority")?;
        }
        let arrival_ns = if self.has_issue_time {
            line.time("issue time", TimeUnit::Ns)?
        } else {
            // The tick in which most of the time lies that the I/O can have been issued in: a tick long, as its completion's is.
            let tick_ns = self.unit.ns();
            let issued_ns =
                START_NS.saturating_add(time_ns).saturating_add(tick_ns / 2).saturating_sub(if self.has_latency { value } else { 0 });
            issued_ns - issued_ns % tick_ns
        };
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}
