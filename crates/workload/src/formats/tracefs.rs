//! Text of the kernel's tracepoints for block requests, as `trace` and `trace_pipe` in /sys/kernel/tracing give it:
//! `process-pid [cpu] flags seconds: block_rq_issue: maj,min rwbs bytes (command) sector + sectors priority [process]`.
//!
//! Requests are the `block_rq_issue` events (include/trace/events/block.h; the priority, which old kernels lack, is not read).
//! Times count from the start of the machine. For the letters, see `rwbs`. A process name may hold blanks and brackets, so
//! lines are read from the event's name on, which is longer than a process name can be.

use super::{Format, first_line, lost, no_other_word, rwbs};
use crate::error::RecordError;
use crate::gate::{DeviceNames, Gate, Position, Traits};
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use memchr::memmem::Finder;

const EVENT: &[u8] = b": block_rq_issue: ";

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "tracefs",
    about: "text of /sys/kernel/tracing: block_rq_issue: maj,min rwbs bytes (command) sector + sectors: seconds",
    unit: TimeUnit::S,
    words: &["tracefs"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| first_line(head).starts_with(b"# tracer:"),
    traits: Traits { names: DeviceNames::MajorMinor, ..Traits::REBASED },
    parser: |setup| Box::new(LineParser::new(Tracefs { unit: setup.unit, event: Finder::new(EVENT) })),
    writer: None,
};

struct Tracefs {
    unit: TimeUnit,
    event: Finder<'static>,
}

impl LineFormat<BLANKS> for Tracefs {
    const COLUMNS: &'static str = "seconds: block_rq_issue: maj,min rwbs bytes (command) sector + sectors";
    const HAS_EMPTY_LINES: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let text = line.rest();
        let Some(event) = self.event.find(text) else {
            return Ok(count_other(text.trim_ascii_end(), gate));
        };
        let time_at = memchr::memrchr(b' ', &text[..event]).map_or(0, |blank| blank + 1);
        line.advance(time_at);
        let arrival_ns = line.time("the time", self.unit)?;
        let is_counter = self.unit == TimeUnit::S && !text[time_at..event].contains(&b'.');
        if is_counter || !line.rest().starts_with(EVENT) {
            return Err(line.unexpected("seconds with a fraction, as of trace_clock local, global, mono, mono_raw or boot"));
        }
        line.advance(EVENT.len());
        let source = line.major_comma_minor("maj,min")?;
        let letters = line.word("rwbs")?;
        line.whole("bytes")?;
        let Some(op) = rwbs::operation(letters) else {
            return Ok(TraceRecord::Unsupported(rwbs::unsupported(letters)));
        };
        let (mut offset_bytes, mut size_bytes) = (0, 0);
        if op == HostOp::Flush {
            line.advance(line.rest().len());
        } else {
            let Some(command_end) = memchr::memchr(b')', line.rest()) else {
                return Err(line.line_fault("an event without (command)".to_owned(), Self::COLUMNS));
            };
            line.advance(command_end + 1);
            offset_bytes = line.offset("sector", SECTOR_BYTES)?;
            if line.word("+")? != b"+" {
                return Err(line.unexpected("+"));
            }
            size_bytes = line.size("sectors", SECTOR_BYTES)?;
            line.skip_more_fields();
        }
        let request = HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source };
        Ok(rwbs::request_or_flush(request, letters)
            .map_or(TraceRecord::Ignored("block_rq_issue events without sectors"), TraceRecord::Request))
    }
}

/// Counts a line that is no event of a request.
#[cold]
fn count_other(text: &[u8], gate: &mut Gate) -> TraceRecord {
    if lost::count(text, gate) {
        TraceRecord::Nothing
    } else if text.starts_with(b"#") || text.is_empty() {
        TraceRecord::Nothing
    } else {
        TraceRecord::Ignored("tracefs lines other than block_rq_issue events")
    }
}
