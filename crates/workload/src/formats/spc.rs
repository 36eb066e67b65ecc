//! Storage Performance Council trace format, version 1: `ASU,LBA,Size,Opcode,Timestamp` and optional fields of the
//! recorder's own, which are not read.
//!
//! LBA counts blocks of 512 bytes, Size bytes, Timestamp seconds from the start as decimal text, which is taken exactly.
//! Each application storage unit (ASU) is an address space of its own.

use super::format::{Format, first_line, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

const COLUMNS: &str = "ASU,LBA,Size,Opcode,Timestamp";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table =
    Table { names: COLUMNS, is_header: |line| names_columns(line, COLUMNS, b','), columns: Some("device,lba,bytes,op,time:s"), also: "" };

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "spc",
    about: "SPC: ASU,LBA,Size,Opcode,Timestamp: 512-byte blocks, bytes, R or W, seconds",
    unit: TimeUnit::S,
    words: &["spc"],
    is_word: no_other_word,
    endings: &["spc"],
    is_header: |head| names_columns(first_line(head), COLUMNS, b','),
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(Spc { unit: setup.unit })),
    writer: None,
};

struct Spc {
    unit: TimeUnit,
}

impl LineFormat<b','> for Spc {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let source = line.device("ASU")?;
        let offset_bytes = line.offset("LBA", SECTOR_BYTES)?;
        let size_bytes = line.size("Size", 1)?;
        let op = match line.word("Opcode")? {
            b"R" | b"r" => HostOp::Read,
            b"W" | b"w" => HostOp::Write,
            _ => return Err(line.unexpected("one of R r W w")),
        };
        let arrival_ns = line.time("Timestamp", self.unit)?;
        line.skip_more_fields();
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
