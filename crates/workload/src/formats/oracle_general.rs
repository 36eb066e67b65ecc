//! libCacheSim's oracleGeneral: little-endian records of 24 bytes, `u32 seconds, u64 object, u32 size, i64 next access`.
//!
//! A block trace in this form is cut into blocks of 4 KiB: the object is the number of a block (libCacheSim's scripts/traceConv), and
//! each block is a request of its own. Records of other sizes are refused unless the user says what the number counts
//! (`TraceOptions::object_bytes`): some traces have sectors there, and key-value caches have keys, which are no addresses. There is no operation (`TraceOptions::missing_op`), and the clock has whole
//! seconds: requests are spread evenly over theirs. The next access is not used.

use super::format::{Format, Setup, no_header, no_other_word};
use super::missing_op::Operations;
use crate::bytes::bytes_at;
use crate::error::{RecordError, TraceError};
use crate::gate::Gate;
use crate::input::Input;
use crate::parser::{RecordFormat, RecordParser, TraceRecord};
use crate::position::record_fault;
use crate::traits::Traits;
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
    parser: |setup| Box::new(RecordParser::new(OracleGeneral::new(setup))),
    writer: None,
};

struct OracleGeneral {
    unit: TimeUnit,
    operations: Operations,
    object_bytes: Option<u64>,
}

impl OracleGeneral {
    fn new(setup: &Setup) -> Self {
        Self { unit: setup.unit, operations: Operations::new(setup.options.missing_op), object_bytes: setup.options.object_bytes }
    }
}

impl RecordFormat for OracleGeneral {
    fn begin(&mut self, _: &mut Input) -> Result<usize, TraceError> {
        Ok(24)
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let time = u32::from_le_bytes(bytes_at(bytes, 0));
        let (offset_bytes, size_bytes) =
            extent(u64::from_le_bytes(bytes_at(bytes, 4)), i64::from(u32::from_le_bytes(bytes_at(bytes, 12))), self.object_bytes)?;
        let op = self.operations.draw()?;
        let arrival_ns = u64::from(time) * self.unit.ns();
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }))
    }
}

/// Where an object lies, and its size.
#[inline]
pub(super) fn extent(object: u64, size: i64, object_bytes: Option<u64>) -> Result<(u64, u64), Box<RecordError>> {
    if object_bytes.is_none() && size != BLOCK_BYTES as i64 {
        let expected = "4096, as in a block trace of 4 KiB blocks (--object-bytes sets another distance between objects)";
        return Err(record_fault(format!("a size of {size} bytes"), expected));
    }
    let unit = object_bytes.unwrap_or(BLOCK_BYTES);
    let offset_bytes = object
        .checked_mul(unit)
        .ok_or_else(|| record_fault(format!("object {object}"), "a block number, below 2^64 bytes (hashed keys are not addresses)"))?;
    let size_bytes = u64::try_from(size).map_err(|_| record_fault(format!("a size of {size} bytes"), "at least 1"))?;
    Ok((offset_bytes, size_bytes))
}
