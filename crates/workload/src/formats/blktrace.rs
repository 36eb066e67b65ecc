//! What blktrace itself writes: records of 48 bytes (`struct blk_io_trace` in include/uapi/linux/blktrace_api.h) in the byte order of the
//! machine, each followed by `pdu_len` bytes of other data; since Linux 6.19 also records of 64 bytes (`blk_io_trace2`). A record's magic
//! number tells byte order and version.
//!
//! blktrace leaves one file for each CPU, `sda.blktrace.0` and so on. If one of them is given, all of them are read, merged by time, however each
//! is packed; those that are not there, as numbers are left out, are said to be missing. A stream
//! of several CPUs (`blktrace -o -`, or files put one after the other) is read as it is; the gate puts its requests in order.
//!
//! The SHA-256 of several files is that of a text with theirs in hexadecimal, a line each, in the order of the CPUs.
//!
//! As in blkparse's text, a request gives several events, of which those of one action are read (`TraceOptions::action`), and times count from
//! the first event. Events are numbered on each CPU: what is missing was lost. Notifications are not numbered.

use super::actions;
use super::beside::{Naming, are, name_of};
use super::format::{Format, Setup, no_other_word};
use super::rwbs;
use crate::bytes::bytes_at;
use crate::error::{RecordError, TraceError};
use crate::gate::{Gate, Requeue, parts};
use crate::input::Input;
use crate::line::SECTOR_BYTES;
use crate::options::{BlockAction, OnError};
use crate::parser::{Parser, TraceRecord};
use crate::position::record_fault;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "blktrace",
    about: "binary records of blktrace, of all CPUs (NAME.blktrace.0 and so on) together; the events of one action",
    unit: TimeUnit::Ns,
    // The word "blktrace" in a name stands for blkparse's text; these records are known by their magic number.
    words: &[],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| Layout::of(head).is_some(),
    traits: Traits { names: DeviceNames::MajorMinor, ..Traits::DISORDERED },
    parser: |setup| Box::new(Blktrace::new(setup)),
    writer: None,
};

/// The files of a recording: `sda.blktrace.0` and so on.
const NAMING: Naming = Naming { before: ".blktrace.", behind: "", first: 0, is_stem: |_| true };

/// The other files that are read with one, in the order of CPUs.
pub(super) fn read_with(path: &Path) -> Vec<PathBuf> {
    NAMING.beside(path).others
}

/// `BLK_IO_TRACE_MAGIC`, the upper 24 bits of a record's magic number; the lower 8 are the version.
const MAGIC: u32 = 0x6561_7400;

/// Bytes of this number.
const MAGIC_BYTES: usize = 4;

/// Bytes of a record in version 7, and in version 8.
const RECORD_BYTES: usize = 48;
const RECORD2_BYTES: usize = 64;

/// Categories of an event, in the upper bits of its action.
mod category {
    const fn bit(number: u32) -> u64 {
        1 << (16 + number)
    }
    pub const WRITE: u64 = bit(1);
    pub const FLUSH: u64 = bit(2);
    pub const PASSED_THROUGH: u64 = bit(9);
    pub const NOTIFY: u64 = bit(10);
    pub const DISCARD: u64 = bit(13);
    pub const FUA: u64 = bit(15);
    /// Zone commands and appends.
    pub const ZONED: u64 = bit(16) | bit(17) | bit(18) | bit(19) | bit(20) | bit(21);
    pub const WRITE_ZEROES: u64 = bit(22);
}

/// The actions themselves (`enum blktrace_act`), in the lower bits; another bit marks events of a control group.
const ACTION_BITS: u64 = 0xFF;

/// What blkparse prints for each.
const LETTERS: [&[u8]; 20] =
    [b"", b"Q", b"M", b"F", b"G", b"S", b"R", b"D", b"C", b"P", b"U", b"UT", b"I", b"X", b"B", b"A", b"", b"m", b"", b""];

/// How a record lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    is_big_endian: bool,
    is_second: bool,
}

