//! Corrects a model by what its twin shows.

use crate::info::{Figures, TraceStatistics};
use crate::profile::{Table, Twin};

/// Shares of the reuses at which distances are compared.
const SHARES: [f64; 23] =
    [0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99];

/// What is changed in a measured model before it is written down.
pub(super) struct Correction {
    /// Distances of the original, at the shares.
    wanted: Vec<f64>,
    /// What becomes of a distance: pairs of what is measured and what is written down, both ascending, as logarithms (of 1 more).
    distances: Vec<(f64, f64)>,
}

impl Correction {
    pub fn new(original: &TraceStatistics, _figures: &Figures) -> Self {
        let wanted = original.reuse_distances(&SHARES);
        let mut distances: Vec<(f64, f64)> = wanted.iter().map(|distance| libm::log(distance + 1.0)).map(|log| (log, log)).collect();
        distances.dedup();
        Self { wanted, distances }
    }

    /// The model with its corrections.
    pub fn apply(&self, measured: &Twin) -> Twin {
        let mut twin = measured.clone();
        let correct = |table: &mut Table| *table = table.map(|distance| self.distance(distance));
        for phase in &mut twin.phases {
            phase.read_distances.iter_mut().chain(&mut phase.write_distances).for_each(correct);
        }
        twin
    }

    fn distance(&self, distance: f64) -> f64 {
        let log = libm::log(distance + 1.0);
        let after = self.distances.partition_point(|(from, _)| *from < log);
        let to = match (after.checked_sub(1).map(|before| self.distances[before]), self.distances.get(after).copied()) {
            (Some((low, first)), Some((high, second))) => first + (second - first) * (log - low) / (high - low),
            // Below the first and above the last, in proportion.
            (None, Some((from, to))) => to * log / from.max(1e-9),
            (Some((from, to)), None) => to + log - from,
            (None, None) => log,
        };
        (libm::exp(to) - 1.0).max(0.0).round()
    }

    /// Learns from the twin that came of it.
    pub fn learn(&mut self, twin: &TraceStatistics) {
        let is = twin.reuse_distances(&SHARES);
        let mut last = 0.0;
        for (from, to) in &mut self.distances {
            // Several shares may have the same distance.
            let steps = is.iter().zip(&self.wanted).filter(|(_, wanted)| libm::log(*wanted + 1.0) == *from);
            let (sum, count) = steps.fold((0.0, 0), |(sum, count), (is, wanted)| (sum + libm::log((wanted + 1.0) / (is + 1.0)), count + 1));
            *to = (*to + 0.7 * sum / f64::from(count.max(1))).max(last);
            last = *to;
        }
    }
}
