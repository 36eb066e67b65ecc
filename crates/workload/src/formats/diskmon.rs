//! Logs of Sysinternals DiskMon: `index time duration disk request sector length`, separated by tabs, the last often followed by one.
//!
//! Time and duration are seconds, sector and length sectors. Duration is not read.

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
    name: "diskmon",
    about: "DiskMon: index time duration disk request sector length: seconds, Read or Write, 512-byte sectors",
    unit: TimeUnit::S,
    words: &["diskmon"],
    is_word: no_other_word,
    endings: &[],
    is_header: no_header,
    traits: Traits { is_disordered: true, ..Traits::PLAIN },
    parser: |setup| Box::new(LineParser::new(DiskMon { unit: setup.unit, sector_bytes: setup.sector_bytes() })),
    writer: None,
};

struct DiskMon {
    unit: TimeUnit,
    sector_bytes: u64,
}

impl LineFormat<BLANKS> for DiskMon {
    const COLUMNS: &'static str = "index time duration disk request sector length";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        line.whole("index")?;
        let arrival_ns = line.time("time", self.unit)?;
        line.field("duration")?;
        let source = line.device("disk")?;
        let op = match line.word("request")? {
            b"Read" => HostOp::Read,
            b"Write" => HostOp::Write,
            _ => return Err(line.unexpected("Read or Write")),
        };
        let offset_bytes = line.offset("sector", self.sector_bytes)?;
        let size_bytes = line.size("length", self.sector_bytes)?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
