//! What a run counts: sums are integers, histograms have three significant digits, and everything can be merged.

use crate::waits::Waits;
use flashraid_ftl::Counts;
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_redundancy::Failure;
use flashraid_vocabulary::{Action, Cause, HostOp, MemberId};
use hdrhistogram::Histogram;

/// Latencies of one kind of request: exact count, sums and extremes, and a high-dynamic-range histogram for quantiles.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    sum_ns: u128,
    /// Beyond 128 bits, how often these were full.
    sum_of_squares: u128,
    full_squares: u64,
    min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        // 1 ns to 19 hours; a longer one makes it grow.
        let mut histogram = Histogram::new_with_bounds(1, 1 << 46, 3).expect("legal bounds");
        histogram.auto(true);
        Self { count: 0, sum_ns: 0, sum_of_squares: 0, full_squares: 0, min_ns: u64::MAX, max_ns: 0, histogram }
    }
}

impl Latency {
    /// Records one.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.add_squares(u128::from(latency_ns) * u128::from(latency_ns), 0);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.histogram.record(latency_ns).expect("it grows");
    }

    #[inline]
    fn add_squares(&mut self, sum: u128, full: u64) {
        let (sum, is_full) = self.sum_of_squares.overflowing_add(sum);
        self.sum_of_squares = sum;
        self.full_squares += full + u64::from(is_full);
    }

    /// Forgets all, keeping the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.count, self.sum_ns, self.sum_of_squares, self.full_squares, self.min_ns, self.max_ns) = (0, 0, 0, 0, u64::MAX, 0);
    }

    /// The histogram: latencies in nanoseconds to three significant digits.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.add_squares(other.sum_of_squares, other.full_squares);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.add(&other.histogram).expect("it grows");
    }

    /// Sum in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean in nanoseconds; 0 without requests.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Standard deviation (population) in nanoseconds. Exact until the last step: n * sum of squares - square of the sum.
    pub fn stddev_ns(&self) -> f64 {
        let (high, low) = wide_product(u128::from(self.count), self.sum_of_squares);
        let (square_high, square_low) = wide_product(self.sum_ns, self.sum_ns);
        let (low, borrow) = low.overflowing_sub(square_low);
        let high = high + u128::from(self.count) * u128::from(self.full_squares) - square_high - u128::from(borrow);
        let spread = high as f64 * 2f64.powi(128) + low as f64;
        #[cfg(feature = "mutants")]
        if self.count > 1 && accounting::makes(Slip::SampleDeviation) {
            return (spread / (self.count as f64 * (self.count - 1) as f64)).sqrt();
        }
        if self.count == 0 { 0.0 } else { spread.sqrt() / self.count as f64 }
    }

    /// Smallest; 0 without requests.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Ascending quantiles in nanoseconds, at the histogram's resolution and never beyond the maximum; 0 without requests. All in one pass, as the
    /// histogram is long.
    pub fn each_quantile_ns(&self, ascending: impl IntoIterator<Item = f64>) -> impl Iterator<Item = u64> {
        #[cfg(feature = "mutants")]
        let shift = if accounting::makes(Slip::QuantileRank) { 1.0 / self.count as f64 } else { 0.0 };
        #[cfg(feature = "mutants")]
        let ascending = ascending.into_iter().map(move |quantile| quantile - shift);
        let found = self.histogram.value_at_quantiles(ascending);
        found.map(|latency_ns| if self.count == 0 { 0 } else { latency_ns.clamp(self.min_ns, self.max_ns) })
    }

    /// The same as an array.
    pub fn quantiles_ns<const N: usize>(&self, ascending: [f64; N]) -> [u64; N] {
        let mut found = self.each_quantile_ns(ascending);
        std::array::from_fn(|_| found.next().expect("one for each"))
    }
}

/// The product's upper and lower 128 bits.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (middle, middle_carry) = (a1 * b0).overflowing_add(a0 * b1);
    let (low, low_carry) = (a0 * b0).overflowing_add(middle << 64);
    (a1 * b1 + (middle >> 64) + (u128::from(middle_carry) << 64) + u128::from(low_carry), low)
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
    /// How the longest of them grow with the time of arrival.
    pub waits: Waits,
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
    /// Measured requests that were refused.
    pub failed_refused: u64,
    /// Pages of measured reads that were never written.
    pub unmapped_reads: u64,
    /// Pages placed by the first read of an unwritten page.
    pub prefilled_pages: u64,
    /// Programs of the measured time that belong to requests of the warm-up.
    pub warmup_programs: [u64; Cause::COUNT],
    /// Programs for measured writes that failed; no repetitions.
    pub failed_programs: [u64; Cause::COUNT],
    /// Page operations of plans, by action (read, program) and cause: must equal what the NAND started.
    pub planned: [[u64; Cause::COUNT]; 2],
}

