//! Traces of Florida International University (Koller and Rangaswami, "I/O Deduplication", FAST 2010; Verma et al., "SRCMap", FAST 2010):
//! `ts pid process lba size op major minor md5`.
//!
//! Time is in nanoseconds from the start of a recording of weeks, of which a file is a piece: it becomes 0 at the first request.
//! Lba and size count sectors. The name of a process may hold blanks, so the six fields behind it are found from the line's end.
//! Md5 is of the data, in some files one digest for each sector; it is not read. Device names are `major:minor`.

use super::format::{Format, no_header, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::{DeviceNames, Traits};
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "fiu",
    about: "FIU: ts pid process lba size op major minor md5: nanoseconds, 512-byte sectors, R or W",
    unit: TimeUnit::Ns,
    // The second is the first day of their recordings, as in cheetah.cs.fiu.edu-110108-113008.1.blkparse.
    words: &["fiu", "110108"],
    is_word: no_other_word,
    endings: &["blkparse"],
    is_header: no_header,
    traits: Traits { names: DeviceNames::MajorMinor, ..Traits::REBASED },
    parser: |setup| Box::new(LineParser::new(Fiu { unit: setup.unit })),
    writer: None,
};

struct Fiu {
    unit: TimeUnit,
}

impl LineFormat<BLANKS> for Fiu {
    const COLUMNS: &'static str = "ts pid process lba size op major minor md5";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("ts", self.unit)?;
        line.whole("pid")?;
        line.field_before_last("process", 6)?;
        let offset_bytes = line.offset("lba", SECTOR_BYTES)?;
        let size_bytes = line.size("size", SECTOR_BYTES)?;
        let op = match line.word("op")? {
            b"R" => HostOp::Read,
            b"W" => HostOp::Write,
            _ => return Err(line.unexpected("R or W")),
        };
        let source = line.major_minor("major", "minor")?;
        line.field("md5")?;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