impl Layout {
    fn of(head: &[u8]) -> Option<Self> {
        let magic = head.first_chunk::<MAGIC_BYTES>()?;
        [(u32::from_le_bytes(*magic), false), (u32::from_be_bytes(*magic), true)].into_iter().find_map(|(magic, is_big_endian)| {
            let version = magic ^ MAGIC;
            matches!(version, 7 | 8).then_some(Self { is_big_endian, is_second: version == 8 })
        })
    }

    fn bytes(self) -> usize {
        if self.is_second { RECORD2_BYTES } else { RECORD_BYTES }
    }

    #[inline(always)]
    fn word(self, record: &[u8], place: usize) -> u32 {
        let bytes = bytes_at(record, place);
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn long(self, record: &[u8], place: usize) -> u64 {
        let bytes = bytes_at(record, place);
        if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn short(self, record: &[u8], place: usize) -> u16 {
        let bytes = bytes_at(record, place);
        if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline(always)]
    fn event(self, record: &[u8]) -> Event {
        // A record of the second kind has the process before the action, which is twice as long.
        let (action, device) = if self.is_second { (self.long(record, 32), 40) } else { (u64::from(self.word(record, 28)), 36) };
        Event {
            sequence: self.word(record, 4),
            time_ns: self.long(record, 8),
            sector: self.long(record, 16),
            bytes: self.word(record, 24),
            action,
            device: self.word(record, device),
            cpu: self.word(record, device + 4),
            data_bytes: self.short(record, device + 10).into(),
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug)]
struct Event {
    sequence: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
    cpu: u32,
    /// Bytes that follow it.
    data_bytes: usize,
}

impl Event {
    /// What an event with bytes asks for.
    #[inline(always)]
    fn op(&self) -> HostOp {
        match () {
            () if self.has(category::DISCARD) => HostOp::Trim,
            () if self.has(category::WRITE_ZEROES) => HostOp::WriteZeroes,
            () if self.has(category::WRITE) => HostOp::Write,
            () => HostOp::Read,
        }
    }

    fn has(&self, bits: u64) -> bool {
        self.action & bits != 0
    }

    /// The request that it is of, if a simulated device serves such ones.
    #[inline(always)]
    fn request(&self) -> Result<TraceRecord, Box<RecordError>> {
        if self.has(category::PASSED_THROUGH) {
            return Ok(TraceRecord::Unsupported(rwbs::PASSED_THROUGH));
        }
        if self.has(category::ZONED) {
            return Ok(TraceRecord::Unsupported("zone commands and appends"));
        }
        let size_bytes = u64::from(self.bytes);
        let (arrival_ns, source) = (self.time_ns, self.device);
        if size_bytes == 0 {
            let flush = HostRequest { arrival_ns, offset_bytes: 0, size_bytes: 0, op: HostOp::Flush, stream: 0, source };
            return Ok(if self.has(category::FLUSH) {
                TraceRecord::Request(flush)
            } else {
                TraceRecord::Ignored("events without sectors")
            });
        }
        let Some(offset_bytes) = self.sector.checked_mul(SECTOR_BYTES) else {
            return Err(record_fault(format!("sector {}", self.sector), "an address below 2^64 bytes"));
        };
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op: self.op(), stream: 0, source }))
    }

    /// What of its request, which does this, is not replayed.
    #[inline(always)]
    fn dropped(&self, op: HostOp) -> u16 {
        if matches!(op, HostOp::Write | HostOp::WriteZeroes) { parts(self.has(category::FLUSH), self.has(category::FUA)) } else { 0 }
    }

    /// That the device gave its request back.
    #[cold]
    fn requeued(&self, name: &'static str) -> TraceRecord {
        match self.request() {
            Ok(TraceRecord::Request(request)) => {
                TraceRecord::Requeued(Box::new(Requeue { request, dropped: self.dropped(request.op), name }))
            }
            _ => TraceRecord::Ignored(name),
        }
    }
}

/// One of the files.
#[derive(Default)]
struct Stream {
    /// Records passed.
    number: u64,
    /// The event at its cursor.
    next: Option<Event>,
}

