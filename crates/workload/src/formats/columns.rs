//! Text of any program, a request a line, of which the user says what the columns are (`TraceOptions::columns`).
//!
//! What the user does not say is found in the first line, and the summary says so: the separator (the first of comma, semicolon, tab, |
//! and blanks with which it has as many fields as there are columns), whether it is a header (no number stands in the column of times; or it has one
//! field less than the line that follows, as R does not name the column of its rows' names), and the bytes of a sector (512). Times become 0 at the first request. Lines that begin with # are comments.
//!
//! The words for read and write are the usual ones in any case (r, rd, read; w, wr, write), with others for discards (d, discard, trim,
//! unmap), flushes (f, flush, sync, fsync) and write zeroes (z, wz, write_zeroes), and the kernel's letters (`rwbs`), which mean what they do in
//! its own texts; or operation codes of SCSI, if the user says so. 0 and 1 mean the contrary in other formats, so that only the user can say what they are.
//!
//! Fields may be in quotes, and then hold separators; numbers may be hexadecimal behind 0x. Both take a copy of the line, so only a line that has
//! such is read in this way (`with_care`).

use super::format::{Format, START_NS, Setup, no_header, no_other_word};
use super::missing_op::Operations;
use super::{rwbs, scsi};
use crate::columns::{Column, HELD, Separator, Unit, Words, has_quotes, unquote, with_separators};
use crate::error::{RecordError, TraceError};
use crate::gate::Gate;
use crate::input::Input;
use crate::line::{BLANKS, Line, NO_COMMA, PADDING};
use crate::options::TraceOptions;
use crate::parser::{LineFormat, LineParser, Parser, TraceRecord};
use crate::position::Position;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "columns",
    about: "any text, a request a line, of which --columns says what its columns are: time:s,op,sector,sectors,-",
    unit: TimeUnit::S,
    words: &[],
    is_word: no_other_word,
    endings: &[],
    is_header: no_header,
    traits: Traits { names: DeviceNames::Words, ..Traits::REBASED },
    parser: |setup| Box::new(ColumnsParser::new(setup)),
    writer: None,
};

/// The parser that finds out what the user has not said before it reads the first line.
struct ColumnsParser {
    unit: TimeUnit,
    options: TraceOptions,
    rows: Option<Box<dyn Parser>>,
}

impl ColumnsParser {
    fn new(setup: &Setup) -> Self {
        Self { unit: setup.unit, options: setup.options.clone(), rows: None }
    }

