//! Corrects a model by what its twin shows: the values of a table are moved so that the twin's distribution comes nearer to the original's.

use crate::info::TraceStatistics;
use crate::profile::{Moves, StartKind, Twin};

/// Shares of the reuses at which distances are compared.
const DISTANCE_SHARES: [f64; 23] =
    [0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99];
/// Shares of the pages, from the least used, between which mean uses are compared.
const USE_SHARES: [f64; 8] = [0.0, 0.5, 0.8, 0.9, 0.97, 0.99, 0.999, 1.0];
/// Share of the difference that is corrected at once.
const STEP: f64 = 0.7;
/// By how much smaller each step is than the one before.
const DAMPING: f64 = 0.85;
const LEAST_STEP: f64 = 0.1;

/// The mapping of values: pairs of what is measured and what is written down, both ascending, as logarithms (of 1 more).
#[derive(Clone)]
struct Curve(Vec<(f64, f64)>);

fn log(value: f64) -> f64 {
    libm::log(value + 1.0)
}

impl Curve {
    fn new(wanted: &[f64]) -> Self {
        let mut knots: Vec<(f64, f64)> = wanted.iter().map(|value| (log(*value), log(*value))).collect();
        knots.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        knots.dedup();
        Self(knots)
    }

    fn at(&self, value: f64) -> f64 {
        let value = log(value);
        let after = self.0.partition_point(|(from, _)| *from < value);
        let to = match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after).copied()) {
            (Some((low, first)), Some((high, second))) => first + (second - first) * (value - low) / (high - low),
            // Below the first and above the last, in proportion.
            (None, Some((from, to))) => to * value / from.max(1e-9),
            (Some((from, to)), None) => to + value - from,
            (None, None) => value,
        };
        (libm::exp(to.min(40.0)) - 1.0).max(0.0)
    }

    /// Moves towards what is wanted from what came out.
    fn learn(&mut self, wanted: &[f64], is: &[f64], step: f64) {
        let mut last = 0.0;
        for (from, to) in &mut self.0 {
            // Several shares may have the same value.
            let steps = is.iter().zip(wanted).filter(|(_, wanted)| log(**wanted) == *from);
            let (sum, count) = steps.fold((0.0, 0), |(sum, count), (is, wanted)| (sum + log(*wanted) - log(*is), count + 1));
            *to = (*to + step * sum / f64::from(count.max(1))).max(last);
            last = *to;
        }
    }
}

/// What is changed in a measured model before it is written down.
#[derive(Clone)]
pub(super) struct Correction {
    distances: Vec<f64>,
    distance: Curve,
    uses: Vec<f64>,
    use_count: Curve,
    /// Updates of the original: requests and pages.
    updates: [f64; 2],
    /// Writes that are turned from clean to dirty pages; below 0 from dirty to clean.
    dirtied: f64,
    /// Share of the difference that is corrected next.
    step: f64,
}

impl Correction {
    pub fn new(original: &TraceStatistics) -> Self {
        let distances = original.reuse_distances(&DISTANCE_SHARES);
        let uses = mean_uses(original);
        Self {
            distance: Curve::new(&distances),
            distances,
            use_count: Curve::new(&uses),
            uses,
            updates: original.updates(),
            dirtied: 0.0,
            step: STEP,
        }
    }

    /// The model with its corrections.
    pub fn apply(&self, measured: &Twin) -> Twin {
        let mut twin = measured.clone();
        for phase in &mut twin.phases {
            let moves = phase.reads.iter_mut().chain(&mut phase.writes).filter(|(place, _)| place.has_distance());
            for part in moves.flat_map(|(_, moves)| &mut moves.parts) {
                part.distance = part.distance.map(|distance| if distance == 0.0 { 0.0 } else { self.distance.at(distance).round() });
            }
            phase.uses = phase.uses.map(|uses| (self.use_count.at(uses) * 100.0).round() / 100.0);
        }
        for [clean, dirty] in [[StartKind::Clean, StartKind::Dirty], [StartKind::CleanAgain, StartKind::DirtyAgain]] {
            self.dirty(&mut twin, clean, dirty);
        }
        twin
    }

    /// Moves writes from one place to the other, in all phases alike.
    fn dirty(&self, twin: &mut Twin, clean: StartKind, dirty: StartKind) {
        let (from, to) = if self.dirtied > 0.0 { (clean, dirty) } else { (dirty, clean) };
        let all: u64 = twin.phases.iter().flat_map(|phase| [clean, dirty].map(|of| phase.writes.get(&of).map_or(0, Moves::requests))).sum();
        let share = self.dirtied.abs() / (all.max(1)) as f64;
        for phase in &mut twin.phases {
            let Some(mut source) = phase.writes.remove(&from) else { continue };
            let target = phase.writes.entry(to).or_insert_with(|| Moves { after: [0; 4], parts: source.parts.clone() });
            for (from, to) in source.after.iter_mut().zip(&mut target.after) {
                let moved = ((*from + *to) as f64 * share).round().min(*from as f64) as u64;
                (*from, *to) = (*from - moved, *to + moved);
            }
            if target.requests() == 0 {
                phase.writes.remove(&to);
            }
            if source.requests() > 0 {
                phase.writes.insert(from, source);
            }
        }
    }

    /// Learns from the twin that came of it.
    pub fn learn(&mut self, twin: &TraceStatistics) {
        self.distance.learn(&self.distances, &twin.reuse_distances(&DISTANCE_SHARES), self.step);
        self.use_count.learn(&self.uses, &mean_uses(twin), self.step);
        let [requests, pages] = twin.updates();
        self.dirtied += self.step * (self.updates[0] - requests + self.updates[1] - pages) / 2.0;
        self.step = (self.step * DAMPING).max(LEAST_STEP);
    }
}

/// Mean uses of the pages between two shares.
fn mean_uses(statistics: &TraceStatistics) -> Vec<f64> {
    let mut uses: Vec<u32> = statistics.uses().iter().copied().filter(|uses| *uses > 0).collect();
    uses.sort_unstable();
    let bound = |share: f64| (share * uses.len() as f64).round() as usize;
    let bounds = USE_SHARES.windows(2).map(|shares| bound(shares[0])..bound(shares[1])).filter(|bounds| !bounds.is_empty());
    bounds.map(|bounds| uses[bounds.clone()].iter().map(|uses| f64::from(*uses)).sum::<f64>() / bounds.len() as f64).collect()
}
