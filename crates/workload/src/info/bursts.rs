//! Bursts of requests.

use super::figures::{BurstFigures, Quantiles, quantile, ratio};
use std::collections::BTreeMap;

/// A request that arrives at least this long after the one before it begins a burst; one that arrives sooner goes on with it.
pub(crate) const BURST_GAP_NS: u64 = 1_000_000;

/// Percentages at which requests per burst are given.
const BURST_PERCENTS: [u32; 3] = [50, 90, 99];

/// Bursts being counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    /// How many bursts that have ended had so many requests. Few numbers: their sum is at most that of the requests.
    ended: BTreeMap<u64, u64>,
    /// Requests so far of the burst that goes on; 0 before the first.
    requests: u64,
    /// Sum of the gaps within bursts.
    gaps_ns: u64,
}

impl Bursts {
    /// A request arrives, this long after the one before it (None: it is the first).
    #[inline]
    pub fn arrive(&mut self, gap_ns: Option<u64>) {
        match gap_ns {
            Some(gap_ns) if gap_ns < BURST_GAP_NS => self.gaps_ns += gap_ns,
            Some(_) => *self.ended.entry(std::mem::take(&mut self.requests)).or_default() += 1,
            None => {}
        }
        self.requests += 1;
    }

    /// The figures of requests that arrived within `duration_ns`.
    pub fn figures(&self, duration_ns: u64) -> BurstFigures {
        let mut bursts = self.ended.clone();
        if self.requests > 0 {
            *bursts.entry(self.requests).or_default() += 1;
        }
        let count = bursts.values().sum();
        let requests: u64 = bursts.iter().map(|(requests, count)| requests * count).sum();
        let sizes = || bursts.iter().map(|(requests, count)| (*requests, *count));
        BurstFigures {
            gap_ns: BURST_GAP_NS,
            count,
            mean_requests: ratio(requests, count),
            quantiles_requests: (count > 0).then(|| Quantiles::at(&BURST_PERCENTS, |share| quantile(sizes(), count, share))),
            max_requests: bursts.last_key_value().map(|(requests, _)| *requests),
            mean_gap_ns: ratio(self.gaps_ns, requests - count),
            mean_pause_ns: ratio(duration_ns - self.gaps_ns, count.saturating_sub(1)),
        }
    }
}
