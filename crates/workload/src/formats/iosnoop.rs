//! What iosnoop prints (brendangregg/perf-tools): a table with a header, `[STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms`, one row for
//! each request that completes.
//!
//! STARTs (`-s`) is the time of issue, or that of insertion into the queue if it was run with `-Q`; ENDs (`-t`) is the time of completion,
//! which LATms, printed to 10 us, comes after the start. Both are seconds from the start of the machine; without both, there are no times,
//! and the recording is refused. BLOCK counts 512 bytes. TYPE has the kernel's letters (`rwbs`).

use super::format::{Format, no_other_word};
use super::snoop::{Snoop, SnoopColumn, Tool};
use crate::parser::LineParser;
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "iosnoop",
    about: "iosnoop of perf-tools: [STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms: seconds, 512-byte blocks, bytes, ms",
    unit: TimeUnit::S,
    words: &["iosnoop"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| TOOL.is_in(head),
    traits: Traits { names: DeviceNames::Words, ..Traits::DISORDERED },
    parser: |setup| Box::new(LineParser::new(Snoop::new(&TOOL, setup.unit, setup.options.action))),
    writer: None,
};

static TOOL: Tool = Tool {
    name: "iosnoop",
    column: |name| match name {
        b"STARTs" => SnoopColumn::Start,
        b"ENDs" => SnoopColumn::End,
        b"COMM" => SnoopColumn::Comm,
        b"TYPE" => SnoopColumn::Op,
        b"DEV" => SnoopColumn::Device,
        b"BLOCK" => SnoopColumn::Sector,
        b"BYTES" => SnoopColumn::Bytes,
        b"LATms" => SnoopColumn::Latency,
        _ => SnoopColumn::Other,
    },
    is_header: |columns, _| {
        use SnoopColumn::{Bytes, Comm, Device, Latency, Op, Sector};
        [Comm, Op, Device, Sector, Bytes, Latency].iter().all(|column| columns.contains(column))
    },
    refuse: |columns, _| {
        let has_time = columns.iter().any(|column| matches!(column, SnoopColumn::Start | SnoopColumn::End));
        (!has_time).then_some(("iosnoop without -s or -t records no times", "a recording of iosnoop -s, with a column STARTs"))
    },
};
