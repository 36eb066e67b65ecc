//! From the bytes of a file to records: what a format must provide, and the two ways in which formats lie in a file (lines of
//! text, records of one size).

use crate::error::{RecordError, TraceError};
use crate::gate::{Gate, Requeue};
use crate::input::{Input, Overlong, without_mark};
use crate::line::Line;
use crate::position::{Position, RecordPlace};
use crate::table::{Table, names_columns};
use flashraid_vocabulary::HostRequest;

/// What a line or record of a trace is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TraceRecord {
    /// A request, with its time as recorded, in nanoseconds.
    Request(HostRequest),
    /// Something recorded that is no request; counted by what it is.
    Ignored(&'static str),
    /// A request of a kind that no simulated device serves; counted by what it is, and warned of.
    Unsupported(&'static str),
    /// The device gave a request back, which will be issued again; in a box, as it is rare and records are many.
    Requeued(Box<Requeue>),
    /// The header of a recording, which may be found only among lines: a further one begins another recording, joined to what was before.
    Header,
    /// A heading, a comment, a summary: nothing that was recorded.
    Nothing,
}

impl TraceRecord {
    /// Counts a record of a binary format, or takes its request in.
    #[inline(always)]
    pub fn enter(self, gate: &mut Gate) -> Result<(), Box<RecordError>> {
        match self {
            Self::Request(request) => return gate.admit(&request, RecordPlace),
            Self::Ignored(what) => gate.ignore(what, 1),
            Self::Unsupported(what) => gate.leave_out(what, 1),
            Self::Requeued(requeue) => return gate.requeue(&requeue),
            Self::Header | Self::Nothing => {}
        }
        Ok(())
    }
}

/// A format at work: turns a file into requests, some a call, so that nothing is dispatched per record.
pub(crate) trait Parser: Send {
    /// Hands about `wanted` requests to the gate, or what is left. Returns whether there may be more.
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError>;

    /// The SHA-256 of the file in hexadecimal, and of others that were read beside it.
    fn sha256(&mut self, input: Input) -> Result<String, TraceError> {
        input.sha256()
    }
}

/// A format of one record a line. `SEPARATOR` stands between the fields.
pub(crate) trait LineFormat<const SEPARATOR: u8>: Send {
    /// The columns, as a message names them.
    const COLUMNS: &'static str;
    /// The table that the lines are, if a message is to say how one that is written in another way can be read.
    const TABLE: Option<&'static Table> = None;
    /// Whether the first line must be a header, which `header` takes.
    const HAS_HEADER: bool = false;
    /// Whether lines may be empty anywhere, not only at the end.
    const HAS_EMPTY_LINES: bool = false;
    /// What the tool that writes the format ends the line of a request with: the last line of a file, if it has no newline, is cut off
    /// if the line before it ends with this byte and it does not.
    const LAST_BYTE: Option<u8> = None;

    /// Takes the first line: the columns' names, unless a format has them in other orders.
    fn header(&mut self, line: &[u8]) -> Result<(), Box<RecordError>> {
        if names_columns(line, Self::COLUMNS, SEPARATOR) { Ok(()) } else { Err(no_header_line(Self::COLUMNS)) }
    }

    /// The first line comes again: another file of the same recorder begins, joined to what was before.
    fn begin_again(&mut self) {}

    /// What one line is: its fields in order. What can be wrong with the requests of any format (order of times, range of
    /// addresses, device) is checked by the caller. Of a line that is no request, the rest need not be read.
    fn record(&mut self, line: &mut Line<'_, SEPARATOR>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>>;
}

/// The fault that the first line is no header of the format.
pub(crate) fn no_header_line(columns: &str) -> Box<RecordError> {
    RecordError::malformed(1, "no header line".to_owned(), columns)
}

/// Longest first line that is remembered, to know it if it comes again.
const LONGEST_FIRST_LINE: usize = 4096;

/// Line by line through a `LineFormat`.
pub(crate) struct LineParser<F, const SEPARATOR: u8> {
    format: F,
    is_started: bool,
    /// Whether the header has been met.
    has_header: bool,
    /// The first line, without blanks around it.
    first_line: Vec<u8>,
    /// Whether the line of the first request ends with the byte that tells a line without a newline from one that is cut off.
    has_last_byte: bool,
    /// The first of the empty lines before the cursor, if there are any: only the end of the file may follow them.
    empty_line: Option<u64>,
}

impl<F: LineFormat<SEPARATOR>, const SEPARATOR: u8> LineParser<F, SEPARATOR> {
    /// A parser that stands before the first line.
    pub fn new(format: F) -> Self {
        Self { format, is_started: false, has_header: false, first_line: Vec::new(), has_last_byte: false, empty_line: None }
    }

    /// Looks at the first line. Where it must be the header it is an error if it is not, whatever `on_error` says: without it this is
    /// another format.
    fn check_header(&mut self, input: &mut Input) -> Result<(), TraceError> {
        self.is_started = true;
        input.skip_mark();
        let has_line = matches!(input.has_line()?, Ok(true));
        let line = if has_line { input.line() } else { &[] };
        self.first_line = line[..line.len().min(LONGEST_FIRST_LINE)].to_vec();
        let is_header = if F::HAS_HEADER {
            let found = if has_line { self.format.header(line) } else { Err(no_header_line(F::COLUMNS)) };
            found.map_err(|fault| fault.at_line(input.path(), input.line_number()))?;
            true
        } else {
            names_columns(line, F::COLUMNS, SEPARATOR)
        };
        if is_header {
            self.has_header = true;
            input.skip_line();
        }
        Ok(())
    }

    /// A line that cannot be read: the first line once more, the last one, which is cut off, or one that is refused.
    #[cold]
    fn fault(&mut self, mut fault: RecordError, input: &mut Input, gate: &mut Gate) -> Result<(), TraceError> {
        let is_malformed = matches!(fault, RecordError::Malformed { .. }); // and no request that belongs before what has been delivered
        let is_first = input.line_number() == 1;
        if let RecordError::Malformed { column, expected, .. } = &mut fault
            && gate.admitted() == 0
            && let Some(rows) = F::TABLE.and_then(|table| table.expected_rows(&self.first_line, input.line(), *column))
        {
            *expected = rows;
        }
        let error = fault.at_line(input.path(), input.line_number());
        if is_first {
            // What is no heading is none later either.
            self.first_line.clear();
        }
        if !is_first && is_malformed && !self.first_line.is_empty() && without_mark(input.line()) == self.first_line {
            self.format.begin_again();
            gate.begin_again(input.line_number());
        } else if input.is_cut() {
            gate.cut_off(error)?;
        } else {
            gate.refuse(error)?;
        }
        input.skip_line();
        Ok(())
    }

    /// Whether the last line, which has no newline, lacks its end, as the first request's line or the one before it shows.
    #[cold]
    fn check_end(&self, line: Line<'_, SEPARATOR>) -> Result<(), Box<RecordError>> {
        let has_end = self.has_last_byte || Self::ends(line.line_before());
        if has_end && !Self::ends(line.whole_line()) { Err(Self::ends_early(line)) } else { Ok(()) }
    }

    /// Whether a line ends as those of requests do.
    fn ends(line: &[u8]) -> bool {
        F::LAST_BYTE.is_some() && line.last().copied() == F::LAST_BYTE
    }

    /// The same where a request was read: without a last byte that tells, a number at its end may lack digits, and a word letters.
    #[cold]
    fn check_last(&self, line: Line<'_, SEPARATOR>, gate: &mut Gate) -> Result<(), Box<RecordError>> {
        if F::LAST_BYTE.is_some() {
            return self.check_end(line);
        }
        match line.whole_line().last() {
            Some(last) if last.is_ascii_digit() => {
                gate.assume("the last line has no newline, and the number at its end is taken for whole")
            }
            Some(last) if last.is_ascii_alphabetic() => {
                gate.assume("the last line has no newline, and the word at its end is taken for whole")
            }
            _ => {}
        }
        Ok(())
    }

    #[cold]
    fn ends_early(line: Line<'_, SEPARATOR>) -> Box<RecordError> {
        line.line_fault("the line ends early".to_owned(), F::COLUMNS)
    }

    /// Parses the line at `start` and hands its request to the gate; returns where the next line begins.
    #[inline(always)]
    fn line(&mut self, text: &[u8], start: usize, at: LineAt, gate: &mut Gate) -> Result<usize, Box<RecordError>> {
        let mut line = Line::<SEPARATOR>::new(text, start, F::COLUMNS);
        if line.is_at_end() && !F::HAS_EMPTY_LINES {
            let next = line.finish()?;
            self.empty_line.get_or_insert(at.number);
            return Ok(next);
        }
        match self.format.record(&mut line, gate)? {
            TraceRecord::Request(request) => {
                let next = line.finish()?;
                if at.is_cut {
                    self.check_last(line, gate)?;
                }
                gate.admit(&request, line)?;
                Ok(next)
            }
            TraceRecord::Ignored(what) => {
                if F::LAST_BYTE.is_some() && at.is_cut {
                    self.check_end(line)?;
                }
                gate.ignore(what, 1);
                Ok(line.skip())
            }
            TraceRecord::Requeued(requeue) => {
                if at.is_cut {
                    self.check_end(line)?;
                }
                gate.requeue(&requeue)?;
                Ok(line.skip())
            }
            TraceRecord::Unsupported(_) if at.is_cut => Err(Self::ends_early(line)),
            TraceRecord::Unsupported(what) => {
                gate.leave_out(what, 1);
                Ok(line.skip())
            }
            TraceRecord::Header => {
                if std::mem::replace(&mut self.has_header, true) {
                    gate.begin_again(at.number);
                }
                Ok(line.skip())
            }
            TraceRecord::Nothing => Ok(line.skip()),
        }
    }
}

/// Where a line is.
#[derive(Clone, Copy)]
struct LineAt {
    number: u64,
    /// Whether it is the last of the file, and has no newline.
    is_cut: bool,
}

impl<F: LineFormat<SEPARATOR>, const SEPARATOR: u8> Parser for LineParser<F, SEPARATOR> {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        // The first request by itself, to see how its line ends: the last line may be read when no other is in memory any more.
        let is_first = !self.is_started;
        if is_first {
            self.check_header(input)?;
        }
        let end = gate.admitted() + if is_first { 1 } else { wanted as u64 };
        while gate.admitted() < end {
            match input.has_line()? {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(Overlong(fault)) => {
                    gate.refuse(fault.at_line(input.path(), input.line_number()))?;
                    input.skip_overlong_line()?;
                    continue;
                }
            }
            let (text, start) = input.text();
            if self.empty_line.is_some() && !Line::<SEPARATOR>::new(text, start, F::COLUMNS).is_at_end() {
                let fault = RecordError::malformed(1, "an empty line inside the trace".to_owned(), F::COLUMNS);
                gate.refuse(fault.at_line(input.path(), self.empty_line.take().unwrap_or_default()))?;
            }
            match self.line(text, start, LineAt { number: input.line_number(), is_cut: input.is_cut() }, gate) {
                Ok(next) => input.advance(next),
                Err(fault) => self.fault(*fault, input, gate)?,
            }
        }
        if is_first {
            let (text, start) = input.text();
            self.has_last_byte = Self::ends(Line::<SEPARATOR>::new(text, start, F::COLUMNS).line_before());
        }
        Ok(true)
    }
}

/// A format of records of one size.
pub(crate) trait RecordFormat: Send {
    /// Reads what comes before the first record, and returns the bytes of a record.
    fn begin(&mut self, input: &mut Input) -> Result<usize, TraceError>;
    /// What a record is.
    fn record(&mut self, bytes: &[u8], gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>>;
}

/// Record by record through a `RecordFormat`.
pub(crate) struct RecordParser<F> {
    format: F,
    /// Bytes of a record; 0 before the first one.
    size: usize,
    /// Records passed.
    number: u64,
}

impl<F: RecordFormat> RecordParser<F> {
    /// A parser that stands at the start of the file.
    pub fn new(format: F) -> Self {
        Self { format, size: 0, number: 0 }
    }
}

impl<F: RecordFormat> Parser for RecordParser<F> {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        if self.size == 0 {
            self.size = self.format.begin(input)?;
        }
        let end = gate.admitted() + wanted as u64;
        while gate.admitted() < end {
            let bytes = input.bytes(self.size)?;
            if bytes.is_empty() {
                return Ok(false);
            }
            self.number += 1;
            let length = bytes.len();
            let found = if length < self.size {
                Err(RecordPlace.line_fault(format!("the file ends inside a record ({length} of {} bytes)", self.size), "whole records"))
            } else {
                self.format.record(bytes, gate).and_then(|record| record.enter(gate))
            };
            match found.map_err(|fault| fault.at_record(input.path(), self.number)) {
                Err(error) if length < self.size => gate.cut_off(error)?,
                Err(error) => gate.refuse(error)?,
                Ok(()) => {}
            }
            input.advance_bytes(length);
        }
        Ok(true)
    }
}
