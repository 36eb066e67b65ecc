//! When requests arrive, and the gaps between them.

use super::bursts::Bursts;
use super::figures::{BurstFigures, Quantiles, ratio};
use hdrhistogram::Histogram;

/// Percentages at which times between arrivals are given: the usual ones, and those of published tables.
pub(crate) const GAP_PERCENTS: [u32; 13] = [1, 10, 20, 25, 40, 50, 60, 75, 80, 90, 95, 99, 100];

/// Times of arrival being counted.
#[derive(Clone)]
pub(super) struct ArrivalTimes {
    first_ns: Option<u64>,
    last_ns: u64,
    gaps: Histogram<u64>,
    largest_gap_ns: u64,
    /// Sum of the squares of gaps in seconds.
    squares: f64,
    bursts: Bursts,
}

impl ArrivalTimes {
    pub fn new() -> Self {
        Self {
            first_ns: None,
            last_ns: 0,
            gaps: Histogram::new_with_max(i64::MAX as u64, 3).expect("bounds that the histogram allows"),
            largest_gap_ns: 0,
            squares: 0.0,
            bursts: Bursts::default(),
        }
    }

    /// A request arrives. Returns how long that is after the first one.
    pub fn arrive(&mut self, arrival_ns: u64) -> u64 {
        let gap_ns = self.first_ns.map(|_| arrival_ns - self.last_ns);
        let first_ns = *self.first_ns.get_or_insert(arrival_ns);
        self.bursts.arrive(gap_ns);
        if let Some(gap_ns) = gap_ns {
            self.gaps.saturating_record(gap_ns);
            self.largest_gap_ns = self.largest_gap_ns.max(gap_ns);
            self.squares += (gap_ns as f64 / 1e9) * (gap_ns as f64 / 1e9);
        }
        self.last_ns = arrival_ns;
        arrival_ns - first_ns
    }

    /// From the first to the last.
    pub fn duration_ns(&self) -> u64 {
        self.last_ns - self.first_ns.unwrap_or(0)
    }

    pub fn mean_gap_ns(&self) -> Option<f64> {
        ratio(self.duration_ns(), self.gaps.len())
    }

    fn gap_at(&self, share: f64) -> u64 {
        if share == 1.0 { self.largest_gap_ns } else { self.gaps.value_at_quantile(share).min(self.largest_gap_ns) }
    }

    /// The gap at this share of all, if there are any.
    pub fn gap_ns(&self, share: f64) -> Option<u64> {
        (!self.gaps.is_empty()).then(|| self.gap_at(share))
    }

    /// The gaps at `GAP_PERCENTS`, if there are any.
    pub fn gaps_ns(&self) -> Option<Quantiles> {
        (!self.gaps.is_empty()).then(|| Quantiles::at(&GAP_PERCENTS, |share| self.gap_at(share)))
    }

    /// The standard deviation of gaps as a share of their mean.
    pub fn gap_variation(&self) -> Option<f64> {
        let mean = self.mean_gap_ns().map(|mean| mean / 1e9);
        let variance = mean.map(|mean| (self.squares / self.gaps.len() as f64 - mean * mean).max(0.0));
        mean.zip(variance).filter(|(mean, _)| *mean > 0.0).map(|(mean, variance)| variance.sqrt() / mean)
    }

    pub fn bursts(&self) -> BurstFigures {
        self.bursts.figures(self.duration_ns())
    }
}
