//! Alibaba block traces of 2020 (Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale Production", IISWC
//! 2020): `device_id,opcode,offset,length,timestamp`, a thousand volumes interleaved.
//!
//! Offset and length are bytes, timestamp microseconds since 1970, which becomes 0 at the first request.

use super::format::{Format, first_line};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

const COLUMNS: &str = "device_id,opcode,offset,length,timestamp";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table = Table {
    names: COLUMNS,
    is_header: |line| names_columns(line, COLUMNS, b','),
    columns: Some("device,op,offset,size,time:us"),
    also: "",
};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "alibaba",
    about: "Alibaba 2020: device_id,opcode,offset,length,timestamp: R or W, bytes, microseconds",
    unit: TimeUnit::Us,
    words: &["alibaba"],
    // As the published archive is named: alibaba_block_traces_2020.
    is_word: |word| word.starts_with("alibaba_"),
    endings: &["csv"],
    is_header: |head| names_columns(first_line(head), COLUMNS, b','),
    traits: Traits::REBASED,
    parser: |setup| Box::new(LineParser::new(Alibaba { unit: setup.unit })),
    writer: None,
};

struct Alibaba {
    unit: TimeUnit,
}

impl LineFormat<b','> for Alibaba {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let source = line.device("device_id")?;
        let op = match line.word("opcode")? {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            _ => return Err(line.unexpected("R or W")),
        };
        let offset_bytes = line.offset("offset", 1)?;
        let size_bytes = line.size("length", 1)?;
        let arrival_ns = line.time("timestamp", self.unit)?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
