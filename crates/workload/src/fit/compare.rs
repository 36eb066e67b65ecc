//! A trace and its twin, figure by figure.

use crate::info::Figures;
use serde::Serialize;

/// How far a figure may be off, of the original's.
const TOLERANCE: f64 = 0.05;

/// One figure of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The figure, by its key in `trace info`.
    pub figure: String,
    /// Of the trace.
    pub original: f64,
    /// Of the twin.
    pub twin: f64,
    /// (twin - original) / original; None if the original is 0 and the twin is not.
    pub difference: Option<f64>,
    /// Whether it is within 5 %, or so near that the figure's own unit hides it: half a percentage point of a share, a page of a
    /// distance, a request of a quantile of bursts.
    pub is_within: bool,
}

/// The figures of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Numbers that the profile holds.
    pub profile_numbers: usize,
    /// Figures that are off by more than they may be.
    pub beyond: usize,
    /// All of them.
    pub figures: Vec<Difference>,
}

/// What the last digit of a figure is worth.
#[derive(Clone, Copy)]
enum FigureUnit {
    /// A share: half a percentage point.
    Share,
    /// A whole number of pages or requests.
    Count,
    /// Anything else.
    Exact,
}

impl Comparison {
    /// Compares.
    pub fn new(original: &Figures, twin: &Figures, profile_numbers: usize) -> Self {
        let (first, second) = (listed(original), listed(twin));
        let value = |name: &str| second.iter().find(|(other, _, _)| other == name).map_or(0.0, |(_, _, value)| *value);
        let figures: Vec<Difference> =
            first.iter().map(|(name, unit, original)| Difference::new(name, *unit, *original, value(name))).collect();
        Self { profile_numbers, beyond: figures.iter().filter(|figure| !figure.is_within).count(), figures }
    }

    /// Whether every figure is near enough.
    pub fn is_within(&self) -> bool {
        self.beyond == 0
    }

    /// The less the better: how far the figures are beyond what they may be, all together.
    pub(super) fn badness(&self) -> f64 {
        self.figures.iter().map(Difference::badness).sum()
    }
}

impl Difference {
    fn new(figure: &str, unit: FigureUnit, original: f64, twin: f64) -> Self {
        let off = (twin - original).abs();
        let slack: f64 = match unit {
            FigureUnit::Share => 0.005,
            FigureUnit::Count => 1.0,
            FigureUnit::Exact => 0.0,
        };
        let difference = if twin == original { Some(0.0) } else { (original != 0.0).then(|| (twin - original) / original) };
        Self { figure: figure.to_owned(), original, twin, difference, is_within: off <= slack.max(TOLERANCE * original.abs()) }
    }

    fn badness(&self) -> f64 {
        let off = self.difference.map_or(1.0, f64::abs).min(2.0);
        if self.is_within { off.min(TOLERANCE) } else { 1.0 + off }
    }
}

/// The figures that a twin is to share, by name.
fn listed(figures: &Figures) -> Vec<(String, FigureUnit, f64)> {
    let mut list = Vec::new();
    let mut add = |name: &str, unit: FigureUnit, value: Option<f64>| list.extend(value.map(|value| (name.to_owned(), unit, value)));
    add("requests", FigureUnit::Exact, Some(figures.requests as f64));
    add("write_share", FigureUnit::Share, figures.write_share);
    add("mean_bytes", FigureUnit::Exact, figures.mean_bytes);
    add("mean_read_bytes", FigureUnit::Exact, figures.mean_read_bytes);
    add("mean_write_bytes", FigureUnit::Exact, figures.mean_write_bytes);
    add("requests_per_second", FigureUnit::Exact, figures.requests_per_second);
    add("duration_ns", FigureUnit::Exact, Some(figures.duration_ns as f64));
    add("update_share", FigureUnit::Share, figures.update_share);
    add("update_request_share", FigureUnit::Share, figures.update_request_share);
    add("footprint_bytes", FigureUnit::Exact, Some(figures.footprint_bytes as f64));
    for set in &figures.working_set {
        add(&format!("working_set.{}s.mean_bytes", set.window_ns / 1_000_000_000), FigureUnit::Exact, Some(set.mean_bytes));
        add(&format!("working_set.{}s.max_bytes", set.window_ns / 1_000_000_000), FigureUnit::Exact, Some(set.max_bytes as f64));
    }
    add("cold_share", FigureUnit::Share, figures.cold_share);
    for (percent, pages) in figures.reuse_distance_pages.iter().flat_map(|quantiles| &quantiles.0) {
        add(&format!("reuse_distance_pages.p{}", percent.0), FigureUnit::Count, Some(*pages as f64));
    }
    for (percent, gap_ns) in figures.interarrival_ns.iter().flat_map(|quantiles| &quantiles.0) {
        add(&format!("interarrival_ns.p{}", percent.0), FigureUnit::Exact, Some(*gap_ns as f64));
    }
    let bursts = &figures.burstiness.bursts;
    add("burstiness.bursts.mean_requests", FigureUnit::Exact, bursts.mean_requests);
    for (percent, requests) in bursts.quantiles_requests.iter().flat_map(|quantiles| &quantiles.0) {
        add(&format!("burstiness.bursts.quantiles_requests.p{}", percent.0), FigureUnit::Count, Some(*requests as f64));
    }
    add("burstiness.bursts.max_requests", FigureUnit::Count, bursts.max_requests.map(|requests| requests as f64));
    add("burstiness.bursts.mean_gap_ns", FigureUnit::Exact, bursts.mean_gap_ns);
    add("burstiness.bursts.mean_pause_ns", FigureUnit::Exact, bursts.mean_pause_ns);
    add("sequential_share", FigureUnit::Share, figures.sequential_share);
    for (name, of) in [("sequential_reads", figures.sequential_reads), ("sequential_writes", figures.sequential_writes)] {
        add(&format!("{name}.share"), FigureUnit::Share, of.map(|of| of.share));
        add(&format!("{name}.mean_run_requests"), FigureUnit::Exact, of.map(|of| of.mean_run_requests));
    }
    if let Some(skew) = figures.skew {
        add("skew.top_1_percent", FigureUnit::Share, Some(skew.top_1_percent));
        add("skew.top_10_percent", FigureUnit::Share, Some(skew.top_10_percent));
        add("skew.top_20_percent", FigureUnit::Share, Some(skew.top_20_percent));
        add("skew.gini", FigureUnit::Share, Some(skew.gini));
    }
    add("devices", FigureUnit::Exact, Some(figures.by_device.len() as f64));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::{Quantiles, TraceStatistics};
    use std::num::NonZeroU64;

    /// All figures of bursts are off by one, which is more than 5 %: that counts but for whole numbers of requests.
    #[test]
    fn units_of_bursts() {
        let figures = |value: u64| {
            let mut figures = TraceStatistics::new(NonZeroU64::MIN).figures();
            let bursts = &mut figures.burstiness.bursts;
            [bursts.mean_requests, bursts.mean_gap_ns, bursts.mean_pause_ns] = [Some(value as f64); 3];
            bursts.quantiles_requests = Some(Quantiles::at(&[50], |_| value));
            bursts.max_requests = Some(value);
            figures
        };
        let Comparison { figures, .. } = Comparison::new(&figures(10), &figures(11), 0);
        let found = figures.iter().filter_map(|figure| Some((figure.figure.strip_prefix("burstiness.bursts.")?, figure.is_within)));
        let expected = [
            ("mean_requests", false),
            ("quantiles_requests.p50", true),
            ("max_requests", true),
            ("mean_gap_ns", false),
            ("mean_pause_ns", false),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
