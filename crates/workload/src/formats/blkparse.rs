//! What blkparse prints of a trace of blktrace: `maj,min cpu sequence seconds pid action rwbs sector + sectors [process]`.
//!
//! A request gives several events; those of one action are read: `D` (issued to the device) unless `TraceOptions::action` says
//! otherwise. Events of different processors may be out of order. The summary at the end is passed over; so are messages, plugs
//! and other events without sectors. For the letters, see `rwbs`.
//!
//! Written are `D` events of processor 0 with times in nanoseconds. A flush is `FN`, as blkparse prints it; write zeroes are `N`,
//! the kernel's letter.

use super::actions;
use super::format::{Format, NotExpressible, Writer, no_header, no_other_word};
use super::{lost, rwbs};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::options::BlockAction;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::{DeviceNames, MINOR_BITS, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::io::Write;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "blkparse",
    about: "blkparse text: maj,min cpu sequence seconds pid action rwbs sector + sectors [process]; the events of one action",
    unit: TimeUnit::S,
    // "ssdtrace" and "ycsb": SNIA's traces of YCSB on RocksDB.
    words: &["blktrace", "ssdtrace", "ycsb"],
    is_word: no_other_word,
    endings: &["blkparse"],
    is_header: no_header,
    traits: Traits { names: DeviceNames::MajorMinor, is_disordered: true, ..Traits::PLAIN },
    parser: |setup| Box::new(LineParser::new(Blkparse { unit: setup.unit, action: setup.options.action })),
    writer: Some(|| Box::new(BlkparseWriter { sequence: 0 })),
};

const SUMMARY: &str = "lines of blkparse's summary";
const WITHOUT_SECTORS: &str = "blkparse events without sectors";

struct Blkparse {
    unit: TimeUnit,
    action: BlockAction,
}

impl LineFormat<BLANKS> for Blkparse {
    const COLUMNS: &'static str = "maj,min cpu sequence seconds pid action rwbs sector + sectors [process]";
    const HAS_EMPTY_LINES: bool = true;
    const LAST_BYTE: Option<u8> = Some(b']');

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if line.is_at_end() {
            return Ok(TraceRecord::Nothing);
        }
        if !line.rest()[0].is_ascii_digit() {
            return Ok(if lost::count(line.rest(), gate) { TraceRecord::Nothing } else { TraceRecord::Ignored(SUMMARY) });
        }
        let source = line.major_comma_minor("maj,min")?;
        line.word("cpu")?;
        line.word("sequence")?;
        let arrival_ns = line.time("seconds", self.unit)?;
        line.word("pid")?;
        let action = line.word("action")?;
        if action != [self.action.letter()] {
            return self.other(action, source, arrival_ns, line, gate);
        }
        let letters = line.word("rwbs")?;
        let Some(op) = rwbs::operation(letters) else {
            return Ok(TraceRecord::Unsupported(rwbs::unsupported(letters)));
        };
        let (offset_bytes, size_bytes) = extent(op, line)?;
        line.skip_more_fields();
        let request = HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source };
        let Some(request) = rwbs::request_or_flush(request, letters) else {
            return Ok(without_sectors(line.whole_line()));
        };
        gate.drop_parts(rwbs::dropped(request.op, letters));
        Ok(TraceRecord::Request(request))
    }
}

/// Sector and sectors of an event, in bytes. Without sectors, the name of the process follows at once or behind the sector.
#[inline(always)]
fn extent(op: HostOp, line: &mut Line<'_, BLANKS>) -> Result<(u64, u64), Box<RecordError>> {
    let (mut offset_bytes, mut size_bytes) = (0, 0);
    if op != HostOp::Flush && line.rest().trim_ascii_start().first().is_some_and(u8::is_ascii_digit) {
        offset_bytes = line.offset("sector", SECTOR_BYTES)?;
        if !line.rest().trim_ascii_start().is_empty() && line.word("+")? == b"+" {
            size_bytes = line.size("sectors", SECTOR_BYTES)?;
        }
    }
    Ok((offset_bytes, size_bytes))
}

/// What an event without sectors is. The kernel's commands to the device stand in brackets behind their bytes: `R 4096 (2a 00 00 00) [fio]`.
#[cold]
fn without_sectors(text: &[u8]) -> TraceRecord {
    match memchr::memmem::find(text, b" (").is_some_and(|at| text[at..].contains(&b')')) {
        true => TraceRecord::Unsupported(rwbs::PASSED_THROUGH),
        false => TraceRecord::Ignored(WITHOUT_SECTORS),
    }
}

impl Blkparse {
    /// An event of another action. A request that the device gave back is issued once more, unless another event than that is read.
    fn other(
        &self,
        action: &[u8],
        source: u32,
        arrival_ns: u64,
        line: &mut Line<'_, BLANKS>,
        gate: &mut Gate,
    ) -> Result<TraceRecord, Box<RecordError>> {
        match action {
            b"R" if self.action == BlockAction::Issued => {
                let letters = line.word("rwbs")?;
                if let Some(op) = rwbs::operation(letters) {
                    let (offset_bytes, size_bytes) = extent(op, line)?;
                    let request = HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source };
                    return Ok(rwbs::requeued(request, letters, actions::name(action)));
                }
            }
            b"A" => {
                if let Some(upper) = mapped_from(line.rest()) {
                    gate.map(source, upper);
                }
            }
            _ => {}
        }
        Ok(TraceRecord::Ignored(actions::name(action)))
    }
}

/// The device from which an event of action `A` maps a request: `W 8 + 8 <- (253,0) 8`.
#[cold]
fn mapped_from(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let (major, minor) = text.split_once("<- (")?.1.split_once(')')?.0.split_once(',')?;
    let (major, minor): (u32, u32) = (major.trim().parse().ok()?, minor.trim().parse().ok()?);
    (major >> (u32::BITS - MINOR_BITS) == 0 && minor >> MINOR_BITS == 0).then_some(major << MINOR_BITS | minor)
}

struct BlkparseWriter {
    /// Events written.
    sequence: u64,
}

impl Writer for BlkparseWriter {
    fn keeps_devices(&self) -> bool {
        true
    }

    fn request(&mut self, request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible> {
        let HostRequest { arrival_ns, offset_bytes, size_bytes, op, source, .. } = *request;
        if offset_bytes % SECTOR_BYTES != 0 || size_bytes % SECTOR_BYTES != 0 {
            let what = format!("{size_bytes} bytes at {offset_bytes}");
            return Err(NotExpressible { what, expected: "whole sectors of 512 bytes" });
        }
        self.sequence += 1;
        let letters = match op {
            HostOp::Read => "R",
            HostOp::Write => "W",
            HostOp::Trim => "D",
            HostOp::WriteZeroes => "N",
            HostOp::Flush => "FN",
        };
        let (major, minor) = (source >> MINOR_BITS, source & ((1 << MINOR_BITS) - 1));
        let (seconds, ns) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000);
        let sequence = self.sequence;
        let written = match op {
            HostOp::Flush => writeln!(text, "{major:>3},{minor:<3}  0 {sequence:>8} {seconds:>5}.{ns:09}     0  D  {letters} [flashraid]"),
            _ => {
                let (sector, sectors) = (offset_bytes / SECTOR_BYTES, size_bytes / SECTOR_BYTES);
                writeln!(
                    text,
                    "{major:>3},{minor:<3}  0 {sequence:>8} {seconds:>5}.{ns:09}     0  D {letters:>3} {sector} + {sectors} [flashraid]"
                )
            }
        };
        written.expect("a vector takes every byte");
        Ok(())
    }
}
