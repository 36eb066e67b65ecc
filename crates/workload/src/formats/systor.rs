//! SYSTOR '17 traces of virtual desktops (Lee et al., "Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop
//! Infrastructure"): the header `Timestamp,Response,IOType,LUN,Offset,Size`, one file an hour and LUN.
//!
//! Timestamp is the time of issue in seconds since 1970 and becomes 0 at the first request; rows are in order of completion.
//! Response is not read. IOType is empty where no response was seen: such a row says neither read nor write and is no request.

use super::format::{Format, first_line, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::Line;
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

const COLUMNS: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table = Table {
    names: COLUMNS,
    is_header: |line| names_columns(line, COLUMNS, b','),
    columns: Some("time:s,-,op,device,offset,size"),
    also: " --on-error skip (which leaves out rows without an IOType)",
};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "systor",
    about: "SYSTOR '17 CSV with the header Timestamp,Response,IOType,LUN,Offset,Size: seconds, R W or empty, bytes",
    unit: TimeUnit::S,
    words: &["systor", "systor17"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| first_line(head).eq_ignore_ascii_case(COLUMNS.as_bytes()),
    traits: Traits::DISORDERED,
    parser: |setup| Box::new(LineParser::new(Systor { unit: setup.unit })),
    writer: None,
};

struct Systor {
    unit: TimeUnit,
}

impl LineFormat<b','> for Systor {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);
    const HAS_HEADER: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("Timestamp", self.unit)?;
        line.field("Response")?;
        let op = match line.word("IOType")? {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            b"" => return Ok(TraceRecord::Unsupported("rows without an IOType (no response was seen)")),
            _ => return Err(line.unexpected("R, W or nothing")),
        };
        let source = line.device("LUN")?;
        let offset_bytes = line.offset("Offset", 1)?;
        let size_bytes = line.size("Size", 1)?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
