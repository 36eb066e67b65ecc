//! DiskSim's ASCII traces (Bucy et al., "The DiskSim Simulation Environment Version 4.0 Reference Manual", 2008):
//! `time_ms dev lba_sectors sectors flags`.
//!
//! Time is in milliseconds. Flags are hexadecimal; bit 0 says read, the others (asynchronous, time-critical, ...) tell DiskSim's
//! scheduler what it may do and are not used.

use super::format::{Format, no_header, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII: time_ms dev lba_sectors sectors flags: milliseconds, hexadecimal flags (bit 0 = read)",
    unit: TimeUnit::Ms,
    words: &["disksim"],
    is_word: no_other_word,
    endings: &["ascii", "trace"],
    is_header: no_header,
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(DiskSim { unit: setup.unit, sector_bytes: setup.sector_bytes() })),
    writer: None,
};

struct DiskSim {
    unit: TimeUnit,
    sector_bytes: u64,
}

impl LineFormat<BLANKS> for DiskSim {
    const COLUMNS: &'static str = "time_ms dev lba_sectors sectors flags";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("time_ms", self.unit)?;
        let source = line.device("dev")?;
        let offset_bytes = line.offset("lba_sectors", self.sector_bytes)?;
        let size_bytes = line.size("sectors", self.sector_bytes)?;
        let op = if line.hexadecimal("flags", "")? & 1 == 1 { HostOp::Read } else { HostOp::Write };
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
