//! What a run counts: sums are integers, histograms have three significant digits, and everything can be merged.

use flashraid_flash::Counts;
use flashraid_redundancy::Failure;
use flashraid_vocabulary::{Action, Cause, HostOp, MemberId};
use hdrhistogram::Histogram;

/// Latencies of one kind of request: exact count, sums and extremes, and a high-dynamic-range histogram for quantiles.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    sum_ns: u128,
    sum_of_squares: u128,
    min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        // 1 ns to 19 hours; longer ones count as the longest, while sum and maximum stay exact.
        let histogram = Histogram::new_with_bounds(1, 1 << 46, 3).expect("legal bounds");
        Self { count: 0, sum_ns: 0, sum_of_squares: 0, min_ns: u64::MAX, max_ns: 0, histogram }
    }
}

impl Latency {
    /// Records one.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.sum_of_squares += u128::from(latency_ns) * u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.histogram.saturating_record(latency_ns);
    }

    /// Forgets all, keeping the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.count, self.sum_ns, self.sum_of_squares, self.min_ns, self.max_ns) = (0, 0, 0, u64::MAX, 0);
    }

    /// The histogram: latencies in nanoseconds to three significant digits.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.add(&other.histogram).expect("equal bounds");
    }

    /// Mean in nanoseconds; 0 without requests.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Standard deviation (population) in nanoseconds. Exact until the last step: n * sum of squares - square of the sum.
    pub fn stddev_ns(&self) -> f64 {
        let spread = u128::from(self.count) * self.sum_of_squares - self.sum_ns * self.sum_ns;
        if self.count == 0 { 0.0 } else { (spread as f64).sqrt() / self.count as f64 }
    }

    /// Smallest; 0 without requests.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Quantile in nanoseconds, at the histogram's resolution and never beyond the maximum; 0 without requests.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.count == 0 { 0 } else { self.histogram.value_at_quantile(quantile).clamp(self.min_ns, self.max_ns) }
    }
}

/// The kinds of requests that latencies are kept for.
pub const KINDS: [&str; 4] = ["read", "write", "trim", "flush"];

/// Position of a kind of request in `KINDS`.
pub(crate) fn kind(op: HostOp) -> usize {
    match op {
        HostOp::Read => 0,
        HostOp::Write => 1,
        HostOp::Trim | HostOp::WriteZeroes => 2,
        HostOp::Flush => 3,
    }
}

/// Everything that the engine counts by itself; the flash counts what the NAND does.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// By kind.
    pub latency: [Latency; 4],
    /// Of page operations, from submission to end, by member.
    pub members: Vec<Latency>,
    /// Bytes of completed measured reads.
    pub bytes_read: u64,
    /// Bytes of completed measured writes.
    pub bytes_written: u64,
    /// Measured requests that failed for lack of space.
    pub failed_no_space: u64,
    /// Measured requests that failed because data are lost.
    pub failed_lost: u64,
    /// Pages of measured reads that were never written.
    pub unmapped_reads: u64,
    /// Pages placed by the first read of an unwritten page.
    pub prefilled_pages: u64,
    /// Parity programs of each member.
    pub parity_programs: Vec<u64>,
    /// Programs of the measured time that belong to requests of the warm-up.
    pub warmup_programs: [u64; Cause::COUNT],
    /// Page operations of plans, by action (read, program) and cause: must equal what the NAND started.
    pub planned: [[u64; Cause::COUNT]; 2],
}

impl Statistics {
    /// Nothing yet.
    pub fn new(members: usize) -> Self {
        Self {
            latency: Default::default(),
            members: vec![Latency::default(); members],
            bytes_read: 0,
            bytes_written: 0,
            failed_no_space: 0,
            failed_lost: 0,
            unmapped_reads: 0,
            prefilled_pages: 0,
            parity_programs: vec![0; members],
            warmup_programs: [0; Cause::COUNT],
            planned: [[0; Cause::COUNT]; 2],
        }
    }

    /// Measuring begins: what is no difference of two snapshots starts anew. `started` are the page operations that the NAND has started so far.
    pub fn begin(&mut self, started: &Counts) {
        // Collections and wear levelling are not planned.
        let (planned, started) = (&self.planned[Action::Program as usize], &started[Action::Program as usize]);
        self.warmup_programs = std::array::from_fn(|cause| planned[cause].saturating_sub(started[cause]));
        self.members.iter_mut().for_each(|member| *member = Latency::default());
        self.prefilled_pages = 0;
    }

    /// A measured request completed or failed.
    #[inline]
    pub fn completed(&mut self, op: HostOp, latency_ns: u64, size_bytes: u64, failed: Option<Failure>) {
        match failed {
            Some(Failure::NoSpace) => return self.failed_no_space += 1,
            Some(Failure::Lost) => return self.failed_lost += 1,
            None => {}
        }
        self.latency[kind(op)].record(latency_ns);
        match op {
            HostOp::Read => self.bytes_read += size_bytes,
            HostOp::Write => self.bytes_written += size_bytes,
            _ => {}
        }
    }

    /// A page operation of a plan was submitted.
    #[inline]
    pub fn planned(&mut self, action: Action, cause: Cause, member: MemberId) {
        self.planned[action as usize][cause as usize] += 1;
        if action == Action::Program && cause == Cause::Parity {
            self.parity_programs[usize::from(member.0)] += 1;
        }
    }

    /// A program that was submitted will never be started.
    pub fn never_started(&mut self, cause: Cause, member: MemberId) {
        self.planned[Action::Program as usize][cause as usize] -= 1;
        self.parity_programs[usize::from(member.0)] -= u64::from(cause == Cause::Parity);
    }

    /// A page operation of a plan ended.
    #[inline]
    pub fn page_operation_ended(&mut self, member: MemberId, latency_ns: u64) {
        self.members[usize::from(member.0)].record(latency_ns);
    }

    /// Latencies of all kinds together.
    pub fn all(&self) -> Latency {
        let mut all = Latency::default();
        for latency in &self.latency {
            all.merge(latency);
        }
        all
    }
}