    fn rows(&self, input: &mut Input, gate: &mut Gate) -> Result<Box<dyn Parser>, TraceError> {
        let unusable = |what: String| TraceError::Unusable { path: input.path().to_owned(), what };
        let Some(columns) = &self.options.columns else {
            return Err(unusable("the format columns needs --columns NAME,... to say what they are".to_owned()));
        };
        if !columns.has_op() && self.options.missing_op.is_none() {
            return Err(unusable("--columns has no op; expected one, or --op read, --op write or --op mix:X".to_owned()));
        }
        let times = columns.columns.iter().filter_map(|column| match column {
            Column::Time(unit) | Column::Completion(unit) | Column::Latency(unit) => Some(unit),
            _ => None,
        });
        if self.options.time_unit.is_none() && times.into_iter().any(Option::is_none) {
            return Err(unusable(
                "--columns has a time without a unit; expected time:s, :ms, :us, :100ns or :ns, or --time-unit".to_owned(),
            ));
        }
        let is_data = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
        let mut lines = input.text_head().split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(is_data);
        let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let wanted = columns.columns.len();
        let count = |separator: Separator| separator.fields_of(first).len();
        // A header of R names one column less than there are.
        let is_short = |separator: Separator| count(separator) + 1 == wanted && separator.fields_of(second).len() == wanted;
        let fits = |is: &dyn Fn(Separator) -> bool| Separator::ALL.into_iter().find(|separator| is(*separator));
        let found = || fits(&|separator| count(separator) == wanted).or_else(|| fits(&is_short));
        let separator = self.options.separator.or_else(found).ok_or_else(|| {
            let counts = Separator::ALL.iter().map(|separator| (separator.name(), count(*separator)));
            let counts: Vec<String> =
                counts.filter(|(_, fields)| *fields > 1).map(|(name, fields)| format!("{fields} by {name}")).collect();
            let found = if counts.is_empty() { "one field".to_owned() } else { format!("fields: {}", counts.join(", ")) };
            unusable(format!("the first line has {found}; expected {wanted}, as --columns {} says (- passes over one)", columns.text))
        })?;
        if self.options.separator.is_none() {
            gate.assume(&format!("assumed that {} columns (--separator sets another separator)", called(separator)));
        }
        let is_short = is_short(separator);
        let place = columns.time_place().checked_sub(usize::from(is_short));
        let fields = separator.fields_of(first);
        let has_header = place.is_none_or(|place| fields.get(place).is_some_and(|field| !begins_a_number(field)));
        if has_header && is_short {
            gate.assume(
                "assumed that the first line names the columns but for the first, of names of rows, as it has one field less than the next",
            );
        } else if has_header {
            gate.assume("assumed that the first line names the columns, as it has no number as time");
        }
        if columns.is_of_completion() {
            gate.is_disordered();
        }
        let has_sectors = columns
            .columns
            .iter()
            .any(|column| matches!(column, Column::Offset(Unit::Sectors) | Column::Size(Unit::Sectors) | Column::End(Unit::Sectors)));
        if has_sectors && self.options.sector_bytes.is_none() {
            gate.assume("assumed that a sector has 512 bytes (--sector-bytes sets another size)");
        }
        let rows = Rows {
            columns: columns.columns.clone(),
            unit: self.unit,
            sector_bytes: self.options.sector_bytes,
            operations: Operations::new(self.options.missing_op),
            has_op: columns.has_op(),
            header_left: has_header,
            is_with_care: needs_care(if has_header { second } else { first }),
            text: Vec::new(),
        };
        Ok(match separator {
            Separator::Comma => Box::new(LineParser::<_, b','>::new(rows)),
            Separator::Semicolon => Box::new(LineParser::<_, b';'>::new(rows)),
            Separator::Tab => Box::new(LineParser::<_, b'\t'>::new(rows)),
            Separator::Pipe => Box::new(LineParser::<_, b'|'>::new(rows)),
            Separator::Blanks => Box::new(LineParser::<_, BLANKS>::new(rows)),
        })
    }
}

fn called(separator: Separator) -> &'static str {
    match separator {
        Separator::Comma => "commas separate the",
        Separator::Semicolon => "semicolons separate the",
        Separator::Tab => "tabs separate the",
        Separator::Pipe => "| separates the",
        Separator::Blanks => "blanks separate the",
    }
}

/// Whether a field is or should be a number, and no name of a column.
fn begins_a_number(field: &[u8]) -> bool {
    field.first().is_some_and(|byte| byte.is_ascii_digit() || b"-+.".contains(byte))
}

/// Whether a line has quotes, or may have a number in hexadecimal.
fn needs_care(line: &[u8]) -> bool {
    has_quotes(line) || line.windows(2).any(|pair| pair.eq_ignore_ascii_case(b"0x"))
}

impl Parser for ColumnsParser {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        if self.rows.is_none() {
            self.rows = Some(self.rows(input, gate)?);
        }
        match &mut self.rows {
            Some(rows) => rows.parse(input, gate, wanted),
            None => Ok(false),
        }
    }
}

const COLUMNS: &str = "the columns that --columns names";

struct Rows {
    columns: Vec<Column>,
    unit: TimeUnit,
    sector_bytes: Option<u64>,
    operations: Operations,
    has_op: bool,
    /// Whether the line of names is still to come.
    header_left: bool,
    /// Whether lines have quotes or hexadecimal numbers, as the first one does.
    is_with_care: bool,
    /// Such a line without its quotes; kept for its memory.
    text: Vec<u8>,
}

