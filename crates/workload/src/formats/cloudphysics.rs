//! CloudPhysics traces as CSV (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015): the header
//! `version,time,op,size,lbn`, one virtual disk a file.
//!
//! Time is in microseconds from an origin of the recorder's and becomes 0 at the first request; op is a SCSI operation code in
//! hexadecimal, size bytes, lbn sectors. A cache synchronization is a flush; commands that neither transfer nor flush are no requests.

use super::format::{Format, first_line, no_other_word};
use super::scsi;
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::table::{Table, names_columns};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;

const COLUMNS: &str = "version,time,op,size,lbn";

/// Its rows as a table, for messages about one that is written in another way.
pub(super) const TABLE: Table =
    Table { names: COLUMNS, is_header: |line| names_columns(line, COLUMNS, b','), columns: Some("-,time:us,op:scsi,bytes,lba"), also: "" };

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "cloudphysics",
    about: "CloudPhysics CSV with the header version,time,op,size,lbn: microseconds, SCSI codes in hexadecimal, bytes, 512-byte sectors",
    unit: TimeUnit::Us,
    words: &["cloudphysics"],
    is_word: no_other_word,
    endings: &[],
    is_header: |head| first_line(head).eq_ignore_ascii_case(COLUMNS.as_bytes()),
    traits: Traits::REBASED,
    parser: |setup| Box::new(LineParser::new(CloudPhysics { unit: setup.unit })),
    writer: None,
};

struct CloudPhysics {
    unit: TimeUnit,
}

impl LineFormat<b','> for CloudPhysics {
    const COLUMNS: &'static str = COLUMNS;
    const TABLE: Option<&'static Table> = Some(&TABLE);
    const HAS_HEADER: bool = true;

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, b','>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        line.whole("version")?;
        let arrival_ns = line.time("time", self.unit)?;
        let command = line.hexadecimal("op", "")?;
        let Some(op) = scsi::op(command) else {
            return Ok(scsi::other(command));
        };
        let size_bytes = line.size("size", 1)?;
        let offset_bytes = line.offset("lbn", SECTOR_BYTES)?;
        Ok(scsi::record(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}