struct Blktrace {
    path: PathBuf,
    action: BlockAction,
    on_error: OnError,
    /// The files beside the one that is given, and where in all of them we are: that one comes first.
    others: Vec<Input>,
    streams: Vec<Stream>,
    /// The number of the last event of a device on a CPU.
    last: FxHashMap<(u32, u32), u32>,
    /// The stream whose events come next, until this time.
    current: usize,
    until_ns: u64,
}

impl Blktrace {
    fn new(setup: &Setup) -> Self {
        Self {
            path: setup.path.to_owned(),
            action: setup.options.action,
            on_error: setup.options.on_error,
            others: Vec::new(),
            streams: Vec::new(),
            last: FxHashMap::default(),
            current: 0,
            until_ns: 0,
        }
    }

    /// Opens the files of the other CPUs.
    #[cold]
    fn begin(&mut self, input: &mut Input, gate: &mut Gate) -> Result<(), TraceError> {
        let beside = NAMING.beside(&self.path);
        for path in &beside.others {
            self.others.push(Input::open(path, self.on_error)?);
        }
        if !self.others.is_empty() {
            gate.assume(&format!(
                "{} is one of several files of a recording, and {} merged with it by time",
                name_of(&self.path),
                are(&beside.others)
            ));
        }
        for (double, taken) in &beside.doubles {
            gate.assume(&format!("{double} is not read, as {taken} is of the same CPU"));
        }
        if let Some(lacks) = beside.lacks(&self.path, "put the files of all CPUs into one folder, and give any of them") {
            gate.assume(&lacks);
        }
        for index in 0..=self.others.len() {
            self.streams.push(Stream::default());
            self.fill(index, input, gate)?;
        }
        self.choose();
        Ok(())
    }

    /// The stream with the earliest event, and how long it keeps the turn.
    fn choose(&mut self) {
        let mut first = (u64::MAX, usize::MAX);
        self.until_ns = u64::MAX;
        for (index, stream) in self.streams.iter().enumerate() {
            let Some(event) = stream.next else { continue };
            if event.time_ns < first.0 || first.1 == usize::MAX {
                self.until_ns = first.0;
                first = (event.time_ns, index);
            } else {
                self.until_ns = self.until_ns.min(event.time_ns);
            }
        }
        self.current = first.1;
    }

    /// Reads the next event of a stream.
    fn fill(&mut self, index: usize, input: &mut Input, gate: &mut Gate) -> Result<(), TraceError> {
        let input = if index == 0 { input } else { &mut self.others[index - 1] };
        let stream = &mut self.streams[index];
        stream.next = loop {
            match next_event(input) {
                Err(error) => return Err(error),
                Ok(Ok(None)) => break None,
                Ok(Ok(event)) => {
                    stream.number += 1;
                    break event;
                }
                Ok(Err(fault)) => {
                    stream.number += 1;
                    let error = fault.fault.at_record(input.path(), stream.number);
                    if fault.is_cut {
                        gate.cut_off(error)?;
                        break None;
                    }
                    gate.refuse(error)?;
                    find_record(input)?;
                }
            }
        };
        Ok(())
    }

    /// What an event is to us.
    #[inline(always)]
    fn record(&mut self, event: &Event, gate: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        if event.has(category::NOTIFY) {
            return Ok(TraceRecord::Ignored("notifications of blktrace (process names, clocks, messages)"));
        }
        gate.begins_at(event.time_ns);
        let last = self.last.insert((event.device, event.cpu), event.sequence);
        if let Some(lost) = last.and_then(|last| event.sequence.checked_sub(last)).filter(|ahead| *ahead > 1) {
            gate.lose(u64::from(lost - 1));
        }
        let letters = usize::try_from(event.action & ACTION_BITS).ok().and_then(|action| LETTERS.get(action)).copied().unwrap_or(b"");
        if letters != [self.action.letter()] {
            let name = actions::name(letters);
            let is_requeue = letters == b"R" && self.action == BlockAction::Issued;
            return Ok(if is_requeue { event.requeued(name) } else { TraceRecord::Ignored(name) });
        }
        let record = event.request()?;
        if let TraceRecord::Request(request) = &record {
            gate.drop_parts(event.dropped(request.op));
        }
        Ok(record)
    }
}

