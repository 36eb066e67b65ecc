//! A part of a trace: by time, by address and by count.

use crate::error::TraceError;
use flashraid_vocabulary::{HostOp, HostRequest};
use serde::Serialize;
use std::ops::Range;

/// Evenly spaced pieces: the first `taken` of every `each` requests. The time of what lies between them is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Requests of a piece.
    pub taken: u64,
    /// Requests from the start of a piece to the start of the next one.
    pub each: u64,
}

/// Which requests to take, and whether times and addresses of these begin anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSlice {
    /// Those that arrive from the start of this range on and before its end, in nanoseconds of the trace.
    pub time_ns: Range<u64>,
    /// Those that lie wholly inside, and flushes, which have no address.
    pub address_bytes: Range<u64>,
    /// Of those, not this many at the start.
    pub skip: u64,
    /// Of those, only pieces.
    pub pieces: Option<Pieces>,
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
        Self {
            time_ns: 0..u64::MAX,
            address_bytes: 0..u64::MAX,
            skip: 0,
            pieces: None,
            limit: 0,
            rebase_time: false,
            rebase_address: false,
        }
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
        if self.pieces.is_some_and(|pieces| pieces.taken == 0 || pieces.taken > pieces.each) {
            let value = format!("{:?}", self.pieces);
            return Err(TraceError::Option { key: "pieces".to_owned(), value, allowed: "at least a request of each" });
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
    /// Passed over by `skip`, or between pieces.
    pub skipped: u64,
}

/// A slice being taken.
pub(crate) struct Slicer<'a> {
    slice: &'a TraceSlice,
    pub left_out: LeftOut,
    taken: u64,
    first_ns: u64,
    /// Requests that all but `limit` and `pieces` have selected, and when the last of them arrived.
    selected: u64,
    previous_ns: u64,
    /// The time between pieces.
    removed_ns: u64,
    is_past_end: bool,
}

impl<'a> Slicer<'a> {
    pub fn new(slice: &'a TraceSlice) -> Self {
        let left_out = LeftOut::default();
        Self { slice, left_out, taken: 0, first_ns: 0, selected: 0, previous_ns: 0, removed_ns: 0, is_past_end: false }
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
        } else if self.selected == 0 && self.left_out.skipped < self.slice.skip {
            &mut self.left_out.skipped
        } else if self.is_in_a_piece(request.arrival_ns) {
            return Some(self.rebased(request));
        } else {
            &mut self.left_out.skipped
        };
        *reason += 1;
        None
    }

    /// Whether the next selected request is one of a piece. Between pieces, the time from the request before passes too, for what follows.
    #[inline]
    fn is_in_a_piece(&mut self, arrival_ns: u64) -> bool {
        let is_in = self.slice.pieces.is_none_or(|Pieces { taken, each }| self.selected % each < taken);
        if !is_in && self.taken > 0 {
            self.removed_ns += arrival_ns - self.previous_ns;
        }
        self.selected += 1;
        self.previous_ns = arrival_ns;
        is_in
    }

    fn rebased(&mut self, request: &HostRequest) -> HostRequest {
        if self.taken == 0 && self.slice.rebase_time {
            self.first_ns = request.arrival_ns;
        }
        self.taken += 1;
        let is_moved = self.slice.rebase_address && request.op != HostOp::Flush;
        let offset_bytes = request.offset_bytes - if is_moved { self.slice.address_bytes.start } else { 0 };
        HostRequest { arrival_ns: request.arrival_ns - self.first_ns - self.removed_ns, offset_bytes, ..*request }
    }
}
