//! The form in which Heimdall (Kurniawan et al., EuroSys 2025) and its forerunners keep traces: `time_ms dev offset size op`.
//!
//! It looks like SSDsim's, but time is in milliseconds, offset and size are bytes. 0 is a write, 1 a read.

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
    name: "heimdall",
    about: "Heimdall: time_ms dev offset size op: milliseconds, bytes (0 = write, 1 = read)",
    unit: TimeUnit::Ms,
    words: &["heimdall"],
    is_word: no_other_word,
    endings: &["trace"],
    is_header: no_header,
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(Heimdall { unit: setup.unit })),
    writer: None,
};

struct Heimdall {
    unit: TimeUnit,
}

impl LineFormat<BLANKS> for Heimdall {
    const COLUMNS: &'static str = "time_ms dev offset size op";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("time_ms", self.unit)?;
        let source = line.device("dev")?;
        let offset_bytes = line.offset("offset", 1)?;
        let size_bytes = line.size("size", 1)?;
        let op = match line.word("op")? {
            b"0" => HostOp::Write,
            b"1" => HostOp::Read,
            _ => return Err(line.unexpected("0 (write) or 1 (read)")),
        };
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
