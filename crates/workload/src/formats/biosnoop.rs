//! What biosnoop prints (iovisor/bcc, tools/biosnoop.py and libbpf-tools/biosnoop.c): a table with a header,
//! `TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms)`, one row for each request that completes.
//!
//! TIME is the time of completion from the first one, in seconds with six decimals: the request was issued LAT before it, or queued QUE
//! before that (`TraceOptions::action`). LAT is printed to 10 us (libbpf-tools: 1 us), so requests keep the order of rows where it leaves them
//! at the same time. With `-t` (libbpf-tools) there is a time of day in milliseconds instead, at which the row was printed. SECTOR counts
//! 512 bytes. T is R or W, or letters (`rwbs`). bcc prints R for everything that is no write, discards and flushes too. A flush and other commands
//! have no bytes; which of them such a row is, R and W do not tell, so that it is left out and warned of. bcc before 0.19 may
//! read the bytes when none are left to be done, and then prints 0 in every row (iovisor/bcc#3099).
//!
//! bpftrace's biosnoop.bt prints neither addresses nor sizes and is refused.

use super::format::{Format, no_other_word};
use super::snoop::{Snoop, SnoopColumn, Tool};
use crate::parser::LineParser;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "biosnoop",
    about: "biosnoop of bcc: TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms): seconds of completion, 512-byte sectors, bytes, ms",
    unit: TimeUnit::S,
    words: &["biosnoop"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| TOOL.is_in(head),
    traits: Traits { names: DeviceNames::Words, ..Traits::DISORDERED },
    parser: |setup| Box::new(LineParser::new(Snoop::new(&TOOL, setup.unit, setup.options.action))),
    writer: None,
};

static TOOL: Tool = Tool {
    name: "biosnoop",
    column: |name| match name {
        b"TIME(s)" => SnoopColumn::End,
        b"TIMESTAMP" => SnoopColumn::Clock,
        b"COMM" => SnoopColumn::Comm,
        b"DISK" => SnoopColumn::Device,
        b"T" => SnoopColumn::Op,
        b"SECTOR" => SnoopColumn::Sector,
        b"BYTES" => SnoopColumn::Bytes,
        b"QUE(ms)" => SnoopColumn::Queued,
        b"LAT(ms)" => SnoopColumn::Latency,
        _ => SnoopColumn::Other,
    },
    is_header: |columns, line| {
        let has = |column: SnoopColumn| columns.contains(&column);
        let is_of_bpftrace = line.starts_with(b"TIME(ms)") && line.ends_with(b"LAT(us)");
        let has_time = has(SnoopColumn::End) || has(SnoopColumn::Clock) || line.starts_with(b"TIME(ms)");
        is_of_bpftrace || has_time && has(SnoopColumn::Comm) && columns.last() == Some(&SnoopColumn::Latency)
    },
    refuse: |columns, line| {
        use SnoopColumn::{Bytes, Clock, Device, End, Latency, Op, Sector};
        if line.starts_with(b"TIME(ms)") {
            return Some(("biosnoop.bt of bpftrace records neither addresses nor sizes", "a recording of bcc's biosnoop"));
        }
        let has_time = columns.iter().any(|column| matches!(column, End | Clock));
        let lacks = |column: &SnoopColumn| !columns.contains(column);
        let is_incomplete = !has_time || [Device, Op, Sector, Bytes, Latency].iter().any(lacks);
        is_incomplete
            .then_some(("a header without some of the columns of biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms), and more"))
    },
};
