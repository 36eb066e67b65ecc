//! NVMe commands in text of the kernel's tracepoints (drivers/nvme/host/trace.h), as `tracefs` of block requests:
//! `seconds: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=216, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=0, len=7, ...)`.
//!
//! `slba` and `len` count blocks of the drive, and `len` is zero-based. How large a block is (512 or 4,096 bytes) is not recorded
//! (`TraceOptions::sector_bytes`; 512 if nobody says). A device is a namespace: its disk, or the controller and `nsid` where there is
//! none. Commands of the admin queue (qid 0) and others that move no data of the host's are counted; so are discards
//! (`nvme_cmd_dsm`), of which only the number of ranges is recorded.
//!
//! perf and trace-cmd cannot print the command with the kernel's own functions: they show the fields of the event as they are
//! (`[FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=1 opcode=2 ... cdw10=ARRAY[00, 08, ...]`), of which the command is decoded (NVM Command
//! Set Specification 1.0, section 3). Writes may name a stream or a placement handle.

use super::format::{Format, Setup, no_other_word};
use super::kernel_text::{EventFinder, EventPlace, NVME_EVENTS, count_other, system_of};
use super::tracefs::event_time;
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::position::Position;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use memchr::memmem::{Finder, find};
use std::borrow::Cow;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "nvme",
    about: "NVMe commands in text of /sys/kernel/tracing, trace-cmd report or perf script: nvme_setup_cmd: ... cmd=(nvme_cmd_read slba=, len=): seconds, blocks (--sector-bytes)",
    unit: TimeUnit::S,
    words: &["nvme"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| system_of(head) == Some("nvme"),
    traits: Traits { names: DeviceNames::Words, names_streams: |_| true, ..Traits::DISORDERED },
    parser: |setup| Box::new(LineParser::new(NvmeText::new(setup))),
    writer: None,
};

const NO_DATA: &str = "NVMe commands that move no data of the host's";
const DISCARDS: &str = "discards (nvme_cmd_dsm), of which the event has no ranges";
const ADMIN: &str = "NVMe commands of the admin queue (qid=0)";
const APPENDS: &str = "zone appends, of which the event has no address";

struct NvmeText {
    unit: TimeUnit,
    /// Whether nobody has said how large a block is, and the summary does not say so yet.
    is_block_assumed: bool,
    block_bytes: u64,
    events: [EventFinder; 2],
    command: Finder<'static>,
}

impl NvmeText {
    fn new(setup: &Setup) -> Self {
        let events = NVME_EVENTS.map(|(system, name)| EventFinder::new(system, name));
        let block_bytes = setup.sector_bytes();
        Self {
            unit: setup.unit,
            is_block_assumed: setup.options.sector_bytes.is_none(),
            block_bytes,
            events,
            command: Finder::new(b"cmd=("),
        }
    }

    fn find(&self, text: &[u8]) -> Option<EventPlace> {
        self.events.iter().find_map(|event| event.find(text))
    }
}

impl LineFormat<BLANKS> for NvmeText {
    const COLUMNS: &'static str = "seconds: nvme_setup_cmd: nvme0: disk=, qid=, nsid=, cmd=(nvme_cmd_read slba=, len=)";
    const HAS_EMPTY_LINES: bool = true;
    const LAST_BYTE: Option<u8> = Some(b')');

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let text = line.rest();
        let Some(event) = self.find(text) else {
            return Ok(count_other(text, gate));
        };
        let arrival_ns = event_time(line, event.time, self.unit)?;
        line.advance(event.fields - (text.len() - line.rest().len()));
        if std::mem::take(&mut self.is_block_assumed) {
            gate.assume("assumed that a block of the drive has 512 bytes (--sector-bytes sets another size)");
        }
        let fields = line.rest();
        if value(fields, b"qid=") == Some(b"0") {
            return Ok(TraceRecord::Ignored(ADMIN));
        }
        let Some(command) = self.command.find(fields) else {
            return self.raw(arrival_ns, line, gate);
        };
        // A number may lack digits in a line that is cut off, also where lines of other events do not tell how it should end.
        if !fields.ends_with(b")") && memchr::memrchr(b')', &fields[command..]).is_none() {
            return Err(line.line_fault("a command without its )".to_owned(), Self::COLUMNS));
        }
        line.advance(command + b"cmd=(".len());
        let op = match line.word("cmd")? {
            b"nvme_cmd_read" => HostOp::Read,
            b"nvme_cmd_write" => HostOp::Write,
            b"nvme_cmd_write_zeroes" => HostOp::WriteZeroes,
            b"nvme_cmd_flush" => HostOp::Flush,
            b"nvme_cmd_dsm" => return Ok(TraceRecord::Unsupported(DISCARDS)),
            b"nvme_cmd_zone_append" => return Ok(TraceRecord::Unsupported(APPENDS)),
            _ => return Ok(TraceRecord::Ignored(NO_DATA)),
        };
        let (mut offset_bytes, mut size_bytes) = (0, 0);
        if op != HostOp::Flush {
            to_value(line, b"slba=")?;
            offset_bytes = line.offset("slba", self.block_bytes)?;
            to_value(line, b"len=")?;
            size_bytes = line.size_below_last("len", self.block_bytes)?;
        }
        let stream = if op == HostOp::Write { stream(line)? } else { 0 };
        line.advance(line.rest().len());
        let source = gate.number_of(&namespace(fields));
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream, source }))
    }
}

