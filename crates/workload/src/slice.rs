//! A part of a trace: by time, by address and by count.

use crate::error::TraceError;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde::Serialize;
use std::ops::Range;

/// Which requests to take, and whether times and addresses of these begin anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSlice {
    /// Those that arrive from the start of this range on and before its end, in nanoseconds of the trace.
    pub time_ns: Range<u64>,
    /// Those that lie wholly inside, and flushes, which have no address.
    pub address_bytes: Range<u64>,
    /// Of those, not this many at the start.
    pub skip: u64,
    /// Of those, at most so many; 0 for all.
    pub limit: u64,
    /// Whether the first of them arrives at 0; else times stay.
    pub rebase_time: bool,
    /// Whether the start of `address_bytes` becomes 0; else addresses stay.
    pub rebase_address: bool,
}

impl Default for TraceSlice {
    /// Everything, as it is.
    fn default() -> Self {
        Self { time_ns: 0..u64::MAX, address_bytes: 0..u64::MAX, skip: 0, limit: 0, rebase_time: false, rebase_address: false }
    }
}

impl TraceSlice {
    /// Refuses ranges in which nothing can be.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        for (key, range) in [("--from-time to --to-time in ns", &self.time_ns), ("--address in bytes", &self.address_bytes)] {
            if range.is_empty() {
                let value = format!("{} to {}", range.start, range.end);
                return Err(TraceError::Option { key: key.to_owned(), value, allowed: "a start before the end" });
            }
        }
        Ok(())
    }
}

/// Requests that a slice leaves out, by the first of these reasons that holds. What follows the last one taken is not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Before the time asked for.
    pub time: u64,
    /// Wholly outside the addresses asked for.
    pub address: u64,
    /// Partly outside.
    pub straddling: u64,
    /// Passed over by `skip`.
    pub skipped: u64,
}

/// A slice being taken.
pub(crate) struct Slicer<'a> {
    slice: &'a TraceSlice,
    pub left_out: LeftOut,
    taken: u64,
    first_ns: u64,
    is_past_end: bool,
}

impl<'a> Slicer<'a> {
    pub fn new(slice: &'a TraceSlice) -> Self {
        Self { slice, left_out: LeftOut::default(), taken: 0, first_ns: 0, is_past_end: false }
    }

    /// Requests that were looked at, but for the one past the end.
    pub fn looked_at(&self) -> u64 {
        let LeftOut { time, address, straddling, skipped } = self.left_out;
        self.taken + time + address + straddling + skipped
    }

    /// Whether no further request can be taken.
    pub fn is_done(&self) -> bool {
        self.is_past_end || (self.slice.limit > 0 && self.taken == self.slice.limit)
    }

    /// The request as it is in the slice, if it is. Requests come in the order of arrivals, and none after `is_done`.
    #[inline]
    pub fn take(&mut self, request: &HostRequest) -> Option<HostRequest> {
        let (time, address) = (&self.slice.time_ns, &self.slice.address_bytes);
        let end = request.offset_bytes + request.size_bytes;
        let has_address = request.op != HostOp::Flush;
        if request.arrival_ns >= time.end {
            self.is_past_end = true;
            return None;
        }
        let reason = if request.arrival_ns < time.start {
            &mut self.left_out.time
        } else if has_address && (end <= address.start || request.offset_bytes >= address.end) {
            &mut self.left_out.address
        } else if has_address && (request.offset_bytes < address.start || end > address.end) {
            &mut self.left_out.straddling
        } else if self.left_out.skipped < self.slice.skip {
            &mut self.left_out.skipped
        } else {
            return Some(self.rebased(request));
        };
        *reason += 1;
        None
    }

    fn rebased(&mut self, request: &HostRequest) -> HostRequest {
        if self.taken == 0 && self.slice.rebase_time {
            self.first_ns = request.arrival_ns;
        }
        self.taken += 1;
        let is_moved = self.slice.rebase_address && request.op != HostOp::Flush;
        let offset_bytes = request.offset_bytes - if is_moved { self.slice.address_bytes.start } else { 0 };
        HostRequest { arrival_ns: request.arrival_ns - self.first_ns, offset_bytes, ..*request }
    }
}
