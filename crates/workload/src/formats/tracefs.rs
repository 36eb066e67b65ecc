//! Text of the kernel's tracepoints for block requests, as `trace` and `trace_pipe` in /sys/kernel/tracing, `trace-cmd report` and
//! `perf script` give it: `process-pid [cpu] flags seconds: block_rq_issue: maj,min rwbs bytes (command) sector + sectors priority [process]`.
//!
//! Requests are the events of one action (include/trace/events/block.h; the priority, which old kernels lack, is not read):
//! `block_rq_issue` unless `TraceOptions::action` asks for `block_bio_queue` (`maj,min rwbs sector + sectors`) or `block_rq_complete`
//! (`maj,min rwbs (command) sector + sectors`). Times count from the start of the machine. For the letters, see `rwbs`; for what else
//! such a line may hold, `kernel_text`.

use super::format::{Format, first_line, no_other_word};
use super::kernel_text::{EventFinder, REQUEUES, count_other, system_of};
use super::rwbs;
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::options::BlockAction;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::position::Position;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "tracefs",
    about: "text of /sys/kernel/tracing, trace-cmd report or perf script: block_rq_issue: maj,min rwbs bytes (command) sector + sectors: seconds; the events of one action",
    unit: TimeUnit::S,
    words: &["tracefs"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| match system_of(head) {
        Some(system) => system == "block",
        None => first_line(head).starts_with(b"# tracer:"),
    },
    traits: Traits { names: DeviceNames::MajorMinor, ..Traits::DISORDERED },
    parser: |setup| Box::new(LineParser::new(Tracefs::new(setup.unit, setup.options.action))),
    writer: None,
};

struct Tracefs {
    unit: TimeUnit,
    action: BlockAction,
    event: EventFinder,
    requeue: EventFinder,
}

/// What stands before the sector of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Command,
    BytesAndCommand,
}

impl Tracefs {
    fn new(unit: TimeUnit, action: BlockAction) -> Self {
        let name: &[u8] = match action {
            BlockAction::Queued => b"block_bio_queue: ",
            BlockAction::Issued => b"block_rq_issue: ",
            BlockAction::Completed => b"block_rq_complete: ",
        };
        let finder = |name| EventFinder::new("block", name);
        Self { unit, action, event: finder(name), requeue: finder(b"block_rq_requeue: ") }
    }

    /// A line without an event of the action that is read. A request that the device gave back is issued once more.
    #[cold]
    fn other(&self, text: &[u8], line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let requeue = self.requeue.find(text).filter(|_| self.action == BlockAction::Issued);
        if let Some(event) = requeue {
            let arrival_ns = event_time(line, event.time, self.unit)?;
            line.advance(event.fields - (text.len() - line.rest().len()));
            if let (Some(request), letters) = fields(line, Before::Command)? {
                return Ok(rwbs::requeued(HostRequest { arrival_ns, ..request }, letters, REQUEUES));
            }
        }
        Ok(count_other(text, gate))
    }
}

impl LineFormat<BLANKS> for Tracefs {
    const COLUMNS: &'static str = "seconds: block_rq_issue: maj,min rwbs bytes (command) sector + sectors";
    const HAS_EMPTY_LINES: bool = true;
    const LAST_BYTE: Option<u8> = Some(b']');

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let text = line.rest();
        let Some(event) = self.event.find(text) else {
            return self.other(text, line, gate);
        };
        let arrival_ns = event_time(line, event.time, self.unit)?;
        line.advance(event.fields - (text.len() - line.rest().len()));
        let before = match self.action {
            BlockAction::Queued => Before::Nothing,
            BlockAction::Issued => Before::BytesAndCommand,
            BlockAction::Completed => Before::Command,
        };
        let (request, letters) = fields(line, before)?;
        let Some(request) = request else {
            return Ok(TraceRecord::Unsupported(rwbs::unsupported(letters)));
        };
        let Some(request) = rwbs::request_or_flush(HostRequest { arrival_ns, ..request }, letters) else {
            return Ok(without_sectors(&text[event.fields..], before));
        };
        gate.drop_parts(rwbs::dropped(request.op, letters));
        Ok(TraceRecord::Request(request))
    }
}

/// What an event without sectors is: a command that is shown between brackets, as old kernels do, or that has bytes, passes data.
#[cold]
fn without_sectors(fields: &[u8], before: Before) -> TraceRecord {
    let mut words = fields.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(2);
    let has_bytes = before == Before::BytesAndCommand && words.next().is_some_and(|bytes| bytes != b"0");
    match has_bytes || words.next().is_some_and(|command| command.starts_with(b"(") && command != b"()") {
        true => TraceRecord::Unsupported(rwbs::PASSED_THROUGH),
        false => TraceRecord::Ignored("block requests without sectors"),
    }
}

/// The fields of an event: the request, if a simulated device serves such ones, and its letters.
#[inline(always)]
fn fields<'a>(line: &mut Line<'a, BLANKS>, before: Before) -> Result<(Option<HostRequest>, &'a [u8]), Box<RecordError>> {
    let source = line.major_comma_minor("maj,min")?;
    let letters = line.word("rwbs")?;
    if before == Before::BytesAndCommand {
        line.whole("bytes")?;
    }
    let Some(op) = rwbs::operation(letters) else {
        return Ok((None, letters));
    };
    let mut request = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 0, op, stream: 0, source };
    if op == HostOp::Flush {
        line.advance(line.rest().len());
        return Ok((Some(request), letters));
    }
    if before != Before::Nothing {
        let Some(command_end) = memchr::memchr(b')', line.rest()) else {
            return Err(line.line_fault("an event without (command)".to_owned(), Tracefs::COLUMNS));
        };
        line.advance(command_end + 1);
    }
    request.offset_bytes = line.offset("sector", SECTOR_BYTES)?;
    if line.word("+")? != b"+" {
        return Err(line.unexpected("+"));
    }
    request.size_bytes = line.size("sectors", SECTOR_BYTES)?;
    line.skip_more_fields();
    Ok((Some(request), letters))
}

/// The time of an event, which is at the place of the line that the event's finder says.
#[inline(always)]
pub(super) fn event_time(line: &mut Line<'_, BLANKS>, place: Option<usize>, unit: TimeUnit) -> Result<u64, Box<RecordError>> {
    let Some(place) = place else {
        return Err(line.line_fault("an event without a time before its name".to_owned(), "seconds: EVENT: fields"));
    };
    line.advance(place);
    let text = line.rest();
    let time_ns = line.time("the time", unit)?;
    let time = &text[..text.len() - line.rest().len()];
    let is_counter = unit == TimeUnit::S && !time.contains(&b'.');
    if is_counter || !line.rest().starts_with(b":") {
        return Err(line.unexpected("seconds with a fraction, as of trace_clock local, global, mono, mono_raw or boot"));
    }
    Ok(time_ns)
}