impl<const SEPARATOR: u8> LineFormat<SEPARATOR> for Rows {
    const COLUMNS: &'static str = COLUMNS;
    const HAS_EMPTY_LINES: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, SEPARATOR>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if line.is_at_end() {
            return Ok(TraceRecord::Nothing);
        }
        if line.rest()[0] == b'#' {
            return Ok(TraceRecord::Ignored("comments"));
        }
        if self.header_left {
            self.header_left = false;
            return Ok(TraceRecord::Nothing);
        }
        if self.is_with_care {
            return self.with_care(line, gate);
        }
        let at_start = *line;
        let found = self.row(line, gate).or_else(|fault| match needs_care(line.whole_line()) {
            true => {
                *line = at_start;
                self.with_care(line, gate)
            }
            false => Err(fault),
        });
        found.map_err(with_remedy)
    }
}

impl Rows {
    /// A line with quotes around fields, or hexadecimal numbers.
    fn with_care<const SEPARATOR: u8>(&mut self, line: &mut Line<'_, SEPARATOR>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        unquote(line.with_blanks(), SEPARATOR, &mut text);
        text.push(b'\n');
        text.extend([0; PADDING]);
        let mut plain = Line::<SEPARATOR, true>::with_hexadecimal(&text, 0, COLUMNS);
        let found = self.row(&mut plain, gate);
        line.end_as(&plain);
        self.text = text;
        found.map_err(|mut fault| {
            if let RecordError::Malformed { what, .. } = &mut *fault {
                *what = what.replace(&HELD.escape_ascii().to_string(), &char::from(SEPARATOR).to_string());
            }
            fault
        })
    }

    /// A line; `WITH_CARE` says whether its text is one without quotes, in which numbers may be hexadecimal.
    #[inline(always)]
    fn row<'a, const SEPARATOR: u8, const WITH_CARE: bool>(
        &mut self,
        line: &mut Line<'a, SEPARATOR, WITH_CARE>,
        gate: &mut Gate,
    ) -> Result<TraceRecord, Box<RecordError>> {
        let (unit, sector_bytes) = (self.unit, self.sector_bytes);
        let field = |line: &mut Line<'a, SEPARATOR, WITH_CARE>, name| {
            let field = line.field(name)?;
            // Quotes may hold separators.
            if !WITH_CARE && field.starts_with(b"\"") { Err(line.unexpected("no quotes")) } else { Ok(field) }
        };
        let mut request = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 0, op: HostOp::Read, stream: 0, source: 0 };
        let (mut latency_ns, mut end_bytes, mut device) = (0, None, &b"0"[..]);
        let (mut letters, mut command) = (None, None);
        for column in &self.columns {
            match column {
                Column::Time(own) => request.arrival_ns = line.time("the time", own.unwrap_or(unit))?,
                Column::Completion(own) => {
                    request.arrival_ns = START_NS.saturating_add(line.time("the completion", own.unwrap_or(unit))?);
                }
                Column::Latency(own) => latency_ns = line.time("the latency", own.unwrap_or(unit))?,
                Column::Op(Words::Scsi) => command = Some(line.hexadecimal("op", "")?),
                Column::Op(words) => {
                    let word = field(line, "op")?;
                    match operation(word, words) {
                        Some(op) => request.op = op,
                        None if *words == Words::Usual && rwbs::may_be(word) => letters = Some(word),
                        None => return Err(unknown_op(*line, words)),
                    }
                }
                Column::Offset(unit) => request.offset_bytes = line.offset("the address", unit.bytes(sector_bytes))?,
                Column::Size(unit) => request.size_bytes = line.size("the size", unit.bytes(sector_bytes))?,
                Column::End(unit) => end_bytes = Some(line.size("the end", unit.bytes(sector_bytes))?),
                Column::Device => device = field(line, "device")?,
                Column::Skipped => {
                    field(line, "a column")?;
                }
            }
        }
        // Whatever follows is a fault before anything is counted.
        line.finish()?;
        if let Some(end_bytes) = end_bytes {
            let Some(size_bytes) = end_bytes.checked_sub(request.offset_bytes) else {
                return Err(line.size_fault(
                    format!("an end at {end_bytes} bytes"),
                    "one behind the address, of the first byte that is not part of the request",
                ));
            };
            request.size_bytes = size_bytes;
        }
        if !self.has_op {
            request.op = self.operations.draw()?;
        }
        if let Some(letters) = letters {
            match of_letters(request, letters) {
                TraceRecord::Request(found) => request = found,
                other => return Ok(other),
            }
            gate.drop_parts(rwbs::dropped(request.op, letters));
        }
        if let Some(command) = command {
            match scsi::op(command).map_or_else(|| scsi::other(command), |op| scsi::record(HostRequest { op, ..request })) {
                TraceRecord::Request(found) => request = found,
                other => return Ok(other),
            }
        }
        if request.op == HostOp::Flush {
            (request.offset_bytes, request.size_bytes) = (0, 0);
        }
        request.arrival_ns = request.arrival_ns.saturating_sub(latency_ns);
        request.source = if WITH_CARE { gate.number_of(&with_separators(device, SEPARATOR)) } else { gate.number_of(device) };
        Ok(TraceRecord::Request(request))
    }
}

