//! CloudPhysics traces of virtual SCSI disks (Waldspurger et al., "SHARDS", FAST 2015), little-endian, in two versions that each record
//! names in the high byte of `version`:
//!
//! - 1, 32 bytes: `u32 number, u32 length, u32 segments, u16 command, u16 version, u64 block, u64 time_us`;
//! - 2, 40 bytes: `u16 command, u16 version, u32 number, u32 length, u32 segments, u64 block, u64 time_us, u64 response`.
//!
//! Length is in bytes, a block is a sector of 512 bytes (so libCacheSim's scripts/traceConv/cloudphysics.py, and the CSV that comes with
//! the same recording). The command is SCSI's operation code (see `scsi`); commands that are no requests are counted. The first record's time becomes 0.

use super::format::{Format, no_header, no_other_word};
use super::scsi;
use crate::bytes::bytes_at;
use crate::error::{RecordError, TraceError};
use crate::gate::Gate;
use crate::input::Input;
use crate::line::SECTOR_BYTES;
use crate::parser::{RecordFormat, RecordParser, TraceRecord};
use crate::position::record_fault;
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "vscsi",
    about: "CloudPhysics vscsi, binary, versions 1 and 2: SCSI command, bytes, 512-byte block, microseconds",
    unit: TimeUnit::Us,
    words: &["vscsi", "vscsi1", "vscsi2"],
    is_word: no_other_word,
    endings: &["vscsi", "vscsi1", "vscsi2", "vscsitrace"],
    is_header: no_header,
    traits: Traits::REBASED,
    parser: |setup| Box::new(RecordParser::new(Vscsi { unit: setup.unit, layout: V1 })),
    writer: None,
};

/// Where things are in a record.
#[derive(Clone, Copy)]
struct Positions {
    version: u8,
    bytes: usize,
    command: usize,
    version_at: usize,
    length: usize,
    block: usize,
    time: usize,
}

const V1: Positions = Positions { version: 1, bytes: 32, length: 4, command: 12, version_at: 14, block: 16, time: 24 };
const V2: Positions = Positions { version: 2, bytes: 40, command: 0, version_at: 2, length: 8, block: 16, time: 24 };

struct Vscsi {
    unit: TimeUnit,
    layout: Positions,
}

impl RecordFormat for Vscsi {
    fn begin(&mut self, input: &mut Input) -> Result<usize, TraceError> {
        let path = input.path().to_owned();
        let head = input.bytes(2 * V2.bytes)?;
        // In a record of the other version, the same byte is the highest of a number that is never so large.
        let is_of = |layout: &Positions| {
            let records = head.chunks_exact(layout.bytes).take(2);
            head.len() >= layout.bytes && records.into_iter().all(|record| record[layout.version_at + 1] == layout.version)
        };
        self.layout = [V1, V2].into_iter().find(is_of).ok_or_else(|| {
            let what = "neither version 1 nor version 2 of vscsi records begins here; expected records of 32 or 40 bytes".to_owned();
            TraceError::Unusable { path, what }
        })?;
        Ok(self.layout.bytes)
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let layout = self.layout;
        if bytes[layout.version_at + 1] != layout.version {
            return Err(record_fault(format!("version {}", bytes[layout.version_at + 1]), "the version of the first record"));
        }
        let command = u64::from(u16::from_le_bytes(bytes_at(bytes, layout.command)));
        let Some(op) = scsi::op(command) else {
            return Ok(scsi::other(command));
        };
        let size_bytes = u64::from(u32::from_le_bytes(bytes_at(bytes, layout.length)));
        let block = u64::from_le_bytes(bytes_at(bytes, layout.block));
        let offset_bytes = block.checked_mul(SECTOR_BYTES).ok_or_else(|| record_fault(format!("block {block}"), "at most 2^54"))?;
        let time = u64::from_le_bytes(bytes_at(bytes, layout.time));
        let arrival_ns = time.checked_mul(self.unit.ns());
        let arrival_ns = arrival_ns.ok_or_else(|| record_fault(format!("time {time}"), "a time that fits 64 bits in nanoseconds"))?;
        Ok(scsi::record(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}
