//! Fits a profile to a trace: measures what the model of `profile::Twin` holds, makes the twin, compares its figures with the original's,
//! and corrects the model until they agree or no longer come nearer.

mod compare;
mod correct;
mod measure;

pub use compare::{Comparison, Difference};

use crate::error::TraceError;
use crate::info::{Figures, TraceStatistics};
use crate::options::TraceOptions;
use crate::profile::{Profile, Twin};
use crate::trace::Trace;
use correct::Correction;
use flashraid_vocabulary::HostRequest;
use std::num::NonZeroU64;
use std::path::Path;

/// Rounds of correction with each focus.
const ROUNDS: usize = 7;
/// Slack and power that are tried.
const FOCUS: [(f64, f64); 4] = [(0.12, 1.0), (0.25, 2.0), (0.4, 2.0), (0.06, 1.0)];
/// Seeds that are tried at most, and pages of all their twins.
const SEEDS: u64 = 100;
const SEED_PAGES: u64 = 4_000_000;

/// A fitted profile, and how near its twin comes.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The profile.
    pub profile: Profile,
    /// Figures of the trace.
    pub original: Figures,
    /// Figures of the profile's requests.
    pub twin: Figures,
    /// Both, figure by figure.
    pub comparison: Comparison,
}

/// Fits a profile to a trace file. Its requests are held in memory.
pub fn fit_trace(
    path: &Path,
    options: &TraceOptions,
    page_bytes: NonZeroU64,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Fit, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut requests = Vec::new();
    while trace.read_batch(&mut requests)? > 0 {}
    let name = trace.finish()?.name;
    Ok(fit(&requests, page_bytes, &name, go_on))
}

/// Fits a profile to requests in the order of arrivals; `name` says what they are. `go_on` is told each round and may end the
/// corrections.
pub fn fit(requests: &[HostRequest], page_bytes: NonZeroU64, name: &str, go_on: &mut dyn FnMut(usize) -> bool) -> Fit {
    let statistics = statistics(requests.iter().copied(), page_bytes);
    let measured = measure::measure(requests, page_bytes.get(), &statistics);
    let original = statistics.clone().figures();
    let mut search = Search { original, page_bytes, name, best: None, go_on, rounds: 0 };
    for (slack, power) in FOCUS {
        let focused = Twin { slack, power, ..measured.clone() };
        let mut correction = Correction::new(&statistics);
        for _ in 0..ROUNDS {
            let Some(made) = search.round(correction.apply(&focused), 1) else { return search.end() };
            correction.learn(&made);
        }
    }
    // What is left are the accidents of one sequence: another one may have fewer.
    let best = search.best.as_ref().and_then(|best| best.profile.twin.clone()).unwrap_or(measured);
    let pages = statistics.page_uses().max(1);
    for seed in 2..2 + (SEED_PAGES / pages).clamp(2, SEEDS) {
        if search.round(best.clone(), seed).is_none() {
            break;
        }
    }
    search.end()
}

/// The best fit so far.
struct Search<'a> {
    original: Figures,
    page_bytes: NonZeroU64,
    name: &'a str,
    best: Option<Fit>,
    go_on: &'a mut dyn FnMut(usize) -> bool,
    rounds: usize,
}

impl Search<'_> {
    /// Makes a twin and compares it. None: no more is wanted.
    fn round(&mut self, twin: Twin, seed: u64) -> Option<TraceStatistics> {
        if self.best.as_ref().is_some_and(|best| best.comparison.is_within()) || !(self.go_on)(self.rounds) {
            return None;
        }
        self.rounds += 1;
        let profile = profile(twin, seed, &self.original, self.name);
        let made = statistics(profile.requests().expect("what is measured can be made"), self.page_bytes);
        let figures = made.clone().figures();
        let comparison = Comparison::new(&self.original, &figures, profile.twin.as_ref().map_or(0, Twin::numbers));
        if self.best.as_ref().is_none_or(|best| comparison.badness() < best.comparison.badness()) {
            self.best = Some(Fit { profile, original: self.original.clone(), twin: figures, comparison });
        }
        Some(made)
    }

    fn end(self) -> Fit {
        self.best.expect("there is a first round")
    }
}

fn statistics(requests: impl Iterator<Item = HostRequest>, page_bytes: NonZeroU64) -> TraceStatistics {
    let mut statistics = TraceStatistics::new(page_bytes);
    requests.for_each(|request| statistics.add(&request));
    statistics
}

fn profile(twin: Twin, seed: u64, original: &Figures, name: &str) -> Profile {
    // Room for new pages on either side of what the trace used.
    let space_bytes = original.max_address_bytes.max(2 * original.footprint_bytes).max(1 << 20);
    Profile {
        about: format!("Synthetic: fitted to {name}"),
        seed,
        requests: None,
        duration_ns: None,
        space_bytes: space_bytes.next_multiple_of(original.page_bytes),
        page_bytes: original.page_bytes,
        arrivals: None,
        diurnal: None,
        streams: Vec::new(),
        twin: Some(twin),
    }
}
