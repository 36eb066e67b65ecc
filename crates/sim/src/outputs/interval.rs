//! Intervals of simulated time: what completed in each. They are counted from when measuring begins; the first is that in which anything
//! happens. Each takes its start in and leaves its end out; the last one ends with the run.

use crate::engine::recorder::RequestRecord;
use crate::statistics::{KINDS, Latency, kind};
use flashraid_vocabulary::HostOp;

/// After so many intervals their length doubles, and again after as many more: even 292 years have an end, and a week at 100 ms is
/// a million rows.
pub const INTERVALS_OF_A_LENGTH: u64 = 500_000;

/// Most rows of a series, some 150 bytes each.
pub const MOST_INTERVALS: u64 = 10_000_000;

/// The interval in progress.
pub(super) struct Interval {
    pub(super) start_ns: u64,
    pub(super) length_ns: u64,
    /// Intervals before this one.
    number: u64,
    /// Latencies of requests that completed, by kind.
    pub(super) latency: [Latency; KINDS.len()],
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    /// Requests that failed.
    pub(super) failed: u64,
}

impl Interval {
    pub(super) fn new(length_ns: u64) -> Self {
        Self { start_ns: 0, length_ns, number: 0, latency: Default::default(), bytes_read: 0, bytes_written: 0, failed: 0 }
    }

    /// When it ends if the run does not end before.
    pub(super) fn end_ns(&self) -> u64 {
        self.start_ns + self.length_ns
    }

    /// Leaves out the intervals before the one that contains `time_ns`, as nothing happens in them.
    pub(super) fn skip_to(&mut self, time_ns: u64) {
        self.start_ns += (time_ns - self.start_ns) / self.length_ns * self.length_ns;
    }

    /// How many intervals lie before the one that contains `time_ns`, or at least `MOST_INTERVALS`.
    pub(super) fn number_at(&self, time_ns: u64) -> u64 {
        let (mut number, mut left_ns, mut length_ns) = (self.number, time_ns - self.start_ns, self.length_ns);
        while number < MOST_INTERVALS {
            let of_a_length = INTERVALS_OF_A_LENGTH - number % INTERVALS_OF_A_LENGTH;
            match left_ns.checked_sub(of_a_length.saturating_mul(length_ns)) {
                None => return number + left_ns / length_ns,
                Some(more_ns) => (number, left_ns, length_ns) = (number + of_a_length, more_ns, 2 * length_ns),
            }
        }
        number
    }

    pub(super) fn add(&mut self, request: &RequestRecord) {
        if request.failed.is_some() {
            self.failed += 1;
            return;
        }
        self.latency[kind(request.op)].record(request.end_ns - request.arrival_ns);
        match request.op {
            HostOp::Read => self.bytes_read += request.size_bytes,
            HostOp::Write => self.bytes_written += request.size_bytes,
            _ => {}
        }
    }

    /// The next one begins, where this one ends. Returns whether its length is another.
    pub(super) fn next(&mut self) -> bool {
        self.start_ns = self.end_ns();
        self.number += 1;
        let grows = self.number.is_multiple_of(INTERVALS_OF_A_LENGTH);
        if grows {
            self.length_ns *= 2;
        }
        self.latency.iter_mut().filter(|latency| latency.count > 0).for_each(Latency::clear);
        (self.bytes_read, self.bytes_written, self.failed) = (0, 0, 0);
        grows
    }
}