impl NvmeText {
    /// An event whose command is shown as numbers.
    #[cold]
    fn raw(&self, arrival_ns: u64, line: &mut Line<'_, BLANKS>, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let fields = line.rest();
        let number = |key| std::str::from_utf8(value(fields, key)?).ok()?.parse::<u8>().ok();
        let (Some(opcode), Some(words)) = (number(b"opcode="), command_bytes(fields)) else {
            return Err(
                line.line_fault("an NVMe command without cmd=(...) and without opcode= and cdw10=ARRAY[...]".to_owned(), Self::COLUMNS)
            );
        };
        let op = match opcode {
            0x00 => HostOp::Flush,
            0x01 => HostOp::Write,
            0x02 => HostOp::Read,
            0x08 => HostOp::WriteZeroes,
            0x09 => return Ok(TraceRecord::Unsupported(DISCARDS)),
            0x7D => return Ok(TraceRecord::Unsupported(APPENDS)),
            _ => return Ok(TraceRecord::Ignored(NO_DATA)),
        };
        line.advance(fields.len());
        let source = gate.number_of(&namespace(fields));
        let flush = HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op, stream: 0, source };
        if op == HostOp::Flush {
            return Ok(TraceRecord::Request(flush));
        }
        let [first, .., low, high, control, _, _, _, stream_low, stream_high] = words;
        let block = u64::from_le_bytes([first, words[1], words[2], words[3], words[4], words[5], words[6], words[7]]);
        let Some(offset_bytes) = block.checked_mul(self.block_bytes) else {
            return Err(line.line_fault(format!("block {block}"), "an address below 2^64 bytes"));
        };
        let size_bytes = (u64::from(u16::from_le_bytes([low, high])) + 1) * self.block_bytes;
        let is_directed = op == HostOp::Write && names_stream(control.into());
        let stream = if is_directed { u16::from_le_bytes([stream_low, stream_high]) } else { 0 };
        Ok(TraceRecord::Request(HostRequest { offset_bytes, size_bytes, stream, ..flush }))
    }
}

/// Whether the control field of a write (the upper half of dword 12) says that its directive (DTYPE) names a stream, or a placement handle (TP 4146), in the upper half
/// of dword 13 (DSPEC).
fn names_stream(control: u64) -> bool {
    const DIRECTIVES: [u64; 2] = [1, 2]; // streams, data placement
    DIRECTIVES.contains(&(control >> 4 & 0xF))
}

/// The stream that a write names in `ctrl` and `dsmgmt`, its control field and dword 13; 0 for none, and where they are not shown.
fn stream(line: &Line<'_, BLANKS>) -> Result<u16, Box<RecordError>> {
    let text = |key| value(line.rest(), key).and_then(|value| std::str::from_utf8(value).ok()).map(|text| text.trim_end_matches(')'));
    let Some(control) = text(b"ctrl=".as_slice()) else { return Ok(0) };
    let wrong = |what: &str| line.line_fault(what.to_owned(), NvmeText::COLUMNS);
    let digits = control.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if !names_stream(digits.ok_or_else(|| wrong("a write whose ctrl= is no hexadecimal number"))?) {
        return Ok(0);
    }
    let management = text(b"dsmgmt=".as_slice()).and_then(|text| text.parse::<u32>().ok());
    Ok((management.ok_or_else(|| wrong("a write with a directive in ctrl=, and no number in dsmgmt="))? >> 16) as u16)
}

/// Command dwords 10 to 13, as an array of bytes in hexadecimal, of which the last may be missing.
fn command_bytes(fields: &[u8]) -> Option<[u8; 16]> {
    let at = find(fields, b"cdw10=ARRAY[")? + b"cdw10=ARRAY[".len();
    let inside = &fields[at..at + memchr::memchr(b']', &fields[at..])?];
    let mut bytes = [0; 16];
    let mut found =
        inside.split(|byte| *byte == b',').map(|byte| u8::from_str_radix(std::str::from_utf8(byte.trim_ascii()).ok()?, 16).ok());
    for (number, byte) in bytes.iter_mut().enumerate() {
        *byte = match found.next() {
            None if number >= 12 => 0,
            found => found??,
        };
    }
    Some(bytes)
}

/// Moves to the value of a key, which must be there.
#[inline(always)]
fn to_value(line: &mut Line<'_, BLANKS>, key: &'static [u8]) -> Result<(), Box<RecordError>> {
    match find(line.rest(), key) {
        Some(at) => {
            line.advance(at + key.len());
            Ok(())
        }
        None => Err(line.line_fault(format!("a command without {}", key.escape_ascii()), NvmeText::COLUMNS)),
    }
}

/// The value of a key that begins a field.
#[inline]
fn value<'a>(fields: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut from = 0;
    loop {
        let at = from + find(&fields[from..], key)?;
        if at == 0 || matches!(fields[at - 1], b' ' | b',') {
            let value = &fields[at + key.len()..];
            return Some(&value[..value.iter().position(|byte| matches!(byte, b',' | b' ' | b'\r')).unwrap_or(value.len())]);
        }
        from = at + key.len();
    }
}

/// What the namespace of a command is called.
fn namespace(fields: &[u8]) -> Cow<'_, [u8]> {
    if let Some(disk) = value(fields, b"disk=").filter(|disk| !disk.is_empty()) {
        return Cow::Borrowed(disk);
    }
    let (prefix, controller): (&[u8], _) = match value(fields, b"ctrl_id=") {
        Some(id) => (b"nvme", id),
        // Linux 4.17 does not tell.
        None => match fields.split(|byte| matches!(byte, b':' | b' ')).next() {
            Some(name) if !name.contains(&b'=') => (b"", name),
            _ => (b"nvme", b"?"),
        },
    };
    Cow::Owned([prefix, controller, b"n", value(fields, b"nsid=").unwrap_or(b"?")].concat())
}
