//! fio's I/O logs, versions 2 and 3 ("Trace file format" in fio's HOWTO). The first line tells the version.
//!
//! - Version 3 (`write_iolog` since fio 3.31): `time file action [offset length]`, time in microseconds from the start.
//! - Version 2: `file action [offset length]`, no times but `file wait microseconds`, which by the HOWTO counts from the wait before,
//!   so the waits are added up. (fio 3.33 itself takes it for milliseconds from its own start: `read_iolog_get` in iolog.c.) Without
//!   waits, all requests come at once.
//!
//! Offsets and lengths are bytes. `sync` and `datasync` are flushes, whatever their offset and length, which fio fills with those of
//! the request before. Each file is a device of its own.
//!
//! Written is version 3, which has no operation for write zeroes. Times are rounded down to microseconds; the order is kept. The files
//! are `device0` and so on, by the number of the device.

use super::format::{Format, NotExpressible, Writer, first_line, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::position::Position;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::BTreeSet;
use std::io::Write;

const VERSION_2: &[u8] = b"fio version 2 iolog";
const VERSION_3: &[u8] = b"fio version 3 iolog";

/// What is said of waits.
const WAITS: &str = "the wait lines of the iolog are taken as microseconds from one to the next, as fio's documentation says; fio itself \
                     takes them as milliseconds from its start (--time-unit ms for milliseconds; write_iolog of fio 3.31 and later has times)";

/// fio reads a length into 32 bits.
const LONGEST: u64 = u32::MAX as u64;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "fio",
    about: "fio iolog, version 2 or 3 by its first line: [time_us] file action [offset length]: bytes",
    unit: TimeUnit::Us,
    words: &["iolog"],
    is_word: no_other_word,
    endings: &["iolog"],
    is_header: |head| matches!(first_line(head), VERSION_2 | VERSION_3),
    traits: Traits { names: DeviceNames::Words, ..Traits::PLAIN },
    parser: |setup| Box::new(LineParser::new(Iolog { unit: setup.unit, version: None })),
    writer: Some(|| Box::new(IologWriter { devices: BTreeSet::new(), latest_us: 0 })),
};

/// The version, once the first line is read.
enum FioVersion {
    /// The sum of the waits so far.
    Two {
        now_ns: u64,
    },
    Three,
}

struct Iolog {
    unit: TimeUnit,
    version: Option<FioVersion>,
}

impl LineFormat<BLANKS> for Iolog {
    const COLUMNS: &'static str = "[time] file action [offset length]";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = match &self.version {
            Some(FioVersion::Three) => line.time("time", self.unit)?,
            Some(FioVersion::Two { now_ns }) => *now_ns,
            None => return self.begin(line),
        };
        let file = line.word("file")?;
        let op = match line.word("action")? {
            b"read" => HostOp::Read,
            b"write" => HostOp::Write,
            b"trim" => HostOp::Trim,
            b"sync" | b"datasync" => HostOp::Flush,
            b"add" | b"open" | b"close" => return Ok(TraceRecord::Nothing),
            b"sync_file_range" => return Ok(TraceRecord::Unsupported("sync_file_range actions")),
            b"wait" => return self.wait(line, gate),
            _ => return Err(line.unexpected("read, write, trim, sync, datasync, sync_file_range, add, open or close")),
        };
        let mut offset_bytes = line.offset("offset", 1)?;
        let mut size_bytes = line.size("length", 1)?;
        if op == HostOp::Flush {
            (offset_bytes, size_bytes) = (0, 0);
        }
        let source = gate.number_of(file);
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }

    /// The log of another job follows, with a clock of its own.
    fn begin_again(&mut self) {
        if let Some(FioVersion::Two { now_ns }) = &mut self.version {
            *now_ns = 0;
        }
    }
}

impl Iolog {
    /// Reads the first line.
    #[cold]
    fn begin(&mut self, line: &mut Line<'_, BLANKS>) -> Result<TraceRecord, Box<RecordError>> {
        self.version = match line.whole_line() {
            VERSION_2 => Some(FioVersion::Two { now_ns: 0 }),
            VERSION_3 => Some(FioVersion::Three),
            _ => return Err(line.line_fault("no header line".to_owned(), "'fio version 2 iolog' or 'fio version 3 iolog'")),
        };
        Ok(TraceRecord::Nothing)
    }

    /// Lets time pass.
    fn wait(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let Some(FioVersion::Two { now_ns }) = &mut self.version else {
            return Err(line.unexpected("no wait in version 3, where times are absolute"));
        };
        let wait_ns = line.time("the wait", self.unit)?;
        gate.assume(WAITS);
        // What is beyond the range of times is refused with the next request.
        *now_ns = now_ns.saturating_add(wait_ns);
        Ok(TraceRecord::Nothing)
    }
}

struct IologWriter {
    /// Devices that have been opened.
    devices: BTreeSet<u32>,
    latest_us: u64,
}

impl Writer for IologWriter {
    fn begin(&mut self, text: &mut Vec<u8>, _: bool) {
        text.extend_from_slice(VERSION_3);
        text.push(b'\n');
    }

    fn keeps_devices(&self) -> bool {
        true
    }

    fn tick_ns(&self) -> u64 {
        1000
    }

    fn request(&mut self, request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible> {
        let HostRequest { arrival_ns, offset_bytes, size_bytes, op, source, .. } = *request;
        let action = match op {
            HostOp::Read => "read",
            HostOp::Write => "write",
            HostOp::Trim => "trim",
            HostOp::Flush => "sync",
            HostOp::WriteZeroes => {
                return Err(NotExpressible { what: "it is a WriteZeroes".to_owned(), expected: "reads, writes, trims and flushes" });
            }
        };
        if size_bytes > LONGEST {
            return Err(NotExpressible { what: format!("a length of {size_bytes} bytes"), expected: "at most 4294967295" });
        }
        let time_us = arrival_ns / self.tick_ns();
        self.latest_us = time_us;
        if self.devices.insert(source) {
            append(text, format_args!("{time_us} device{source} add\n{time_us} device{source} open\n"));
        }
        append(text, format_args!("{time_us} device{source} {action} {offset_bytes} {size_bytes}\n"));
        Ok(())
    }

    fn end(&mut self, text: &mut Vec<u8>) {
        for device in &self.devices {
            append(text, format_args!("{} device{device} close\n", self.latest_us));
        }
    }
}

fn append(text: &mut Vec<u8>, written: std::fmt::Arguments) {
    text.write_fmt(written).expect("a vector takes every byte");
}
