//! libCacheSim's oracleGeneral: little-endian records of 24 bytes, `u32 seconds, u64 object, u32 size, i64 next access`.
//!
//! A block trace in this form is cut into blocks of 4 KiB: the object is the number of a block (libCacheSim's scripts/traceConv), and
//! each block is a request of its own. Records of other sizes come from traces of other things, such as key-value caches, whose
//! objects are no addresses: they are refused. There is no operation (`TraceOptions::missing_op`), and the clock has whole
//! seconds: requests are spread evenly over theirs. The next access is not used.

use super::missing_op::Operations;
use super::{Format, no_header, no_other_word};
use crate::error::{Fault, TraceError};
use crate::gate::{Gate, Traits};
use crate::input::Input;
use crate::parser::{Record, RecordFormat, RecordParser, bytes_at, record_fault};
use crate::unit::TimeUnit;
use flashraid_vocabulary::HostRequest;

/// What a record is about: a block of this size.
const BLOCK_BYTES: u64 = 4096;

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "oracle-general",
    about: "libCacheSim oracleGeneral, binary: seconds, 4-KiB block, size, next access; no operations (--op)",
    unit: TimeUnit::S,
    words: &["oraclegeneral"],
    is_word: no_other_word,
    endings: &["oraclegeneral"],
    is_header: no_header,
    traits: Traits::COARSE,
    parser: |setup| Box::new(RecordParser::new(OracleGeneral { unit: setup.unit, operations: Operations::new(setup.missing_op) })),
    writer: None,
};

struct OracleGeneral {
    unit: TimeUnit,
    operations: Operations,
}

impl RecordFormat for OracleGeneral {
    fn begin(&mut self, _: &mut Input) -> Result<usize, TraceError> {
        Ok(24)
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], _: &mut Gate) -> Result<Record, Box<Fault>> {
        let time = u32::from_le_bytes(bytes_at(bytes, 0));
        let (offset_bytes, size_bytes) =
            extent(u64::from_le_bytes(bytes_at(bytes, 4)), i64::from(u32::from_le_bytes(bytes_at(bytes, 12))))?;
        let op = self.operations.draw()?;
        let arrival_ns = u64::from(time) * self.unit.ns();
        Ok(Record::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}

/// Where a block lies, and its size.
#[inline]
pub(super) fn extent(object: u64, size: i64) -> Result<(u64, u64), Box<Fault>> {
    if size != BLOCK_BYTES as i64 {
        return Err(record_fault(format!("a size of {size} bytes"), "4096: a block trace, cut into blocks of 4 KiB"));
    }
    let offset_bytes = object.checked_mul(BLOCK_BYTES).ok_or_else(|| {
        record_fault(format!("object {object}"), "the number of a block of 4 KiB below 2^51 (hashed keys are no addresses)")
    })?;
    Ok((offset_bytes, BLOCK_BYTES))
}