impl Parser for Blktrace {
    fn parse(&mut self, input: &mut Input, gate: &mut Gate, wanted: usize) -> Result<bool, TraceError> {
        if self.streams.is_empty() {
            self.begin(input, gate)?;
        }
        let end = gate.admitted() + wanted as u64;
        while gate.admitted() < end {
            let Some(event) = self.streams.get(self.current).and_then(|stream| stream.next) else {
                return Ok(false);
            };
            let found = self.record(&event, gate).and_then(|record| record.enter(gate));
            if let Err(fault) = found {
                let path = if self.current == 0 { input.path() } else { self.others[self.current - 1].path() };
                gate.refuse(fault.at_record(path, self.streams[self.current].number))?;
            }
            self.fill(self.current, input, gate)?;
            if self.streams[self.current].next.is_none_or(|event| event.time_ns > self.until_ns) {
                self.choose();
            }
        }
        Ok(true)
    }

    fn sha256(&mut self, input: Input) -> Result<String, TraceError> {
        if self.others.is_empty() {
            return input.sha256();
        }
        let mut inputs = std::mem::take(&mut self.others);
        let number = |input: &Input| NAMING.number_of(input.path());
        inputs.insert(inputs.partition_point(|other| number(other) < number(&input)), input);
        let mut hash = Sha256::new();
        for input in inputs {
            hash.update(input.sha256()? + "\n");
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The event at the cursor, which moves behind it and its data; `None` at the end of the file.
#[inline]
fn next_event(input: &mut Input) -> Result<Result<Option<Event>, Damage>, TraceError> {
    let head = input.bytes(RECORD_BYTES)?;
    if head.is_empty() {
        return Ok(Ok(None));
    }
    if head.len() < MAGIC_BYTES {
        return Ok(Err(cut(head.len(), RECORD_BYTES)));
    }
    let Some(layout) = Layout::of(head) else {
        let shown: Vec<String> = head.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let fault = record_fault(format!("it begins with {}", shown.join(" ")), "07 74 61 65, a record of blktrace");
        return Ok(Err(Damage { fault, is_cut: false }));
    };
    let record = input.bytes(layout.bytes())?;
    if record.len() < layout.bytes() {
        return Ok(Err(cut(record.len(), layout.bytes())));
    }
    let event = layout.event(record);
    input.advance_bytes(layout.bytes());
    if event.data_bytes > 0 {
        let data = input.bytes(event.data_bytes)?.len();
        if data < event.data_bytes {
            return Ok(Err(cut(layout.bytes() + data, layout.bytes() + event.data_bytes)));
        }
        input.advance_bytes(data);
    }
    Ok(Ok(Some(event)))
}

#[cold]
fn cut(found: usize, whole: usize) -> Damage {
    let fault = record_fault(format!("the file ends inside a record ({found} of {whole} bytes)"), "whole records");
    Damage { fault, is_cut: true }
}

/// A place that is no record.
struct Damage {
    fault: Box<RecordError>,
    /// Whether the file ends there.
    is_cut: bool,
}

/// Moves to the next place where a record may begin.
#[cold]
fn find_record(input: &mut Input) -> Result<(), TraceError> {
    const LOOKED_AT: usize = 1 << 16;
    loop {
        let bytes = input.bytes(LOOKED_AT)?;
        let (length, found) = (bytes.len(), (1..bytes.len()).find(|place| Layout::of(&bytes[*place..]).is_some()));
        // A record may begin with the last three bytes, as far as they tell.
        let is_last = found.is_some() || length < LOOKED_AT;
        input.advance_bytes(found.unwrap_or(if is_last { length } else { length - 3 }));
        if is_last {
            return Ok(());
        }
    }
}
