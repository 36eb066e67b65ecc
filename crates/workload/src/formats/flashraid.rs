//! flashraid's own CSV: what our captures are kept in, and the only text format with flushes, discards and write-zeroes.
//!
//! `ts_us` is the time of issue in microseconds from the start (a fraction down to the nanosecond is allowed), `offset` and
//! `size` are bytes (0 for a flush), `flags` are the kernel's letters for the request and `latency_us` what the recorded
//! device took. The last two may be empty; they are checked but not used.

use super::{Format, NotExpressible, Writer, first_line, no_other_word};
use crate::error::Fault;
use crate::gate::{Gate, Traits};
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, Record};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::io::Write;

const COLUMNS: &str = "ts_us,op,offset,size,flags,latency_us";

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "flashraid",
    about: "CSV with the header ts_us,op,offset,size,flags,latency_us: microseconds, R W F D Z, bytes",
    unit: TimeUnit::Us,
    words: &["flashraid"],
    is_word: no_other_word,
    endings: &[],
    // With other columns behind the first it is meant to be ours all the same, and is refused with the right ones.
    is_header: |head| first_line(head).split(|byte| *byte == b',').next().is_some_and(|first| first.eq_ignore_ascii_case(b"ts_us")),
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(Csv { unit: setup.unit })),
    writer: Some(|| Box::new(CsvWriter)),
};

struct Csv {
    unit: TimeUnit,
}

impl LineFormat<b','> for Csv {
    const COLUMNS: &'static str = COLUMNS;
    const HAS_HEADER: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<Record, Box<Fault>> {
        let arrival_ns = line.time("ts_us", self.unit)?;
        let op = match line.word("op")? {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            b"F" => HostOp::Flush,
            b"D" => HostOp::Trim,
            b"Z" => HostOp::WriteZeroes,
            _ => return Err(line.unexpected("one of R W F D Z")),
        };
        let offset_bytes = line.offset("offset", 1)?;
        let size_bytes = line.size("size", 1)?;
        line.word("flags")?;
        if !line.word("latency_us")?.iter().all(u8::is_ascii_digit) {
            return Err(line.unexpected("a decimal number or nothing"));
        }
        Ok(Record::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}

struct CsvWriter;

impl Writer for CsvWriter {
    fn begin(&mut self, text: &mut Vec<u8>) {
        text.extend_from_slice(COLUMNS.as_bytes());
        text.push(b'\n');
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
            0 => writeln!(text, "{whole_us},{op},{},{},,", request.offset_bytes, request.size_bytes),
            _ => writeln!(text, "{whole_us}.{fraction_ns:03},{op},{},{},,", request.offset_bytes, request.size_bytes),
        };
        written.expect("a vector takes every byte");
        Ok(())
    }
}
