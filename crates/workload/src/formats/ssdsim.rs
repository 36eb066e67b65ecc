//! ASCII traces of SSDsim and MQSim: `time_ns dev lba_sectors sectors type`, where type 0 is a write and 1 a read.
//!
//! Both simulators lay all devices over one address space. We do not: more than one device needs a filter. Files of this
//! shape are also made with other time units; those whose names say so (`ssdsim-us`) are not recognised as this format.

use super::{Format, NotExpressible, Writer};
use crate::error::Fault;
use crate::line::{BLANKS, Line, SECTOR_BYTES};
use crate::trace::{LineFormat, LineParser};
use flashraid_vocabulary::{HostOp, HostRequest};
use std::io::Write;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "ssdsim",
    about: "SSDsim and MQSim ASCII: time_ns dev lba_sectors sectors type (0 = write, 1 = read)",
    recognise: |name, _| (name.ends_with(".ascii") || name.ends_with(".trace")) && names_simulator(name),
    parser: || Box::new(LineParser::new(Ascii)),
    writer: Some(Writer { header: "", line: write_line }),
};

/// Whether the name says SSDsim or MQSim, and no other unit than nanoseconds.
fn names_simulator(name: &str) -> bool {
    ["ssdsim", "mqsim"].iter().any(|simulator| {
        name.split_once(simulator).is_some_and(|(_, rest)| !["-us.", "-ms.", "-s."].iter().any(|unit| rest.starts_with(unit)))
    })
}

struct Ascii;

impl LineFormat<BLANKS> for Ascii {
    const COLUMNS: &'static str = "time_ns dev lba_sectors sectors type";

    #[inline(always)]
    fn request(&mut self, line: &mut Line<'_, BLANKS>) -> Result<HostRequest, Box<Fault>> {
        let arrival_ns = line.time("time_ns", 1)?;
        let source = line.device("dev")?;
        let offset_bytes = line.offset("lba_sectors", SECTOR_BYTES)?;
        let size_bytes = line.size("sectors", SECTOR_BYTES)?;
        let [kind @ (b'0' | b'1')] = line.word("type")? else {
            return Err(line.unexpected("0 (write) or 1 (read)"));
        };
        let op = if *kind == b'0' { HostOp::Write } else { HostOp::Read };
        Ok(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source })
    }
}

fn write_line(request: &HostRequest, text: &mut Vec<u8>) -> Result<(), NotExpressible> {
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
