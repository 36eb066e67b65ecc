//! libCacheSim's own format (libCacheSim/traceReader/generalReader/lcs.h): a header with a magic number at both of its ends, 1024 or
//! (since statistics were added) 8192 bytes long, which gives the version, then little-endian records:
//!
//! - version 1: `u32 seconds, u64 object, u32 size, i64 next access`, as oracleGeneral;
//! - version 2: the same with `u8 operation, u24 tenant` before the next access;
//! - version 3: the same with `i64 size` and a `u32` time to live before the next access; versions 4 to 8 append 1, 2, 4, 8 or 16 `u32`.
//!
//! Objects, sizes and times are read as in oracleGeneral. Of the operations, READ (12) and WRITE (13) are requests; NOP (0) and
//! none (255) are what `TraceOptions::missing_op` says, as are all of version 1; others, of key-value caches, are counted. A tenant
//! (a volume, in block traces) is a device.

use super::format::{Format, Setup, no_other_word};
use super::missing_op::Operations;
use super::oracle_general::extent;
use crate::bytes::bytes_at;
use crate::error::{RecordError, TraceError};
use crate::gate::Gate;
use crate::input::Input;
use crate::parser::{RecordFormat, RecordParser, TraceRecord};
use crate::traits::Traits;
use crate::unit::TimeUnit;
use flashraid_vocabulary::{HostOp, HostRequest};

const MAGIC: [u8; 8] = 0x1234_5678_9ABC_DEF0_u64.to_le_bytes();
const HEADER_BYTES: [usize; 2] = [1024, 8192];
/// Bytes of a record, of versions 1 to 8.
const RECORD_BYTES: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];

/// This format's place in the list.
pub const FORMAT: Format = Format {
    name: "lcs",
    about: "libCacheSim lcs, binary, version by its header: seconds, 4-KiB block, size, operation and tenant from version 2 on",
    unit: TimeUnit::S,
    words: &["lcs"],
    is_word: no_other_word,
    endings: &["lcs"],
    is_header: |head| head.starts_with(&MAGIC),
    traits: Traits::COARSE,
    parser: |setup| Box::new(RecordParser::new(Lcs::new(setup))),
    writer: None,
};

struct Lcs {
    unit: TimeUnit,
    operations: Operations,
    object_bytes: Option<u64>,
    version: u64,
}

impl Lcs {
    fn new(setup: &Setup) -> Self {
        Self {
            unit: setup.unit,
            operations: Operations::new(setup.options.missing_op),
            object_bytes: setup.options.object_bytes,
            version: 0,
        }
    }
}

impl RecordFormat for Lcs {
    fn begin(&mut self, input: &mut Input) -> Result<usize, TraceError> {
        let path = input.path().to_owned();
        let unusable = |what: String| TraceError::Unusable { path, what };
        let head = input.bytes(HEADER_BYTES[1])?;
        let ends_at = |length: &usize| head.get(..*length).is_some_and(|header| header.starts_with(&MAGIC) && header.ends_with(&MAGIC));
        let Some(header_bytes) = HEADER_BYTES.into_iter().find(ends_at) else {
            return Err(unusable("no complete lcs header; expected the magic number 123456789abcdef0 at both ends of it".to_owned()));
        };
        self.version = u64::from_le_bytes(bytes_at(head, MAGIC.len()));
        let size = usize::try_from(self.version).ok().and_then(|version| RECORD_BYTES.get(version.checked_sub(1)?));
        let size = *size.ok_or_else(|| unusable(format!("lcs version {}; expected 1 to 8", self.version)))?;
        input.advance_bytes(header_bytes);
        Ok(size)
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], _: &mut Gate) -> Result<TraceRecord, Box<RecordError>> {
        let arrival_ns = u64::from(u32::from_le_bytes(bytes_at(bytes, 0))) * self.unit.ns();
        let object = u64::from_le_bytes(bytes_at(bytes, 4));
        let (size, operation_and_tenant) = match self.version {
            1 => (i64::from(u32::from_le_bytes(bytes_at(bytes, 12))), 0),
            2 => (i64::from(u32::from_le_bytes(bytes_at(bytes, 12))), u32::from_le_bytes(bytes_at(bytes, 16))),
            _ => (i64::from_le_bytes(bytes_at(bytes, 12)), u32::from_le_bytes(bytes_at(bytes, 20))),
        };
        let op = match operation_and_tenant & 0xFF {
            12 => HostOp::Read,
            13 => HostOp::Write,
            0 | 255 => self.operations.draw()?,
            _ => return Ok(TraceRecord::Unsupported("lcs operations other than READ and WRITE")),
        };
        let (offset_bytes, size_bytes) = extent(object, size, self.object_bytes)?;
        let source = operation_and_tenant >> 8;
        Ok(TraceRecord::Request(HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }))
    }
}
