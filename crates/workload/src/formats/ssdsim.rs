//! ASCII traces of SSDsim and MQSim: `time_ns dev lba_sectors sectors type`, where type 0 is a write and 1 a read.
//!
//! Both simulators lay all devices over one address space. We do not. Files of this shape are also made with other time units:
//! a name that says so (`x.ssdsim-us.trace`) or `--time-unit` tells.

use super::format::{Format, NotExpressible, Writer, no_header, no_other_word};
use crate::error::RecordError;
use crate::gate::Gate;
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::parser::{LineFormat, LineParser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::io::Write;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "ssdsim",
    about: "SSDsim and MQSim ASCII: time_ns dev lba_sectors sectors type (0 = write, 1 = read)",
    unit: TimeUnit::Ns,
    words: &["ssdsim", "mqsim"],
    is_word: no_other_word,
    endings: &["ascii", "trace"],
    is_header: no_header,
    traits: Traits::PLAIN,
    parser: |setup| Box::new(LineParser::new(Ascii { unit: setup.unit, sector_bytes: setup.sector_bytes() })),
    writer: Some(|| Box::new(AsciiWriter)),
};

struct Ascii {
    unit: TimeUnit,
    sector_bytes: u64,
}

impl LineFormat<BLANKS> for Ascii {
    const COLUMNS: &'static str = "time_ns dev lba_sectors sectors type";

    #[inline(always)]
    fn record(&mut self, line: &mut Line<'_, BLANKS>, _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = line.time("time_ns", self.unit)?;
        let source = line.device("dev")?;
        let offset_bytes = line.offset("lba_sectors", self.sector_bytes)?;
        let size_bytes = line.size("sectors", self.sector_bytes)?;
        let [kind @ (b'0' | b'1')] = line.word("type")? else {
            return Err(line.unexpected("0 (write) or 1 (read)"));
        };
        let op = if *kind == b'0' { HostOp::Write } else { HostOp::Read };
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}

struct AsciiWriter;

impl Writer for AsciiWriter {
    fn keeps_devices(&self) -> bool {
        true
    }

    fn request(&mut self, request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible> {
        let kind = match request.op {
            HostOp::Write => 0,
            HostOp::Read => 1,
            other => return Err(NotExpressible { what: format!("it is a {other:?}"), expected: "reads and writes" }),
        };
        let HostRequest { arrival_ns, offset_bytes, size_bytes, source, .. } = *request;
        if offset_bytes % SECTOR_BYTES != 0 || size_bytes % SECTOR_BYTES != 0 {
            let what = format!("{size_bytes} bytes at {offset_bytes}");
            return Err(NotExpressible { what, expected: "whole sectors of 512 bytes" });
        }
        let (lba, sectors) = (offset_bytes / SECTOR_BYTES, size_bytes / SECTOR_BYTES);
        writeln!(text, "{arrival_ns} {source} {lba} {sectors} {kind}").expect("a vector takes every byte");
        Ok(())
    }
}
