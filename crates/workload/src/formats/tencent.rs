//! Tencent Cloud Block Storage traces (Zhang et al., "OSCA: An Online-Model Based Cache Allocation Scheme in Cloud Block Storage
//! Systems", ATC 2020): `Timestamp,Offset,Size,IOType,VolumeID`, thousands of volumes interleaved.
//!
//! Offset and Size count sectors, IOType 0 is a read and 1 a write (SSDsim's codes are the other way round). Timestamp is in whole
//! seconds since 1970, which become 0 at the first: the requests of a second are spread evenly over it, so arrivals within a second
//! are invented, and the summary says so.

use super::format::{Format, first_line, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

const COLUMNS: &str = "Timestamp,Offset,Size,IOType,VolumeID";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table = Table {
    names: COLUMNS,
    is_header: |line| names_columns(line, COLUMNS, b','),
    // Its times are spread over seconds.
    columns: None,
    also: "",
};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "tencent",
    about: "Tencent CBS: Timestamp,Offset,Size,IOType,VolumeID: whole seconds (requests are spread over theirs), 512-byte sectors, 0 = read",
    unit: TimeUnit::S,
    words: &["tencent"],
    is_word: no_other_word,
    endings: &["csv"],
    is_header: |head| names_columns(first_line(head), COLUMNS, b','),
    traits: Traits::COARSE,
    parser: |setup| Box::new(LineParser::new(Tencent { unit: setup.unit })),
    writer: None,
};

struct Tencent {
    unit: TimeUnit,
}

impl LineFormat<b','> for Tencent {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("Timestamp", self.unit)?;
        if !arrival_ns.is_multiple_of(self.unit.ns()) {
            return Err(line.unexpected("a whole number, as requests are spread over each tick of the clock"));
        }
        let offset_bytes = line.offset("Offset", SECTOR_BYTES)?;
        let size_bytes = line.size("Size", SECTOR_BYTES)?;
        let op = match line.word("IOType")? {
            b"0" => HostOp::Read,
            b"1" => HostOp::Write,
            _ => return Err(line.unexpected("0 (read) or 1 (write)")),
        };
        let source = line.device("VolumeID")?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