/// A fault, with what makes decimal points of commas.
fn with_remedy(mut fault: Box<RecordError>) -> Box<RecordError> {
    if let RecordError::Malformed { expected, .. } = &mut *fault
        && expected == NO_COMMA
    {
        expected.push_str(" (tr , . makes points of all commas)");
    }
    fault
}

/// What a word asks for that is none of the kernel's letters, or that means the same as these.
#[inline(always)]
fn operation(word: &[u8], words: &Words) -> Option<HostOp> {
    if let Words::Given(read, write) = words {
        let is = |known: &String| word.eq_ignore_ascii_case(known.as_bytes());
        return if is(read) { Some(HostOp::Read) } else { is(write).then_some(HostOp::Write) };
    }
    match word {
        b"R" | b"r" => Some(HostOp::Read),
        b"W" | b"w" => Some(HostOp::Write),
        _ => usual_word(word),
    }
}

/// What a request is with letters of the kernel.
fn of_letters(request: HostRequest, letters: &[u8]) -> TraceRecord {
    let Some(op) = rwbs::operation(letters) else {
        return TraceRecord::Unsupported(rwbs::unsupported(letters));
    };
    rwbs::request_or_flush(HostRequest { op, ..request }, letters)
        .map_or(TraceRecord::Unsupported("rows without bytes"), TraceRecord::Request)
}

fn usual_word(word: &[u8]) -> Option<HostOp> {
    const WORDS: [(HostOp, &[&str]); 5] = [
        (HostOp::Read, &["read", "rd"]),
        (HostOp::Write, &["write", "wr"]),
        (HostOp::Trim, &["d", "discard", "trim", "unmap"]),
        (HostOp::Flush, &["f", "flush", "sync", "fsync"]),
        (HostOp::WriteZeroes, &["z", "wz", "write_zeroes"]),
    ];
    let known = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    WORDS.iter().find(|(_, words)| known(words)).map(|(op, _)| *op)
}

#[cold]
fn unknown_op<const SEPARATOR: u8, const WITH_CARE: bool>(line: Line<'_, SEPARATOR, WITH_CARE>, words: &Words) -> Box<RecordError> {
    match words {
        Words::Given(read, write) => line.unexpected(&format!("{read} (read) or {write} (write), as --columns says")),
        _ => line.unexpected("a word as R, W, read or write (--columns op:1/0 says that 1 is a read and 0 a write)"),
    }
}