impl Statistics {
    /// Nothing yet.
    pub fn new(members: usize) -> Self {
        Self {
            latency: Default::default(),
            waits: Waits::default(),
            members: vec![Latency::default(); members],
            bytes_read: 0,
            bytes_written: 0,
            failed_no_space: 0,
            failed_lost: 0,
            failed_refused: 0,
            unmapped_reads: 0,
            prefilled_pages: 0,
            warmup_programs: [0; Cause::COUNT],
            failed_programs: [0; Cause::COUNT],
            planned: [[0; Cause::COUNT]; 2],
        }
    }

    /// Measuring begins: what is no difference of two snapshots starts anew. `started` are the page operations that the NAND has started so far.
    pub fn begin(&mut self, started: &Counts) {
        // GC runs and wear leveling are not planned.
        let (planned, started) = (&self.planned[Action::Program as usize], &started[Action::Program as usize]);
        self.warmup_programs = std::array::from_fn(|cause| planned[cause].saturating_sub(started[cause]));
        self.members.iter_mut().for_each(|member| *member = Latency::default());
        self.prefilled_pages = 0;
    }

    /// A measured request completed or failed.
    #[inline(always)]
    pub fn completed(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64, size_bytes: u64, failed: Option<Failure>) {
        self.waits.answered(arrival_ns, failed.is_none().then_some(latency_ns));
        #[cfg(feature = "mutants")]
        if failed.is_some() && accounting::makes(Slip::FailedBytes) {
            self.bytes_read += if op == HostOp::Read { size_bytes } else { 0 };
            self.bytes_written += if op == HostOp::Write { size_bytes } else { 0 };
        }
        match failed {
            Some(Failure::NoSpace) => return self.failed_no_space += 1,
            Some(Failure::Lost) => return self.failed_lost += 1,
            Some(Failure::Refused) => return self.failed_refused += 1,
            None => {}
        }
        self.latency[kind(op)].record(latency_ns);
        match op {
            HostOp::Read => self.bytes_read += size_bytes,
            HostOp::Write => self.bytes_written += size_bytes,
            _ => {}
        }
    }

    /// A measured write that failed has ended: nothing more is programmed for it.
    #[cold]
    pub fn write_failed(&mut self, programs: &[u32; Cause::COUNT]) {
        self.failed_programs.iter_mut().zip(programs).for_each(|(sum, count)| *sum += u64::from(*count));
    }

    /// A page operation of a plan was submitted.
    #[inline]
    pub fn planned(&mut self, action: Action, cause: Cause) {
        self.planned[action as usize][cause as usize] += 1;
    }

    /// A program that was submitted will never be started.
    pub fn never_started(&mut self, cause: Cause) {
        self.planned[Action::Program as usize][cause as usize] -= 1;
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

#[cfg(test)]
mod tests {
    use super::Latency;

    fn of(latencies_ns: &[u64]) -> Latency {
        let mut latency = Latency::default();
        latencies_ns.iter().for_each(|latency_ns| latency.record(*latency_ns));
        latency
    }

    /// Of a and b, each n times, the mean is (a + b) / 2 and the deviation |a - b| / 2, how long they may be.
    #[test]
    fn figures_of_latencies_of_years() {
        for (a, b, times) in [
            (1_000, 3_000, 4),
            // 2 x 5.1 h^2 x 10^12 is beyond 128 bits.
            (1 << 44, 3 << 44, 1 << 20),
            (1 << 47, 5 << 47, 1000),
            (1 << 55, 3 << 55, 1 << 18),
            (i64::MAX as u64, i64::MAX as u64 - (1 << 62), 1 << 10),
            (i64::MAX as u64, i64::MAX as u64, 1 << 10),
        ] {
            let mut latency = of(&[a, b].repeat(times));
            let mean = (a as f64 + b as f64) / 2.0;
            let deviation = a.abs_diff(b) as f64 / 2.0;
            for _ in 0..2 {
                assert_eq!((latency.min_ns(), latency.max_ns), (a.min(b), a.max(b)));
                assert!((latency.mean_ns() / mean - 1.0).abs() < 1e-15, "{a} and {b}: mean {}", latency.mean_ns());
                assert!((latency.stddev_ns() - deviation).abs() <= 1e-15 * deviation, "{a} and {b}: deviation {}", latency.stddev_ns());
                for (found, expected) in latency.quantiles_ns([0.25, 0.75]).into_iter().zip([a.min(b), a.max(b)]) {
                    assert!(found.abs_diff(expected) <= expected / 1000, "a quartile of {a} and {b}: {found}");
                }
                latency.merge(&latency.clone());
            }
        }
    }

    /// Histograms that have grown join those that have not.
    #[test]
    fn kinds_of_different_length_join() {
        let mut all = of(&[1, 2, 3]);
        all.merge(&of(&[1 << 60]));
        all.merge(&of(&[1 << 50]));
        assert_eq!((all.count, all.max_ns), (5, 1 << 60));
        let [third, fourth] = all.quantiles_ns([0.6, 0.8]);
        assert!(third == 3 && fourth.abs_diff(1 << 50) < 1 << 40, "{third} and {fourth}");
        all.clear();
        assert_eq!((all.count, all.stddev_ns(), all.quantiles_ns([0.5])), (0, 0.0, [0]));
    }
}
